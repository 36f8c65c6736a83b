"""Ratios of paired means, of rates with denominators of their own, and odds ratios."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest import stats
from eyetest.stats import Cells, Factors
from eyetest.stats.odds import odds_ratio_ci, odds_ratio_factor_ci
from eyetest.stats.ratios import fieller, log_rate_influence, mover_ratio, posterior_ratio


def one_way(group: Any) -> Factors:
    return Factors((stats.groups(np.asarray(group)),))


def independent(n: int) -> Factors:
    return one_way(np.arange(n))


def made(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Correlated values with means near 1 and 2."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal(n)
    return 1 + shared + rng.standard_normal(n), 2 + 0.5 * shared + rng.standard_normal(n)


# --- fieller -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_fieller_of_independent_values_is_the_closed_form(seed: int, level: float) -> None:
    x, y = made(seed)
    n, t = len(x), stats.t_quantile(level, len(x) - 1)
    (vx, c), (_, vy) = np.cov(x, y) / n
    mx, my = x.mean(), y.mean()
    ratio, g = mx / my, t * t * vy / my**2  # Fieller as in Finney 1978, sec. 4.11
    middle = ratio - g * c / vy
    half = t / my * math.sqrt(vx - 2 * ratio * c + ratio**2 * vy - g * (vx - c * c / vy))
    expected = ((middle - half) / (1 - g), (middle + half) / (1 - g))
    assert fieller(x, y, independent(n), level) == pytest.approx(expected, rel=1e-9)


def test_fieller_of_groups_agrees_with_the_bootstrap_over_groups() -> None:
    rng = np.random.default_rng(1)
    group = np.arange(1200) // 4
    x, y = (np.repeat(part, 4) + rng.standard_normal(1200) for part in made(2, 300))
    sums = np.stack([stats.group_sums(x, group), stats.group_sums(y, group)], axis=1)
    totals = stats.bootstrap_counts(sums, resamples=4000, seed=0)
    expected = stats.percentile(totals[:, 0] / totals[:, 1])
    low, high = fieller(x, y, one_way(group))
    assert (low, high) == pytest.approx(expected, abs=0.1 * (high - low))
    assert high - low > 1.5 * np.diff(fieller(x, y, independent(1200)))[0]


@given(st.integers(0, 10**6), st.integers(2, 15), st.integers(2, 15))
def test_the_ends_lie_t_standard_errors_away(seed: int, pictures: int, questions: int) -> None:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, pictures, 60) if seed % 2 else rng.integers(0, questions, 60)
    x, y = made(seed, 60)
    factors = one_way(group)
    t = stats.t_quantile(0.95, factors.degrees_of_freedom)
    ends = fieller(x, y, factors)
    if math.isnan(ends[0]):
        assert abs(y.mean()) <= t * stats.factor_se(y, factors) * (1 + 1e-9)
        return
    assert ends[0] <= x.mean() / y.mean() <= ends[1]
    for end in ends:
        assert abs((x - end * y).mean()) == pytest.approx(t * stats.factor_se(x - end * y, factors), rel=1e-6, abs=1e-9)


@given(st.integers(0, 10**6), st.floats(0.1, 10), st.floats(-10, -0.1))
def test_fieller_scales_with_its_parts(seed: int, times: float, negative: float) -> None:
    x, y = made(seed, 40)
    low, high = fieller(x, y, independent(40))
    assert fieller(times * x, y, independent(40)) == pytest.approx((times * low, times * high), rel=1e-6, nan_ok=True)
    assert fieller(x, negative * y, independent(40)) == pytest.approx((high / negative, low / negative), rel=1e-6, nan_ok=True)


def test_fieller_of_two_factors_is_wider_than_of_either() -> None:
    rng = np.random.default_rng(4)
    picture, question = rng.integers(0, 60, 600), rng.integers(0, 40, 600)
    effect = rng.standard_normal(60)[picture] + rng.standard_normal(40)[question]
    x, y = 1 + effect + rng.standard_normal(600), 2 + rng.standard_normal(600)
    both = stats.crossed(stats.groups(picture), stats.groups(question))
    assert both.prefix == "twoway_"
    width = [float(np.diff(fieller(x, y, factors))[0]) for factors in (both, one_way(picture), one_way(question))]
    assert width[0] > max(width[1:])


def test_fieller_where_there_is_no_interval() -> None:
    y = np.tile([1.0, -0.9], 20)  # mean .05: not to be told from 0
    for x, bottom, factors in (
        (np.ones(40), y, independent(40)),
        (np.ones(40), np.zeros(40), independent(40)),
        (np.ones(5), np.arange(5.0), one_way(np.zeros(5))),
        ([], [], independent(0)),
    ):
        assert np.isnan(fieller(x, bottom, factors)).all()


def test_a_constant_denominator_leaves_students_interval_and_no_variance_no_width() -> None:
    x = made(3)[0]
    low, high = stats.factor_interval(x, independent(80))
    assert fieller(x, np.full(80, 4.0), independent(80)) == pytest.approx((low / 4, high / 4))
    y = np.arange(1.0, 21.0)
    assert fieller(0.5 * y, y, independent(20)) == pytest.approx((0.5, 0.5))


def covered(times: int, seed: int, n: int, per_group: int) -> float:
    rng, hits = np.random.default_rng(seed), 0
    factors = one_way(np.arange(n) // per_group)
    for _ in range(times):
        shared = np.repeat(rng.standard_normal(n // per_group), per_group)
        x, y = 1 + shared + rng.standard_normal(n), 1 + shared + rng.standard_normal(n)
        low, high = fieller(x, y, factors)
        hits += math.isnan(low) or low <= 1 <= high
    return hits / times


@pytest.mark.parametrize("per_group", [1, 4])
def test_fieller_is_covered(per_group: int) -> None:
    assert 0.92 <= covered(500, 0, 160, per_group) <= 0.98


@pytest.mark.long
def test_fieller_is_covered_at_length() -> None:
    for per_group in (1, 4):
        assert 0.943 <= covered(10_000, 1, 80, per_group) <= 0.957


# --- the posterior of a ratio ------------------------------------------------------------------------------------------

GAIN, SHOWN = (0.0, 1.0, -1.0, 0.0), (1.0, 1.0, 0.0, 0.0)


def test_posterior_ratio_is_the_gap_rates() -> None:
    cells = Cells(0, 20, 0, 10)
    expected = stats.gap_rate_posterior(cells, 0.9, resamples=1000, seed=3)
    assert posterior_ratio(cells, GAIN, SHOWN, 0.9, resamples=1000, seed=3) == pytest.approx(expected)


def test_posterior_ratio_holds_the_observed_ratio_and_keeps_its_width() -> None:
    low, high = posterior_ratio(Cells(0, 0, 0, 30), GAIN, (1.0, 1.0, 1.0, 1.0), resamples=1000, seed=0)
    assert low <= 0.0 <= high
    assert 0.05 < high - low < 0.3


@pytest.mark.parametrize("cells", [Cells(3, 3, 2, 12), Cells(0, 0, 5, 5)])
def test_posterior_ratio_is_withheld_where_the_denominator_may_be_0(cells: Cells) -> None:
    guess = (0.75, 0.75, -0.25, -0.25)
    assert np.isnan(posterior_ratio(cells, GAIN, guess, resamples=1000, seed=0)).all()


# --- mover -------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 30), st.integers(1, 30))
def test_movers_ends_are_where_the_difference_reaches_its_own_interval(k0: int, k1: int) -> None:
    """MOVER for top - R bottom, an interval of each part squared and added, contains 0 just up to the ends."""
    top, bottom = k0 / 30, k1 / 30
    (l0, u0), (l1, u1) = ends = stats.wilson(k0, 30), stats.wilson(k1, 30)
    low, high = mover_ratio(top, ends[0], bottom, ends[1])
    assert 0 <= low <= top / bottom <= high
    assert (top - low * bottom) ** 2 == pytest.approx((top - l0) ** 2 + low**2 * (u1 - bottom) ** 2, abs=1e-9)
    assert (top - high * bottom) ** 2 == pytest.approx((u0 - top) ** 2 + high**2 * (bottom - l1) ** 2, rel=1e-6, abs=1e-9)


def test_mover_at_the_edges() -> None:
    assert mover_ratio(0.0, (0.0, 0.1), 1.0, (1.0, 1.0)) == pytest.approx((0.0, 0.1))
    assert mover_ratio(0.5, (0.4, 0.6), 1.0, (1.0, 1.0)) == pytest.approx((0.4, 0.6))
    assert mover_ratio(0.5, (0.4, 0.6), 0.1, (0.0, 0.3))[1] == math.inf


# --- rates with denominators of their own ------------------------------------------------------------------------------


def test_log_rate_influence_gives_the_textbook_standard_error_of_a_log_rate() -> None:
    right, attempted = np.repeat([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [30, 20, 50], axis=0).T
    influence = log_rate_influence(right, attempted)
    assert influence.mean() == pytest.approx(0.0, abs=1e-12)
    # Given 50 attempts the rate is 30 / 50: Var(log p) = (1 - p) / (n p); CR1 and CR2 both come to n / (n - 1).
    expected = math.sqrt(0.4 / (50 * 0.6) * 100 / 99)
    assert stats.factor_se(influence, independent(100)) == pytest.approx(expected)


# --- odds ratio --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [(60, 20, 15, 25), (3, 1, 1, 7), (30, 0, 5, 5), (0, 4, 6, 0)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_odds_ratio_equals_statsmodels(cells: tuple[int, ...], level: float) -> None:
    from statsmodels.stats.contingency_tables import Table2x2

    found = odds_ratio_ci(Cells(*cells), level)
    # statsmodels itself turns only the empty cells into 1/2.
    table = Table2x2(np.array(cells, float).reshape(2, 2) + (0.5 if 0 in cells else 0.0))
    assert found.value == pytest.approx(table.oddsratio)
    assert found[1:] == pytest.approx(table.oddsratio_confint(1 - level))


def patterns(cells: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.repeat([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], cells, axis=0).T
    return first, second


def test_the_linearised_odds_ratio_of_independent_items_is_woolfs() -> None:
    first, second = patterns((60, 20, 15, 25))
    found, woolf = odds_ratio_factor_ci(first, second, independent(120)), odds_ratio_ci(Cells(60, 20, 15, 25))
    t, z = stats.t_quantile(0.95, 119), stats.normal_quantile(0.95)
    assert found.value == pytest.approx(woolf.value)
    half = math.log(woolf.high / woolf.value) * t / z * math.sqrt(120 / 119)
    assert math.log(found.high / found.value) == pytest.approx(half)
    assert math.log(found.value / found.low) == pytest.approx(half)


def test_equal_items_in_groups_count_once() -> None:
    first, second = patterns((30, 10, 8, 12))
    alone = odds_ratio_factor_ci(first, second, independent(60))
    repeated = odds_ratio_factor_ci(np.repeat(first, 5), np.repeat(second, 5), one_way(np.arange(300) // 5))
    assert repeated == pytest.approx(alone)


def test_an_empty_cell_of_groups_keeps_its_width() -> None:
    first, second = patterns((40, 0, 20, 20))
    factors = one_way(np.arange(80) // 4)
    found = odds_ratio_factor_ci(first, second, factors)
    assert found.value == pytest.approx(odds_ratio_ci(Cells(40, 0, 20, 20)).value)
    # 20 groups stand for 80 answers: a quarter of each count.
    se = math.sqrt(1 / 10.5 + 1 / 0.5 + 1 / 5.5 + 1 / 5.5)
    assert math.log(found.high / found.value) == pytest.approx(se * stats.t_quantile(0.95, factors.degrees_of_freedom))


def test_one_group_has_an_odds_ratio_without_interval() -> None:
    first, second = patterns((3, 2, 2, 3))
    found = odds_ratio_factor_ci(first, second, one_way(np.zeros(10)))
    assert found.value == pytest.approx(9 / 4)
    assert np.isnan(found[1:]).all()
