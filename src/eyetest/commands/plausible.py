"""`eyetest plausible`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.grid import flag
from eyetest.commands.say import say
from eyetest.errors import DataError, UsageError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.rows import read_rows
from eyetest.reports.text import terminal
from eyetest.stats.plausible import Plausibility
from eyetest.stats.plausible import plausible as judge

IMPOSSIBLE = 1
"""Exit code when a pair cannot be."""


def plausible(
    table: Annotated[
        Path | None, Parameter(help="CSV, TSV, JSONL or XLSX: name, accuracy, macro_f1 and, optionally, classes.")
    ] = None,
    /,
    *,
    accuracy: Annotated[str | None, flag("One accuracy as printed, e.g. .771.")] = None,
    macro_f1: Annotated[str | None, flag("Its macro-F1 as printed, e.g. .246.")] = None,
    classes: Annotated[int, flag("Number of classes, where the table does not say.")] = 2,
) -> int:
    """Can a published accuracy and macro-F1 belong to the same answers?

    For two classes and any prior, accuracy / (1 + accuracy) <= macro-F1 <= accuracy; means over runs relax the lower end to
    accuracy / 2. Give the figures as printed: rounding is granted. Exit code 1 when a pair is impossible.
    """
    if table is None:
        if accuracy is None or macro_f1 is None:
            raise UsageError("plausible: give a table, or both --accuracy and --macro-f1.")
        pairs = [("given", accuracy, macro_f1, classes, "--accuracy and --macro-f1")]
    elif accuracy is not None or macro_f1 is not None:
        raise UsageError("plausible: give a table or --accuracy and --macro-f1, not both.")
    else:
        pairs = _read(table, classes)
    console, bad = terminal(), 0
    for name, printed_accuracy, printed_f1, number, place in pairs:
        try:
            found = judge(printed_accuracy, printed_f1, number)
        except ValueError as error:
            raise DataError(f"{place}: {error}. Expected figures between 0 and 1 as printed, e.g. .771.") from None
        bad += found.verdict != "possible"
        say(console, f"{name}: accuracy {printed_accuracy}, macro-F1 {printed_f1}: {found.verdict} {_why(found, printed_f1)}")
    say(console, f"{len(pairs)} pairs, {bad} impossible")
    return IMPOSSIBLE if bad else 0


def _why(found: Plausibility, printed: str) -> str:
    if found.verdict == "impossible" and float(printed) > found.highest:
        return f"(at most {found.highest:.4f})"
    return f"(one run: at least {found.lowest:.4f}; mean of runs: at least {found.lowest_mean:.4f})"


def _read(table: Path, classes: int) -> list[tuple[str, str, str, int, str]]:
    pairs = []
    report = LoadReport(strict=True)
    for row in read_rows(table, report):
        missing = [column for column in ("name", "accuracy", "macro_f1") if row.values.get(column) in (None, "")]
        if missing:
            raise DataError(f"{row.place}: no value in the column {missing[0]!r}. Expected name, accuracy, macro_f1[, classes].")
        given = str(row.values.get("classes") or classes)
        if not given.isdecimal() or int(given) < 2:
            raise DataError(f"{row.place}: classes {given!r} is not a whole number of at least 2.")
        pairs.append((str(row.values["name"]), str(row.values["accuracy"]), str(row.values["macro_f1"]), int(given), row.place))
    return pairs
