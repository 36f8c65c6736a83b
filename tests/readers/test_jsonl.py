from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import DataError
from eyetest.readers import LoadReport, Row, columns, jsonl, read_rows, text


def load(path: Path, content: bytes) -> tuple[list[Row], LoadReport]:
    path.write_bytes(content)
    report = LoadReport()
    return list(read_rows(path, report)), report


@pytest.mark.parametrize(
    ("line", "reason", "said"),
    [
        (b'{"a": 1,}', "bad JSON", "column 8: trailing comma is not allowed"),
        (b'{"a": "b"', "bad JSON", "column 10: unexpected end of data"),
        (b'{"a": NaN}', "bad JSON", "(NaN and Infinity are not JSON; write null)"),
        (b'{"a": -Infinity}', "bad JSON", "(NaN and Infinity are not JSON; write null)"),
        (b'{"a": "\\ud800"}', "bad JSON", "surrogate"),
        (b'{"a": "caf\xe9"}', "not UTF-8", "byte 0xe9 in column 11"),
        (b'{"\xc3\xa9": "caf\xe9"}', "not UTF-8", "byte 0xe9 in column 11"),
        (b'{"a": "b\0"}', "NUL byte", "column 9"),
        (b"[1, 2]", "not an object", "found a list"),
        (b'"text"', "not an object", "found a text"),
        (b"17", "not an object", "found a number"),
        (b"null", "not an object", "found null"),
        (b'{"a": ' + b"9" * 5000 + b"}", "bad JSON", ""),
        (b'{"a": ' + b"[" * 3000 + b"]" * 3000 + b"}", "bad JSON", ""),
    ],
)
def test_dirt_costs_one_row(tmp_path: Path, line: bytes, reason: str, said: str) -> None:
    rows, report = load(tmp_path / "items.jsonl", b'{"a": 0}\n' + line + b'\n{"a": 2}\n')
    assert [row.place for row in rows] == ["items.jsonl:1", "items.jsonl:3"]
    assert (report.read, report.dropped, report.warnings) == (3, {reason: 1}, {})
    assert report.rows[reason][0].startswith("items.jsonl:2: ")
    assert said in report.rows[reason][0]


def test_windows_file(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"a": "x"}\r\n\r\n  \r\n{"a": "y"}')
    assert rows == [Row({"a": "x"}, "a.jsonl:1"), Row({"a": "y"}, "a.jsonl:4")]
    assert (report.read, report.dropped, report.warnings) == (2, {}, {})


@pytest.mark.parametrize("line", [b'{"a": 1, "a": 2}', b'{"a" : 1, "a"\t: 2}'])
def test_duplicate_key_warns(tmp_path: Path, line: bytes) -> None:
    rows, report = load(tmp_path / "a.jsonl", line)
    assert rows == [Row({"a": 2}, "a.jsonl:1")]
    assert report.warnings == {"duplicate key": 1}
    assert report.rows == {"duplicate key": ["a.jsonl:1: 'a' (the last value counts)"]}


def test_colons_in_texts_and_nested_keys_are_no_duplicates(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.jsonl", b'{"a": "x\\": y", "b": {"a": 1, "b": 2}}')
    assert rows[0].values == {"a": 'x": y', "b": {"a": 1, "b": 2}}
    assert report.warnings == {}


def test_line_too_long_is_dropped_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_LINE", 1000)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "' + b"x" * 5_000_000 + b'"}\n{"a": 1}\n')
    report = LoadReport()
    tracemalloc.start()
    rows = list(read_rows(path, report))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == [Row({"a": 1}, "a.jsonl:2")]
    assert (report.read, report.rows) == (2, {"line over 64 MB": ["a.jsonl:1"]})
    assert peak < 500_000


def test_100k_rows_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(b'{"id": "%d", "question": "What is this?", "answer": "a"}\n' % i for i in range(100_000)))
    report = LoadReport()
    tracemalloc.start()
    count = sum(1 for _ in read_rows(path, report))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == report.read == 100_000
    assert peak < 1_000_000


def test_columns_are_the_union_of_the_first_rows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\nbad\n{"b": 1, "a": 2}\n')
    assert columns(tmp_path / "a.jsonl") == ("a", "b")
    (tmp_path / "a.jsonl").write_bytes(b"bad\nworse\n[1]\n")
    with pytest.raises(DataError, match=r"none of its 3 rows is a JSON object\. bad JSON: 2, first a\.jsonl:1: column 1"):
        columns(tmp_path / "a.jsonl")


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
objects = st.dictionaries(
    st.text(), st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(objects, min_size=1, max_size=5), ascii_only=st.booleans(), name=st.sampled_from(["a.jsonl", "a.json"]))
def test_json_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], ascii_only: bool, name: str
) -> None:
    path = tmp_path_factory.mktemp("json") / name
    content = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    if name == "a.json":
        content = json.dumps(rows, ensure_ascii=ascii_only, indent=1)
    read, report = load(path, content.encode())
    assert [row.values for row in read] == rows
    assert (report.read, report.dropped, report.warnings) == (len(rows), {}, {})


def test_json_list_keeps_lines_and_drops_non_objects(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.json", b'\xef\xbb\xbf[\n {"a": 1},\n 5,\n\n {"a":\n 2}\n]\n')
    assert rows == [Row({"a": 1}, "a.json:2"), Row({"a": 2}, "a.json:5")]
    assert report.rows == {"not an object": ["a.json:3: found a number, expected {...}"]}
    assert load(tmp_path / "b.json", b" [ ] ")[0] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1}\n{"a": 2}', "begins with an object; expected a list of objects: .* name the file .jsonl"),
        (b"hello", "begins with 'hello'; expected a list of objects"),
        (b'[{"a": 1},\n{"a": ', r"a\.json:2: bad JSON: column 7: Expecting value\. Is the file complete\?"),
        (b'[{"a": 1}\n{"a": 2}]', r"a\.json:2: bad JSON: column 1: expected ',' or '\]'"),
        (b'[{"a": 1}] x', r"a\.json:1: bad JSON: column 12: text after the end of the list"),
        (b'[{"a": "\xe9"}]', r"a\.json:1: not UTF-8: byte 0xe9 in column 9"),
    ],
)
def test_broken_json_file(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        load(tmp_path / "a.json", content)


def test_json_size_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_JSON", 10)
    with pytest.raises(DataError, match=r"is too large for \.json, .* Save it as \.jsonl"):
        load(tmp_path / "a.json", b'[{"a": 1}, {"a": 2}]')


@pytest.mark.parametrize("depth", [63, 64, 500, 1000])
@pytest.mark.parametrize("ends", [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_costs_one_row(tmp_path: Path, depth: int, ends: tuple[str, str]) -> None:
    deep = (ends[0] * depth + "1" + ends[1] * depth).encode()
    rows, report = load(tmp_path / "a.jsonl", b'{"q": ' + deep + b'}\n{"q": "[[[[' + b"[" * 99 + b'"}\n')
    assert len(rows) == 2 - (depth > 63)
    if depth > 63:
        said = "a.jsonl:1: more than 64 lists and objects within each other"
        assert report.rows == {"nested too deeply": [said]}


def test_a_number_of_thousands_of_digits_in_a_list(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        load(tmp_path / "a.json", b'[{"a": 1},\n {"a": ' + b"9" * 5000 + b"}]")
    assert str(raised.value) == "a.json:2: bad JSON: column 2: an object with a number of too many digits. Is the file complete?"
