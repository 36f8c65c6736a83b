from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evaluation.made import Asked, go, item, items, text_of
from eyetest.commands import all_rules as command
from eyetest.errors import StoreError
from eyetest.evaluation.all_rules import RULES, AllRules, all_rules
from eyetest.evaluation.judge import JudgeSettings, judge_run
from eyetest.types import Request, Response, Sample

STRICT, LENIENT, LAST, MATCH, CONTAINS = range(5)


def one(folder: Path, sample: Sample, completion: str | Response, **values: object) -> dict[str, tuple[str, float]]:
    """Rule -> (status, value) of one completion."""
    go(folder, [sample], Asked(lambda _: completion), conditions=["image"], **values)
    found = all_rules(folder)
    [cell] = found.cells
    if found.disputed:
        return {rule: (score.status, score.value) for rule, score in found.disputed[0].scores.items()}
    return {rule: ("", made.value) for rule, made in cell.estimates.items()}


CHOICE = item(0)  # cat; options cat, dog, bird
SHORT = item(0, kind="text", choices=(), target=("Paris",), question="Which town?")


@pytest.mark.parametrize(
    ("sample", "completion", "right"),
    [
        (CHOICE, "A", "strict lenient"),
        (CHOICE, "cat", "strict lenient text_match contains"),
        (CHOICE, "The answer is A.", "lenient last_declared"),
        (CHOICE, "The answer is cat.", "lenient last_declared text_match contains"),
        (CHOICE, "A cat is what I see.", "lenient text_match contains"),
        (CHOICE, "It is not a dog. The answer is cat.", "lenient last_declared contains"),
        (CHOICE, "It is not a cat but a dog.", "contains"),
        (CHOICE, "It is not a cat.", "text_match contains"),
        (CHOICE, "B", ""),
        (CHOICE, "Hard to say.", ""),
        (CHOICE, "A catalogue.", "contains"),
        (SHORT, "Paris", "strict lenient text_match contains"),
        (SHORT, "paris!", "strict lenient text_match contains"),
        (SHORT, "The answer is Paris.", "lenient last_declared text_match contains"),
        (SHORT, "Perhaps it is Paris or London.", "text_match contains"),
        (SHORT, "A parisienne", "contains"),
        (SHORT, "London", ""),
    ],
)
def test_what_each_rule_makes_of_a_completion(tmp_path: Path, sample: Sample, completion: str, right: str) -> None:
    found = one(tmp_path / "run", sample, completion)
    assert " ".join(rule for rule, (_, value) in found.items() if value == 1) == right


def test_a_letter_is_no_answer_where_none_was_shown(tmp_path: Path) -> None:
    template = "{{ question }}\n{% for option in options %}{{ option.text }}\n{% endfor %}"
    prompt = {"bare": {"templates": {"choice": template}, "lettered": False}}
    found = one(tmp_path / "a", CHOICE, "The answer is A.", prompt=prompt, prompts=["bare"])
    assert {value for _, value in found.values()} == {0}
    found = one(tmp_path / "b", CHOICE, "The answer is cat.", prompt=prompt, prompts=["bare"])
    assert found["last_declared"] == ("scored", 1.0)


@pytest.mark.parametrize("status", ["blocked", "refused", "error"])
def test_no_rule_reads_a_call_that_failed(tmp_path: Path, status: str) -> None:
    go(
        tmp_path / "run",
        items(2),
        Asked(lambda _: Response("cat", status=status, error="why")),  # type: ignore[arg-type]
        conditions=["image"],
    )
    found = all_rules(tmp_path / "run")
    assert found.disputed == ()
    [cell] = found.cells
    assert [made.n_refused + made.n_failed for made in cell.estimates.values()] == [2] * len(RULES)


