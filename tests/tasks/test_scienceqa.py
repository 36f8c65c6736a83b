"""ScienceQA in every layout, with its dirt. The problems are invented: the real ones may not stand beside this code."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest import images
from eyetest.errors import DataError, UsageError
from eyetest.prompts import Prompt, render
from eyetest.readers import LoadReport
from eyetest.tasks import scienceqa_files
from eyetest.tasks.scienceqa import CARD, scienceqa
from eyetest.types import Sample

PNG = (Path(__file__).parent.parent / "fixtures" / "hateful_memes" / "data" / "img" / "01235.png").read_bytes()
BASE64 = base64.b64encode(PNG).decode()
WHOLE = "not the whole dataset"


def problem(**changes: Any) -> dict[str, Any]:
    """One problem with the authors' keys in their order."""
    return {
        "question": "Which is north?\nSelect one.",
        "choices": ["Up", "Down", "Left"],
        "answer": 1,
        "hint": "A map is shown.",
        "image": "image.png",
        "task": "closed choice",
        "grade": "grade2",
        "subject": "social science",
        "topic": "geography",
        "category": "Geography",
        "skill": "Read a map",
        "lecture": "",
        "solution": "",
        "split": "test",
    } | changes


PROBLEMS = {
    "1": problem(split="train"),
    "2": problem(split="val", choices=["Up", "Down"]),
    "4": problem(image=None, hint=""),
    "11": problem(),
    "5": problem(choices=["a", "b", "c", "d", "e"], answer=4),
    "7": problem(),
}
"""Problem 7 has no picture on disk."""


def made(folder: Path, problems: Mapping[str, Any] = PROBLEMS, *, without: str = "7") -> Path:
    """The authors' tree of these problems, with a picture for each that has one but `without`."""
    (folder / "problems.json").write_text(json.dumps(problems, indent=2))
    for pid, one in problems.items():
        if isinstance(one, dict) and one.get("image") and pid != without:
            place = folder / "images" / one["split"] / pid
            place.mkdir(parents=True)
            (place / "image.png").write_bytes(PNG)
    return folder


