"""What a run found, as rows: scores, differences, everything beyond them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from eyetest.types import Estimate
from eyetest.version import __version__


@dataclass(frozen=True, slots=True)
class Row:
    """One estimate and what it is about."""

    task: str
    model: str
    prompt: str
    condition: str
    kind: str
    estimate: Estimate
    by: str = ""
    """Field of the slice; empty for all samples."""
    slice: str = ""
    """Value of the slice."""
    chance: float = math.nan
    """What a uniform guesser attains; nan where there is no closed form."""
    best: float = math.nan
    """What an oracle attains."""
    policy: str = "as_wrong"
    """What an answer that cannot be read counts as."""
    if_failed_wrong: float = math.nan
    """The value if every failed answer were wrong; nan without failures."""
    if_failed_right: float = math.nan
    """The value if every failed answer were right."""
    sd_between_repeats: float = math.nan
    """Standard deviation of the value over repeats; nan for one repeat. Not the error of the value: see its interval."""


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two conditions of one model compared on the same samples."""

    task: str
    model: str
    prompt: str
    first: str
    second: str
    estimate: Estimate
    p: float = math.nan
    """Two-sided; nan where there is no test."""
    p_holm: float = math.nan
    """Adjusted over all differences of one model on one task: Holm, or Benjamini-Hochberg where exploration is declared."""
    test: str = ""


@dataclass(frozen=True, slots=True)
class ClassTable:
    """Per-class rows and the confusion matrix of one cell."""

    task: str
    model: str
    prompt: str
    condition: str
    labels: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    confusion: tuple[tuple[int, ...], ...]
    """[target][answer]; the last column is none of the labels. Empty where labels are very many."""


Panel = Literal["dependence", "probabilities", "repeats", "prompts", "fairness", "families", "strata", "positions"]
"""What a number is about: the picture, the probabilities of the options, repeats, wordings, groups of people, means of tasks
or of strata, the places of options."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number and what it is about."""

    panel: Panel
    task: str
    model: str
    prompt: str
    condition: str
    """The condition, or those compared: `image, no_image`."""
    kind: str
    estimate: Estimate
    by: str = ""
    """Field of the slice; empty for all samples."""
    slice: str = ""
    """Value of the slice."""
    p: float = math.nan
    """Two-sided; nan where there is no test."""
    p_adjusted: float = math.nan
    """Adjusted over the family that the panel names."""
    lowest: float = math.nan
    """The value at one extreme of what failed (or of what varied); nan where nothing did."""
    highest: float = math.nan
    """The value at the other extreme."""
    detail: str = ""
    """What else to know: a threshold, the prompts at the extremes."""


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models compared on the questions that both answered under one condition."""

    task: str
    prompt: str
    condition: str
    kind: str
    first: str
    second: str
    estimate: Estimate
    """First minus second in the headline metric."""
    p: float = math.nan
    """Two-sided; nan where there is no test."""
    p_adjusted: float = math.nan
    """Over all pairs of models under this condition: Holm, or Benjamini-Hochberg where exploration is declared."""
    test: str = ""
    resolution: float = math.nan
    """q = n / n needed to resolve a difference of this size; nan where it is not defined."""
    detectable: float = math.nan
    """Smallest difference that this n finds in four of five cases, at the discordance observed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Place of one model under one condition."""

    task: str
    prompt: str
    condition: str
    kind: str
    model: str
    estimate: Estimate
    rank: int
    """The best that is not ruled out, `rank_low`: several models may have the same."""
    rank_low: int
    """1 + models shown to be better."""
    rank_high: int
    """Models minus those shown to be worse."""

    @property
    def ranks(self) -> str:
        """`2` or `2–4`."""
        return f"{self.rank_low}" if self.rank_low == self.rank_high else f"{self.rank_low}–{self.rank_high}"


def first_rows(rows: Iterable[Row], *, sliced: bool = False) -> Iterator[Row]:
    """The headline of every cell, or of every slice of it: the first metric."""
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        key = (row.task, row.prompt, row.model, row.condition, row.kind, row.by, row.slice)
        if bool(row.by) is sliced and key not in seen:
            seen.add(key)
            yield row


@dataclass(frozen=True, slots=True, repr=False)
class Results:
    """Everything a run found."""

    rows: tuple[Row, ...]
    pairs: tuple[PairRow, ...] = ()
    classes: tuple[ClassTable, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Everything beyond scores and differences: what the picture gives, probabilities, repeats, groups."""
    standings: tuple[Standing, ...] = ()
    model_pairs: tuple[ModelPair, ...] = ()
    adjustment: str = "holm"
    """How p-values of pairs and models were adjusted: `holm`, or `benjamini_hochberg` where exploration was declared."""
    counts: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    """Of the bootstraps, and of whatever else a report draws."""

    def table(self) -> list[dict[str, Any]]:
        """Flat rows for a data frame or CSV: one dict an estimate, slices included."""
        return [_flat(row) for row in self.rows]

    def headline(self, task: str, model: str, condition: str, prompt: str = "default") -> Estimate:
        """The first metric of a cell over all samples. Raises KeyError when there is no such cell."""
        for row in first_rows(self.rows):
            if (row.task, row.model, row.condition, row.prompt) == (task, model, condition, prompt):
                return row.estimate
        cells = dict.fromkeys((row.task, row.model, row.condition, row.prompt) for row in self.rows)
        raise KeyError(f"no cell {(task, model, condition, prompt)}; there are {', '.join(map(str, cells)) or 'none'}")

    def __repr__(self) -> str:
        """The headline of every cell, one a line."""
        lines = []
        for row in first_rows(self.rows):
            made = row.estimate
            value = f"{made.metric} {made.value:.3f} [{made.low:.3f}, {made.high:.3f}] n={made.n}"
            lines.append(f"{row.task} | {row.model} | {row.condition} | {value}" + (f" | {made.note}" if made.note else ""))
        return "\n".join(["Results, 95 % intervals:", *lines])

    def as_dict(self) -> dict[str, Any]:
        """For `results.json`; nan becomes null."""
        return {
            "eyetest": __version__,
            "counts": dict(self.counts),
            "estimates": self.table(),
            "pairs": [_flat(row) for row in self.pairs],
            "classes": [asdict(table) for table in self.classes],
            "findings": [_flat(row) for row in self.findings],
            "standings": [_flat(row) for row in self.standings],
            "model_pairs": [_flat(row) for row in self.model_pairs],
            "adjustment": self.adjustment,
        }


def _flat(row: Row | PairRow | Finding | Standing | ModelPair) -> dict[str, Any]:
    values: dict[str, Any] = asdict(row)
    inner: dict[str, Any] = values.pop("estimate")
    return values | inner
