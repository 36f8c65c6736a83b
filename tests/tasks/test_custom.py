from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.errors import DataError, UsageError
from eyetest.readers import LoadReport
from eyetest.readers.row import Header
from eyetest.tasks.custom import check_columns, read_samples
from eyetest.types import Image, Sample


def load(folder: Path, rows: list[dict[str, Any]], **options: Any) -> tuple[list[Sample], LoadReport]:
    (folder / "items.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    report = LoadReport()
    return list(read_samples(folder / "items.jsonl", report=report, **options)), report


def load_csv(folder: Path, header: list[str], *lines: list[str], **options: Any) -> tuple[list[Sample], LoadReport]:
    with (folder / "items.csv").open("w", newline="") as out:
        csv.writer(out).writerows([header, *lines])
    report = LoadReport()
    return list(read_samples(folder / "items.csv", report=report, **options)), report


GOOD = {"id": "good", "question": "Which?", "choices": ["cat", "dog"], "answer": "dog"}


def test_every_field(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"x")
    row = {
        "id": 7,
        "question": "Which?",
        "image": "a.png",
        "images": ["b.png", str(tmp_path / "a.png")],
        "choices": ["cat", 3, 3.5, True],
        "answer": 3,
        "knowledge_question": "Which one?",
        "caption": "Two cats.",
        "context": "A hint.",
        "entity": "Felix",
        "cluster": 12,
        "level": {"n": 2**70, "list": [1, None]},
    }
    samples, report = load(tmp_path, [row])
    assert samples == [
        Sample(
            id="7",
            question="Which?",
            target=("3",),
            kind="choice",
            choices=("cat", "3", "3.5", "True"),
            images=tuple(Image(path=str(tmp_path / name)) for name in ("a.png", "b.png", "a.png")),
            context="A hint.",
            knowledge_question="Which one?",
            knowledge_method="field",
            caption="Two cats.",
            entity="Felix",
            cluster="12",
            metadata={"level": {"n": str(2**70), "list": [1, None]}},
        )
    ]
    assert report.as_dict() == {
        "files": [str(tmp_path / "items.jsonl")],
        "read": 1,
        "kept": 1,
        "dropped": {},
        "warnings": {},
        "rows": {},
    }


def test_kind_and_aliases(tmp_path: Path) -> None:
    rows = [
        {"question": "q", "answer": "Paris", "answers": ["Paris", "City of Light", 2]},
        {"question": "q", "answers": ["a", "b"], "kind": "labels", "choices": ["a", "b", "c"]},
        {"question": "q", "answers": [], "kind": "labels", "choices": ["a", "b"]},
        {"question": "q", "answer": ["b", "a"], "kind": "labels", "choices": ["a", "b"]},
        {"question": "q", "answer": "long", "kind": "description", "choices": []},
        {"question": "q", "answer": "x", "kind": "text", "choices": ["a", "b"]},
    ]
    samples, report = load(tmp_path, rows)
    assert [sample.target for sample in samples] == [
        ("Paris", "City of Light", "2"),
        ("a", "b"),
        (),
        ("b", "a"),
        ("long",),
        ("x",),
    ]
    assert [sample.kind for sample in samples] == ["text", "labels", "labels", "labels", "description", "text"]
    assert [sample.id for sample in samples] == [f"row-{n}" for n in range(1, 7)]
    assert report.warnings == {"no column 'id': rows are named row-N": 1}
    assert report.rows == {"no column 'id': rows are named row-N": ["items.jsonl"]}


@pytest.mark.parametrize(
    ("change", "reason", "detail"),
    [
        ({"question": " "}, "empty question", ""),
        ({"question": ["a"]}, "not text", "question is ['a']"),
        ({"context": {"a": 1}}, "not text", "context is {'a': 1}"),
        ({"answer": None}, "no answer", ""),
        ({"answer": ["cat", "dog"]}, "more than one answer", "'cat', 'dog'; a choice item has one"),
        ({"answer": "cow"}, "answer outside the choices", "'cow' is not among 'cat', 'dog'"),
        ({"choices": [], "kind": "choice"}, "fewer than 1 choice", ""),
        ({"choices": "cat;dog"}, "bad choices", "expected a list, found 'cat;dog'"),
        ({"choices": "['cat' 'dog']"}, "bad choices", "two texts without a comma between them, found \"['cat' 'dog']\""),
        ({"choices": {"A": "cat"}}, "bad choices", "expected a list, found {'A': 'cat'}"),
        ({"choices": "['\\ud800', 'dog']"}, "bad choices", "expected a list, found \"['\\\\ud800', 'dog']\""),
        ({"choices": ["dog", None]}, "bad choices", "one of them is empty, found ['dog', None]"),
        ({"choices": ["dog", ["cat"]]}, "not text", "a choice is ['cat']"),
        ({"kind": "mcq"}, "unknown kind", "'mcq'; known: choice, labels, text, transcription, description"),
        ({"id": "good"}, "duplicate id", "'good'; the first one is kept"),
        ({"image": "a\0b.png"}, "bad picture path", "NUL character in 'a\\x00b.png'"),
        ({"image": 5}, "bad picture path", "expected a path, found 5"),
    ],
)
def test_dirt_costs_one_row(tmp_path: Path, change: dict[str, Any], reason: str, detail: str) -> None:
    samples, report = load(tmp_path, [GOOD, GOOD | {"id": "bad"} | change, GOOD | {"id": "also good"}])
    assert [sample.id for sample in samples] == ["good", "also good"]
    assert (report.read, report.kept, report.dropped, report.warnings) == (3, 2, {reason: 1}, {})
    assert report.rows == {reason: [f"items.jsonl:2: {detail}" if detail else "items.jsonl:2"]}


def test_row_numbers_count_dropped_rows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"question": "q", "answer": "a"}\nbad\n\n{"question": "q", "answer": "a"}\n')
    samples = read_samples(tmp_path / "a.jsonl", report=LoadReport())
    assert [sample.id for sample in samples] == ["row-1", "row-3"]


