"""Ranking, calibration and abstention by the probabilities of the labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from made import ERROR, REFUSED, SCORED, UNPARSED, UNSCORED, columns

import eyetest
from eyetest import stats
from eyetest.metrics.columns import Columns
from eyetest.metrics.probabilities import (
    brier,
    disagreement,
    expected_calibration_error,
    probable,
    reliability,
    risk_coverage,
    roc_auc,
)
from eyetest.stats.auc import delong, one_vs_rest
from eyetest.stats.calibration import calibration_error
from eyetest.stats.calibration import risk_coverage as curve_of
from eyetest.types import Estimate

ESTIMATES = [
    roc_auc,
    brier,
    expected_calibration_error,
    disagreement,
    lambda made, seed: risk_coverage(made, seed=seed).aurc,
    lambda made, seed: risk_coverage(made, seed=seed).selective_accuracy,
]


def with_probabilities(target: Any, table: Any, **given: Any) -> Columns:
    table = np.asarray(table, float)
    given.setdefault("labels", tuple("abcdef"[: table.shape[1]]))
    given.setdefault("answer", np.nan_to_num(table).argmax(axis=1))
    return columns(np.zeros(len(target)), target=target, probabilities=table, **given)


def sampled(seed: int, n: int = 300, k: int = 2, **given: Any) -> tuple[Columns, np.ndarray, np.ndarray]:
    """Columns, targets and probabilities that are calibrated."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(k), n)
    target = (rng.random(n)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    return with_probabilities(target, table, **given), target, table


def numbers(made: Estimate) -> tuple[float, float, float]:
    return made.value, made.low, made.high


# --- area under the curve ----------------------------------------------------------------------------------------------


def test_two_labels_have_delongs_area() -> None:
    from sklearn.metrics import roc_auc_score

    made, target, table = sampled(0)
    found, expected = roc_auc(made, seed=5), delong(target == 1, table[:, 1])
    assert found.value == pytest.approx(roc_auc_score(target, table[:, 1]))
    assert numbers(found) == pytest.approx((expected.value, expected.low, expected.high))
    assert (found.n, found.n_distinct, found.note) == (300, 300, "")
    assert found.signature == f"roc_auc|from=label_probabilities|interval=delong95|seed=5|v{eyetest.__version__}"


def test_the_other_label_has_the_same_area() -> None:
    made, target, table = sampled(1)
    turned = with_probabilities(1 - target, table[:, ::-1])
    assert numbers(roc_auc(turned, seed=0)) == pytest.approx(numbers(roc_auc(made, seed=0)))


def test_more_labels_have_the_mean_of_each_against_the_rest() -> None:
    from sklearn.metrics import roc_auc_score

    made, target, table = sampled(2, k=4)
    found, expected = roc_auc(made, seed=0), one_vs_rest(target, table)
    assert found.value == pytest.approx(roc_auc_score(target, table, multi_class="ovr"))
    assert numbers(found) == pytest.approx((expected.value, expected.low, expected.high))


def test_probabilities_are_among_the_labels() -> None:
    made, target, table = sampled(3, k=3)
    scaled = with_probabilities(target, table * np.random.default_rng(0).random((300, 1)))
    for metric in ESTIMATES:
        assert numbers(metric(scaled, seed=0)) == pytest.approx(numbers(metric(made, seed=0)))


def test_one_class_has_no_area_and_still_a_brier_score() -> None:
    made = with_probabilities(np.zeros(40, int), np.random.default_rng(0).dirichlet([1, 1], 40))
    found = roc_auc(made, seed=0)
    assert np.isnan(numbers(found)).all()
    assert found.note == "undefined: no positive item"
    assert brier(made, seed=0).low > 0


# --- which answers count -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ESTIMATES)
def test_the_same_whatever_the_order(metric: Any) -> None:
    made, _, _ = sampled(4, cluster=np.arange(300) // 3)
    shuffled = made.take(np.random.default_rng(1).permutation(300))
    assert numbers(metric(shuffled, seed=0)) == pytest.approx(numbers(metric(made, seed=0)), rel=1e-9)


@pytest.mark.parametrize("metric", [roc_auc, brier, expected_calibration_error])
def test_answers_without_probabilities_are_left_out_and_counted(metric: Any) -> None:
    made, target, table = sampled(5)
    partly = with_probabilities(target, np.where(np.arange(300)[:, None] < 60, np.nan, table))
    zero = with_probabilities(target, np.where(np.arange(300)[:, None] < 60, 0.0, table))
    rest = made.take(np.arange(300) >= 60)
    for short in (partly, zero):
        assert numbers(metric(short, seed=0)) == pytest.approx(numbers(metric(rest, seed=0)))
        assert metric(short, seed=0).n == 240
        assert metric(short, seed=0).note.endswith("60 of 300 answers without probabilities")


@pytest.mark.parametrize("metric", ESTIMATES)
@pytest.mark.parametrize("width", [0, 2])
def test_no_probabilities_at_all(metric: Any, width: int) -> None:
    made = columns(np.ones(30), target=np.zeros(30), labels=("a", "b"), probabilities=np.full((30, width), np.nan))
    found = metric(made, seed=0)
    assert np.isnan(numbers(found)).all()
    assert found.n == 0
    assert found.note == "undefined: no answers; 30 of 30 answers without probabilities"
    assert "|interval=none|" in found.signature


@pytest.mark.parametrize("metric", ESTIMATES)
@pytest.mark.parametrize("labels", [(), ("a", "b")])
def test_no_answers(metric: Any, labels: tuple[str, ...]) -> None:
    found = metric(columns([], labels=labels), seed=0)
    assert np.isnan(numbers(found)).all()
    assert found.note == "undefined: no answers"
    assert risk_coverage(columns([], labels=labels), seed=0).points == ()


def test_the_text_plays_no_part_but_failed_calls_do() -> None:
    status = [UNPARSED] * 20 + [REFUSED] * 10 + [ERROR] * 5 + [UNSCORED] * 2 + [SCORED] * 263
    made, target, table = sampled(6, status=status)
    found = brier(made, seed=0)
    assert (found.n, found.n_unparsed, found.n_refused, found.n_failed) == (293, 20, 10, 5)
    counted = np.r_[:30, 37:300]
    assert found.value == pytest.approx(brier(with_probabilities(target[counted], table[counted]), seed=0).value)
    assert found.note == "2 answers unscored"


@pytest.mark.parametrize("metric", ESTIMATES)
def test_too_few_requests_have_no_interval(metric: Any) -> None:
    made, _, _ = sampled(7, request=np.arange(300) % 8)
    found = metric(made, seed=0)
    assert not math.isnan(found.value)
    assert math.isnan(found.low)
    assert found.note == "interval withheld: only 8 distinct requests"


@pytest.mark.parametrize("metric", ESTIMATES)
def test_answers_that_go_together_widen_the_interval(metric: Any) -> None:
    base, target, table = sampled(8, n=120)
    many = {"target": np.repeat(target, 6), "table": np.repeat(table, 6, axis=0)}
    answer = np.repeat((base.answer + (np.arange(120) % 3 == 0)) % 2, 6)
    alone, grouped = (
        metric(with_probabilities(**many, answer=answer, **kw), seed=0) for kw in ({}, {"cluster": np.arange(720) // 6})
    )
    assert grouped.value == pytest.approx(alone.value)
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)
    assert "|interval=cluster_" in grouped.signature
    crossing = metric(with_probabilities(**many, answer=answer, cluster=np.arange(720) // 6, request=np.arange(720) % 40), seed=0)
    assert "|interval=twoway_" in crossing.signature
    assert crossing.low < crossing.value <= crossing.high


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(ValueError, match=r"probabilities has 3 columns, labels are \('a', 'b'\)"):
        probable(with_probabilities([0], [[0.1, 0.2, 0.7]], labels=("a", "b")))
    with pytest.raises(ValueError, match=r"a number below 0, or a target outside 0\.\.1"):
        probable(with_probabilities([0], [[-0.1, 1.1]]))
    with pytest.raises(ValueError, match=r"a number below 0, or a target outside 0\.\.1"):
        probable(with_probabilities([-1], [[0.1, 0.9]]))


# --- calibration -------------------------------------------------------------------------------------------------------


def test_calibration_error_is_about_the_most_probable_label() -> None:
    made, target, table = sampled(9, k=3, n=600)
    right = (table.argmax(axis=1) == target).astype(float)
    expected = calibration_error(table.max(axis=1), right, seed=3)
    found = expected_calibration_error(made, seed=3)
    assert numbers(found) == pytest.approx((expected.value, expected.low, expected.high), abs=1e-9)
    assert found.note == (
        f"biased upwards: a calibrated model shows {expected.by_chance:.3f}; {expected.debiased:.3f} without bias"
    )
    assert found.signature.startswith("expected_calibration_error@15|from=label_probabilities|interval=normal95x2000|seed=3|")
    wide = expected_calibration_error(made, bins=5, equal_mass=False, seed=0)
    assert wide.metric == "expected_calibration_error@5_equal_width"
    assert wide.value == pytest.approx(calibration_error(table.max(axis=1), right, bins=5, equal_mass=False, seed=0).value)


def test_equally_probable_labels_share_the_credit() -> None:
    found = probable(with_probabilities([0, 1, 2], [[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.4, 0.4, 0.2]]))
    assert found.right().tolist() == [0.5, 0.5, 0.0]
    uniform = with_probabilities(np.arange(40) % 2, np.full((40, 2), 0.5))
    assert expected_calibration_error(uniform, seed=0).value == pytest.approx(0.0)
    assert risk_coverage(uniform, seed=0).aurc.value == pytest.approx(0.5)


def test_reliability_diagram() -> None:
    made, target, table = sampled(10)
    bins = reliability(made, bins=3)
    assert sum(each.n for each in bins) == 300
    assert sum(each.n * each.accuracy for each in bins) == pytest.approx((table.argmax(axis=1) == target).sum())
    assert reliability(columns([], labels=("a", "b"))) == ()


def test_brier_equals_scikit_learn() -> None:
    from sklearn.metrics import brier_score_loss

    made, target, table = sampled(11, k=4)
    assert brier(made, seed=0).value == pytest.approx(brier_score_loss(target, table, labels=range(4), scale_by_half=True))
    two, target, table = sampled(11)
    assert brier(two, seed=0).value == pytest.approx(brier_score_loss(target, table[:, 1]))


def test_disagreement_of_text_and_probabilities() -> None:
    table = np.tile([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], (20, 1))
    status = np.where(np.arange(60) < 6, UNPARSED, SCORED)
    made = with_probabilities(np.zeros(60, int), table, answer=np.zeros(60, int), status=status)
    found = disagreement(made, seed=0)
    assert found.n == 54
    assert found.value == pytest.approx(18 / 54)
    assert (found.low, found.high) == pytest.approx(stats.wilson(18, 54))


# --- abstention --------------------------------------------------------------------------------------------------------


def test_risk_and_coverage() -> None:
    made, target, table = sampled(12, n=400)
    found, right = risk_coverage(made, seed=0), table.argmax(axis=1) == target
    curve = curve_of(table.max(axis=1), 1.0 - right)
    assert found.aurc.value == pytest.approx(curve.area)
    assert found.aurc.low < curve.area < found.aurc.high
    assert found.aurc.signature.startswith("aurc|from=label_probabilities|interval=t95|")
    assert len(found.points) == 100
    assert (found.points[0].coverage, found.points[-1].coverage) == (0.01, 1.0)
    assert found.points[-1].risk == pytest.approx(1 - right.mean())
    assert found.points[-1].threshold == pytest.approx(table.max(axis=1).min())
    top = np.argsort(-table.max(axis=1))[:320]
    assert found.selective_accuracy.metric == "selective_accuracy@80"
    assert found.selective_accuracy.value == pytest.approx(right[top].mean())
    assert (found.selective_accuracy.n, found.selective_accuracy.low) == (
        320,
        pytest.approx(stats.wilson(right[top].sum(), 320)[0]),
    )
    assert found.points[79].risk == pytest.approx(1 - found.selective_accuracy.value)


def test_few_answers_have_few_points() -> None:
    made, _, _ = sampled(13, n=7)
    assert [point.coverage for point in risk_coverage(made, seed=0).points] == pytest.approx([i / 7 for i in range(1, 8)])


def test_all_right_says_nothing_about_the_order() -> None:
    table = np.random.default_rng(0).dirichlet([1, 1], 50)
    found = risk_coverage(with_probabilities(table.argmax(axis=1), table), seed=0)
    assert found.aurc.value == 0.0
    assert math.isnan(found.aurc.low)
    assert found.aurc.note == "interval withheld: all answers are right, or none"
    assert (found.selective_accuracy.value, found.selective_accuracy.high) == (1.0, 1.0)
