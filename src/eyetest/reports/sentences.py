"""The answer in words: each sentence is a pure function of named numbers.

Nothing is claimed that an interval does not show: what covers its null "cannot be told at this n".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eyetest.reports.facts import Facts, naming_of
from eyetest.reports.untrusted import NAME_LENGTH, clean
from eyetest.reports.wording import MINUS, count, hundredths, percent, sure
from eyetest.stats import wilson
from eyetest.types import Estimate

NEGLIGIBLE = 0.05
"""A difference whose whole interval lies within this many (5 points) either way is called negligible."""

ALMOST_NOTHING = 0.05
"""A model whose scores with and without the picture both lie at or below this gets almost nothing right."""

Verdict = Literal["above", "frequent", "below", "within", "unknown"]
"""A score beside guessing: above; above, but not above the most frequent answer; below; interval covers it; not known."""

Effect = Literal["up", "down", "negligible", "open", "unknown"]
"""A paired difference: above 0, below 0, shown to be small, interval covers 0, no interval."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the report says of one model on one kind of question of one task."""

    lead: str
    """Predicate to the model's name, without a full stop: `needs the picture: 75 % right with it, ...`."""
    details: tuple[str, ...]
    """Whole sentences."""


def answer(facts: Facts) -> Answer:
    """The lead and every sentence that has numbers to stand on."""
    sentences = (cells, cost, swapped, shuffled, knowledge, unparsed, failed)
    return Answer(lead(facts), tuple(text for text in (sentence(facts) for sentence in sentences) if text))


def in_words(facts: Sequence[Facts]) -> Iterator[str]:
    """The leads, one line a task x kind x model x prompt; what there is one of is not named."""
    tasks, naming = len({one.task for one in facts}) > 1, naming_of(facts)
    for one in facts:
        words = naming[one.task].words(one.prompt, one.kind)
        where = ", ".join(clean(part, NAME_LENGTH) for part in (one.task * tasks, words) if part)
        named = clean(one.model, NAME_LENGTH) + (f" ({where})" if where else "")
        yield f"{named} {lead(one)}."


def beside_guessing(made: Estimate, chance: float, frequent: float = math.nan) -> Verdict:
    """Where a score's interval lies beside guessing.

    chance, frequent: what a uniform guess and the most frequent answer attain; nan where not known.
    """
    if math.isnan(chance) or math.isnan(made.low):
        return "unknown"
    if made.low > chance:
        return "frequent" if made.low <= frequent else "above"
    return "below" if made.high < chance else "within"


def effect(difference: Estimate | None) -> Effect:
    """What a paired difference shows."""
    if difference is None or math.isnan(difference.low):
        return "unknown"
    if difference.low >= -NEGLIGIBLE and difference.high <= NEGLIGIBLE:
        return "negligible"
    if difference.low > 0:
        return "up"
    return "down" if difference.high < 0 else "open"


def lead(facts: Facts) -> str:
    """The one thing to know, as the predicate to the model's name."""
    seen, dark = facts.with_picture, facts.without_picture
    if seen is None:
        return "was not asked with the picture (condition image), so nothing can be told about what it sees"
    if math.isnan(seen.value):
        return "gave no answer that counts with the picture"
    score, guess = f"{percent(seen.value)} right with the picture", _guess(facts)
    place = beside_guessing(seen, facts.chance, facts.frequent)
    if place == "within":
        return f"cannot be told from guessing at this n: {score}{guess}"
    if place == "below":
        silent = seen.n_unparsed + seen.n_refused
        if silent and wilson(seen.value * seen.n, seen.n - silent)[1] >= facts.chance:
            return f"often gave no answer that could be read: {silent} of {seen.n} with the picture; {score}{guess}"
        return f"is below guessing even with the picture: {score}{guess}"
    if dark is None or math.isnan(dark.value):
        return f"{_ALONE[place]}: {score}{guess}; whether it needs the picture was not asked (condition no_image)"
    change = effect(facts.difference)
    if not seen.value and not dark.value:
        return f"is right on no {facts.unit}, with the picture or without it{guess}"
    if change != "up" and max(seen.value, dark.value) <= ALMOST_NOTHING:
        values = f"{percent(seen.value)}, {percent(dark.value)}"
        return f"gets almost nothing right with or without the picture ({values}){guess}"
    if change == "up":
        return _uses(facts, dark, score, guess)
    return f"{_no_use(facts, change, place, dark)}: {score}, {percent(dark.value)} without it{guess}"


_ALONE: Mapping[Verdict, str] = {
    "above": "is better than guessing",
    "frequent": "cannot be told from always giving the most frequent answer",
    "unknown": "was asked with the picture only",
}
"""Verdicts on a model that was not asked without the picture."""


def _guess(facts: Facts) -> str:
    """What guessing gives, as a clause; the most frequent answer too where that decides."""
    if math.isnan(facts.chance):
        return ""
    scores = [made for made in (facts.with_picture, facts.without_picture) if made is not None]
    decides = any(beside_guessing(made, facts.chance, facts.frequent) == "frequent" for made in scores)
    more = f" and always the most frequent answer {percent(facts.frequent)}" if decides else ""
    return f", where guessing gives {percent(facts.chance)}{more}"


