"""The first sheet of an Excel workbook, row by row."""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, MissingExtraError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Header, Row, column_names, listed
from eyetest.readers.text import empty

MAX_UNPACKED = 512 << 20
"""Bytes of XML a workbook may unpack to; openpyxl holds part of it in memory."""
MAX_ROWS = 1_048_576
"""Excel's own limit. A file may claim any row number, and openpyxl fills the gap row by row."""

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,
    SyntaxError,
    KeyError,
    ValueError,
    OverflowError,
    TypeError,
    IndexError,
    AttributeError,
    EOFError,
    OSError,
)
"""What openpyxl lets through from its parsers when a file is not what it should be. Caught around its calls only."""

_FORMULA = re.compile(rb"<(\w+:)?f[ />]")


def read(path: Path, report: LoadReport) -> Iterator[Row]:
    """Rows of the first sheet; its first row that is not empty is the header, and empty rows are skipped and not counted.

    Dates become ISO text, 17.0 becomes 17, an error value such as #NAME? becomes None with a warning. A row with a formula
    whose result was not saved is dropped. Other sheets are named in a warning.
    """
    rows = _rows(path)
    head = _header(path, rows)
    if others := _sheet_names(path)[1:]:
        report.warn("other sheets not read", path.name, listed(others))
    width = len(head.names)
    for number, cells, unsaved in rows:
        report.read += 1
        place = f"{path.name} row {number}"
        if unsaved:
            report.drop("formula without a value", place, f"column {unsaved[0] + 1}; open the file in Excel and save it")
        elif len(cells) > width:
            report.drop("wrong number of cells", place, f"{len(cells)} cells, expected {width}")
        else:
            for name, cell in zip(head.names, cells, strict=False):
                if cell.data_type == "e":
                    report.warn("error value in a cell", place, f"{name!r} is {cell.value}")
            values = [_simple(cell) for cell in cells] + [None] * (width - len(cells))
            yield Row(dict(zip(head.names, values, strict=True)), place)


def header(path: Path) -> Header:
    """The first row that is not empty."""
    return _header(path, _rows(path))


def _header(path: Path, rows: Iterator[tuple[int, list[Any], list[int]]]) -> Header:
    number, cells, _ = next(rows, (0, None, None))
    if cells is None:
        raise empty(path)
    place = f"{path.name} row {number}"
    return Header(column_names(["" if cell.value is None else str(_simple(cell)) for cell in cells], place), place)


def _rows(path: Path) -> Iterator[tuple[int, list[Any], list[int]]]:
    """(1-based row, cells up to the last filled one, 0-based columns whose formula has no saved value), empty rows left out."""
    if not _has_formulas(path):
        for number, cells in _cells(path, data_only=True):
            if kept := _trimmed(cells):
                yield number, kept, []
        return
    # With values only, openpyxl shows a formula without a saved value as an empty cell; the second reading tells them apart.
    both = zip(_cells(path, data_only=True), _cells(path, data_only=False), strict=True)
    for (number, cells), (_, sources) in both:
        pairs = enumerate(zip(cells, sources, strict=True))
        unsaved = [
            at for at, (cell, source) in pairs if source.data_type == "f" and cell.value is None and cell.data_type != "str"
        ]
        kept = _trimmed(cells)
        if kept or unsaved:
            yield number, kept, unsaved


def _trimmed(cells: tuple[Any, ...]) -> list[Any]:
    kept = list(cells)
    while kept and kept[-1].value is None:
        kept.pop()
    return kept


def _cells(path: Path, *, data_only: bool) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(1-based row, openpyxl cells) of the first sheet; what openpyxl raises on a broken file becomes a DataError."""
    book = _workbook(path, data_only=data_only)
    try:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # the size a file claims is often wrong and would cut or pad rows
        rows = iter(sheet.rows)
        for number in range(1, MAX_ROWS + 2):
            try:
                cells = next(rows, None)
            except _BROKEN as error:
                raise _broken(path, error) from error
            if cells is None:
                return
            yield number, cells
        raise DataError(f"{path} has a row beyond Excel's limit of {MAX_ROWS:,}. Save it again, or as .csv.")
    finally:
        book.close()


def _workbook(path: Path, *, data_only: bool) -> Any:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtraError("openpyxl", "data", f"Reading {path.name}") from error
    try:
        book = load_workbook(path, read_only=True, data_only=data_only, keep_links=False)
    except _BROKEN as error:
        raise _broken(path, error) from error
    if not book.worksheets:
        raise DataError(f"{path} has no sheet with cells.")
    return book


def _sheet_names(path: Path) -> list[str]:
    book = _workbook(path, data_only=True)
    names = [sheet.title for sheet in book.worksheets]
    book.close()
    return names


def _broken(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} is not a readable .xlsx file: {error}. Open it in Excel and save it again.")


def _has_formulas(path: Path) -> bool:
    """Whether any sheet has a formula. Reads the XML as bytes; refuses a file that unpacks to too much."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part for part in archive.infolist() if part.filename.endswith((".xml", ".rels"))]
            if sum(part.file_size for part in parts) > MAX_UNPACKED:
                raise DataError(
                    f"{path} unpacks to more than {MAX_UNPACKED >> 20} MB, as a decompression bomb does. "
                    f"If you trust it, save the sheet as .csv."
                )
            return any(_mentions_formula(archive, part) for part in parts if part.filename.startswith("xl/worksheets/"))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise _broken(path, error) from error


def _mentions_formula(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    tail = b""
    with archive.open(part) as stream:
        while piece := stream.read(1 << 20):
            if _FORMULA.search(tail + piece):
                return True
            tail = piece[-40:]
    return False


def _simple(cell: Any) -> Any:
    """The cell's value as JSON knows it."""
    value = cell.value
    if cell.data_type == "e":
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, datetime.timedelta) else value
