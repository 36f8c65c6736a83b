"""The programs behind `command:PROGRAM`: started, fed, read, timed, restarted and ended.

One thread runs an asyncio loop, and in it one worker a process. A worker keeps up to `window` requests in its process and
takes the answers in any order. When the process ends, or is ended because it takes too long or breaks the protocol, what
it left unanswered is asked again once, each request alone: so the one that kills it fails, and its neighbours do not.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from queue import SimpleQueue
from typing import NoReturn

from eyetest.errors import ModelError
from eyetest.models.command_process import KEPT_OF_LINE, Process
from eyetest.models.command_wire import LONGEST_ANSWER, decode, parse
from eyetest.types import Request, Response

STARTING = 10
"""Times the time-out that a process may take to its first answer, as it may have weights to load. Once it is known how long
that takes, twice as long is granted on top of the time-out, and no more."""
BACKOFF = 0.5
"""Seconds before the first restart without an answer in between, doubled for each further one up to `LONGEST_BACKOFF`."""
LONGEST_BACKOFF = 10.0
TICK = 0.05
"""Seconds between two looks for overdue answers."""
SHOWN_OF_STRAY = 200
"""Characters shown of a line that is no answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the spec and the run file say."""

    words: tuple[str, ...]
    """The program and its arguments."""
    processes: int = 1
    """Copies of the program that run at once."""
    timeout: float = 60.0
    """Seconds without an answer after which a process that owes some is ended; `STARTING` times as long before its first.

    A single request may take that long for itself and for each that was before it when it was sent."""
    restarts: int = 3
    """Most restarts in a row without an answer in between."""
    window: int = 8
    """Most requests that a process holds at once."""


@dataclass(slots=True, eq=False)
class Stream:
    """The answers to one `generate`."""

    done: SimpleQueue[tuple[Request, Response] | None] = field(default_factory=SimpleQueue)
    """Answers; None when no more will come."""
    abandoned: bool = False
    """Nobody waits for its answers any more."""


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way."""

    id: str
    request: Request
    line: bytes = field(repr=False)
    stream: Stream
    deaths: int = 0
    """Processes that ended while they held it."""
    sent: float = 0.0
    """Loop time in seconds."""
    before: int = 0
    """Requests that its process held when it was sent."""


