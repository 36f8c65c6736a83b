from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest import evaluate, images
from eyetest.errors import DataError, UsageError
from eyetest.readers import LoadReport
from eyetest.stats import random_baseline
from eyetest.tasks import Task
from eyetest.tasks.fakenewsnet import LABELS, gossipcop, politifact
from eyetest.types import Sample

FIXTURES = Path(__file__).parent.parent / "fixtures" / "fakenewsnet"
SPOTFAKE, CRAWLED = FIXTURES / "FakeNewsNet_Multimodal", FIXTURES / "crawled"
JPEG = (SPOTFAKE / "Images" / "politi_test" / "politifact00000.jpg").read_bytes()
FAKE, REAL = LABELS
HEADER = ",content,image,label"


def load(task: Task, folder: Path, split: str = "test", format: str | None = None) -> tuple[list[Sample], LoadReport]:
    report = LoadReport()
    loader = task.load if format is None else task.formats[format]
    return list(loader(folder, split, report)), report


def spotfake(folder: Path, lines: str | bytes, pictures: int = 9, name: str = "politi_test") -> Path:
    """A SpotFake+ folder with p0.jpg, p1.jpg, ..."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.csv").write_bytes(lines.encode() if isinstance(lines, str) else lines)
    inside = folder / "Images" / name
    inside.mkdir(parents=True, exist_ok=True)
    for number in range(pictures):
        (inside / f"p{number}.jpg").write_bytes(JPEG)
    return folder


def parquet(path: Path, rows: list[dict[str, Any]], *columns: str) -> Path:
    """A Hugging Face file; the picture column is the struct {bytes, path}."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = {"image": pa.struct({"bytes": pa.binary(), "path": pa.string()}), "label": pa.int64()}
    names = columns or ("image", "text", "label", "split")
    table = {name: pa.array([row.get(name) for row in rows], kinds.get(name, pa.string())) for name in names}
    pq.write_table(pa.table(table), path)
    return path


def picture(name: str | None) -> dict[str, Any]:
    return {"bytes": JPEG, "path": name}


def crawled(folder: Path, rows: dict[str, list[list[str]]], site: str = "politifact", pictures: bool = True) -> Path:
    """Label files {kind: rows} and a picture for each id."""
    (folder / "dataset").mkdir(parents=True, exist_ok=True)
    (folder / "images").mkdir(exist_ok=True)
    for kind in ("fake", "real"):
        with (folder / "dataset" / f"{site}_{kind}.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([["id", "news_url", "title", "tweet_ids"], *rows.get(kind, [])])
        for row in rows.get(kind, []) if pictures else []:
            if row[0]:
                (folder / "images" / f"{row[0]}.jpg").write_bytes(JPEG)
    return folder


def article(folder: Path, kind: str, name: str, content: bytes | dict[str, Any], site: str = "politifact") -> Path:
    place = folder / site / kind / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "news content.json").write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return place


# SpotFake+


@pytest.mark.parametrize(
    ("task", "short", "first"), [(politifact, "politi", "politifact00000"), (gossipcop, "gossip", "gossipcop-88000")]
)
@pytest.mark.parametrize("folder", [SPOTFAKE, FIXTURES])
def test_spotfake(task: Task, short: str, first: str, folder: Path) -> None:
    loader = "spotfake" if folder == FIXTURES else None  # the parent holds a crawled tree too
    samples, report = load(task, folder, format=loader)
    assert samples[0] == Sample(
        id=first,
        question="Is the following news misinformation?",
        target=("misinformation",),
        kind="choice",
        choices=("misinformation", "not_misinformation"),
        images=samples[0].images,
        context="Synthetic fabricated story 0. Body text, with a comma, “curly quotes” and a second sentence.",
        cluster=first,
        metadata={"split": "test", "index": "0", "image": f"{first}.jpg", "raw_label": "0"},
    )
    assert samples[0].images[0].path == str(SPOTFAKE / "Images" / f"{short}_test" / f"{first}.jpg")
    assert [sample.target[0] for sample in samples] == [FAKE, REAL, REAL, REAL, FAKE, REAL, REAL]
    assert all(("fabricated" in (sample.context or "")) == (sample.target == (FAKE,)) for sample in samples)
    assert (report.read, report.kept, report.dropped) == (8, 7, {"missing picture": 1})
    assert report.rows["missing picture"][0].startswith(f"{short}_test.csv:9: ")
    assert len(load(task, folder, "train", loader)[0]) == 11


