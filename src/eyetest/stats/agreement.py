"""How well one grader agrees with another, and what a rate would be had the better one graded everything."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eyetest.stats.intervals import WITHHELD, Interval, normal_quantile, wilson

LEAST_YOUDEN = 0.1
"""A grader with sensitivity + specificity - 1 below this tells right from wrong too badly to correct for: the correction
divides by it."""


def cohen_kappa(table: ArrayLike, level: float = 0.95) -> tuple[float, Interval]:
    """Cohen's kappa of a (k, k) table of counts [first grader][second grader], and its interval.

    Kappa (Cohen 1960) equals sklearn `cohen_kappa_score`; the interval, value -+ z se with the standard error of Fleiss, Cohen
    & Everitt (1969) cut at -1 and 1, equals statsmodels `cohens_kappa` before the cut. nan where agreement by chance is certain
    (both use one category only) or nothing was counted. No interval where the standard error is 0, as at perfect agreement:
    a width of 0 would claim certainty.
    """
    counts = np.asarray(table, np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or (counts < 0).any():
        raise ValueError(f"cohen_kappa: expected a square table of counts, got shape {counts.shape}")
    n = float(counts.sum())
    if n == 0:
        return math.nan, WITHHELD
    share = counts / n
    first, second = share.sum(axis=1), share.sum(axis=0)
    agreed, by_chance = float(np.trace(share)), float(first @ second)
    if by_chance >= 1:
        return math.nan, WITHHELD
    kappa = (agreed - by_chance) / (1 - by_chance)
    diagonal = np.diag(share) * (1 - (first + second) * (1 - kappa)) ** 2
    # [i][j]: the first grader's share of j and the second's of i, as the formula has it.
    off = share * (second[:, None] + first[None, :]) ** 2 * (1 - kappa) ** 2
    variance = float(diagonal.sum() + off.sum() - np.diag(off).sum()) - (kappa - by_chance * (1 - kappa)) ** 2
    if variance <= 1e-15:
        return kappa, WITHHELD
    half = normal_quantile(level) * math.sqrt(variance / n) / (1 - by_chance)
    return kappa, (max(-1.0, kappa - half), min(1.0, kappa + half))


@dataclass(frozen=True, slots=True)
class Graded:
    """How often a grader calls right what is right, and wrong what is wrong."""

    right: int
    """Labelled answers that are right."""
    right_called_right: int
    wrong: int
    """Labelled answers that are wrong."""
    wrong_called_wrong: int

    def __post_init__(self) -> None:
        if not (0 <= self.right_called_right <= self.right and 0 <= self.wrong_called_wrong <= self.wrong):
            raise ValueError(f"Graded: counts that cannot be: {self}")

    @property
    def sensitivity(self) -> float:
        """q1 = P(called right | right); nan without such answers."""
        return self.right_called_right / self.right if self.right else math.nan

    @property
    def specificity(self) -> float:
        """q0 = P(called wrong | wrong); nan without such answers."""
        return self.wrong_called_wrong / self.wrong if self.wrong else math.nan

    @property
    def youden(self) -> float:
        """q0 + q1 - 1: 1 for a perfect grader, 0 for one that does not look (Youden 1950)."""
        return self.sensitivity + self.specificity - 1


def youden_interval(graded: Graded, level: float = 0.95) -> Interval:
    """Interval of q0 + q1 - 1: Wilson's ends, squared and added (Newcombe 1998, method 10); nan without labels of both kinds."""
    if not graded.right or not graded.wrong:
        return WITHHELD
    ends = [
        wilson(graded.right_called_right, graded.right, level),
        wilson(graded.wrong_called_wrong, graded.wrong, level),
    ]
    values = (graded.sensitivity, graded.specificity)
    below = math.hypot(*(value - low for value, (low, _) in zip(values, ends, strict=True)))
    above = math.hypot(*(high - value for value, (_, high) in zip(values, ends, strict=True)))
    return graded.youden - below, graded.youden + above


def cannot_correct(graded: Graded, level: float = 0.95) -> str:
    """Why no rate can be corrected for a grader like this; empty if one can.

    q0 + q1 near 1 means that the grader's word says nothing about the answer: the point is below 1 + LEAST_YOUDEN, or the
    interval of q0 + q1 reaches 1.
    """
    low, _ = youden_interval(graded, level)
    if math.isnan(low):
        return "no labels of both kinds, right and wrong"
    if graded.youden < LEAST_YOUDEN:
        return f"q0 + q1 = {1 + graded.youden:.3f} is near 1: its word says nothing about the answer"
    if low <= 0:
        return f"q0 + q1 = {1 + graded.youden:.3f} cannot be told from 1 with so few labels"
    return ""


def corrected_rate(k: int, n: int, graded: Graded, level: float = 0.95) -> tuple[float, Interval]:
    """Rate of right answers when a grader called k of n right and errs as `graded` shows: the value in [0, 1], its interval.

    theta = (p + q0 - 1) / (q0 + q1 - 1), p = k / n (Rogan & Gladen 1978; for model judges Lee et al. 2025, arXiv 2511.21140),
    cut at 0 and 1. The interval (Lang & Reiczigel 2014) takes n and both sets of labels as independent samples: Wilson's
    shrinking of p, one success and one failure added to each of q0 and q1, the delta method, a shift of the middle. nan where
    n = 0 or `cannot_correct` says why.
    """
    if not 0 <= k <= n:
        raise ValueError(f"corrected_rate: {k} of {n} answers cannot be called right")
    if n == 0 or cannot_correct(graded, level):
        return math.nan, WITHHELD
    value = (k / n + graded.specificity - 1) / graded.youden
    z2 = normal_quantile(level) ** 2
    p, n_p = (k + z2 / 2) / (n + z2), n + z2
    q1, n1 = (graded.right_called_right + 1) / (graded.right + 2), graded.right + 2
    q0, n0 = (graded.wrong_called_wrong + 1) / (graded.wrong + 2), graded.wrong + 2
    youden = q0 + q1 - 1
    theta = (p + q0 - 1) / youden
    spread1, spread0 = q1 * (1 - q1) / n1, q0 * (1 - q0) / n0
    variance = (p * (1 - p) / n_p + theta**2 * spread1 + (1 - theta) ** 2 * spread0) / youden**2
    middle = theta + 2 * z2 * (theta * spread1 - (1 - theta) * spread0)
    half = math.sqrt(z2 * variance)
    ends = (min(1.0, max(0.0, middle - half)), min(1.0, max(0.0, middle + half)))
    return min(1.0, max(0.0, value)), ends
