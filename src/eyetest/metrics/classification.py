"""Accuracy, score rate, success rate, and the class-wise metrics over a confusion matrix.

Formulas follow scikit-learn with `labels` fixed to the whole label space and `zero_division=0`: a class that is absent
from truth and answers counts 0 (Balanced accuracy leaves it out). An answer that cannot be read is a miss of its class
and a hit of no other: it never becomes a class of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.columns import Columns, Counts, Policy, Status, code
from eyetest.stats import random_baseline

Floats = NDArray[np.float64]


def _ratio(part: Floats, whole: Floats, empty: float) -> Floats:
    """part / whole elementwise, `empty` where whole is 0."""
    quotient = np.full(np.broadcast(part, whole).shape, empty)
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient


def _mean_counts(credit: Floats) -> Counts:
    """Count rows (credit, 1)."""
    distinct, index = np.unique(credit, return_inverse=True)
    return Counts(np.stack([distinct, np.ones_like(distinct)], axis=1), index.astype(np.int64))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Mean credit of an answer: share of right answers where credit is 0 or 1; nan for no answers."""

    policy: Policy = "as_wrong"
    name: str = "accuracy"
    higher_is_better: bool = True
    additive: bool = True

    def counts(self, columns: Columns) -> Counts:
        """Rows (credit, 1)."""
        return _mean_counts(columns.within(self.policy).credit())

    def value(self, totals: Floats) -> Floats:
        """First total over the second."""
        return _ratio(totals[..., 0], totals[..., 1], math.nan)

    def best(self, columns: Columns) -> float:
        """1."""
        return 1.0 if len(columns.within(self.policy)) else math.nan

    def chance(self, columns: Columns) -> float:
        """Mean of 1 / number of options."""
        kept = columns.within(self.policy)
        return float(kept.chance.mean()) if len(kept) else math.nan


@dataclass(frozen=True, slots=True)
class ScoreRate(Accuracy):
    """Accuracy under the name that the second paper gives it (arXiv 2410.12329, eq. 1)."""

    name: str = "score_rate"


@dataclass(frozen=True, slots=True)
class AnswerInOutput(Accuracy):
    """Share of short answers whose completion holds an alias anywhere: the second paper's rule (arXiv 2410.12329).

    Beside accuracy, whatever rule that goes by. Columns.counts is (n, 1): 1 where an alias occurs.
    """

    name: str = "answer_in_output"

    def counts(self, columns: Columns) -> Counts:
        """Rows (alias occurs, 1)."""
        return _mean_counts(columns.within(self.policy).counts[:, 0])


@dataclass(frozen=True, slots=True)
class SuccessRate:
    """Share of answers that could be read (first paper, arXiv 2402.14154): parsed / counted."""

    policy: Policy = "as_wrong"
    name: str = "success_rate"
    higher_is_better: bool = True
    additive: bool = True

    def counts(self, columns: Columns) -> Counts:
        """Rows (read, 1)."""
        return _mean_counts((columns.counted().status == 0).astype(np.float64))

    def value(self, totals: Floats) -> Floats:
        """First total over the second."""
        return _ratio(totals[..., 0], totals[..., 1], math.nan)

    def best(self, columns: Columns) -> float:
        """1."""
        return 1.0 if len(columns.counted()) else math.nan

    def chance(self, columns: Columns) -> float:
        """nan: a guess can always be read."""
        del columns
        return math.nan


@dataclass(frozen=True, slots=True)
class ClassWise(ABC):
    """Metrics of K classes: totals are K right answers, K supports, K predictions (3K)."""

    policy: Policy = "as_wrong"
    name: str = ""
    higher_is_better: bool = True
    additive: bool = False

    def counts(self, columns: Columns) -> Counts:
        """One row a cell of the confusion matrix that occurs."""
        kept, size = columns.within(self.policy), len(columns.labels)
        target, answer = _codes(kept)
        cells, index = np.unique(target * (size + 1) + answer, return_inverse=True)
        truth, read = np.divmod(cells, size + 1)
        support, predicted = np.eye(size)[truth], np.eye(size + 1)[read][:, :size]
        return Counts(np.concatenate([support * predicted, support, predicted], axis=1), index.astype(np.int64))

    def value(self, totals: Floats) -> Floats:
        """The mean over classes of `by_class`; nan for no answers or no label space."""
        right, support, predicted = np.split(totals, 3, axis=-1)
        if not right.shape[-1]:
            return np.full(totals.shape[:-1], math.nan)
        mean = self.by_class(right, support, predicted)
        return np.where(support.sum(axis=-1) > 0, mean, math.nan)

    @abstractmethod
    def by_class(self, right: Floats, support: Floats, predicted: Floats) -> Floats:
        """(..., K) counts -> (...)."""

    def best(self, columns: Columns) -> float:
        """1 times the share of classes that occur: an absent class counts 0 even for an oracle."""
        classes = np.unique(_codes(columns.within(self.policy))[0])
        return len(classes) / len(columns.labels) if len(classes) else math.nan

    def chance(self, columns: Columns) -> float:
        """1/K times the share of classes that occur; nan unless every guess is among all K labels."""
        guess = _uniform(columns.within(self.policy))
        return guess * self.best(columns)


