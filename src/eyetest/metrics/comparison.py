"""Two models or two conditions under any metric, on the samples that both answered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, Counts, Metric, Policy, Status, code, pair
from eyetest.metrics.dependence import paired_difference
from eyetest.metrics.estimate import joined, overall, signature, unscored, withheld
from eyetest.stats import WITHHELD, Factors, Interval, bootstrap_counts, crossed, groups, percentile, pigeonhole_counts
from eyetest.stats.permutation import paired_permutation
from eyetest.types import Estimate

_Value = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Totals to values."""


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """A paired difference of a metric and the test that it is zero."""

    estimate: Estimate
    """Value of the first minus value of the second, in units of the metric, whichever direction is better."""
    p: float
    """Two-sided p-value; nan where there is no test."""
    test: str
    """`permutation`, `cluster_permutation` or `twoway_permutation`; for a mean credit the test of `paired_difference`."""


def metric_difference(
    metric: Metric,
    first: Columns,
    second: Columns,
    *,
    level: float = 0.95,
    seed: int,
    resamples: int = 2000,
    permutations: int = 10_000,
) -> MetricDifference:
    """`metric` of `first` minus `metric` of `second` on the samples both answered, with its interval and test.

    A mean credit in [0, 1] goes to `paired_difference`. Any other metric is aligned on (sample, repeat, variant); of
    several repeats a side's value is the mean of each repeat's, as in `estimate`:

    * interval: percentiles of `resamples` paired bootstrap samples, each drawing both sides of an answer together, by
      group where answers go together, by the pigeonhole where clusters and requests cross (as `estimate`);
    * p: exchanging the sides of whole groups (`stats.paired_permutation`). Where clusters and requests cross, a group is
      whatever hangs together through either (their connected components), which alone may be exchanged; if that is
      everything there is no test: p is nan and the note says so.

    Withheld as in `estimate`. Raises ValueError for label spaces that differ and for two answers to one (sample, repeat,
    variant).
    """
    if metric.additive:
        sides = _credited(metric, first), _credited(metric, second)
        if all(((side.value >= 0) & (side.value <= 1)).all() for side in sides):
            return _mean_difference(metric, (first, second), sides, level, seed)
    if first.labels != second.labels:
        raise ValueError(f"metric_difference: {metric.name} of different label spaces: {first.labels} and {second.labels}")
    both = _align(first, second, metric.policy)
    value = overall(metric, both.first) - overall(metric, both.second)
    note = _undefined(metric, both, value) or withheld(both.n_distinct, both.factors.count)
    if note:
        return MetricDifference(_estimate(metric, value, WITHHELD, "none", note, both, (first, second), seed), math.nan, "none")
    counts, value_of = _joint_counts(metric, both)
    totals = _resampled(counts, both.factors, seed, resamples)
    interval = percentile(_difference(value_of, totals), level)
    p = _exchanged(value_of, counts, both.factors, permutations, seed)
    note = "no test: every answer hangs together with every other" if math.isnan(p) else ""
    method = f"{both.factors.prefix}bootstrap{100 * level:g}x{resamples}"
    made = _estimate(metric, value, interval, method, note, both, (first, second), seed)
    return MetricDifference(made, p, "none" if math.isnan(p) else f"{both.factors.prefix}permutation")


# --- a mean credit -----------------------------------------------------------------------------------------------------


def _credited(metric: Metric, columns: Columns) -> Columns:
    """The columns with the credit that an additive metric gives as `value`, scored wherever it counts the answer."""
    counts = metric.counts(columns)
    inside = np.isin(columns.status, columns.within(metric.policy).status)  # a policy decides by status alone
    value, status = np.zeros(len(columns)), columns.status.copy()
    value[inside], status[inside] = counts.rows[counts.index, 0], code("scored")
    return replace(columns, value=value, status=status)


def _mean_difference(
    metric: Metric, given: tuple[Columns, Columns], credited: tuple[Columns, Columns], level: float, seed: int
) -> MetricDifference:
    made = paired_difference(*credited, level=level, seed=seed, policy=metric.policy)
    told = pair(*given, metric.policy)  # `credited` has forgotten what could not be read
    estimate = replace(
        made.estimate,
        metric=_name(metric),
        n_unparsed=told.n_unparsed,
        n_refused=told.n_refused,
        signature=made.estimate.signature.replace(made.estimate.metric, _name(metric), 1),
    )
    return MetricDifference(estimate, made.p, made.test)


def _name(metric: Metric) -> str:
    return f"{metric.name}_difference"


# --- any other metric --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Aligned:
    """Answers to the same (sample, repeat, variant), sorted by these: row i of the first belongs to row i of the second."""

    first: Columns
    second: Columns
    factors: Factors
    n_distinct: int
    n_failed: int
    n_single: int


