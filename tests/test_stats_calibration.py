"""Calibration, Brier score and risk-coverage against scikit-learn, closed forms, jackknives and simulations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.stats import Factors, crossed, factor_se, groups, wilson
from eyetest.stats.calibration import (
    CalibrationError,
    area_interval,
    bin_edges,
    brier_losses,
    calibration_error,
    most_confident,
    reliability_bins,
    risk_coverage,
)


def one_way(group: Any) -> Factors:
    return Factors((groups(np.asarray(group)),))


def answers(seed: int, n: int = 400, off: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Confidence and whether it was right, less often than the confidence says."""
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 1.5, n)
    return confidence, (rng.random(n) < confidence - off * (confidence - 0.3)).astype(float)


def numbers(made: CalibrationError) -> list[float]:
    return [made.value, made.debiased, made.by_chance, made.low, made.high]


# --- calibration error -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("equal_mass", [True, False])
@pytest.mark.parametrize("bins", [1, 7, 15])
def test_bins_are_those_of_scikit_learn(bins: int, equal_mass: bool) -> None:
    from sklearn.calibration import calibration_curve

    confidence, right = answers(0, n=398)  # no quantile falls on an item, where rounding would decide
    true, predicted = calibration_curve(right, confidence, n_bins=bins, strategy="quantile" if equal_mass else "uniform")
    made = reliability_bins(confidence, right, bins=bins, equal_mass=equal_mass)
    assert [each.accuracy for each in made] == pytest.approx(true.tolist())
    assert [each.confidence for each in made] == pytest.approx(predicted.tolist())
    counted = np.array([each.n for each in made])
    assert counted.sum() == 398
    expected = float((counted / 398 * np.abs(true - predicted)).sum())
    error = calibration_error(confidence, right, bins=bins, equal_mass=equal_mass, seed=0)
    assert error.value == pytest.approx(expected)


def test_equal_mass_is_equal_mass_and_keeps_ties_together() -> None:
    confidence, right = answers(1, n=300)
    assert {each.n for each in reliability_bins(confidence, right)} == {20}
    tied = reliability_bins(np.repeat([0.5, 0.9], [90, 10]), np.ones(100))
    assert [(each.n, each.confidence) for each in tied] == [(90, 0.5), (10, pytest.approx(0.9))]
    assert bin_edges(np.full(50, 0.7)).tolist() == [0.0, 0.7, 1.0]
    assert bin_edges([], 4).tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"bins must be at least 1, got 0"):
        bin_edges([0.5], 0)
    for bad in (1.2, -0.1, math.nan):
        with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\] and not nan"):
            calibration_error([0.5, bad], [1, 1], seed=0)


def test_analytic_values() -> None:
    # Half of a thousand answers at confidence .8 are right: |.5 - .8|.
    made = calibration_error(np.full(1000, 0.8), np.arange(1000) % 2, seed=0)
    assert made.value == pytest.approx(0.3)
    assert made.by_chance == pytest.approx(math.sqrt(2 / math.pi * 0.16 / 1000))
    assert made.debiased == pytest.approx(0.3, abs=0.002)
    assert (made.low, made.high) == pytest.approx(
        (0.3 - 1.96 * 0.5 / math.sqrt(999), 0.3 + 1.96 * 0.5 / math.sqrt(999)), abs=0.003
    )


def test_nothing_and_one_group() -> None:
    assert np.isnan(numbers(calibration_error([], [], seed=0))).all()
    made = calibration_error([0.6, 0.8], [1, 0], one_way([0, 0]), seed=0)
    assert made.value == pytest.approx(0.6)
    assert np.isnan([made.debiased, made.low, made.high]).all()


def test_it_follows_its_seed_and_not_the_order() -> None:
    confidence, right = answers(2)
    order = np.random.default_rng(0).permutation(400)
    first, again, other = (calibration_error(confidence, right, seed=seed) for seed in (0, 0, 1))
    assert first == again != other
    assert numbers(calibration_error(confidence[order], right[order], seed=0)) == pytest.approx(numbers(first), rel=1e-6)


