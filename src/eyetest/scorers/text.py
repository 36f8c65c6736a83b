"""Reads short open answers and compares them with the target's aliases, numbers, ranges and dates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from eyetest.errors import DataError
from eyetest.scorers.clean import UNSPACED, plain, visible, without_thoughts
from eyetest.scorers.declared import SENTENCE, SOFT, TURN, declared_text
from eyetest.scorers.numbers import SMALL, Number, date, dates, number, numbers, span
from eyetest.scorers.options import COMMON
from eyetest.scorers.polarity import polarity
from eyetest.scorers.refusals import find_refusal
from eyetest.types import Sample, Score

LONGEST = 60
"""Tokens of an answer in which an alias may stand anywhere; of a longer one only the first sentence is read."""
SHORT = 5
"""Tokens after "I cannot ..., but" that are an answer even if nothing marks them as a guess."""
TOKEN = re.compile(
    rf"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?|[{UNSPACED}]|(?:(?![{UNSPACED}\d])[^\W_](?:'(?=[^\W\d_]))?)+|\d+|"
    rf"[^\w\s.,;:!?\"'()\[\]{{}}/\\|…<>-]"
)
ARTICLES = frozenset(("a", "an", "the"))
OR = re.compile(
    r"[\s\"')]*(?:,\s*[^,.;:!?\n]{1,40}){0,8}(?:,\s*)?(?:\bor\b|/)\s*(?:(?:perhaps|maybe|possibly)\s+)?[\"']?(?=\w)", re.I
)
OR_BEFORE = re.compile(r"\w[\"')]*(?:,\s*|\s+)or(?: (?:perhaps|maybe|possibly))?(?: (?:an?|the))? [\"']?\Z|\w\s?/\s?\Z", re.I)
RANGE_JOINT = re.compile(r"\s*(?:-|–|—|\bto\b|\bor\b|\band\b)\s*\Z", re.I)


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or symbol of a text, normalised."""

    text: str
    """NFKC, case folded, accents of Latin letters dropped, number words as digits, no thousands separators."""
    start: int
    """First character."""
    end: int
    """Past the last character."""


def tokens(text: str) -> tuple[Token, ...]:
    """Tokens of `text` without the articles a, an, the (unless it holds nothing else). text: as `clean.plain` leaves it."""
    found = tuple(Token(_normalise(m[0]), m.start(), m.end()) for m in TOKEN.finditer(text))
    return tuple(token for token in found if token.text not in ARTICLES) or found


def _normalise(word: str) -> str:
    word = word.casefold().replace("'", "")
    if word[-1].isdigit():
        return word.replace(",", "").lstrip("+")
    if word in SMALL:
        return str(SMALL[word])
    if word.isascii():
        return word
    # Models drop the accents of Latin names (Sao Paulo); in other scripts a mark makes another letter.
    return "".join(
        unicodedata.normalize("NFKD", c)[0] if "\u00c0" <= c <= "\u024f" or "\u1e00" <= c <= "\u1eff" else c for c in word
    )


@lru_cache(maxsize=65_536)
def _alias(text: str) -> tuple[str, tuple[str, ...]]:
    """An alias in plain characters, and its tokens."""
    bare = plain(text)
    return bare, tuple(token.text for token in tokens(bare))


