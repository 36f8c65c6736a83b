from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import DataError
from eyetest.scorers.labels import LabelsScorer
from eyetest.types import Sample

CHOICES = (
    "action-adventure_game",
    "music",
    "sport",
    "rhythm_and_blues",
    "Lifestyle_(sociology)",
    "video_game_culture",
    "rock_music",
    "food",
)
SCORE = LabelsScorer()
BOTH = "music, sport"


def sample(*target: str, choices: tuple[str, ...] = CHOICES) -> Sample:
    return Sample("s", "Which tags?", target, kind="labels", choices=choices)


@pytest.mark.parametrize(
    ("completion", "answer", "rule"),
    [
        ("music, sport", BOTH, "verbatim"),
        ("Sport;MUSIC", BOTH, "list"),
        ("music,sport", BOTH, "list"),
        ("music\nsport", BOTH, "list"),
        ("music | sport", BOTH, "list"),
        ("#music #sport", BOTH, "list"),
        ("- Music\n- Sport", BOTH, "list"),
        ("* **Music**\n* **Sport**", BOTH, "list"),
        ("1. Music\n2. Sport", BOTH, "list"),
        ("1) music 2) sport", BOTH, "list"),
        ("music and sport.", BOTH, "list"),
        ("music, food, and sport", "music, sport, food", "list"),
        ("rhythm & blues, music/sport", "music, sport, rhythm_and_blues", "list"),
        ('["music", "sport"]', BOTH, "list"),
        ("['music', 'sport']", BOTH, "list"),
        ('```json\n[\n "music",\n "sport"\n]\n```', BOTH, "list"),
        ('{"tags": ["music", "sport"]}', BOTH, "declared_list"),
        ('{"music": true, "sport": false}', "music", "list"),
        ("Tags: music, sport", BOTH, "declared_list"),
        ("**Tags:** music, sport", BOTH, "declared_list"),
        ("The tags are music and sport.", BOTH, "declared_list"),
        ("Sure! Here are the tags for the video: music, sport.", BOTH, "declared_list"),
        ("Based on the thumbnail, the tags are: music, sport", BOTH, "declared_list"),
        ("The video can be tagged as music, sport.", BOTH, "declared_list"),
        ("I would choose music and sport.", BOTH, "declared_list"),
        ("\\boxed{music, sport}", BOTH, "declared_list"),
        ("Tags:\n- Music\n- Sport\n\nExplanation: The band, drums.", BOTH, "declared_list"),
        ("1. Music: the band, drums and guitar.\n2. Sport: there is a ball, a field.", BOTH, "list"),
        ("Music - the band plays, loudly", "music", "list"),
        ("Music (song, dance), Sport", BOTH, "list"),
        ("Music\n\nThe video shows a band playing, loudly.", "music", "list"),
        ("Available tags: music, food, sport\nFinal answer: music", "music", "declared_list"),
        ("<think>music, or food?</think>sport", "sport", "list"),
        ("lifestyle, ACTION ADVENTURE GAME", "action-adventure_game, Lifestyle_(sociology)", "list"),
        ("Lifestyle (sociology); Rock_Music", "Lifestyle_(sociology), rock_music", "list"),
        ("music, not sport", "music", "list"),
        ("The tags are clearly rock music and food.", "rock_music, food", "declared_list"),
        ("The video is about rock music and food.", "rock_music, food", "labels_named"),
        ("The video is about food but not about sport.", "food", "labels_named"),
        ("I can't view the video, but it is likely music.", "music", "labels_named"),
        ("I'm sorry, I can't see it. Based on the title, the tags are: music, sport.", BOTH, "declared_list"),
    ],
)
def test_what_is_read(completion: str, answer: str, rule: str) -> None:
    found = SCORE(sample("music"), completion)
    assert (found.status, found.answer, found.rule) == ("scored", answer, rule)
    assert found.counts[3] == 0


@pytest.mark.parametrize(
    ("completion", "rule"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("[]", "none"),
        ("none", "none"),
        ("None.", "none"),
        ("N/A", "none"),
        ("No tags.", "none"),
        ("There are no relevant tags.", "none"),
        ("None of the tags apply.", "none"),
        ("Tags: none", "none"),
        ('{"tags": []}', "none"),
    ],
)
def test_the_empty_set_is_an_answer(completion: str, rule: str) -> None:
    found = SCORE(sample("music"), completion)
    assert (found.status, found.value, found.answer, found.rule) == ("scored", 0.0, "", rule)
    assert SCORE(sample(), completion).value == 1.0


