"""Answers that go together, in one way and in two that cross."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest import stats
from eyetest.stats import Factors

QUICK = settings(deadline=None, max_examples=60)
"""Without a deadline: the first example pays for imports."""


def one_way(group: Any) -> Factors:
    return Factors((stats.groups(np.asarray(group)),))


def two_way(first: Any, second: Any) -> Factors:
    made = stats.crossed(stats.groups(np.asarray(first)), stats.groups(np.asarray(second)))
    assert made.prefix == "twoway_"
    return made


def one_way_se(x: Any, group: Any) -> float:
    return stats.factor_se(x, one_way(group))


# --- what goes together ------------------------------------------------------------------------------------------------


def components(codes: list[list[int]]) -> set[frozenset[int]]:
    parts = [{i} for i in range(len(codes[0]))]
    for code in codes:
        for value in set(code):
            touched = [part for part in parts if any(code[i] == value for i in part)]
            parts = [part for part in parts if part not in touched] + [set().union(*touched)]
    return {frozenset(part) for part in parts}


@QUICK
@given(
    st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(st.integers(-3, 12), min_size=n, max_size=n), min_size=1, max_size=3))
)
def test_groups_are_the_connected_components(codes: list[list[int]]) -> None:
    made = stats.groups(*(np.array(code) * 10**14 for code in codes))
    assert {frozenset(np.flatnonzero(made == g).tolist()) for g in range(int(made.max()) + 1)} == components(codes)
    _, first = np.unique(made, return_index=True)
    assert (np.diff(first) > 0).all()  # numbered by first appearance


def test_groups_of_nothing() -> None:
    assert stats.groups(np.zeros(0, int)).tolist() == []


def test_effective_groups() -> None:
    assert stats.effective_groups(np.arange(60) // 5) == pytest.approx(12)
    assert stats.effective_groups(np.repeat([0, 1, 2], [98, 1, 1])) == pytest.approx(100**2 / (98**2 + 2))


@pytest.mark.parametrize(
    ("first", "second", "kept", "prefix"),
    [
        ([0, 0, 1, 1], [0, 1, 2, 3], ["first"], "cluster_"),
        ([0, 0, 1, 2], [0, 0, 0, 1], ["second"], "cluster_"),
        ([0, 0, 1, 1], [0, 0, 1, 1], ["second"], "cluster_"),
        ([0, 1, 2, 3], [0, 1, 2, 3], ["second"], ""),
        ([0, 0, 1, 1], [0, 1, 0, 1], ["first", "second"], "twoway_"),
        ([], [], ["second"], ""),
    ],
)
def test_a_grouping_within_the_other_adds_nothing(first: list[int], second: list[int], kept: list[str], prefix: str) -> None:
    given = {"first": np.array(first, int), "second": np.array(second, int)}
    made = stats.crossed(given["first"], given["second"])
    assert len(made.codes) == len(kept)
    assert all(code is given[name] for code, name in zip(made.codes, kept, strict=True))
    assert made.prefix == prefix


def test_the_smaller_factor_decides() -> None:
    made = two_way(np.arange(60) % 12, np.repeat(np.arange(20), 3))
    assert (made.count, made.effective, made.degrees_of_freedom) == (12, pytest.approx(12), pytest.approx(11))
    uneven = two_way(np.arange(60) % 12, np.repeat(np.arange(20), [41, *[1] * 19]))
    assert uneven.count == 12
    assert uneven.effective == pytest.approx(60**2 / (41**2 + 19))
    assert uneven.degrees_of_freedom == one_way(uneven.codes[1]).degrees_of_freedom < 3


def test_what_a_selection_shares_is_found_anew() -> None:
    made = two_way([0, 0, 1, 1, 2], [0, 1, 0, 1, 5])
    assert [code.tolist() for code in made.take(np.array([4, 0, 1])).codes] == [[0, 1, 1]]
    assert [code.tolist() for code in made.take(np.array([3, 2, 1, 0])).codes] == [[0, 0, 1, 1], [0, 1, 0, 1]]


# --- one way -----------------------------------------------------------------------------------------------------------


def test_cluster_se_equals_statsmodels_without_correction() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(5)
    group = rng.integers(0, 40, 300) * 10**12
    x = rng.random(300) + group / 1e13
    cluster = {"groups": np.unique(group, return_inverse=True)[1], "use_correction": False}
    fit = sm.OLS(x, np.ones(300)).fit(cov_type="cluster", cov_kwds=cluster)
    assert stats.cluster_se(x, group) == pytest.approx(fit.bse[0], rel=1e-12)


@QUICK
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_cluster_se_of_independent_answers_is_the_textbook_one(x: list[float]) -> None:
    assert one_way_se(x, range(len(x))) == pytest.approx(np.std(x, ddof=1) / math.sqrt(len(x)), abs=1e-12)


def test_interval_of_independent_answers_is_students() -> None:
    from scipy import stats as scipy_stats

    x = np.random.default_rng(6).random(25)
    expected = scipy_stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert stats.factor_interval(x, one_way(np.arange(25)), 0.9) == pytest.approx((expected.low, expected.high))


def test_one_group_has_no_interval() -> None:
    one = one_way(np.zeros(5))
    for made in (stats.factor_interval(np.arange(5.0), one), stats.factor_wilson(np.ones(5), one)):
        assert np.isnan(made).all()
    assert math.isnan(stats.cluster_se([], []))


def test_wilson_of_independent_answers_with_students_t() -> None:
    x = np.repeat([1.0, 0.0], [30, 70])
    low, high = stats.factor_wilson(x, one_way(np.arange(100)))
    # CR2 makes the effective size 99 of 100.
    assert (low, high) == pytest.approx(stats.wilson(0.3 * 99, 99, quantile=stats.t_quantile(0.95, 99)))


def test_wilson_keeps_its_width_where_all_agree() -> None:
    twelve = one_way(np.arange(120) // 10)
    t = stats.t_quantile(0.95, 11)
    assert stats.factor_wilson(np.ones(120), twelve) == pytest.approx(stats.wilson(12, 12, quantile=t))
    assert stats.factor_wilson(np.zeros(120), twelve)[0] == 0.0
    crossing = two_way(np.arange(120) // 10, np.arange(120) % 15)
    assert stats.factor_wilson(np.ones(120), crossing) == stats.factor_wilson(np.ones(120), twelve)


def test_unlike_answers_inside_groups_do_not_make_more_answers_than_there_are() -> None:
    pairs = one_way(np.arange(40) // 2)
    for x in (np.tile([1.0, 0.0], 20), np.concatenate([np.tile([1.0, 0.0], 19), [1.0, 1.0]])):
        assert stats.effective_size(x, pairs) == 40


def test_design_effect_of_equal_answers_in_groups_is_their_size() -> None:
    x, group = np.repeat([1.0, 0.0, 0.0, 1.0, 0.0] * 4, 6), one_way(np.arange(120) // 6)
    assert stats.design_effect(x, group) == pytest.approx(6 * 20 / 19)
    assert stats.design_effect(np.ones(120), group) == pytest.approx(6)
    assert stats.design_effect(np.tile([1.0, 0.0], 60), group) == 1.0


# --- two ways ----------------------------------------------------------------------------------------------------------


def crossing(seed: int, n: int = 300, pictures: int = 60, questions: int = 25) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with an effect of each factor, and the two factors."""
    rng = np.random.default_rng(seed)
    picture, question = rng.integers(0, pictures, n), rng.integers(0, questions, n)
    x = rng.standard_normal(pictures)[picture] + rng.standard_normal(questions)[question] + rng.standard_normal(n)
    return x, picture, question


