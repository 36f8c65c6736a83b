"""What a condition may know of the whole split: ids, pictures and targets, before `--limit`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from eyetest import images
from eyetest.errors import BadImageError
from eyetest.types import Image, Sample


class Entry(NamedTuple):
    """One sample of the split, without its texts."""

    images: tuple[Image, ...]
    target: tuple[str, ...]


def rank(seed: int, sample_id: str) -> bytes:
    """Place of a sample in the seeded order of a split: independent of file order, machine and `--limit`."""
    return hashlib.sha256(f"{seed}:{sample_id}".encode()).digest()


@dataclass(slots=True)
class Pool:
    """The split. Digests are computed when a condition asks, never up front."""

    seed: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)
    _order: list[str] = field(default_factory=list)
    _place: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, samples: Iterable[Sample], seed: int = 0) -> Pool:
        """A pool of these samples."""
        pool = cls(seed)
        for sample in samples:
            pool.add(sample)
        return pool

    def add(self, sample: Sample) -> None:
        """Add one sample; only those with a picture can be partners."""
        if sample.images:
            self.entries[sample.id] = Entry(sample.images, sample.target)

    def partners(self, sample: Sample) -> Iterator[tuple[str, Entry]]:
        """Every other sample with a picture, from the next one in the seeded order on, around the end."""
        if len(self._order) != len(self.entries):
            self._order = sorted(self.entries, key=lambda sample_id: rank(self.seed, sample_id))
            self._place = {sample_id: place for place, sample_id in enumerate(self._order)}
        start = self._place.get(sample.id, -1) + 1
        for step in range(len(self._order)):
            partner = self._order[(start + step) % len(self._order)]
            if partner != sample.id:
                yield partner, self.entries[partner]


def digests(pictures: tuple[Image, ...]) -> tuple[str, ...] | None:
    """Content of some pictures, operations included; None when one cannot be read."""
    try:
        return tuple("+".join((images.digest(picture), *picture.operations)) for picture in pictures)
    except BadImageError:
        return None
