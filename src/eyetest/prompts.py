"""Prompts: the only place, beside the choice scorer, where option letters exist.

A template is jinja2 text for the user's turn. It is given `question`, `context`, `options` (each with `.letter` and
`.text`), `pictures` (how many are shown) and `metadata`. An unknown name in a template is an error, not an empty string.
White space around the whole rendered text is cut; within it, what the dataset says arrives as it is.

Pictures stand before the text, in their order, but for those that the text names: the first `<image N>` (N from 1, as MMMU writes
it) in a question or an option becomes picture N at that place. A second `<image N>`, and one for which there is no picture,
stays text: a condition that takes the pictures away takes nothing else, so the words are the same with and without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, count, islice, product
from typing import NamedTuple

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from eyetest.errors import UsageError
from eyetest.types import Image, Kind, Message, Sample

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

MARKER = re.compile(r"<image ([1-9][0-9]?)>")
"""Where a picture stands in a text: `<image 1>` is the sample's first."""


@cache
def letters(n: int) -> tuple[str, ...]:
    """The letters of n options: A ... Z, then AA, AB, ..., then AAA, ..."""
    words = chain.from_iterable(product(ALPHABET, repeat=length) for length in count(1))
    return tuple(map("".join, islice(words, n)))


class Option(NamedTuple):
    """One option as a template sees it."""

    letter: str
    text: str


_QUESTION = "{% if context %}{{ context }}\n\n{% endif %}{% if question %}{{ question }}\n{% endif %}"

DEFAULT_TEMPLATES: Mapping[Kind, str] = {
    "choice": _QUESTION
    + "{% for option in options %}{{ option.letter }}. {{ option.text }}\n{% endfor %}"
    + "Answer with the letter of the right option.",
    "labels": _QUESTION
    + "Labels: {{ options | map(attribute='text') | join(', ') }}\nAnswer with every label that fits, separated by commas.",
    "text": _QUESTION + "Answer with a word or a short phrase.",
    "transcription": _QUESTION + "Answer with the text exactly as it is written.",
    "description": _QUESTION.removesuffix("\n{% endif %}") + "{% endif %}",
}

UNLETTERED = (
    _QUESTION + "{% for option in options %}- {{ option.text }}\n{% endfor %}" + "Answer with the right option, word for word."
)
"""Default template of `choice` where options carry no letters."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """How a sample is put to a model."""

    name: str = "default"
    """Named in the grid, in results and in the journal."""
    templates: Mapping[Kind, str] | None = None
    """Template of the user's turn for each kind; kinds left out use the default."""
    system: str | None = None
    """System message, the same for every sample."""
    examples: tuple[Sample, ...] = ()
    """Few-shot examples, rendered like the sample itself and followed by their right answer."""
    lettered: bool = True
    """Whether the choice template shows letters (examples are then answered with the letter)."""

    def template(self, kind: Kind) -> str:
        """Template text for a kind."""
        default = UNLETTERED if kind == "choice" and not self.lettered else DEFAULT_TEMPLATES[kind]
        return (self.templates or {}).get(kind) or default


# A run file may come from a stranger: its templates may neither reach for Python's insides nor change what they are given.
_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=False)


_FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError, MemoryError, AssertionError)
"""What rendering may raise beside jinja2's own errors; RecursionError is a RuntimeError."""


@lru_cache(maxsize=256)
def _compiled(template: str, where: str) -> jinja2.Template:
    try:
        return _ENVIRONMENT.from_string(template)
    except jinja2.TemplateSyntaxError as error:
        said = (error.message or "wrong syntax").rstrip(".")
        raise UsageError(f"{where}, line {error.lineno}: {said}. Templates are jinja2 text; see docs/concepts.md.") from None
    except (jinja2.TemplateError, SyntaxError, *_FAILURES) as error:
        # jinja2 computes constants and makes Python of the rest: both have limits that a template can pass.
        raise UsageError(
            f"{where}: the template cannot be compiled ({type(error).__name__}: {_why(error)}). Make it shorter and less nested."
        ) from None


def _why(error: BaseException) -> str:
    """What Python said, on one line of bounded length; some errors say nothing."""
    return " ".join(str(error).split())[:200] or "no reason given"


@lru_cache(maxsize=4096)
def _options(choices: tuple[str, ...]) -> tuple[Option, ...]:
    return tuple(map(Option, letters(len(choices)), choices))


def _text(prompt: Prompt, sample: Sample) -> str:
    where = f"Prompt {prompt.name!r}, template {sample.kind!r}"
    try:
        return (
            _compiled(prompt.template(sample.kind), where)
            .render(
                question=sample.question,
                context=sample.context,
                options=_options(sample.choices),
                pictures=len(sample.images),
                metadata=sample.metadata,
            )
            .strip()
        )
    except jinja2.UndefinedError as error:
        raise UsageError(
            f"{where}, sample {sample.id!r}: {error.message}. A template may use question, context, options, pictures, metadata."
        ) from None
    except (jinja2.TemplateError, *_FAILURES) as error:
        raise UsageError(
            f"{where}, sample {sample.id!r}: the template fails ({type(error).__name__}: {_why(error)}). "
            f"Mend it, or give it what it needs from question, context, options, pictures, metadata."
        ) from None


def _content(images: tuple[Image, ...], text: str) -> tuple[str | Image, ...]:
    """Pictures and text in reading order; see the module. White space alone between two pictures is left out."""
    placed = dict[int, re.Match[str]]()
    for marker in MARKER.finditer(text) if images else ():
        if int(marker[1]) <= len(images):
            placed.setdefault(int(marker[1]), marker)
    if not placed:
        return (*images, text)
    return (*(image for number, image in enumerate(images, 1) if number not in placed), *_interleaved(images, text, placed))


def _interleaved(images: tuple[Image, ...], text: str, placed: Mapping[int, re.Match[str]]) -> Iterator[str | Image]:
    """placed: number of a picture -> the marker in whose place it stands, in reading order."""
    at = 0
    for number, marker in placed.items():
        if text[at : marker.start()].strip():
            yield text[at : marker.start()]
        yield images[number - 1]
        at = marker.end()
    if text[at:].strip():
        yield text[at:]


def _answer(prompt: Prompt, sample: Sample) -> str:
    if sample.kind == "choice" and prompt.lettered:
        return letters(len(sample.choices))[sample.choices.index(sample.target[0])]
    return ", ".join(sample.target) or "none" if sample.kind == "labels" else sample.target[0]


def render(prompt: Prompt, sample: Sample) -> tuple[Message, ...]:
    """The conversation that asks `sample`: system, examples, then the sample's pictures and its text.

    Raises UsageError when the template is wrong or uses a name that it is not given.
    """
    turns: list[Message] = []
    if prompt.system:
        turns.append(Message("system", (prompt.system,)))
    for example in prompt.examples:
        turns.append(Message("user", _content(example.images, _text(prompt, example))))
        turns.append(Message("assistant", (_answer(prompt, example),)))
    turns.append(Message("user", _content(sample.images, _text(prompt, sample))))
    return tuple(turns)
