"""The response cache: one SQLite file that several runs may share. It may lose its last moments, the journal not."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from eyetest.errors import StoreError
from eyetest.store.files import check_regular
from eyetest.store.json_text import dumps, from_json
from eyetest.store.records import NOT_OURS, decode_response, encode_response
from eyetest.types import Response

_SCHEMA = "CREATE TABLE IF NOT EXISTS responses (key BLOB PRIMARY KEY, response BLOB NOT NULL) WITHOUT ROWID"


class Cache:
    """Answers shared between runs: one SQLite file in WAL mode, safe for several processes.

    Answers are written in batches, so that no process keeps the file locked while it waits for a model. A file that is not
    such a database is a StoreError that says so; it is never changed. Errors are never cached.
    """

    EVERY_ROWS = 50
    EVERY_SECONDS = 0.25
    PATIENCE = 30.0
    """Seconds to wait for another process that writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: dict[bytes, bytes] = {}
        self._last = time.monotonic()
        check_regular(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=self.PATIENCE, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._broken(error) from error
        try:
            self._open()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: SQLite quotes a damaged schema in its message
            self._database.close()
            raise self._broken(error) from error

    def _open(self) -> None:
        if self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._database.execute("SELECT key, response FROM responses LIMIT 0")  # fails on another program's database
        give_up = time.monotonic() + self.PATIENCE
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite does not wait by itself where two processes create the file at once.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                    raise
                time.sleep(0.01)
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(_SCHEMA)

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.path}: the response cache cannot be used: {error}. Name another file with --cache, move this one away, "
            f"or run with --no-cache. The answers of each run are also in its own journal."
        )

    def get(self, key: bytes) -> Response | None:
        """The cached answer, if there is one that can be read."""
        body = self._waiting.get(key)
        if body is None:
            try:
                row = self._database.execute("SELECT response FROM responses WHERE key = ?", (key,)).fetchone()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._broken(error) from error
            if row is None:
                return None
            body = row[0]
        try:
            return decode_response(from_json(body))
        except NOT_OURS:
            return None

    def put(self, key: bytes, response: Response) -> None:
        """Keep one answer."""
        self._waiting[key] = dumps(encode_response(response))
        if len(self._waiting) >= self.EVERY_ROWS or time.monotonic() - self._last > self.EVERY_SECONDS:
            self._write()

    def _write(self) -> None:
        rows, self._waiting = self._waiting, {}
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?)", rows.items())
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._broken(error) from error
        self._last = time.monotonic()

    def close(self) -> None:
        """Write what waits, and close. May be called twice."""
        try:
            if self._waiting:
                self._write()
        finally:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