def test_a_second_pass_gives_the_same(tmp_path: Path) -> None:
    report = LoadReport()
    assert list(politifact.load(SPOTFAKE, "test", report)) == list(politifact.load(SPOTFAKE, "test", LoadReport()))


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        (b"1,text,p1.jpg,2", "unknown label", "'2', expected 0 or 1"),
        (b"1,text,p1.jpg,fake", "unknown label", "'fake'"),
        (b"1,text,p1.jpg,", "no label", ""),
        (b"1,p1.jpg,1,", "shifted row", "'p1.jpg' stands in another column"),
        (b"and so on,text,p1.jpg,1", "shifted row", "the first cell is 'and so on', expected a row number"),
        (b"1,text, with a comma,p1.jpg,1", "wrong number of cells", "5 cells, expected 4"),
        (b",,,", "empty row", ""),
        (b"1,text,,1", "missing picture", "the cell is empty"),
        (b"1,text,gone.jpg,1", "missing picture", "gone.jpg"),
        (b"1,text,../politi_test/p1.jpg,1", "bad picture path", "points outside"),
        (b"1,text,/etc/hostname,1", "bad picture path", "points outside"),
        (b'1,"lost quote,p1.jpg,1\n3,text,p2.jpg,0\n4,ends with one",p3.jpg,1', "swallowed rows", "took in 2 rows"),
        (b'1,"never closed,p1.jpg,1', "unclosed quote", "reading goes on at the next line"),
        (b"1,caf\xe9,p1.jpg,1", "not UTF-8", "byte 0xe9 in column 6"),
        (b"1,te\0xt,p1.jpg,1", "NUL byte", "column 5"),
    ],
)
def test_spotfake_rows_that_cannot_be_asked(tmp_path: Path, row: bytes, reason: str, detail: str) -> None:
    lines = b"\n".join([HEADER.encode(), b"0,before,p0.jpg,0", row, b"9,after,p5.jpg,1"])
    samples, report = load(politifact, spotfake(tmp_path, lines))
    assert [(sample.id, sample.target[0]) for sample in samples] == [("p0", FAKE), ("p5", REAL)]
    assert (report.read, report.kept, report.dropped) == (3, 2, {reason: 1})
    assert report.rows[reason][0].startswith("politi_test.csv:3")
    assert detail in report.rows[reason][0]


@pytest.mark.parametrize(("lines", "kept"), [(1200, True), (19_999, True), (20_001, False)])
def test_long_articles_are_whole_or_not_there(tmp_path: Path, lines: int, kept: bool) -> None:
    long = "\n".join(f"line {number}, with a comma" for number in range(lines))
    samples, report = load(politifact, spotfake(tmp_path, f'{HEADER}\n0,"{long}",p0.jpg,0\n1,short,p1.jpg,1'))
    assert [sample.context for sample in samples] == [long, "short"] if kept else ["short"]
    assert report.dropped.get("unclosed quote", 0) == (0 if kept else 1)


def test_a_quote_that_is_lost_among_many_rows_costs_its_row_alone(tmp_path: Path) -> None:
    rows = ['0,"lost,p0.jpg,0', *(f"{number},short,p1.jpg,1" for number in range(1, 3000)), '3000,"a, b",p1.jpg,1']
    samples, report = load(politifact, spotfake(tmp_path, "\n".join([HEADER, *rows])))
    assert (len(samples), report.dropped) == (3000, {"unclosed quote": 1})


def test_strict_names_the_row(tmp_path: Path) -> None:
    spotfake(tmp_path, f"{HEADER}\n0,text,p0.jpg,7")
    with pytest.raises(DataError, match=r"politi_test\.csv:2: unknown label: '7', expected 0 or 1\. Mend the row"):
        list(politifact.load(tmp_path, "test", LoadReport(strict=True)))


