"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, llama.cpp, `transformers serve`, `eyetest serve-fake`.

    openai:NAME[,base_url=http://host/v1][,concurrency=32][,timeout=300][,retries=6][,max_side=1024][,...]

`generate` is an ordinary iterator. Behind it one thread runs an asyncio loop; the calling thread pulls requests, encodes
pictures and bodies (so that the loop never waits for an encoder), and hands finished bodies over. aiohttp rather than the
openai package: 0.3 against 2.4 ms of CPU a request at 64 at once, and httpx costs more with every open connection.

Time-outs: an attempt may take `max(min_attempt_timeout, 8 x median latency of what succeeded)` seconds; each time-out of
a request doubles its next allowance, and the last attempt may use all that is left of `timeout`. So a connection that
hangs is noticed soon, and an answer that is merely long still arrives.

`concurrency` is a ceiling: a server that is full is given fewer at once (`openai_pace`). What it refuses or ignores is
learnt on the way and said in `remarks` (`openai_learned`).
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from queue import SimpleQueue
from random import Random
from typing import Any
from urllib.parse import urlsplit

import orjson

from eyetest.errors import BadImageError, MissingExtraError
from eyetest.images import api_form
from eyetest.models.openai_batch import OpenAIBatchModel
from eyetest.models.openai_faults import elsewhere, no_access, no_answer, no_money, no_server
from eyetest.models.openai_learned import Learned
from eyetest.models.openai_pace import Gate, Pace, Patience
from eyetest.models.openai_settings import TOKENS_KEYS, Settings, read_key, read_settings
from eyetest.models.openai_wire import Failure, Form, decode, encode, out_of_money
from eyetest.types import Request, Response

try:
    import aiohttp
except ModuleNotFoundError as missing:
    raise MissingExtraError("aiohttp", "api", "The model openai:NAME") from missing

AHEAD = 16
"""Most encoded requests that wait while `concurrency` others are in flight."""
GREETING = 1.0
"""Seconds for which the first request goes alone, so that a wrong key or name costs one request and not `concurrency`."""
TICK = 0.05
"""Seconds between two looks for overdue attempts."""
BACKOFF = 0.5
"""Seconds before the second attempt, doubled for each further one up to `LONGEST_BACKOFF`, times a random 0.5 to 1."""
LONGEST_BACKOFF = 30.0
LARGEST_ANSWER = 64 * 2**20
"""Bytes of the largest answer taken, unpacked: a few kilobytes of gzip may unpack to gigabytes."""
LARGE_BODY = 2**20
"""Bytes from which on aiohttp wants a stream and warns about plain bytes."""
NO_ACCESS = frozenset({401, 403, 404})
"""HTTP statuses that end the run when nothing has succeeded yet: wrong key, forbidden, unknown model or path."""
MOVED = frozenset({301, 302, 303, 307, 308})
"""HTTP statuses that end the run likewise: the requests are to go elsewhere."""
FIELD_REFUSED = frozenset({400, 422})
"""HTTP statuses of a request that has a field which the server does not take."""


def openai(argument: str, options: Mapping[str, str], seed: int) -> OpenAIModel | OpenAIBatchModel:
    """An OpenAI-compatible endpoint, openai:NAME, with options after commas, e.g. base_url=URL,concurrency=64.

    The spec wins over the run file's options; `seed` only jitters the waits. Raises UsageError on a wrong option and
    ModelError when a server elsewhere needs a key and there is none. With batch=true, through the Batch API.
    """
    settings = read_settings(argument, options)
    key = read_key(settings)
    model = OpenAIModel(settings, key, name=f"openai:{argument}", seed=seed)
    return OpenAIBatchModel(settings, key, name=model.name, identity=model.identity) if settings.batch else model


async def _read(reply: aiohttp.ClientResponse) -> bytes | None:
    """The body, unpacked; None if it is larger than `LARGEST_ANSWER`."""
    parts, size = [], 0
    async for part in reply.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            return None
    return b"".join(parts)


class _Connector(aiohttp.TCPConnector):
    """Never hands out a connection on which something lies unread: a late second answer would be taken for the next one's."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        while True:
            connection = await super().connect(req, traces, timeout)
            if connection.protocol is None or not connection.protocol.should_close:
                return connection
            connection.close()


class OpenAIModel:
    """A chat model behind HTTP. The key stays in this object: not in name, identity, repr, errors or logs."""

    def __init__(self, settings: Settings, key: str | None, *, name: str, seed: int = 0) -> None:
        where = urlsplit(settings.base_url)
        self.name = name
        effort = f" reasoning_effort={settings.reasoning_effort}" if settings.reasoning_effort else ""
        self.identity = f"openai {where.netloc}{where.path} model={settings.model} images={api_form(settings.max_side)}{effort}"
        self.simulated = False
        self._settings = settings
        self._key = key
        self._seed = seed
        fixed = settings.tokens_key is not None
        self._learned = Learned(Form(settings.tokens_key or TOKENS_KEYS[0], fixed, settings.reasoning_effort))
        self._runs: list[_Run] = []

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the server was found to refuse, to ignore or to do badly so far: a sentence each, to be read after a run."""
        return self._learned.remarks(self.name)

    def __repr__(self) -> str:
        return f"<{self.identity}>"

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Answer in completion order; see `types.Model`. Raises ModelError on a wrong key, an unknown model, no server."""
        run = _Run(self._settings, self._key, self._learned, Random(f"{self._seed}:openai:wait"))
        self._runs.append(run)
        try:
            yield from self._drive(run, requests)
        finally:
            run.stop()
            self._runs.remove(run)

    def close(self) -> None:
        """Cancel what is in flight; iterators still open yield what is done and end."""
        for run in list(self._runs):
            run.stop()

    def _drive(self, run: _Run, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Pull and yield in turn, so that neither a slow producer nor a slow consumer empties the window."""
        window = self._settings.concurrency + min(self._settings.concurrency, AHEAD)
        more, waiting = True, 0
        while more or waiting:
            request = next(requests, None) if more and waiting < window else None
            if request is not None:
                call = self._encode(request)
                if isinstance(call, Response):
                    yield request, call
                else:
                    run.submit(call)
                    waiting += 1
                if run.done.empty():
                    continue
            elif waiting < window:
                more = False
                if not waiting:
                    return
            answer = run.done.get()
            if answer is None:
                if run.failure is not None:
                    raise run.failure
                return
            waiting -= 1
            yield answer

    def _encode(self, request: Request) -> _Call | Response:
        """The body, encoded once for all attempts; a Response when there is nothing that could be sent."""
        try:
            form = self._learned.form
            return _Call(request, encode(request, model=self._settings.model, max_side=self._settings.max_side, form=form), form)
        except BadImageError as error:
            return Response(status="bad_image", error=str(error))
        except orjson.JSONEncodeError as error:
            return Response(status="error", error=f"The prompt cannot be sent as UTF-8: {error}.")


@dataclass(frozen=True, slots=True)
class _Call:
    """A request and its encoded body."""

    request: Request
    body: bytes
    form: Form


@dataclass(frozen=True, slots=True, eq=False)
class _Flight:
    """An attempt under way."""

    timer: asyncio.Timeout
    started: float
    patience: float
    """How many times the attempt time-out it may take."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a server sent back."""

    status: int
    """HTTP status."""
    retry_after: str | None
    """That header."""
    location: str | None
    """That header."""
    payload: bytes
    started: float
    """Seconds of the loop's clock; so `ended`."""
    ended: float
    in_flight: int
    """Attempts under way when this one began, itself included."""


class _Run:
    """One `generate`: a thread with an event loop, and the queue that brings its answers back."""

    def __init__(self, settings: Settings, key: str | None, learned: Learned, random: Random) -> None:
        self.done: SimpleQueue[tuple[Request, Response] | None] = SimpleQueue()
        """Answers; None after the last one, whatever ended the run."""
        self.failure: BaseException | None = RuntimeError("the event loop of the openai model died (its traceback was printed)")
        """Once ended: why it ended early. A ModelError is for the user, anything else is a bug."""
        self._settings, self._key, self._learned, self._random = settings, key, learned, random
        self._pace, self._patience = Pace(settings.concurrency), Patience(settings.min_attempt_timeout)
        self._gate = Gate(self._pace)
        self._inbox: asyncio.Queue[_Call] = asyncio.Queue()
        self._stopped, self._greeted = asyncio.Event(), asyncio.Event()
        self._proxy = settings.proxy
        self._greeting = self._heard = self._proven = False
        self._flights: set[_Flight] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="eyetest-openai", daemon=True)
        self._thread.start()

    def submit(self, call: _Call) -> None:
        """Hand a call to the loop. Calling thread."""
        self._tell(lambda: self._inbox.put_nowait(call))

    def stop(self) -> None:
        """Cancel what is in flight and end the thread. Any thread, any number of times."""
        self._tell(self._stopped.set)
        self._thread.join()

    def _tell(self, what: Callable[[], None]) -> None:
        # A loop that has ended takes no calls; its None is in the queue then, and the caller is about to read it.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                self.failure = runner.run(self._serve())
        finally:
            self.done.put(None)

    async def _serve(self) -> BaseException | None:
        """Work until stopped (None) or until a worker fails (why)."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        connector = _Connector(limit=0, ttl_dns_cache=300)
        patient = aiohttp.ClientTimeout(total=None, sock_connect=None)
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=patient, cookie_jar=jar) as session:
            workers = [asyncio.create_task(self._work(session)) for _ in range(self._settings.concurrency)]
            tasks = [asyncio.create_task(self._stopped.wait()), asyncio.create_task(self._watch()), *workers]
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._learned.paced(self._pace)
        return next((error for task in ended if (error := task.exception())), None)

    async def _watch(self) -> None:
        """End attempts that take too long; looks again, since what is too long is learnt while they fly."""
        while True:
            await asyncio.sleep(TICK)
            longest = self._patience.longest()
            now = self._loop.time()
            for flight in self._flights:
                if now - flight.started > longest * flight.patience and not flight.timer.expired():
                    flight.timer.reschedule(now)

    async def _work(self, session: aiohttp.ClientSession) -> None:
        """One of `concurrency` workers. A request that waits for its next attempt keeps its place: told to slow down, we do."""
        while True:
            await self._gate.enter()
            call = await self._inbox.get()
            if not self._greeted.is_set():
                if self._greeting:
                    await self._greeted.wait()
                else:
                    self._greeting = True
                    self._loop.call_later(GREETING, self._greeted.set)
            self.done.put((call.request, await self._answer(session, call)))
            self._gate.leave()

    async def _answer(self, session: aiohttp.ClientSession, call: _Call) -> Response:
        """The response after as many attempts as it takes and is allowed."""
        started, attempt, timeouts = self._loop.time(), 0, 0
        while True:
            last = attempt == self._settings.retries
            patience = math.inf if last else 2.0 ** min(timeouts, 64)
            outcome = await self._attempt(session, call, started + self._settings.timeout, patience)
            self._greeted.set()
            if isinstance(outcome, Response):
                return outcome
            timeouts += outcome.timed_out
            wait = self._wait(outcome, attempt)
            if last or self._loop.time() + wait - started >= self._settings.timeout:
                break
            await asyncio.sleep(wait)
            attempt += 1
        if not self._heard:
            raise no_server(self._settings, outcome.reason)
        asked = f", and the server asks to wait {outcome.wait:.0f} s" if outcome.wait is not None and not last else ""
        spent = self._loop.time() - started
        return Response(status="error", error=f"Gave up after {attempt + 1} attempts in {spent:.1f} s{asked}: {outcome.reason}")

    def _wait(self, failure: Failure, attempt: int) -> float:
        """Seconds until the next attempt. Jittered, or requests that failed together would return together."""
        if failure.wait is not None:
            return failure.wait + self._random.uniform(0, 0.25)
        return min(LONGEST_BACKOFF, BACKOFF * 2.0 ** min(attempt, 64)) * self._random.uniform(0.5, 1)

    async def _attempt(self, session: aiohttp.ClientSession, call: _Call, deadline: float, patience: float) -> Response | Failure:
        """Send once; again at once where the server refuses a field that it can do without. Raises ModelError as `_read` does."""
        while True:
            form = self._learned.form
            body = call.body if call.form == form else form.rewritten(call.body)
            reply = await self._send(session, body, deadline, patience)
            if not isinstance(reply, _Reply):
                return reply
            outcome = self._outcome(reply, call.request)
            refused = reply.status in FIELD_REFUSED and isinstance(outcome, Response) and outcome.status == "error"
            if not (refused and self._learned.refuse(call.request, form, reply.payload)):
                return outcome

    async def _send(
        self, session: aiohttp.ClientSession, body: bytes, deadline: float, patience: float
    ) -> _Reply | Failure | Response:
        """What the server sends back, or why it sends nothing that can be read."""
        started = self._loop.time()
        flight = _Flight(asyncio.timeout_at(deadline), started, patience)
        in_flight = len(self._flights) + 1
        data = body if len(body) < LARGE_BODY else io.BytesIO(body)
        try:
            async with flight.timer:
                self._flights.add(flight)
                try:
                    async with session.post(self._settings.url, data=data, proxy=self._proxy, allow_redirects=False) as reply:
                        self._heard = True
                        payload = await _read(reply)
                finally:
                    self._flights.discard(flight)
        except TimeoutError:
            self._pace.refused(started, self._loop.time())
            return Failure(f"no answer within {self._loop.time() - started:.1f} s", timed_out=True)
        except (aiohttp.ClientError, OSError) as error:
            return Failure(no_answer(error, self._settings.base_url, self._proxy))
        if payload is None:
            return Response(status="error", error=f"The answer is larger than {LARGEST_ANSWER >> 20} MB; it was not read on.")
        waits, location = reply.headers.get("Retry-After"), reply.headers.get("Location")
        return _Reply(reply.status, waits, location, payload, started, self._loop.time(), in_flight)

    def _outcome(self, reply: _Reply, request: Request) -> Response | Failure:
        """A reply as data, noted by all who learn from it. Raises ModelError where no request of this run can succeed."""
        outcome = decode(reply.status, reply.retry_after, reply.payload, request.labels, self._key)
        if out_of_money(reply.status, reply.payload):
            raise no_money(self._settings, (outcome.reason if isinstance(outcome, Failure) else outcome.error) or "")
        if isinstance(outcome, Failure):
            if outcome.full:
                self._pace.refused(reply.started, reply.ended)
            return outcome
        if outcome.status == "error":
            if reply.status in MOVED and not self._proven:
                raise elsewhere(self._settings, reply.status, reply.location)
            if reply.status in NO_ACCESS and not self._proven:
                raise no_access(self._settings, reply.status, outcome.error or "", held=self._key is not None)
            return outcome
        self._proven = True
        latency = reply.ended - reply.started
        self._patience.took(latency)
        self._pace.succeeded(reply.started, reply.ended)
        self._learned.queue.took(latency, reply.in_flight)
        self._learned.answered(request, outcome, reply.payload)
        return replace(outcome, latency=latency)
