"""Metrics of transcriptions: word and character error rate, bag-of-words precision, recall and F1, BLEU.

They read `Columns.counts`, whose columns are `COUNTS`. An answer that cannot be read counts, under `as_wrong`, as an empty
transcription: of its row only the lengths of the reference are read, so these must be there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, Counts, Policy, code

Floats = NDArray[np.float64]

ORDERS = 4
"""Longest n-gram."""

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
"""Columns of `Columns.counts`, as `scorers.transcription` makes them."""

PLACE = {name: place for place, name in enumerate(COUNTS)}
_MATCHES = PLACE["matches_1"]
_NGRAMS = PLACE["ngrams_1"]


def as_empty(counts: Floats) -> Floats:
    """(n, 14) counts of empty transcriptions of the same references."""
    empty = np.zeros_like(counts)
    for name, source in (("word_edits", "ref_words"), ("ref_words",) * 2, ("char_edits", "ref_chars"), ("ref_chars",) * 2):
        empty[:, PLACE[name]] = counts[:, PLACE[source]]
    return empty


def as_perfect(counts: Floats) -> Floats:
    """(n, 14) counts of perfect transcriptions of the same references."""
    perfect = as_empty(counts)
    words = counts[:, PLACE["ref_words"]]
    perfect[:, [PLACE["word_edits"], PLACE["char_edits"]]] = 0.0
    perfect[:, [PLACE["hyp_words"], PLACE["bag_hits"]]] = words[:, None]
    for n in range(ORDERS):
        perfect[:, [_MATCHES + n, _NGRAMS + n]] = np.maximum(words - n, 0.0)[:, None]
    return perfect


def _counted(kept: Columns) -> Floats:
    """(n, 14) counts; unread answers are empty. Raises ValueError where counts, or an unread answer's reference, are missing."""
    if not len(kept):
        return np.zeros((0, len(COUNTS)))
    if kept.counts.shape[1] != len(COUNTS):
        raise ValueError(f"Columns: counts of transcriptions have {len(COUNTS)} columns, found {kept.counts.shape[1]}")
    read = kept.status == code("scored")
    counts = kept.counts if read.all() else np.where(read[:, None], kept.counts, as_empty(kept.counts))
    if np.isnan(counts).any():
        sample = int(kept.sample[np.isnan(counts).any(axis=1)][0])
        raise ValueError(
            f"Columns: the answer to sample number {sample} has no counts. Give an unread answer those of an empty transcription "
            f"(TranscriptionScorer.empty)"
        )
    return counts


def _ratio(part: Floats, whole: Floats, empty: Floats | float) -> Floats:
    """part / whole elementwise, `empty` where whole is 0."""
    quotient = np.array(np.broadcast_to(empty, np.broadcast(part, whole).shape), np.float64)
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient


def _rate(edits: Floats, length: Floats) -> Floats:
    """edits / length; for an empty reference the insertions themselves, as jiwer has it."""
    return _ratio(edits, length, edits)


@dataclass(frozen=True, slots=True)
class _OverCounts(ABC):
    """Metrics over count rows that `rows` makes of an answer's counts; the last column is 1, so that totals hold n."""

    policy: Policy = "as_wrong"
    higher_is_better: bool = True
    additive: bool = False

    def counts(self, columns: Columns) -> Counts:
        """One row a distinct set of numbers."""
        made = self.rows(_counted(columns.within(self.policy)))
        rows, index = np.unique(np.column_stack([made, np.ones(len(made))]), axis=0, return_inverse=True)
        return Counts(rows, index.reshape(-1).astype(np.int64))

    def value(self, totals: Floats) -> Floats:
        """The metric of each total; nan for no answers."""
        return np.where(totals[..., -1] > 0, self.formula(totals), math.nan)

    @abstractmethod
    def rows(self, counts: Floats) -> Floats:
        """(n, 14) counts -> (n, k) numbers that add up."""

    @abstractmethod
    def formula(self, totals: Floats) -> Floats:
        """(..., k + 1) sums, the last of them n, -> (...)."""

    def best(self, columns: Columns) -> float:
        """Of perfect transcriptions: less than 1 where references are empty or, for BLEU, shorter than its n-grams."""
        kept = columns.within(self.policy)
        if not len(kept):
            return math.nan
        made = self.rows(as_perfect(_counted(kept)))
        return float(self.formula(np.append(made.sum(axis=0), len(made))))

    def chance(self, columns: Columns) -> float:
        """nan: guessing a text has no closed form."""
        del columns
        return math.nan


@dataclass(frozen=True, slots=True)
class _ErrorRate(_OverCounts):
    """Edits per word or character of the reference; may exceed 1.

    pooled: sum of edits / sum of lengths, as jiwer; else the mean over answers of each answer's own rate. An empty reference
    has as rate the number of insertions.
    """

    pooled: bool = True
    higher_is_better: bool = False
    stem: ClassVar[str] = ""
    edits: ClassVar[str] = ""
    length: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """E.g. `wer`, `wer_mean`."""
        return self.stem if self.pooled else f"{self.stem}_mean"

    def rows(self, counts: Floats) -> Floats:
        """(edits, length), or (rate)."""
        edits, length = counts[:, PLACE[self.edits]], counts[:, PLACE[self.length]]
        return np.stack([edits, length], axis=1) if self.pooled else _rate(edits, length)[:, None]

    def formula(self, totals: Floats) -> Floats:
        """Edits over length, or the mean."""
        return _rate(totals[..., 0], totals[..., 1]) if self.pooled else _ratio(totals[..., 0], totals[..., 1], math.nan)