def test_spotfake_bom_line_ends_floats_and_extra_columns(tmp_path: Path) -> None:
    lines = "\ufeff,content,image,label,topic\r\n0.0,a,p0.jpg,0.0,war\r\n,b,p1.jpg,1.0,\r\n"
    samples, report = load(politifact, spotfake(tmp_path, lines))
    assert [(sample.target[0], sample.metadata["topic"]) for sample in samples] == [(FAKE, "war"), (REAL, "")]
    assert not report.dropped


def test_spotfake_reads_by_position(tmp_path: Path) -> None:
    samples, _ = load(politifact, spotfake(tmp_path, "n,article,file,truth\n0,a,p0.jpg,0\n"))
    assert (samples[0].context, samples[0].target) == ("a", (FAKE,))


@pytest.mark.parametrize(
    "header", ["content,image,label", ",image,content,label", "index,content,label,image", "id,news_url,title"]
)
def test_spotfake_columns_in_another_order_are_refused(tmp_path: Path, header: str) -> None:
    spotfake(tmp_path, f"{header}\n0,p0.jpg,p0.jpg,0\n")
    with pytest.raises(DataError, match=r"politi_test\.csv:1: expected the columns index, content, image, label in this order"):
        load(politifact, tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", r"politi_test\.csv is empty"),
        (b"<!DOCTYPE html>\n<html><body>Quota exceeded</body></html>\n", r"politi_test\.csv:1: expected the columns index"),
        (b"PAR1\0\0\x15\x04\0\n", r"politi_test\.csv:1: the header cannot be read"),
        ("\ufeff,content,image,label\n".encode("utf-16"), r"politi_test\.csv is UTF-16; save it as UTF-8"),
    ],
)
def test_another_file_in_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        load(politifact, spotfake(tmp_path, content))


def test_spotfake_without_its_pictures(tmp_path: Path) -> None:
    spotfake(tmp_path, f"{HEADER}\n0,text,p0.jpg,0\n1,text,p1.jpg,0\n", pictures=0)
    with pytest.raises(DataError, match=r"politi_test\.csv: not one of 2 pictures was found; looked in .*politi_test\. Unpack"):
        load(politifact, tmp_path)
    shutil.rmtree(tmp_path / "Images")
    with pytest.raises(
        DataError, match=r"no folder of pictures\. Looked for Images/politi_test and images/politi_test, found 'pol"
    ):
        load(politifact, tmp_path)
    with pytest.raises(UsageError, match=r"politi_train\.csv does not exist\. Did you mean 'politi_test\.csv'"):
        load(politifact, tmp_path, "train")
    with pytest.raises(UsageError, match=r"spotfake in .* has no split 'all'\. Pass --split test or train"):
        load(politifact, tmp_path, "all")


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "p1.jpg is empty"), (b"<html>404</html>", "p1.jpg begins with b'<html>404</h'")]
)
def test_a_picture_that_is_none_is_kept_and_named(tmp_path: Path, content: bytes, said: str) -> None:
    spotfake(tmp_path, f"{HEADER}\n0,text,p0.jpg,0\n1,other,p1.jpg,0\n")
    (tmp_path / "Images" / "politi_test" / "p1.jpg").write_bytes(content)
    samples, report = load(politifact, tmp_path)
    assert len(samples) == 2
    assert report.rows["undecodable picture"] == [f"politi_test.csv:3: {said}"]


def test_ids_are_unique_and_what_is_alike_is_one_cluster(tmp_path: Path) -> None:
    rows = [
        "0,a story,p0.jpg,0",
        "1,another,p0.jpg,1",
        "2,a  story ,p1.jpg,0",
        "3,a third,p2.jpg,1",
        "4,,p3.jpg,1",
        "5,,p4.jpg,1",
    ]
    samples, report = load(politifact, spotfake(tmp_path, "\n".join([HEADER, *rows])))
    assert [(sample.id, sample.cluster) for sample in samples] == [
        ("p0", "p0"), ("p0#2", "p0"), ("p1", "p0"), ("p2", "p2"), ("p3", "p3"), ("p4", "p4"),
    ]  # fmt: skip
    assert samples[4].context is None
    assert report.warnings == {"duplicate id": 1, "no text: the picture alone is asked about": 2}
    assert report.rows["duplicate id"] == ["politi_test.csv:3: named p0#2"]


# Parquet


