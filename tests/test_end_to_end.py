"""From a user's files to tables, in the ways a user would go: files, run files, several tasks and models, other formats."""

from __future__ import annotations

import csv
import io
import json
import random

import openpyxl
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

from evaluation.made import predictions, write_items
from eyetest.cli import main

ANIMALS = ("cat", "dog", "bird")


def picture(seed):
    noise = random.Random(seed)
    made = Image.frombytes("RGB", (8, 8), bytes(noise.randrange(256) for _ in range(192)))
    buffer = io.BytesIO()
    made.save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EYETEST_CACHE", str(tmp_path / "cache.sqlite"))
    (tmp_path / "pictures").mkdir()
    for number in range(30):
        (tmp_path / "pictures" / f"{number}.png").write_bytes(picture(number))
    return tmp_path


@pytest.fixture
def eyetest(here, capsys):
    def call(*arguments, status=0):
        with pytest.raises(SystemExit) as exited:
            main(arguments)
        printed = capsys.readouterr()
        assert exited.value.code == status, printed.err
        return printed.out

    return call


def rows():
    return [
        {
            "id": f"a{number}",
            "image": f"{number}.png",
            "question": "Which animal is it?",
            "choices": list(ANIMALS),
            "answer": ANIMALS[number % 3],
            "topic": f"t{number % 2}",
        }
        for number in range(30)
    ]


def results(out):
    return json.loads((out / "results.json").read_bytes())


def value(out, model, condition, metric="accuracy", task="animals"):
    keys = {"task": task, "model": model, "condition": condition, "metric": metric, "policy": "as_wrong", "by": ""}
    (found,) = (row for row in results(out)["estimates"] if all(row[key] == wanted for key, wanted in keys.items()))
    return found["value"]


RUN_FILE = """
conditions = ["image", "no_image", "options_only", "shuffled", "swapped", "open_ended"]
prompts = ["default", "terse"]
by = ["metadata.topic"]
out = "all"

[[tasks]]
data = "animals.jsonl"
images = "pictures"

[[tasks]]
data = "facts.jsonl"
name = "knowledge"

[[models]]
model = "oracle"

[[models]]
model = "scripted:script.jsonl"
name = "learned"

[[models]]
model = "constant:A"

[prompt.terse]
templates = { choice = "{{ question }} {{ options | map(attribute='text') | join('/') }}" }
"""


def test_a_run_file_with_everything(eyetest, here):
    write_items(here / "animals.jsonl", rows())
    write_items(
        here / "facts.jsonl",
        [{"id": f"f{n}", "question": f"What is {n} + 1?", "answer": str(n + 1), "topic": "x"} for n in range(20)],
    )
    script = [{"id": row["id"], "completion": row["answer"]} for row in rows()[:15]]
    script += [{"id": row["id"], "completion": "no idea"} for row in rows()[15:]]
    script += [{"id": f"f{n}", "completion": f"The answer is {n + 1}."} for n in range(20)]
    write_items(here / "script.jsonl", script)
    (here / "grid.toml").write_text(RUN_FILE)
    checked = eyetest("check", "grid.toml")
    assert "animals: 30 distinct pictures decode; prompts render under every condition." in checked
    assert "  options_only: 60 answers, 2 distinct requests" in checked
    printed = eyetest("run", "grid.toml")
    out = here / "all"
    animals = 3 * 2 * 6 * 30
    facts = 3 * 2 * 2 * 20  # without options and pictures only the question remains
    found = predictions(out)
    assert sum(record["task"] == "animals" for record in found) == animals
    assert sum(record["task"] == "knowledge" for record in found) == facts
    assert results(out)["counts"]["answers"] == animals + facts
    assert {row["value"] for row in results(out)["estimates"] if row["model"] == "oracle" and row["metric"] == "accuracy"} == {
        1.0
    }
    assert "animals: slices" in printed
    assert "knowledge: accuracy with 95 % intervals" in printed
    assert "options_only does not apply to 20 samples: knowledge" in printed
    assert eyetest("report", "all") == printed
    assert eyetest("run", "grid.toml") == printed
    eyetest("score", "all")
    assert eyetest("report", "all") == printed


