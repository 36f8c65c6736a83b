"""Results as tables on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from eyetest.evaluation.compare import Comparison
from eyetest.evaluation.summary import ClassTable, PairRow, Results, Row
from eyetest.types import Estimate

PLAIN_WIDTH = 160
"""Columns of the tables where output is no terminal."""

_IN_SCORES = ("accuracy", "score_rate", "success_rate")
"""Metrics that the table of scores already holds."""

MAX_CLASSES = 12
"""Confusion matrices of more classes are left to `results.json`."""


def number(value: float) -> str:
    """Three decimals without the leading zero; `–` for nan."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def interval(estimate: Estimate) -> str:
    """`.712 [.684, .739]`, or `.712 [withheld]`."""
    if math.isnan(estimate.value):
        return "undefined"
    if math.isnan(estimate.low):
        return f"{number(estimate.value)} [withheld]"
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def p_value(p: float) -> str:
    """A p-value as people write it."""
    if math.isnan(p):
        return "–"
    return "< .001" if p < 0.001 else number(p)


def _cell(text: str) -> Text:
    # Dataset and model names are data, not markup.
    return Text(text)


def _grid(title: str, columns: Sequence[str], right: Iterable[int] = ()) -> Grid:
    grid = Grid(title=_cell(title), header_style="bold", pad_edge=False, box=None)
    numeric = set(right)
    for place, name in enumerate(columns):
        grid.add_column(_cell(name), justify="right" if place in numeric else "left", no_wrap=place in numeric, overflow="fold")
    return grid


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a reader that went away to the command line; rich would exit with 1, which here means failed answers."""
        raise BrokenPipeError


def _print_grid(console: Console, grid: Grid) -> None:
    """The title apart, because rich breaks it where the table ends."""
    title, grid.title = grid.title, None
    console.print()
    console.print(title, style="bold", soft_wrap=True)
    console.print(grid)


def terminal(*, stderr: bool = False) -> Console:
    """A console; where output is no terminal, wide enough for the tables."""
    # A model called `constant:A:` is no emoji.
    console = _Console(stderr=stderr, emoji=False)
    return console if console.is_terminal else _Console(stderr=stderr, emoji=False, width=PLAIN_WIDTH)


def print_results(console: Console, results: Results) -> None:
    """Everything a run found: scores by condition, pairs, classes, slices, notes."""
    for task in dict.fromkeys(row.task for row in results.rows):
        rows = [row for row in results.rows if row.task == task]
        whole = [row for row in rows if not row.by]
        grids = [_scores(task, whole), _other_metrics(task, whole)]
        grids += [_pairs(task, [pair for pair in results.pairs if pair.task == task])]
        grids += [_slices(task, [row for row in rows if row.by])]
        for grid in grids:
            if grid.row_count:
                _print_grid(console, grid)
    for table in results.classes:
        if table.condition == "image" and len(table.labels) <= MAX_CLASSES:
            _print_grid(console, _confusion(table))
    _print_notes(console, results)


def _by_cell(rows: Sequence[Row]) -> Iterator[tuple[tuple[str, str], list[Row]]]:
    """Rows of each cell with how it is called: (model, condition), prompt and kind named where there are several."""
    prompts, kinds = len({row.prompt for row in rows}) > 1, len({row.kind for row in rows}) > 1
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        more = [row.prompt] * prompts + [row.kind] * kinds
        condition = f"{row.condition} ({', '.join(more)})" if more else row.condition
        cells.setdefault((row.model, condition), []).append(row)
    yield from cells.items()


def _without_repeats(names: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """A model's name stands in its first line only."""
    last = None
    for model, condition in names:
        yield ("" if model == last else model, condition)
        last = model


def _scores(task: str, rows: Sequence[Row]) -> Grid:
    """One line a cell: the headline with its interval, chance, success rate, counts."""
    headline = rows[0].estimate.metric if rows else ""
    grid = _grid(
        f"{task}: {headline} with 95 % intervals",
        ["model", "condition", headline, "chance", "parsed only", "success rate", "n", "unparsed", "refused", "failed"],
        right=range(2, 10),
    )
    cells = list(_by_cell(rows))
    for (model, condition), (_, of_cell) in zip(_without_repeats(name for name, _ in cells), cells, strict=True):
        first = of_cell[0]
        made = first.estimate
        parsed = _value(of_cell, made.metric, "parsed_only")
        counts = [str(count) for count in (made.n, made.n_unparsed, made.n_refused, made.n_failed)]
        success = _value(of_cell, "success_rate", "as_wrong")
        grid.add_row(*map(_cell, [model, condition, interval(made), number(first.chance), parsed, success, *counts]))
    return grid


def _value(rows: Sequence[Row], metric: str, policy: str) -> str:
    return next((number(row.estimate.value) for row in rows if (row.estimate.metric, row.policy) == (metric, policy)), "–")


