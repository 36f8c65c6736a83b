"""What the probabilities of the labels are worth, whatever the text says: ranking, calibration, abstention.

The label that a model finds most probable need not be the one it writes. Everything here is about the former: right
means that the most probable label is the target (several equally probable: their share of it), confidence is its
probability. Rows are divided by their sum, so that a probability is one among the labels. Answers without probabilities
are left out and the note counts them; unparsed and refused texts stay in. `disagreement` says how often text and
probabilities differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, code
from eyetest.metrics.estimate import joined, mean_interval, unscored, withheld
from eyetest.stats.auc import delong, one_vs_rest
from eyetest.stats.calibration import (
    BINS,
    ReliabilityBin,
    area_interval,
    brier_losses,
    calibration_error,
    most_confident,
    reliability_bins,
)
from eyetest.stats.calibration import risk_coverage as curve_of
from eyetest.stats.intervals import WITHHELD, Interval
from eyetest.types import Estimate
from eyetest.version import __version__

Floats = NDArray[np.float64]

_PERCENT = np.arange(1, 101)
"""Coverages at which a curve is kept, in percent: enough to draw it, whatever n."""


@dataclass(frozen=True, slots=True, eq=False)
class Probable:
    """Answers that come with probabilities."""

    columns: Columns
    """The m answers inside n that have them, by sample, variant and repeat."""
    table: Floats
    """(m, K) probabilities of the labels; rows add up to 1."""
    note: str
    """How many answers inside n have none; empty if all do."""

    def confidence(self) -> Floats:
        """Probability of the most probable label: (m,)."""
        return np.asarray(self.table.max(axis=1, initial=0.0), np.float64)

    def right(self) -> Floats:
        """1 where the target is the most probable label, 1/j if it is one of j equally probable ones, else 0: (m,)."""
        top = self.table == self.confidence()[:, None]
        hit = top[np.arange(len(top)), self.columns.target]
        return np.asarray(hit / np.maximum(1, top.sum(axis=1)), np.float64)


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """What a model gets wrong if it answers only where it is confident."""

    coverage: float
    """Share of questions answered, the most confident first."""
    risk: float
    """Share of wrong answers among these."""
    threshold: float
    """The least confidence among them."""


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The risk-coverage curve and two numbers of it."""

    points: tuple[RiskPoint, ...]
    """At coverage 1 %, 2 %, ..., 100 %, rounded up to whole answers, equal ones once."""
    aurc: Estimate
    """Area under the curve (Geifman & El-Yaniv 2017); lower is better."""
    selective_accuracy: Estimate
    """Share of right answers among the 80 % most confident, the threshold taken as given."""


def probable(columns: Columns) -> Probable:
    """The answers in `columns` that have probabilities.

    Raises ValueError for a table that does not have one column a label, negative numbers, and targets that are no label.
    """
    kept = columns.counted()
    table, size = kept.probabilities, len(kept.labels)
    if table.shape[1] not in (0, size):
        raise ValueError(f"Columns.probabilities has {table.shape[1]} columns, labels are {kept.labels}")
    if not table.shape[1]:
        return Probable(kept.take(np.zeros(len(kept), np.bool_)), np.zeros((0, size)), _missing(len(kept), len(kept)))
    given = np.isfinite(table).all(axis=1) & (table.sum(axis=1) > 0)
    rows = kept.take(given)
    rows = rows.take(rows.order())
    if (rows.probabilities < 0).any() or not np.isin(rows.target, np.arange(size)).all():
        raise ValueError(f"Columns.probabilities: a number below 0, or a target outside 0..{size - 1}")
    whole = rows.probabilities.sum(axis=1, keepdims=True)
    return Probable(rows, rows.probabilities / whole, _missing(len(kept) - len(rows), len(kept)))


def _missing(without: int, n: int) -> str:
    return f"{without} of {n} answers without probabilities" if without else ""


def roc_auc(columns: Columns, *, level: float = 0.95, seed: int) -> Estimate:
    """Area under the ROC curve of the labels' probabilities; not `balanced_accuracy`, which is taken on hard labels.

    Two labels: of the last one's probability, the same number for the first. More: the mean over labels of each against
    the rest. Interval of DeLong on the logit scale, clustered where answers go together (`stats.auc.delong`,
    `one_vs_rest`). seed: for the signature; nothing is drawn.
    """
    found = probable(columns)
    kept = found.columns
    factors = kept.factors()
    if len(kept.labels) == 2:
        made = delong(kept.target == 1, found.table[:, 1], factors, level)
    else:
        made = one_vs_rest(kept.target, found.table, factors, level)
    note = _withheld(found) or made.note
    interval = WITHHELD if _withheld(found) else (made.low, made.high)
    method = "none" if math.isnan(interval[0]) else f"{factors.prefix}delong{100 * level:g}"
    return estimated("roc_auc", made.value, interval, method, joined(note, found.note), columns, kept, seed)