@dataclass(frozen=True, slots=True)
class TextScorer:
    """Compares a short answer with `Sample.target`.

    match: `tokens` (default) or `contains`, the presence rule of arXiv 2410.12329 (an alias occurs in the output as a substring;
    NFC and case folding only), which also accepts `no` in `I do not know`, and any number inside `metadata["range"]`.

    With `tokens` the answer is what the completion declares last ("the answer is ..."), else the whole completion, else, over
    60 tokens, its first sentence. It is right if it equals an alias token by token, or names one as a contiguous run of tokens
    (a common word such as `no` or `us` only at its start) that is neither denied ("not Paris") nor hedged, that is, joined by
    "or" or "/" to something that is no alias ("Paris or London"). A number is right by value if the units are equal or one is
    missing, and not as one end of a range or of an "or"; a target such as `6.5-7.0`, or `metadata["range"] = [lo, hi]`, takes any
    number inside; dates are compared as dates.
    """

    match: Literal["tokens", "contains"] = "tokens"
    signature: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "signature", f"text(match={self.match})")

    def __call__(self, sample: Sample, text: str) -> Score:
        """Score one completion. Raises DataError if `metadata["range"]` is not two rising numbers."""
        verbatim = unicodedata.normalize("NFC", text.strip())
        if verbatim and any(verbatim == unicodedata.normalize("NFC", alias.strip()) for alias in sample.target):
            return Score("scored", 1.0, verbatim, rule="verbatim")
        return self._contains(sample, text) if self.match == "contains" else _by_tokens(sample, text)

    def _contains(self, sample: Sample, text: str) -> Score:
        output = _output(text)
        if not output:
            return Score("unparsed", rule="empty")
        if alias := _contained(sample, output):
            return Score("scored", 1.0, alias, rule="alias_contained")
        shown = visible(text, sample.question)
        if find_refusal(shown):
            return Score("refused", rule="refusal_phrase")
        if _number_contained(sample, shown):
            return Score("scored", 1.0, output[:200], rule="number_in_range")
        return Score("scored", 0.0, output[:200], rule="no_alias")


def answer_in_output(sample: Sample, text: str) -> bool:
    """The presence rule of arXiv 2410.12329: an alias, or a number inside `metadata["range"]`, occurs anywhere in the completion.

    It takes `no` in "I do not know" for an answer. Raises DataError as `TextScorer` does.
    """
    return bool(_contained(sample, _output(text))) or (
        _bounds(sample) is not None and _number_contained(sample, visible(text, sample.question))
    )


def _output(text: str) -> str:
    return unicodedata.normalize("NFC", without_thoughts(text)).casefold().strip()


def _contained(sample: Sample, output: str) -> str:
    """The first alias that occurs in `output`; empty if none does."""
    aliases = ((alias, unicodedata.normalize("NFC", alias).casefold().strip()) for alias in sample.target)
    return next((alias for alias, folded in aliases if folded and folded in output), "")


def _number_contained(sample: Sample, shown: str) -> bool:
    """The paper has no word for ranges: a number inside is present as an alias is."""
    bounds = _bounds(sample)
    return bounds is not None and any(bounds[0] <= found.value <= bounds[1] for found in numbers(shown))


def _by_tokens(sample: Sample, text: str) -> Score:
    shown = visible(text, sample.question)
    declared = declared_text(shown)
    answer = declared if declared is not None else shown
    read = tokens(answer)
    if not read:
        return Score("unparsed", rule="empty")
    if declared is None and len(read) > LONGEST:
        end = SENTENCE.search(answer)
        answer = answer[: end.start()] if end else answer
        read = tokens(answer)
    refused = find_refusal(shown) if declared is None else None
    run = tuple(token.text for token in read)
    words = " ".join(run)[:200]
    if not refused and any(run == _alias(alias)[1] for alias in sample.target):
        return Score("scored", 1.0, words, rule="alias")
    rule = _right(sample, answer, read, refused.start() if refused else len(answer))
    if rule:
        return Score("scored", 1.0, words, rule=rule)
    turn = TURN.search(shown, refused.end()) if refused else None
    guess = shown[turn.end() :] if turn else ""
    if SOFT.search(guess) or 0 < len(tokens(guess)) <= SHORT:
        return _by_tokens(sample, guess)
    if refused:
        return Score("refused", rule="refusal_phrase")
    return Score("scored", 0.0, words, rule="no_alias")


