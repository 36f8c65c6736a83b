"""Whether confidence is worth its number: calibration error, Brier score, reliability bins, risk against coverage.

Throughout: confidence (n,) in [0, 1]; right (n,) credit in [0, 1], 1 where the answer that it belongs to is right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.stats.clusters import groups
from eyetest.stats.factors import Factors, factor_se, factor_wilson
from eyetest.stats.intervals import WITHHELD, Interval, t_quantile, wilson

Floats = NDArray[np.float64]

BINS = 15
"""As Guo et al. 2017."""


@dataclass(frozen=True, slots=True)
class CalibrationError:
    """Mean gap between confidence and accuracy over bins."""

    value: float
    """sum over bins of share * |mean right - mean confidence|, as the field prints it; nan for no items."""
    debiased: float
    """`value` less its bias, estimated; never below 0."""
    by_chance: float
    """What a perfectly calibrated model with these confidences shows on average."""
    low: float
    """Lower end for the binned error of the population; nan where withheld."""
    high: float
    """Upper end; nan where withheld."""


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Items of similar confidence."""

    low: float
    """Items in the bin have more confidence than this (the first bin: or as much)."""
    high: float
    """And at most this."""
    n: int
    """Items."""
    confidence: float
    """Mean confidence."""
    accuracy: float
    """Mean credit."""
    accuracy_low: float
    """Lower end of the interval of `accuracy`; nan where withheld."""
    accuracy_high: float
    """Upper end; nan where withheld."""


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """Mean loss of the most confident items, by how many of them are answered (El-Yaniv & Wiener 2010)."""

    coverage: Floats
    """(n,) 1/n, 2/n, ..., 1."""
    risk: Floats
    """(n,) mean loss of that share; equal confidence in random order, on average."""
    threshold: Floats
    """(n,) confidence of the least confident item answered."""
    area: float
    """AURC, mean of `risk` over coverage (Geifman & El-Yaniv 2017); nan for no items. Lower is better."""
    influence: Floats
    """(n,) what each item, in the order given, adds to `area`: mean 0, its standard error is that of `area`."""


def bin_edges(confidence: ArrayLike, bins: int = BINS, *, equal_mass: bool = True) -> Floats:
    """Edges of at most `bins` bins over [0, 1] of equal numbers of items, or of equal width: (bins + 1,) or fewer.

    Equal mass: quantiles, so that equal confidences stay together and bins that would be empty vanish. The bins of
    scikit-learn `calibration_curve`. Raises ValueError for bins < 1 and for confidence outside [0, 1].
    """
    values = np.asarray(confidence, np.float64)
    if bins < 1:
        raise ValueError(f"calibration: bins must be at least 1, got {bins}")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("calibration: confidence must be in [0, 1] and not nan")
    grid = np.linspace(0, 1, bins + 1)
    if not equal_mass or not len(values):
        return grid
    return np.concatenate([[0.0], np.unique(np.quantile(values, grid)[1:-1]), [1.0]])


def _places(confidence: Floats, edges: Floats) -> NDArray[np.intp]:
    """Bin of each item: (n,)."""
    return np.searchsorted(edges[1:-1], confidence)


def calibration_error(
    confidence: ArrayLike,
    right: ArrayLike,
    factors: Factors | None = None,
    bins: int = BINS,
    level: float = 0.95,
    *,
    equal_mass: bool = True,
    resamples: int = 2000,
    seed: int,
) -> CalibrationError:
    """Expected calibration error (Naeini, Cooper & Hauskrecht 2015) with its bias and an interval.

    The absolute value makes `value` too high, the more so the fewer items a bin holds; a perfectly calibrated model never
    shows 0 (Kumar, Liang & Ma 2019; Roelofs et al. 2022, who find equal mass less biased). Binning itself errs the other
    way, so no number here is the error without bins. Compare `value` with `by_chance`, and models on equally many items.
    Interval: the bins' gaps with their joint covariance (clustered as `factor_se`) are drawn `resamples` times from a
    normal; `debiased` is twice the value less the mean of the draws, the ends are the draws' percentiles moved to lie
    about it, stretched to hold `value`, and down to 0 unless `value` is more than draws about no gap show. Edges are
    taken as given. One group only: no interval.
    """
    values, credit = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    edges = bin_edges(values, bins, equal_mass=equal_mass)
    if not len(values):
        return CalibrationError(math.nan, math.nan, math.nan, *WITHHELD)
    place = _places(values, edges)
    table = np.zeros((len(values), len(edges) - 1))
    table[np.arange(len(values)), place] = credit - values
    gaps = table.mean(axis=0)
    value = float(np.abs(gaps).sum())
    spread = np.bincount(place, weights=values * (1 - values), minlength=len(gaps))
    by_chance = float(np.sqrt(2 / math.pi * spread).sum()) / len(values)
    covariance = _covariance(table, factors)
    if np.isnan(covariance).any():
        return CalibrationError(value, math.nan, by_chance, *WITHHELD)
    # A bin whose few items agree shows no variance: it has at least that of a calibrated model.
    np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), spread / len(values) ** 2))
    noise = np.random.default_rng(seed).standard_normal((resamples, len(gaps))) @ _root(covariance).T
    draws = np.abs(gaps + noise).sum(axis=1)
    bias = float(draws.mean()) - value
    tail = (1 - level) / 2
    low, high = (float(end) - 2 * bias for end in np.quantile(draws, [tail, 1 - tail]))
    if value <= np.quantile(np.abs(noise).sum(axis=1), 1 - tail):
        low = 0.0
    return CalibrationError(value, max(0.0, value - bias), by_chance, max(0.0, min(low, value)), min(1.0, max(high, value)))


