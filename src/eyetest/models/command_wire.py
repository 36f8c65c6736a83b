"""The wire form of `command:PROGRAM`: a request and its answer as one line of JSON each. Pure functions, no process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from eyetest.errors import nearest
from eyetest.images import data_uri
from eyetest.models.openai_wire import LONGEST_TEXT
from eyetest.store import checked_response
from eyetest.types import Image, Request, Response, Usage

LONGEST_REQUEST = 64 * 2**20
"""Bytes of the longest request line; `window` of them are held at once."""
LONGEST_ANSWER = 16 * 2**20
"""Bytes of the longest answer line that is read."""
FIELDS = ("id", "text", "status", "label_logprobs", "usage", "error")
"""What an answer may hold; `id` alone is needed, and `text` with the statuses `ok` and `truncated`."""
WORDLESS = frozenset({"refused", "blocked", "error", "bad_image"})
"""Statuses that need no text."""


def encode(id: str, request: Request) -> bytes:
    """One line: {"id", "messages": [{"role", "content": [part, ...]}], "generation": {...}, "labels": [...]}.

    A part is {"type": "text", "text"} or {"type": "image", "mime", "base64"}; pictures go out as `images.data_uri` makes them.
    Raises BadImageError, and orjson.JSONEncodeError on text that is not Unicode (lone surrogates).
    """
    how = request.generation
    record = {
        "id": id,
        "messages": [{"role": message.role, "content": list(map(_part, message.content))} for message in request.messages],
        "generation": {"temperature": how.temperature, "top_p": how.top_p, "max_tokens": how.max_tokens, "seed": how.seed},
        "labels": request.labels,
    }
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def _part(part: str | Image) -> dict[str, str]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    head, _, data = data_uri(part).partition(";base64,")
    return {"type": "image", "mime": head.removeprefix("data:"), "base64": data}


def parse(line: bytes) -> dict[str, Any] | None:
    """A line as an answer; None if it is not an object with a text as its id.

    The standard library's reader takes the `-Infinity` and `NaN` that its writer makes, so that they can be named.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("id"), str) else None


def decode(record: Mapping[str, Any], labels: tuple[str, ...]) -> Response:
    """An answer as a Response; one that breaks the protocol becomes an `error` that says how.

    labels: `Request.labels`, of which `label_logprobs` must hold one finite number each (natural log).
    """
    try:
        for field in record:
            if field not in FIELDS:
                raise ValueError(f"unknown field {field!r}.{nearest(field, FIELDS)} Known: {', '.join(FIELDS)}")
        return _bounded(checked_response(_response(record, labels)))
    except (TypeError, ValueError, OverflowError) as error:
        return Response(status="error", error=f"The program's answer cannot be used: {error}.")


def _response(record: Mapping[str, Any], labels: tuple[str, ...]) -> Response:
    """The fields as they are; `checked_response` looks at their types."""
    text: Any = record.get("text")
    status: Any = "ok" if record.get("status") is None else record["status"]
    error: Any = record.get("error")
    if text is None and status in WORDLESS:
        text = ""
    if error is None and status in ("error", "bad_image"):
        error = "the program gave no reason"
    return Response(text, status, _logprobs(record.get("label_logprobs"), labels), _usage(record.get("usage")), error=error)


def _logprobs(values: Any, labels: tuple[str, ...]) -> tuple[float, ...] | None:
    if values is None or (values == [] and not labels):
        return None
    if not isinstance(values, list) or len(values) != len(labels):
        found = f"{len(values)} values" if isinstance(values, list) else type(values).__name__
        raise ValueError(f"label_logprobs holds {found}, and {len(labels)} labels were asked for")
    for value in values:
        if not isinstance(value, int | float) or not -1e300 < value < 1e300:
            raise ValueError(f"label_logprobs holds {value!r}, which is no finite number")
    return tuple(map(float, values))


def _usage(said: Any) -> Usage | None:
    if said is None:
        return None
    if not isinstance(said, dict) or not set(said) <= {"input_tokens", "output_tokens"}:
        raise ValueError('usage is not {"input_tokens": NUMBER, "output_tokens": NUMBER}')
    return Usage(**said)


def _bounded(response: Response) -> Response:
    """The response with at most LONGEST_TEXT characters; one that had more counts as truncated."""
    if len(response.text) <= LONGEST_TEXT:
        return response
    status = "truncated" if response.status == "ok" else response.status
    return replace(response, text=response.text[:LONGEST_TEXT], status=status)
