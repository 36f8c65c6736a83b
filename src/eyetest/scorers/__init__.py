"""One completion against one target: pure functions `(Sample, str) -> Score`."""

from eyetest.scorers.choice import ChoiceScorer
from eyetest.scorers.description import DescriptionScorer
from eyetest.scorers.labels import LabelsScorer
from eyetest.scorers.text import TextScorer
from eyetest.scorers.transcription import TranscriptionScorer

__all__ = ["ChoiceScorer", "DescriptionScorer", "LabelsScorer", "TextScorer", "TranscriptionScorer"]
