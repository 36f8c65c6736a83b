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
from functools import lru_cache
from typing import Any

import orjson

from eyetest.images import data_uri
from eyetest.models.openai_secret import scrub
from eyetest.types import Image, Message, Request, Response, Usage

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
"""HTTP statuses that may pass."""
FULL = frozenset({429, 503})
"""Of these, those that say that the server has more to do than it can."""
BLOCK_CODES = re.compile(r"content_filter|content_policy|moderation", re.IGNORECASE)
"""Codes in the body of an HTTP 4xx that mean: a policy stopped it, and would stop it again."""
NO_MONEY = re.compile(r"insufficient_(user_)?quota|billing_", re.IGNORECASE)
"""Codes in the body of an HTTP 429 that mean: the account is empty, and waiting does not fill it."""
UNSUPPORTED = re.compile(r"unsupported_(value|parameter)|unsupported (value|parameter):? '(?P<name>\w+)'", re.IGNORECASE)
"""Codes and words of an HTTP 400 that mean: without this field, or with its default, it would do."""
THOUGHT = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)
"""Reasoning that a server left in front of the completion. One that never closes is the completion."""
EXCERPT = 300
"""Characters of a server's own words that are kept in an error."""
LONGEST_TEXT = 2**20
"""Characters of a completion that are kept; one that is longer counts as truncated."""
LONGEST_REASONING = 2**16
"""Characters of a model's reasoning that are kept."""
LONGEST_WAIT = 86_400.0
"""Most seconds that a server is believed to ask for; no request has that long anyway."""
MOST_TOKENS = 10**9
"""Tokens of one call that a server is believed to have counted."""
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
    full: bool = False
    """Whether the server says that it has too much to do."""


@dataclass(frozen=True, slots=True)
class Form:
    """How requests are written for one server."""

    tokens_key: str = "max_tokens"
    """Field that holds the longest answer."""
    fixed: bool = False
    """Whether the user named it, so that it is not changed."""
    effort: str | None = None
    """The field `reasoning_effort`; None leaves it out."""
    dropped: frozenset[str] = frozenset()
    """Fields that the server refuses: `temperature`, `top_p`, `seed`, `logprobs`, `response_format`."""

    def without_refused(self, request: Request, payload: bytes) -> Form | None:
        """The form for a server that answered `request`, written in this one, with this HTTP 400; None if it names no field."""
        said = _error(payload)
        words = f"{said.get('param')} {said.get('message')}"
        if self.tokens_key == "max_tokens" and not self.fixed and "max_completion_tokens" in words:
            return replace(self, tokens_key="max_completion_tokens")
        sent = _optional(request) - self.dropped
        if "response_format" in sent and "response_format" in words:
            return replace(self, dropped=self.dropped | {"response_format"})
        found = UNSUPPORTED.search(f"{said.get('code')} {said.get('type')} {words}")
        if found is None:
            return None
        name = str(said.get("param") or found["name"]).replace("top_logprobs", "logprobs")
        return replace(self, dropped=self.dropped | {name}) if name in sent else None

    def joined(self, other: Form) -> Form:
        """The form that avoids what either avoids."""
        key = other.tokens_key if self.tokens_key == "max_tokens" else self.tokens_key
        return replace(self, tokens_key=key, dropped=self.dropped | other.dropped)

    def rewritten(self, body: bytes) -> bytes:
        """A body that was encoded in an earlier form, in this one."""
        found = orjson.loads(body)
        for key in ("max_tokens", "max_completion_tokens"):
            if key in found:
                found[self.tokens_key] = found.pop(key)
        for name in self.dropped | ({"top_logprobs"} if "logprobs" in self.dropped else set()):
            found.pop(name, None)
        return orjson.dumps(found)


def _optional(request: Request) -> frozenset[str]:
    """Fields of a body that it can do without."""
    there = {"temperature": True, "top_p": True, "seed": request.generation.seed is not None}
    there |= {"logprobs": bool(request.labels), "response_format": request.schema is not None}
    return frozenset(name for name, sent in there.items() if sent)


