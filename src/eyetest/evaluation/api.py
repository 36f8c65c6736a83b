"""The Python interface: `eyetest.evaluate`."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from eyetest import conditions as conditions_module
from eyetest.config import AnswerForm, run_config
from eyetest.errors import UsageError
from eyetest.evaluation.evaluate import evaluate_plan, prepare
from eyetest.evaluation.plan import Dataset
from eyetest.evaluation.results import Results
from eyetest.evaluation.run import Progress
from eyetest.models import build, checked
from eyetest.models.function import CallableModel
from eyetest.tasks import Task
from eyetest.tasks.custom import AnswerIs
from eyetest.tasks.from_file import task_from_file
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Message, Model, Response, Sample

AskedFunction = Callable[[tuple[Message, ...]], str | Response]
"""A model as a function: the conversation in, the completion (or a whole Response) out."""

AnyModel = str | Model | AskedFunction
"""A model: a spec such as `chance`, an object with `generate`, or a function."""

Match = Literal["tokens", "contains"]
"""How short answers are compared."""

AnyData = str | os.PathLike[str] | Task | Iterable[Sample]
"""Data: a file, a task, or samples."""


def evaluate(
    data: AnyData,
    models: AnyModel | Sequence[AnyModel] | Mapping[str, AnyModel],
    *,
    conditions: str | Sequence[str] = ("image",),
    images: str | os.PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    answer_is: AnswerIs = "text",
    match: Match = "tokens",
    repeats: int = 1,
    temperature: float = 0.0,
    max_tokens: int = 256,
    seed: int = 0,
    limit: int | float | None = None,
    by: str | Sequence[str] = (),
    positive: str | None = None,
    label_logprobs: bool = False,
    backbones: Mapping[str, str] | None = None,
    exploration: bool = False,
    strict: bool = False,
    out: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    watch: Callable[[Progress], None] = lambda _progress: None,
) -> Results:
    """Ask models questions under viewing conditions; scores with intervals as a table.

    data: a JSONL/CSV/TSV/Parquet/XLSX file (with `images`, `columns`, `answer_is` and `match` as on the command line), a
    Task, or samples.
    models: one or several of: a spec ("chance", "hf:PATH", "openai:NAME"), a Model, a function of the messages. A mapping
    names them; a function's answers are never cached.
    conditions: as on the command line, e.g. ("image", "no_image+shuffled") or "image,no_image+shuffled".
    positive: of two labels, the one whose misses and false alarms matter. label_logprobs: ask for the probability of each
    option. backbones: model -> the text model that it is built on, also among `models`. exploration: adjust
    tests of conditions and of models by Benjamini-Hochberg instead of Holm.
    out: run directory to keep, and to go on with; a temporary one when left out. cache: file for answers shared between
    runs; none when left out.

    Returns Results: `.table()` gives one dict an estimate, `.headline(task, model, condition)` one estimate.
    Raises EyetestError for whatever is wrong before any model is called.
    """
    values: dict[str, Any] = {
        "conditions": conditions_module.whole_conditions(_words("conditions", conditions)),
        "repeats": repeats,
        "generation": {"temperature": temperature, "max_tokens": max_tokens},
        "seed": seed,
        "limit": limit,
        "by": _words("by", by),
        "label_logprobs": label_logprobs,
        "backbones": {} if backbones is None else backbones,
        "exploration": exploration,
        "strict": strict,
        "use_cache": cache is not None,
        "cache": None if cache is None else _path("cache", cache),
        "out": None if out is None else _path("out", out),
    }
    if not callable(watch):
        raise _wrong("watch", watch, "a function of a Progress")
    built = _models(models, seed)
    values["models"] = [{"model": one.name} for one in built]
    config = run_config(values, "evaluate()")
    task = _task(data, images, columns, answer_is, match)
    plan = prepare(config, (Dataset(task, split=task.splits[0], asked_positive=positive),))

    def ask(directory: str) -> Results:
        outcome = evaluate_plan(config.model_copy(update={"out": directory}), plan, built, watch=watch)
        _warn(outcome.progress)
        return outcome.results

    if config.out is not None:
        return ask(config.out)
    with tempfile.TemporaryDirectory(prefix="eyetest-") as directory:
        return ask(directory)


def _wrong(argument: str, value: object, wanted: str) -> UsageError:
    """The one form of every error about an argument."""
    return UsageError(f"evaluate(): {argument} is {value!r:.80}; expected {wanted}.")


def _words(argument: str, value: object) -> list[str]:
    if isinstance(value, str):
        return value.split(",")
    words: list[Any] = list(value) if isinstance(value, Iterable) else [value]
    if not isinstance(value, Iterable) or not all(isinstance(one, str) for one in words):
        raise _wrong(argument, value, "a text, or a list of texts")
    return words


def _path(argument: str, value: object) -> str:
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str):
        raise _wrong(argument, value, "a path")
    if "\0" in path:
        raise _wrong(argument, value, "a path, which cannot hold a NUL character")
    return path


def _warn(progress: Progress) -> None:
    if progress.failed:
        warnings.warn(
            f"{progress.failed} of {progress.done} answers failed and are outside every n. The first: {progress.first_failure}",
            stacklevel=4,
        )


def _task(
    data: AnyData, images: str | os.PathLike[str] | None, columns: Mapping[str, str] | None, answer_is: AnswerIs, match: Match
) -> Task:
    if answer_is not in get_args(AnswerForm):
        raise _wrong("answer_is", answer_is, f"one of {', '.join(get_args(AnswerForm))}")
    if match not in get_args(Match):
        raise _wrong("match", match, f"one of {', '.join(get_args(Match))}")
    if columns is not None and not _texts(columns):
        raise _wrong("columns", columns, "a mapping from our column name to the file's")
    if isinstance(data, str | os.PathLike):
        folder = None if images is None else Path(_path("images", images))
        return task_from_file(Path(_path("data", data)), image_folder=folder, columns=columns, answer_is=answer_is, match=match)
    if images is not None or columns or answer_is != "text" or match != "tokens":
        raise UsageError("evaluate(): images, columns, answer_is and match describe a data file, but data is not a path.")
    if isinstance(data, Task):
        return data
    if not isinstance(data, Iterable):
        raise _wrong("data", data, "a path, a Task or samples")
    return task_from_samples(data)


def _texts(columns: object) -> bool:
    return isinstance(columns, Mapping) and all(isinstance(one, str) for pair in columns.items() for one in pair)


def _models(models: AnyModel | Sequence[AnyModel] | Mapping[str, AnyModel], seed: int) -> tuple[Model, ...]:
    if isinstance(models, Mapping):
        if not all(isinstance(name, str) and name for name in models):
            raise _wrong("models", list(models), "names as texts")
        built = tuple(_model(one, seed, name) for name, one in models.items())
    elif isinstance(models, Sequence) and not isinstance(models, str):
        built = tuple(_model(one, seed, None) for one in models)
    else:
        built = (_model(models, seed, None),)
    names = [model.name for model in built]
    if len(set(names)) < len(names) or not names:
        raise UsageError(f"evaluate(): models need different names, got {names}. Pass a mapping name -> model.")
    return built


def _model(model: AnyModel, seed: int, name: str | None) -> Model:
    built: Model
    if isinstance(model, str):
        built = build(model, seed=seed)
    elif hasattr(model, "generate"):
        built = checked(model, "evaluate()")
    elif callable(model):
        built = CallableModel(model, name=name or str(getattr(model, "__name__", "function")))
    else:
        raise UsageError(f"evaluate(): {model!r} is not a model. Give a spec, an object with generate(), or a function.")
    if name is not None and built.name != name:
        try:
            built.name = name
        except AttributeError:
            raise UsageError(f"evaluate(): the model {built.name!r} cannot be given the name {name!r}. Leave it out.") from None
    return built
