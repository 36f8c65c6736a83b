"""Means of answers that go together in one way or in two that cross: standard errors and intervals.

Several questions about one picture, one question about many pictures: whatever shares the picture goes together, and so
does whatever shares the question, yet two answers that share neither are independent. Joining both into one grouping
would leave a single group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.stats.clusters import Codes, cluster_se_cr2, degrees_of_freedom_cr2, effective_groups, groups
from eyetest.stats.intervals import WITHHELD, Interval, t_quantile, wilson


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """What n answers share. Two factors come from `crossed`."""

    codes: tuple[Codes, ...]
    """One grouping, or two of which neither lies within the other: (n,) codes each, 0..G-1."""

    @property
    def prefix(self) -> str:
        """How a method's name says it: `` (independent answers), `cluster_` (one grouping) or `twoway_`."""
        if len(self.codes) > 1:
            return "twoway_"
        return "cluster_" if self.count < len(self.codes[0]) else ""

    @property
    def count(self) -> int:
        """Groups of the factor that has fewest."""
        return min(len(np.unique(code)) for code in self.codes)

    @property
    def effective(self) -> float:
        """Effective groups (`effective_groups`) of the factor that has fewest."""
        return min(effective_groups(code) for code in self.codes)

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of `factor_se`: Satterthwaite's (`degrees_of_freedom_cr2`); 0 where a factor has one group.

        G - 1 for groups of equal size; fewer when a few groups hold most answers, where G - 1 covers too rarely
        (Carter, Schnepel & Steigerwald 2017). The smaller factor decides (Cameron, Gelbach & Miller 2011).
        """
        return min(degrees_of_freedom_cr2(code) for code in self.codes)

    def take(self, rows: NDArray[Any]) -> Factors:
        """What the answers that a mask (n,) or an index array selects share; groups numbered by first appearance."""
        return crossed(groups(self.codes[0][rows]), groups(self.codes[-1][rows]))


def crossed(one: Codes, other: Codes) -> Factors:
    """Two groupings of the same n answers, (n,) codes 0..G-1; one alone if the other lies within it and so adds nothing."""
    cells = len(np.unique(_cells(one, other)))
    if cells == len(np.unique(one)):
        return Factors((other,))
    if cells == len(np.unique(other)):
        return Factors((one,))
    return Factors((one, other))


def _cells(one: Codes, other: Codes) -> NDArray[np.int64]:
    """A code for every pair of codes."""
    return one.astype(np.int64) * (int(other.max(initial=0)) + 1) + other


def factor_se(x: ArrayLike, factors: Factors) -> float:
    """Standard error of the mean of x, (n,): CR2 (`cluster_se_cr2`) by one factor, two-way by two.

    Two-way: V = V_A + V_B - V_AB, each CR2, AB the cells in which both agree (Cameron, Gelbach & Miller 2011);
    for groups of equal size it equals statsmodels `OLS(x, 1).fit(cov_type="cluster")` with one or two columns of groups.
    V may come out near 0 or below: never less than V_A or V_B is taken (MacKinnon, Nielsen & Webb 2024, arXiv 2406.08880).
    nan for fewer than two groups.
    """
    if len(factors.codes) == 1:
        return cluster_se_cr2(x, factors.codes[0])
    one, other = factors.codes
    first, second, both = (cluster_se_cr2(x, code) ** 2 for code in (one, other, _cells(one, other)))
    return math.sqrt(max(first + second - both, first, second))


def factor_interval(x: ArrayLike, factors: Factors, level: float = 0.95) -> Interval:
    """Mean of x -+ t * `factor_se`, t with the factors' degrees of freedom. nan with fewer than two groups."""
    values = np.asarray(x, np.float64)
    se = factor_se(values, factors)
    if math.isnan(se):
        return WITHHELD
    half = t_quantile(level, factors.degrees_of_freedom) * se
    return float(values.mean()) - half, float(values.mean()) + half


def effective_size(x: NDArray[np.float64], factors: Factors) -> float:
    """Number of independent answers with the same standard error as the proportion x (of 0 and 1), at most n.

    p (1 - p) / se^2 with `factor_se`. Where all answers agree nothing shows how alike the groups are inside, so a
    group counts as one answer.
    """
    n, p = float(len(x)), float(x.mean())
    if p in (0.0, 1.0):
        return factors.effective
    se = factor_se(x, factors)
    return min(n, p * (1 - p) / se**2) if se > 0 else n


def factor_wilson(x: ArrayLike, factors: Factors, level: float = 0.95) -> Interval:
    """Wilson interval of a proportion of answers that go together, on its effective sample size, with Student's t.

    Stays within [0, 1] and keeps its width at 0 and 1 (Korn & Graubard 1998 do the same with Clopper-Pearson; Dean &
    Pagano 2015 compare). nan with fewer than two groups.
    """
    values, df = np.asarray(x, np.float64), factors.degrees_of_freedom
    if df <= 0:
        return WITHHELD
    size = effective_size(values, factors)
    return wilson(float(values.mean()) * size, size, level, quantile=t_quantile(level, df))


def design_effect(x: NDArray[np.float64], factors: Factors) -> float:
    """Variance of the mean of x over that of independent answers (Kish 1965), at least 1.

    Where all values are equal nothing shows it: then a group counts as one answer.
    """
    independent = float(x.var()) / len(x)
    if independent == 0:
        return len(x) / factors.effective
    return max(1.0, factor_se(x, factors) ** 2 / independent)
