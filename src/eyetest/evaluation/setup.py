"""From a run's configuration to the things it names: datasets, prompts, models. Everything that can be wrong fails here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from eyetest import images, registry, social
from eyetest.config import EMBEDDED, DataConfig, ModelConfig, PromptConfig, RunConfig, means_hub
from eyetest.errors import BadImageError, UsageError, unknown
from eyetest.evaluation.plan import Dataset
from eyetest.evaluation.prepared import with_files
from eyetest.models import build
from eyetest.prices import Account, Budget, read_prices
from eyetest.prompts import Prompt
from eyetest.readers import hub
from eyetest.scorers import TextScorer
from eyetest.tasks import Card, Task
from eyetest.tasks.from_file import task_from_file
from eyetest.tasks.standard import METRICS, scorers
from eyetest.types import Image, Model, Sample


def datasets(configs: Iterable[DataConfig]) -> tuple[Dataset, ...]:
    """The datasets of a run. Raises UsageError or DataError for what does not exist."""
    found = tuple(with_files(_dataset(config), config.knowledge, config.captions) for config in configs)
    if not found:
        raise UsageError("No dataset. Name one with --data FILE or --task NAME (see: eyetest list tasks), or in the run file.")
    _unique("task", [dataset.task.name for dataset in found], "Give one of them another name.")
    return found


def _dataset(config: DataConfig) -> Dataset:
    if config.data is not None:
        if config.dir is not None or config.split is not None:
            raise UsageError(f"{config.data}: dir and split belong to registered tasks. Use images and columns with a data file.")
        task = task_from_file(
            Path(config.data),
            name=config.name,
            image_folder=None if config.images is None else Path(config.images),
            columns=config.columns,
            answer_is=config.answer_is,
            match=config.match,
        )
        return Dataset(task, asked_positive=config.positive)
    if config.images is not None or config.columns:
        raise UsageError(
            f"Task {config.task!r}: images and columns belong to data files. A registered task reads its own layout."
        )
    task = registry.load("tasks", config.task or "")
    split = config.split or task.splits[0]
    if split not in task.splits:
        raise unknown("split", split, task.splits, f"task {task.name!r}")
    if config.format is not None and config.format not in task.formats:
        raise unknown("format", config.format, task.formats, f"task {task.name!r}")
    if config.dir == EMBEDDED:
        return Dataset(_with_card(task), _embedded(task), split, config.format, config.positive)
    if config.dir is not None and means_hub(config.dir):
        folder = hub.download(task.name, task.hub, task.card.revision, config.dir)
        return Dataset(task, folder, split, config.format or "parquet", config.positive)
    return Dataset(task, None if config.dir is None else Path(config.dir), split, config.format, config.positive)


def _embedded(task: Task) -> Path:
    """Folder of the small set inside eyetest that has the task's layout. Raises UsageError where there is none."""
    if not task.embedded:
        raise UsageError(f"Task {task.name!r} has no embedded set to read. Leave --dir embedded out.")
    return social.folder(task.embedded)


def _with_card(task: Task) -> Task:
    """The task with the embedded set's own facts: invented by us, free to pass on, nothing to cover."""
    card = Card(
        f"{task.card.title}: embedded set",
        licence="CC0-1.0; lettering: Aileron, CC0-1.0",
        notes="Every word and every picture is invented. What a model scores here says nothing about the real data.",
        redistributable=True,
    )
    return replace(task, card=card)


BATCHED = "openai:"
"""What the spec of a model begins with that can ask through a Batch API."""


def models(configs: Iterable[ModelConfig], *, seed: int, batch: bool = False) -> tuple[Model, ...]:
    """The models of a run, built but not loaded. Raises UsageError, ModelError, MissingExtraError.

    batch: ask through the Batch API where a model has one.
    """
    found, batched = [], False
    for config in configs:
        options = config.options
        if batch and config.model.startswith(BATCHED):
            options, batched = {"batch": True, **options}, True
        model = build(config.model, options, seed=seed)
        if config.name is not None:
            model.name = config.name
        found.append(model)
    if not found:
        raise UsageError("No model. Name one with --model NAME[:ARGUMENT] (see: eyetest list models), or in the run file.")
    if batch and not batched:
        raise UsageError(f"--batch: no model of this run has a Batch API. Name one as {BATCHED}NAME, or leave --batch out.")
    _unique("model", [model.name for model in found], "Give one of them a name of its own in the run file.")
    return tuple(found)


