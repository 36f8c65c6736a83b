"""The options of one question, compiled: what each may be called, and how it is found in running text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from eyetest.prompts import letters as option_letters
from eyetest.scorers.clean import UNSPACED, plain

OUTER = " \t\n.,;:!?\"'()[]{}<>¿¡。،؟…"
ARTICLE = re.compile(r"\A(?:an?|the) (?=\S)")
NEGATIVE = re.compile(r"\A(?:(?:not|non|no) (?=\w)|non(?=[a-z]{4}))")
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
# Between scripts without spaces any position is a boundary. Hangul takes suffixes, so it has a left boundary only.
HANGUL = "\u1100-\u11ff\uac00-\ud7af"
EDGE_SCRIPT = re.compile(f"[{UNSPACED}]")
RIGHTLESS = re.compile(f"[{UNSPACED}{HANGUL}]")
COMMON_WORDS = """a an and are as at be by do for he i in is it me my no none not of off on one or other she so that the they this
to up us we yes"""
COMMON = frozenset(COMMON_WORDS.split())
"""Texts that running prose holds anyway: read where an answer must stand, never out of the middle of a sentence."""
NONE_OF = ("none of the above", "none of these", "none of them", "none of those", "none of the options", "none of the choices")
"""One option under six names."""
AFTER_COMMON = r"(?=\s*(?:$|[^\w\s])|\s+(?:because|since|as|it|there|this|that|the|they|he|she|i|not|is)\b)"
UNIT_GAP = re.compile(r"(?<=\d) ?(?=[a-z%°])")
CANNOT = re.compile(r"\b(?:cannot|can't|can not)\b")
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def fold(text: str) -> str:
    """What two spellings of one option share: case, outer punctuation, leading article, `_`, in-word hyphens, widths."""
    return ARTICLE.sub("", " ".join(plain(text).casefold().split()).strip(OUTER), count=1) if text else ""


def _edges(key: str) -> tuple[str, str]:
    """Regular expressions that must hold before and after `key`, so that no longer word or number is cut."""
    first, last = key[0], key[-1]
    left = right = ""
    if first.isdigit() or NUMBER.fullmatch(key):
        left = r"(?<![A-Za-z0-9+-])(?<!\d[.,:/^])(?<!\.)"
    elif first.isalnum() and not EDGE_SCRIPT.match(first):
        left = r"(?<!\w)"
    if last.isdigit():
        right = r"(?![A-Za-z0-9%])(?![.,:/^]\d)"
    elif last.isalnum() and not RIGHTLESS.match(last):
        right = r"(?!\w)"
    return left, right


def _expression(key: str) -> str:
    """`key` as a regular expression with flexible white space and boundaries."""
    left, right = _edges(key)
    right += AFTER_COMMON if key in COMMON else ""
    body = r"\s+".join(re.escape(word) for word in key.split())
    return f"{left}{body}{right}"


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a completion names an option."""

    start: int
    """First character."""
    end: int
    """Past the last character."""
    text: str
    """The option's text as the sample spells it."""


@dataclass(frozen=True)
class Options:
    """The options of one question."""

    texts: tuple[str, ...]
    """The options in the order in which they are shown."""
    letters: dict[str, str]
    """Letter -> text; empty if letters are not read."""
    verbatim: dict[str, str]
    """Whole completions that need no reading -> text: letters in their common dress, and the texts themselves."""
    exact: dict[str, str]
    """Folded spelling -> text."""
    opposite: dict[str, str]
    """X -> not X, where both are options."""
    yes_no: dict[str, str]
    """What a bare yes and no stand for; empty where they are no answer."""
    prose: tuple[str, ...]
    """Spellings that count anywhere in running text."""
    standing: tuple[str, ...]
    """Spellings that count where an answer must stand: common words and number words too."""
    longest: int
    """Characters in the longest spelling."""
    clashing: frozenset[str]
    """Letters that are also the text of another option."""

    @cached_property
    def anywhere(self) -> re.Pattern[str] | None:
        """Finds option texts in running text. Compiled when first needed: most answers are a bare letter or text."""
        return _pattern(self.prose)

    @cached_property
    def leading(self) -> re.Pattern[str] | None:
        """Matches option texts where an answer must stand."""
        return _pattern(self.standing, r"(?:(?:an?|the)\s+)?")

    def mentions(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Mention]:
        """Where `text[start:end]` names options, leftmost longest."""
        if self.anywhere is None:
            return
        for found in self.anywhere.finditer(text, start, len(text) if end is None else end):
            option = self.exact.get(fold(found[0]))
            if option is not None:
                yield Mention(found.start(), found.end(), option)

    def at(self, text: str, start: int) -> Mention | None:
        """The longest option that `text` names exactly at `start`."""
        found = self.leading.match(text, start) if self.leading else None
        option = self.exact.get(fold(found[0])) if found else None
        return Mention(start, found.end(), option) if found and option is not None else None


