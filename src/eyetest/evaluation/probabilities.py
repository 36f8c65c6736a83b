"""What the probabilities of the options are worth, where a run asked for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from eyetest.evaluation.fairness import positive_of
from eyetest.evaluation.results import Finding
from eyetest.evaluation.table import Cell
from eyetest.metrics import Columns
from eyetest.metrics.fairness import precision_at_fpr
from eyetest.metrics.probabilities import brier, disagreement, expected_calibration_error, risk_coverage, roc_auc
from eyetest.tasks import Task

FALSE_POSITIVE_RATE = 0.05
"""At which precision and recall of a two-label task are given."""


def probabilities(columns: Mapping[Cell, Columns], tasks: Mapping[str, Task], *, seed: int) -> Iterator[Finding]:
    """ROC AUC, calibration, selective accuracy and precision at a false positive rate of every cell with probabilities."""
    for cell, column in columns.items():
        if not column.probabilities.shape[1] or not column.labels:
            continue
        risk = risk_coverage(column, seed=seed)
        for made in (
            roc_auc(column, seed=seed),
            expected_calibration_error(column, seed=seed),
            brier(column, seed=seed),
            risk.aurc,
            risk.selective_accuracy,
            disagreement(column, seed=seed),
        ):
            yield Finding("probabilities", *cell, estimate=made)
        positive = positive_of(cell, column, tasks)
        if positive is not None:
            cut = precision_at_fpr(column, positive, FALSE_POSITIVE_RATE, seed=seed)
            detail = "" if not math.isfinite(cut.threshold) else f"probability of {positive} at least {cut.threshold:.3g}"
            yield Finding("probabilities", *cell, estimate=cut.precision, detail=detail)
            yield Finding("probabilities", *cell, estimate=cut.recall, detail=detail)