def _right(sample: Sample, answer: str, read: tuple[Token, ...], limit: int) -> str:
    """The rule by which `answer[:limit]` is right, empty if it is wrong."""
    bounds = _bounds(sample)
    found = numbers(answer[:limit])
    if bounds and _inside(answer, found, bounds):
        return "number_in_range"
    aliases = [_alias(alias) for alias in sample.target]
    for alias, run in aliases:
        if (wanted := number(alias)) is not None:
            if _same_number(answer, found, wanted):
                return "number"
            if _year(wanted) and any(d.year == wanted.value for d in dates(answer[:limit])):
                return "year"
            continue
        if (limits := span(alias)) is not None and _inside(answer, found, limits):
            return "number_in_range"
        if (day := date(alias)) is not None and any(other.within(day) for other in dates(answer[:limit])):
            return "date"
        if any(_stands(answer, start, end, aliases) for start, end in _runs(read, run) if end <= limit):
            return "alias_named"
    return ""


def _bounds(sample: Sample) -> tuple[float, float] | None:
    given = sample.metadata.get("range")
    if given is None:
        return None
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not low <= high:
        raise DataError(
            f"Sample {sample.id!r}: metadata 'range' is {given!r}. Expected two numbers [low, high] with low <= high."
        )
    return low, high


def _inside(answer: str, found: tuple[Number, ...], bounds: tuple[float, float]) -> bool:
    """Whether some number lies within `bounds`; of a range that the answer gives, both ends must."""
    good = [bounds[0] <= n.value <= bounds[1] for n in found]
    for place, number_found in enumerate(found):
        partners = [other for other in (place - 1, place + 1) if 0 <= other < len(found) and _joined(answer, found, place, other)]
        if good[place] and all(good[other] for other in partners) and _asserted(answer, number_found):
            return True
    return False


def _same_number(answer: str, found: tuple[Number, ...], wanted: Number) -> bool:
    """Whether the answer gives `wanted`, neither denied nor as one end of a range or one of two guesses."""
    for place, candidate in enumerate(found):
        same = abs(candidate.value - wanted.value) <= 1e-9 * max(1.0, abs(wanted.value))
        if not same or (candidate.unit and wanted.unit and candidate.unit != wanted.unit):
            continue
        rivals = [
            o
            for o in (place - 1, place + 1)
            if 0 <= o < len(found) and found[o].value != wanted.value and _joined(answer, found, place, o)
        ]
        if not rivals and _asserted(answer, candidate):
            return True
    return False


def _joined(answer: str, found: tuple[Number, ...], one: int, other: int) -> bool:
    first, second = sorted((one, other))
    return RANGE_JOINT.match(answer[found[first].end : found[second].start]) is not None


def _asserted(answer: str, found: Number) -> bool:
    return polarity(answer, found.start, found.end) != "denied"


def _year(wanted: Number) -> bool:
    return wanted.value.is_integer() and 1000 <= wanted.value <= 2999 and not wanted.unit


def _runs(read: tuple[Token, ...], run: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Character spans where the tokens `run` stand next to each other in `read`."""
    if not run:
        return
    for first in range(len(read) - len(run) + 1):
        if read[first].text == run[0] and all(read[first + i].text == word for i, word in enumerate(run)):
            yield read[first].start, read[first + len(run) - 1].end


def _stands(answer: str, start: int, end: int, aliases: list[tuple[str, tuple[str, ...]]]) -> bool:
    """Whether the alias at `answer[start:end]` is asserted and not one of several guesses."""
    if polarity(answer, start, end) == "denied":
        return False
    if answer[start:end].casefold() in COMMON and not (start == 0 and answer[end : end + 1] in tuple(".,;:!")):
        return False
    joint = OR.match(answer, end)
    if joint and not _is_alias(answer[joint.end() :], aliases):
        return False
    before = OR_BEFORE.search(answer, max(0, start - 60), start)
    return not before or any(_ends_with(answer[: before.start() + 1], run) for _, run in aliases)


def _is_alias(text: str, aliases: list[tuple[str, tuple[str, ...]]]) -> bool:
    rest = tuple(token.text for token in tokens(text))
    return any(run and rest[: len(run)] == run for _, run in aliases)


def _ends_with(text: str, run: tuple[str, ...]) -> bool:
    rest = tuple(token.text for token in tokens(text))
    return bool(run) and rest[-len(run) :] == run
