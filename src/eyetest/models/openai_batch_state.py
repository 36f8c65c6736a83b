"""What a run must remember of its batches: which requests are in which one. A file of JSON lines beside the journal.

    {"batch": TOKEN, "ids": [...], "at": SECONDS}   before the input is uploaded; `ids` in the order of its lines
    {"batch": TOKEN, "id": "batch_..."}             once the server has named it
    {"batch": TOKEN, "done": true}                  once every answer was handed over, or nothing was submitted

TOKEN also stands in the batch's metadata on the server. So a batch whose second line was never written, because the
process was killed, is found by listing; one that is not on the list was never submitted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyetest.errors import StoreError
from eyetest.store import check_regular, from_json, full, to_json


@dataclass(slots=True)
class Kept:
    """A batch that was planned and is not done."""

    ids: tuple[str, ...]
    """`custom_id` of each of its requests."""
    at: float
    """Unix seconds when it was planned."""
    id: str | None = None
    """The server's name for it; None where it was not heard."""


class State:
    """The file, opened. Each line is on the disk when `plan`, `named` or `done` returns. Raises StoreError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_regular(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            self.open = self._read(path.read_bytes())
        except OSError as error:
            raise full(error, path, "opening the list of batches") from error

    def plan(self, token: str, ids: Sequence[str]) -> None:
        """A batch will be submitted."""
        kept = Kept(tuple(ids), time.time())
        self._add({"batch": token, "ids": kept.ids, "at": kept.at})
        self.open[token] = kept

    def named(self, token: str, id: str) -> None:
        """The server has it, as `id`."""
        self._add({"batch": token, "id": id})
        self.open[token].id = id

    def done(self, token: str) -> None:
        """It need not be looked at again."""
        self._add({"batch": token, "done": True})
        del self.open[token]

    def _add(self, row: Mapping[str, Any]) -> None:
        try:
            with self.path.open("ab") as file:
                file.write(to_json(row))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise full(error, self.path, "writing the list of batches") from error

    def _read(self, data: bytes) -> dict[str, Kept]:
        """Batches by token. An unfinished last line (killed inside a write) is cut off: what it announced did not follow."""
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self.path, whole)
        found: dict[str, Kept] = {}
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                _apply(found, from_json(line))
            except (ValueError, LookupError, TypeError):
                raise StoreError(
                    f"{self.path}:{number}: not a line of eyetest's list of batches. Asking again could pay twice, so nothing is "
                    f"asked. Restore the file; or remove it, if its batches may be asked again."
                ) from None
        return found


def _apply(found: dict[str, Kept], row: Any) -> None:
    """Bring `found` up to date. Raises LookupError, TypeError or ValueError for a row that is none."""
    token = row["batch"]
    if "ids" in row:
        found[token] = Kept(tuple(map(str, row["ids"])), float(row["at"]))
    elif "id" in row:
        found[token].id = str(row["id"])
    elif row["done"]:
        del found[token]
