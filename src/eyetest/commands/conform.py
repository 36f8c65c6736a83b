"""`eyetest conform`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.grid import flag, whole
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.models import build
from eyetest.models.conform import AHEAD, TIMEOUT, Finding
from eyetest.models.conform import conform as try_out
from eyetest.reports.text import terminal

BROKEN = 1
"""Exit code when a check fails."""
STYLES = {"failed": "bold red", "warning": "yellow"}


def conform(
    model: Annotated[str, Parameter(help="NAME[:ARGUMENT], as for --model; e.g. 'command:python model.py'.")],
    /,
    *,
    ahead: Annotated[int, whole("Most requests that it may pull ahead of its answers.")] = AHEAD,
    timeout: Annotated[float, flag("Seconds that a step may take, loading included.")] = TIMEOUT,
    seed: Annotated[int, whole("Seed that the model is built with.")] = 0,
) -> int:
    """Does a model keep the promises that a run relies on? Tries it out with some dozens of short requests.

    Each request answered exactly once, requests pulled lazily, statuses and fields as promised, repeats, text without a
    picture, two pictures, every script, failures, cancellation. A line a check; exit code 1 when one fails.
    """
    if ahead < 1 or not 0 < timeout < float("inf"):
        raise UsageError("conform: --ahead is 1 or more, and --timeout is a number of seconds above 0.")
    console, counts = terminal(), {"ok": 0, "warning": 0, "failed": 0, "skipped": 0}
    for finding in try_out(lambda: build(model, seed=seed), ahead=ahead, timeout=timeout):
        counts[finding.verdict] += 1
        say(console, line(finding), STYLES.get(finding.verdict))
    verdict = "does not conform" if counts["failed"] else "conforms"
    say(console, f"{model} {verdict}: {', '.join(f'{n} {what}' for what, n in counts.items() if n)}")
    return BROKEN if counts["failed"] else 0


def line(finding: Finding) -> str:
    """A finding as one line: verdict, check, what was expected, what was found."""
    found = f" Found: {finding.found}" if finding.found else ""
    return f"{finding.verdict:8} {finding.check:9} {finding.expected}.{found}"
