"""What the picture adds, and how two models or conditions differ, sample by sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, Pairs, Policy, among, pair
from eyetest.metrics.estimate import joined, mean_interval, signature, unscored, withheld
from eyetest.stats import (
    WITHHELD,
    Cells,
    Interval,
    design_effect,
    factor_interval,
    factor_se,
    gap_rate_ci,
    gap_rate_factor_ci,
    gap_rate_posterior,
    mcnemar_exact,
    newcombe,
    overlap_cells,
    paired_cells,
    sur_ner,
    t_quantile,
    t_tail,
)
from eyetest.stats import gap_rate as gap_rate_of
from eyetest.types import Estimate

SMALL = 5
"""Below this count in a cell the delta method is not trusted (the posterior of the cells instead)."""


FEW = 20
"""A ratio whose observed denominator is smaller has a warning: coverage is shown from this one on (docs/coverage.md)."""


def few(denominator: float) -> str:
    """The warning on a ratio whose denominator is small; empty if it is not."""
    return (
        f"only {denominator:.3g} in the denominator: its interval may miss more often than one time in 20"
        if denominator < FEW
        else ""
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference and the test that it is zero."""

    estimate: Estimate
    """First minus second, in credit an answer."""
    p: float
    """Two-sided p-value; nan where the interval is withheld."""
    test: str
    """`mcnemar_exact` for independent answers of credit 0 or 1, else `t`, `cluster_t` or `twoway_t`."""
    cells: Cells
    """The paired table: first, then second."""


def gap_rate(
    with_: Columns,
    without: Columns,
    *,
    level: float = 0.95,
    seed: int,
    resamples: int = 2000,
    policy: Policy = "as_wrong",
) -> Estimate:
    """Gap Rate 1 - score rate without the picture / score rate with it, paired on samples (arXiv 2410.12329, eq. 2).

    Independent answers of credit 0 or 1: log-ratio delta interval, or the posterior of the cells if one holds fewer than
    SMALL: resamples of so few are too coarse. Others: the delta interval on cluster-robust standard errors, whatever the
    counts; the posterior where resamples cannot vary. Value nan (0/0) or -inf (x/0) with a note where the
    ratio is undefined: never average it.
    """
    pairs = pair(with_, without, policy)
    x1, x0 = (float(side.mean()) if len(pairs) else math.nan for side in (pairs.first, pairs.second))
    value = gap_rate_of(x0, x1)
    note = undefined_ratio(pairs, x1, x0) or withheld(pairs.n_distinct, pairs.factors.count)
    interval, method = (WITHHELD, "none") if note else gap_interval(pairs, level, seed, resamples)
    note = note or few(float(pairs.first.sum()))
    return paired_estimate("gap_rate", value, interval, method, note, pairs, (with_, without), policy, seed)


def undefined_ratio(pairs: Pairs, with_: float, without: float) -> str:
    """Why a gap rate of these two score rates is undefined; empty if it is not."""
    if not len(pairs):
        return "undefined: no sample was answered with and without the picture"
    if with_:
        return ""
    if without:
        return "undefined (defined=false): right answers without the picture, none with it; never average it"
    return "undefined: no right answer with the picture"


def gap_interval(pairs: Pairs, level: float, seed: int, resamples: int) -> tuple[Interval, str]:
    """Interval of a defined gap rate and its name."""
    cells, percent, factors = overlap_cells(pairs.first, pairs.second), f"{100 * level:g}", pairs.factors
    if not pairs.second.any() or np.array_equal(pairs.first, pairs.second):
        # No resample can vary. A group counts as one answer: nothing shows how alike its answers are.
        shrink = factors.effective / len(pairs)
        scaled = Cells(*(shrink * count for count in cells))
        return gap_rate_posterior(scaled, level, resamples=resamples, seed=seed), f"posterior{percent}x{resamples}"
    if is_binary(pairs) and not factors.prefix:
        if min(cells) < SMALL:
            return gap_rate_posterior(cells, level, resamples=resamples, seed=seed), f"posterior{percent}x{resamples}"
        return gap_rate_ci(*cells, level)[1:], f"delta{percent}"
    return gap_rate_factor_ci(pairs.first, pairs.second, factors, level)[1:], f"{factors.prefix}delta{percent}"


def paired_difference(
    first: Columns, second: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong"
) -> Difference:
    """Mean credit of `first` minus `second`, paired on (sample, repeat), with its interval and test.

    Independent answers of credit 0 or 1: Newcombe's paired interval and the exact McNemar test. Otherwise Student's t on
    the cluster-robust standard error of the differences (two-way where clusters and requests cross); 0/1 credit that
    goes together keeps Newcombe's form, on counts divided by the design effect. seed: for the signature; nothing is drawn.
    """
    pairs = pair(first, second, policy)
    cells = paired_cells(pairs.first, pairs.second)
    note = "undefined: no sample was answered on both sides" if not len(pairs) else ""
    value = float((pairs.first - pairs.second).mean()) if len(pairs) else math.nan
    note = note or withheld(pairs.n_distinct, pairs.factors.count)
    interval, method = (WITHHELD, "none") if note else _difference_interval(pairs, cells, level)
    p, test = (math.nan, "none") if note else _difference_test(pairs, cells)
    made = paired_estimate("paired_difference", value, interval, method, note, pairs, (first, second), policy, seed)
    return Difference(made, p, test, cells)


