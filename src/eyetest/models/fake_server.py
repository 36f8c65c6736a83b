"""A local server that speaks OpenAI's chat completions and misbehaves on demand: for tests, demos and drills.

    with FakeServer(answer={"capital": "Paris"}, faults=("429", "ok")) as server:
        model = openai(f"any,base_url={server.url}", {}, seed=0)

Everything it does is a function of (seed, sha256 of the request body, how often that body came before), so a run can be
repeated exactly. `GET /log` returns what it counted. Error bodies repeat the key they were sent, as careless servers do,
so that a client that lets the key through is caught.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from random import Random
from typing import Any

import orjson

from eyetest.errors import MissingExtraError, UsageError, unknown
from eyetest.models.fake_answers import OFFERED, Answer, Body, Unanswered, answer_of, from_mapping, last_user_text

try:
    from aiohttp import web
except ModuleNotFoundError as missing:
    raise MissingExtraError("aiohttp", "api", "The fake server") from missing

FAULTS = ("ok", "hang", "malformed", "cut", "blocked", "refused")
"""What may happen to an attempt beside an HTTP status such as `429`, `500`, `404`: nothing, no answer ever, half a JSON
text, the connection cut half-way, HTTP 400 with code content_filter, a refusal."""
LARGEST = 2**28
"""Bytes of the largest body taken (many pictures)."""


@dataclass(frozen=True, slots=True)
class FakeServerSettings:
    """What the server answers and how it misbehaves."""

    answers: str = "constant:A"
    """`constant:TEXT`, `phantom` (one of the offered letters at random) or `scripted:FILE.jsonl` (see `scripted`)."""
    latency: float = 0.0
    """Mean seconds before an answer."""
    spread: float = 0.0
    """Latency is uniform in mean +- spread, never below 0."""
    faults: tuple[str, ...] = ()
    """What happens to attempt 0, 1, ... of every body; `ok` beyond the end."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Fault -> probability per attempt, where `faults` says nothing; together at most 1."""
    retry_after: float = 1.0
    """Seconds that a 429 asks to wait."""
    retry_after_date: bool = False
    """Whether a 429 says so as an HTTP date (whole seconds, rounded up)."""
    ignore_logprobs: bool = False
    """Answer without logprobs though asked, as `transformers serve` does."""
    require_key: str | None = field(default=None, repr=False)
    """The only key that is let in (else HTTP 401); None lets everybody in."""
    model: str | None = None
    """The only model known (else HTTP 404); None knows every name."""
    seed: int = 0
    """Of latencies, rates and phantom answers."""

    def __post_init__(self) -> None:
        for fault in (*self.faults, *self.rates):
            _check_fault(fault)
        if not (all(rate >= 0 for rate in self.rates.values()) and sum(self.rates.values()) <= 1):
            raise UsageError(f"fake server: the fault rates {dict(self.rates)} must be 0 or more and together at most 1.")
        if not (self.latency >= 0 and self.spread >= 0 and self.retry_after >= 0):
            raise UsageError("fake server: latency, spread and retry_after are seconds, 0 or more.")


def _check_fault(fault: str) -> None:
    if fault not in FAULTS and not (fault.isdecimal() and 400 <= int(fault) <= 599):
        raise unknown("fault", fault, (*FAULTS, "any HTTP status from 400 to 599"), "fake server")


@dataclass(slots=True)
class Received:
    """One attempt that arrived."""

    body: Body = field(repr=False)
    """The parsed JSON."""
    text: str
    """The last user text."""
    attempt: int
    """How often the same body came before."""
    outcome: str
    """`ok` or the fault."""
    at: float
    """`time.monotonic()` of its arrival, seconds."""


