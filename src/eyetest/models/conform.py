"""Does a backend keep the promises of `types.Model`? What a run relies on, tried out with some dozens of short requests.

`conform(factory)` builds the model twice, asks every shape of request that a run can make, and yields a `Finding` a check.
Nothing that the backend does ends it: exceptions, wrong values and time-outs are findings. What cannot be seen from
outside is not checked: whether the answers are right, and whether `identity` names all that makes them differ.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from eyetest.errors import EyetestError, message_of
from eyetest.models import Prepares
from eyetest.models.conform_questions import TASK, many, questions, samples
from eyetest.store import checked_response
from eyetest.types import Model, Request, Response

Verdict = Literal["ok", "warning", "failed", "skipped"]

AHEAD = 256
"""Most requests that a backend may have pulled and not answered: its window, whatever it is. A run holds them in memory."""
TIMEOUT = 300.0
"""Seconds that one step may take; loading the weights is part of the first."""
IN_FLIGHT = 16
"""Requests that are offered when the model is closed in mid-stream."""
ROUNDING = 1e-3
"""How far above 0 a logarithm of a probability may come out."""
USABLE = ("ok", "truncated", "refused", "blocked")
EXCUSED = frozenset({"markup", "long-text", "damaged-picture"})
"""Questions to which a failed call is a right answer."""
SHOWN = 300
"""Characters shown of what a backend said."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    check: str
    """Name of the check."""
    verdict: Verdict
    expected: str
    """What a backend must do."""
    found: str = ""
    """What it did; empty where there is nothing to say."""


@dataclass(slots=True)
class Stream:
    """What was seen of one `generate`."""

    asked: Sequence[Request]
    """The requests that were to be answered; empty where the stream was not read to its end."""
    given: dict[int, Request] = field(default_factory=dict)
    """id -> request, of those that were pulled; kept alive, so that an id stays one request's."""
    yielded: list[object] = field(default_factory=list)
    """What came, as it came."""
    ahead: int = 0
    """Most requests that were pulled and not answered."""
    reader: int = 0
    """Thread that reads the answers."""
    foreign: int = 0
    """Requests that were pulled from another thread than the one that read the answers."""
    raised: BaseException | None = None
    """What `generate` raised."""
    hung: str = ""
    """What did not return in time."""

    def pairs(self) -> Iterator[tuple[Request, object]]:
        """(request, response) of everything that came as a pair that begins with a request that was given."""
        for one in self.yielded:
            if isinstance(one, tuple) and len(one) == 2 and id(one[0]) in self.given:
                yield one

    def responses(self) -> Iterator[tuple[Request, Response]]:
        """Those pairs whose response is a Response."""
        for request, response in self.pairs():
            if isinstance(response, Response):
                yield request, response

    def pull(self, requests: Iterable[Request]) -> Iterator[Request]:
        """The requests, watched as they are pulled."""
        for request in requests:
            self.foreign += threading.get_ident() != self.reader
            self.given[id(request)] = request
            self.ahead = max(self.ahead, len(self.given) - len(self.yielded))
            yield request


def conform(factory: Callable[[], Model], *, ahead: int = AHEAD, timeout: float = TIMEOUT) -> Iterator[Finding]:
    """Every check in turn.

    factory: builds the model anew; what it raises passes, since there is nothing to check then. ahead: most requests that
    may be pulled and not answered. timeout: seconds a step may take.
    """
    model, twin = factory(), factory()
    named = _named(model, twin)
    yield named
    if named.verdict == "failed":
        return
    identity = model.identity
    unused = _within(timeout, twin.close, twin.close)
    if isinstance(model, Prepares):
        prepared = _within(timeout, lambda: model.prepare(TASK, samples(), ()))
        yield _finding("prepare", "prepare(task, samples, train) takes the samples and an empty training split", prepared)
        identity = model.identity
        if prepared:
            return
    shapes = questions(origins=model.simulated)
    requests = [request for _, request in shapes]
    first = _read_all(model, requests, timeout)
    again = first if first.hung else _read_all(model, requests, timeout)
    names = {id(request): name for name, request in shapes}
    yield from _of_stream(first, names)
    yield from _of_answers(first, names)
    yield _repeats(first, again, names)
    yield _unchanged(model, identity)
    if not first.hung:
        yield _nothing(model, timeout, known=first.raised is not None)
        yield _lazy(model, ahead, timeout, known=first.raised is not None)
    yield _closed(model, timeout, unused, known=first.raised is not None, hung=bool(first.hung))


# --- asking ----------------------------------------------------------------------------------------------------------