def test_answers_that_go_together_widen_it() -> None:
    confidence, right = (np.repeat(each, 8) for each in answers(3, n=250))
    alone = calibration_error(confidence, right, seed=0)
    together = calibration_error(confidence, right, one_way(np.arange(2000) // 8), seed=0)
    assert together.value == alone.value
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert together.debiased < alone.debiased
    crossing = calibration_error(confidence, right, crossed(groups(np.arange(2000) // 8), groups(np.arange(2000) % 40)), seed=0)
    assert crossing.high - crossing.low == pytest.approx(together.high - together.low, rel=0.25)


@pytest.mark.parametrize(
    "factors",
    [one_way(np.arange(400) ** 2 // 10_000), crossed(groups(np.arange(400) ** 2 // 10_000), groups(np.arange(400) % 23))],
)
def test_one_bin_has_the_standard_error_of_a_mean(factors: Factors) -> None:
    confidence, right = answers(11)
    right = np.where(factors.codes[0] % 3 == 0, 0.0, right)
    made = calibration_error(confidence, right, factors, bins=1, resamples=40_000, seed=0)
    se = factor_se(right - confidence, factors)
    assert made.value > 3 * se
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * se, rel=0.02)


def test_the_interval_lies_about_the_value_without_bias() -> None:
    made = calibration_error(*answers(10, n=300), seed=0)
    assert made.low > 0
    assert made.value - made.debiased > 0.01
    assert (made.low + made.high) / 2 == pytest.approx(made.debiased, abs=0.15 * (made.value - made.debiased))


def test_items_that_agree_have_the_spread_of_a_calibrated_model() -> None:
    made = calibration_error(np.full(30, 0.9), np.ones(30), bins=1, seed=0)
    assert (made.value, made.low) == (pytest.approx(0.1), 0.0)
    assert made.high == pytest.approx(0.1 + 1.96 * math.sqrt(0.09 / 30), abs=0.01)


def test_two_ways_with_a_negative_variance_still_have_an_interval() -> None:
    rng = np.random.default_rng(0)
    shared = crossed(groups(rng.integers(0, 6, 60)), groups(rng.integers(0, 6, 60)))
    confidence = rng.random(60)
    made = calibration_error(confidence, rng.random(60) < confidence, shared, seed=0)
    assert 0 <= made.low <= made.value <= made.high <= 1
    assert 0 < made.debiased < made.value


def test_two_ways_count_what_both_share_once() -> None:
    confidence, right = answers(22)
    shared = crossed(groups(np.arange(400) // 4), groups(np.random.default_rng(22).permutation(400) // 4))
    se = factor_se(right - confidence, shared)
    made = calibration_error(confidence, right, shared, bins=1, resamples=40_000, seed=0)
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * se, rel=0.02)


def test_an_error_that_a_calibrated_model_shows_too_may_be_none() -> None:
    confidence, right = answers(4, off=0.0)
    made = calibration_error(confidence, right, seed=0)
    assert made.low == 0.0
    assert made.value == pytest.approx(made.by_chance, rel=0.5)
    assert 0 <= made.debiased < made.value <= made.high


def test_a_calibrated_model_shows_by_chance_what_is_said() -> None:
    shown = [calibration_error(*answers(seed, n=300, off=0.0), seed=0, resamples=1) for seed in range(300)]
    assert np.mean([made.value for made in shown]) == pytest.approx(np.mean([made.by_chance for made in shown]), rel=0.03)


def test_twenty_thousand_answers_are_quick() -> None:
    import time

    confidence, right = answers(5, n=20_000)
    start = time.process_time()
    calibration_error(confidence, right, one_way(np.arange(20_000) // 2), seed=0)
    area_interval(risk_coverage(confidence, 1 - right))
    assert time.process_time() - start < 1.0


def held(n: int, off: float, runs: int) -> float:
    """Share of intervals that hold the binned error of the population."""
    many, _ = answers(99, n=300_000)
    edges = bin_edges(many)
    gap = np.bincount(np.searchsorted(edges[1:-1], many), weights=off * (many - 0.3)) / len(many)
    true, inside = float(np.abs(gap).sum()), 0
    for seed in range(runs):
        made = calibration_error(*answers(seed, n=n, off=off), seed=seed, resamples=400)
        inside += made.low <= true <= made.high
    return inside / runs


def test_intervals_hold_the_true_error() -> None:
    assert held(200, 0.0, 250) > 0.93
    assert held(1000, 0.3, 250) > 0.88


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 100, 300, 1000, 5000])
@pytest.mark.parametrize("off", [0.0, 0.1, 0.3])
def test_intervals_hold_the_true_error_everywhere(n: int, off: float) -> None:
    assert held(n, off, 1500) > 0.87


# --- reliability bins --------------------------------------------------------------------------------------------------


def test_bins_have_wilsons_interval_and_say_their_edges() -> None:
    confidence, right = answers(6)
    made = reliability_bins(confidence, right, bins=4, level=0.9)
    for each in made:
        inside = (confidence > each.low) & (confidence <= each.high)
        assert each.n == inside.sum()
        assert (each.accuracy_low, each.accuracy_high) == pytest.approx(wilson(right[inside].sum(), each.n, 0.9))
    assert (made[0].low, made[-1].high) == (0.0, 1.0)
    assert reliability_bins([], []) == ()


def test_bins_of_answers_that_go_together_are_wider() -> None:
    confidence, right = (np.repeat(each, 5) for each in answers(7))
    alone, grouped = (reliability_bins(confidence, right, f, bins=3) for f in (None, one_way(np.arange(2000) // 5)))
    for one, other in zip(alone, grouped, strict=True):
        assert other.accuracy_high - other.accuracy_low > 1.8 * (one.accuracy_high - one.accuracy_low)
    single = reliability_bins([0.2, 0.2, 0.9], [1, 0, 1], one_way([0, 0, 1]), bins=2, equal_mass=False)
    assert np.isnan([single[0].accuracy_low, single[0].accuracy_high]).all()


# --- Brier score -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 6])
def test_brier_equals_scikit_learn(k: int) -> None:
    from sklearn.metrics import brier_score_loss

    rng = np.random.default_rng(k)
    table, target = rng.dirichlet(np.ones(k), 100), rng.integers(0, k, 100)
    expected = brier_score_loss(target, table, labels=range(k), scale_by_half=True)
    made = brier_losses(table, target)
    assert made.mean() == pytest.approx(expected)
    assert ((made >= 0) & (made <= 1)).all()


def test_brier_of_two_labels_is_the_squared_error() -> None:
    assert brier_losses([[0.3, 0.7], [1.0, 0.0]], [1, 1]).tolist() == pytest.approx([0.09, 1.0])
    assert brier_losses(np.zeros((0, 2)), np.zeros(0, int)).tolist() == []


# --- risk and coverage -------------------------------------------------------------------------------------------------


def test_curve_of_four_answers() -> None:
    made = risk_coverage([0.6, 0.9, 0.7, 0.8], [1, 0, 1, 0])
    assert made.coverage.tolist() == [0.25, 0.5, 0.75, 1]
    assert made.risk.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 2])
    assert made.threshold.tolist() == [0.9, 0.8, 0.7, 0.6]
    assert made.area == pytest.approx((1 / 3 + 1 / 2) / 4)


def test_equal_confidence_is_random_order_on_average() -> None:
    confidence, loss = np.array([0.9, 0.5, 0.5, 0.5, 0.2]), np.array([0.0, 1, 0, 0, 1])
    rng, areas = np.random.default_rng(0), []
    for _ in range(3000):
        areas.append(risk_coverage(confidence + 1e-9 * rng.random(5), loss).area)
    assert risk_coverage(confidence, loss).area == pytest.approx(np.mean(areas), abs=0.006)
    assert risk_coverage(np.full(50, 0.7), np.arange(50) % 2).risk.tolist() == pytest.approx([0.5] * 50)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 8))
def test_curve_does_not_depend_on_the_order(seed: int, n: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    confidence, loss, order = rng.integers(0, steps, n) / steps, (rng.random(n) < 0.4).astype(float), rng.permutation(n)
    one, other = risk_coverage(confidence, loss), risk_coverage(confidence[order], loss[order])
    assert one.risk == pytest.approx(other.risk)
    assert one.influence[order] == pytest.approx(other.influence)
    assert one.risk[-1] == pytest.approx(loss.mean())
    assert one.influence.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_area_has_the_jackknifes_standard_error(ties: bool) -> None:
    confidence, right = answers(8, n=500)
    confidence = np.round(confidence, 1) if ties else confidence
    left_out = [risk_coverage(np.delete(confidence, i), np.delete(1 - right, i)).area for i in range(500)]
    jackknife = math.sqrt(499 / 500 * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    made = risk_coverage(confidence, 1 - right)
    assert factor_se(made.influence, one_way(np.arange(500))) == pytest.approx(jackknife, rel=0.02)
    low, high = area_interval(made)
    assert (high - low) / 2 == pytest.approx(1.96 * jackknife, rel=0.03)
    assert (low + high) / 2 == pytest.approx(made.area)


def test_area_of_answers_that_go_together() -> None:
    confidence, right = (np.repeat(each, 4) for each in answers(9))
    curve = risk_coverage(confidence, 1 - right)
    (low, high), (low_grouped, high_grouped) = (area_interval(curve, f) for f in (None, one_way(np.arange(1600) // 4)))
    assert (high_grouped - low_grouped) / (high - low) == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("loss", [0.0, 1.0])
def test_area_without_order_has_no_interval(loss: float) -> None:
    curve = risk_coverage(np.linspace(0, 1, 30), np.full(30, loss))
    assert curve.area == pytest.approx(loss)
    assert np.isnan(area_interval(curve)).all()


def test_curve_of_nothing() -> None:
    curve = risk_coverage([], [])
    assert len(curve.coverage) == len(curve.risk) == len(curve.threshold) == 0
    assert math.isnan(curve.area)
    assert np.isnan(area_interval(curve)).all()
    assert most_confident([]).tolist() == []


@pytest.mark.parametrize(("coverage", "kept"), [(0.8, 8), (0.75, 8), (1.0, 10), (0.0, 1), (0.31, 4)])
def test_most_confident(coverage: float, kept: int) -> None:
    confidence = np.random.default_rng(0).permutation(10) / 10
    chosen = most_confident(confidence, coverage)
    assert chosen.sum() == kept
    assert confidence[chosen].min() == pytest.approx(1 - kept / 10)


def test_a_whole_number_of_items_is_not_rounded_up() -> None:
    # 0.07 * 100 is 7.000000000000001.
    assert most_confident(np.arange(100) / 100, 0.07).sum() == 7


def test_ties_at_the_threshold_are_taken_whole() -> None:
    assert most_confident([0.9, 0.5, 0.5, 0.5, 0.1], 0.4).tolist() == [True, True, True, True, False]


def areas_held(n: int, runs: int) -> float:
    many, right = answers(98, n=300_000)
    true = risk_coverage(many, 1 - right).area
    inside = 0
    for seed in range(runs):
        confidence, right = answers(seed, n=n)
        low, high = area_interval(risk_coverage(confidence, 1 - right))
        inside += low <= true <= high
    return inside / runs


def test_area_intervals_hold_the_true_area() -> None:
    assert areas_held(200, 400) > 0.91


@pytest.mark.long
@pytest.mark.parametrize("n", [100, 300, 1000, 5000])
def test_area_intervals_hold_the_true_area_everywhere(n: int) -> None:
    assert 0.91 < areas_held(n, 3000) < 0.97
