"""Responses and predictions as JSON values, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eyetest.errors import StoreError
from eyetest.store.json_text import from_json, number
from eyetest.types import Image, Message, Prediction, Response, Sample, Score, Shown, Usage

NOT_OURS = (ValueError, KeyError, TypeError, AttributeError)
"""What decoding raises on a record that is not one of ours."""


BY_DIGEST = "sha256:"
"""What stands before the digest of a picture that was given as bytes, in place of a path."""


def _picture(part: Image) -> dict[str, Any]:
    # Not `images.digest`: an empty picture has none, and its prediction is written all the same.
    content = part.path if part.data is None else BY_DIGEST + hashlib.sha256(part.data).hexdigest()
    shown: dict[str, Any] = {"image": content}
    if part.member is not None:
        shown["member"] = part.member
    if part.operations:
        shown["operations"] = part.operations
    return shown


def _picture_from(record: Mapping[str, Any]) -> Image:
    # A picture given as bytes stands in the record as its digest; `evaluation.rundir.kept_picture` finds its file.
    return Image(path=record["image"], member=record.get("member"), operations=tuple(record.get("operations", ())))


def encode_response(response: Response) -> dict[str, Any]:
    """A response as JSON values, without fields that hold their default."""
    record: dict[str, Any] = {
        "text": response.text,
        "status": response.status,
        "latency": number(round(response.latency, 6)),
    }
    if response.label_logprobs is not None:
        record["label_logprobs"] = [number(value) for value in response.label_logprobs]
    if response.usage is not None:
        record["usage"] = {"input_tokens": response.usage.input_tokens, "output_tokens": response.usage.output_tokens}
    if response.error is not None:
        record["error"] = response.error
    return record


def decode_response(record: Mapping[str, Any]) -> Response:
    """The inverse of `encode_response`."""
    logprobs = record.get("label_logprobs")
    usage = record.get("usage")
    return Response(
        text=record["text"],
        status=record["status"],
        label_logprobs=None if logprobs is None else tuple(map(float, logprobs)),
        usage=None if usage is None else Usage(**usage),
        latency=float(record["latency"]),
        error=record.get("error"),
    )


def encode_prediction(prediction: Prediction) -> dict[str, Any]:
    """One line of `predictions.jsonl` as JSON values. Holds all that re-scoring needs; pictures stay where they are."""
    sample, score = prediction.sample, prediction.score
    return {
        "task": prediction.task,
        "sample": sample.id,
        "condition": prediction.condition,
        "model": prediction.model,
        "prompt": prediction.prompt,
        "variant": prediction.variant,
        "repeat": prediction.repeat,
        "round": prediction.round,
        "request": prediction.request_key,
        "kind": sample.kind,
        "target": sample.target,
        "choices": sample.choices,
        "question": sample.question,
        "cluster": sample.cluster,
        "metadata": sample.metadata,
        "shown": _shown(sample.shown),
        "messages": [
            {"role": message.role, "content": [part if isinstance(part, str) else _picture(part) for part in message.content]}
            for message in prediction.messages
        ],
        "response": encode_response(prediction.response),
        "score": {
            "status": score.status,
            "value": number(score.value),
            "answer": score.answer,
            "counts": [number(value) for value in score.counts],
            "rule": score.rule,
        },
    }


def _shown(shown: Shown) -> dict[str, Any]:
    record: dict[str, Any] = {"picture": shown.picture, "asks": shown.asks}
    if shown.partner is not None:
        record |= {"partner": shown.partner, "partner_target": shown.partner_target}
    if shown.flags:
        record["flags"] = shown.flags
    return record


def decode_prediction(record: Mapping[str, Any]) -> Prediction:
    """The inverse of `encode_prediction`, but for pictures given as bytes and sample fields that no scorer reads."""
    shown = dict(record["shown"])
    for field in ("partner_target", "flags"):
        shown[field] = tuple(shown.get(field, ()))
    messages = tuple(
        Message(
            message["role"],
            tuple(part if isinstance(part, str) else _picture_from(part) for part in message["content"]),
        )
        for message in record["messages"]
    )
    pictures = [part for part in messages[-1].content if isinstance(part, Image)] if messages else []
    sample = Sample(
        id=record["sample"],
        question=record["question"],
        target=tuple(record["target"]),
        kind=record["kind"],
        choices=tuple(record["choices"]),
        images=tuple(pictures),
        cluster=record["cluster"],
        metadata=record["metadata"],
        shown=Shown(**shown),
    )
    score = record["score"]
    return Prediction(
        task=record["task"],
        condition=record["condition"],
        model=record["model"],
        prompt=record["prompt"],
        variant=record["variant"],
        repeat=record["repeat"],
        round=record["round"],
        sample=sample,
        request_key=record["request"],
        messages=messages,
        response=decode_response(record["response"]),
        score=Score(score["status"], float(score["value"]), score["answer"], tuple(map(float, score["counts"])), score["rule"]),
    )


def read_predictions(path: Path) -> Iterator[Prediction]:
    """Stream `predictions.jsonl`. Raises StoreError that names file and line."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield decode_prediction(from_json(line))
                except NOT_OURS as error:
                    raise StoreError(
                        f"{path}:{number}: not a prediction of eyetest ({type(error).__name__}: {error}). "
                        f"Run the evaluation again with the same --out: it is rebuilt from the journal without asking anything."
                    ) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}. Name the directory of a finished run.") from error
