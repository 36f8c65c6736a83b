"""Option letters in a completion: which characters are meant as one, and what stands beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eyetest.scorers.options import Options, fold
from eyetest.scorers.polarity import polarity

LETTER = re.compile(
    r"""[\s"'`]*(?P<named>(?:(?:the|la|l') ?)?(?:option|choice|letter|answer|opción|opção|opzione|вариант|选项)\s*:?\s*)?"""
    r"""(?P<open>[(\[{"']{0,2})\s*(?P<letter>[A-Za-z]{1,2})(?![A-Za-z0-9]|'[A-Za-z])\s?(?P<close>[)\]}"']{0,2})"""
    r"(?P<dot>[.):]?)",
    re.I,
)
CONNECTIVE = re.compile(
    r"\s*(?:,|;|-|–|—|\(|\bbecause\b|\bsince\b|\bas\b|\bdue\b|\bgiven\b|\bbased\b|\bwhich\b|\bfor\b|\bwith\b|"
    r"\bis (?:the )?(?:correct|right|best|answer)\b)",
    re.I,
)
ANOTHER_LETTER = re.compile(
    r"\s*(?:,\s*)?(?:\b(?:and|or|und|oder|y|o|ou|et)\b|[&/,+、和或])\s*(?:both |option |"
    r"choice )?[(\[\"']?(?P<letter>[A-Za-z]{1,2})[)\]]?(?![A-Za-z0-9]|'[A-Za-z])"
    r"(?!\.? +(?:is|are|was|were|would|can|does|do|has|think|believe)\b)"
)
NAMED_LETTER = re.compile(
    r"(?:\b(?:option|choice|letter|answer)\s+|选项\s*)[(\[]?([A-Z]{1,2})[)\]]?(?![A-Za-z0-9]|'[A-Za-z])|(?<!\w)[(\[]([A-Za-z]{1,2})[)\]]",
    re.I,
)
ORDINAL = re.compile(r"\b(first|second|third|fourth|fifth|last) (?:answer )?(?:option|choice)\b", re.I)
ORDINALS = ("first", "second", "third", "fourth", "fifth")
NAMED_LETTER_HINTS = ("(", "[", "ption", "hoice", "etter", "nswer", "选项", "PTION", "HOICE", "ETTER", "NSWER")
LINE_LETTER = re.compile(r"""["'(\[]*([A-Za-z]{1,2})["')\].:!?]*\Z""")
LAST_LETTER = re.compile(r"(?<=[^\W_]{2})[.!?:]\s+[(\[\"']?([A-Z])[)\]\"']?\.?\s*\Z")
LISTED = re.compile(r"(?:^|(?<=[\s,;]))[(\[]?([A-Z])(?:[)\].:](?=\s)| ?[(=]| [-–] )")
ABBREVIATION = re.compile(r"[A-Za-z]\.")
BESIDE = re.compile(r"[\s\"'(,:\-–—]*(?:(?:(?:because|since|as) )?(?:it is|it's|which is|this is|is)\b)?[\s\"'(]*", re.I)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one place of a completion says."""

    text: str | None
    """The option's text, None if the place speaks of options but chooses none."""
    rule: str
    """Why."""


UNREAD = Reading(None, "no_option_found")


TWO = Reading(None, "two_options_named")


