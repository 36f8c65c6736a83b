"""Models in order, with the ranks that their answers leave open."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from eyetest.metrics.classification import Accuracy
from eyetest.metrics.columns import Columns, Metric
from eyetest.metrics.comparison import metric_difference
from eyetest.metrics.estimate import estimate
from eyetest.stats.multiplicity import benjamini_hochberg, holm_tested
from eyetest.types import Estimate


@dataclass(frozen=True, slots=True)
class Standing:
    """A model's value and the ranks it may have."""

    model: str
    estimate: Estimate
    """Over all its own answers."""
    rank_low: int
    """Best rank that is not ruled out: 1 + number of models that are significantly better."""
    rank_high: int
    """Worst rank that is not ruled out: number of models - number that are significantly worse."""

    @property
    def rank(self) -> int:
        """The rank to print, `rank_low`: the best that is not ruled out; several models may have the same."""
        return self.rank_low


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Two models of a board."""

    first: str
    """The one that stands higher on the board."""
    second: str
    estimate: Estimate
    """First minus second on the samples both answered, in units of the metric (`metric_difference`)."""
    p: float
    """Two-sided; nan where there is no test."""
    p_adjusted: float
    """Adjusted over all pairs of the board that were tested: Holm, or Benjamini-Hochberg for exploration."""
    test: str


class Leaderboard(NamedTuple):
    """Standings, best first, and all pairs in their order."""

    standings: tuple[Standing, ...]
    pairs: tuple[Pairwise, ...]


def leaderboard(
    columns_by_model: Mapping[str, Columns],
    metric: Metric | None = None,
    *,
    seed: int,
    level: float = 0.95,
    resamples: int = 2000,
    exploration: bool = False,
    estimates: Mapping[str, Estimate] | None = None,
) -> Leaderboard:
    """Models by `metric` (default: accuracy) on one cell, whose columns number samples, clusters and requests alike.

    Ordered by value, undefined last, then as given. Every pair is tested on the samples both answered; p is adjusted over
    all M (M - 1) / 2 pairs by Holm, and a pair is resolved where it is below 1 - level. Then, with probability `level` or
    more, no pair is resolved wrongly, so that the true ranks of all models at once lie in [rank_low, rank_high] (tied
    models have all ranks they could be given); cf. Mogstad, Romano, Shaikh & Wilhelm 2024, "Inference for ranks".
    exploration: Benjamini-Hochberg instead; more is resolved, and ranks no longer hold for all models at once.

    estimates: the models' values where they have been estimated with the same settings.

    Ranks come from pairs, not from the values in the column: where models answered different samples the order may differ.
    """
    chosen = metric if metric is not None else Accuracy()
    made = estimates or {
        model: estimate(chosen, columns, level=level, seed=seed, resamples=resamples)
        for model, columns in columns_by_model.items()
    }
    direction = 1 if chosen.higher_is_better else -1
    order = sorted(columns_by_model, key=lambda model: (math.isnan(made[model].value), -direction * _number(made[model].value)))
    pairs = _pairs(order, columns_by_model, chosen, level, seed, resamples)
    adjust = benjamini_hochberg if exploration else holm_tested
    adjusted = adjust([one.p for one in pairs])
    pairs = [replace(one, p_adjusted=float(p)) for one, p in zip(pairs, adjusted, strict=True)]
    better, worse = dict.fromkeys(order, 0), dict.fromkeys(order, 0)
    for one in pairs:
        if one.p_adjusted < 1 - level and one.estimate.value:
            ahead = direction * one.estimate.value > 0
            better[one.second if ahead else one.first] += 1
            worse[one.first if ahead else one.second] += 1
    standings = (Standing(model, made[model], 1 + better[model], len(order) - worse[model]) for model in order)
    return Leaderboard(tuple(standings), tuple(pairs))


def _number(value: float) -> float:
    """0 for nan, which has no place in an order."""
    return 0.0 if math.isnan(value) else value


def _pairs(
    order: Sequence[str], columns: Mapping[str, Columns], metric: Metric, level: float, seed: int, resamples: int
) -> list[Pairwise]:
    """Every pair of models, not adjusted yet."""
    count = len(order) * (len(order) - 1) // 2
    # Holm multiplies the least p by the number of pairs: enough permutations that the least possible p stays well below.
    permutations = max(10_000, math.ceil(5 * count / (1 - level)))
    made = []
    for first, second in combinations(order, 2):
        found = metric_difference(
            metric, columns[first], columns[second], level=level, seed=seed, resamples=resamples, permutations=permutations
        )
        made.append(Pairwise(first, second, found.estimate, found.p, math.nan, found.test))
    return made
