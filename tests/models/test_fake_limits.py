"""The fake server's limits, on a clock that the test turns."""

from __future__ import annotations

import pytest

from eyetest.models.fake_limits import Limits, duration


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_no_limit() -> None:
    limits = Limits(0, 0, Clock())
    assert [limits.turns_away(1000) for _ in range(1000)] == [None] * 1000
    assert (limits.headers(), limits.wait) == ({}, 0.0)


def test_at_once() -> None:
    limits = Limits(3, 0, Clock())
    assert [limits.turns_away(n) for n in (0, 2, 3, 4)] == [None, None, "busy", "busy"]


def test_a_minutes_requests_at_once_then_one_each_time_the_bucket_holds_one() -> None:
    clock = Clock()
    limits = Limits(0, 30, clock)
    assert [limits.turns_away(0) for _ in range(31)] == [None] * 30 + ["rate_limited"]
    assert limits.wait == pytest.approx(2.0)
    clock.now = 1.5
    assert limits.turns_away(0) == "rate_limited"
    assert limits.wait == pytest.approx(0.5), "being turned away costs nothing"
    clock.now = 2.5
    assert [limits.turns_away(0) for _ in range(2)] == [None, "rate_limited"]
    assert limits.headers() == {
        "x-ratelimit-limit-requests": "30",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "59.5s",
    }
    clock.now = 10_000
    assert [limits.turns_away(0) for _ in range(31)] == [None] * 30 + ["rate_limited"], "no more than a minute's is saved"


def test_who_is_turned_away_for_being_one_too_many_costs_nothing() -> None:
    limits = Limits(1, 60, Clock())
    limits.turns_away(1)
    assert limits.headers()["x-ratelimit-remaining-requests"] == "60"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0ms"), (0.02, "20ms"), (1.5, "1.5s"), (59.5, "59.5s"), (90, "1m30s"), (360, "6m0s")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
