"""Which samples a report shows, and what was asked and answered there.

Samples are chosen from the columns, in the order of sha256(seed:task:id), in turn over outcomes and models; then one pass over
the predictions keeps the texts of those few, cut at once. Nothing else of the texts is ever held.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eyetest.evaluation.groups import Group, blind_of
from eyetest.evaluation.table import Table
from eyetest.metrics import Columns
from eyetest.reports.untrusted import NAME_LENGTH, Said, clean, said
from eyetest.store import decode_prediction
from eyetest.store.json_text import from_json
from eyetest.types import Image, Message, Prediction

MOST = 24
"""Samples in a report, over all tasks."""

OUTCOMES: Mapping[str, str] = {
    "sees": "right only with the picture",
    "either": "right with and without the picture",
    "misses": "wrong with and without the picture",
    "loses": "right only without the picture",
    "right": "right",
    "wrong": "wrong",
    "unparsed": "unparsed, refused or failed",
}
"""Outcome -> plain words. `right` and `wrong` are for runs that never took the picture away."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A sample to show, and the outcome for whose sake it was chosen."""

    task: str
    sample: str
    outcome: str
    model: str
    """The model with that outcome."""


@dataclass(frozen=True, slots=True)
class Given:
    """One answer on a card."""

    model: str
    condition: str
    text: Said
    """The completion."""
    read: Said | None
    """What the scorer read; None if nothing."""
    verdict: str
    """`right`, `wrong`, `partly` (credit between), or the status: `unparsed`, `refused`, `blocked`, `error`, `bad_image`."""
    credit: float
    rule: str
    """Why it was read so; for a failed call, what went wrong."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one condition put to the models: turns of (role, parts), each part a text or a picture."""

    condition: str
    prompt: str
    kind: str
    turns: tuple[tuple[str, tuple[Said | Image, ...]], ...]
    partner: str = ""
    """Whose picture is shown, for `swapped`."""


@dataclass(slots=True)
class Card:
    """One sample with everything that is shown of it."""

    choice: Choice
    question: Said = field(default_factory=lambda: said(""))
    choices: tuple[Said, ...] = ()
    target: tuple[Said, ...] = ()
    picture: Image | None = None
    asked: dict[str, Asked] = field(default_factory=dict)
    """Condition -> what was asked."""
    given: dict[tuple[str, str], Given] = field(default_factory=dict)
    """(model, condition) -> the answer."""


def choose(table: Table, groups: Mapping[Group, Mapping[str, Columns]], *, seed: int, most: int = MOST) -> tuple[Choice, ...]:
    """At most `most` samples, shared evenly by the tasks, over all outcomes and models as far as they occur."""
    tasks = list(dict.fromkeys(task for task, *_ in groups))
    ids = _ids(table, tasks)
    chosen: list[Choice] = []
    for number, task in enumerate(tasks):
        quota = (most - len(chosen)) // (len(tasks) - number)
        queues = list(_queues(task, groups, ids, seed))
        chosen += _in_turn(task, queues, quota)
    return tuple(chosen)


def _ids(table: Table, tasks: Iterable[str]) -> list[str]:
    """Sample number, as columns have it -> id: numbers follow the order of (task, id)."""
    return [one for task in sorted(tasks) for one in sorted(table.ids(task))]


_Queue = tuple[str, str, list[str]]
"""Outcome, model, sample ids in the order in which they would be shown."""


def _queues(task: str, groups: Mapping[Group, Mapping[str, Columns]], ids: list[str], seed: int) -> Iterator[_Queue]:
    found: dict[str, dict[str, list[int]]] = {}
    first: dict[str, str] = {}  # the first prompt stands for the others
    for (name, model, prompt, _), conditions in groups.items():
        if name == task and first.setdefault(model, prompt) == prompt:
            of_model = found.setdefault(model, {})
            for outcome, numbers in _outcomes(conditions).items():
                of_model.setdefault(outcome, []).extend(numbers)
    for outcome in OUTCOMES:
        for model, samples in found.items():
            named = [ids[number] for number in samples.get(outcome, ())]
            yield outcome, model, sorted(named, key=lambda one: _draw(seed, task, one))


def _draw(seed: int, task: str, sample: str) -> bytes:
    return hashlib.sha256(f"{seed}:{task}:{sample}".encode("utf-8", "surrogatepass")).digest()


