"""Area under the ROC curve and points on the curve: values, DeLong intervals, differences.

Throughout: positive (n,) bool, score (n,) any finite or infinite numbers of which higher ones speak for positive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.stats.bootstrap import CHUNK, percentile
from eyetest.stats.factors import Factors, factor_se
from eyetest.stats.intervals import WITHHELD, Interval, t_quantile, t_tail

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Auc:
    """An area, or the mean of several, with its interval."""

    value: float
    """P(score of a positive > score of a negative) + P(equal) / 2; nan with fewer than two classes."""
    se: float
    """Standard error; nan where undefined."""
    low: float
    """Lower end, within [0, 1]; nan where withheld."""
    high: float
    """Upper end, within [0, 1]; nan where withheld."""
    note: str = ""
    """Why it is undefined, withheld or without width."""


@dataclass(frozen=True, slots=True)
class AucDifference:
    """First area minus second on the same items."""

    value: float
    """In [-1, 1]; nan with fewer than two classes."""
    se: float
    """Standard error; nan where undefined."""
    low: float
    """Lower end; nan where withheld."""
    high: float
    """Upper end; nan where withheld."""
    p: float
    """Two-sided; 1 if both scores rank alike, nan where withheld."""
    note: str = ""
    """Why it is undefined or withheld."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Where a score is cut: everything at or above `threshold` is called positive."""

    threshold: float
    """The lowest score that keeps to the false positive rate; inf if even the highest does not."""
    precision: float
    """Positives among what is called positive; nan if nothing is."""
    recall: float
    """Share of the positives that are called positive."""
    false_positive_rate: float
    """Share of the negatives that are called positive."""


class _Part(NamedTuple):
    """One class's share in the variance of an area."""

    variance: float
    df: float


class _Area(NamedTuple):
    """An area and what each item adds to it, scaled so that sqrt(sum of squares) / n is DeLong's standard error."""

    value: float
    influence: Floats
    parts: tuple[_Part, ...]


def roc_auc(positive: ArrayLike, score: ArrayLike) -> float:
    """Mann-Whitney's share of (positive, negative) pairs in the right order, ties half; nan unless both classes occur.

    O(n log n). Equals scikit-learn `roc_auc_score`. Raises ValueError for a score that is nan or lengths that differ.
    """
    truth, scores = _checked(positive, score)
    return float(_placements(truth, scores)[truth].mean()) if 0 < truth.sum() < len(truth) else math.nan


def delong(positive: ArrayLike, score: ArrayLike, factors: Factors | None = None, level: float = 0.95) -> Auc:
    """Area with the standard error of DeLong, DeLong & Clarke-Pearson 1988, by midranks (Sun & Xu 2014).

    Interval: Student's t on the logit scale with Welch's degrees of freedom, from the two classes' parts of the variance:
    a few positives decide however many negatives there are. Where the standard error is 0 (AUC 0 or 1), Newcombe's score
    interval (2006, Statistics in Medicine 25, 559-573, method 5) on the numbers of items, or of groups.
    factors: what goes together. Clustered by the influence function, each class with its own I/(I-1) for its I groups:
    as Obuchowski 1997 but for the small-sample factor of `factor_se`. None or no groups: DeLong's exactly.
    One class only: nan and a note. One independent positive or negative: no interval and a note.
    """
    truth, scores = _checked(positive, score)
    if not 0 < truth.sum() < len(truth):
        return Auc(math.nan, math.nan, *WITHHELD, note=f"undefined: {_lacking(truth)}")
    return _auc([_area(truth, scores, factors)], _sizes(truth, factors), factors, level)