def hugging_face(folder: Path) -> Path:
    """The SpotFake+ fixture as the Hugging Face copy has it: inverted labels, rows without pictures left out."""
    rows = list(csv.DictReader((SPOTFAKE / "politi_test.csv").open(encoding="utf-8", newline="")))[:-1]
    cells = [
        {"image": picture(row["image"]), "text": row["content"], "label": 1 - int(row["label"]), "split": "test"} for row in rows
    ]
    parquet(folder / "data" / "test-00000-of-00002.parquet", cells[:4])
    parquet(folder / "data" / "test-00001-of-00002.parquet", cells[4:])
    parquet(folder / "data" / "train-00000-of-00001.parquet", [{**cells[0], "split": "train"}])
    return folder


def test_parquet_and_spotfake_agree(tmp_path: Path) -> None:
    ours, report = load(politifact, hugging_face(tmp_path / "MMSoc_PolitiFact"))
    theirs, _ = load(politifact, SPOTFAKE)
    assert [(one.id, one.target, one.context, one.cluster) for one in ours] == [
        (one.id, one.target, one.context, one.cluster) for one in theirs
    ]
    assert [images.read_bytes(one.images[0]) for one in ours] == [JPEG] * 7
    assert ours[5].images[0].member == "image:1"
    assert ours[0].metadata == {"split": "test", "image": "politifact00000.jpg", "raw_label": "1"}
    assert (report.read, report.kept, report.dropped, report.warnings) == (7, 7, {}, {})
    assert len(load(politifact, tmp_path, "train")[0]) == 1


def test_one_parquet_file_with_a_split_column_and_rows_without(tmp_path: Path) -> None:
    rows = [
        {"image": picture(None), "text": "a", "label": 1, "split": "test"},
        {"image": picture("b.jpg"), "text": "b", "label": 0, "split": "train"},
        {"image": None, "text": "c", "label": 0, "split": "test"},
        {"image": picture("d.jpg"), "text": "d", "label": None, "split": "test"},
        {"image": picture("e.jpg"), "text": "e", "label": 3, "split": "test"},
        {"split": "test"},
        {"image": picture("pics/g.jpg"), "text": None, "label": 0, "split": "test"},
    ]
    parquet(tmp_path / "all.parquet", rows)
    samples, report = load(gossipcop, tmp_path)
    assert [(sample.id, sample.target[0], sample.context) for sample in samples] == [("all:1", FAKE, "a"), ("g", REAL, None)]
    assert (report.read, report.kept) == (6, 2)
    assert report.rows == {
        "missing picture": ["all.parquet row 3"],
        "no label": ["all.parquet row 4"],
        "unknown label": ["all.parquet row 5: '3', expected 0 or 1"],
        "empty row": ["all.parquet row 6"],
        "no text: the picture alone is asked about": ["all.parquet row 7"],
    }
    assert [sample.id for sample in load(gossipcop, tmp_path, "train")[0]] == ["b"]


def test_parquet_as_the_hub_converts_it_and_a_missing_part(tmp_path: Path) -> None:
    row = {"image": picture("x.jpg"), "text": "a", "label": 1, "split": "train"}
    parquet(tmp_path / "default" / "test" / "0000.parquet", [row])
    samples, report = load(gossipcop, tmp_path)
    assert [sample.id for sample in samples] == ["x"]
    assert report.rows == {"split differs from the file's name": ["0000.parquet row 1: 'train'"]}
    parquet(tmp_path / "data" / "test-00001-of-00003.parquet", [row], "image", "text", "label")
    _, report = load(gossipcop, tmp_path)
    assert report.warnings == {"missing Parquet file": 2}
    assert report.rows["missing Parquet file"][1].startswith("test-00002-of-00003.parquet: one of a numbered series")


def test_parquet_files_that_do_not_fit(tmp_path: Path) -> None:
    row = {"image": picture("x.jpg"), "text": "a", "label": 1}
    path = parquet(tmp_path / "rows.parquet", [row], "image", "text", "label")
    with pytest.raises(DataError, match=r"rows\.parquet does not say its split: there is no column 'split'\. Name it test-"):
        load(politifact, tmp_path)
    path.rename(tmp_path / "test-0.parquet")
    with pytest.raises(DataError, match=r"no Parquet file of the split 'train'; found 'test-0\.parquet'"):
        load(politifact, tmp_path, "train")
    parquet(tmp_path / "test-0.parquet", [row], "image", "text")
    with pytest.raises(DataError, match=r"test-0\.parquet: no column 'label'; expected image, text, label \(1 is fake\)"):
        load(politifact, tmp_path)
    (tmp_path / "test-0.parquet").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(DataError, match=r"test-0\.parquet is not a readable Parquet file"):
        load(politifact, tmp_path)


