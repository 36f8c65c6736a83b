from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyetest.errors import DataError
from eyetest.readers import LoadReport, Row, columns, read_rows, xlsx


def load(path: Path, *lines: list[Any], sheets: tuple[str, ...] = ()) -> tuple[list[Row], LoadReport]:
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    for name in sheets:
        book.create_sheet(name)
    book.save(path)
    report = LoadReport()
    return list(read_rows(path, report)), report


def test_values_become_plain(tmp_path: Path) -> None:
    day, moment = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4)
    rows, report = load(
        tmp_path / "a.xlsx",
        ["id", None, "x", "when"],
        [1, "None", 17.0, day],
        [None, None, None, None],
        [2, True, 3.5, moment],
        [3, None, datetime.time(3, 4)],
        [None],
    )
    assert rows == [
        Row({"id": 1, "column_2": "None", "x": 17, "when": "2020-01-02"}, "a.xlsx row 2"),
        Row({"id": 2, "column_2": True, "x": 3.5, "when": "2020-01-02T03:04:00"}, "a.xlsx row 4"),
        Row({"id": 3, "column_2": None, "x": "03:04:00", "when": None}, "a.xlsx row 5"),
    ]
    assert isinstance(rows[0].values["x"], int)
    assert (report.read, report.dropped, report.warnings) == (3, {}, {})
    assert columns(tmp_path / "a.xlsx") == ("id", "column_2", "x", "when")


def test_formula_without_a_value(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.xlsx", ["id", "q"], [1, "a"], [2, "=A2+1"], [None, "=A2"], [3, "c"])
    assert [row.place for row in rows] == ["a.xlsx row 2", "a.xlsx row 5"]
    assert report.dropped == {"formula without a value": 2}
    assert report.rows["formula without a value"][0] == "a.xlsx row 3: column 2; open the file in Excel and save it"
    assert report.read == 4


def test_formula_with_a_value_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    load(path, ["id", "q"], [1, "=1+1"], [2, '=""'])
    _edit(path, b"<v />", b"<v>2</v>", b"<v/>", b"<v>2</v>", b"<v></v>", b"<v>2</v>")
    rows = list(read_rows(path, LoadReport(strict=True)))
    assert [row.values["q"] for row in rows] == [2, 2]


def _edit(path: Path, *swaps: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            for old, new in zip(swaps[::2], swaps[1::2], strict=True):
                content = content.replace(old, new) if "sheet1" in name else content
            archive.writestr(name, content)


def test_error_value_and_other_sheets_are_said(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.xlsx", ["id", "q"], [1, "#NAME?"], sheets=("More", "Notes"))
    assert rows[0].values == {"id": 1, "q": None}
    assert report.warnings == {"other sheets not read": 1, "error value in a cell": 1}
    assert report.rows["other sheets not read"] == ["a.xlsx: 'More', 'Notes'"]
    assert report.rows["error value in a cell"] == ["a.xlsx row 2: 'q' is #NAME?"]


def test_cells_beyond_the_header(tmp_path: Path) -> None:
    rows, report = load(tmp_path / "a.xlsx", ["id"], [1, "extra"], [2])
    assert [row.values for row in rows] == [{"id": 2}]
    assert report.rows == {"wrong number of cells": ["a.xlsx row 2: 2 cells, expected 1"]}


def test_duplicate_header_and_empty_sheet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.xlsx row 1: the header names 'q' more than once"):
        load(tmp_path / "a.xlsx", ["q", "q"], [1, 2])
    with pytest.raises(DataError, match=r"b\.xlsx is empty"):
        load(tmp_path / "b.xlsx")


def test_broken_zip(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    load(path, ["q"], ["a"])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a\.xlsx is not a readable \.xlsx file: .* save it again"):
        list(read_rows(path, LoadReport()))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "no workbook")
    with pytest.raises(DataError, match="is not a readable"):
        columns(path)


def test_broken_sheet_is_found_while_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    load(path, ["q"], ["a"])
    _edit(path, b"</sheetData>", b"</sheet")
    with pytest.raises(DataError, match="is not a readable"):
        list(read_rows(path, LoadReport()))


def test_decompression_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path / "a.xlsx", ["q"], ["a"])
    monkeypatch.setattr(xlsx, "MAX_UNPACKED", 1000)
    with pytest.raises(DataError, match=r"unpacks to more than .* as a decompression bomb does"):
        list(read_rows(tmp_path / "a.xlsx", LoadReport()))


def test_row_number_beyond_excel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xlsx"
    load(path, ["q"], ["a"])
    _edit(path, b'<row r="2"', b'<row r="999999999"')
    monkeypatch.setattr(xlsx, "MAX_ROWS", 50)
    with pytest.raises(DataError, match="has a row beyond Excel's limit"):
        list(read_rows(path, LoadReport()))
