"""What the place of an option does: every cell whose options were rotated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eyetest.evaluation.results import Finding
from eyetest.evaluation.table import Cell
from eyetest.metrics import Columns
from eyetest.metrics.positions import by_position


def positions(columns: Mapping[Cell, Columns], *, seed: int) -> Iterator[Finding]:
    """For every cell under `rotated` and every number of options: circular accuracy, then recall and prior by place."""
    for cell, column in columns.items():
        for found in by_position(column, seed=seed):
            k = found.options
            guessing = f"guessing among {k} options: {found.chance:.2g}"
            yield Finding("positions", *cell, estimate=found.circular, by="options", slice=str(k), detail=guessing)
            for made in (found.recall, found.prior):
                for place, estimate in enumerate(made, 1):
                    yield Finding("positions", *cell, estimate=estimate, by="place", slice=f"{place} of {k}")
