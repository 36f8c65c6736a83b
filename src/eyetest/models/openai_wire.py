"""The wire form of OpenAI's chat completions: a request as JSON, a reply as a Response. Pure functions, no network.

Source: platform.openai.com/docs/api-reference/chat, and what compatible servers were seen to send instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from eyetest.images import data_uri
from eyetest.models.openai_secret import scrub
from eyetest.types import Image, Message, Request, Response, Usage

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
"""HTTP statuses that may pass."""
BLOCK_CODES = re.compile(r"content_filter|content_policy|moderation", re.IGNORECASE)
"""Codes in the body of an HTTP 4xx that mean: a policy stopped it, and would stop it again."""
EXCERPT = 300
"""Characters of a server's own words that are kept in an error."""
LONGEST_TEXT = 2**20
"""Characters of a completion that are kept; one that is longer counts as truncated."""
LONGEST_WAIT = 86_400.0
"""Most seconds that a server is believed to ask for; no request has that long anyway."""
TOP = 20
"""Alternatives asked for the first token: the most that OpenAI gives."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that may be repeated."""

    reason: str
    """What happened, without the key."""
    wait: float | None = None
    """Seconds the server asks to wait."""
    timed_out: bool = False
    """Whether it was we who ended it."""


def encode(request: Request, *, model: str, max_side: int | None) -> bytes:
    """The body of one call. Raises BadImageError, and orjson.JSONEncodeError on text that is not Unicode (lone surrogates)."""
    how = request.generation
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": _content(message, max_side)} for message in request.messages],
        "temperature": how.temperature,
        "top_p": how.top_p,
        "max_tokens": how.max_tokens,
    }
    if how.seed is not None:
        body["seed"] = how.seed
    if request.labels:
        body |= {"logprobs": True, "top_logprobs": TOP}
    return orjson.dumps(body)


def _content(message: Message, max_side: int | None) -> str | list[dict[str, Any]]:
    """A single text stays a string, which text-only servers want; anything else becomes parts."""
    if len(message.content) == 1 and isinstance(message.content[0], str):
        return message.content[0]
    return [
        {"type": "image_url", "image_url": {"url": data_uri(part, max_side=max_side)}}
        if isinstance(part, Image)
        else {"type": "text", "text": part}
        for part in message.content
    ]


def decode(status: int, retry_after: str | None, payload: bytes, labels: tuple[str, ...], key: str | None) -> Response | Failure:
    """A reply as a Response, or as a Failure when another attempt may do better.

    status: HTTP status; retry_after: that header; labels: `Request.labels`; key: what no text of the outcome may repeat.
    """
    if 200 <= status < 300:
        outcome = _completion(payload, labels, key)
        return outcome if isinstance(outcome, Failure) else _bounded(outcome, key)
    reason = f"HTTP {status}: {excerpt(payload.decode('utf-8', 'replace'), key)}"
    if status in RETRIED:
        return Failure(reason, wait=seconds_to_wait(retry_after))
    if 400 <= status < 500 and BLOCK_CODES.search(_error_code(payload)):
        return Response(status="blocked", error=reason)
    return Response(status="error", error=reason)


def _completion(payload: bytes, labels: tuple[str, ...], key: str | None) -> Response | Failure:
    try:
        reply = orjson.loads(payload)
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text, refusal = _text(message.get("content")), message.get("refusal")
    except (ValueError, LookupError, TypeError, AttributeError):
        return Failure(f"malformed answer: {excerpt(payload.decode('utf-8', 'replace'), key)}")
    usage = _usage(reply.get("usage"))
    if isinstance(refusal, str) and refusal:
        return Response(text=text or refusal, status="refused", usage=usage, error=excerpt(refusal, key))
    if finish == "content_filter":
        return Response(text=text or "", status="blocked", usage=usage, error="finish_reason: content_filter")
    if finish == "length":
        # A reasoning model may spend all its tokens before the first visible one: no text, and no malformed answer either.
        return Response(text=text or "", status="truncated", usage=usage, label_logprobs=label_logprobs(choice, labels))
    if text is None:
        return Failure(f"malformed answer: no content (finish_reason: {excerpt(str(finish), key)})")
    return Response(text=text, usage=usage, label_logprobs=label_logprobs(choice, labels))


def _bounded(response: Response, key: str | None) -> Response:
    """The response with a completion that neither repeats the key nor is endless."""
    text = scrub(response.text, key)
    if len(text) > LONGEST_TEXT:
        return replace(response, text=text[:LONGEST_TEXT], status="truncated" if response.status == "ok" else response.status)
    return response if text == response.text else replace(response, text=text)


def _text(content: Any) -> str | None:
    """The completion; some servers send a list of parts. Raises TypeError or LookupError on anything else."""
    if content is None or isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def _usage(said: Any) -> Usage | None:
    if not isinstance(said, Mapping):
        return None
    read, written = said.get("prompt_tokens"), said.get("completion_tokens")
    return Usage(read, written) if isinstance(read, int) and isinstance(written, int) else None


def label_logprobs(choice: Mapping[str, Any], labels: tuple[str, ...]) -> tuple[float, ...] | None:
    """Natural-log probability that the completion's first token is the start of each label; None where the server did not say.

    A label's first token is the longest returned token that the label starts with, blanks before it aside (`A` and ` A`
    add up). None too when a label has no such token, or when two labels share it: then the first token does not tell them
    apart. A server that ignores `logprobs` answers 200 without the field.
    """
    if not labels:
        return None
    try:
        first = choice["logprobs"]["content"][0]
        offered = {str(entry["token"]): float(entry["logprob"]) for entry in (*first["top_logprobs"], first)}
    except (LookupError, TypeError, ValueError):
        return None
    mass: dict[str, float] = {}
    for token, logprob in offered.items():
        bare = token.lstrip(" \t\r\n\u2581\u0120\u010a")  # the last three: blanks and newlines as some tokenizers spell them
        mass[bare] = _add(mass[bare], logprob) if bare in mass else logprob
    starts = [max((token for token in mass if label.strip().startswith(token)), key=len, default="") for label in labels]
    if "" in starts or len(set(starts)) < len(labels):
        return None
    found = tuple(mass[start] for start in starts)
    return found if all(map(math.isfinite, found)) else None


def _add(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), also where both exponentials are 0 (OpenAI says -9999 for "hardly ever")."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def _error_code(payload: bytes) -> str:
    """Code and type in an error body, else an empty string."""
    try:
        said = orjson.loads(payload)["error"]
        return f"{said.get('code')} {said.get('type')}"
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def seconds_to_wait(retry_after: str | None, now: datetime | None = None) -> float | None:
    """`Retry-After` (RFC 9110, 10.2.3: seconds or an HTTP date) as seconds from now; None if absent or unreadable.

    At least 0, at most `LONGEST_WAIT`.
    """
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            when = parsedate_to_datetime(retry_after)
        except (ValueError, OverflowError):
            return None
        # "-0000" gives a naive datetime, which means UTC.
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - (now or datetime.now(UTC)).timestamp()
    return min(max(0.0, seconds), LONGEST_WAIT) if math.isfinite(seconds) else None


def excerpt(text: str, key: str | None) -> str:
    """The first `EXCERPT` characters on one line, without the key. The key goes first, or half of it could stay at the cut."""
    return scrub(" ".join(text[:LONGEST_TEXT].split()), key)[:EXCERPT]