def _difference_interval(pairs: Pairs, cells: Cells, level: float) -> tuple[Interval, str]:
    percent, factors, difference = f"{100 * level:g}", pairs.factors, pairs.first - pairs.second
    if not is_binary(pairs):
        low, high = factor_interval(difference, factors, level)
        return (max(-1.0, low), min(1.0, high)), f"{factors.prefix}t{percent}"
    if not factors.prefix:
        return newcombe(cells, level), f"newcombe{percent}"
    effect = design_effect(difference, factors)
    scaled = Cells(*(count / effect for count in cells))
    return newcombe(scaled, level, quantile=t_quantile(level, factors.degrees_of_freedom)), f"{factors.prefix}newcombe{percent}"


def _difference_test(pairs: Pairs, cells: Cells) -> tuple[float, str]:
    factors, difference = pairs.factors, pairs.first - pairs.second
    if is_binary(pairs) and not factors.prefix:
        return mcnemar_exact(round(cells.n10), round(cells.n01)), "mcnemar_exact"
    name = f"{factors.prefix}t"
    se = factor_se(difference, factors)
    if se == 0:
        # Every group differs by the same: t is infinite, so the exact sign test over groups stands in.
        return (1.0 if difference.mean() == 0 else 2.0 ** (1 - factors.count)), name
    return t_tail(abs(float(difference.mean())) / se, factors.degrees_of_freedom), name


@dataclass(frozen=True, slots=True)
class KnowledgeTable:
    """How answering the visual question (VQ) and knowing its fact (K) go together; each share with its interval."""

    cells: Cells
    """The paired table: visual question, then knowledge question."""
    sur: Estimate
    """Sufficiency Ratio as printed (arXiv 2410.12329, eq. 4): P(K right | VQ right)."""
    ner: Estimate
    """Necessity Ratio as printed (eq. 5): P(K wrong | VQ wrong)."""
    p_vq_given_k: Estimate
    """P(VQ right | K right)."""
    p_not_vq_given_not_k: Estimate
    """P(VQ wrong | K wrong): what the paper's text describes as necessity."""


def knowledge_table(
    with_picture: Columns, knowledge: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong"
) -> KnowledgeTable:
    """The V x K table of the samples asked with the picture and as pure knowledge, paired on (sample, repeat).

    A share is a proportion of the pairs that its condition selects, with their number taken as given: Wilson, clustered
    or two-way where these pairs go together. Partial credit weighs the pairs: Student's t on the linearised ratio. A share
    without cases is nan and its note says so. seed: for the signature; nothing is drawn.
    """
    pairs = pair(with_picture, knowledge, policy)
    cells, seen, known = paired_cells(pairs.first, pairs.second), pairs.first, pairs.second
    shares = {
        "sur": (known, seen, "no right answer with the picture"),
        "ner": (1 - known, 1 - seen, "no wrong answer with the picture"),
        "p_vq_given_k": (seen, known, "no right answer to a knowledge question"),
        "p_not_vq_given_not_k": (1 - seen, 1 - known, "no wrong answer to a knowledge question"),
    }
    made = {}
    for (name, (event, given, none)), value in zip(shares.items(), sur_ner(*cells), strict=True):
        part = _selected(pairs, given > 0, with_picture, knowledge, policy)
        note = withheld(part.n_distinct, part.factors.count) if len(part) else f"undefined: {none}"
        shares_of = weighed(event[given > 0], given[given > 0], value)
        interval, method = (WITHHELD, "none") if note else mean_interval(shares_of, part.factors, level)
        note = note or few(float(given.sum()))
        made[name] = paired_estimate(name, value, interval, method, note, part, (with_picture, knowledge), policy, seed)
    return KnowledgeTable(cells, **made)


def _selected(pairs: Pairs, rows: NDArray[np.bool_], first: Columns, second: Columns, policy: Policy) -> Pairs:
    """The pairs that a mask (n,) selects; what was left out of all pairs is still counted."""
    part = pair(among(first, pairs, rows), among(second, pairs, rows), policy)
    return replace(part, n_failed=pairs.n_failed, n_single=pairs.n_single)


def weighed(event: NDArray[np.float64], weight: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """Values whose mean is `ratio` = sum of weight * event / sum of weight, and whose standard error is its own: (n,)."""
    if (weight == 1).all():
        return event
    return np.asarray(ratio + weight * (event - ratio) / weight.mean(), np.float64)


def is_binary(pairs: Pairs) -> bool:
    """Whether all credit is 0 or 1."""
    return bool(np.isin(pairs.first, (0.0, 1.0)).all() and np.isin(pairs.second, (0.0, 1.0)).all())


def paired_estimate(
    name: str,
    value: float,
    interval: Interval,
    method: str,
    note: str,
    pairs: Pairs,
    sides: tuple[Columns, Columns],
    policy: Policy,
    seed: int,
) -> Estimate:
    """An estimate over pairs; sides: all answers of both, for what a judge left unscored."""
    alone = f"{pairs.n_single} answers without a partner" if pairs.n_single else ""
    return Estimate(
        metric=name,
        value=value,
        low=interval[0],
        high=interval[1],
        n=len(pairs),
        n_distinct=pairs.n_distinct,
        n_unparsed=pairs.n_unparsed,
        n_refused=pairs.n_refused,
        n_failed=pairs.n_failed,
        signature=signature(name, policy, method, seed),
        note=joined(note, alone, unscored(*sides)),
    )
