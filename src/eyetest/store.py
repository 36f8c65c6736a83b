"""What is kept on disk: request keys, the journal of a run, the response cache, records as JSON lines.

The journal is one appended line per answer, written with a single `write`, so that a killed process loses nothing it
was told. The cache is one SQLite file that several runs may share; it may lose its last moments, the journal not.

All of it is JSON in UTF-8. A lone surrogate, which is no Unicode text but which a file name or a model may hold, stands in
it as the escape `\\ud800` and is read back as it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import orjson

from eyetest import images
from eyetest.errors import StoreError
from eyetest.types import Image, Message, Prediction, Request, Response, Sample, Score, Shown, Usage

# ------------------------------------------------------------------------------------------------------------- JSON


def _dumps(value: Any, options: int = 0) -> bytes:
    try:
        return orjson.dumps(value, default=_fallback, option=options)
    except orjson.JSONEncodeError:
        # Lone surrogates and integers over 64 bits are beyond orjson. NaN, which orjson writes as null, is no JSON.
        plain = json.loads(json.dumps(value, default=_fallback), parse_constant=lambda _: None)
        end = "\n" if options & orjson.OPT_APPEND_NEWLINE else ""
        indent = 2 if options & orjson.OPT_INDENT_2 else None
        return (json.dumps(plain, indent=indent, separators=None if indent else (",", ":")) + end).encode("ascii")


def _fallback(value: Any) -> Any:
    """What stands for a value that JSON lacks. A sample's metadata may hold anything, and must not end a run."""
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return asdict(value)
    return str(value)


def to_json(value: Any, *, indent: bool = False) -> bytes:
    """JSON bytes; nan and infinities become null, frozen records become objects, whatever JSON lacks becomes its text."""
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return _dumps(value, options | (orjson.OPT_INDENT_2 if indent else 0))


