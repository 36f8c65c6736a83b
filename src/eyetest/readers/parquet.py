"""Parquet, in batches. Pictures stay in the file: their cells become `Image(path=FILE, member="column:row")`.

A picture column is recognised by its type: binary, a struct with a binary child `bytes` (as Hugging Face `datasets` writes
pictures: `{bytes, path}`), or a list of either. `row` in `member` is 0-based over the whole file, as `eyetest.images` wants
it; picture k (0-based) of a list cell is `column[k]:row`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, MissingExtraError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Header, Row, column_names
from eyetest.types import Image

Flaw = tuple[str, str]
"""Why a row is dropped: reason, detail."""

BATCH = 512
"""Rows held at a time."""
PICTURE_BATCH = 8
"""Rows held at a time where picture bytes must be read to learn which cells are empty."""


def read(path: Path, report: LoadReport) -> Iterator[Row]:
    """Rows of a .parquet file. Dates become ISO text, decimals text, NaN None; lists and structs become lists and dicts."""
    with _opened(path) as file:
        names = column_names(file.schema_arrow.names, path.name)
        pictures = [name for name in names if _holds_pictures(file.schema_arrow.field(name).type)]
        number = 0
        for group in range(file.num_row_groups):
            cells = {name: _pictures(file, path, name, group, number) for name in pictures}
            for values in _plain(file, group, [name for name in names if name not in cells]):
                number += 1
                report.read += 1
                place = f"{path.name} row {number}"
                lazy = {name: next(column) for name, column in cells.items()}
                if isinstance(values, tuple):
                    report.drop(values[0], place, values[1])
                else:
                    yield Row({name: lazy[name] if name in lazy else values[name] for name in names}, place)


def header(path: Path) -> Header:
    """The names in the schema."""
    with _opened(path) as file:
        return Header(column_names(file.schema_arrow.names, path.name), path.name)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file as a `pyarrow.parquet.ParquetFile`; what pyarrow raises on a broken file becomes a DataError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("pyarrow", "data", f"Reading {path.name}") from error
    try:
        # A buffer makes pyarrow read a column chunk piece by piece instead of whole.
        with pq.ParquetFile(path, buffer_size=1 << 20) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {str(error).splitlines()[0]}. Fetch it again.") from error


def _holds_pictures(kind: Any) -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _holds_pictures(kind.value_type)
    if types.is_struct(kind):
        child = kind.get_field_index("bytes")
        # A column of file names alone has a `bytes` of nothing but nulls, which pyarrow may give the type null.
        named = kind.get_field_index("path") >= 0
        return child >= 0 and (_is_binary(kind.field(child).type) or (named and types.is_null(kind.field(child).type)))
    return _is_binary(kind)


def _is_binary(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind) or types.is_binary_view(kind)
    )


def _plain(file: Any, group: int, names: list[str]) -> Iterator[dict[str, Any] | Flaw]:
    """Every row's values but the pictures; (reason, detail) where Python cannot hold one of them."""
    import pyarrow as pa

    if not names:
        yield from ({} for _ in range(file.metadata.row_group(group).num_rows))
        return
    for batch in file.iter_batches(batch_size=BATCH, row_groups=[group], columns=names):
        try:
            rows = batch.to_pylist()
        except (ValueError, OverflowError, RecursionError, pa.ArrowException):  # UnicodeDecodeError is a ValueError
            rows = [_one(batch, index) for index in range(batch.num_rows)]
        for row in rows:
            yield row if isinstance(row, tuple) else {name: _simple(value) for name, value in row.items()}


def _one(batch: Any, index: int) -> dict[str, Any] | Flaw:
    """One row, cell by cell."""
    values = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values[name] = _cell(column[index])
        except UnicodeDecodeError as error:
            return "not UTF-8", f"byte 0x{error.object[error.start]:02x}"
        except (ValueError, OverflowError, RecursionError) as error:
            return "value that cannot be read", f"column {name!r}, {column.type}: {type(error).__name__}"
    return values


def _cell(scalar: Any) -> Any:
    """One cell; what Python's dates and times cannot hold (nanoseconds, the year 294247) as Arrow writes it."""
    import pyarrow as pa
    from pyarrow import types

    if not types.is_temporal(scalar.type):
        return scalar.as_py()
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        pass
    try:
        text = str(scalar.cast(pa.string()).as_py()).replace(" ", "T", 1)
        return f"{text[:-1]}+00:00" if text.endswith("Z") else text
    except pa.ArrowException:
        return scalar.value  # the stored whole number, where Arrow too finds no words


def _simple(value: Any) -> Any:
    """The value as JSON knows it."""
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, list | tuple):  # a map is a list of pairs
        return [_simple(item) for item in value]
    if isinstance(value, dict):
        return {key: _simple(item) for key, item in value.items()}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if value is None or isinstance(value, str | int | bytes):
        return value
    return str(value)  # a decimal, a duration, a UUID, ...


def _pictures(file: Any, path: Path, name: str, group: int, before: int) -> Iterator[Any]:
    """One column's cells in one row group, `before` rows into the file.

    Which cells are empty follows from the file's statistics and the small `path` child; only where that does not settle it
    are the picture bytes read, `PICTURE_BATCH` rows at a time.
    """
    metadata = file.metadata.row_group(group)
    leaves = {column.path_in_schema: column for column in map(metadata.column, range(metadata.num_columns))}
    mine = [leaf for leaf in leaves if leaf == name or leaf.startswith(f"{name}.")]
    filled = next(leaf for leaf in mine if leaf == name or leaf.endswith(".bytes") or len(mine) == 1)
    paths = [leaf for leaf in mine if leaf.endswith(".path")]
    statistics = leaves[filled].statistics
    nulls = statistics.null_count if statistics is not None and statistics.has_null_count else None
    if nulls == 0 and filled in (name, f"{name}.bytes"):
        yield from (Image(path=str(path), member=f"{name}:{row}") for row in range(before, before + metadata.num_rows))
        return
    settled = paths and nulls == sum(map(_nulls, _values(file, group, paths, BATCH)))
    values = _values(file, group, paths, BATCH) if settled else _values(file, group, [filled, *paths], PICTURE_BATCH)
    yield from (_picture(value, str(path), name, row) for row, value in enumerate(values, before))


def _values(file: Any, group: int, leaves: list[str], rows: int) -> Iterator[Any]:
    """One column's cells with only these of its leaves."""
    for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=leaves):
        yield from batch.column(0).to_pylist()


def _nulls(cell: Any) -> int:
    """How many nulls this cell puts into each leaf if no struct in it lacks a child; an empty list counts as one."""
    return (sum(map(_nulls, cell)) or int(not cell)) if isinstance(cell, list) else int(cell is None)


def _picture(value: Any, path: str, column: str, row: int) -> Any:
    """The unopened picture of one cell: None if there is none, a list for a list.

    A cell that holds only a file name stays a cell too: `eyetest.images` looks that the file lies in the dataset's folder.
    """
    if value is None:
        return None
    if isinstance(value, list):
        return [_picture(item, path, f"{column}[{position}]", row) for position, item in enumerate(value)]
    if isinstance(value, dict) and value.get("bytes") is None and "bytes" in value and value.get("path") in (None, ""):
        return None
    return Image(path=path, member=f"{column}:{row}")
