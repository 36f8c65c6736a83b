"""A whole run: datasets, models and conditions in; a run directory and results out."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any

from eyetest import conditions
from eyetest.config import RunConfig
from eyetest.errors import UsageError, nearest
from eyetest.evaluation import setup
from eyetest.evaluation.plan import Dataset, Plan, Selection, Survey, survey
from eyetest.evaluation.results import Results
from eyetest.evaluation.run import Progress, Watch, run, take_stock
from eyetest.evaluation.rundir import RunDirectory, read_counts
from eyetest.evaluation.summary import Analysis, counted, summarise
from eyetest.evaluation.table import Order, Table, check_fields, fields
from eyetest.models import Keeps, remarks
from eyetest.store import Cache, to_json
from eyetest.types import Generation, Model, Prediction
from eyetest.version import __version__


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run leaves."""

    directory: Path
    table: Table
    results: Results
    progress: Progress


BATCHES = "batches"
"""Folder of the run directory for models that keep files of their own."""


def prepare(config: RunConfig, datasets: Sequence[Dataset], *, folder: Path = Path()) -> Plan:
    """Survey the datasets and lay out the grid. Raises EyetestError before any model is called.

    folder: what pictures of few-shot examples are relative to.
    """
    if not config.conditions:
        raise UsageError("No condition. Name at least one with --condition, e.g. image,no_image (see: eyetest list conditions).")
    wanted = tuple(conditions.canonical(text) for text in config.conditions)
    own = setup.prompts(config.prompt, folder)
    pooled = conditions.needs_pool(wanted)
    selection = Selection(config.limit, config.ids)
    surveys = tuple(survey(one, selection, seed=config.seed, pooled=pooled, strict=config.strict) for one in datasets)
    _check_pictures(surveys, wanted)
    _check_positive(surveys)
    check_fields(config.by, chain.from_iterable(one.samples() for one in surveys))
    settings = config.generation
    generation = Generation(settings.temperature, settings.top_p, settings.max_tokens)
    asked = config.prompts or tuple(own) or ("default",)
    plan = Plan(surveys, wanted, asked, own, generation, config.repeats, config.seed, config.label_logprobs)
    plan.rehearse()
    return plan


def _check_positive(surveys: Sequence[Survey]) -> None:
    for one in surveys:
        positive = one.dataset.positive
        if positive is not None and (positive not in one.labels or len(one.labels) != 2):
            found = f"its labels are {', '.join(one.labels)}" if one.labels else "its samples share no labels"
            raise UsageError(
                f"Task {one.task.name!r}: positive {positive!r} must be one of two labels that all samples share; {found}."
                f"{nearest(positive, one.labels)} Mend it, or leave it out."
            )


def _check_pictures(surveys: Sequence[Survey], wanted: Sequence[str]) -> None:
    """Refuse a test of sight without a single picture: a column that was not named would pass as blindness."""
    if any(one.pictured for one in surveys):
        return
    about_pictures = [text for text in wanted if conditions.about_pictures(text)]
    if about_pictures:
        raise UsageError(
            f"{', '.join(one.task.name for one in surveys)}: no sample has a picture, so the condition {about_pictures[0]!r} "
            f"shows nothing else than 'image'. Name the column that holds the pictures (--column image=NAME), "
            f"or leave the condition out."
        )


_NOT_ASKED = {"out", "cache", "use_cache", "by", "strict", "tasks", "conditions", "backbones", "exploration", "preset"}
_NOT_ASKED |= {"prices", "max_cost", "batch"}
"""Keys of a run file that do not decide what is asked, or are put down in another form."""


def specification(config: RunConfig, plan: Plan) -> dict[str, Any]:
    """What decides which questions a run asks: two runs with equal specifications share a run directory."""
    spec = config.model_dump(mode="json", exclude={**dict.fromkeys(_NOT_ASKED, True), "models": {"__all__": {"card"}}})
    if not config.label_logprobs:
        del spec["label_logprobs"]  # runs from before it could be asked for stay what they are
    tasks = [{"name": one.task.name, "split": one.dataset.split, "samples": one.fingerprint} for one in plan.surveys]
    return spec | {"conditions": list(plan.conditions), "prompts": list(plan.prompts), "tasks": tasks}


def default_directory(spec: Mapping[str, Any]) -> Path:
    """`runs/TASK-HASH`: the same command finds the same directory again, and so goes on where it stopped."""
    name = "+".join(str(task["name"]) for task in spec["tasks"])[:60]
    safe = "".join(letter if letter.isalnum() or letter in "+-_." else "_" for letter in name).lstrip(".")
    return Path("runs") / f"{safe}-{hashlib.sha256(to_json(spec)).hexdigest()[:8]}"


