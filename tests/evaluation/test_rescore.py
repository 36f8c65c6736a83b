from __future__ import annotations

import json

import pytest

from evaluation.made import Asked, go, item, items, predictions
from eyetest import registry
from eyetest.errors import StoreError, UsageError
from eyetest.evaluation.rescore import rescore, summed_up, table_of
from eyetest.evaluation.rundir import read_manifest
from eyetest.scorers import ChoiceScorer
from eyetest.tasks import Card, Task
from eyetest.tasks.from_file import task_from_file
from eyetest.tasks.from_samples import task_from_samples
from eyetest.tasks.standard import METRICS
from eyetest.types import Score

FILES = ("run.json", "predictions.jsonl", "results.json", "journal.txt")


def contents(out):
    return {name: (out / name).read_bytes() for name in FILES}


@pytest.fixture
def ran(tmp_path):
    samples = [*items(40, metadata={"topic": "x"}), *(item(40 + n, choices=("cat",), target=("cat",)) for n in range(5))]
    go(tmp_path / "run", samples, Asked(), conditions=["image", "shuffled"], by=["metadata.topic"], seed=3)
    return tmp_path / "run"


def test_reading_again_changes_nothing(ran):
    before = contents(ran)
    made = rescore(ran)
    assert (made.n, made.changed) == (85, 0)
    assert contents(ran) == before


def test_what_the_run_counted_survives(ran):
    counts = json.loads((ran / "results.json").read_bytes())["counts"]
    assert counts["answers"] == counts["asked"] + counts["cached"] + counts["shared"] == 85
    assert counts["inapplicable"] == [{"task": "samples", "condition": "shuffled", "samples": 5}]
    assert rescore(ran).results.counts == summed_up(ran)[1].counts == counts
    assert json.loads((ran / "results.json").read_bytes())["counts"] == counts


