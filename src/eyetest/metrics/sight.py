"""What the picture adds, beyond the gap rate: corrected for guessing and for refusals, and with somebody else's picture.

What needs the picture is told by what is right without it; what is looked at, by what changes when another is shown.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.classification import Accuracy
from eyetest.metrics.columns import PARTNERS, Columns, Pairs, Policy, Status, among, code, mean_by_key, pair, pair_keys
from eyetest.metrics.dependence import (
    SMALL,
    few,
    gap_interval,
    is_binary,
    paired_difference,
    paired_estimate,
    undefined_ratio,
    weighed,
)
from eyetest.metrics.estimate import estimate, mean_interval, withheld
from eyetest.stats.clusters import groups
from eyetest.stats.factors import Factors, crossed, factor_se
from eyetest.stats.gap import gap_rate as gap_rate_of
from eyetest.stats.intervals import WITHHELD, Interval, t_quantile
from eyetest.stats.odds import odds_ratio_ci, odds_ratio_factor_ci
from eyetest.stats.paired import Cells, paired_cells
from eyetest.stats.ratios import fieller, log_rate_influence, mover_ratio, posterior_ratio
from eyetest.types import Estimate

_NO_PAIR = "undefined: no sample was answered with and without the picture"
_NO_CHANCE = "undefined: guessing has no closed form here (short answers)"
_UNBOUNDED = "interval withheld: denominator cannot be told from 0 (with the picture, as guessing)"


# --- corrected for guessing --------------------------------------------------------------------------------------------


def chance_corrected_gap(
    with_: Columns,
    without: Columns,
    *,
    level: float = 0.95,
    seed: int,
    resamples: int = 2000,
    policy: Policy = "as_wrong",
) -> Estimate:
    """Share of what is known beyond guessing that needs the picture: (x1 - x0) / (x1 - chance), paired on samples.

    x1, x0: mean credit with and without the picture; chance: mean of 1 / number of options. 0: the picture adds nothing;
    1: without it the model is at chance; above 1: below chance. Unlike the gap rate it does not depend on the number of
    options. Fieller's interval (`stats.ratios.fieller`), or the posterior of the cells where fewer than SMALL groups have
    an answer right without the picture, or answers that differ. nan, and a note, without chance or with x1 not above it.
    """
    pairs = pair(with_, without, policy)
    chance = _chance(with_, pairs, policy)
    gain, room = pairs.first - pairs.second, pairs.first - chance
    value, interval, method = math.nan, WITHHELD, "none"
    note = _no_room(room)
    if not note:
        value = float(gain.mean() / room.mean())
        note = withheld(pairs.n_distinct, pairs.factors.count)
        if not note:
            interval, method = _corrected_interval(pairs, chance, level, seed, resamples)
            note = _UNBOUNDED if method == "none" else few(float(room.sum()))
    return paired_estimate("chance_corrected_gap", value, interval, method, note, pairs, (with_, without), policy, seed)


def _no_room(room: NDArray[np.float64]) -> str:
    """Why a ratio over credit beyond chance, (n,), is undefined; empty if it is not."""
    if not len(room):
        return _NO_PAIR
    if np.isnan(room).any():
        return _NO_CHANCE
    return "undefined: with the picture not above guessing" if room.mean() <= 1e-9 else ""  # rounding is not above


def _corrected_interval(
    pairs: Pairs, chance: NDArray[np.float64], level: float, seed: int, resamples: int
) -> tuple[Interval, str]:
    """Interval of a defined ratio and its name; WITHHELD and `none` where the denominator cannot be told from 0."""
    percent, factors = f"{100 * level:g}", pairs.factors
    if min(_groups_with(pairs.second > 0, factors), _groups_with(pairs.first != pairs.second, factors)) < SMALL:
        # A group counts as one answer, as where no resample can vary (`gap_rate`).
        shrink, guess = factors.effective / len(pairs), float(chance.mean())
        cells = Cells(*(shrink * count for count in paired_cells(pairs.first, pairs.second)))
        gain, room = (0.0, 1.0, -1.0, 0.0), (1 - guess, 1 - guess, -guess, -guess)
        interval = posterior_ratio(cells, gain, room, level, resamples=resamples, seed=seed)
        method = f"posterior{percent}x{resamples}"
    else:
        interval = fieller(pairs.first - pairs.second, pairs.first - chance, factors, level)
        method = f"{factors.prefix}fieller{percent}"
    return interval, ("none" if math.isnan(interval[0]) else method)


def _groups_with(rows: NDArray[np.bool_], factors: Factors) -> int:
    """Groups with an answer in `rows`, a mask (n,), of the factor that has fewest such."""
    return min(len(np.unique(codes[rows])) for codes in factors.codes)


def _chance(columns: Columns, pairs: Pairs, policy: Policy) -> NDArray[np.float64]:
    """Chance of each pair, mean over the variants in `columns`: (n,), nan where it has no closed form."""
    kept = among(columns.within(policy), pairs, np.ones(len(pairs), np.bool_))
    return mean_by_key(kept, kept.chance, pair_keys(pairs))


def best_possible_gap(
    with_: Columns, *, level: float = 0.95, seed: int, resamples: int = 2000, policy: Policy = "as_wrong"
) -> Estimate:
    """Gap rate of a model of this accuracy that only guesses without the picture: 1 - chance / x1.

    No honest guesser's gap rate is higher in the long run; with two options it is at most 1/2. The interval is that of the
    accuracy (`estimate`), transformed; chance is taken as known.
    """
    score = estimate(Accuracy(policy=policy), with_, level=level, seed=seed, resamples=resamples)
    kept = with_.within(policy)
    guess = float(kept.chance.mean()) if len(kept) else math.nan
    note = score.note
    if len(kept) and math.isnan(guess):
        note = _NO_CHANCE
    elif score.value == 0:
        note = "undefined: no right answer with the picture"
    if note.startswith("undefined"):
        return replace(_renamed(score, "best_possible_gap"), value=math.nan, low=math.nan, high=math.nan, note=note)
    value, low, high = (1 - guess / rate if rate else -math.inf for rate in (score.value, score.low, score.high))
    return replace(_renamed(score, "best_possible_gap"), value=value, low=low, high=high)


def _renamed(made: Estimate, name: str) -> Estimate:
    """The same number under another name."""
    return replace(made, metric=name, signature=name + made.signature.removeprefix(made.metric))


# --- corrected for refusals and failures -------------------------------------------------------------------------------


def attempted_gap(with_: Columns, without: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong") -> Estimate:
    """Gap rate on attempted answers: each rate is among the answers of its own side that were not refused or blocked.

    A model that refuses without the picture is not one that needs it to know; the gap rate counts its refusals as wrong.
    Samples asked on both sides; `parsed_only` also leaves out what could not be read, each side for itself. Student's t on
    the linearised log-ratio with its clustered standard error, all samples in; where fewer than SMALL groups are right on a
    side, or nothing varies, MOVER-R over the two rates' own intervals (`stats.ratios.mover_ratio`).
    """
    out: tuple[Status, ...] = ("refused", "blocked") if policy == "as_wrong" else ("refused", "blocked", "unparsed")
    pairs, tried = pair(with_, without), pair(_attempts(with_, out), _attempts(without, out))
    rates = [(pairs.first, tried.first), (pairs.second, tried.second)]
    value, note = _attempted_value(rates, pairs)
    note = note or withheld(pairs.n_distinct, pairs.factors.count)
    interval, method = (WITHHELD, "none") if note else _attempted_interval(rates, pairs.factors, value, level)
    return paired_estimate("attempted_gap", value, interval, method, note, pairs, (with_, without), policy, seed)


_Rate = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Credit and whether an answer was attempted, (n,) each: a rate is the one's sum over the other's."""