@pytest.mark.parametrize("seed", range(4))
def test_two_way_se_of_a_full_grid_equals_statsmodels(seed: int) -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(seed)
    picture, question = (code.ravel() for code in np.indices((20, 15, 2))[:2])
    x = rng.standard_normal(20)[picture] + rng.standard_normal(15)[question] + rng.standard_normal(600)
    fit = sm.OLS(x, np.ones(600)).fit(cov_type="cluster", cov_kwds={"groups": np.stack([picture, question], axis=1)})
    assert stats.factor_se(x, two_way(picture, question)) == pytest.approx(fit.bse[0], rel=1e-12)


def sandwich(x: np.ndarray, together: np.ndarray, *, enlarged: bool = False) -> float:
    """Variance of the mean of x from its products of residuals over all pairs that go together: (n, n) mask.

    enlarged: each pair over 1 - the share of answers in its group, as CR2 has it.
    """
    residual = x - x.mean()
    weight = 1 / (1 - together.mean(axis=1)) if enlarged else np.ones(len(x))
    return float(residual @ together @ (weight * residual)) / len(x) ** 2


def test_two_way_variance_is_the_sandwich_of_all_pairs_that_share_either() -> None:
    x, picture, question = crossing(7, n=4000, pictures=400, questions=300)
    alike = [code[:, None] == code for code in (picture, question)]
    # With many groups the small-sample factors vanish, and what is left is one sum over pairs that share either.
    assert stats.factor_se(x, two_way(picture, question)) ** 2 == pytest.approx(sandwich(x, alike[0] | alike[1]), rel=0.004)


