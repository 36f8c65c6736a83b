"""A table as values: the same for the page, for CSV and for LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from eyetest.reports.wording import count, decimal, hundredths, p_value, rate


@dataclass(frozen=True, slots=True)
class Span:
    """A rate with its interval, all in [0, 1] (a difference or a gap rate may be negative); nan where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan
    alone: bool = False
    """A number that never has an interval (guessing, bounds): no "[withheld]" beside it."""

    def __str__(self) -> str:
        return hundredths(self.value) if self.alone else rate(self.value, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Plain(Span):
    """A number that is no share: shown as it is, with its interval."""

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "–"
        ends = "" if math.isnan(self.low) else f" [{decimal(self.low, 2)}, {decimal(self.high, 2)}]"
        return decimal(self.value, 2) + ends


@dataclass(frozen=True, slots=True)
class P:
    """A p-value."""

    value: float

    def __str__(self) -> str:
        return p_value(self.value)


Value = str | int | float | Span | P
"""What stands in a table. Texts are untrusted; a float is a count that may be fractional."""


def written(value: Value) -> str:
    """A value as people read it."""
    return count(value) if isinstance(value, int | float) else str(value)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table: a row a thing, a column a fact."""

    name: str
    """File name without ending."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def of(self, task: str) -> Sheet:
        """The rows of one task, without the column that names it."""
        place = self.columns.index("task")
        rows = tuple(row[:place] + row[place + 1 :] for row in self.rows if row[place] == task)
        return Sheet(self.name, self.title, self.columns[:place] + self.columns[place + 1 :], rows)

    def without(self, constant: Sequence[str]) -> Sheet:
        """Without those of the columns `constant` (texts and rates) that say the same in every row, or nothing."""
        dull = {place for place, column in enumerate(self.columns) if column in constant and self._says_nothing(place)}
        keep = [place for place in range(len(self.columns)) if place not in dull]
        rows = tuple(tuple(row[place] for place in keep) for row in self.rows)
        return Sheet(self.name, self.title, tuple(self.columns[place] for place in keep), rows)

    def _says_nothing(self, place: int) -> bool:
        """The same text in every row, or a number that is nowhere defined."""
        values = {row[place] if isinstance(row[place], str) else math.isnan(row[place].value) for row in self.rows}  # type: ignore[union-attr]
        return len(values) < 2 and False not in values