@dataclass(slots=True)
class Log:
    """What the server counted. `received` stays empty for a server that runs on its own, which may serve millions."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """`ok`, fault or HTTP status -> attempts."""
    attempts: Counter[str] = field(default_factory=Counter)
    """sha256 of a body -> attempts."""
    in_flight: int = 0
    """Attempts under way."""
    peak: int = 0
    """Most attempts under way at once."""
    received: list[Received] = field(default_factory=list)
    """Every attempt in order of arrival."""

    @property
    def requests(self) -> int:
        """Attempts in all."""
        return self.outcomes.total()

    def as_dict(self) -> dict[str, Any]:
        """What `/log` returns."""
        return {
            "requests": self.requests,
            "distinct": len(self.attempts),
            "outcomes": dict(sorted(self.outcomes.items())),
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak,
        }


def _fitting(table: Mapping[str, Sequence[str]], body: Body) -> Sequence[str]:
    text = last_user_text(body)
    return next((value for match, value in table.items() if match in text), ())


class _Handlers:
    """The web application: what happens to one HTTP request."""

    def __init__(self, settings: FakeServerSettings, answer: Answer, faults: Mapping[str, Sequence[str]], *, keep: bool) -> None:
        self.log = Log()
        self._settings, self._answer, self._faults, self._keep = settings, answer, faults, keep

    def app(self) -> web.Application:
        """Routes under `/v1`, and `/log`."""
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/log", self._log)
        return app

    async def _log(self, _request: web.Request) -> web.Response:
        return _json(200, self.log.as_dict())

    async def _models(self, request: web.Request) -> web.Response:
        if self._locked_out(request):
            return self._error(request, 401, "invalid_api_key")
        return _json(200, {"object": "list", "data": [{"id": self._settings.model or "fake", "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = _parsed(raw)
        if body is None:
            self.log.outcomes["400"] += 1
            return self._error(request, 400, "invalid_json", "the body is not a JSON object with messages")
        log, digest = self.log, hashlib.sha256(raw).hexdigest()
        attempt = log.attempts[digest]
        log.attempts[digest] += 1
        log.in_flight += 1
        log.peak = max(log.peak, log.in_flight)
        random = Random(f"{self._settings.seed}:{digest}:{attempt}")
        try:
            outcome = self._outcome(request, body, attempt, random)
            log.outcomes[outcome] += 1
            if self._keep:
                log.received.append(Received(body, last_user_text(body), attempt, outcome, time.monotonic()))
            low, high = (self._settings.latency + side * self._settings.spread for side in (-1, 1))
            await asyncio.sleep(max(0.0, random.uniform(low, high)))
            return await self._act(request, outcome, body, attempt)
        finally:
            log.in_flight -= 1

    def _locked_out(self, request: web.Request) -> bool:
        needed = self._settings.require_key
        return needed is not None and request.headers.get("Authorization") != f"Bearer {needed}"

    def _outcome(self, request: web.Request, body: Body, attempt: int, random: Random) -> str:
        """`ok` or the fault of this attempt."""
        draw = random.random()
        if self._locked_out(request):
            return "401"
        if self._settings.model not in (None, body.get("model")):
            return "404"
        planned = _fitting(self._faults, body) or self._settings.faults
        if attempt < len(planned):
            return planned[attempt]
        for fault, rate in self._settings.rates.items():
            if draw < rate:
                return fault
            draw -= rate
        return "ok"

    async def _act(self, request: web.Request, outcome: str, body: Body, attempt: int) -> web.StreamResponse:
        """Do to the request what was decided."""
        if outcome == "hang":
            await asyncio.Event().wait()  # until the client leaves, which cancels the handler
        if outcome == "cut":
            return await _cut(request)
        if outcome == "malformed":
            return web.Response(body=b'{"choices": [{"message": {"cont', content_type="application/json")
        if outcome == "blocked":
            return self._error(request, 400, "content_filter")
        if outcome.isdecimal():
            codes = {"401": "invalid_api_key", "404": "model_not_found", "429": "rate_limit_exceeded"}
            return self._error(request, int(outcome), codes.get(outcome, "fake_fault"))
        if outcome == "refused":
            refusal = {"role": "assistant", "content": None, "refusal": "I'm sorry, but I can't help with that."}
            return _json(200, self._reply(body, "") | {"choices": [{"index": 0, "message": refusal, "finish_reason": "stop"}]})
        try:
            said = self._answer(body, attempt)
        except Unanswered as error:
            return self._error(request, 422, "no_answer", str(error))
        return _json(200, self._reply(body, said) if isinstance(said, str) else {**self._reply(body, ""), **said})

    def _error(self, request: web.Request, status: int, code: str, text: str = "fake fault") -> web.Response:
        sent = request.headers.get("Authorization", "no key")
        headers = {}
        if status == 429:
            seconds = self._settings.retry_after
            # A date has no fractions: rounded up, so that it never asks for less than was set.
            when = datetime.fromtimestamp(math.ceil(time.time() + seconds), UTC)
            headers["Retry-After"] = format_datetime(when, usegmt=True) if self._settings.retry_after_date else f"{seconds:g}"
        return _json(status, {"error": {"message": f"{text} (you sent {sent})", "type": "fake", "code": code}}, headers)

    def _reply(self, body: Body, completion: str) -> dict[str, Any]:
        text = last_user_text(body)
        choice = {"index": 0, "message": {"role": "assistant", "content": completion}, "finish_reason": "stop"}
        if body.get("logprobs") and not self._settings.ignore_logprobs:
            choice["logprobs"] = {"content": [_first_token(completion, OFFERED.findall(text))]}
        read, written = len(text.split()), len(completion.split())
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {"object": "chat.completion", "model": body.get("model"), "choices": [choice], "usage": usage}


def _parsed(raw: bytes) -> Body | None:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) and isinstance(body.get("messages"), list) else None


def _json(status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(value), headers=headers, content_type="application/json")


def _first_token(completion: str, offered: Sequence[str]) -> dict[str, Any]:
    """The first word with probability 0.9; the offered letters that it is not share the rest."""
    word = (completion.split() or [""])[0]
    others = [letter for letter in dict.fromkeys(offered) if letter != word]
    top = [{"token": word, "logprob": math.log(0.9)}]
    top += [{"token": letter, "logprob": math.log(0.1 / len(others))} for letter in others]
    return top[0] | {"top_logprobs": top}


async def _cut(request: web.Request) -> web.StreamResponse:
    """Promise 1,000 bytes, send a few, drop the connection."""
    reply = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await reply.prepare(request)
    await reply.write(b'{"choices": [')
    if request.transport is not None:
        request.transport.abort()
    return reply


@contextlib.asynccontextmanager
async def _listening(handlers: _Handlers, host: str, port: int) -> AsyncIterator[str]:
    """The base URL while the application listens. Raises OSError where it cannot."""
    runner = web.AppRunner(handlers.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=2048).start()
        bound = runner.addresses[0][1]
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound}/v1"
    finally:
        await runner.cleanup()


def serve(settings: FakeServerSettings, host: str, port: int, say: Callable[[str], None]) -> Log:
    """Serve until interrupted (Ctrl-C), then return the counts.

    say: is given the base URL once the server listens; port: 0 takes a free one. Raises UsageError where it cannot listen.
    """
    handlers = _Handlers(settings, answer_of(settings.answers, settings.seed), {}, keep=False)

    async def forever() -> None:
        async with _listening(handlers, host, port) as url:
            say(url)
            await asyncio.Event().wait()

    try:
        asyncio.run(forever())
    except KeyboardInterrupt:
        return handlers.log
    except (OSError, UnicodeError, OverflowError) as error:  # a host that is no name, a port that is none
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"fake server: cannot listen on {host}:{port}: {reason}. Choose another host or port.") from error
    return handlers.log


class FakeServer:
    """The server in a thread of this process, for `with`.

    answer: a function of (body, attempt), or substring of the last user text -> completion (none fits: HTTP 422); without
    it `settings.answers` holds. latency: seconds, in place of the settings'. faults: those of attempt 0, 1, ... of every
    body, or substring of the last user text -> such a sequence; they go before the settings'. `url` is the base URL, `log`
    what arrived, bodies included.
    """

    url: str

    def __init__(
        self,
        answer: Answer | Mapping[str, str] | None = None,
        *,
        latency: float | None = None,
        faults: Sequence[str] | Mapping[str, Sequence[str]] = (),
        settings: FakeServerSettings | None = None,
    ) -> None:
        settings = settings or FakeServerSettings()
        if latency is not None:
            settings = replace(settings, latency=latency)
        table = faults if isinstance(faults, Mapping) else {"": faults}
        for fault in (fault for sequence in table.values() for fault in sequence):
            _check_fault(fault)
        if isinstance(answer, Mapping):
            answer = from_mapping(answer)
        self._handlers = _Handlers(settings, answer or answer_of(settings.answers, settings.seed), table, keep=True)
        self._ready: Future[str] = Future()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._main, name="eyetest-fake-server", daemon=True)

    @property
    def log(self) -> Log:
        """What was counted so far."""
        return self._handlers.log

    def __enter__(self) -> FakeServer:
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        self.url = self._ready.result(timeout=30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def _main(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        async with _listening(self._handlers, "127.0.0.1", 0) as url:
            self._ready.set_result(url)
            await self._stopped.wait()
