"""Any data file as a stream of rows: the format follows from the file's name."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eyetest.errors import UsageError, nearest
from eyetest.readers import delimited, jsonl, parquet, xlsx
from eyetest.readers.delimited import MAX_RECORD_LINES
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Header, Row, unreadable
from eyetest.readers.text import empty


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of file is read."""

    read: Callable[[Path, LoadReport], Iterator[Row]]
    """Streams the rows in one pass, counting every one in the report."""
    header: Callable[[Path], Header]
    """Looks at the beginning only."""


_JSONL = Format(jsonl.read, jsonl.header)
_JSON = Format(jsonl.read_list, jsonl.header)
_DELIMITED = Format(delimited.read, delimited.header)

FORMATS: Mapping[str, Format] = {
    ".jsonl": _JSONL,
    ".ndjson": _JSONL,
    ".json": _JSON,
    ".csv": _DELIMITED,
    ".tsv": _DELIMITED,
    ".jsonl.gz": _JSONL,
    ".ndjson.gz": _JSONL,
    ".json.gz": _JSON,
    ".csv.gz": _DELIMITED,
    ".tsv.gz": _DELIMITED,
    ".parquet": Format(parquet.read, parquet.header),
    ".xlsx": Format(xlsx.read, xlsx.header),
}
"""Suffix -> reader."""


def read_rows(path: Path, report: LoadReport, *, record_lines: int = MAX_RECORD_LINES) -> Iterator[Row]:
    """Rows of one data file, streamed in one pass; JSON lists and nothing else are held in memory whole.

    record_lines: a row of a CSV or TSV file over more lines than this has lost a quote.

    `report.files` and `report.read` are kept up to date and dropped rows are counted with reason and place; the consumer
    counts `report.kept`. The path is checked at once, the contents as rows are taken. Raises UsageError (no such file, no
    reader for it) and DataError (the file cannot be read at all, or any drop when the report is strict).
    """
    reader = _format(path)
    report.files.append(str(path))
    return delimited.read(path, report, record_lines=record_lines) if reader is _DELIMITED else reader.read(path, report)


def columns(path: Path) -> tuple[str, ...]:
    """Column names: the header, the schema, or the keys of the first 100 objects."""
    return header(path).names


def header(path: Path) -> Header:
    """Column names and where they stand."""
    return _format(path).header(path)


def _format(path: Path) -> Format:
    """The reader for an existing file that is not empty."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(_missing(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise unreadable(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        inside = sorted(name for name in _listing(path) if _suffix(Path(name)) in FORMATS)
        found = f" It holds {', '.join(inside[:10])}." if inside else ""
        raise UsageError(f"{path} is a folder; expected a data file ({', '.join(FORMATS)}).{found}")
    if not stat.S_ISREG(status.st_mode):
        # It is read more than once, which a pipe does not allow, and a device may never end.
        raise UsageError(f"{path} is a pipe or a device; expected a regular file. Save its contents as a file first.")
    suffix = _suffix(path)
    if suffix not in FORMATS:
        raise UsageError(f"{path}: no reader for {suffix or 'a name without a suffix'!r}. Supported: {', '.join(FORMATS)}.")
    if status.st_size == 0:
        raise empty(path)
    return FORMATS[suffix]


def _suffix(path: Path) -> str:
    name = path.name.lower()
    packed = ".gz" if name.endswith(".gz") else ""
    return Path(name.removesuffix(".gz")).suffix + packed


def _listing(folder: Path) -> list[str]:
    """What a folder holds; nothing if we may not look."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _missing(path: Path) -> str:
    if os.path.islink(path):
        return f"{path} is a link to {os.readlink(path)}, which does not exist. Mend the link, or name the file itself."
    if not os.path.isdir(path.parent):
        existing = next(parent for parent in path.absolute().parents if os.path.isdir(parent))
        return f"{path} does not exist: there is no folder {path.parent}. The nearest one that exists is {existing}."
    near = nearest(path.name, _listing(path.parent))
    return f"{path} does not exist.{near or f' No file in {path.parent.absolute()} has a similar name.'}"
