"""The named numbers that the sentences, the stacked bars and the knowledge table of a report are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyetest.evaluation.summary import WITHOUT_PICTURE, PairRow, Results
from eyetest.evaluation.table import Table
from eyetest.metrics import Accuracy, Columns, Pairs, estimate, pair
from eyetest.metrics.estimate import mean_interval, withheld
from eyetest.stats import WITHHELD, Cells, paired_cells, sur_ner
from eyetest.types import Estimate


@dataclass(frozen=True, slots=True)
class Ratio:
    """A conditional share with its interval."""

    value: float
    low: float
    high: float
    n: float
    """Cases in the denominator."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How knowing the fact and answering with the picture go together, on the samples that were asked both."""

    cells: Cells
    """First: right with the picture; second: right on the knowledge question."""
    n: int
    sufficiency: Ratio
    """SuR: of the questions right with the picture, the share whose fact is known (arXiv 2410.12329, eq. 4)."""
    necessity: Ratio
    """NeR: of the questions wrong with the picture, the share whose fact is not known (eq. 5)."""
    right_if_known: Ratio
    """Of the known facts, the share of questions right with the picture."""
    wrong_if_unknown: Ratio
    """Of the unknown facts, the share of questions wrong with the picture."""


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
    knowledge: Knowledge | None = None
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
        knowledge=_knowledge(image, conditions.get("knowledge")),
        n_unparsed=sum(columns.number_of("unparsed") for columns in shown),
        n_refused=sum(columns.number_of("refused", "blocked") for columns in shown),
        n_failed=sum(columns.number_of("error", "bad_image") for columns in shown),
    )


def _knowledge(image: Columns | None, known: Columns | None) -> Knowledge | None:
    """The V x K table of the samples that have both answers; None without any."""
    if image is None or known is None:
        return None
    pairs = pair(image, known)
    if not len(pairs):
        return None
    cells = paired_cells(pairs.first, pairs.second)
    values = sur_ner(*cells)
    seen, fact = pairs.first, pairs.second
    return Knowledge(
        cells,
        len(pairs),
        _ratio(values.sur, fact, seen, pairs),
        _ratio(values.ner, 1 - fact, 1 - seen, pairs),
        _ratio(values.p_vq_given_k, seen, fact, pairs),
        _ratio(values.p_not_vq_given_not_k, 1 - seen, 1 - fact, pairs),
    )


def _ratio(value: float, event: NDArray[np.float64], given: NDArray[np.float64], pairs: Pairs) -> Ratio:
    """P(event | given) with the interval of a proportion (Wilson) over the cases that are given.

    Withheld for partial credit, and as everywhere for few independent cases.
    """
    inside = given > 0
    binary = bool(np.isin(event, (0.0, 1.0)).all() and np.isin(given, (0.0, 1.0)).all())
    factors = pairs.factors.take(np.flatnonzero(inside))
    known = binary and not withheld(int(inside.sum()), factors.count)
    low, high = mean_interval(event[inside], factors, 0.95)[0] if known else WITHHELD
    return Ratio(value, low, high, float(given.sum()))


def named_cells(cells: Cells) -> Iterator[tuple[str, str, float]]:
    """The four parts of the stacked bar: class, words, count."""
    yield "only-with", "right only with the picture", cells.n10
    yield "either", "right with and without it", cells.n11
    yield "only-without", "right only without it", cells.n01
    yield "never", "wrong both ways", cells.n00
