"""Predictions as columns: a few dozen bytes an answer, so that a whole grid stays in memory as numbers.

The texts stay in `predictions.jsonl`.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from eyetest.errors import UsageError, nearest
from eyetest.metrics import PARTNERS, STATUSES, Columns
from eyetest.metrics.positions import ROTATED, place_of
from eyetest.scorers.text import answer_in_output
from eyetest.types import Kind, Prediction, Sample, Score


class Cell(NamedTuple):
    """One cell of the grid: what an estimate is about."""

    task: str
    model: str
    prompt: str
    condition: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a run's grid. Cells are reported in it, whichever was answered first."""

    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    def place(self, cell: Cell) -> tuple[tuple[int, ...], Cell]:
        """Sort key: places in the grid, what the grid does not name last and by name."""
        axes = (self.tasks, cell.task), (self.models, cell.model), (self.prompts, cell.prompt), (self.conditions, cell.condition)
        return tuple(names.index(name) if name in names else len(names) for names, name in axes), cell


LABELLED: tuple[Kind, ...] = ("choice", "labels")
"""Kinds of answer that may share a label space."""

_CODES = {status: code for code, status in enumerate(STATUSES)}

_PARTNER = {partner: code for code, partner in enumerate(PARTNERS)}


def status_code(prediction: Prediction) -> int:
    """Index into STATUSES: the call's failure, else how the answer was read."""
    response = prediction.response.status
    if response in ("error", "bad_image"):
        return _CODES[response]
    if response == "blocked":
        return _CODES["blocked"]
    return _CODES[prediction.score.status]


@lru_cache(maxsize=1 << 16)
def _text_code(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()) + 1


def answer_code(score: Score) -> int:
    """Code of what was read; 0 where nothing was."""
    return 0 if score.answer is None or score.status != "scored" else _text_code(score.answer)


def partner_code(sample: Sample) -> int:
    """Index into PARTNERS."""
    shown = sample.shown
    if shown.partner is None:
        return 0
    if not set(sample.target).isdisjoint(shown.partner_target) or (
        sample.kind == "labels" and sample.target == shown.partner_target
    ):
        return _PARTNER["same"]
    given = sample.kind != "choice" or not set(sample.choices).isdisjoint(shown.partner_target)
    return _PARTNER["other" if given else "impossible"]


def followed(sample: Sample, score: Score) -> bool:
    """Whether the answer read is what would be right for somebody else's picture that was shown."""
    wanted = sample.shown.partner_target
    if sample.shown.partner is None or score.answer is None or score.status != "scored":
        return False
    if sample.kind == "labels":
        return set(score.answer.split(", ")) == set(wanted)
    folded = score.answer.casefold().strip()
    return any(folded == text.casefold().strip() for text in wanted)


