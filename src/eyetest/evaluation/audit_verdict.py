"""What an audit may conclude, and from which interval: the rules of docs/audit.md, in one place.

No rule looks at a point estimate: every phrase rests on an end of a 95 % interval. Words are made in `reports.audit_words`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eyetest.evaluation.audit import Asked, Audit

NEGLIGIBLE = 0.05
"""A difference whose whole interval lies within this is negligible; as in the report's sentences."""

NEEDS = 0.25
"""`needs`: less than this share of what is right beyond guessing is shown to remain without the picture."""

HALF = (0.35, 0.65)
"""`half`: the whole interval of the share that remains lies between these."""

LEAST = 0.05
"""Questions without options have no level of guessing: less than this remaining is called nothing."""

UNREAD = 0.2
"""More refused and unread answers without the picture than this share: their score says nothing of the data."""

MINOR = 0.1
"""`both`: each cause is shown to be behind at least this share of the failures."""

HARDLY = 0.95
"""A score with the picture that is shown to be at least this leaves too little to explain."""

Data = Literal[
    "needs", "part", "half", "most_not", "needs_not", "better_without", "gains_nothing", "unclear", "open",
    "few", "guessing", "nothing_right", "no_choice", "unread", "not_asked",
]  # fmt: skip
"""Verdict on the data set, as seen by one model."""

Cause = Literal["see", "know", "both", "open", "few", "hardly", "no_choice", "not_asked"]
"""Verdict on the model: what is behind its failures with the picture."""

SHOWN_NEED: tuple[Data, ...] = ("needs",)
SHOWN_LEAK: tuple[Data, ...] = ("needs_not", "better_without", "most_not", "half", "part")
"""Verdicts that show questions which do not need their picture, strongest first."""
UNDECIDED: tuple[Data, ...] = ("unclear", "gains_nothing", "open")
"""Verdicts that leave it open, the most telling first; before those of models that can tell nothing."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval, in [0, 1]; nan where there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said of one audit."""

    data: Data
    cause: Cause
    remaining: Share = Share()
    """Of what the model gets right with the picture (beyond guessing where that is known), the share right without it."""


def verdict(audit: Audit) -> Verdict:
    """Both verdicts of one audit."""
    remaining = _remaining(audit)
    data = _data(audit, remaining)
    meaningful = data in ("needs", "part", "half", "most_not", "unclear")
    return Verdict(data, _cause(audit), remaining if meaningful else Share())


def strongest(found: Sequence[Verdict]) -> Verdict | None:
    """The verdict that decides for a data set seen by several models; None without any.

    One model that is shown to answer without pictures is enough; that pictures are needed takes a model that is shown to need
    them and none that is shown not to.
    """
    for code in (*SHOWN_LEAK, *SHOWN_NEED, *UNDECIDED):
        of_code = [one for one in found if one.data == code]
        if of_code:
            return max(of_code, key=lambda one: -1.0 if math.isnan(one.remaining.low) else one.remaining.low)
    return found[0] if found else None


def _remaining(audit: Audit) -> Share:
    """1 - gap: corrected for guessing where that has a closed form."""
    gap = audit.corrected_gap or audit.gap
    if gap is None or not math.isfinite(gap.value):
        return Share()
    return Share(*(clipped(1 - end) for end in (gap.value, gap.high, gap.low)))


def clipped(share: float) -> float:
    """A share kept within [0, 1]; nan stays nan, which `min` and `max` would lose."""
    return share if math.isnan(share) else min(1.0, max(0.0, share))


def _guess(asked: Asked) -> float:
    return 0.0 if math.isnan(asked.guess) else asked.guess


def _data(audit: Audit, remaining: Share) -> Data:
    image, dark, difference = audit.under("image"), audit.under(audit.blind), audit.difference
    if image is None or dark is None or difference is None or not image.score.n or not dark.score.n:
        return "not_asked"
    hollow = audit.makeup.one_option + audit.makeup.same_options
    if hollow and hollow >= audit.makeup.questions:
        return "no_choice"
    if not image.score.value:
        return "nothing_right"
    if math.isnan(difference.low) or math.isnan(image.score.low):
        return "few"
    if difference.high < 0 and _beyond_guessing(audit, dark):
        return "better_without"
    if image.score.low <= _guess(image):
        return "guessing"
    if difference.low > 0:
        return _graded(audit, dark, remaining)
    if difference.high < 0:
        return "gains_nothing"
    if difference.low >= -NEGLIGIBLE and difference.high <= NEGLIGIBLE:
        return "needs_not" if _beyond_guessing(audit, dark) else "gains_nothing"
    return "open"


def _graded(audit: Audit, dark: Asked, remaining: Share) -> Data:
    """The picture is shown to help: how much is left without it?"""
    if dark.score.n and (dark.score.n_refused + dark.score.n_unparsed) / dark.score.n > UNREAD:
        return "unread"
    if math.isnan(remaining.low):
        return "unclear"
    if remaining.high < NEEDS:
        return "needs"
    if not _beyond_guessing(audit, dark) or remaining.low <= LEAST:
        return "unclear"
    if remaining.low > 0.5:
        return "most_not"
    return "half" if HALF[0] < remaining.low and remaining.high < HALF[1] else "part"


def _beyond_guessing(audit: Audit, dark: Asked) -> bool:
    """Whether the score without the picture is shown to be above guessing and above the most frequent answer."""
    floor = _guess(dark) if math.isnan(audit.frequent) else max(_guess(dark), audit.frequent)
    return dark.score.low > (floor or LEAST)


def _cause(audit: Audit) -> Cause:
    image, known = audit.under("image"), audit.known_but_failed
    if image is None or audit.knowledge is None or known is None:
        return "not_asked"
    if image.score.low >= HARDLY:
        return "hardly"
    if not known.n:
        hollow = audit.makeup.one_option + audit.makeup.same_options
        return "no_choice" if hollow and hollow >= audit.makeup.questions else "hardly" if image.score.value == 1 else "few"
    if math.isnan(known.low):
        return "few"
    if known.low > 0.5:
        return "see"
    if known.high < 0.5:
        return "know"
    return "both" if known.low > MINOR and known.high < 1 - MINOR else "open"