def from_json(data: bytes) -> Any:
    """The inverse of `to_json`. Raises ValueError on what is not JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\ud" not in data.lower():
            raise
        return json.loads(data)


def _number(value: float) -> float | str:
    """A number as the journal holds it: nan and infinities, which JSON lacks, as text that `float` reads."""
    number = float(value)
    return number if math.isfinite(number) else str(number)


# ---------------------------------------------------------------------------------------------------- request keys


def _content(part: str | Image) -> Any:
    return part if isinstance(part, str) else {"image": images.digest(part), "operations": part.operations}


def content_key(identity: str, request: Request) -> bytes:
    """sha256 over everything that makes two requests the same question to the same model (32 bytes).

    Model identity, messages, picture bytes and operations, generation settings, labels. The sampling seed is left out:
    a repeat is the same request asked again. Raises BadImageError when a picture cannot be read.
    """
    generation = request.generation
    said = [[message.role, [_content(part) for part in message.content]] for message in request.messages]
    settings = (float(generation.temperature), float(generation.top_p), generation.max_tokens)
    return hashlib.sha256(_dumps((identity, said, settings, request.labels))).digest()


def answer_key(content: bytes, request: Request, *, simulated: bool) -> bytes:
    """sha256 under which an answer is journaled, cached and shared (32 bytes).

    At temperature 0 it is the content key: equal requests are asked once. A sampled answer belongs to its sample and
    repeat; a simulated model's answer belongs to its whole origin, because it reads it.
    """
    origin = request.origin
    if origin is None or (request.generation.temperature == 0 and not simulated):
        return content
    own: tuple[object, ...] = (origin.task, origin.sample.id, origin.repeat, origin.round, request.generation.seed)
    if simulated:
        own += (origin.condition, origin.prompt, origin.variant)
    return hashlib.sha256(content + _dumps(own)).digest()


# ---------------------------------------------------------------------------------------------------------- records


def _picture(part: Image) -> dict[str, Any]:
    # Not `images.digest`: an empty picture has none, and its prediction is written all the same.
    content = part.path if part.data is None else "sha256:" + hashlib.sha256(part.data).hexdigest()
    shown: dict[str, Any] = {"image": content}
    if part.member is not None:
        shown["member"] = part.member
    if part.operations:
        shown["operations"] = part.operations
    return shown


def _picture_from(record: Mapping[str, Any]) -> Image:
    # Pictures given as bytes are not kept: what stands in the record is their digest, which is not a path.
    return Image(path=record["image"], member=record.get("member"), operations=tuple(record.get("operations", ())))


def encode_response(response: Response) -> dict[str, Any]:
    """A response as JSON values, without fields that hold their default."""
    record: dict[str, Any] = {
        "text": response.text,
        "status": response.status,
        "latency": _number(round(response.latency, 6)),
    }
    if response.label_logprobs is not None:
        record["label_logprobs"] = [_number(value) for value in response.label_logprobs]
    if response.usage is not None:
        record["usage"] = {"input_tokens": response.usage.input_tokens, "output_tokens": response.usage.output_tokens}
    if response.error is not None:
        record["error"] = response.error
    return record


def decode_response(record: Mapping[str, Any]) -> Response:
    """The inverse of `encode_response`."""
    logprobs = record.get("label_logprobs")
    usage = record.get("usage")
    return Response(
        text=record["text"],
        status=record["status"],
        label_logprobs=None if logprobs is None else tuple(map(float, logprobs)),
        usage=None if usage is None else Usage(**usage),
        latency=float(record["latency"]),
        error=record.get("error"),
    )


def encode_prediction(prediction: Prediction) -> dict[str, Any]:
    """One line of `predictions.jsonl` as JSON values. Holds all that re-scoring needs; pictures stay where they are."""
    sample, score = prediction.sample, prediction.score
    return {
        "task": prediction.task,
        "sample": sample.id,
        "condition": prediction.condition,
        "model": prediction.model,
        "prompt": prediction.prompt,
        "variant": prediction.variant,
        "repeat": prediction.repeat,
        "round": prediction.round,
        "request": prediction.request_key,
        "kind": sample.kind,
        "target": sample.target,
        "choices": sample.choices,
        "question": sample.question,
        "cluster": sample.cluster,
        "metadata": sample.metadata,
        "shown": _shown(sample.shown),
        "messages": [
            {"role": message.role, "content": [part if isinstance(part, str) else _picture(part) for part in message.content]}
            for message in prediction.messages
        ],
        "response": encode_response(prediction.response),
        "score": {
            "status": score.status,
            "value": _number(score.value),
            "answer": score.answer,
            "counts": [_number(value) for value in score.counts],
            "rule": score.rule,
        },
    }


def _shown(shown: Shown) -> dict[str, Any]:
    record: dict[str, Any] = {"picture": shown.picture, "asks": shown.asks}
    if shown.partner is not None:
        record |= {"partner": shown.partner, "partner_target": shown.partner_target}
    if shown.flags:
        record["flags"] = shown.flags
    return record


def decode_prediction(record: Mapping[str, Any]) -> Prediction:
    """The inverse of `encode_prediction`, but for pictures given as bytes and sample fields that no scorer reads."""
    shown = dict(record["shown"])
    for field in ("partner_target", "flags"):
        shown[field] = tuple(shown.get(field, ()))
    messages = tuple(
        Message(
            message["role"],
            tuple(part if isinstance(part, str) else _picture_from(part) for part in message["content"]),
        )
        for message in record["messages"]
    )
    pictures = [part for part in messages[-1].content if isinstance(part, Image)] if messages else []
    sample = Sample(
        id=record["sample"],
        question=record["question"],
        target=tuple(record["target"]),
        kind=record["kind"],
        choices=tuple(record["choices"]),
        images=tuple(pictures),
        cluster=record["cluster"],
        metadata=record["metadata"],
        shown=Shown(**shown),
    )
    score = record["score"]
    return Prediction(
        task=record["task"],
        condition=record["condition"],
        model=record["model"],
        prompt=record["prompt"],
        variant=record["variant"],
        repeat=record["repeat"],
        round=record["round"],
        sample=sample,
        request_key=record["request"],
        messages=messages,
        response=decode_response(record["response"]),
        score=Score(score["status"], float(score["value"]), score["answer"], tuple(map(float, score["counts"])), score["rule"]),
    )


def full(error: OSError, path: Path, doing: str) -> StoreError:
    """What to tell the user when the disk refuses."""
    return StoreError(
        f"{path}: {doing} failed: {error.strerror or error}. What was answered so far is kept; "
        f"make room or allow writing there, then run the same command again to go on."
    )


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file so that a reader sees the old or the new one, never half of it."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError as error:
        raise full(error, path, "writing") from error


_NOT_OURS = (ValueError, KeyError, TypeError, AttributeError)
"""What decoding raises on a record that is not one of ours."""


def read_predictions(path: Path) -> Iterator[Prediction]:
    """Stream `predictions.jsonl`. Raises StoreError that names file and line."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield decode_prediction(from_json(line))
                except _NOT_OURS as error:
                    raise StoreError(
                        f"{path}:{number}: not a prediction of eyetest ({type(error).__name__}: {error}). "
                        f"Run the evaluation again with the same --out: it is rebuilt from the journal without asking anything."
                    ) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}. Name the directory of a finished run.") from error


