"""From columns to numbers with intervals: one row an estimate, for every cell of the grid and every pair worth comparing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from eyetest.evaluation.run import Progress
from eyetest.evaluation.table import Cell, Table
from eyetest.metrics import Columns, Metric, bounds, confusion, estimate, gap_rate, paired_difference, per_class
from eyetest.stats import holm_tested
from eyetest.tasks import Task
from eyetest.types import Estimate
from eyetest.version import __version__

WITHOUT_PICTURE = ("no_image", "told_blind", "blank")
"""Conditions whose score, beside `image`, gives a gap rate."""

MAX_CONFUSION = 100
"""A confusion matrix of more labels is left out: nobody reads it, and it grows with the square."""


@dataclass(frozen=True, slots=True)
class Row:
    """One estimate and what it is about."""

    task: str
    model: str
    prompt: str
    condition: str
    kind: str
    estimate: Estimate
    by: str = ""
    """Field of the slice; empty for all samples."""
    slice: str = ""
    """Value of the slice."""
    chance: float = math.nan
    """What a uniform guesser attains; nan where there is no closed form."""
    best: float = math.nan
    """What an oracle attains."""
    policy: str = "as_wrong"
    """What an answer that cannot be read counts as."""
    if_failed_wrong: float = math.nan
    """The value if every failed answer were wrong; nan without failures."""
    if_failed_right: float = math.nan
    """The value if every failed answer were right."""


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two conditions of one model compared on the same samples."""

    task: str
    model: str
    prompt: str
    first: str
    second: str
    estimate: Estimate
    p: float = math.nan
    """Two-sided; nan where there is no test."""
    p_holm: float = math.nan
    """Holm-adjusted over all differences of one model on one task."""
    test: str = ""


@dataclass(frozen=True, slots=True)
class ClassTable:
    """Per-class rows and the confusion matrix of one cell."""

    task: str
    model: str
    prompt: str
    condition: str
    labels: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    confusion: tuple[tuple[int, ...], ...]
    """[target][answer]; the last column is none of the labels. Empty over MAX_CONFUSION labels."""


@dataclass(frozen=True, slots=True, repr=False)
class Results:
    """Everything a run found."""

    rows: tuple[Row, ...]
    pairs: tuple[PairRow, ...] = ()
    classes: tuple[ClassTable, ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    """Of the bootstraps, and of whatever else a report draws."""

    def table(self) -> list[dict[str, Any]]:
        """Flat rows for a data frame or CSV: one dict an estimate, slices included."""
        return [_flat(row) for row in self.rows]

    def headline(self, task: str, model: str, condition: str, prompt: str = "default") -> Estimate:
        """The first metric of a cell over all samples. Raises KeyError when there is no such cell."""
        for row in self.rows:
            if (row.task, row.model, row.condition, row.prompt, row.by) == (task, model, condition, prompt, ""):
                return row.estimate
        cells = dict.fromkeys((row.task, row.model, row.condition, row.prompt) for row in self.rows)
        raise KeyError(f"no cell {(task, model, condition, prompt)}; there are {', '.join(map(str, cells)) or 'none'}")

    def __repr__(self) -> str:
        """The headline of every cell, one a line."""
        lines, seen = [], set[tuple[str, ...]]()
        for row in self.rows:
            cell, made = (row.task, row.model, row.prompt, row.condition, row.kind), row.estimate
            if row.by or cell in seen:
                continue
            seen.add(cell)
            value = f"{made.metric} {made.value:.3f} [{made.low:.3f}, {made.high:.3f}] n={made.n}"
            lines.append(f"{row.task} | {row.model} | {row.condition} | {value}" + (f" | {made.note}" if made.note else ""))
        return "\n".join(["Results, 95 % intervals:", *lines])

    def as_dict(self) -> dict[str, Any]:
        """For `results.json`; nan becomes null."""
        return {
            "eyetest": __version__,
            "counts": dict(self.counts),
            "estimates": self.table(),
            "pairs": [_flat(row) for row in self.pairs],
            "classes": [asdict(table) for table in self.classes],
        }


def _flat(row: Row | PairRow) -> dict[str, Any]:
    values: dict[str, Any] = asdict(row)
    inner: dict[str, Any] = values.pop("estimate")
    return values | inner


def summarise(table: Table, tasks: Mapping[str, Task], *, seed: int, counts: Mapping[str, Any]) -> Results:
    """All estimates of a finished table, in the order of the grid. counts: what the run counted, see `counted`."""
    cells = table.cells
    columns = {cell: table.columns(cell) for cell in cells}
    rows: list[Row] = []
    for cell in cells:
        metrics = tasks[cell.task].metrics[cell.kind]
        rows += _cell_rows(cell, columns[cell], metrics, seed)
        for by, value, part in table.slices(cell):
            rows += [_row(cell, metric, part, seed, by, value) for metric in metrics if _defined(metric, part)]
    return Results(
        rows=tuple(rows),
        pairs=tuple(_all_pairs(columns, seed)),
        classes=tuple(_classes(columns)),
        counts=counts,
        seed=seed,
    )


def _cell_rows(cell: Cell, columns: Columns, metrics: Sequence[Metric], seed: int) -> Iterator[Row]:
    for metric in metrics:
        if _defined(metric, columns):
            yield _row(cell, metric, columns, seed)


def _defined(metric: Metric, columns: Columns) -> bool:
    """Class-wise metrics need a label space; without one there is nothing to print, not even a nan."""
    return metric.additive or bool(columns.labels)


def _row(cell: Cell, metric: Metric, columns: Columns, seed: int, by: str = "", value: str = "") -> Row:
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
    )


def _all_pairs(columns: Mapping[Cell, Columns], seed: int) -> Iterator[PairRow]:
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
        adjusted = holm_tested([row.p for row in made])
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
        if column.labels:
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
