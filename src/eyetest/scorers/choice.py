"""Reads which option a completion chooses. Never guesses: what is not said is `unparsed`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from eyetest.errors import DataError
from eyetest.scorers.clean import visible
from eyetest.scorers.declared import SOFT, TURN, cues
from eyetest.scorers.letters import (
    LINE_LETTER,
    TWO,
    UNREAD,
    Reading,
    enumerates,
    letter_at,
    letter_lines,
    named_letters,
    past,
    skip,
)
from eyetest.scorers.options import Mention, Options, compile_options, fold
from eyetest.scorers.polarity import SENTENCE_END, polarity, sentence
from eyetest.scorers.refusals import find_refusal
from eyetest.types import Sample, Score

OR_TEXT = re.compile(r"[\s\"')]*(?:,\s*)?(?:\b(?:and|or|as well as)\b|[&/])\s*(?:also |possibly |perhaps |maybe |\")?", re.I)
FILLER = re.compile(
    r"[\s\"'(:\-–—=>]*(?:(?:that|it is|it's|this is|it|is|he is|she is|likely|most likely|probably|clearly|definitely|"
    r"indeed|about|as|for|with|either|both|"
    r"(?:the|this) (?:image|picture|photo|meme|answer|animal|object|person) (?:is|shows|depicts|contains)|labell?ed|called|"
    r"yes,|no,)\b[\s\"':,]*)*",
    re.I,
)
NEGATED_HEAD = re.compile(
    r"[\s\"'(:]*(?:(?:definitely|certainly|clearly|probably|likely) )?(?:not|never|neither|n't|none of)\b", re.I
)
INSTEAD = re.compile(r"\b(?:but|rather|instead)\b[\s:,]*(?:rather |instead |is |it is |it's )?", re.I)
AFFIRMED = re.compile(
    r"[)\]\"'.]* ?(?:is|seems|would be|looks|appears|must be)(?: to be)?(?: (?:the|most|definitely|clearly|therefore|thus|"
    r"likely|only|indeed|also|a|much))* "
    r"(?:correct|right|best|better|answer|true|accurate|appropriate|suitable|plausible|"
    r"likely(?! (?:to be )?(?:wrong|incorrect|not|false)))\b|[)\]\"'.]* fits best\b",
    re.I,
)
AFFIRMING = ("correct", "right", "best", "better", "answer", "true", "accurate", "appropriate", "suitable", "plausible", "likely")
CAPITAL = re.compile(r"(?<![A-Za-z0-9'])([A-Z])(?![A-Za-z0-9]|'[A-Za-z])(?! [a-z])")
BARE_LETTER = re.compile(r"(?<![A-Za-z0-9'])[(\[]?([A-Z])(?=[)\]]? (?:is|seems|would be|looks|appears|must be|fits)\b)")
YES_NO = re.compile(r"[\s\"']*(?P<word>yes|no|yeah|yep|nope)(?:(?=\s*(?:$|[.,;:!\n\"'—–-]))|(?P<bare>(?=\s)))", re.I)
BOTH_WORDS = re.compile(r"[\s,]*(?:and|or|/)\s*(?:yes|no)\b|[\s,.!]*(?:yes|no)[\s.!]*\Z", re.I)
LEADING_QUESTION = re.compile(r"[^.!?\n]{1,300}\?\s+")
AFTER_NO = re.compile(r"\s(?:it|there|this|that|the|they|he|she|i|we|these|those|not)\b", re.I)
LETTER_AFTER = re.compile(r"[\s\"']*[(\[]([A-Za-z]{1,2})[)\]]")
FIRST_SENTENCE = re.compile(r"(?:it|this|that)(?: is|'s| was)\s+", re.I)
CORRECTION = re.compile(r"\b(?:wait|actually|correction|on second thought|hmm|or maybe)\b", re.I)


@dataclass(frozen=True, slots=True)
class ChoiceScorer:
    """Reads one choice, by letter or by text, and compares its text with the target.

    letters: whether letter i stands for choice i (False where the prompt shows options without letters).
    Value 1 if the text read is in `Sample.target`. Completions over 20,000 characters are read at both ends only.
    """

    letters: bool = True
    signature: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "signature", f"choice(letters={str(self.letters).lower()})")

    def __call__(self, sample: Sample, text: str) -> Score:
        """Score one completion. Raises DataError if the sample has no choices."""
        if not sample.choices:
            raise DataError(
                f"Sample {sample.id!r} has no choices, so no choice can be read. Give it choices or score it as kind 'text'."
            )
        options = compile_options(sample.choices, self.letters)
        stripped = text.strip()
        choice = options.verbatim.get(stripped)
        if choice is not None:
            rule = "option_text" if choice == stripped else "letter_alone"
            return Score("scored", float(choice in sample.target), choice, rule=rule)
        reading = read(options, visible(text, sample.question))
        if reading.rule == "refusal_phrase":
            return Score("refused", rule=reading.rule)
        if reading.text is None:
            return Score("unparsed", rule=reading.rule)
        return Score("scored", float(reading.text in sample.target), reading.text, rule=reading.rule)


def read(options: Options, text: str) -> Reading:
    """What `text` chooses. text: as `clean.visible` leaves it.

    The whole text, then its last declaration, then its opening (letter, yes / no, short sentence), then any refusal,
    then every option that it names.
    """
    if not text:
        return Reading(None, "empty")
    whole = _whole(options, text)
    if whole:
        return whole
    declared = _declared(options, text)
    if declared:
        return declared
    opening = _opening(options, text)
    if opening:
        return opening
    refused = _refused(options, text)
    if refused:
        return refused
    return _named(options, text)


def _whole(options: Options, text: str) -> Reading | None:
    """A completion that is nothing but an option or a letter."""
    if len(text) > options.longest + 40:
        return None
    key = fold(text)
    if key.upper() in options.clashing:
        return Reading(None, "letter_or_text")
    if key in options.exact:
        return Reading(options.exact[key], "option_text")
    alone = LINE_LETTER.match(text) if len(text) < 12 else None
    if alone and alone[1].upper() in options.letters:
        return Reading(options.letters[alone[1].upper()], "letter_alone")
    return None


def _declared(options: Options, text: str) -> Reading | None:
    """The last declaration that says anything about the options; else the last bare letter after "it is" and the like."""
    firm = [*_affirmed(options, text), *letter_lines(options, text)]
    loose: list[tuple[int, Reading]] = []
    for cue in cues(text):
        if cue.follows == "letter":
            letter = letter_at(options, text, cue.at, declared=False)
            loose += [(cue.at, letter)] if letter else []
        else:
            reading = _after_cue(options, text, cue.at, strict=cue.follows == "option")
            firm += [(cue.at, reading)] if reading else []
    last = max(firm, key=lambda pair: pair[0], default=None)
    if loose and (last is None or last[1].rule == "negated_option"):
        last = max(loose, key=lambda pair: pair[0])
    if last is None:
        return None
    return TWO if _retracted(options, text, *last) else last[1]


def _retracted(options: Options, text: str, at: int, reading: Reading) -> bool:
    """Whether words such as "wait" and another option follow what was read at `at`: then nothing is certain any more."""
    turn = CORRECTION.search(text, at)
    if turn is None:
        return False
    if any(options.letters.get(found[1], reading.text) != reading.text for found in CAPITAL.finditer(text, turn.end())):
        return True
    named = options.mentions(text, turn.end())
    return any(m.text != reading.text and polarity(text, m.start, m.end) == "asserted" for m in named)


def _after_cue(options: Options, text: str, at: int, *, strict: bool) -> Reading | None:
    """What follows a cue; None if it says nothing about the options."""
    if NEGATED_HEAD.match(text, at):
        direct = options.at(text, at + len(text[at : at + 20]) - len(text[at : at + 20].lstrip(" \n\"'(:")))
        if direct:
            return Reading(direct.text, "declared_answer")
        end = sentence(text, at, at)[1]
        turn = INSTEAD.search(text, at, end)
        if turn:
            return _after_cue(options, text, turn.end(), strict=strict)
        return None if strict else _resolved(options, text, at, end) or Reading(None, "negated_option")
    start = skip(text, at)
    direct = options.at(text, start) or options.at(text, past(FILLER, text, at))
    if direct:
        return _with_neighbours(options, text, direct)
    letter = letter_at(options, text, start, declared=True) or letter_at(options, text, past(FILLER, text, at), declared=False)
    if letter:
        return letter
    if strict:
        return None
    answer = _yes_no(options, text, start)
    if answer:
        return answer
    end = sentence(text, start, start)[1]
    return _resolved(options, text, start, end)


def _with_neighbours(options: Options, text: str, mention: Mention) -> Reading:
    """An option text right after a cue, unless a second option is joined to it or a letter contradicts it."""
    joint = OR_TEXT.match(text, mention.end)
    if joint:
        other = options.at(text, joint.end())
        if other and other.text != mention.text and polarity(text, other.start, other.end) == "asserted":
            return TWO
    letter = LETTER_AFTER.match(text, mention.end)
    if letter and options.letters.get(letter[1].upper(), mention.text) != mention.text:
        return Reading(None, "letter_and_text_disagree")
    return Reading(mention.text, "declared_answer")


def _affirmed(options: Options, text: str) -> Iterator[tuple[int, Reading]]:
    """`B is correct`, `Paris is the right answer`."""
    if not any(word in text for word in AFFIRMING):
        return
    for found in BARE_LETTER.finditer(text):
        choice = options.letters.get(found[1])
        if (
            choice is not None
            and AFFIRMED.match(text, found.end(1))
            and polarity(text, found.start(), found.end(1)) == "asserted"
        ):
            yield found.start(), Reading(choice, "declared_answer")
    for mention in options.mentions(text):
        if AFFIRMED.match(text, mention.end) and polarity(text, mention.start, mention.end) == "asserted":
            yield mention.start, Reading(mention.text, "declared_answer")


def _opening(options: Options, text: str) -> Reading | None:
    """How the completion begins: a letter with or without its text, yes / no, a first sentence that is an option."""
    if enumerates(options, text):
        return None
    letter = letter_at(options, text, 0, declared=False)
    if letter:
        also = set(named_letters(options, text, 0, sentence(text, 0, 0)[1])) - {letter.text}
        return TWO if also or _retracted(options, text, 0, letter) else letter
    answer = _yes_no(options, text, past(LEADING_QUESTION, text, 0))
    if answer:
        return answer
    end = SENTENCE_END.search(text)
    if end is None:
        return None
    start = FIRST_SENTENCE.match(text)
    key = fold(text[start.end() if start else 0 : end.start()])
    if key not in options.exact or end[0] in "?？" or key.upper() in options.letters:
        return None
    choice = options.exact[key]
    others = {m.text for m in options.mentions(text, end.end()) if polarity(text, m.start, m.end) == "asserted"} - {choice}
    listed = any(
        options.exact.get(fold(part), choice) != choice for part in SENTENCE_END.split(text[end.end() : end.end() + 400])
    )
    return TWO if listed or (others and CORRECTION.search(text, end.end())) else Reading(choice, "first_sentence")


def _yes_no(options: Options, text: str, at: int) -> Reading | None:
    """A leading yes or no, where the options are, or amount to, yes and no; None if it is no answer here."""
    found = YES_NO.match(text, at) if options.yes_no else None
    if not found:
        return None
    word = "yes" if found["word"].lower().startswith("y") else "no"
    if word not in options.yes_no or (word == "no" and found["bare"] is not None and not AFTER_NO.match(text, found.end())):
        return None
    if BOTH_WORDS.match(text, found.end()):
        return TWO
    choice = options.yes_no[word]
    if fold(choice) == word:
        return Reading(choice, "yes_no")
    end = sentence(text, found.end(), found.end())[1]
    rest = _resolved(options, text, found.end(), end)
    if rest and rest.text is not None and rest.text != choice:
        return Reading(None, "yes_no_and_text_disagree")
    return Reading(choice, "yes_no_of_label")


def _refused(options: Options, text: str) -> Reading | None:
    """A refusal, unless an option is named before it, within it, or as a guess after it."""
    found = find_refusal(text)
    if not found:
        return None
    for mention in options.mentions(text, 0, min(len(text), found.end() + 80)):
        inside = mention.start < found.end() and mention.end > found.start()
        if inside and len(mention.text) >= 8:
            return None
        if (
            mention.end <= sentence(text, found.start(), found.end())[0]
            and polarity(text, mention.start, mention.end) == "asserted"
        ):
            return None
    turn = TURN.search(text, found.end())
    after = _after_cue(options, text, turn.end(), strict=True) if turn else None
    if after and after.text is not None:
        return after
    guess = SOFT.search(text, found.end())
    if guess:
        reading = _resolved(options, text, guess.end(), sentence(text, guess.end(), guess.end())[1])
        if reading:
            return reading
    return Reading(None, "refusal_phrase")


def _resolved(options: Options, text: str, start: int, end: int) -> Reading | None:
    """The one option that `text[start:end]` asserts, by text or by letter; None if it names none."""
    texts: dict[str, str] = {}
    denied = False
    for mention in options.mentions(text, start, end):
        said = polarity(text, mention.start, mention.end)
        if said == "asserted":
            texts.setdefault(mention.text, "option_named")
        elif said == "denied":
            denied = True
            if mention.text in options.opposite:
                texts.setdefault(options.opposite[mention.text], "negation_of_label")
    letters = dict.fromkeys(named_letters(options, text, start, end), "letter_named")
    if len(texts) == 1 and len(letters) == 1 and texts.keys() != letters.keys():
        return Reading(None, "letter_and_text_disagree")
    found = letters | texts
    if len(found) > 1:
        return TWO
    for choice, rule in found.items():
        return Reading(choice, rule)
    return Reading(None, "negated_option") if denied else None


def _named(options: Options, text: str) -> Reading:
    """The only option named anywhere."""
    return _resolved(options, text, 0, len(text)) or UNREAD
