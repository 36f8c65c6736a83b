"""What a condition may know of the whole split: ids, pictures and targets, before `--limit`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
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
    return hashlib.sha256(f"{seed}:{sample_id}".encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True)
class Pool:
    """The split. Digests are computed when a condition asks, never up front."""

    seed: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)
    _order: list[str] = field(default_factory=list)
    _place: dict[str, int] = field(default_factory=dict)
    _steps: dict[int, int] = field(default_factory=dict)
    """Place in the order -> steps to its partner, or once around; so that many equal pictures are not compared again."""

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

    def partner(self, sample: Sample) -> tuple[str, Entry] | None:
        """The next sample in the seeded order, around the end, whose picture can be read and is another one; None if none is."""
        if len(self._order) != len(self.entries):
            self._order = sorted(self.entries, key=lambda sample_id: rank(self.seed, sample_id))
            self._place = {sample_id: place for place, sample_id in enumerate(self._order)}
            self._steps = {}
        own, start, around = digests(sample.images), self._place.get(sample.id), len(self._order)
        steps, found = 1, None
        while steps < around or (start is None and steps == around):
            place = ((-1 if start is None else start) + steps) % around
            entry = self.entries[self._order[place]]
            theirs = digests(entry.images)
            if theirs is not None and theirs != own:
                found = self._order[place], entry
                break
            # Whoever has the same picture has the same partner, and all in between have been passed.
            steps += self._steps.get(place, 1) if theirs == own else 1
        if start is not None and own is not None:
            self._steps[start] = steps
        return found


def digests(pictures: tuple[Image, ...]) -> tuple[str, ...] | None:
    """Content of some pictures, operations included; None when one cannot be read."""
    try:
        return tuple("+".join((images.digest(picture), *picture.operations)) for picture in pictures)
    except BadImageError:
        return None
