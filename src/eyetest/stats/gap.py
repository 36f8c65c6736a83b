"""Ratios of the second paper (arXiv 2410.12329): Gap Rate, Sufficiency Ratio, Necessity Ratio."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.stats.bootstrap import bootstrap_counts, percentile, posterior_cells
from eyetest.stats.factors import Factors, factor_se
from eyetest.stats.intervals import Interval, normal_quantile, t_quantile
from eyetest.stats.paired import Cells

_MARGINS = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
"""(4, 2): what an item of each cell (11, 10, 01, 00) adds to right with and right without the picture."""


class GapRate(NamedTuple):
    """A gap rate with its interval."""

    value: float
    low: float
    high: float


class Ratios(NamedTuple):
    """How knowing (K) and answering the visual question (VQ) go together; a ratio without cases is nan."""

    sur: float
    """Sufficiency Ratio as printed: P(K right | VQ right) = n11 / (n11 + n10)."""
    ner: float
    """Necessity Ratio as printed: P(K wrong | VQ wrong) = n00 / (n00 + n01)."""
    p_vq_given_k: float
    """P(VQ right | K right) = n11 / (n11 + n01)."""
    p_not_vq_given_not_k: float
    """P(VQ wrong | K wrong) = n00 / (n00 + n10): what the paper's text describes as necessity."""


def gap_rate(without: float, with_: float) -> float:
    """1 - score rate without the picture / score rate with it (eq. 2), in [-inf, 1]; negative: the picture hurts.

    0/0 is nan, x/0 is -inf: neither may enter an average.
    """
    if with_:
        return 1 - without / with_
    return math.nan if without == 0 else -math.inf


def gap_rate_ci(n11: float, n10: float, n01: float, n00: float, level: float = 0.95) -> GapRate:
    """Gap rate of a paired table with its log-ratio delta interval; first = with the picture, second = without.

    Var(log(S0/S1)) = (n10 + n01) / ((n11 + n10)(n11 + n01)), ends 1 - (1 - GR) exp(+-z se) (paired relative risk,
    Nam & Blackwelder 2002). No interval if either condition has no right answer. Zero width if both agree on every item.
    """
    n1, n0 = n11 + n10, n11 + n01
    n = max(1.0, n1 + n01 + n00)
    value = gap_rate(n0 / n, n1 / n)
    if n1 == 0 or n0 == 0:
        return GapRate(value, math.nan, math.nan)
    return GapRate(value, *_log_ratio(value, math.sqrt((n10 + n01) / (n1 * n0)), normal_quantile(level)))


def _log_ratio(value: float, se: float, quantile: float) -> Interval:
    """Ends of a gap rate whose log-ratio has standard error `se`."""
    return 1 - (1 - value) * math.exp(quantile * se), 1 - (1 - value) * math.exp(-quantile * se)


def gap_rate_factor_ci(with_: ArrayLike, without: ArrayLike, factors: Factors, level: float = 0.95) -> GapRate:
    """Gap rate of (n,) paired credits in [0, 1] that go together by `factors`. Both means must be above 0.

    `gap_rate_ci` with the log-ratio linearised (item i adds without_i / mean - with_i / mean), its clustered standard
    error (`factor_se`) and Student's t; the same standard error for 0/1 credit and no groups, but for CR2's
    sqrt(n / (n - 1)).
    """
    x1, x0 = np.asarray(with_, np.float64), np.asarray(without, np.float64)
    value = gap_rate(float(x0.mean()), float(x1.mean()))
    se = factor_se(x0 / x0.mean() - x1 / x1.mean(), factors)
    return GapRate(value, *_log_ratio(value, se, t_quantile(level, factors.degrees_of_freedom)))


def ratio_of_totals(totals: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Gap rates of totals (..., 2) = right with, right without the picture: (...)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - totals[..., 1] / totals[..., 0], np.float64)


def gap_rate_bootstrap(cells: Cells, level: float = 0.95, *, resamples: int, seed: int) -> Interval:
    """Percentile interval of a gap rate from resamples of the four cells: whole counts of independent items."""
    totals = bootstrap_counts(_MARGINS, np.rint(cells).astype(np.int64), resamples=resamples, seed=seed)
    return percentile(ratio_of_totals(totals), level)


def gap_rate_posterior(cells: Cells, level: float = 0.95, *, resamples: int, seed: int) -> Interval:
    """Interval of a gap rate where resamples cannot vary: no right answer without the picture, or no discordant item.

    Percentiles of the posterior of the cells (Dirichlet, Jeffreys prior), stretched to hold the observed value.
    """
    draws = posterior_cells(np.asarray(cells, np.float64), resamples=resamples, seed=seed)
    low, high = percentile(ratio_of_totals(draws @ _MARGINS), level)
    n11, n10, n01, _ = cells
    value = gap_rate(n11 + n01, n11 + n10)
    return min(low, value), max(high, value)


def sur_ner(n11: float, n10: float, n01: float, n00: float) -> Ratios:
    """Sufficiency and Necessity Ratio (eqs. 4-5, `|` read as AND) with the two other conditionals.

    n_ab: a = visual question right, b = knowledge question right.
    """
    return Ratios(_share(n11, n10), _share(n00, n01), _share(n11, n01), _share(n00, n10))


def _share(part: float, rest: float) -> float:
    return part / (part + rest) if part + rest else math.nan
