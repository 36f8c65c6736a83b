"""Tables as CSV: RFC 4180, UTF-8, one line a row; a rate becomes three columns in [0, 1] (value, low, high)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from eyetest.reports.sheet import P, Sheet, Span, Value
from eyetest.reports.untrusted import clean

LONGEST = 10_000
"""Characters of a text in a field."""


def as_csv(sheet: Sheet) -> str:
    """The whole table. Undefined numbers are empty fields."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    kinds = [_parts(sheet, place) for place in range(len(sheet.columns))]
    writer.writerow([name for column, parts in zip(sheet.columns, kinds, strict=True) for name in _names(column, parts)])
    for row in sheet.rows:
        writer.writerow([field for value, parts in zip(row, kinds, strict=True) for field in _fields(value, parts)])
    return stream.getvalue()


def _parts(sheet: Sheet, place: int) -> int:
    """How many columns a column becomes: 3 with an interval, else 1."""
    return 3 if any(isinstance(row[place], Span) and not row[place].alone for row in sheet.rows) else 1  # type: ignore[union-attr]


def _names(column: str, parts: int) -> Iterator[str]:
    bare = column.removesuffix(" %").replace("%", "").replace("  ", " ").removesuffix(", points")
    yield bare
    if parts == 3:
        yield f"{bare} low"
        yield f"{bare} high"


def _fields(value: Value, parts: int) -> Iterator[str]:
    if isinstance(value, Span):
        numbers = (value.value, value.low, value.high)[:parts]
        yield from ("" if math.isnan(number) else repr(float(number)) for number in numbers)
    elif isinstance(value, P):
        yield "" if math.isnan(value.value) else repr(float(value.value))
    elif isinstance(value, str):
        yield _text(value)
    else:
        yield f"{value:.10g}"


def _text(value: str) -> str:
    """A text that no spreadsheet takes for a formula (OWASP, CSV injection)."""
    text = clean(value, LONGEST)
    return f"'{text}" if text.lstrip()[:1] in ("=", "+", "-", "@") or text[:1] in ("\t", "\n") else text
