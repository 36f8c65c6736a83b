"""Metrics of label sets: macro precision, recall and F1 over labels, Hamming loss, Jaccard, exact match, invented labels.

They read `Columns.target_set` and `Columns.answer_set`, label sets as bits, and need `Columns.labels`: without it they are nan.
An answer that cannot be read counts, under `as_wrong`, as an empty set: a miss of every target label. Where the target is
empty too it still earns no Jaccard and no exact match. Formulas follow scikit-learn with `zero_division=0`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, Counts, Policy, code

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

CHUNK = 1 << 18
"""Answers unpacked at a time: bounds the memory at tens of MB."""
EXACT = 20_000
"""Answers up to which a macro metric keeps every distinct (target, answer) as a row of counts: 30 MB for 62 labels."""
_PIECES = 1 << 16
"""Values of a 16-bit piece of a set: few enough for a table."""


class LabelSums(NamedTuple):
    """What macro metrics are made of: sums over answers, (K,) each."""

    right: Floats
    """Answers that have the label and should."""
    support: Floats
    """Answers that should have it."""
    predicted: Floats
    """Answers that have it."""


def _ratio(part: Floats, whole: Floats, empty: float) -> Floats:
    """part / whole elementwise, `empty` where whole is 0."""
    quotient = np.full(np.broadcast(part, whole).shape, empty)
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient


def _sets(kept: Columns) -> tuple[Words, Words]:
    """Target and answer bits, (n, w) each; what was not read is empty. Raises ValueError if the sets do not fit the labels."""
    width = -(-len(kept.labels) // 64)
    if kept.target_set.shape[1] != width or kept.answer_set.shape[1] != width:
        raise ValueError(
            f"Columns: {len(kept.labels)} labels need {width} words a set, but target_set has {kept.target_set.shape[1]} and "
            f"answer_set has {kept.answer_set.shape[1]}"
        )
    read = kept.status == code("scored")
    return kept.target_set, kept.answer_set if read.all() else np.where(read[:, None], kept.answer_set, np.uint64(0))


def _parts(target: Words, answer: Words) -> tuple[Words, Words, Words]:
    """Bits of right, support, predicted."""
    return target & answer, target, answer


def _pieces(words: Words) -> NDArray[np.uint16]:
    """(n, 4 w): piece p of a row holds labels 16 p to 16 p + 15."""
    return np.ascontiguousarray(words, dtype="<u8").view("<u2")


@cache
def _bits() -> Floats:
    """(65536, 16) zeros and ones: the bits of every piece."""
    return ((np.arange(_PIECES)[:, None] >> np.arange(16)) & 1).astype(np.float64)


def label_sums(columns: Columns, policy: Policy = "as_wrong") -> LabelSums:
    """Sums by label over the answers in the denominator of `policy`; empty without a label space."""
    kept = columns.within(policy)
    return _sums(*_sets(kept), len(kept.labels))


def _sums(target: Words, answer: Words, size: int) -> LabelSums:
    """Counts how often each 16-bit piece of a set occurs, so that no answer is unpacked."""
    times = np.zeros((3, 4 * target.shape[1], _PIECES))
    for rows in _chunks(len(target)):
        for part, words in enumerate(_parts(target[rows], answer[rows])):
            for place, piece in enumerate(_pieces(words).T):
                times[part, place] += np.bincount(piece, minlength=_PIECES)
    return LabelSums(*(times @ _bits()).reshape(3, -1)[:, :size])


def _chunks(n: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK) for start in range(0, n, CHUNK))


def _unpacked(words: Words, size: int) -> Floats:
    """(m, w) words as (m, size) zeros and ones."""
    bits = np.unpackbits(np.ascontiguousarray(words, dtype="<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :size].astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Macro:
    """Mean over labels of top * right / (a * support + b * predicted), 0 where that is 0 / 0.

    supported: over the labels that some target has, instead of all K (where a label that never occurs costs even an oracle).

    Totals are K right, K support, K predicted and the number of answers (3K + 1). For more than EXACT answers such rows would
    need gigabytes. Rows are then pseudo-values (value + n * influence, 1), 16 bytes an answer, whose mean is the value: the
    infinitesimal jackknife (Jaeckel 1972; Efron 1982, ch. 6). The influences add up to 0 by Euler's theorem, for the metric
    is homogeneous of degree 0 in its totals. For labels that only a few targets have, its intervals are the narrower ones.
    """

    policy: Policy = "as_wrong"
    supported: bool = False
    higher_is_better: bool = True
    additive: bool = False
    stem: ClassVar[str] = ""
    top: ClassVar[float] = 1.0
    by_support: ClassVar[float] = 0.0
    by_predicted: ClassVar[float] = 0.0

    @property
    def name(self) -> str:
        """E.g. `label_macro_f1`, `label_macro_f1_supported`."""
        return f"{self.stem}_supported" if self.supported else self.stem

    def counts(self, columns: Columns) -> Counts:
        """One row a distinct (target, answer) up to EXACT answers, else one an answer (see the class)."""
        kept = columns.within(self.policy)
        size = len(kept.labels)
        if not size:
            return Counts(np.full((1, 2), math.nan), np.zeros(len(kept), np.int64))
        target, answer = _sets(kept)
        if len(kept) > EXACT:
            return self._pseudo_values(target, answer, size)
        pairs, index = np.unique(np.concatenate([target, answer], axis=1), axis=0, return_inverse=True)
        width = target.shape[1]
        columns_of = [_unpacked(words, size) for words in _parts(pairs[:, :width], pairs[:, width:])]
        return Counts(np.concatenate([*columns_of, np.ones((len(pairs), 1))], axis=1), index.reshape(-1).astype(np.int64))

    def _pseudo_values(self, target: Words, answer: Words, size: int) -> Counts:
        n = len(target)
        sums = _sums(target, answer, size)
        rows = np.ones((n, 2))
        rows[:, 0] = self._mean(sums)
        # What each piece of right, support and predicted adds: (3, 4 w, 65536), a look-up in place of unpacking.
        slopes = np.zeros((3, 64 * target.shape[1]))
        slopes[:, :size] = self._slopes(sums)
        influence = n * slopes.reshape(3, -1, 16) @ _bits().T
        used = np.abs(slopes).reshape(3, -1, 16).sum(axis=2) > 0
        for chunk in _chunks(n):
            for part, words in enumerate(_parts(target[chunk], answer[chunk])):
                for place, piece in enumerate(_pieces(words).T):
                    if used[part, place]:
                        rows[chunk, 0] += influence[part, place][piece]
        return Counts(rows, np.arange(n))

    def _slopes(self, sums: LabelSums) -> tuple[Floats, Floats, Floats]:
        """Derivatives of the value by right, support and predicted of each label: (K,) each; 0 where a label is 0 / 0."""
        present = (sums.support > 0).astype(np.float64) if self.supported else np.ones_like(sums.support)
        whole = self.by_support * sums.support + self.by_predicted * sums.predicted
        by_top = self.top * _ratio(present, whole, 0.0) / max(1.0, present.sum())
        by_whole = -_ratio(sums.right, whole, 0.0) * by_top
        return by_top, self.by_support * by_whole, self.by_predicted * by_whole

    def value(self, totals: Floats) -> Floats:
        """The mean over labels; nan for no answers, no label space or, with `supported`, no label in any target."""
        if totals.shape[-1] == 2:
            return _ratio(totals[..., 0], totals[..., 1], math.nan)
        sums = LabelSums(*np.split(totals[..., :-1], 3, axis=-1))
        return np.where(totals[..., -1] > 0, self._mean(sums), math.nan)

    def _mean(self, sums: LabelSums) -> Floats:
        score = _ratio(self.top * sums.right, self.by_support * sums.support + self.by_predicted * sums.predicted, 0.0)
        if not self.supported:
            return np.asarray(score.mean(axis=-1))
        present = sums.support > 0
        return _ratio((score * present).sum(axis=-1), present.sum(axis=-1).astype(np.float64), math.nan)

    def best(self, columns: Columns) -> float:
        """The share of labels that some target has; 1 with `supported`, nan if no target has any."""
        kept = columns.within(self.policy)
        if not (len(kept) and kept.labels):
            return math.nan
        support = _support(kept)
        return float(self._mean(LabelSums(support, support, support)))

    def chance(self, columns: Columns) -> float:
        """Of a guesser that takes each label with probability 1/2, whatever is asked: he has half of each label's support."""
        kept = columns.within(self.policy)
        if not (len(kept) and kept.labels):
            return math.nan
        support = _support(kept)
        return float(self._mean(LabelSums(support / 2, support, np.full(len(support), len(kept) / 2))))


