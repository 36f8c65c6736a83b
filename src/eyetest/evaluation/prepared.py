"""Knowledge questions and captions from a file: JSON Lines that `eyetest knowledge`, `eyetest caption` or a person wrote.

    {"id": "q1", "k": "Who built the Eiffel Tower?", "method": "model:NAME", "model": "NAME", "prompt_hash": "...", "flags": []}
    {"id": "q1", "caption": "An iron tower.", "model": "NAME", "prompt_hash": "...", "flags": []}

`id` and the text are required. Of several lines of one id the last counts. A line without text, or with one of the flags of
`scorers.converter`, is a rejected one: its sample has no knowledge question (no caption), whatever the dataset says. Other flags
are a person's own and reject nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from eyetest.errors import DataError, shown
from eyetest.evaluation.plan import Dataset
from eyetest.readers import jsonl
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.scorers.converter import FLAGS
from eyetest.types import Sample

Making = Literal["knowledge", "caption"]
"""What a file holds."""

KEYS: Mapping[Making, str] = {"knowledge": "k", "caption": "caption"}
"""What a file holds -> key of its text."""

WORDS: Mapping[Making, str] = {"knowledge": "knowledge question", "caption": "caption"}

_METHOD = re.compile(r"field|file|(?:entity|model)(?::.+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a file."""

    text: str
    """The knowledge question or caption; empty where there is none."""
    flags: tuple[str, ...] = ()
    """What is wrong with it."""
    method: str | None = None
    """How it was made, as the file says."""
    model: str | None = None
    """Model that made it."""
    prompt_hash: str | None = None
    """Of the prompt that it was made with."""
    request: str | None = None
    """First 16 hex digits of the key of the request that gave it; None for what a person wrote."""

    @property
    def rejected(self) -> tuple[str, ...]:
        """Why it does not apply; () if it does."""
        found = tuple(flag for flag in self.flags if flag in FLAGS)
        return found or (() if self.text.strip() else ("empty",))

    @property
    def made_by(self) -> str:
        """`Sample.knowledge_method` of what this line gives: its own method if it is one of ours, else the model, else `file`."""
        if self.method is not None and _METHOD.fullmatch(self.method):
            return self.method
        return "file" if self.model is None else f"model:{self.model}"

    def as_dict(self, sample: str, kind: Making) -> dict[str, Any]:
        """The object that stands in the file."""
        method = {"method": self.method} if kind == "knowledge" and self.method is not None else {}
        made = {"model": self.model, "prompt_hash": self.prompt_hash, "request": self.request}
        known = {key: value for key, value in made.items() if value is not None}
        return {"id": sample, KEYS[kind]: self.text} | method | known | {"flags": list(self.flags)}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file as it was read."""

    kind: Making
    path: Path
    lines: Mapping[str, Line]
    """Sample id -> its last line."""


def read_prepared(path: Path, kind: Making) -> Prepared:
    """Read a file whole. Raises DataError that names the line which cannot be read; an empty file has no lines."""
    report = LoadReport()
    if not path.is_file():
        what = "is not a regular file" if path.exists() else "no such file"
        raise DataError(f"{path}: {what}. Name a file of {WORDS[kind]}s, or make one: eyetest {kind} DATA --model NAME.")
    if path.stat().st_size == 0:
        return Prepared(kind, path, {})
    lines = dict(_line(row, kind) for row in jsonl.read(path, report))
    for reason, places in report.rows.items():
        if reason in report.dropped:
            raise DataError(f"{path}: {reason}: {places[0]}. Expected one JSON object a line: {EXAMPLES[kind]}")
    return Prepared(kind, path, lines)


EXAMPLES: Mapping[Making, str] = {
    "knowledge": '{"id": "q1", "k": "Who built the Eiffel Tower?"}',
    "caption": '{"id": "q1", "caption": "An iron tower."}',
}


def _line(row: Row, kind: Making) -> tuple[str, Line]:
    values, key = row.values, KEYS[kind]
    name = values.get("id")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name:
        raise _wrong(row, "id", values.get("id"), "the id of a sample, as text", kind)
    if key not in values or not isinstance(values[key], str | None):
        raise _wrong(row, key, values.get(key), f"the {WORDS[kind]} as text, or null where there is none", kind)
    flags = values.get("flags") or []
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        raise _wrong(row, "flags", flags, "a list of texts", kind)
    rest = {}
    for field in ("method", "model", "prompt_hash", "request"):
        rest[field] = values.get(field)
        if not isinstance(rest[field], str | None):
            raise _wrong(row, field, rest[field], "a text", kind)
    return name, Line(values[key] or "", tuple(flags), **rest)


def _wrong(row: Row, key: str, found: object, wanted: str, kind: Making) -> DataError:
    said = f"found {shown(found)}" if key in row.values else "there is none"
    return DataError(f"{row.place}: {key}: expected {wanted}; {said}. A line is, for example, {EXAMPLES[kind]}")


def joined(samples: Iterator[Sample], file: Prepared, report: LoadReport) -> Iterator[Sample]:
    """The samples with what the file says of them; those that it does not name stay as the dataset has them.

    report: counts by method, what was rejected and why, and what has no partner on the other side. Raises DataError at the end of
    the samples where not one of them is in the file.
    """
    word, unused, n, first = WORDS[file.kind], dict.fromkeys(file.lines), 0, ""
    for sample in samples:
        n, first = n + 1, first or sample.id
        line = file.lines.get(sample.id)
        unused.pop(sample.id, None)
        if line is None:
            report.warn(f"not in {file.path.name}: the {word} stays the dataset's own, if any", sample.id)
            yield sample
            continue
        for flag in line.rejected:
            report.warn(f"{word} rejected: {FLAGS[flag]} ({flag})", sample.id)
        if not line.rejected:
            report.warn(f"{word} by {line.made_by}", sample.id)
        yield _given(sample, line, file.kind)
    if n and len(unused) == len(file.lines):
        raise _other_ids(file, n, first)
    for name in unused:
        report.warn(f"in {file.path.name} without a sample", name)


def _given(sample: Sample, line: Line, kind: Making) -> Sample:
    text = None if line.rejected else line.text
    if kind == "caption":
        return replace(sample, caption=text)
    return replace(sample, knowledge_question=text, knowledge_method=None if text is None else line.made_by)


def _other_ids(file: Prepared, n: int, first: str) -> DataError:
    theirs = next(iter(file.lines), None)
    holds = "it holds none" if theirs is None else f"it has, for example, {shown(theirs)}, the data {shown(first)}"
    return DataError(
        f"{file.path}: 0 of its {len(file.lines)} ids are among the {n} samples: {holds}. "
        f"Name the file that was made for this dataset and split, or make one: eyetest {file.kind} DATA --model NAME --out FILE."
    )


@dataclass(frozen=True, slots=True)
class PreparedDataset(Dataset):
    """A dataset whose knowledge questions or captions come from files."""

    files: tuple[Prepared, ...] = ()

    def samples(self, report: LoadReport | None = None) -> Iterator[Sample]:
        """Stream the split as the files complete it."""
        counted = LoadReport() if report is None else report
        found = Dataset.samples(self, counted)  # super() is not to be had in a class with slots
        for file in self.files:
            found = joined(found, file, counted)
        yield from found
        counted.files.extend(str(file.path) for file in self.files)


def with_files(dataset: Dataset, knowledge: str | None, captions: str | None) -> Dataset:
    """The dataset with these files, as far as they are named. Raises DataError for one that cannot be read."""
    named: tuple[tuple[Making, str | None], ...] = (("caption", captions), ("knowledge", knowledge))
    files = tuple(read_prepared(Path(path), kind) for kind, path in named if path is not None)
    if not files:
        return dataset
    return PreparedDataset(dataset.task, dataset.directory, dataset.split, dataset.format, dataset.asked_positive, files)