def default_cache() -> Path:
    """`$EYETEST_CACHE`, or `responses.sqlite` in the user's cache folder. Raises UsageError where there is no home folder."""
    named, home = os.environ.get("EYETEST_CACHE"), os.environ.get("XDG_CACHE_HOME")
    try:
        if named:
            return Path(named).expanduser()
        return (Path(home) if home else Path.home() / ".cache") / "eyetest" / "responses.sqlite"
    except RuntimeError:
        raise UsageError(
            "The response cache has no place: the home folder of this user is unknown. "
            "Name a file with --cache or EYETEST_CACHE, or run with --no-cache."
        ) from None


def manifest(config: RunConfig, plan: Plan, models: Sequence[Model]) -> dict[str, Any]:
    """Provenance of a run: versions, data, models. Never a key."""
    cards = {one.name or one.model: one.card.model_dump(exclude_none=True) for one in config.models if one.card is not None}
    return {
        "eyetest": __version__,
        "python": platform.python_version(),
        "packages": _versions("numpy", "scipy", "pillow", "torch", "transformers", "aiohttp"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "by": list(fields(config.by)),
        "backbones": dict(config.backbones),
        "exploration": config.exploration,
        "sources": [task.model_dump(mode="json", exclude_defaults=True) for task in config.tasks],
        "tasks": {one.task.name: _described(one) for one in plan.surveys},
        "models": {
            model.name: {"identity": model.identity, "simulated": model.simulated}
            | ({"card": cards[model.name]} if model.name in cards else {})
            for model in models
        },
    }


def _described(one: Survey) -> dict[str, Any]:
    return {
        "card": setup.describe(one.task),
        "scoring": setup.scoring(one.dataset.scored),
        "split": one.dataset.split,
        "samples": one.n,
        "samples_in_split": one.n_split,
        "labels": list(one.labels),
        "ids_sha256": one.fingerprint,
        "files_sha256": {path: _file_digest(Path(path)) for path in one.report.files},
        "load_report": one.report.as_dict(),
    }


def _file_digest(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def evaluate_plan(config: RunConfig, plan: Plan, models: Sequence[Model], *, watch: Watch) -> Outcome:
    """Run the plan for every model, write the run directory, summarise.

    Raises StoreError when the directory holds another run, is in use or cannot be written, ModelError when a model cannot
    work at all. What was answered is kept in every case.
    """
    spec = specification(config, plan)
    labels = {one.task.name: one.labels for one in plan.surveys}
    order = Order(tuple(labels), tuple(model.name for model in models), plan.prompts, plan.conditions)
    table = Table(labels, fields(config.by), order)
    progress = Progress(total=plan.requests_at_most * len(models), budget=setup.budget(config, models))
    with ExitStack() as stack:
        for model in models:
            stack.callback(model.close)
        directory = stack.enter_context(RunDirectory(Path(config.out) if config.out else default_directory(spec)))
        directory.claim(spec, manifest(config, plan, models))
        journal = directory.journal

        def sink(prediction: Prediction) -> None:
            directory.write(prediction)
            table.add(prediction)

        with ExitStack() as caching:
            cache = _cache(config, models)
            if cache is not None:
                caching.enter_context(cache)
            _begin(plan, models, directory, cache, progress)
            for model in models:
                run(plan, model, journal, cache=cache, sink=sink, watch=watch, progress=progress)
                progress.remarks[model.name] = remarks(model)
                model.close()  # frees what it holds before the next one loads
        analysis = Analysis(config.seed, config.backbones, config.exploration)
        tasks = {one.task.name: one.dataset.scored for one in plan.surveys}
        results = summarise(table, tasks, analysis, counts=counted(progress) | _beside(progress, directory.path))
        directory.finish(results.as_dict())
        return Outcome(directory.path, table, results, progress)


def _begin(plan: Plan, models: Sequence[Model], directory: RunDirectory, cache: Cache | None, progress: Progress) -> None:
    """What must be known of every model before the first request of any."""
    seen: set[bytes] = set()
    for model in models:
        if isinstance(model, Keeps):
            model.keep_in(directory.path / BATCHES)
        account = progress.budget.accounts.get(model.name)
        if account is not None and account.price is not None:
            take_stock(plan, model, account, directory.journal, cache=cache, seen=seen)


def _beside(progress: Progress, directory: Path) -> dict[str, Any]:
    """What the results keep beside the counts of answers. A call that asks a model nothing leaves its remarks as they were."""
    before = read_counts(directory).get("remarks")
    earlier = before if isinstance(before, dict) else {}
    said = {name: list(found) or earlier.get(name, []) for name, found in progress.remarks.items()}
    kept = {"cost": progress.budget.as_dict(), "remarks": {name: found for name, found in said.items() if found}}
    return {key: value for key, value in kept.items() if value}


def _cache(config: RunConfig, models: Sequence[Model]) -> Cache | None:
    if not config.use_cache or all(model.simulated for model in models):
        return None
    return Cache(Path(config.cache) if config.cache else default_cache())
