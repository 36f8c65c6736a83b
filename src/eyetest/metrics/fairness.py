"""Misses, false alarms and refusals of a task with a positive label, and by how much groups differ in them.

What an answer that cannot be read counts as: a refused, blocked or unparsed answer to a positive item (a hateful meme) is
a miss; to a negative one it is no false alarm. Refused and blocked ones are counted in `refusal_rate`, unparsed ones in
`Estimate.n_unparsed`. So a model that refuses everything has no false alarms: read the three rates together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyetest.errors import unknown
from eyetest.metrics.columns import Columns, code
from eyetest.metrics.estimate import joined, mean_interval, signature, unscored, withheld
from eyetest.metrics.probabilities import Probable, estimated, probable
from eyetest.stats.auc import operating_intervals
from eyetest.stats.auc import operating_point as point_of
from eyetest.stats.factors import Factors, effective_size, factor_se
from eyetest.stats.intervals import WITHHELD, Interval, t_quantile, t_tail, wilson
from eyetest.stats.multiplicity import holm_tested
from eyetest.types import Estimate

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GroupRates:
    """How a model treats one group."""

    group: str
    false_positive_rate: Estimate
    """Negative items called positive."""
    false_negative_rate: Estimate
    """Positive items not called positive."""
    refusal_rate: Estimate
    """Items refused or blocked."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A rate in one group less that in all others."""

    group: str
    estimate: Estimate
    """Difference in [-1, 1]; `metric` is the rate's name and `_gap`; n: answers of the group."""
    rate: float
    """The rate in the group."""
    rest: float
    """The rate in the others."""
    p: float
    """Two-sided; nan where the interval is withheld."""
    p_adjusted: float
    """Holm over the groups tested, for this rate."""
    test: str
    """`chi_square` or `fisher_exact` for independent answers, else `cluster_newcombe`, `twoway_newcombe`; `none`: withheld."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The group with the highest rate, and how sure that rate is, given that it was looked for."""

    group: str
    estimate: Estimate
    """Its rate; the interval holds for all groups at once."""
    groups: int
    """Groups compared: the Bonferroni divisor."""


@dataclass(frozen=True, slots=True)
class PrecisionAtRate:
    """What a threshold on the probability of the positive label attains."""

    precision: Estimate
    """Positives among what is called positive."""
    recall: Estimate
    """Share of positives that is called positive."""
    threshold: float
    """Lowest probability called positive; inf if none keeps to the rate, nan without probabilities."""
    false_positive_rate: float
    """What the threshold has on these items: at most what was asked for."""


class _Events(NamedTuple):
    """The answers that a rate is a share of, and 1 for those that it counts."""

    columns: Columns
    event: Floats


_Rate = Callable[[Columns, str], _Events]


def _false_alarms(columns: Columns, positive: str) -> _Events:
    kept, place = columns.counted(), _place(columns, positive)
    negative = kept.take((kept.target != place) & (kept.target >= 0))
    return _Events(negative, _called(negative, place))


def _misses(columns: Columns, positive: str) -> _Events:
    kept, place = columns.counted(), _place(columns, positive)
    hits = kept.take(kept.target == place)
    return _Events(hits, 1 - _called(hits, place))


def _refusals(columns: Columns, positive: str) -> _Events:
    _place(columns, positive)
    kept = columns.counted()
    refused = np.isin(kept.status, [code("refused"), code("blocked")])
    return _Events(kept, refused.astype(np.float64))


_RATES: Mapping[str, _Rate] = {
    "false_positive_rate": _false_alarms,
    "false_negative_rate": _misses,
    "refusal_rate": _refusals,
}

_EMPTY: Mapping[str, str] = {
    "false_positive_rate": "undefined: no negative item",
    "false_negative_rate": "undefined: no positive item",
    "refusal_rate": "undefined: no answers",
}


def _place(columns: Columns, positive: str) -> int:
    if positive not in columns.labels:
        raise unknown("positive label", positive, columns.labels)
    return columns.labels.index(positive)


def _called(columns: Columns, place: int) -> Floats:
    """1 for answers that were read as the positive label."""
    return np.asarray((columns.status == code("scored")) & (columns.answer == place), np.float64)


