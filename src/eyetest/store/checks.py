"""Whether a value is what its field promises: for what a model yields and for what a file holds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, get_args

from eyetest.types import Response, ResponseStatus, Usage

LIMIT = 1 << 15
"""Repeats, variants and rounds are numbered below this (they are int16 columns)."""

Wanted = TypeVar("Wanted")


def expected(value: Any, kind: type[Wanted], name: str) -> Wanted:
    """`value`, if it is a `kind`. Raises TypeError that names the field."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {shown(value)}, not {_NAMES.get(kind, kind.__name__)}")
    return value


def one_of(value: Any, literal: Any, name: str) -> Any:
    """`value`, if it is one of the texts of a Literal type. Raises ValueError that names the field and the texts."""
    if not isinstance(value, str) or value not in _members(literal):
        raise ValueError(f"{name} is {shown(value)}, not one of {', '.join(_members(literal))}")
    return value


_members = cache(get_args)


def shown(value: Any) -> str:
    """A value for a message, whatever it is: numbers and short texts as written, else the type."""
    short = (isinstance(value, str) and len(value) <= 60) or (isinstance(value, int) and abs(value) < LIMIT**3)
    if value is None or isinstance(value, float) or short:
        return repr(value)
    return f"of type {type(value).__name__}"


_NAMES: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    dict: "an object",
    list: "a list",
    Real: "a number",
    Integral: "a whole number",
    Response: "a Response",
    Usage: "a Usage",
}


def checked_response(response: object) -> Response:
    """A Response that keeps what its fields promise; numbers of other libraries become Python's own.

    Raises TypeError, ValueError or OverflowError that says which field is wrong.
    """
    found = expected(response, Response, "the response")
    expected(found.text, str, "text")
    expected(found.reasoning, str, "reasoning")
    one_of(found.status, ResponseStatus, "status")
    if found.error is not None:
        expected(found.error, str, "error")
    latency = _number(found.latency, "latency")
    logprobs, usage = _logprobs(found.label_logprobs), _usage(found.usage)
    if type(found.latency) is float and logprobs is found.label_logprobs and usage is found.usage:
        return found
    return replace(found, latency=latency, label_logprobs=logprobs, usage=usage)


def _number(value: Any, name: str) -> float:
    number: Any = expected(value, Real, name)  # type: ignore[type-abstract]
    try:
        return float(number)
    except OverflowError:
        raise OverflowError(f"{name} is beyond every float") from None


def _logprobs(values: Any) -> tuple[float, ...] | None:
    if values is None:
        return None
    if not isinstance(values, tuple | list):
        raise TypeError(f"label_logprobs is {shown(values)}, not a tuple of numbers")
    return tuple(_number(value, "a part of label_logprobs") for value in values)


def _usage(value: Any) -> Usage | None:
    if value is None:
        return None
    usage = expected(value, Usage, "usage")
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    for name, count in zip(("input_tokens", "output_tokens", "cached_tokens"), counts, strict=True):
        expected(count, Integral, f"usage.{name}")  # type: ignore[type-abstract]
    if all(type(count) is int for count in counts):
        return usage
    return Usage(*map(int, counts))
