"""The journal of a run: one appended line an answer, so that a killed process loses nothing it was told."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import IO

from eyetest.errors import StoreError
from eyetest.store.files import check_regular, full
from eyetest.store.json_text import dumps, from_json
from eyetest.store.records import NOT_OURS, decode_response, encode_response
from eyetest.types import Response


class Journal:
    """Every answer of a run, one line each: `<64 hex digits of the answer key> <response as JSON>`.

    On opening, an unfinished last line (the process was killed inside a write) is cut off, and lines that cannot be read
    are counted in `unreadable` and asked again; nothing else is ever changed. Memory: a short key and an offset an answer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable = 0
        self._places: dict[int, int] = {}
        check_regular(path)
        try:
            self._file: IO[bytes] = path.open("a+b", buffering=0)
            self._end = self._opened_at = self._scan()
            self._lines = path.open("rb")
        except OSError as error:
            raise StoreError(f"{path}: cannot be opened for writing: {error.strerror}. Choose another --out.") from error

    def _scan(self) -> int:
        end = 0
        with self.path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    os.ftruncate(self._file.fileno(), end)
                    break
                key = _line_key(line)
                if key is None:
                    self.unreadable += 1
                else:
                    self._places[_short(key)] = end
                end += len(line)
        return end

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: bytes) -> Response | None:
        """The answer to this request, if it was given. Raises StoreError when the file cannot be read any more."""
        place = self._places.get(_short(key))
        if place is None:
            return None
        try:
            self._lines.seek(place)
            line = self._lines.readline()
        except OSError as error:
            raise full(error, self.path, "reading an answer") from error
        if line[:64] != key.hex().encode("ascii"):
            return None
        try:
            return decode_response(from_json(line[65:]))
        except NOT_OURS:
            self.unreadable += 1
            del self._places[_short(key)]
            return None

    def is_new(self, key: bytes) -> bool:
        """Whether this answer was put since the journal was opened."""
        return self._places.get(_short(key), -1) >= self._opened_at

    def put(self, key: bytes, response: Response) -> None:
        """Append one answer. Raises StoreError when the disk is full; the answers before it are safe."""
        line = key.hex().encode("ascii") + b" " + dumps(encode_response(response)) + b"\n"
        left = memoryview(line)
        try:
            while left:  # a full disk takes half a line, and only says why when it is offered the rest
                left = left[self._file.write(left) :]
        except OSError as error:
            with contextlib.suppress(OSError):  # if this fails, too, the half line is cut off on the next opening
                os.ftruncate(self._file.fileno(), self._end)
            raise full(error, self.path, "writing an answer") from error
        self._places[_short(key)] = self._end
        self._end += len(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._lines.close()


def _short(key: bytes) -> int:
    # 8 of 32 bytes: an index entry of 100 bytes instead of 180; `get` compares the whole key.
    return int.from_bytes(key[:8])


def _line_key(line: bytes) -> bytes | None:
    """The answer key of a journal line; None if the line is none."""
    if line[64:66] != b" {" or line[-2:] != b"}\n":
        return None
    try:
        key = bytes.fromhex(line[:64].decode("ascii"))
    except ValueError:
        return None
    return key if len(key) == 32 else None  # fromhex skips white space
