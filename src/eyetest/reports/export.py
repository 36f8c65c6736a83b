"""A finished run as files: a page, CSV, LaTeX; and its answer in words for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eyetest.errors import StoreError
from eyetest.reports import html
from eyetest.reports.gather import Gathered, gather
from eyetest.reports.html import Options
from eyetest.reports.latex import as_latex
from eyetest.reports.pictures import missing, policy
from eyetest.reports.sentences import in_words
from eyetest.reports.sheet import Sheet
from eyetest.reports.tables_csv import as_csv
from eyetest.types import Image

__all__ = ["Gathered", "Options", "gather", "in_words", "not_found", "write_csv", "write_latex", "write_page"]


def write_page(path: Path, found: Gathered, options: Options = html.PLAIN) -> Path:
    """Write the page; returns `path`. Raises StoreError."""
    return _write(path, html.page(found, options))


def not_found(found: Gathered, options: Options = html.PLAIN) -> int:
    """How many pictures that the page would show are no longer where the run found them, as seen from this folder."""
    gone: set[str] = set()
    for task in found.tasks:
        card = found.manifest["tasks"].get(task, {}).get("card", {})
        rule = policy(card, found.directory, embed_pictures=options.embed_pictures, redact=options.redact)
        cards = [one for one in found.cards if one.choice.task == task]
        asked = [*found.examples.get(task, ()), *(asked for one in cards for asked in one.asked.values())]
        shown = [one.picture for one in cards] + [part for one in asked for _, parts in one.turns for part in parts]
        gone |= missing((picture for picture in shown if isinstance(picture, Image)), rule)
    return len(gone)


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