# ---------------------------------------------------------------------------------------------------------- journal


class Journal:
    """Every answer of a run, one line each: `<64 hex digits of the answer key> <response as JSON>`.

    On opening, an unfinished last line (the process was killed inside a write) is cut off, and lines that cannot be read
    are counted in `unreadable` and asked again; nothing else is ever changed. Memory: a short key and an offset an answer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable = 0
        self._places: dict[bytes, int] = {}
        try:
            self._file: IO[bytes] = path.open("a+b", buffering=0)
            self._end = self._scan()
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
                    self._places[key[:16]] = end
                end += len(line)
        return end

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: bytes) -> Response | None:
        """The answer to this request, if it was given. Raises StoreError when the file cannot be read any more."""
        place = self._places.get(key[:16])
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
        except _NOT_OURS:
            self.unreadable += 1
            del self._places[key[:16]]
            return None

    def put(self, key: bytes, response: Response) -> None:
        """Append one answer. Raises StoreError when the disk is full; the answers before it are safe."""
        line = key.hex().encode("ascii") + b" " + _dumps(encode_response(response)) + b"\n"
        left = memoryview(line)
        try:
            while left:  # a full disk takes half a line, and only says why when it is offered the rest
                left = left[self._file.write(left) :]
        except OSError as error:
            with contextlib.suppress(OSError):  # if this fails, too, the half line is cut off on the next opening
                os.ftruncate(self._file.fileno(), self._end)
            raise full(error, self.path, "writing an answer") from error
        self._places[key[:16]] = self._end
        self._end += len(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._lines.close()


def _line_key(line: bytes) -> bytes | None:
    """The answer key of a journal line; None if the line is none."""
    if line[64:66] != b" {" or line[-2:] != b"}\n":
        return None
    try:
        key = bytes.fromhex(line[:64].decode("ascii"))
    except ValueError:
        return None
    return key if len(key) == 32 else None  # fromhex skips white space


# ------------------------------------------------------------------------------------------------------------ cache


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
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=self.PATIENCE, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._broken(error) from error
        try:
            self._open()
        except sqlite3.Error as error:
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
            except sqlite3.OperationalError:  # SQLite does not wait where two processes create the file at once
                if time.monotonic() > give_up:
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
            except sqlite3.Error as error:
                raise self._broken(error) from error
            if row is None:
                return None
            body = row[0]
        try:
            return decode_response(from_json(body))
        except _NOT_OURS:
            return None

    def put(self, key: bytes, response: Response) -> None:
        """Keep one answer."""
        self._waiting[key] = _dumps(encode_response(response))
        if len(self._waiting) >= self.EVERY_ROWS or time.monotonic() - self._last > self.EVERY_SECONDS:
            self._write()

    def _write(self) -> None:
        rows, self._waiting = self._waiting, {}
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?)", rows.items())
        except sqlite3.Error as error:
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
