"""How many at once and for how long, on clocks that do not run."""

from __future__ import annotations

import asyncio
import heapq
from random import Random

import pytest

from eyetest.models.openai_pace import FIRST_TIMEOUT, Gate, Pace, Patience


def rounds(pace: Pace, count: int, *, start: float, latency: float = 0.1) -> float:
    """Full rounds of successes, one after another; the time after the last."""
    now = start
    for _ in range(count):
        for _ in range(max(8, pace.limit)):
            pace.succeeded(now, now + latency)
        now += latency
    return now


def test_it_starts_at_the_ceiling_and_never_passes_it() -> None:
    pace = Pace(64)
    assert pace.limit == 64
    rounds(pace, 5, start=0)
    assert (pace.limit, pace.cuts) == (64, 0)


def test_a_full_server_halves_it_once_a_round_trip() -> None:
    pace = Pace(64)
    for _ in range(64):
        pace.refused(started=0.0, now=0.1)
    assert (pace.limit, pace.cuts) == (32, 1)
    for _ in range(32):
        pace.refused(started=0.2, now=0.3)
    assert (pace.limit, pace.cuts) == (16, 2)


def test_it_comes_back_a_step_a_round() -> None:
    pace = Pace(64)
    for _ in range(9):
        pace.refused(0.0, 0.1)
    assert pace.limit == 32
    now = rounds(pace, 1, start=0.2)
    assert pace.limit == 36
    rounds(pace, 20, start=now)
    assert pace.limit == 64


def test_stray_refusals_are_their_requests_own() -> None:
    pace, random, lowest = Pace(64), Random(0), 64
    for number in range(20_000):
        (pace.refused if random.random() < 0.03 else pace.succeeded)(number / 640, number / 640 + 0.1)
        lowest = min(lowest, pace.limit)
    assert lowest >= 32
    assert pace.cuts <= 3


@pytest.mark.parametrize("ceiling", [1, 2, 7, 1000])
def test_it_never_falls_below_one(ceiling: int) -> None:
    pace = Pace(ceiling)
    for now in range(10_000):
        pace.refused(now, now + 0.5)
    assert pace.limit == 1
    rounds(pace, 40, start=20_000)
    assert pace.limit == ceiling


def test_latency_that_rises_sharply_halves_it_and_slow_growth_does_not() -> None:
    pace = Pace(64)
    now = rounds(pace, 4, start=0, latency=0.1)
    now = rounds(pace, 1, start=now, latency=0.3)
    assert pace.cuts == 0
    now = rounds(pace, 1, start=now, latency=0.8)
    assert (pace.limit, pace.cuts) == (32, 1)
    rounds(pace, 8, start=now, latency=0.8)
    assert pace.cuts == 1, "the new level is the usual one"
    assert pace.limit > 32


def test_what_started_before_a_cut_teaches_nothing() -> None:
    pace = Pace(16)
    for _ in range(3):
        pace.refused(0.0, 1.0)
    assert pace.limit == 8
    for _ in range(50):
        pace.succeeded(0.5, 1.2)
        pace.refused(0.5, 1.2)
    assert (pace.limit, pace.cuts) == (8, 1)


def simulated(capacity: int, ceiling: int, n: int) -> tuple[float, float]:
    """A server that answers `capacity` at once in 0.1 s each and refuses others, asking for 0.5 s: (seconds, refusals)."""
    pace, now, serving, refusals = Pace(ceiling), 0.0, 0, 0
    waiting, inside, events, order = n, 0, [], 0
    while waiting or inside:
        while waiting and inside < pace.limit:
            waiting, inside, order = waiting - 1, inside + 1, order + 1
            heapq.heappush(events, (now, order, "send", now))
        now, _, what, started = heapq.heappop(events)
        order += 1
        if what == "answer":
            serving, inside = serving - 1, inside - 1
            pace.succeeded(started, now)
        elif serving < capacity:
            serving += 1
            heapq.heappush(events, (now + 0.1, order, "answer", now))
        else:
            refusals += 1
            pace.refused(now, now + 0.001)
            heapq.heappush(events, (now + 0.5, order, "send", now))
    return now, refusals


def test_it_finds_what_a_server_can_take() -> None:
    seconds, refusals = simulated(capacity=10, ceiling=64, n=2000)
    assert seconds < 2.5 * 2000 / 10 * 0.1
    assert refusals < 1000
    assert simulated(capacity=64, ceiling=64, n=640) == (pytest.approx(1.0), 0)


def test_the_gate_lets_in_as_many_as_the_limit_in_order() -> None:
    async def main() -> None:
        pace = Pace(4)
        gate, inside = Gate(pace), []

        async def visit(number: int) -> None:
            await gate.enter()
            inside.append(number)

        tasks = [asyncio.create_task(visit(number)) for number in range(8)]
        await asyncio.sleep(0)
        assert inside == [0, 1, 2, 3]
        for _ in range(2):
            pace.refused(0.0, 1.0)
        assert pace.limit == 2
        for _ in range(3):
            gate.leave()
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert inside == [0, 1, 2, 3, 4], "two left without a successor, the third made room for one"
        rounds(pace, 2, start=2.0)
        assert pace.limit == 4
        gate.leave()
        await asyncio.sleep(0)
        assert inside == [0, 1, 2, 3, 4, 5, 6, 7], "a limit that rose lets in several"
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_who_gave_up_waiting_takes_no_place() -> None:
    async def main() -> bool:
        gate = Gate(Pace(1))
        await gate.enter()
        first, second = asyncio.create_task(gate.enter()), asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        gate.leave()
        await asyncio.wait_for(second, 5)
        return first.cancelled()

    assert asyncio.run(main())


def test_patience() -> None:
    patience = Patience(1.0)
    assert patience.longest() == FIRST_TIMEOUT
    for latency in (0.1, 0.1, 0.1, 0.1):
        patience.took(latency)
    assert patience.longest() == FIRST_TIMEOUT
    patience.took(9.0)
    assert patience.longest() == 1.0
    for _ in range(9):
        patience.took(0.5)
    assert patience.longest() == 4.0
    assert Patience(100.0).longest() == 100.0
