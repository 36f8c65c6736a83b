"""The questions that `eyetest conform` asks: every shape of request that a run can make, with pictures drawn in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache

from eyetest.types import Generation, Image, Message, Origin, Request, Sample, Shown

TASK = "conform"
"""Task name in the origins that simulated models read."""
SHORT = Generation(max_tokens=16)
CHOICES = ("red", "blue")
SCRIPTS = 'Qué color? 何色ですか。 ما هو اللون؟ \u202bאיזה צבע?\u202c 🟥👩🏽‍🔬 e\u0301 \t\x00 \\n "{}"'
"""Right-to-left text, emoji of several code points, a combining mark, NUL, and what looks like an escape or a placeholder."""
MARKUP = "<image> <|im_end|> [INST] </s>"
"""What stands for pictures and turns in some models' own prompts."""
LONG_WORDS = 5_000
"""Words of the long question: more than many a context holds, and then the honest answer is `error`."""


@cache
def picture(colour: str, width: int = 64, height: int = 48) -> Image:
    """A rectangle of one colour as PNG bytes."""
    from PIL import Image as pil

    file = io.BytesIO()
    pil.new("RGB", (width, height), colour).save(file, "PNG")
    return Image(data=file.getvalue())


def _damaged() -> Image:
    whole = picture("red").data or b""
    return Image(data=whole[: len(whole) // 2])


def questions(*, origins: bool) -> tuple[tuple[str, Request], ...]:
    """(what is particular about it, request). origins: whether requests say where they come from, as simulated models need.

    The name is also the id of the sample, so that a script can have answers for them.
    """
    red, blue = picture("red"), picture("blue", 30, 200)
    asked = "Is this red or blue? Answer with one word."
    shot = (Message("user", (blue, asked)), Message("assistant", ("blue",)), Message("user", (red, asked)))
    sampled = [Generation(temperature=0.7, top_p=0.9, max_tokens=16, seed=seed) for seed in (1, 2)]
    shapes: list[tuple[str, tuple[Message, ...], Generation, tuple[str, ...]]] = [
        ("one-picture", _user(red, asked), SHORT, ()),
        ("text-only", _user("Is blood red or blue? Answer with one word."), SHORT, ()),
        ("two-pictures", _user(red, "or", blue, asked), SHORT, ()),
        ("conversation", (Message("system", ("Be brief.",)), *shot), SHORT, ()),
        ("every-script", _user(red, SCRIPTS), SHORT, ()),
        ("markup", _user(red, MARKUP, asked), SHORT, ()),
        ("empty-text", _user(red, ""), SHORT, ()),
        ("one-token", _user(red, asked), Generation(max_tokens=1), ()),
        ("labels", _user(red, asked), SHORT, CHOICES),
        ("one-label", _user("Is blood red?"), SHORT, ("yes",)),
        ("sampled-1", _user(red, asked), sampled[0], ()),
        ("sampled-2", _user(red, asked), sampled[1], ()),
        ("long-text", _user(red, "word " * LONG_WORDS + asked), SHORT, ()),
        ("damaged-picture", _user(_damaged(), asked), SHORT, ()),
    ]
    return tuple(
        (name, Request(messages, how, labels, _origin(name, messages, labels) if origins else None))
        for name, messages, how, labels in shapes
    )


def many(n: int, *, origins: bool) -> Iterator[Request]:
    """`n` different short questions without a picture, made as they are pulled."""
    for number in range(n):
        messages = _user(f"Is the number {number} red or blue?")
        yield Request(messages, SHORT, (), _origin(f"many-{number}", messages, ()) if origins else None)


def samples() -> tuple[Sample, ...]:
    """What the questions ask about, for models that must know the samples first."""
    return tuple(request.origin.sample for _, request in questions(origins=True) if request.origin)


def _user(*content: str | Image) -> tuple[Message, ...]:
    return (Message("user", content),)


def _origin(name: str, messages: tuple[Message, ...], labels: tuple[str, ...]) -> Origin:
    shown = messages[-1].content
    pictures = tuple(part for part in shown if isinstance(part, Image))
    text = " ".join(part for part in shown if isinstance(part, str))
    sample = Sample(
        id=name,
        question=text,
        target=(labels or CHOICES)[:1],
        choices=labels or CHOICES,
        images=pictures,
        shown=Shown(picture="own" if pictures else "none"),
    )
    return Origin(TASK, sample, "image" if pictures else "no_image", repeat=int(name == "sampled-2"))
