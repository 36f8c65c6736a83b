"""What of a completion is read: thoughts, mark-up and run-on questions removed, in time linear in its length."""

from __future__ import annotations

import re
import unicodedata

HEAD, TAIL = 4_000, 16_000
"""A longer completion is read from its first HEAD and last TAIL characters: an answer stands at one of its ends."""

THOUGHT = re.compile(r"[<◁](/?)(?:think|thinking|thought|reasoning)[>▷]", re.I)
# The turn after the answer: base models go on with the next question, chat models leak their template's tokens.
END_TOKEN = re.compile(r"</s>|<\|(?:im_end|endoftext|eot_id|end|im_start)\|>|<end_of_turn>|\[INST\]")
NEXT_TURN = re.compile(
    r"(?:^|\n)[ \t#*]{0,8}(?:question|q|user|human|instruction|input)(?:[ \t]{0,4}\d{1,4})?[ \t]{0,4}\*{0,3}:[ \t*]{0,8}", re.I
)
OPENING = re.compile(r"(?:<s>|<bos>|<\|begin_of_text\|>|#{0,4} ?(?:assistant|gpt|model|response) ?:)\s*", re.I)

QUOTES = str.maketrans(dict.fromkeys("’‘‛´ʼ", "'") | dict.fromkeys("“”„«»「」『』", '"') | {"_": " ", "−": "-"})
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0f]")
EMPHASIS = re.compile(r"(?<!\w)[*~]+|[*~]+(?!\w)|`+|(?m:^[ \t]*(?:#+|>+|[-•+](?=[ \t]))[ \t]*)")
HTML = re.compile(r"</?(?:b|i|u|p|br|em|strong|code|span|div)\s?/?>", re.I)
LATEX_TEXT = re.compile(r"\\(?:text(?:bf|it|rm|sf|tt)?|mathrm|mathbf|mathit|mathsf|mbox|rm|bf)\s*\{([^{}]{0,200})\}")
LATEX_MATH = re.compile(r"\${1,2}(?=\S)([^$\n]{1,80})(?<=\S)\${1,2}(?!\d)|\\[(\[]([^\\\n]{1,80})\\[)\]]")
# Tests for one character spare most completions a scan with a regular expression.
HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑](?=[^\W\d_])")
# Chinese, Japanese, Thai, ...: "这是dog" holds the word dog.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff"
SCRIPT_CHANGE = re.compile(f"(?<=[A-Za-z0-9])(?=[{UNSPACED}])|(?<=[{UNSPACED}])(?=[A-Za-z0-9])")
SPACES = re.compile(r"[^\S\n]+")

# Every machine-readable dress of a final answer becomes one plain declaration, so that one rule reads them all.
DRESSED = re.compile(
    r"\\(?:f?boxed|fbox)\s*\{([^{}]{0,200}(?:\{[^{}]{0,100}\}[^{}]{0,100}){0,3})\}"
    r"|<(?:answer|conclusion|final_?answer|output)>(.{0,400}?)</(?:answer|conclusion|final_?answer|output)>"
    r"|<\|begin_of_box\|>(.{0,400}?)<\|end_of_box\|>"
    r"""|["'](?:final[_ ]?|correct[_ ]?|predicted[_ ]?)?(?:answer|choice|option|label|prediction|class|classification|selected)"""
    r"""(?:[_ ](?:letter|text|choice))?["']\s*:\s*(?:["']([^"'\n]{0,300})["']|([^\s,}"'][^,}\n]{0,100}|\[[^\]\n]{0,100}\]))""",
    re.I | re.S,
)


def without_thoughts(text: str) -> str:
    """`text` outside `<think>...</think>`. An unclosed thought hides all that follows, a stray closing tag all that precedes."""
    if "<" not in text and "◁" not in text:
        return text
    kept: list[str] = []
    start, inside = 0, False
    for tag in THOUGHT.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()
            start, inside = tag.end(), False
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    if not inside:
        kept.append(text[start:])
    return " ".join(kept)


def without_run_on(text: str, question: str) -> str:
    """`text` up to the next question that the model invented; a restatement of `question` itself is kept."""
    text = text.strip()
    start = 0
    while opening := OPENING.match(text, start):
        start = opening.end()
    text = text[start:]
    if "<" in text or "[" in text:
        end = END_TOKEN.search(text)
        text = text[: end.start()] if end else text
    if ":" not in text:
        return text
    own = question.strip()[:40].casefold()
    for turn in NEXT_TURN.finditer(text):
        if text[: turn.start()].strip() and not (own and text[turn.end() : turn.end() + 80].casefold().startswith(own)):
            return text[: turn.start()]
    return text


def plain(text: str) -> str:
    """`text` in NFKC without invisible characters, Markdown and LaTeX dress; `_` and in-word hyphens become spaces.

    Options go through the same function, so that what is equal stays equal.
    """
    if not text.isascii():
        text = INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    text = text.translate(QUOTES)
    if "<" in text:
        text = HTML.sub(" ", text)
    if "\\" in text:
        text = LATEX_TEXT.sub(r"\1", text)
    if "\\" in text or "$" in text:
        text = LATEX_MATH.sub(lambda m: m[1] or f"({m[2].strip()})", text)
    if not text.isascii():
        text = SCRIPT_CHANGE.sub(" ", text)
    if "\n" in text or text[:1] in "#>-+•" or "*" in text or "`" in text or "~" in text:
        text = EMPHASIS.sub("", text)
    if "-" in text or not text.isascii():
        text = HYPHEN.sub(" ", text)
    if "  " in text or "\t" in text or not text.isascii():
        text = SPACES.sub(" ", text)
    return text.strip()


def visible(text: str, question: str = "") -> str:
    """The part of a completion that may hold the answer, in plain characters; dressed answers as `answer: ...` lines.

    question: the sample's question, to tell an echo of the prompt from a run-on.
    """
    text = without_thoughts(text)
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    text = without_run_on(text, question)
    if "\\" in text:
        text = LATEX_TEXT.sub(r"\1", text)
    if "{" in text or "<" in text or ":" in text:
        text = DRESSED.sub(lambda m: f"\nanswer: {next((part for part in m.groups() if part is not None), '').strip()}\n", text)
    return plain(text)
