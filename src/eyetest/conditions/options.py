"""What becomes of the question and its options: options alone, picture and options, another order, every rotation, none."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from eyetest.conditions.compose import ConditionCard
from eyetest.conditions.image import without_picture
from eyetest.conditions.pool import Pool
from eyetest.prompts import letters
from eyetest.types import Condition, Sample

NEEDS_OPTIONS = "needs_options"
"""Flag of an open-ended item that makes no sense without its options."""

# "the following" also means "next" (the following year), and "of these" also points at the picture (the colour of these
# flowers): only what stands beside the question word, or what can be nothing but options, counts.
_POINTS_AT_OPTIONS = re.compile(
    r"\bthe\s+following\b(?!\s+(?:second|minute|hour|day|night|morning|evening|week|month|season|year|decade|century|centuries)s?\b)"
    r"|\b(?:which|what|who|where|when)\b(?:\s+(?:one|ones|two|three|four)\b)?(?:\s+is|\s+are)?"
    r"\s+(?:of|from|among|amongst|between|out\s+of)\s+(?:the\s+)?(?:these|those|above|below|options|choices|answers)\b"
    r"|\bwhich\s+(?:\w+\s+){1,3}?(?:among|amongst|out\s+of)\s+(?:the\s+)?(?:these|those|above|below|options|choices|answers)\b"
    r"|\b(?:listed|shown|given|mentioned)\s+(?:below|above)\b(?=[^?.]{0,20}[?.:]|$)"
    r"|\b(?:given|following|available|provided|answer|above|below)\s+(?:options?|choices?|alternatives?)\b"
    r"|\b(?:options?|choices?|alternatives?|statements?)\s+(?:below|above|given|provided|listed)\b"
    r"|\b(?:select|choose|pick)\b.{0,40}?\b(?:option|choice|answer|statement|alternative|odd\s+one)s?\b"
    r"|\b(?:select|choose|pick)\s+the\s+(?:best|correct|right|most\s+\w+)\b"
    r"|\bwhich\s+(?:\w+\s+)?(?:option|choice|answer|statement|alternative|one|ones)s?\b",
    re.IGNORECASE | re.DOTALL,
)
_REFERS_TO_OTHERS = re.compile(
    r"\b(?:all|none|both|neither|any|some|either|two)\s+of\s+(?:(?:the\s+)?(?:above|below|other|others|options|choices|answers)|these|those)\b"
    r"|\b(?:both|either|neither)\s+\(?[A-H]\)?\s+(?:and|or|nor)\s+\(?[A-H]\)?(?!\w)"
    r"|^\s*\(?[A-H]\)?\s+(?:and|or|&)\s+\(?[A-H]\)?(?:\s+only)?\s*\.?\s*$"
    r"|^\s*(?:none|all|neither|both)\s*\.?\s*$",
    re.IGNORECASE,
)


def needs_options(sample: Sample) -> bool:
    """Whether the question points at its options ("which of these ...") or an option at the others ("none of the above")."""
    return bool(_POINTS_AT_OPTIONS.search(sample.question) or any(_REFERS_TO_OTHERS.search(choice) for choice in sample.choices))


def letters_are_options(sample: Sample) -> bool:
    """Whether an option is itself an option letter (parts A to D of a diagram): in another order, `B` would be two options."""
    known = letters(len(sample.choices))
    return any(choice.strip(" .:()[]").upper() in known for choice in sample.choices)


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
        if len(sample.choices) < 2 or letters_are_options(sample):
            return ()
        # `target` is text, so another order changes nothing else. An order equal to the original is a fair draw and kept.
        return (replace(sample, choices=tuple(random.sample(sample.choices, len(sample.choices)))),)

    return condition


def _rotated(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if sample.kind != "choice" or len(sample.choices) < 2 or letters_are_options(sample):
            return ()
        # Variant v begins with option v: over all variants each option stands once in each place. Variant 0 is `image`'s order.
        return tuple(
            replace(sample, choices=sample.choices[start:] + sample.choices[:start]) for start in range(len(sample.choices))
        )

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
    "the options in another order, the same in every process; items whose options are letters do not apply",
    _shuffled,
    changes=frozenset({"order"}),
    needs=_OPTIONS,
)
rotated = ConditionCard(
    "every rotation of the options, one request each; items whose options are letters do not apply",
    _rotated,
    changes=frozenset({"order"}),
    needs=_OPTIONS,
)
open_ended = ConditionCard(
    "the question without its options, answered in free text",
    _open_ended,
    changes=_OPTIONS,
    removes=_OPTIONS,
    needs=frozenset({"question"}),
)