def test_warnings_of_kept_rows(tmp_path: Path) -> None:
    rows = [
        GOOD | {"id": 1, "answer": " dog "},
        GOOD | {"id": 2, "answer": "DOG"},
        GOOD | {"id": None},
        GOOD | {"id": 4, "choices": ["dog", "cat", "dog"]},
    ]
    samples, report = load(tmp_path, rows)
    assert [sample.target for sample in samples] == [("dog",)] * 4
    assert [sample.id for sample in samples] == ["1", "2", "row-3", "4"]
    assert report.rows == {
        "answer differs from the choice in case": ["items.jsonl:2: 'DOG', 'dog'"],
        "no id": ["items.jsonl:3: named row-3"],
        "duplicate choices": ["items.jsonl:4"],
    }
    assert report.dropped == {}


def test_case_does_not_decide_between_two_choices(tmp_path: Path) -> None:
    _, report = load(tmp_path, [GOOD, GOOD | {"id": 2, "choices": ["Us", "US"], "answer": "us"}])
    assert report.dropped == {"answer outside the choices": 1}


@pytest.mark.parametrize(
    ("cell", "choices"),
    [
        ('["cat", "dog"]', ("cat", "dog")),
        ("['cat', 'dog', 'None']", ("cat", "dog", "None")),
        (r"['$\\frac{1}{2}$', 'dog', 'it\'s \' \' x']", ("$\\frac{1}{2}$", "dog", "it's ' ' x")),
        ("('dog', 'a\\sb')", ("dog", "a\\sb")),
        ("[1, 'dog']", ("1", "dog")),
    ],
)
def test_choices_in_one_cell(tmp_path: Path, cell: str, choices: tuple[str, ...]) -> None:
    samples, _ = load_csv(tmp_path, ["question", "choices", "answer"], ["q", cell, "dog"])
    assert samples[0].choices == choices