def one_vs_rest(target: ArrayLike, scores: ArrayLike, factors: Factors | None = None, level: float = 0.95) -> Auc:
    """Mean over labels of the area of each label against the rest, with an interval as in `delong`.

    target: (n,) codes 0..K-1; scores: (n, K). Labels that no item or every item has are left out, and the note counts
    them. Equals scikit-learn `roc_auc_score(multi_class="ovr", average="macro")`. Areas share items, so their influences
    are averaged item by item before the standard error is taken.
    """
    truth, table = np.asarray(target), np.asarray(scores, np.float64)
    areas, sizes, labels = [], [], range(table.shape[1])
    for label in labels:
        positive, score = _checked(truth == label, table[:, label])
        if 0 < positive.sum() < len(positive):
            areas.append(_area(positive, score, factors))
            sizes.append(_sizes(positive, factors))
    absent = f"{len(labels) - len(areas)} of {len(labels)} labels left out: no area" if len(areas) < len(labels) else ""
    if not areas:
        return Auc(math.nan, math.nan, *WITHHELD, note="undefined: fewer than two labels occur")
    made = _auc(areas, min(sizes, key=min), factors, level)
    return replace(made, note="; ".join(note for note in (made.note, absent) if note))


def delong_difference(
    positive: ArrayLike, first: ArrayLike, second: ArrayLike, factors: Factors | None = None, level: float = 0.95
) -> AucDifference:
    """Area of `first` minus that of `second`, two scores of the same items (DeLong, DeLong & Clarke-Pearson 1988).

    The standard error of the differences of what each item adds, so that their correlation is taken into account;
    clustered as in `delong`. Student's t with Welch's degrees of freedom, clipped to [-1, 1]. A standard error of 0 gives
    p = 1 if the areas are equal; otherwise interval and p are withheld with a note: no normal theory holds there.
    """
    (truth, one), (_, other) = _checked(positive, first), _checked(positive, second)
    if not 0 < truth.sum() < len(truth):
        return AucDifference(math.nan, math.nan, *WITHHELD, math.nan, note=f"undefined: {_lacking(truth)}")
    value = roc_auc(truth, one) - roc_auc(truth, other)
    influence, parts = _influence(truth, _placements(truth, one) - _placements(truth, other), factors)
    se = _se(influence, factors)
    if math.isnan(se):
        return AucDifference(value, se, *WITHHELD, math.nan, note=_TOO_FEW)
    if se == 0:
        if not influence.any() and value == 0:
            return AucDifference(0.0, 0.0, 0.0, 0.0, 1.0, note="interval without width: both scores rank alike")
        return AucDifference(value, se, *WITHHELD, math.nan, note="interval withheld: the difference does not vary")
    df = _welch(parts)
    half = t_quantile(level, df) * se
    return AucDifference(value, se, max(-1.0, value - half), min(1.0, value + half), t_tail(value / se, df))


_TOO_FEW = "interval withheld: a class has only one independent item"


def _checked(positive: ArrayLike, score: ArrayLike) -> tuple[Mask, Floats]:
    truth, scores = np.asarray(positive, np.bool_), np.asarray(score, np.float64)
    if truth.shape != scores.shape or truth.ndim != 1:
        raise ValueError(f"roc: positive {truth.shape} and score {scores.shape} must be (n,) of equal length")
    if np.isnan(scores).any():
        raise ValueError(f"roc: {int(np.isnan(scores).sum())} of {len(scores)} scores are nan; leave these items out")
    return truth, scores


def _lacking(truth: Mask) -> str:
    if not len(truth):
        return "no items"
    return "no negative item" if truth.all() else "no positive item"


def _placements(truth: Mask, scores: Floats) -> Floats:
    """Share of the other class that each item is on the right side of, ties half: (n,)."""
    _, level = np.unique(scores, return_inverse=True)
    positives = np.bincount(level[truth], minlength=int(level.max()) + 1)
    negatives = np.bincount(level[~truth], minlength=len(positives))
    below = (np.cumsum(negatives) - negatives / 2) / negatives.sum()
    above = (positives.sum() - np.cumsum(positives) + positives / 2) / positives.sum()
    return np.asarray(np.where(truth, below[level], above[level]), np.float64)


