from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest import images
from eyetest.errors import DataError
from eyetest.readers import LoadReport, Row, columns, parquet, read_rows
from eyetest.types import Image

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def load(path: Path, table: pa.Table, **options: Any) -> tuple[list[Row], LoadReport]:
    pq.write_table(table, path, **options)
    report = LoadReport()
    return list(read_rows(path, report)), report


def test_values_become_plain(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": [1, None],
            "x": [0.5, float("nan")],
            "day": [datetime.date(2020, 1, 2), None],
            "when": [datetime.datetime(2020, 1, 2, 3, 4), None],
            "price": [decimal.Decimal("1.50"), None],
            "list": [["a", "b"], []],
            "struct": [{"k": 1}, None],
            "text": ["None", "NA"],
        }
    )
    rows, report = load(tmp_path / "a.parquet", table)
    first = {"n": 1, "x": 0.5, "day": "2020-01-02", "when": "2020-01-02T03:04:00", "price": "1.50", "list": ["a", "b"]}
    assert rows[0] == Row(first | {"struct": {"k": 1}, "text": "None"}, "a.parquet row 1")
    assert rows[1].place == "a.parquet row 2"
    assert rows[1].values["x"] is None
    assert (report.read, report.dropped) == (2, {})
    assert columns(tmp_path / "a.parquet") == tuple(table.column_names)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("group", [2, 100])
def test_pictures_stay_in_the_file(tmp_path: Path, statistics: bool, group: int) -> None:
    path = tmp_path / "a.parquet"
    structs = [{"bytes": b"one", "path": None}, None, {"bytes": None, "path": "x.jpg"}, {"bytes": b"two", "path": "y.jpg"}]
    table = pa.table(
        {
            "image": pa.array(structs, PICTURE),
            "images": pa.array([[structs[0], structs[3]], None, [], [structs[2]]], pa.list_(PICTURE)),
            "raw": pa.array([b"1", None, b"3", b"4"]),
            "full": pa.array([b"1", b"2", b"3", b"4"]),
            "id": [1, 2, 3, 4],
        }
    )
    rows, _ = load(path, table, row_group_size=group, write_statistics=statistics)

    def lazy(member: str) -> Image:
        return Image(path=str(path), member=member)

    assert [row.values["image"] for row in rows] == [lazy("image:0"), None, "x.jpg", lazy("image:3")]
    assert [row.values["images"] for row in rows] == [[lazy("images[0]:0"), lazy("images[1]:0")], None, [], ["x.jpg"]]
    assert [row.values["raw"] for row in rows] == [lazy("raw:0"), None, lazy("raw:2"), lazy("raw:3")]
    assert [row.values["full"] for row in rows] == [lazy(f"full:{n}") for n in range(4)]
    assert [row.values["id"] for row in rows] == [1, 2, 3, 4]
    assert [images.read_bytes(rows[n].values["image"]) for n in (0, 3)] == [b"one", b"two"]


@pytest.mark.parametrize("some_missing", [False, True])
def test_picture_bytes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, some_missing: bool) -> None:
    pictures = [None if some_missing and n % 3 == 0 else {"bytes": b"x" * 1000, "path": None} for n in range(30)]
    read: list[list[str]] = []
    values = parquet._values

    def watched(file: Any, group: int, leaves: list[str], rows: int) -> Any:
        read.append(leaves)
        return values(file, group, leaves, rows)

    monkeypatch.setattr(parquet, "_values", watched)
    table = pa.table({"image": pa.array(pictures, PICTURE), "many": pa.array([[p] for p in pictures], pa.list_(PICTURE))})
    rows, _ = load(tmp_path / "a.parquet", table)
    assert [row.values["image"] is None for row in rows] == [picture is None for picture in pictures]
    assert [row.values["many"] == [None] for row in rows] == [picture is None for picture in pictures]
    assert read
    assert all(leaf.endswith(".path") for leaves in read for leaf in leaves)


def test_invalid_utf8_costs_one_row(tmp_path: Path) -> None:
    bad = pa.array([b"ok", b"caf\xe9", b"fine"]).view(pa.string())
    rows, report = load(tmp_path / "a.parquet", pa.table({"q": bad}))
    assert [row.place for row in rows] == ["a.parquet row 1", "a.parquet row 3"]
    assert report.rows == {"not UTF-8": ["a.parquet row 2: byte 0xe9"]}
    assert report.read == 3


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"q": ["some text"] * 1000}), path)
    for content in (b"PAR1 nonsense", path.read_bytes()[:-20]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.parquet is not a readable Parquet file: .* Fetch it again"):
            list(read_rows(path, LoadReport()))
        with pytest.raises(DataError, match="not a readable Parquet file"):
            columns(path)
