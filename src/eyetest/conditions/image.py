"""Which picture is shown: its own, none, a grey one, somebody else's."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from eyetest.conditions.compose import ConditionCard
from eyetest.conditions.pool import Pool
from eyetest.types import Condition, Sample

BLIND_STATEMENT = "No picture is given with this question. Answer it all the same, with your best guess."
"""What `told_blind` puts before the question."""


def _as_is(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        return (sample,)

    return condition


def _no_image(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        return (without_picture(sample),)

    return condition


def without_picture(sample: Sample) -> Sample:
    """The sample with no picture at all. One that never had a picture is asked exactly as it is."""
    return replace(sample, images=(), shown=replace(sample.shown, picture="none")) if sample.images else sample


def _told_blind(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.images:
            return ()
        return (replace(without_picture(sample), question=f"{BLIND_STATEMENT}\n{sample.question}"),)

    return condition


def _blank(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.images:
            return ()
        grey = tuple(replace(picture, operations=(*picture.operations, "blank")) for picture in sample.images)
        return (replace(sample, images=grey, shown=replace(sample.shown, picture="blank")),)

    return condition


def _swapped(_parameter: str, pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.images:
            return ()
        found = pool.partner(sample)
        if found is None:
            return ()
        partner, entry = found
        shown = replace(sample.shown, picture="other", partner=partner, partner_target=entry.target)
        return (replace(sample, images=entry.images, shown=shown),)

    return condition


_PICTURE = frozenset({"picture"})

image = ConditionCard("(I,Q): the question with its own picture", _as_is)
no_image = ConditionCard("(∅,Q): the question without the picture", _no_image, changes=_PICTURE, removes=_PICTURE)
told_blind = ConditionCard(
    "(∅,Q) with the statement that no picture is given and a best guess is wanted",
    _told_blind,
    changes=_PICTURE,
    removes=_PICTURE,
    needs=frozenset({"question"}),
)
blank = ConditionCard("a grey picture of the same size", _blank, changes=_PICTURE)
swapped = ConditionCard(
    "the picture of another sample: the next in a seeded order with a different picture",
    _swapped,
    changes=_PICTURE,
    needs_pool=True,
)
