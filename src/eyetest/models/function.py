"""A Python callable, or a list of completions, as a model."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import TypeVar

from eyetest.errors import BadImageError, message_of
from eyetest.types import Message, Request, Response

Asked = TypeVar("Asked")


def call(function: Callable[[Asked], str | Response], asked: Asked) -> Response:
    """What `function` makes of `asked`; whatever it raises or wrongly returns is a failed call, not the end of the run.

    A text is a completion whose latency (seconds) is the time of the call; a Response is taken as it is.
    """
    start = time.perf_counter()
    try:
        # The annotation is a wish: a user's function may return anything.
        found: object = function(asked)
    except BadImageError as error:
        return Response(status="bad_image", error=message_of(error))
    except (Exception, asyncio.CancelledError, GeneratorExit) as error:  # noqa: BLE001
        # A user's function may raise anything, and one failed sample must not end a run. The last two end somebody's task
        # or generator, never this process, and are no Exception.
        return Response(status="error", error=f"{type(error).__name__}: {message_of(error)}")
    if isinstance(found, Response):
        return found
    if isinstance(found, str):
        return Response(found, latency=time.perf_counter() - start)
    return Response(status="error", error=f"the function returned {type(found).__name__}; expected str or Response")


def fingerprint(function: object) -> str:
    """What tells a Python function from another of the same name, in this process and the next.

    sha256 over its code (that of `__call__` for another callable), constants, defaults, and those closed-over values that
    are plain: texts, numbers, and lists, tuples and dicts of them. Globals and objects that it uses are not seen.
    """
    if isinstance(function, functools.partial):
        bound_to = repr((_plain(function.args), _plain(function.keywords)))
        return f"{fingerprint(function.func)} of {hashlib.sha256(bound_to.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    named = hasattr(function, "__code__") or hasattr(function, "__func__")
    bound = function if named else getattr(type(function), "__call__", None)  # noqa: B004  its code is wanted
    bare = getattr(bound, "__func__", bound)
    code = getattr(bare, "__code__", None)
    if not isinstance(code, CodeType):  # built in: its name must do
        return str(getattr(function, "__qualname__", type(function).__qualname__))
    cells = [cell.cell_contents for cell in getattr(bare, "__closure__", None) or () if _filled(cell)]
    values = (getattr(bare, "__defaults__", None), getattr(bare, "__kwdefaults__", None), cells)
    return "sha256:" + hashlib.sha256(repr((_code(code), _plain(values))).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _filled(cell: object) -> bool:
    try:
        return cell.cell_contents is not ...  # type: ignore[attr-defined]
    except ValueError:
        return False


def _code(code: CodeType) -> object:
    """A function's code without its place in the file, so that a line added above it changes nothing."""
    constants = tuple(_code(one) if isinstance(one, CodeType) else _plain(one) for one in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _plain(value: object, depth: int = 0) -> object:
    """A value whose `repr` is the same in every process; another object, or one nested too deep, is only its type."""
    if value is None or isinstance(value, str | bytes | int | float | complex):
        return value
    if depth < DEPTH and isinstance(value, list | tuple):
        return [_plain(one, depth + 1) for one in value]
    if depth < DEPTH and isinstance(value, set | frozenset):
        return sorted(repr(_plain(one, depth + 1)) for one in value)
    if depth < DEPTH and isinstance(value, dict):
        return [(_plain(key, depth + 1), _plain(one, depth + 1)) for key, one in value.items()]
    code = getattr(value, "__code__", None)
    return _code(code) if isinstance(code, CodeType) else f"{type(value).__module__}.{type(value).__qualname__}"


DEPTH = 8
"""Levels of lists and dicts that a fingerprint looks into; a list may hold itself."""


class CallableModel:
    """`function(messages) -> str | Response` as a model: called once a request, in order, pulling none ahead.

    name: what reports call it. identity: everything that makes its answers differ (a version, the weights); answers are
    cached and shared only if it is given, since two functions of one name may differ. Without it a run that is resumed
    knows the function by its code (`fingerprint`), and asks anew when that changed.
    An exception that the function raises fails that one sample (`error`, or `bad_image` for BadImageError);
    KeyboardInterrupt and SystemExit pass.
    """

    def __init__(
        self, function: Callable[[tuple[Message, ...]], str | Response], name: str = "function", identity: str | None = None
    ) -> None:
        self.name = name
        self.identity = f"{name} {fingerprint(function)}" if identity is None else identity
        self.simulated = identity is None
        self._function = function

    def __repr__(self) -> str:
        return f"CallableModel(name={self.name!r}, identity={self.identity!r})"

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Call the function for every request, in order."""
        for request in requests:
            yield request, call(self._function, request.messages)

    def close(self) -> None:
        """Nothing is in flight and nothing is held."""
        return


def in_order(completions: Sequence[str], name: str = "list") -> CallableModel:
    """A model that gives the completions one after another, whatever is asked, then fails every further request.

    It goes on where it stopped when `generate` is called again.
    """
    left = iter(completions)

    def following(messages: tuple[Message, ...]) -> str | Response:  # noqa: ARG001  (the form of a CallableModel's function)
        spent = f"the list has no more completions: all {len(completions)} have been given"
        return next(left, Response(status="error", error=spent))

    return CallableModel(following, name)
