"""Metrics: counts that add up over answers and a formula over their sum, with intervals."""

from eyetest.metrics.classification import (
    Accuracy,
    AnswerInOutput,
    BalancedAccuracy,
    ClassRow,
    MacroF1,
    MacroPrecision,
    MacroRecall,
    ScoreRate,
    SuccessRate,
    confusion,
    per_class,
)
from eyetest.metrics.columns import PARTNERS, STATUSES, Columns, Counts, Metric, Pairs, Partner, Policy, Status, definable, pair
from eyetest.metrics.dependence import Difference, KnowledgeTable, gap_rate, knowledge_table, paired_difference
from eyetest.metrics.estimate import bounds, estimate

__all__ = [
    "PARTNERS",
    "STATUSES",
    "Accuracy",
    "AnswerInOutput",
    "BalancedAccuracy",
    "ClassRow",
    "Columns",
    "Counts",
    "Difference",
    "KnowledgeTable",
    "MacroF1",
    "MacroPrecision",
    "MacroRecall",
    "Metric",
    "Pairs",
    "Partner",
    "Policy",
    "ScoreRate",
    "Status",
    "SuccessRate",
    "bounds",
    "confusion",
    "definable",
    "estimate",
    "gap_rate",
    "knowledge_table",
    "pair",
    "paired_difference",
    "per_class",
]