def test_two_sites_side_by_side_are_told_apart_by_name(tmp_path: Path) -> None:
    row = {"text": "a", "label": 1, "split": "test"}
    parquet(tmp_path / "MMSoc_PolitiFact" / "test-0.parquet", [{**row, "image": picture("p.jpg")}])
    parquet(tmp_path / "MMSoc_GossipCop" / "test-0.parquet", [{**row, "image": picture("g.jpg")}])
    parquet(tmp_path / "something_else" / "test-0.parquet", [{**row, "image": picture("s.jpg")}])
    assert [sample.id for sample in load(politifact, tmp_path)[0]] == ["p"]
    assert [sample.id for sample in load(gossipcop, tmp_path)[0]] == ["g"]
    with pytest.raises(DataError, match=r"Task gossipcop: .*MMSoc_PolitiFact has no layout that is known"):
        load(gossipcop, tmp_path / "MMSoc_PolitiFact")


# The crawled tree


def test_crawled_fixture(tmp_path: Path) -> None:
    shutil.copytree(CRAWLED, tmp_path / "tree")
    (tmp_path / "tree" / "images").mkdir()
    (tmp_path / "tree" / "images" / "politifact-9000.png").write_bytes(JPEG)
    (tmp_path / "tree" / "politifact" / "real" / "politifact-9001" / "politifact-9001.jpg").write_bytes(JPEG)
    samples, report = load(politifact, tmp_path, "all")
    assert [(sample.id, sample.target[0]) for sample in samples] == [("politifact-9000", FAKE), ("politifact-9001", REAL)]
    assert samples[0].context == "Synthetic headline\n\nSynthetic article body used only as a layout example."
    assert samples[0].metadata == {
        "split": "all",
        "raw_label": "fake",
        "url": "http://example.org/a",
        "source": "http://example.org",
        "publish_date": 1525199400.0,
        "tweets": None,
    }
    assert samples[0].cluster == samples[1].cluster == "politifact-9000"  # the fixture's articles have one URL
    assert (report.read, report.kept) == (3, 2)
    assert report.rows["empty article folder"][0].startswith("politifact/fake/politifact-9999: no news content.json")


def test_label_files_and_tree_together(tmp_path: Path) -> None:
    crawled(
        tmp_path,
        {
            "fake": [
                ["politifact1", "a.org/1", "One", "11\t12\t13"],
                ["politifact2", "a.org/2", "Account Suspended", ""],
                ["politifact1", "a.org/1", "One", ""],
                ["", "", "", ""],
                ["1 of the tweets", "x", "y", "z"],
                ["gossipcop-3", "x", "y", "z"],
            ],
            "real": [["politifact4", "", "Four", "1"], ["politifact2", "a.org/2", "Two", ""], ["../../politifact5", "", "", ""]],
        },
    )
    article(tmp_path, "fake", "politifact1", {"title": "One indeed", "text": "One indeed is told here.", "url": "http://a.org/1"})
    article(tmp_path, "fake", "politifact6", {"title": "", "text": "Only in the tree."}, "politifact")
    (tmp_path / "images" / "politifact6.webp").write_bytes(JPEG)
    (tmp_path / "politifact" / "fake" / "politifact7").mkdir()
    samples, report = load(politifact, tmp_path, "all")
    assert [(sample.id, sample.target[0], sample.context) for sample in samples] == [
        ("politifact1", FAKE, "One indeed is told here."),
        ("politifact2", FAKE, "Account Suspended"),
        ("politifact6", FAKE, "Only in the tree."),
        ("politifact4", REAL, "Four"),
    ]
    assert [sample.metadata["tweets"] for sample in samples] == [3, 0, None, 1]
    assert (report.read, report.kept) == (11, 4)
    assert report.rows == {
        "title is not an article's": ["politifact_fake.csv:3: 'Account Suspended'"],
        "no article: the title alone": ["politifact_fake.csv:3", "politifact_real.csv:2"],
        "duplicate id": [
            "politifact_fake.csv:4: 'politifact1', the first stands in politifact_fake.csv:2",
            "politifact_real.csv:3: 'politifact2', the first stands in politifact_fake.csv:3",
        ],
        "empty row": ["politifact_fake.csv:5"],
        "shifted row": [
            "politifact_fake.csv:6: the id is '1 of the tweets', expected politifact...",
            "politifact_fake.csv:7: the id is 'gossipcop-3', expected politifact...",
            "politifact_real.csv:4: the id is '../../politifact5', expected politifact...",
        ],
        "empty article folder": [
            "politifact/fake/politifact7: no news content.json: the page was gone when it was crawled",
        ],
    }


