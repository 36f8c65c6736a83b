"""Few groups of unequal size: CR2 and its degrees of freedom, beside the matrices that define them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest import stats
from eyetest.stats.clusters import cluster_se_cr2, degrees_of_freedom_cr2
from eyetest.stats.factors import Factors, factor_interval, factor_wilson

QUICK = settings(deadline=None, max_examples=60)
GROUPS = st.lists(st.integers(0, 6), min_size=2, max_size=25).filter(lambda group: len(set(group)) > 1)


def by_matrices(x: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """CR2 standard error and Satterthwaite degrees of freedom of the intercept, as Pustejovsky & Tipton define them."""
    n = len(x)
    design = np.ones((n, 1))
    bread = np.linalg.inv(design.T @ design)
    residual_maker = np.eye(n) - design @ bread @ design.T
    residual = residual_maker @ x
    variance, vectors = 0.0, []
    for label in np.unique(group):
        rows = np.flatnonzero(group == label)
        values, axes = np.linalg.eigh(residual_maker[np.ix_(rows, rows)])
        adjust = axes @ np.diag(values**-0.5) @ axes.T
        weight = (bread @ design[rows].T @ adjust).ravel()
        variance += float(weight @ residual[rows]) ** 2
        vectors.append(residual_maker[:, rows] @ weight)
    products = np.stack(vectors) @ np.stack(vectors).T
    return math.sqrt(variance), float(np.trace(products) ** 2 / (products**2).sum())


@QUICK
@given(GROUPS, st.integers(0, 10**6))
def test_closed_forms_equal_the_matrices(group: list[int], seed: int) -> None:
    x, codes = np.random.default_rng(seed).standard_normal(len(group)), np.array(group)
    se, df = by_matrices(x, codes)
    assert cluster_se_cr2(x, codes * 10**14) == pytest.approx(se, rel=1e-9)
    assert degrees_of_freedom_cr2(codes * 10**14) == pytest.approx(df, rel=1e-9)


def test_groups_of_equal_size_have_cr1_and_one_degree_less_than_groups() -> None:
    import statsmodels.api as sm

    group, x = np.arange(84) % 12, np.random.default_rng(0).random(84)
    fit = sm.OLS(x, np.ones(84)).fit(cov_type="cluster", cov_kwds={"groups": group})
    assert cluster_se_cr2(x, group) == pytest.approx(fit.bse[0], rel=1e-12)
    assert degrees_of_freedom_cr2(group) == pytest.approx(11)


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_group_that_holds_most_answers_leaves_one_degree_of_freedom(size: int) -> None:
    group = np.repeat(np.arange(12), [size * 1000, *[1] * 11])
    assert 1 <= degrees_of_freedom_cr2(group) < 1.01
    assert stats.effective_groups(group) - 1 < 0.01  # by which no quantile of Student's t could be taken in earnest


def test_fewer_than_two_groups_have_no_error() -> None:
    for group in ([], [3], [3, 3, 3]):
        assert math.isnan(cluster_se_cr2([0.5] * len(group), group))
        assert degrees_of_freedom_cr2(group) == 0.0


def test_cr2_is_unbiased_for_independent_answers() -> None:
    group = np.repeat(np.arange(6), [40, 10, 5, 3, 1, 1])
    x = np.random.default_rng(1).standard_normal((4000, 60))
    variances = [cluster_se_cr2(row, group) ** 2 for row in x]
    assert np.mean(variances) == pytest.approx(1 / 60, rel=0.05)
    assert 2 * np.mean(variances) ** 2 / np.var(variances) == pytest.approx(degrees_of_freedom_cr2(group), rel=0.15)


# --- coverage ----------------------------------------------------------------------------------------------------------


def coverage(groups: int, times: int, seed: int, *, binary: bool) -> float:
    """How often intervals hold the truth: groups of lognormal sizes, correlation .3 within groups."""
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(times):
        sizes = np.maximum(1, np.rint(8 * rng.lognormal(-0.5, 1, groups))).astype(int)
        group = np.repeat(np.arange(groups), sizes)
        if binary:
            x: Any = (rng.random(len(group)) < rng.beta(0.7 * 7 / 3, 0.3 * 7 / 3, groups)[group]).astype(float)
            low, high = factor_wilson(x, Factors((group,)))
        else:
            x = math.sqrt(0.3) * rng.standard_normal(groups)[group] + math.sqrt(0.7) * rng.standard_normal(len(group))
            low, high = factor_interval(x, Factors((group,)))
        hits += low <= (0.7 if binary else 0.0) <= high
    return hits / times


@pytest.mark.parametrize("binary", [False, True])
def test_few_groups_of_unequal_size_are_covered(binary: bool) -> None:
    assert 0.92 <= coverage(15, 1500, seed=0, binary=binary) <= 0.97


@pytest.mark.long
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("groups", [10, 15, 20, 40])
def test_few_groups_of_unequal_size_are_covered_at_length(groups: int, binary: bool) -> None:
    assert 0.93 <= coverage(groups, 20_000, seed=groups, binary=binary) <= 0.96
