"""What the readers of published datasets share: which layout a folder has, and rows, parts, pictures and references."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyetest import registry, social
from eyetest.errors import DataError, UsageError, shown
from eyetest.readers import LoadReport, Row
from eyetest.tasks import Task
from eyetest.tasks.dataset_files import (
    BadRowError,
    check_parts,
    dropping,
    missing_parts,
    parquet_patterns,
    picture,
    picture_format,
    plain,
    references,
    samples,
    split_in_name,
)
from eyetest.tasks.layouts import Found, Layout, all_of, any_of, check_folder, described, entries, find, instead, locate
from eyetest.types import Image, Sample

LAYOUTS = {
    "table": Layout("t.csv", any_of("t.csv")),
    "parts": Layout("train-*.parquet", any_of(*parquet_patterns("train"))),
    "both": Layout("a.csv and b.csv", all_of("a.csv", "b.csv")),
    "any": Layout("*.txt", any_of("*.txt"), one_file=True),
}
DATASETS = ("memotion", "hateful_memes", "fakenewsnet", "youtube")
TASKS: list[Task] = [
    registry.load("tasks", name)
    for name, place in registry.BUILT_IN["tasks"].items()
    if place.split(":")[0].rpartition(".")[2] in DATASETS
]


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    return folder


# Folder -> layout


@pytest.mark.parametrize(
    ("names", "layout", "root", "files"),
    [
        (["t.csv"], "table", ".", ["t.csv"]),
        (["in/t.csv", "other/x"], "table", "in", ["t.csv"]),
        (["in/train-1.parquet", "in/train.parquet"], "parts", "in", ["train-1.parquet", "train.parquet"]),
        (["b.csv", "a.csv"], "both", ".", ["a.csv", "b.csv"]),
        (["x.txt", "in/t.csv"], "any", ".", ["x.txt"]),
    ],
    ids=["here", "one level down", "parts, sorted", "all, in order", "here wins over one level down"],
)
def test_the_one_copy_is_found(tmp_path: Path, names: list[str], layout: str, root: str, files: list[str]) -> None:
    place = tmp_path / root
    assert find("t", touch(tmp_path, *names), LAYOUTS) == Found(layout, tmp_path, place, tuple(place / file for file in files))


@pytest.mark.parametrize("names", [["a.csv"], ["two/levels/t.csv"], ["t.csv/x", "u"], []])
def test_nothing_is_found(tmp_path: Path, names: list[str]) -> None:
    assert find("t", touch(tmp_path, *names), LAYOUTS) is None


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["t.csv", "x.txt"], "table in {0}, any in {0}. Pass --format table or --format any."),
        (["one/t.csv", "two/t.csv"], "table in {0}/one, table in {0}/two. Pass the folder of one of them with --dir."),
        (
            ["one/t.csv", "two/x.txt"],
            "table in {0}/one, any in {0}/two. Pass the folder of one of them with --dir, or --format table or --format any.",
        ),
        (["x.txt", "y.txt"], "any in {0}/x.txt, any in {0}/y.txt. Leave one of these files there."),
    ],
)
def test_several_copies_are_named_with_the_way_out(tmp_path: Path, names: list[str], said: str) -> None:
    with pytest.raises(DataError) as error:
        find("memes", touch(tmp_path, *names), LAYOUTS)
    assert str(error.value) == f"Task memes: {tmp_path} holds more than one copy of the dataset: {said.format(tmp_path)}"


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Any) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    for look in (lambda: find("t", tmp_path, LAYOUTS), lambda: entries(tmp_path)):
        with pytest.raises(DataError, match=rf"{tmp_path} cannot be read: Permission denied\. Check"):
            look()


def test_common_words_for_what_is_wrong(tmp_path: Path) -> None:
    touch(tmp_path, "x/y", "z")
    sought = {"table": LAYOUTS["table"], "both": LAYOUTS["both"]}
    with pytest.raises(DataError) as error:
        locate("memes", "Memes 7k", tmp_path, sought, LAYOUTS)
    assert str(error.value) == (
        f"{tmp_path}: no layout of Memes 7k here or one folder down. Looked for: table (t.csv); both (a.csv and b.csv). "
        f"Found: 'x', 'z'. Known layouts: table, parts, both, any."
    )
    assert described(sought) == "table (t.csv); both (a.csv and b.csv)"
    for name, there in (("nowhere", "none"), ("z", "a file"), ("x" * 5000, "none"), ("a\0b", "none")):
        with pytest.raises(UsageError, match=rf"--dir .*: expected the dataset's folder, found {there}\.$"):
            locate("memes", "Memes 7k", tmp_path / name, sought, LAYOUTS)
        assert instead(tmp_path / name) == there
    assert instead(tmp_path) == ""
    check_folder(tmp_path, "pictures", "")
    with pytest.raises(DataError, match=r"img: expected the folder of pictures, found none\. Unpack it\.$"):
        check_folder(tmp_path / "img", "pictures", "Unpack it.")


# All tasks


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_says_that_it_needs_a_folder_and_has_an_embedded_one(task: Task) -> None:
    for layout, load in {"": task.load, **task.formats}.items():
        with pytest.raises(UsageError) as error:
            load(None, task.splits[0], LoadReport())
        start, _, end = str(error.value).partition(" (layouts: ")
        assert start == f"Task {task.name} needs its folder: --dir FOLDER"
        assert end.endswith("), or --dir embedded for the small set inside eyetest.")
        assert layout in end
    report = LoadReport()
    assert next(task.load(social.folder(task.embedded), task.splits[0], report)).target
    assert not report.dropped


def test_every_dataset_has_its_embedded_set() -> None:
    assert {task.embedded for task in TASKS} == set(DATASETS) == set(social.DATASETS)


# Rows


def sample(row: Row) -> Sample:
    if row.values["q"] == "bad":
        raise BadRowError("bad row", "it says so")
    return Sample(id=row.values["q"], question="", target=())


def rows(report: LoadReport, *texts: str | None) -> Iterator[Row]:
    for number, text in enumerate(texts, 1):
        report.read += 1
        yield Row({"q": text, "other": None}, f"a.csv:{number}")


def test_rows_become_samples_and_bad_ones_are_named() -> None:
    report = LoadReport()
    made = list(samples(rows(report, "x", "bad", "", "x", "y"), sample, report, source=Path("a.csv")))
    assert [one.id for one in made] == ["x", "y"]
    assert (report.read, report.kept) == (5, 2)
    assert report.rows == {
        "bad row": ["a.csv:2: it says so"],
        "empty row": ["a.csv:3"],
        "duplicate id": ["a.csv:4: x; the first one is kept"],
    }
    strict = LoadReport(strict=True)
    with pytest.raises(DataError, match=r"^a\.csv:2: bad row: it says so\. Mend the row"):
        list(samples(rows(strict, "x", "bad"), sample, strict, source=Path("a.csv")))


def test_no_sample_at_all_is_an_error_that_counts_this_pass_alone() -> None:
    report = LoadReport(read=7, kept=7)
    said = r"^a\.csv: none of the 2 rows of 'test' can be used\. bad row: 1, first a\.csv:1: it says so; empty row: 1, first"
    with pytest.raises(DataError, match=said):
        list(samples(rows(report, "bad", None), sample, report, source=Path("a.csv"), called="rows of 'test'"))


def test_only_bad_rows_are_dropped() -> None:
    with pytest.raises(ZeroDivisionError), dropping("a.csv:1", LoadReport()):
        raise ZeroDivisionError


# Parts of a Parquet split


def test_parts_that_are_missing_are_named(tmp_path: Path) -> None:
    names = ["test-00001-of-00003.parquet", "train-00000-of-00001.parquet", "train.parquet", "0000.parquet"]
    files = [tmp_path / name for name in names]
    assert missing_parts(files) == ["test-00000-of-00003.parquet", "test-00002-of-00003.parquet"]
    assert missing_parts(files[1:]) == []
    check_parts(files[1:])
    with pytest.raises(DataError) as error:
        check_parts(files)
    assert str(error.value) == f"{tmp_path}: part 00000 of 00003 is missing beside {names[0]}. Fetch all parts."


@pytest.mark.parametrize(
    ("name", "split"),
    [("train-00000-of-00001.parquet", "train"), ("val.parquet", "val"), ("test_x.parquet", "test"), ("0000.parquet", "0000")],
)
def test_the_split_that_a_file_is_named_after(name: str, split: str) -> None:
    assert split_in_name(Path("train", name)) == split


# Pictures


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "jpeg"),
        (b"\x89PNG\r\n", "png"),
        (b"GIF89a", "gif"),
        (b"BM\n\0", "bmp"),
        (b"RIFF\n\0\0\0WEBPVP8 ", "webp"),
        (b"RIFF\n\0\0\0WAVEfmt ", None),
        (b"II*\0", "tiff"),
        (b"MM\0*", "tiff"),
        (b"\0\0\0\x1cftypavif", "avif"),
        (b"P6\n1 1", "ppm"),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_pictures_are_told_by_their_first_bytes(tmp_path: Path, start: bytes, kind: str | None) -> None:
    (tmp_path / "p").write_bytes(start)
    assert picture_format(str(tmp_path / "p")) == (kind, start[:12])


def test_the_first_picture_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "b.png").write_bytes(b"<html>404</html>")
    touch(tmp_path, "c.png")
    report = LoadReport()
    found = [picture([tmp_path / "x", tmp_path / f"{n}.png"], n, "a.csv:1", report, empty="has 0 bytes") for n in "abc"]
    assert found == [Image(path=str(tmp_path / f"{name}.png")) for name in "abc"]
    assert report.rows == {
        "undecodable picture": ["a.csv:1: b begins with b'<html>404</h'", "a.csv:1: c has 0 bytes"],
    }
    with pytest.raises(BadRowError) as bad:
        picture([tmp_path / "x", tmp_path], "x", "a.csv:1", report)
    assert (bad.value.reason, bad.value.detail) == ("missing picture", "x")


# References


def read_references(*folders: Path, strict: bool = False) -> tuple[dict[str, tuple[str, ...]], LoadReport]:
    report = LoadReport(strict=strict)
    name = {1: "one", 2: "two"}.get
    return references(folders, "k", report, name=name, flaw="expected both"), report


def test_references_add_up_and_bad_lines_are_named_and_counted(tmp_path: Path) -> None:
    lines = [
        {"id": 1, "reference": "a"},
        {"id": 1, "reference": ["b", "", 3, "c"]},
        {"id": 3, "reference": "d"},
        *[{"id": 2, "reference": " "}] * 30,
    ]
    (tmp_path / "references").mkdir()
    path = tmp_path / "references" / "k.jsonl"
    path.write_text("\n".join([*map(json.dumps, lines), "{"]))
    found, report = read_references(tmp_path / "no", tmp_path)
    assert found == {"one": ("a", "b", "c")}
    assert report.warnings == {"references: expected both": 31, "references: bad JSON": 1}
    assert report.rows["references: expected both"][0] == "k.jsonl:3"
    assert (report.files, report.read, report.dropped) == ([str(path)], 0, {})
    with pytest.raises(DataError, match=r"^k\.jsonl:3: expected both\. Mend"):
        read_references(tmp_path, strict=True)


def test_no_references(tmp_path: Path) -> None:
    found, report = read_references(tmp_path / "a", tmp_path / "b")
    assert found == {}
    place = f"{tmp_path / 'a' / 'references' / 'k.jsonl'}: no such file"
    assert report.rows == {"no references: descriptions cannot be scored": [place]}


# Text


def test_values_are_shortened_and_made_plain() -> None:
    assert (shown("a"), len(shown("a" * 200)), shown("a" * 200)[-4:]) == ("'a'", 80, "a...")
    assert [plain(value) for value in (1, 2**63, -(2**63), True, 1.5, None, "x", ["y"])] == [
        *(1, str(2**63), -(2**63), True, 1.5, None, "x", "['y']"),
    ]
