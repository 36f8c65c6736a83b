"""MMMU in every layout, with its dirt, its subsets, and its pictures within questions and options."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest import images
from eyetest.errors import DataError, UsageError
from eyetest.evaluation.api import evaluate
from eyetest.prompts import Prompt, render
from eyetest.readers import LoadReport
from eyetest.tasks import mmmu as module
from eyetest.tasks import subsets
from eyetest.tasks.mmmu import mmmu
from eyetest.types import Image, Sample

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "mmmu"
ROWS, TABLE = FIXTURES / "hf_rows", FIXTURES / "vlmevalkit_tsv"
PNG = (ROWS / "images" / "validation_Art_3_1.png").read_bytes()
BASE64 = base64.b64encode(PNG).decode()
OTHER = base64.b64encode(PNG[:-1]).decode()
SINGLE, DRAWN, ALL = "validation:mmmu_single_all", "validation:mmmu_single648_v1", "validation:all"


def row(number: int, **changes: Any) -> dict[str, Any]:
    """One row with the columns of Hugging Face; a true `image_N` is a picture."""
    pictures: dict[str, Any] = {f"image_{place}": None for place in range(1, 8)} | {"image_1": "p.png"}
    return {
        "id": f"validation_Art_Theory_{number}",
        "question": "Who painted <image 1>?",
        "options": "['Monet', 'None']",
        "explanation": "",
        **pictures,
        "img_type": "['Paintings', 'Portraits']",
        "answer": "B",
        "topic_difficulty": "Easy",
        "question_type": "multiple-choice",
        "subfield": "Art Theory",
    } | changes


def lines(folder: Path, *rows: dict[str, Any], split: str = "validation") -> Path:
    (folder / "p.png").write_bytes(PNG)
    (folder / f"{split}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


def table(folder: Path, *rows: dict[str, Any], name: str = "validation-00000-of-00001.parquet") -> Path:
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns: dict[str, Any] = {key: [one[key] for one in rows] for key in rows[0] if not key.startswith("image_")}
    for number in range(1, 8):
        cells = [one[f"image_{number}"] and {"bytes": PNG, "path": "p.png"} for one in rows]
        columns[f"image_{number}"] = pa.array(cells, kind)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)
    return folder


HEAD = ("index", "id", "question", "A", "B", "C", "answer", "split", "image")


def tsv(folder: Path, *rows: tuple[str, ...], head: tuple[str, ...] = HEAD, name: str = "MMMU_DEV_VAL.tsv") -> Path:
    (folder / name).write_text("".join("\t".join(cells) + "\n" for cells in (head, *rows)))
    return folder


def load(folder: Path, split: str = ALL, layout: str | None = None) -> tuple[list[Sample], LoadReport]:
    report = LoadReport()
    loader = mmmu.load if layout is None else mmmu.formats[layout]
    return list(loader(folder, split, report)), report


def mistake(folder: Path, split: str = ALL, layout: str | None = None) -> str:
    with pytest.raises(DataError) as error:
        load(folder, split, layout)
    return str(error.value)


# The published rows


def test_the_rows_of_hugging_face() -> None:
    samples, report = load(ROWS)
    assert (report.read, report.kept, report.dropped) == (35, 35, {})
    assert report.warnings == {"right option stands twice": 2, "an option stands twice": 1}
    assert [place.split(":")[1] for place in report.rows["right option stands twice"]] == ["2", "3"]
    found = {sample.id.removeprefix("validation_"): sample for sample in samples}
    assert found["Geography_15"].target == ("None",)
    assert found["Electronics_13"].choices.count(found["Electronics_13"].target[0]) == 2
    assert found["Biology_24"].choices == ("<image 1>", "<image 2>", "<image 3>")
    assert len(found["Biology_24"].images) == found["Biology_24"].metadata["pictures"] == 3
    assert found["Mechanical_Engineering_18"].choices[0].startswith("$\\alpha=(pw_{1}i")
    open_ones = {name: (one.target, one.choices) for name, one in found.items() if one.kind == "text"}
    assert open_ones == {"Architecture_and_Engineering_14": (("1.06",), ()), "Basic_Medical_Science_10": (("C",), ())}
    published = json.loads((FIXTURES / "answers.json").read_text())
    assert {one.id for one in samples} == set(published)
    for one in samples:
        answer = published[one.id]["ground_truth"]
        assert one.target == (one.choices["ABCDEFGHI".index(answer)] if one.choices else answer,)


def test_the_table_of_vlmevalkit() -> None:
    samples, report = load(TABLE)
    assert (report.read, report.kept, report.dropped) == (6, 5, {"missing picture": 1})
    assert report.rows["missing picture"] == ["MMMU_DEV_VAL.tsv:5: <image 2> is named, and there are 1 pictures"]
    rows = {sample.id: sample for sample in load(ROWS)[0]}
    for sample in samples:
        same = rows[sample.id]
        assert (sample.question, sample.target, sample.choices) == (same.question, same.target, same.choices)
        assert images.read_bytes(sample.images[0]) == images.read_bytes(same.images[0])
    assert samples[0].metadata["subject"] == "Geography"


def test_what_a_row_becomes(tmp_path: Path) -> None:
    samples, _ = load(lines(tmp_path, row(17)))
    assert samples == [
        Sample(
            id="validation_Art_Theory_17",
            question="Who painted <image 1>?",
            target=("None",),
            choices=("Monet", "None"),
            images=(Image(path=str(tmp_path / "p.png")),),
            metadata={
                "split": "validation",
                "subset": "all",
                "pictures": 1,
                "subject": "Art_Theory",
                "subfield": "Art Theory",
                "difficulty": "Easy",
                "image_types": "Paintings, Portraits",
            },
        )
    ]


# Pictures in their places


def test_pictures_stand_where_question_and_options_name_them() -> None:
    heart = next(sample for sample in load(ROWS)[0] if sample.id == "validation_Biology_24")
    shown = render(Prompt(), heart)[0].content
    first, second, third = heart.images
    assert shown[0] == f"{heart.question}\nA. "
    assert shown[1:6] == (first, "\nB. ", second, "\nC. ", third)
    blind = render(Prompt(), replace(heart, images=()))[0].content
    assert "A. <image 1>\nB. <image 2>\nC. <image 3>" in blind[0]
    turned = render(Prompt(), replace(heart, choices=heart.choices[::-1]))[0].content
    assert turned[1:6] == (third, "\nB. ", second, "\nC. ", first)


def test_the_oracle_is_right_on_every_item(tmp_path: Path) -> None:
    def here(_folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
        return mmmu.load(ROWS, split, report)

    rows = evaluate(replace(mmmu, load=here, splits=(ALL,)), "oracle").rows
    values = {row.estimate.value for row in rows if row.estimate.metric == "accuracy"}
    assert values == {1.0}


# Subsets


def test_one_picture_by_default(tmp_path: Path) -> None:
    lines(
        tmp_path,
        row(1),
        row(2, question="Is <image 1> older than <image 2>?", image_2="p.png"),
        row(3, question="Who painted it?"),
        row(4, question="Who painted <image 1>?", image_2="p.png"),
        row(5, question="In <image 1>?", options="['<image 1>', 'b']"),
        row(6, question_type="open", options="[]", answer="Monet"),
        row(7, answer="E"),
    )
    assert [sample.id[-1] for sample in load(tmp_path)[0]] == list("123456")
    samples, report = load(tmp_path, SINGLE)
    assert [sample.id[-1] for sample in samples] == list("156")
    assert (report.read, report.kept, report.dropped) == (4, 3, {"unknown answer": 1})
    samples, report = load(tmp_path, DRAWN)
    assert [sample.id[-1] for sample in samples] == list("15")
    assert report.rows["fewer than its name says"] == [f"{tmp_path}: mmmu_single648_v1 has 2 questions here"]
    assert mmmu.splits[0] == SINGLE


def test_648_are_drawn_by_hash_whatever_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "N_DRAWN", 10)
    rows = [row(number) for number in range(40)]
    samples, report = load(lines(tmp_path, *rows), DRAWN)
    keys = {one["id"]: hashlib.sha256(f"mmmu_single648_v1:{one['id']}".encode()).hexdigest() for one in rows}
    assert {sample.id for sample in samples} == set(sorted(keys, key=keys.__getitem__)[:10])
    assert [sample.id for sample in samples] == [one["id"] for one in rows if one["id"] in {sample.id for sample in samples}]
    assert (report.read, report.kept, report.dropped, report.warnings) == (10, 10, {}, {})
    assert {sample.id for sample in load(lines(tmp_path, *rows[::-1]), DRAWN)[0]} == {sample.id for sample in samples}


def test_names_and_draws_of_subsets() -> None:
    assert subsets.names("test", "a", "b") == ("test:a", "test:b")
    assert subsets.parted("test:a") == ("test", "a")
    assert subsets.parted("test") == ("test", "")
    ids = [f"q{number}" for number in range(200)]
    twenty, ten = subsets.drawn("s_v1", ids, 20), subsets.drawn("s_v1", ids, 10)
    assert ten < twenty
    assert twenty == subsets.drawn("s_v1", ids[::-1], 20) != subsets.drawn("s_v2", ids, 20)
    assert subsets.drawn("s_v1", ids[:3], 20) == frozenset(ids[:3])
    assert subsets.drawn("s_v1", ["q3", "q2", "q1"], 1) == {"q1"}, "the rule of a published name must never change"


# Dirt


@pytest.mark.parametrize(
    ("changes", "reason", "detail"),
    [
        ({"question": None}, "no question", "question is None"),
        ({"id": None}, "no id", "id is None"),
        ({"options": "['a', 'b'"}, "malformed options", 'options is "[\'a\', \'b\'": expected a list'),
        ({"options": "{'a': 1}"}, "malformed options", "options is \"{'a': 1}\": expected a list"),
        ({"options": "['a' 'b']"}, "malformed options", "options is \"['a' 'b']\": two texts without a comma between them"),
        ({"options": "open('x', 'w')"}, "malformed options", "options is \"open('x', 'w')\": expected a list"),
        ({"options": "[" * 500}, "malformed options", f"options is '{'[' * 76}...: expected a list"),
        ({"options": "['" + "a" * 70_000 + "', 'b']"}, "malformed options", "70,009 characters; at most 65,536 are read"),
        ({"options": "['a', None]"}, "malformed options", "an option is None; expected a text"),
        ({"options": "['a', '']"}, "malformed options", "one has no text"),
        ({"options": None}, "malformed options", "options is None; expected a list"),
        ({"options": str(list("abcdefghijklmnopqrstuvwxyz0"))}, "malformed options", "27 of them; at most 26 have a letter each"),
        ({"options": "[]"}, "fewer than two options", "found 0"),
        ({"options": "['a']", "answer": "A"}, "fewer than two options", "found 1"),
        ({"answer": "C"}, "unknown answer", "answer is 'C'; expected a letter from A to B"),
        ({"answer": "?"}, "no answer", "answer is '?'; expected a letter from A to B"),
        ({"answer": None}, "no answer", "answer is ''; expected a letter from A to B"),
        ({"question_type": "essay"}, "unknown question type", "'essay'; expected multiple-choice, open, short-answer"),
        ({"question_type": "open", "answer": " "}, "no answer", "answer is ' '"),
        ({"question_type": "open", "answer": "?"}, "no answer", "answer is '?'"),
        ({"question_type": "open", "answer": "[]"}, "no answer", "answer is '[]'"),
        ({"question": "Is it <image 2>?"}, "missing picture", "<image 2> is named, and there are 1 pictures"),
        ({"options": "['<image 3>', 'b']"}, "missing picture", "<image 3> is named, and there are 1 pictures"),
        ({"question": "What is it?", "image_1": None}, "missing picture", "image_1 is empty"),
        ({"image_3": "p.png"}, "missing picture", "image_2 is empty, but not the one after it"),
        ({"image_1": "gone.png"}, "missing picture", "gone.png"),
        ({"image_1": "../p.png"}, "missing picture", "found '../p.png'; expected the name of a file in the dataset's folder"),
        ({"image_1": "/etc/x"}, "missing picture", "found '/etc/x'; expected the name of a file in the dataset's folder"),
        ({"image_1": 7}, "missing picture", "found 7; expected the name of a file in the dataset's folder"),
        ({"id": "validation_Art_Theory_1"}, "duplicate id", "validation_Art_Theory_1; the first one is kept"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_asked_is_dropped(changes: dict[str, Any], reason: str, detail: str, tmp_path: Path) -> None:
    samples, report = load(lines(tmp_path, row(1), row(2, **changes)))
    assert [sample.id for sample in samples] == ["validation_Art_Theory_1"]
    assert (report.read, report.kept, report.dropped) == (2, 1, {reason: 1})
    assert report.rows[reason] == [f"validation.jsonl:2: {detail}"]


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("['24', '24.0', '24']", ("24", "24.0")),
        (["1/3", "0.33"], ("1/3", "0.33")),
        ("[0, 1)", ("[0, 1)",)),
        ("[1, 2]", ("[1, 2]",)),
        (" 6.5 ", ("6.5",)),
        (7, ("7",)),
    ],
)
def test_answers_of_open_questions(answer: Any, target: tuple[str, ...], tmp_path: Path) -> None:
    samples, _ = load(lines(tmp_path, row(1, question_type="short-answer", options="[]", answer=answer)))
    assert (samples[0].kind, samples[0].target, samples[0].choices) == ("text", target, ())


def test_options_that_are_a_list_or_numbers(tmp_path: Path) -> None:
    samples, _ = load(lines(tmp_path, row(1, options=["10", "5"]), row(2, options="[10, 2.5]", img_type="Paintings")))
    assert [sample.choices for sample in samples] == [("10", "5"), ("10", "2.5")]
    assert samples[1].metadata["image_types"] == "Paintings"


def test_strict_stops_at_the_first_bad_row(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"validation\.jsonl:1: unknown answer: answer is 'Z'; expected a letter from A to B\. Mend"
    ):
        list(mmmu.load(lines(tmp_path, row(1, answer="Z")), ALL, LoadReport(strict=True)))


# Parquet


def test_a_file_for_each_subject(tmp_path: Path) -> None:
    for subject in ("Art", "Music"):
        one = row(1, id=f"validation_{subject}_1", image_2="p.png", question="<image 2> or <image 1>?")
        table(tmp_path, one, name=f"{subject}/validation-00000-of-00001.parquet")
    samples, report = load(tmp_path)
    assert [(sample.id, sample.metadata["subject"]) for sample in samples] == [
        ("validation_Art_1", "Art"),
        ("validation_Music_1", "Music"),
    ]
    assert [picture.member for picture in samples[0].images] == ["image_1:0", "image_2:0"]
    assert images.read_bytes(samples[0].images[1]) == PNG
    assert (report.read, report.kept, report.dropped) == (2, 2, {})
    assert report.rows["not the whole dataset"][0].startswith(
        f"{tmp_path}: 28 subjects are missing: Accounting, Agriculture, Arch"
    )
    assert mistake(tmp_path, "test:all") == (
        f"{tmp_path}: no split 'test' here in the layout parquet. Fetch it, or ask another split."
    )


@pytest.mark.parametrize("name", ["validation-00000-of-00001.parquet", "data/validation-00000-of-00001.parquet"])
def test_one_file_for_all_subjects(name: str, tmp_path: Path) -> None:
    samples, report = load(table(tmp_path, row(1), row(2, image_1=None), name=name))
    assert [sample.id for sample in samples] == ["validation_Art_Theory_1"]
    assert (report.dropped, report.warnings) == ({"missing picture": 1}, {})
    assert [sample.id for sample in load(tmp_path, layout="parquet")[0]] == ["validation_Art_Theory_1"]


def test_damaged_parquet(tmp_path: Path) -> None:
    folder = table(tmp_path, row(1), name="validation-00000-of-00002.parquet")
    assert "part 00001 of 00002 is missing" in mistake(folder)
    file = (folder / "validation-00000-of-00002.parquet").rename(folder / "validation.parquet")
    pq.write_table(pq.read_table(file).drop_columns(["options", "answer"]), file)
    assert "no 'options', 'answer'. Is this MMMU in the layout parquet?" in mistake(folder)
    with pytest.raises(DataError, match=r"no 'options', 'answer'"):
        mmmu.load(folder, DRAWN, LoadReport())
    file.write_bytes(file.read_bytes()[:-9])
    assert "is not a readable Parquet file" in mistake(folder)


# VLMEvalKit


def test_tables_with_several_pictures_two_splits_and_questions_made_closed(tmp_path: Path) -> None:
    tsv(
        tmp_path,
        ("0", "dev_Art_1", "<image 1>?", "a", "b", "", "A", "dev", BASE64),
        ("1", "validation_Art_1", "<image 1>, <image 2>?", "a", "b", "c", "C", "validation", f"['{BASE64}', '{OTHER}']"),
        ("2", "validation_Art_2", "<image 1>?", "24", "Other Answers", "", "A", "validation", "0"),
        ("3", "validation_Art_3", "<image 1>?", "['1/3', '0.33']", "Other Answers", "", "A", "validation", BASE64),
        ("4", "validation_Art_4", "<image 1>?", "a", "", "c", "A", "validation", BASE64),
        ("5", "validation_Art_5", "<image 1>?", "a", "b", "", "A", "validation", f"['{BASE64}', '']"),
        ("6", "validation_Art_6", "<image 1>?", "a", "b", "", "A", "validation", BASE64[:90] + "!" + BASE64[90:]),
    )
    samples, report = load(tmp_path)
    assert [(sample.kind, sample.target) for sample in samples] == [
        ("choice", ("c",)),
        ("text", ("24",)),
        ("text", ("1/3", "0.33")),
    ]
    assert [images.read_bytes(picture) for picture in samples[0].images] == [PNG, PNG[:-1]]
    assert images.read_bytes(samples[1].images[0]) == PNG
    assert (report.read, report.kept) == (6, 3)
    assert report.dropped == {"malformed options": 1, "missing picture": 1, "undecodable picture": 1}
    assert report.rows["missing picture"] == ["MMMU_DEV_VAL.tsv:7: image is ''; no row with that index holds one"]
    assert [sample.id for sample in load(tmp_path, "dev:all")[0]] == ["dev_Art_1"]


def test_a_table_without_ids_or_without_splits(tmp_path: Path) -> None:
    tsv(
        tmp_path,
        ("7", "What?", "a", "b", "A", "validation", BASE64),
        head=("index", "question", "A", "B", "answer", "split", "image"),
    )
    assert [sample.id for sample in load(tmp_path)[0]] == ["validation_7"]
    tsv(tmp_path, ("7", "What?", "a", "b", "A", BASE64), head=("index", "question", "A", "B", "answer", "image"))
    assert mistake(tmp_path) == (
        f"{tmp_path / 'MMMU_DEV_VAL.tsv'}: no column 'split', so dev and validation cannot be told apart. Fetch the file again."
    )
    tsv(tmp_path, ("7", "What?"), head=("index", "question"))
    assert "no 'image', 'A', 'B', 'answer'. Is this MMMU as VLMEvalKit publishes it?" in mistake(tmp_path)
    assert "no split 'test' here in the layout vlmevalkit" in mistake(tmp_path, "test:all")


# The task and its published outputs


def test_no_folder_or_two_layouts(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"Task mmmu needs its folder: --dir FOLDER \(layouts: parquet, jsonl, vlmevalkit\), or --dir"
    ):
        mmmu.load(None, SINGLE, LoadReport())
    tsv(lines(tmp_path, row(1)), ("7", "validation_Art_1", "What?", "a", "b", "", "A", "validation", BASE64))
    assert "Pass --format jsonl or --format vlmevalkit." in mistake(tmp_path)
    assert [sample.id for sample in load(tmp_path, layout="vlmevalkit")[0]] == ["validation_Art_1"]


def convert(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "examples" / "mmmu_outputs_to_jsonl.py")
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)


def test_published_outputs_become_a_script(tmp_path: Path) -> None:
    source, made = tmp_path / "total_val_output.json", tmp_path / "answers.jsonl"
    outputs = {
        one.id: "é" if one.kind == "text" else f"The answer is {'AB'[number % 2]}." for number, one in enumerate(load(ROWS)[0])
    }
    source.write_text(json.dumps(outputs))
    assert convert(str(source), str(made)).returncode == 0
    rows = [json.loads(line) for line in made.read_text().splitlines()]
    assert rows == [{"id": name, "condition": "image", "completion": text} for name, text in outputs.items()]
    assert convert(str(source), str(made), "no_image").returncode == 0
    assert {json.loads(line)["condition"] for line in made.read_text().splitlines()} == {"no_image"}

    def here(_folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
        return mmmu.load(ROWS, split, report)

    convert(str(source), str(made))
    results = evaluate(replace(mmmu, load=here, splits=(ALL,)), f"scripted:{made}")
    accuracy = next(row.estimate for row in results.rows if row.estimate.metric == "accuracy" and row.estimate.n == 33)
    right = [one.choices[number % 2] == one.target[0] for number, one in enumerate(load(ROWS)[0]) if one.kind == "choice"]
    assert accuracy.value == pytest.approx(sum(right) / 33)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": "B"', "cannot be read as JSON: Expecting ',' delimiter"),
        ('["B"]', 'expected one object {"validation_Art_1": "B", ...}'),
        ("{}", 'expected one object {"validation_Art_1": "B", ...}'),
        ('{"a": "B", "b": 3}', "the response to 'b' is 3; expected a text."),
    ],
)
def test_other_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    source = tmp_path / "total_val_output.json"
    source.write_text(text)
    done = convert(str(source), str(tmp_path / "answers.jsonl"))
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "answers.jsonl").exists()
    assert "python examples/mmmu_outputs_to_jsonl.py" in convert().stderr


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"question_type": ["open"]}, "unknown question type"),
        ({"question_type": {}}, "unknown question type"),
        ({"question_type": ...}, "unknown question type"),
        ({"options": ...}, "malformed options"),
        ({"answer": ...}, "no answer"),
        ({"question_type": "open", "answer": ...}, "no answer"),
    ],
)
def test_a_row_without_a_cell_or_with_a_list_for_one_is_dropped(tmp_path: Path, broken: dict[str, Any], reason: str) -> None:
    """`...` stands for a key that the line lacks."""
    bad = {key: value for key, value in row(2, **broken).items() if value is not ...}
    samples, report = load(lines(tmp_path, row(1), bad))
    assert ([one.id for one in samples], dict(report.dropped)) == (["validation_Art_Theory_1"], {reason: 1})
