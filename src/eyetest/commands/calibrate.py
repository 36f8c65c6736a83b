"""`eyetest calibrate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from eyetest.commands.all_rules import print_table
from eyetest.commands.grid import flag, whole
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.evaluation import calibrate as calibrating
from eyetest.evaluation.calibrate import Calibration, Enough
from eyetest.reports.text import interval, terminal
from eyetest.reports.untrusted import clean
from eyetest.types import Estimate, Prediction

SHOWN = 4_000
"""Characters of a completion that a person is shown."""


def calibrate(
    run_directory: Annotated[Path, Parameter(help="Directory of a run that `eyetest judge` graded.")],
    /,
    *,
    labels: Annotated[Path | None, flag("Data file with the columns sample and correct (yes / no), one label a row.")] = None,
    ask: Annotated[
        int | None, whole("Label so many answers now, at this terminal; kept as labels.csv in the run directory.")
    ] = None,
    seed: Annotated[int, whole("Of which answers are asked about.")] = 0,
) -> int:
    """Compare a judge with people: agreement, Cohen's kappa, sensitivity, specificity, and its rates corrected by them.

    Answers to be labelled are drawn at random, without regard to what the judge said, and shown without it.
    """
    if (labels is None) == (ask is None):
        raise UsageError("Give the labels with --labels FILE.csv, or give some now with --ask N: one of the two.")
    out = terminal()
    if ask is not None:
        labels = calibrating.ask_labels(run_directory, ask, _asking(terminal(stderr=True)), seed=seed)
        say(terminal(stderr=True), f"Labels: {labels}")
    assert labels is not None
    print_calibration(out, calibrating.calibrate(run_directory, labels))
    return 0


def _asking(console: Console) -> calibrating.Ask:
    """Shows one answer after the other and takes y, n, s (skip) or q (enough)."""

    def ask(prediction: Prediction) -> bool | None:
        for line in _shown(prediction):
            say(console, line)
        while True:
            try:
                said = console.input("Is the answer right? [y]es, [n]o, [s]kip, [q]uit: ", markup=False).strip().lower()
            except EOFError:
                raise Enough from None
            if said in ("y", "yes", "n", "no"):
                return said.startswith("y")
            if said in ("s", "skip"):
                return None
            if said in ("q", "quit"):
                raise Enough

    return ask


def _shown(prediction: Prediction) -> Iterator[str]:
    """What a person is to see: neither the verdict nor the rule's reading, model or condition."""
    sample = prediction.sample
    yield ""
    yield f"Question: {sample.question}"
    for choice in sample.choices:
        yield f"  {'*' if choice in sample.target else '-'} {choice}"
    if not sample.choices:
        yield f"Right: {' | '.join(sample.target)}"
    yield "Answer:"
    yield from (f"  | {line}" for line in clean(prediction.response.text, SHOWN).split("\n"))


def print_calibration(console: Console, made: Calibration) -> None:
    """The judge beside people, then its rates."""
    graded = made.graded
    rows = [
        ("agreement", made.agreement, "same verdict as people"),
        ("Cohen's kappa", made.kappa, "agreement beyond chance"),
        ("sensitivity q1", made.sensitivity, f"{graded.right_called_right} of {graded.right} right answers called right"),
        ("specificity q0", made.specificity, f"{graded.wrong_called_wrong} of {graded.wrong} wrong answers called wrong"),
    ]
    lines = [[name, interval(one), str(one.n), _note(one, what)] for name, one, what in rows]
    print_table(console, "the judge beside people, 95 % intervals", ["measure", "value", "n", ""], lines)
    header = ["task", "model", "prompt", "condition", "kind", "as judged", "corrected", "n", ""]
    lines = [
        [*one.cell, interval(one.judged), interval(one.corrected), str(one.judged.n), one.corrected.note] for one in made.cells
    ]
    print_table(console, "share right among the answers judged", header, lines)
    for n, what in ((made.n_without_verdict, "without a verdict of the judge"), (made.n_not_judged, "never given to the judge")):
        if n:
            say(console, f"  Labels of answers {what}, left out: {n}")


def _note(one: Estimate, what: str) -> str:
    return f"{what}; {one.note}" if one.note else what
