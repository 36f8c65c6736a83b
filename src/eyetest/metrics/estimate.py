"""A metric's value with the interval that its answers allow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.classification import ClassWise
from eyetest.metrics.columns import Columns, Counts, Metric, Policy, code, point
from eyetest.metrics.transcription import COUNTS, as_empty, as_perfect
from eyetest.stats import (
    WITHHELD,
    Factors,
    Interval,
    bootstrap_counts,
    factor_interval,
    factor_se,
    factor_wilson,
    group_sums,
    percentile,
    pigeonhole_counts,
    t_quantile,
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
    * macro-F1 and the other class-wise metrics: Wilson with Student's t on the answers that have its standard error
      (`score`);
    * everything else: percentiles of `resamples` bootstrap samples of the counts, by group where answers go together. Of
      several repeats the value is the mean of each repeat's (`overall`), and a group is drawn with all its repeats;
    * fewer than MINIMUM distinct requests or independent groups: withheld, and the note says so.

    Answers go together if they share a cluster or a sample (`cluster_...`), or a request. Where these cross, as with
    several questions about a picture and one question about many pictures, standard errors are two-way and the
    bootstrap is the pigeonhole's (`twoway_...`; `stats.factor_se`, `stats.pigeonhole_counts`).
    """
    kept = columns.within(metric.policy)
    value = overall(metric, columns)
    distinct = len(np.unique(kept.request))
    interval, method, note = WITHHELD, "none", _undefined(metric, columns, kept, value)
    if not note:
        factors = kept.factors()
        note = withheld(distinct, factors.count)
        if not note:
            interval, method = _interval(metric, metric.counts(columns), kept, factors, level, seed, resamples)
            note = "interval without width: nothing varies" if interval[0] == interval[1] else ""
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
        signature=signature(_formula(metric, columns), metric.policy, method, seed),
        note=joined(note, unscored(columns)),
    )


def overall(metric: Metric, columns: Columns) -> float:
    """The metric's value without an interval; of a metric that is no mean, the mean over repeats of each repeat's value.

    Macro-F1 of three pooled repeats is none of theirs, nor their mean. A repeat in which it is undefined is left out.
    """
    if metric.additive:
        return point(metric, columns)
    return float(_mean_defined(by_repeat(metric, columns)))


def by_repeat(metric: Metric, columns: Columns) -> NDArray[np.float64]:
    """The metric's value in each of R repeats, by number of the repeat: (R,); nan where undefined."""
    repeats = np.unique(columns.repeat)
    if len(repeats) < 2:
        return np.array([point(metric, columns)])
    return np.array([point(metric, columns.take(columns.repeat == repeat)) for repeat in repeats])


