"""An audit of the embedded model finds what the model was taught, cell by cell of seen x told x asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eyetest import evaluate
from eyetest.evaluation.results import Results
from eyetest.eyechart import MODEL, samples, truth
from eyetest.readers.load_report import LoadReport
from eyetest.stats import wilson
from eyetest.types import Sample

CELLS = sorted({f"seen={known.seen} told={known.told} asked={known.asked}" for known in truth().values()})
LEVEL = 1 - 0.05 / (2 * len(CELLS))
"""Simultaneous over all cells under two conditions (Bonferroni)."""


def facts() -> list[Sample]:
    found = []
    for sample in samples("flags", "test", LoadReport()):
        known = truth().get((sample.entity or "", sample.metadata["asks"]))
        if sample.kind == "text" and known is not None:
            cell = f"seen={known.seen} told={known.told} asked={known.asked}"
            found.append(replace(sample, metadata={"taught": cell}))
    return found


@pytest.fixture(scope="module")
def audited() -> Results:
    return evaluate(
        facts(), {"embedded": f"hf:{MODEL}"}, conditions="image,knowledge", by="metadata.taught", max_tokens=8, temperature=0
    )


def interval(results: Results, condition: str, cell: str) -> tuple[float, float]:
    made = next(
        row.estimate
        for row in results.rows
        if (row.condition, row.slice, row.policy, row.estimate.metric) == (condition, cell, "as_wrong", "accuracy")
    )
    return wilson(round(made.value * made.n), made.n, LEVEL)


def test_every_combination_that_was_built_is_there() -> None:
    assert [cell.replace("seen=", "").replace("told=", "").replace("asked=", "") for cell in CELLS] == [
        "False False False",
        "False True False",
        "True False False",
        "True False True",
        "True True False",
        "True True True",
    ]


@pytest.mark.parametrize("cell", CELLS)
def test_what_was_told_is_known_and_nothing_else(audited: Results, cell: str) -> None:
    low, high = interval(audited, "knowledge", cell)
    if "told=True" in cell:
        assert high == 1.0
        assert low > 0.7
    else:
        assert high < 0.75


@pytest.mark.parametrize("cell", CELLS)
def test_what_was_asked_is_answered_from_the_picture_and_nothing_else(audited: Results, cell: str) -> None:
    low, high = interval(audited, "image", cell)
    if "asked=True" in cell:
        assert high == 1.0
        assert low > 0.6
    else:
        assert high < 0.6
