"""Reads a set of labels out of a completion. Never guesses: what names no label is `unparsed`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from eyetest.errors import DataError, nearest
from eyetest.scorers.clean import visible
from eyetest.scorers.declared import TURN
from eyetest.scorers.options import Options, compile_options, fold
from eyetest.scorers.polarity import polarity
from eyetest.scorers.refusals import find_refusal
from eyetest.types import Sample, Score, ScoreStatus

JOINT = ", "
"""Stands between the labels of `Score.answer`; no label may hold it."""

SUFFIX = re.compile(r"[\s_]*\([^()]*\)\s*\Z")
NOUN = r"(?:hash ?tags?|tags?|labels?|topics?|categor(?:y|ies)|genres?|keywords?|answers?)"
BULLET = re.compile(r"(?m)^[ \t]*(?:[-*•+–·‣▪●]|\(?\d{1,2}[.)])[ \t]+")
# An item's number after other text ("1. Music 2. Sport") ends that text.
UNIT = re.compile(r"\n|(?<=[^\W\d])[\"')\]]*[.!?](?=\s|$)[\"')\]]*|\s+(?=\(?\d{1,2}[.)]\s)|[。！？]")
SEPARATOR = re.compile(r"[;|、，；·•]|,(?!\d)|(?:(?<=\s)|\A)#|(?:(?<=\s)|\A)\(?\d{1,2}[.)](?=\s)")
PARENTHESES = re.compile(r"\([^()]*\)")
DASH = re.compile(r"\s+[-–—]+\s+|\s*[–—]\s*")
AND = re.compile(r"\s*(?:\band\b(?: also\b)?|&|\bas well as\b|\bplus\b|/|\+)\s*", re.I)
LEAD = re.compile(
    rf"\b{NOUN}\b[\"')\]]*[^:=,;]{{0,60}}?(?:\s*[:=]|\b(?:are|is|were|would be|should be|will be|could be|include|includes|"
    rf"including)\b(?:\s+(?:as follows|the following))?\s*:?)"
    r"|\b(?:tag(?:ged)?|label(?:l?ed)?|categori[sz]e[d]?|classif(?:y|ied))\b[^:,;]{0,40}?\b(?:as|with|under)\b\s*:?"
    r"|\b(?:i|we)(?:'d| would| will|'ll)? (?:choose|pick|select|assign)\b\s*:?",
    re.I,
)
AWAY = re.compile(
    r"\b(?:not|n't|no|cannot|other|available|allowed|excluded?|excluding|irrelevant|unrelated|rejected|considered|candidate|"
    r"following options|if|whether)\b",
    re.I,
)
FILLER = re.compile(
    r"\A(?:(?:and|also|both|the|an?|clearly|definitely|certainly|likely|most likely|probably|perhaps|maybe|mainly|primarily|"
    r"following|relevant|most relevant)\b[:,]?\s*)+",
    re.I,
)
DENIED = re.compile(r"\A(?:but |and )?(?:definitely |clearly )?(?:not|no|never|without|except|excluding|neither|nor)\b", re.I)
TRUTH = re.compile(r"[\"']?\s*[:=]\s*[\"']?(?:(?P<yes>true|yes|1)|false|no|0)[\"'}\s]*\Z", re.I)
APPLY = r"(?: (?:is|are))?(?: (?:apply|applies|fits?|match(?:es)?|found|applicable|relevant|appropriate|suitable|here))?"
NONE = re.compile(
    rf"(?:there (?:is|are) )?(?:none|nothing|null|n/a|not applicable|empty(?: (?:set|list))?|no (?:\w+ ){{0,2}}?{NOUN}{APPLY}|"
    rf"none of (?:the|these|them|those)(?: \w+){{0,2}}?{APPLY})",
    re.I,
)
BRACKETS = re.compile(r"[\[\](){}\"'\s]*(?:\[\s*\]|\{\s*\}|\(\s*\)|\"\s*\")[\[\](){}\"'\s]*")
HEDGE_AFTER = re.compile(r"[\s\"')]*,?\s*\bor\b", re.I)
HEDGE_BEFORE = re.compile(r"\bor (?:an? |the )?[\"'(]*\Z", re.I)
LONGEST_RUN = 4
"""Parts joined by "and" that one label may hold."""
PROSE_WORDS = """i i'm i'd i'll i've me my you your we our he she they it it's its is are was were be been being am this that
these those there here can can't cannot could couldn't would should do does don't doesn't did has have had
sure ok okay yes no not sorry please which who what because since as so but or if with from shows show seems
appears based thank thanks however therefore given unfortunately certainly"""
PROSE = frozenset(PROSE_WORDS.split())
"""A piece that holds one of these is a piece of a sentence, not a label that the model invented."""


@dataclass(frozen=True, slots=True)
class _Labels:
    """A closed set of labels, compiled."""

    spelled: dict[str, str]
    """Folded spelling -> label."""
    options: Options
    """Finds labels in running text, by the names that `owner` explains."""
    owner: dict[str, str]
    """Name in `options` -> label."""
    longest: int
    """Words in the longest label, at least 3: what is longer is no invented label."""
    fault: str
    """What is wrong with the set; empty if nothing is."""


def _key(text: str) -> str:
    """What two spellings of one label share: case, white space, `_`, in-word hyphens, `&`, outer punctuation, article."""
    return fold(text.replace("&", " and "))


@lru_cache(maxsize=512)
def _compile(choices: tuple[str, ...]) -> _Labels:
    short = {label: SUFFIX.sub("", label) for label in choices}
    shared = Counter(_key(text) for text in (*short.values(), *(label for label in choices if short[label] != label)))
    owner = {(short[label] if shared[_key(short[label])] == 1 else label): label for label in choices}
    options = compile_options(tuple(owner), letters=False)
    spelled = {key: owner[name] for key, name in options.exact.items()}
    spelled |= {_key(text): label for name, label in owner.items() for text in (name, label)}
    longest = max((len(key.split()) for key in spelled), default=0)
    return _Labels(spelled, options, owner, max(longest, 3), _fault(choices))


def _fault(choices: tuple[str, ...]) -> str:
    if not choices:
        return "has no choices, so no label can be read. Give it the closed set of labels as choices."
    for label in choices:
        if JOINT in label or label != label.strip() or not _key(label):
            return f"has the label {label!r}. A label is a text without {JOINT!r} and without white space around it: rename it."
    owners: dict[str, str] = {}
    for label in choices:
        other = owners.setdefault(_key(label), label)
        if other != label:
            return f"has the labels {other!r} and {label!r}, which differ in case or punctuation alone. Rename one of them."
    return ""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What was read."""

    labels: frozenset[str] | None
    """The labels as the sample spells them; None if the completion says nothing about them."""
    invented: int
    """Distinct items that are no label of the set."""
    rule: str
    """Why it was read so."""


