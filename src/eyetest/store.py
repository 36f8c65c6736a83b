"""What is kept on disk: request keys, the journal of a run, the response cache, records as JSON lines.

The journal is one appended line per answer, written with a single `write`, so that a killed process loses nothing it
was told. The cache is one SQLite file that several runs may share; it may lose its last quarter second, the journal not.
"""

from __future__ import annotations

import hashlib
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
    settings = (generation.temperature, generation.top_p, generation.max_tokens)
    return hashlib.sha256(orjson.dumps((identity, said, settings, request.labels))).digest()


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
    return hashlib.sha256(content + orjson.dumps(own)).digest()


# ---------------------------------------------------------------------------------------------------------- records


def _picture(part: Image) -> dict[str, Any]:
    shown: dict[str, Any] = {"image": part.path if part.data is None else "sha256:" + images.digest(part)}
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
    record: dict[str, Any] = {"text": response.text, "status": response.status, "latency": round(response.latency, 6)}
    if response.label_logprobs is not None:
        record["label_logprobs"] = response.label_logprobs
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
        label_logprobs=None if logprobs is None else tuple(logprobs),
        usage=None if usage is None else Usage(**usage),
        latency=record["latency"],
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
            "value": score.value,
            "answer": score.answer,
            "counts": score.counts,
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
    score = dict(record["score"])
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
        score=Score(score["status"], score["value"], score["answer"], tuple(score["counts"]), score["rule"]),
    )


def to_json(value: Any, *, indent: bool = False) -> bytes:
    """JSON bytes; nan and infinities become null, frozen records become objects."""
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, default=_fallback, option=options | (orjson.OPT_INDENT_2 if indent else 0))


def _fallback(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)
    raise TypeError(f"not JSON: {type(value).__name__}")


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


def read_predictions(path: Path) -> Iterator[Prediction]:
    """Stream `predictions.jsonl`. Raises StoreError that names file and line."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield decode_prediction(orjson.loads(line))
                except (ValueError, KeyError, TypeError) as error:
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
        except OSError as error:
            raise StoreError(f"{path}: cannot be opened for writing: {error.strerror}. Choose another --out.") from error

    def _scan(self) -> int:
        end = 0
        with self.path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    os.ftruncate(self._file.fileno(), end)
                    break
                try:
                    self._places[bytes.fromhex(line[:64].decode("ascii"))[:16]] = end
                    if line[64:66] != b" {" or line[-2:] != b"}\n":
                        raise ValueError
                except ValueError:
                    self.unreadable += 1
                end += len(line)
        return end

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: bytes) -> Response | None:
        """The answer to this request, if it was given."""
        place = self._places.get(key[:16])
        if place is None:
            return None
        with self.path.open("rb") as lines:
            lines.seek(place)
            line = lines.readline()
        try:
            if line[:64] != key.hex().encode("ascii"):
                return None
            return decode_response(orjson.loads(line[65:]))
        except (ValueError, KeyError, TypeError):
            self.unreadable += 1
            return None

    def put(self, key: bytes, response: Response) -> None:
        """Append one answer. Raises StoreError when the disk is full; the answers before it are safe."""
        line = key.hex().encode("ascii") + b" " + orjson.dumps(encode_response(response)) + b"\n"
        try:
            written = self._file.write(line)
            if written != len(line):  # a full disk may take half a line
                os.ftruncate(self._file.fileno(), self._end)
                raise OSError(28, "No space left on device")
        except OSError as error:
            raise full(error, self.path, "writing an answer") from error
        self._places[key[:16]] = self._end
        self._end += len(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# ------------------------------------------------------------------------------------------------------------ cache


_SCHEMA = "CREATE TABLE IF NOT EXISTS responses (key BLOB PRIMARY KEY, response BLOB NOT NULL) WITHOUT ROWID"


class Cache:
    """Answers shared between runs: one SQLite file in WAL mode, safe for several processes.

    A file that is not such a database is a StoreError that says so; it is never overwritten. Errors are never cached.
    """

    EVERY_ROWS = 50
    EVERY_SECONDS = 0.25

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting = 0
        self._last = time.monotonic()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.path}: the response cache cannot be used: {error}. Name another file with --cache, move this one away, "
            f"or run with --no-cache. The answers of each run are also in its own journal."
        )

    def get(self, key: bytes) -> Response | None:
        """The cached answer, if there is one that can be read."""
        try:
            row = self._database.execute("SELECT response FROM responses WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._broken(error) from error
        if row is None:
            return None
        try:
            return decode_response(orjson.loads(row[0]))
        except (ValueError, KeyError, TypeError):
            return None

    def put(self, key: bytes, response: Response) -> None:
        """Keep one answer."""
        try:
            if not self._waiting:
                self._database.execute("BEGIN")
            body = orjson.dumps(encode_response(response))
            self._database.execute("INSERT OR REPLACE INTO responses VALUES (?, ?)", (key, body))
            self._waiting += 1
            now = time.monotonic()
            if self._waiting >= self.EVERY_ROWS or now - self._last > self.EVERY_SECONDS:
                self._database.execute("COMMIT")
                self._waiting, self._last = 0, now
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def close(self) -> None:
        """Commit and close."""
        try:
            if self._waiting:
                self._database.execute("COMMIT")
                self._waiting = 0
        except sqlite3.Error as error:
            raise self._broken(error) from error
        finally:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
