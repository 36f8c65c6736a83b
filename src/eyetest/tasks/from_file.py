"""The task that a user's own data file makes, with no code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from eyetest.readers.load_report import LoadReport
from eyetest.tasks.custom import AnswerIs, read_samples
from eyetest.tasks.standard import METRICS, scorers
from eyetest.tasks.task import Card, Task
from eyetest.types import Sample


def task_from_file(
    path: Path,
    *,
    name: str | None = None,
    image_folder: Path | None = None,
    columns: Mapping[str, str] | None = None,
    answer_is: AnswerIs = "text",
    match: Literal["tokens", "contains"] = "tokens",
) -> Task:
    """A task over one data file; see `tasks.custom` for its columns. `name` is the file's name without ending by default."""

    def load(_directory: Path | None, _split: str, report: LoadReport) -> Iterator[Sample]:
        yield from read_samples(path, report=report, image_folder=image_folder, columns=columns, answer_is=answer_is)

    card = Card(title=path.name, notes="the user's own data")
    return Task(name or path.name.split(".")[0], card, load, scorers(match), METRICS, splits=("all",))