def _support(kept: Columns) -> Floats:
    target = _sets(kept)[0]
    return _sums(target, np.zeros_like(target), len(kept.labels)).support


@dataclass(frozen=True, slots=True)
class MultilabelMacroF1(_Macro):
    """Mean over labels of 2 right / (support + predicted) (arXiv 2402.14154, Table 4): the mean of F1s, not the F1 of means."""

    stem: ClassVar[str] = "label_macro_f1"
    top: ClassVar[float] = 2.0
    by_support: ClassVar[float] = 1.0
    by_predicted: ClassVar[float] = 1.0


@dataclass(frozen=True, slots=True)
class MultilabelMacroPrecision(_Macro):
    """Mean over labels of right / predicted."""

    stem: ClassVar[str] = "label_macro_precision"
    by_predicted: ClassVar[float] = 1.0


@dataclass(frozen=True, slots=True)
class MultilabelMacroRecall(_Macro):
    """Mean over labels of right / support."""

    stem: ClassVar[str] = "label_macro_recall"
    by_support: ClassVar[float] = 1.0


@dataclass(frozen=True, slots=True)
class _PerAnswer(ABC):
    """Mean over answers of one number each; count rows are (number, weight)."""

    policy: Policy = "as_wrong"
    higher_is_better: bool = True

    @property
    def additive(self) -> bool:
        """The number is a credit in [0, 1] and every answer counts."""
        return True

    def counts(self, columns: Columns) -> Counts:
        """One row a distinct number up to EXACT answers, else one an answer: sorting millions costs more than it saves."""
        kept = columns.within(self.policy)
        number = self.numbers(kept) if kept.labels else np.full(len(kept), math.nan)
        # nan marks an answer that is left out: weight 0, unless there is no label space at all.
        few = len(number) <= EXACT
        distinct, index = np.unique(number, return_inverse=True) if few else (number, np.arange(len(number)))
        weight = np.isfinite(distinct).astype(np.float64) if kept.labels else np.ones_like(distinct)
        rows = np.stack([np.where(weight > 0, distinct, 0.0), weight], axis=1)
        return Counts(rows, index.astype(np.int64))

    @abstractmethod
    def numbers(self, kept: Columns) -> Floats:
        """(n,) numbers of the answers in the denominator; nan leaves one out."""

    def value(self, totals: Floats) -> Floats:
        """First total over the second; nan if that is 0."""
        return _ratio(totals[..., 0], totals[..., 1], math.nan)


