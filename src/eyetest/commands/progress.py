"""What long work says while it runs: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import logging
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from eyetest.commands.say import say
from eyetest.evaluation.run import Progress
from eyetest.prices import Budget, dollars

REFRESH = 0.1
"""Seconds between updates of the bar."""

LINES = (5.0, 60.0)
"""Seconds before the first plain line, and the longest time between two."""


class _Said(logging.Handler):
    """What models say of work that takes hours (a batch was submitted, half of it is answered), a line each."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        say(self._console, record.getMessage())


class Shown:
    """Shows the counts of a run on stderr. Call it with each Progress."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = console.is_terminal
        self._next = time.monotonic()
        self._said = (self._next, 0)
        self._gap = LINES[0]
        self._bar: Bar | None = None
        self._last: Progress | None = None
        self._logger, self._said_by_models = logging.getLogger("eyetest"), _Said(console)
        if not self.live:
            self._next += self._gap

    def __enter__(self) -> Self:
        self._logger.addHandler(self._said_by_models)
        self._logger.setLevel(logging.INFO)
        if self.live:
            self._bar = Bar(
                TextColumn("[bold]asking"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[counts]}"),
                TimeRemainingColumn(),
                console=self.console,
                transient=True,
            )
            self._bar.start()
            self._bar.add_task("asking", total=None, counts="")
        return self

    def __call__(self, progress: Progress) -> None:
        """Show these counts if it is time to."""
        self._last = progress
        now = time.monotonic()
        if now < self._next:
            return
        if self._bar is not None:
            self._next = now + REFRESH
            self._bar.update(self._bar.task_ids[0], completed=progress.done, total=progress.total, counts=counts(progress))
            return
        # The speed since the last line: a model that had to be loaded first, or answers from a journal, say nothing of the rest.
        rate = (progress.done - self._said[1]) / (now - self._said[0])
        left = f", about {(progress.total - progress.done) / rate:.0f} s left" if rate > 0 and self._said[1] else ""
        self._said = (now, progress.done)
        self._gap = min(LINES[1], self._gap * 2)
        self._next = now + self._gap
        self._line(progress, left)

    def _line(self, progress: Progress, left: str) -> None:
        self.console.print(f"{progress.done}/{progress.total} done, {counts(progress)}{left}", highlight=False, soft_wrap=True)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._logger.removeHandler(self._said_by_models)
        self._logger.setLevel(logging.NOTSET)
        if self._bar is not None:
            self._bar.stop()
        elif self._last is not None and self._said[1] not in (0, self._last.done):
            self._line(self._last, "")


def counts(progress: Progress) -> str:
    """The counts that matter, in words, after the money."""
    return costs(progress.budget) + (
        f"{progress.unparsed} unparsed, {progress.refused} refused, {progress.failed} failed, "
        f"{progress.resumed} resumed, {progress.cached} cached, {progress.shared} shared"
    )


def costs(budget: Budget) -> str:
    """`$1.23 so far, about $4.56 in all, `; empty where nothing has a known price."""
    if not budget.priced:
        return ""
    return f"{dollars(budget.total)} so far, about {dollars(budget.forecast)} in all, "
