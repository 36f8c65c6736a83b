"""Named parts of a split, written `SPLIT:SUBSET`, as in `validation:mmmu_single648_v1`.

A part drawn at random is drawn by hash: the k samples whose sha256 of `NAME:id` is smallest. That depends on neither the order
of the file nor the version of any library, and the same name means the same ids for ever; another rule gets another name.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable


def names(split: str, *subsets: str) -> tuple[str, ...]:
    """What `--split` calls these subsets of a split."""
    return tuple(f"{split}:{subset}" for subset in subsets)


def parted(name: str) -> tuple[str, str]:
    """(split, subset) of a name that `names` made; the subset is empty where none is named."""
    split, _, subset = name.partition(":")
    return split, subset


def drawn(subset: str, ids: Iterable[str], k: int) -> frozenset[str]:
    """The k ids with the smallest sha256 of `SUBSET:id` (UTF-8); all of them where there are no more."""

    def key(sample_id: str) -> bytes:
        return hashlib.sha256(f"{subset}:{sample_id}".encode("utf-8", "surrogatepass")).digest()

    return frozenset(heapq.nsmallest(k, ids, key=key))
