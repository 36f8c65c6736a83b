"""Human labels beside a judge's verdicts: how far it can be believed, and what its rate would be had people graded."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from eyetest.errors import DataError, UsageError
from eyetest.evaluation.judged import cell_of
from eyetest.evaluation.rundir import LABELS, finished
from eyetest.evaluation.table import Cell
from eyetest.metrics.estimate import MINIMUM
from eyetest.readers import LoadReport, Row, columns, read_rows
from eyetest.scorers.judge import is_judged
from eyetest.stats import Interval, wilson
from eyetest.stats.agreement import Graded, cannot_correct, cohen_kappa, corrected_rate
from eyetest.store import full, read_predictions
from eyetest.types import Estimate, Prediction
from eyetest.version import __version__

NAMING = ("task", "condition", "model", "prompt", "variant", "repeat", "round")
"""Columns that may say which answer to a sample is labelled, beside `sample` itself."""

YES = frozenset(("1", "true", "yes", "y", "right", "correct"))
NO = frozenset(("0", "false", "no", "n", "wrong", "incorrect"))


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored answer, as far as labels are concerned."""

    cell: Cell
    names: Mapping[str, str]
    """Column of NAMING -> value."""
    sample: str
    request: str
    judged: bool
    right: bool | None
    """What the judge says; None where it gave no verdict, and for answers that it did not judge."""

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from every other answer of the run."""
        return (self.sample, *(self.names[name] for name in NAMING))


def _answer(prediction: Prediction) -> Answer:
    score = prediction.score
    judged = is_judged(score)
    right = None if not judged or score.status == "unscored" else score.value == 1 and score.status == "scored"
    names = {name: str(getattr(prediction, name)) for name in NAMING}
    return Answer(cell_of(prediction), names, prediction.sample.id, prediction.request_key, judged, right)


@dataclass(frozen=True, slots=True)
class Corrected:
    """The rate of right answers among those that the judge graded in one cell."""

    cell: Cell
    judged: Estimate
    """As the judge has it."""
    corrected: Estimate
    """As people would have it; the note says why where it is refused."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge beside people."""

    graded: Graded
    agreement: Estimate
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    cells: tuple[Corrected, ...]
    n_without_verdict: int
    """Labelled answers that the judge left unscored: outside every number here."""
    n_not_judged: int
    """Labelled answers that never went to the judge: rules read them, or the call failed."""


def calibrate(directory: Path, labels: Path) -> Calibration:
    """Compare the labels of a CSV (or any data file) with the verdicts of a judged run.

    Columns: `sample` and `correct` (yes / no, 1 / 0, true / false, right / wrong; empty is no label), and of task, condition,
    model, prompt, variant, repeat, round as many as tell one answer from the others. Raises DataError that names file and
    line for a label that fits no answer or several, or contradicts another; UsageError where the run was not judged.
    """
    answers = _judged(directory)
    labelled = _labelled(answers, labels)
    both = [(answer, right) for answer, right in labelled if answer.right is not None]
    if not both:
        raise DataError(
            f"{labels}: no label is of an answer with a verdict of the judge. Label some: eyetest calibrate --ask 50."
        )
    pairs = Counter((right, bool(answer.right)) for answer, right in both)
    graded = Graded(
        right=pairs[True, True] + pairs[True, False],
        right_called_right=pairs[True, True],
        wrong=pairs[False, True] + pairs[False, False],
        wrong_called_wrong=pairs[False, False],
    )
    distinct = {right: len({answer.request for answer, label in both if label is right}) for right in (True, False)}
    n_distinct = len({answer.request for answer, _ in both})
    kappa, ends = cohen_kappa([[pairs[first, second] for second in (True, False)] for first in (True, False)])
    n_agreed = graded.right_called_right + graded.wrong_called_wrong
    return Calibration(
        graded=graded,
        agreement=_proportion("agreement", n_agreed, len(both), n_distinct),
        kappa=_made("cohen_kappa", kappa, ends, len(both), n_distinct, "fleiss"),
        sensitivity=_proportion("sensitivity", graded.right_called_right, graded.right, distinct[True]),
        specificity=_proportion("specificity", graded.wrong_called_wrong, graded.wrong, distinct[False]),
        cells=tuple(_corrected(answers, graded, distinct)),
        n_without_verdict=sum(answer.judged and answer.right is None for answer, _ in labelled),
        n_not_judged=sum(not answer.judged for answer, _ in labelled),
    )


def _judged(directory: Path) -> list[Answer]:
    """The answers of a run that was judged."""
    answers = [_answer(prediction) for prediction in read_predictions(finished(directory))]
    if not any(answer.judged for answer in answers):
        raise UsageError(
            f"{directory}: no answer of this run was judged. Judge it first: eyetest judge {directory} --model NAME."
        )
    return answers


def _made(metric: str, value: float, ends: Interval, n: int, distinct: int, method: str, note: str = "") -> Estimate:
    """An estimate whose interval is withheld where there is too little behind it."""
    if math.isnan(value):
        note = note or "undefined: nothing to divide by"
    elif distinct < MINIMUM:
        ends, note = (math.nan, math.nan), note or f"interval withheld: only {distinct} distinct requests"
    elif math.isnan(ends[0]):
        note = note or "interval withheld: nothing varies"
    method = "none" if math.isnan(ends[0]) else f"{method}95"
    return Estimate(
        metric, value, *ends, n=n, n_distinct=distinct, note=note, signature=f"{metric}|interval={method}|v{__version__}"
    )


