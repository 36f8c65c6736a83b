"""A model that gives written-down completions: a file of them, or a Python mapping, list or function.

A script is a JSON Lines file. Each line names a sample and what is answered to it::

    {"id": "q1", "completion": "Paris"}
    {"id": "q1", "condition": "no_image", "completion": "I cannot see a picture."}

`condition`, `task`, `repeat` and `variant` are optional; a line without one holds for all of them. Where several lines fit, one
that names the condition wins, then one that names the task, then the repeat, then the variant. `status`, also optional, is what
became of the call: `refused` where the server said no, `error` where it failed (`eyetest export` writes all of these).
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from eyetest.errors import DataError, UsageError, nearest, shown
from eyetest.models.baselines import Simulated, read_spec
from eyetest.models.function import call, fingerprint, in_order
from eyetest.store import from_json
from eyetest.types import Model, Origin, Response, ResponseStatus

FIELDS = ("id", "completion", "condition", "task", "repeat", "variant", "status")
EXAMPLE = '{"id": "q1", "completion": "Paris"}'


class Key(NamedTuple):
    """What a completion answers; None stands for all."""

    id: str
    condition: str | None = None
    task: str | None = None
    repeat: int | None = None
    variant: int | None = None

    def __str__(self) -> str:
        named = {"condition": self.condition, "task": self.task, "repeat": self.repeat, "variant": self.variant}
        return f"id {self.id!r}" + "".join(f", {field} {value!r}" for field, value in named.items() if value is not None)


Completion = str | Response
"""A completion; a Response where the call did not simply succeed."""


class Scripted(Simulated):
    """Answers from a table of completions; a sample that the table lacks is a failed call.

    where: what the table came from, for that error.
    """

    def __init__(self, name: str, table: Mapping[Key, Completion], where: str) -> None:
        super().__init__(name, f"{name} {table_digest(table)}")
        self._table = table
        self._where = where

    def answer(self, origin: Origin) -> Response:
        """The most specific completion for the sample."""
        for key in fitting(origin):
            found = self._table.get(key)
            if found is not None:
                return found if isinstance(found, Response) else Response(found)
        missing = f"no completion for id {origin.sample.id!r} under condition {origin.condition!r} in {self._where}"
        return Response(status="error", error=missing)


class ScriptedFunction(Simulated):
    """Answers with what a function makes of the origin; an exception fails that one sample."""

    def __init__(self, name: str, function: Callable[[Origin], str | Response]) -> None:
        super().__init__(name, f"{name} {fingerprint(function)}")
        self._function = function

    def answer(self, origin: Origin) -> Response:
        """What the function returns."""
        return call(self._function, origin)


def table_digest(table: Mapping[Key, Completion]) -> str:
    """Identity of a script's contents, whatever the order of its lines."""
    entries = sorted(map(repr, table.items()))
    return "sha256:" + hashlib.sha256("\n".join(entries).encode()).hexdigest()[:16]


def fitting(origin: Origin) -> Iterator[Key]:
    """The keys that fit a request, most specific first."""
    for condition in (origin.condition, None):
        for task in (origin.task, None):
            for repeat in (origin.repeat, None):
                for variant in (origin.variant, None):
                    yield Key(origin.sample.id, condition, task, repeat, variant)


def read_script(path: str) -> dict[Key, Completion]:
    """The completions of a script, read line by line.

    Raises DataError naming file and line on a file that cannot be read, a wrong line, or the same key in two lines.
    """
    table: dict[Key, Completion] = {}
    lines: dict[Key, int] = {}
    for number, raw in _lines(path):
        key, completion = _entry(_record(raw, f"{path}:{number}"), f"{path}:{number}")
        if key in lines:
            raise DataError(
                f"{path}:{number}: the completion for {key} is already given in line {lines[key]}. "
                f"Keep one of the two, or tell them apart by condition, task, repeat or variant."
            )
        table[key], lines[key] = completion, number
    if not table:
        raise DataError(f"{path}: holds no completion. Expected one object a line, such as {EXAMPLE}.")
    return table


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each line that is not blank, without a byte order mark."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataError(f"{path}: is a pipe or a device, and completions are read more than once. Write them to a file.")
            for number, raw in enumerate(file, start=1):
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if line.strip():
                    yield number, line
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(f"{path}: cannot be read ({said}). Expected one object a line, such as {EXAMPLE}.") from None


