"""Agreement of two graders and rates corrected by it, against scikit-learn, statsmodels and simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.stats import wilson
from eyetest.stats.agreement import Graded, cannot_correct, cohen_kappa, corrected_rate, youden_interval

TABLES = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 40), min_size=k, max_size=k), min_size=k, max_size=k)
)


@given(TABLES)
def test_kappa_equals_the_libraries(rows: list[list[int]]) -> None:
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.array(rows)
    value, (low, high) = cohen_kappa(table)
    if not table.sum() or len(np.flatnonzero(table.sum(axis=0) + table.sum(axis=1))) == 1:
        assert math.isnan(value)
        assert math.isnan(low)
        return
    first, second = np.indices(table.shape)
    labels = list(range(len(table)))
    expected = cohen_kappa_score(first.ravel(), second.ravel(), labels=labels, sample_weight=table.ravel())
    assert value == pytest.approx(expected, abs=1e-12)
    if not math.isnan(low):
        found = cohens_kappa(table, return_results=True)
        assert low == pytest.approx(max(-1, found.kappa_low), abs=1e-9)
        assert high == pytest.approx(min(1, found.kappa_upp), abs=1e-9)


def test_kappa_by_hand() -> None:
    value, (low, high) = cohen_kappa([[20, 5], [10, 15]])
    assert value == pytest.approx(float((Fraction(35, 50) - Fraction(1, 2)) / Fraction(1, 2)))
    assert low < value < high


@pytest.mark.parametrize("table", [[[30, 0], [0, 20]], [[0, 20], [20, 0]]])
def test_a_kappa_without_variance_has_no_interval(table: list[list[int]]) -> None:
    value, (low, high) = cohen_kappa(table)
    assert abs(value) == 1
    assert math.isnan(low)
    assert math.isnan(high)


@pytest.mark.parametrize("table", [[1, 2], [[1, 2, 3], [1, 2, 3]], [[-1, 2], [1, 2]]])
def test_what_is_no_table_of_counts_is_refused(table: object) -> None:
    with pytest.raises(ValueError, match="expected a square table of counts"):
        cohen_kappa(table)  # type: ignore[arg-type]


def test_graded_answers() -> None:
    graded = Graded(50, 45, 40, 32)
    assert (graded.sensitivity, graded.specificity) == (0.9, 0.8)
    assert graded.youden == pytest.approx(0.7)
    assert math.isnan(Graded(0, 0, 4, 4).youden)
    with pytest.raises(ValueError, match="counts that cannot be"):
        Graded(5, 6, 1, 1)


def test_the_interval_of_youdens_index_is_newcombes() -> None:
    # q1 - (1 - q0) is a difference of two independent proportions: right called right, wrong called right.
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = youden_interval(Graded(50, 45, 40, 32))
    expected = confint_proportions_2indep(45, 50, 8, 40, method="newcomb", compare="diff")
    assert (low, high) == pytest.approx(expected, abs=1e-12)


def lang_reiczigel(n: int, k: int, sens: tuple[int, int], spec: tuple[int, int]) -> tuple[float, float]:
    """The published formula, step by step in its own symbols, for z = 1.96 to all digits."""
    z = 1.959963984540054
    n_, k_ = n + z**2, k + z**2 / 2
    nse, kse, nsp, ksp = sens[1] + 2, sens[0] + 1, spec[1] + 2, spec[0] + 1
    ap, se, sp = k_ / n_, kse / nse, ksp / nsp
    prev = (ap + sp - 1) / (se + sp - 1)
    dp = 2 * z**2 * (prev * se * (1 - se) / nse - (1 - prev) * sp * (1 - sp) / nsp)
    sd = math.sqrt(ap * (1 - ap) / n_ + prev**2 * se * (1 - se) / nse + (1 - prev) ** 2 * sp * (1 - sp) / nsp) / (se + sp - 1)
    return max(0.0, prev + dp - z * sd), min(1.0, prev + dp + z * sd)


def test_the_corrected_rate_by_hand() -> None:
    value, ends = corrected_rate(120, 200, Graded(50, 45, 40, 32))
    assert value == pytest.approx((0.6 + 0.8 - 1) / 0.7)
    assert ends == pytest.approx(lang_reiczigel(200, 120, (45, 50), (32, 40)), abs=1e-12)


@given(st.integers(0, 200), st.integers(30, 60), st.integers(30, 60))
def test_the_corrected_rate_lies_in_its_interval_and_in_0_to_1(k: int, right: int, wrong: int) -> None:
    value, (low, high) = corrected_rate(k, 200, Graded(60, right, 60, wrong))
    if math.isnan(value):
        assert cannot_correct(Graded(60, right, 60, wrong))
        assert math.isnan(low)
    else:
        assert 0 <= low <= high <= 1
        assert low - 0.06 <= value <= high + 0.06  # the interval is about the shrunken rate
        assert 0 <= value <= 1


def test_a_perfect_grader_is_believed() -> None:
    value, (low, high) = corrected_rate(150, 200, Graded(5000, 5000, 5000, 5000))
    assert value == 0.75
    assert (low, high) == pytest.approx(wilson(150, 200), abs=0.002)


@pytest.mark.parametrize(
    ("graded", "reason"),
    [
        (Graded(0, 0, 40, 40), "no labels of both kinds"),
        (Graded(40, 40, 0, 0), "no labels of both kinds"),
        (Graded(50, 25, 50, 25), "q0 + q1 = 1.000 is near 1"),
        (Graded(50, 50, 50, 0), "q0 + q1 = 1.000 is near 1"),
        (Graded(5000, 2700, 5000, 2700), "q0 + q1 = 1.080 is near 1"),
        (Graded(50, 10, 50, 10), "q0 + q1 = 0.400 is near 1"),
        (Graded(10, 7, 10, 5), "q0 + q1 = 1.200 cannot be told from 1 with so few labels"),
        (Graded(50, 45, 40, 32), ""),
    ],
)
def test_a_grader_that_does_not_look_corrects_nothing(graded: Graded, reason: str) -> None:
    assert cannot_correct(graded)[: len(reason) or None].startswith(reason)
    assert bool(cannot_correct(graded)) == bool(reason)
    value, (low, high) = corrected_rate(50, 100, graded)
    assert [math.isnan(one) for one in (value, low, high)] == [bool(reason)] * 3


def test_no_answers_have_no_rate() -> None:
    assert math.isnan(corrected_rate(0, 0, Graded(50, 45, 40, 32))[0])
    with pytest.raises(ValueError, match="3 of 2 answers"):
        corrected_rate(3, 2, Graded(50, 45, 40, 32))


@pytest.mark.parametrize(("theta", "q1", "q0", "labels"), [(0.4, 0.95, 0.75, 50), (0.8, 0.98, 0.6, 40), (0.15, 0.8, 0.9, 60)])
def test_the_interval_of_the_corrected_rate_covers(theta: float, q1: float, q0: float, labels: int) -> None:
    rng, covered, times = np.random.default_rng(7), 0, 1500
    p = theta * q1 + (1 - theta) * (1 - q0)
    draws = zip(rng.binomial(300, p, times), rng.binomial(labels, q1, times), rng.binomial(labels, q0, times), strict=True)
    raw = 0
    for k, right, wrong in draws:
        _, (low, high) = corrected_rate(int(k), 300, Graded(labels, int(right), labels, int(wrong)))
        covered += low <= theta <= high
        ends = wilson(int(k), 300)
        raw += ends[0] <= theta <= ends[1]
    assert 0.935 <= covered / times <= 0.985
    assert raw / times < 0.5  # what is not corrected misses


@pytest.mark.parametrize(("theta", "q1", "q0"), [(0.4, 0.95, 0.75), (0.8, 0.9, 0.7)])
def test_it_covers_where_the_labels_are_some_of_the_answers_judged(theta: float, q1: float, q0: float) -> None:
    rng, covered, times = np.random.default_rng(11), 0, 1500
    for right in rng.random((times, 300)) < theta:
        called = rng.random(300) < np.where(right, q1, 1 - q0)
        label = right[:120]
        graded = Graded(
            int(label.sum()), int((label & called[:120]).sum()), int((~label).sum()), int((~label & ~called[:120]).sum())
        )
        _, (low, high) = corrected_rate(int(called.sum()), 300, graded)
        covered += low <= right.mean() <= high
    assert covered / times >= 0.935
