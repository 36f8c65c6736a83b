from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.made import Asked, go, items, predictions
from eyetest.commands import calibrate as command
from eyetest.errors import DataError, UsageError
from eyetest.evaluation.calibrate import Enough, ask_labels, calibrate
from eyetest.evaluation.judge import JudgeSettings, judge_run
from eyetest.evaluation.rundir import LABELS
from eyetest.stats import wilson
from eyetest.stats.agreement import Graded, corrected_rate
from eyetest.types import Prediction, Request, Response

N = 120


def verdict(request: Request, right: bool) -> str:
    [message] = request.messages
    gold = str(message.content[0]).split("BEGIN right answer")[1].split("\n")[1]
    letter = gold if right else next(one for one in "ABC" if one != gold)
    return json.dumps({"choice": letter, "correct": right})


def judged(folder: Path, *, conditions: tuple[str, ...] = ("image",), n: int = N, failing: int = 0) -> Path:
    """A run whose judge calls right what says `yes`, and does not answer what says `fail`."""

    def answer(request: Request) -> str:
        number = int(str(request.messages[0].content[-1]).split("picture ")[1].split("?")[0])
        return f"hm {number} " + ("fail" if number < failing else "yes" if number % 3 else "other")

    def grade(request: Request) -> str | Response:
        said = str(request.messages[0].content[0]).split("BEGIN candidate")[1]
        return Response(status="error", error="down") if "fail" in said else verdict(request, "yes" in said)

    go(folder, items(n), Asked(answer), conditions=conditions)
    judge_run(folder, Asked(grade, name="judge"), JudgeSettings(max_failures=0.5), watch=lambda _: None)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return judged(tmp_path / "run")


def write(path: Path, rows: list[tuple[object, ...]], header: tuple[str, ...] = ("sample", "correct")) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    return path


def human(number: int) -> bool:
    """People agree with the judge but for every tenth answer."""
    return (number % 3 != 0) != (number % 10 == 0)


def name(number: int) -> str:
    return f"q{number:04d}"


def test_a_judge_beside_people(run: Path, tmp_path: Path) -> None:
    labels = write(tmp_path / "l.csv", [(name(number), "yes" if human(number) else "no") for number in range(0, 90)])
    made = calibrate(run, labels)
    cells = {(human(number), number % 3 != 0) for number in range(90)}
    assert len(cells) == 4
    of = [(human(number), number % 3 != 0) for number in range(90)]
    right_right, wrong_wrong = of.count((True, True)), of.count((False, False))
    right, wrong = sum(person for person, _ in of), sum(not person for person, _ in of)
    assert made.graded == Graded(right, right_right, wrong, wrong_wrong)
    assert made.agreement.value == 81 / 90
    assert (made.agreement.low, made.agreement.high) == wilson(81, 90)
    assert made.sensitivity.value == right_right / right
    assert (made.specificity.low, made.specificity.high) == wilson(wrong_wrong, wrong)
    from sklearn.metrics import cohen_kappa_score

    assert made.kappa.value == pytest.approx(cohen_kappa_score([a for a, _ in of], [b for _, b in of]))
    assert made.kappa.low < made.kappa.value < made.kappa.high
    [cell] = made.cells
    assert (cell.judged.value, cell.judged.n) == (80 / 120, 120)
    value, ends = corrected_rate(80, 120, made.graded)
    assert (cell.corrected.value, (cell.corrected.low, cell.corrected.high)) == (value, ends)
    assert cell.corrected.signature.startswith("corrected_rate|interval=lang_reiczigel95|v")
    assert (made.n_without_verdict, made.n_not_judged) == (0, 0)


def test_a_lie_that_keeps_to_the_form_shows_here_and_corrects_nothing(run: Path, tmp_path: Path) -> None:
    made = calibrate(run, write(tmp_path / "l.csv", [(name(number), "yes" if number % 2 else "no") for number in range(90)]))
    [cell] = made.cells
    assert math.isnan(cell.corrected.value)
    assert math.isnan(cell.corrected.low)
    assert cell.corrected.note == "refused: q0 + q1 = 1.000 is near 1: its word says nothing about the answer"
    assert abs(made.kappa.value) < 0.05


