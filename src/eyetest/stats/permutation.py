"""Exchange tests: two sides of the same units under any formula over summed counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyetest.stats.bootstrap import CHUNK

Floats = NDArray[np.float64]

EXACT = 1 << 12
"""Up to so many distinct assignments are enumerated instead of drawn."""

_TIE = 1e-12
"""Differences this close, absolutely and relatively, are equal: sums taken in another order differ by rounding."""


def paired_permutation(
    first: Floats,
    second: Floats,
    value: Callable[[Floats], Floats],
    times: NDArray[np.integer[Any]] | None = None,
    *,
    permutations: int,
    seed: int,
) -> float:
    """Two-sided p that the sides are exchangeable unit by unit: approximate randomisation of value(first) - value(second).

    first, second: (m, k) counts of both sides of a unit, `times[i]` units have row i (default: one each); value: totals
    (..., k) -> (...). Under the null every unit may have its sides exchanged (Noreen 1989; Riezler & Maxwell 2005), so of
    t equal units Binomial(t, 1/2) are: the cost does not grow with the number of units. p = (1 + #{|d*| >= |d|}) /
    (1 + permutations), and exact where at most EXACT assignments differ: for credits of 0 or 1 that is McNemar's exact test.
    nan if the observed difference is; an undefined d* counts as extreme. The same whichever side comes first.
    """
    weights = np.ones(len(first), np.int64) if times is None else np.asarray(times, np.int64)
    totals = np.asarray(weights @ first, np.float64), np.asarray(weights @ second, np.float64)
    observed = abs(float(value(totals[0]) - value(totals[1])))
    if math.isnan(observed):
        return math.nan
    step, units, reversed_ = _steps(second - first, weights)
    start, both = totals[0] - reversed_ @ step, totals[0] + totals[1]
    bound = observed * (1 - _TIE) - _TIE

    def extreme(exchanged: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Which of (size, m) numbers of exchanged units give a difference as large as the one observed."""
        one = start + exchanged @ step
        return ~(np.abs(value(one) - value(both - one)) < bound)  # so written, nan is extreme

    if math.prod(int(count) + 1 for count in units) <= EXACT:
        assignments, weight = _all(units)
        return min(1.0, float(weight[extreme(assignments)].sum()))
    rng, chunk, found = np.random.default_rng(seed), max(1, CHUNK // max(step.shape)), 0
    for done in range(0, permutations, chunk):
        found += int(extreme(_drawn(units, min(chunk, permutations - done), rng)).sum())
    return (1 + found) / (1 + permutations)


def _steps(change: Floats, times: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """What an exchange changes, as few rows as there are: (s, k) changes, (s,) units of each, (s,) of these reversed.

    Units that change nothing are left out. A change and its opposite are one step: exchanging a reversed unit is undoing
    the step, and of t units as many are exchanged as are not, in distribution.
    """
    moves = change.any(axis=1)
    change, times = change[moves], times[moves]
    lead = np.take_along_axis(change, (change != 0).argmax(axis=1)[:, None], axis=1) if len(change) else change
    sign = np.sign(lead[:, 0]) if len(change) else np.zeros(0)
    # + 0.0: -0.0 would be a row of its own.
    step, place = np.unique(change * sign[:, None] + 0.0, axis=0, return_inverse=True)
    units, backwards = (np.bincount(place.ravel(), weights=w, minlength=len(step)) for w in (times, times * (sign < 0)))
    return step, units.astype(np.int64), backwards.astype(np.int64)


def _all(units: NDArray[np.int64]) -> tuple[NDArray[np.intp], Floats]:
    """Every distinct assignment (a, s) and its probability (a,)."""
    from scipy.special import gammaln

    shape = tuple(int(count) + 1 for count in units)
    size = math.prod(shape)
    exchanged = np.stack(np.unravel_index(np.arange(size), shape), axis=1) if shape else np.zeros((1, 0), np.intp)
    ways = gammaln(units + 1) - gammaln(exchanged + 1) - gammaln(units - exchanged + 1)
    return exchanged, np.exp((ways - units * math.log(2)).sum(axis=1))


def _drawn(units: NDArray[np.int64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Binomial(units, 1/2) exchanged units: (size, s)."""
    alone = units == 1
    drawn = np.empty((size, len(units)), np.int64)
    drawn[:, alone] = rng.integers(0, 2, (size, int(alone.sum())), np.int8)  # a coin costs a tenth of a binomial draw
    drawn[:, ~alone] = rng.binomial(units[~alone], 0.5, (size, int((~alone).sum())))
    return drawn
