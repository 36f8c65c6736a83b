"""What the picture, the question and the knowledge behind it each give: every measure that a run's conditions allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from eyetest.evaluation.groups import Group, blind_of
from eyetest.evaluation.results import Finding
from eyetest.metrics import Columns, gap_rate
from eyetest.metrics.shapley import shapley
from eyetest.metrics.sight import (
    attempted_gap,
    best_possible_gap,
    chance_corrected_gap,
    flip_rate,
    follow_rate,
    gap_bounds,
    leakage,
    multimodal_gain,
    odds_ratio,
    perceptual_score,
    stuck_correct,
)
from eyetest.types import Estimate

Conditions = Mapping[str, Columns]


def dependence(groups: Mapping[Group, Conditions], *, seed: int, backbones: Mapping[str, str]) -> Iterator[Finding]:
    """Every measure of every group, in the order of `groups`. backbones: model -> the text model that it is built on."""
    for group, conditions in groups.items():
        image, blind = conditions.get("image"), blind_of(conditions)
        if image is None:
            continue
        if blind:
            yield from _with_and_without(group, image, blind, conditions[blind], seed)
        if "swapped" in conditions:
            yield from _swapped(group, image, conditions["swapped"], seed)
        if "no_image" in conditions and "picture_only" in conditions:
            yield from _shapley(group, image, conditions, seed)
        if "knowledge" in conditions:
            made = odds_ratio(image, conditions["knowledge"], seed=seed)
            yield _finding(group, "image, knowledge", made)
        yield from _backbone(group, conditions, groups, backbones, seed)


def _finding(group: Group, condition: str, made: Estimate, lowest: float = math.nan, highest: float = math.nan) -> Finding:
    return Finding(
        *("dependence", group.task, group.model, group.prompt, condition, group.kind),
        estimate=made,
        lowest=lowest,
        highest=highest,
    )


def _with_and_without(group: Group, image: Columns, blind: str, dark: Columns, seed: int) -> Iterator[Finding]:
    about = f"image, {blind}"
    if _outside(image) or _outside(dark):
        lowest, highest = gap_bounds(image, dark)
        yield _finding(group, about, gap_rate(image, dark, seed=seed), lowest, highest)
    best = best_possible_gap(image, seed=seed)
    if not math.isnan(best.value):  # else guessing has no closed form
        yield _finding(group, about, chance_corrected_gap(image, dark, seed=seed))
        yield _finding(group, "image", best)
    if image.number_of("refused", "blocked") or dark.number_of("refused", "blocked"):
        yield _finding(group, about, attempted_gap(image, dark, seed=seed))


def _outside(columns: Columns) -> bool:
    """Whether some answers are outside n: failed, without a readable picture, or not scored."""
    return len(columns.counted()) < len(columns)


def _swapped(group: Group, image: Columns, other: Columns, seed: int) -> Iterator[Finding]:
    about = "image, swapped"
    yield _finding(group, about, flip_rate(image, other, seed=seed))
    yield _finding(group, about, stuck_correct(image, other, seed=seed))
    yield _finding(group, "swapped", follow_rate(other, seed=seed))
    yield _finding(group, about, perceptual_score(image, other, seed=seed))


def _shapley(group: Group, image: Columns, conditions: Conditions, seed: int) -> Iterator[Finding]:
    shares = shapley(image, conditions["no_image"], conditions["picture_only"], seed=seed)
    for made in (shares.picture, shares.question, shares.synergy):
        yield _finding(group, "image, no_image, picture_only", made)


def _backbone(
    group: Group, conditions: Conditions, groups: Mapping[Group, Conditions], backbones: Mapping[str, str], seed: int
) -> Iterator[Finding]:
    """Multi-modal gain, and leakage beside the text model that it is built on (MMStar)."""
    name = backbones.get(group.model)
    if name is None or "no_image" not in conditions:
        return
    dark = conditions["no_image"]
    yield _finding(group, "image, no_image", multimodal_gain(conditions["image"], dark, seed=seed))
    text = groups.get(group._replace(model=name), {}).get("no_image")
    if text is not None:
        yield _finding(group, f"no_image, {name} no_image", leakage(dark, text, seed=seed))