def false_positive_rate(columns: Columns, positive: str, *, level: float = 0.95, seed: int) -> Estimate:
    """Share of the items of any other label that are called `positive`. Raises UsageError if that is no label."""
    return _rate("false_positive_rate", columns, positive, level, seed)


def false_negative_rate(columns: Columns, positive: str, *, level: float = 0.95, seed: int) -> Estimate:
    """Share of the `positive` items that are not called so, unreadable answers included. Raises UsageError likewise."""
    return _rate("false_negative_rate", columns, positive, level, seed)


def refusal_rate(columns: Columns, positive: str, *, level: float = 0.95, seed: int) -> Estimate:
    """Share of all items that are refused or blocked. Raises UsageError likewise."""
    return _rate("refusal_rate", columns, positive, level, seed)


def group_rates(groups: Mapping[str, Columns], positive: str, *, level: float = 0.95, seed: int) -> tuple[GroupRates, ...]:
    """The three rates of each group, in the order given. Intervals are each group's own (see `worst_group`)."""
    return tuple(
        GroupRates(group, **{name: _rate(name, part, positive, level, seed) for name in _RATES}) for group, part in groups.items()
    )


def group_gaps(
    groups: Mapping[str, Columns],
    positive: str,
    *,
    rates: Sequence[str] = tuple(_RATES),
    level: float = 0.95,
    seed: int,
) -> tuple[Gap, ...]:
    """Each group of one field against all others of it, rate by rate; Holm over the groups of a rate.

    An answer that is in several groups counts once in the rest, and not in the rest of a group that it is in.
    Independent answers: Newcombe's interval of two proportions (1998, Statistics in Medicine 17, 873-890, method 10) and
    the N-1 chi-square test, Fisher's exact one where a count below 1 is expected (Campbell 2007). Otherwise the same
    square-and-add of Wilson intervals on effective sizes (`effective_size`), with Student's t of Welch's degrees of
    freedom and the sides' correlation (MOVER, Zou & Donner 2008) from the linearised difference (`factor_se`): clusters
    may lie in both sides. Its p is 1 less the level at which the interval ends at 0: t on the standard error finds far
    too much where a small group has no event. Withheld where one side has too few requests or independent groups. One
    group only: nan, there is no rest. seed: for the signature; nothing is drawn.
    Raises UsageError if `positive` is no label or a rate has no such name.
    """
    made: list[Gap] = []
    for name in rates:
        if name not in _RATES:
            raise unknown("rate", name, _RATES)
        events = {group: _RATES[name](part, positive) for group, part in groups.items()}
        found = [_gap(name, group, groups, events, level, seed) for group in groups]
        adjusted = holm_tested([gap.p for gap in found])
        made += [replace(gap, p_adjusted=float(p)) for gap, p in zip(found, adjusted, strict=True)]
    return tuple(made)


def worst_group(groups: Mapping[str, Columns], positive: str, rate: str, *, level: float = 0.95, seed: int) -> Worst | None:
    """The group with the highest `rate` among those whose interval is given, the first of several; None if none is.

    The highest of many rates is too high on average, and its own interval too narrow: nobody looked at the group for its
    own sake. Bonferroni over all groups with an interval, 1 - (1 - level) / groups each, covers whichever is chosen.
    Its value keeps the bias. Raises UsageError if there is no such rate or label.
    """
    if rate not in _RATES:
        raise unknown("rate", rate, _RATES)
    own = {group: _rate(rate, part, positive, level, seed) for group, part in groups.items()}
    known = {group: made for group, made in own.items() if not math.isnan(made.low)}
    if not known:
        return None
    group = max(known, key=lambda name: known[name].value)
    made = _rate(rate, groups[group], positive, 1 - (1 - level) / len(known), seed)
    left = f"{len(own) - len(known)} groups too small to compare" if len(known) < len(own) else ""
    note = joined(f"highest of {len(known)} groups, interval simultaneous over these", left, made.note)
    return Worst(group, replace(made, note=note), len(known))