def encode(request: Request, *, model: str, max_side: int | None, form: Form = Form()) -> bytes:
    """The body of one call. Raises BadImageError, and orjson.JSONEncodeError on text that is not Unicode (lone surrogates)."""
    how = request.generation
    sent = _optional(request) - form.dropped
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": _content(message, max_side)} for message in request.messages],
        form.tokens_key: how.max_tokens,
    }
    body |= {name: value for name in ("temperature", "top_p", "seed") if name in sent for value in (getattr(how, name),)}
    if form.effort is not None:
        body["reasoning_effort"] = form.effort
    if "logprobs" in sent:
        body |= {"logprobs": True, "top_logprobs": TOP}
    if "response_format" in sent and request.schema is not None:
        named = {"name": "answer", "strict": True, "schema": _schema(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return orjson.dumps(body)


@lru_cache(maxsize=256)
def _schema(text: str) -> Any:
    return orjson.loads(text)


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
        return Failure(reason, wait=seconds_to_wait(retry_after), full=status in FULL)
    if 400 <= status < 500 and BLOCK_CODES.search(_error_code(payload)):
        return Response(status="blocked", error=reason)
    return Response(status="error", error=reason)


def out_of_money(status: int, payload: bytes) -> bool:
    """Whether the account behind the key is empty, which no waiting mends."""
    return status == 402 or (status == 429 and NO_MONEY.search(_error_code(payload)) is not None)


def _completion(payload: bytes, labels: tuple[str, ...], key: str | None) -> Response | Failure:
    try:
        reply = orjson.loads(payload)
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text, refusal = _text(message.get("content")), message.get("refusal")
    except (ValueError, LookupError, TypeError, AttributeError):
        return Failure(f"malformed answer: {excerpt(payload.decode('utf-8', 'replace'), key)}")
    reasoning, text = _apart(message, text)
    made = Response(text=text or "", usage=_usage(reply.get("usage")), reasoning=reasoning)
    if isinstance(refusal, str) and refusal:
        return replace(made, text=text or refusal, status="refused", error=excerpt(refusal, key))
    if finish == "content_filter":
        return replace(made, status="blocked", error="finish_reason: content_filter")
    if finish == "length":
        # A reasoning model may spend all its tokens before the first visible one: no text, and no malformed answer either.
        return replace(made, status="truncated", label_logprobs=label_logprobs(choice, labels))
    if text is None and not reasoning:
        return Failure(f"malformed answer: no content (finish_reason: {excerpt(str(finish), key)})")
    return replace(made, label_logprobs=label_logprobs(choice, labels)) if labels else made


def _apart(message: Mapping[str, Any], text: str | None) -> tuple[str, str | None]:
    """(reasoning, completion): from the fields that servers give it, or from `<think>` in front of the completion."""
    for name in ("reasoning_content", "reasoning"):
        said = message.get(name)
        if isinstance(said, str) and said:
            return said, text
    thought = THOUGHT.match(text) if text is not None and "</think>" in text else None
    return (thought[1].strip(), text[thought.end() :]) if thought and text is not None else ("", text)


def _bounded(response: Response, key: str | None) -> Response:
    """The response with a completion and a reasoning that neither repeat the key nor are endless."""
    text, reasoning = scrub(response.text, key), response.reasoning
    if reasoning:  # scrubbed whole, or half of the key could stay at the cut
        response = replace(response, reasoning=scrub(reasoning[:LONGEST_TEXT], key)[:LONGEST_REASONING])
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
    read, written = _count(said.get("prompt_tokens")), _count(said.get("completion_tokens"))
    if read is None or written is None:
        return None
    details = said.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Usage(read, written, min(cached or 0, read))


def _count(said: Any) -> int | None:
    """A number of tokens; None for what cannot be one: a negative number would be paid back, a huge one ends the run."""
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 <= said <= MOST_TOKENS else None


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


def lacks_logprobs(payload: bytes) -> bool:
    """Whether a reply holds no log-probabilities at all: what a server that ignores the request for them sends."""
    try:
        return not orjson.loads(payload)["choices"][0]["logprobs"]["content"]
    except (ValueError, LookupError, TypeError):
        return True


def _error_code(payload: bytes) -> str:
    """Code and type in an error body, else an empty string."""
    said = _error(payload)
    return f"{said.get('code')} {said.get('type')}" if said else ""


def _error(payload: bytes) -> Mapping[str, Any]:
    """What an error body says: code, type, param, message, as far as it has them. Some servers wrap them, some do not."""
    try:
        body = orjson.loads(payload)
    except ValueError:
        return {}
    if not isinstance(body, Mapping):
        return {}
    said = body.get("error", body)
    if isinstance(said, Mapping):
        return said if "message" in said or "error" in body else {"message": said.get("detail")}
    return {"message": said}


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
