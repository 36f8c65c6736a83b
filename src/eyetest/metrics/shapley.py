"""How credit is shared out between the picture and the question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import REPEATS, Columns, Policy, keys_with, mean_by_key, pair_keys
from eyetest.metrics.estimate import joined, signature, unscored, withheld
from eyetest.stats.clusters import groups
from eyetest.stats.factors import Factors, crossed, factor_interval
from eyetest.stats.intervals import WITHHELD
from eyetest.types import Estimate

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_Three = tuple[Columns, Columns, Columns]
"""Answers with picture and question, without the picture, without the question."""


@dataclass(frozen=True, slots=True)
class Shapley:
    """What the picture and the question each add to the score; the two add up to the score less chance."""

    picture: Estimate
    """Shapley value of the picture, in credit an answer."""
    question: Estimate
    """Shapley value of the question."""
    synergy: Estimate
    """What the two give together beyond what each gives alone; negative where either would do (redundancy)."""


def shapley(
    image: Columns,
    question_only: Columns,
    picture_only: Columns,
    *,
    level: float = 0.95,
    seed: int,
    policy: Policy = "as_wrong",
) -> Shapley:
    """Shapley values (Shapley 1953) of the game of two players, picture I and question Q, aligned on (sample, repeat).

    v(IQ), v(Q), v(I): credit with both, without the picture, without the question; v(0): chance of the sample, 0 where
    guessing has no closed form (and the note says so). Picture: ((v(IQ) - v(Q)) + (v(I) - v(0))) / 2, question likewise,
    synergy: v(IQ) - v(I) - v(Q) + v(0). Each is a mean over samples: Student's t on its clustered standard error, two-way
    where pictures and questions cross. seed: for the signature; nothing is drawn.
    """
    asked = image, question_only, picture_only
    keys, (both, question, picture), chance = _credits(asked, policy)
    nothing = np.where(np.isnan(chance), 0.0, chance)
    values = {
        "picture": ((both - question) + (picture - nothing)) / 2,
        "question": ((both - picture) + (question - nothing)) / 2,
        "synergy": both - picture - question + nothing,
    }
    open_ended = int(np.isnan(chance).sum())
    said = f"chance of {open_ended} open answers taken as 0" if open_ended else ""
    blank = _blank(asked, keys, policy, said)
    return Shapley(**{name: _mean(f"shapley_{name}", x, blank, policy, level, seed) for name, x in values.items()})


def _credits(asked: _Three, policy: Policy) -> tuple[Ints, list[Floats], Floats]:
    """The (sample, repeat) inside n on all sides, as keys (n,), credit on each side and chance, (n,) each."""
    sides = [columns.within(policy) for columns in asked]
    keys = reduce(np.intersect1d, (pair_keys(side) for side in sides))
    sides = [side.take(np.isin(pair_keys(side), keys)) for side in sides]
    return keys, [mean_by_key(side, side.credit(), keys) for side in sides], mean_by_key(sides[0], sides[0].chance, keys)


@dataclass(frozen=True, slots=True)
class _Blank:
    """What the three estimates have in common."""

    factors: Factors
    """What the samples share."""
    estimate: Estimate
    """Without name, value and interval."""


def _blank(asked: _Three, keys: Ints, policy: Policy, said: str) -> _Blank:
    """Counts of the samples in `keys` and of what was left out."""
    everywhere = reduce(np.intersect1d, (pair_keys(columns) for columns in asked))
    anywhere = reduce(np.union1d, (pair_keys(columns) for columns in asked))
    sides = [side.take(np.isin(pair_keys(side), keys)) for side in (columns.within(policy) for columns in asked)]
    alone = len(anywhere) - len(everywhere)
    estimate = Estimate(
        metric="",
        value=math.nan,
        low=math.nan,
        high=math.nan,
        n=len(keys),
        n_distinct=min(len(np.unique(side.request)) for side in sides),
        n_unparsed=keys_with(sides, "unparsed"),
        n_refused=keys_with(sides, "refused", "blocked"),
        n_failed=len(everywhere) - len(keys),
        note=joined(said, f"{alone} samples not asked in all three ways" if alone else "", unscored(*asked)),
    )
    return _Blank(_factors(sides), estimate)


def _factors(sides: Sequence[Columns]) -> Factors:
    """What the samples share: picture or sample or request without the question; crossing these, the other requests."""
    place = np.concatenate([pair_keys(side) for side in sides])
    ends = np.cumsum([len(side) for side in sides])
    owner = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
    request = np.concatenate([side.request for side in sides])
    # A code of its own for the answers of the other sides. Requests without the question go by picture, those without the
    # picture by question: in one grouping they would tie every sample to every other.
    shown, asked, bare = (np.where(owner == i, request, -1 - np.arange(len(owner))) for i in range(3))
    cluster = np.concatenate([side.cluster for side in sides])
    _, row = np.unique(place[: ends[0]], return_index=True)
    return crossed(groups(cluster, place // REPEATS, bare)[row], groups(place, shown, asked)[row])


def _mean(name: str, x: Floats, blank: _Blank, policy: Policy, level: float, seed: int) -> Estimate:
    """Mean of (n,) values with Student's interval."""
    value, interval, method = math.nan, WITHHELD, "none"
    note = "undefined: no sample was answered in all three ways"
    if len(x):
        value = float(x.mean())
        note = withheld(blank.estimate.n_distinct, blank.factors.count)
        if not note:
            interval, method = factor_interval(x, blank.factors, level), f"{blank.factors.prefix}t{100 * level:g}"
            note = "interval without width: every sample agrees" if interval[0] == interval[1] else ""
    return replace(
        blank.estimate,
        metric=name,
        value=value,
        low=interval[0],
        high=interval[1],
        signature=signature(name, policy, method, seed),
        note=joined(note, blank.estimate.note),
    )
