"""A metric's value with the interval that its answers allow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import eyetest
from eyetest.metrics.columns import Columns, Counts, Metric, Policy, code, point
from eyetest.stats import (
    WITHHELD,
    Interval,
    bootstrap_counts,
    cluster_interval,
    cluster_wilson,
    percentile,
    wilson,
)
from eyetest.types import Estimate

MINIMUM = 10
"""Fewer distinct requests, or fewer independent groups, give no interval: it would be an invention."""


def estimate(metric: Metric, columns: Columns, *, level: float = 0.95, seed: int, resamples: int = 2000) -> Estimate:
    """`metric` on `columns` with an interval of coverage `level`.

    * independent answers, credit 0 or 1: Wilson;
    * a mean of other credit, or of answers that go together: Student's t on the cluster-robust standard error, for a
      proportion through Wilson on the effective sample size;
    * everything else: percentiles of `resamples` bootstrap samples of the counts, by group where answers go together;
    * fewer than MINIMUM distinct requests or independent groups: withheld, and the note says so.

    Answers go together if they share a cluster, a request or a sample.
    """
    kept = columns.within(metric.policy)
    counts = metric.counts(columns)
    value = float(metric.value(counts.total()))
    distinct = len(np.unique(kept.request))
    interval, method, note = WITHHELD, "none", _undefined(metric, columns, kept, value)
    if not note:
        group = kept.groups()
        note = withheld(distinct, len(np.unique(group)))
        if not note:
            interval, method = _interval(metric, counts, group, level, seed, resamples)
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
    metric: Metric, counts: Counts, group: NDArray[np.int64], level: float, seed: int, resamples: int
) -> tuple[Interval, str]:
    """The interval and how the signature calls it."""
    n = len(counts.index)
    clustered = int(group.max()) + 1 < n
    percent = f"{100 * level:g}"
    prefix = "cluster_" if clustered else ""
    if not metric.additive:
        return _bootstrap(metric, counts, group if clustered else None, level, seed, resamples), (
            f"{prefix}bootstrap{percent}x{resamples}"
        )
    credit = counts.rows[counts.index, 0]
    if not np.isin(counts.rows[:, 0], (0.0, 1.0)).all():
        low, high = cluster_interval(credit, group, level)
        return (max(0.0, low), min(1.0, high)), f"{prefix}t{percent}"
    if clustered:
        return cluster_wilson(credit, group, level), f"cluster_wilson{percent}"
    return wilson(float(credit.sum()), n, level), f"wilson{percent}"


def _bootstrap(
    metric: Metric, counts: Counts, group: NDArray[np.int64] | None, level: float, seed: int, resamples: int
) -> Interval:
    rows, times = counts.rows, counts.times()
    if group is not None:
        # Distinct group totals, sorted: fewer cells, and draws that do not depend on the order of answers.
        rows, times = np.unique(counts.by_group(group), axis=0, return_counts=True)
    totals = bootstrap_counts(rows, times, resamples=resamples, seed=seed)
    return percentile(metric.value(totals), level)


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
    return f"{name}|unparsed={unparsed}|interval={method}|seed={seed}|v{eyetest.__version__}"
