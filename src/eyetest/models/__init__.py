"""Models: anything that answers requests. One module a backend; heavy packages are imported when one is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from eyetest import registry
from eyetest.errors import ModelError
from eyetest.types import Model, Sample


@runtime_checkable
class Prepares(Protocol):
    """A model that must know the samples or the training split before it is asked."""

    def prepare(self, task: str, samples: Iterable[Sample], train: Iterable[Sample]) -> None:
        """Called once per task, before its first request. `train` is empty where a task has no training split."""
        ...


@runtime_checkable
class Keeps(Protocol):
    """A model that keeps files of its own between calls of the same run, e.g. the numbers of batches that are under way."""

    def keep_in(self, folder: Path) -> None:
        """Called once, before the first request. `folder` may not exist yet; the same run names the same one again."""
        ...


def remarks(model: Model) -> tuple[str, ...]:
    """What a model found on the way that a reader of its numbers must know: its optional attribute `remarks`, sentences."""
    found: object = getattr(model, "remarks", ())
    if isinstance(found, str):
        return (found,)
    # Whoever shows them names the model.
    return tuple(str(one).removeprefix(f"{model.name}: ") for one in found) if isinstance(found, Iterable) else ()


def build(spec: str, options: Mapping[str, object] | None = None, *, seed: int = 0, where: str = "") -> Model:
    """The model that `NAME[:ARGUMENT]` names. Raises UsageError, ModelError or MissingExtraError before any request."""
    name, _, argument = spec.partition(":")
    factory = registry.load("models", name.strip(), where)
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in (options or {}).items()}
    return checked(factory(argument, texts, seed), f"Model {name.strip()!r}")


def checked(model: object, what: str) -> Model:
    """`model`, if it has all that a Model has. what: who gave it. Raises ModelError that names what it lacks."""
    lacks = [name for name, kind in _ATTRIBUTES.items() if not isinstance(getattr(model, name, None), kind)]
    lacks += [f"{name}()" for name in _METHODS if not callable(getattr(model, name, None))]
    if lacks:
        raise ModelError(
            f"{what}: {type(model).__name__} is not a model: it lacks {', '.join(lacks)}. "
            f"A model has name and identity (texts), simulated (True or False), generate() and close(); see eyetest.types.Model."
        )
    return cast(Model, model)


_ATTRIBUTES: Mapping[str, type] = {"name": str, "identity": str, "simulated": bool}
_METHODS = ("generate", "close")
