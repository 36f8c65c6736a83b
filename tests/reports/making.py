"""Runs made of values, so that a test knows every number and every text in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eyetest.store import encode_prediction, to_json
from eyetest.types import Image, Message, Prediction, Response, Sample, Score, Shown

SHOWN = {
    "image": Shown(),
    "no_image": Shown(picture="none"),
    "swapped": Shown(picture="other", partner="q000"),
    "shuffled": Shown(),
    "knowledge": Shown(picture="none", asks="knowledge"),
}


def answer(
    number: int,
    condition: str = "image",
    *,
    right: bool = True,
    model: str = "seer",
    task: str = "toys",
    status: str = "scored",
    response: Response | None = None,
    choices: tuple[str, ...] = ("red", "green", "blue", "grey"),
    picture: str | None = None,
    **sample: Any,
) -> Prediction:
    """One prediction about question `number`; every question is right with `red`."""
    read = (choices[0] if right else choices[1]) if status == "scored" else None
    shown = SHOWN.get(condition, Shown())
    images = (Image(path=picture),) if picture is not None and shown.picture == "own" else ()
    values: dict[str, Any] = {
        "id": f"q{number:03d}",
        "question": f"What colour is toy {number}?",
        "target": choices[:1],
        "choices": choices,
        "images": images,
        "shown": shown,
    } | sample
    asked = Sample(**values)
    return Prediction(
        task=task,
        condition=condition,
        model=model,
        prompt="default",
        variant=0,
        repeat=0,
        round=0,
        sample=asked,
        request_key=hashlib.sha256(f"{number}:{condition}:{model}:{task}".encode()).hexdigest(),
        messages=(Message("user", (*images, asked.question)),),
        response=response or Response(read or "hm"),
        score=Score(status, float(right and status == "scored"), read, (), "option_text"),  # type: ignore[arg-type]
    )


def write_run(
    folder: Path,
    predictions: Iterable[Prediction],
    *,
    card: Mapping[str, Any] | None = None,
    labels: Iterable[str] = (),
    by: Iterable[str] = (),
    task: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> Path:
    """A finished run directory with these predictions. task and manifest: replace entries of `run.json`."""
    rows = list(predictions)
    folder.mkdir(parents=True, exist_ok=True)
    described = {"card": {"title": "Toys", **(card or {})}, "labels": list(labels), "scoring": {}, "samples": 1} | dict(
        task or {}
    )
    whole = {
        "spec": {
            "seed": 0,
            "conditions": _names(one.condition for one in rows),
            "prompts": _names(one.prompt for one in rows),
        },
        "started": "2026-01-02T03:04:05+00:00",
        "by": list(by),
        "tasks": dict.fromkeys(_names(one.task for one in rows), described),
        "models": {name: {"identity": name} for name in _names(one.model for one in rows)},
    } | manifest
    (folder / "run.json").write_bytes(to_json(whole))
    (folder / "predictions.jsonl").write_bytes(b"".join(to_json(encode_prediction(one)) for one in rows))
    return folder


def _names(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def usual(n: int = 40, **rest: Any) -> list[Prediction]:
    """`seer`: 3 of 4 right with the picture, 1 of 4 without (those right with it); `blind`: 1 of 4 always."""
    made = []
    for number in range(n):
        for condition in ("image", "no_image", "swapped", "shuffled"):
            looks = condition in ("image", "shuffled")
            made.append(answer(number, condition, right=number % 4 < (3 if looks else 1), **rest))
            made.append(answer(number, condition, right=number % 4 == 0, model="blind", **rest))
    return made
