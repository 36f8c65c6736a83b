"""Keeps descriptions: what one is worth is computed from the stored texts of a whole run."""

from __future__ import annotations

from dataclasses import dataclass, field

from eyetest.types import Sample, Score

RULE = "stored: descriptions are scored later"


@dataclass(frozen=True, slots=True)
class DescriptionScorer:
    """Reads nothing and gives no credit: every description is `unscored`, so that it is in no denominator."""

    signature: str = field(init=False, default="description(stored)")

    def __call__(self, sample: Sample, text: str) -> Score:
        """Status `unscored`, whatever is written."""
        del sample, text
        return Score("unscored", rule=RULE)
