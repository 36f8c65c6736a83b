"""How strongly two answers to the same question go together: the odds ratio of the paired table."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eyetest.stats.factors import Factors, factor_se
from eyetest.stats.intervals import Interval, normal_quantile, t_quantile
from eyetest.stats.paired import Cells, paired_cells


class OddsRatio(NamedTuple):
    """n11 n00 / (n10 n01) with its interval; 1 where the two have nothing to do with each other."""

    value: float
    low: float
    high: float


def odds_ratio_ci(cells: Cells, level: float = 0.95) -> OddsRatio:
    """Odds ratio of a paired table of independent items with Woolf's (1955) interval: exp(log -+ z sqrt(sum of 1 / cell)).

    1/2 is added to every cell if one is 0 (Haldane 1956, Anscombe 1956). Equals statsmodels `Table2x2(t).oddsratio_confint()`
    of the table so filled (which by itself turns only the empty cells into 1/2).
    """
    filled = _filled(cells)
    return _around(_log(filled), math.sqrt(sum(1 / cell for cell in filled)), normal_quantile(level))


def odds_ratio_factor_ci(first: ArrayLike, second: ArrayLike, factors: Factors, level: float = 0.95) -> OddsRatio:
    """`odds_ratio_ci` of (n,) paired credits in [0, 1] that go together by `factors`.

    The log is linearised (an item of cell ab adds +-n / n_ab), its standard error is `factor_se`, with Student's t. No item
    stands for an empty cell: with one, the standard error is Woolf's on counts in which a group counts as one answer. nan
    ends for fewer than two groups.
    """
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    cells = paired_cells(x, y)
    if factors.degrees_of_freedom <= 0:
        return OddsRatio(math.exp(_log(_filled(cells))), math.nan, math.nan)
    quantile = t_quantile(level, factors.degrees_of_freedom)
    if min(cells) <= 0:
        shrink = factors.effective / len(x)
        se = math.sqrt(sum(1 / (shrink * cell + 0.5) for cell in cells))
        return _around(_log(_filled(cells)), se, quantile)
    n11, n10, n01, n00 = (len(x) / cell for cell in cells)
    added = n11 * x * y - n10 * x * (1 - y) - n01 * (1 - x) * y + n00 * (1 - x) * (1 - y)
    return _around(_log(cells), factor_se(added, factors), quantile)


def _filled(cells: Cells) -> Cells:
    return cells if min(cells) > 0 else Cells(*(cell + 0.5 for cell in cells))


def _log(cells: Cells) -> float:
    return math.log(cells.n11) + math.log(cells.n00) - math.log(cells.n10) - math.log(cells.n01)


def _around(log: float, se: float, quantile: float) -> OddsRatio:
    ends: Interval = (math.exp(log - quantile * se), math.exp(log + quantile * se))
    return OddsRatio(math.exp(log), *ends)
