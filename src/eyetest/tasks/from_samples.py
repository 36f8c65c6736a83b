"""The task that a list of samples makes, from Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyetest.errors import DataError
from eyetest.readers.load_report import LoadReport
from eyetest.tasks.standard import METRICS, scorers
from eyetest.tasks.task import Card, Task
from eyetest.types import Image, Sample, Shown


def task_from_samples(samples: Iterable[Sample], *, name: str = "samples") -> Task:
    """A task over samples in memory; lists in a sample become tuples.

    Raises DataError for what no scorer could score, and for a field that holds something else than its type says.
    """
    kept = tuple(_checked(sample, f"Task {name!r}, sample {number}") for number, sample in enumerate(samples, 1))
    twice = [sample_id for sample_id, count in Counter(sample.id for sample in kept).items() if count > 1]
    if twice:
        raise DataError(f"Task {name!r}: two samples have the id {twice[0]!r}. Ids must be unique.")

    def load(_directory: Path | None, _split: str, report: LoadReport) -> Iterator[Sample]:
        for sample in kept:
            report.read += 1
            report.kept += 1
            yield sample

    return Task(name, Card(title=name, notes="samples given from Python"), load, scorers(), METRICS, splits=("all",))


def _checked(sample: object, where: str) -> Sample:
    if not isinstance(sample, Sample):
        raise DataError(f"{where}: is {sample!r:.80}; expected an eyetest.types.Sample.")
    lists: dict[str, Any] = {name: tuple(value) for name in _TUPLES if isinstance(value := getattr(sample, name), list)}
    whole = replace(sample, **lists) if lists else sample
    for names, fits, wanted in _FIELDS:
        for name in names:
            if not fits(getattr(whole, name)):
                raise DataError(f"{where}: {name} is {getattr(whole, name)!r:.80}; expected {wanted}.")
    _check(whole, f"{where} ({whole.id!r})")
    return whole


def _is_picture(value: object) -> bool:
    """A picture with a path or with bytes."""
    if not isinstance(value, Image) or (value.path is None) == (value.data is None):
        return False
    return isinstance(value.path, str | None) and isinstance(value.data, bytes | None)


_TUPLES = ("target", "choices", "images")

_FIELDS: tuple[tuple[tuple[str, ...], Callable[[object], bool], str], ...] = (
    (("id", "question"), lambda value: isinstance(value, str), "a text"),
    (
        ("target", "choices"),
        lambda value: isinstance(value, tuple) and all(isinstance(one, str) for one in value),
        "a tuple of texts",
    ),
    (
        ("images",),
        lambda value: isinstance(value, tuple) and all(map(_is_picture, value)),
        "a tuple of Images, each with a path (as text) or data (bytes)",
    ),
    (
        ("context", "picture_text", "knowledge_question", "knowledge_method", "caption", "entity", "cluster"),
        lambda value: value is None or isinstance(value, str),
        "a text or None",
    ),
    (("metadata",), lambda value: isinstance(value, Mapping), "a mapping"),
    (("shown",), lambda value: isinstance(value, Shown), "a Shown"),
)
"""Fields, whether a value fits them, and what was expected."""


def _check(sample: Sample, where: str) -> None:
    if not isinstance(sample.kind, str) or sample.kind not in METRICS:
        raise DataError(f"{where}: kind {sample.kind!r} cannot be scored by a task made from samples. Use: {', '.join(METRICS)}.")
    if not sample.target and sample.kind not in ("labels", "description"):
        raise DataError(f"{where}: has no target.")
    if sample.kind == "transcription" and len(sample.target) > 1:
        raise DataError(f"{where}: has {len(sample.target)} targets; a transcription has one.")
    if sample.kind == "transcription" and not sample.target[0].strip():
        raise DataError(f"{where}: its target is empty; an error rate needs words to be wrong about. Leave the sample out.")
    if sample.kind == "labels" and (not sample.choices or any(", " in choice for choice in sample.choices)):
        raise DataError(f"{where}: needs choices, the labels that a set is made of, none of which holds a comma and a blank.")
    if sample.kind in ("choice", "labels"):
        outside = [answer for answer in sample.target if answer not in sample.choices]
        if outside:
            raise DataError(f"{where}: the target {outside[0]!r} is not among its choices {list(sample.choices)}.")
