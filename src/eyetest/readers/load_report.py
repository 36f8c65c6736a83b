"""What became of every row of a dataset file: read, kept, dropped and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eyetest.errors import DataError

ROWS_NAMED = 20
"""How many row numbers are kept for each reason; the count is always exact."""


@dataclass(slots=True)
class LoadReport:
    """Counts of one load. Filled while rows stream by; complete when the stream ends.

    strict: any dropped row is a DataError at once, naming file, row and reason.
    """

    strict: bool = False
    read: int = 0
    """Rows seen, dropped ones included."""
    kept: int = 0
    """Rows that became samples."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Reason -> number of rows."""
    rows: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> the first places, as `file:line` or `file row N`, with detail."""
    warnings: dict[str, int] = field(default_factory=dict)
    """Things noticed in rows that were kept -> number of rows."""
    files: list[str] = field(default_factory=list)
    """Files read, in order."""

    def drop(self, reason: str, place: str, detail: str = "") -> None:
        """Count one dropped row. Raises DataError when strict."""
        said = f"{place}: {detail}" if detail else place
        if self.strict:
            raise DataError(
                f"{place}: {reason}{': ' + detail if detail else ''}. Mend the row, or run without --strict to drop it."
            )
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        named = self.rows.setdefault(reason, [])
        if len(named) < ROWS_NAMED:
            named.append(said)

    def warn(self, reason: str, place: str, detail: str = "") -> None:
        """Count something odd in a row that is kept."""
        said = f"{place}: {detail}" if detail else place
        self.warnings[reason] = self.warnings.get(reason, 0) + 1
        named = self.rows.setdefault(reason, [])
        if len(named) < ROWS_NAMED:
            named.append(said)

    def as_dict(self) -> Mapping[str, Any]:
        """For the manifest."""
        return {
            "files": list(self.files),
            "read": self.read,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "warnings": dict(self.warnings),
            "rows": {reason: list(places) for reason, places in self.rows.items()},
        }
