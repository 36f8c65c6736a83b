"""A Python callable, or a list of completions, as a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from eyetest.errors import BadImageError
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
        return Response(status="bad_image", error=str(error))
    except Exception as error:  # noqa: BLE001  a user's function may raise anything, and one failed sample must not end a run
        return Response(status="error", error=f"{type(error).__name__}: {error}")
    if isinstance(found, Response):
        return found
    if isinstance(found, str):
        return Response(found, latency=time.perf_counter() - start)
    return Response(status="error", error=f"the function returned {type(found).__name__}; expected str or Response")


class CallableModel:
    """`function(messages) -> str | Response` as a model: called once a request, in order, pulling none ahead.

    name: what reports call it. identity: everything that makes its answers differ (a version, the weights); answers are
    cached and shared only if it is given, since two functions of one name may differ.
    An exception that the function raises fails that one sample (`error`, or `bad_image` for BadImageError);
    KeyboardInterrupt and SystemExit pass.
    """

    def __init__(
        self, function: Callable[[tuple[Message, ...]], str | Response], name: str = "function", identity: str | None = None
    ) -> None:
        self.name = name
        self.identity = name if identity is None else identity
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