@dataclass(frozen=True, slots=True)
class HammingLoss(_PerAnswer):
    """Share of labels that are wrongly there or wrongly missing (arXiv 2402.14154, eq. 1): mean of |target xor answer| / K.

    K is the whole label space. An unread answer costs its target labels, no more.
    """

    higher_is_better: bool = False
    name: str = "hamming_loss"

    def numbers(self, kept: Columns) -> Floats:
        """|target xor answer| / K."""
        target, answer = _sets(kept)
        return np.asarray(_size(target ^ answer) / len(kept.labels))

    def best(self, columns: Columns) -> float:
        """0."""
        return _if_any(0.0, columns.within(self.policy))

    def chance(self, columns: Columns) -> float:
        """1/2: each label is taken with probability 1/2."""
        return _if_any(0.5, columns.within(self.policy))


@dataclass(frozen=True, slots=True)
class Jaccard(_PerAnswer):
    """Mean of |target and answer| / |target or answer| (arXiv 2402.14154, eq. 2).

    both_empty: what 0 / 0 counts; with `skip` such answers leave the denominator. An unread answer counts 0.
    """

    both_empty: Literal["1", "0", "skip"] = "1"

    @property
    def name(self) -> str:
        """`jaccard`, or e.g. `jaccard_both_empty_0`."""
        return "jaccard" if self.both_empty == "1" else f"jaccard_both_empty_{self.both_empty}"

    @property
    def additive(self) -> bool:
        """Unless answers are skipped."""
        return self.both_empty != "skip"

    def numbers(self, kept: Columns) -> Floats:
        """Intersection over union."""
        target, answer = _sets(kept)
        empty = math.nan if self.both_empty == "skip" else float(self.both_empty)
        number = _ratio(_size(target & answer), _size(target | answer), empty)
        number[kept.status != code("scored")] = 0.0
        return number

    def best(self, columns: Columns) -> float:
        """1; with `both_empty="0"` the share of answers whose target is not empty."""
        kept = columns.within(self.policy)
        if not (len(kept) and kept.labels):
            return math.nan
        filled = float((_size(_sets(kept)[0]) > 0).mean())
        return {"1": 1.0, "0": filled, "skip": 1.0 if filled else math.nan}[self.both_empty]

    def chance(self, columns: Columns) -> float:
        """Mean of E[right / (target + wrong)], right ~ Bin(t, 1/2), wrong ~ Bin(K - t, 1/2); nan with `skip`."""
        kept = columns.within(self.policy)
        size = len(kept.labels)
        if not (len(kept) and size) or self.both_empty == "skip":
            return math.nan
        times = np.bincount(_size(_sets(kept)[0]).astype(np.int64), minlength=size + 1)
        return float(times @ [_guessed(t, size, float(self.both_empty)) for t in range(size + 1)] / len(kept))