def budget(config: RunConfig, models: Iterable[Model]) -> Budget:
    """The accounts of a run's models and its limit. Raises UsageError for a wrong table, or a limit that cannot be kept."""
    prices = read_prices(None if config.prices is None else Path(config.prices))
    own = {one.name or one.model: one.options.get("batch", config.batch) for one in config.models}
    found: dict[str, Account] = {}
    for model in models:
        batch = own.get(model.name, config.batch) is True
        account = prices.account(model.name, model.identity, simulated=model.simulated, batch=batch)
        if account is not None:
            found[model.name] = account
    made = Budget(found, config.max_cost)
    made.check()
    return made


def _unique(thing: str, names: list[str], way_out: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UsageError(f"Two {thing}s are called {twice[0]!r}. {way_out}")


def prompts(configs: Mapping[str, PromptConfig], folder: Path) -> dict[str, Prompt]:
    """The user's own prompts. `folder`: what pictures of few-shot examples are relative to."""
    return {
        name: Prompt(
            name,
            dict(config.templates),
            config.system,
            tuple(_example(name, number, example, folder) for number, example in enumerate(config.examples, 1)),
            config.lettered,
        )
        for name, config in configs.items()
    }


_EXAMPLE_KEYS = ("question", "answer", "choices", "image", "context")


def _example(prompt: str, number: int, example: Mapping[str, Any], folder: Path) -> Sample:
    where = f"Prompt {prompt!r}, example {number}"
    for key in example:
        if key not in _EXAMPLE_KEYS:
            raise unknown("key", key, _EXAMPLE_KEYS, where)
    answer, choices = example.get("answer"), tuple(str(choice) for choice in example.get("choices", ()))
    if answer is None or "question" not in example:
        raise UsageError(f"{where}: needs question and answer (and choices for a choice question).")
    if choices and str(answer) not in choices:
        raise UsageError(f"{where}: the answer {answer!r} is not among its choices {list(choices)}.")
    picture = example.get("image")
    shown = () if picture is None else (Image(path=str(folder / str(picture))),)
    for one in shown:  # it stands in every request, and would fail them all
        try:
            images.check(one)
        except BadImageError as error:
            raise UsageError(f"{where}: {error}") from None
    return Sample(
        id=f"{prompt}-example-{number}",
        question=str(example["question"]),
        target=(str(answer),),
        kind="choice" if choices else "text",
        choices=choices,
        images=shown,
        context=None if example.get("context") is None else str(example["context"]),
    )


def scoring(task: Task) -> dict[str, Any]:
    """What `eyetest score` must know to read a task's answers again in the same way."""
    reader = task.scorers.get("text")
    return {
        "registered": _registered(task),
        "match": reader.match if isinstance(reader, TextScorer) else None,
        "scorers": {kind: scorer.signature for kind, scorer in task.scorers.items()},
        "positive": task.positive,
    }


def _registered(task: Task) -> bool:
    """Whether the task can be found again by its name; the positive label is the run's to choose."""
    if task.name not in registry.names("tasks"):
        return False
    found: Task = registry.load("tasks", task.name)
    return found == replace(task, positive=found.positive, card=found.card)


def rebuilt(name: str, scoring: Mapping[str, Any], match: Literal["tokens", "contains"] | None) -> Task:
    """The task of a stored run as far as scoring needs it; its data are in the predictions.

    scoring: as the function `scoring` described it; match: another comparison of short answers than the run's.
    Raises UsageError for a task with scorers of its own, which are not in the registry.
    """
    if scoring.get("registered"):
        if match is not None:
            raise UsageError(f"Task {name!r}: --match is for data files; a registered task knows how its answers are compared.")
        found: Task = registry.load("tasks", name)
        return replace(found, positive=scoring.get("positive", found.positive))
    stored: Literal["tokens", "contains"] = "contains" if scoring.get("match") == "contains" else "tokens"
    own = scorers(stored)
    for kind, signature in scoring.get("scorers", {}).items():
        if kind not in own or own[kind].signature != signature:
            raise UsageError(
                f"Task {name!r}: its answers of kind {kind!r} were read by {signature!r}, a scorer given from Python that cannot "
                f"be found again by name. Register the task as a plug-in (entry point eyetest.tasks)."
            )
    return Task(name, Card(name), lambda *_: iter(()), scorers(match or stored), METRICS, positive=scoring.get("positive"))


def describe(task: Task) -> dict[str, Any]:
    """A task's card for the manifest."""
    return asdict(task.card)
