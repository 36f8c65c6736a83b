"""The named numbers that the sentences, the stacked bars and the knowledge table of a report are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eyetest.evaluation.summary import WITHOUT_PICTURE, PairRow, Results
from eyetest.evaluation.table import Table
from eyetest.metrics import Accuracy, Columns, KnowledgeTable, estimate, knowledge_table, pair
from eyetest.stats import Cells, paired_cells
from eyetest.types import Estimate


@dataclass(frozen=True, slots=True)
class Facts:
    """What one model did on one task under one prompt, all kinds of question together. Absent is what was not asked."""

    task: str
    model: str
    prompt: str
    unit: str = "question"
    """What n counts: questions, or answers where repeats or variants give several for each."""
    whole: bool = True
    """Every answer is right or wrong; otherwise credit may be partial."""
    with_picture: Estimate | None = None
    """Score under `image`."""
    blind: str = "no_image"
    """The condition that takes the picture away: the first of no_image, told_blind, blank that was asked."""
    without_picture: Estimate | None = None
    """Score under `blind`."""
    chance: float = math.nan
    """What guessing attains, in [0, 1]; nan where there is no closed form."""
    cells: Cells | None = None
    """First: right with the picture; second: right under `blind`; on what was answered both ways."""
    difference: Estimate | None = None
    """`image` minus `blind`, paired."""
    gap: Estimate | None = None
    """Gap rate: 1 - without / with."""
    swapped: Estimate | None = None
    """`image` minus `swapped`, paired."""
    shuffled: Estimate | None = None
    """`image` minus `shuffled`, paired."""
    knowledge: KnowledgeTable | None = None
    """First: right with the picture; second: right on the knowledge question."""
    n_unparsed: int = 0
    """Unreadable answers under `image` and `blind`."""
    n_refused: int = 0
    n_failed: int = 0
    """Failed calls and bad pictures under `image` and `blind`, outside every n."""

    @property
    def n_both(self) -> float:
        """Answers given both with and without the picture."""
        return sum(self.cells) if self.cells else 0


Group = tuple[str, str, str]
"""Task, model, prompt."""


def by_group(table: Table) -> dict[Group, dict[str, Columns]]:
    """(task, model, prompt) -> condition -> columns, the kinds of a condition joined; in the order of the grid."""
    parts: dict[Group, dict[str, list[Columns]]] = {}
    for cell in table.cells:
        group = parts.setdefault((cell.task, cell.model, cell.prompt), {})
        group.setdefault(cell.condition, []).append(table.columns(cell))
    return {
        group: {
            condition: columns[0] if len(columns) == 1 else Columns.concatenate(columns)
            for condition, columns in conditions.items()
        }
        for group, conditions in parts.items()
    }


def facts_of(groups: dict[Group, dict[str, Columns]], results: Results, *, seed: int) -> tuple[Facts, ...]:
    """The facts of every task x model x prompt, in the order of the grid."""
    return tuple(_facts(group, conditions, results.pairs, seed) for group, conditions in groups.items())


def blind_of(conditions: Sequence[str] | dict[str, Columns]) -> str:
    """The condition that stands for "without the picture"; empty where none was asked."""
    return next((name for name in WITHOUT_PICTURE if name in conditions), "")


def _facts(group: Group, conditions: dict[str, Columns], pairs: Sequence[PairRow], seed: int) -> Facts:
    image, blind = conditions.get("image"), blind_of(conditions)
    dark = conditions.get(blind)
    compared = {(row.second, row.estimate.metric): row.estimate for row in pairs if (row.task, row.model, row.prompt) == group}
    shown = [columns for columns in (image, dark) if columns is not None]
    both = pair(image, dark) if image is not None and dark is not None else None
    sizes = [len(np.unique(columns.sample)) < len(columns) for columns in shown]
    return Facts(
        *group,
        unit="answer" if any(sizes) else "question",
        whole=all(bool(np.isin(columns.credit(), (0.0, 1.0)).all()) for columns in shown),
        with_picture=None if image is None else estimate(Accuracy(), image, seed=seed),
        blind=blind or "no_image",
        without_picture=None if dark is None else estimate(Accuracy(), dark, seed=seed),
        chance=Accuracy().chance(shown[0]) if shown else math.nan,
        cells=paired_cells(both.first, both.second) if both is not None and len(both) else None,
        difference=compared.get((blind, "paired_difference")),
        gap=compared.get((blind, "gap_rate")),
        swapped=compared.get(("swapped", "paired_difference")),
        shuffled=compared.get(("shuffled", "paired_difference")),
        knowledge=_knowledge(image, conditions.get("knowledge"), seed),
        n_unparsed=sum(columns.number_of("unparsed") for columns in shown),
        n_refused=sum(columns.number_of("refused", "blocked") for columns in shown),
        n_failed=sum(columns.number_of("error", "bad_image") for columns in shown),
    )


def _knowledge(image: Columns | None, known: Columns | None, seed: int) -> KnowledgeTable | None:
    """The V x K table; None where no sample has both answers."""
    if image is None or known is None:
        return None
    made = knowledge_table(image, known, seed=seed)
    return made if sum(made.cells) else None


def named_cells(cells: Cells) -> Iterator[tuple[str, str, float]]:
    """The four parts of the stacked bar: class, words, count."""
    yield "only-with", "right only with the picture", cells.n10
    yield "either", "right with and without it", cells.n11
    yield "only-without", "right only without it", cells.n01
    yield "never", "wrong both ways", cells.n00