def _bits(chosen: Iterable[str], codes: Mapping[str, int]) -> list[int]:
    """A set of labels as words of 64 bits."""
    words = [0] * (-(-len(codes) // 64))
    for label in chosen:
        code = codes.get(label)
        if code is not None:
            words[code // 64] |= 1 << code % 64
    return words


def _probabilities(choices: Sequence[str], logs: Sequence[float], codes: Mapping[str, int]) -> list[float]:
    """The share of each label in the probability of all, in label order; nan where every label is impossible."""
    highest = max(logs)
    weights = [math.exp(log - highest) if highest > -math.inf else math.nan for log in logs]
    total, found = sum(weights), [math.nan] * len(codes)
    for choice, weight in zip(choices, weights, strict=True):
        found[codes[choice]] = weight / total
    return found


def chance_of(sample: Sample) -> float:
    """Probability that a uniform guess among the options is right; nan where there is nothing to choose from."""
    if sample.kind != "choice" or not sample.choices:
        return math.nan
    return sum(choice in sample.target for choice in sample.choices) / len(sample.choices)


MISSING = "(missing)"
"""Slice of the samples that have no value for a field that others have."""


def fields(by: Iterable[str]) -> tuple[str, ...]:
    """The fields to slice by, each once: `topic` and `metadata.topic` are one."""
    found: dict[str, str] = {}
    for one in by:
        found.setdefault(one.removeprefix("metadata."), one)
    return tuple(found.values())


MOST_FIELDS = 40
"""Fields named in an error message."""


def check_fields(by: Iterable[str], samples: Iterable[Sample]) -> None:
    """Read samples until each `metadata.FIELD` was seen. Raises UsageError for one that no sample has."""
    wanted = {one: one.removeprefix("metadata.") for one in by}
    known: set[str] = set()
    for sample in samples if wanted else ():
        known.update(sample.metadata)
        if known.issuperset(wanted.values()):
            return
    for one, name in wanted.items():
        if name not in known:
            fields = sorted(map(str, known))
            shown = ", ".join(fields[:MOST_FIELDS]) + (
                f" and {len(fields) - MOST_FIELDS} more" if len(fields) > MOST_FIELDS else ""
            )
            raise UsageError(
                f"--by {one}: no sample has a metadata field {name!r}.{nearest(name, fields)} "
                f"Fields: {shown or 'none'}. Write metadata.FIELD."
            )


def slice_value(sample: Sample, by: str) -> str:
    """Value of `metadata.FIELD` for a sample, as text; yes/no values as JSON writes them, so that `true` is not "True"."""
    value = sample.metadata.get(by.removeprefix("metadata."), MISSING)
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(slots=True)
class _Growing:
    """Columns of one cell while answers arrive."""

    sample: array[int] = field(default_factory=lambda: array("i"))
    variant: array[int] = field(default_factory=lambda: array("h"))
    repeat: array[int] = field(default_factory=lambda: array("h"))
    status: array[int] = field(default_factory=lambda: array("B"))
    value: array[float] = field(default_factory=lambda: array("d"))
    target: array[int] = field(default_factory=lambda: array("i"))
    answer: array[int] = field(default_factory=lambda: array("i"))
    request: array[int] = field(default_factory=lambda: array("q"))
    cluster: array[int] = field(default_factory=lambda: array("q"))
    chance: array[float] = field(default_factory=lambda: array("d"))
    slices: array[int] = field(default_factory=lambda: array("i"))
    said: array[int] = field(default_factory=lambda: array("q"))
    partner: array[int] = field(default_factory=lambda: array("B"))
    followed: array[int] = field(default_factory=lambda: array("B"))
    probabilities: array[float] = field(default_factory=lambda: array("f"))
    with_probabilities: array[int] = field(default_factory=lambda: array("i"))
    """Rows that have probabilities, in the order of `probabilities`."""
    counts: array[float] = field(default_factory=lambda: array("d"))
    with_counts: array[int] = field(default_factory=lambda: array("i"))
    """Rows that have counts, in the order of `counts`."""
    positions: array[int] = field(default_factory=lambda: array("h"))
    with_positions: array[int] = field(default_factory=lambda: array("i"))
    """Rows that have positions, in the order of `positions`."""
    target_set: array[int] = field(default_factory=lambda: array("Q"))
    answer_set: array[int] = field(default_factory=lambda: array("Q"))

    def matrix(self, values: array[float] | array[int], rows: array[int]) -> np.ndarray[Any, Any]:
        """Values of some rows as a matrix of all: (n, width), nan elsewhere."""
        width = len(values) // len(rows) if rows else 0
        made = np.full((len(self.sample), width), np.nan)
        if width:
            made[np.array(rows)] = np.array(values).reshape(-1, width)
        return made


@dataclass(slots=True)
class Table:
    """All answers of a run as columns.

    labels: task -> its shared label space; by: `metadata.FIELD`s to slice by; order: of the cells.
    """

    labels: Mapping[str, tuple[str, ...]]
    by: tuple[str, ...] = ()
    order: Order = Order()
    _growing: dict[Cell, _Growing] = field(default_factory=dict)
    _samples: dict[tuple[str, str], int] = field(default_factory=dict)
    _slices: dict[tuple[str, ...], int] = field(default_factory=dict)
    _ranked: np.ndarray[Any, Any] = field(default_factory=lambda: np.empty(0, np.int32))
    _label_codes: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, prediction: Prediction) -> None:
        """Add one answer."""
        sample = prediction.sample
        cell = Cell(prediction.task, prediction.model, prediction.prompt, prediction.condition, sample.kind)
        column = self._growing.get(cell)
        if column is None:
            column = self._growing[cell] = _Growing()
        codes = self._codes(cell)
        number = self._samples.setdefault((cell.task, sample.id), len(self._samples))
        column.sample.append(number)
        column.variant.append(prediction.variant)
        column.repeat.append(prediction.repeat)
        column.status.append(status_code(prediction))
        column.value.append(prediction.score.value)
        column.target.append(codes.get(sample.target[0], -1) if sample.target else -1)
        column.answer.append(-1 if prediction.score.answer is None else codes.get(prediction.score.answer, -1))
        column.request.append(_request_code(prediction.request_key))
        column.cluster.append(-1 if sample.cluster is None else _cluster_code(sample.cluster))
        column.chance.append(chance_of(sample))
        column.slices.append(self._slice(sample))
        column.said.append(answer_code(prediction.score))
        column.partner.append(partner_code(sample))
        column.followed.append(followed(sample, prediction.score))
        self._add_wide(column, codes, prediction)

    def _add_wide(self, column: _Growing, codes: Mapping[str, int], prediction: Prediction) -> None:
        """What only some answers have: probabilities of the labels, counts, sets of labels."""
        sample, score, logs = prediction.sample, prediction.score, prediction.response.label_logprobs
        row = len(column.sample) - 1
        counts = (answer_in_output(sample, prediction.response.text),) if sample.kind == "text" else score.counts
        if counts:
            column.counts.extend(counts)
            column.with_counts.append(row)
        if sample.kind == "choice" and ROTATED in prediction.condition.split("+"):
            answer = score.answer if score.status == "scored" else None
            choices = sample.choices
            column.positions.extend((place_of(sample.target, choices), place_of((answer,), choices), len(choices)))
            column.with_positions.append(row)
        if sample.kind == "labels" and codes:
            column.target_set.extend(_bits(sample.target, codes))
            column.answer_set.extend(_bits(score.answer.split(", ") if score.answer else (), codes))
        elif logs is not None and codes and len(logs) == len(sample.choices):
            column.probabilities.extend(_probabilities(sample.choices, logs, codes))
            column.with_probabilities.append(row)

    @property
    def cells(self) -> list[Cell]:
        """The cells that have an answer, in the order of the grid."""
        return sorted(self._growing, key=self.order.place)

    def _codes(self, cell: Cell) -> dict[str, int]:
        if cell.kind not in LABELLED:
            return {}
        codes = self._label_codes.get(cell.task)
        if codes is None:
            codes = self._label_codes[cell.task] = {label: code for code, label in enumerate(self.labels.get(cell.task, ()))}
        return codes

    def _slice(self, sample: Sample) -> int:
        flags = sample.shown.flags
        if not self.by and not flags:
            return -1
        values = (*(slice_value(sample, by) for by in self.by), *flags)
        return self._slices.setdefault(values, len(self._slices))

    def columns(self, cell: Cell) -> Columns:
        """The finished columns of one cell.

        Samples are numbered and ordered by id, so that no number depends on the order in which answers arrived.
        """
        growing = self._growing[cell]
        made: dict[str, Any] = {name: np.array(getattr(growing, name), dtype=kind) for name, kind in _KINDS.items()}
        made["sample"] = self._ranks()[made["sample"]]
        alone = made["cluster"] < 0
        made["cluster"][alone] = -1 - made["sample"][alone]  # a cluster of its own, apart from the named ones
        order = _order(made)
        labels = self.labels.get(cell.task, ()) if cell.kind in LABELLED else ()
        made["probabilities"] = growing.matrix(growing.probabilities, growing.with_probabilities)
        made["counts"] = growing.matrix(growing.counts, growing.with_counts)
        made["positions"] = growing.matrix(growing.positions, growing.with_positions)
        for name in ("target_set", "answer_set"):
            made[name] = np.array(getattr(growing, name), np.uint64).reshape(len(order), -1)
        return Columns(**{name: values[order] for name, values in made.items()}, labels=labels)

    def _ranks(self) -> np.ndarray[Any, Any]:
        """Number by arrival -> number by id."""
        if len(self._ranked) != len(self._samples):
            self._ranked = np.empty(len(self._samples), np.int32)
            for rank, sample in enumerate(sorted(self._samples)):
                self._ranked[self._samples[sample]] = rank
        return self._ranked

    def ids(self, task: str) -> list[str]:
        """Sample ids of a task."""
        return [sample_id for name, sample_id in self._samples if name == task]

    def numbered(self, task: str) -> dict[int, str]:
        """Number of a sample in `columns` -> its id."""
        ranks = self._ranks()
        return {int(ranks[arrival]): sample_id for (name, sample_id), arrival in self._samples.items() if name == task}

    def renumbered(self, columns: Columns, task: str, numbers: Mapping[str, int]) -> Columns:
        """The columns of one task with samples numbered by `numbers` (id -> number), so that two tables can be paired."""
        table = np.full(len(self._samples), -1, np.int32)
        ranks = self._ranks()
        for (name, sample_id), arrival in self._samples.items():
            if name == task:
                table[ranks[arrival]] = numbers[sample_id]
        sample = table[columns.sample]
        alone = columns.cluster < 0
        return replace(columns, sample=sample, cluster=np.where(alone, -1 - sample.astype(np.int64), columns.cluster))

    def sliced(self, cell: Cell, whole: Columns) -> dict[str, dict[str, Columns]]:
        """Field -> value -> columns, for every `by` field, and `flag` where there are any. whole: `columns(cell)`."""
        fields: dict[str, dict[str, Columns]] = {}
        for by, value, part in self._slices_of(cell, whole) if self._slices else ():
            fields.setdefault(by, {})[value] = part
        return fields

    def _slices_of(self, cell: Cell, whole: Columns) -> Iterable[tuple[str, str, Columns]]:
        growing = self._growing[cell]
        numbers = {"sample": self._ranks()[np.array(growing.sample)]}
        order = _order(numbers | {name: np.array(getattr(growing, name)) for name in ("variant", "repeat")})
        code = np.array(growing.slices, dtype=np.int32)[order]
        names = list(self._slices)
        for place, by in enumerate(self.by):
            values = {number: values[place] for number, values in enumerate(names)}
            if any(values[number] != MISSING for number in set(code.tolist())):  # else a field of another task
                yield from _split(whole, code, by, values)
        flags = {number: ", ".join(values[len(self.by) :]) for number, values in enumerate(names)}
        if any(flags[number] for number in set(code.tolist()) if number >= 0):
            yield from _split(whole, code, "flag", {number: value or "none" for number, value in flags.items()} | {-1: "none"})


def _split(whole: Columns, code: np.ndarray[Any, Any], by: str, values: Mapping[int, str]) -> Iterable[tuple[str, str, Columns]]:
    groups: dict[str, list[int]] = {}
    for number in sorted(set(code.tolist())):
        if number in values:
            groups.setdefault(values[number], []).append(number)
    for value in sorted(groups):
        yield by, value, whole.take(np.isin(code, groups[value]))


_KINDS: Mapping[str, type] = {
    "sample": np.int32,
    "variant": np.int16,
    "repeat": np.int16,
    "status": np.uint8,
    "value": np.float64,
    "target": np.int32,
    "answer": np.int32,
    "request": np.int64,
    "cluster": np.int64,
    "chance": np.float64,
    "said": np.int64,
    "partner": np.uint8,
    "followed": np.bool_,
}


def _order(columns: Mapping[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    return np.lexsort((columns["repeat"], columns["variant"], columns["sample"]))


def _cluster_code(cluster: str) -> int:
    return int.from_bytes(hashlib.blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=7).digest())


def _request_code(key: str) -> int:
    return int(key[:15], 16) if key else -1
