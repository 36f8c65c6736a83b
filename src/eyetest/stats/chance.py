"""What guessing attains."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class RandomBaseline(NamedTuple):
    """What a uniform guesser attains in the long run."""

    accuracy: float
    macro_f1: float


def random_baseline(class_counts: ArrayLike) -> RandomBaseline:
    """Expected accuracy and macro-F1 of a guesser that draws each of K labels equally often, for large n.

    class_counts: (K,) items of each class, zeros allowed. F_k = 2 (pi_k / K) / (pi_k + 1/K): precision pi_k, recall 1/K.
    Both nan without items.
    """
    counts = np.asarray(class_counts, np.float64)
    if not counts.sum():
        return RandomBaseline(math.nan, math.nan)
    share, guess = counts / counts.sum(), 1 / len(counts)
    return RandomBaseline(guess, float(np.mean(2 * share * guess / (share + guess))))
