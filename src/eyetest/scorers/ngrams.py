"""Clipped n-gram matches, the statistics of BLEU (Papineni et al. 2002)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

ORDERS = 4
"""Longest n-gram."""


def clipped(reference: Sequence[str], hypothesis: Sequence[str]) -> tuple[int, ...]:
    """How many of the hypothesis's n-grams stand in the reference, each as often as there at most, for n = 1..4."""
    matches = [0] * ORDERS
    for n in range(1, ORDERS + 1):
        # Matches are taken out of the reference's counts: no second table, and rare words end the look-up at once.
        left = Counter(_grams(reference, n))
        for gram in _grams(hypothesis, n):
            times = left.get(gram)
            if times:
                left[gram] = times - 1
                matches[n - 1] += 1
        if not matches[n - 1]:
            break  # a longer n-gram holds this one
    return tuple(matches)


def _grams(words: Sequence[str], n: int) -> Iterable[Hashable]:
    return words if n == 1 else zip(*(words[i:] for i in range(n)), strict=False)


def possible(words: int) -> tuple[int, ...]:
    """How many n-grams so many words hold, for n = 1..4."""
    return tuple(max(0, words - n) for n in range(ORDERS))
