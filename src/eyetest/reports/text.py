"""Results as tables on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from eyetest.evaluation.compare import Comparison
from eyetest.evaluation.results import ClassTable, Finding, PairRow, Panel, Results, Row, Standing, first_rows
from eyetest.reports.facts import Facts
from eyetest.reports.measures import measure
from eyetest.reports.naming import KINDS, POLICIES, Naming, folded, of_cells, of_prompts
from eyetest.reports.sentences import in_words
from eyetest.reports.sheets import ADJUSTED, UNPARSED
from eyetest.types import Estimate

PLAIN_WIDTH = 160
"""Columns of the tables where output is no terminal."""

_IN_SCORES = ("accuracy", "score_rate", "success_rate")
"""Metrics that the table of scores already holds."""

MODEL_WIDTH, CONDITION_WIDTH, WIDE = 40, 35, 60
"""Characters in which names of models, of conditions and slices, and of conditions where there is room, are folded."""

NARROWEST = 12
"""Characters that a column of names keeps on the narrowest terminal; numbers are never broken."""

GAP = 2
"""Blanks between two columns."""

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


def _lead(model: str, condition: str, width: int = CONDITION_WIDTH) -> Iterator[str]:
    """The names that a line begins with, folded so that its numbers keep their place."""
    yield folded(model, MODEL_WIDTH)
    yield folded(condition, width)


def grid_of(title: str, columns: Sequence[str], right: Iterable[int] = ()) -> Grid:
    """An empty table. right: places of the columns of numbers, which are never broken."""
    grid = Grid(title=_cell(title), header_style="bold", pad_edge=False, box=None)
    numeric = set(right)
    for place, name in enumerate(columns):
        grid.add_column(_cell(name), justify="right" if place in numeric else "left", no_wrap=place in numeric, overflow="fold")
    return grid


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a reader that went away to the command line; rich would exit with 1, which here means failed answers."""
        raise BrokenPipeError


def print_grid(console: Console, grid: Grid) -> None:
    """The title apart, because rich breaks it where the table ends.

    What is wider than the terminal runs over its edge: rich would cut digits off, and leave other numbers.
    """
    title, grid.title = grid.title, None
    console.print()
    console.print(title, style="bold", soft_wrap=True)
    room = console.width
    if Measurement.get(console, console.options.update(width=10_000), grid).maximum > room:
        for column in grid.columns:
            longest = max(len(line) for cell in (column.header, *column.cells) for line in (str(cell).splitlines() or [""]))
            column.min_width = longest if column.no_wrap else min(NARROWEST, longest)
        room = max(room, sum(column.min_width or 0 for column in grid.columns) + GAP * (len(grid.columns) - 1))
    for line in console.render_lines(grid, console.options.update(width=room), pad=False):
        styled = Text.assemble(*((part.text, part.style or "") for part in line))
        styled.rstrip()
        console.print(styled, soft_wrap=True)


def terminal(*, stderr: bool = False) -> Console:
    """A console; where output is no terminal, wide enough for the tables."""
    # A model called `constant:A:` is no emoji.
    console = _Console(stderr=stderr, emoji=False)
    return console if console.is_terminal else _Console(stderr=stderr, emoji=False, width=PLAIN_WIDTH)


def print_results(console: Console, results: Results, facts: Sequence[Facts] = ()) -> None:
    """Everything a run found: facts in words, scores by condition, pairs, classes, slices, notes."""
    if facts:
        console.print()
        console.print("In words", style="bold")
    for sentence in in_words(facts):
        console.print(f"  {sentence}", highlight=False, markup=False, soft_wrap=True)
    for task in dict.fromkeys(row.task for row in results.rows):
        rows = [row for row in results.rows if row.task == task]
        whole = [row for row in rows if not row.by]
        grids = [_scores(task, whole), _other_metrics(task, whole)]
        kinds = list(dict.fromkeys(row.kind for row in whole if row.condition == "image"))
        grids += [_pairs(task, [pair for pair in results.pairs if pair.task == task], kinds, ADJUSTED[results.adjustment])]
        grids += [_slices(task, [row for row in rows if row.by])]
        grids += [_ranks(task, [row for row in results.standings if row.task == task])]
        grids += _findings(task, [row for row in results.findings if row.task == task])
        for grid in grids:
            if grid.row_count:
                print_grid(console, grid)
    means = _measures("Means of tasks", [row for row in results.findings if row.panel == "families"])
    if means.row_count:
        print_grid(console, means)
    _print_confusions(console, results.classes)
    _print_notes(console, results)


