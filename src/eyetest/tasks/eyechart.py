"""The embedded suites: shapes, words and flags. They need no download and may be shown to anyone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eyetest.errors import UsageError
from eyetest.eyechart import SUITES, Suite, samples
from eyetest.readers.load_report import LoadReport
from eyetest.tasks.standard import METRICS, scorers
from eyetest.tasks.task import Card, Load, Task
from eyetest.types import Sample

_OURS = "drawn by eyetest (Apache-2.0)"

CARDS = {
    "shapes": Card(
        title="Eye chart: shapes",
        licence=_OURS,
        redistributable=True,
        notes="600 pictures of coloured shapes, asked for colour, shape, position or number; four options. "
        "Without the picture there is nothing to know: guessing is right one time in four.",
    ),
    "words": Card(
        title="Eye chart: words",
        licence=f"{_OURS}; font Aileron (CC0-1.0)",
        redistributable=True,
        notes="120 pictures of one word out of twelve, each asked with four options and as a short answer.",
    ),
    "flags": Card(
        title="Eye chart: flags",
        licence="flags from flag-icons 7.5.0 (MIT); questions, facts and passages by eyetest (Apache-2.0)",
        url="https://github.com/lipis/flag-icons",
        redistributable=True,
        notes="80 countries, asked for name, capital, continent and currency, each with four options and as a short answer. "
        "Wrong options are other countries' answers. A currency is asked by its bare name: dollar, not Canadian dollar.",
    ),
}


def _load(suite: Suite) -> Load:
    def load(directory: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
        if directory is not None:
            raise UsageError(
                f"Task eyechart_{suite} is part of eyetest and reads no folder. Leave out the directory {directory}."
            )
        return samples(suite, split, report)

    return load


def _task(suite: Suite) -> Task:
    splits = SUITES[suite]
    train = "train" if "train" in splits else None
    return Task(f"eyechart_{suite}", CARDS[suite], _load(suite), scorers(), METRICS, splits=splits, train_split=train)


eyechart_shapes = _task("shapes")
eyechart_words = _task("words")
eyechart_flags = _task("flags")