@pytest.mark.parametrize("names", [["A", "B", "C", "D"], ["choice_a", "choice_b", "choice_c", "choice_d"]])
def test_choices_in_columns(tmp_path: Path, names: list[str]) -> None:
    lines = [["1", "cat", "dog", "cow", "", "dog"], ["2", "cat", "", "cow", "", "cow"], ["3", "", "", "", "", "anything"]]
    samples, report = load_csv(tmp_path, ["question", *names, "answer"], *lines)
    assert [(sample.choices, sample.kind) for sample in samples] == [(("cat", "dog", "cow"), "choice"), ((), "text")]
    assert samples[0].metadata == {}
    assert report.dropped == {"bad choices": 1}
    assert report.rows["bad choices"] == ["items.csv:3: one of them is empty, found ['cat', '', 'cow']"]


def test_a_lone_letter_column_is_metadata(tmp_path: Path) -> None:
    samples, _ = load_csv(tmp_path, ["question", "A", "answer"], ["q", "x", "y"])
    assert samples[0].metadata == {"A": "x"}


def test_lists_in_cells(tmp_path: Path) -> None:
    (tmp_path / "[1].png").write_bytes(b"x")
    samples, _ = load_csv(
        tmp_path, ["question", "images", "answers"], ["q", '["[1].png"]', '["a", "b"]'], ["q", "[1].png", "[sic]"]
    )
    assert [sample.target for sample in samples] == [("a", "b"), ("[sic]",)]
    assert [sample.images for sample in samples] == [(Image(path=str(tmp_path / "[1].png")),)] * 2


@pytest.mark.parametrize(("answer_is", "answers"), [("letter", ["A", " b ", "C", "7"]), ("index", [0, "1", "2", -1])])
def test_letters_and_positions_on_request(tmp_path: Path, answer_is: str, answers: list[Any]) -> None:
    rows = [GOOD | {"id": number, "answer": answer} for number, answer in enumerate(answers)]
    samples, report = load(tmp_path, rows, answer_is=answer_is)
    assert [sample.target for sample in samples] == [("cat",), ("dog",)]
    assert report.dropped == {"answer outside the choices": 2}
    wanted = "a letter from A to B" if answer_is == "letter" else "a position from 0 to 1"
    assert (
        report.rows["answer outside the choices"][0]
        == f"items.jsonl:3: {str(answers[2])!r} is not {wanted} (--answer-is {answer_is})"
    )


@pytest.mark.parametrize(("answer", "way", "word"), [("B", "letter", "letters"), (1, "index", "0-based positions")])
def test_letters_given_as_text_name_the_option(tmp_path: Path, answer: Any, way: str, word: str) -> None:
    rows = [GOOD, *(GOOD | {"id": number, "answer": answer} for number in range(4))]
    said = (
        rf"4 of 5 answers are not among .* look like {word}, such as '{answer}' at items\.jsonl:2\. .* pass --answer-is {way}\."
    )
    with pytest.raises(DataError, match=said):
        load(tmp_path, rows)
    _, report = load(tmp_path, [GOOD, GOOD | {"id": 2, "answer": answer}])
    assert report.rows["answer outside the choices"] == [
        f"items.jsonl:2: {str(answer)!r} is not among 'cat', 'dog'; if it is one of {word}, pass --answer-is {way}"
    ]


def test_unknown_way_to_answer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Unknown way to give answers 'letters' in --answer-is\. Did you mean 'letter'\?"):
        load(tmp_path, [GOOD], answer_is="letters")


@pytest.mark.parametrize(
    ("names", "columns", "said"),
    [
        (
            ("id", "question", "ansewr"),
            {},
            "items.csv:1: expected a column 'answer' or 'answers', found 'id', 'question', 'ansewr'. "
            "Found 'ansewr'; map it with --column answer=ansewr.",
        ),
        (
            ("id", "prompt", "answer"),
            {},
            "items.csv:1: expected a column 'question', found 'id', 'prompt', 'answer'. "
            "If another column holds it, map it with --column question=NAME.",
        ),
        (
            ("id", "prompt", "answer"),
            {"question": "promt"},
            "--column question=promt: items.csv:1 has no column 'promt'. Did you mean 'prompt'? Found: 'id', 'prompt', 'answer'.",
        ),
    ],
)
def test_missing_column(names: tuple[str, ...], columns: dict[str, str], said: str) -> None:
    with pytest.raises(DataError) as caught:
        check_columns(Header(names, "items.csv:1"), columns)
    assert str(caught.value) == said


