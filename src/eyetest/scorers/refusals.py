"""Completions that decline to answer: on policy, for want of a picture, or for not knowing."""

from __future__ import annotations

import re

PICTURE = r"(?:images?|pictures?|photos?|photographs?|memes?|thumbnails?|visuals?|attachments?)"
CANNOT = (
    r"(?:cannot|can't|cant|can not|could not|couldn't|won't be able to|will not be able to|won't|will not|"
    r"am unable to|'m unable to|am not able to|'m not able to|are unable to)"
)
DOING = (
    r"(?:help|assist|provide|answer|identify|determine|tell|see|view|access|process|analy[sz]e|comply|fulfil\w*|recogni[sz]e|"
    r"engage|comment|confirm|make|discuss|say|know|decide|discern|judge|guess|perceive|look at|interpret|open|display|"
    r"complete|choose|do that)"
)
NEGATED = ("n't", "not", "cant", "unable")
# (one of these substrings must be there, the phrase). The phrasings are those of GPT-4V, Claude, Gemini, LLaVA, Qwen-VL and
# InstructBLIP on pictures of people, on memes and on missing pictures, and the abstentions that SimpleQA calls "not attempted"
# (Wei et al. 2024, arXiv 2411.04368).
TABLE = (
    (NEGATED, rf"\b(?:i|we)(?: \w+)? ?{CANNOT} (?:\w+ ){{0,2}}?{DOING}\b"),
    (
        ("sorry", "unfortunately", "apolog"),
        rf"^(?:sorry|unfortunately|i apologi[sz]e)\b[^.\n]{{0,60}}\b(?:{CANNOT}|unable to|not able to|don't|do not)\b",
    ),
    (("sorry",), r"\b(?:i'm|i am|we're|we are) (?:\w+ )?sorry\b|^sorry[.!]?$"),
    (("apolog",), r"\b(?:i apologi[sz]e|my apologies)\b"),
    (("unable to", "not able to"), r"\b(?:i|i'm|i am|we are) (?:unable|not able) to\b"),
    (
        ("able", "ssible", "appropriate"),
        r"\b(?:unable|not able|not possible|impossible|not appropriate) (?:for me )?to (?:\w+ )?"
        r"(?:tell|say|know|determine|identify|answer|view|see|process|analy[sz]e|access|assist|judge|decide|recogni[sz]e)\b",
    ),
    (
        ("be ",),
        r"\b(?:can ?not|can't|could not|couldn't) be (?:\w+ly )?(?:determined|identified|answered|known|inferred|"
        r"established|told)\b",
    ),
    (
        ("as a",),
        rf"\bas an? (?:ai|artificial intelligence|(?:large |visual |text based |multimodal )*(?:language )?model|"
        rf"assistant)\b[^.\n]{{0,100}}?"
        rf"(?:{CANNOT}|unable|not able|don't|do not|not appropriate)\b",
    ),
    (
        ("i do", "i did"),
        r"\bi (?:do not|don't|did not|didn't) (?:actually |really |currently )?"
        r"(?:know|see (?:an?|any|the)|have (?:enough|sufficient|access|the ability|an image|any image))\b",
    ),
    (("i am ", "i'm "), r"\bi(?:'m| am) (?:really |just )?(?:not sure|unsure|not certain|uncertain|not comfortable)\b"),
    (("enough", "insufficient"), r"\b(?:not enough|insufficient) (?:information|context|evidence|data)\b"),
    (
        ("no ",),
        rf"\bno {PICTURE} (?:\w+ ){{0,3}}?(?:provided|attached|given|included|uploaded|available|shown|shared|present)\b"
        rf"|\b(?:there is|there's|i see) no {PICTURE}\b",
    ),
    (("without",), rf"\bwithout (?:seeing |access to |viewing )?(?:the|an|any) (?:actual )?{PICTURE}\b"),
    (
        ("not ", "n't", "failed", "missing"),
        rf"\b{PICTURE} (?:(?:(?:is|was|has|did|does|could|can) ?not|isn't|wasn't|hasn't|didn't|doesn't|can't|couldn't|"
        rf"failed to) (?:be |been )?"
        rf"(?:provided|attached|included|load(?:ed)?|available|uploaded|visible|shown|given|viewed|displayed)|is missing)\b",
    ),
    (
        ("please", "you ", "kindly"),
        rf"\b(?:please|could you|can you|kindly)(?: \w+){{0,2}}? (?:provide|upload|share|attach|send|"
        rf"describe)(?: \w+){{0,4}}? {PICTURE}\b",
    ),
    (
        ("decline", "refuse"),
        r"\b(?:i must|i have to|i'll have to) (?:respectfully )?(?:decline|refuse)\b|\bi (?:respectfully )?decline\b",
    ),
    (("against",), r"\bagainst (?:my|our|the) (?:\w+ )?(?:policy|policies|guidelines|programming)\b"),
    (
        ("法", "不", "歉", "没"),
        r"我无法|我不能|无法(?:确定|回答|识别|判断|查看)|看不到(?:图|任何)|抱歉|对不起|没有(?:提供|看到)?图|我不知道",
    ),
    (("对不起",), r"对不起"),
    (("siento", "puedo"), r"\blo siento\b|\bno puedo\b"),
    (("désol", "je ne"), r"\bje suis désolée?\b|\bje ne (?:peux|sais) pas\b"),
    (("tut mir", "ich kann"), r"\bes tut mir leid\b|\bich kann (?:\w+ ){0,3}nicht\b"),
)
PHRASES = tuple((hints, re.compile(phrase, re.I)) for hints, phrase in TABLE)


def find_refusal(text: str) -> re.Match[str] | None:
    """The first phrase that declines to answer. text: as `clean.visible` leaves it."""
    lower = text.lower()
    found = [m for hints, phrase in PHRASES if any(hint in lower for hint in hints) and (m := phrase.search(text))]
    return min(found, key=lambda match: match.start(), default=None)