def table(folder: Path, rows: list[dict[str, Any]], name: str = "data/test-00000-of-00001.parquet") -> Path:
    """A Hugging Face folder; `image` as `datasets` writes it."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0] if key not in ("split", "image", "answer")}
    columns["image"] = pa.array([row["image"] and {"bytes": PNG, "path": "image.png"} for row in rows], kind)
    columns["answer"] = pa.array([row["answer"] for row in rows], pa.int8())
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)
    return folder


def tsv(folder: Path, *rows: tuple[str, ...], name: str = "ScienceQA_TEST.tsv") -> Path:
    head = ("index", "image", "question", "hint", "A", "B", "C", "answer", "category")
    (folder / name).write_text("".join("\t".join(cells) + "\n" for cells in (head, *rows)))
    return folder


def load(folder: Path, split: str = "test:pictures", layout: str | None = None) -> tuple[list[Sample], LoadReport]:
    report = LoadReport()
    loader = scienceqa.load if layout is None else scienceqa.formats[layout]
    return list(loader(folder, split, report)), report


def mistake(folder: Path, split: str = "test:pictures", layout: str | None = None) -> str:
    with pytest.raises(DataError) as error:
        load(folder, split, layout)
    return str(error.value)


# The authors' tree


def test_a_problem_becomes_a_sample_without_its_hint(tmp_path: Path) -> None:
    samples, report = load(made(tmp_path))
    assert samples[0] == Sample(
        id="11",
        question="Which is north?\nSelect one.",
        target=("Down",),
        choices=("Up", "Down", "Left"),
        images=samples[0].images,
        metadata={
            "split": "test",
            "subset": "pictures",
            "layout": "problems",
            "hint": "A map is shown.",
            "task": "closed choice",
            "grade": "grade2",
            "subject": "social science",
            "topic": "geography",
            "category": "Geography",
            "skill": "Read a map",
        },
    )
    assert images.read_bytes(samples[0].images[0]) == PNG
    assert "A map is shown" not in str(render(Prompt(), samples[0]))
    assert [(sample.id, sample.target, len(sample.choices)) for sample in samples] == [("11", ("Down",), 3), ("5", ("e",), 5)]
    assert (report.read, report.kept, report.dropped) == (3, 2, {"missing picture": 1})
    assert report.rows["missing picture"] == ["problems.json problem 7: images/test/7/image.png"]
    assert report.rows[WHOLE] == ["problems.json: 6 problems of 21208; is the file complete?"]


@pytest.mark.parametrize(
    ("split", "ids", "read"),
    [
        ("test:no_pictures", ["4"], 1),
        ("test:all", ["4", "11", "5"], 4),
        ("validation:pictures", ["2"], 1),
        ("train:all", ["1"], 1),
    ],
)
def test_subsets_and_splits(split: str, ids: list[str], read: int, tmp_path: Path) -> None:
    samples, report = load(made(tmp_path), split)
    assert [sample.id for sample in samples] == ids
    assert (report.read, report.kept) == (read, len(ids))
    assert {(sample.metadata["split"], sample.metadata["subset"]) for sample in samples} == {tuple(split.split(":"))}


def test_the_authors_list_of_a_split_comes_first_and_names_what_is_missing(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "pid_splits.json").write_text(json.dumps({"test": ["5", "99", "1", 11, "11", "5"], "val": "2"}))
    samples, report = load(tmp_path)
    assert [sample.id for sample in samples] == ["5", "11"]
    assert (report.read, report.kept) == (6, 2)
    assert report.dropped == {"no such problem": 2, "of another split": 1, "duplicate id": 1}
    assert report.rows["no such problem"][0] == "problems.json problem 99: '99': problems.json has none of this number"
    assert report.rows["of another split"] == ["problems.json problem 1: split is 'train'"]
    assert [Path(file).name for file in report.files] == ["problems.json", "pid_splits.json"]
    assert "pid_splits.json: 'val' is '2'; expected the list of its problems' numbers." in mistake(tmp_path, "validation:all")


def test_captions_lie_beside_the_problems_or_above_them(tmp_path: Path) -> None:
    folder = tmp_path / "scienceqa"
    folder.mkdir()
    made(folder)
    told = {"captions": {"11": " An arrow. ", "5": " ", "4": "there is no picture to describe"}}
    (tmp_path / "captions.json").write_text(json.dumps(told))
    samples, report = load(tmp_path, "test:all")
    assert {sample.id: sample.caption for sample in samples} == {"4": None, "11": "An arrow.", "5": None}
    assert Path(report.files[0]).name == "captions.json"
    (tmp_path / "captions.json").write_text('{"captions": ["An arrow."]}')
    assert "captions.json: expected" in mistake(tmp_path)


def test_an_unread_picture_and_doubled_choices_are_warned_of(tmp_path: Path) -> None:
    made(tmp_path, {"1": problem(choices=["Up", "Up", "Down"], answer=0), "2": problem(choices=["Up", "Down", "Down"], answer=0)})
    (tmp_path / "images" / "test" / "2" / "image.png").write_bytes(b"<html>")
    samples, report = load(tmp_path)
    assert [sample.target for sample in samples] == [("Up",), ("Up",)]
    del report.warnings[WHOLE]
    assert report.warnings == {"right option stands twice": 1, "an option stands twice": 1, "undecodable picture": 1}
    assert report.rows["undecodable picture"] == ["problems.json problem 2: images/test/2/image.png begins with b'<html>'"]


@pytest.mark.parametrize(
    ("changes", "reason", "detail"),
    [
        ({"question": " "}, "no question", "question is ' '"),
        ({"choices": "Up"}, "malformed options", "choices is 'Up'; expected a list of texts"),
        ({"choices": ["Up", None, "Down"]}, "malformed options", "choices is ['Up', None, 'Down']; expected a list of texts"),
        ({"choices": ["Up", " ", "Down"]}, "malformed options", "one has no text"),
        ({"choices": ["Up", "Down"] * 14}, "malformed options", "28 of them; at most 26 have a letter each"),
        ({"choices": ["Up"], "answer": 0}, "fewer than two options", "found 1"),
        ({"answer": 3}, "unknown answer", "answer is 3; expected the place of a choice, 0 to 2"),
        ({"answer": -1}, "unknown answer", "answer is -1; expected the place of a choice, 0 to 2"),
        ({"answer": True}, "unknown answer", "answer is True; expected the place of a choice, 0 to 2"),
        ({"answer": None}, "no answer", "answer is None; expected the place of a choice, 0 to 2"),
        ({"image": "../../secret.png"}, "missing picture", "image is '../../secret.png'; expected the name of a file"),
        ({"image": 7}, "missing picture", "image is 7; expected the name of a file"),
    ],
)
def test_a_problem_that_cannot_be_asked_is_dropped(changes: dict[str, Any], reason: str, detail: str, tmp_path: Path) -> None:
    _, report = load(made(tmp_path, {"1": problem(), "9": problem()} | {"9": problem(**changes)}, without="9"))
    assert (report.read, report.kept, report.dropped) == (2, 1, {reason: 1})
    assert report.rows[reason] == [f"problems.json problem 9: {detail}"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"1": {"question": "W', ":1: bad JSON: column 20: Unterminated string starting at. Is the file complete?"),
        (b"", ":1: bad JSON: column 1: Expecting value. Is the file complete?"),
        (b"[1]", " holds [1]; expected one object: {...}."),
        (b'{"1": {}, "2": {}, "1": {}}', ": bad JSON: the key '1' stands twice. Fetch the file again."),
        (b'{"1": NaN}', ": bad JSON: NaN is not JSON. Fetch the file again."),
        (b'{\n"1": "\xff"}', ":2: not UTF-8: byte 0xff. Fetch the file again."),
        (b'{"1": ' + b"[" * 200_000, ": nested too deeply. Is this the right file?"),
    ],
)
def test_a_damaged_file_is_named(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "problems.json").write_bytes(text)
    assert mistake(tmp_path) == f"{tmp_path / 'problems.json'}{said}"


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scienceqa_files, "MAX_JSON", 10)
    made(tmp_path)
    assert mistake(tmp_path).endswith("MB; it is read whole, so at most 0 MB. Is this the right file?")


def test_a_split_that_is_not_there_is_named(tmp_path: Path) -> None:
    made(tmp_path, {"1": problem(split="train")})
    assert mistake(tmp_path) == f"{tmp_path}: no problem of the split 'test'. Fetch the whole dataset, or ask another split."
    assert "none of the 0 problems can be used" in mistake(tmp_path, "train:no_pictures")


# LLaVA's form


def test_llavas_list_names_the_problems_of_test(tmp_path: Path) -> None:
    made(tmp_path)
    rows = [{"id": "5", "image": "5/image.png", "conversations": []}, {"id": "4", "conversations": []}, {"id": "12"}, {"x": 1}]
    (tmp_path / "llava_test_CQM-A.json").write_text(json.dumps(rows))
    samples, report = load(tmp_path, "test:all")
    assert [(sample.id, len(sample.images), sample.metadata["layout"]) for sample in samples] == [
        ("5", 1, "llava"),
        ("4", 0, "llava"),
    ]
    assert (report.read, report.kept, report.dropped) == (4, 2, {"no such problem": 2})
    assert report.rows["no such problem"][0].startswith("llava_test_CQM-A.json:1: '12': problems.json has none")
    assert [sample.id for sample in load(tmp_path)[0]] == ["5"]
    assert "lists the test split alone, not 'train'" in mistake(tmp_path, "train:all")
    (tmp_path / "llava_test_CQM-A.json").write_text('[{"id": "5"')
    assert "bad JSON" in mistake(tmp_path)


# Hugging Face's forms


def test_rows_without_a_pid_are_numbered_through_all_parts(tmp_path: Path) -> None:
    table(tmp_path, [problem(image=None), problem()], "data/test-00000-of-00002.parquet")
    table(tmp_path, [problem(answer=None), problem(answer=2)], "data/test-00001-of-00002.parquet")
    samples, report = load(tmp_path)
    assert [(sample.id, sample.target) for sample in samples] == [("test_1", ("Down",)), ("test_3", ("Left",))]
    assert images.read_bytes(samples[1].images[0]) == PNG
    assert samples[1].images[0].member == "image:1"
    assert (report.read, report.kept, report.dropped) == (3, 2, {"no answer": 1})
    assert [sample.id for sample in load(tmp_path, "test:all")[0]] == ["test_0", "test_1", "test_3"]
    assert load(tmp_path, "test:no_pictures")[0][0].images == ()
    (tmp_path / "data" / "test-00001-of-00002.parquet").unlink()
    assert "part 00001 of 00002 is missing" in mistake(tmp_path)


def test_a_folder_with_both_of_lmms_labs_configurations_must_be_named(tmp_path: Path) -> None:
    for name in ("ScienceQA-FULL", "ScienceQA-IMG"):
        table(tmp_path, [problem()], f"{name}/test-00000-of-00001.parquet")
    assert "holds more than one copy of the dataset" in mistake(tmp_path)
    assert [sample.id for sample in load(tmp_path / "ScienceQA-IMG")[0]] == ["test_0"]


def test_damaged_parquet(tmp_path: Path) -> None:
    folder = table(tmp_path, [problem()])
    file = folder / "data" / "test-00000-of-00001.parquet"
    assert mistake(tmp_path, "train:all") == (
        f"{folder / 'data'}: no split 'train' here in the layout parquet. Fetch it, or ask another split."
    )
    pq.write_table(pq.read_table(file).drop_columns(["choices"]), file)
    assert "no 'choices'. Is this ScienceQA in the layout parquet?" in mistake(tmp_path)
    file.write_bytes(file.read_bytes()[:200])
    assert "is not a readable Parquet file" in mistake(tmp_path)


# VLMEvalKit's tables


def test_a_table_holds_its_pictures(tmp_path: Path) -> None:
    tsv(
        tmp_path,
        ("3", BASE64, "Which is north?", "A map.", "Up", "Down", "", "B", "geography"),
        ("4", "3", "Which is south?", "", "Up", "Down", "Left", "C", "geography"),
        ("5", "77", "Which?", "", "Up", "Down", "", "A", "geography"),
        ("6", "", "Which?", "", "Up", "Down", "", "A", "geography"),
        ("7", BASE64[:-3], "Which?", "", "Up", "Down", "", "A", "geography"),
        ("8", BASE64, "Which?", "", "Up", "", "Left", "A", "geography"),
        ("9", BASE64, "Which?", "", "Up", "Down", "", "C", "geography"),
        ("10", BASE64, "Which?", "", "Up", "Down", "", "", "geography"),
    )
    samples, report = load(tmp_path)
    assert [(sample.id, sample.target, sample.choices) for sample in samples] == [
        ("test_3", ("Down",), ("Up", "Down")),
        ("test_4", ("Left",), ("Up", "Down", "Left")),
    ]
    assert [images.read_bytes(sample.images[0]) for sample in samples] == [PNG, PNG]
    assert samples[0].metadata["hint"] == "A map."
    assert (report.read, report.kept) == (8, 2)
    assert report.dropped == {
        "missing picture": 2,
        "undecodable picture": 1,
        "malformed options": 1,
        "unknown answer": 1,
        "no answer": 1,
    }
    assert report.rows["missing picture"] == [
        "ScienceQA_TEST.tsv:4: image is '77'; no row with that index holds one",
        "ScienceQA_TEST.tsv:5: image is empty",
    ]
    assert report.rows["undecodable picture"][0].startswith("ScienceQA_TEST.tsv:6: image is no base64: ")
    assert report.rows["malformed options"] == ["ScienceQA_TEST.tsv:7: B is empty, but not the one after it"]
    assert report.rows["unknown answer"] == ["ScienceQA_TEST.tsv:8: answer is 'C'; expected a letter from A to B"]
    assert report.files == [str(tmp_path / "ScienceQA_TEST.tsv")]


def test_a_table_of_another_split_and_one_without_columns(tmp_path: Path) -> None:
    tsv(tmp_path, ("3", BASE64, "Which?", "", "Up", "Down", "", "B", ""), name="ScienceQA_VAL.tsv")
    assert [sample.id for sample in load(tmp_path, "validation:pictures")[0]] == ["validation_3"]
    for split in ("test", "train"):
        assert f"no split '{split}' here in the layout vlmevalkit" in mistake(tmp_path, f"{split}:pictures")
    (tmp_path / "ScienceQA_VAL.tsv").write_text("index\tquestion\n1\tWhich?\n")
    assert "no 'image', 'A', 'B', 'answer'. Is this ScienceQA as VLMEvalKit" in mistake(tmp_path, "validation:pictures")


# The task


def test_no_folder_none_of_its_layouts_or_two(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"Task scienceqa needs its folder: --dir FOLDER \(layouts: problems, llava, parquet, vlme"
    ):
        scienceqa.load(None, "test:pictures", LoadReport())
    assert "no layout of ScienceQA here or one folder down" in mistake(tmp_path)
    made(tmp_path)
    assert "Looked for: llava (llava_test_CQM-A.json and problems.json)." in mistake(tmp_path, layout="llava")
    tsv(tmp_path)
    assert "more than one copy" in mistake(tmp_path)
    assert len(load(tmp_path, layout="problems")[0]) == 2


def test_strict_stops_at_the_first_bad_problem(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"problems.json problem 7: missing picture: images/test/7/image.png\. Mend the row"):
        list(scienceqa.load(made(tmp_path), "test:pictures", LoadReport(strict=True)))


def test_what_the_task_says_of_itself() -> None:
    assert scienceqa.splits[0] == "test:pictures"
    assert scienceqa.train_split in scienceqa.splits
    assert len(scienceqa.splits) == 9
    assert list(scienceqa.formats) == ["problems", "llava", "parquet", "vlmevalkit"]
    assert "NC" in CARD.licence
    assert not CARD.redistributable
