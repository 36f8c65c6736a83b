"""A local server that speaks OpenAI's chat completions and misbehaves on demand: for tests, demos and drills.

    with FakeServer(answer={"capital": "Paris"}, faults=("429", "ok")) as server:
        model = openai(f"any,base_url={server.url}", {}, seed=0)

What it does to an attempt is a function of (seed, sha256 of the request body, how often that body came before), limits
aside, so a run can be repeated exactly. `GET /log` returns what it counted. Error bodies repeat the key they were sent, as
careless servers do, so that a client that lets the key through is caught.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from random import Random
from typing import Any

import orjson

from eyetest.errors import MissingExtraError, UsageError
from eyetest.models.fake_answers import Answer, Body, Unanswered, answer_of, from_mapping, last_user_text
from eyetest.models.fake_batch import FakeBatches
from eyetest.models.fake_limits import Limits
from eyetest.models.fake_log import Journal, Log, Received
from eyetest.models.fake_replies import BROKEN, CODES, bomb, ending, rejected, rejection, reply
from eyetest.models.fake_settings import FAULTS, FakeServerSettings, check_fault

try:
    from aiohttp import web
except ModuleNotFoundError as missing:
    raise MissingExtraError("aiohttp", "api", "The fake server") from missing

__all__ = ["FAULTS", "FakeServer", "FakeServerSettings", "Log", "Received", "serve"]

LARGEST = 2**28
"""Bytes of the largest body taken (many pictures)."""
BACKLOG = 2048
"""Connections that may wait to be accepted."""
FOREVER = 10.0**9
"""Seconds that a hang lasts; the client's leaving cancels it."""


def _fitting(table: Mapping[str, Sequence[str]], body: Body) -> Sequence[str]:
    text = last_user_text(body) if table else ""
    return next((value for match, value in table.items() if match in text), ())


@dataclass(slots=True)
class _Attempt:
    """One attempt that is served."""

    body: Body
    digest: str
    number: int
    """How often the same body came before."""
    outcome: str
    arrived: float
    """`time.time()` of its arrival."""
    seconds: float
    """How long it takes."""


