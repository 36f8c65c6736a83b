"""Stored answers, read again or summed up again. No model is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from eyetest.errors import StoreError
from eyetest.evaluation import setup
from eyetest.evaluation.judged import cell_of, signed, withheld
from eyetest.evaluation.results import Results
from eyetest.evaluation.run import read
from eyetest.evaluation.rundir import RunDirectory, finished, read_counts, read_manifest
from eyetest.evaluation.summary import Analysis, summarise
from eyetest.evaluation.table import Order, Table, check_fields
from eyetest.store import read_predictions
from eyetest.tasks import Task
from eyetest.types import Prediction

Match = Literal["tokens", "contains"]


@dataclass(frozen=True, slots=True)
class Rescored:
    """What reading again gave."""

    table: Table
    results: Results
    n: int
    changed: int
    """Answers whose status, answer or value is another now."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished run directory."""

    directory: Path
    predictions: Path
    manifest: Mapping[str, Any]

    @property
    def spec(self) -> Mapping[str, Any]:
        """What was asked."""
        spec: Mapping[str, Any] = self.manifest["spec"]
        return spec

    @property
    def described(self) -> Mapping[str, Mapping[str, Any]]:
        """Task name -> what the manifest says of it."""
        tasks: Mapping[str, Mapping[str, Any]] = self.manifest["tasks"]
        return tasks

    def tasks(self, match: Match | None = None) -> dict[str, Task]:
        """Its tasks as far as scoring needs them; match: another comparison of short answers than the run's."""
        return {name: setup.rebuilt(name, one.get("scoring", {}), match) for name, one in self.described.items()}

    def table(self, by: tuple[str, ...] | None = None) -> Table:
        """An empty table for this run; by: other slices than its own."""
        labels = {name: tuple(one.get("labels", ())) for name, one in self.described.items()}
        models = tuple(self.manifest.get("models", ()))
        order = Order(tuple(labels), models, tuple(self.spec.get("prompts", ())), tuple(self.spec.get("conditions", ())))
        return Table(labels, tuple(self.manifest.get("by", ())) if by is None else by, order)

    def summarised(self, table: Table, tasks: Mapping[str, Task]) -> Results:
        """The estimates of a table of this run."""
        analysis = Analysis(
            self.spec.get("seed", 0), self.manifest.get("backbones", {}), bool(self.manifest.get("exploration", False))
        )
        return summarise(table, tasks, analysis, counts=read_counts(self.directory))

    def lettered(self, prediction: Prediction, tasks: Mapping[str, Task]) -> bool:
        """Whether the prompt of this answer showed option letters: the user's own prompt goes before the task's."""
        own: Mapping[str, Any] = self.spec.get("prompt", {})
        if prediction.prompt in own:
            return bool(own[prediction.prompt].get("lettered", True))
        prompts = self.task(prediction, tasks).prompts
        known = prompts.get(prediction.prompt) or (next(iter(prompts.values())) if prediction.prompt == "default" else None)
        return known is None or known.lettered

    def task(self, prediction: Prediction, tasks: Mapping[str, Task]) -> Task:
        """The task of one answer. Raises StoreError where the run does not name it."""
        if prediction.task not in tasks:
            raise StoreError(
                f"{self.predictions}: has answers of task {prediction.task!r}, which run.json does not name. "
                f"Restore both files of one run."
            )
        return tasks[prediction.task]


def stored_run(directory: Path) -> Stored:
    """A finished run directory. Raises StoreError."""
    return Stored(directory, finished(directory), read_manifest(directory))


def table_of(directory: Path, by: tuple[str, ...] | None = None) -> Table:
    """The stored scores of a finished run as columns. Raises StoreError, and UsageError for a slice that no sample has."""
    return _table(stored_run(directory), by)


def _table(stored: Stored, by: tuple[str, ...] | None) -> Table:
    check_fields(by or (), (prediction.sample for prediction in read_predictions(stored.predictions)))
    table = stored.table(by)
    left_out = withheld(stored.manifest)
    for prediction in read_predictions(stored.predictions):
        if cell_of(prediction) not in left_out:
            table.add(prediction)
    return table


def summed_up(directory: Path, by: tuple[str, ...] | None = None) -> tuple[Table, Results]:
    """The stored scores of a finished run and their estimates; by: other slices than the run's own."""
    stored = stored_run(directory)
    table = _table(stored, by)
    results = stored.summarised(table, stored.tasks())
    judge = stored.manifest.get("judge")
    return table, results if judge is None else signed(results, judge)


def rescore(directory: Path, *, match: Match | None = None, out: Path | None = None) -> Rescored:
    """Read every stored completion again and write predictions and results, to `out` or in place.

    match: another comparison of short answers than the run's own. Nothing is replaced before everything was read.
    """
    stored = stored_run(directory)
    tasks, table = stored.tasks(match), stored.table()
    n = changed = 0
    with RunDirectory(out or directory) as target:
        if target.manifest() is None:  # a new folder: from now on it is a run's
            target.claim(stored.spec, _manifest(stored, tasks, out))
        target.check(stored.spec)
        for prediction in read_predictions(stored.predictions):
            task, lettered = stored.task(prediction, tasks), stored.lettered(prediction, tasks)
            again = replace(prediction, score=read(task, prediction.sample, prediction.response, lettered=lettered))
            before, after = prediction.score, again.score
            n += 1
            changed += (before.status, before.answer, before.value) != (after.status, after.answer, after.value)
            target.write(again)
            table.add(again)
        results = stored.summarised(table, tasks)
        target.claim(stored.spec, _manifest(stored, tasks, out))
        target.finish(results.as_dict())
    return Rescored(table, results, n, changed)


def _manifest(stored: Stored, tasks: Mapping[str, Task], out: Path | None) -> dict[str, Any]:
    rest = {key: value for key, value in stored.manifest.items() if key not in ("spec", "judge")}
    described = {name: {**one, "scoring": setup.scoring(tasks[name])} for name, one in stored.described.items()}
    return {**rest, "tasks": described, **({} if out is None else {"rescored_from": str(stored.directory)})}
