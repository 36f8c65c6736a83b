"""Mean credit over strata: the headline with the differences between subjects taken out of its error, or the mean of means."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from eyetest.metrics.columns import Columns, Policy
from eyetest.metrics.estimate import joined, signature, unscored, withheld
from eyetest.stats.factors import Factors
from eyetest.stats.intervals import WITHHELD, Interval, t_quantile, wilson
from eyetest.stats.strata import Stratified, stratified_mean
from eyetest.types import Estimate


def stratified(
    metric_name: str,
    columns_by_stratum: Mapping[str, Columns],
    *,
    equal: bool,
    seed: int,
    level: float = 0.95,
    policy: Policy = "as_wrong",
) -> Estimate:
    """Mean credit over strata of one task (their codes of samples, clusters and requests are one numbering).

    equal: every stratum weighs the same, the mean of means; else each answer does, and the value is the plain mean. For
    strata fixed in advance by whoever made the dataset: another sample would have had as many answers in each. In
    simulations 95 % intervals hold the truth 94 to 97 times in 100; 90 times where a stratum of three weighs one fifth.

    Interval by `stats.stratified_mean`: Student's t, for credit of 0 and 1 through Wilson on the effective size
    p (1 - p) / se^2, and on that of the whole (`Factors.effective`) where no stratum varies. Withheld as in `estimate`.
    A stratum without answers is left out, and the note says so. seed: for the signature; nothing is drawn.
    """
    kept = {name: columns.within(policy) for name, columns in columns_by_stratum.items()}
    kept = {name: part for name, part in kept.items() if len(part)}
    empty = len(columns_by_stratum) - len(kept)
    note = f"{empty} strata without answers left out" if empty else ""
    value, n, distinct, interval, method, why = math.nan, 0, 0, WITHHELD, "none", "undefined: no answers"
    if kept:
        together = Columns.concatenate(list(kept.values()))
        strata = np.repeat(np.arange(len(kept)), [len(part) for part in kept.values()])
        weights = np.ones(len(kept)) if equal else None
        factors, credit = together.factors(), together.credit()
        made = stratified_mean(credit, strata, factors, weights)
        value, n, distinct = made.mean, len(together), len(np.unique(together.request))
        why = withheld(distinct, factors.count)
        if not why:
            interval, method = _interval(made, bool(np.isin(credit, (0.0, 1.0)).all()), factors, level)
            why = _doubts(made)
    every = list(columns_by_stratum.values())
    return Estimate(
        metric=metric_name,
        value=value,
        low=interval[0],
        high=interval[1],
        n=n,
        n_distinct=distinct,
        n_unparsed=sum(columns.number_of("unparsed") for columns in every),
        n_refused=sum(columns.number_of("refused", "blocked") for columns in every),
        n_failed=sum(columns.number_of("error", "bad_image") for columns in every),
        signature=signature(f"{metric_name}|{'mean of' if equal else 'over'} {len(kept)} strata", policy, method, seed),
        note=joined(why, note, unscored(*every)),
    )


def _doubts(made: Stratified) -> str:
    """What the interval has to make do with; empty if nothing."""
    merged = f"variance of {made.n_merged} strata with answers in common taken together" if made.n_merged else ""
    bounded = f"largest possible variance for {made.n_bounded} strata of one independent group" if made.n_bounded else ""
    return joined(merged, bounded)


def _interval(made: Stratified, binary: bool, factors: Factors, level: float) -> tuple[Interval, str]:
    """The interval and how the signature calls it."""
    percent, t, p = f"{100 * level:g}", t_quantile(level, made.degrees_of_freedom), min(made.mean, 1.0)
    if binary:
        size = p * (1 - p) / made.se**2 if made.se > 0 else factors.effective
        return wilson(p * size, size, level, quantile=t), f"stratified_{factors.prefix}wilson{percent}"
    half = t * made.se
    return (max(0.0, made.mean - half), min(1.0, made.mean + half)), f"stratified_{factors.prefix}t{percent}"
