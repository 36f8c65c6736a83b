"""The audit of one model on one data set: what it got right under every condition, and what that says of pictures and facts.

Everything here is a pure function of a run's columns and results; what may be concluded is in `audit_verdict`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from eyetest.evaluation.groups import Group, blind_of, by_group
from eyetest.evaluation.items import PLACES, Place, items
from eyetest.evaluation.results import Finding, Results
from eyetest.evaluation.table import Cell, Table
from eyetest.metrics import Accuracy, Columns, KnowledgeTable, estimate, gap_rate, knowledge_table, pair, paired_difference
from eyetest.metrics.columns import Pairs, among
from eyetest.metrics.dependence import few, paired_estimate
from eyetest.metrics.estimate import mean_interval, signature, withheld
from eyetest.metrics.sight import chance_corrected_gap
from eyetest.stats import WITHHELD, Cells, overlap_cells, smallest_detectable_difference, wilson
from eyetest.types import Estimate, Prediction


@dataclass(frozen=True, slots=True)
class Asked:
    """One condition: the score, what guessing gives, and the score at either extreme of what could not be read."""

    condition: str
    kind: str
    score: Estimate
    guess: float
    """Expected score by guessing from the real number of options, sum(1/k) / n; nan where there is nothing to choose from."""
    all_wrong: float
    """Score if every unread, refused and failed answer were wrong; in [0, 1]."""
    all_right: float
    """Score if every one of them were right."""


@dataclass(frozen=True, slots=True)
class ItemList:
    """The questions in one place of the V x K table."""

    place: Place
    share: Estimate
    """Of all questions asked both ways."""
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Makeup:
    """What the questions of one kind of one data set are like, each counted once, by what was asked with the picture."""

    questions: int = 0
    methods: Mapping[str, int] = field(default_factory=dict)
    """How the knowledge question was made -> questions; `not said` where it was asked and nothing says how."""
    without_knowledge: int = 0
    """Questions that have no knowledge question: no entity, no line in the file, or rejected."""
    one_option: int = 0
    """Choice questions with a single option: there is nothing to guess."""
    same_options: int = 0
    """Choice questions whose several options are one and the same text."""


@dataclass(frozen=True, slots=True)
class Audit:
    """One model on one kind of question of one data set under one prompt. Absent is what was not asked."""

    task: str
    model: str
    prompt: str
    kind: str
    asked: tuple[Asked, ...]
    blind: str = ""
    """The condition that takes the picture away; empty where none was asked."""
    frequent: float = math.nan
    """What the most frequent right answer, always given, attains; nan without one label space."""
    cells: Cells | None = None
    """First: right with the picture; second: right under `blind`."""
    difference: Estimate | None = None
    """`image` minus `blind`, paired."""
    gap: Estimate | None = None
    """Gap rate: 1 - without / with (arXiv 2410.12329, eq. 2)."""
    corrected_gap: Estimate | None = None
    """Share of what is known beyond guessing that needs the picture; None where guessing has no closed form."""
    detectable: float = math.nan
    """Smallest difference that this n finds in four of five cases, at the upper end of the discordance; nan if none."""
    knowledge: KnowledgeTable | None = None
    """First: right with the picture; second: right on the knowledge question."""
    lists: tuple[ItemList, ...] = ()
    """The four lists, in the order of PLACES; empty where K was not asked."""
    known_but_failed: Estimate | None = None
    """Of the questions failed with the picture, the share whose fact is known, guessing taken off; None without K."""
    findings: tuple[Finding, ...] = ()
    """The dependence panel, with multi-modal gain and leakage where a backbone was named."""
    makeup: Makeup = Makeup()

    def under(self, condition: str) -> Asked | None:
        """What was found under `condition`; None where it was not asked."""
        return next((one for one in self.asked if one.condition == condition), None)


class Tally:
    """Collects the makeup of all data sets while predictions stream by."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, str]] = {}
        self._seen: dict[tuple[str, str], dict[str, tuple[str | None, int, int]]] = {}

    def add(self, prediction: Prediction) -> None:
        """Take note of the sample of one answer."""
        sample = prediction.sample
        if prediction.condition == "knowledge":
            self._known.setdefault((prediction.task, sample.kind), {})[sample.id] = sample.knowledge_method or "not said"
        elif prediction.condition == "image":
            options = (len(sample.choices), len(set(sample.choices))) if sample.kind == "choice" else (0, 0)
            self._seen.setdefault((prediction.task, sample.kind), {}).setdefault(sample.id, (sample.knowledge_method, *options))

    def makeup(self, task: str, kind: str) -> Makeup:
        """Of one kind of question of one data set."""
        seen, known = self._seen.get((task, kind), {}), self._known.get((task, kind), {})
        methods = Counter(known.get(name) or method for name, (method, _, _) in seen.items())
        without = methods.pop(None, 0)
        return Makeup(
            questions=len(seen),
            methods={name: n for name, n in sorted(methods.items(), key=lambda one: (-one[1], str(one[0]))) if name is not None},
            without_knowledge=without,
            one_option=sum(shown == 1 for _, shown, _ in seen.values()),
            same_options=sum(shown > 1 and different == 1 for _, shown, different in seen.values()),
        )