class _Handlers:
    """The web application: what happens to one HTTP request."""

    def __init__(self, settings: FakeServerSettings, answer: Answer, faults: Mapping[str, Sequence[str]], *, keep: bool) -> None:
        self.log = Log()
        self.journal = Journal(settings.log)
        self._settings, self._answer, self._faults, self._keep = settings, answer, faults, keep
        self._latency = settings.serving_time()
        self._limits = Limits(0 if settings.queue else settings.concurrency, settings.per_minute)
        self._places = asyncio.Semaphore(settings.concurrency) if settings.queue else None
        self.batches = FakeBatches(settings.batch_delay, settings.batch_faults, self._refuse)

    def app(self) -> web.Application:
        """Routes under `/v1`, and `/log`."""
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/log", self._log)
        self.batches.mount(app)
        return app

    async def _log(self, _request: web.Request) -> web.Response:
        counts = self.batches.counts
        return _json(200, self.log.as_dict() | ({"batches": dict(sorted(counts.items()))} if counts else {}))

    def _refuse(self, request: web.Request) -> web.Response | None:
        return self._error(request, 401, "invalid_api_key") if self._locked_out(request) else None

    async def _models(self, request: web.Request) -> web.Response:
        if (refused := self._refuse(request)) is not None:
            return refused
        return _json(200, {"object": "list", "data": [{"id": self._settings.model or "fake", "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw, arrived = await request.read(), time.time()
        body, digest = _parsed(raw), hashlib.sha256(raw).hexdigest()
        if body is None:
            self._sent_away(digest, "400", arrived)
            return self._error(request, 400, "invalid_json", "the body is not a JSON object with messages")
        away = self._limits.turns_away(self.log.in_flight)
        if away is not None:
            self._sent_away(digest, away, arrived)
            self._remember(body, self.log.attempts[digest], away)
            wait = self._limits.wait if away == "rate_limited" else None
            return self._error(request, 429, "rate_limit_exceeded", "Rate limit reached", wait=wait)
        served, delivered = self._begin(request, body, digest, arrived), False
        try:
            async with self._places or contextlib.nullcontext():
                await asyncio.sleep(served.seconds)
                answered = await self._act(request, served)
            delivered = True
            return answered
        finally:
            self.log.leave(digest, served.outcome, delivered=delivered)
            self.journal.write(arrived, digest, served.number, served.outcome, delivered=delivered)

    def _begin(self, request: web.Request, body: Body, digest: str, arrived: float) -> _Attempt:
        """Count an attempt and decide what becomes of it."""
        number = self.log.arrive(digest)
        random = Random(f"{self._settings.seed}:{digest}:{number}")
        outcome = self._outcome(request, body, number, random.random())
        self.log.outcomes[outcome] += 1
        self._remember(body, number, outcome)
        return _Attempt(body, digest, number, outcome, arrived, self._latency(random))

    def _remember(self, body: Body, number: int, outcome: str) -> None:
        if self._keep:
            self.log.received.append(Received(body, last_user_text(body), number, outcome, time.monotonic()))

    def _sent_away(self, digest: str, outcome: str, arrived: float) -> None:
        self.log.outcomes[outcome] += 1
        self.journal.write(arrived, digest, self.log.attempts[digest], outcome)

    def _locked_out(self, request: web.Request) -> bool:
        needed = self._settings.require_key
        return needed is not None and request.headers.get("Authorization") != f"Bearer {needed}"

    def _outcome(self, request: web.Request, body: Body, number: int, draw: float) -> str:
        """`ok` or the fault of this attempt. draw: uniform in [0, 1)."""
        if self._locked_out(request):
            return "401"
        if self._settings.model not in (None, body.get("model")):
            return "404"
        name = rejected(self._settings, body)
        if name is not None:
            return f"400 {name}"
        planned = _fitting(self._faults, body) or self._settings.faults
        if number < len(planned):
            return planned[number]
        for fault, rate in self._settings.rates.items():
            if draw < rate:
                return fault
            draw -= rate
        return "ok"

    async def _act(self, request: web.Request, served: _Attempt) -> web.StreamResponse:
        """Do to the request what was decided."""
        outcome, body = served.outcome, served.body
        if outcome == "ok":
            return self._answered(request, served)
        if outcome == "hang":
            await asyncio.sleep(FOREVER)
        if outcome in ("stall", "cut", "closed"):
            return await _broken_off(request, outcome)
        if outcome == "gzip_bomb":
            return web.Response(body=bomb(), headers={"Content-Encoding": "gzip"}, content_type="application/json")
        if outcome in BROKEN:
            return web.Response(body=BROKEN[outcome], content_type="text/html" if outcome == "html" else "application/json")
        if outcome in ("filtered", "length", "refused", "refused_text"):
            return self._ok(ending(self._settings, body, outcome))
        return self._failed(request, body, outcome)

    def _failed(self, request: web.Request, body: Body, outcome: str) -> web.Response:
        """The error body of `blocked`, `quota`, `400 FIELD` or an HTTP status."""
        if outcome == "blocked":
            return self._error(request, 400, "content_filter")
        if outcome == "quota":
            text = "You exceeded your current quota, please check your plan and billing details."
            return self._error(request, 429, "insufficient_quota", text)
        status, _, name = outcome.partition(" ")
        if name:
            return self._error(request, int(status), *rejection(body, name), param=name)
        return self._error(request, int(status), CODES.get(status, "fake_fault"))

    def _answered(self, request: web.Request, served: _Attempt) -> web.Response:
        try:
            return self._ok(reply(self._settings, self._answer, served.body, served.number))
        except Unanswered as error:
            self.log.amend("ok", "unanswered")
            served.outcome = "unanswered"
            return self._error(request, 422, "no_answer", str(error))

    def _ok(self, value: Mapping[str, Any]) -> web.Response:
        return _json(200, value, self._limits.headers())

    def _error(
        self,
        request: web.Request,
        status: int,
        code: str,
        text: str = "fake fault",
        *,
        wait: float | None = None,
        param: str | None = None,
    ) -> web.Response:
        """An error body. wait: seconds that a 429 asks for in place of the settings'."""
        sent = request.headers.get("Authorization", "no key")
        headers = self._limits.headers()
        if status == 429 and code != "insufficient_quota" and self._settings.retry_after is not None:
            headers["Retry-After"] = self._in(self._settings.retry_after if wait is None else wait)
        about = {} if param is None else {"param": param}
        return _json(status, {"error": {"message": f"{text} (you sent {sent})", "type": "fake", "code": code} | about}, headers)

    def _in(self, seconds: float) -> str:
        """Retry-After. A date has no fractions: rounded up, so that it never asks for less than was set."""
        if not self._settings.retry_after_date:
            return f"{seconds:g}"
        return format_datetime(datetime.fromtimestamp(math.ceil(time.time() + seconds), UTC), usegmt=True)


def _parsed(raw: bytes) -> Body | None:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) and isinstance(body.get("messages"), list) else None


def _json(status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(value), headers=headers, content_type="application/json")


async def _broken_off(request: web.Request, how: str) -> web.StreamResponse:
    """Promise 1,000 bytes, send a few (`closed`: none), then drop the connection (`stall`: do nothing)."""
    broken = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    if how != "closed":
        await broken.prepare(request)
        await broken.write(b'{"choices": [')
    if how == "stall":
        await asyncio.sleep(FOREVER)
    if request.transport is not None:
        request.transport.abort()
    return broken


def _told(settings: FakeServerSettings) -> Answer:
    return answer_of(settings.answers, settings.seed, formats=not settings.ignoring("response_format"))


@contextlib.asynccontextmanager
async def _listening(handlers: _Handlers, host: str, port: int) -> AsyncIterator[str]:
    """The base URL while the application listens. Raises OSError where it cannot."""
    runner = web.AppRunner(handlers.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
        bound = runner.addresses[0][1]
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound}/v1"
    finally:
        await runner.cleanup()
        handlers.journal.close()


def serve(settings: FakeServerSettings, host: str, port: int, say: Callable[[str], None], answer: Answer | None = None) -> Log:
    """Serve until interrupted (Ctrl-C), then return the counts.

    say: is given the base URL once the server listens; port: 0 takes a free one; answer: in place of `settings.answers`.
    Raises UsageError where it cannot listen.
    """
    handlers = _Handlers(settings, answer or _told(settings), {}, keep=False)

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
            check_fault(fault)
        if isinstance(answer, Mapping):
            answer = from_mapping(answer)
        self._handlers = _Handlers(settings, answer or _told(settings), table, keep=True)
        self._ready: Future[str] = Future()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._main, name="eyetest-fake-server", daemon=True)

    @property
    def log(self) -> Log:
        """What was counted so far."""
        return self._handlers.log

    @property
    def batches(self) -> FakeBatches:
        """Its Batch API, with counts."""
        return self._handlers.batches

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
