"""One running program behind `command:PROGRAM`: started, written to, listened to and ended, with all its children."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections import deque
from collections.abc import Callable

from eyetest.errors import ModelError
from eyetest.models.command_wire import LONGEST_ANSWER

FAREWELL = 1.0
"""Seconds that a program has to end by itself when its input ends; then it is told to (SIGTERM)."""
GRACE = 3.0
"""Seconds from SIGTERM to SIGKILL."""
KEPT_LINES = 100
"""Lines of standard error that are kept."""
KEPT_OF_LINE = 4_000
"""Bytes of each that are kept."""
SHOWN = 2_000
"""Characters of standard error that an error message shows: the last ones."""


class Process:
    """A running program in a session of its own, so that Ctrl-C is ours to handle and its children end with it."""

    def __init__(self, process: asyncio.subprocess.Process, clean: Callable[[str], str], live: set[Process]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.output = process.stdout
        self._process, self._input = process, process.stdin
        self._clean, self._live = clean, live
        self._lines: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._told = False
        self._listening = asyncio.create_task(self._listen(process.stderr))
        live.add(self)

    @classmethod
    async def start(cls, words: tuple[str, ...], name: str, clean: Callable[[str], str], live: set[Process]) -> Process:
        """Start the program. Raises ModelError if the system does not.

        words: it and its arguments; name: the model, for errors; clean: takes secrets out of a text; live: where it
        enters itself until it has ended.
        """
        # A Python program would hold answers back in a buffer, and write them in the terminal's encoding.
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                limit=LONGEST_ANSWER,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL character
            reason = getattr(error, "strerror", None) or error
            raise ModelError(
                f"{name}: {words[0]} cannot be started ({reason}). It must be a program: an executable file, "
                f"a script that begins with #!, or an interpreter followed by the script (python model.py)."
            ) from None
        return cls(process, clean, live)

    async def write(self, line: bytes) -> None:
        """Send a line; returns when the system has taken most of it."""
        self._input.write(line)
        await self._input.drain()

    async def end(self) -> None:
        """End it and its children, and wait until it is gone: end of input, then SIGTERM, then SIGKILL."""
        self._input.close()
        for told, seconds in ((None, FAREWELL), (signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
            if told is not None:
                self._told = True
                self._signal(told)
            if await self._gone(seconds):
                break
        self._signal(signal.SIGKILL)  # children that outlived it, and hold its pipes
        draining = asyncio.create_task(self._drain())
        await asyncio.wait([draining, self._listening], timeout=GRACE)
        draining.cancel()
        self._listening.cancel()
        self._live.discard(self)

    async def _drain(self) -> None:
        while await self.output.read(2**16):
            pass

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _gone(self, seconds: float) -> bool:
        # Not Process.wait(): that also waits for the pipes, which a child of the program may hold.
        until = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() > until:
                return False
            await asyncio.sleep(0.01)
        return True

    async def _listen(self, errors: asyncio.StreamReader) -> None:
        """Keep the last lines of standard error, and drain it, or the program would stop when the pipe is full."""
        rest = b""
        while chunk := await errors.read(2**16):
            *lines, rest = re.split(rb"[\r\n]+", rest + chunk)
            self._lines.extend(line[:KEPT_OF_LINE] for line in lines if line.strip())
            rest = rest[:KEPT_OF_LINE]
        if rest.strip():
            self._lines.append(rest)

    @property
    def exit(self) -> str:
        """How it ended."""
        code = self._process.returncode
        if self._told or code is None:
            return "closed its standard output without ending"
        if code < 0:
            return f"was ended by {signal.strsignal(-code) or 'an unknown signal'} (signal {-code})"
        return f"ended with exit code {code}"

    def last_words(self) -> str:
        """The end of its standard error as a sentence, without secrets."""
        said = self._clean("\n".join(line.decode("utf-8", "replace") for line in self._lines))[-SHOWN:]
        return f" Its standard error ends with: {said}" if said else " It wrote nothing on standard error."
