"""`eyetest list`."""

from __future__ import annotations

import inspect
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from eyetest import registry
from eyetest.commands.say import say
from eyetest.conditions import ConditionCard
from eyetest.errors import EyetestError
from eyetest.reports.text import terminal
from eyetest.reports.untrusted import NAME_LENGTH, clean
from eyetest.tasks import Task


def names(what: Annotated[Literal["tasks", "models", "conditions"], Parameter(help="tasks, models or conditions.")], /) -> int:
    """List the tasks, models or conditions that a run can name, with one line each."""
    known = registry.names(what)
    grid = Table(box=None, show_header=False, pad_edge=False)
    for name in known:
        try:
            line = _line(what, name)
        except EyetestError as error:
            line = f"broken: {error}"
        grid.add_row(Text(clean(name, NAME_LENGTH), style="bold"), Text(clean(line)))
    console = terminal()
    if known:
        console.print(grid)
    if what == "tasks":
        say(console, "Your own data needs no task: --data FILE (JSONL, CSV, TSV, Parquet, XLSX).")
    if what == "conditions":
        say(console, "Compose with +, e.g. no_image+shuffled.")
    return 0


def _line(what: registry.Group, name: str) -> str:
    found = registry.load(what, name)
    if what == "models":
        return (inspect.getdoc(found) or "").split("\n", 1)[0]
    if isinstance(found, ConditionCard):
        return f"{found.summary}{f' (@{found.parameter})' if found.parameter else ''}"
    if isinstance(found, Task):
        return f"{found.card.title}; licence: {found.card.licence}"
    return ""
