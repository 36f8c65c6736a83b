"""Ratios of two means of the same answers, and of two rates with denominators of their own."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.stats.bootstrap import percentile, posterior_cells
from eyetest.stats.factors import Factors, factor_se
from eyetest.stats.intervals import WITHHELD, Interval, t_quantile
from eyetest.stats.paired import Cells


def fieller(numerator: ArrayLike, denominator: ArrayLike, factors: Factors, level: float = 0.95) -> Interval:
    """Interval of mean(numerator) / mean(denominator) of (n,) paired values that go together by `factors`.

    The ratios rho at which the mean of numerator - rho * denominator is within t standard errors of 0 (Fieller 1954), the
    standard error `factor_se`, t with the factors' degrees of freedom. WITHHELD where these ratios have no bounds (the
    mean denominator is within t standard errors of 0), and for fewer than two groups. Zero width if numerator - ratio *
    denominator does not vary: then ask `posterior_ratio`. A constant denominator leaves Student's interval over it.
    """
    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    if not len(top) or factors.degrees_of_freedom <= 0 or bottom.mean() == 0:
        return WITHHELD
    ratio = float(top.mean() / bottom.mean())
    # Measured from the ratio itself the set is a d^2 + 2 b d <= c in d = rho - ratio, and always holds d = 0.
    rest = top - ratio * bottom
    square = t_quantile(level, factors.degrees_of_freedom) ** 2
    a = float(bottom.mean()) ** 2 - square * factor_se(bottom, factors) ** 2
    b = square * _covariance(rest, bottom, factors)
    c = square * factor_se(rest, factors) ** 2
    if a <= 0:
        return WITHHELD
    half = math.sqrt(b * b + a * c)
    return ratio - (b + half) / a, ratio - (b - half) / a


def _covariance(x: NDArray[np.float64], y: NDArray[np.float64], factors: Factors) -> float:
    """Covariance of two means, by polarisation: (Var(x + y) - Var(x - y)) / 4."""
    return (factor_se(x + y, factors) ** 2 - factor_se(x - y, factors) ** 2) / 4


def posterior_ratio(
    cells: Cells, numerator: ArrayLike, denominator: ArrayLike, level: float = 0.95, *, resamples: int, seed: int
) -> Interval:
    """Interval of a ratio of two means over the paired table where counts are too small for `fieller`.

    numerator, denominator: (4,) what an item of each cell (11, 10, 01, 00) adds. Percentiles of the posterior of the cells
    (Dirichlet, Jeffreys prior), stretched to hold the observed ratio. WITHHELD where the denominator is not above 0 in more
    of the posterior than the interval leaves out at one end.
    """
    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    draws = posterior_cells(np.asarray(cells, np.float64), resamples=resamples, seed=seed)
    below = draws @ bottom
    observed = float(np.dot(cells, bottom))
    if observed <= 0 or (below <= 0).mean() > (1 - level) / 2:
        return WITHHELD
    ratio = float(np.dot(cells, top)) / observed
    positive = below > 0
    low, high = percentile((draws @ top)[positive] / below[positive], level)
    return min(low, ratio), max(high, ratio)


def mover_ratio(top: float, top_ends: Interval, bottom: float, bottom_ends: Interval) -> Interval:
    """Interval of top / bottom, two rates above or at 0, from an interval of each (MOVER-R, Donner & Zou 2012).

    The two are taken as independent: conservative where they rise and fall together. The upper end is infinite where
    the lower end of `bottom` is 0. Keeps its width where a rate is 0 or 1. bottom must be above 0.
    """
    (low_top, high_top), (low_bottom, high_bottom) = top_ends, bottom_ends
    product = top * bottom
    c = low_top * (2 * top - low_top)
    low = c / (product + math.sqrt(product**2 - c * high_bottom * (2 * bottom - high_bottom))) if c > 0 else 0.0
    a = low_bottom * (2 * bottom - low_bottom)
    if a <= 0:
        return low, math.inf
    return low, (product + math.sqrt(product**2 - a * high_top * (2 * top - high_top))) / a


def log_rate_influence(right: NDArray[np.float64], attempted: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each answer adds to the log of sum(right) / sum(attempted), linearised: (n,), mean 0. Both sums above 0.

    Its `factor_se` is the standard error of the log rate; that of a difference of two, of the log of their ratio.
    """
    rate = right.sum() / attempted.sum()
    return np.asarray((right - rate * attempted) / (attempted.mean() * rate), np.float64)
