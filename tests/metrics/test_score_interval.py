"""The interval of macro-F1 and its kin: Wilson's on as many answers as have the metric's linearised standard error."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made import as_sets, labelled
from numpy.typing import NDArray

from eyetest import stats
from eyetest.metrics.classification import BalancedAccuracy, ClassWise, MacroF1, MacroPrecision, MacroRecall, confusion
from eyetest.metrics.columns import Columns, point
from eyetest.metrics.estimate import _slope, by_repeat, estimate
from eyetest.metrics.multilabel import MultilabelMacroF1
from eyetest.types import Estimate

Floats = NDArray[np.float64]
KIN = [MacroF1(), MacroPrecision(), MacroRecall(), BalancedAccuracy()]


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


def method(made: Estimate) -> str:
    return made.signature.split("interval=")[1].split("|")[0]


def answers(n: int = 300, seed: int = 0, repeats: int = 1, right: float = 0.6, **given: Any) -> Columns:
    """Three classes of 60, 30 and 10 %, told at `right`; the rest is a guess among them, or unread."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    read = np.where(rng.random((repeats, n)) < right, truth, rng.integers(-1, 3, (repeats, n)))
    place = {"sample": np.tile(np.arange(n), repeats), "repeat": np.repeat(np.arange(repeats), n)}
    place["request"] = np.arange(n * repeats)
    said = [None if code < 0 else int(code) for code in read.ravel()]
    return labelled(np.tile(truth, repeats).tolist(), said, range(3), **place | given)


