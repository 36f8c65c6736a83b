"""Two runs on the same samples: paired differences with intervals, tests and a Holm adjustment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from eyetest.errors import UsageError
from eyetest.evaluation.rescore import table_of
from eyetest.evaluation.table import Cell, Table
from eyetest.metrics import Columns, paired_difference
from eyetest.stats import holm_tested
from eyetest.types import Estimate


@dataclass(frozen=True, slots=True)
class Comparison:
    """One cell of the second run minus the same cell of the first."""

    task: str
    prompt: str
    condition: str
    first: str
    """Model of the first run."""
    second: str
    """Model of the second run."""
    estimate: Estimate
    """Second minus first, in credit an answer, over the samples that both answered."""
    p: float
    p_holm: float
    """Adjusted over all comparisons of this call."""
    test: str
    only_first: float
    """Answers right in the first run only."""
    only_second: float
    """Answers right in the second run only."""


def compare(first: Path, second: Path, *, seed: int = 0) -> tuple[Comparison, ...]:
    """Compare every cell that both runs have; models are matched by name, or the single ones with each other.

    Raises UsageError when the runs have nothing in common.
    """
    left, right = table_of(first, ()), table_of(second, ())
    made = list(_compared(left, right, seed))
    if not made and any(_partners(left, right)):
        raise UsageError(
            f"{first} and {second} have no answered sample in common. Runs are compared on the samples that both answered."
        )
    if not made:
        raise UsageError(
            f"{first} and {second} share no cell: the first has {_cells(left)}; the second has {_cells(right)}. "
            f"Runs are compared on the same task, model, prompt and condition; name and models are set in the run file."
        )
    adjusted = holm_tested([one.p for one in made])
    return tuple(replace(one, p_holm=float(p)) for one, p in zip(made, adjusted, strict=True))


def _compared(left: Table, right: Table, seed: int) -> Iterator[Comparison]:
    for cell, partner in _partners(left, right):
        a, b = _aligned(left, cell, right, partner)
        difference = paired_difference(b, a, seed=seed)
        if not difference.estimate.n:
            continue
        cells = difference.cells
        yield Comparison(
            cell.task,
            cell.prompt,
            cell.condition,
            cell.model,
            partner.model,
            difference.estimate,
            difference.p,
            math.nan,
            difference.test,
            cells.n01,
            cells.n10,
        )


def _partners(left: Table, right: Table) -> Iterator[tuple[Cell, Cell]]:
    left_models = {cell.model for cell in left.cells}
    right_models = {cell.model for cell in right.cells}
    single = len(left_models) == len(right_models) == 1
    for cell in left.cells:
        for model in sorted(right_models) if single else [cell.model]:
            partner = cell._replace(model=model)
            if partner in right.cells:
                yield cell, partner


def _aligned(left: Table, cell: Cell, right: Table, partner: Cell) -> tuple[Columns, Columns]:
    """Both cells with one numbering of their samples."""
    a, b = left.columns(cell), right.columns(partner)
    ids = {sample_id: number for number, sample_id in enumerate(sorted({*left.ids(cell.task), *right.ids(partner.task)}))}
    return left.renumbered(a, cell.task, ids), right.renumbered(b, partner.task, ids)


def _cells(table: Table) -> str:
    cells = [f"{cell.task}/{cell.model}/{cell.prompt}/{cell.condition}" for cell in table.cells]
    return ", ".join(cells[:4]) + (f" and {len(cells) - 4} more" if len(cells) > 4 else "")
