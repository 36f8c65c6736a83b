"""A simulated model behind HTTP: the server recognises the questions of a run by their text and pictures.

A simulated model answers from the sample, which no request over HTTP carries. So what a run will ask is put into the form
in which it will arrive, and remembered by the sha256 of its messages, pictures included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from eyetest.errors import BadImageError
from eyetest.images import data_uri
from eyetest.models.baselines import Simulated
from eyetest.models.fake_answers import OFFERED, Answer, Body, Unanswered, last_user_text, refusing
from eyetest.models.fake_settings import FakeServerSettings
from eyetest.prompts import letters
from eyetest.types import Image, Origin, Request, Response

PICTURES_KEPT = 64
"""Encoded pictures that are kept while questions are learnt: a run asks about one picture several times in a row."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The first repeat of a question."""

    origin: Origin
    seed: int | None


def digest(messages: Iterable[Any]) -> bytes:
    """sha256 over roles, texts and picture URIs of messages in OpenAI's form; a lone text and a list of it are the same."""
    whole = hashlib.sha256()
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        whole.update(f"\0role {message.get('role')}".encode())
        content = message.get("content")
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            shown = part.get("image_url")
            said = shown.get("url") if isinstance(shown, Mapping) else part.get("text")
            whole.update(f"\0{part.get('type')} {said}".encode("utf-8", "surrogatepass"))
    return whole.digest()


def _arriving(request: Request, uri: Any) -> list[dict[str, Any]]:
    """The messages of a request as a server receives them."""
    return [
        {
            "role": message.role,
            "content": [
                {"type": "image_url", "image_url": {"url": uri(part)}}
                if isinstance(part, Image)
                else {"type": "text", "text": part}
                for part in message.content
            ],
        }
        for message in request.messages
    ]


def recognising(
    model: Simulated, requests: Iterable[Request], *, max_side: int | None = None, settings: FakeServerSettings
) -> tuple[Answer, int]:
    """The answering function of a simulated model for what a run will ask, and how many distinct questions that is.

    requests: with their origins, all repeats or the first; max_side: the client's, in pixels. Questions that look the same
    get the answer to the first of them. Above temperature 0 the seed tells the repeat; a server that ignores seeds
    answers each attempt as another repeat. Anything else that is asked is Unanswered. A picture that cannot be read is left
    out: nobody can send it.
    """

    @lru_cache(maxsize=PICTURES_KEPT)
    def uri(picture: Image) -> str:
        return data_uri(picture, max_side=max_side)

    known: dict[bytes, _Asked] = {}
    for request in requests:
        if request.origin is None or request.origin.repeat:
            continue
        try:
            known.setdefault(digest(_arriving(request, uri)), _Asked(request.origin, request.generation.seed))
        except BadImageError:
            continue

    def answer(body: Body, attempt: int) -> str | Mapping[str, Any]:
        asked = known.get(digest(body["messages"]))
        if asked is None:
            raise Unanswered(f"no question of the run looks like {last_user_text(body)[:80]!r} with these pictures")
        repeat = _repeat(asked, body, attempt, ignored=settings.ignoring("seed"))
        return _written(model.answer(replace(asked.origin, repeat=repeat)), asked.origin, body)

    return answer, len(known)


def _repeat(asked: _Asked, body: Body, attempt: int, *, ignored: bool) -> int:
    """Which repeat a body asks for: all are the same at temperature 0."""
    if not body.get("temperature", 1):
        return 0
    seed = body.get("seed")
    return attempt if ignored or asked.seed is None or not isinstance(seed, int) else max(0, seed - asked.seed)


def _written(response: Response, origin: Origin, body: Body) -> str | Mapping[str, Any]:
    """A response as a completion: an option by its letter where the prompt offers letters."""
    if response.status == "error":
        raise Unanswered(response.error or "the simulated model has no answer")
    if response.status == "refused":
        return refusing(response.text)
    choices = origin.sample.choices
    if origin.sample.kind == "choice" and response.text in choices:
        letter = letters(len(choices))[choices.index(response.text)]
        if letter in OFFERED.findall(last_user_text(body)):
            return letter
    return response.text
