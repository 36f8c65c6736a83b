"""Results as flat tables, the same for the page, for CSV and for LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from eyetest.evaluation.summary import ClassTable, PairRow, Results, Row
from eyetest.metrics import KnowledgeTable
from eyetest.reports.facts import Facts
from eyetest.reports.naming import POLICIES
from eyetest.reports.wording import count, hundredths, p_value, rate
from eyetest.types import Estimate


@dataclass(frozen=True, slots=True)
class Span:
    """A rate with its interval, all in [0, 1] (a difference or a gap rate may be negative); nan where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan
    alone: bool = False
    """A number that never has an interval (guessing, bounds): no "[withheld]" beside it."""

    def __str__(self) -> str:
        return hundredths(self.value) if self.alone else rate(self.value, self.low, self.high)


@dataclass(frozen=True, slots=True)
class P:
    """A p-value."""

    value: float

    def __str__(self) -> str:
        return p_value(self.value)


Value = str | int | float | Span | P
"""What stands in a table. Texts are untrusted; a float is a count that may be fractional."""


def written(value: Value) -> str:
    """A value as people read it."""
    return count(value) if isinstance(value, int | float) else str(value)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table: a row a thing, a column a fact."""

    name: str
    """File name without ending."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def of(self, task: str) -> Sheet:
        """The rows of one task, without the column that names it."""
        place = self.columns.index("task")
        rows = tuple(row[:place] + row[place + 1 :] for row in self.rows if row[place] == task)
        return Sheet(self.name, self.title, self.columns[:place] + self.columns[place + 1 :], rows)

    def without(self, constant: Sequence[str]) -> Sheet:
        """Without those of the columns `constant` (texts and rates) that say the same in every row, or nothing."""
        dull = {place for place, column in enumerate(self.columns) if column in constant and self._says_nothing(place)}
        keep = [place for place in range(len(self.columns)) if place not in dull]
        rows = tuple(tuple(row[place] for place in keep) for row in self.rows)
        return Sheet(self.name, self.title, tuple(self.columns[place] for place in keep), rows)

    def _says_nothing(self, place: int) -> bool:
        """The same text in every row, or a number that is nowhere defined."""
        values = {row[place] if isinstance(row[place], str) else math.isnan(row[place].value) for row in self.rows}  # type: ignore[union-attr]
        return len(values) < 2 and False not in values


def sheets_of(results: Results, facts: Sequence[Facts]) -> tuple[Sheet, ...]:
    """Every table of a run that has a row."""
    made = (
        _cells(facts),
        _scores(results.rows),
        _failures(results.rows),
        _pairs(results.pairs),
        _gaps(results.pairs),
        _knowledge(facts),
        _classes(results.classes),
        _confusion(results.classes),
        _slices(results.rows),
    )
    return tuple(sheet for sheet in made if sheet.rows)


_CELL = ("task", "prompt", "model", "condition", "kind")


def _cell(row: Row) -> tuple[Value, ...]:
    return row.task, row.prompt, row.model, row.condition, row.kind


def _span(row: Row | PairRow) -> Span:
    made = row.estimate
    return Span(made.value, made.low, made.high)


def _cells(facts: Sequence[Facts]) -> Sheet:
    counted = ("n", "right with", "right without", "only with", "both ways", "only without", "never")
    columns = ("task", "kind", "prompt", "model", "without", *counted, "guessing %")
    rows = []
    for one in facts:
        if one.cells is not None:
            both, only_with, only_without, neither = one.cells
            counts = (one.n_both, both + only_with, both + only_without, only_with, both, only_without, neither)
            rows.append((one.task, one.kind, one.prompt, one.model, one.blind, *counts, Span(one.chance, alone=True)))
    return Sheet("cells", "Right with and without the picture, counts", columns, tuple(rows))


def _scores(rows: Sequence[Row]) -> Sheet:
    columns = (*_CELL, "metric", "policy", "score %", "guessing %", "best %", "n", "distinct requests", "note", "signature")
    made = tuple(
        (
            *_cell(row),
            row.estimate.metric,
            POLICIES.get(row.policy, row.policy),
            _span(row),
            Span(row.chance, alone=True),
            Span(row.best, alone=True),
            row.estimate.n,
            row.estimate.n_distinct,
            row.estimate.note,
            row.estimate.signature,
        )
        for row in rows
        if not row.by
    )
    return Sheet("scores", "Every metric of every cell", columns, made)


def first_rows(rows: Iterable[Row], *, sliced: bool = False) -> Iterator[Row]:
    """The headline of every cell, or of every slice of it."""
    seen: set[tuple[Value, ...]] = set()
    for row in rows:
        key = (*_cell(row), row.by, row.slice)
        if bool(row.by) is sliced and key not in seen:
            seen.add(key)
            yield row