def _within(timeout: float, *steps: Callable[[], object]) -> str:
    """Run the steps in a thread of their own: what went wrong, or nothing. What hangs is left behind."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            for step in steps:
                step()
        except BaseException as error:  # noqa: BLE001  (whatever a stranger's code raises is a finding)
            raised.append(error)

    thread = threading.Thread(target=work, name="eyetest-conform", daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        return f"it did not return within {timeout:g} s"
    return _said(raised[0]) if raised else ""


def _said(error: BaseException) -> str:
    """An exception as a text; the message of a user's mistake stands for itself."""
    text = message_of(error)
    return text if isinstance(error, EyetestError) else f"it raised {type(error).__name__}: {text}"


def _read(model: Model, stream: Stream, requests: Iterable[Request], timeout: float, stop_after: int | None = None) -> Stream:
    """Read answers into `stream`: all of them, or `stop_after` and then close the generator."""

    def work() -> None:
        stream.reader = threading.get_ident()
        try:
            found: Any = model.generate(stream.pull(requests))
            for one in found:
                stream.yielded.append(one)
                if len(stream.yielded) == stop_after:
                    break
            close = getattr(found, "close", None)
            if close is not None:
                close()
        except BaseException as error:  # noqa: BLE001  (whatever a stranger's code raises is a finding)
            stream.raised = error

    stream.hung = _within(timeout, work)
    return stream


def _read_all(model: Model, requests: Sequence[Request], timeout: float) -> Stream:
    return _read(model, Stream(requests), requests, timeout)


# --- judging ---------------------------------------------------------------------------------------------------------


def _finding(check: str, expected: str, wrong: str, verdict: Verdict = "failed") -> Finding:
    """A finding that is `verdict` if there is something wrong, else ok."""
    return Finding(check, verdict if wrong else "ok", expected, wrong[:SHOWN])


def _named(model: Model, twin: Model) -> Finding:
    expected = "name and identity are texts that say something, the same whenever it is built; name can be set"
    wrong = ""
    for what in ("name", "identity"):
        one, other = getattr(model, what), getattr(twin, what)
        if not one.strip():
            wrong = f"{what} is {one!r}"
        elif one != other:
            wrong = f"{what} was {one!r}, and {other!r} when it was built again"
    try:
        model.name = model.name
    except AttributeError as error:
        wrong = wrong or f"name cannot be set ({error})"
    return _finding("named", expected, wrong)


def _unchanged(model: Model, identity: str) -> Finding:
    wrong = "" if model.identity == identity else f"it was {identity!r}, then {model.identity!r}"
    return _finding("identity", "identity is complete before the first request: it enters the key of every answer", wrong)


def _of_stream(stream: Stream, names: Mapping[int, str]) -> Iterator[Finding]:
    """Checks of how `generate` behaves."""
    raised = "" if stream.raised is None else _said(stream.raised)
    yield _finding("raises", "generate() raises nothing: a failed call is a Response with a status", raised)
    yield _finding("ends", "generate() ends when every request is answered", stream.hung)
    shapeless = [one for one in stream.yielded if not (isinstance(one, tuple) and len(one) == 2)]
    wrong = f"it yielded {type(shapeless[0]).__name__}" if shapeless else ""
    yield _finding("pairs", "generate() yields pairs (request, response)", wrong)
    expected = "every request object that it was given is answered exactly once"
    if stream.raised or stream.hung or shapeless:
        yield Finding("once", "skipped", expected, "not every request could be asked")
    else:
        yield _finding("once", expected, _not_once(stream, names))
    wrong = f"{stream.foreign} of {len(stream.given)} were not" if stream.foreign else ""
    yield _finding("thread", "requests are pulled from the thread that reads the answers", wrong)


def _not_once(stream: Stream, names: Mapping[int, str]) -> str:
    strange = [one[0] for one in stream.yielded if isinstance(one, tuple) and id(one[0]) not in stream.given]
    times = Counter(id(request) for request, _ in stream.pairs())
    twice = [name for key, name in names.items() if times[key] > 1]
    never = [name for key, name in names.items() if not times[key]]
    if twice:
        return f"{len(twice)} of {len(names)} were answered more than once: {_list(twice)}"
    if strange:
        return "it yielded " + ("a copy of a request" if strange[0] in stream.asked else "a request that it was not given")
    return f"{len(never)} of {len(names)} were never answered: {_list(never)}" if never else ""