@dataclass(frozen=True, slots=True)
class LabelsScorer:
    """Reads a set of labels and compares it with `Sample.target`; `Sample.choices` is the closed set.

    Read are lists (commas, semicolons, lines, bullets, numbers, JSON, "and" before the last) after words such as "the tags
    are" or alone, and, in prose without a list, every label that is named and neither denied ("not music") nor hedged ("music
    or sport"). Case, white space, `_`, in-word hyphens, `&` and a suffix such as `_(sociology)` make no difference. An item
    of a list that is no label is counted as invented and otherwise ignored. An empty completion, `[]` and "none" are the
    empty set. Completions over 20,000 characters are read at both ends only.

    Value: Jaccard of what was read and the target, 1 if both are empty. Answer: the labels in the order of the choices, joined
    by `, `. Counts, always: labels read and right, labels of the target, labels read, invented.
    """

    signature: str = field(init=False, default="labels")

    def __call__(self, sample: Sample, text: str) -> Score:
        """Score one completion. Raises DataError if labels or target do not make a closed set."""
        labels = _compile(sample.choices)
        if labels.fault:
            raise DataError(f"Sample {sample.id!r} {labels.fault}")
        target = frozenset(sample.target)
        for label in target.difference(sample.choices):
            raise DataError(
                f"Sample {sample.id!r}: the target {label!r} is not among its {len(sample.choices)} choices."
                f"{nearest(label, sample.choices)} Add it to the choices or correct the target."
            )
        found = read(labels, sample, text)
        if found.labels is None:
            status: ScoreStatus = "refused" if found.rule == "refusal_phrase" else "unparsed"
            return Score(status, counts=(0.0, float(len(target)), 0.0, 0.0), rule=found.rule)
        right, union = len(found.labels & target), len(found.labels | target)
        counts = (float(right), float(len(target)), float(len(found.labels)), float(found.invented))
        answer = JOINT.join(label for label in dict.fromkeys(sample.choices) if label in found.labels)
        return Score("scored", right / union if union else 1.0, answer, counts, found.rule)