def audits(table: Table, results: Results, tally: Tally | None = None) -> tuple[Audit, ...]:
    """The audit of every task x kind x model x prompt that was asked with its picture, in the order of the grid.

    results: of the same table; tally: what the samples are like.
    """
    columns = {cell: table.columns(cell) for cell in table.cells}
    groups = by_group(columns)
    lists: dict[Group, dict[Place, list[str]]] = {}
    for one in items(groups, table):
        of_group = lists.setdefault(Group(one.task, one.model, one.prompt, one.kind), {place: [] for place in PLACES})  # type: ignore[arg-type]
        of_group[one.place].append(one.sample)
    made = []
    for group, conditions in groups.items():
        asked = tuple(_asked(cell, column, results.seed) for cell, column in columns.items() if _belongs(cell, group, groups))
        audit = _audit(group, conditions, asked, results.seed)
        about = tuple(row for row in results.findings if row.panel == "dependence" and not row.by and _group(row) == group)
        makeup = Makeup() if tally is None else tally.makeup(group.task, group.kind)
        made.append(replace(audit, findings=about, makeup=makeup, lists=_lists(conditions, lists.get(group), results.seed)))
    return tuple(made)


def _group(row: Finding) -> Group:
    return Group(row.task, row.model, row.prompt, row.kind)  # type: ignore[arg-type]


def _belongs(cell: Cell, group: Group, groups: Mapping[Group, Mapping[str, Columns]]) -> bool:
    """Whether the cell is part of the group; choice questions asked without their options (open_ended) stay with the others."""
    if (cell.task, cell.model, cell.prompt) != group[:3]:
        return False
    choice = group._replace(kind="choice")
    if "open_ended" in cell.condition.split("+") and choice in groups:
        return group == choice
    return cell.kind == group.kind


def _asked(cell: Cell, columns: Columns, seed: int) -> Asked:
    n, right = len(columns), float(columns.credit().sum())
    unread = n - columns.number_of("scored")
    return Asked(
        cell.condition,
        cell.kind,
        estimate(Accuracy(), columns, seed=seed),
        guess=_guess(columns),
        all_wrong=right / n if n else math.nan,
        all_right=(right + unread) / n if n else math.nan,
    )


def _guess(columns: Columns) -> float:
    """Mean of 1/k over the questions with a choice to make; nan where there is none."""
    chance = columns.counted().chance
    chance = chance[chance < 1]  # leaves nan out as well
    return float(chance.mean()) if len(chance) else math.nan


