"""From columns to numbers with intervals: one row an estimate, for every cell of the grid and every pair worth comparing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.evaluation.dependence import dependence
from eyetest.evaluation.fairness import fairness
from eyetest.evaluation.families import families
from eyetest.evaluation.groups import WITHOUT_PICTURE, by_group
from eyetest.evaluation.positions import positions
from eyetest.evaluation.probabilities import probabilities
from eyetest.evaluation.repeatability import repeats, wordings
from eyetest.evaluation.results import ClassTable, PairRow, Results, Row
from eyetest.evaluation.run import Progress
from eyetest.evaluation.standings import standings
from eyetest.evaluation.strata import strata
from eyetest.evaluation.table import Cell, Table
from eyetest.metrics import Columns, Metric, bounds, confusion, definable, estimate, gap_rate, paired_difference, per_class
from eyetest.metrics.repeats import between_repeats
from eyetest.stats import benjamini_hochberg, holm_tested
from eyetest.tasks import Task

Adjust = Callable[[ArrayLike], NDArray[np.float64]]
"""p-values of a family -> adjusted ones."""

MAX_CONFUSION = 100
"""A confusion matrix of more labels is left out: nobody reads it, and it grows with the square."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a run says of how its numbers are to be summed up."""

    seed: int = 0
    """Of every bootstrap and permutation."""
    backbones: Mapping[str, str] = field(default_factory=dict)
    """Model -> the text model that it is built on."""
    exploration: bool = False
    """Adjust p-values by Benjamini-Hochberg instead of Holm."""


def summarise(table: Table, tasks: Mapping[str, Task], analysis: Analysis, *, counts: Mapping[str, Any]) -> Results:
    """All estimates of a finished table, in the order of the grid. counts: what the run counted, see `counted`."""
    seed = analysis.seed
    columns = {cell: table.columns(cell) for cell in table.cells}
    sliced = {cell: table.sliced(cell, column) for cell, column in columns.items()}
    rows: list[Row] = []
    for cell, column in columns.items():
        metrics = tasks[cell.task].metrics[cell.kind]
        rows += _cell_rows(cell, column, metrics, seed)
        for by, parts in sliced[cell].items():
            for value, part in parts.items():
                rows += _cell_rows(cell, part, metrics, seed, by, value)
    groups = by_group(columns)
    places, model_pairs = standings(groups, tasks, rows, seed=seed, exploration=analysis.exploration)
    return Results(
        rows=tuple(rows),
        pairs=tuple(_all_pairs(columns, seed, benjamini_hochberg if analysis.exploration else holm_tested)),
        classes=tuple(_classes(columns)),
        findings=(
            *dependence(groups, seed=seed, backbones=analysis.backbones),
            *probabilities(columns, tasks, seed=seed),
            *positions(columns, seed=seed),
            *repeats(columns, tasks),
            *wordings(rows),
            *families(rows, tasks),
            *strata(sliced, seed=seed),
            *fairness(columns, sliced, tasks, seed=seed),
        ),
        standings=places,
        model_pairs=model_pairs,
        adjustment="benjamini_hochberg" if analysis.exploration else "holm",
        counts=counts,
        seed=seed,
    )


def _cell_rows(
    cell: Cell, columns: Columns, metrics: Sequence[Metric], seed: int, by: str = "", value: str = ""
) -> Iterator[Row]:
    for metric in metrics:
        if definable(metric, columns):
            yield _row(cell, metric, columns, seed, by, value)


def _row(cell: Cell, metric: Metric, columns: Columns, seed: int, by: str, value: str) -> Row:
    made = estimate(metric, columns, seed=seed)
    wrong, right = bounds(metric, columns) if made.n_failed else (math.nan, math.nan)
    return Row(
        task=cell.task,
        model=cell.model,
        prompt=cell.prompt,
        condition=cell.condition,
        kind=cell.kind,
        estimate=made,
        by=by,
        slice=value,
        chance=metric.chance(columns),
        best=metric.best(columns),
        policy=metric.policy,
        if_failed_wrong=wrong,
        if_failed_right=right,
        sd_between_repeats=between_repeats(metric, columns).sd if columns.repeat.max(initial=0) else math.nan,
    )


def _all_pairs(columns: Mapping[Cell, Columns], seed: int, adjust: Adjust) -> Iterator[PairRow]:
    """Every condition against `image`: the paired difference, and the gap rate where the picture is away."""
    groups: dict[tuple[str, str, str], dict[str, list[Columns]]] = {}
    for cell, column in columns.items():
        groups.setdefault((cell.task, cell.model, cell.prompt), {}).setdefault(cell.condition, []).append(column)
    for (task, model, prompt), by_condition in groups.items():
        with_picture = by_condition.get("image")
        if with_picture is None:
            continue
        made = [
            _difference((task, model, prompt), condition, with_picture, others, seed)
            for condition, others in by_condition.items()
            if condition != "image"
        ]
        adjusted = adjust([row.p for row in made])
        yield from (replace(row, p_holm=float(p)) for row, p in zip(made, adjusted, strict=True))
        for condition, others in by_condition.items():
            if condition in WITHOUT_PICTURE:
                ratio = gap_rate(_joined(with_picture), _joined(others), seed=seed)
                yield PairRow(task, model, prompt, "image", condition, ratio)


def _difference(
    of: tuple[str, str, str], condition: str, with_picture: list[Columns], others: list[Columns], seed: int
) -> PairRow:
    made = paired_difference(_joined(with_picture), _joined(others), seed=seed)
    return PairRow(*of, "image", condition, made.estimate, p=made.p, test=made.test)


def _joined(parts: list[Columns]) -> Columns:
    """Several kinds of one condition as one: credit is comparable, labels are not."""
    return parts[0] if len(parts) == 1 else Columns.concatenate(parts)


def _classes(columns: Mapping[Cell, Columns]) -> Iterator[ClassTable]:
    for cell, column in columns.items():
        if column.labels and cell.kind == "choice":
            small = len(column.labels) <= MAX_CONFUSION
            matrix = tuple(tuple(int(count) for count in row) for row in confusion(column)) if small else ()
            rows = tuple(asdict(row) for row in per_class(column))
            yield ClassTable(cell.task, cell.model, cell.prompt, cell.condition, column.labels, rows, matrix)


def counted(progress: Progress) -> dict[str, Any]:
    """The counts of a run, for its results."""
    return {
        "answers": progress.done,
        "asked": progress.asked,
        "resumed": progress.resumed,
        "cached": progress.cached,
        "shared": progress.shared,
        "unparsed": progress.unparsed,
        "refused": progress.refused,
        "failed": progress.failed,
        "first_failure": progress.first_failure,
        "inapplicable": [
            {"task": task, "condition": condition, "samples": count}
            for (task, condition), count in sorted(progress.inapplicable.items())
        ],
    }