def _rate(name: str, columns: Columns, positive: str, level: float, seed: int) -> Estimate:
    events = _RATES[name](columns, positive)
    kept = events.columns
    note, interval, method = _lacking(name, kept), WITHHELD, "none"
    if not note:
        interval, method = mean_interval(events.event, kept.factors(), level)
    value = float(events.event.mean()) if len(kept) else math.nan
    return _estimate(name, value, interval, method, note, kept, columns, seed)


def _lacking(name: str, kept: Columns) -> str:
    return withheld(len(np.unique(kept.request)), kept.factors().count) if len(kept) else _EMPTY[name]


def _estimate(
    name: str, value: float, interval: Interval, method: str, note: str, kept: Columns, columns: Columns, seed: int
) -> Estimate:
    return Estimate(
        metric=name,
        value=value,
        low=interval[0],
        high=interval[1],
        n=len(kept),
        n_distinct=len(np.unique(kept.request)),
        n_unparsed=kept.number_of("unparsed"),
        n_refused=kept.number_of("refused", "blocked"),
        n_failed=columns.number_of("error", "bad_image"),
        signature=signature(name, "as_wrong", method, seed),
        note=joined(note, unscored(columns)),
    )


def _gap(name: str, group: str, groups: Mapping[str, Columns], events: Mapping[str, _Events], level: float, seed: int) -> Gap:
    """Group against rest, not yet adjusted."""
    parts = [events[group], *(part for other, part in events.items() if other != group)]
    keys = np.concatenate([part.columns.keys() for part in parts])
    _, first = np.unique(keys, return_index=True)  # the group's own rows come first, so they are the ones kept
    both = Columns.concatenate([part.columns for part in parts]).take(first)
    event = np.concatenate([part.event for part in parts])[first]
    inside = first < len(events[group].columns)
    rates = [float(event[side].mean()) if side.any() else math.nan for side in (inside, ~inside)]
    note, interval, p, method, test = _side_note(name, both, inside), WITHHELD, math.nan, "none", "none"
    if not note:
        compared = _Sides(event, inside, both.factors())
        interval, p, test = compared.interval(level), *compared.test()
        method = f"{compared.prefix}newcombe{100 * level:g}"
    own = both.take(inside)
    made = _estimate(f"{name}_gap", rates[0] - rates[1], interval, method, note, own, groups[group], seed)
    return Gap(group, made, rates[0], rates[1], p, math.nan, test)


def _side_note(name: str, both: Columns, inside: Mask) -> str:
    for side, rows in (("group", inside), ("rest", ~inside)):
        note = _lacking(name, both.take(rows))
        if note:
            return f"{note} in the {side}"
    return ""


class _Sides:
    """Two shares of answers that may go together within and across sides."""

    def __init__(self, event: Floats, inside: Mask, factors: Factors) -> None:
        sides = [(event[mask], factors.take(mask)) for mask in (inside, ~inside)]
        self.prefix = factors.prefix
        self.rates = [float(values.mean()) for values, _ in sides]
        self.sizes = [effective_size(values, shared) if self.prefix else float(len(values)) for values, shared in sides]
        self.df = self._welch([shared.degrees_of_freedom for _, shared in sides]) if self.prefix else math.inf
        self.correlation = self._correlate(event, inside, factors) if self.prefix else 0.0

    def _wilson(self, quantile: float) -> list[Interval]:
        pairs = zip(self.rates, self.sizes, strict=True)
        return [wilson(rate * size, size, quantile=quantile) for rate, size in pairs]

    def _welch(self, own: list[float]) -> float:
        """Welch's degrees of freedom, a side's variance being its Wilson interval's, so that it is never 0."""
        parts = [(high - low) ** 2 for low, high in self._wilson(2.0)]
        return float(sum(parts) ** 2 / sum(part**2 / df for part, df in zip(parts, own, strict=True)))

    def _correlate(self, event: Floats, inside: Mask, factors: Factors) -> float:
        """Correlation of the two rates: variances of each side's part of the linearised difference, and of the whole."""
        share = inside.mean()
        part = np.where(inside, (event - self.rates[0]) / share, 0.0)
        rest = np.where(inside, 0.0, (event - self.rates[1]) / (1 - share))
        one, other, between = (factor_se(x, factors) ** 2 for x in (part, rest, part - rest))
        if not one * other:
            return 0.0
        return float(np.clip((one + other - between) / (2 * math.sqrt(one * other)), -1, 1))

    def interval(self, level: float) -> Interval:
        """Square-and-add of the sides' Wilson intervals."""
        return self._ends(t_quantile(level, self.df))

    def _ends(self, quantile: float) -> Interval:
        (low, high), (rest_low, rest_high), (rate, rest) = *self._wilson(quantile), self.rates
        below = _add(rate - low, rest_high - rest, self.correlation)
        above = _add(high - rate, rest - rest_low, self.correlation)
        return max(-1.0, rate - rest - below), min(1.0, rate - rest + above)

    def test(self) -> tuple[float, str]:
        """Two-sided p that the rates are equal, and how it was got."""
        if not self.prefix:
            counts = [(rate * size, size) for rate, size in zip(self.rates, self.sizes, strict=True)]
            return _two_proportions(*counts)
        lower, upper, first = 0.0, _FARTHEST, self.rates[0] > self.rates[1]
        for _ in range(60):
            middle = (lower + upper) / 2
            low, high = self._ends(middle)
            lower, upper = (middle, upper) if (low > 0 if first else high < 0) else (lower, middle)
        return t_tail(lower, self.df), f"{self.prefix}newcombe"


