"""One row of a data file, and the rules every tabular header must meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyetest.errors import DataError


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a data file."""

    values: Mapping[str, Any]
    """Column -> value: text, number, bool, None, list, dict, or an unopened `Image` (Parquet pictures)."""
    place: str
    """Where it stands, 1-based: `items.jsonl:17` (physical line), `items.parquet row 17`, `sheet.xlsx row 17`."""


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file and where they are named."""

    names: tuple[str, ...]
    """Column names in file order."""
    place: str
    """Where they stand: `items.csv:1`, `items.parquet`."""


def column_names(cells: Sequence[str], place: str) -> tuple[str, ...]:
    """Column names from header cells. A nameless column becomes `column_N` (N is 1-based), as in files with an index column.

    Raises DataError when two columns have one name, because a row could then keep only one of them.
    """
    names = tuple(cell.strip() or f"column_{number}" for number, cell in enumerate(cells, 1))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"{place}: the header names {listed(twice)} more than once; every column needs a name of its own. "
            f"Rename one of them in the file."
        )
    return names


def listed(names: Iterable[str], most: int = 40) -> str:
    """Names for an error message: `'id', 'question'`; the first `most` of a long list."""
    shown = [repr(name) for name in names]
    rest = f", and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + rest


MAX_DEPTH = 64
"""Lists and objects within each other in one value; what is written later is written by recursion."""


def too_deep(value: Any) -> bool:
    """Whether lists and dicts stand in each other more than `MAX_DEPTH` deep. Does not recurse itself."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner.extend(one.values())
            elif isinstance(one, list | tuple):
                inner.extend(one)
        if not inner:
            return False
        level = [one for one in inner if isinstance(one, dict | list | tuple)]
    return bool(level)


def unreadable(path: Path, error: Exception) -> DataError:
    """The one form of "the operating system will not let us read this"."""
    reason = getattr(error, "strerror", None) or error
    name = str(path) if len(str(path)) <= 300 else f"{str(path)[:297]}..."
    return DataError(f"{name} cannot be read: {reason}. Check the file and its permissions.")
