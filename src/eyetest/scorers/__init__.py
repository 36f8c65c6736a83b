"""One completion against one target: pure functions `(Sample, str) -> Score`."""

from eyetest.scorers.choice import ChoiceScorer
from eyetest.scorers.text import TextScorer

__all__ = ["ChoiceScorer", "TextScorer"]