SHARED: dict[str, dict[str, Any]] = {
    "": {},
    "cluster_": {"cluster": np.arange(300) // 5},
    "twoway_": {"cluster": np.arange(300) // 5, "request": np.random.default_rng(9).integers(0, 40, 300)},
}
"""What 300 answers share, by the prefix it gives."""


# --- the gradient ------------------------------------------------------------------------------------------------------


def gradient_f1(right: Floats, support: Floats, predicted: Floats) -> Floats:
    """Of the sum over classes of 2 r / (s + p)."""
    whole = support + predicted
    return np.concatenate([2 / whole, -2 * right / whole**2, -2 * right / whole**2])


def gradient_recall(right: Floats, support: Floats, predicted: Floats) -> Floats:
    return np.concatenate([1 / support, -right / support**2, 0 * predicted])


def gradient_precision(right: Floats, support: Floats, predicted: Floats) -> Floats:
    return np.concatenate([1 / predicted, 0 * support, -right / predicted**2])


GRADIENTS: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "macro_f1": gradient_f1,
    "macro_precision": gradient_precision,
    "macro_recall": gradient_recall,
    "balanced_accuracy": gradient_recall,
}


@pytest.mark.parametrize("metric", KIN, ids=lambda metric: metric.name)
@pytest.mark.parametrize("size", [2, 3, 40])
def test_the_gradient_is_the_analytic_one(metric: ClassWise, size: int) -> None:
    rng = np.random.default_rng(size)
    right = rng.integers(1, 30, size).astype(float)
    support, predicted = (right + rng.integers(0, 300, size) for _ in range(2))
    made = _slope(metric, np.concatenate([right, support, predicted]))
    assert made == pytest.approx(GRADIENTS[metric.name](right, support, predicted) / size, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("metric", "classes"), [(MacroF1(), 3), (BalancedAccuracy(), 2)])
def test_a_class_that_does_not_occur_has_no_gradient(metric: ClassWise, classes: int) -> None:
    made = _slope(metric, np.array([20, 10, 0, 30, 40, 0, 25, 15, 30], float))
    two = (np.array(counts, float) for counts in ([20, 10], [30, 40], [25, 15]))
    expected = np.insert(GRADIENTS[metric.name](*two).reshape(3, 2), 2, 0, axis=1) / classes
    assert made == pytest.approx(expected.ravel(), rel=1e-6)
    assert not _slope(metric, np.array([0, 0, 0, 30, 40, 0, 25, 15, 30], float)).any()


def test_the_gradient_of_thousands_of_labels_takes_no_table_of_them() -> None:
    total = np.tile(np.array([[3.0], [5.0], [4.0]]), 5000).ravel()
    tracemalloc.start()
    made = _slope(MacroF1(), total)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made[:5000] == pytest.approx(np.full(5000, 2 / 9 / 5000))
    assert peak < 10e6  # 15,000 x 15,000 would be 1.8 GB


# --- the interval, beside closed forms ---------------------------------------------------------------------------------


def multinomial_f1(made: Columns) -> tuple[float, float]:
    """Macro-F1 and its delta-method variance for a multinomial confusion matrix (Takahashi et al. 2022), divisor n."""
    table = confusion(made).astype(float)
    n, size = table.sum(), len(table)
    share = table / n
    right, whole = np.diagonal(share), share.sum(axis=1) + share[:, :-1].sum(axis=0)
    slope = np.zeros_like(share)
    for k in range(size):  # F1 of class k falls with every answer in its row and its column
        slope[k] -= 2 * right[k] / whole[k] ** 2
        slope[:, k] -= 2 * right[k] / whole[k] ** 2
        slope[k, k] += 2 / whole[k]
    slope /= size
    mean = float((share * slope).sum())
    return float((2 * right / whole).mean()), (float((share * slope**2).sum()) - mean**2) / n


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_macro_f1_of_independent_answers_has_the_multinomial_variance(level: float) -> None:
    made = answers()
    value, variance = multinomial_f1(made)
    size = value * (1 - value) / (variance * 300 / 299)
    found = estimate(MacroF1(), made, seed=0, level=level)
    expected = stats.wilson(value * size, size, level, quantile=stats.t_quantile(level, 299))
    assert ends(found) == pytest.approx(expected, abs=1e-8)
    assert (found.value, found.note, method(found)) == (pytest.approx(value), "", f"score{100 * level:g}")


def test_macro_f1_of_two_classes_by_hand() -> None:
    """40 + 10 answers of one class, 5 + 45 of the other: F1s of 80/95 and 90/105."""
    made = labelled([0] * 50 + [1] * 50, [0] * 40 + [1] * 10 + [0] * 5 + [1] * 45, range(2))
    first, second = 40 / 95, 45 / 105  # r / (s + p)
    adds = {40: (1 - 2 * first) / 95, 45: (1 - 2 * second) / 105, 10: -first / 95 - second / 105}
    variance = 40 * adds[40] ** 2 + 45 * adds[45] ** 2 + 15 * adds[10] ** 2  # sums to 0, so nothing is taken off
    value = first + second
    size = value * (1 - value) / (variance * 100 / 99)
    expected = stats.wilson(value * size, size, quantile=stats.t_quantile(0.95, 99))
    assert ends(estimate(MacroF1(), made, seed=0)) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("metric", [MacroRecall(), BalancedAccuracy()], ids=lambda metric: metric.name)
@pytest.mark.parametrize("supports", [(50, 50), (40, 40, 40), (90, 30, 15)])
def test_a_mean_of_recalls_has_the_stratified_variance(metric: ClassWise, supports: tuple[int, ...]) -> None:
    truth = np.repeat(np.arange(len(supports)), supports)
    read = np.where(np.random.default_rng(1).random(len(truth)) < 0.7, truth, (truth + 1) % len(supports))
    recall = np.bincount(truth, weights=truth == read) / supports
    n, variance = len(truth), float((recall * (1 - recall) / supports).sum()) / len(supports) ** 2
    size = recall.mean() * (1 - recall.mean()) / (variance * n / (n - 1))
    expected = stats.wilson(recall.mean() * size, size, quantile=stats.t_quantile(0.95, n - 1))
    assert ends(estimate(metric, labelled(truth.tolist(), read.tolist(), range(len(supports))), seed=0)) == pytest.approx(
        expected, abs=1e-8
    )


def influence(metric: ClassWise, made: Columns) -> Floats:
    """What each answer adds to the mean over R repeats of the metric, times n, by the analytic gradient: (n,)."""
    n, size, repeats = len(made), len(made.labels), np.unique(made.repeat)
    added = np.zeros(n)
    for repeat in repeats:
        rows = np.flatnonzero(made.repeat == repeat)
        support, said = (np.eye(size + 1)[code[rows]][:, :size] for code in (made.target, made.answer))
        counts = np.concatenate([support * said, support, said], axis=1)
        slope = GRADIENTS[metric.name](*counts.sum(axis=0).reshape(3, size)) / size
        added[rows] = counts @ slope * n / len(repeats)
    return added


@pytest.mark.parametrize("metric", KIN, ids=lambda metric: metric.name)
@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("prefix", list(SHARED))
def test_answers_that_go_together_have_the_robust_error_of_their_influence(metric: ClassWise, prefix: str, repeats: int) -> None:
    made = answers(repeats=repeats, **{name: np.tile(column, repeats) for name, column in SHARED[prefix].items()})
    factors, value = made.factors(), by_repeat(metric, made).mean()
    size = value * (1 - value) / stats.factor_se(influence(metric, made), factors) ** 2
    expected = stats.wilson(value * size, size, quantile=stats.t_quantile(0.95, factors.degrees_of_freedom))
    found = estimate(metric, made, seed=0)
    assert ends(found) == pytest.approx(expected, abs=1e-8)
    assert method(found) == f"{prefix or ('cluster_' if repeats > 1 else '')}score95"
    assert found.low < found.value < found.high


@pytest.mark.parametrize("given", [{}, {"cluster": np.arange(3000) // 5}, {"repeats": 2}], ids=["alone", "cluster", "repeats"])
def test_away_from_the_ends_a_big_bootstrap_agrees(given: dict[str, Any]) -> None:
    made = answers(3000, right=0.5, **given)
    found, drawn = estimate(MacroF1(), made, seed=0), estimate(MultilabelMacroF1(), as_sets(made), seed=0, resamples=20_000)
    assert found.value == pytest.approx(drawn.value, abs=1e-12)
    assert ends(found) == pytest.approx(ends(drawn), abs=0.06 * (drawn.high - drawn.low))


# --- what it depends on ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", list(SHARED))
def test_neither_order_nor_seed_nor_resamples_play_a_part(prefix: str) -> None:
    made = answers(**SHARED[prefix])
    shuffled = made.take(np.random.default_rng(0).permutation(300))
    first, again = estimate(MacroF1(), made, seed=0), estimate(MacroF1(), shuffled, seed=5, resamples=7)
    assert (again.value, *ends(again)) == pytest.approx((first.value, *ends(first)), abs=1e-12)
    assert (method(again), again.signature.split("seed=")[1][0]) == (f"{prefix}score95", "5")


def test_repeats_that_answer_alike_are_one_and_others_narrow_the_interval() -> None:
    once, thrice = answers(), answers(repeats=3)
    alike = once.take(np.tile(np.arange(300), 3))
    alike.repeat[:] = thrice.repeat
    once.repeat[:] = 7
    one, same, three = (estimate(MacroF1(), made, seed=0) for made in (once, alike, thrice))
    assert (same.value, *ends(same)) == pytest.approx((one.value, *ends(one)), abs=1e-9)
    assert three.high - three.low < 0.8 * (one.high - one.low)


def test_an_unread_answer_is_a_miss_and_under_parsed_only_no_answer() -> None:
    made = answers()
    read = made.take(made.status == 0)
    assert len(read) < 300
    excluded, alone = estimate(MacroF1("parsed_only"), made, seed=0), estimate(MacroF1(), read, seed=0)
    assert (excluded.value, *ends(excluded)) == (alone.value, *ends(alone))
    assert ends(estimate(MacroF1(), made, seed=0)) < ends(alone)


# --- where nothing varies ----------------------------------------------------------------------------------------------


def uneven(right: bool, size: int = 3, **given: Any) -> Columns:
    """60, 30 and 10 answers of three classes out of `size`, all right or all wrong."""
    truth = np.repeat(np.arange(3), [60, 30, 10])
    return labelled(truth.tolist(), (truth if right else (truth + 1) % 3).tolist(), range(size), **given)


KISH = 9 / (1 / 60 + 1 / 30 + 1 / 10)
"""1 / sum of squared weights, each answer weighing 1 / (3 classes * answers of its class): 60 answers for 100."""


@pytest.mark.parametrize("metric", KIN, ids=lambda metric: metric.name)
def test_all_right_and_all_wrong_keep_the_width_of_kishs_size(metric: ClassWise) -> None:
    t = stats.t_quantile(0.95, 99)
    best, worst = (estimate(metric, uneven(right), seed=0) for right in (True, False))
    assert (best.value, *ends(best)) == pytest.approx((1.0, 1 / (1 + t * t / KISH), 1.0))
    assert (worst.value, *ends(worst)) == pytest.approx((0.0, 0.0, 1 - 1 / (1 + t * t / KISH)))
    assert (best.note, worst.note, best.high, worst.low) == ("", "", 1.0, 0.0)


def test_all_right_of_even_classes_is_as_wide_as_accuracy() -> None:
    made = labelled("ab" * 30, "ab" * 30, "ab")
    expected = stats.wilson(60, 60, quantile=stats.t_quantile(0.95, 59))
    assert ends(estimate(MacroF1(), made, seed=0)) == pytest.approx(expected)


def test_all_right_in_clusters_counts_clusters() -> None:
    # Five answers a cluster, all of one class: as if there were a fifth of the answers.
    made = estimate(MacroF1(), uneven(True, cluster=np.arange(100) // 5), seed=0)
    expected = stats.wilson(KISH / 5, KISH / 5, quantile=stats.t_quantile(0.95, 19))
    assert (ends(made), method(made)) == (pytest.approx(expected), "cluster_score95")


def test_all_right_in_two_ways_counts_the_factor_that_has_fewer_groups() -> None:
    made = labelled([0, 1] * 300, [0, 1] * 300, range(2), cluster=np.arange(600) // 8, request=np.arange(600) % 20)
    expected = stats.wilson(20, 20, quantile=stats.t_quantile(0.95, 19))
    assert (ends(estimate(MacroF1(), made, seed=0)), made.factors().prefix) == (pytest.approx(expected), "twoway_")


def test_all_right_in_every_repeat_is_all_right_once() -> None:
    once = uneven(True)
    thrice = once.take(np.tile(np.arange(100), 3))
    thrice.repeat[:] = np.repeat(np.arange(3), 100)
    assert ends(estimate(MacroF1(), thrice, seed=0)) == pytest.approx(ends(estimate(MacroF1(), once, seed=0)))


def test_all_right_but_one_is_wider_than_all_right() -> None:
    truth = [0, 1] * 30
    made = estimate(MacroF1(), labelled(truth, [1, *truth[1:]], range(2)), seed=0)
    perfect = estimate(MacroF1(), labelled(truth, truth, range(2)), seed=0)
    assert made.low < perfect.low < made.value < made.high < 1


def test_withheld_and_undefined_are_as_for_every_metric() -> None:
    few = estimate(MacroF1(), answers(9), seed=0)
    assert (few.note, method(few)) == ("interval withheld: only 9 distinct requests", "none")
    assert math.isnan(few.low)


# --- a class that does not occur ---------------------------------------------------------------------------------------


def test_balanced_accuracy_does_not_see_an_absent_class() -> None:
    made = answers(right=0.8)
    wider = replace(made, labels=(*made.labels, "x"))
    assert ends(estimate(BalancedAccuracy(), wider, seed=0)) == pytest.approx(ends(estimate(BalancedAccuracy(), made, seed=0)))
    assert point(MacroF1(), wider) == pytest.approx(0.75 * point(MacroF1(), made))


@pytest.mark.parametrize("metric", KIN, ids=lambda metric: metric.name)
@pytest.mark.parametrize("right", [0.0, 0.6, 0.97, 1.0])
def test_an_absent_class_scales_value_and_interval_by_the_best_that_is_left(metric: ClassWise, right: float) -> None:
    made = uneven(True) if right == 1 else uneven(False) if right == 0 else answers(right=right)
    wider = replace(made, labels=(*made.labels, "x"))
    best = metric.best(wider)
    assert best == (1 if metric.name == "balanced_accuracy" else 0.75)
    found, alone = (estimate(metric, each, seed=0) for each in (wider, made))
    assert (found.value, *ends(found)) == pytest.approx(tuple(best * x for x in (alone.value, *ends(alone))))
    assert found.high <= best


# --- coverage ----------------------------------------------------------------------------------------------------------


def held(times: int, seed: int, right: float = 0.95, n: int = 60, absent: int = 0) -> float:
    """How often the interval of two even classes, told at `right` and guessed otherwise, holds its macro-F1.

    (1 + right) / 2 of two labels; less by the share of those that never occur.
    """
    rng, hits, expected = np.random.default_rng(seed), 0, (1 + right) / (2 + absent)
    for _ in range(times):
        truth = rng.integers(0, 2, n)
        read = np.where(rng.random(n) < right, truth, rng.integers(0, 2, n))
        made = estimate(MacroF1(), labelled(truth.tolist(), read.tolist(), range(2 + absent)), seed=0)
        hits += made.low <= expected <= made.high
    return hits / times


@pytest.mark.parametrize("absent", [0, 3])
def test_macro_f1_near_its_best_is_covered(absent: int) -> None:
    assert 0.91 <= held(400, seed=0, absent=absent) <= 0.99


@pytest.mark.long
@pytest.mark.parametrize("right", [0.5, 0.95])
def test_macro_f1_near_one_is_covered_at_length(right: float) -> None:
    assert 0.92 <= held(4000, seed=1, right=right) <= 0.97


@pytest.mark.parametrize("n", [10, 12, 20, 30, 80])
def test_a_constant_answer_keeps_its_width_at_every_size(n: int) -> None:
    made = labelled([i % 2 for i in range(n)], [0] * n, [0, 1])
    found = estimate(BalancedAccuracy(), made, seed=0)
    assert found.value == 0.5
    assert found.high - found.low > 0.5 / math.sqrt(n)