def skip(text: str, at: int) -> int:
    """Past white space, dashes and colons (a line break after the cue included)."""
    while at < len(text) and text[at] in " \n:\"'=-–—>":
        at += 1
    return at


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where `pattern` ends if it matches at `at`, else `at`."""
    found = pattern.match(text, at)
    return found.end() if found else at


def letter_at(options: Options, text: str, at: int, *, declared: bool) -> Reading | None:
    """The option letter that stands at `at`, checked against a second letter and against the text beside it.

    declared: after a cue, where a bare capital before any word is a letter ("the answer is B Paris").
    """
    found = LETTER.match(text, at)
    if not found or found["letter"].upper() not in options.letters:
        return None
    name = found["letter"].upper()
    choice = options.letters[name]
    beside = _beside(options, text, found.end(), label=found["dot"] != "." or not declared)
    if not _is_letter(text, found, declared=declared, agrees=beside == choice):
        return None
    other = ANOTHER_LETTER.match(text, found.end("close"))
    if other and other["letter"].isupper() and options.letters.get(other["letter"].upper(), choice) != choice:
        return TWO
    if beside is not None and beside != choice:
        return Reading(None, "letter_and_text_disagree")
    if name in options.clashing and beside is None:
        return Reading(None, "letter_or_text")
    return Reading(choice, "declared_answer" if declared else "letter_first")


def _is_letter(text: str, found: re.Match[str], *, declared: bool, agrees: bool) -> bool:
    """Whether the character found is meant as a letter and not as a word (`a`, `I`) or the start of a sentence."""
    if ABBREVIATION.match(text, found.end()) and found["dot"]:
        return False
    if found["named"] or (found["open"] and found["close"]) or set(found["close"]) & set(")]}") or found["dot"]:
        return True
    rest = text[found.end() : found.end() + 2]
    if not rest.strip() or rest.startswith("\n") or rest[0] in "。，،、":
        return True
    if found["letter"].islower() or (found["letter"] == "I" and rest[0] in ",;'"):
        return False
    if (
        (agrees and found["letter"] not in ("A", "I"))
        or CONNECTIVE.match(text, found.end())
        or ANOTHER_LETTER.match(text, found.end())
    ):
        return True
    return declared and (found["letter"] not in ("A", "I") or not rest[0].isspace())


def _beside(options: Options, text: str, at: int, *, label: bool) -> str | None:
    """The option text that stands right beside a letter: `B. Paris`, `B (Paris)`, `B: it is Paris`.

    label: the letter labels what follows, so a text that goes on as a sentence counts too.
    """
    start = skip(text, at)
    if "\n" in text[at:start]:
        return None
    line = options.exact.get(fold(text[start : start + options.longest + 8].partition("\n")[0]))
    if line is not None:
        return line
    mention = options.at(text, start) or options.at(text, past(BESIDE, text, at))
    if mention is None:
        return None
    follows = text[mention.end : mention.end + 1]
    if label or not follows or follows in ".,;:!?)\n\"'":
        return mention.text
    return None


def letter_lines(options: Options, text: str) -> Iterator[tuple[int, Reading]]:
    """A letter alone on the first or last line, or as the last sentence. Different letters on both lines choose nothing."""
    if not options.letters:
        return
    first_line, _, rest = text.partition("\n")
    last_line = rest.rpartition("\n")[2]
    first, last = LINE_LETTER.match(first_line.strip()), LINE_LETTER.match(last_line.strip())
    ends = [found[1].upper() for found in (first, last) if found and found[1].upper() in options.letters]
    if len(set(ends)) > 1:
        yield len(text), TWO
    elif last and ends and last[1].upper() == ends[-1]:
        yield len(text), _letter_reading(options, ends[-1], "letter_alone")
    elif ends:
        yield 0, _letter_reading(options, ends[0], "letter_alone")
    else:
        final = LAST_LETTER.search(text, max(0, len(text) - 40))
        if final and final[1] in options.letters and not enumerates(options, text):
            yield final.start(), _letter_reading(options, final[1], "letter_last")


def _letter_reading(options: Options, name: str, rule: str) -> Reading:
    return Reading(None, "letter_or_text") if name in options.clashing else Reading(options.letters[name], rule)


def enumerates(options: Options, text: str) -> bool:
    """Whether the completion lists options back: two labelled letters on its first line or at the start of its first two."""
    lines = [line for line in text.split("\n", 8)[:8] if line.strip()]
    first = {name for name in LISTED.findall(lines[0]) if name in options.letters}
    second = {name for name in LISTED.findall(lines[1][:4]) if name in options.letters} if len(lines) > 1 else set()
    return len(first | second) > 1


def named_letters(options: Options, text: str, start: int, end: int) -> Iterator[str]:
    """Options asserted as `option B`, `(B)` or `the second option` in running text."""
    if not any(hint in text for hint in NAMED_LETTER_HINTS):
        return
    for found in NAMED_LETTER.finditer(text, start, end) if options.letters else ():
        name = (found[1] or found[2]).upper()
        read = name in options.letters and name not in options.clashing and (found[2] or found[1].isupper())
        # "option A" goes on with a verb; "which option a person likes" does not.
        article = (
            found[1] is not None
            and name == "A"
            and re.match(r" (?!is|was|seems|can|has|match)[a-z]", text[found.end() : found.end() + 7])
        )
        if read and not article and polarity(text, found.start(), found.end()) == "asserted":
            yield options.letters[name]
    for found in ORDINAL.finditer(text, start, end):
        place = len(options.texts) - 1 if found[1].lower() == "last" else ORDINALS.index(found[1].lower())
        if place < len(options.texts) and polarity(text, found.start(), found.end()) == "asserted":
            yield options.texts[place]