def _attempted_value(rates: list[_Rate], pairs: Pairs) -> tuple[float, str]:
    """Gap rate of the rates with and without the picture, and why it is undefined (empty if it is not)."""
    if not len(pairs):
        return math.nan, _NO_PAIR
    for (_, attempted), side in zip(rates, ("with", "without"), strict=True):
        if not attempted.any():
            return math.nan, f"undefined: no answer {side} the picture was attempted"
    shown, blind = (float(right.sum() / attempted.sum()) for right, attempted in rates)
    return gap_rate_of(blind, shown), undefined_ratio(pairs, shown, blind)


def _attempts(columns: Columns, out: tuple[Status, ...]) -> Columns:
    """The answers inside n with credit 1 if attempted, else 0."""
    counted = columns.counted()
    tried = ~np.isin(counted.status, [code(status) for status in out])
    return replace(counted, value=tried.astype(np.float64), status=np.zeros_like(counted.status))


def _attempted_interval(sides: list[_Rate], factors: Factors, value: float, level: float) -> tuple[Interval, str]:
    """Interval of a defined gap rate from (right, attempted) with and without the picture."""
    percent = f"{100 * level:g}"
    if min(_groups_with(right > 0, factors) for right, _ in sides) >= SMALL:
        shown, blind = (log_rate_influence(*side) for side in sides)
        se = factor_se(blind - shown, factors)
        if se > 0:
            spread = math.exp(t_quantile(level, factors.degrees_of_freedom) * se)
            return (1 - (1 - value) * spread, 1 - (1 - value) / spread), f"{factors.prefix}log_t{percent}"
    rates, ends = [], []
    for right, attempted in sides:
        some, rate = attempted > 0, float(right.sum() / attempted.sum())
        credit = weighed(right[some] / attempted[some], attempted[some], rate)
        rates.append(rate)
        ends.append(mean_interval(credit, factors.take(some), level)[0])
    low, high = mover_ratio(rates[1], ends[1], rates[0], ends[0])
    return (1 - high, 1 - low), f"{factors.prefix}mover{percent}"


