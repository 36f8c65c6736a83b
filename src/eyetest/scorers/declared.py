"""Where a completion says "this is my answer"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from eyetest.scorers.polarity import DENIAL, clause, sentence

Follows = Literal["sentence", "option", "letter"]
"""After a cue: a sentence that names the option, the option at once, or a bare letter at once."""

NOUN = r"(?:answer|option|choice|solution|conclusion|label|classification|category|prediction|verdict|guess|selection)"
LINK = (
    r"(?:is|was|are|would be|should be|must be|will be|has to be|seems to be|appears to be|is likely|is most likely|"
    r"is probably)\b(?: therefore| thus| clearly| simply| just)?(?!,? not sure)"
)
# A declared answer: the option may stand anywhere in what follows, up to the end of the sentence.
OPEN_CUES = (
    rf"\b(?:answers|{NOUN})(?: (?:to|for|of|that|in|from|which|here|should|i|would)\b[^.:;\n]{{0,80}}?)?\s*(?:\b{LINK}|"
    rf"[:=]|-+>|→| - )",
    r"\b(?:i|we)(?:'d|'ll|'m| am| would| will| shall| must)?(?: have to| also| therefore| still| now)? "
    r"(?:choose|pick|select|go(?:ing)? (?:with|for)|opt for|say|guess|answer|conclude|classify|label|categori[sz]e|settle on|"
    r"vote for)\b(?: that)?",
    r"(?:答案|正解|答え|정답|回答|\brespuesta(?: correcta)?|\bréponse(?: correcte)?|\bantwort|\bresposta(?: correta)?|"
    r"\brisposta(?: corretta)?|\bответ|الإجابة(?: الصحيحة)?|الجواب(?: الصحيح)?)"
    r"\s*(?:应该|应)?(?:是|为|は|은|는|هي|هو|\b(?:es|est|ist|é|è)\b|:|-)\s*:?(?: ?(?:la|le|el|die|der)\b)?",
    r"(?:选项[是为:]|选择|选项|选)(?=\s*[A-Za-z(])",
)
SUBJECT = r"(?:it|this|that|he|she|(?:the|this|these|my|its) (?:[\w']+ ){1,4}?)"
BE = (
    r" ?(?:is|was|'s|are|must be|would be|should be|appears to be|seems to be|looks like|can be (?:classified|considered|"
    r"described|labell?ed|categori[sz]ed) as|"
    r"(?:is|should be|would be) (?:classified|considered|labell?ed|categori[sz]ed) as|belongs to|falls (?:under|into))\b"
)
# A conclusion: the option must follow at once.
STRICT_CUES = (
    rf"\b(?:therefore|thus|hence|consequently|accordingly|in conclusion|overall|in summary|to conclude|to summari[sz]e|"
    rf"if i had to guess|ultimately|"
    rf"so|actually|wait|correction|(?:that|this|which)(?: only)? leaves(?: us with| only| me with)?|leaving(?: us with|"
    rf" only)?|因此|所以)\b[,:]?(?: no,)?(?: (?:i|we) (?:think|believe))?(?: {SUBJECT}{BE})?",
)
# Before a bare letter that ends its clause, and before nothing else.
LETTER_CUE = (
    r"(?:\b(?:it's|it is|it was|i think|i believe|i suspect|probably|likely|could be|might be|may be|must be|c'est|choose|"
    r"pick|select)\b"
    r"|\A(?:so|ok|okay|sure)\b,?)(?: (?:it's|it is|that|probably|most likely|option))*"
)
NOUNS = ("answer", "option", "choice", "solution", "conclusion", "label", "classification", "category", "prediction", "verdict")
FOREIGN = ("答", "解", "정답", "respuesta", "réponse", "antwort", "resposta", "risposta", "ответ", "الإجابة", "الجواب")
CONCLUDING = (
    "therefore",
    "thus",
    "hence",
    "consequent",
    "according",
    "conclu",
    "overall",
    "summar",
    "ultimate",
    "guess",
    "so ",
    "so,",
)
CORRECTING = ("actually", "wait", "correction", "leav", "因此", "所以")
GUESSING = (
    "it's",
    "it is",
    "it was",
    "think",
    "believe",
    "suspect",
    "likely",
    "probably",
    "be ",
    "c'est",
    "choose",
    "pick",
    "select",
    "so",
    "ok",
    "sure",
)
TURN = re.compile(r"\b(?:but|however|still|nevertheless|that said)\b,?", re.I)
"""After a refusal: an answer may follow at once."""
SOFT = re.compile(
    r"\b(?:(?:it|this|that|(?:the|this) (?:[\w']+ ){1,4}?)(?: \w+){0,2} ?(?:appears? to be|seems? to be|seems? like|"
    r"looks? like|resembles?|(?:is|'s)(?: most)? (?:likely|probably)|"
    r"might be|may be|could be)|i(?:'d| would)? (?:guess|assume|think|believe|suspect))\b",
    re.I,
)
"""A guess, which counts where nothing firmer is said."""
# (one of these substrings must be there at all, what may follow, the expression): most completions skip most expressions.
CUES: tuple[tuple[tuple[str, ...], Follows, re.Pattern[str]], ...] = (
    ((*NOUNS, "guess", "selection"), "sentence", re.compile(OPEN_CUES[0], re.I)),
    (("i ", "i'", "we "), "sentence", re.compile(OPEN_CUES[1], re.I)),
    (FOREIGN, "sentence", re.compile(OPEN_CUES[2], re.I)),
    (("选",), "sentence", re.compile(OPEN_CUES[3], re.I)),
    (CONCLUDING + CORRECTING, "option", re.compile(STRICT_CUES[0], re.I)),
    (("no",), "option", re.compile(r"(?<=[.?!)…—,;-] )no\b,?(?: (?:wait|actually|rather))?,?(?: (?:it's|it is))?(?! ?\n)", re.I)),
    (GUESSING, "letter", re.compile(LETTER_CUE, re.I)),
)
NOT_DECLARING = re.compile(
    r"\b(?:whether|if|which|unclear|not sure|unsure|depends|can't|cannot|unable|first|initial|choose (?:from|between))\b", re.I
)


@dataclass(frozen=True, slots=True)
class Cue:
    """Words after which an answer is expected."""

    start: int
    """First character of the cue."""
    at: int
    """First character after it."""
    follows: Follows
    """What may follow."""


def cues(text: str) -> Iterator[Cue]:
    """Every cue in `text` whose own sentence does not take it back, in reading order. text: as `clean.visible` leaves it."""
    lower = text.lower()
    for hints, follows, expression in CUES:
        if any(hint in lower for hint in hints):
            for found in expression.finditer(text):
                before = clause(text, sentence(text, found.start(), found.start())[0], found.start())
                # "No wait, it is B": a correction is not denied by the "no" before it.
                denied = follows != "option" and DENIAL.search(before)
                if not (denied or NOT_DECLARING.search(before)):
                    yield Cue(found.start(), found.end(), follows)


# Not after an initial or a title: "J. K. Rowling", "St. Louis".
SENTENCE = re.compile(
    r"(?<!\b[A-Z])(?<!\b(?:St|Dr|Mr|Ms|Mt|Jr|Sr|No|Ft|vs|ca))(?<!\b(?:Mrs|Gen|Col|Rev))(?<!\bProf)\.(?=\s|$)|[!?](?=\s|$)|"
    r"[。！？\n]"
)
PLAIN_ANSWER = re.compile(r"answer", re.I)


def declared_text(text: str) -> str | None:
    """What an open answer declares last, up to the end of its sentence; None if nothing is declared.

    "The answer is" outranks "I would say" and "the conclusion is", and these outrank "so" and "therefore", which count at the
    start of a sentence only.
    """
    ranked: dict[int, tuple[int, str]] = {}
    for cue in cues(text):
        if cue.follows == "letter" or (
            cue.follows == "option" and text[: cue.start].rstrip(" ")[-1:] not in ("", ".", "!", "?", "\n")
        ):
            continue
        rank = (
            2
            if cue.follows == "option"
            else 0
            if PLAIN_ANSWER.search(text, cue.start, cue.at) or not text[cue.start].isascii()
            else 1
        )
        start = cue.at
        while text[start : start + 1] in (" ", "\n", ":", '"'):
            start += 1
        end = SENTENCE.search(text, start)
        content = text[start : end.start() if end else len(text)].strip()
        if content and (rank not in ranked or ranked[rank][0] < cue.at):
            ranked[rank] = (cue.at, content)
    return ranked[min(ranked)][1] if ranked else None
