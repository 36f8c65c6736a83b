"""What a judge leaves in a run's manifest, as every later reading of the run needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyetest.evaluation.results import Results
from eyetest.evaluation.table import Cell
from eyetest.types import Estimate, Prediction


def cell_of(prediction: Prediction) -> Cell:
    """The cell of the grid that an answer belongs to."""
    return Cell(prediction.task, prediction.model, prediction.prompt, prediction.condition, prediction.sample.kind)


def withheld(manifest: Mapping[str, Any]) -> frozenset[Cell]:
    """Cells of which no number is given, because the judge left too many answers without a verdict."""
    return frozenset(Cell(*cell) for cell in manifest.get("judge", {}).get("withheld", ()))


def signature(judge: Mapping[str, Any]) -> str:
    """What a number's signature says of its judge. judge: as the manifest has it."""
    graded = "all" if judge["everything"] else "unread"
    return f"judge={judge['identity']},{judge['form']},prompt={judge['prompt_sha256']},votes={judge['votes']},{graded}"


def signed(results: Results, judge: Mapping[str, Any]) -> Results:
    """The results with the judge in the signature of every estimate."""
    mark = "|" + signature(judge)

    def marked(made: Estimate) -> Estimate:
        return replace(made, signature=made.signature + mark)

    return replace(
        results,
        rows=tuple(replace(row, estimate=marked(row.estimate)) for row in results.rows),
        pairs=tuple(replace(row, estimate=marked(row.estimate)) for row in results.pairs),
        findings=tuple(replace(row, estimate=marked(row.estimate)) for row in results.findings),
        standings=tuple(replace(row, estimate=marked(row.estimate)) for row in results.standings),
        model_pairs=tuple(replace(row, estimate=marked(row.estimate)) for row in results.model_pairs),
    )