def verbose(request: Request) -> str:
    found = re.search(r"picture (\d+)\?", text_of(request))
    assert found
    number = int(found[1])
    choice = ("cat", "dog", "bird")[number % 3]
    return (choice, f"The answer is {choice}.", f"A {choice} is not a fish, nor a dog.", "Ni idea.")[number % 4]


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    go(tmp_path / "run", items(40), Asked(verbose), conditions=["image", "no_image"], seed=3)
    return tmp_path / "run"


def files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def test_the_range_of_the_score_and_every_disputed_answer(ran: Path) -> None:
    before = files(ran)
    found = all_rules(ran)
    assert files(ran) == before
    assert found.rules == ("strict", "lenient", "last_declared", "text_match", "contains")
    assert [cell.cell.condition for cell in found.cells] == ["image", "no_image"]
    for cell in found.cells:
        made = {rule: estimate.value for rule, estimate in cell.estimates.items()}
        assert made["strict"] == 0.25
        assert made["last_declared"] == 0.25
        assert made["contains"] == 0.75
        assert 0.5 <= made["lenient"] <= 0.75
        assert (cell.lowest, cell.highest) == (0.25, 0.75)
        assert all(estimate.low < estimate.value < estimate.high for estimate in cell.estimates.values())
        assert cell.n_disputed == 30
    assert len(found.disputed) == 60
    assert [(one.cell.condition, one.sample) for one in found.disputed] == sorted(
        (one.cell.condition, one.sample) for one in found.disputed
    )
    assert {int(one.sample[1:]) % 4 for one in found.disputed} == {0, 1, 2}
    stored = json.loads((ran / "results.json").read_bytes())["estimates"][0]
    assert found.cells[0].estimates["lenient"].value == stored["value"]


def judged(run: Path, **settings: float) -> AllRules:
    def grade(request: Request) -> str | Response:
        text = text_of(request)
        if settings and "picture 3?" in text:
            return Response(status="error", error="down")
        right = text.split("BEGIN right answer")[1].split("\n")[1]
        return json.dumps({"choice": right, "correct": True})

    judge_run(run, Asked(grade, name="judge"), JudgeSettings(**settings), watch=lambda _: None)  # type: ignore[arg-type]
    return all_rules(run)


def test_a_judge_stands_beside_the_rules_where_it_ran(ran: Path) -> None:
    found = judged(ran)
    assert found.rules[-1] == "judge"
    for cell in found.cells:
        assert cell.estimates["judge"].value > cell.estimates["lenient"].value
    ids = {one.sample for one in found.disputed if one.scores["lenient"].status == "unparsed"}
    assert {name for name in ids if int(name[1:]) % 4 == 3} == {f"q{number:04d}" for number in range(3, 40, 4)}


@pytest.mark.parametrize(("allowed", "given"), [(0.0, False), (0.1, True)])
def test_a_judge_that_failed_too_often_gives_no_number_and_disputes_nothing(ran: Path, allowed: float, given: bool) -> None:
    found = judged(ran, max_failures=allowed)
    assert [("judge" in cell.estimates) for cell in found.cells] == [given, given]
    assert "q0003" not in {one.sample for one in found.disputed}


def test_other_kinds_are_left_out(tmp_path: Path) -> None:
    sample = item(0, kind="transcription", choices=(), target=("some words",))
    go(tmp_path / "run", [sample], Asked(lambda _: "some words"), conditions=["image"])
    found = all_rules(tmp_path / "run")
    assert (found.cells, found.disputed) == ((), ())


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run directory"):
        all_rules(tmp_path)


def test_the_command_prints_the_range_and_every_dispute(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.all_rules(ran) == 0
    shown = capsys.readouterr().out
    assert "the same answers under every rule" in shown
    assert "last_declared" in shown
    assert ".250 to .750" in shown
    assert "Disputed answers: 60" in shown
    assert shown.count("right is ") == 60
    assert "sample q0001: 'The answer is dog.', right is 'dog': strict unparsed (not_bare); lenient right;" in shown
