"""What the tasks of MM-Soc (arXiv 2402.14154) share: prompts, scorers, metrics."""

from __future__ import annotations

from collections.abc import Mapping

from eyetest.metrics import Metric
from eyetest.prompts import Prompt
from eyetest.tasks import standard
from eyetest.types import Kind, Scorer


def prompts(task: str) -> Mapping[str, Prompt]:
    """The prompts of `misinformation`, `hate`, `humor`, ... by name; the first is the default."""
    del task
    return {"default": Prompt()}


def scorers(task: str) -> Mapping[Kind, Scorer]:
    """How answers of a task are read."""
    del task
    return standard.scorers()


def metrics(task: str) -> Mapping[Kind, tuple[Metric, ...]]:
    """What is computed for a task; the first is the headline."""
    del task
    return standard.METRICS
