"""Two conditions or two models on the same items.

Cells of the paired table: n_ab items, a = right under the first, b = right under the second (1 yes, 0 no).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eyetest.stats.intervals import WITHHELD, Interval, standard_normal, wilson


class Cells(NamedTuple):
    """The paired 2 x 2 table. Counts need not be whole: partial credit and effective sizes give fractions."""

    n11: float
    """Right under both."""
    n10: float
    """Right under the first only."""
    n01: float
    """Right under the second only."""
    n00: float
    """Right under neither."""


def paired_cells(first: ArrayLike, second: ArrayLike) -> Cells:
    """Paired table of two (n,) arrays of credit in [0, 1], item by item.

    Partial credit x, y adds xy to n11, x(1-y) to n10 and so on, so that the margins stay the sums of credit.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    both = float(a @ b)
    only_a, only_b = float(a.sum()) - both, float(b.sum()) - both
    return Cells(both, only_a, only_b, len(a) - both - only_a - only_b)


def overlap_cells(first: ArrayLike, second: ArrayLike) -> Cells:
    """Paired table of two (n,) arrays of credit in [0, 1] in which equal credit is right both times, never right one time.

    Credit x, y adds min(x, y) to n11, x - min to n10, y - min to n01. `paired_cells` for credit of 0 and 1.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    both = float(np.minimum(a, b).sum())
    only_a, only_b = float(a.sum()) - both, float(b.sum()) - both
    return Cells(both, only_a, only_b, len(a) - both - only_a - only_b)


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p that b and c discordant pairs are equally likely (McNemar 1947); 1 for b = c = 0.

    Equals statsmodels `mcnemar(exact=True)` and scipy `binomtest(b, b + c)`. Independent items only.
    """
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5)))


def newcombe(cells: Cells, level: float = 0.95, *, quantile: float | None = None) -> Interval:
    """Interval of the difference of two paired proportions (first - second), within [-1, 1]; nan for no items.

    Square-and-add of the two Wilson intervals with the continuity-corrected phi: Newcombe 1998 (Statistics in Medicine
    17, 2635-2650), method 10. quantile: as in `wilson`.
    """
    n11, n10, n01, n00 = cells
    n = sum(cells)
    if n <= 0:
        return WITHHELD
    p1, p2 = (n11 + n10) / n, (n11 + n01) / n
    low1, high1 = wilson(n11 + n10, n, level, quantile=quantile)
    low2, high2 = wilson(n11 + n01, n, level, quantile=quantile)
    margins = (n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00)
    surplus = n11 * n00 - n10 * n01
    if surplus > 0:
        surplus = max(surplus - n / 2, 0.0)
    phi = surplus / math.sqrt(margins) if margins > 0 else 0.0
    below = _square_and_add(p1 - low1, high2 - p2, phi)
    above = _square_and_add(high1 - p1, p2 - low2, phi)
    return max(-1.0, p1 - p2 - below), min(1.0, p1 - p2 + above)


def _square_and_add(one: float, other: float, phi: float) -> float:
    """Length of the difference of two margins with correlation phi; rounding may leave a hair below 0."""
    return math.sqrt(max(one * one - 2 * phi * one * other + other * other, 0.0))


def smallest_detectable_difference(n: float, discordance: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """Smallest difference of two paired proportions that a two-sided McNemar test of n items finds with `power`.

    discordance: share of items right under exactly one of the two. The d that solves
    d sqrt(n) = z_a sqrt(psi) + z_b sqrt(psi - d^2) (Connor 1987). nan where even d = discordance would not be found.
    """
    za, zb = standard_normal(1 - alpha / 2), standard_normal(power)
    inside = n - za * za + zb * zb
    if n <= 0 or inside < 0:
        return math.nan
    difference = math.sqrt(discordance) * (za * math.sqrt(n) + zb * math.sqrt(inside)) / (n + zb * zb)
    return difference if difference <= discordance else math.nan


def items_needed(difference: float, discordance: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """Items with which a two-sided McNemar test finds a difference of two paired proportions with `power`, not rounded.

    discordance: share of items right under exactly one of the two. ((z_a sqrt(psi) + z_b sqrt(psi - d^2)) / d)^2
    (Connor 1987): the inverse of `smallest_detectable_difference`. Infinite for no difference; nan where the two cannot
    belong together (|difference| > discordance, or discordance > 1).
    """
    if not abs(difference) <= discordance <= 1:
        return math.nan
    if difference == 0:
        return math.inf
    za, zb = standard_normal(1 - alpha / 2), standard_normal(power)
    root = za * math.sqrt(discordance) + zb * math.sqrt(discordance - difference * difference)
    return (root / difference) ** 2


def resolution_ratio(cells: Cells, power: float = 0.8, alpha: float = 0.05, *, design_effect: float = 1.0) -> float:
    """q = N / N*: items there are over `items_needed` for a difference and a discordance such as those observed.

    q >= 1: as many items resolve a difference of this size with `power`; q = 1/4: four times as many would. 0 for no
    difference, nan for no items. For credits of 0 or 1; answers that go together count N / design_effect
    (`factors.design_effect` of the differences).

    Not evidence beside p: q is about (z / (z_a + z_b))^2 of the observed z, so q < 1 with p > alpha says the same thing
    twice, and no q shows that the sides are equal (Hoenig & Heisey 2001). A difference singled out because it is
    significant is too large on average, and its q with it. To plan a run, take a difference that would matter.
    """
    n = sum(cells)
    if n <= 0:
        return math.nan
    # Rounding may leave one cell of partial credit a hair below 0, and the difference above the discordance.
    only_first, only_second = max(cells.n10, 0.0), max(cells.n01, 0.0)
    return n / design_effect / items_needed((only_first - only_second) / n, (only_first + only_second) / n, power, alpha)