def test_too_few_labels_give_no_interval_and_no_correction(run: Path, tmp_path: Path) -> None:
    rows = [(name(number), "yes" if number % 3 else "no") for number in range(9)]
    made = calibrate(run, write(tmp_path / "l.csv", rows))
    assert (made.agreement.value, made.agreement.n) == (1.0, 9)
    assert math.isnan(made.agreement.low)
    assert made.agreement.note == "interval withheld: only 9 distinct requests"
    assert made.cells[0].corrected.note == "refused: only 6 distinct requests labelled right; 10 of each kind are needed"


def test_labels_of_one_kind_leave_the_other_undefined(run: Path, tmp_path: Path) -> None:
    made = calibrate(run, write(tmp_path / "l.csv", [(name(number), 1) for number in range(30)]))
    assert math.isnan(made.specificity.value)
    assert made.specificity.note == "undefined: nothing to divide by"
    assert "no labels of both kinds" in made.cells[0].corrected.note


def test_answers_without_a_verdict_are_counted_apart(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", n=40, failing=5)
    made = calibrate(run, write(tmp_path / "l.csv", [(name(number), "no") for number in range(40)]))
    assert (made.n_without_verdict, made.agreement.n, made.cells[0].judged.n) == (5, 35, 35)


def test_labels_name_one_answer_of_several_conditions(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", conditions=("image", "no_image"), n=30)
    header = ("sample", "condition", "correct", "remark")
    rows = [(name(n), condition, "yes" if n % 3 else "no", "") for n in range(30) for condition in ("image", "no_image")]
    made = calibrate(run, write(tmp_path / "l.csv", rows, header))
    assert made.agreement.n == 60
    assert [cell.cell.condition for cell in made.cells] == ["image", "no_image"]
    ambiguous = write(tmp_path / "bad.csv", [(name(3), "yes")])
    with pytest.raises(
        DataError, match=r"^bad.csv:2: 2 answers of sample 'q0003' fit. Add the column 'condition' .* e.g. 'image'"
    ):
        calibrate(run, ambiguous)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("q0001", "maybe")], "l.csv:2: correct is 'maybe'. Write yes or no (or 1 / 0), or leave it empty."),
        ([("q0001", ""), ("q9999", "yes")], "l.csv:3: the run has no answer of sample 'q9999'. Mend the row, or leave it out."),
        ([("q0001", "yes"), ("q0001", "0")], "l.csv:3: contradicts the label of the same answer at l.csv:2."),
        ([("q0001", "")], "no label is of an answer with a verdict of the judge"),
    ],
)
def test_bad_labels_are_named(run: Path, tmp_path: Path, rows: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(DataError) as caught:
        calibrate(run, write(tmp_path / "l.csv", list(rows)))
    assert message in str(caught.value)


def test_a_missing_column_and_a_name_that_fits_nothing_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no column 'correct'; there are sample, human"):
        calibrate(run, write(tmp_path / "l.csv", [("q0001", "yes")], ("sample", "human")))
    with pytest.raises(DataError, match=r"l.csv:2: the run has no answer of sample 'q0001', condition 'blind'"):
        calibrate(run, write(tmp_path / "l.csv", [("q0001", "blind", "yes")], ("sample", "condition", "correct")))
    with pytest.raises(UsageError, match=r"nowhere\.csv does not exist"):
        calibrate(run, tmp_path / "nowhere.csv")


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("1", "0"), ("TRUE", "False"), ("right", "wrong"), ("y", "N")])
def test_spellings_of_a_label(run: Path, tmp_path: Path, yes: str, no: str) -> None:
    made = calibrate(run, write(tmp_path / "l.csv", [("q0001", yes), ("q0002", no), ("q0003", yes), ("q0003", yes)]))
    assert (made.graded.right, made.graded.wrong) == (2, 1)