def gap_bounds(with_: Columns, without: Columns, *, policy: Policy = "as_wrong") -> Interval:
    """The least and the greatest gap rate that the answers outside n (failed, bad picture, unscored) could have led to.

    Least: all of them wrong with the picture and right without it; greatest: the reverse. Ends are nan or -inf as
    `stats.gap_rate` says; nan without pairs.
    """
    ends = []
    for credit in (0.0, 1.0):
        pairs = pair(_filled(with_, credit), _filled(without, 1 - credit), policy)
        ends.append(gap_rate_of(float(pairs.second.mean()), float(pairs.first.mean())) if len(pairs) else math.nan)
    return ends[0], ends[1]


def _filled(columns: Columns, credit: float) -> Columns:
    """The same answers, those outside n scored with `credit`."""
    outside = columns.status >= code("error")
    return replace(
        columns,
        status=np.where(outside, code("scored"), columns.status).astype(np.uint8),
        value=np.where(outside, credit, columns.value),
    )


# --- somebody else's picture -------------------------------------------------------------------------------------------


def flip_rate(own: Columns, swapped: Columns, *, level: float = 0.95, seed: int) -> Estimate:
    """Share of answers that change when a picture is shown for which another answer is right.

    Of the samples whose partner's picture asks for another answer, answered alike in variant and repeat; both answers must
    have been read, so there is no policy.
    """
    rows, pairs = _differing(own, swapped)
    read = (rows[0].said > 0) & (rows[1].said > 0) & (rows[0].status == 0) & (rows[1].status == 0)
    event = (rows[0].said != rows[1].said).astype(np.float64)
    none = "undefined: no answer was read with both pictures"
    return _share("flip_rate", event, read.astype(np.float64), none, rows, pairs, "parsed_only", level, seed)