def test_cells_of_the_longest_kind(tmp_path: Path) -> None:
    tweets = "\t".join(["886941526458347521"] * 30_255)[:574_833]
    rows = [["politifact1", "u", "Long", tweets], ["politifact2", "v", "Cut by Excel", "7" * 32_759], ["", "", "", ""]]
    samples, report = load(politifact, crawled(tmp_path, {"fake": rows, "real": [["politifact3", "w", "Real", ""]]}), "all")
    assert [sample.metadata["tweets"] for sample in samples] == [30_255, 1, 0]
    assert report.rows["cell cut by Excel"] == [
        "politifact_fake.csv:3: 'tweet_ids' has 32,759 characters; use the file as published",
    ]
    assert report.rows["empty row"] == ["politifact_fake.csv:4"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "0 bytes"),
        ('{"title": "caf\u00e9"}'.encode("latin-1"), "not UTF-8: byte 0xe9"),
        (b'{"title": "a\0b"}', "NUL byte: column 13"),
        (b'{"title": "cut', "bad JSON"),
        (b"<html>", "bad JSON"),
        (b"[1]", "found list, expected an object"),
    ],
)
def test_an_article_that_cannot_be_read_leaves_the_title(tmp_path: Path, content: bytes, said: str) -> None:
    crawled(tmp_path, {"fake": [["politifact1", "", "From the list", ""]], "real": [["politifact2", "", "Real", ""]]})
    article(tmp_path, "fake", "politifact1", content)
    samples, report = load(politifact, tmp_path, "all")
    assert samples[0].context == "From the list"
    assert report.rows["unreadable article"][0].startswith(f"politifact_fake.csv:2: {said}")


def test_an_article_with_a_bom(tmp_path: Path) -> None:
    crawled(tmp_path, {"fake": [["politifact1", "", "", ""]], "real": [["politifact2", "", "Real", ""]]})
    article(tmp_path, "fake", "politifact1", b'\xef\xbb\xbf{"text": "Body", "title": ["odd"]}')
    samples, report = load(politifact, tmp_path, "all")
    assert samples[0].context == "Body"
    assert "unreadable article" not in report.rows


@pytest.mark.parametrize(
    ("title", "odd"),
    [
        ("Account Suspended", True),
        ("American News is under construction", True),
        ("Information for the Nation", True),
        ("Transcripts", True),
        ("404 Not Found", True),
        ("Twitter account of the president suspended for a day", False),
        ("500 people march", False),
        ("Transcript: the debate", False),
    ],
)
def test_titles_that_are_no_article(tmp_path: Path, title: str, odd: bool) -> None:
    crawled(tmp_path, {"fake": [["gossipcop-1", "", title, ""]], "real": [["gossipcop-2", "", "Real", ""]]}, "gossipcop")
    assert ("title is not an article's" in load(gossipcop, tmp_path, "all")[1].warnings) == odd


def test_crawled_has_one_split(tmp_path: Path) -> None:
    crawled(tmp_path, {"fake": [["politifact1", "", "Fake", ""]], "real": [["politifact2", "", "Real", ""]]})
    with pytest.raises(UsageError, match=r"the layout crawled in .* has no split 'test'\. Pass --split all"):
        load(politifact, tmp_path)
    samples, report = load(politifact, tmp_path, "train")  # a model that wants to learn from it does without
    assert samples == []
    assert report.rows == {"no such split": [f"{tmp_path}: a crawled tree is one split; pass --split all"]}


