"""Scorers and metrics that fit a kind of answer, for tasks that have no reason to differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from eyetest.metrics import Accuracy, AnswerInOutput, BalancedAccuracy, MacroF1, MacroPrecision, MacroRecall, Metric, SuccessRate
from eyetest.metrics.multilabel import HammingLoss, Jaccard, MultilabelMacroF1, MultilabelMacroPrecision, MultilabelMacroRecall
from eyetest.metrics.transcription import BagF1, BagPrecision, BagRecall, Bleu, CharacterErrorRate, WordErrorRate
from eyetest.scorers import ChoiceScorer, DescriptionScorer, LabelsScorer, TextScorer, TranscriptionScorer
from eyetest.types import Kind, Scorer

METRICS: Mapping[Kind, tuple[Metric, ...]] = {
    "choice": (
        Accuracy(),
        Accuracy(policy="parsed_only"),
        MacroF1(),
        MacroF1(policy="parsed_only"),
        MacroPrecision(),
        MacroRecall(),
        BalancedAccuracy(),
        SuccessRate(),
    ),
    "text": (Accuracy(), Accuracy(policy="parsed_only"), AnswerInOutput(), SuccessRate()),
    "transcription": (
        BagF1(),
        BagF1(policy="parsed_only"),
        BagPrecision(),
        BagRecall(),
        WordErrorRate(),
        WordErrorRate(pooled=False),
        CharacterErrorRate(),
        CharacterErrorRate(pooled=False),
        *(Bleu(order=order) for order in (1, 2, 3, 4)),
        SuccessRate(),
    ),
    "labels": (
        MultilabelMacroF1(),
        MultilabelMacroF1(policy="parsed_only"),
        MultilabelMacroF1(supported=True),
        MultilabelMacroPrecision(),
        MultilabelMacroRecall(),
        HammingLoss(),
        Jaccard(),
        SuccessRate(),
    ),
    # Nothing is scored yet: undefined, with a note that counts the descriptions stored.
    "description": (SuccessRate(),),
}
"""The headline first; both policies for answers that cannot be read stand side by side."""


def scorers(match: Literal["tokens", "contains"] = "tokens", *, lettered: bool = True) -> Mapping[Kind, Scorer]:
    """match: how short answers are compared; lettered: whether prompts show option letters."""
    return {
        "choice": ChoiceScorer(letters=lettered),
        "text": TextScorer(match=match),
        "labels": LabelsScorer(),
        "transcription": TranscriptionScorer(),
        "description": DescriptionScorer(),
    }