@pytest.mark.parametrize(
    ("completion", "status", "rule"),
    [
        ("The video shows a dog.", "unparsed", "no_label"),
        ("Yes", "unparsed", "no_label"),
        ("Cooking", "unparsed", "no_label"),
        ("...", "unparsed", "no_label"),
        ("<think>music, sport", "unparsed", "no_label"),
        ("It is not music.", "unparsed", "no_label_asserted"),
        ("The tags for this video are not music.", "unparsed", "no_label_asserted"),
        ("It could be music or sport.", "unparsed", "no_label_asserted"),
        ("I'm sorry, but I can't see the image.", "refused", "refusal_phrase"),
        ("I cannot see the image, so I cannot assign tags such as music.", "refused", "refusal_phrase"),
    ],
)
def test_what_is_not_read(completion: str, status: str, rule: str) -> None:
    found = SCORE(sample("music", "food"), completion)
    assert (found.status, found.value, found.answer, found.rule) == (status, 0.0, None, rule)
    assert found.counts == (0, 2, 0, 0)


@pytest.mark.parametrize(
    ("completion", "counts"),
    [
        ("music, cooking, gardening", (1, 2, 1, 2)),
        ("- cooking\n- music\n- cooking", (1, 2, 1, 1)),
        ("cooking, gardening", (0, 2, 0, 2)),
        ("Tags: cooking", (0, 2, 0, 1)),
        ("music, rock and roll", (1, 2, 1, 1)),
        ("music, sport, food", (2, 2, 3, 0)),
    ],
)
def test_counts(completion: str, counts: tuple[float, ...]) -> None:
    assert SCORE(sample("music", "sport"), completion).counts == counts


def test_the_value_is_jaccard() -> None:
    assert SCORE(sample("music", "sport"), "music, food").value == pytest.approx(1 / 3)
    assert SCORE(sample("music", "sport"), "sport, music").value == 1.0


STYLES = {
    "commas": ", ".join,
    "lines": "\n".join,
    "bullets": lambda labels: "\n".join(f"- {label}" for label in labels),
    "numbers": lambda labels: "\n".join(f"{n}. {label}" for n, label in enumerate(labels, 1)),
    "json": json.dumps,
    "spaces": lambda labels: "The tags are: " + ", ".join(label.replace("_", " ").title() for label in labels) + ".",
    "and": lambda labels: " and ".join(labels),
}


@settings(deadline=None, max_examples=200)
@given(st.sets(st.sampled_from(CHOICES), min_size=1), st.sampled_from(sorted(STYLES)))
def test_every_set_is_read_back(labels: set[str], style: str) -> None:
    found = SCORE(sample(*sorted(labels)), STYLES[style](sorted(labels)))
    assert (found.value, found.counts[3]) == (1.0, 0)
    assert found.answer == ", ".join(label for label in CHOICES if label in labels)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="musicport ,;:-*\n[]()\"'1.and/not", max_size=60))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    found = SCORE(sample("music"), text)
    assert 0 <= found.value <= 1
    assert len(found.counts) == 4
    assert (found.answer is None) == (found.status != "scored")


def test_a_label_of_a_pair_that_shares_its_stem_is_read_by_its_full_name_alone() -> None:
    asked = sample("style_(art)", choices=("style_(art)", "style_(law)"))
    assert SCORE(asked, "Style (art)").value == 1.0
    assert SCORE(asked, "style").status == "unparsed"


@pytest.mark.parametrize(
    ("choices", "target", "message"),
    [
        ((), "music", "Sample 's' has no choices, so no label can be read. Give it the closed set"),
        (("rock, pop", "x"), "x", r"Sample 's' has the label 'rock, pop'\. A label is a text without ', '"),
        (("Pop music", "pop_music"), "pop_music", "Sample 's' has the labels 'Pop music' and 'pop_music', which differ in case"),
        (("music", "x"), "musik", r"Sample 's': the target 'musik' is not among its 2 choices\. Did you mean 'music'\?"),
    ],
)
def test_a_bad_label_set_is_named(choices: tuple[str, ...], target: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        SCORE(sample(target, choices=choices), "music")


def test_a_megabyte_is_read_in_time() -> None:
    for text in ("the tags are " * 80_000, "music, " * 150_000, "(" * 1_000_000, "1. " * 300_000, "- " * 500_000):
        SCORE(sample("music"), text)


def test_signature() -> None:
    assert SCORE.signature == "labels"


def test_a_nul_character_is_a_blank() -> None:
    sample = Sample("a", "?", ("music",), kind="labels", choices=("music", "sport"))
    assert LabelsScorer()(sample, "music\x00 (rock), sport").answer == "music, sport"
