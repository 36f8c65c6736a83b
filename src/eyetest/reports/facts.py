"""The named numbers that the sentences, the stacked bars and the knowledge table of a report are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eyetest.evaluation.groups import Group, blind_of, by_group
from eyetest.evaluation.results import PairRow, Results
from eyetest.evaluation.table import Table
from eyetest.metrics import Accuracy, Columns, KnowledgeTable, estimate, gap_rate, knowledge_table, pair, paired_difference
from eyetest.reports.naming import Naming
from eyetest.stats import Cells, overlap_cells
from eyetest.types import Estimate


@dataclass(frozen=True, slots=True)
class Facts:
    """What one model did on one kind of question of one task under one prompt. Absent is what was not asked."""

    task: str
    model: str
    prompt: str
    kind: str = "choice"
    """What an answer is; each kind has its own level of guessing."""
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
    frequent: float = math.nan
    """What the most frequent right answer, always given, attains, in [0, 1]; nan without one label space."""
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


def facts_of(groups: Mapping[Group, Mapping[str, Columns]], results: Results, *, seed: int) -> tuple[Facts, ...]:
    """The facts of every task x kind x model x prompt, in the order of `groups`."""
    several = Counter(group[:3] for group in groups)
    return tuple(
        _facts(group, conditions, _compared(group, conditions, results.pairs, several[group[:3]] > 1, seed), seed)
        for group, conditions in groups.items()
    )


def facts_of_table(table: Table, results: Results, *, seed: int) -> tuple[Facts, ...]:
    """The facts of a finished run, for sentences on the terminal. results: of the same table."""
    return facts_of(by_group({cell: table.columns(cell) for cell in table.cells}), results, seed=seed)


def naming_of(facts: Iterable[Facts]) -> dict[str, Naming]:
    """Task -> what its sentences must name."""
    of_task: dict[str, list[Facts]] = {}
    for one in facts:
        of_task.setdefault(one.task, []).append(one)
    return {
        task: Naming(len({one.prompt for one in found}) > 1, len({one.kind for one in found}) > 1)
        for task, found in of_task.items()
    }


Compared = Mapping[tuple[str, str], Estimate]
"""(condition that is compared with `image`, measure) -> estimate."""


def _compared(
    group: Group, conditions: Mapping[str, Columns], pairs: Sequence[PairRow], several: bool, seed: int
) -> dict[tuple[str, str], Estimate]:
    """What the run's own pairs say; made anew where those pool several kinds."""
    if not several:
        own = [row for row in pairs if (row.task, row.model, row.prompt) == group[:3]]
        return {(row.second, row.estimate.metric): row.estimate for row in own}
    image, blind = conditions.get("image"), blind_of(conditions)
    if image is None:
        return {}
    made = {
        (second, "paired_difference"): paired_difference(image, conditions[second], seed=seed).estimate
        for second in (blind, "swapped", "shuffled")
        if second in conditions
    }
    return made | ({(blind, "gap_rate"): gap_rate(image, conditions[blind], seed=seed)} if blind else {})


def _facts(group: Group, conditions: Mapping[str, Columns], compared: Compared, seed: int) -> Facts:
    image, blind = conditions.get("image"), blind_of(conditions)
    dark = conditions.get(blind)
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
        frequent=most_frequent(shown[0]) if shown else math.nan,
        cells=overlap_cells(both.first, both.second) if both is not None and len(both) else None,
        difference=compared.get((blind, "paired_difference")),
        gap=compared.get((blind, "gap_rate")),
        swapped=compared.get(("swapped", "paired_difference")),
        shuffled=compared.get(("shuffled", "paired_difference")),
        knowledge=_knowledge(image, conditions.get("knowledge"), seed),
        n_unparsed=sum(columns.number_of("unparsed") for columns in shown),
        n_refused=sum(columns.number_of("refused", "blocked") for columns in shown),
        n_failed=sum(columns.number_of("error", "bad_image") for columns in shown),
    )


def most_frequent(columns: Columns) -> float:
    """Share of the answers in n whose target is the most frequent one; nan without one label space."""
    targets = columns.counted().target
    if not columns.labels or not len(targets) or targets.min() < 0:
        return math.nan
    return float(np.bincount(targets).max() / len(targets))


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