def _of_answers(stream: Stream, names: Mapping[int, str]) -> Iterator[Finding]:
    """Checks of what came back."""
    types = [type(response).__name__ for _, response in stream.pairs() if not isinstance(response, Response)]
    wrong = f"{len(types)} of {len(stream.yielded)} are not, such as a {types[0]}" if types else ""
    yield _finding("type", "every answer is an eyetest.types.Response", wrong)
    fields, wrong_logs, unasked, failed, usable = [], [], [], [], 0
    for request, response in stream.responses():
        name = names[id(request)]
        try:
            checked_response(response)
        except (TypeError, ValueError, OverflowError) as error:
            fields.append(f"{name}: {error}")
            continue
        usable += response.status in USABLE
        if response.status not in USABLE and name not in EXCUSED:
            failed.append(f"{name}: {response.status} ({response.error or 'without a reason'})")
        logs = response.label_logprobs or ()
        if logs and not request.labels:
            unasked.append(f"{name}: {len(logs)} values, and no label was asked for")
        elif response.label_logprobs is not None and len(logs) != len(request.labels):
            wrong_logs.append(f"{name}: {len(logs)} values for {len(request.labels)} labels")
        elif any(not value <= ROUNDING for value in logs):
            wrong_logs.append(f"{name}: {logs}, and no probability is above 1")
    yield _finding("fields", "status is one of the six, and every field of a Response holds what it promises", _list(fields))
    expected = "label_logprobs is None, or holds one natural logarithm a label, in their order"
    yield _finding("labels", expected, _list(wrong_logs or unasked), "failed" if wrong_logs else "warning")
    yield _usable(failed, usable, told=bool(fields or types))


def _usable(failed: Sequence[str], usable: int, *, told: bool) -> Finding:
    """Whether questions get answers at all; a backend that cannot take some shapes of request may say so.

    told: another check has already said why there are none.
    """
    expected = "questions are answered (without a picture, with two, in every script, empty ...); a failed call says why"
    if usable:
        return _finding("answers", expected, _list(failed), "warning")
    if told or not failed:
        return Finding("answers", "skipped", expected, "there are no answers to look at")
    return _finding("answers", expected, f"not one was; {_list(failed)}")


def _list(found: Sequence[str]) -> str:
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return "; ".join(one[:120] for one in found[:3]) + more


def _repeats(first: Stream, again: Stream, names: Mapping[int, str]) -> Finding:
    """Greedy answers twice: a difference is no fault of the protocol, and makes shared and cached answers arbitrary."""
    expected = "at temperature 0 the same question has the same answer when it is asked again"
    if again.raised and not first.raised:
        return Finding("repeats", "failed", expected, f"the second generate(): {_said(again.raised)}"[:SHOWN])
    if again.hung and not first.hung:
        return Finding("repeats", "failed", expected, f"the second generate(): {again.hung}")
    before = {id(request): response for request, response in first.responses()}
    differ = [
        f"{names[id(request)]}: {before[id(request)].text[:40]!r}, then {response.text[:40]!r}"
        for request, response in again.responses()
        if request.generation.temperature == 0 and id(request) in before and before[id(request)].text != response.text
    ]
    return _finding("repeats", expected, _list(differ), "warning")


def _nothing(model: Model, timeout: float, *, known: bool) -> Finding:
    stream, expected = _read_all(model, (), timeout), "no request, no answer"
    if stream.raised is not None:
        return _finding("nothing", expected, _said(stream.raised), "skipped" if known else "failed")
    return _finding("nothing", expected, stream.hung or ("it yielded something" if stream.yielded else ""))


_LAZY = "at most {} requests are pulled ahead of the answers, and reading may stop in mid-stream"


def _lazy(model: Model, ahead: int, timeout: float, *, known: bool) -> Finding:
    """One answer out of many, then the reader goes away, as after Ctrl-C. known: that it raises has been said."""
    stream = _read(model, Stream(()), many(ahead + 1, origins=model.simulated), timeout, stop_after=1)
    expected, seen = _LAZY.format(ahead), f"{stream.ahead} pulled before the first answer"
    if stream.ahead > ahead:
        return _finding("lazy", expected, f"all {stream.ahead} that there were, before the first answer")
    if stream.hung:
        return _finding("lazy", expected, f"{seen}; {stream.hung}")
    if stream.raised is not None:
        return _finding("lazy", expected, _said(stream.raised), "skipped" if known else "failed")
    return Finding("lazy", "ok", expected, seen)


def _closed(model: Model, timeout: float, unused: str, *, known: bool, hung: bool) -> Finding:
    """close() while answers are awaited, and once more.

    unused: what went wrong with a model that was never asked; known: that generate() raises has been said; hung: one never
    came back, so that there is only close() left to try.
    """
    expected, started = "close() returns, in mid-stream, twice, and unused; open iterators then end", time.monotonic()
    if unused:
        return _finding("close", expected, f"unused: {unused}")
    stream = Stream(())
    requests = () if hung else many(IN_FLIGHT, origins=model.simulated)
    answers: Any = iter(())

    def begin() -> None:
        nonlocal answers
        stream.reader = threading.get_ident()
        answers = iter(model.generate(stream.pull(requests)))
        next(answers, None)

    for where, step in (
        ("before close()", begin),
        ("in mid-stream", model.close),
        ("the iterator after close()", lambda: [None for _ in answers]),
        ("the second time", model.close),
    ):
        wrong = "" if hung and step != model.close else _within(timeout, step)
        if wrong:
            return _finding("close", expected, f"{where}: {wrong}", "skipped" if known and step != model.close else "failed")
    return Finding("close", "ok", expected, f"{time.monotonic() - started:.1f} s")
