"""Knowledge questions and captions from files: what is read, what joins, what is said."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eyetest.commands.grid import GridOptions, read_config
from eyetest.config import read_run_file
from eyetest.errors import DataError
from eyetest.evaluation import setup
from eyetest.evaluation.evaluate import manifest, prepare
from eyetest.evaluation.prepared import Line, Prepared, joined, read_prepared
from eyetest.readers.load_report import LoadReport
from eyetest.types import Sample


def written(path: Path, *lines: dict[str, Any] | str) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def samples(n: int, **fields: Any) -> list[Sample]:
    return [Sample(f"q{number}", "Which?", ("a",), kind="text", **fields) for number in range(n)]


def test_lines_are_read_and_the_last_of_an_id_counts(tmp_path: Path) -> None:
    path = written(
        tmp_path / "k.jsonl",
        {"id": "q1", "k": "First?"},
        {"id": 7, "k": None},
        "",
        {
            "id": "q1",
            "k": "Second?",
            "method": "model:m",
            "model": "m",
            "prompt_hash": "h",
            "flags": ["leak", "mine"],
            "request": "r",
        },
    )
    found = read_prepared(path, "knowledge")
    assert found == Prepared(
        "knowledge", path, {"q1": Line("Second?", ("leak", "mine"), "model:m", "m", "h", "r"), "7": Line("")}
    )
    assert (found.lines["q1"].rejected, found.lines["7"].rejected) == (("leak",), ("empty",))
    assert Line("K?", ("mine",)).rejected == ()


@pytest.mark.parametrize(
    ("line", "method"),
    [
        (Line("K?"), "file"),
        (Line("K?", model="m"), "model:m"),
        (Line("K?", method="llm", model="m"), "model:m"),
        (Line("K?", method="manual"), "file"),
        (Line("K?", method="entity:this"), "entity:this"),
        (Line("K?", method="field"), "field"),
    ],
)
def test_how_it_was_made(line: Line, method: str) -> None:
    [one] = joined(iter(samples(1)), Prepared("knowledge", Path("k.jsonl"), {"q0": line}), LoadReport())
    assert (one.knowledge_question, one.knowledge_method) == ("K?", method)


def test_the_file_goes_before_the_dataset_and_leaves_alone_what_it_does_not_name() -> None:
    given = samples(4, knowledge_question="Own?", knowledge_method="field", caption="Own.")
    lines = {"q0": Line("File?"), "q1": Line("Leaky?", ("leak", "too_long")), "q2": Line(""), "other": Line("X?")}
    report = LoadReport()
    found = list(joined(iter(given), Prepared("knowledge", Path("k.jsonl"), lines), report))
    assert [(one.knowledge_question, one.knowledge_method) for one in found] == [
        ("File?", "file"),
        (None, None),
        (None, None),
        ("Own?", "field"),
    ]
    assert {one.caption for one in found} == {"Own."}
    assert report.warnings == {
        "knowledge question by file": 1,
        "knowledge question rejected: gives away the right answer, which the question does not name (leak)": 1,
        "knowledge question rejected: longer than 2,000 characters (a caption: 8,000) (too_long)": 1,
        "knowledge question rejected: the reply is empty (empty)": 1,
        "not in k.jsonl: the knowledge question stays the dataset's own, if any": 1,
        "in k.jsonl without a sample": 1,
    }
    assert report.rows["in k.jsonl without a sample"] == ["other"]


def test_captions_join_alike() -> None:
    lines = {"q0": Line("A cat."), "q1": Line("", ("empty",))}
    found = list(joined(iter(samples(2, caption="Own.")), Prepared("caption", Path("c.jsonl"), lines), LoadReport()))
    assert [one.caption for one in found] == ["A cat.", None]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ({"x": Line("K?")}, "k.jsonl: 0 of its 1 ids are among the 3 samples: it has, for example, 'x', the data 'q0'."),
        ({}, "k.jsonl: 0 of its 0 ids are among the 3 samples: it holds none."),
    ],
)  # fmt: skip
def test_a_file_for_other_ids_is_an_error_that_shows_both(lines: dict[str, Line], said: str) -> None:
    with pytest.raises(DataError) as caught:
        list(joined(iter(samples(3)), Prepared("knowledge", Path("k.jsonl"), lines), LoadReport()))
    assert str(caught.value).startswith(said)
    assert "Name the file that was made for this dataset and split, or make one: eyetest knowledge DATA" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "bad JSON: k.jsonl:2:"),
        ("[]", "not an object: k.jsonl:2: found a list, expected {...}. Expected one JSON object a line:"),
        ({"k": "K?"}, "k.jsonl:2: id: expected the id of a sample, as text; there is none."),
        ({"id": True, "k": "K?"}, "k.jsonl:2: id: expected the id of a sample, as text; found True."),
        ({"id": "a"}, "k.jsonl:2: k: expected the knowledge question as text, or null where there is none; there is none."),
        ({"id": "a", "k": 3}, "k.jsonl:2: k: expected the knowledge question as text, or null where there is none; found 3."),
        ({"id": "a", "k": "K?", "flags": "leak"}, "k.jsonl:2: flags: expected a list of texts; found 'leak'."),
        ({"id": "a", "k": "K?", "model": 4}, "k.jsonl:2: model: expected a text; found 4."),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: dict[str, Any] | str, said: str) -> None:
    path = written(tmp_path / "k.jsonl", {"id": "ok", "k": "K?"}, line)
    with pytest.raises(DataError) as caught:
        read_prepared(path, "knowledge")
    assert said in str(caught.value)
    assert '{"id": "q1", "k": "Who built the Eiffel Tower?"}' in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"c\.jsonl: no such file\. Name a file of captions, or make one: eyetest caption DATA"):
        read_prepared(tmp_path / "c.jsonl", "caption")


def data(folder: Path, n: int = 12) -> Path:
    return written(folder / "data.jsonl", *({"id": f"q{i}", "question": f"Which {i}?", "answer": "a"} for i in range(n)))


def test_a_run_asks_what_the_files_say_and_its_manifest_names_them(tmp_path: Path) -> None:
    data(tmp_path)
    written(tmp_path / "k.jsonl", *({"id": f"q{i}", "k": f"K {i}?"} for i in range(9)))
    (tmp_path / "run.toml").write_text(
        'models = ["chance"]\nconditions = ["knowledge"]\n[[tasks]]\ndata = "data.jsonl"\nknowledge = "k.jsonl"\n'
    )
    config, folder = read_config(tmp_path / "run.toml", GridOptions())
    plan = prepare(config, setup.datasets(config.tasks), folder=folder)
    [survey] = plan.surveys
    asked = {work.origin.sample.id: work.origin.sample.question for work in plan.work(survey, Counter())}
    assert asked == {f"q{i}": f"K {i}?" for i in range(9)}
    described = manifest(config, plan, ())["tasks"]["data"]
    assert str(tmp_path / "k.jsonl") in described["files_sha256"]
    assert described["load_report"]["warnings"]["knowledge question by file"] == 9


def test_paths_are_relative_to_the_run_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[[tasks]]\ndata = "d.jsonl"\nknowledge = "k.jsonl"\ncaptions = "../c.jsonl"\n')
    [task] = read_run_file(tmp_path / "run.toml")["tasks"]
    assert (task["knowledge"], task["captions"]) == (str(tmp_path / "k.jsonl"), str(tmp_path.parent / "c.jsonl"))


def test_flags_name_the_files(tmp_path: Path) -> None:
    data(tmp_path)
    written(tmp_path / "k.jsonl", {"id": "q1", "k": "K?"})
    written(tmp_path / "c.jsonl", {"id": "q1", "caption": "C."})
    options = GridOptions(
        data=(str(tmp_path / "data.jsonl"),), knowledge_file=str(tmp_path / "k.jsonl"), captions=str(tmp_path / "c.jsonl")
    )
    config, _ = read_config(None, options)
    [dataset] = setup.datasets(config.tasks)
    [one] = [sample for sample in dataset.samples() if sample.id == "q1"]
    assert (one.knowledge_question, one.caption) == ("K?", "C.")


def test_a_folder_is_said_to_be_none_of_its_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not a regular file\. Name a file of captions, or make one: eyetest caption DATA"):
        read_prepared(tmp_path, "caption")
