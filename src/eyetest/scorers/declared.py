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
    r"(?:答案|正解|答え|정답|回答|\brespuesta(?: correcta)?|\bréponse(?: correcte)?|\bantwort|\bresposta(?: correta)?|\brisposta(?: corretta)?|\bответ|الإجابة(?: الصحيحة)?|الجواب(?: الصحيح)?)"
    r"\s*(?:应该|应)?(?:是|为|は|은|는|هي|هو|\b(?:es|est|ist|é|è)\b|:|-)\s*:?",
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
    rf"so|actually|wait|correction|(?:that|this|which)(?: only)? leaves(?: us with| only| me with)?|leaving(?: us with| only)?|因此|所以)\b[,:]?(?: no,)?(?: (?:i|we) (?:think|believe))?(?: {SUBJECT}{BE})?",
)
# (one of these substrings must be there at all, strict, the expression): most completions skip most expressions.
NOUNS = ("answer", "option", "choice", "solution", "conclusion", "label", "classification", "category", "prediction", "verdict")
FOREIGN = ("答", "解", "정답", "respuesta", "réponse", "antwort", "resposta", "risposta", "ответ", "الإجابة", "الجواب")
CONCLUDING = ("therefore", "thus", "hence", "consequent", "according", "conclu", "overall", "summar", "ultimate", "so ", "so,")
CORRECTING = ("actually", "wait", "correction", "leav", "因此", "所以")
CUES = (
    ((*NOUNS, "guess", "selection"), False, re.compile(OPEN_CUES[0], re.I)),
    (("i ", "i'", "we "), False, re.compile(OPEN_CUES[1], re.I)),
    (FOREIGN, False, re.compile(OPEN_CUES[2], re.I)),
    (("选",), False, re.compile(OPEN_CUES[3], re.I)),
    (CONCLUDING + CORRECTING, True, re.compile(STRICT_CUES[0], re.I)),
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
    for hints, strict, expression in CUES:
        if any(hint in lower for hint in hints):
            for found in expression.finditer(text):
                before = clause(text, sentence(text, found.start(), found.start())[0], found.start())
                if not (NOT_DECLARING.search(before) or DENIAL.search(before)):
                    yield Cue(found.start(), found.end(), strict)


# Not after an initial or a title: "J. K. Rowling", "St. Louis".
SENTENCE = re.compile(
    r"(?<!\b[A-Z])(?<!\b(?:St|Dr|Mr|Ms|Mt|Jr|Sr|No|Ft|vs|ca))(?<!\b(?:Mrs|Gen|Col|Rev))(?<!\bProf)\.(?=\s|$)|[!?](?=\s|$)|[。！？\n]"
)
PLAIN_ANSWER = re.compile(r"answer", re.I)


def declared_text(text: str) -> str | None:
    """What an open answer declares last, up to the end of its sentence; None if nothing is declared.

    "The answer is" outranks "I would say" and "the conclusion is", and these outrank "so" and "therefore", which count at the
    start of a sentence only.
    """
    ranked: dict[int, tuple[int, str]] = {}
    for cue in cues(text):
        if cue.strict and text[: cue.start].rstrip(" ")[-1:] not in ("", ".", "!", "?", "\n"):
            continue
        rank = 2 if cue.strict else 0 if PLAIN_ANSWER.search(text, cue.start, cue.at) or not text[cue.start].isascii() else 1
        start = cue.at
        while text[start : start + 1] in (" ", "\n", ":", '"'):
            start += 1
        end = SENTENCE.search(text, start)
        content = text[start : end.start() if end else len(text)].strip()
        if content and (rank not in ranked or ranked[rank][0] < cue.at):
            ranked[rank] = (cue.at, content)
    return ranked[min(ranked)][1] if ranked else None
