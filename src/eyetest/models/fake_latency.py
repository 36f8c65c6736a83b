"""How long the fake server takes: seconds drawn from a distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from random import Random

from eyetest.errors import DataError, UsageError, unknown

Latency = Callable[[Random], float]
"""Seconds, 0 or more, drawn with the given source."""

KINDS = ("constant", "uniform", "lognormal", "file")
Z99 = 2.3263478740408408
"""99 % quantile of the standard normal distribution."""


def latency_of(spec: str) -> Latency:
    """The distribution that a spec names: `SECONDS`, `constant:SECONDS`, `uniform:LOW,HIGH`, `lognormal:MEDIAN,P99`, `file:FILE`.

    P99: seconds that 1 % of the draws exceed. FILE: one number of seconds a line, drawn with equal probability.
    Raises UsageError, and DataError naming file and line.
    """
    kind, colon, argument = spec.partition(":")
    if not colon:
        kind, argument = "constant", spec
    if kind not in KINDS:
        raise unknown("latency", kind, KINDS, "fake server")
    if kind == "file":
        return _drawn(_read(Path(argument)))
    numbers = _numbers(argument)
    if len(numbers) != (1 if kind == "constant" else 2) or numbers != sorted(numbers) or (kind == "lognormal" and not numbers[0]):
        raise UsageError(
            f"fake server: latency {spec!r}: write SECONDS, uniform:LOW,HIGH, lognormal:MEDIAN,P99 (the median above 0, "
            f"the second number no smaller than the first) or file:FILE; all in seconds, 0 or more."
        )
    if kind == "constant":
        return lambda _random: numbers[0]
    low, high = numbers
    return uniform(low, high) if kind == "uniform" else lognormal(low, high)


def uniform(low: float, high: float) -> Latency:
    """Uniform between two numbers of seconds; what falls below 0 is 0."""
    return lambda random: max(0.0, random.uniform(low, high))


def lognormal(median: float, p99: float) -> Latency:
    """exp of a normal variable with mean ln(median) and deviation ln(p99 / median) / z99: the usual shape of serving times."""
    mean, deviation = math.log(median), math.log(p99 / median) / Z99
    return lambda random: random.lognormvariate(mean, deviation)


def _drawn(seconds: list[float]) -> Latency:
    return lambda random: random.choice(seconds)


def _numbers(text: str) -> list[float]:
    """The comma-separated numbers, each finite and at least 0; empty where there is anything else."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return found if all(math.isfinite(number) and number >= 0 for number in found) else []


def _read(file: Path) -> list[float]:
    try:
        lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"fake server: cannot read {file}: {error}. Give file:FILE with one number of seconds a line.") from error
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            seconds = _numbers(line)
            if len(seconds) != 1:
                raise DataError(f"{file}:{number}: expected seconds, 0 or more, such as 0.25; found {line.strip()[:80]!r}.")
            found += seconds
    if not found:
        raise DataError(f"fake server: {file} is no file that holds latencies. Give file:FILE with one number of seconds a line.")
    return found
