"""`eyetest list`."""

from __future__ import annotations

import importlib
import inspect
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from eyetest import registry
from eyetest.conditions import ConditionCard
from eyetest.reports.text import terminal
from eyetest.tasks import Task


def names(what: Annotated[Literal["tasks", "models", "conditions"], Parameter(help="tasks, models or conditions.")], /) -> int:
    """List the tasks, models or conditions that a run can name, with one line each."""
    known = registry.names(what)
    grid = Table(box=None, show_header=False, pad_edge=False)
    for name in known:
        grid.add_row(Text(name, style="bold"), Text(_line(what, name, known[name])))
    console = terminal()
    if known:
        console.print(grid)
    if what == "tasks":
        console.print("Your own data needs no task: --data FILE (JSONL, CSV, TSV, Parquet, XLSX).", highlight=False)
    if what == "conditions":
        console.print("Compose with +, e.g. no_image+shuffled.", highlight=False)
    return 0


def _line(what: registry.Group, name: str, place: str) -> str:
    if what == "models":
        # A backend's module may need a package that is not installed; its docstring does not.
        return _docstring(place)
    found = registry.load(what, name)
    if isinstance(found, ConditionCard):
        return f"{found.summary}{f' (@{found.parameter})' if found.parameter else ''}"
    if isinstance(found, Task):
        return f"{found.card.title}; licence: {found.card.licence}"
    return ""


def _docstring(place: str) -> str:
    module, _, attribute = place.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    return (inspect.getdoc(found) or "").split("\n", 1)[0]
