"""Request keys: which requests are the same question to the same model, and which may share an answer."""

from __future__ import annotations

import hashlib
from typing import Any

from eyetest import images
from eyetest.store.json_text import dumps
from eyetest.types import Image, Request, Sample


def _content(part: str | Image) -> Any:
    return part if isinstance(part, str) else {"image": images.digest(part), "operations": part.operations}


def _read(sample: Sample) -> tuple[object, ...]:
    """What a simulated model may read of a sample; its pictures are in the content key where they are shown."""
    return (
        sample.question,
        sample.target,
        sample.kind,
        sample.choices,
        sample.context,
        sample.knowledge_question,
        sample.knowledge_method,
        sample.caption,
        sample.picture_text,
        sample.entity,
        sample.cluster,
        sample.metadata,
        sample.shown,
    )


def content_key(identity: str, request: Request) -> bytes:
    """sha256 over everything that makes two requests the same question to the same model (32 bytes).

    Model identity, messages, picture bytes and operations, generation settings, labels, schema. The sampling seed is left out:
    a repeat is the same request asked again. Raises BadImageError when a picture cannot be read.
    """
    generation = request.generation
    said = [[message.role, [_content(part) for part in message.content]] for message in request.messages]
    settings = (float(generation.temperature), float(generation.top_p), generation.max_tokens)
    asked: tuple[object, ...] = (identity, said, settings, request.labels)
    if request.schema is not None:
        asked += (request.schema,)
    return hashlib.sha256(dumps(asked)).digest()


def answer_key(content: bytes, request: Request, *, simulated: bool) -> bytes:
    """sha256 under which an answer is journaled, cached and shared (32 bytes).

    At temperature 0 it is the content key: equal requests are asked once. A sampled answer belongs to its sample and
    repeat; a simulated model's answer belongs to its whole origin, gold answer included, because it may read all of it.
    """
    origin = request.origin
    if origin is None or (request.generation.temperature == 0 and not simulated):
        return content
    own: tuple[object, ...] = (origin.task, origin.sample.id, origin.repeat, origin.round, request.generation.seed)
    if simulated:
        own += (origin.condition, origin.prompt, origin.variant, *_read(origin.sample))
    return hashlib.sha256(content + dumps(own)).digest()
