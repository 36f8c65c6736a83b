"""A finished run as files: a page, CSV, LaTeX; and its answer in words for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from eyetest.errors import StoreError
from eyetest.reports import html
from eyetest.reports.facts import Facts
from eyetest.reports.gather import Gathered, gather
from eyetest.reports.html import Options
from eyetest.reports.latex import as_latex
from eyetest.reports.sentences import answer
from eyetest.reports.sheets import Sheet
from eyetest.reports.tables_csv import as_csv
from eyetest.reports.untrusted import NAME_LENGTH, clean

__all__ = ["Gathered", "Options", "gather", "in_words", "write_csv", "write_latex", "write_page"]


def write_page(path: Path, found: Gathered, options: Options = html.PLAIN) -> Path:
    """Write the page; returns `path`. Raises StoreError."""
    return _write(path, html.page(found, options))


def write_csv(folder: Path, sheets: Sequence[Sheet]) -> list[Path]:
    """Write `NAME.csv` for every table. Raises StoreError."""
    return [_write(folder / f"{sheet.name}.csv", as_csv(sheet)) for sheet in sheets]


def write_latex(folder: Path, sheets: Sequence[Sheet]) -> list[Path]:
    """Write `NAME.tex` for every table. Raises StoreError."""
    return [_write(folder / f"{sheet.name}.tex", as_latex(sheet)) for sheet in sheets]


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(f"{path}: the report cannot be written: {error.strerror or error}. Name another place.") from error
    return path


def in_words(facts: Sequence[Facts]) -> Iterator[str]:
    """The leads, one line a task x model x prompt."""
    tasks, prompts = len({one.task for one in facts}) > 1, len({one.prompt for one in facts}) > 1
    for one in facts:
        where = [one.task] * tasks + [f"prompt {one.prompt}"] * prompts
        named = f"{one.model} ({', '.join(where)})" if where else one.model
        yield f"{clean(named, 3 * NAME_LENGTH)} {answer(one).lead}."
