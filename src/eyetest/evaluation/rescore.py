"""Stored answers, read again or summed up again. No model is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from eyetest.errors import StoreError
from eyetest.evaluation.run import read
from eyetest.evaluation.rundir import RunDirectory, finished, read_manifest
from eyetest.evaluation.summary import Results, summarise
from eyetest.evaluation.table import Table
from eyetest.store import read_predictions
from eyetest.tasks import Card, Task
from eyetest.tasks.standard import METRICS, scorers


@dataclass(frozen=True, slots=True)
class Rescored:
    """What reading again gave."""

    results: Results
    n: int
    changed: int
    """Answers whose status, answer or value is another now."""


def _tasks(manifest: Mapping[str, object], match: Literal["tokens", "contains"]) -> dict[str, Task]:
    """The tasks of a run by name, as far as scoring needs them: their data are in the predictions."""
    described = manifest.get("tasks")
    if not isinstance(described, dict):
        raise StoreError("run.json: has no tasks. Restore it, or run again with another --out.")
    return {name: Task(name, Card(name), lambda *_: iter(()), scorers(match), METRICS) for name in described}


def _table(manifest: Mapping[str, object], by: tuple[str, ...] | None) -> Table:
    described = manifest["tasks"]
    labels = {name: tuple(one.get("labels", ())) for name, one in described.items()} if isinstance(described, dict) else {}
    stored = manifest.get("by")
    return Table(labels, tuple(stored) if by is None and isinstance(stored, list) else by or ())


def _seed(manifest: Mapping[str, object]) -> int:
    spec = manifest.get("spec")
    seed = spec.get("seed") if isinstance(spec, dict) else None
    return seed if isinstance(seed, int) else 0


def table_of(directory: Path, by: tuple[str, ...] | None = None) -> Table:
    """The stored scores of a finished run as columns. Raises StoreError."""
    manifest = read_manifest(directory)
    _tasks(manifest, "tokens")
    table = _table(manifest, by)
    for prediction in read_predictions(finished(directory)):
        table.add(prediction)
    return table


def results_of(directory: Path, by: tuple[str, ...] | None = None) -> Results:
    """Estimates from the stored scores of a finished run; by: other slices than the run's own."""
    manifest = read_manifest(directory)
    return summarise(table_of(directory, by), _tasks(manifest, "tokens"), seed=_seed(manifest))


def rescore(directory: Path, *, match: Literal["tokens", "contains"] = "tokens", out: Path | None = None) -> Rescored:
    """Read every stored completion again and write predictions and results, to `out` or in place."""
    manifest = read_manifest(directory)
    tasks, table = _tasks(manifest, match), _table(manifest, None)
    n = changed = 0
    source = finished(directory)
    with RunDirectory(out or directory) as target:
        if out is not None:
            spec = manifest.get("spec")
            rest = {key: value for key, value in manifest.items() if key != "spec"}
            target.claim(spec if isinstance(spec, dict) else {}, {**rest, "rescored_from": str(directory)})
        for prediction in read_predictions(source):
            again = replace(prediction, score=read(tasks[prediction.task], prediction.sample, prediction.response))
            before, after = prediction.score, again.score
            n += 1
            changed += (before.status, before.answer, before.value) != (after.status, after.answer, after.value)
            target.write(again)
            table.add(again)
        results = summarise(table, tasks, seed=_seed(manifest))
        target.finish(results.as_dict())
    return Rescored(results, n, changed)
