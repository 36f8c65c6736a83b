"""Samples, models and runs for the tests of the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from eyetest.conditions import ConditionCard
from eyetest.config import RunConfig, run_config
from eyetest.evaluation.evaluate import Outcome, evaluate_plan, prepare
from eyetest.evaluation.plan import Dataset, Plan
from eyetest.evaluation.run import Progress
from eyetest.tasks import Task
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Image, Model, Request, Response, Sample

CHOICES = ("cat", "dog", "bird")

Answers = Callable[[Request], str | Response]


def item(number: int, **fields: Any) -> Sample:
    """Choice item `q0001` with a picture of its own, given as bytes."""
    values: dict[str, Any] = {
        "id": f"q{number:04d}",
        "question": f"What is in picture {number}?",
        "target": (CHOICES[number % 3],),
        "choices": CHOICES,
        "images": (Image(data=f"picture {number}".encode()),),
    }
    return Sample(**values | fields)


def items(n: int, **fields: Any) -> list[Sample]:
    """Items 0 ... n-1."""
    return [item(number, **fields) for number in range(n)]


def text_of(request: Request) -> str:
    """What the request says."""
    return "\n".join(part for message in request.messages for part in message.content if isinstance(part, str))


def by_content(request: Request) -> str:
    """A letter that depends on nothing but the request: equal requests, equal answers."""
    return "ABC?"[Random(text_of(request)).randrange(4)]


class Asked:
    """A model that is no simulation, counts what it is asked and answers `window` requests at a time in random order."""

    def __init__(self, answer: Answers = by_content, *, name: str = "asked", window: int = 1, simulated: bool = False) -> None:
        self.name, self.identity, self.simulated = name, name, simulated
        self.answer, self.window = answer, window
        self.seen: list[Request] = []
        self.closed = 0

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        held: list[Request] = []
        random = Random(self.window)
        for request in requests:
            held.append(request)
            if len(held) >= self.window:
                yield self._answered(held.pop(random.randrange(len(held))))
        random.shuffle(held)
        for request in held:
            yield self._answered(request)

    def _answered(self, request: Request) -> tuple[Request, Response]:
        self.seen.append(request)
        found = self.answer(request)
        return request, found if isinstance(found, Response) else Response(found)

    def close(self) -> None:
        self.closed += 1


def _doubled(_parameter: str, _pool: object) -> Any:
    return lambda sample, _random: (sample, sample) if sample.images else ()


doubled = ConditionCard("two variants of every item with a picture", _doubled)
"""A condition with variants; the tests register it as `doubled`."""


def laid_out(data: Task | Sequence[Sample], **values: Any) -> tuple[RunConfig, Plan]:
    """Configuration and plan of a run over samples or a task."""
    config = run_config({"models": [{"model": "made"}], "use_cache": False, **values}, "test")
    task = data if isinstance(data, Task) else task_from_samples(data)
    return config, prepare(config, (Dataset(task, split=task.splits[0]),))


def go(
    out: Path, data: Task | Sequence[Sample], *models: Model, watch: Callable[[Progress], None] = lambda _: None, **values: Any
) -> Outcome:
    """Run it."""
    config, plan = laid_out(data, out=str(out), **values)
    return evaluate_plan(config, plan, models, watch=watch)


def predictions(out: Path) -> list[dict[str, Any]]:
    """The records of a run in the order of their keys, without latency."""
    records = [json.loads(line) for line in (out / "predictions.jsonl").read_text().splitlines()]
    for record in records:
        del record["response"]["latency"]
    keys = ("task", "model", "prompt", "condition", "sample", "variant", "repeat")
    return sorted(records, key=lambda record: tuple(record[key] for key in keys))


def write_items(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A JSONL file of rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