def _mean_defined(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the last axis, nan left out: (..., R) -> (...); nan where none is defined."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, values, 0.0).sum(axis=-1) / defined.sum(axis=-1), np.float64)


def _formula(metric: Metric, columns: Columns) -> str:
    """How the signature calls the metric: with the number of repeats where it is a mean over them."""
    repeats = 1 if metric.additive else len(np.unique(columns.within(metric.policy).repeat))
    return f"{metric.name}|mean_of_repeats={repeats}" if repeats > 1 else metric.name


def bounds(metric: Metric, columns: Columns) -> Interval:
    """The value if every answer outside n (failed, bad picture, unscored) were wrong, and if it were right."""
    outside = columns.status >= code("error")
    # Without an answer read, a wrong answer harms no other class; but only a scored one is in `parsed_only`.
    wrong_status = code("scored") if metric.policy == "parsed_only" else code("unparsed")
    wrong = replace(
        _filled(columns, outside, right=False),
        status=np.where(outside, wrong_status, columns.status).astype(np.uint8),
        value=np.where(outside, 0.0, columns.value),
        answer=np.where(outside, -1, columns.answer).astype(np.int32),
    )
    right = replace(
        _filled(columns, outside, right=True),
        status=np.where(outside, code("scored"), columns.status).astype(np.uint8),
        value=np.where(outside, 1.0, columns.value),
        answer=np.where(outside, columns.target, columns.answer).astype(np.int32),
    )
    return overall(metric, wrong), overall(metric, right)


def _filled(columns: Columns, outside: NDArray[np.bool_], *, right: bool) -> Columns:
    """Columns whose rows `outside` (n,) have the label sets and counts of a wholly right, or of an empty, answer."""
    made, rows = columns, outside[:, None]
    if columns.target_set.shape[1]:
        given = columns.target_set if right else np.zeros_like(columns.target_set)
        made = replace(made, answer_set=np.where(rows, given, columns.answer_set))
    if columns.counts.shape[1] == len(COUNTS):
        read = as_perfect(columns.counts) if right else as_empty(columns.counts)
        made = replace(made, counts=np.where(rows, read, columns.counts))
    elif columns.counts.shape[1] == 1:  # AnswerInOutput
        made = replace(made, counts=np.where(rows, float(right), columns.counts))
    return made


def _interval(
    metric: Metric, counts: Counts, kept: Columns, factors: Factors, level: float, seed: int, resamples: int
) -> tuple[Interval, str]:
    """The interval and how the signature calls it."""
    if metric.additive:
        return mean_interval(counts.rows[counts.index, 0], factors, level)
    if isinstance(metric, ClassWise):
        return _score_interval(metric, counts, kept, factors, level), f"{factors.prefix}score{100 * level:g}"
    blocks, size = _blocks(counts, kept)
    totals = _resampled(blocks, kept, factors, seed, resamples)
    draws = _mean_defined(metric.value(totals.reshape(resamples, -1, size)))
    return percentile(draws, level), f"{factors.prefix}bootstrap{100 * level:g}x{resamples}"


def _score_interval(metric: ClassWise, counts: Counts, kept: Columns, factors: Factors, level: float) -> Interval:
    """Wilson interval, with Student's t, of a class-wise metric F on as many answers as have its standard error.

    F (1 - F) / se^2 answers, se of F linearised at the total (the infinitesimal jackknife, Efron 1982; for macro-F1 as in
    Takahashi et al. 2022) and clustered. Where nothing varies, the Kish size of the weights that answers have in a mean over
    classes. Resamples cannot show mistakes that were not seen, so that near 1 their percentiles cover far less than they say.
    Of F over the best that these classes allow: a class that does not occur is not an error that could vary.
    """
    repeat = np.unique(kept.repeat, return_inverse=True)[1]
    totals = np.stack([Counts(counts.rows, counts.index[repeat == r]).total() for r in range(repeat.max() + 1)])
    best = metric.best(kept)
    now = float(metric.value(totals).mean()) / best
    slopes = np.stack([_slope(metric, total) for total in totals], axis=1) / len(totals)
    se = factor_se(len(kept) * (counts.rows @ slopes)[counts.index, repeat], factors) / best
    # One answer in a million spreads by 1e-3; what rounding leaves of no spread is 1e-8.
    if 0 < now < 1 and se * math.sqrt(len(kept)) > 1e-5:
        size = now * (1 - now) / se**2
    else:
        support = np.bincount(kept.target, minlength=len(kept.labels))
        weight = 1 / (np.count_nonzero(support) * support[kept.target])
        size = min(float(1 / (group_sums(weight, code) ** 2).sum()) for code in factors.codes)
    low, high = wilson(now * size, size, level, quantile=t_quantile(level, factors.degrees_of_freedom))
    return low * best, high * best


def _slope(metric: ClassWise, total: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gradient of a class-wise metric at a total, (3 K,) -> (3 K,), by central differences good to 1e-8 of it.

    The metric is a mean over classes, so each class is moved for itself, as a total of one class: work and memory of K, not
    of K^2. 0 for a class that does not occur: nothing is right in it, so that its false alarms move nothing either.
    """
    alone = total.reshape(3, -1).T
    each = metric.value(alone)
    part = float(metric.value(total)) / np.nansum(each) if np.nansum(each) else 0.0  # 1 / classes in the mean
    slope = np.zeros_like(alone)
    for place, step in enumerate(1e-4 * np.maximum(alone.T, 1.0)):
        moved = step[:, None] * (np.arange(3) == place)
        slope[:, place] = part * (metric.value(alone + moved) - metric.value(alone - moved)) / (2 * step)
    return np.where(total > 0, np.nan_to_num(slope.T.ravel()), 0.0)


def _blocks(counts: Counts, kept: Columns) -> tuple[Counts, int]:
    """Counts of k numbers spread over R blocks, one a repeat, so that their total (R k,) keeps repeats apart; and k."""
    m, size = counts.rows.shape
    repeats, place = np.unique(kept.repeat, return_inverse=True)
    if len(repeats) < 2:
        return counts, size
    cells, index = np.unique(place * m + counts.index, return_inverse=True)
    block, row = np.divmod(cells, m)
    rows = np.zeros((len(cells), len(repeats), size))
    rows[np.arange(len(cells)), block] = counts.rows[row]
    return Counts(rows.reshape(len(cells), -1), index.astype(np.int64)), size


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