def test_unknown_field_in_column_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Unknown field 'questoin' in --column questoin=prompt\. Did you mean 'question'\?"):
        load(tmp_path, [GOOD], columns={"questoin": "prompt"})


def test_columns_are_renamed(tmp_path: Path) -> None:
    row = {"prompt": "p", "question": "other", "gold": "b", "opt1": "a", "opt2": "b", "id": "x"}
    columns = {"question": "prompt", "answer": "gold", "choice_a": "opt1", "choice_b": "opt2"}
    samples, _ = load(tmp_path, [row], columns=columns)
    assert samples == [Sample(id="x", question="p", target=("b",), choices=("a", "b"), metadata={"question": "other"})]


def test_missing_pictures(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"x")
    rows = [GOOD | {"id": 1, "image": "a.png"}, GOOD | {"id": 2, "image": "b.png"}, GOOD | {"id": 3, "image": ""}]
    samples, report = load(tmp_path, rows, image_folder=tmp_path / "pictures")
    assert [len(sample.images) for sample in samples] == [1, 1, 0]
    assert report.warnings == {"missing picture": 1}
    assert report.rows == {"missing picture": ["items.jsonl:2: 'b.png'"]}
    with pytest.raises(DataError, match=rf"none of the 2 pictures was found; looked for {tmp_path}/a\.png; pass --images FOLDER"):
        load(tmp_path, rows)
    with pytest.raises(UsageError, match=r"--images .*nowhere: there is no such folder"):
        load(tmp_path, rows, image_folder=tmp_path / "nowhere")


def test_pictures_in_parquet_stay_there(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    pictures = pa.array([{"bytes": b"x", "path": None}, None], picture)
    pq.write_table(pa.table({"question": ["q", "r"], "answer": ["a", "b"], "image": pictures, "extra": pictures}), path)
    report = LoadReport()
    samples = list(read_samples(path, report=report))
    assert [sample.images for sample in samples] == [(Image(path=str(path), member="image:0"),), ()]
    assert [dict(sample.metadata) for sample in samples] == [{}, {"extra": None}]
    assert (report.kept, report.dropped) == (2, {})


def test_nothing_usable(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"items\.jsonl: none of its 2 rows can be used\. no answer: 2, first items\.jsonl:1"):
        load(tmp_path, [GOOD | {"answer": ""}, GOOD | {"answer": None}])


def test_the_file_is_streamed_and_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_samples(tmp_path / "none.jsonl", report=LoadReport())
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(GOOD | {"id": n}) for n in range(1000)))
    report = LoadReport()
    stream = read_samples(tmp_path / "a.jsonl", report=report)
    assert next(stream).id == "0"
    assert (report.read, report.kept) == (1, 1)


def test_a_row_without_an_id_takes_nobody_elses(tmp_path: Path) -> None:
    taken = GOOD | {"id": "row-2"}
    samples, report = load(tmp_path, [taken, GOOD | {"id": None}, GOOD | {"id": ""}, GOOD | {"id": "row-3"}])
    assert [sample.id for sample in samples] == ["row-2", "row-3"]
    assert report.rows["duplicate id"] == [
        "items.jsonl:2: 'row-2'; the first one is kept",
        "items.jsonl:4: 'row-3'; the first one is kept",
    ]


@pytest.mark.parametrize("cell", ["[" * 900 + "]" * 900, "[" * 70 + "'a'" + "]" * 70])
def test_a_deeply_nested_cell_costs_one_row(tmp_path: Path, cell: str) -> None:
    head = ["id", "question", "choices", "answer"]
    samples, report = load_csv(tmp_path, head, ["a", "Q?", cell, "x"], ["b", "Q?", '["x", "y"]', "x"])
    assert [sample.id for sample in samples] == ["b"]
    assert list(report.dropped) == ["bad choices"]


def test_a_picture_folder_whose_name_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"^--images x+: there is no such folder\. Pass the folder that picture paths start from\.$"
    ):
        load(tmp_path, [GOOD], image_folder=Path("x" * 5000))
