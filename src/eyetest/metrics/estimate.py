"""A metric's value with the interval that its answers allow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, Counts, Metric, Policy, code, point
from eyetest.stats import (
    WITHHELD,
    Factors,
    Interval,
    bootstrap_counts,
    factor_interval,
    factor_wilson,
    percentile,
    pigeonhole_counts,
    wilson,
)
from eyetest.types import Estimate
from eyetest.version import __version__

MINIMUM = 10
"""Fewer distinct requests, or fewer independent groups, give no interval: it would be an invention."""


def estimate(metric: Metric, columns: Columns, *, level: float = 0.95, seed: int, resamples: int = 2000) -> Estimate:
    """`metric` on `columns` with an interval of coverage `level`.

    * independent answers, credit 0 or 1: Wilson;
    * a mean of other credit, or of answers that go together: Student's t on the cluster-robust standard error, for a
      proportion through Wilson on the effective sample size;
    * everything else: percentiles of `resamples` bootstrap samples of the counts, by group where answers go together;
    * fewer than MINIMUM distinct requests or independent groups: withheld, and the note says so.

    Answers go together if they share a cluster or a sample (`cluster_...`), or a request. Where these cross, as with
    several questions about a picture and one question about many pictures, standard errors are two-way and the
    bootstrap is the pigeonhole's (`twoway_...`; `stats.factor_se`, `stats.pigeonhole_counts`).
    """
    kept = columns.within(metric.policy)
    counts = metric.counts(columns)
    value = float(metric.value(counts.total()))
    distinct = len(np.unique(kept.request))
    interval, method, note = WITHHELD, "none", _undefined(metric, columns, kept, value)
    if not note:
        factors = kept.factors()
        note = withheld(distinct, factors.count)
        if not note:
            interval, method = _interval(metric, counts, kept, factors, level, seed, resamples)
            note = "interval without width: every resample agrees" if interval[0] == interval[1] else ""
    return Estimate(
        metric=metric.name,
        value=value,
        low=interval[0],
        high=interval[1],
        n=len(kept),
        n_distinct=distinct,
        n_unparsed=columns.number_of("unparsed"),
        n_refused=columns.number_of("refused", "blocked"),
        n_failed=columns.number_of("error", "bad_image"),
        signature=signature(metric.name, metric.policy, method, seed),
        note=joined(note, unscored(columns)),
    )


def bounds(metric: Metric, columns: Columns) -> Interval:
    """The value if every answer outside n (failed, bad picture, unscored) were wrong, and if it were right."""
    outside = columns.status >= code("error")
    # Without an answer read, a wrong answer harms no other class; but only a scored one is in `parsed_only`.
    wrong_status = code("scored") if metric.policy == "parsed_only" else code("unparsed")
    wrong = replace(
        columns,
        status=np.where(outside, wrong_status, columns.status).astype(np.uint8),
        value=np.where(outside, 0.0, columns.value),
        answer=np.where(outside, -1, columns.answer).astype(np.int32),
    )
    right = replace(
        columns,
        status=np.where(outside, code("scored"), columns.status).astype(np.uint8),
        value=np.where(outside, 1.0, columns.value),
        answer=np.where(outside, columns.target, columns.answer).astype(np.int32),
    )
    return point(metric, wrong), point(metric, right)


def _interval(
    metric: Metric, counts: Counts, kept: Columns, factors: Factors, level: float, seed: int, resamples: int
) -> tuple[Interval, str]:
    """The interval and how the signature calls it."""
    if metric.additive:
        return mean_interval(counts.rows[counts.index, 0], factors, level)
    totals = _resampled(counts, kept, factors, seed, resamples)
    return percentile(metric.value(totals), level), f"{factors.prefix}bootstrap{100 * level:g}x{resamples}"


def mean_interval(credit: NDArray[np.float64], factors: Factors, level: float) -> tuple[Interval, str]:
    """Interval of the mean of (n,) credits in [0, 1] that go together by `factors`, and how the signature calls it."""
    percent = f"{100 * level:g}"
    if not np.isin(credit, (0.0, 1.0)).all():
        low, high = factor_interval(credit, factors, level)
        return (max(0.0, low), min(1.0, high)), f"{factors.prefix}t{percent}"
    if factors.prefix:
        return factor_wilson(credit, factors, level), f"{factors.prefix}wilson{percent}"
    return wilson(float(credit.sum()), len(credit), level), f"wilson{percent}"


def _resampled(counts: Counts, kept: Columns, factors: Factors, seed: int, resamples: int) -> NDArray[np.float64]:
    """Totals of bootstrap samples, (resamples, k): draws that do not depend on the order of answers."""
    if factors.prefix == "twoway_":
        order = kept.order()
        return pigeonhole_counts(counts.rows, counts.index[order], factors.take(order), resamples=resamples, seed=seed)
    rows, times = counts.rows, counts.times()
    if factors.prefix:
        # Distinct group totals, sorted: fewer cells, and the same whatever the order.
        rows, times = np.unique(counts.by_group(factors.codes[0]), axis=0, return_counts=True)
    return bootstrap_counts(rows, times, resamples=resamples, seed=seed)


def _undefined(metric: Metric, columns: Columns, kept: Columns, value: float) -> str:
    """Why there is no value; empty if there is one."""
    if not len(kept):
        return "undefined: no answer could be read" if len(columns.counted()) else "undefined: no answers"
    if math.isnan(value):
        return f"undefined: {metric.name} needs one label space that all samples share"
    return ""


def withheld(distinct: int, independent: int) -> str:
    """Why no interval is given for so many distinct requests and independent groups; empty if one is."""
    if distinct < MINIMUM:
        return f"interval withheld: only {distinct} distinct requests"
    if independent < MINIMUM:
        return f"interval withheld: only {independent} independent groups"
    return ""


def unscored(*sides: Columns) -> str:
    """The note on answers that a judge left unscored; empty if there are none."""
    missing = sum(columns.number_of("unscored") for columns in sides)
    return f"{missing} answers unscored" if missing else ""


def joined(*notes: str) -> str:
    """Notes that say something, as one."""
    return "; ".join(note for note in notes if note)


def signature(name: str, policy: Policy, method: str, seed: int) -> str:
    """Everything that defines the number, e.g. `accuracy|unparsed=wrong|interval=wilson95|seed=0|v0.1.0`."""
    unparsed = "wrong" if policy == "as_wrong" else "excluded"
    return f"{name}|unparsed={unparsed}|interval={method}|seed={seed}|v{__version__}"