def _proportion(metric: str, k: int, n: int, distinct: int) -> Estimate:
    return _made(metric, k / n if n else math.nan, wilson(k, n), n, distinct, "wilson")


def _corrected(answers: Sequence[Answer], graded: Graded, distinct: Mapping[bool, int]) -> Iterator[Corrected]:
    """What the judge says of each cell, and what people would."""
    refusal = cannot_correct(graded)
    for right, kind in ((True, "right"), (False, "wrong")):
        if distinct[right] < MINIMUM:
            refusal = refusal or f"only {distinct[right]} distinct requests labelled {kind}; {MINIMUM} of each kind are needed"
    for cell in dict.fromkeys(answer.cell for answer in answers if answer.right is not None):
        there = [answer for answer in answers if answer.cell == cell and answer.right is not None]
        k, n, requests = sum(bool(answer.right) for answer in there), len(there), len({answer.request for answer in there})
        value, ends = (math.nan, (math.nan, math.nan)) if refusal else corrected_rate(k, n, graded)
        note = f"refused: {refusal}" if refusal else ""
        corrected = _made("corrected_rate", value, ends, n, requests, "lang_reiczigel", note)
        yield Corrected(cell, _proportion("judged_rate", k, n, requests), corrected)


def _labelled(answers: Sequence[Answer], path: Path) -> list[tuple[Answer, bool]]:
    """(answer, whether a person calls it right), each answer once."""
    by_sample: dict[str, list[Answer]] = {}
    for answer in answers:
        by_sample.setdefault(answer.sample.strip(), []).append(answer)
    there = columns(path)
    for name in ("sample", "correct"):
        if name not in there:
            raise DataError(f"{path}: has no column {name!r}; there are {', '.join(there)}. Give sample and correct.")
    found: dict[tuple[str, ...], tuple[Answer, bool, str]] = {}
    for row in read_rows(path, LoadReport(strict=True)):
        right = _right(row)
        if right is None:
            continue
        answer = _meant(row, by_sample)
        before = found.get(answer.key)
        if before is not None and before[1] != right:
            raise DataError(f"{row.place}: contradicts the label of the same answer at {before[2]}. Keep one of them.")
        found.setdefault(answer.key, (answer, right, row.place))
    return [(answer, right) for answer, right, _ in found.values()]


def _right(row: Row) -> bool | None:
    """The label of a row; None where it is left empty."""
    given = _cell_text(row.values.get("correct"))
    if given.lower() in YES or given.lower() in NO:
        return given.lower() in YES
    if given:
        raise DataError(f"{row.place}: correct is {given[:40]!r}. Write yes or no (or 1 / 0), or leave it empty.")
    return None


def _cell_text(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()  # a spreadsheet's 1
    return "" if value is None else str(int(value) if whole else value).strip()


def _meant(row: Row, by_sample: Mapping[str, Sequence[Answer]]) -> Answer:
    """The one answer that a row names. Raises DataError where it is none or several."""
    sample = _cell_text(row.values.get("sample"))
    given = {name: text for name in NAMING if (text := _cell_text(row.values.get(name)))}
    there = by_sample.get(sample, ())
    fitting = [answer for answer in there if all(answer.names[name] == text for name, text in given.items())]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        what = f"sample {sample!r}" + "".join(f", {name} {text!r}" for name, text in given.items() if there)
        raise DataError(f"{row.place}: the run has no answer of {what}. Mend the row, or leave it out.")
    differing = [name for name in NAMING if len({answer.names[name] for answer in fitting}) > 1]
    raise DataError(
        f"{row.place}: {len(fitting)} answers of sample {sample!r} fit. Add the column {differing[0]!r} to say which is meant, "
        f"e.g. {fitting[0].names[differing[0]]!r}."
    )


Ask = Callable[[Prediction], bool | None]
"""Shows an answer, without the verdict, and returns whether it is right; None to skip it."""


class Enough(Exception):
    """Raised by an Ask when the person has had enough: what was labelled is kept."""


def ask_labels(directory: Path, n: int, ask: Ask, *, seed: int = 0) -> Path:
    """Let a person label up to `n` answers that the judge graded, at random, those labelled already left out.

    Drawn without regard to the verdict: a sample of, say, as many of each would give the wrong sensitivity and specificity.
    Each label is appended to `labels.csv` in the run directory at once. Returns that file. Raises UsageError, StoreError.
    """
    if n < 1:
        raise UsageError(f"--ask {n}: give the number of answers to label, 1 or more.")
    predictions, path = finished(directory), directory / LABELS
    answers = _judged(directory)
    known = {answer.key for answer, _ in _labelled(answers, path)} if path.exists() else set()
    left = sorted(answer.key for answer in answers if answer.right is not None and answer.key not in known)
    Random(f"{seed}:calibrate").shuffle(left)
    wanted = set(left[:n])
    chosen = {key: one for one in read_predictions(predictions) if (key := _answer(one).key) in wanted}
    try:
        for key in left[:n]:
            right = ask(chosen[key])
            if right is not None:
                _append(path, key, right)
    except Enough:
        pass
    return path


def _append(path: Path, key: Iterable[str], right: bool) -> None:
    """Add one label to the file, its header first where it is new."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            if not file.tell():
                writer.writerow(("sample", *NAMING, "correct"))
            writer.writerow((*key, "yes" if right else "no"))
            file.write(text.getvalue())
    except OSError as error:
        raise full(error, path, "writing a label") from error