def stuck_correct(own: Columns, swapped: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong") -> Estimate:
    """Share of right answers that stay right with a picture for which another answer is right: they were not read off it.

    Of the samples whose partner's picture asks for another answer and that are right with their own (weighed by credit).
    """
    rows, pairs = _differing(own, swapped)
    inside = np.logical_and(*(_inside(side, policy) for side in rows))
    given, event = np.where(inside, rows[0].credit(), 0.0), rows[1].credit()
    none = "undefined: no right answer with the own picture"
    return _share("stuck_correct", event, given, none, rows, pairs, policy, level, seed)


def follow_rate(swapped: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong") -> Estimate:
    """Share of answers that are right for the picture shown, somebody else's, where another answer is right and can be given."""
    rows = swapped.take(swapped.partner == PARTNERS.index("other"))
    rows = replace(rows, value=rows.followed.astype(np.float64))
    made = _renamed(estimate(Accuracy(policy=policy), rows, level=level, seed=seed), "follow_rate")
    none = "undefined: no picture was shown for which another answer is right and can be given"
    return made if len(rows) else replace(made, note=none)


def _inside(columns: Columns, policy: Policy) -> NDArray[np.bool_]:
    """Which answers are in the denominator under `policy`: (n,)."""
    return columns.status == code("scored") if policy == "parsed_only" else columns.status < code("error")


def _differing(own: Columns, swapped: Columns) -> tuple[tuple[Columns, Columns], Pairs]:
    """The answers of both sides whose partner's picture asks for another answer, row by row, and what they share."""
    asked = swapped.take(np.isin(swapped.partner, [PARTNERS.index("other"), PARTNERS.index("impossible")]))
    common, first, second = np.intersect1d(own.keys(), asked.keys(), return_indices=True)
    rows = own.take(first), asked.take(second)
    return rows, _beside(*rows, len(asked) - len(common))


def _beside(first: Columns, second: Columns, n_single: int) -> Pairs:
    """Answers of two sides, row by row, as pairs."""
    sides = first, second
    outside, unparsed, refused = (
        int(np.logical_or(*(np.isin(side.status, [code(status) for status in statuses]) for side in sides)).sum())
        for statuses in (("error", "bad_image", "unscored"), ("unparsed",), ("refused", "blocked"))
    )
    factors = crossed(groups(first.cluster, second.cluster, first.sample), groups(first.request, second.request))
    distinct = min(len(np.unique(side.request)) for side in sides)
    credits = first.credit(), second.credit()
    return Pairs(first.sample, first.repeat, *credits, factors, distinct, unparsed, refused, outside, n_single)


def _share(
    name: str,
    event: NDArray[np.float64],
    given: NDArray[np.float64],
    none: str,
    rows: tuple[Columns, Columns],
    pairs: Pairs,
    policy: Policy,
    level: float,
    seed: int,
) -> Estimate:
    """sum of given * event / sum of given, (n,) each, over the rows with `given` above 0, with its interval."""
    some = given > 0
    part = _part(pairs, rows, some)
    value, interval, method, note = math.nan, WITHHELD, "none", none
    if some.any():
        value = float(given @ event / given.sum())
        note = withheld(part.n_distinct, part.factors.count)
        if not note:
            interval, method = mean_interval(weighed(event[some], given[some], value), part.factors, level)
    return paired_estimate(name, value, interval, method, note, part, rows, policy, seed)


def _part(pairs: Pairs, rows: tuple[Columns, Columns], some: NDArray[np.bool_]) -> Pairs:
    """The pairs that a mask (n,) selects; what was left out is still counted."""
    return replace(
        pairs,
        sample=pairs.sample[some],
        repeat=pairs.repeat[some],
        first=pairs.first[some],
        second=pairs.second[some],
        factors=pairs.factors.take(some),
        n_distinct=min(len(np.unique(side.request[some])) for side in rows),
    )


def perceptual_score(
    own: Columns,
    swapped: Columns,
    *,
    level: float = 0.95,
    seed: int,
    resamples: int = 2000,
    policy: Policy = "as_wrong",
) -> Estimate:
    """Model-normalised perceptual score of the picture: 1 - score with somebody else's picture / score with the own one.

    Gat, Schwartz & Schwing 2021 (arXiv 2110.14375): the drop in accuracy when a modality is permuted over samples, divided
    by the model's accuracy. The undivided drop is `paired_difference(own, swapped)`. All partners count, also those for
    which the same answer is right, as in a permutation. One permutation, not the paper's mean over several: every repeat
    shows the same partner. Intervals as `gap_rate`.
    """
    pairs = pair(own, swapped, policy)
    value = gap_rate_of(float(pairs.second.mean()), float(pairs.first.mean())) if len(pairs) else math.nan
    note = "" if len(pairs) else "undefined: no sample was answered with its own and with another picture"
    if len(pairs) and not pairs.first.any():
        note = "undefined: no right answer with the own picture"
    note = note or withheld(pairs.n_distinct, pairs.factors.count)
    interval, method = (WITHHELD, "none") if note else gap_interval(pairs, level, seed, resamples)
    return paired_estimate("perceptual_score", value, interval, method, note, pairs, (own, swapped), policy, seed)


# --- against no picture, a text model, the knowledge question ----------------------------------------------------------


def multimodal_gain(with_: Columns, without: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong") -> Estimate:
    """Multi-modal gain of MMStar (Chen et al. 2024, arXiv 2403.20330): score with the picture minus score without, paired."""
    made = paired_difference(with_, without, level=level, seed=seed, policy=policy)
    return _renamed(made.estimate, "multimodal_gain")


def leakage(without: Columns, backbone: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong") -> Estimate:
    """Multi-modal leakage of MMStar (arXiv 2403.20330): what multimodal training let a model answer without pictures.

    max(0, score without pictures - score of its text backbone without pictures), paired on samples. The interval is that of
    the paired difference, ends cut at 0.
    """
    made = paired_difference(without, backbone, level=level, seed=seed, policy=policy).estimate
    value, low, high = (number if math.isnan(number) else max(0.0, number) for number in (made.value, made.low, made.high))
    return replace(_renamed(made, "leakage"), value=value, low=low, high=high)


def odds_ratio(
    with_picture: Columns, knowledge: Columns, *, level: float = 0.95, seed: int, policy: Policy = "as_wrong"
) -> Estimate:
    """Odds ratio of answering the visual question and knowing its fact; 1: the one says nothing of the other.

    Woolf's interval (`stats.odds`), 1/2 added to every cell if one is empty; linearised with a clustered standard error where
    answers go together or credit is partial.
    """
    pairs = pair(with_picture, knowledge, policy)
    note = "" if len(pairs) else "undefined: no sample was answered on both sides"
    if len(pairs) and any(side.min() == side.max() for side in (pairs.first, pairs.second)):
        note = "undefined: one side's answers are all right or all wrong"
    if note:
        return paired_estimate("odds_ratio", math.nan, WITHHELD, "none", note, pairs, (with_picture, knowledge), policy, seed)
    plain = is_binary(pairs) and not pairs.factors.prefix
    cells = paired_cells(pairs.first, pairs.second)
    made = odds_ratio_ci(cells, level) if plain else odds_ratio_factor_ci(pairs.first, pairs.second, pairs.factors, level)
    note = withheld(pairs.n_distinct, pairs.factors.count)
    interval, method = (WITHHELD, "none") if note else (made[1:], f"{pairs.factors.prefix}woolf{100 * level:g}")
    note = note or ("1/2 added to every cell: one is empty" if min(cells) <= 0 else "")
    return paired_estimate("odds_ratio", made.value, interval, method, note, pairs, (with_picture, knowledge), policy, seed)
