"""Means over strata, beside closed forms, a regression on strata and the long run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from made import ERROR, SCORED, UNPARSED, UNSCORED, columns, one_way
from scipy.stats import ttest_1samp

from eyetest import stats
from eyetest.metrics.columns import Columns
from eyetest.metrics.strata import stratified
from eyetest.stats.factors import Factors, crossed
from eyetest.stats.strata import stratified_mean
from eyetest.types import Estimate


def alone(n: int) -> Factors:
    return one_way(np.arange(n))


def uneven(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of 90 answers in strata of 10, 30 and 50, with means far apart."""
    strata = np.repeat([0, 1, 2], [10, 30, 50])
    return np.random.default_rng(seed).standard_normal(90) * (1 + strata) + 5.0 * strata, strata


# --- the mean and its standard error -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, [1, 1, 1], [5, 2, 3]])
def test_independent_answers_have_cochrans_mean_error_and_degrees_of_freedom(weights: list[int] | None) -> None:
    x, strata = uneven(0)
    made = stratified_mean(x, strata, alone(90), weights)
    sizes = np.array([10, 30, 50])
    w = sizes / 90 if weights is None else np.array(weights) / sum(weights)
    parts = [x[strata == h] for h in range(3)]
    v = w**2 * [part.var(ddof=1) for part in parts] / sizes
    assert made.mean == pytest.approx(sum(w * [part.mean() for part in parts]))
    assert made.se == pytest.approx(math.sqrt(v.sum()))
    assert made.degrees_of_freedom == pytest.approx(v.sum() ** 2 / (v**2 / (sizes - 1)).sum())
    assert (made.n_merged, made.n_bounded) == (0, 0)


def test_by_default_it_is_the_plain_mean_with_less_variance() -> None:
    x, strata = uneven(1)
    made = stratified_mean(x, strata, alone(90))
    assert made.mean == pytest.approx(x.mean())
    assert made.se < stats.factor_se(x, alone(90)) * 0.6