def _audit(group: Group, conditions: Mapping[str, Columns], asked: tuple[Asked, ...], seed: int) -> Audit:
    image, blind = conditions.get("image"), blind_of(conditions)
    audit = Audit(*group, asked=asked, blind=blind)
    if image is None:
        return audit
    audit = replace(audit, frequent=_most_frequent(image))
    if blind:
        audit = _with_blind(audit, image, conditions[blind], seed)
    if "knowledge" in conditions:
        known = knowledge_table(image, conditions["knowledge"], seed=seed)
        if sum(known.cells):
            audit = replace(audit, knowledge=known, known_but_failed=_known_but_failed(image, conditions["knowledge"], seed))
    return audit


def _with_blind(audit: Audit, image: Columns, dark: Columns, seed: int) -> Audit:
    both = pair(image, dark)
    cells = overlap_cells(both.first, both.second) if len(both) else None
    corrected = chance_corrected_gap(image, dark, seed=seed)
    return replace(
        audit,
        cells=cells,
        difference=paired_difference(image, dark, seed=seed).estimate,
        gap=gap_rate(image, dark, seed=seed),
        corrected_gap=None if np.isnan(image.chance).all() else corrected,
        detectable=_detectable(both) if cells else math.nan,
    )


def _detectable(both: Pairs) -> float:
    """Smallest detectable difference at the most discordance that its interval allows: none observed does not mean none."""
    n = both.factors.effective
    _, most = wilson(float((both.first != both.second).mean()) * n, n)
    return smallest_detectable_difference(n, most)


def _most_frequent(columns: Columns) -> float:
    targets = columns.counted().target
    if not columns.labels or not len(targets) or targets.min() < 0:
        return math.nan
    return float(np.bincount(targets).max() / len(targets))


def _known_but_failed(image: Columns, knowledge: Columns, seed: int) -> Estimate:
    """P(fact known | visual question wrong), guessing taken off question by question.

    A knowledge answer of credit v among options of chance c is worth (v - c) / (1 - c): on average 1 where the fact is known and
    0 where it is guessed. What was refused or cannot be read was not guessed, and is worth 0.
    """
    chance = np.nan_to_num(knowledge.chance, nan=0.0)
    free = knowledge.take(chance < 1)
    chance = chance[chance < 1]
    worth = replace(free, value=(free.value - chance) / (1 - chance))
    pairs = pair(image, worth)
    failed = pairs.first < 0.5
    part = pair(among(image, pairs, failed), among(worth, pairs, failed))
    value = float(part.second.mean()) if len(part) else math.nan
    note = withheld(part.n_distinct, part.factors.count) if len(part) else "undefined: no wrong answer with the picture"
    interval, method = (WITHHELD, "none") if note else mean_interval(part.second, part.factors, 0.95)
    note = note or few(len(part))
    return paired_estimate("known_but_failed", value, interval, method, note, part, (image, knowledge), "as_wrong", seed)


def _lists(conditions: Mapping[str, Columns], found: Mapping[Place, list[str]] | None, seed: int) -> tuple[ItemList, ...]:
    """The four lists with their shares of the questions asked both ways; a question is one, whatever its repeats."""
    if found is None:
        return ()
    pairs = pair(conditions["image"], conditions["knowledge"])
    _, first, place = np.unique(pairs.sample, return_index=True, return_inverse=True)
    seen, known = (np.bincount(place, side) / np.bincount(place) > 0.5 for side in (pairs.first, pairs.second))
    factors = pairs.factors.take(first)
    note = withheld(pairs.n_distinct, factors.count)
    masks = (seen & known, ~seen & known, seen & ~known, ~seen & ~known)
    made = []
    for name, mask in zip(PLACES, masks, strict=True):
        interval, method = (WITHHELD, "none") if note else mean_interval(mask.astype(np.float64), factors, 0.95)
        said = signature("share", "as_wrong", method, seed)
        share = Estimate(name, float(mask.mean()), *interval, len(mask), pairs.n_distinct, signature=said, note=note)
        made.append(ItemList(name, share, tuple(found[name])))
    return tuple(made)