def _codes(kept: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Target 0..K-1 and answer 0..K (K: none of the labels) of every row; empty without a label space."""
    size = len(kept.labels)
    if not size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    target = kept.target.astype(np.int64)
    if len(target) and (target.min() < 0 or target.max() >= size or kept.answer.max() >= size):
        raise ValueError(f"Columns: target outside 0..{size - 1} or answer outside -1..{size - 1}, labels {kept.labels}")
    read = (kept.status == 0) & (kept.answer >= 0)
    return target, np.where(read, kept.answer, size).astype(np.int64)


def _uniform(kept: Columns) -> float:
    """1/K if every sample offers all K labels, else nan."""
    guess = 1 / len(kept.labels) if kept.labels else math.nan
    return guess if len(kept) and bool(np.allclose(kept.chance, guess)) else math.nan


@dataclass(frozen=True, slots=True)
class MacroF1(ClassWise):
    """Mean over all K labels of 2 right / (support + predicted): the mean of F1s, not the F1 of the means."""

    name: str = "macro_f1"

    def by_class(self, right: Floats, support: Floats, predicted: Floats) -> Floats:
        """Mean F1."""
        return np.asarray(_ratio(2 * right, support + predicted, 0.0).mean(axis=-1))

    def chance(self, columns: Columns) -> float:
        """`stats.random_baseline` of the supports; nan unless every guess is among all K labels."""
        kept = columns.within(self.policy)
        if math.isnan(_uniform(kept)):
            return math.nan
        return random_baseline(np.bincount(_codes(kept)[0], minlength=len(kept.labels))).macro_f1


@dataclass(frozen=True, slots=True)
class MacroPrecision(ClassWise):
    """Mean over all K labels of right / predicted."""

    name: str = "macro_precision"

    def by_class(self, right: Floats, support: Floats, predicted: Floats) -> Floats:
        """Mean precision."""
        del support
        return np.asarray(_ratio(right, predicted, 0.0).mean(axis=-1))

    def chance(self, columns: Columns) -> float:
        """1/K: the precision of a guess is the class's share, and shares add up to 1."""
        return _uniform(columns.within(self.policy))


@dataclass(frozen=True, slots=True)
class MacroRecall(ClassWise):
    """Mean over all K labels of right / support."""

    name: str = "macro_recall"

    def by_class(self, right: Floats, support: Floats, predicted: Floats) -> Floats:
        """Mean recall."""
        del predicted
        return np.asarray(_ratio(right, support, 0.0).mean(axis=-1))


@dataclass(frozen=True, slots=True)
class BalancedAccuracy(ClassWise):
    """Mean recall over the classes that occur (the first paper's "AUC", which is taken on hard labels)."""

    name: str = "balanced_accuracy"

    def by_class(self, right: Floats, support: Floats, predicted: Floats) -> Floats:
        """Mean recall where there is support."""
        del predicted
        present = (support > 0).sum(axis=-1)
        return _ratio(_ratio(right, support, 0.0).sum(axis=-1), present.astype(np.float64), math.nan)

    def best(self, columns: Columns) -> float:
        """1."""
        return 1.0 if len(_codes(columns.within(self.policy))[0]) else math.nan


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One label of a classification report."""

    label: str
    precision: float
    """right / predicted; 0 if never predicted."""
    recall: float
    """right / support; 0 if it never occurs."""
    f1: float
    """2 right / (support + predicted); 0 if both are 0."""
    support: int
    """Answers whose target it is."""
    predicted: int
    """Answers that give it."""
    unparsed: int
    """Answers to it that could not be read."""
    refused: int
    """Answers to it that the model refused."""
    blocked: int
    """Answers to it that the endpoint blocked: moderation is selective."""


def confusion(columns: Columns, policy: Policy = "as_wrong") -> NDArray[np.int64]:
    """(K, K + 1) answers by target and answer; the last column is none of the labels: unparsed, refused, blocked."""
    target, answer = _codes(columns.within(policy))
    size = len(columns.labels)
    return np.bincount(target * (size + 1) + answer, minlength=size * (size + 1)).reshape(size, size + 1).astype(np.int64)


def per_class(columns: Columns, policy: Policy = "as_wrong") -> tuple[ClassRow, ...]:
    """A row a label, in label order."""
    table = confusion(columns, policy).astype(np.float64)
    right, support, predicted = np.diagonal(table), table.sum(axis=1), table[:, :-1].sum(axis=0)
    precision, recall = _ratio(right, predicted, 0.0), _ratio(right, support, 0.0)
    f1 = _ratio(2 * right, support + predicted, 0.0)
    unread = [_of_status(columns, status) for status in _UNREAD]
    return tuple(
        ClassRow(
            *(label, float(precision[i]), float(recall[i]), float(f1[i]), int(support[i]), int(predicted[i])),
            *(int(counts[i]) for counts in unread),
        )
        for i, label in enumerate(columns.labels)
    )


_UNREAD: tuple[Status, ...] = ("unparsed", "refused", "blocked")


def _of_status(columns: Columns, status: Status) -> NDArray[np.int64]:
    """Answers of one status to each label, whatever the policy: (K,)."""
    target = columns.target[(columns.status == code(status)) & (columns.target >= 0)]
    return np.bincount(target, minlength=len(columns.labels)).astype(np.int64)