def _align(first: Columns, second: Columns, policy: Policy) -> _Aligned:
    common = len(np.intersect1d(_keys(first), _keys(second), assume_unique=True))
    one, other = first.within(policy), second.within(policy)
    _, rows_one, rows_other = np.intersect1d(_keys(one), _keys(other), assume_unique=True, return_indices=True)
    one, other = one.take(rows_one), other.take(rows_other)
    return _Aligned(
        one,
        other,
        crossed(groups(one.cluster, one.sample, other.cluster), groups(one.request, other.request)),
        n_distinct=min(len(np.unique(side.request)) for side in (one, other)),
        n_failed=common - len(one),
        n_single=len(first) + len(second) - 2 * common,
    )


def _keys(columns: Columns) -> NDArray[np.int64]:
    """`Columns.keys`, which must all differ."""
    keys = columns.keys()
    if len(np.unique(keys)) < len(keys):
        raise ValueError("metric_difference: a (sample, repeat, variant) has two answers on one side; give one cell a side")
    return keys


def _joint_counts(metric: Metric, both: _Aligned) -> tuple[Counts, _Value]:
    """Count rows of both sides beside each other, (m, 2 R k), R repeats apart, and the value of a side's total (..., R k)."""
    one, other = metric.counts(both.first), metric.counts(both.second)
    repeats, block = np.unique(both.first.repeat, return_inverse=True)
    shape = len(repeats), len(one.rows), len(other.rows)
    cells, index = np.unique(np.ravel_multi_index((block, one.index, other.index), shape), return_inverse=True)
    blocks, left, right = np.unravel_index(cells, shape)
    size = one.rows.shape[1]
    rows = np.zeros((len(cells), 2, shape[0], size))
    places = np.arange(len(cells))
    rows[places, 0, blocks], rows[places, 1, blocks] = one.rows[left], other.rows[right]

    def value(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """(..., R k) -> (...): the mean over the repeats in which the metric is defined, as `estimate` takes it."""
        each = metric.value(totals.reshape(*totals.shape[:-1], shape[0], size))
        defined = ~np.isnan(each)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(defined, each, 0.0).sum(axis=-1) / defined.sum(axis=-1), np.float64)

    return Counts(rows.reshape(len(cells), -1), index.astype(np.int64)), value


def _difference(value: _Value, totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., 2 R k) -> (...)."""
    one, other = np.split(totals, 2, axis=-1)
    return np.asarray(value(one) - value(other), np.float64)


def _units(counts: Counts, factors: Factors) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Distinct totals of what goes together by either factor, (u, 2 R k), and how many units have each."""
    if not factors.prefix:
        return counts.rows, counts.times()
    rows, times = np.unique(counts.by_group(groups(*factors.codes)), axis=0, return_counts=True)
    return rows, times.astype(np.int64)


def _resampled(counts: Counts, factors: Factors, seed: int, resamples: int) -> NDArray[np.float64]:
    """Totals of bootstrap samples: (resamples, 2 R k)."""
    if len(factors.codes) > 1:
        return pigeonhole_counts(counts.rows, counts.index, factors, resamples=resamples, seed=seed)
    return bootstrap_counts(*_units(counts, factors), resamples=resamples, seed=seed)


def _exchanged(value: _Value, counts: Counts, factors: Factors, permutations: int, seed: int) -> float:
    """p of exchanging the sides of whole units; nan if there is only one."""
    rows, times = _units(counts, factors)
    if times.sum() < 2:
        return math.nan
    one, other = np.split(rows, 2, axis=1)
    return paired_permutation(one, other, value, times, permutations=permutations, seed=seed)


def _undefined(metric: Metric, both: _Aligned, value: float) -> str:
    if not len(both.first):
        return "undefined: no sample was answered on both sides"
    return f"undefined: {metric.name} has no value on both sides" if math.isnan(value) else ""


def _estimate(
    metric: Metric,
    value: float,
    interval: Interval,
    method: str,
    note: str,
    both: _Aligned,
    given: tuple[Columns, Columns],
    seed: int,
) -> Estimate:
    repeats = len(np.unique(both.first.repeat))
    formula = _name(metric) + (f"|mean_of_repeats={repeats}" if repeats > 1 else "")
    alone = f"{both.n_single} answers without a partner" if both.n_single else ""
    return Estimate(
        metric=_name(metric),
        value=value,
        low=interval[0],
        high=interval[1],
        n=len(both.first),
        n_distinct=both.n_distinct,
        n_unparsed=_either(both, "unparsed"),
        n_refused=_either(both, "refused", "blocked"),
        n_failed=both.n_failed,
        signature=signature(formula, metric.policy, method, seed),
        note=joined(note, alone, unscored(*given)),
    )


def _either(both: _Aligned, *statuses: Status) -> int:
    """Pairs of which a side has one of `statuses`."""
    codes = [code(status) for status in statuses]
    return int((np.isin(both.first.status, codes) | np.isin(both.second.status, codes)).sum())
