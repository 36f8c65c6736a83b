"""Where a picture's encoded bytes come from: a file, bytes, or a cell of a Parquet file; and their digest."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from typing import Any

from eyetest.errors import BadImageError, MissingExtraError
from eyetest.types import Image

MAX_BYTES = 256 * 2**20
"""Largest encoded picture, in bytes; checked before it is read."""

_MEMBER = re.compile(r"(?P<column>.+?)(?:\[(?P<item>\d+)\])?:(?P<row>\d+)", re.DOTALL)
_PARQUET_LOCK = threading.Lock()  # so that threads that want the same row group read it once


def read_bytes(image: Image) -> bytes:
    """The encoded bytes, as stored; operations are not applied.

    Reads `data`, the file at `path`, or, for a `.parquet` path with member `column:row` (`column[item]:row` in a list),
    that cell: bytes or a Hugging Face struct `{bytes, path}` with the path relative to the Parquet file's folder.
    Raises BadImageError if there is nothing to read or it exceeds MAX_BYTES.
    """
    if image.data is not None:
        data = image.data
    elif image.path is None:
        raise ValueError("An Image needs a path or data.")
    elif image.member is None:
        data = _read_file(image, image.path)
    else:
        data = _read_member(image, image.path, image.member)
    if not data:
        raise bad(image, "is empty (0 bytes)")
    _check_bytes(image, len(data))
    return data


def digest(image: Image) -> str:
    """Sha256 (hex) of the encoded bytes, without operations.

    Remembered for the 4,096 files used last, under their size and modification time, so a changed file is noticed.
    """
    if image.path is None:
        return hashlib.sha256(read_bytes(image)).hexdigest()
    status = _stat(image, image.path)
    return _file_digest(image.path, image.member, status.st_size, status.st_mtime_ns)


def bad(image: Image, reason: str, way_out: str = "Replace the file or leave the row out.") -> BadImageError:
    """The one form of every error about a picture: its name, what is wrong, the way out."""
    return BadImageError(f"The picture {image.name} {reason}. {way_out}")


def _check_bytes(image: Image, n: int) -> None:
    if n > MAX_BYTES:
        raise bad(image, f"has {n:,} bytes, over the limit of {MAX_BYTES:,}", "Scale it down or leave the row out.")


def _stat(image: Image, path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise _unreadable(image, path, error) from error


def _unreadable(image: Image, path: str, error: OSError | ValueError) -> BadImageError:
    of = "" if path == image.path else f" ({path})"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return bad(image, f"does not exist{of}", "Check the folder of pictures and the file's name.")
    if isinstance(error, PermissionError):
        return bad(image, f"cannot be read: permission denied{of}", "Give yourself the right to read it (chmod +r).")
    return bad(image, f"cannot be read: {getattr(error, 'strerror', None) or error}{of}")


def _read_file(image: Image, path: str) -> bytes:
    status = _stat(image, path)
    if not stat.S_ISREG(status.st_mode):  # a pipe or a device would block or never end
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise bad(image, f"is {what}", "Give the path of one picture.")
    _check_bytes(image, status.st_size)
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError as error:
        raise _unreadable(image, path, error) from error


@lru_cache(maxsize=4096)
def _file_digest(path: str, member: str | None, _size: int, _mtime_ns: int) -> str:
    return hashlib.sha256(read_bytes(Image(path=path, member=member))).hexdigest()


def _read_member(image: Image, path: str, member: str) -> bytes:
    """The bytes of one Parquet cell. A malformed `member` is a bug of the reader that wrote it, so ValueError."""
    place = _MEMBER.fullmatch(member)
    if not path.lower().endswith(".parquet") or place is None:
        raise ValueError(f"Image member {member!r} of {path!r}: expected 'column:row' or 'column[item]:row' of a .parquet file.")
    status, row, column = _stat(image, path), int(place["row"]), place["column"]
    version = (path, status.st_size, status.st_mtime_ns)
    with _reporting_arrow(image), _PARQUET_LOCK:
        columns, starts = _parquet_shape(*version)
        if column not in columns:
            raise bad(image, f"does not exist: no column {column!r}", f"Columns: {', '.join(columns)}.")
        if row >= starts[-1]:
            raise bad(image, f"does not exist: the file has {starts[-1]} rows", "Read the dataset again; the file has changed.")
        group = bisect_right(starts, row) - 1
        cell = _row_group(*version, column, group)[row - starts[group]].as_py()
    return _cell_bytes(image, path, cell if place["item"] is None else _item(image, cell, int(place["item"])))


def _item(image: Image, cell: Any, number: int) -> Any:
    """One picture of a cell that holds a list of them."""
    if not isinstance(cell, list) or number >= len(cell):
        raise bad(image, "does not exist: its cell holds no such item", "Read the dataset again; the file has changed.")
    return cell[number]


@lru_cache(maxsize=16)
def _parquet_shape(path: str, _size: int, _mtime_ns: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """(column names, first row of every row group and the number of rows)."""
    with _parquet_file(path) as file:
        sizes = (file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))
        return tuple(file.schema_arrow.names), tuple(accumulate(sizes, initial=0))


@lru_cache(maxsize=2)  # pictures are asked for in file order; two groups cover a neighbour that a condition swaps in
def _row_group(path: str, _size: int, _mtime_ns: int, column: str, group: int) -> Any:
    with _parquet_file(path) as file:
        return file.read_row_group(group, columns=[column]).column(column)


def _parquet_file(path: str) -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "data", "Reading pictures from a Parquet file") from None
    return parquet.ParquetFile(path)


@contextmanager
def _reporting_arrow(image: Image) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, LookupError, NotImplementedError) as error:  # the bases of all of Arrow's exceptions
        raise bad(image, f"cannot be read from the Parquet file: {error}") from error


def _cell_bytes(image: Image, path: str, cell: Any) -> bytes:
    """cell: bytes, or `{bytes, path}` as the Hugging Face `Image` feature stores it."""
    file = None
    if isinstance(cell, dict):
        cell, file = cell.get("bytes"), cell.get("path")
    if isinstance(cell, bytes):
        return cell
    if cell is not None or not isinstance(file, str | None):
        raise bad(image, f"is a cell of type {type(cell).__name__}", "Expected bytes or a struct {bytes, path}.")
    if file is None:
        raise bad(image, "is null", "Leave the row out.")
    folder = os.path.dirname(os.path.abspath(path))
    target = os.path.normpath(os.path.join(folder, file))
    if os.path.commonpath([folder, target]) != folder:  # a downloaded dataset must not reach for other files of this machine
        raise bad(image, f"points outside the dataset's folder ({file})", "Use a copy of the dataset that holds its pictures.")
    return _read_file(image, target)