def _failures(rows: Sequence[Row]) -> Sheet:
    success = {_cell(row): _span(row) for row in rows if not row.by and row.estimate.metric == "success_rate"}
    columns = (
        *_CELL,
        "n",
        "success rate %",
        "unparsed",
        "refused",
        "failed",
        "score % if failed wrong",
        "score % if failed right",
    )
    made = tuple(
        (
            *_cell(row),
            row.estimate.n,
            success.get(_cell(row), Span(math.nan)),
            row.estimate.n_unparsed,
            row.estimate.n_refused,
            row.estimate.n_failed,
            Span(row.if_failed_wrong, alone=True),
            Span(row.if_failed_right, alone=True),
        )
        for row in first_rows(rows)
    )
    return Sheet("failures", "Success rate, unparsed and refused answers, failures", columns, made)


def _pairs(pairs: Sequence[PairRow]) -> Sheet:
    columns = ("task", "prompt", "model", "first", "second", "difference, points", "p", "p (Holm)", "test", "n", "note")
    made = tuple(
        (
            pair.task,
            pair.prompt,
            pair.model,
            pair.first,
            pair.second,
            _span(pair),
            P(pair.p),
            P(pair.p_holm),
            pair.test,
            pair.estimate.n,
            pair.estimate.note,
        )
        for pair in pairs
        if pair.estimate.metric != "gap_rate"
    )
    return Sheet("differences", "Paired differences between conditions, first minus second", columns, made)


def _gaps(pairs: Sequence[PairRow]) -> Sheet:
    columns = ("task", "prompt", "model", "without", "gap rate %", "n", "note")
    made = tuple(
        (pair.task, pair.prompt, pair.model, pair.second, _span(pair), pair.estimate.n, pair.estimate.note)
        for pair in pairs
        if pair.estimate.metric == "gap_rate"
    )
    return Sheet("gap_rates", "Share of the score that goes with the picture", columns, made)


RATIOS: tuple[tuple[str, str, Callable[[KnowledgeTable], Estimate]], ...] = (
    ("known if right with the picture", "SuR", lambda known: known.sur),
    ("not known if wrong with the picture", "NeR", lambda known: known.ner),
    ("right with the picture if known", "", lambda known: known.p_vq_given_k),
    ("wrong with the picture if not known", "", lambda known: known.p_not_vq_given_not_k),
)
"""Plain name, the second paper's name (arXiv 2410.12329, eqs. 4 and 5) and where the ratio is."""


def _knowledge(facts: Sequence[Facts]) -> Sheet:
    columns = ("task", "kind", "prompt", "model", "n", "both right", "only with picture", "only knowledge", "neither")
    ratio_columns = tuple(column for name, paper, _ in RATIOS for column in (f"{paper or name} %", f"{paper or name} of"))
    rows: list[tuple[Value, ...]] = []
    for one in facts:
        known = one.knowledge
        if known is not None:
            ratios = [get(known) for _, _, get in RATIOS]
            spans = [value for ratio in ratios for value in (Span(ratio.value, ratio.low, ratio.high), ratio.n)]
            rows.append((one.task, one.kind, one.prompt, one.model, sum(known.cells), *known.cells, *spans))
    title = "The question with its picture beside the same fact as pure knowledge"
    return Sheet("knowledge", title, (*columns, *ratio_columns), tuple(rows))


def _classes(tables: Sequence[ClassTable]) -> Sheet:
    columns = ("task", "prompt", "model", "condition", "label", "precision %", "recall %", "F1 %", "support", "answered")
    made = tuple(
        (
            table.task,
            table.prompt,
            table.model,
            table.condition,
            row["label"],
            *(Span(row[name], alone=True) for name in ("precision", "recall", "f1")),
            row["support"],
            row["predicted"],
        )
        for table in tables
        for row in table.rows
    )
    return Sheet("classes", "Precision, recall and F1 of each label", columns, made)


def _confusion(tables: Sequence[ClassTable]) -> Sheet:
    columns = ("task", "prompt", "model", "condition", "right answer", "answer given", "count")
    made = tuple(
        (table.task, table.prompt, table.model, table.condition, label, given, count)
        for table in tables
        for label, counts in zip(table.labels, table.confusion, strict=False)  # no counts where labels are very many
        for given, count in zip((*table.labels, UNPARSED), counts, strict=True)
        if count
    )
    return Sheet("confusion", "Right answer by answer given", columns, made)


UNPARSED = "unparsed, refused"
"""Column of a confusion matrix for answers that name no label."""


def _slices(rows: Sequence[Row]) -> Sheet:
    columns = (*_CELL, "slice by", "value", "metric", "score %", "guessing %", "n", "unparsed", "refused", "failed", "note")
    made = tuple(
        (
            *_cell(row),
            row.by,
            row.slice,
            row.estimate.metric,
            _span(row),
            Span(row.chance, alone=True),
            row.estimate.n,
            row.estimate.n_unparsed,
            row.estimate.n_refused,
            row.estimate.n_failed,
            row.estimate.note,
        )
        for row in first_rows(rows, sliced=True)
    )
    return Sheet("slices", "The headline of every slice", columns, made)