def _covariance(table: Floats, factors: Factors | None) -> Floats:
    """Covariance of the column means of (n, k), by group as `factor_se`: (k, k)."""
    codes = factors.codes if factors is not None else (np.arange(len(table)),)
    parts = [_one_way(table, code) for code in codes]
    if len(codes) == 1:
        return parts[0]
    both = codes[0].astype(np.int64) * (int(codes[-1].max()) + 1) + codes[-1]
    return np.asarray(parts[0] + parts[1] - _one_way(table, both), np.float64)


def _one_way(table: Floats, code: NDArray[np.integer]) -> Floats:
    from scipy.sparse import csr_array

    names, place, sizes = np.unique(code, return_inverse=True, return_counts=True)
    if len(names) < 2:
        return np.full((table.shape[1],) * 2, math.nan)
    member = csr_array((np.ones(len(table)), (place, np.arange(len(table)))))
    sums = (member @ (table - table.mean(axis=0))) / np.sqrt(1 - sizes / len(table))[:, None]
    return np.asarray(sums.T @ sums / len(table) ** 2, np.float64)


def _root(covariance: Floats) -> Floats:
    """R with R R' = covariance, its negative eigenvalues (two-way) set to 0."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), np.float64)


def reliability_bins(
    confidence: ArrayLike,
    right: ArrayLike,
    factors: Factors | None = None,
    bins: int = BINS,
    level: float = 0.95,
    *,
    equal_mass: bool = True,
) -> tuple[ReliabilityBin, ...]:
    """The bins of a reliability diagram that hold items, by rising confidence; accuracy with Wilson's interval.

    Clustered by `factors` (`factor_wilson`); fewer than two groups in a bin: no interval.
    """
    values, credit = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    edges = bin_edges(values, bins, equal_mass=equal_mass)
    place = _places(values, edges)
    made = []
    for number in np.unique(place):
        rows = place == number
        accuracy, counted = float(credit[rows].mean()), factors.take(rows) if factors is not None else None
        if counted is not None and counted.prefix:
            interval = factor_wilson(credit[rows], counted, level)
        else:
            interval = wilson(float(credit[rows].sum()), int(rows.sum()), level)
        ends = float(edges[number]), float(edges[number + 1])
        made.append(ReliabilityBin(*ends, int(rows.sum()), float(values[rows].mean()), accuracy, *interval))
    return tuple(made)


def brier_losses(probabilities: ArrayLike, target: ArrayLike) -> Floats:
    """Half the squared distance between (n, K) probabilities and the target, codes (n,): (n,), each in [0, 1].

    Their mean is the Brier score. With two labels (p - y)^2 of either; scikit-learn `brier_score_loss(...,
    scale_by_half=True)`. Brier's own (1950) is twice this.
    """
    table, truth = np.asarray(probabilities, np.float64), np.asarray(target)
    return np.asarray(((table - np.eye(table.shape[1])[truth]) ** 2).sum(axis=1) / 2, np.float64)


def risk_coverage(confidence: ArrayLike, loss: ArrayLike) -> RiskCoverage:
    """Risk-coverage curve and its area; loss: (n,), 1 where wrong.

    Items of equal confidence are taken in random order, on average, so that the order in which they came is nothing.
    """
    values, losses = np.asarray(confidence, np.float64), np.asarray(loss, np.float64)
    n = len(values)
    if not n:
        return RiskCoverage(np.zeros(0), np.zeros(0), np.zeros(0), math.nan, np.zeros(0))
    _, block = np.unique(-values, return_inverse=True)
    size = np.bincount(block)
    owner = np.repeat(np.arange(len(size)), size)  # block of each place in the ranking
    rank = np.arange(1, n + 1)
    risk = np.cumsum(np.bincount(block, weights=losses)[owner] / size[owner]) / rank
    area = float(risk.mean())
    # Item x changes the risk at every place k from its own on by (loss - risk_k) / k, and adds a place with its own risk.
    after, weighed = (np.cumsum(each[::-1])[::-1] for each in (1 / rank, risk / rank))
    risk_here, after, weighed = (np.bincount(owner, weights=each)[block] / size[block] for each in (risk, after, weighed))
    influence = risk_here - area + losses * after - weighed
    return RiskCoverage(rank / n, risk, -np.sort(-values), area, np.asarray(influence, np.float64))


def area_interval(curve: RiskCoverage, factors: Factors | None = None, level: float = 0.95) -> Interval:
    """Interval of `curve.area` within [0, 1]: Student's t on the (clustered) standard error of its influence function.

    Withheld for fewer than two groups and where nothing varies: all right or all wrong says nothing about the order.
    """
    shared = factors if factors is not None else Factors((groups(np.arange(len(curve.influence))),))
    se = factor_se(curve.influence, shared) if len(curve.influence) else math.nan
    if math.isnan(se) or np.ptp(curve.influence) < 1e-12:
        return WITHHELD
    half = t_quantile(level, shared.degrees_of_freedom) * se
    return max(0.0, curve.area - half), min(1.0, curve.area + half)


def most_confident(confidence: ArrayLike, coverage: float = 0.8) -> NDArray[np.bool_]:
    """The least items that make up at least `coverage` of all, most confident first, ties taken whole: (n,) mask.

    Their mean credit is the selective accuracy at that coverage.
    """
    values = np.asarray(confidence, np.float64)
    if not len(values):
        return np.zeros(0, np.bool_)
    threshold = -np.sort(-values)[max(1, math.ceil(coverage * len(values) - 1e-9)) - 1]
    return np.asarray(values >= threshold, np.bool_)