def _spellings(choices: tuple[str, ...]) -> dict[str, str]:
    """Folded spelling -> text. A spelling that two different texts share is nobody's: those are read verbatim or by letter."""
    owners: dict[str, set[str]] = {}
    for choice in choices:
        owners.setdefault(fold(choice), set()).add(choice)
    exact = {key: next(iter(texts)) for key, texts in owners.items() if key and len(texts) == 1}
    for key, choice in tuple(exact.items()):
        compact = key.replace(" ", "")
        others = [compact] if ("_" in choice or "-" in choice) else []
        others += (UNIT_GAP.sub(gap, key) for gap in ("", " ")) if UNIT_GAP.search(key) else ()
        others += NONE_OF if key in NONE_OF else ()
        others += (CANNOT.sub(word, key) for word in ("cannot", "can't", "can not")) if CANNOT.search(key) else ()
        for other in others:
            exact.setdefault(other, choice)
    return exact


def _opposites(exact: dict[str, str]) -> dict[str, str]:
    """X -> not X for every pair of options; adds the other spellings of not X to `exact`."""
    found = {}
    for key, choice in tuple(exact.items()):
        rest = NEGATIVE.sub("", key, count=1)
        if rest != key and rest in exact and NEGATIVE.match(key):
            found[exact[rest]] = choice
            for spelling in (f"not {rest}", f"non {rest}", f"non{rest}", f"not{rest}"):
                exact.setdefault(spelling, choice)
    if "true" in exact and "false" in exact:
        found[exact["true"]] = exact["false"]
    return found


def _yes_no(exact: dict[str, str], opposite: dict[str, str], distinct: int) -> dict[str, str]:
    """What `yes` and `no` say: options that are or begin with them, true / false, or exactly X and not X."""
    found = {word: choice for word in ("yes", "no") for key, choice in exact.items() if re.match(rf"{word}(?!\w)", key)}
    beginning = [key for key in exact if re.match(r"(?:yes|no)(?!\w)", key) and key not in ("yes", "no")]
    if "yes" in found and "no" in found and (not beginning or distinct == 2):
        return found
    if distinct == 2 and len(opposite) == 1:
        (positive, negative), *_ = opposite.items()
        return {"yes": positive, "no": negative}
    return {word: exact[word] for word in ("yes", "no") if word in exact}


def _number_words(exact: dict[str, str]) -> dict[str, str]:
    """`three` for an option `3` and the reverse: read only as a whole answer."""
    pairs = [(word, str(number)) for number, word in enumerate(WORDS)]
    return {new: exact[old] for a, b in pairs for old, new in ((a, b), (b, a)) if old in exact and new not in exact}


def _verbatim(choices: tuple[str, ...], by_letter: dict[str, str], clashing: frozenset[str]) -> dict[str, str]:
    """Completions that are an answer as they stand."""
    found: dict[str, str] = {}
    for name, choice in by_letter.items():
        if name not in clashing:
            forms = ("{}", "({})", "{}.", "{})", "({}).", "**{}**", "{}:", "[{}]", '"{}"')
            found |= {form.format(case): choice for form in forms for case in (name, name.lower())}
    for choice in choices:
        if unicodedata.normalize("NFC", choice.strip()).upper() not in by_letter:
            found[choice.strip()] = choice
    return found


def _pattern(keys: tuple[str, ...], prefix: str = "") -> re.Pattern[str] | None:
    body = "|".join(_expression(key) for key in sorted(keys, key=len, reverse=True))
    return re.compile(f"{prefix}(?:{body})", re.I) if keys else None


@lru_cache(maxsize=2048)
def compile_options(choices: tuple[str, ...], letters: bool) -> Options:
    """Compile `choices`, shown in this order. letters: whether letter i stands for choice i."""
    by_letter = dict(zip(option_letters(len(choices)), choices, strict=True)) if letters else {}
    exact = _spellings(choices)
    opposite = _opposites(exact)
    worded = exact | _number_words(exact)
    clashing = frozenset(key.upper() for key, choice in exact.items() if by_letter.get(key.upper(), choice) != choice)
    single = {key for key in exact if len(key) == 1 and key.isalpha() and key.isascii()}
    single |= {key for key in exact if key.upper() in by_letter}
    return Options(
        texts=choices,
        letters=by_letter,
        verbatim=_verbatim(choices, by_letter, clashing),
        exact=worded,
        opposite=opposite,
        yes_no=_yes_no(exact, opposite, len(set(choices))),
        prose=tuple(key for key in exact if key not in COMMON and key not in single),
        standing=tuple(key for key in worded if not (letters and key in single)),
        longest=max(map(len, exact), default=0),
        clashing=clashing,
    )