class Pool:
    """The processes of one model, from its first request to `stop`. Loads nothing, starts nothing before there is work."""

    def __init__(self, settings: Settings, name: str, clean: Callable[[str], str]) -> None:
        self.settings, self.name, self.clean = settings, name, clean
        self.failure: BaseException | None = RuntimeError(f"the event loop of {name} died (its traceback was printed)")
        """Once ended: why it ended early. A ModelError is for the user, anything else is a bug."""
        self.ended = False
        self.strays = 0
        """Lines on standard output that were no answer to anything asked."""
        self.first_stray = ""
        self.loading: float | None = None
        """Most seconds that a process took to its first answer; None before there was one."""
        self.live: set[Process] = set()
        self._streams: set[Stream] = set()
        self._lock = threading.Lock()
        self._numbers = count()
        self._inbox: asyncio.PriorityQueue[tuple[bool, int, Job]] = asyncio.PriorityQueue()
        self._stopped = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="eyetest-command", daemon=True)
        self._thread.start()

    def open(self) -> Stream:
        """A place for the answers to one `generate`."""
        stream = Stream()
        with self._lock:
            self._streams.add(stream)
            if self.ended:
                stream.done.put(None)
        return stream

    def leave(self, stream: Stream) -> None:
        """Nobody reads the stream any more: what it waits for is not asked, and what is asked is dropped when it comes."""
        stream.abandoned = True
        with self._lock:
            self._streams.discard(stream)

    def submit(self, job: Job) -> None:
        """Hand a request to the processes. Any thread."""
        # A loop that has ended takes nothing; the stream's None is there then.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.enqueue, job)

    def stop(self) -> None:
        """End every process and the thread. Any thread, any number of times."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def enqueue(self, job: Job) -> None:
        """Queue a request; one that is asked again goes first. Loop thread."""
        self._inbox.put_nowait((not job.deaths, next(self._numbers), job))

    async def take(self) -> Job:
        """The next request that somebody still waits for."""
        while True:
            _, _, job = await self._inbox.get()
            if not job.stream.abandoned:
                return job

    def settle(self, job: Job, response: Response) -> None:
        """Answer a request, with no secret in the answer."""
        text, error = self.clean(response.text), response.error and self.clean(response.error)
        job.stream.done.put((job.request, replace(response, text=text, error=error)))

    def stray(self, line: bytes) -> None:
        """Count a line that answers nothing; remember the first."""
        self.strays += 1
        if self.strays == 1:
            self.first_stray = self.clean(line[:KEPT_OF_LINE].decode("utf-8", "replace").strip())[:SHOWN_OF_STRAY]

    def patience(self) -> float:
        """Seconds that a process may take to its first answer."""
        longest, timeout = self.settings.timeout * STARTING, self.settings.timeout
        return longest if self.loading is None else min(longest, timeout + 2 * self.loading)

    def complaint(self) -> str:
        """What is to be said about lines that were no answers; empty if there were none."""
        if not self.strays:
            return ""
        lines = "A line" if self.strays == 1 else f"{self.strays} lines"
        return (
            f" {lines} on its standard output answered no request; the first: {self.first_stray!r}. "
            f"Standard output is for answers; anything else belongs on standard error."
        )

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                self.failure = runner.run(self._serve())
        finally:
            with self._lock:
                self.ended = True
                for stream in self._streams:
                    stream.done.put(None)

    async def _serve(self) -> BaseException | None:
        """Work until stopped (None) or until a worker fails (why); then end what still runs."""
        workers = [asyncio.create_task(Worker(self).run()) for _ in range(self.settings.processes)]
        tasks = [asyncio.create_task(self._stopped.wait()), *workers]
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(process.end() for process in set(self.live)))
        return next((error for task in ended if (error := task.exception())), None)


class Worker:
    """One place for a process: keeps one there while there is work."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._settings = pool, pool.settings
        self._held: Job | None = None
        """Taken, but not sent yet."""
        self._flying: dict[str, Job] = {}
        """Sent and not answered, the oldest first."""
        self._room = asyncio.Event()
        self._failures = 0
        """Processes that ended since the last answer."""
        self._first = self._heard = 0.0
        """Loop time of the first and of the last answer of this process; 0 before."""

    async def run(self) -> None:
        """Start a process, work with it, end it, again and again. Raises ModelError when that makes no sense any more."""
        while True:
            self._held = self._held or await self._pool.take()
            if self._failures:
                await asyncio.sleep(min(LONGEST_BACKOFF, BACKOFF * 2.0 ** (self._failures - 1)))
            process = await Process.start(self._settings.words, self._pool.name, self._pool.clean, self._pool.live)
            self._first = self._heard = 0.0
            happened = await self._live(process)
            await process.end()
            self._bury(process, happened or process.exit)

    async def _live(self, process: Process) -> str:
        """Work with one process until it ends (an empty text) or must be ended (why)."""
        tasks = [asyncio.create_task(work) for work in (self._watch(), self._read(process), self._feed(process))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next(task.result() for task in tasks if task.done())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _feed(self, process: Process) -> str:
        """Send requests as there is room. A request that was in a process that ended goes alone."""
        loop = asyncio.get_running_loop()
        while True:
            if self._held is None:
                await self._until(lambda: len(self._flying) < (1 if self._alone() else self._settings.window))
                self._held = await self._pool.take()
            job = self._held
            if job.deaths:
                await self._until(lambda: not self._flying)
            self._held = None
            job.sent, job.before = loop.time(), len(self._flying)
            self._flying[job.id] = job
            try:
                await process.write(job.line)
            except ConnectionError:  # it reads no more; its end, or the time-out, says why
                await asyncio.Event().wait()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._room.clear()
            await self._room.wait()

    def _alone(self) -> bool:
        return any(job.deaths for job in self._flying.values())

    async def _read(self, process: Process) -> str:
        """Take answers until the output ends."""
        while True:
            try:
                self._answer(await process.output.readuntil(b"\n"))
            except asyncio.IncompleteReadError as error:
                if error.partial:
                    self._answer(error.partial)
                return ""
            except asyncio.LimitOverrunError:
                return f"wrote a line of more than {LONGEST_ANSWER >> 20} MB"

    def _answer(self, line: bytes) -> None:
        record = parse(line)
        job = None if record is None else self._flying.pop(record["id"], None)
        if record is None or job is None:
            if line.strip():
                self._pool.stray(line)
            return
        self._heard = asyncio.get_running_loop().time()
        if not self._first:
            self._first = self._heard
            self._pool.loading = max(self._pool.loading or 0.0, self._heard - job.sent)
        self._failures = 0
        self._room.set()
        self._pool.settle(job, replace(decode(record, job.request.labels), latency=self._heard - job.sent))

    async def _watch(self) -> str:
        """Wait until an answer is overdue."""
        loop, timeout = asyncio.get_running_loop(), self._settings.timeout
        while True:
            await asyncio.sleep(TICK)
            if not self._flying:
                continue
            now, oldest = loop.time(), next(iter(self._flying.values()))
            patience = timeout if self._first else self._pool.patience()
            if now > max(self._heard, oldest.sent) + patience:
                return f"gave no answer within {patience:.3g} s"
            for job in self._flying.values():
                due = max(self._first, job.sent) + timeout * (job.before + 1)
                if self._first and now > due:
                    return f"left a request unanswered for {now - job.sent:.1f} s"

    def _bury(self, process: Process, happened: str) -> None:
        """Decide about what a process left behind: asked again, given up, or the end of the run."""
        lost = [job for job in self._flying.values() if not job.stream.abandoned]
        self._flying.clear()
        self._room.set()
        self._failures = 0 if self._first and not lost else self._failures + 1
        if self._failures > self._settings.restarts:
            self._give_up(process, happened)
        for job in lost:
            job.deaths += 1
            if job.deaths > 1:
                error = f"The program {happened}, for the second time while it held this request.{process.last_words()}"
                self._pool.settle(job, Response(status="error", error=error + self._pool.complaint()))
            else:
                self._pool.enqueue(job)

    def _give_up(self, process: Process, happened: str) -> NoReturn:
        raise ModelError(
            f"{self._pool.name}: the program {happened}; that makes {self._failures} ends in a row without an answer "
            f"(restarts={self._settings.restarts}).{process.last_words()}{self._pool.complaint()} "
            f"Run it by hand: it must answer each line of JSON with a line that has the same id, and flush it. "
            f"One that needs longer takes timeout=SECONDS."
        )