def test_one_stratum_is_the_mean() -> None:
    x, group = np.random.default_rng(2).random(60), one_way(np.arange(60) // 5)
    made = stratified_mean(x, np.zeros(60, int), group)
    assert (made.mean, made.se) == (pytest.approx(x.mean()), pytest.approx(stats.factor_se(x, group)))
    assert made.degrees_of_freedom == pytest.approx(11)


def test_clusters_within_strata_equal_statsmodels_regression_on_strata() -> None:
    import statsmodels.api as sm

    x, strata = uneven(3)
    group = np.arange(90) // 5
    fit = sm.OLS(x, np.eye(3)[strata]).fit(cov_type="cluster", cov_kwds={"groups": group, "use_correction": False})
    count = np.array([2, 6, 10])
    w = np.array([0.2, 0.3, 0.5])
    # Without its correction for all groups, and with that of each stratum (groups are of equal size).
    expected = math.sqrt(w**2 * count / (count - 1) @ np.diag(fit.cov_params()))
    made = stratified_mean(x, strata, one_way(group), w)
    assert (made.mean, made.se) == (pytest.approx(w @ fit.params), pytest.approx(expected))


def test_strata_that_share_a_group_are_taken_together_about_their_common_mean() -> None:
    x, strata = uneven(4)
    group = np.arange(90) // 2
    group[[0, 15]] = 99  # in the first stratum and in the second
    made = stratified_mean(x, strata, one_way(group))
    first, last = x[strata < 2], x[strata == 2]
    v = [
        (40 / 90 * stats.factor_se(first, one_way(group[:40]))) ** 2,
        (50 / 90 * stats.factor_se(last, one_way(group[40:]))) ** 2,
    ]
    assert (made.mean, made.se, made.n_merged) == (pytest.approx(x.mean()), pytest.approx(math.sqrt(sum(v))), 2)


def test_one_request_for_all_strata_leaves_the_error_of_the_plain_mean() -> None:
    x, strata = uneven(5)
    factors = crossed(stats.groups(np.arange(90) // 3), stats.groups(np.arange(90) % 11))
    made = stratified_mean(x, strata, factors)
    assert made.n_merged == 3
    assert (made.se, made.degrees_of_freedom) == pytest.approx((stats.factor_se(x, factors), factors.degrees_of_freedom))


def test_a_stratum_of_one_group_has_the_largest_possible_variance() -> None:
    x, strata = np.array([0.0, 1.0, 1.0, 0.0, 1.0]), np.array([0, 0, 0, 0, 1])
    made = stratified_mean(x, strata, alone(5), [0.5, 0.5])
    v = 0.25 * x[:4].var(ddof=1) / 4, 0.25 / 4
    assert (made.se, made.n_bounded) == (pytest.approx(math.sqrt(sum(v))), 1)
    assert made.degrees_of_freedom == pytest.approx(sum(v) ** 2 / (v[0] ** 2 / 3))
    every = stratified_mean(x, np.arange(5), alone(5))
    assert (every.se, every.degrees_of_freedom, every.n_bounded) == (pytest.approx(math.sqrt(0.25 / 5)), math.inf, 5)


def test_strata_without_variance_have_none_to_the_last_bit() -> None:
    made = stratified_mean(np.repeat([0.1, 0.7], [30, 7]), np.repeat([0, 1], [30, 7]), alone(37), [0.3, 0.7])
    assert (made.mean, made.se, made.degrees_of_freedom) == (pytest.approx(0.52), 0.0, pytest.approx(35))


def test_a_single_group_has_no_error_and_a_stratum_without_answers_is_refused() -> None:
    assert math.isnan(stratified_mean([0.0, 1.0], np.array([0, 1]), one_way([0, 0])).se)
    with pytest.raises(ValueError, match=r"strata of \[1, 0, 1\] answers; every stratum 0..H-1 needs one"):
        stratified_mean([0.0, 1.0], np.array([0, 2]), alone(2))
    with pytest.raises(ValueError, match=r"strata of \[\] answers"):
        stratified_mean([], np.zeros(0, int), alone(0))


# --- the estimate ------------------------------------------------------------------------------------------------------


def strata_of(credits: dict[str, Any], **given: Any) -> dict[str, Columns]:
    """Columns a stratum, samples numbered throughout; `given`: {name: {stratum: column}}."""
    made, start = {}, 0
    for name, credit in credits.items():
        more = {column: by_stratum[name] for column, by_stratum in given.items() if name in by_stratum}
        made[name] = columns(credit, sample=start + np.arange(len(credit)), **more)
        start += len(credit)
    return made


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


def test_mean_of_means_and_plain_mean() -> None:
    given = strata_of({"maths": np.arange(40) < 10, "art": np.arange(10) < 9})
    plain, means = (stratified("accuracy", given, equal=equal, seed=2) for equal in (False, True))
    assert (plain.value, means.value) == (pytest.approx(19 / 50), pytest.approx((0.25 + 0.9) / 2))
    assert (plain.n, plain.n_distinct, plain.note) == (50, 50, "")
    assert plain.signature.startswith("accuracy|over 2 strata|unparsed=wrong|interval=stratified_wilson95|seed=2|")
    assert means.signature.startswith("accuracy|mean of 2 strata|unparsed=wrong|interval=stratified_wilson95|seed=2|")
    v = 0.25 * np.array([0.25 * 0.75 / 39, 0.9 * 0.1 / 9])
    df = v.sum() ** 2 / (v**2 / [39, 9]).sum()
    size = 0.575 * 0.425 / v.sum()
    assert ends(means) == pytest.approx(stats.wilson(0.575 * size, size, quantile=stats.t_quantile(0.95, df)))


def test_partial_credit_has_students_interval_within_zero_and_one() -> None:
    credit = np.random.default_rng(0).random(30)
    made = stratified("score_rate", strata_of({"a": credit}), equal=True, seed=0, level=0.9)
    assert ends(made) == pytest.approx(tuple(ttest_1samp(credit, 0).confidence_interval(0.9)))
    assert "|interval=stratified_t90|" in made.signature
    high = strata_of({"a": [1.0] * 9 + [0.9], "b": [1.0] * 9 + [0.2]})
    assert stratified("score_rate", high, equal=True, seed=0).high == 1.0


@pytest.mark.parametrize("equal", [False, True])
def test_strata_that_do_not_vary_keep_a_width(equal: bool) -> None:
    made = stratified("accuracy", strata_of({"a": np.ones(30), "b": np.zeros(10)}), equal=equal, seed=0)
    p = 0.5 if equal else 0.75
    assert ends(made) == pytest.approx(stats.wilson(40 * p, 40, quantile=stats.t_quantile(0.95, 38)))
    right = stratified("accuracy", strata_of({"a": np.ones(7), "b": np.ones(13), "c": np.ones(3)}), equal=equal, seed=0)
    assert (right.value, right.high) == (1.0, 1.0)
    assert 0.8 < right.low < 0.9


def test_everything_else_is_counted_and_empty_strata_are_left_out() -> None:
    status = {"a": [SCORED] * 12 + [UNPARSED, UNSCORED], "b": [SCORED] * 11 + [ERROR], "c": [ERROR]}
    given = strata_of({"a": np.ones(14), "b": np.ones(12), "c": [1.0]}, status=status)
    made = stratified("accuracy", given, equal=True, seed=0)
    assert (made.n, made.n_unparsed, made.n_refused, made.n_failed) == (24, 1, 0, 2)
    assert made.value == pytest.approx((12 / 13 + 1) / 2)
    assert made.note == "1 strata without answers left out; 1 answers unscored"
    assert stratified("accuracy", given, equal=True, seed=0, policy="parsed_only").value == 1.0


def test_withheld_and_undefined_say_why() -> None:
    few = strata_of({"a": [0.0, 1.0] * 3, "b": [1.0, 0.0, 1.0]})
    made = stratified("accuracy", few, equal=False, seed=0)
    assert (made.value, made.note) == (pytest.approx(5 / 9), "interval withheld: only 9 distinct requests")
    assert all(math.isnan(end) for end in ends(made))
    for none in ({}, strata_of({"a": [1.0]}, status={"a": [ERROR]})):
        made = stratified("accuracy", none, equal=False, seed=0)
        assert math.isnan(made.value)
        assert made.note.startswith("undefined: no answers")


def test_what_the_interval_has_to_make_do_with_is_said() -> None:
    cluster = {"a": [1] * 2 + [*range(50, 60)], "b": [1, *range(60, 70)]}
    given = strata_of({"a": [0, 1] * 6, "b": [1, 0] * 5 + [1], "c": [1.0]}, cluster=cluster)
    assert stratified("accuracy", given, equal=False, seed=0).note == (
        "variance of 2 strata with answers in common taken together; "
        "largest possible variance for 1 strata of one independent group"
    )


# --- coverage ----------------------------------------------------------------------------------------------------------


def coverage(sizes: list[int], times: int, seed: int, *, equal: bool, per_group: int = 1) -> float:
    """How often intervals hold the mean of strata of unlike difficulty; correlation .3 within groups."""
    rng, hits = np.random.default_rng(seed), 0
    rates = np.linspace(0.35, 0.95, len(sizes))
    truth = rates.mean() if equal else rates @ sizes / sum(sizes)
    for _ in range(times):
        parts, cluster, start = {}, {}, 0
        for name, (size, rate) in enumerate(zip(sizes, rates, strict=True)):
            cluster[str(name)] = start + np.arange(size) // per_group
            ease = rng.beta(rate * 7 / 3, (1 - rate) * 7 / 3, size) if per_group > 1 else np.full(size, rate)
            parts[str(name)] = rng.random(size) < ease[np.arange(size) // per_group]
            start += size
        made = stratified("accuracy", strata_of(parts, cluster=cluster), equal=equal, seed=0)
        hits += made.low <= truth <= made.high
    return hits / times


@pytest.mark.parametrize("equal", [False, True])
def test_uneven_strata_are_covered(equal: bool) -> None:
    assert 0.92 <= coverage([5, 40, 8, 20, 6], 200, seed=0, equal=equal) <= 0.99


@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "per_group"),
    [([20] * 5, 1), ([7, 12, 3, 65, 9, 7, 19, 5, 18, 4], 1), ([3] * 30, 1), ([30] * 12, 5), ([1, *[15] * 9], 1)],
)
@pytest.mark.parametrize("equal", [False, True])
def test_strata_are_covered_at_length(sizes: list[int], per_group: int, equal: bool) -> None:
    assert 0.93 <= coverage(sizes, 1000, seed=1, equal=equal, per_group=per_group) <= 0.995
