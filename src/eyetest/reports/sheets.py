"""Results as flat tables, the same for the page, for CSV and for LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from eyetest.evaluation.items import Item
from eyetest.evaluation.results import ClassTable, Finding, ModelPair, PairRow, Panel, Results, Row, Standing, first_rows
from eyetest.metrics import KnowledgeTable
from eyetest.reports.facts import Facts
from eyetest.reports.measures import measure
from eyetest.reports.naming import POLICIES
from eyetest.reports.sheet import P, Plain, Sheet, Span, Value
from eyetest.types import Estimate


def sheets_of(results: Results, facts: Sequence[Facts]) -> tuple[Sheet, ...]:
    """Every table of a run that has a row."""
    made = (
        _cells(facts),
        _scores(results.rows),
        _failures(results.rows),
        _pairs(results.pairs, results.adjustment),
        _gaps(results.pairs),
        _knowledge(facts),
        _classes(results.classes),
        _confusion(results.classes),
        _slices(results.rows),
        _ranks(results.standings),
        _model_pairs(results.model_pairs, results.adjustment),
        *(_findings(results.findings, panel) for panel in PANELS),
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
    columns = (
        *(*_CELL, "metric", "policy", "score %", "guessing %", "best %", "SD between repeats %"),
        *("n", "distinct requests", "note", "signature"),
    )
    made = tuple(
        (
            *_cell(row),
            row.estimate.metric,
            POLICIES.get(row.policy, row.policy),
            _span(row),
            Span(row.chance, alone=True),
            Span(row.best, alone=True),
            Span(row.sd_between_repeats, alone=True),
            row.estimate.n,
            row.estimate.n_distinct,
            row.estimate.note,
            row.estimate.signature,
        )
        for row in rows
        if not row.by
    )
    return Sheet("scores", "Every metric of every cell", columns, made)


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


ADJUSTED: Mapping[str, str] = {"holm": "p (Holm)", "benjamini_hochberg": "p (Benjamini-Hochberg)"}
"""How p-values were adjusted -> heading."""


def _pairs(pairs: Sequence[PairRow], adjustment: str) -> Sheet:
    columns = ("task", "prompt", "model", "first", "second", "difference, points", "p", ADJUSTED[adjustment], "test", "n", "note")
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
    columns = (
        "task",
        "prompt",
        "model",
        "condition",
        "label",
        "precision %",
        "recall %",
        "F1 %",
        "support",
        "answered",
        "unparsed",
        "refused",
        "blocked",
    )
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
            *(row[name] for name in ("unparsed", "refused", "blocked")),
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


PANELS: Mapping[Panel, tuple[str, str]] = {
    "dependence": ("dependence", "What picture, question and knowledge give"),
    "families": ("means", "Means of the tasks of one family"),
    "strata": ("strata", "Score over slices: error within them, and the mean of their means"),
    "positions": ("positions", "What the place of an option does"),
    "repeats": ("repeats", "How much repeats of one prompt differ"),
    "prompts": ("prompts", "How much prompts differ"),
    "probabilities": ("probabilities", "What the probabilities of the options are worth"),
    "fairness": ("fairness", "False alarms, misses and refusals by group"),
}
"""Panel -> name and title of its table."""


def _number(made: Estimate) -> Span:
    return (Span if measure(made.metric).share else Plain)(made.value, made.low, made.high)


def _findings(findings: Sequence[Finding], panel: Panel) -> Sheet:
    """One panel; numbers of different units stand in one column, as the measure says."""
    name, title = PANELS[panel]
    columns = (
        *_CELL,
        "slice by",
        "slice",
        "measure",
        "result %",
        "lowest %",
        "highest %",
        "p",
        "p (Holm)",
        "n",
        "detail",
        "note",
    )
    made = tuple(
        (
            *(row.task, row.prompt, row.model, row.condition, row.kind),
            row.by,
            row.slice,
            measure(row.estimate.metric).words,
            _number(row.estimate),
            Span(row.lowest, alone=True),
            Span(row.highest, alone=True),
            P(row.p),
            P(row.p_adjusted),
            row.estimate.n,
            row.detail,
            row.estimate.note,
        )
        for row in findings
        if row.panel == panel
    )
    return Sheet(name, title, columns, made)


def _ranks(standings: Sequence[Standing]) -> Sheet:
    columns = (
        "task",
        "prompt",
        "condition",
        "kind",
        "rank",
        "best rank",
        "worst rank",
        "model",
        "metric",
        "score %",
        "n",
        "note",
    )
    made = tuple(
        (
            *(row.task, row.prompt, row.condition, row.kind, row.rank, row.rank_low, row.rank_high, row.model),
            *(row.estimate.metric, _number(row.estimate), row.estimate.n, row.estimate.note),
        )
        for row in standings
    )
    return Sheet("ranks", "Models in order, with the ranks that are not ruled out", columns, made)


def items_sheet(items: Sequence[Item]) -> Sheet:
    """A row a question; apart from the other tables because it is long and names samples."""
    columns = ("task", "kind", "prompt", "model", "sample", "list", "right with the picture %", "right on the fact %")
    rows = tuple(
        (
            *(one.task, one.kind, one.prompt, one.model, one.sample, one.place),
            *(Span(one.seen, alone=True), Span(one.known, alone=True)),
        )
        for one in items
    )
    return Sheet("items", "Every question asked with its picture and as pure knowledge", columns, rows)


def _model_pairs(pairs: Sequence[ModelPair], adjustment: str) -> Sheet:
    columns = (
        *("task", "prompt", "condition", "kind", "first", "second", "difference, points", "p", ADJUSTED[adjustment], "test"),
        *("resolution ratio", "detectable, points", "n", "note"),
    )
    made = tuple(
        (
            *(row.task, row.prompt, row.condition, row.kind, row.first, row.second),
            *(_number(row.estimate), P(row.p), P(row.p_adjusted), row.test),
            *(Plain(row.resolution, alone=True), Span(row.detectable, alone=True), row.estimate.n, row.estimate.note),
        )
        for row in pairs
    )
    return Sheet("models", "Models compared on the questions that both answered, first minus second", columns, made)
