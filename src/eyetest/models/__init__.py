"""Models: anything that answers requests. One module a backend; heavy packages are imported when one is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from eyetest import registry
from eyetest.types import Model, Sample


@runtime_checkable
class Prepares(Protocol):
    """A model that must know the samples or the training split before it is asked."""

    def prepare(self, task: str, samples: Iterable[Sample], train: Iterable[Sample]) -> None:
        """Called once per task, before its first request. `train` is empty where a task has no training split."""
        ...


def build(spec: str, options: Mapping[str, object] | None = None, *, seed: int = 0, where: str = "") -> Model:
    """The model that `NAME[:ARGUMENT]` names. Raises UsageError, ModelError or MissingExtraError before any request."""
    name, _, argument = spec.partition(":")
    factory = registry.load("models", name.strip(), where)
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in (options or {}).items()}
    model: Model = factory(argument, texts, seed)
    return model
