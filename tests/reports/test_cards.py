from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

from PIL import Image as Pixels

from eyetest import evaluate
from eyetest.reports import cards, html
from eyetest.reports.gather import gather
from eyetest.reports.untrusted import TEXT_LENGTH
from eyetest.types import Image, Response, Sample
from reports.making import answer, usual, write_run


def test_every_outcome_of_every_model_is_shown_when_it_occurs(tmp_path: Path) -> None:
    found = gather(write_run(tmp_path, usual(80))).cards
    assert len(found) == cards.MOST
    shown = Counter((card.choice.model, card.choice.outcome) for card in found)
    assert set(shown) == {("seer", "sees"), ("seer", "either"), ("seer", "misses"), ("blind", "either"), ("blind", "misses")}
    assert len({card.choice.sample for card in found}) == len(found)
    assert all(len(card.given) == 8 for card in found)


def test_the_draw_depends_on_the_seed_and_the_ids_alone(tmp_path: Path) -> None:
    predictions = usual(80)
    first = gather(write_run(tmp_path / "a", predictions))
    again = gather(write_run(tmp_path / "b", sorted(predictions, key=lambda one: one.sample.id, reverse=True)))
    assert [card.choice.sample for card in first.cards] == [card.choice.sample for card in again.cards]
    other = gather(write_run(tmp_path / "c", predictions, spec={"seed": 1, "conditions": [], "prompts": []}))
    assert {card.choice.sample for card in first.cards} != {card.choice.sample for card in other.cards}


def test_tasks_share_the_cards(tmp_path: Path) -> None:
    found = gather(write_run(tmp_path, usual(40) + usual(40, task="b") + usual(3, task="c"))).cards
    assert Counter(card.choice.task for card in found) == {"toys": 8, "b": 8, "c": 3}


def test_outcomes_without_a_blind_condition_and_of_unparsed_answers(tmp_path: Path) -> None:
    predictions = [answer(0), answer(1, right=False), answer(2, status="refused")]
    predictions.append(answer(3, status="unscored", response=Response(status="error", error="timeout\0")))
    found = {card.choice.sample: card for card in gather(write_run(tmp_path, predictions)).cards}
    assert {sample: card.choice.outcome for sample, card in found.items()} == {
        "q000": "right",
        "q001": "wrong",
        "q002": "unparsed",
        "q003": "unparsed",
    }
    given = found["q003"].given["seer", "image"]
    assert (given.verdict, given.rule) == ("error", "option_text: timeout")
    assert found["q002"].given["seer", "image"].verdict == "refused"


def test_of_several_prompts_the_first_stands_on_the_cards(tmp_path: Path) -> None:
    first = [answer(number) for number in range(6)]
    other = [replace(answer(number, right=False), prompt="terse") for number in range(6)]
    found = gather(write_run(tmp_path, first + other)).cards
    assert {card.choice.outcome for card in found} == {"right"}


def test_every_kind_of_question_has_its_cards(tmp_path: Path) -> None:
    texts = [answer(number, right=False, kind="text", id=f"t{number}") for number in range(6)]
    found = gather(write_run(tmp_path, [answer(number) for number in range(6)] + texts)).cards
    assert Counter(card.choice.outcome for card in found) == {"right": 6, "wrong": 6}


def test_texts_are_cut_when_they_are_read(tmp_path: Path) -> None:
    long = Response("y" * 50_000)
    card = gather(write_run(tmp_path, [answer(0, response=long, question="z" * 50_000)])).cards[0]
    assert (len(card.given["seer", "image"].text.text), card.given["seer", "image"].text.length) == (TEXT_LENGTH, 50_000)
    assert len(card.question.text) == TEXT_LENGTH


def test_an_example_is_the_sample_first_by_id_for_each_condition(tmp_path: Path) -> None:
    predictions = list(reversed(usual(12)))
    examples = gather(write_run(tmp_path, predictions)).examples["toys"]
    assert {asked.condition for asked in examples} == {"image", "no_image", "swapped", "shuffled"}
    assert {asked.turns[0][1][-1].text for asked in examples} == {"What colour is toy 0?"}  # type: ignore[union-attr]


def test_a_picture_given_as_bytes_is_kept_once_and_shown(tmp_path: Path) -> None:
    picture = io.BytesIO()
    Pixels.new("RGB", (8, 8), (200, 30, 30)).save(picture, "PNG")
    samples = [
        Sample(f"q{n}", "Red?", ("yes",), choices=("yes", "no"), images=(Image(data=picture.getvalue()),)) for n in range(12)
    ]
    evaluate(samples, "oracle", conditions=("image", "blank"), out=tmp_path)
    assert [len(file.name) for file in (tmp_path / "pictures").iterdir()] == [64]
    page = html.page(gather(tmp_path), html.Options(embed_pictures=True))
    assert page.count("data:image/png;base64,") >= 2
