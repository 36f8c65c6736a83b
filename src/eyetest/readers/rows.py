"""Any data file as a stream of rows: the format follows from the file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eyetest.errors import UsageError, nearest
from eyetest.readers import delimited, jsonl, parquet, xlsx
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


def read_rows(path: Path, report: LoadReport) -> Iterator[Row]:
    """Rows of one data file, streamed in one pass; JSON lists and nothing else are held in memory whole.

    `report.files` and `report.read` are kept up to date and dropped rows are counted with reason and place; the consumer
    counts `report.kept`. The path is checked at once, the contents as rows are taken. Raises UsageError (no such file, no
    reader for it) and DataError (the file cannot be read at all, or any drop when the report is strict).
    """
    reader = _format(path)
    report.files.append(str(path))
    return reader.read(path, report)


def columns(path: Path) -> tuple[str, ...]:
    """Column names: the header, the schema, or the keys of the first 100 objects."""
    return header(path).names


def header(path: Path) -> Header:
    """Column names and where they stand."""
    return _format(path).header(path)


def _format(path: Path) -> Format:
    """The reader for an existing file that is not empty."""
    if not path.exists():
        raise UsageError(_missing(path))
    if path.is_dir():
        inside = sorted(child.name for child in path.iterdir() if _suffix(child) in FORMATS)
        found = f" It holds {', '.join(inside[:10])}." if inside else ""
        raise UsageError(f"{path} is a folder; expected a data file ({', '.join(FORMATS)}).{found}")
    suffix = _suffix(path)
    if suffix not in FORMATS:
        raise UsageError(f"{path}: no reader for {suffix or 'a name without a suffix'!r}. Supported: {', '.join(FORMATS)}.")
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from error
    if size == 0:
        raise empty(path)
    return FORMATS[suffix]


def _suffix(path: Path) -> str:
    name = path.name.lower()
    packed = ".gz" if name.endswith(".gz") else ""
    return Path(name.removesuffix(".gz")).suffix + packed


def _missing(path: Path) -> str:
    if not path.parent.is_dir():
        existing = next(parent for parent in path.absolute().parents if parent.is_dir())
        return f"{path} does not exist: there is no folder {path.parent}. The nearest one that exists is {existing}."
    near = nearest(path.name, (child.name for child in path.parent.iterdir()))
    return f"{path} does not exist.{near or f' No file in {path.parent.absolute()} has a similar name.'}"
