"""Responses and predictions as JSON values, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from eyetest.errors import StoreError
from eyetest.store.checks import LIMIT, checked_response, expected, one_of
from eyetest.store.files import check_regular
from eyetest.store.json_text import from_json, number
from eyetest.types import (
    Image,
    Kind,
    Message,
    Prediction,
    Response,
    Sample,
    Score,
    ScoreStatus,
    Shown,
    ShownPicture,
    ShownQuestion,
    Usage,
)

NOT_OURS = (ValueError, LookupError, TypeError, AttributeError, OverflowError)
"""What decoding raises on a record that is not one of ours."""

Role = Literal["system", "user", "assistant"]
"""Who speaks; as in `Message.role`."""


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


def _picture_from(record: Any) -> Image:
    # A picture given as bytes stands in the record as its digest; `evaluation.rundir.kept_picture` finds its file.
    return Image(
        path=_text(record, "image"),
        member=None if record.get("member") is None else _text(record, "member"),
        operations=_texts(record, "operations") if "operations" in record else (),
    )


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
        usage = response.usage
        record["usage"] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        if usage.cached_tokens:
            record["usage"]["cached_tokens"] = usage.cached_tokens
    if response.reasoning:
        record["reasoning"] = response.reasoning
    if response.error is not None:
        record["error"] = response.error
    return record


def decode_response(record: Any) -> Response:
    """The inverse of `encode_response`. Raises an error of NOT_OURS on anything else."""
    logprobs, usage = record.get("label_logprobs"), record.get("usage")
    return checked_response(
        Response(
            text=record["text"],
            status=record["status"],
            label_logprobs=None if logprobs is None else tuple(map(float, logprobs)),
            usage=None if usage is None else Usage(**usage),
            latency=float(record["latency"]),
            reasoning=record.get("reasoning", ""),
            error=record.get("error"),
        )
    )


def encode_prediction(prediction: Prediction) -> dict[str, Any]:
    """One line of `predictions.jsonl` as JSON values. Holds all that re-scoring needs; pictures stay where they are."""
    sample, score = prediction.sample, prediction.score
    made = {} if sample.knowledge_method is None else {"knowledge_method": sample.knowledge_method}
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
        **made,
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


def decode_prediction(record: Any) -> Prediction:
    """The inverse of `encode_prediction`, but for pictures given as bytes and sample fields that no scorer reads.

    Raises an error of NOT_OURS on anything else: whoever holds a Prediction need not look at its types again.
    """
    messages = tuple(map(_message, expected(record["messages"], list, "messages")))
    pictures = [part for part in messages[-1].content if isinstance(part, Image)] if messages else []
    sample = Sample(
        id=_text(record, "sample"),
        question=_text(record, "question"),
        target=_texts(record, "target"),
        kind=one_of(record["kind"], Kind, "kind"),
        choices=_texts(record, "choices"),
        images=tuple(pictures),
        knowledge_method=_text(record, "knowledge_method") if "knowledge_method" in record else None,
        cluster=None if record["cluster"] is None else _text(record, "cluster"),
        metadata=expected(record["metadata"], dict, "metadata"),
        shown=_shown_from(record["shown"]),
    )
    return Prediction(
        task=_text(record, "task"),
        condition=_text(record, "condition"),
        model=_text(record, "model"),
        prompt=_text(record, "prompt"),
        variant=_place(record, "variant"),
        repeat=_place(record, "repeat"),
        round=_place(record, "round"),
        sample=sample,
        request_key=_key(_text(record, "request")),
        messages=messages,
        response=decode_response(record["response"]),
        score=_score(record["score"]),
    )


def _message(record: Any) -> Message:
    content = expected(record["content"], list, "content")
    return Message(
        one_of(record["role"], Role, "role"),
        tuple(part if isinstance(part, str) else _picture_from(part) for part in content),
    )


def _shown_from(record: Any) -> Shown:
    return Shown(
        picture=one_of(record["picture"], ShownPicture, "shown.picture"),
        asks=one_of(record["asks"], ShownQuestion, "shown.asks"),
        partner=None if record.get("partner") is None else _text(record, "partner"),
        partner_target=_texts(record, "partner_target") if "partner_target" in record else (),
        flags=_texts(record, "flags") if "flags" in record else (),
    )


def _score(record: Any) -> Score:
    return Score(
        status=one_of(record["status"], ScoreStatus, "score.status"),
        value=float(record["value"]),
        answer=None if record["answer"] is None else _text(record, "answer"),
        counts=tuple(map(float, record["counts"])),
        rule=_text(record, "rule"),
    )


def _key(text: str) -> str:
    """Hex digits, or nothing where a picture could not be read."""
    bytes.fromhex(text)
    return text


def _text(record: Any, field: str) -> str:
    return expected(record[field], str, field)


def _texts(record: Any, field: str) -> tuple[str, ...]:
    return tuple(expected(one, str, f"a part of {field}") for one in expected(record[field], list, field))


def _place(record: Any, field: str) -> int:
    """A variant, repeat or round."""
    number = expected(record[field], int, field)
    if isinstance(number, bool) or not 0 <= number < LIMIT:
        raise ValueError(f"{field} is {number!r}, not a whole number from 0 to {LIMIT - 1}")
    return number


def read_predictions(path: Path) -> Iterator[Prediction]:
    """Stream `predictions.jsonl`. Raises StoreError that names file and line."""
    check_regular(path)
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
