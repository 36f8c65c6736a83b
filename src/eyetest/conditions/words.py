"""The words that stand in the picture (`Sample.picture_text`), told to the model: instead of the picture, or beside it.

Only memes have such words. A sample without them (news and videos, whose text is in the context anyway) is asked under
`text_only` exactly as under `no_image`, and under `image_text` exactly as under `image`. Neither condition applies to a
transcription, where the words are the answer.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from eyetest.conditions.compose import ConditionCard
from eyetest.conditions.image import without_picture
from eyetest.conditions.pool import Pool
from eyetest.types import Condition, Sample

HEADING = "The words in the picture: "
"""What is put before the words."""

_GAP = "\n\n"


def joined(own: str | None, words: str | None) -> str | None:
    """A context that says `own` and, under `HEADING`, `words`; either may be missing."""
    told = f"{HEADING}{words}" if words else None
    return _GAP.join(part for part in (own, told) if part) or own


def parted(sample: Sample) -> tuple[str | None, str | None]:
    """The context as (the sample's own, the words of its picture if a former step told them): undoes `joined`."""
    context, words = sample.context, sample.picture_text
    if not context or not words or not context.endswith(HEADING + words):
        return context, None
    return context.removesuffix(HEADING + words).removesuffix(_GAP) or None, words


def _with_words(sample: Sample) -> Sample:
    """The sample as it is where the dataset names no words."""
    return replace(sample, context=joined(sample.context, sample.picture_text)) if sample.picture_text else sample


def _text_only(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        return () if sample.kind == "transcription" else (_with_words(without_picture(sample)),)

    return condition


def _image_text(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        return () if sample.kind == "transcription" else (_with_words(sample),)

    return condition


text_only = ConditionCard(
    "the words in the picture instead of the picture; where none are known it is no_image",
    _text_only,
    changes=frozenset({"picture", "words"}),
    removes=frozenset({"picture"}),
)
image_text = ConditionCard(
    "the picture and, beside the question, the words in it; where none are known it is image",
    _image_text,
    changes=frozenset({"words"}),
    needs=frozenset({"picture", "question"}),
)
