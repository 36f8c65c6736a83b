from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from eyetest.evaluation.rescore import summed_up
from eyetest.reports.facts import Facts, facts_of_table
from eyetest.reports.gather import gather
from eyetest.stats import Cells, sur_ner, wilson
from eyetest.types import Prediction, Response
from reports.making import answer, usual, write_run


def facts(folder: Path, **rest: object) -> dict[str, Facts]:
    return {one.model: one for one in gather(folder, samples=False).facts}


def test_cells_and_rates_are_those_of_the_run(tmp_path: Path) -> None:
    made = facts(write_run(tmp_path, usual(40)))["seer"]
    assert made.cells == Cells(n11=10, n10=20, n01=0, n00=10)
    assert (made.n_both, made.chance, made.unit, made.whole, made.blind) == (40, 0.25, "question", True, "no_image")
    assert made.with_picture is not None
    assert (made.with_picture.value, made.with_picture.low, made.with_picture.high) == (0.75, *wilson(30, 40))
    assert made.difference is not None
    assert made.swapped is not None
    assert made.shuffled is not None
    assert (made.difference.value, made.swapped.value, made.shuffled.value) == (0.5, 0.5, 0.0)
    assert made.gap is not None
    assert made.gap.value == pytest.approx(1 - 10 / 30)


def test_the_knowledge_table_and_its_ratios(tmp_path: Path) -> None:
    rows = [(True, True)] * 24 + [(True, False)] * 6 + [(False, True)] * 14 + [(False, False)] * 16
    predictions = []
    for number, (seen, known) in enumerate(rows):
        predictions += [answer(number, "image", right=seen), answer(number, "knowledge", right=known)]
    made = facts(write_run(tmp_path, predictions))["seer"].knowledge
    assert made is not None
    assert made.cells == Cells(24, 6, 14, 16)
    expected = sur_ner(24, 6, 14, 16)
    for ratio, value, k, n in (
        (made.sur, expected.sur, 24, 30),
        (made.ner, expected.ner, 16, 30),
        (made.p_vq_given_k, expected.p_vq_given_k, 24, 38),
        (made.p_not_vq_given_not_k, expected.p_not_vq_given_not_k, 16, 22),
    ):
        assert (ratio.value, ratio.n) == (pytest.approx(value), n)
        assert (ratio.low, ratio.high) == pytest.approx(wilson(k, n))


def test_few_cases_give_a_ratio_without_an_interval(tmp_path: Path) -> None:
    predictions = []
    for number in range(20):
        predictions += [answer(number, "image", right=number < 17), answer(number, "knowledge", right=number < 12)]
    made = facts(write_run(tmp_path, predictions))["seer"].knowledge
    assert made is not None
    assert (made.ner.value, made.ner.n) == (1.0, 3)
    assert math.isnan(made.ner.low)
    assert not math.isnan(made.sur.low)


def test_failures_refusals_and_unread_answers_are_counted_and_failures_leave_n(tmp_path: Path) -> None:
    predictions = usual(20)
    predictions[0] = answer(0, status="unscored", response=Response(status="bad_image", error="gone"))
    predictions[8] = answer(1, status="unparsed")
    predictions[16] = answer(2, status="refused")
    made = facts(write_run(tmp_path, predictions))["seer"]
    assert (made.n_failed, made.n_unparsed, made.n_refused, made.n_both) == (1, 1, 1, 19)


def test_what_was_not_asked_is_absent(tmp_path: Path) -> None:
    made = facts(write_run(tmp_path, [answer(number, "no_image") for number in range(12)]))["seer"]
    assert (made.with_picture, made.cells, made.difference, made.knowledge) == (None, None, None, None)
    assert made.without_picture is not None


def test_repeats_are_answers_not_questions(tmp_path: Path) -> None:
    once = [answer(number) for number in range(12)]
    made = facts(write_run(tmp_path, once + [replace(one, repeat=1) for one in once]))["seer"]
    assert made.unit == "answer"


def mixed(n: int = 20) -> list[Prediction]:
    """`seer`: choices right with the picture only, short answers never right; choices also asked as open_ended."""
    made = []
    for number in range(n):
        for condition in ("image", "no_image", "swapped", "shuffled"):
            looks = condition in ("image", "shuffled")
            made.append(answer(number, condition, right=looks))
            if condition != "shuffled":
                text = {"kind": "text", "choices": ("red", "green"), "id": f"t{number:03d}"}
                made.append(answer(number, condition, right=False, **text))
        made.append(answer(number, "open_ended", kind="text"))
    return [replace(one, sample=replace(one.sample, choices=())) if one.sample.kind == "text" else one for one in made]


def test_each_kind_has_its_own_facts_and_its_own_level_of_guessing(tmp_path: Path) -> None:
    found = gather(write_run(tmp_path, mixed()), samples=False)
    choice, text = found.facts
    assert (choice.kind, choice.chance, choice.cells) == ("choice", 0.25, Cells(n11=0, n10=20, n01=0, n00=0))
    assert (text.kind, text.cells) == ("text", Cells(n11=0, n10=0, n01=0, n00=20))
    assert math.isnan(text.chance)
    assert (choice.difference.value, text.difference.value) == (1.0, 0.0)  # type: ignore[union-attr]
    assert (choice.swapped.value, choice.shuffled.value, text.shuffled) == (1.0, 0.0, None)  # type: ignore[union-attr]
    assert choice.gap is not None
    assert choice.gap.value == 1.0
    assert text.gap is not None
    assert text.gap.note == "undefined: no right answer with the picture"
    assert [row.estimate.n for row in found.results.pairs if row.second == "no_image"] == [40, 40]  # the run's own pool kinds


def test_facts_of_a_table_are_those_of_the_report(tmp_path: Path) -> None:
    run = write_run(tmp_path, mixed() + usual(20, task="b"))
    table, results = summed_up(run)
    made = facts_of_table(table, results, seed=0)
    assert [(one.task, one.kind, one.model) for one in made] == [
        ("toys", "choice", "seer"),
        ("toys", "text", "seer"),
        ("b", "choice", "seer"),
        ("b", "choice", "blind"),
    ]
    assert repr(made) == repr(gather(run, samples=False).facts)


def test_a_kind_that_a_condition_made_is_no_kind_of_its_own(tmp_path: Path) -> None:
    asked = usual(20) + [answer(number, "open_ended", kind="text") for number in range(20)]
    assert {one.kind for one in gather(write_run(tmp_path / "a", asked), samples=False).facts} == {"choice"}
    alone = [answer(number, "open_ended", kind="text") for number in range(20)]
    assert [one.kind for one in gather(write_run(tmp_path / "b", alone), samples=False).facts] == ["text"]


def test_the_most_frequent_answer_is_a_level_where_labels_are_shared(tmp_path: Path) -> None:
    colours = ("red", "green")
    lopsided = [answer(number, target=colours[number % 4 == 0 :][:1], choices=colours) for number in range(40)]
    failure = Response(status="error", error="timeout")
    lopsided += [answer(number, status="unscored", response=failure, choices=colours) for number in range(40, 50)]
    assert gather(write_run(tmp_path / "a", lopsided, labels=colours), samples=False).facts[0].frequent == 0.75
    assert math.isnan(gather(write_run(tmp_path / "b", lopsided), samples=False).facts[0].frequent)
