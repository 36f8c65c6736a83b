"""The Memotion tasks: every layout, the paper's splits and constant answers, and the dirt."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest

from eyetest.errors import DataError, UsageError
from eyetest.evaluation.api import evaluate
from eyetest.images import read_bytes
from eyetest.models.baselines import Chance, Constant
from eyetest.readers.load_report import LoadReport
from eyetest.stats import random_baseline
from eyetest.tasks import Task
from eyetest.tasks.memotion import (
    memotion_humor,
    memotion_humor_level,
    memotion_image_description,
    memotion_motivational,
    memotion_ocr,
    memotion_offensiveness,
    memotion_offensiveness_level,
    memotion_sarcasm,
    memotion_sarcasm_level,
    memotion_sentiment,
    memotion_social_context,
)
from eyetest.tasks.memotion_lines import LEVELS
from eyetest.types import Image, Sample

FIXTURES = Path(__file__).parents[1] / "fixtures" / "memotion"
KAGGLE = FIXTURES / "memotion_dataset_7k"
JPEG = (KAGGLE / "images" / "image_1.jpg").read_bytes()
CHOICE_TASKS = (
    *(memotion_humor, memotion_sarcasm, memotion_offensiveness, memotion_sentiment, memotion_motivational),
    *(memotion_humor_level, memotion_sarcasm_level, memotion_offensiveness_level),
)
OPEN_TASKS = (memotion_ocr, memotion_image_description, memotion_social_context)
HEADER = ",image_name,text_ocr,text_corrected,humour,sarcasm,offensive,motivational,overall_sentiment"
LABELS = "funny,general,slight,motivational,positive"
CODALAB = "Image_name,Image_URL,OCR_extracted_text,Corrected_text,Humour,Sarcasm,Offensive,Motivational,Overall_Sentiment"


def load(task: Task, folder: Path, split: str = "test", layout: str = "") -> tuple[list[Sample], LoadReport]:
    report = LoadReport()
    loader = task.formats[layout] if layout else task.load
    samples = list(loader(folder, split, report))
    assert report.kept == len(samples) == report.read - sum(report.dropped.values())
    return samples, report


def kaggle(folder: Path, *rows: str, header: str = HEADER, pictures: int | None = None) -> Path:
    """A folder in Kaggle's layout: rows from image_name on, the index before them; ten of them make one test row."""
    (folder / "images").mkdir(parents=True)
    lines = [header, *(f"{number},{row}" for number, row in enumerate(rows))]
    (folder / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number in range(len(rows) if pictures is None else pictures):
        (folder / "images" / f"image_{number + 1}.jpg").write_bytes(JPEG)
    return folder


def ten(row: str) -> list[str]:
    """Nine good rows, and one that is the test split."""
    return [*(f"image_{number}.jpg,OCR,TEXT {number},{LABELS}" for number in range(1, 10)), row]


@pytest.mark.parametrize(
    ("split", "n", "first", "missing"), [("train", 32, 1, 10), ("validation", 4, 33, None), ("test", 4, 37, 3)]
)
def test_the_splits_are_cut_by_position_and_a_missing_picture_keeps_its_place(
    split: str, n: int, first: int, missing: int | None
) -> None:
    samples, report = load(memotion_humor, KAGGLE, split)
    kept = [at for at in range(n) if at != missing]
    assert [one.id for one in samples] == [f"{split}-{at}" for at in kept]
    assert [one.metadata["image_name"].split(".")[0] for one in samples] == [f"image_{first + at}" for at in kept]
    assert (report.read, report.dropped) == (n, {} if missing is None else {"missing picture": 1})
    assert {sample.metadata["split"] for sample in samples} == {split}


def test_what_is_odd_is_named_with_file_and_row() -> None:
    _, report = load(memotion_humor, KAGGLE, "train")
    assert report.files == [str(KAGGLE / "labels.csv")]
    assert report.rows == {
        "missing picture": ["labels.csv:12: 'image_11.jpg'"],
        "no text": ["labels.csv:6", "labels.csv:10"],
        "picture is not what its name says": ["labels.csv:8: 'image_7.jpg' is png", "labels.csv:10: 'image_9.jpg' is gif"],
        "HTML entities unescaped": ["labels.csv:16"],
    }


def test_a_sample_holds_what_the_paper_asks() -> None:
    (sample, *_), _ = load(memotion_sentiment, KAGGLE, "train")
    assert sample == Sample(
        id="train-0",
        question="What is the overall sentiment expressed through this meme?",
        target=("positive",),
        choices=("positive", "neutral", "negative"),
        images=(Image(path=str(KAGGLE / "images" / "image_1.jpg")),),
        picture_text="SYNTHETIC MEME TEXT 1 placeholder.com",
        cluster=sample.cluster,
        metadata={
            "split": "train",
            "layout": "kaggle_csv",
            "image_name": "image_1.jpg",
            "humour": "not_funny",
            "sarcasm": "not_sarcastic",
            "offensive": "not_offensive",
            "motivational": "motivational",
            "overall_sentiment": "positive",
        },
    )


@pytest.mark.parametrize("task", [*CHOICE_TASKS, *OPEN_TASKS], ids=lambda task: task.name)
def test_every_task_is_whole(task: Task) -> None:
    first, _ = load(task, KAGGLE, "train")
    again, _ = load(task, KAGGLE.parent, "train", "kaggle_csv")  # one level down
    assert first == again
    assert (task.splits, task.train_split) == (("test", "validation", "train"), "train")
    assert set(task.formats) == {"kaggle_csv", "kaggle_xlsx", "codalab", "semeval_test", "parquet"}
    assert task.card.offensive
    assert not task.card.redistributable
    assert task.family == ("ocr" if task is memotion_ocr else "")
    for sample in first:
        assert sample.choices == () or sample.target[0] in sample.choices
    if task in CHOICE_TASKS:
        assert {sample.target[0] for sample in first} == set(first[0].choices)
        assert {sample.kind for sample in first} == {"choice"}
        assert task.positive is None or task.positive == first[0].choices[0]


def test_positive_labels_are_given_where_one_makes_sense() -> None:
    found = [task.positive for task in CHOICE_TASKS]
    assert found == ["humorous", "sarcastic", "offensive", None, "motivational", None, None, None]


def test_raw_labels_become_the_papers() -> None:
    sentiments = ["negative", "negative", "neutral", "positive", "positive"]
    for task, column, wanted in (
        (memotion_humor, "humour", ["not_humorous", *["humorous"] * 3]),
        (memotion_sarcasm, "sarcasm", ["not_sarcastic", *["sarcastic"] * 3]),
        (memotion_offensiveness, "offensive", ["not_offensive", *["offensive"] * 3]),
        (memotion_sentiment, "overall_sentiment", sentiments),
        (memotion_motivational, "motivational", ["not_motivational", "motivational"]),
        (memotion_sarcasm_level, "sarcasm", LEVELS["sarcasm"]),
    ):
        samples, _ = load(task, KAGGLE, "train")
        assert {sample.metadata[column]: sample.target[0] for sample in samples} == dict(
            zip(LEVELS[column], wanted, strict=True)
        ), task.name


def test_the_workbook_holds_the_same_memes_and_the_csv_is_preferred(tmp_path: Path) -> None:
    for split in memotion_ocr.splits:
        sheet, _ = load(memotion_ocr, only_xlsx(tmp_path), split)
        table, _ = load(memotion_ocr, KAGGLE, split)
        assert [(one.id, one.target, one.cluster) for one in sheet] == [(one.id, one.target, one.cluster) for one in table]
        assert {one.metadata["layout"] for one in sheet} == {"kaggle_xlsx"}


def only_xlsx(folder: Path) -> Path:
    if not (folder / "labels.xlsx").exists():
        shutil.copytree(KAGGLE / "images", folder / "images")
        shutil.copy(KAGGLE / "labels.xlsx", folder)
    return folder


def test_the_papers_own_names_of_columns_are_known(tmp_path: Path) -> None:
    header = "index,image,OCR,corrected_text,humor,Sarcasm,offensive,motivational,sentiment"
    folder = kaggle(tmp_path, *ten(f"image_10.jpg,OCR,TEXT,{LABELS}"), header=header)
    ((sample,), _) = load(memotion_humor, folder)
    assert (sample.target, sample.picture_text, sample.metadata["overall_sentiment"]) == (("humorous",), "TEXT", "positive")


@pytest.mark.parametrize(
    ("text", "reference", "reason"),
    [
        ("#NAME?", None, "text is an Excel error"),
        ('"<!DOCTYPE html><html lang=""en""><head>Google Docs"', None, "text is a page, not a caption"),
        ("  ", None, "no text"),
        ("A &gt; B &amp;#039;s ", "A > B 's", "HTML entities unescaped"),
    ],
)
def test_text_that_is_none_is_dropped_from_ocr_only(tmp_path: Path, text: str, reference: str | None, reason: str) -> None:
    folder = kaggle(tmp_path, *ten(f"image_10.jpg,OCR,{text},{LABELS}"))
    ((meme,), report) = load(memotion_humor, folder)
    assert (meme.target, meme.picture_text) == (("humorous",), reference)
    assert (report.warnings, report.rows[reason]) == ({reason: 1}, ["labels.csv:11"])
    found, report = load(memotion_ocr, folder)
    if reference is None:
        assert (found, report.dropped, report.rows) == ([], {reason: 1}, {reason: ["labels.csv:11"]})
    else:
        assert [(one.target, one.kind, one.picture_text) for one in found] == [((reference,), "transcription", None)]


@pytest.mark.parametrize(
    ("labels", "task", "reason", "said"),
    [
        (
            "hilarous,general,slight,motivational,positive",
            memotion_humor,
            "unknown label",
            "humour is 'hilarous'; expected one of",
        ),
        (",general,slight,motivational,positive", memotion_humor, "no label", "humour is ''; expected one of not_funny, funny"),
        ("general,slight,motivational,positive,", memotion_ocr, "shifted row", "humour is 'general', a label of sarcasm"),
        ("general,slight,motivational,positive,", memotion_sentiment, "shifted row", "humour is 'general'"),
    ],
)
def test_a_bad_label_is_named(tmp_path: Path, labels: str, task: Task, reason: str, said: str) -> None:
    folder = kaggle(tmp_path, *ten(f"image_10.jpg,OCR,TEXT,{labels}"))
    samples, report = load(task, folder)
    assert (samples, report.dropped) == ([], {reason: 1})
    assert report.rows[reason][0].startswith(f"labels.csv:11: {said}")
    with pytest.raises(DataError, match=rf"labels\.csv:11: {reason}: .*without --strict"):
        list(task.load(folder, "test", LoadReport(strict=True)))
    if reason != "shifted row":
        assert len(load(memotion_sarcasm, folder)[0]) == 1  # what another task needs is there


def test_rows_that_the_csv_reader_drops_count_in_their_own_split(tmp_path: Path) -> None:
    folder = kaggle(tmp_path, *ten(f'image_10.jpg,OCR,"TEXT,{LABELS}'))
    assert load(memotion_humor, folder, "train")[1].dropped == {}
    samples, report = load(memotion_humor, folder)
    assert (samples, report.read, report.dropped) == ([], 1, {"unclosed quote": 1})
    assert report.rows["unclosed quote"][0].startswith("labels.csv:11: ")


@pytest.mark.parametrize(("raw", "reason"), [(b"CAF\xc9", "not UTF-8"), (b"N\0UL", "NUL byte")])
def test_bytes_that_are_no_text_are_named(tmp_path: Path, raw: bytes, reason: str) -> None:
    folder = kaggle(tmp_path, *ten(f"image_10.jpg,OCR,TEXT,{LABELS}"))
    path = folder / "labels.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"TEXT,", raw + b","))
    samples, report = load(memotion_humor, folder)
    assert (samples, report.dropped) == ([], {reason: 1})
    assert report.rows[reason][0].startswith("labels.csv:11: ")


def test_empty_rows_are_named(tmp_path: Path) -> None:
    _, report = load(memotion_humor, kaggle(tmp_path, *ten(",,,,,,,"), pictures=9), "test")
    assert report.rows == {"empty row": ["labels.csv:11"]}


def test_pictures_are_looked_at_and_found_whatever_their_case(tmp_path: Path) -> None:
    folder = kaggle(tmp_path, *(f"IMAGE_{number}.JPG,O,T,{LABELS}" for number in range(1, 21)))
    (folder / "images" / "image_20.jpg").write_bytes(b"<html>404</html>")
    samples, report = load(memotion_humor, folder)
    assert [read_bytes(one.images[0])[:4] for one in samples] == [JPEG[:4], b"<htm"]
    assert report.rows == {
        "picture name differs in case": [
            f"labels.csv:{line}: 'IMAGE_{line - 1}.JPG', found 'image_{line - 1}.jpg'" for line in (20, 21)
        ],
        "undecodable picture": ["labels.csv:21: 'image_20.jpg' does not begin like a picture"],
    }


def test_a_name_cannot_leave_the_folder_of_pictures(tmp_path: Path) -> None:
    rows = [*ten(f"image_10.jpg,O,T,{LABELS}") * 2]
    rows[-1] = f"../labels.csv,O,T,{LABELS}"
    samples, report = load(memotion_humor, kaggle(tmp_path, *rows))
    assert (len(samples), report.rows) == (1, {"missing picture": ["labels.csv:21: '../labels.csv'"]})


def without_pictures(folder: Path) -> None:
    shutil.rmtree(folder / "images")


def empty_labels(folder: Path) -> None:
    (folder / "labels.csv").write_bytes(b"")


def other_labels(folder: Path) -> None:
    (folder / "labels.csv").write_text("id,news_url,title\n1,x,y\n")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            without_pictures,
            r"labels\.csv: none of the 1 pictures of this split was found, for example 'image_10\.jpg'; looked in "
            r"the folders '\.' of .*Put the pictures into .*images",
        ),
        (empty_labels, r"labels\.csv is empty"),
        (other_labels, r"labels\.csv:1: no column 'image_name' or 'image'; .*Found: 'id', 'news_url', 'title'\. Is it the label"),
    ],
)
def test_a_damaged_folder_says_what_is_wrong(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    folder = kaggle(tmp_path, *ten(f"image_10.jpg,OCR,TEXT,{LABELS}"))
    damage(folder)
    with pytest.raises(DataError, match=message):
        load(memotion_humor, folder)


def test_a_folder_is_needed() -> None:
    layouts = "kaggle_csv, kaggle_xlsx, codalab, semeval_test, parquet"
    with pytest.raises(UsageError, match=rf"^Task memotion_ocr needs its folder: --dir FOLDER \(layouts: {layouts}\), or"):
        memotion_ocr.load(None, "test", LoadReport())
    with pytest.raises(UsageError, match="Task memotion_ocr: the folder nowhere does not exist"):
        memotion_ocr.load(Path("nowhere"), "test", LoadReport())
    with pytest.raises(UsageError, match=r"labels\.csv is a file; pass the folder that holds it"):
        memotion_ocr.load(KAGGLE / "labels.csv", "test", LoadReport())


def test_no_layout_and_two_layouts_are_named(tmp_path: Path) -> None:
    (tmp_path / "cats.csv").write_text("a,b\n1,2\n")
    (tmp_path / "nothing.csv").write_text("")
    with pytest.raises(DataError) as raised:
        memotion_humor.load(tmp_path, "test", LoadReport())
    for said in (
        "no known layout",
        "kaggle_csv: labels.csv",
        "2000_testdata.csv",
        "parquet: train-",
        "holds 'cats.csv', 'nothing",
    ):
        assert said in str(raised.value)
    shutil.copytree(KAGGLE, tmp_path / "a")
    shutil.copytree(FIXTURES / "semeval_test", tmp_path / "b")
    with pytest.raises(
        DataError, match=r"more than one copy .*: kaggle_csv in .*a, semeval_test in .*b\. .* --format kaggle_csv or"
    ):
        memotion_humor.load(tmp_path, "test", LoadReport())
    assert len(load(memotion_humor, tmp_path, "test", "kaggle_csv")[0]) == 3
    with pytest.raises(DataError, match=r"Looked for parquet: train-\*\.parquet"):
        memotion_humor.formats["parquet"](tmp_path, "test", LoadReport())


def codalab(folder: Path, *lines: str, header: str = CODALAB) -> Path:
    """The CodaLab file with pictures for every line that has a name."""
    (folder / "data_7000").mkdir(parents=True)
    (folder / "data_7000_new.csv").write_text("\r\n".join([header, *lines]) + "\r\n", encoding="utf-8", newline="")
    for line in lines:
        (folder / "data_7000" / line.split(",")[0]).write_bytes(JPEG)
    return folder


def test_codalab_ids_are_picture_names_and_one_text_is_one_cluster(tmp_path: Path) -> None:
    lines = [f"a~{number}+=.jpg,u,O,TEXT {number},{LABELS}" for number in range(17)]
    lines += [f"b.jpg,u,O,Same  TEXT,{LABELS}", f"b.jpg,u,O,same text ,{LABELS}", f"b.jpg,u,O,#NAME?,{LABELS}"]
    folder = codalab(tmp_path, *lines)
    ((first, second), report) = load(memotion_humor, folder)
    assert (first.id, second.id) == ("b.jpg#2", "b.jpg#3")
    assert first.images == second.images == (Image(path=str(folder / "data_7000" / "b.jpg")),)
    assert report.rows == {
        "duplicate picture name": [f"data_7000_new.csv:{line}: 'b.jpg' for the {line - 18}. time" for line in (20, 21)],
        "text is an Excel error": ["data_7000_new.csv:21"],
    }
    ((_, before), _) = load(memotion_humor, folder, "validation")
    assert before.cluster == first.cluster != None  # noqa: E711
    assert second.cluster is None
    assert load(memotion_humor, folder, "train")[0][3].id == "a~3+=.jpg"


def test_a_reference_that_was_cut_is_no_reference(tmp_path: Path) -> None:
    lines = [f"a{number}.jpg,u,O,T,{LABELS}" for number in range(9)]
    folder = codalab(tmp_path, *lines, f'b.jpg,u,O,"CUT AT THE FIRST COMMA,{LABELS}')
    ((meme,), report) = load(memotion_humor, folder)
    assert (meme.id, report.rows) == ("b.jpg", {"unclosed quote": ["data_7000_new.csv:11: in text_corrected"]})
    samples, report = load(memotion_ocr, folder)
    assert (samples, report.dropped) == ([], {"reference cut at an unclosed quote": 1})


def test_a_codalab_file_of_any_name_is_known_by_its_first_line(tmp_path: Path) -> None:
    folder = codalab(tmp_path, *(f"a{number}.jpg,u,O,T,{LABELS}" for number in range(10)))
    (folder / "data_7000_new.csv").rename(folder / "train.csv")
    (folder / "notes.csv").write_text("x\n")
    assert [one.id for one in load(memotion_humor, folder)[0]] == ["a9.jpg"]
    shutil.copy(folder / "train.csv", folder / "trial.csv")
    with pytest.raises(DataError, match=r"more than one copy .*: codalab in .*train\.csv, codalab in .*trial\.csv\. Leave one"):
        load(memotion_humor, folder)


def semeval(folder: Path) -> Path:
    shutil.copytree(FIXTURES / "semeval_test", folder / "semeval")
    (folder / "semeval" / "2000_data").mkdir()
    names = [line.split(",")[0] for line in (folder / "semeval" / "2000_testdata.csv").read_text().splitlines()[1:]]
    for name in names:
        (folder / "semeval" / "2000_data" / name).write_bytes(JPEG)
    return folder / "semeval"


def test_the_semeval_test_set_joins_its_labels_by_name(tmp_path: Path) -> None:
    folder = semeval(tmp_path)
    truth = dict(line.split(",") for line in (folder / "Meme_groundTruth.csv").read_text().splitlines()[1:])
    samples, report = load(memotion_sentiment, folder)
    words = {"-1": "negative", "0": "neutral", "1": "positive"}
    assert {one.id: one.target[0] for one in samples} == {name: words[code.split("_")[0]] for name, code in truth.items()}
    assert sorted(report.files) == [str(folder / "2000_testdata.csv"), str(folder / "Meme_groundTruth.csv")]
    assert report.warnings == {}
    for task, at in zip((memotion_humor, memotion_sarcasm, memotion_offensiveness, memotion_motivational), range(4), strict=True):
        made, _ = load(task, folder)
        assert {one.id: one.target[0] == task.positive for one in made} == {
            n: c.split("_")[1][at] == "1" for n, c in truth.items()
        }
    levels, _ = load(memotion_humor_level, folder)
    assert {one.id: LEVELS["humour"].index(one.target[0]) for one in levels} == {n: int(c[-4]) for n, c in truth.items()}


def test_damage_in_the_ground_truth_is_named(tmp_path: Path) -> None:
    folder = semeval(tmp_path)
    (folder / "Meme_groundTruth.csv").write_text(
        "Image_name,Labels\ntest_0.jpg,1_1110_2110\ntest_1.jpg,1_0000_2000\ntest_2.jpg,2_1111_9111\ntest_0.jpg,0_0000_0000\n"
    )
    samples, report = load(memotion_humor, folder)
    assert {one.id: one.target for one in samples} == dict.fromkeys(["test_0.jpg", "test_1.jpg"], ("humorous",))
    assert report.rows["labels contradict each other"] == [
        "Meme_groundTruth.csv:3: '1_0000_2000'; the levels at its end are used"
    ]
    assert report.rows["two sets of labels for one picture"] == ["Meme_groundTruth.csv:5: 'test_0.jpg'; the first is kept"]
    assert report.rows["unknown label"][0].startswith("2000_testdata.csv:4: humour is '2_1111_9111'; expected one of not_funny,")
    assert report.dropped["no label"] == report.read - 3
    (folder / "Meme_groundTruth.csv").write_text("name,label\n")
    with pytest.raises(DataError, match="expected the columns 'Image_name' and 'Labels', found 'name', 'label'"):
        load(memotion_humor, folder)


def test_the_semeval_test_set_has_no_other_split(tmp_path: Path) -> None:
    samples, report = load(memotion_humor, semeval(tmp_path), "train")
    assert samples == []
    assert list(report.warnings) == ["the layout semeval_test has no split 'train', only 'test'"]


def parquet(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / name)


def meme(number: int, split: str | None = None) -> dict[str, Any]:
    picture = None if number == 2 else {"bytes": JPEG + bytes([number]), "path": f"image_{number}.jpg"}
    labels = dict(zip(("humor", "sarcasm", "offensive", "motivational", "sentiment"), LABELS.split(","), strict=True))
    row = {"image": picture, "text_ocr": "O", "text_corrected": f"TEXT {number}", **labels}
    return row if split is None else {**row, "split": split}


def test_parquet_files_of_a_split_are_read_in_order(tmp_path: Path) -> None:
    data = tmp_path / "data"
    parquet(data, "test-00000-of-00002.parquet", [meme(0), meme(1)])
    parquet(data, "test-00001-of-00002.parquet", [meme(2), meme(3)])
    parquet(data, "train-00000-of-00001.parquet", [meme(4)])
    samples, report = load(memotion_humor, tmp_path)
    assert [(one.id, one.picture_text) for one in samples] == [("test-0", "TEXT 0"), ("test-1", "TEXT 1"), ("test-3", "TEXT 3")]
    assert [read_bytes(one.images[0]) for one in samples] == [JPEG + b"\0", JPEG + b"\1", JPEG + b"\3"]
    assert report.rows == {"missing picture": ["test-00001-of-00002.parquet row 1: the cell is empty"]}
    assert [one.id for one in load(memotion_humor, tmp_path, "train")[0]] == ["train-0"]
    with pytest.raises(DataError, match=r"no Parquet file for the split 'validation': found 'test-00000-of-.* no column 'split'"):
        load(memotion_humor, tmp_path, "validation")


def test_a_part_of_a_split_that_is_missing_would_shift_the_ids(tmp_path: Path) -> None:
    parquet(tmp_path, "test-00001-of-00002.parquet", [meme(0)])
    with pytest.raises(DataError, match=r"part 00000 of 00002 is missing beside test-00001-of-00002\.parquet\. Fetch all"):
        load(memotion_humor, tmp_path)


def test_a_column_split_decides_about_each_row(tmp_path: Path) -> None:
    rows = [meme(0, "train"), meme(1, "val"), meme(3, "test"), meme(4, "train"), meme(5, "test")]
    parquet(tmp_path, "train-00000-of-00002.parquet", rows[:3])
    parquet(tmp_path, "train-00001-of-00002.parquet", rows[3:])
    for split, texts in {"train": ["TEXT 0", "TEXT 4"], "validation": ["TEXT 1"], "test": ["TEXT 3", "TEXT 5"]}.items():
        samples, report = load(memotion_ocr, tmp_path, split)
        assert [(one.id, *one.target) for one in samples] == [(f"{split}-{at}", text) for at, text in enumerate(texts)]
        assert report.dropped == {}


def test_references_of_descriptions_lie_beside_the_labels(tmp_path: Path) -> None:
    folder = kaggle(tmp_path, *(f"image_{number}.jpg,O,T,{LABELS}" for number in range(1, 21)))
    assert [one.target for one in load(memotion_social_context, folder)[0]] == [(), ()]
    (folder / "references").mkdir()
    lines = [
        {"id": "test-1", "reference": "A cat."},
        {"id": "test-1", "reference": ["Cats.", "A pet."]},
        {"id": "test-0", "reference": " "},
        {"reference": "?"},
    ]
    (folder / "references" / "social_context.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ((first, second), report) = load(memotion_social_context, folder)
    assert (first.kind, first.target, second.target) == ("description", (), ("A cat.", "Cats.", "A pet."))
    assert report.rows == {
        "reference without an id or a text": ["social_context.jsonl:3", "social_context.jsonl:4"],
    }
    assert [one.target for one in load(memotion_image_description, folder)[0]] == [(), ()]
    _, report = load(memotion_social_context, folder, "validation")
    assert report.rows["no reference belongs to this split"] == ["social_context.jsonl: its first id is 'test-1'"]


def full_size(folder: Path) -> Path:
    """Kaggle's 6,992 rows; the last 700 have the class counts of the paper's test set. Only their pictures are written."""
    rows = [f"image_{number}.jpg,O,TEXT {number},{LABELS}" for number in range(1, 6993)]
    test = {
        "humour": ["not_funny"] * 157 + ["funny"] * 243 + ["very_funny"] * 235 + ["hilarious"] * 65,
        "sarcasm": ["not_sarcastic"] * 157 + ["general"] * 350 + ["twisted_meaning"] * 154 + ["very_twisted"] * 39,
        "offensive": ["not_offensive"] * 275 + ["slight"] * 255 + ["very_offensive"] * 148 + ["hateful_offensive"] * 22,
        "motivational": ["motivational"] * 250 + ["not_motivational"] * 450,
        "overall_sentiment": ["very_negative"] * 14
        + ["negative"] * 40
        + ["neutral"] * 218
        + ["positive"] * 328
        + ["very_positive"] * 100,
    }
    for labels in test.values():
        Random(1).shuffle(labels)
    rows[6292:] = [
        f"image_{6293 + at}.jpg,O,TEXT {6293 + at},{','.join(labels)}"
        for at, labels in enumerate(zip(*test.values(), strict=True))
    ]
    kaggle(folder, *rows, pictures=0)
    for number in range(6293, 6993):
        (folder / "images" / f"image_{number}.jpg").write_bytes(JPEG)
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return full_size(tmp_path_factory.mktemp("memotion") / "memotion_dataset_7k")


CONSTANTS = {
    (memotion_humor.name, "not_humorous"): (0.224, 0.183),
    (memotion_humor.name, "humorous"): (0.776, 0.437),
    (memotion_sarcasm.name, "sarcastic"): (0.776, 0.437),
    (memotion_offensiveness.name, "not_offensive"): (0.393, 0.282),
    (memotion_sentiment.name, "positive"): (0.611, 0.253),
}
"""Accuracy and macro-F1 that a constant answer gets, as printed for several models of the paper's Table 2."""

RANDOM = {
    memotion_humor.name: (0.467, 0.010),
    memotion_sarcasm.name: (0.460, 0.010),
    memotion_offensiveness.name: (0.493, 0.011),
    memotion_sentiment.name: (0.286, 0.010),
}
"""The paper's random row, and the standard deviation of a mean of three seeds at n = 700."""


@pytest.mark.parametrize("task", CHOICE_TASKS[:4], ids=lambda task: task.name)
def test_constant_and_random_answers_score_as_in_the_paper(published: Path, task: Task) -> None:
    samples, report = load(task, published)
    assert (report.read, len(samples), report.warnings) == (700, 700, {})
    pinned = replace(task, load=lambda _folder, split, report: task.load(published, split, report))
    labels = [label for name, label in CONSTANTS if name == task.name]
    guessers = {f"guesser {seed}": Chance(f"guesser {seed}", seed) for seed in range(3)}
    results = evaluate(pinned, guessers | {label: Constant(label, label) for label in labels})
    found = {(row["model"], row["metric"]): row["value"] for row in results.table()}
    for label in labels:
        scores = tuple(round(found[label, metric], 3) for metric in ("accuracy", "macro_f1"))
        assert scores == CONSTANTS[task.name, label]
    chances = [found[name, "macro_f1"] for name in guessers]
    printed, deviation = RANDOM[task.name]
    counts = Counter(sample.target[0] for sample in samples)
    expected = random_baseline(list(counts.values())).macro_f1
    assert abs(printed - expected) < 1.96 * deviation
    assert abs(mean(chances) - expected) < 3 * deviation


def test_the_papers_splits_have_its_sizes(published: Path) -> None:
    sizes = {}
    for split in ("train", "validation"):
        report = LoadReport()
        with pytest.raises(DataError, match=f"none of the {memotion_humor.card.sizes[split]} pictures of this split"):
            list(memotion_humor.load(published, split, report))
        sizes[split] = report.read
    sizes["test"] = len(load(memotion_humor, published)[0])
    assert sizes == memotion_humor.card.sizes == {"train": 5593, "validation": 699, "test": 700}
