"""Compares a transcription with the text that stands in the picture: words, characters, n-grams."""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Literal

from eyetest.errors import DataError
from eyetest.scorers.clean import visible, without_thoughts
from eyetest.scorers.edits import edits
from eyetest.scorers.ngrams import ORDERS, clipped, possible
from eyetest.scorers.refusals import find_refusal
from eyetest.types import Sample, Score

COUNTS = (
    "word_edits",
    "ref_words",
    "hyp_words",
    "char_edits",
    "ref_chars",
    "bag_hits",
    *(f"matches_{n}" for n in range(1, ORDERS + 1)),
    *(f"ngrams_{n}" for n in range(1, ORDERS + 1)),
)
"""What `Score.counts` holds, in this order.

matches_n: n-grams of the hypothesis that stand in the reference (clipped); ngrams_n: n-grams of the hypothesis. For one
reference bag_hits is matches_1; it has a place of its own because bag-of-words metrics are no part of BLEU.
"""

QUOTED = {'"': '"', "“": "”", "„": "“", "«": "»", "‘": "’", "'": "'", "「": "」", "『": "』", "`": "`"}
LONGEST_FRAME = 300
"""Characters in which an announcement must stand."""
FENCE = re.compile(r"```\w*[ \t]*\n(.*?)\n?[ \t]*```", re.S)
# "Sure! The text in the image reads:" and the like. A colon or a quote must follow, lest words of the picture go.
FRAME = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok|yes)\b[^:\n\"“]{0,20}[!.,]\s*)?"
    r"(?:(?:here(?:'s| is| are)|this is|it|there is|i (?:can )?(?:see|read))\b[^:\n\"“]{0,20})?"
    r"(?:(?:the|all(?: the)?|this|its)\s+)?(?:[^\W\d_]+\s+){0,3}?"
    r"(?:text|words?|writing|transcription|transcript|caption|inscription|image|picture|photo|meme|sign|ocr|output|answer|it)\b"
    r"[^:\n\"“]{0,60}?(?:\s*:|\b(?:says?|said|reads?|states?|is|are|contains?|shows?)\b\s*(?::|(?=[\"“‘«「])))\s*",
    re.I,
)


