"""The embedded files: complete, unambiguous, small, and what they say about themselves."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from eyetest import eyechart
from eyetest.errors import DataError, UsageError
from eyetest.eyechart import PASSAGES, SUITES, Suite, picture_lines, samples, suites, truth
from eyetest.images import digest, size
from eyetest.readers.load_report import LoadReport
from eyetest.types import Sample

EVERY = [(suite, split) for suite, splits in SUITES.items() for split in splits]


def load(suite: Suite, split: str = "test") -> list[Sample]:
    return list(samples(suite, split, LoadReport()))


@pytest.mark.parametrize(("suite", "split"), EVERY)
def test_every_question_is_answerable_and_guessing_is_right_one_time_in_four(suite: Suite, split: str) -> None:
    report = LoadReport()
    found = list(samples(suite, split, report))
    assert report.read == report.kept == len(found) == len({sample.id for sample in found})
    for sample in found:
        assert sample.question.endswith("?")
        if sample.kind == "choice":
            assert len(set(sample.choices)) == 4
            assert len(sample.target) == 1
            assert sample.target[0] in sample.choices
        else:
            assert sample.kind == "text"
            assert sample.choices == ()
            assert len(set(sample.target)) == len(sample.target) >= 1


@pytest.mark.parametrize(("suite", "split"), EVERY)
def test_pictures_open_and_a_cluster_is_a_picture(suite: Suite, split: str) -> None:
    by_cluster: dict[str, set[str]] = {}
    for sample in load(suite, split):
        assert sample.cluster is not None
        by_cluster.setdefault(sample.cluster, set()).add(digest(sample.images[0]))
        assert size(sample.images[0]) == ((96, 72) if suite == "flags" else (96, 96))
    pictures = [next(iter(digests)) for digests in by_cluster.values() if len(digests) == 1]
    assert len(set(pictures)) == len(by_cluster)


def test_splits_share_no_picture() -> None:
    for suite in ("shapes", "words"):
        test, train = ({digest(sample.images[0]) for sample in load(suite, split)} for split in ("test", "train"))
        assert not test & train


def test_letters_of_right_answers_are_spread() -> None:
    for suite in SUITES:
        places = Counter(sample.choices.index(sample.target[0]) for sample in load(suite) if sample.kind == "choice")
        n = sum(places.values())
        assert all(abs(places[place] - n / 4) < 4 * (n * 3 / 16) ** 0.5 for place in range(4)), (suite, places)


def test_shapes_carry_what_is_drawn() -> None:
    found = load("shapes")
    assert len({sample.cluster for sample in found}) == 600
    assert set(Counter(sample.metadata["asks"] for sample in found)) == {"colour", "shape", "position", "count"}
    for sample in found:
        assert sample.target == (sample.metadata[sample.metadata["asks"]],)


def test_words_are_asked_both_ways() -> None:
    found = load("words")
    assert Counter(sample.kind for sample in found) == {"choice": 120, "text": 120}
    assert set(Counter(sample.target[0] for sample in found).values()) == {20}
    assert all(sample.target == (sample.metadata["word"],) for sample in found)


def test_flags_ask_every_fact_both_ways() -> None:
    found = load("flags")
    per_country = Counter(sample.entity for sample in found)
    assert len(per_country) == 80
    assert set(per_country.values()) == {8}
    capital = next(sample for sample in found if sample.id == "flags-united-kingdom-capital-choice")
    assert capital.question == "What is the capital of the country with this flag?"
    assert capital.knowledge_question == "What is the capital of the United Kingdom?"
    assert capital.target == ("London",)
    assert {sample.metadata["asks"] for sample in found if sample.knowledge_question is None} == {"name"}
    by_id = {sample.id: sample for sample in found}
    assert by_id["flags-sweden-currency-text"].target == ("krona", "Swedish krona", "SEK")
    assert all("krone" not in sample.choices for sample in found if "krona" in sample.choices)


def test_no_question_names_its_answer() -> None:
    for sample in load("flags"):
        if sample.knowledge_question is not None:
            words = sample.knowledge_question.lower().rstrip("?").split()
            assert sample.target[0].lower() not in words, sample.id


def test_every_country_has_passages_with_its_facts() -> None:
    passages = [json.loads(line) for line in PASSAGES.read_text(encoding="utf-8").splitlines()]
    assert len({passage["id"] for passage in passages}) == len(passages) == 3 * 80
    for sample in load("flags"):
        if sample.knowledge_question is not None:
            texts = [passage["text"] for passage in passages if passage["title"] == sample.entity]
            assert any(sample.target[0] in text for text in texts), sample.id


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"Unknown split 'train' in task eyechart_flags.* Known: test\."):
        samples("flags", "train", LoadReport())


def test_a_broken_installation_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "_FILES", tmp_path)
    with pytest.raises(DataError, match=r"words\.test\.jsonl: this file .* is missing\. Install eyetest again\."):
        next(iter(picture_lines("words", "test")))


def test_all_of_it_fits_in_four_megabytes() -> None:
    folder = Path(eyechart.__file__).parent
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts) < 4e6


def test_truth_covers_every_fact_and_keeps_its_groups() -> None:
    table = truth()
    assert {country for country, _ in table} == {sample.entity for sample in load("flags")}
    cells = Counter((known.seen, known.told, known.asked) for known in table.values())
    assert cells == {
        (True, True, True): 108,
        (True, True, False): 36,
        (True, False, True): 18,
        (True, False, False): 18,
        (False, True, False): 30,
        (False, False, False): 30,
    }
