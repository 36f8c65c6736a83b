"""Scores over strata that the makers of a dataset fixed: the error within them, and the mean of their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eyetest.evaluation.results import Finding
from eyetest.evaluation.table import Cell
from eyetest.metrics import Columns
from eyetest.metrics.strata import stratified


def strata(sliced: Mapping[Cell, Mapping[str, Mapping[str, Columns]]], *, seed: int) -> Iterator[Finding]:
    """For every slice field of every cell: the plain mean with the error within slices, and the mean of the slices' means.

    sliced: cell -> field -> value -> columns.
    """
    for cell, fields in sliced.items():
        for by, parts in fields.items():
            if len(parts) > 1 and by != "flag":
                for name, equal in (("accuracy_stratified", False), ("accuracy_mean_of_slices", True)):
                    yield Finding("strata", *cell, estimate=stratified(name, parts, equal=equal, seed=seed), by=by)