def _other_metrics(task: str, rows: Sequence[Row]) -> Grid:
    """Class-wise metrics, where the samples share their labels."""
    names = list(dict.fromkeys(row.estimate.metric for row in rows if row.estimate.metric not in _IN_SCORES))
    grid = _grid(f"{task}: by class, unparsed as wrong", ["model", "condition", *names], right=range(2, 2 + len(names)))
    if not names:
        return grid
    cells = list(_by_cell(rows))
    for (model, condition), (_, of_cell) in zip(_without_repeats(name for name, _ in cells), cells, strict=True):
        found = {row.estimate.metric: interval(row.estimate) for row in of_cell if row.policy == "as_wrong"}
        if any(name in found for name in names):
            grid.add_row(*map(_cell, [model, condition, *(found.get(name, "–") for name in names)]))
    return grid


def _pairs(task: str, pairs: Sequence[PairRow]) -> Grid:
    grid = _grid(
        f"{task}: conditions compared on the same samples",
        ["model", "measure", "value", "p", "p (Holm)", "n"],
        right=range(2, 6),
    )
    last = None
    for pair in pairs:
        made = pair.estimate
        measure = f"gap rate, {pair.second}" if made.metric == "gap_rate" else f"{pair.first} − {pair.second}"
        cells = [measure, interval(made), p_value(pair.p), p_value(pair.p_holm), str(made.n)]
        grid.add_row(*map(_cell, ["" if pair.model == last else pair.model, *cells]))
        last = pair.model
    return grid


def _slices(task: str, rows: Sequence[Row]) -> Grid:
    """The headline of every slice."""
    names = ["model", "condition", "slice", "metric", "value", "n", "unparsed", "refused"]
    grid = _grid(f"{task}: slices", names, right=range(4, 8))
    seen: set[tuple[str, ...]] = set()
    last = ("", "")
    for row in rows:
        cell = (row.model, row.prompt, row.condition, row.kind, row.by, row.slice)
        if cell in seen:
            continue
        seen.add(cell)
        made = row.estimate
        lead = ["" if row.model == last[0] else row.model, "" if (row.model, row.condition) == last else row.condition]
        counts = [str(made.n), str(made.n_unparsed), str(made.n_refused)]
        grid.add_row(*map(_cell, [*lead, f"{row.by} = {row.slice}", made.metric, interval(made), *counts]))
        last = (row.model, row.condition)
    return grid


def _confusion(table: ClassTable) -> Grid:
    names = [*table.labels, "unread"]
    grid = _grid(
        f"{table.task}, {table.model}, {table.condition}: target (rows) by answer (columns)",
        ["", *names, "precision", "recall", "F1", "support"],
        right=range(1, len(names) + 5),
    )
    for label, counts, row in zip(table.labels, table.confusion, table.rows, strict=True):
        scores = [number(row["precision"]), number(row["recall"]), number(row["f1"]), str(row["support"])]
        grid.add_row(*map(_cell, [label, *map(str, counts), *scores]))
    return grid


def print_comparison(console: Console, comparisons: Sequence[Comparison]) -> None:
    """Two runs side by side."""
    grid = _grid(
        "second − first, on the samples that both answered",
        ["task", "condition", "first", "second", "difference", "p", "p (Holm)", "only first", "only second", "n"],
        right=range(4, 10),
    )
    for one in comparisons:
        made = one.estimate
        cells = [one.task, one.condition, one.first, one.second, interval(made), p_value(one.p), p_value(one.p_holm)]
        grid.add_row(*map(_cell, [*cells, f"{one.only_first:g}", f"{one.only_second:g}", str(made.n)]))
    _print_grid(console, grid)
    for one in comparisons:
        if one.estimate.note:
            said = f"  {one.estimate.note}: {one.task}, {one.condition}"
            console.print(said, highlight=False, markup=False, soft_wrap=True)


def _print_notes(console: Console, results: Results) -> None:
    notes: dict[str, list[str]] = {}
    for row in results.rows:
        if row.estimate.note:
            where = f"{row.task}, {row.model}, {row.condition}" + (f", {row.by} = {row.slice}" if row.by else "")
            notes.setdefault(row.estimate.note, []).append(where)
        if row.estimate.n_failed:
            said = f"if failed answers were all wrong {number(row.if_failed_wrong)}, all right {number(row.if_failed_right)}"
            notes.setdefault(said, []).append(f"{row.task}, {row.model}, {row.condition}, {row.estimate.metric}")
    for pair in results.pairs:
        if pair.estimate.note:
            notes.setdefault(pair.estimate.note, []).append(f"{pair.task}, {pair.model}, {pair.first} / {pair.second}")
    inapplicable: Sequence[Mapping[str, Any]] = results.counts.get("inapplicable", ())
    for item in inapplicable:
        said = f"{item['condition']} does not apply to {item['samples']} samples"
        notes.setdefault(said, []).append(str(item["task"]))
    if notes:
        console.print()
        console.print("Notes", style="bold")
    for note, places in notes.items():
        unique = list(dict.fromkeys(places))
        more = f" and {len(unique) - 3} more" if len(unique) > 3 else ""
        console.print(f"  {note}: {'; '.join(unique[:3])}{more}", highlight=False, markup=False, soft_wrap=True)