def _by_cell(rows: Sequence[Row]) -> Iterator[tuple[tuple[str, str], list[Row]]]:
    """Rows of each cell with how it is called: (model, condition), prompt and kind named where there are several."""
    naming = of_cells(rows)
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.model, naming.of(row.condition, row.prompt, row.kind)), []).append(row)
    yield from cells.items()


def _without_repeats(names: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """A model's name stands in its first line only."""
    last = None
    for model, condition in names:
        yield ("" if model == last else model, condition)
        last = model


def _scores(task: str, rows: Sequence[Row]) -> Grid:
    """One line a cell: the headline with its interval, guessing, success rate, counts."""
    named = {row.estimate.metric for row in first_rows(rows)}
    headline = rows[0].estimate.metric if len(named) == 1 else "score"
    grid = grid_of(
        f"{task}: {headline} with 95 % intervals",
        ["model", "condition", headline, "guessing", "parsed only", "success rate", "n", "unparsed", "refused", "failed"],
        right=range(2, 10),
    )
    cells = list(_by_cell(rows))
    for (model, condition), (_, of_cell) in zip(_without_repeats(name for name, _ in cells), cells, strict=True):
        first = of_cell[0]
        made = first.estimate
        parsed = _value(of_cell, made.metric, "parsed_only")
        counts = [str(count) for count in (made.n, made.n_unparsed, made.n_refused, made.n_failed)]
        success = _value(of_cell, "success_rate", "as_wrong")
        grid.add_row(*map(_cell, [*_lead(model, condition), interval(made), number(first.chance), parsed, success, *counts]))
    return grid


def _value(rows: Sequence[Row], metric: str, policy: str) -> str:
    return next((number(row.estimate.value) for row in rows if (row.estimate.metric, row.policy) == (metric, policy)), "–")


MOST_METRICS = 6
"""Metrics of that table; the page and the CSV have all."""


def _other_metrics(task: str, rows: Sequence[Row]) -> Grid:
    """Class-wise metrics, where the samples share their labels."""
    names = list(dict.fromkeys(row.estimate.metric for row in rows if row.estimate.metric not in _IN_SCORES))
    names = names[:MOST_METRICS]
    grid = grid_of(f"{task}: other metrics, unparsed as wrong", ["model", "condition", *names], right=range(2, 2 + len(names)))
    if not names:
        return grid
    cells = list(_by_cell(rows))
    for (model, condition), (_, of_cell) in zip(_without_repeats(name for name, _ in cells), cells, strict=True):
        found = {row.estimate.metric: interval(row.estimate) for row in of_cell if row.policy == "as_wrong"}
        if any(name in found for name in names):
            grid.add_row(*map(_cell, [*_lead(model, condition), *(found.get(name, "–") for name in names)]))
    return grid


def _pairs(task: str, pairs: Sequence[PairRow], kinds: Sequence[str], adjusted: str) -> Grid:
    """kinds: of the questions that a pair puts together."""
    together = f", {' and '.join(KINDS.get(kind, kind) for kind in kinds)} together" if len(kinds) > 1 else ""
    grid = grid_of(
        f"{task}: conditions compared on the same samples{together}, in credit an answer",
        ["model", "measure", "value", "p", adjusted, "n"],
        right=range(2, 6),
    )
    last, naming = None, of_prompts(pairs)
    for pair in pairs:
        made = pair.estimate
        measure = f"gap rate, {pair.second}" if made.metric == "gap_rate" else f"{pair.first} − {pair.second}"
        cells = [interval(made), p_value(pair.p), p_value(pair.p_holm), str(made.n)]
        named = _lead("" if pair.model == last else pair.model, naming.of(measure, pair.prompt), WIDE)
        grid.add_row(*map(_cell, [*named, *cells]))
        last = pair.model
    return grid


def _slices(task: str, rows: Sequence[Row]) -> Grid:
    """The headline of every slice."""
    names = ["model", "condition", "slice", "metric", "value", "guessing", "n", "unparsed", "refused"]
    grid = grid_of(f"{task}: slices", names, right=range(4, 9))
    naming = of_cells(rows)
    last = ("", "")
    for row in first_rows(rows, sliced=True):
        made, condition = row.estimate, naming.of(row.condition, row.prompt, row.kind)
        lead = _lead("" if row.model == last[0] else row.model, "" if (row.model, condition) == last else condition)
        part = folded(f"{row.by} = {row.slice}", CONDITION_WIDTH)
        counts = [number(row.chance), str(made.n), str(made.n_unparsed), str(made.n_refused)]
        grid.add_row(*map(_cell, [*lead, part, made.metric, interval(made), *counts]))
        last = (row.model, condition)
    return grid


def _ranks(task: str, rows: Sequence[Standing]) -> Grid:
    """Models in order; what is not resolved shares a rank."""
    grid = grid_of(f"{task}: ranks that are not ruled out", ["condition", "ranks", "model", "score", "n"], right=(1, 3, 4))
    last, naming = None, of_cells(rows)
    for row in rows:
        condition = naming.of(row.condition, row.prompt, row.kind)
        lead = folded("" if condition == last else condition, CONDITION_WIDTH)
        grid.add_row(*map(_cell, [lead, row.ranks, folded(row.model, MODEL_WIDTH), interval(row.estimate), str(row.estimate.n)]))
        last = condition
    return grid


_SHORT: Mapping[Panel, str] = {
    "dependence": "more about the picture",
    "probabilities": "probabilities",
    "positions": "places of options",
    "repeats": "repeats",
    "prompts": "wordings",
    "fairness": "false alarms, misses, refusals",
}
"""Panels of the terminal, in order; slices together and groups, except the worst, are in the page and the CSV."""


_OF_IMAGE = ("fairness", "probabilities")
"""Panels of which the terminal has the condition `image` only."""


def _findings(task: str, rows: Sequence[Finding]) -> list[Grid]:
    """A grid a panel."""
    kept = [row for row in rows if row.panel not in _OF_IMAGE or row.condition == "image"]
    kept = [row for row in kept if row.panel != "fairness" or not row.slice or row.detail]
    return [_measures(f"{task}: {words}", [row for row in kept if row.panel == panel]) for panel, words in _SHORT.items()]


def _measures(title: str, rows: Sequence[Finding]) -> Grid:
    """Numbers beyond scores: one line each."""
    grid = grid_of(title, ["model", "condition", "measure", "value", "n", ""], right=(3, 4))
    last, naming = None, of_cells(rows)
    for row in rows:
        made = row.estimate
        named = _lead("" if row.model == last else row.model, naming.of(row.condition, row.prompt, row.kind))
        value = (
            number(made.value) if math.isnan(made.low) and made.signature.split("|")[1:2] == ["interval=none"] else interval(made)
        )
        about = f"{row.by} = {row.slice}" if row.slice else row.by
        more = "; ".join(part for part in (about, row.detail, _ends(row)) if part)
        cells = [folded(measure(made.metric).words, CONDITION_WIDTH), value, str(made.n), folded(more, CONDITION_WIDTH)]
        grid.add_row(*map(_cell, [*named, *cells]))
        last = row.model
    return grid


def _ends(row: Finding) -> str:
    return "" if math.isnan(row.lowest) else f"{number(row.lowest)} to {number(row.highest)}"


def _print_confusions(console: Console, tables: Sequence[ClassTable]) -> None:
    shown = [table for table in tables if table.condition == "image" and len(table.labels) <= MAX_CLASSES]
    for table in shown:
        naming = of_prompts(other for other in shown if other.task == table.task)
        print_grid(console, _confusion(table, naming))


def _confusion(table: ClassTable, naming: Naming) -> Grid:
    names = [*table.labels, UNPARSED]
    grid = grid_of(
        f"{table.task}, {table.model}, {naming.of(table.condition, table.prompt)}: target (rows) by answer (columns)",
        ["", *names, "precision", "recall", "F1", "support"],
        right=range(1, len(names) + 5),
    )
    for label, counts, row in zip(table.labels, table.confusion, table.rows, strict=True):
        scores = [number(row["precision"]), number(row["recall"]), number(row["f1"]), str(row["support"])]
        grid.add_row(*map(_cell, [label, *map(str, counts), *scores]))
    return grid


def print_comparison(console: Console, comparisons: Sequence[Comparison]) -> None:
    """Two runs side by side; a model that is called the same in both is named once."""
    same = all(one.first == one.second for one in comparisons)
    models = ["model"] if same else ["first", "second"]
    numbers = ["difference", "p", "p (Holm)", "first only", "second only", "n"]
    start = 2 + len(models)
    grid = grid_of(
        "second − first, on the samples that both answered; right under one only (discordant): first only, second only",
        ["task", "condition", *models, *numbers],
        right=range(start, start + len(numbers)),
    )
    naming = of_prompts(comparisons)
    for one in comparisons:
        made, names = one.estimate, [one.first] if same else [one.first, one.second]
        lead = [folded(one.task, CONDITION_WIDTH), folded(naming.of(one.condition, one.prompt), CONDITION_WIDTH)]
        lead += [folded(name, MODEL_WIDTH // len(names)) for name in names]
        cells = [interval(made), p_value(one.p), p_value(one.p_holm), f"{one.only_first:g}", f"{one.only_second:g}", str(made.n)]
        grid.add_row(*map(_cell, [*lead, *cells]))
    print_grid(console, grid)
    for one in comparisons:
        if one.estimate.note:
            said = f"  {one.estimate.note}: {one.task}, {naming.of(one.condition, one.prompt)}"
            console.print(said, highlight=False, markup=False, soft_wrap=True)


def _print_notes(console: Console, results: Results) -> None:
    """Every note once, with the first places where it holds."""
    notes: dict[str, list[str]] = {}
    for note, place in _notes(results):
        notes.setdefault(note, []).append(place)
    if notes:
        console.print()
        console.print("Notes", style="bold")
    for note, places in notes.items():
        unique = list(dict.fromkeys(places))
        more = f" and {len(unique) - 3} more" if len(unique) > 3 else ""
        console.print(f"  {note}: {'; '.join(unique[:3])}{more}", highlight=False, markup=False, soft_wrap=True)


def _notes(results: Results) -> Iterator[tuple[str, str]]:
    """(note, place) of every number that has one; bounds for failed answers are those of the headline."""
    naming = {task: of_cells(row for row in results.rows if row.task == task) for task in {row.task for row in results.rows}}

    def place(row: Row) -> str:
        return f"{row.task}, {row.model}, {naming[row.task].of(row.condition, row.prompt, row.kind)}"

    for row in results.rows:
        if row.estimate.note:
            yield row.estimate.note, place(row) + (f", {row.by} = {row.slice}" if row.by else "")
    for row in first_rows(results.rows):
        if row.estimate.n_failed:
            wrong, right = number(row.if_failed_wrong), number(row.if_failed_right)
            of = f"{row.estimate.metric}, {POLICIES.get(row.policy, row.policy)}"
            yield f"if failed answers were all wrong {wrong}, all right {right}", f"{place(row)}, {of}"
    for pair in results.pairs:
        if pair.estimate.note:
            compared = naming[pair.task].of(f"{pair.first} / {pair.second}", pair.prompt)
            yield pair.estimate.note, f"{pair.task}, {pair.model}, {compared}"
    inapplicable: Sequence[Mapping[str, Any]] = results.counts.get("inapplicable", ())
    for item in inapplicable:
        yield f"{item['condition']} does not apply to {item['samples']} samples", str(item["task"])
