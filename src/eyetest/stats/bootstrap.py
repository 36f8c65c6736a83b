"""The bootstrap over counts: resamples of sums, not of answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eyetest.stats.factors import Factors
from eyetest.stats.intervals import WITHHELD, Interval

CHUNK = 2_000_000
"""Numbers drawn at a time: bounds the memory at tens of MB."""


def bootstrap_counts(
    rows: NDArray[np.float64], times: NDArray[np.int64] | None = None, *, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Totals of `resamples` ordinary bootstrap samples: (resamples, k).

    rows: (m, k) distinct count rows, `times[i]` units have row i (default: one each). Drawing n = sum(times) units with
    replacement is drawing how often each distinct row appears, a multinomial over m cells: the same distribution as
    resampling units (Efron & Tibshirani 1993, ch. 6), in time that does not grow with n.
    """
    rng = np.random.default_rng(seed)
    weights = np.ones(len(rows), np.int64) if times is None else np.asarray(times, np.int64)
    return np.concatenate([drawn @ rows for drawn in _weights(weights, resamples, rng)])


def _weights(times: NDArray[np.int64], resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """How often each row is drawn, in chunks of (chunk, m)."""
    m, n = len(times), int(times.sum())
    # A multinomial draw costs about four times an index draw, so many cells are cheaper unit by unit.
    by_cell = 4 * m < n
    chunk = max(1, CHUNK // (m if by_cell else n))
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        if by_cell:
            yield rng.multinomial(n, times / n, size=size).astype(np.float64)
            continue
        yield _units(np.repeat(np.arange(m), times), m, size, rng)


def _units(cell: NDArray[np.int64], m: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How often each of m cells is drawn when n units, unit i of cell `cell[i]`, are drawn with replacement: (size, m)."""
    drawn = cell[rng.integers(0, len(cell), size=(size, len(cell)))]
    flat = (drawn + m * np.arange(size)[:, None]).ravel()
    return np.bincount(flat, minlength=size * m).reshape(size, m).astype(np.float64)


def pigeonhole_counts(
    rows: NDArray[np.float64], index: NDArray[np.int64], factors: Factors, *, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Totals of `resamples` bootstrap samples of answers that go together in two ways: (resamples, k).

    rows: (m, k) count rows; index: (n,) which row each answer has; factors: two, of the same n answers. Both factors'
    groups are drawn with replacement, each for itself, and an answer counts as often as the product of its groups' draws:
    the pigeonhole bootstrap (Owen 2007; Owen & Eckles 2012). Conservative: what is neither factor's doing counts up to
    three times in its variance. The weights of a resample need not add up to n.
    """
    rng = np.random.default_rng(seed)
    return np.concatenate([drawn @ rows for drawn in _products(len(rows), index, factors, resamples, rng)])


def _products(
    m: int, index: NDArray[np.int64], factors: Factors, resamples: int, rng: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    """How often each of m rows is drawn when an answer weighs the product of its groups' draws, in chunks of (chunk, m)."""
    from scipy.sparse import csr_array

    first, second = factors.codes
    sizes = int(first.max()) + 1, int(second.max()) + 1
    # A strip is the answers of one row in one group of the first factor: its draws are summed before the product.
    strips, place = np.unique(index * sizes[0] + first, return_inverse=True)
    row, group = np.divmod(strips, sizes[0])
    in_strip = csr_array((np.ones(len(index)), (place, second)), shape=(len(strips), sizes[1]))
    in_row = csr_array((np.ones(len(strips)), (row, np.arange(len(strips)))), shape=(m, len(strips)))
    chunk = max(1, CHUNK // (len(strips) + sum(sizes)))
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        one, other = (_units(np.arange(groups), groups, size, rng) for groups in sizes)
        weight = in_strip @ other.T
        weight *= one.T[group]
        yield np.asarray((in_row @ weight).T, np.float64)


def percentile(draws: NDArray[np.float64], level: float = 0.95) -> Interval:
    """Percentile interval of bootstrap draws (B,), undefined draws (nan) left out; nan if none is defined."""
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return WITHHELD
    tail = (1 - level) / 2
    # No interpolation once a draw is infinite: between -inf and a number there is no number.
    method = "linear" if np.isfinite(defined).all() else "inverted_cdf"
    low, high = np.quantile(defined, [tail, 1 - tail], method=method)  # type: ignore[call-overload]
    return float(low), float(high)


def posterior_cells(cells: NDArray[np.float64], *, resamples: int, seed: int) -> NDArray[np.float64]:
    """Draws of cell probabilities given counts, prior 1/2 a cell (Jeffreys): (m,) -> (resamples, m).

    For tables in which a bootstrap cannot vary because a cell is empty.
    """
    return np.random.default_rng(seed).dirichlet(cells + 0.5, size=resamples)