def _area(truth: Mask, scores: Floats, factors: Factors | None) -> _Area:
    placements = _placements(truth, scores)
    return _Area(float(placements[truth].mean()), *_influence(truth, placements, factors))


def _influence(truth: Mask, placements: Floats, factors: Factors | None) -> tuple[Floats, tuple[_Part, ...]]:
    """What each item adds to the mean placement, and each class's part in the variance."""
    influence, parts = np.empty(len(truth)), []
    for mask in (truth, ~truth):
        counted = factors.take(mask) if factors is not None else None
        independent = counted.count if counted is not None else int(mask.sum())
        df = counted.degrees_of_freedom if counted is not None else independent - 1.0
        bessel = math.sqrt(independent / (independent - 1)) if independent > 1 else math.nan
        influence[mask] = (placements[mask] - placements[mask].mean()) * (bessel * len(truth) / mask.sum())
        alone = influence[mask] * (mask.sum() / len(truth))
        parts.append(_Part(_se(alone, counted) ** 2, df))
    return influence, tuple(parts)


def _se(influence: Floats, factors: Factors | None) -> float:
    """Standard error of the mean of influences whose mean is 0."""
    if factors is not None and factors.prefix:
        return factor_se(influence, factors)
    return float(np.sqrt(influence @ influence)) / len(influence)


def _welch(parts: tuple[_Part, ...]) -> float:
    """Degrees of freedom of a sum of independent variances (Welch 1947)."""
    total = sum(part.variance for part in parts)
    return float(total**2 / sum(part.variance**2 / part.df for part in parts))


def _sizes(truth: Mask, factors: Factors | None) -> tuple[float, float]:
    """Independent negatives and positives."""
    if factors is None:
        return float((~truth).sum()), float(truth.sum())
    return factors.take(~truth).effective, factors.take(truth).effective


def _auc(areas: list[_Area], sizes: tuple[float, float], factors: Factors | None, level: float) -> Auc:
    """The mean of areas on the same items."""
    value = float(np.mean([area.value for area in areas]))
    influence = np.asarray(np.mean([area.influence for area in areas], axis=0), np.float64)
    se = _se(influence, factors)
    if math.isnan(se):
        return Auc(value, se, *WITHHELD, note=_TOO_FEW)
    if se > 0 and 0 < value < 1:
        # The mean's own degrees of freedom lie above those of the area that has fewest.
        df = min(_welch(area.parts) for area in areas if any(part.variance for part in area.parts))
        return Auc(value, se, *_logit_interval(value, se, t_quantile(level, df)))
    if value == 0.5 and not influence.any():
        return Auc(value, se, value, value, note="interval without width: all scores are equal")
    low, high = _newcombe(value, *sizes, t_quantile(level, min(sizes) - 1))
    return Auc(value, se, low, high)


def _logit_interval(value: float, se: float, quantile: float) -> Interval:
    centre, half = math.log(value / (1 - value)), quantile * se / (value * (1 - value))
    return 1 / (1 + math.exp(min(700.0, half - centre))), 1 / (1 + math.exp(max(-700.0, -half - centre)))


def _newcombe(value: float, negatives: float, positives: float, quantile: float) -> Interval:
    """Ends t with |value - t| = quantile * sqrt(V(t)), V Hanley & McNeil's 1982 with both sizes set to their mean."""
    from scipy.optimize import brentq

    more = (negatives + positives) / 2 - 1

    def excess(t: float) -> float:
        variance = t * (1 - t) * (1 + more * ((1 - t) / (2 - t) + t / (1 + t))) / (negatives * positives)
        return (value - t) ** 2 - quantile**2 * variance

    def end(outer: float) -> float:
        # V is 0 at the outer end, so excess is above 0 there. Just inside `value` it is below, and at 0 and 1 it is 0.
        return outer if value == outer else float(brentq(excess, outer, value + 1e-9 * (outer - value)))

    return end(0.0), end(1.0)


