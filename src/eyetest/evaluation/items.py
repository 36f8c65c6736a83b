"""Which questions a model sees and knows, knows but does not see, sees without knowing, or neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from eyetest.evaluation.groups import Group
from eyetest.evaluation.table import Table
from eyetest.metrics import Columns, pair

Place = Literal["sees and knows", "knows but does not see", "sees without knowing", "neither"]
"""Where an item stands: right with its picture or not, right on its knowledge question or not."""

PLACES: tuple[Place, ...] = get_args(Place)


@dataclass(frozen=True, slots=True)
class Item:
    """One question asked with its picture and as pure knowledge."""

    task: str
    model: str
    prompt: str
    kind: str
    sample: str
    """Its id."""
    place: Place
    seen: float
    """Credit with the picture, in [0, 1], mean over repeats."""
    known: float
    """Credit on the knowledge question, mean over repeats."""


def items(groups: Mapping[Group, Mapping[str, Columns]], table: Table) -> Iterator[Item]:
    """Every sample that was asked both ways, by model. Credit above one half is right."""
    ids: dict[str, dict[int, str]] = {}
    for group, conditions in groups.items():
        if "image" not in conditions or "knowledge" not in conditions:
            continue
        if group.task not in ids:
            ids[group.task] = table.numbered(group.task)
        yield from _of_group(group, conditions["image"], conditions["knowledge"], ids[group.task])


def _of_group(group: Group, image: Columns, knowledge: Columns, ids: Mapping[int, str]) -> Iterator[Item]:
    both = pair(image, knowledge)
    credit: dict[int, list[tuple[float, float]]] = {}
    for sample, seen, known in zip(both.sample.tolist(), both.first.tolist(), both.second.tolist(), strict=True):
        credit.setdefault(sample, []).append((seen, known))
    for sample, found in credit.items():
        seen, known = (sum(values) / len(found) for values in zip(*found, strict=True))
        yield Item(*group, sample=ids[sample], place=_place(seen > 0.5, known > 0.5), seen=seen, known=known)


def _place(seen: bool, known: bool) -> Place:
    if seen:
        return "sees and knows" if known else "sees without knowing"
    return "knows but does not see" if known else "neither"
