from __future__ import annotations

import math
from pathlib import Path

import pytest

from eyetest.reports.facts import Facts
from eyetest.reports.gather import gather
from eyetest.stats import Cells, sur_ner, wilson
from eyetest.types import Response
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
    from dataclasses import replace

    once = [answer(number) for number in range(12)]
    made = facts(write_run(tmp_path, once + [replace(one, repeat=1) for one in once]))["seer"]
    assert made.unit == "answer"
