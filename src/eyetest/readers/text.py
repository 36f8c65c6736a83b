"""Physical lines of UTF-8 text files, plain or gzipped, in constant memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from eyetest.errors import DataError
from eyetest.readers.row import unreadable

MAX_LINE = 64 << 20
"""Longest line in bytes; a longer one is skipped piece by piece."""
MAX_UNPACKED = 1 << 30
"""Bytes that any gzipped file may unpack to; a larger one may unpack to `MAX_RATIO` times its size."""
MAX_RATIO = 200
"""Real text packs 3 to 50 times; gzip's limit, which bombs reach, is 1,032."""

BOM = b"\xef\xbb\xbf"
LINE_TOO_LONG = f"line over {MAX_LINE >> 20} MB"


def physical_lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """(1-based line number, bytes with their line end) of every line, split at LF only; None for a line over `MAX_LINE`.

    A UTF-8 byte order mark is removed. Raises DataError for a file that is UTF-16 or UTF-32, holds nothing but blanks,
    is a broken gzip or unpacks to an implausible size.
    """
    try:
        with _opened(path) as handle:
            if handle.peek(4)[:3] == BOM:  # type: ignore[attr-defined]  # both BufferedReader and GzipFile have it
                handle.read(3)
            else:
                _refuse_wide_text(path, handle.peek(32)[:32])  # type: ignore[attr-defined]
            yield from _counted_lines(path, handle)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is a broken gzip file: {error}. Fetch or pack it again.") from error
    except OSError as error:
        raise unreadable(path, error) from error


def _opened(path: Path) -> BinaryIO:
    if path.suffix.lower() == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def _refuse_wide_text(path: Path, head: bytes) -> None:
    """UTF-16 and UTF-32 have a mark, or NUL in every other byte of plain text."""
    marked = head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
    pairs = len(head) // 2
    striped = pairs >= 2 and (head[: 2 * pairs : 2] == b"\0" * pairs or head[1 : 2 * pairs : 2] == b"\0" * pairs)
    if marked or striped:
        wide = "UTF-32" if b"\0\0" in head[:8] else "UTF-16"
        raise DataError(f"{path} is {wide}; save it as UTF-8.")


def _counted_lines(path: Path, handle: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    packed = path.stat().st_size
    limit = max(MAX_UNPACKED, MAX_RATIO * packed) if path.suffix.lower() == ".gz" else None
    number = size = 0
    blank = True
    while piece := handle.readline(MAX_LINE + 1):
        number += 1
        size += len(piece)
        line: bytes | None = piece
        while len(piece) > MAX_LINE and not piece.endswith(b"\n"):
            line = None
            piece = handle.readline(MAX_LINE + 1)
            size += len(piece)
            _refuse_bomb(path, size, limit)
        _refuse_bomb(path, size, limit)
        blank = blank and line is not None and not line.strip()
        yield number, line
    if blank:
        raise empty(path)


def _refuse_bomb(path: Path, size: int, limit: int | None) -> None:
    if limit is not None and size > limit:
        raise DataError(
            f"{path} unpacks to more than {limit >> 20} MB, over {MAX_RATIO} times its size, as a decompression bomb does. "
            f"If you trust it, unpack it yourself and pass the unpacked file."
        )


def empty(path: Path) -> DataError:
    """The one form of "there is nothing in this file"."""
    return DataError(f"{path} is empty; expected one row for each question. Check that it was written or fetched completely.")


def flaw(raw: bytes) -> tuple[str, str] | None:
    """(reason, detail) if the bytes are not clean UTF-8 text, else None. Columns are 1-based characters."""
    if (at := raw.find(b"\0")) >= 0:
        return "NUL byte", f"column {len(raw[:at].decode('utf-8', 'replace')) + 1}"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        return "not UTF-8", f"byte 0x{raw[error.start]:02x} in column {column}; save the file as UTF-8"
    return None
