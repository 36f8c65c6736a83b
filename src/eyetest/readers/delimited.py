"""Comma- and tab-separated values.

The csv module alone reads an unclosed quote to the end of the file without a word. Here such a record is given up, its first
line is dropped and reading goes on at the line after it, so that one bad line costs one row.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from eyetest.errors import DataError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Header, Row, column_names
from eyetest.readers.text import LINE_TOO_LONG, flaw, physical_lines

MAX_CELL = 16 << 20
"""Longest cell in characters; the csv module's own limit of 131,072 is too short for real files."""
MAX_RECORD_LINES = 1000
"""A record over more lines than this has lost a quote, unless the caller knows better."""


class _RecordTooLongError(Exception):
    """Raised through csv.reader to stop it from reading on."""


class _Feed:
    """Physical lines for csv.reader. Keeps those of the record being read, so that they can be read again."""

    def __init__(self, path: Path, record_lines: int) -> None:
        self._lines, self._most = physical_lines(path), record_lines
        self._again: deque[tuple[int, bytes | None]] = deque()
        self.record: list[tuple[int, bytes | None]] = []
        self.flaw: tuple[str, str] | None = None

    def begin(self) -> None:
        """Start a record."""
        self.record, self.flaw = [], None

    def give_up(self) -> None:
        """Keep only the first line of this record as read."""
        self._again.extendleft(reversed(self.record[1:]))

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        if len(self.record) >= self._most:
            raise _RecordTooLongError
        number, raw = self._again.popleft() if self._again else next(self._lines)
        self.record.append((number, raw))
        if raw is None:
            self.flaw = self.flaw or (LINE_TOO_LONG, f"line {number}")
            return "\n"
        found = None if raw.isascii() and b"\0" not in raw else flaw(raw)
        if found is None:
            return raw.decode("utf-8")
        self.flaw = self.flaw or found
        return raw.decode("utf-8", "replace").replace("\0", "")


def read(path: Path, report: LoadReport, *, record_lines: int = MAX_RECORD_LINES) -> Iterator[Row]:
    """Rows of a .csv or .tsv file as text; the first record is the header. Blank lines are skipped and not counted.

    record_lines: a record over more lines than this has lost a quote. Where it has, as many lines are read twice.
    A .csv whose header has `;` and no `,` is read with `;`; `report.warnings` says so.
    """
    delimiter = _delimiter(path)
    records = _records(path, delimiter, report, record_lines)
    head = _header(path, records)
    if delimiter == ";":
        report.warn("separated by ; instead of ,", head.place)
    width = len(head.names)
    for line, cells in records:
        if len(cells) == 1 < width and not cells[0].strip():
            continue
        report.read += 1
        place = f"{path.name}:{line}"
        if len(cells) != width:
            report.drop("wrong number of cells", place, f"{len(cells)} cells, expected {width}")
            continue
        yield Row(dict(zip(head.names, cells, strict=True)), place)


def header(path: Path) -> Header:
    """The first record of the file."""
    return _header(path, _records(path, _delimiter(path), LoadReport(strict=True)))


def _header(path: Path, records: Iterator[tuple[int, list[str]]]) -> Header:
    line, cells = next(records, (0, None))
    if cells is None:
        raise DataError(f"{path} has no header; the first line must name the columns.")
    place = f"{path.name}:{line}"
    return Header(column_names(cells, place), place)


def _delimiter(path: Path) -> str:
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    first = next(raw for _, raw in physical_lines(path) if raw is None or raw.strip()) or b""
    if b"\r" in first.rstrip(b"\r\n"):
        raise DataError(f"{path} ends its lines with CR alone (old Mac); save it with LF or CRLF line ends.")
    return ";" if b";" in first and b"," not in first else ","


def _records(
    path: Path, delimiter: str, report: LoadReport, record_lines: int = MAX_RECORD_LINES
) -> Iterator[tuple[int, list[str]]]:
    """(first line, cells) of every record that is not blank. Dropped records are counted as read here.

    The header is the first thing that comes out, so a flaw before it means that the header itself is broken.
    """
    feed = _Feed(path, record_lines)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    at_header = True
    while True:
        feed.begin()
        problem: tuple[str, str] | None = None
        cells: list[str] = []
        try:
            cells = _next(reader)
        except StopIteration:
            return
        except (csv.Error, _RecordTooLongError) as error:
            problem = _problem(feed, error)
        problem = problem or feed.flaw
        line = feed.record[0][0]
        if problem is not None:
            if at_header:
                raise DataError(f"{path.name}:{line}: the header cannot be read: {problem[0]}: {problem[1]}.")
            report.read += 1
            report.drop(problem[0], f"{path.name}:{line}", problem[1])
        elif cells:
            at_header = False
            yield line, cells


def _next(reader: Iterator[list[str]]) -> list[str]:
    """Next record. The csv module's cell limit belongs to the process, so it is put back at once."""
    before = csv.field_size_limit(MAX_CELL)
    try:
        return next(reader)
    finally:
        csv.field_size_limit(before)


def _problem(feed: _Feed, error: Exception) -> tuple[str, str]:
    """(reason, detail) of a record that csv.reader gave up; lines after its first are put back."""
    if len(feed.record) > 1 or "unexpected end of data" in str(error):
        last = feed.record[-1][0]
        feed.give_up()
        return "unclosed quote", f"opened here, not closed up to line {last}; reading goes on at the next line"
    if "field larger" in str(error):
        return f"cell over {MAX_CELL >> 20} MB", ""
    return "bad CSV", str(error)
