"""What the place of an option does to the answer, from questions asked under every rotation of their options.

Over the k rotations of k options the right option, like every other, stands once in each place: a model that goes by what the
options say is right equally often wherever it stands, and chooses each place in 1 of k answers. Circular evaluation after MMBench
(Liu et al., arXiv 2307.06281), recall and prior by position after Zheng et al. (arXiv 2309.03882).

Only whole circles count: (sample, repeat) with an answer inside n to each of its k rotations. Otherwise places would not be
equally often right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, code, keys_with, pair_keys
from eyetest.metrics.estimate import joined, mean_interval, signature, unscored, withheld
from eyetest.stats import WITHHELD
from eyetest.types import Estimate

ROTATED = "rotated"
"""The condition whose answers keep the places of options."""

RIGHT, CHOSEN, OPTIONS = range(3)
"""Columns of `Columns.positions`."""


def place_of(wanted: Sequence[str | None], choices: Sequence[str]) -> int:
    """Place of the one option that is wanted, from 0; -1 if none is, or several are."""
    places = [place for place, choice in enumerate(choices) if choice in wanted]
    return places[0] if len(places) == 1 else -1


@dataclass(frozen=True, slots=True)
class Positions:
    """The samples with k options of one cell. Intervals: answers to one sample, cluster or request go together."""

    options: int
    """k."""
    circular: Estimate
    """`circular_accuracy`: share of circles whose k answers are all right (credit 1)."""
    chance: float
    """What a uniform guesser attains of it: k ** -k."""
    recall: tuple[Estimate, ...]
    """(k,) `recall_by_position`: mean credit where the right option stands in place j; items with one right option."""
    prior: tuple[Estimate, ...]
    """(k,) `position_prior`: share of the answers that choose place j, of those that choose one; they add up to 1."""


def by_position(columns: Columns, *, level: float = 0.95, seed: int = 0) -> tuple[Positions, ...]:
    """Positions of every number of options that occurs, ascending; () where no options were rotated.

    columns: one cell under `rotated`; seed: for the signature alone, nothing is drawn.
    """
    if columns.positions.shape[1] == 0:
        return ()
    counts = columns.positions[:, OPTIONS]
    return tuple(_of(columns.take(counts == k), int(k), level, seed) for k in np.unique(counts[~np.isnan(counts)]))


def _of(columns: Columns, k: int, level: float, seed: int) -> Positions:
    kept, broken = _circles(columns, k)
    credit, places = kept.credit(), kept.positions
    # The least request of a circle stands for it: two items that differ in nothing but the order of their options are one.
    circles = replace(kept.take(np.arange(0, len(kept), k)), request=kept.request.reshape(-1, k).min(axis=1, initial=_LAST))
    whole = np.asarray((credit.reshape(-1, k) >= 1).all(axis=1), np.float64)
    chosen = (kept.status == code("scored")) & (places[:, CHOSEN] >= 0)

    def mean(name: str, values: NDArray[np.float64], rows: Columns) -> Estimate:
        return _mean(name, values, rows, (columns, broken), level, seed)

    circular = mean("circular_accuracy", whole, circles)
    unread, refused = keys_with([kept], "unparsed"), keys_with([kept], "refused", "blocked")
    return Positions(
        k,
        replace(circular, n_unparsed=unread, n_refused=refused),
        float(k) ** -k,
        tuple(
            mean("recall_by_position", credit[right], kept.take(right))
            for right in (places[:, RIGHT] == place for place in range(k))
        ),
        tuple(
            mean("position_prior", (places[chosen, CHOSEN] == place).astype(np.float64), kept.take(chosen)) for place in range(k)
        ),
    )


_LAST = np.iinfo(np.int64).max


def _circles(columns: Columns, k: int) -> tuple[Columns, int]:
    """The answers of whole circles, k rows each, and how many circles were asked but are not whole."""
    inside = columns.counted()
    _, index, count = np.unique(pair_keys(inside), return_inverse=True, return_counts=True)
    kept = inside.take((count == k)[index])
    asked = len(np.unique(pair_keys(columns)))
    return kept.take(np.lexsort((kept.variant, pair_keys(kept)))), asked - int((count == k).sum())


def _mean(name: str, values: NDArray[np.float64], rows: Columns, whole: tuple[Columns, int], level: float, seed: int) -> Estimate:
    """Mean of (n,) values in [0, 1], one for each of `rows`. whole: the cell, and its circles that are not whole."""
    columns, broken = whole
    interval, method, note, distinct = WITHHELD, "none", "undefined: no such answer", len(np.unique(rows.request))
    if len(rows):
        factors = rows.factors()
        note = withheld(distinct, factors.count)
        if not note:
            interval, method = mean_interval(values, factors, level)
    circles = f"{broken} questions left out: not answered in every rotation" if broken else ""
    return Estimate(
        metric=name,
        value=float(values.mean()) if len(rows) else math.nan,
        low=interval[0],
        high=interval[1],
        n=len(rows),
        n_distinct=distinct,
        n_unparsed=rows.number_of("unparsed"),
        n_refused=rows.number_of("refused", "blocked"),
        n_failed=columns.number_of("error", "bad_image"),
        signature=signature(name, "parsed_only" if name == "position_prior" else "as_wrong", method, seed),
        note=joined(note, circles, unscored(columns)),
    )
