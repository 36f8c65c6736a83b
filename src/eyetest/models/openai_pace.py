"""How many requests one server is given at once, and how long an attempt may take: what its answers teach. No clock of its own.

Additive increase, multiplicative decrease (Chiu & Jain 1989), with two departures that measurements asked for:

* A stray 429 is its own request's affair: that request waits as long as the server says and keeps its place meanwhile.
  Halving at every one would leave 9 of 64 places to a server that refuses 2 % at random. Only when more than one in
  `TOLERATED` of a round is refused or timed out is the server full.
* Latency is compared with rounds at a like limit, never with a request that went alone: a server that batches is slower
  for each and faster for all.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import deque

TOLERATED = 8
"""One in so many answers of a round may be a refusal before the limit is halved."""
SHORTEST_ROUND = 8
"""Answers in the shortest round; else a round is as many as may be in flight."""
STEPS = 16
"""Rounds of successes that lead from nothing to the ceiling."""
RISEN = 4.0
"""A median latency of so many times the usual one is an overload."""
ROUNDS = 8
"""Rounds of which the usual latency is the median; compared from the third on."""

SETTLED = 5
"""Successes from which on their median says how long an attempt may take; until then `FIRST_TIMEOUT`."""
FIRST_TIMEOUT = 60.0
"""Seconds an attempt may take before enough others have succeeded."""
LATE = 8.0
"""Median latencies that an attempt may take."""


class Pace:
    """The number of requests that may be in flight, from 1 to `ceiling`; starts there.

    Times are seconds of any one clock. What an attempt that started before the last cut brings teaches nothing new, so the
    limit is halved at most once a round trip.
    """

    def __init__(self, ceiling: int) -> None:
        self.cuts = 0
        """How often the limit was halved."""
        self._ceiling = ceiling
        self._limit = float(ceiling)
        self._cut_at = float("-inf")
        self._troubles = 0
        self._latencies: list[float] = []
        self._usual: deque[float] = deque(maxlen=ROUNDS)

    @property
    def limit(self) -> int:
        """Requests that may be in flight now."""
        return int(self._limit)

    def succeeded(self, started: float, now: float) -> None:
        """An attempt begun at `started` was answered."""
        if started < self._cut_at:
            return
        self._latencies.append(now - started)
        if len(self._latencies) + self._troubles >= self._round:
            self._end_round(now)

    def refused(self, started: float, now: float) -> None:
        """An attempt begun at `started` was turned away (429, 503), or not answered in time."""
        if started < self._cut_at:
            return
        self._troubles += 1
        if self._troubles > max(1, self._round / TOLERATED):
            self._cut(now)

    @property
    def _round(self) -> int:
        return max(SHORTEST_ROUND, self.limit)

    def _end_round(self, now: float) -> None:
        median = statistics.median(self._latencies)
        if len(self._usual) > 1 and median >= RISEN * statistics.median(self._usual):
            self._cut(now)
            return
        self._usual.append(median)
        self._limit = min(float(self._ceiling), self._limit + max(1.0, self._ceiling / STEPS))
        self._begin_round()

    def _cut(self, now: float) -> None:
        self.cuts += 1
        self._limit = max(1.0, self._limit / 2)
        self._cut_at = now
        self._usual.clear()
        self._begin_round()

    def _begin_round(self) -> None:
        self._troubles = 0
        self._latencies = []


class Gate:
    """Lets as many tasks of one event loop in as the pace allows. First come, first served."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a place and take it."""
        if self._inside < self._pace.limit and not self._queue:
            self._inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        await turn  # whoever let us in has counted us

    def leave(self) -> None:
        """Give the place back, and let in as many as the limit, which may have risen, has room for."""
        self._inside -= 1
        while self._queue and self._inside < self._pace.limit:
            turn = self._queue.popleft()
            if not turn.cancelled():
                self._inside += 1
                turn.set_result(None)


class Patience:
    """How long an attempt may take: `LATE` times the median latency of what succeeded, at least `shortest` seconds."""

    def __init__(self, shortest: float) -> None:
        self._shortest = shortest
        self._latencies: deque[float] = deque(maxlen=256)

    def took(self, latency: float) -> None:
        """An attempt succeeded after so many seconds."""
        self._latencies.append(latency)

    def longest(self) -> float:
        """Seconds that an attempt may take now."""
        if len(self._latencies) < SETTLED:
            return max(self._shortest, FIRST_TIMEOUT)
        return max(self._shortest, LATE * statistics.median(self._latencies))