def expected_calibration_error(
    columns: Columns, *, bins: int = BINS, equal_mass: bool = True, level: float = 0.95, seed: int, resamples: int = 2000
) -> Estimate:
    """Expected calibration error of the most probable label's probability (`stats.calibration.calibration_error`).

    The value is biased upwards, more so for few answers: the note gives what a calibrated model would show and the value
    without bias. The interval is about the latter.
    """
    found = probable(columns)
    factors = found.columns.factors()
    shape = {"bins": bins, "equal_mass": equal_mass}
    made = calibration_error(found.confidence(), found.right(), factors, level=level, resamples=resamples, seed=seed, **shape)  # type: ignore[arg-type]
    note, interval, method = _withheld(found), WITHHELD, "none"
    if not note:
        interval, method = (made.low, made.high), f"{factors.prefix}normal{100 * level:g}x{resamples}"
        note = f"biased upwards: a calibrated model shows {made.by_chance:.3f}; {made.debiased:.3f} without bias"
    name = f"expected_calibration_error@{bins}" + ("" if equal_mass else "_equal_width")
    return estimated(name, made.value, interval, method, joined(note, found.note), columns, found.columns, seed)


def reliability(
    columns: Columns, *, bins: int = BINS, equal_mass: bool = True, level: float = 0.95
) -> tuple[ReliabilityBin, ...]:
    """Confidence and accuracy of the most probable label by bin of confidence: a reliability diagram."""
    found = probable(columns)
    shape = {"bins": bins, "equal_mass": equal_mass}
    return reliability_bins(found.confidence(), found.right(), found.columns.factors(), level=level, **shape)  # type: ignore[arg-type]


def brier(columns: Columns, *, level: float = 0.95, seed: int) -> Estimate:
    """Brier score in [0, 1], half the sum over labels of (probability - truth)^2 (`stats.calibration.brier_losses`).

    Lower is better; a proper score: calibration and discrimination in one. seed: for the signature; nothing is drawn.
    """
    found = probable(columns)
    return _mean("brier", brier_losses(found.table, found.columns.target), found, columns, level, seed)


def disagreement(columns: Columns, *, level: float = 0.95, seed: int) -> Estimate:
    """Share of answers read whose text is not (one of) the label(s) found most probable; others are left out of n."""
    found = probable(columns)
    read = (found.columns.status == code("scored")) & (found.columns.answer >= 0)
    part = Probable(found.columns.take(read), found.table[read], found.note)
    written = part.table[np.arange(len(part.table)), part.columns.answer]
    return _mean("disagreement", (written < part.confidence()).astype(np.float64), part, columns, level, seed)


def risk_coverage(columns: Columns, *, coverage: float = 0.8, level: float = 0.95, seed: int) -> RiskCoverage:
    """What the most probable label gets wrong if only the most confident questions are answered.

    Area with Student's t on its influence function; withheld where all or none are right, which says nothing about
    order. Accuracy at `coverage`: equal confidences at the threshold are all answered. seed: for the signature.
    """
    found = probable(columns)
    kept, confidence, right = found.columns, found.confidence(), found.right()
    curve, factors = curve_of(confidence, 1 - right), kept.factors()
    note, interval, method = _withheld(found), WITHHELD, "none"
    if not note:
        interval, method = area_interval(curve, factors, level), f"{factors.prefix}t{100 * level:g}"
        if math.isnan(interval[0]):
            note, method = "interval withheld: all answers are right, or none", "none"
    area = estimated("aurc", curve.area, interval, method, joined(note, found.note), columns, kept, seed)
    answered = most_confident(confidence, coverage)
    part = Probable(kept.take(answered), found.table[answered], found.note)
    name = f"selective_accuracy@{100 * coverage:g}"
    places = np.unique(-(-_PERCENT * len(kept) // 100)) - 1 if len(kept) else np.zeros(0, np.int64)
    rows = zip(curve.coverage[places].tolist(), curve.risk[places].tolist(), curve.threshold[places].tolist(), strict=True)
    points = tuple(RiskPoint(*row) for row in rows)
    return RiskCoverage(points, area, _mean(name, right[answered], part, columns, level, seed))


def _withheld(found: Probable) -> str:
    """Why there is no value or no interval; empty if there is one."""
    if not len(found.columns):
        return "undefined: no answers"
    return withheld(len(np.unique(found.columns.request)), found.columns.factors().count)


def _mean(name: str, credit: Floats, found: Probable, columns: Columns, level: float, seed: int) -> Estimate:
    """The mean of (m,) numbers in [0, 1] as an estimate."""
    note, interval, method = _withheld(found), WITHHELD, "none"
    if not note:
        interval, method = mean_interval(credit, found.columns.factors(), level)
    value = float(credit.mean()) if len(credit) else math.nan
    return estimated(name, value, interval, method, joined(note, found.note), columns, found.columns, seed)


def estimated(
    name: str,
    value: float,
    interval: Interval,
    method: str,
    note: str,
    columns: Columns,
    kept: Columns,
    seed: int,
) -> Estimate:
    """An estimate from label probabilities; columns: everything, kept: the answers in the denominator."""
    return Estimate(
        metric=name,
        value=value,
        low=interval[0],
        high=interval[1],
        n=len(kept),
        n_distinct=len(np.unique(kept.request)),
        n_unparsed=columns.number_of("unparsed"),
        n_refused=columns.number_of("refused", "blocked"),
        n_failed=columns.number_of("error", "bad_image"),
        signature=f"{name}|from=label_probabilities|interval={method}|seed={seed}|v{__version__}",
        note=joined(note, unscored(columns)),
    )
