"""The line-by-line reader of the CodaLab file, on synthetic files with the dirt of the real one."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from eyetest.errors import DataError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.tasks.memotion_lines import CUT, LEVELS, TEXTS, is_training_file, read_lines

HEADER = "Image_name,Image_URL,OCR_extracted_text,Corrected_text,Humour,Sarcasm,Offensive,Motivational,Overall_Sentiment"
TWICE = "Image_name,Image_URL,OCR_extracted_text,corrected_text,Humour,Sarcasm,offensive,Motivational,Motivational"
LABELS = "not_funny,general,slight,motivational,very_negative"

COUNTS = {
    "humour": {"not_funny": 1649, "funny": 2456, "very_funny": 2236, "hilarious": 650},
    "sarcasm": {"not_sarcastic": 1544, "general": 3506, "twisted_meaning": 1547, "very_twisted": 394},
    "offensive": {"not_offensive": 2713, "slight": 2591, "very_offensive": 1466, "hateful_offensive": 221},
    "motivational": {"not_motivational": 4527, "motivational": 2464},
    "overall_sentiment": {"very_negative": 151, "negative": 479, "neutral": 2201, "positive": 3127, "very_positive": 1033},
}
"""Of the 6,991 lines of the published file."""
LINES = 6991
RUNS = [10] * 36 + [39]
"""Lines that each of 37 unclosed quotes swallows for a CSV parser: 399."""


def full_size_file(path: Path) -> None:
    """6,991 lines, CRLF and LF mixed; 37 unclosed quotes swallow 399 lines, 84 more lines have an odd number of quotes."""
    random = Random(0)
    columns = []
    for counts in COUNTS.values():
        labels = [label for label, count in counts.items() for _ in range(count)]
        random.shuffle(labels)
        columns.append(labels)
    heads = [f"meme_{row}.jpg,https://example.org/{row}.jpg,OCR {row},TEXT {row} " for row in range(LINES)]
    row = 5
    for run in RUNS:
        heads[row] = f'meme_{row}.jpg,"https://example.org/b_rgb:191919,ALL ABOUT {row},TEXT {row} '
        # The quote that opens this cell is the next one in the file: for a CSV parser it closes the one above.
        heads[row + run] = f'meme_{row + run}.jpg,https://example.org/x.jpg,"ONE, TWO",TEXT {row + run} '
        row += run + 20
    for inch in range(84):
        heads[row + 5 * inch] = f'meme_{row + 5 * inch}.jpg,https://example.org/x.jpg,A 6" SUB,TEXT {row + 5 * inch} '
    lines = [f"{head},{','.join(labels)}" for head, *labels in zip(heads, *columns, strict=True)]
    text = HEADER + "\r\n" + "".join(line + ("\r\n" if number % 3 else "\n") for number, line in enumerate(lines))
    path.write_bytes(text.encode())


def read(path: Path, **options: bool) -> tuple[list[Row], LoadReport]:
    report = LoadReport()
    return list(read_lines(path, report, **options)), report


def written(path: Path, *lines: str | bytes, header: str | None = HEADER) -> Path:
    raw = [line.encode() if isinstance(line, str) else line for line in lines]
    path.write_bytes(b"\n".join(([header.encode()] if header else []) + raw) + b"\n")
    return path


def test_all_6991_memes_come_back_where_a_csv_parser_loses_399_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "data_7000_new.csv"
    full_size_file(path)
    with path.open(encoding="utf-8", newline="") as file:
        assert len(list(csv.reader(file))) - 1 == 6592 == LINES - sum(RUNS)
    rows, report = read(path)
    assert (len(rows), report.read, report.dropped) == (LINES, LINES, {})
    assert {column: Counter(row.values[column] for row in rows) for column in LEVELS} == COUNTS
    assert [row.values["image_name"] for row in rows] == [f"meme_{number}.jpg" for number in range(LINES)]
    assert all(row.values["text_corrected"] == f"TEXT {number} " for number, row in enumerate(rows))
    assert report.warnings == {"unclosed quote": 37}
    assert report.rows["unclosed quote"][0] == "data_7000_new.csv:7: in image_url"
    assert sum(line.count(b'"') % 2 for line in path.read_bytes().split(b"\n")) == 121


@pytest.mark.parametrize("header", [HEADER, TWICE, None, "﻿" + HEADER, "﻿"])
def test_every_header_and_none_a_mark_and_mixed_line_ends(tmp_path: Path, header: str | None) -> None:
    first = f"a.jpg,https://x/a,OCR,TEXT,{LABELS}\r\n"
    text = ("" if header is None else header + ("\r\n" if "Image" in header else "")) + first + "\n" + first.replace("\r", "")
    path = tmp_path / "any.csv"
    path.write_text(text, encoding="utf-8", newline="")
    rows, report = read(path)
    assert [row.values for row in rows] == [
        {
            **dict(zip(TEXTS, ("a.jpg", "https://x/a", "OCR", "TEXT"), strict=True)),
            **dict(zip(LEVELS, LABELS.split(","), strict=True)),
            CUT: (),
        }
    ] * 2
    assert (report.read, report.dropped, report.warnings) == (2, {}, {})
    assert is_training_file(path)


@pytest.mark.parametrize(
    ("cells", "texts", "cut"),
    [
        ("a.jpg,https://x,OCR,TEXT", ("https://x", "OCR", "TEXT"), ()),
        ('a.jpg,https://x,"O, ""C"" R","T,\tX"', ("https://x", 'O, "C" R', "T,\tX"), ()),
        ('a.jpg,"https://x/b:1,OCR,TEXT', ('"https://x/b:1', "OCR", "TEXT"), ("image_url",)),
        ('a.jpg,"https://x/b:1,OCR,"T, X"', ('"https://x/b:1', "OCR", "T, X"), ("image_url",)),
        ('a.jpg,"https://x/b:1,"O, C",T', ('"https://x/b:1', "O, C", "T"), ("image_url",)),
        ('a.jpg,"https://x/b:1,OCR 5",TEXT', ('"https://x/b:1', 'OCR 5"', "TEXT"), ("image_url",)),
        ('a.jpg,https://x,"OCR,"TEXT', ("https://x", '"OCR', '"TEXT'), ("text_ocr", "text_corrected")),
        ('a.jpg,https://x,A 6" SUB,"HE SAID', ("https://x", 'A 6" SUB', '"HE SAID'), ("text_corrected",)),
        ("a.jpg,,,", ("", "", ""), ()),
    ],
)
def test_quotes_count_only_where_they_close_within_their_line(
    tmp_path: Path, cells: str, texts: tuple[str, ...], cut: tuple[str, ...]
) -> None:
    path = written(tmp_path / "data_7000_new.csv", f"{cells},{LABELS}")
    ((row,), report) = read(path)
    assert tuple(row.values[column] for column in TEXTS) == ("a.jpg", *texts)
    assert row.values[CUT] == cut
    assert report.warnings == ({"unclosed quote": 1} if cut else {})


def test_texts_that_cannot_be_told_apart_cost_the_texts_and_not_the_labels(tmp_path: Path) -> None:
    path = written(tmp_path / "d.csv", f"a.jpg,u,ONE, TWO, THREE,TEXT,{LABELS}", f"b.jpg,{LABELS}")
    rows, report = read(path)
    assert [(row.values["image_name"], row.values["text_corrected"], row.values["humour"]) for row in rows] == [
        ("a.jpg", None, "not_funny"),
        ("b.jpg", None, "not_funny"),
    ]
    assert report.rows["shifted row"] == [
        f"d.csv:{line}: expected 4 cells before the labels; only name and labels are kept" for line in (2, 3)
    ]


def test_a_label_with_the_next_picture_name_glued_to_it_is_read_and_named(tmp_path: Path) -> None:
    merged = "positivechandler_Friday-Mood-AF.-meme-Friends-ChandlerBing.jpg"
    path = written(tmp_path / "d.csv", f"a.jpg,u,O,T,funny,general,slight,motivational,{merged}")
    ((row,), report) = read(path)
    assert row.values["overall_sentiment"] == "positive"
    assert report.rows["merged label"] == [f"d.csv:2: '{merged}', read as 'positive'"]


@pytest.mark.parametrize(
    ("line", "reason", "place"),
    [
        (",,,,,,,,", "empty row", "d.csv:3"),
        ("b.jpg,u,O,T", "no label", "d.csv:3: expected five labels at the end of the line, such as not_funny,not_sarcastic,"),
        ("b.jpg,u,O,T,general,slight,motivational,neutral,", "shifted row", "d.csv:3: found the labels 'general', 'slight',"),
    ],
)
def test_a_line_that_is_lost_is_named(tmp_path: Path, line: str, reason: str, place: str) -> None:
    path = written(tmp_path / "d.csv", f"a.jpg,u,O,T,{LABELS}", line, f"z.jpg,u,O,T,{LABELS}")
    rows, report = read(path)
    assert [row.values["image_name"] for row in rows] == ["a.jpg", "z.jpg"]
    assert (report.read, report.dropped) == (3, {reason: 1})
    assert report.rows[reason][0].startswith(place)
    with pytest.raises(DataError, match=rf"^d\.csv:3: {reason}"):
        list(read_lines(path, LoadReport(strict=True)))


@pytest.mark.parametrize("between", ["", ",", "\r"])
def test_memes_whose_line_end_was_lost_are_all_read(tmp_path: Path, between: str) -> None:
    path = written(tmp_path / "d.csv", f"a.jpg,u,O,T,{LABELS}{between}b.jpg,u,É,X,{LABELS}", f"c.jpg,u,O,T,{LABELS}")
    rows, report = read(path)
    assert [(row.values["image_name"], row.values["text_corrected"]) for row in rows] == [
        ("a.jpg", "T"),
        ("b.jpg", "X"),
        ("c.jpg", "T"),
    ]
    assert (report.read, report.dropped) == (3, {})
    assert report.rows == {"swallowed rows": ["d.csv:2: 2 memes in one line; all are read"]}


@pytest.mark.parametrize("label", ["", "funnny"])
def test_one_odd_label_leaves_the_others_in_place(tmp_path: Path, label: str) -> None:
    path = written(tmp_path / "d.csv", f"a.jpg,u,O,T,{label},general,slight,motivational,neutral")
    ((row,), report) = read(path)
    assert [row.values[column] for column in LEVELS] == [label, "general", "slight", "motivational", "neutral"]
    assert row.values["text_corrected"] == "T"
    assert report.dropped == {}


def test_bytes_that_are_not_utf8_and_nuls_cost_nothing(tmp_path: Path) -> None:
    path = written(
        tmp_path / "d.csv", f"a.jpg,u,O,CAF\xc9,{LABELS}".encode("latin-1"), f"b.jpg,u,O,N\0UL,{LABELS}", f"c.jpg,u,O,É,{LABELS}"
    )
    rows, report = read(path)
    assert [row.values["text_corrected"] for row in rows] == ["CAFÉ", "NUL", "É"]
    assert report.rows == {"not UTF-8": ["d.csv:2: byte 0xc9; read as Windows-1252"], "NUL byte": ["d.csv:3: left out"]}


def test_the_test_file_has_the_same_dirt_and_no_labels(tmp_path: Path) -> None:
    path = written(
        tmp_path / "2000_testdata.csv",
        'a.jpg,"https://x/b:1,OCR,"T, X"',
        "b.jpg,u",
        header="Image_name,Image_URL,OCR_extracted_text,corrected_text",
    )
    rows, report = read(path, labelled=False)
    assert [(row.values["image_name"], row.values["text_corrected"]) for row in rows] == [("a.jpg", "T, X"), ("b.jpg", None)]
    assert report.rows["shifted row"] == ["2000_testdata.csv:3: expected 4 cells; only the name is kept"]
    assert not is_training_file(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"d\.csv is empty"),
        (b"\n \n", r"d\.csv is empty"),
        ("a,b\n1,2\n".encode("utf-16"), r"d\.csv is UTF-16; save it as UTF-8"),
        (b"id,news_url\n1,x\n", r"none of its 2 lines is a meme; expected a name, .* not_funny,.* Is it another file\?"),
        (HEADER.encode() + b"\r" + b"a.jpg", r"ends its lines with CR alone"),
        (
            HEADER.replace("Humour,Sarcasm", "Sarcasm,Humour").encode() + b"\na",
            r"^d\.csv:1: the header names .*'sarcasm', 'humour'.*; expected image_name, .*humour, sarcasm.* in this order",
        ),
        (b"Image_name,Labels\na.jpg,1_1110_2110\n", r"^d\.csv:1: the header names 'image_name', 'labels'; expected"),
    ],
)
def test_another_file_in_its_place_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(path)
