"""Whom a classifier fails: misses, false alarms and refusals by group of samples, each group against all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eyetest.evaluation.results import Finding
from eyetest.evaluation.table import Cell
from eyetest.metrics import Columns
from eyetest.metrics.fairness import GroupRates, group_gaps, group_rates, worst_group
from eyetest.tasks import Task
from eyetest.types import Estimate

RATES = ("false_positive_rate", "false_negative_rate", "refusal_rate")


def positive_of(cell: Cell, columns: Columns, tasks: Mapping[str, Task]) -> str | None:
    """The label whose misses and false alarms matter; None where two labels are not what this cell has."""
    positive = tasks[cell.task].positive
    return positive if positive in columns.labels and len(columns.labels) == 2 else None


def fairness(
    columns: Mapping[Cell, Columns],
    sliced: Mapping[Cell, Mapping[str, Mapping[str, Columns]]],
    tasks: Mapping[str, Task],
    *,
    seed: int,
) -> Iterator[Finding]:
    """For every two-label cell with a positive label: its three rates; for every slice field, those of each group.

    Each group's gap to all others has p-values adjusted by Holm over the groups of the field; the worst group has an
    interval that holds although it was looked for. sliced: cell -> field -> value -> columns.
    """
    for cell, column in columns.items():
        positive = positive_of(cell, column, tasks)
        if positive is None:
            continue
        for made in _each(group_rates({"": column}, positive, seed=seed)[0]):
            yield _finding(cell, made)
        for by, groups in sliced[cell].items():
            if len(groups) > 1:
                yield from _field(cell, by, groups, positive, seed)


def _each(rates: GroupRates) -> tuple[Estimate, ...]:
    return rates.false_positive_rate, rates.false_negative_rate, rates.refusal_rate


def _field(cell: Cell, by: str, groups: Mapping[str, Columns], positive: str, seed: int) -> Iterator[Finding]:
    for rates in group_rates(groups, positive, seed=seed):
        for made in _each(rates):
            yield _finding(cell, made, by, rates.group)
    for gap in group_gaps(groups, positive, seed=seed):
        yield Finding("fairness", *cell, estimate=gap.estimate, by=by, slice=gap.group, p=gap.p, p_adjusted=gap.p_adjusted)
    for rate in RATES:
        worst = worst_group(groups, positive, rate, seed=seed)
        if worst is not None and worst.groups > 1 and worst.estimate.value > 0:
            yield _finding(cell, worst.estimate, by, worst.group, "worst group")


def _finding(cell: Cell, made: Estimate, by: str = "", value: str = "", detail: str = "") -> Finding:
    return Finding("fairness", *cell, estimate=made, by=by, slice=value, detail=detail)
