from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import DataError
from eyetest.readers import LoadReport, Row, columns, delimited, read_rows


def load(path: Path, content: bytes) -> tuple[list[Row], LoadReport]:
    path.write_bytes(content)
    report = LoadReport()
    return list(read_rows(path, report)), report


def test_clean_file_stays_text(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.csv", b'\xef\xbb\xbf,q,n\r\n0,"a, ""b""\r\nc",None\r\n\r\n1,NA,nan')
    assert rows == [
        Row({"column_1": "0", "q": 'a, "b"\r\nc', "n": "None"}, "a.csv:2"),
        Row({"column_1": "1", "q": "NA", "n": "nan"}, "a.csv:5"),
    ]
    assert (report.read, report.dropped, report.warnings) == (2, {}, {})


@pytest.mark.parametrize(
    ("line", "reason", "said"),
    [
        (b"1", "wrong number of cells", "1 cells, expected 2"),
        (b"1,2,3", "wrong number of cells", "3 cells, expected 2"),
        (b"1,caf\xe9", "not UTF-8", "byte 0xe9 in column 6; save the file as UTF-8"),
        (b"1,a\0b", "NUL byte", "column 4"),
        (b'1,"a"b', "bad CSV", "',' expected after '\"'"),
    ],
)
def test_dirt_costs_one_row(tmp_path: Path, line: bytes, reason: str, said: str) -> None:
    rows, report = load(tmp_path / "a.csv", b"id,q\n0,x\n" + line + b"\n2,y\n")
    assert [row.place for row in rows] == ["a.csv:2", "a.csv:4"]
    assert (report.read, report.dropped) == (3, {reason: 1})
    assert report.rows == {reason: [f"a.csv:3: {said}"]}


@pytest.mark.parametrize(
    ("tail", "last"),
    [(b"", 4), (b'4,"closed"\n', 5), (b'4,x\n5,"y, z"\n', 6)],
    ids=["end of file", "a later quote on the next line", "a later quote further on"],
)
def test_unclosed_quote_costs_only_its_own_line(tmp_path: Path, tail: bytes, last: int) -> None:
    rows, report = load(tmp_path / "a.csv", b'id,q\n1,"open\n2,b\n3,c\n' + tail)
    assert [row.values["id"] for row in rows] == [str(n) for n in range(2, 2 + len(rows))]
    assert [row.place for row in rows] == [f"a.csv:{n}" for n in range(3, 3 + len(rows))]
    assert len(rows) == last - 2
    assert report.rows == {
        "unclosed quote": [f"a.csv:2: opened here, not closed up to line {last}; reading goes on at the next line"]
    }
    assert report.read == len(rows) + 1


def test_unclosed_quote_over_many_lines(tmp_path: Path) -> None:
    lines = [b"id,q", b'0,"open', *(b"%d,x" % n for n in range(1, 3000))]
    rows, report = load(tmp_path / "a.csv", b"\n".join(lines))
    assert [row.values["id"] for row in rows] == [str(n) for n in range(1, 3000)]
    assert report.dropped == {"unclosed quote": 1}
    assert report.rows["unclosed quote"][0].startswith("a.csv:2: opened here, not closed up to line 1001;")


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_caller_may_allow_longer_records(tmp_path: Path, suffix: str) -> None:
    text = "\n".join(map(str, range(1500)))
    path = tmp_path / f"a.{suffix}"
    content = f'id,q\n0,"{text}"\n1,x\n'.encode()
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    report = LoadReport()
    assert [row.values["q"] for row in read_rows(path, report, record_lines=1500)] == [text, "x"]
    assert (report.read, report.dropped) == (2, {})
    assert [row.values["q"] for row in read_rows(path, report, record_lines=1499)] == ["x"]
    assert report.rows["unclosed quote"][0].startswith(
        "a.csv" + ".gz" * suffix.endswith("gz") + ":2: opened here, not closed up to"
    )


def test_latin1_line_inside_an_unclosed_quote_keeps_its_own_reason(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.csv", b'id,q\n1,"open\n2,caf\xe9\n3,c\n')
    assert [row.place for row in rows] == ["a.csv:4"]
    assert report.dropped == {"unclosed quote": 1, "not UTF-8": 1}
    assert report.rows["not UTF-8"][0].startswith("a.csv:3: byte 0xe9")


def test_semicolons_are_read_and_said(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.csv", b"id;q\n1;a, b\n")
    assert rows == [Row({"id": "1", "q": "a, b"}, "a.csv:2")]
    assert report.warnings == {"separated by ; instead of ,": 1}
    assert report.rows == {"separated by ; instead of ,": ["a.csv:1"]}


def test_tabs(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.tsv", b'id\tq\n1\ta; b, c\n2\t"x\ty"\n')
    assert [row.values["q"] for row in rows] == ["a; b, c", "x\ty"]
    assert report.warnings == {}


def test_long_cells_and_the_limit_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = csv.field_size_limit()
    rows, report = load(tmp_path / "a.csv", b"id,q\n1," + b"x" * 574_833 + b"\n")
    assert len(rows[0].values["q"]) == 574_833
    assert report.dropped == {}
    monkeypatch.setattr(delimited, "MAX_CELL", 100)
    rows, report = load(tmp_path / "b.csv", b"id,q\n1," + b"x" * 200 + b"\n2,y\n")
    assert [row.place for row in rows] == ["b.csv:3"]
    assert len(report.dropped) == 1
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id,q,q,id\n1,2,3,4\n", r"a\.csv:1: the header names 'id', 'q' more than once; .* Rename one"),
        (b"\n\nid,\xe9\n", r"a\.csv:3: the header cannot be read: not UTF-8: byte 0xe9 in column 4"),
        (b'id,"q\n1,2\n', r"a\.csv:1: the header cannot be read: unclosed quote"),
        (b"id,q\r1,2\r", "ends its lines with CR alone .* save it with LF or CRLF"),
    ],
)
def test_broken_header(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        load(tmp_path / "a.csv", content)
    with pytest.raises(DataError, match=said):
        columns(tmp_path / "a.csv")


def test_header_only(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.csv", b"id,q\n")
    assert (rows, report.read) == ([], 0)
    assert columns(tmp_path / "a.csv") == ("id", "q")


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    table=st.lists(st.tuples(cells, cells), min_size=1, max_size=6),
    suffix=st.sampled_from(["csv", "tsv"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_csv_round_trip(tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str]], suffix: str, end: str) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, "excel" if suffix == "csv" else "excel-tab", lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b"), *table])
    rows, report = load(tmp_path_factory.mktemp("csv") / f"a.{suffix}", out.getvalue().encode())
    assert [(row.values["a"], row.values["b"]) for row in rows] == table
    assert (report.read, report.dropped) == (len(table), {})
