"""The bodies that the fake server sends: completions in OpenAI's form, errors in OpenAI's words, and broken ones."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson

from eyetest.models.fake_answers import OFFERED, Answer, Body, last_user_text, refusing
from eyetest.models.fake_settings import FakeServerSettings

REFUSAL = "I'm sorry, but I can't help with that."
REASONING = "Let me look at the question again."
CODES = {"401": "invalid_api_key", "404": "model_not_found", "429": "rate_limit_exceeded"}
"""HTTP status -> the code that OpenAI gives."""
UNPACKED = 2**30
"""Bytes of an unpacked bomb."""


def _said(message: Mapping[str, Any], finish: Any = "stop") -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return orjson.dumps({"object": "chat.completion", "choices": [choice]})


BROKEN: Mapping[str, bytes] = {
    "malformed": b'{"choices": [{"message": {"cont',
    "not_json": b"upstream connect error or disconnect/reset before headers",
    "html": b"<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Something went wrong</h1></body></html>",
    "empty": b"",
    "no_choices": b'{"object": "chat.completion", "choices": []}',
    "null_content": _said({"content": None}),
    "wrong_types": _said({"content": 17}, finish=3),
}
"""Fault -> a body that holds no completion, sent with status 200."""


def reply(settings: FakeServerSettings, answer: Answer, body: Body, attempt: int) -> dict[str, Any]:
    """The whole reply to a body, as JSON. Raises Unanswered where `answer` does.

    Of `n` choices, number i is what the answering function says to the seed that is i higher.
    """
    wanted = body.get("n")
    count = wanted if isinstance(wanted, int) and wanted > 1 and not settings.ignoring("n") else 1
    seed = body.get("seed")
    first = seed if isinstance(seed, int) else 0
    texts, replaced = list[str](), dict[str, Any]()
    for number in range(count):
        said = answer({**body, "seed": first + number} if number else body, attempt)
        texts.append(said if isinstance(said, str) else "")
        if not isinstance(said, str):
            replaced |= said
    return {**completion(settings, body, texts), **replaced}


def completion(settings: FakeServerSettings, body: Body, texts: Sequence[str], finish: str = "stop") -> dict[str, Any]:
    """A chat completion of one choice for each text."""
    asked = last_user_text(body)
    choices = []
    for index, text in enumerate(texts):
        choice = {"index": index, "message": _message(settings, text), "finish_reason": finish}
        if body.get("logprobs") and not settings.ignoring("logprobs"):
            choice["logprobs"] = {"content": [_first_token(text, OFFERED.findall(asked))]}
        choices.append(choice)
    read, written = len(asked.split()), sum(len(text.split()) for text in texts)
    usage: dict[str, Any] = {}
    if settings.reasoning != "none":
        thought = len(texts) * len(REASONING.split())
        written += thought
        usage = {"completion_tokens_details": {"reasoning_tokens": thought}}
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written, **usage}
    whole = {"object": "chat.completion", "model": body.get("model"), "choices": choices, "usage": usage}
    # OpenAI's sign that a seed was heeded and of what it holds for.
    return whole | {"system_fingerprint": "fp_fake"} if "seed" in body and not settings.ignoring("seed") else whole


def _message(settings: FakeServerSettings, text: str) -> dict[str, Any]:
    if settings.reasoning == "think":
        return {"role": "assistant", "content": f"<think>\n{REASONING}\n</think>\n\n{text}"}
    message = {"role": "assistant", "content": text}
    return message if settings.reasoning == "none" else message | {str(settings.reasoning): REASONING}


def ending(settings: FakeServerSettings, body: Body, outcome: str) -> dict[str, Any]:
    """A completion that a policy or the length ended: outcome `filtered`, `length`, `refused` or `refused_text`."""
    if outcome == "filtered":
        return completion(settings, body, [""], finish="content_filter")
    if outcome == "length":
        return completion(settings, body, ["The answer to this question is"], finish="length")
    if outcome == "refused_text":
        return completion(settings, body, [REFUSAL])
    return completion(settings, body, [""]) | refusing(REFUSAL)


def rejected(settings: FakeServerSettings, body: Body) -> str | None:
    """The first field of a body that the server rejects."""
    for name in settings.rejects:
        value = body.get(name)
        if value is not None and value is not False and not (name == "temperature" and value == 1):
            return name
    return None


def rejection(body: Body, name: str) -> tuple[str, str]:
    """Code and message, in OpenAI's words, of a rejected field."""
    if name == "temperature":
        only = "Only the default (1) value is supported."
        return "unsupported_value", f"Unsupported value: 'temperature' does not support {body[name]} with this model. {only}"
    instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
    return "unsupported_parameter", f"Unsupported parameter: '{name}' is not supported with this model.{instead}"


def _first_token(text: str, offered: Sequence[str]) -> dict[str, Any]:
    """The first word with probability 0.9; the offered letters that it is not share the rest."""
    word = (text.split() or [""])[0]
    others = [letter for letter in dict.fromkeys(offered) if letter != word]
    top = [{"token": word, "logprob": math.log(0.9)}]
    top += [{"token": letter, "logprob": math.log(0.1 / len(others))} for letter in others]
    return top[0] | {"top_logprobs": top}


@cache
def bomb() -> bytes:
    """A gzip body of about 1 MB that unpacks to a completion of UNPACKED bytes; its end, with the check sum, is missing.

    A block that is flushed with Z_FULL_FLUSH refers to nothing before it, so that one block can be repeated.
    """
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    start = squeeze.compress(b'{"choices": [{"message": {"content": "') + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(b" " * 2**20) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + start + block * (UNPACKED // 2**20)
