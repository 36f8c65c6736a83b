"""What can be known before spending: pictures, labels, prompts, duplicates, requests, and what this n could detect."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from eyetest import images
from eyetest.errors import BadImageError
from eyetest.evaluation.plan import Plan, Survey
from eyetest.evaluation.table import chance_of
from eyetest.stats import smallest_detectable_difference, wilson
from eyetest.types import Image, Sample

DISCORDANCES = (0.1, 0.3)
"""Shares of items right under exactly one of two conditions or models, for which the detectable difference is stated."""

NAMED = 5
"""How many places are kept for each finding."""


@dataclass(slots=True)
class Finding:
    """Something that `check` found, with the first places."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.places) < NAMED:
            self.places.append(place)


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one dataset."""

    survey: Survey
    pictures: int
    """Distinct pictures decoded."""
    errors: Mapping[str, Finding]
    """What will fail or be counted as failed."""
    remarks: Mapping[str, Finding]
    """What to know before reading a number."""
    chance: float
    """Expected accuracy of guessing among the options; nan without choice items."""
    half_width: float
    """Half the width of a 95 % interval around one half at this n."""
    detectable: Mapping[float, float]
    """Discordance -> smallest paired difference found with 80 % power at two-sided .05; nan if none."""


@dataclass(slots=True)
class _Look:
    errors: dict[str, Finding] = field(default_factory=dict)
    remarks: dict[str, Finding] = field(default_factory=dict)
    pictures: set[str] = field(default_factory=set)
    asked: dict[bytes, str] = field(default_factory=dict)
    """Digest of question, options, context and pictures -> the first sample that has them."""
    chances: list[float] = field(default_factory=list)

    def see(self, sample: Sample, decode: Callable[[Image], None]) -> None:
        for picture in sample.images:
            self._picture(sample, picture, decode)
        self._same_item(sample)
        if sample.kind == "choice":
            self.chances.append(chance_of(sample))
            if len(sample.choices) < 2:
                self.remark("items with a single option: always right by guessing", sample.id)
            if len(set(sample.choices)) < len(sample.choices):
                self.remark("items with two equal options", sample.id)

    def _picture(self, sample: Sample, picture: Image, decode: Callable[[Image], None]) -> None:
        try:
            digest = images.digest(picture)
            if digest not in self.pictures:
                decode(picture)
                self.pictures.add(digest)
        except BadImageError as error:
            self.errors.setdefault("pictures that cannot be shown", Finding()).add(f"{sample.id}: {error}")

    def _same_item(self, sample: Sample) -> None:
        try:
            content = tuple(images.digest(picture) for picture in sample.images)
        except BadImageError:
            return
        said = repr((sample.question, sample.choices, sample.context, content))
        key = hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        earlier = self.asked.setdefault(key, sample.id)
        if earlier != sample.id:
            self.remark("items with the same question, options and picture as an earlier one", f"{sample.id} (as {earlier})")

    def remark(self, reason: str, place: str) -> None:
        self.remarks.setdefault(reason, Finding()).add(place)


def check(plan: Plan, watch: Callable[[int, int], None]) -> tuple[Checked, ...]:
    """Look at every asked sample once: decode its pictures, compare it with the others. No model is called.

    watch: called with (samples looked at, samples in all).
    """
    total = sum(survey.n for survey in plan.surveys)
    done = 0
    checked = []
    for survey in plan.surveys:
        look = _Look()
        for sample in survey.samples():
            look.see(sample, images.check)
            done += 1
            watch(done, total)
        checked.append(_checked(survey, look))
    return tuple(checked)


def _checked(survey: Survey, look: _Look) -> Checked:
    missing = [label for label, count in survey.classes.items() if not count]
    for label in missing:
        look.remark("options that are never the right answer", label)
    low, high = wilson(survey.n / 2, survey.n)
    detect = partial(smallest_detectable_difference, survey.n)
    return Checked(
        survey=survey,
        pictures=len(look.pictures),
        errors=look.errors,
        remarks=look.remarks,
        chance=sum(look.chances) / len(look.chances) if look.chances else math.nan,
        half_width=(high - low) / 2,
        detectable={share: detect(share) for share in DISCORDANCES},
    )