def test_the_same_items_in_every_format_give_the_same_numbers(eyetest, here):
    table = rows()
    write_items(here / "animals.jsonl", table)
    (here / "animals.json").write_text(json.dumps(table))
    flat = [{**row, "choices": json.dumps(row["choices"])} for row in table]
    for name, delimiter in (("animals.csv", ","), ("animals.tsv", "\t")):
        with (here / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(flat[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(flat)
    parquet.write_table(pyarrow.Table.from_pylist(table), here / "animals.parquet")
    book = openpyxl.Workbook()
    book.active.append(list(flat[0]))
    for row in flat:
        book.active.append(list(row.values()))
    book.save(here / "animals.xlsx")
    made = {}
    for suffix in ("jsonl", "json", "csv", "tsv", "parquet", "xlsx"):
        eyetest(
            *("run", "--data", f"animals.{suffix}", "--images", "pictures", "--model", "chance", "--model", "constant:B"),
            *("--condition", "image,no_image,shuffled", "--by", "metadata.topic", "--out", suffix),
        )
        made[suffix] = {key: part for key, part in results(here / suffix).items() if key != "counts"}
    assert all(found == made["jsonl"] for found in made.values())


def test_letters_and_positions_say_the_same_as_texts(eyetest, here):
    forms = {"text": str, "letter": lambda answer: "ABC"[ANIMALS.index(answer)], "index": lambda answer: ANIMALS.index(answer)}
    for form, written in forms.items():
        write_items(here / "animals.jsonl", [{**row, "answer": written(row["answer"])} for row in rows()])
        eyetest(
            "run", "--data", "animals.jsonl", "--images", "pictures", "--answer-is", form, "--model", "constant:B", "--out", form
        )
    assert value(here / "text", "constant:B", "image") == pytest.approx(1 / 3)
    assert predictions(here / "text") == predictions(here / "letter") == predictions(here / "index")


def test_a_broken_picture_costs_one_answer_and_is_healed(eyetest, here):
    write_items(here / "animals.jsonl", rows())
    whole = (here / "pictures" / "4.png").read_bytes()
    (here / "pictures" / "4.png").write_bytes(whole[:60])
    command = ("run", "--data", "animals.jsonl", "--images", "pictures", "--model", "constant:A,decode=true", "--out", "out")
    eyetest("check", "--data", "animals.jsonl", "--images", "pictures", status=1)
    printed = eyetest(*command, status=1)
    assert "if failed answers were all wrong .333, all right .367: animals, constant:A,decode=true, image, accuracy" in printed
    (here / "pictures" / "4.png").write_bytes(whole)
    eyetest(*command)
    counts = results(here / "out")["counts"]
    assert (counts["asked"], counts["resumed"], counts["failed"]) == (1, 29, 0)


def test_a_limited_run_is_part_of_the_whole(eyetest, here):
    write_items(here / "animals.jsonl", rows())
    command = ("run", "--data", "animals.jsonl", "--images", "pictures", "--model", "constant:A")
    eyetest(*command, "--limit", "10", "--out", "ten")
    eyetest(*command, "--limit", "50%", "--out", "half")
    eyetest(*command, "--out", "whole")
    assert [results(here / out)["counts"]["asked"] for out in ("ten", "half", "whole")] == [10, 5, 15]
    ten, half = ({record["sample"] for record in predictions(here / out)} for out in ("ten", "half"))
    assert ten < half
    shown = eyetest("compare", "ten", "whole")
    assert " 10\n" in shown.replace(" \n", "\n")


def test_results_are_the_same_for_any_hash_seed_and_any_order_of_the_file(eyetest, here):
    table = rows()
    for name, ordered in (("one", table), ("two", random.Random(3).sample(table, len(table)))):
        (here / name).mkdir()
        write_items(here / name / "animals.jsonl", ordered)
        eyetest(
            *("run", "--data", f"{name}/animals.jsonl", "--images", "pictures", "--model", "phantom", "--model", "chance"),
            *("--condition", "image,no_image,shuffled,swapped", "--limit", "20", "--out", f"{name}/out"),
        )
    assert results(here / "one" / "out")["estimates"] == results(here / "two" / "out")["estimates"]
    assert results(here / "one" / "out")["pairs"] == results(here / "two" / "out")["pairs"]
