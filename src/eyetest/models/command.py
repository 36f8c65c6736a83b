"""Any program as a model: `command:PROGRAM [ARGUMENTS]` writes it a line of JSON a request and reads a line an answer.

    command:PROGRAM [ARGUMENTS][,processes=1][,timeout=60][,restarts=3][,window=8]

The words are split as a shell splits them, but no shell runs. What goes over the wire is in `command_wire`, how processes
live and die in `command_pool`; docs/models.md has an example of ten lines. Only the messages, the generation settings
and the labels are sent: a program can learn nothing of the sample's answer.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import orjson

from eyetest.errors import BadImageError, ModelError, UsageError
from eyetest.images import api_form
from eyetest.models.baselines import read_spec
from eyetest.models.command_pool import Job, Pool, Settings, Stream
from eyetest.models.command_wire import LONGEST_REQUEST, encode
from eyetest.models.huggingface import file_digest
from eyetest.models.openai_secret import HIDDEN, SHORTEST, scrub
from eyetest.types import Model, Request, Response

OPTIONS: Mapping[str, type] = {"processes": int, "timeout": float, "restarts": int, "window": int}
LEAST: Mapping[str, int] = {"processes": 1, "restarts": 0, "window": 1}
SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
"""Names of environment variables whose values no answer, error or run file may repeat."""

LONGEST_KEY = 128
"""Characters of the longest secret that is also looked for in escaped forms, whose pattern takes seconds to build for 500."""


def command(argument: str, options: Mapping[str, str], seed: int) -> Model:  # noqa: ARG001  (every factory has this form)
    """Any program that answers lines of JSON, command:PROGRAM [ARGUMENTS], e.g. 'command:python model.py,window=1'.

    The spec wins over the run file's options: processes (1), timeout (60 seconds without an answer), restarts (3 in a row),
    window (8 requests at once in a process). Nothing is started before the first request. Raises UsageError on a wrong
    spec, ModelError where there is no such program.
    """
    if sys.platform == "win32":
        raise UsageError("command needs Linux or macOS. Put the program behind an OpenAI-compatible server and use openai:NAME.")
    settings = read_settings(argument, options)
    program = shutil.which(settings.words[0])
    if program is None:
        found = "is not executable (chmod +x)" if os.path.isfile(settings.words[0]) else "is neither a file nor on the PATH"
        raise ModelError(
            f"command:{argument}: the program {settings.words[0]!r} {found}. "
            f"Write command:PROGRAM [ARGUMENTS], for a script with its interpreter: command:python model.py."
        )
    return CommandModel(settings, f"command:{argument}", identity(settings.words, program))


def read_settings(argument: str, options: Mapping[str, str]) -> Settings:
    """Settings from the spec and the run file's options; the spec wins. Raises UsageError."""
    text, chosen = read_spec(argument, options, OPTIONS, what="command", free_text=True)
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"command:{text}: cannot be split into words ({error}). Close the quotation, or escape it.") from None
    if not words:
        raise UsageError("command needs a program. Write command:PROGRAM [ARGUMENTS], e.g. 'command:python model.py'.")
    for key, least in LEAST.items():
        if chosen.get(key, least) < least:
            raise UsageError(f"command: {key}={chosen[key]} is too small; expected {least} or more.")
    if not 0 < chosen.get("timeout", 1.0) < float("inf"):
        raise UsageError(f"command: timeout={chosen['timeout']:g} is not a number of seconds above 0.")
    for name, value in secrets().items():
        if any(value in word for word in words):
            raise UsageError(
                f"command: the command line holds the value of the environment variable {name}, and would be written into "
                f"run files. Leave it out: the program inherits the environment and can read {name} itself."
            )
    return Settings(words, **chosen)


def identity(words: Sequence[str], program: str) -> str:
    """The command line, and the contents of the program and of every file that it names.

    words: the command line; program: where its first word was found. Of `--weights=FILE` the part after the sign counts.
    Folders, and what a program imports, are not seen.
    """
    named = [program, *(word if os.path.isfile(word) else word.partition("=")[2] for word in words[1:])]
    digests = [file_digest(Path(file))[:16] for file in named if os.path.isfile(file)]
    return f"command {shlex.join(words)} sha256:{','.join(digests)} images={api_form(None)}"


def secrets() -> dict[str, str]:
    """Environment variables that look like secrets by their names, with their values."""
    return {name: value for name, value in os.environ.items() if SECRET.search(name) and len(value) >= SHORTEST}


def cleaner() -> Callable[[str], str]:
    """A function that takes the values of today's secrets out of a text."""
    hidden = list(secrets().values())

    def clean(text: str) -> str:
        for secret in hidden:
            text = scrub(text, secret) if len(secret) <= LONGEST_KEY else text.replace(secret, HIDDEN)
        return text

    return clean


class CommandModel:
    """A program behind the `Model` protocol. Started at the first request, ended by `close`, kept between `generate` calls."""

    def __init__(self, settings: Settings, name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.simulated = False
        self._settings = settings
        self._numbers = count(1)
        self._pool: Pool | None = None

    def __repr__(self) -> str:
        return f"<{self.identity}>"

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Answer in completion order; see `types.Model`. Pulls at most processes x window ahead.

        Raises ModelError when the program cannot be started, or ends again and again without an answer.
        """
        pool = self._running()
        stream = pool.open()
        try:
            yield from self._drive(pool, stream, requests)
        finally:
            pool.leave(stream)

    def close(self) -> None:
        """End the processes; iterators still open yield what is done and end. A later `generate` starts them again."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.stop()
        if pool.strays:
            warnings.warn(f"{self.name}:{pool.complaint()}", RuntimeWarning, stacklevel=2)

    def _running(self) -> Pool:
        if self._pool is None or self._pool.ended:
            self._pool = Pool(self._settings, self.name, cleaner())
            weakref.finalize(self, self._pool.stop)  # also when Python ends
        return self._pool

    def _drive(self, pool: Pool, stream: Stream, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        window = self._settings.processes * self._settings.window
        more, waiting = True, 0
        while more or waiting:
            request = next(requests, None) if more and waiting < window else None
            if request is not None:
                job = self._encode(request, stream)
                if isinstance(job, Response):
                    yield request, job
                else:
                    pool.submit(job)
                    waiting += 1
                if stream.done.empty():
                    continue
            elif waiting < window:
                more = False
                if not waiting:
                    return
            answer = stream.done.get()
            if answer is None:
                if pool.failure is not None:
                    raise pool.failure
                return
            waiting -= 1
            yield answer

    def _encode(self, request: Request, stream: Stream) -> Job | Response:
        """The request as a line; a Response when there is nothing that could be sent."""
        number = str(next(self._numbers))
        try:
            line = encode(number, request)
        except BadImageError as error:
            return Response(status="bad_image", error=str(error))
        except orjson.JSONEncodeError as error:
            return Response(status="error", error=f"The prompt cannot be sent as UTF-8: {error}.")
        if len(line) > LONGEST_REQUEST:
            size, limit = len(line) >> 20, LONGEST_REQUEST >> 20
            return Response(status="error", error=f"The request is a line of {size} MB, over the limit of {limit} MB.")
        return Job(number, request, line, stream)
