"""Edit distances between a reference and a hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance.Levenshtein import distance


def edits(reference: Sequence[str], hypothesis: Sequence[str]) -> int:
    """Substitutions, deletions and insertions that turn one into the other (Levenshtein 1966).

    Of two word lists: the numerator of WER; of two texts, by code points: of CER (arXiv 2402.14154, eqs. 3-4).
    """
    return int(distance(reference, hypothesis))
