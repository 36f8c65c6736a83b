"""Cells of a grid that belong together: one model on one kind of question of one task under one prompt."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from eyetest.evaluation.table import Cell
from eyetest.metrics import Columns
from eyetest.types import Kind

WITHOUT_PICTURE = ("no_image", "told_blind", "blank")
"""Conditions whose score, beside `image`, gives a gap rate; the first that was asked stands for "without the picture"."""


class Group(NamedTuple):
    """What the cells of a group have in common."""

    task: str
    model: str
    prompt: str
    kind: Kind


def by_group(columns: Mapping[Cell, Columns]) -> dict[Group, dict[str, Columns]]:
    """Group -> condition -> columns; by task, then by kind, then in the order of the grid.

    A kind that stands beside `image` only because a condition made it (open_ended) is no group of its own: it has no sight to
    speak of.
    """
    groups: dict[Group, dict[str, Columns]] = {}
    for cell, column in columns.items():
        group = groups.setdefault(Group(cell.task, cell.model, cell.prompt, cell.kind), {})
        group[cell.condition] = column
    pictured = {group[:3] for group, conditions in groups.items() if "image" in conditions}
    places = {place: number for number, place in enumerate(dict.fromkeys((group.task, group.kind) for group in groups))}
    kept = [group for group in groups if "image" in groups[group] or group[:3] not in pictured]
    ordered = sorted(kept, key=lambda group: places[group.task, group.kind])
    return {group: groups[group] for group in ordered}


def blind_of(conditions: Container[str]) -> str:
    """The condition that stands for "without the picture"; empty where none was asked."""
    return next((name for name in WITHOUT_PICTURE if name in conditions), "")