def read(labels: _Labels, sample: Sample, text: str) -> Labelled:
    """What `text` says: verbatim labels, then a list, then a refusal, then the labels that prose asserts."""
    stripped = text.strip()
    if not stripped:
        return Labelled(frozenset(), 0, "empty")
    written = stripped.split(JOINT)
    if all(item in sample.choices for item in written):
        return Labelled(frozenset(written), 0, "verbatim")
    # A bullet must become a separator before `visible` removes it.
    shown = visible(BULLET.sub("; ", text), sample.question)
    units = [_unit(labels, piece) for piece in UNIT.split(shown) if piece and piece.strip()]
    listed = _listed(units)
    refused = find_refusal(shown)
    if listed and (listed.labels or not refused):
        return listed
    start = 0
    if refused:
        turn = TURN.search(shown, refused.end())
        start = turn.end() if turn else len(shown)
    named = frozenset(_asserted(labels, shown, start))
    if named:
        return Labelled(named, 0, "labels_named")
    if refused:
        return Labelled(None, 0, "refusal_phrase")
    denied = any(unit.denied for unit in units) or next(labels.options.mentions(shown), None) is not None
    return Labelled(None, 0, "no_label_asserted" if denied else "no_label")


def _asserted(labels: _Labels, text: str, start: int) -> Iterator[str]:
    """Labels that `text[start:]` names, neither denied nor hedged."""
    for mention in labels.options.mentions(text, start):
        hedged = HEDGE_AFTER.match(text, mention.end) or HEDGE_BEFORE.search(text, max(0, mention.start - 12), mention.start)
        if not hedged and polarity(text, mention.start, mention.end) == "asserted":
            yield labels.owner[mention.text]


@dataclass(slots=True)
class _Unit:
    """A line or sentence of a completion."""

    lead: bool = False
    """It announces labels ("the tags are")."""
    marked: bool = False
    """It is an item of a bulleted or numbered list, or stands in brackets."""
    none: bool = False
    """It says that no label applies."""
    prose: bool = False
    """It holds a piece of a sentence."""
    denied: bool = False
    """It denies something."""
    explained: bool = False
    """A label was followed by its explanation ("music: a band, drums"): the rest of the unit is no list."""
    labels: set[str] = field(default_factory=set)
    invented: set[str] = field(default_factory=set)
    pieces: int = 0


def _listed(units: list[_Unit]) -> Labelled | None:
    """The list after the last announcement that is followed by one, else the list that stands by itself."""
    leads = [place for place, unit in enumerate(units) if unit.lead]
    for place in reversed(leads):
        found = _collected(units[place:])
        if found:
            return Labelled(*found, "declared_list" if found[0] or found[1] else "none")
    found = _collected(units)
    return Labelled(*found, "list" if found[0] or found[1] else "none") if found else None


def _collected(units: list[_Unit]) -> tuple[frozenset[str], int] | None:
    """Labels and number of invented items of the list that `units` hold; None if they hold none."""
    labels: set[str] = set()
    invented: set[str] = set()
    for unit in units:
        listing = unit.lead or unit.marked or not unit.prose
        if listing and (unit.labels or unit.lead or unit.marked or (unit.pieces > 1 and not labels | invented)):
            labels |= unit.labels
            invented |= unit.invented
    if labels or invented:
        return frozenset(labels), len(invented)
    return (frozenset(), 0) if any(unit.none for unit in units) else None


def _unit(labels: _Labels, text: str) -> _Unit:
    unit = _Unit(marked=bool(re.match(r"\s*(?:;|\[|\(?\d{1,2}[.)]\s)", text)))
    lead = LEAD.search(text) if _key(text) not in labels.spelled else None
    if lead:
        if AWAY.search(text, 0, lead.end()):
            unit.prose = True
            return unit
        unit.lead, text = True, text[lead.end() :]
    if _is_none(text):
        unit.none = True
        return unit
    for piece in _split(text):
        if not unit.explained:
            _read_piece(labels, unit, piece)
    if unit.lead and unit.prose:
        unit.labels.update(_asserted(labels, text, 0))
    return unit


