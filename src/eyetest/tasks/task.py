"""What a task is: a question type on a dataset, with its prompts, scorers and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eyetest.metrics import Metric
from eyetest.prompts import Prompt
from eyetest.readers.load_report import LoadReport
from eyetest.types import Kind, Sample, Scorer


@dataclass(frozen=True, slots=True)
class Card:
    """Facts about a dataset that a reader of a report needs."""

    title: str
    """Name as its authors write it."""
    licence: str = "unknown"
    """SPDX name or the authors' words."""
    citation: str = ""
    """How to cite it."""
    url: str = ""
    """Where it comes from."""
    redistributable: bool = False
    """Whether a report may embed its pictures."""
    redistribution: str = ""
    """What may be passed on, in words, where that needs saying."""
    revision: str = ""
    """Revision of the published copy that downloads are pinned to."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Split -> rows in the published files. What a run really read is in its load report."""
    offensive: bool = False
    """Whether its contents are blurred behind a click."""
    notes: str = ""
    """What to know before reading a number."""


Load = Callable[[Path | None, str, LoadReport], Iterator[Sample]]
"""(directory, split, report) -> samples, streamed; fills the report as it goes; may be called again for another pass."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question type on a dataset. One object serves evaluation and, later, training."""

    name: str
    """Name in run files, results and the journal."""
    card: Card
    """Where the data come from."""
    load: Load
    """Streams the samples of a split."""
    scorers: Mapping[Kind, Scorer]
    """How an answer of each kind is read."""
    metrics: Mapping[Kind, tuple[Metric, ...]]
    """What is computed from the scores of each kind; the first is the headline."""
    prompts: Mapping[str, Prompt] = field(default_factory=lambda: {"default": Prompt()})
    """Prompts by name."""
    splits: tuple[str, ...] = ("test",)
    """Splits it can load; the first is the default."""
    formats: Mapping[str, Load] = field(default_factory=dict)
    """Layouts that it can read, by name; `load` finds out which one a folder has."""
    positive: str | None = None
    """The label whose misses and false alarms matter (`hateful`), where two labels are not alike."""
    family: str = ""
    """Tasks of one family are also given as their mean (`misinformation`: PolitiFact and GossipCop)."""
    train_split: str | None = None
    """Split for models that must know the training data."""
    hub: str = ""
    """Dataset repository on the Hugging Face hub that `--dir hub` downloads, at `card.revision`."""
    embedded: str = ""
    """Name of the small set inside eyetest that has this task's layout; `--dir embedded` reads it."""