def _without_waiting(path: str, flags: int) -> int:
    """Opens a pipe that nobody writes to at once, so that it can be told from a file."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _record(raw: bytes, place: str) -> dict[str, Any]:
    try:
        record = from_json(raw)
    except ValueError as error:
        why = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise DataError(f"{place}: is not JSON in UTF-8 ({why}). Expected {EXAMPLE}.") from None
    if not isinstance(record, dict):
        raise DataError(f"{place}: is a {type(record).__name__}, not an object. Expected {EXAMPLE}.")
    for field in record:
        if field not in FIELDS:
            raise DataError(f"{place}: unknown field {shown(field)}.{nearest(field, FIELDS)} Known: {', '.join(FIELDS)}.")
    return record


def _entry(record: Mapping[str, Any], place: str) -> tuple[Key, Completion]:
    identifier = record.get("id")
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)  # sample ids are texts, and a number in a data file becomes one
    repeat, variant = (_number(record, field, place) for field in ("repeat", "variant"))
    for field, value, needed in (
        ("id", identifier, True),
        ("completion", record.get("completion"), True),
        ("condition", record.get("condition"), False),
        ("task", record.get("task"), False),
        ("status", record.get("status"), False),
    ):
        if value is None and needed:
            raise DataError(f"{place}: has no {field!r}. Expected {EXAMPLE}.")
        if value is not None and not isinstance(value, str):
            raise DataError(f"{place}: {field} is {shown(value)}, not a text. Put it in quotes.")
        if value == "" and field in ("condition", "task"):
            raise DataError(f"{place}: {field} is empty. Leave it out for every {field}.")
    key = Key(str(identifier), record.get("condition"), record.get("task"), repeat, variant)
    return key, _completion(str(record["completion"]), record.get("status"), place)


def _number(record: Mapping[str, Any], field: str, place: str) -> int | None:
    value = record.get(field)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise DataError(f"{place}: {field} is {shown(value)}, not a whole number from 0. Leave it out for every {field}.")
    return value


def _completion(text: str, status: str | None, place: str) -> Completion:
    if status is None or status == "ok":
        return text
    known = get_args(ResponseStatus)
    if status not in known:
        raise DataError(f"{place}: unknown status {shown(status)}.{nearest(status, known)} Known: {', '.join(known)}.")
    outside = status in ("error", "blocked", "bad_image")
    return Response(text, status, error="as the file of completions says" if outside else None)  # type: ignore[arg-type]


def scripted(argument: str, options: Mapping[str, str], seed: int) -> Model:  # noqa: ARG001  (every factory has this form)
    """Completions from a file, scripted:FILE.jsonl, one {"id", "condition" (optional), "completion"} a line.

    The file is read here, so that a wrong line stops a run before its first request. Raises UsageError without a file or
    with an option, DataError as `read_script` does.
    """
    path, _ = read_spec(argument, options, {}, what="scripted", free_text=True)
    if not path:
        raise UsageError("scripted needs a file of completions. Write scripted:FILE.jsonl.")
    return Scripted(f"scripted:{path}", read_script(path), path)


def scripted_from(
    source: Mapping[str | tuple[str, str], str] | Sequence[str] | Callable[[Origin], str | Response], name: str = "scripted"
) -> Model:
    """A scripted model in Python.

    source: a mapping from sample id, or (sample id, condition), to completion; or a list of completions, given one after
    another; or a function from the origin of a request to its completion (or Response). Raises UsageError on a single text.
    """
    if isinstance(source, str):
        raise UsageError(
            f"scripted_from was given the text {source!r}. Pass [text] for one completion, scripted(FILE) for a file."
        )
    if isinstance(source, Mapping):
        return Scripted(name, dict(_keyed(source.items())), "the mapping")
    if callable(source):
        return ScriptedFunction(name, source)
    return in_order(source, name)


def _keyed(items: Iterable[tuple[str | tuple[str, str], str]]) -> Iterator[tuple[Key, Completion]]:
    for key, completion in items:
        yield (Key(key) if isinstance(key, str) else Key(*key)), completion
