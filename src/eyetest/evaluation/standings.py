"""Models beside each other on the same questions: who is better, and what cannot be told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from eyetest.evaluation.groups import Group
from eyetest.evaluation.results import ModelPair, Row, Standing
from eyetest.metrics import Columns, Metric, definable, pair
from eyetest.metrics.ranks import Pairwise, leaderboard
from eyetest.stats import (
    design_effect,
    paired_cells,
    resolution_ratio,
    smallest_detectable_difference,
)
from eyetest.tasks import Task
from eyetest.types import Kind


class _Board(NamedTuple):
    task: str
    prompt: str
    condition: str
    kind: Kind


def standings(
    groups: Mapping[Group, Mapping[str, Columns]],
    tasks: Mapping[str, Task],
    rows: Iterable[Row],
    *,
    seed: int,
    exploration: bool,
) -> tuple[tuple[Standing, ...], tuple[ModelPair, ...]]:
    """For every condition under which several models were asked: their places, and every pair.

    rows: the estimates of all cells. exploration: p-values of a board adjusted by Benjamini-Hochberg instead of Holm.
    """
    boards: dict[_Board, dict[str, Columns]] = {}
    for group, conditions in groups.items():
        for condition, columns in conditions.items():
            boards.setdefault(_Board(group.task, group.prompt, condition, group.kind), {})[group.model] = columns
    known = {
        (row.task, row.prompt, row.condition, row.kind, row.model, row.estimate.metric, row.policy): row.estimate
        for row in rows
        if not row.by
    }
    places: list[Standing] = []
    pairs: list[ModelPair] = []
    for board, by_model in boards.items():
        if len(by_model) < 2:
            continue
        metric = headline(tasks[board.task], board.kind, *by_model.values())
        estimates = {model: known[(*board, model, metric.name, metric.policy)] for model in by_model}
        found = leaderboard(by_model, metric, seed=seed, exploration=exploration, estimates=estimates)
        places += (Standing(*board, one.model, one.estimate, one.rank, one.rank_low, one.rank_high) for one in found.standings)
        pairs += _pairs(board, found.pairs, by_model, metric)
    return tuple(places), tuple(pairs)


def headline(task: Task, kind: Kind, *cells: Columns) -> Metric:
    """The first metric of the task that all of these answers define."""
    return next(metric for metric in task.metrics[kind] if all(definable(metric, columns) for columns in cells))


def _pairs(board: _Board, pairs: tuple[Pairwise, ...], by_model: Mapping[str, Columns], metric: Metric) -> Iterator[ModelPair]:
    for one in pairs:
        resolved = _resolution(by_model[one.first], by_model[one.second]) if metric.name in _SHARES else (math.nan, math.nan)
        yield ModelPair(*board, one.first, one.second, one.estimate, one.p, one.p_adjusted, one.test, *resolved)


_SHARES = ("accuracy", "score_rate")
"""Metrics that are a mean of credit, so that the paired table says how many answers a difference needs."""


def _resolution(first: Columns, second: Columns) -> tuple[float, float]:
    """Resolution ratio and smallest detectable difference of two models' credit; nan where credit is partial."""
    both = pair(first, second)
    if not len(both) or not np.isin(np.concatenate([both.first, both.second]), (0.0, 1.0)).all():
        return math.nan, math.nan
    cells = paired_cells(both.first, both.second)
    effect = design_effect(both.first - both.second, both.factors) if both.factors.prefix else 1.0
    discordance = (cells.n10 + cells.n01) / len(both)
    return (
        resolution_ratio(cells, design_effect=effect),
        smallest_detectable_difference(len(both) / effect, discordance),
    )
