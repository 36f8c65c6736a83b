"""What every format shares: finding the file, the header, counting."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import pytest

from eyetest.errors import DataError, MissingExtraError, UsageError
from eyetest.readers import LoadReport, columns, read_rows, text


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.tsv", "a.jsonl.gz", "a.parquet", "a.xlsx"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(DataError, match=rf"{name} is empty; expected one row for each question"):
        read_rows(tmp_path / name, LoadReport())


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.tsv"])
def test_file_of_blanks_is_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf\r\n  \n")
    with pytest.raises(DataError, match="is empty"):
        list(read_rows(tmp_path / name, LoadReport()))


def test_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("{}")
    with pytest.raises(UsageError, match=r"item\.jsonl does not exist\. Did you mean 'items\.jsonl'\?"):
        read_rows(tmp_path / "item.jsonl", LoadReport())
    with pytest.raises(UsageError, match=r"zzz\.csv does not exist\. No file in .* has a similar name"):
        read_rows(tmp_path / "zzz.csv", LoadReport())
    with pytest.raises(UsageError, match=rf"no folder .*nowhere/deep\. The nearest one that exists is {tmp_path}"):
        read_rows(tmp_path / "nowhere" / "deep" / "a.csv", LoadReport())


def test_folder_and_unknown_suffix(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("{}")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match=r"is a folder; expected a data file \(\.jsonl, .*\)\. It holds items\.jsonl\."):
        read_rows(tmp_path, LoadReport())
    with pytest.raises(UsageError, match=r"notes\.txt: no reader for '\.txt'\. Supported: \.jsonl, .*\.xlsx"):
        columns(tmp_path / "notes.txt")


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{}")

    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"a\.jsonl cannot be read: Permission denied\. Check the file"):
        list(read_rows(path, LoadReport()))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16(tmp_path: Path, name: str, encoding: str) -> None:
    (tmp_path / name).write_bytes('{"question": "q"}\n'.encode(encoding))
    with pytest.raises(DataError, match=rf"{name} is UTF-16; save it as UTF-8\."):
        list(read_rows(tmp_path / name, LoadReport()))


@pytest.mark.parametrize(
    ("name", "content"), [("A.JSONL", b'{"q": "1"}'), ("a.ndjson", b'{"q": "1"}'), ("a.csv", b"q\n1"), ("a.json", b'[{"q":"1"}]')]
)
def test_suffixes_plain_and_packed(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    report = LoadReport()
    for path in (tmp_path / name, tmp_path / f"{name}.gz"):
        assert [row.values for row in read_rows(path, report)] == [{"q": "1"}]
        assert columns(path) == ("q",)
    assert report.files == [str(tmp_path / name), str(tmp_path / f"{name}.gz")]
    assert (report.read, report.kept, report.dropped) == (2, 0, {})


def test_truncated_and_false_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    packed = gzip.compress(b'{"q": 1}\n' * 1000)
    for content in (packed[:-12], b"not gzip"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"is a broken gzip file: .* Fetch or pack it again"):
            list(read_rows(path, LoadReport()))


def test_decompression_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_UNPACKED", 1 << 20)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(DataError, match="unpacks to more than 1 MB, over 200 times its size, as a decompression bomb does"):
        list(read_rows(path, LoadReport()))


@pytest.mark.parametrize(("name", "module"), [("a.parquet", "pyarrow"), ("a.xlsx", "openpyxl")])
def test_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str) -> None:
    (tmp_path / name).write_bytes(_smallest_zip())
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"Reading {name} needs the package '{module}'.*eyetest\[data\]"):
        list(read_rows(tmp_path / name, LoadReport()))


def _smallest_zip() -> bytes:
    return b"PK\x05\x06" + b"\0" * 18


def test_strict_report_ends_at_the_first_drop(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"q": 1}\n[1]\n')
    rows = read_rows(tmp_path / "a.jsonl", LoadReport(strict=True))
    assert next(rows).place == "a.jsonl:1"
    with pytest.raises(DataError, match=r"a\.jsonl:2: not an object: found a list, expected \{\.\.\.\}\. Mend the row"):
        next(rows)


def test_links_pipes_and_devices_are_named(tmp_path: Path) -> None:
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "gone.jsonl")
    with pytest.raises(UsageError) as raised:
        read_rows(tmp_path / "dangling.jsonl", LoadReport())
    said = f"is a link to {tmp_path}/gone.jsonl, which does not exist. Mend the link, or name the file itself."
    assert str(raised.value) == f"{tmp_path}/dangling.jsonl {said}"
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    with pytest.raises(DataError, match=r"loop\.jsonl cannot be read: Too many levels of symbolic links\. Check the file"):
        read_rows(tmp_path / "loop.jsonl", LoadReport())
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "null.jsonl").symlink_to(os.devnull)
    for name in ("pipe.jsonl", "null.jsonl"):
        with pytest.raises(UsageError) as raised:
            read_rows(tmp_path / name, LoadReport())
        said = "is a pipe or a device; expected a regular file. Save its contents as a file first."
        assert str(raised.value) == f"{tmp_path / name} {said}"


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        read_rows(Path("x" * 5000 + ".jsonl"), LoadReport())
    assert str(raised.value) == f"{'x' * 297}... cannot be read: File name too long. Check the file and its permissions."
    with pytest.raises(DataError, match="embedded null byte"):
        read_rows(tmp_path / "a\0.jsonl", LoadReport())


def test_a_folder_that_may_not_be_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", refuse)
        with pytest.raises(UsageError, match=r"a\.csv does not exist\. No file in"):
            read_rows(tmp_path / "a.csv", LoadReport())
        with pytest.raises(UsageError, match="is a folder; expected a data file"):
            read_rows(tmp_path, LoadReport())
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", refuse)
        with pytest.raises(DataError, match=r"a\.csv cannot be read: Permission denied\. Check the file and its permissions\."):
            read_rows(tmp_path / "a.csv", LoadReport())