_FARTHEST = 1e3
"""Quantile at which the search for p stops."""


def _add(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))


def _two_proportions(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, str]:
    """N-1 chi-square, or Fisher's exact test where a count below 1 is expected (Campbell 2007, doi 10.1002/sim.2832)."""
    (k1, n1), (k2, n2) = first, second
    n, hits = n1 + n2, k1 + k2
    if min(hits, n - hits) * min(n1, n2) < n:
        return _fisher(first, second), "fisher_exact"
    z = (k1 / n1 - k2 / n2) / math.sqrt(hits * (n - hits) / (n1 * n2 * n)) * math.sqrt((n - 1) / n)
    return t_tail(z, math.inf), "chi_square"


def _fisher(first: tuple[float, float], second: tuple[float, float]) -> float:
    from scipy.stats import fisher_exact

    table = [[round(k), round(n - k)] for k, n in (first, second)]
    return float(fisher_exact(table)[1])


def precision_at_fpr(
    columns: Columns, positive: str, fpr: float = 0.05, *, level: float = 0.95, seed: int, resamples: int = 1000
) -> PrecisionAtRate:
    """Precision and recall where the probability of `positive` is cut at a false positive rate of at most `fpr`.

    The lowest threshold that keeps to it (`stats.auc.operating_point`), chosen anew in every resample, so that the
    intervals know that it was chosen on these items. The text plays no part. With fewer than 1/fpr negatives no false
    alarm is allowed at all. Raises UsageError if `positive` is no label.
    """
    place = _place(columns, positive)
    found = probable(columns)
    kept, score = found.columns, found.table[:, place]
    truth = kept.target == place
    point = point_of(truth, score, fpr)
    note, intervals = _cut_note(found, truth), (WITHHELD, WITHHELD)
    method, factors = "none", kept.factors()
    if not note:
        intervals = operating_intervals(truth, score, factors, fpr, level, resamples=resamples, seed=seed)
        method = f"{factors.prefix}bootstrap{100 * level:g}x{resamples}"
        note = "" if math.isfinite(point.threshold) else "no threshold keeps to the rate: nothing is called positive"
    made = [
        estimated(f"{name}_at_fpr@{100 * fpr:g}", value, interval, method, joined(note, found.note), columns, kept, seed)
        for name, value, interval in zip(("precision", "recall"), (point.precision, point.recall), intervals, strict=True)
    ]
    return PrecisionAtRate(made[0], made[1], point.threshold, point.false_positive_rate)


def _cut_note(found: Probable, truth: Mask) -> str:
    """Why there is no value or no interval; empty if there is one."""
    if not len(truth):
        return "undefined: no answer has probabilities"
    if not 0 < truth.sum() < len(truth):
        return "undefined: no negative item" if truth.all() else "undefined: no positive item"
    kept = found.columns
    sides = [kept.take(mask) for mask in (truth, ~truth)]
    notes = [withheld(len(np.unique(side.request)), side.factors().count) for side in sides]
    return notes[0] or notes[1]