def test_a_run_without_a_judge_is_refused(tmp_path: Path) -> None:
    go(tmp_path / "run", items(12), Asked(), conditions=["image"])
    labels = write(tmp_path / "l.csv", [("q0001", "yes")])
    with pytest.raises(UsageError, match=r"no answer of this run was judged. Judge it first: eyetest judge"):
        calibrate(tmp_path / "run", labels)
    with pytest.raises(UsageError, match="no answer of this run was judged"):
        ask_labels(tmp_path / "run", 5, lambda _: True)


def test_labels_of_answers_that_rules_read_are_counted_apart(tmp_path: Path) -> None:
    run = tmp_path / "run"
    go(run, items(20), Asked(lambda request: "A" if request.messages[0].content[-1].__str__().count("1") else "hm"))  # type: ignore[arg-type]
    judge_run(run, Asked(lambda request: verdict(request, True), name="judge"), JudgeSettings(), watch=lambda _: None)
    by_rules = [record["sample"] for record in predictions(run) if not record["score"]["rule"].startswith("judge(")]
    assert 0 < len(by_rules) < 20
    made = calibrate(run, write(tmp_path / "l.csv", [(name(number), "yes") for number in range(20)]))
    assert made.n_not_judged == len(by_rules)
    assert made.agreement.n == 20 - len(by_rules)


# --- labels given at the terminal -----------------------------------------------------------------------------------------


def asked(run: Path, n: int, **options: int) -> list[str]:
    seen: list[str] = []

    def ask(prediction: Prediction) -> bool:
        seen.append(prediction.sample.id)
        return "yes" in prediction.response.text

    assert ask_labels(run, n, ask, **options) == run / LABELS
    return seen


def test_answers_are_drawn_at_random_and_never_twice(run: Path) -> None:
    first = asked(run, 30)
    second = asked(run, 200)
    assert sorted(first + second) == [name(number) for number in range(N)]
    assert first != sorted(first)
    rows = list(csv.DictReader(io.StringIO((run / LABELS).read_text())))
    assert list(rows[0]) == ["sample", "task", "condition", "model", "prompt", "variant", "repeat", "round", "correct"]
    assert [row["sample"] for row in rows] == first + second
    assert calibrate(run, run / LABELS).agreement.value == 1.0
    assert asked(run, 5) == []


def test_the_draw_depends_on_the_seed_alone(tmp_path: Path) -> None:
    runs = [judged(tmp_path / name) for name in "abc"]
    assert asked(runs[0], 10) == asked(runs[1], 10) != asked(runs[2], 10, seed=1)


def test_skipped_answers_are_not_labelled_and_enough_keeps_what_was_said(run: Path) -> None:
    replies: Iterator[bool | None] = iter([True, None, False])

    def ask(_: Prediction) -> bool | None:
        try:
            return next(replies)
        except StopIteration:
            raise Enough from None

    ask_labels(run, 50, ask)
    assert [line.rsplit(",", 1)[1] for line in (run / LABELS).read_text().splitlines()] == ["correct", "yes", "no"]
    with pytest.raises(UsageError, match="--ask 0: give the number of answers to label"):
        ask_labels(run, 0, ask)


def test_the_command_asks_without_showing_the_verdict(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter(["x", "y", "S", "no", "q"])
    monkeypatch.setattr("builtins.input", lambda *_: next(replies))
    assert command.calibrate(run, ask=20) == 0
    shown = capsys.readouterr()
    assert len((run / LABELS).read_text().splitlines()) == 3
    assert shown.err.count("Question: What is in picture") == 4
    assert "judge" not in shown.err
    assert "scored" not in shown.err
    assert "Cohen's kappa" in shown.out
    assert "q0 + q1" in shown.out or "10 of each kind are needed" in shown.out or "both kinds" in shown.out


def test_the_command_takes_labels_from_a_file_or_a_person(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ({}, {"labels": tmp_path / "l.csv", "ask": 3}):
        with pytest.raises(UsageError, match="one of the two"):
            command.calibrate(run, **options)  # type: ignore[arg-type]
    labels = write(tmp_path / "l.csv", [(name(number), "yes" if human(number) else "no") for number in range(90)])
    assert command.calibrate(run, labels=labels) == 0
    shown = capsys.readouterr().out
    assert ".900 [" in shown
    assert "right answers called right" in shown
    assert "share right among the answers judged" in shown