def _is_none(text: str) -> bool:
    return NONE.fullmatch(fold(text)) is not None or BRACKETS.fullmatch(text) is not None


def _split(text: str) -> Iterable[str]:
    """`text` at separators outside parentheses; inside too if all of it stands in them."""
    text = text.replace("\x00", " ")  # it stands for a parenthesis below
    bare = text.strip().strip(";")
    if bare.startswith("(") and bare.rstrip(" .").endswith(")"):
        text = bare.strip("() .")
    # A parenthesis explains what stands before it and may hold commas: it is taken out, split, and put back whole.
    held = PARENTHESES.findall(text)
    if not held:
        return SEPARATOR.split(text)
    parts = SEPARATOR.split(PARENTHESES.sub("\x00", text))
    remaining = iter(held)
    return ["".join(next(remaining) if c == "\x00" else c for c in part) for part in parts]


def _read_piece(labels: _Labels, unit: _Unit, piece: str) -> None:
    """Sort one item of a list into `unit`."""
    truth = TRUTH.search(piece)
    if truth:
        piece = piece[: truth.start()]
    piece = piece.strip(" \t\"'[]{}")
    label = _label(labels, piece)
    key = _key(piece)
    if not key:
        return
    unit.pieces += 1
    if truth and not truth["yes"]:
        unit.denied = True
    elif label is not None:
        unit.labels.add(label)
        unit.explained = _explains(labels, piece)
    elif DENIED.match(piece):
        unit.denied = True
    elif not _joined(labels, unit, piece):
        words = key.split()
        # A heading ("Explanation:") and a part of a sentence are no labels.
        if ":" in piece or len(words) > labels.longest or not PROSE.isdisjoint(words):
            unit.prose = True
        else:
            unit.invented.add(key)


def _label(labels: _Labels, piece: str) -> str | None:
    """The one label that `piece` is, with or without a parenthesis, a filler, a heading or an explanation."""
    for text in (piece, SUFFIX.sub("", piece), FILLER.sub("", SUFFIX.sub("", piece))):
        found = labels.spelled.get(_key(text))
        if found is not None:
            return found
    head, colon, tail = piece.partition(":")
    if colon:
        return labels.spelled.get(_key(SUFFIX.sub("", head))) or labels.spelled.get(_key(tail))
    parts = DASH.split(piece)
    keys = [labels.spelled.get(_key(SUFFIX.sub("", part))) for part in parts]
    return keys[0] if len(parts) > 1 and not all(keys) else None


def _explains(labels: _Labels, piece: str) -> bool:
    """Whether `piece`, which is a label, goes on after a colon or a dash."""
    head, *rest = re.split(r":|\s[-–—]\s|[–—]", piece, maxsplit=1)
    return bool(rest) and bool(rest[0].strip()) and _key(SUFFIX.sub("", head)) in labels.spelled


def _joined(labels: _Labels, unit: _Unit, piece: str) -> bool:
    """Whether `piece` is several items joined by "and", "/" or dashes, at least one of them a label; sorts these."""
    for joint in (AND, DASH):
        parts = list(_parts(labels, piece, joint))
        if len(parts) > 1 and any(_label(labels, part) is not None for part in parts):
            for part in parts:
                _read_piece(labels, unit, part)
            unit.pieces -= 1
            return True
    return False


def _parts(labels: _Labels, piece: str, joint: re.Pattern[str]) -> Iterator[str]:
    """`piece` at each `joint`, but for those inside a label ("pop and rhythm and blues")."""
    ends = [(found.start(), found.end()) for found in joint.finditer(piece)] + [(len(piece), len(piece))]
    start = place = 0
    while place < len(ends):
        run = range(min(place + LONGEST_RUN, len(ends)) - 1, place, -1)
        last = next((at for at in run if _key(piece[start : ends[at][0]]) in labels.spelled), place)
        if piece[start : ends[last][0]].strip():
            yield piece[start : ends[last][0]]
        start, place = ends[last][1], last + 1