def test_crawled_without_what_it_needs(tmp_path: Path) -> None:
    rows = {"fake": [["politifact1", "", "Fake", ""]], "real": [["politifact2", "", "Real", ""]]}
    crawled(tmp_path, rows, pictures=False)
    with pytest.raises(
        DataError, match=r"not one of 2 pictures was found; looked in .*images\. FakeNewsNet holds URLs .* ID\.jpg"
    ):
        load(politifact, tmp_path, "all")
    (tmp_path / "dataset" / "politifact_fake.csv").write_text("content,label\na,0\n")
    with pytest.raises(
        DataError, match=r"politifact_fake\.csv:1: no column 'id', 'title'; expected id, news_url, title, tweet_ids"
    ):
        load(politifact, tmp_path, "all")
    (tmp_path / "dataset" / "politifact_fake.csv").unlink()
    with pytest.raises(DataError, match=r"nothing of politifact is labelled fake; looked for dataset/politifact_fake\.csv and"):
        load(politifact, tmp_path, "all")


def test_the_crawlers_own_folders(tmp_path: Path) -> None:
    crawled(tmp_path, {"fake": [["politifact1", "", "Fake", ""]], "real": [["politifact2", "", "Real", ""]]})
    article(tmp_path / "code" / "fakenewsnet_dataset", "real", "politifact2", {"title": "Real", "text": "Told."})
    assert [sample.context for sample in load(politifact, tmp_path, "all")[0]] == ["Fake", "Real\n\nTold."]


# Which layout


@pytest.mark.parametrize("task", [politifact, gossipcop])
def test_no_folder(task: Task, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"^Task {task.name} needs its folder: --dir FOLDER \(layouts: spotfake, parquet, cra"):
        task.load(None, "test", LoadReport())
    with pytest.raises(DataError, match=r"nowhere does not exist\. Pass the folder that holds one of: spotfake"):
        task.load(tmp_path / "nowhere", "test", LoadReport())
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="file is a file, not a folder"):
        task.load(tmp_path / "file", "test", LoadReport())
    with pytest.raises(DataError, match="does not exist"):
        task.load(tmp_path / ("x" * 5000), "test", LoadReport())