@dataclass(frozen=True, slots=True)
class ExactMatch(_PerAnswer):
    """Share of answers that are the target set, no label more or less. An unread answer is none."""

    name: str = "exact_match"

    def numbers(self, kept: Columns) -> Floats:
        """0 or 1."""
        target, answer = _sets(kept)
        return np.asarray((target == answer).all(axis=1) & (kept.status == code("scored")), np.float64)

    def best(self, columns: Columns) -> float:
        """1."""
        return _if_any(1.0, columns.within(self.policy))

    def chance(self, columns: Columns) -> float:
        """2 ** -K."""
        return _if_any(2.0 ** -len(columns.labels), columns.within(self.policy))


@dataclass(frozen=True, slots=True)
class InventedLabels(_PerAnswer):
    """Mean number of items of an answer that are no label of the set: `Score.counts[3]` of the labels scorer."""

    higher_is_better: bool = False
    name: str = "invented_labels"

    @property
    def additive(self) -> bool:
        """No: the number may exceed 1."""
        return False

    def numbers(self, kept: Columns) -> Floats:
        """Invented labels; 0 where nothing was read. Raises ValueError where a read answer has no counts."""
        read = kept.status == code("scored")
        if read.any() and (kept.counts.shape[1] < 4 or np.isnan(kept.counts[read, 3]).any()):
            raise ValueError("Columns: counts of labels need four columns (right, target, read, invented) for every read answer")
        return np.where(read, kept.counts[:, 3], 0.0) if read.any() else np.zeros(len(kept))

    def best(self, columns: Columns) -> float:
        """0."""
        return _if_any(0.0, columns.within(self.policy))

    def chance(self, columns: Columns) -> float:
        """0: a guesser among the labels invents none."""
        return _if_any(0.0, columns.within(self.policy))


def _size(words: Words) -> Floats:
    """Labels in each set: (n,)."""
    return np.asarray(np.bitwise_count(words).sum(axis=1), np.float64)


def _if_any(number: float, kept: Columns) -> float:
    return number if len(kept) and kept.labels else math.nan


def _guessed(target: int, size: int, both_empty: float) -> float:
    """Expected Jaccard of a guess that takes each of `size` labels with probability 1/2, for a target of so many."""
    others = size - target
    if not target:
        return both_empty * 2.0**-size
    return sum(math.comb(others, wrong) * (target / 2) / (target + wrong) for wrong in range(others + 1)) / 2.0**others
