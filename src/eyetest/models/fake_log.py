"""What the fake server counts, and the file in which it writes every attempt."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import orjson

from eyetest.errors import UsageError
from eyetest.models.fake_answers import Body

ANSWERS = frozenset({"ok", "blocked", "filtered", "refused", "refused_text", "length"})
"""Outcomes after which nothing is left to ask."""
TURNED_AWAY = frozenset({"busy", "rate_limited"})
"""Outcomes of attempts that a limit sent away, with HTTP 429."""


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
    """`ok`, fault, HTTP status, `400 FIELD` (rejected), `busy`, `rate_limited` or `unanswered` -> attempts."""
    attempts: Counter[str] = field(default_factory=Counter)
    """sha256 of a body -> attempts, without those that a limit turned away."""
    in_flight: int = 0
    """Attempts under way."""
    peak: int = 0
    """Most attempts under way at once."""
    received: list[Received] = field(default_factory=list)
    """Every attempt in order of arrival."""
    again: int = 0
    """Attempts that came after the same body had been answered (see ANSWERS): what a client should never do."""
    abandoned: int = 0
    """Attempts whose client left before it was answered."""
    answered: set[str] = field(default_factory=set)
    """sha256 of every body that was answered."""

    @property
    def requests(self) -> int:
        """Attempts in all."""
        return self.outcomes.total()

    def arrive(self, digest: str) -> int:
        """Count an attempt that is served; how often the same body was before."""
        attempt = self.attempts[digest]
        self.attempts[digest] += 1
        self.again += digest in self.answered
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        return attempt

    def amend(self, wrong: str, right: str) -> None:
        """Count the latest attempt with outcome `wrong` as `right`."""
        self.outcomes[right] += 1
        self.outcomes[wrong] -= 1
        if not self.outcomes[wrong]:
            del self.outcomes[wrong]

    def leave(self, digest: str, outcome: str, *, delivered: bool) -> None:
        """An attempt ends, answered or not."""
        self.in_flight -= 1
        if not delivered:
            self.abandoned += 1
        elif outcome in ANSWERS:
            self.answered.add(digest)

    def as_dict(self) -> dict[str, Any]:
        """What `/log` returns."""
        return {
            "requests": self.requests,
            "distinct": len(self.attempts),
            "ok": self.outcomes["ok"],
            "answered": len(self.answered),
            "outcomes": dict(sorted(self.outcomes.items())),
            "asked_again_after_success": self.again,
            "abandoned": self.abandoned,
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak,
        }


class Journal:
    """A JSON Lines file of attempts, one write each, so that a server that is killed loses only what was under way.

    A line holds `time` (Unix seconds of arrival), `sha256` (of the body), `attempt`, `outcome`, `latency` (seconds until the
    reply was ready or the client had left) and `delivered`. Neither headers nor bodies: no key can be in it.
    """

    def __init__(self, file: Path | None) -> None:
        try:
            self._file = None if file is None else FileIO(str(file), "a")
        except OSError as error:
            raise UsageError(f"fake server: cannot write the log {file}: {error.strerror}. Name another file.") from error

    def write(self, arrived: float, digest: str, attempt: int, outcome: str, *, delivered: bool = True) -> None:
        """Append one attempt. arrived: `time.time()` when it came."""
        if self._file is not None:
            took = round(time.time() - arrived, 6)
            row = {"time": round(arrived, 6), "sha256": digest, "attempt": attempt, "outcome": outcome, "latency": took}
            self._file.write(orjson.dumps(row | {"delivered": delivered}, option=orjson.OPT_APPEND_NEWLINE))

    def close(self) -> None:
        """Close the file; what comes later is not written."""
        if self._file is not None:
            self._file.close()
            self._file = None