@lru_cache(maxsize=1)
def _punctuation() -> dict[int, None]:
    """Every character of Unicode category P, to be deleted."""
    return {code: None for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")}


# The part of mteval-v13a (NIST 2009) that parts words: what sacreBLEU calls the tokenizer 13a (Post 2018).
SPLIT = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


@dataclass(frozen=True, slots=True)
class TranscriptionScorer:
    """Compares a completion with the one text in `Sample.target`.

    The default reads a chat model's answer: case folded, white space collapsed, what frames the text ("The text says:", a
    code fence) and quotes around all of it taken off. `TranscriptionScorer.paper()` takes nothing off and keeps case.

    unicode: `NFC`, or `keep` (`é` and `e` + accent differ); case: `fold` or `keep`; punctuation: `keep`, `strip` (every
    character of category P) or `split` (words of their own, as mteval-v13a); quotes, frame: `strip` or `keep` (the frame is
    stripped from completions only); whitespace: `collapse` (any run parts words and is one character), or `keep`, jiwer's
    defaults: words are parted by spaces and runs alone, characters count as they are between the ends.

    Value: 1 - WER, 0 where WER exceeds 1; for an empty reference 1 if nothing was said, else 0. Counts, always: see `COUNTS`.
    An empty completion is an empty transcription. A refusal counts as one, with status `refused`; a completion is no refusal
    if half of its words stand in the reference, for pictures may hold such phrases.
    """

    unicode: Literal["NFC", "keep"] = "NFC"
    case: Literal["fold", "keep"] = "fold"
    punctuation: Literal["keep", "strip", "split"] = "keep"
    quotes: Literal["strip", "keep"] = "strip"
    frame: Literal["strip", "keep"] = "strip"
    whitespace: Literal["collapse", "keep"] = "collapse"
    signature: str = field(init=False, default="")

    def __post_init__(self) -> None:
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        preset = next((name for name, values in PRESETS.items() if values == options), "custom")
        listed = ",".join(f"{name}={value}" for name, value in options.items())
        object.__setattr__(self, "signature", f"transcription(preset={preset},{listed})")

    @classmethod
    def paper(cls) -> TranscriptionScorer:
        """As near as can be told to arXiv 2402.14154, Table 12: NFC alone; words are what white space parts."""
        return cls(case="keep", quotes="keep", frame="keep")

    def __call__(self, sample: Sample, text: str) -> Score:
        """Score one completion. Raises DataError unless the sample has exactly one target."""
        target = _reference(sample)
        said = text
        # What is right to the letter is not searched for thoughts and frames: pictures hold such things too.
        if text.strip() != target.strip():
            said = without_thoughts(text)
            said = _unframed(said, target) if self.frame == "strip" else said
        reference, hypothesis = self._normalised(target), self._normalised(said)
        counts = self._counts(reference, hypothesis)
        words, hits = counts[2], counts[5]
        if words > 2 * hits and find_refusal(visible(text, sample.question)):
            return Score("refused", counts=self._counts(reference, ""), rule="refusal_phrase")
        wrong, wanted = counts[0], counts[1]
        value = max(0.0, 1.0 - wrong / wanted) if wanted else float(not words)
        rule = "empty" if not words else "exact" if not counts[3] else "compared"
        return Score("scored", value, hypothesis[:200], counts, rule)

    def empty(self, sample: Sample) -> tuple[float, ...]:
        """Counts of an empty transcription: what a blocked or unread answer counts as. Raises DataError as a call does."""
        return self._counts(self._normalised(_reference(sample)), "")

    def _normalised(self, text: str) -> str:
        """`text` as its characters are compared."""
        plain_text = text.isascii()
        if self.unicode == "NFC" and not plain_text:
            text = unicodedata.normalize("NFC", text)
        text = " ".join(text.split()) if self.whitespace == "collapse" else text.strip()
        if self.quotes == "strip":
            text = _unquoted(text)
        if self.case == "fold":
            text = text.casefold()
            if self.unicode == "NFC" and not plain_text:
                text = unicodedata.normalize("NFC", text)
        if self.punctuation == "strip":
            text = text.translate(_punctuation())
            text = " ".join(text.split()) if self.whitespace == "collapse" else text.strip()
        return text

    def _words(self, text: str) -> list[str]:
        """Words of a normalised text."""
        if self.punctuation == "split":
            text = f" {text} "
            for pattern, parted in SPLIT:
                text = pattern.sub(parted, text)
            return text.split()
        if self.whitespace == "collapse":
            return text.split()
        return [word for word in re.sub(r"\s\s+", " ", text).split(" ") if word]

    def _counts(self, reference: str, hypothesis: str) -> tuple[float, ...]:
        wanted, said = self._words(reference), self._words(hypothesis)
        matches = clipped(wanted, said)
        wrong = edits(wanted, said), len(wanted), len(said), edits(reference, hypothesis), len(reference)
        return tuple(map(float, (*wrong, matches[0], *matches, *possible(len(said)))))


PRESETS = {
    "default": {
        "unicode": "NFC",
        "case": "fold",
        "punctuation": "keep",
        "quotes": "strip",
        "frame": "strip",
        "whitespace": "collapse",
    },
    "paper": {
        "unicode": "NFC",
        "case": "keep",
        "punctuation": "keep",
        "quotes": "keep",
        "frame": "keep",
        "whitespace": "collapse",
    },
}
"""Options that have one name in the signature."""


def _reference(sample: Sample) -> str:
    if len(sample.target) != 1:
        raise DataError(
            f"Sample {sample.id!r} has {len(sample.target)} targets. A transcription is compared with exactly one text: "
            f"give it one target (an empty text if nothing is written in the picture)."
        )
    return sample.target[0]


def _unframed(text: str, reference: str) -> str:
    """`text` without an announcement at its start and a code fence, unless the reference begins much as that announcement."""
    text = text.strip()
    found = FRAME.match(text[:LONGEST_FRAME])
    if found:
        pairs = list(zip(found[0].casefold().split(), reference.casefold().split(), strict=False))
        if 2 * sum(a == b for a, b in pairs) <= len(pairs):
            text = text[found.end() :].strip()
    fence = FENCE.fullmatch(text)
    return fence[1] if fence else text


def _unquoted(text: str) -> str:
    """`text` without the pair of quotes that encloses all of it (and a full stop after them)."""
    inner = text.removesuffix(".")
    close = QUOTED.get(inner[:1])
    if close is None or len(inner) < 2 or inner[-1] != close:
        return text
    inside = inner[1:-1]
    # 'a' or 'b': these quotes enclose two texts; an apostrophe between letters is no quote.
    again = re.search(r"(?<!\w)'|'(?!\w)", inside) if close == "'" else inner[0] in inside or close in inside
    return text if again and close != "’" else inside.strip()
