"""Where a completion says "this is my answer"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eyetest.scorers.polarity import DENIAL, clause, sentence

NOUN = r"(?:answer|option|choice|solution|conclusion|label|classification|category|prediction|verdict|guess|selection)"
LINK = r"(?:is|was|are|would be|should be|must be|will be|has to be|seems to be|appears to be|is likely|is most likely|is probably)\b(?: therefore| thus| clearly| simply| just)?(?!,? not sure)"
# A declared answer: the option may stand anywhere in what follows, up to the end of the sentence.
OPEN_CUES = (
    rf"\b(?:answers|{NOUN})(?: (?:to|for|of|that|in|from|which|here|should|i|would)\b[^.:;\n]{{0,80}}?)?\s*(?:\b{LINK}|[:=]|-+>|→)",
    r"\b(?:i|we)(?:'d|'ll| would| will| shall| must)?(?: have to| also| therefore| still| now)? "
    r"(?:choose|pick|select|go (?:with|for)|opt for|say|guess|answer|conclude|classify|label|categori[sz]e|settle on|vote for)\b(?: that)?",
    r"(?:答案|正解|答え|정답|回答|\brespuesta(?: correcta)?|\bréponse(?: correcte)?|\bantwort|\bresposta(?: correta)?|\brisposta(?: corretta)?|\bответ)"
    r"\s*(?:应该|应)?(?:是|为|は|は|은|는|\b(?:es|est|ist|é|è)\b|:|-)\s*:?",
    r"(?:选择|选项|选)(?=\s*[A-Za-z(])",
)
SUBJECT = r"(?:it|this|that|he|she|(?:the|this|these|my|its) (?:[\w']+ ){1,4}?)"
BE = (
    r" ?(?:is|was|'s|are|must be|would be|should be|appears to be|seems to be|looks like|can be (?:classified|considered|described|labell?ed|categori[sz]ed) as|"
    r"(?:is|should be|would be) (?:classified|considered|labell?ed|categori[sz]ed) as|belongs to|falls (?:under|into))\b"
)
# A conclusion: the option must follow at once.
STRICT_CUES = (
    rf"\b(?:therefore|thus|hence|consequently|accordingly|in conclusion|overall|in summary|to conclude|to summari[sz]e|ultimately|"
    rf"so|actually|wait|correction|因此|所以)\b[,:]?(?: no,)?(?: (?:i|we) (?:think|believe))?(?: {SUBJECT}{BE})?",
)
# (strict, one of these substrings must be there at all, the expression): most completions skip most expressions.
CUES = (
    (False, ("answer", "option", "choice", "solution", "conclusion", "label", "classification", "category", "prediction", "verdict", "guess",
             "selection"), re.compile(OPEN_CUES[0], re.I)),
    (False, ("i ", "i'", "we "), re.compile(OPEN_CUES[1], re.I)),
    (False, ("答", "解", "정답", "respuesta", "réponse", "antwort", "resposta", "risposta", "ответ"), re.compile(OPEN_CUES[2], re.I)),
    (False, ("选",), re.compile(OPEN_CUES[3], re.I)),
    (True, ("therefore", "thus", "hence", "consequent", "according", "conclu", "overall", "summar", "ultimate", "so ", "so,", "actually", "wait",
            "correction", "因此", "所以"), re.compile(STRICT_CUES[0], re.I)),
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
    strict: bool
    """The option must stand right there."""


def cues(text: str) -> Iterator[Cue]:
    """Every cue in `text` whose own sentence does not take it back, in reading order. text: as `clean.visible` leaves it."""
    lower = text.lower()
    for strict, hints, expression in CUES:
        if any(hint in lower for hint in hints):
            for found in expression.finditer(text):
                before = clause(text, sentence(text, found.start(), found.start())[0], found.start())
                if not (NOT_DECLARING.search(before) or DENIAL.search(before)):
                    yield Cue(found.start(), found.end(), strict)


SENTENCE = re.compile(r"[.!?](?=\s|$)|[。！？\n]")


def declared_text(text: str) -> str | None:
    """What the last declaration of an open answer declares, up to the end of its sentence; None if nothing is declared."""
    answer = None
    for cue in sorted(cues(text), key=lambda cue: cue.at):
        start = cue.at + len(text[cue.at :]) - len(text[cue.at :].lstrip(' \n":-'))
        end = SENTENCE.search(text, start)
        content = text[start : end.start() if end else len(text)].strip()
        answer = content or answer
    return answer
