"""Limits of the fake server: attempts at once, and requests a minute."""

from __future__ import annotations

import time
from collections.abc import Callable

MINUTE = 60.0


class Limits:
    """Whom to turn away.

    concurrency: most attempts served at once; per_minute: requests a minute, in a bucket that holds a minute's and fills
    evenly; 0 is no limit. clock: seconds.
    """

    def __init__(self, concurrency: int, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._concurrency, self._per_minute, self._clock = concurrency, per_minute, clock
        self._left, self._at = float(per_minute), clock()

    def turns_away(self, in_flight: int) -> str | None:
        """`busy` or `rate_limited` for an attempt that comes now, else None, and then it is counted.

        in_flight: attempts being served.
        """
        if self._concurrency and in_flight >= self._concurrency:
            return "busy"
        if self._per_minute:
            self._fill()
            if self._left < 1:
                return "rate_limited"
            self._left -= 1
        return None

    @property
    def wait(self) -> float:
        """Seconds until the bucket holds a request."""
        self._fill()
        return max(0.0, 1 - self._left) * MINUTE / self._per_minute if self._per_minute else 0.0

    def headers(self) -> dict[str, str]:
        """OpenAI's `x-ratelimit-*` headers of requests; none without a limit."""
        if not self._per_minute:
            return {}
        self._fill()
        return {
            "x-ratelimit-limit-requests": str(self._per_minute),
            "x-ratelimit-remaining-requests": str(int(self._left)),
            "x-ratelimit-reset-requests": duration((self._per_minute - self._left) * MINUTE / self._per_minute),
        }

    def _fill(self) -> None:
        now = self._clock()
        self._left = min(float(self._per_minute), self._left + (now - self._at) * self._per_minute / MINUTE)
        self._at = now


def duration(seconds: float) -> str:
    """As OpenAI writes it: `20ms`, `1.5s`, `6m0s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    minutes, rest = divmod(seconds, MINUTE)
    return f"{minutes:.0f}m{rest:.0f}s" if minutes else f"{round(rest, 3):g}s"
