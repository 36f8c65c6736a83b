"""Everything a report says of one run, as values; nothing is formatted here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyetest.evaluation.audit import Audit
from eyetest.evaluation.groups import by_group
from eyetest.evaluation.items import Item, items
from eyetest.evaluation.rescore import summed_up
from eyetest.evaluation.results import Results
from eyetest.evaluation.rundir import finished, read_manifest
from eyetest.evaluation.table import Table
from eyetest.reports.cards import Asked, Card, choose, collect
from eyetest.reports.facts import Facts, facts_of
from eyetest.reports.paper_printed import paper_sheets
from eyetest.reports.sheet import Sheet
from eyetest.reports.sheets import items_sheet, sheets_of


@dataclass(frozen=True, slots=True)
class Gathered:
    """One run, summed up."""

    directory: Path
    manifest: Mapping[str, Any]
    results: Results
    facts: tuple[Facts, ...]
    sheets: tuple[Sheet, ...]
    cards: tuple[Card, ...]
    items: tuple[Item, ...]
    """Every question that was asked with its picture and as pure knowledge, by model."""
    examples: Mapping[str, tuple[Asked, ...]]
    """Task -> one example of what each condition x prompt x kind asked."""
    audits: tuple[Audit, ...] = ()
    """What `eyetest audit` concludes; empty for a plain report."""

    @property
    def to_keep(self) -> tuple[Sheet, ...]:
        """Every table that is worth a file: those of the page, and every question asked as knowledge, too."""
        return (*self.sheets, items_sheet(self.items)) if self.items else self.sheets

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks with an answer, in the order of the grid."""
        return tuple(dict.fromkeys(row.task for row in self.results.rows))

    @property
    def models(self) -> tuple[str, ...]:
        """Models with an answer, in the order of the grid."""
        return tuple(dict.fromkeys(row.model for row in self.results.rows))


def gather(
    directory: Path,
    by: tuple[str, ...] | None = None,
    *,
    samples: bool = True,
    summed: tuple[Table, Results] | None = None,
) -> Gathered:
    """Read a finished run: once for the numbers and, if `samples`, once more for the few texts that are shown.

    by: other slices than the run's own; summed: the numbers, where a run has just summed them up. Raises StoreError,
    UsageError.
    """
    manifest = read_manifest(directory)
    predictions = finished(directory)
    table, results = summed or summed_up(directory, by)
    columns = {cell: table.columns(cell) for cell in table.cells}
    groups = by_group(columns)
    facts = facts_of(groups, results, seed=results.seed)
    cards, examples = collect(predictions, choose(table, groups, seed=results.seed)) if samples else ((), {})
    sheets = (*sheets_of(results, facts), *paper_sheets(columns, facts, seed=results.seed))
    return Gathered(directory, manifest, results, facts, sheets, cards, tuple(items(groups, table)), examples)
