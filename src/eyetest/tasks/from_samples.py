"""The task that a list of samples makes, from Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from eyetest.errors import DataError
from eyetest.readers.load_report import LoadReport
from eyetest.tasks.standard import METRICS, scorers
from eyetest.tasks.task import Card, Task
from eyetest.types import Sample


def task_from_samples(samples: Iterable[Sample], *, name: str = "samples") -> Task:
    """A task over samples in memory. Raises DataError for what no scorer could score."""
    kept = tuple(samples)
    twice = [sample_id for sample_id, count in Counter(sample.id for sample in kept).items() if count > 1]
    if twice:
        raise DataError(f"Task {name!r}: two samples have the id {twice[0]!r}. Ids must be unique.")
    for number, sample in enumerate(kept, 1):
        _check(sample, f"Task {name!r}, sample {number} ({sample.id!r})")

    def load(_directory: Path | None, _split: str, report: LoadReport) -> Iterator[Sample]:
        for sample in kept:
            report.read += 1
            report.kept += 1
            yield sample

    return Task(name, Card(title=name, notes="samples given from Python"), load, scorers(), METRICS, splits=("all",))


def _check(sample: Sample, where: str) -> None:
    if sample.kind not in METRICS:
        raise DataError(f"{where}: kind {sample.kind!r} cannot be scored by a task made from samples. Use: {', '.join(METRICS)}.")
    if not sample.target:
        raise DataError(f"{where}: has no target.")
    if sample.kind == "choice":
        outside = [answer for answer in sample.target if answer not in sample.choices]
        if outside:
            raise DataError(f"{where}: the target {outside[0]!r} is not among its choices {list(sample.choices)}.")