def test_no_layout(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Found: an empty folder"):
        load(politifact, tmp_path)
    (tmp_path / "train.csv").write_text("x")
    (tmp_path / "pictures").mkdir()
    with pytest.raises(
        DataError,
        match=r"one level down for: spotfake \(politi_test\.csv .*crawled \(dataset/politifact_fake\.csv .*"
        r"Found: 'pictures/', 'train\.csv'\. Known layouts: spotfake, parquet, crawled\.",
    ):
        load(politifact, tmp_path)
    with pytest.raises(DataError, match=r"one level down for: spotfake \([^;]*\)\. Found"):
        load(politifact, tmp_path, format="spotfake")


def test_two_layouts(tmp_path: Path) -> None:
    spotfake(tmp_path, f"{HEADER}\n0,text,p0.jpg,0\n")
    crawled(tmp_path, {"fake": [["politifact1", "", "Fake", ""]], "real": [["politifact2", "", "Real", ""]]})
    with pytest.raises(
        DataError, match=r"more than one copy .*: spotfake in .*, crawled in .*\. Pass --format spotfake or --format crawled\.$"
    ):
        load(politifact, tmp_path)
    assert [sample.id for sample in load(politifact, tmp_path, "test", "spotfake")[0]] == ["p0"]
    assert len(load(politifact, tmp_path, "all", "crawled")[0]) == 2


def test_one_layout_twice(tmp_path: Path) -> None:
    for name in ("old", "new"):
        spotfake(tmp_path / name, f"{HEADER}\n0,text,p0.jpg,0\n")
    with pytest.raises(DataError, match=r"spotfake in .*new, spotfake in .*old\. Pass the folder of one of them with --dir\."):
        load(politifact, tmp_path)


# The paper's numbers (arXiv 2402.14154, Table 2)


def full_size(folder: Path, name: str, fake: int, real: int) -> Path:
    """The label file of a test split with its real number of labels."""
    labels = [0] * fake + [1] * real
    np.random.default_rng(0).shuffle(labels)
    rows = [f"{number},story {number},s{number}.jpg,{label}" for number, label in enumerate(labels)]
    spotfake(folder, "\n".join([HEADER, *rows]), 0, name)
    for number in range(len(labels)):
        (folder / "Images" / name / f"s{number}.jpg").write_bytes(JPEG)
    return folder


def scores(task: Task, folder: Path, *models: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    """(model, metric) -> value, low, high."""

    def here(_folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
        return task.load(folder, split, report)

    rows = evaluate(replace(task, load=here, train_split=None), models, conditions="image").table()
    return {(row["model"], row["metric"]): (row["value"], row["low"], row["high"]) for row in rows}


# GossipCop's constant answer is 2285/2830 = .807 and 2285/5115 = .447 on SpotFake+; the paper's .81 and .448 need a share of
# .810 to .813, as its own copy of 2,672 rows may have.
@pytest.mark.parametrize(
    ("task", "name", "fake", "real", "accuracy", "macro_f1", "random_f1"),
    [(politifact, "politi_test", 29, 75, 0.721, 0.419, 0.471), (gossipcop, "gossip_test", 545, 2285, 0.807, 0.447, 0.448)],
)
def test_constant_and_random_rows_of_the_paper(
    tmp_path: Path, task: Task, name: str, fake: int, real: int, accuracy: float, macro_f1: float, random_f1: float
) -> None:
    folder = full_size(tmp_path, name, fake, real)
    classes = Counter(sample.target[0] for sample in load(task, folder)[0])
    assert classes == {FAKE: fake, REAL: real}
    found = scores(task, folder, f"constant:{REAL}", "chance")
    assert round(found[f"constant:{REAL}", "accuracy"][0], 3) == accuracy
    assert round(found[f"constant:{REAL}", "macro_f1"][0], 3) == macro_f1
    expected = random_baseline([classes[FAKE], classes[REAL]])
    for metric, value, printed in (("accuracy", expected.accuracy, 0.5), ("macro_f1", expected.macro_f1, random_f1)):
        _, low, high = found["chance", metric]
        assert low <= value <= high
        assert low <= printed <= high


@pytest.mark.parametrize(
    ("fake", "real", "mean", "spread", "printed"), [(29, 75, 0.4725, 0.028, 0.471), (545, 2285, 0.447, 0.005, 0.448)]
)
def test_the_printed_random_row_is_a_draw_of_three_seeds(
    fake: int, real: int, mean: float, spread: float, printed: float
) -> None:
    rng = np.random.default_rng(0)
    hits, alarms = rng.binomial(fake, 0.5, (4000, 3)), rng.binomial(real, 0.5, (4000, 3))
    first = 2 * hits / (hits + fake + alarms)
    second = 2 * (real - alarms) / ((real - alarms) + (fake - hits) + real)
    rows = ((first + second) / 2).mean(axis=1)
    low, high = np.quantile(rows, [0.025, 0.975])
    assert rows.mean() == pytest.approx(mean, abs=0.0015)
    assert rows.std() == pytest.approx(spread, abs=0.0015)
    assert low <= printed <= high
    assert rows.mean() == pytest.approx(random_baseline([fake, real]).macro_f1, abs=0.003)


@pytest.mark.parametrize("task", [politifact, gossipcop])
def test_what_the_tasks_say_of_themselves(task: Task) -> None:
    assert (task.positive, task.family, task.splits, task.train_split) == (
        FAKE,
        "misinformation",
        ("test", "train", "all"),
        "train",
    )
    assert list(task.formats) == ["spotfake", "parquet", "crawled"]
    assert not task.card.redistributable
    assert "no article text" in task.card.redistribution


def test_a_crawled_tree_can_be_answered_by_the_majority(tmp_path: Path) -> None:
    rows = [[f"politifact{number}", "", f"Title {number}", ""] for number in range(5)]
    crawled(tmp_path, {"fake": rows[:2], "real": rows[2:]})

    def here(_folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
        return politifact.load(tmp_path, split, report)

    results = evaluate(replace(politifact, load=here, splits=("all",)), "majority")
    accuracy = next(row.estimate for row in results.rows if row.estimate.metric == "accuracy")
    assert accuracy.value == pytest.approx(0.6)