def edit(out, change):
    records = [json.loads(line) for line in (out / "predictions.jsonl").read_text().splitlines()]
    change(records)
    (out / "predictions.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def test_an_edited_completion_is_read_again(ran):
    def change(records):
        for record in records:
            record["response"]["text"] = record["target"][0]

    edit(ran, change)
    assert rescore(ran).changed > 20
    assert summed_up(ran)[1].headline("samples", "asked", "image").value == 1.0


def test_another_directory_leaves_the_run_alone(ran, tmp_path):
    before = contents(ran)
    edited = json.loads((ran / "predictions.jsonl").read_text().splitlines()[0])
    made = rescore(ran, out=tmp_path / "again")
    assert contents(ran) == before
    assert predictions(tmp_path / "again") == predictions(ran)
    assert edited["task"] == "samples"
    manifest = read_manifest(tmp_path / "again")
    assert manifest["rescored_from"] == str(ran)
    assert manifest["spec"] == read_manifest(ran)["spec"]
    assert json.dumps(summed_up(tmp_path / "again")[1].table()) == json.dumps(made.results.table())


def test_another_runs_directory_is_refused(ran, tmp_path):
    go(tmp_path / "other", items(3), Asked())
    before = contents(tmp_path / "other")
    with pytest.raises(StoreError, match="holds another run: there conditions is"):
        rescore(ran, out=tmp_path / "other")
    assert contents(tmp_path / "other") == before


def short_answers(tmp_path, match):
    rows = [{"question": f"What was no. {n}?", "answer": "no"} for n in range(12)]
    data = tmp_path / "short.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    go(tmp_path / match, task_from_file(data, match=match), Asked(lambda _: "nothing I know"))
    return tmp_path / match


@pytest.mark.parametrize(("match", "other", "value"), [("contains", "tokens", 0.0), ("tokens", "contains", 1.0)])
def test_answers_are_compared_as_in_the_run_unless_told_otherwise(tmp_path, match, other, value):
    run = short_answers(tmp_path, match)
    assert rescore(run).changed == 0
    made = rescore(run, match=other)
    assert made.changed == 12
    assert made.results.rows[0].estimate.value == value
    assert rescore(run).changed == 0, "the directory remembers how it was read last"
    assert read_manifest(run)["tasks"]["short"]["scoring"]["match"] == other


def test_a_broken_line_is_named_and_nothing_is_replaced(ran):
    lines = (ran / "predictions.jsonl").read_bytes().splitlines(keepends=True)
    lines[6] = lines[6][:50] + b"\n"
    (ran / "predictions.jsonl").write_bytes(b"".join(lines))
    before = contents(ran)
    for call in (rescore, summed_up, table_of):
        with pytest.raises(StoreError) as caught:
            call(ran)
        assert str(caught.value).startswith(f"{ran}/predictions.jsonl:7: not a prediction of eyetest (JSONDecodeError: ")
        assert str(caught.value).endswith("with the same --out: it is rebuilt from the journal without asking anything.")
    assert contents(ran) == before
    rebuilt = Asked()
    go(
        ran,
        [*items(40, metadata={"topic": "x"}), *(item(40 + n, choices=("cat",), target=("cat",)) for n in range(5))],
        rebuilt,
        conditions=["image", "shuffled"],
        by=["metadata.topic"],
        seed=3,
    )
    assert not rebuilt.seen
    assert rescore(ran).n == 85


def test_answers_of_a_task_that_the_manifest_lacks(ran):
    edit(ran, lambda records: records[0].update(task="stray"))
    with pytest.raises(StoreError, match=r"has answers of task 'stray', which run.json does not name\."):
        rescore(ran)


def test_a_scorer_given_from_python_is_not_replaced_by_another(tmp_path):
    class Own:
        signature = "own()"

        def __call__(self, sample, text):
            return Score("scored", 0.5, text)

    task = Task("mine", Card("mine"), task_from_samples(items(12)).load, {"choice": Own()}, METRICS)
    go(tmp_path, task, Asked())
    with pytest.raises(UsageError, match=r"^Task 'mine': its answers of kind 'choice' were read by 'own\(\)', a scorer given"):
        rescore(tmp_path)


def test_a_registered_task_is_read_by_its_own_scorer(tmp_path, monkeypatch):
    class Half(ChoiceScorer):
        def __call__(self, sample, text):
            return Score("scored", 0.5, text)

    task = Task("halves", Card("halves"), task_from_samples(items(12)).load, {"choice": Half()}, METRICS)
    names, load = registry.names, registry.load
    monkeypatch.setattr(registry, "names", lambda group: {**names(group), "halves": "x:y"} if group == "tasks" else names(group))
    monkeypatch.setattr(registry, "load", lambda group, name, where="": task if name == "halves" else load(group, name, where))
    go(tmp_path, task, Asked())
    made = rescore(tmp_path)
    assert made.changed == 0
    assert made.results.rows[0].estimate.value == 0.5
    with pytest.raises(UsageError, match=r"^Task 'halves': --match is for data files; a registered task knows how"):
        rescore(tmp_path, match="contains")


def test_reading_into_a_new_folder_goes_on_after_it_was_stopped(ran, tmp_path):
    whole = (ran / "predictions.jsonl").read_bytes()
    (ran / "predictions.jsonl").write_bytes(whole + b"{torn")
    with pytest.raises(StoreError, match=r"predictions\.jsonl:86: not a prediction of eyetest"):
        rescore(ran, out=tmp_path / "again")
    (ran / "predictions.jsonl").write_bytes(whole)
    assert rescore(ran, out=tmp_path / "again").n == 85
    assert not (tmp_path / "again" / "journal.txt").exists()


def test_somebody_elses_folder_is_no_place_for_what_is_read_again(ran, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "predictions.jsonl").write_text("mine")
    with pytest.raises(StoreError, match=r"mine: holds files \(predictions\.jsonl\) but no run\.json"):
        rescore(ran, out=tmp_path / "mine")
    assert (tmp_path / "mine" / "predictions.jsonl").read_text() == "mine"