def _uses(facts: Facts, dark: Estimate, score: str, guess: str) -> str:
    """The lead where the picture raises the score."""
    blind = percent(dark.value)
    match beside_guessing(dark, facts.chance, facts.frequent):
        case "above":
            return f"uses the picture, and answers part without it: {score}, {blind} without it{guess}"
        case "within":
            return f"needs the picture: {score}; without it {blind}, which cannot be told from guessing ({percent(facts.chance)})"
        case "below":
            return f"needs the picture: {score}; without it {blind}, below guessing ({percent(facts.chance)})"
        case _:
            verb = "needs" if dark.value <= ALMOST_NOTHING else "uses"
            return f"{verb} the picture: {score}, {blind} without it{guess}"


def _no_use(facts: Facts, change: Effect, place: Verdict, dark: Estimate) -> str:
    """The verdict where the picture is not shown to raise the score.

    "Does not need the picture" is said only of a model that is above guessing and above the most frequent answer without it.
    """
    if change == "open":
        return "may or may not use the picture, which cannot be told at this n"
    if change == "unknown":
        return "has too few independent answers to tell"
    blind = beside_guessing(dark, facts.chance, facts.frequent)
    if change == "down":
        return "does better without the picture"
    if "frequent" in (place, blind):
        return "cannot be told from always giving the most frequent answer, with the picture or without it"
    if place == blind == "above":
        return "does not need the picture"
    if "unknown" in (place, blind):
        return "gains next to nothing from the picture, and how much of its score is guessing is not known"
    return "gains next to nothing from the picture"


def cells(facts: Facts) -> str:
    """`Of 60 questions: 46 right with the picture, 12 without it, where guessing gives about 15; 38 only with it, ...`"""
    if facts.cells is None:
        return ""
    both, only_with, only_without, neither = facts.cells
    n = facts.n_both
    asked = f"Of {count(n)} {facts.unit}s"
    if facts.with_picture is not None and n < facts.with_picture.n and facts.unit == "question":
        asked = f"Of the {count(n)} {facts.unit}s answered both ways"
    right = "right" if facts.whole else "right (partial credit added up)"
    guess = "" if math.isnan(facts.chance) else f", where guessing gives about {count(round(facts.chance * n))}"
    return (
        f"{asked}: {count(both + only_with)} {right} with the picture, {count(both + only_without)} without it{guess}; "
        f"{count(only_with)} only with it, {count(both)} both ways, {count(only_without)} only without, {count(neither)} never."
    )


def cost(facts: Facts) -> str:
    """What taking the picture away does."""
    return _change(facts.difference, "Taking the picture away", f"with {MINUS} without")


def swapped(facts: Facts) -> str:
    """What somebody else's picture does."""
    return _change(facts.swapped, "Showing somebody else's picture", f"own {MINUS} other's")


def shuffled(facts: Facts) -> str:
    """What another order of the options does."""
    return _change(facts.shuffled, "Shuffling the options", f"original {MINUS} shuffled")


def _change(made: Estimate | None, what: str, minus: str) -> str:
    """One sentence on the paired difference `image` minus something else; empty where it was not asked.

    what: what was done to the picture or the options; minus: which score is subtracted from which.
    """
    if made is None or math.isnan(made.value):
        return ""
    points, shown = hundredths(abs(made.value)), sure(made, share=False)
    match effect(made):
        case "up":
            return f"{what} costs {points} points ({shown})."
        case "down":
            low, high = hundredths(-made.high), hundredths(-made.low)
            return f"{what} adds {points} points (95 % interval {low} to {high}, n = {made.n:,})."
        case "negligible":
            most = hundredths(max(abs(made.low), abs(made.high)))
            return f"{what} changes at most {most} points either way ({shown})."
        case "open":
            signed = ("+" if made.value > 0 else "") + hundredths(made.value)
            return f"{what}: no difference can be told at this n ({minus}: {signed} points, {shown})."
        case _:
            return (
                f"{what}: {minus} {hundredths(made.value)} points, too few independent answers for an interval, n = {made.n:,}."
            )


def knowledge(facts: Facts) -> str:
    """Who knows the fact, and who also answers with the picture."""
    known = facts.knowledge
    if known is None:
        return ""
    both, only_seen, only_known, neither = known.cells
    text = (
        f"Of {count(sum(known.cells))} {facts.unit}s also asked as pure knowledge: "
        f"{count(both)} known and right with the picture; {count(only_known)} known but wrong with the picture; "
        f"{count(only_seen)} right with the picture but not known; {count(neither)} neither."
    )
    given = known.p_vq_given_k
    if math.isnan(given.value):
        return text
    return f"{text} Where the fact is known, the question with the picture is right in {percent(given.value)} ({sure(given)})."


def unparsed(facts: Facts) -> str:
    """Unparsed and refused answers."""
    parts = []
    if facts.n_unparsed:
        parts.append(f"{facts.n_unparsed:,} {'is' if facts.n_unparsed == 1 else 'are'} unparsed")
    if facts.n_refused:
        parts.append(f"{facts.n_refused:,} {'was' if facts.n_refused == 1 else 'were'} refused")
    if not parts:
        return ""
    return f"Of the answers with and without the picture, {' and '.join(parts)}; they count as wrong."


def failed(facts: Facts) -> str:
    """Failed calls and bad pictures."""
    if not facts.n_failed:
        return ""
    were = "call failed or had a broken picture and is" if facts.n_failed == 1 else "calls failed or had a broken picture and are"
    return f"{facts.n_failed:,} {were} outside every n; the table of failures gives the score if all had been wrong or right."
