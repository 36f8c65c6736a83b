"""JSON Lines, and JSON files that hold a list of objects.

Strict JSON (RFC 8259) in UTF-8: NaN and Infinity are not JSON and drop their row. Whole numbers of any size stay exact.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from eyetest.errors import DataError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import MAX_DEPTH, Header, Row, too_deep
from eyetest.readers.text import LINE_TOO_LONG, MAX_LINE, empty, flaw, physical_lines

MAX_JSON = 256 << 20
"""Largest .json file in bytes, unpacked: it is held in memory whole."""
ROWS_FOR_COLUMNS = 100
"""Rows looked at to list the columns of a file without a header."""

TOO_DEEP = "nested too deeply"
_DEPTH = f"more than {MAX_DEPTH} lists and objects within each other"

_KEY = re.compile(rb'"\s*:')
_LONG_NUMBER = re.compile(rb"\d{19}")
_CONSTANT = re.compile(rb"\b(NaN|Infinity)\b")


def read(path: Path, report: LoadReport) -> Iterator[Row]:
    """Rows of a .jsonl file, one object a line. Blank lines are skipped and not counted."""
    for number, raw in physical_lines(path):
        if raw is None:
            report.read += 1
            report.drop(LINE_TOO_LONG, f"{path.name}:{number}")
        elif not raw.isspace() and (row := _row(raw.rstrip(b"\r\n"), f"{path.name}:{number}", report)) is not None:
            yield row


def read_list(path: Path, report: LoadReport) -> Iterator[Row]:
    """Rows of a .json file that holds one list of objects; a row's place is the line on which its object begins."""
    text = _whole(path)
    decode = json.JSONDecoder().raw_decode
    start = _blanks(text, 0)
    if text[start : start + 1] != "[":
        raise _not_a_list(path, text, start)
    at, line, counted = _blanks(text, start + 1), 1, 0
    while text[at : at + 1] != "]":
        try:
            _, end = decode(text, at)
        except json.JSONDecodeError as error:
            raise _broken(path, text, error.pos, error.msg) from error
        except RecursionError as error:
            raise _broken(path, text, at, "nested too deeply") from error
        except ValueError as error:  # what int() says of thousands of digits
            raise _broken(path, text, at, "an object with a number of too many digits") from error
        line, counted = line + text.count("\n", counted, at), at
        row = _row(text[at:end].encode("utf-8"), f"{path.name}:{line}", report)
        if row is not None:
            yield row
        at = _blanks(text, end)
        if text[at : at + 1] == ",":
            at = _blanks(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _broken(path, text, at, "expected ',' or ']'")
    if text[at + 1 :].strip():
        raise _broken(path, text, _blanks(text, at + 1), "text after the end of the list")


def header(path: Path) -> Header:
    """Every key of the first 100 rows, in order of appearance."""
    read_one = read_list if path.name.lower().removesuffix(".gz").endswith(".json") else read
    report = LoadReport()
    first = list(itertools.islice(read_one(path, report), ROWS_FOR_COLUMNS))
    if not first:
        reasons = "; ".join(f"{reason}: {report.dropped[reason]}, first {places[0]}" for reason, places in report.rows.items())
        raise DataError(f"{path}: none of its {report.read} rows is a JSON object. {reasons}".strip())
    names = dict.fromkeys(key for row in first for key in row.values)
    return Header(tuple(names), first[0].place)


def _row(raw: bytes, place: str, report: LoadReport) -> Row | None:
    """One object, or None after the drop was counted."""
    report.read += 1
    try:
        value = orjson.loads(raw)
        if _LONG_NUMBER.search(raw) or (isinstance(value, dict) and len(_KEY.findall(raw)) > len(value)):
            value = _exactly(raw, place, report)
    except (ValueError, RecursionError) as error:
        report.drop(*_why_not_json(raw, error, place))
        return None
    if not isinstance(value, dict):
        names = {list: "a list", str: "a text", type(None): "null", bool: "true or false"}
        report.drop("not an object", place, f"found {names.get(type(value), 'a number')}, expected {{...}}")
        return None
    if (raw.count(b"[") + raw.count(b"{")) > MAX_DEPTH and too_deep(value):
        report.drop(TOO_DEEP, place, _DEPTH)
        return None
    return Row(value, place)


def _exactly(raw: bytes, place: str, report: LoadReport) -> Any:
    """Parse again with the standard library, which keeps numbers over 64 bits and shows keys that stand twice."""
    twice: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) != len(found):
            keys = [key for key, _ in found]
            twice.extend(key for key in value if keys.count(key) > 1)
        return value

    value = json.loads(raw, object_pairs_hook=pairs)
    if twice:
        report.warn("duplicate key", place, f"{twice[0]!r} (the last value counts)")
    return value


def _why_not_json(raw: bytes, error: Exception, place: str) -> tuple[str, str, str]:
    """(reason, place, detail) of a line that is not JSON."""
    if (found := flaw(raw)) is not None:
        return found[0], place, found[1]
    if isinstance(error, RecursionError):
        return TOO_DEEP, place, _DEPTH
    if not isinstance(error, orjson.JSONDecodeError):
        return "bad JSON", place, str(error)
    detail = f"column {error.colno}: {error.msg}"
    if _CONSTANT.search(raw):
        detail += " (NaN and Infinity are not JSON; write null)"
    return "bad JSON", place, detail


def _whole(path: Path) -> str:
    parts, size = [], 0
    for number, raw in physical_lines(path):
        size += MAX_LINE if raw is None else len(raw)
        if size > MAX_JSON or raw is None:
            raise DataError(
                f"{path} is too large for .json, which is read whole (limit {MAX_JSON >> 20} MB). "
                f"Save it as .jsonl, one object a line."
            )
        if (found := flaw(raw)) is not None:
            raise DataError(f"{path.name}:{number}: {found[0]}: {found[1]}.")
        parts.append(raw.decode("utf-8"))
    text = "".join(parts)
    if not text.strip():
        raise empty(path)
    return text


def _blanks(text: str, at: int) -> int:
    """Index of the first character from `at` on that is not JSON white space."""
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


def _not_a_list(path: Path, text: str, start: int) -> DataError:
    found = "an object" if text[start] == "{" else f"{text[start : start + 20]!r}"
    hint = " If this is JSON Lines, name the file .jsonl." if text[start] == "{" else ""
    return DataError(f"{path} begins with {found}; expected a list of objects: [{{...}}, ...].{hint}")


def _broken(path: Path, text: str, at: int, said: str) -> DataError:
    """The file cannot be read on from character `at`."""
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return DataError(f"{path.name}:{line}: bad JSON: column {column}: {said}. Is the file complete?")
