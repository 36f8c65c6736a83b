from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from eyetest.cli import main
from eyetest.stats.plausible import lowest_macro_f1, plausible

HARD = [(".771", ".246"), (".226", ".282"), (".767", ".200"), (".560", ".274"), (".393", ".464"), (".775", ".373")]
"""Cells of MM-Soc (arXiv 2402.14154, Tables 1 and 14) that cannot belong together even as means over seeds."""

SOFT = [(".776", ".435", 2), (".762", ".406", 2), (".543", ".309", 2), (".387", ".185", 3)]
"""Cells that cannot be one run, but could be means."""


@pytest.mark.parametrize(("accuracy", "macro_f1"), HARD)
def test_pairs_of_the_paper_that_are_impossible(accuracy: str, macro_f1: str) -> None:
    assert plausible(accuracy, macro_f1).verdict == "impossible"


@pytest.mark.parametrize(("accuracy", "macro_f1", "classes"), SOFT)
def test_pairs_of_the_paper_that_are_impossible_for_one_run(accuracy: str, macro_f1: str, classes: int) -> None:
    assert plausible(accuracy, macro_f1, classes).verdict == "impossible for one run"


@pytest.mark.parametrize(
    ("accuracy", "macro_f1"), [(".740", ".488"), (".721", ".419"), (".500", ".471"), ("1", "1"), ("0", "0"), (".776", ".437")]
)
def test_pairs_that_one_confusion_matrix_reproduces(accuracy: str, macro_f1: str) -> None:
    assert plausible(accuracy, macro_f1).verdict == "possible"


def matrices(classes: int, most: int) -> list[np.ndarray]:
    """Every confusion matrix of up to `most` answers in each cell but the empty one."""
    cells = product(range(most + 1), repeat=classes * classes)
    return [np.array(cell).reshape(classes, classes) for cell in cells if any(cell)]


@pytest.mark.parametrize(("classes", "most"), [(2, 5), (3, 2)])
def test_no_confusion_matrix_lies_outside_the_bounds(classes: int, most: int) -> None:
    for matrix in matrices(classes, most):
        right, both = np.diag(matrix), matrix.sum(axis=0) + matrix.sum(axis=1)
        macro_f1 = np.divide(2 * right, both, out=np.zeros(classes), where=both > 0).mean()
        accuracy = right.sum() / matrix.sum()
        assert macro_f1 >= lowest_macro_f1(accuracy, classes) - 1e-12
        assert macro_f1 >= accuracy / classes - 1e-12
        if classes == 2:
            assert macro_f1 <= accuracy + 1e-12


def test_a_table_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text("name,accuracy,macro_f1,classes\nfits,.740,.488,\nhumor,.771,.246,2\nsentiment,.387,.185,3\n")
    with pytest.raises(SystemExit) as ended:
        main(["plausible", str(table)])
    assert ended.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        "fits: accuracy .740, macro-F1 .488: possible (one run: at least 0.4251; mean of runs: at least 0.3698)",
        "humor: accuracy .771, macro-F1 .246: impossible (one run: at least 0.4352; mean of runs: at least 0.3852)",
        "sentiment: accuracy .387, macro-F1 .185: impossible for one run "
        "(one run: at least 0.1858; mean of runs: at least 0.1288)",
        "3 pairs, 2 impossible",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "plausible: give a table, or both --accuracy and --macro-f1."),
        (
            ("--accuracy", "77.1", "--macro-f1", ".2"),
            "--accuracy and --macro-f1: '77.1' is not between 0 and 1. Expected figures",
        ),
        (("--accuracy", "x", "--macro-f1", ".2"), "--accuracy and --macro-f1: 'x' is not a number."),
        (("--accuracy", ".7", "--macro-f1", ".2", "--classes", "1"), "classes must be at least 2, not 1"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plausible", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