def operating_point(positive: ArrayLike, score: ArrayLike, fpr: float = 0.05) -> OperatingPoint:
    """The lowest threshold whose false positive rate is at most `fpr`: of all that keep to it, the one with most recall.

    Equal scores fall on one side together. nan and inf where nothing can be called positive; precision and recall are
    those of scikit-learn `precision_recall_curve` at the threshold. All nan unless both classes occur.
    """
    truth, scores = _checked(positive, score)
    if not 0 < truth.sum() < len(truth):
        return OperatingPoint(math.nan, math.nan, math.nan, math.nan)
    levels, hits, alarms = _above(truth, scores, np.ones((1, len(truth))))
    place, hit, alarm = (float(each[0]) for each in _cut(hits, alarms, fpr))
    threshold = math.inf if place < 0 else float(levels[int(place)])
    precision = hit / (hit + alarm) if hit + alarm else math.nan
    return OperatingPoint(threshold, precision, hit / int(truth.sum()), alarm / int((~truth).sum()))


def operating_intervals(
    positive: ArrayLike,
    score: ArrayLike,
    factors: Factors | None = None,
    fpr: float = 0.05,
    level: float = 0.95,
    *,
    resamples: int,
    seed: int,
) -> tuple[Interval, Interval]:
    """Percentile intervals of precision and recall at `operating_point`, which each resample chooses anew.

    A threshold taken as given would leave out that it was chosen on the same items. Items, or their groups, are drawn
    with replacement (two factors: products of draws, as `pigeonhole_counts`). Resamples without a value are left out.
    """
    truth, scores = _checked(positive, score)
    if not 0 < truth.sum() < len(truth):
        return WITHHELD, WITHHELD
    codes = factors.codes if factors is not None else (np.arange(len(truth)),)
    precision, recall = [], []
    for weights in _draws(codes, resamples, np.random.default_rng(seed)):
        _, hits, alarms = _above(truth, scores, weights)
        _, hit, alarm = _cut(hits, alarms, fpr)
        with np.errstate(invalid="ignore"):
            precision.append(hit / (hit + alarm))
            recall.append(hit / hits[:, -1])
    return percentile(np.concatenate(precision), level), percentile(np.concatenate(recall), level)


def _above(truth: Mask, scores: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Levels of the score, highest first (L,), and the weight of positives and negatives at or above each: (b, L) twice."""
    levels, place = np.unique(-scores, return_inverse=True)
    order = np.argsort(place, kind="stable")
    last = np.cumsum(np.bincount(place)) - 1
    drawn = weights[:, order]
    hits = np.cumsum(drawn * truth[order], axis=1)[:, last]
    return -levels, hits, np.cumsum(drawn, axis=1)[:, last] - hits


def _cut(hits: Floats, alarms: Floats, fpr: float) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Index of the lowest level that keeps to `fpr` (-1: none), and what lies at or above it: (b,) each."""
    # A hair of room: 0.05 * 20 negatives allow one false alarm, whatever the product rounds to.
    place = (alarms <= fpr * alarms[:, -1:] * (1 + 1e-12)).sum(axis=1) - 1
    rows = np.arange(len(hits))
    return place, np.where(place < 0, 0.0, hits[rows, place]), np.where(place < 0, 0.0, alarms[rows, place])


def _draws(codes: tuple[NDArray[np.integer], ...], resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Weights of n items in chunks of resamples, (chunk, n): how often each item's groups are drawn, multiplied."""
    n, chunk = len(codes[0]), max(1, CHUNK // len(codes[0]))
    for start in range(0, resamples, chunk):
        size, weights = min(chunk, resamples - start), np.ones((1, n))
        for code in codes:
            _, place = np.unique(code, return_inverse=True)
            count = int(place.max()) + 1
            flat = (rng.integers(0, count, size=(size, count)) + count * np.arange(size)[:, None]).ravel()
            weights = weights * np.bincount(flat, minlength=size * count).reshape(size, count)[:, place]
        yield weights