@dataclass(frozen=True, slots=True)
class WordErrorRate(_ErrorRate):
    """WER (arXiv 2402.14154, eq. 3)."""

    stem: ClassVar[str] = "wer"
    edits: ClassVar[str] = "word_edits"
    length: ClassVar[str] = "ref_words"


@dataclass(frozen=True, slots=True)
class CharacterErrorRate(_ErrorRate):
    """CER (arXiv 2402.14154, eq. 4)."""

    stem: ClassVar[str] = "cer"
    edits: ClassVar[str] = "char_edits"
    length: ClassVar[str] = "ref_chars"


@dataclass(frozen=True, slots=True)
class BagPrecision(_OverCounts):
    """Mean over answers of |hypothesis and reference| / |hypothesis|, words as bags; 0 for an empty hypothesis."""

    name: str = "bag_precision"

    def rows(self, counts: Floats) -> Floats:
        """(precision, recall) of each answer."""
        hits = counts[:, PLACE["bag_hits"]]
        return np.stack([_ratio(hits, counts[:, PLACE[name]], 0.0) for name in ("hyp_words", "ref_words")], axis=1)

    def formula(self, totals: Floats) -> Floats:
        """Mean precision."""
        return _ratio(totals[..., 0], totals[..., -1], math.nan)


@dataclass(frozen=True, slots=True)
class BagRecall(BagPrecision):
    """Mean over answers of |hypothesis and reference| / |reference|; 0 for an empty reference."""

    name: str = "bag_recall"

    def formula(self, totals: Floats) -> Floats:
        """Mean recall."""
        return _ratio(totals[..., 1], totals[..., -1], math.nan)


@dataclass(frozen=True, slots=True)
class BagF1(BagPrecision):
    """Harmonic mean of mean precision and mean recall: what all 20 rows of arXiv 2402.14154, Table 12, are made by."""

    name: str = "bag_f1"

    def formula(self, totals: Floats) -> Floats:
        """2 P R / (P + R); 0 if both are 0."""
        both = totals[..., 0] + totals[..., 1]
        return _ratio(2 * totals[..., 0] * totals[..., 1], both * totals[..., -1], 0.0)


@dataclass(frozen=True, slots=True)
class Bleu(_OverCounts):
    """Corpus BLEU of n-grams up to `order` (Papineni et al. 2002): summed counts, brevity penalty, no smoothing, in [0, 1].

    style: `nltk` counts at least one n-gram in every hypothesis, so one shorter than n costs even if it is perfect; `sacrebleu`
    does not, and is 0 if no hypothesis has n words. Elsewhere they agree. An order without a match makes it 0 (NLTK: < 1e-76).
    """

    order: int = 4
    style: Literal["nltk", "sacrebleu"] = "nltk"

    @property
    def name(self) -> str:
        """E.g. `bleu_4`, `bleu_4_sacrebleu`."""
        return f"bleu_{self.order}" if self.style == "nltk" else f"bleu_{self.order}_{self.style}"

    def rows(self, counts: Floats) -> Floats:
        """(reference words, hypothesis words, matches 1..order, n-grams 1..order)."""
        matches, ngrams = _orders(counts, self.order)
        if self.style == "nltk":
            ngrams = np.maximum(ngrams, 1.0)
        return np.column_stack([counts[:, PLACE["ref_words"]], counts[:, PLACE["hyp_words"]], matches, ngrams])

    def formula(self, totals: Floats) -> Floats:
        """Brevity penalty times the geometric mean of the precisions."""
        matches, ngrams = totals[..., 2 : 2 + self.order], totals[..., 2 + self.order : -1]
        return _brevity(totals[..., 0], totals[..., 1]) * _geometric(_ratio(matches, ngrams, 0.0))


@dataclass(frozen=True, slots=True)
class SentenceBleu(_OverCounts):
    """Mean over answers of each answer's own BLEU, an order without a match counting 0.1 (Chen & Cherry 2014, method 1).

    An answer without any word of the reference has 0. As `nltk.sentence_bleu(..., smoothing_function=method1)`.
    """

    order: int = 4

    @property
    def name(self) -> str:
        """E.g. `sentence_bleu_4`."""
        return f"sentence_bleu_{self.order}"

    def rows(self, counts: Floats) -> Floats:
        """BLEU of each answer."""
        matches, ngrams = _orders(counts, self.order)
        share = np.where(matches > 0, matches, 0.1) / np.maximum(ngrams, 1.0)
        score = _brevity(counts[:, PLACE["ref_words"]], counts[:, PLACE["hyp_words"]]) * _geometric(share)
        return np.where(matches[:, 0] > 0, score, 0.0)[:, None]

    def formula(self, totals: Floats) -> Floats:
        """The mean."""
        return _ratio(totals[..., 0], totals[..., 1], math.nan)


def _orders(counts: Floats, order: int) -> tuple[Floats, Floats]:
    """Matches and n-grams for n = 1..order: (n, order) each."""
    return counts[:, _MATCHES : _MATCHES + order], counts[:, _NGRAMS : _NGRAMS + order]


def _brevity(reference: Floats, hypothesis: Floats) -> Floats:
    """1 for a hypothesis that is longer than the reference, else exp(1 - reference / hypothesis); 0 for no words."""
    ratio = _ratio(reference, hypothesis, math.inf)
    return np.asarray(np.exp(np.minimum(0.0, 1.0 - ratio)), np.float64)


def _geometric(shares: Floats) -> Floats:
    """Geometric mean over the last axis; 0 if one is 0."""
    logs = np.log(shares, out=np.full(shares.shape, -math.inf), where=shares > 0)
    return np.asarray(np.exp(logs.mean(axis=-1)), np.float64)