def _outcomes(conditions: Mapping[str, Columns]) -> dict[str, list[int]]:
    """Outcome -> sample numbers, for one model on one task."""
    first = conditions.get("image", next(iter(conditions.values())))
    dark = conditions.get(blind_of(conditions)) if "image" in conditions else None
    unparsed = {int(number) for number in first.sample[first.status > 0]}
    seen, blind = _right(first), {} if dark is None else _right(dark)
    found: dict[str, list[int]] = {}
    for number, right in seen.items():
        if number in unparsed:
            outcome = "unparsed"
        elif number not in blind:
            outcome = "right" if right else "wrong"
        else:
            outcome = {(1, 1): "either", (1, 0): "sees", (0, 1): "loses", (0, 0): "misses"}[right, blind[number]]
        found.setdefault(outcome, []).append(number)
    return found


def _right(columns: Columns) -> dict[int, int]:
    """Sample number -> 1 where the mean credit is at least a half."""
    numbers, place = np.unique(columns.sample, return_inverse=True)
    mean = np.bincount(place, weights=columns.credit()) / np.bincount(place)
    return dict(zip(numbers.tolist(), (mean >= 0.5).astype(int).tolist(), strict=True))


def _in_turn(task: str, queues: list[_Queue], quota: int) -> Iterator[Choice]:
    """One sample from each queue in turn until the quota or all queues are used up; no sample twice."""
    taken: set[str] = set()
    waiting = [(outcome, model, iter(samples)) for outcome, model, samples in queues]
    while waiting and len(taken) < quota:
        left = []
        for outcome, model, samples in waiting:
            sample = next((one for one in samples if one not in taken), None)
            if sample is not None and len(taken) < quota:
                taken.add(sample)
                yield Choice(task, sample, outcome, model)
                left.append((outcome, model, samples))
        waiting = left


def collect(predictions: Path, choices: Iterable[Choice]) -> tuple[tuple[Card, ...], dict[str, tuple[Asked, ...]]]:
    """One pass over `predictions.jsonl`: the cards, and for each task an example of every condition x prompt x kind asked.

    Of repeats and variants the first is shown; of prompts the first on a card. The example is the sample first by id.
    """
    cards = {(choice.task, choice.sample): Card(choice) for choice in choices}
    examples: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    with predictions.open("rb") as lines:
        for line in lines:
            record = from_json(line)
            card = cards.get((record["task"], record["sample"]))
            if card is not None and not (record["variant"] or record["repeat"] or record["round"]):
                _keep(card, decode_prediction(record))
            key = (record["task"], record["condition"], record["prompt"], record["kind"])
            if key not in examples or record["sample"] < examples[key]["sample"]:
                examples[key] = record
    by_task: dict[str, tuple[Asked, ...]] = {}
    for key in examples:
        by_task[key[0]] = (*by_task.get(key[0], ()), asked_of(decode_prediction(examples[key])))
    return tuple(card for card in cards.values() if card.given), by_task


def _keep(card: Card, prediction: Prediction) -> None:
    condition = prediction.condition
    sample = prediction.sample
    known = card.asked.get(condition)
    if known is not None and known.prompt != prediction.prompt:
        return
    card.given.setdefault((prediction.model, condition), given_of(prediction))
    if known is not None:
        return
    card.asked[condition] = asked_of(prediction)
    shown = sample.shown
    if condition == "image" or not card.question.text:
        card.question = said(sample.question)
        card.target = tuple(said(target, NAME_LENGTH) for target in sample.target)
        card.choices = card.choices or tuple(said(choice, NAME_LENGTH) for choice in sample.choices)
    if card.picture is None and shown.picture == "own" and sample.images:
        card.picture = sample.images[0]


def given_of(prediction: Prediction) -> Given:
    """One answer, cut and cleaned."""
    response, score = prediction.response, prediction.score
    verdict: str = response.status if response.status in ("error", "bad_image", "blocked") else score.status
    if verdict == "scored":
        verdict = "right" if score.value >= 1 else "wrong" if score.value <= 0 else "partly"
    rule = clean(score.rule, NAME_LENGTH)
    if response.error:
        rule = f"{rule}: {clean(response.error, 300)}" if rule else clean(response.error, 300)
    return Given(
        clean(prediction.model, NAME_LENGTH),
        prediction.condition,
        said(response.text),
        None if score.answer is None else said(score.answer, NAME_LENGTH),
        verdict,
        score.value,
        rule,
    )


def asked_of(prediction: Prediction) -> Asked:
    """The rendered conversation, cut and cleaned."""
    turns = tuple((message.role, tuple(map(_part, message.content))) for message in _few(prediction.messages))
    partner = prediction.sample.shown.partner
    return Asked(
        prediction.condition,
        prediction.prompt,
        prediction.sample.kind,
        turns,
        "" if partner is None else clean(partner, NAME_LENGTH),
    )


TURNS = 8
"""Turns shown of a long conversation, the last ones."""


def _few(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return messages[-TURNS:]


def _part(part: str | Image) -> Said | Image:
    return said(part) if isinstance(part, str) else part
