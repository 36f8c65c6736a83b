"""Parts of the page that stand only where a run has something for them: groups, probabilities, stability, item lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from eyetest.evaluation.items import PLACES, Item
from eyetest.evaluation.results import Finding
from eyetest.reports.measures import measure


@dataclass(frozen=True, slots=True)
class ItemsView:
    """The four lists of one model: which questions are in them."""

    model: str
    number: int
    lists: tuple[tuple[str, int, tuple[str, ...]], ...]
    """(name, how many, the first ids)."""


MORE: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        "groups",
        "Groups",
        "Of two labels one matters more. False alarms: negatives called positive. Misses: positives not called so; what was "
        "refused or could not be read is a miss, never a false alarm. p-values are adjusted over the groups of one field; the "
        "worst group is marked, with an interval that allows for its having been looked for.",
        ("fairness",),
    ),
    (
        "probabilities",
        "Probabilities",
        "What the probabilities that the model gives to the options are worth, whatever its text says.",
        ("probabilities",),
    ),
    (
        "positions",
        "Places of options",
        "Every question was asked with its options in every rotation, so that each option, the right one too, stood once in each "
        "place. A model that looks at what options say chooses each place equally often.",
        ("positions",),
    ),
    (
        "stability",
        "Repeats and wordings",
        "How far scores move when nothing but the sampling, or nothing but the wording, changes. "
        "Smaller differences mean nothing.",
        ("repeats", "prompts"),
    ),
)
"""(anchor, heading, introduction, sheets) of sections that stand only where a run has something for them."""


def meanings_of(findings: Iterable[Finding]) -> dict[str, str]:
    """Words of a measure -> what it means."""
    found = (measure(row.estimate.metric) for row in findings)
    return {one.words: one.meaning for one in found if one.meaning}


MOST_IDS = 40
"""Ids of a list on the page; `items.csv` has all."""


def items_views(found: Sequence[Item], numbers: dict[str, int]) -> Iterator[ItemsView]:
    """The four lists of every model of one task."""
    by_model: dict[str, dict[str, list[str]]] = {}
    for one in found:
        by_model.setdefault(one.model, {place: [] for place in PLACES})[one.place].append(one.sample)
    for model, lists in by_model.items():
        rows = tuple((place, len(ids), tuple(ids[:MOST_IDS])) for place, ids in lists.items())
        yield ItemsView(model, numbers[model], rows)
