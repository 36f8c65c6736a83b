"""The files of a batch on disk: the input before it is uploaded, the results once they are downloaded. Neither is held in memory.

A line of results is kept without the key, which a careless server may repeat; what is no line of this batch is left out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from eyetest.errors import StoreError
from eyetest.models.openai_batch_http import ENDPOINT, BatchServer
from eyetest.models.openai_secret import scrub
from eyetest.models.openai_wire import Failure, decode, excerpt
from eyetest.store import full
from eyetest.types import Response

LARGEST_INPUT = 100_000_000
"""Bytes of the largest input file; OpenAI takes 200 MB."""
LONGEST_LINE = 2**26
"""Bytes of the longest line of results that is read."""
EACH = 2**22
"""Bytes of results that are read for each request of a batch, on average: log-probabilities take kilobytes a token."""


class Input:
    """An input file that is being written. Raises StoreError when the disk is full."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: list[str] = []
        self.size = 0
        try:
            self._file: IO[bytes] = path.open("wb")
        except OSError as error:
            raise full(error, path, "writing a batch") from error

    def add(self, id: str, line: bytes) -> None:
        """Append a request."""
        try:
            self._file.write(line)
        except OSError as error:
            raise full(error, self.path, "writing a batch") from error
        self.ids.append(id)
        self.size += len(line)

    def close(self) -> None:
        """Nothing more is added."""
        try:
            self._file.close()
        except OSError as error:
            raise full(error, self.path, "writing a batch") from error


def line_of(id: str, body: bytes) -> bytes:
    """A line of an input file. id: ASCII letters and digits; body: an encoded call."""
    return b'{"custom_id":"%b","method":"POST","url":"%b","body":%b}\n' % (id.encode(), ENDPOINT.encode(), body)


class Results:
    """The results of a batch on disk. Memory: an id and an offset a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, int] = {}
        try:
            self._file = path.open("rb")
            place = 0
            for line in self._file:
                self._places[orjson.loads(line)["custom_id"]] = place
                place += len(line)
        except OSError as error:
            raise full(error, path, "reading a batch") from error

    def read(self, id: str, labels: tuple[str, ...], key: str | None) -> tuple[int, bytes, Response | Failure] | None:
        """HTTP status (0: none), body and outcome of one request; None where there is no line for it."""
        place = self._places.get(id)
        if place is None:
            return None
        try:
            self._file.seek(place)
            row = orjson.loads(self._file.readline())
        except OSError as error:
            raise full(error, self.path, "reading a batch") from error
        return outcome(row, labels, key)

    def remove(self) -> None:
        """They have all been handed over."""
        self._file.close()
        self.path.unlink(missing_ok=True)


def outcome(row: Any, labels: tuple[str, ...], key: str | None) -> tuple[int, bytes, Response | Failure]:
    """HTTP status (0: none), body and outcome of a line of results. labels: `Request.labels`."""
    reply, error = row.get("response"), row.get("error")
    status = reply.get("status_code") if isinstance(reply, dict) else None
    if isinstance(reply, dict) and isinstance(status, int):
        body = orjson.dumps(reply.get("body"))
        return status, body, decode(status, None, body, labels, key)
    if isinstance(error, dict):
        return 0, b"", Failure(excerpt(f"{error.get('code')}: {error.get('message')}", key))
    return 0, b"", Failure(f"malformed line: {excerpt(orjson.dumps(row).decode(), key)}")


def fetch(server: BatchServer, files: Iterable[str], path: Path, ids: Collection[str], key: str | None) -> Counter[str]:
    """Download the files of a batch into one. What was left out: why -> lines. Raises ModelError, Stopped, StoreError."""
    partial, odd, seen = path.with_name(path.name + ".partial"), Counter[str](), set[str]()
    try:
        out = partial.open("wb")
    except OSError as error:
        raise full(error, partial, "writing a batch") from error
    with out:
        for file in files:
            kept, left_out = server.download(file, _sifter(out, frozenset(ids), frozenset(seen), key))
            seen |= kept
            odd += left_out
    os.replace(partial, path)
    return odd


_Sifted = tuple[set[str], Counter[str]]


def _sifter(
    out: IO[bytes], wanted: frozenset[str], before: frozenset[str], key: str | None
) -> Callable[[Iterator[bytes]], _Sifted]:
    """`_sift` from where `out` stands now, each time that it is called."""
    start = out.tell()

    def take(blocks: Iterator[bytes]) -> _Sifted:
        out.seek(start)
        out.truncate()
        return _sift(blocks, out, wanted, before, key)

    return take


def _sift(blocks: Iterable[bytes], out: IO[bytes], wanted: frozenset[str], before: frozenset[str], key: str | None) -> _Sifted:
    """Write the lines that answer a wanted id, the first for each. The ids of these, and why others were left out."""
    kept, odd, room = set[str](), Counter[str](), len(wanted) * EACH + LONGEST_LINE
    for line in lines(blocks):
        room -= len(line)
        if room < 0:
            odd["beyond the largest size"] += 1
            break
        clean = scrub(line.decode("utf-8", "replace"), key).encode()
        id = _id(clean)
        if id is None:
            odd["malformed"] += 1
        elif id in kept or id in before:
            odd["of a request that had one already"] += 1
        elif id not in wanted:
            odd["of no request of ours"] += 1
        else:
            kept.add(id)
            try:
                out.write(clean + b"\n")
            except OSError as error:
                raise _full(error, out) from error
    try:
        out.flush()
    except OSError as error:
        raise _full(error, out) from error
    return kept, odd


def _full(error: OSError, out: IO[bytes]) -> StoreError:
    return full(error, Path(out.name), "writing a batch")


def _id(line: bytes) -> str | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    id = row.get("custom_id") if isinstance(row, dict) else None
    return id if isinstance(id, str) else None


def lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream that are not blank, without their ends. One over `LONGEST_LINE` is cut, and so malformed."""
    held = bytearray()
    for block in blocks:
        *ended, rest = block.split(b"\n")
        for part in ended:
            held += part[: LONGEST_LINE - len(held)]
            if held.strip():
                yield bytes(held)
            held.clear()
        held += rest[: max(0, LONGEST_LINE - len(held))]
    if held.strip():
        yield bytes(held)
