from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest import images
from eyetest.errors import BadImageError, DataError
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

    assert [row.values["image"] for row in rows] == [lazy("image:0"), None, lazy("image:2"), lazy("image:3")]
    assert [row.values["images"] for row in rows] == [[lazy("images[0]:0"), lazy("images[1]:0")], None, [], [lazy("images[0]:3")]]
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


@pytest.mark.parametrize("empty", [pa.binary(), pa.null()])
def test_a_struct_of_file_names_is_guarded(tmp_path: Path, empty: pa.DataType) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "own.png").write_bytes(b"own")
    kind = pa.struct([("bytes", empty), ("path", pa.string())])
    names = ["own.png", "../secret.png", str(tmp_path / "secret.png"), "", None]
    cells = pa.array([{"bytes": None, "path": name} for name in names], kind)
    lists = pa.ListArray.from_arrays(list(range(len(names) + 1)), cells)
    rows, report = load(folder / "a.parquet", pa.table({"image": cells, "images": lists}))
    found = [row.values["image"] for row in rows]
    assert found[3:] == [None, None]
    assert report.dropped == {}
    assert images.read_bytes(found[0]) == b"own"
    assert images.read_bytes(rows[0].values["images"][0]) == b"own"
    for n in (1, 2):
        with pytest.raises(BadImageError) as raised:
            images.read_bytes(found[n])
        assert str(raised.value) == (
            f"The picture {folder / 'a.parquet'}[image:{n}] points outside the dataset's folder ({names[n]}). "
            "Use a copy of the dataset that holds its pictures."
        )


def test_times_that_python_cannot_hold(tmp_path: Path) -> None:
    table = pa.table(
        {
            "ns": pa.array([1, 1_577_934_245_000_000_001, None], pa.timestamp("ns")),
            "zone": pa.array([1, 2, None], pa.timestamp("ns", "UTC")),
            "time": pa.array([1, 86_399_000_000_001, None], pa.time64("ns")),
            "far": pa.array([2**62, -(2**62), None], pa.timestamp("us")),
            "day": pa.array([2**30, 0, None], pa.date32()),
            "wait": pa.array([1, 2**62, None], pa.duration("ns")),
            "long": pa.array([2**62, 5, None], pa.duration("s")),
            "plain": pa.array([datetime.datetime(2020, 1, 2)] * 3, pa.timestamp("us")),
        }
    )
    rows, report = load(tmp_path / "a.parquet", table)
    assert (len(rows), report.dropped) == (3, {})
    first, second, third = (row.values for row in rows)
    assert (first["ns"], second["ns"]) == ("1970-01-01T00:00:00.000000001", "2020-01-02T03:04:05.000000001")
    assert first["zone"] == "1970-01-01T00:00:00.000000001+00:00"
    assert second["time"].startswith("23:59:59")
    assert isinstance(first["far"], str | int)
    assert second["day"] == "1970-01-01"
    assert isinstance(first["day"], str | int)
    assert isinstance(first["wait"], str | int)  # as text where pandas is installed
    assert (first["long"], second["long"]) == (str(2**62), "0:00:05")
    assert third == dict.fromkeys(table.column_names) | {"plain": "2020-01-02T00:00:00"}


def test_a_nested_time_that_python_cannot_hold_costs_one_row(tmp_path: Path) -> None:
    values = pa.array([[1], [2**30]], pa.list_(pa.date32()))
    rows, report = load(tmp_path / "a.parquet", pa.table({"when": values}))
    assert [row.values["when"] for row in rows] == [["1970-01-02"]]
    assert report.rows == {
        "value that cannot be read": ["a.parquet row 2: column 'when', list<element: date32[day]>: OverflowError"]
    }


def test_rare_types_become_plain(tmp_path: Path) -> None:
    table = pa.table(
        {
            "uuid": pa.array([b"0123456789abcdef"], pa.uuid()),
            "map": pa.array([[("k", decimal.Decimal("1.5"))]], pa.map_(pa.string(), pa.decimal128(3, 1))),
            "half": pa.array([0.5], pa.float16()),
            "category": pa.array(["a"]).dictionary_encode(),
            "big": pa.array([2**64 - 1], pa.uint64()),
            "null": pa.nulls(1),
        }
    )
    rows, _ = load(tmp_path / "a.parquet", table)
    assert dict(rows[0].values) == {
        "uuid": "30313233-3435-3637-3839-616263646566",
        "map": [["k", "1.5"]],
        "half": 0.5,
        "category": "a",
        "big": 2**64 - 1,
        "null": None,
    }
