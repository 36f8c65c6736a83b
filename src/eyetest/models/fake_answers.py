"""What the fake server answers: a constant, a script, or a letter drawn from those that the prompt offers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import orjson

from eyetest.errors import DataError, unknown
from eyetest.models.fake_schema import formatted

Body = Mapping[str, Any]
"""A request body as parsed JSON."""
Answer = Callable[[Body, int], str | Mapping[str, Any]]
"""(body, attempt from 0) -> the completion, or fields that replace those of the reply (`choices`, `usage`, ...)."""

ANSWERS = ("constant", "phantom", "scripted")
OFFERED = re.compile(r"^\s*\(?([A-Z])[.):]\s", re.MULTILINE)
"""An option in a prompt: `A. `, `(A) `, `A: ` at the start of a line."""


def last_user_text(body: Body) -> str:
    """The texts of the last user message, joined by newlines; empty if there is none."""
    for message in reversed(body.get("messages", [])):
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            return "\n".join(part.get("text", "") for part in content or () if part.get("type") == "text")
    return ""


class Unanswered(Exception):
    """The answering function has no answer for this body: HTTP 422 with this text."""


def refusing(text: str) -> dict[str, Any]:
    """Choices for a reply that refuses in the field for it, without content."""
    message = {"role": "assistant", "content": None, "refusal": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def scripted(file: Path) -> Answer:
    """Completions from a JSON Lines file. A digest that fits answers, else the first match that does, else HTTP 422.

    A line is `{"match": SUBSTRING of the last user text, "completion": TEXT}` or
    `{"sha256": hex digest of that text in UTF-8, "completion": TEXT}`. Raises DataError naming file and line.
    """
    by_digest, by_match = _read_script(file)
    return from_mapping(by_match, by_digest, where=str(file))


def from_mapping(by_match: Mapping[str, str], by_digest: Mapping[str, str] | None = None, where: str = "the mapping") -> Answer:
    """Completions by substring of the last user text, or first by its sha256."""

    def answer(body: Body, _attempt: int) -> str:
        text = last_user_text(body)
        found = by_digest.get(hashlib.sha256(text.encode()).hexdigest()) if by_digest else None
        if found is None:
            found = next((completion for match, completion in by_match.items() if match in text), None)
        if found is None:
            raise Unanswered(f"no line of {where} fits {text[:80]!r}")
        return found

    return answer


def _read_script(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """digest -> completion and substring -> completion, each with the first line of a key winning."""
    tables: dict[str, dict[str, str]] = {"sha256": {}, "match": {}}
    try:
        if file.exists() and not file.is_file():  # a pipe would wait for a writer, a device may never end
            raise DataError(f"fake server: {file} is not a regular file. Give scripted:FILE.jsonl.")
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"fake server: cannot read {file}: {error.strerror}. Give scripted:FILE.jsonl.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
            kind = "sha256" if "sha256" in row else "match"
            sought, completion = row[kind], row["completion"]
        except (ValueError, LookupError, TypeError):
            sought = completion = None
        if not (isinstance(sought, str) and isinstance(completion, str)):
            raise DataError(f'{file}:{number}: expected {{"match": TEXT, "completion": TEXT}}, or "sha256" in place of "match".')
        tables[kind].setdefault(sought.lower() if kind == "sha256" else sought, completion)
    return tables["sha256"], tables["match"]


def phantom(seed: int) -> Callable[[Body, int], str]:
    """One of the letters that the prompt offers, drawn by (seed, prompt); `unknown` where it offers none.

    Above temperature 0 drawn by the request's seed as well, if it has one.
    """

    def answer(body: Body, _attempt: int) -> str:
        text = last_user_text(body)
        offered = OFFERED.findall(text)
        sampled = f":{body['seed']}" if body.get("temperature") and body.get("seed") is not None else ""
        return Random(f"{seed}{sampled}:{text}").choice(offered) if offered else "unknown"

    return answer


def answer_of(spec: str, seed: int, *, formats: bool = True) -> Answer:
    """The answering function that `constant:TEXT`, `phantom` or `scripted:FILE` names. Raises UsageError, DataError.

    formats: whether `response_format` is heeded; a script says what is written in it, whatever was asked for.
    """
    kind, _, argument = spec.partition(":")
    if kind == "scripted":
        return scripted(Path(argument))
    if kind not in ANSWERS:
        raise unknown("answers", kind, ANSWERS, "fake server")
    plain = phantom(seed) if kind == "phantom" else lambda _body, _attempt: argument
    return _formatting(plain) if formats else plain


def _formatting(plain: Callable[[Body, int], str]) -> Answer:
    return lambda body, attempt: formatted(body.get("response_format"), plain(body, attempt))
