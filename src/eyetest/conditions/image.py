"""Which picture is shown: its own, none, a grey one, somebody else's, its own blurred, words in its place."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from eyetest.conditions.compose import ConditionCard
from eyetest.conditions.pool import Pool
from eyetest.errors import UsageError
from eyetest.types import Condition, Sample

BLIND_STATEMENT = "No picture is given with this question. Answer it all the same, with your best guess."
"""What `told_blind` puts before the question."""

CAPTION_HEADING = "What the picture shows: "
"""What `caption` puts before the words that stand for the picture."""

BLUR_PARAMETER = "R"

_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]{1,2})?")


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


def _radius(parameter: str) -> str:
    """The blur as it is stored: `0.02` for `.02`. Raises UsageError on anything but a share of the longer side."""
    text = parameter.strip()
    value = float(text) if _NUMBER.fullmatch(text) else 0.0
    if not 0 < value <= 1:
        raise UsageError(
            f"Condition 'blurred@{parameter}': expected blurred@R, where R is the radius as a share of the picture's longer "
            f"side, above 0 and at most 1, found {text!r}. Write, for example, blurred@.02."
        )
    return repr(value)


def _blurred(parameter: str, _pool: Pool) -> Condition:
    operation = f"blur:{_radius(parameter)}"

    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.images:
            return ()
        soft = tuple(replace(picture, operations=(*picture.operations, operation)) for picture in sample.images)
        return (replace(sample, images=soft, shown=replace(sample.shown, picture="blurred")),)

    return condition


def _caption(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.images or not sample.caption or not sample.caption.strip():
            return ()
        told = f"{CAPTION_HEADING}{sample.caption.strip()}"
        context = f"{told}\n\n{sample.context}" if sample.context else told
        return (replace(sample, images=(), context=context, shown=replace(sample.shown, picture="caption")),)

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
caption = ConditionCard(
    "a caption instead of the picture; samples without a picture or without a caption do not apply",
    _caption,
    changes=frozenset({"picture", "caption"}),
    removes=_PICTURE,
)
blurred = ConditionCard(
    "its own picture blurred: Gaussian, standard deviation R x the longer side, 0 < R <= 1, e.g. blurred@.02",
    _blurred,
    changes=_PICTURE,
    parameter=BLUR_PARAMETER,
    normal=_radius,
)
