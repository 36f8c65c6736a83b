"""The verdicts of an audit in words, each with its evidence. The rules are in `evaluation.audit_verdict`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from eyetest.evaluation.audit import Audit
from eyetest.evaluation.audit_verdict import UNREAD, Cause, Data, Share, Verdict, clipped
from eyetest.reports.wording import count, hundredths, percent, sure
from eyetest.types import Estimate

DATA: Mapping[Data, str] = {
    "needs": "needs its pictures",
    "part": "needs its pictures for part of its questions only",
    "half": "about half of it does not need its pictures",
    "most_not": "most of it does not need its pictures",
    "needs_not": "does not need its pictures",
    "better_without": "does not need its pictures: it is answered better without them",
    "gains_nothing": "cannot be told: next to nothing is gained from the pictures, and nothing beyond guessing is shown without",
    "unclear": "its pictures help; how much of it does without them cannot be told at this n",
    "open": "cannot be told at this n",
    "few": "cannot be told: too few independent answers for an interval",
    "guessing": "cannot be told by this model, which is not shown to do better than guessing with the picture",
    "nothing_right": "cannot be told: no right answer with the picture, so the gap rate is undefined",
    "no_choice": "cannot be told: no question leaves a choice, so that any answer is right",
    "unread": f"cannot be told: without the picture more than {percent(UNREAD)} of the answers are refused or unread",
    "not_asked": "cannot be told: it was not asked both with and without its pictures (conditions image, no_image)",
}
"""Verdict on the data set -> its words, predicate to the data set's name."""

CAUSE: Mapping[Cause, str] = {
    "see": "where it fails, mostly fails to see",
    "know": "where it fails, mostly fails to know",
    "both": "fails both to see and to know",
    "open": "fails, and whether to see or to know cannot be told at this n",
    "few": "fails too rarely for an interval on why",
    "hardly": "hardly fails",
    "no_choice": "cannot be told: no question leaves a choice",
    "not_asked": "why it fails cannot be told: no knowledge question was asked (condition knowledge)",
}
"""Verdict on the model -> its words, predicate to the model's name."""


def data_evidence(audit: Audit, found: Verdict) -> str:
    """The numbers behind the verdict on the data set, as whole sentences."""
    image, dark = audit.under("image"), audit.under(audit.blind)
    if image is None or dark is None or found.data in ("not_asked", "no_choice"):
        return ""
    guess = "" if math.isnan(image.guess) else f" Guessing gives {percent(image.guess)}."
    text = f"{_rate(image.score)} right with the picture, {_rate(dark.score)} without it.{guess}"
    return " ".join((text, *_more(audit, found)))


def _rate(made: Estimate) -> str:
    return f"{percent(made.value)} ({sure(made)})"


def _more(audit: Audit, found: Verdict) -> Iterator[str]:
    difference = audit.difference
    if not math.isnan(found.remaining.value):
        beyond = "" if audit.corrected_gap is None else " beyond guessing"
        yield f"Of what it gets right{beyond} with the picture, {_share(found.remaining)} is right without it."
    if found.data in ("open", "better_without", "needs_not", "gains_nothing") and difference is not None:
        yield f"Taking the picture away costs {hundredths(difference.value)} points ({sure(difference, share=False)})."
    if found.data == "better_without":
        yield "The gap is negative: no share of the score can be said to need the picture."
    if found.data == "open":
        yield (
            "This n would not reliably find any gap."
            if math.isnan(audit.detectable)
            else f"The smallest gap that this n finds in four of five cases is {hundredths(audit.detectable)} points."
        )


def _share(share: Share) -> str:
    if math.isnan(share.low):
        return percent(share.value)
    return f"{percent(share.value)} (95 % interval {percent(share.low).removesuffix(' %')} to {percent(share.high)})"


def cause_evidence(audit: Audit, found: Verdict) -> str:
    """The numbers behind the verdict on the model, as whole sentences."""
    known = audit.known_but_failed
    if known is None or audit.knowledge is None or not known.n or found.cause in ("not_asked", "no_choice"):
        return ""
    text = f"Failed with the picture: {count(known.n)} questions that were also asked as pure knowledge."
    if math.isnan(known.low):
        return f"{text} {known.note[:1].upper()}{known.note[1:]}."
    seen = Share(*map(clipped, (known.value, known.low, known.high)))
    lost = Share(1 - seen.value, 1 - seen.high, 1 - seen.low)
    taken = (
        ", guessing taken off" if any(not math.isnan(one.guess) for one in audit.asked if one.condition == "knowledge") else ""
    )
    knows = f"It knows the fact behind {_share(seen)} of them{taken}, and failed to see"
    return f"{text} {knows}; the fact behind {_share(lost)} it does not know."


def warnings(audit: Audit) -> Iterator[str]:
    """What to know of the data and the answers before believing a number, one whole sentence each."""
    made, image = audit.makeup, audit.under("image")
    if made.one_option:
        yield f"{_questions(made.one_option)} with a single option: nothing to guess, left out of the score of guessing."
    if made.same_options:
        yield f"{_questions(made.same_options)} whose options are all the same text: any answer is right."
    if audit.frequent == 1:
        yield "The right answer is the same for every question: always giving it is right everywhere."
    if audit.knowledge is not None and made.without_knowledge:
        yield (
            f"{_questions(made.without_knowledge)} without a knowledge question (no entity or field, no line in the file, "
            f"or rejected): in none of the four lists."
        )
    if image is not None and not image.score.value and image.score.n:
        yield "No right answer with the picture: the gap rate is undefined and not printed."
    elif audit.gap is not None and audit.gap.value < 0:
        yield "The gap rate is negative: more answers are right without the picture. It is no share of anything."
    yield from _outside(audit)


def _questions(n: int) -> str:
    return f"{n:,} question{'' if n == 1 else 's'}"


def _outside(audit: Audit) -> Iterator[str]:
    for one in audit.asked:
        if one.score.n_failed:
            were = "answer" if one.score.n_failed == 1 else "answers"
            yield (
                f"{one.condition}: {one.score.n_failed:,} {were} outside n, because the call failed, the picture cannot be read "
                f"or no judge decided. With what was unread the score lies between {percent(one.all_wrong)} and "
                f"{percent(one.all_right)}."
            )