def test_two_way_variance_is_three_sandwiches_each_with_its_factor() -> None:
    x, picture, question = crossing(8)
    alike = [code[:, None] == code for code in (picture, question)]
    total = 0.0
    for sign, mask in ((1, alike[0]), (1, alike[1]), (-1, alike[0] & alike[1])):
        total += sign * sandwich(x, mask, enlarged=True)
    assert stats.factor_se(x, two_way(picture, question)) ** 2 == pytest.approx(total, rel=1e-12)


@QUICK
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12))
def test_two_ways_are_never_narrower_than_either(seed: int, pictures: int, questions: int) -> None:
    rng = np.random.default_rng(seed)
    picture, question = rng.integers(0, pictures, 60), rng.integers(0, questions, 60)
    x = rng.standard_normal(60)
    made = stats.crossed(stats.groups(picture), stats.groups(question))
    assert stats.factor_se(x, made) >= max(one_way_se(x, code) for code in made.codes)


def test_a_negative_variance_gives_way_to_the_larger_of_the_two() -> None:
    # Every picture and every question is right half of the time: V_A = V_B = 0 < V_AB.
    picture, question = np.repeat(np.arange(12), 12), np.tile(np.arange(12), 12)
    balanced = ((picture + question) % 2).astype(float)
    assert stats.factor_se(balanced, two_way(picture, question)) == 0.0
    assert stats.effective_size(balanced, two_way(picture, question)) == 144
    tilted = balanced.copy()
    tilted[:6] = 1.0
    made = two_way(picture, question)
    assert stats.factor_se(tilted, made) == max(one_way_se(tilted, code) for code in (picture, question))


@QUICK
@given(st.integers(0, 10**6), st.booleans())
def test_nested_factors_are_one_way_bit_for_bit(seed: int, inner_first: bool) -> None:
    rng = np.random.default_rng(seed)
    outer = rng.integers(0, 15, 80)
    inner = outer * 5 + rng.integers(0, 3, 80)
    x, right = rng.random(80), (rng.random(80) < 0.7).astype(float)
    pair = (inner, outer) if inner_first else (outer, inner)
    made, alone = stats.crossed(*(stats.groups(code) for code in pair)), one_way(outer)
    assert stats.factor_interval(x, made) == stats.factor_interval(x, alone)
    assert stats.factor_wilson(right, made) == stats.factor_wilson(right, alone)
    assert stats.design_effect(x, made) == stats.design_effect(x, alone)
    assert stats.gap_rate_factor_ci(x, x**2, made) == stats.gap_rate_factor_ci(x, x**2, alone)


# --- the pigeonhole bootstrap ------------------------------------------------------------------------------------------


def test_pigeonhole_totals_are_sums_of_products_of_draws() -> None:
    x, picture, question = crossing(3, n=200, pictures=20, questions=12)
    factors = two_way(picture, question)
    rows, index = np.unique(np.round(x), return_inverse=True)
    made = stats.pigeonhole_counts(rows[:, None], index, factors, resamples=4000, seed=0)[:, 0]
    rng = np.random.default_rng(1)
    naive = []
    for _ in range(4000):
        one, other = (np.bincount(rng.integers(0, g, g), minlength=g) for g in (20, 12))
        naive.append((one[factors.codes[0]] * other[factors.codes[1]]) @ np.round(x))
    from scipy.stats import ks_2samp

    assert ks_2samp(made, naive).pvalue > 1e-3


def test_pigeonhole_follows_its_seed_and_fills_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    from eyetest.stats import bootstrap

    x, picture, question = crossing(4)
    given = (np.stack([x, np.ones(300)], axis=1), np.arange(300), two_way(picture, question))
    whole = stats.pigeonhole_counts(*given, resamples=1000, seed=0)
    monkeypatch.setattr(bootstrap, "CHUNK", 3000)
    chunked, again, other = (stats.pigeonhole_counts(*given, resamples=1000, seed=seed) for seed in (0, 0, 1))
    assert (chunked == again).all()
    assert (chunked != other).any()
    for draws in (whole, chunked):
        assert draws.shape == (1000, 2)
        assert draws[:, 1].mean() == pytest.approx(300, abs=4 * draws[:, 1].std() / math.sqrt(1000))


def test_pigeonhole_se_is_conservative() -> None:
    """Of answers that are all independent its variance is three times the true one (Owen 2007)."""
    rng = np.random.default_rng(9)
    picture, question = rng.integers(0, 300, 3000), rng.integers(0, 200, 3000)
    x = rng.standard_normal(3000)
    rows = np.stack([x, np.ones(3000)], axis=1)
    totals = stats.pigeonhole_counts(rows, np.arange(3000), two_way(picture, question), resamples=2000, seed=0)
    ratio = (totals[:, 0] / totals[:, 1]).var() / (x.var() / 3000)
    assert ratio == pytest.approx(3, rel=0.2)
