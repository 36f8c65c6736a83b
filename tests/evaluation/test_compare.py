from __future__ import annotations

from statistics import mean

import numpy as np
import pytest

from evaluation.made import Asked, by_content, go, item, items, predictions, text_of
from eyetest.errors import StoreError, UsageError
from eyetest.evaluation.compare import compare
from eyetest.types import Response


def number(request):
    return int(text_of(request).split("picture ")[1].split("?")[0])


def ran(out, answer, samples=None, *, name="asked", **values):
    go(out, samples or items(60), Asked(answer, name=name), **values)
    return out


def test_equal_runs_do_not_differ(tmp_path):
    one, two = ran(tmp_path / "a", by_content), ran(tmp_path / "b", by_content)
    (made,) = compare(one, two)
    assert (made.estimate.value, made.estimate.n, made.only_first, made.only_second) == (0.0, 60, 0, 0)
    assert made.p == made.p_holm == 1.0
    assert made.estimate.low <= 0 <= made.estimate.high


def test_one_answer_makes_one_answers_difference(tmp_path):
    one = ran(tmp_path / "a", lambda _: "A")
    two = ran(tmp_path / "b", lambda request: "B" if number(request) == 0 else "A")
    (made,) = compare(one, two)
    assert made.estimate.value == pytest.approx(-1 / 60)
    assert (made.only_first, made.only_second) == (1, 0)
    (back,) = compare(two, one)
    assert back.estimate.value == pytest.approx(1 / 60)
    assert (back.estimate.low, back.estimate.high) == pytest.approx((-made.estimate.high, -made.estimate.low))


def test_a_run_on_a_subset_pairs_the_shared_samples_only(tmp_path):
    one = ran(tmp_path / "a", by_content)
    two = ran(tmp_path / "b", lambda request: "A", limit=25)
    (made,) = compare(one, two)
    first = {record["sample"]: record["score"]["value"] for record in predictions(one)}
    second = {record["sample"]: record["score"]["value"] for record in predictions(two)}
    assert made.estimate.n == 25
    assert made.estimate.value == pytest.approx(mean(second[key] - first[key] for key in second))


def test_failed_answers_of_one_run_are_left_out(tmp_path):
    one = ran(tmp_path / "a", lambda _: "A")
    two = ran(tmp_path / "b", lambda r: Response(status="error", error="500") if number(r) < 20 else "A")
    (made,) = compare(one, two)
    assert (made.estimate.n, made.estimate.n_failed, made.estimate.value) == (40, 20, 0.0)


def test_single_models_are_compared_whatever_their_names(tmp_path):
    one, two = ran(tmp_path / "a", by_content, name="old"), ran(tmp_path / "b", by_content, name="new")
    (made,) = compare(one, two)
    assert (made.first, made.second, made.estimate.value) == ("old", "new", 0.0)


def test_several_models_are_matched_by_name_and_adjusted_together(tmp_path):
    conditions = ["image", "no_image"]
    go(tmp_path / "a", items(60), Asked(lambda _: "A", name="x"), Asked(by_content, name="y"), conditions=conditions)
    go(
        tmp_path / "b",
        items(60),
        Asked(lambda _: "B", name="z"),
        Asked(lambda r: "ABC"[number(r) % 3], name="y"),
        conditions=conditions,
    )
    made = compare(tmp_path / "a", tmp_path / "b")
    assert [(one.first, one.second, one.condition) for one in made] == [("y", "y", "image"), ("y", "y", "no_image")]
    assert all(one.p < one.p_holm for one in made)


def test_conditions_that_only_one_run_has_are_left_out(tmp_path):
    one = ran(tmp_path / "a", by_content, conditions=["image", "no_image"])
    two = ran(tmp_path / "b", by_content, conditions=["blank", "no_image"])
    assert [made.condition for made in compare(one, two)] == ["no_image"]


def test_nothing_in_common_is_said(tmp_path):
    one = ran(tmp_path / "a", by_content, conditions=["image"])
    two = ran(tmp_path / "b", by_content, conditions=["no_image", "blank", "shuffled", "options_only", "told_blind"])
    with pytest.raises(UsageError) as caught:
        compare(one, two)
    assert str(caught.value) == (
        f"{one} and {two} share no cell: the first has samples/asked/default/image; the second has "
        "samples/asked/default/no_image, samples/asked/default/blank, samples/asked/default/shuffled, "
        "samples/asked/default/options_only and 1 more. Runs are compared on the same "
        "task, model, prompt and condition; name and models are set in the run file."
    )


def test_disjoint_samples_are_said(tmp_path):
    one = ran(tmp_path / "a", by_content)
    two = ran(tmp_path / "b", by_content, [item(n) for n in range(100, 120)])
    with pytest.raises(UsageError) as caught:
        compare(one, two)
    assert str(caught.value) == (
        f"{one} and {two} have no answered sample in common. Runs are compared on the samples that both answered."
    )


def test_an_unfinished_run_cannot_be_compared(tmp_path):
    one = ran(tmp_path / "a", by_content)
    with pytest.raises(StoreError, match="not a run directory"):
        compare(one, tmp_path / "b")


def test_few_distinct_requests_withhold_the_interval(tmp_path):
    same = [item(n, question="Is it hateful?") for n in range(60)]
    one = ran(tmp_path / "a", lambda _: "A", same, conditions=["no_image"])
    two = ran(tmp_path / "b", lambda _: "B", same, conditions=["no_image"])
    (made,) = compare(one, two)
    assert made.estimate.note == "interval withheld: only 1 distinct requests"
    assert np.isnan(made.estimate.low)
    assert np.isnan(made.p_holm)
