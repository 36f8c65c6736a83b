"""Whether a mention of an option asserts it, denies it, or does neither."""

from __future__ import annotations

import re
from typing import Literal

Polarity = Literal["asserted", "denied", "open"]
"""`open`: inside a question or an `if` / `whether` clause."""

WINDOW = 160
"""Characters looked at on either side of a mention."""

SENTENCE_END = re.compile(r"[.!?](?=[\s\"')\]]|$)|[。！？\n]")
CLAUSE_BREAK = re.compile(
    r"[,;:()—–]|\b(?:but|however|rather(?! than)|instead(?! of)|though|although)\b"
    r"|\b(?:and|so|because|since|while|whereas) (?:it|this|that|the|they|i|there|is)\b",
    re.I,
)
DENIAL = re.compile(
    r"\b(?:not(?! only\b| just\b| merely\b| simply\b)|no(?! doubt\b| question\b)|never|neither|nor|without(?! (?:a |"
    r"any )?doubt)|none|nothing|"
    r"nobody|cannot(?! deny)|cant|isnt|arent|wasnt|doesnt|dont|didnt|non|hardly|rather than|instead of|unlike|other than|"
    r"as opposed to|"
    r"lacks?|lacking|(?:absence|lack|free|devoid|opposite) of|free from|far from|fails? to|(?:ruled?|ruling) out|"
    r"eliminat\w+|exclud\w+|"
    r"except|excluding|apart from|anything but|unlikely|incorrect|wrong)\b|n't\b(?! deny| help but)",
    re.I,
)
OPEN_LEFT = re.compile(
    r"\b(?:whether|if|hard to|difficult to|not necessarily|unclear|not sure|unsure|depends|determine|decide)\b", re.I
)
OPEN_RIGHT = re.compile(r"\s*or not(?=\s*(?:[.,;:?!)\n]|$)| (?:is|based|depends|would|we|i|it|requires|in|to)\b)", re.I)
DENIED_RIGHT = re.compile(
    r"[\"')]*\s*[:=]\s*(?:no|false|0)\b|[\"')\]]*(?: (?:options?|choices?|answers?|content|speech|elements?|language|"
    r"imagery|message|material))?"
    r" (?:is|was|are|were|would be|would|can be|can|could be|seems?|appears?|has been|should be|do|does)?(?: (?:also|"
    r"clearly|definitely|therefore|thus|simply|both))* ?"
    r"(?:(?:not|n't|never) (?:be |been )?(?:the|an?|correct|right|it\b|it's|present|shown|visible|depicted|there\b|"
    r"applicable|supported|mentioned|match|fit|apply|possible|accurate)"
    r"|(?:wrong|incorrect|inaccurate|unlikely|false|absent|lacking|ruled out|eliminated|excluded|impossible|implausible|"
    r"irrelevant)\b)",
    re.I,
)
NEITHER = re.compile(r"\b(?:neither|none of)\b", re.I)


def sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Span of the sentence around `text[start:end]`, at most WINDOW characters to either side."""
    left, low = max(0, start - WINDOW), max(0, start - WINDOW)
    for stop in SENTENCE_END.finditer(text, low, start):
        left = stop.end()
    found = SENTENCE_END.search(text, end, end + WINDOW)
    return left, found.start() if found else min(len(text), end + WINDOW)


def clause(text: str, left: int, start: int) -> str:
    """`text[left:start]` after its last clause break."""
    for stop in CLAUSE_BREAK.finditer(text, left, start):
        left = stop.end() if stop[0] in ",;:()—–" else stop.start()
    return text[left:start]


def polarity(text: str, start: int, end: int) -> Polarity:
    """What the sentence around `text[start:end]` says about it. text: as `clean.visible` leaves it."""
    left, right = sentence(text, start, end)
    before = clause(text, left, start)
    if OPEN_RIGHT.match(text, end) or OPEN_LEFT.search(before) or text[right : right + 1] in ("?", "？"):
        return "open"
    if DENIAL.search(before) or NEITHER.search(text, left, start) or DENIED_RIGHT.match(text, end):
        return "denied"
    return "asserted"
