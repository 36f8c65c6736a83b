"""What becomes of the question and its options: options alone, picture and options, another order, none."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from eyetest.conditions.compose import ConditionCard
from eyetest.conditions.image import without_picture
from eyetest.conditions.pool import Pool
from eyetest.types import Condition, Sample

NEEDS_OPTIONS = "needs_options"
"""Flag of an open-ended item that makes no sense without its options."""

_POINTS_AT_OPTIONS = re.compile(
    r"\b(?:which|what|who|where|when)\b[^?.]{0,40}?\b(?:of|from|among|between)\s+(?:the\s+|these\s+|those\s+)?"
    r"(?:following|these|those|options?|choices|answers|below|above)\b"
    r"|\b(?:the\s+following|listed\s+below|given\s+(?:options|choices)|options?\s+(?:below|above)|answer\s+choices)\b"
    r"|\b(?:select|choose|pick)\b.{0,40}?\b(?:option|choice|answer|one)\b"
    r"|\bwhich\s+(?:option|choice|answer|statement|one)\b",
    re.IGNORECASE | re.DOTALL,
)
_REFERS_TO_OTHERS = re.compile(
    r"\b(?:(?:all|none|both|neither|any|some)\s+of\s+(?:the\s+)?(?:above|these|those|options)|both\s+[A-H]\s+and\s+[A-H])\b",
    re.IGNORECASE,
)


def needs_options(sample: Sample) -> bool:
    """Whether the question points at its options ("which of these ...") or an option at the others ("none of the above")."""
    return bool(_POINTS_AT_OPTIONS.search(sample.question) or any(_REFERS_TO_OTHERS.search(choice) for choice in sample.choices))


def _options_only(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.choices:
            return ()
        bare = without_picture(sample)
        return (replace(bare, question="", context=None, shown=replace(bare.shown, asks="nothing")),)

    return condition


def _picture_only(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.choices or not sample.images:
            return ()
        return (replace(sample, question="", context=None, shown=replace(sample.shown, asks="nothing")),)

    return condition


def _shuffled(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, random: Random) -> tuple[Sample, ...]:
        if len(sample.choices) < 2:
            return ()
        # `target` is text, so another order changes nothing else. An order equal to the original is a fair draw and kept.
        return (replace(sample, choices=tuple(random.sample(sample.choices, len(sample.choices)))),)

    return condition


def _open_ended(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if sample.kind != "choice":
            return ()
        flags = (*sample.shown.flags, NEEDS_OPTIONS) if needs_options(sample) else sample.shown.flags
        return (replace(sample, kind="text", choices=(), shown=replace(sample.shown, flags=flags)),)

    return condition


_OPTIONS = frozenset({"options"})

options_only = ConditionCard(
    "(∅,∅): nothing but the options",
    _options_only,
    changes=frozenset({"picture", "question"}),
    removes=frozenset({"picture", "question"}),
    needs=_OPTIONS,
)
picture_only = ConditionCard(
    "(I,∅): the picture and the options, no question",
    _picture_only,
    changes=frozenset({"question"}),
    removes=frozenset({"question"}),
    needs=frozenset({"options", "picture"}),
)
shuffled = ConditionCard(
    "the options in another order, the same in every process", _shuffled, changes=frozenset({"order"}), needs=_OPTIONS
)
open_ended = ConditionCard(
    "the question without its options, answered in free text",
    _open_ended,
    changes=_OPTIONS,
    removes=_OPTIONS,
    needs=frozenset({"question"}),
)
