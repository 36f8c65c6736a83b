"""Figures that arXiv 2410.12329 prints in its text, beside those of a run on the same datasets."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from eyetest.evaluation.table import Cell
from eyetest.metrics import Columns, pair
from eyetest.metrics.columns import Pairs, code
from eyetest.metrics.estimate import withheld
from eyetest.reports.facts import Facts
from eyetest.reports.paper_tables import Asked, asked_rows, known_rows, known_sheet, of, options_sheet, ratio_sheet, score_sheet
from eyetest.reports.sheet import Sheet, Span
from eyetest.stats import factor_interval

WORDS: Mapping[str, str] = {
    "score_without": "score rate without the picture, mean of models",
    "gap_rate": "gap rate, mean of the models' own",
    "largest_gap_rate": "gap rate, largest of a model",
    "sur": "SuR",
    "wrong_if_not_known": "wrong with the picture if not known",
}
"""What is printed -> words."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One figure of the paper, a share."""

    task: str
    what: str
    value: float
    options: str = "original"
    model: str = ""
    """Part of the name of the model that it is about; empty where none is named."""
    more_than: bool = False
    """The paper gives a lower bound."""

    @property
    def words(self) -> str:
        """What it is, for a reader."""
        parts = [WORDS[self.what]] + [f"options {self.options}"] * (self.options != "original")
        parts += [f"of {self.model}"] * bool(self.model) + ["more than"] * self.more_than
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Beside:
    """A printed figure and ours."""

    printed: Printed
    model: str
    """Our model, or how many models the mean is of."""
    ours: Span
    n: int
    """Questions behind ours."""
    in_output: Span
    """Ours by the paper's rule for short answers; nan elsewhere."""


@cache
def printed() -> tuple[Printed, ...]:
    """Every figure that the paper prints and a run can have."""
    text = files("eyetest.reports").joinpath("printed_role_of_llms.toml").read_text(encoding="utf-8")
    return tuple(Printed(**one) for one in tomllib.loads(text)["printed"])


def printed_rows(asked: Sequence[Asked], facts: Sequence[Facts], columns: Mapping[Cell, Columns]) -> tuple[Beside, ...]:
    """What the paper prints of this run's datasets, beside the run's own.

    Means are over all models of the run, each as it is asked under the first prompt. Their intervals treat models as given and
    questions as drawn; withheld where the models did not answer the same questions.
    """
    prompts = {cell.task: cell.prompt for cell in reversed(list(columns))}  # of several, the first
    found = []
    for one in printed():
        kind = "text" if one.options == "open-ended" else "choice"
        of_table_1 = [row for row in asked if (row.task, row.options, row.kind) == (one.task, one.options, kind)]
        if one.what == "score_without":
            found += list(_mean_score(one, columns, prompts.get(one.task, "")))
        elif one.what == "gap_rate":
            found += list(_mean_gap(one, columns, prompts.get(one.task, "")))
        elif one.what == "largest_gap_rate":
            found += list(_largest(one, [row for row in of_table_1 if row.prompt == prompts[one.task]]))
        else:
            found += list(_ratios(one, facts, prompts.get(one.task, "")))
    return tuple(found)


def _largest(one: Printed, asked: Sequence[Asked]) -> Iterator[Beside]:
    defined = [(row.gap.value, row) for row in asked if row.gap is not None and math.isfinite(row.gap.value)]
    if defined:
        _, row = max(defined, key=lambda pair: pair[0])
        yield Beside(one, row.model, of(row.gap), row.gap.n if row.gap else 0, Span(math.nan))


def _ratios(one: Printed, facts: Sequence[Facts], prompt: str) -> Iterator[Beside]:
    for fact in facts:
        if (fact.task, fact.prompt) == (one.task, prompt) and fact.knowledge and one.model.lower() in fact.model.lower():
            made = fact.knowledge.sur if one.what == "sur" else fact.knowledge.p_not_vq_given_not_k
            yield Beside(one, fact.model, of(made), made.n, Span(math.nan))


def _answers(columns: Mapping[Cell, Columns], task: str, prompt: str, condition: str) -> dict[str, Columns]:
    """Model -> answers under one condition: multiple choice, where a task has short answers too."""
    found = {cell: column for cell, column in columns.items() if cell[:1] + cell[2:4] == (task, prompt, condition)}
    kind = "choice" if any(cell.kind == "choice" for cell in found) else "text"
    return {cell.model: column for cell, column in found.items() if cell.kind == kind}


def _mean_score(one: Printed, columns: Mapping[Cell, Columns], prompt: str) -> Iterator[Beside]:
    found = list(_answers(columns, one.task, prompt, "no_image").values())
    if not found:
        return
    pairs = [pair(column, column) for column in found]
    text = all(column.counts.shape[1] == 1 for column in found)
    there = [pair(column, column) for column in map(_in_output, found)] if text else []
    in_output = _mean([each.first for each in there], there) if there else Span(math.nan)
    yield Beside(one, _models(found), _mean([each.first for each in pairs], pairs), len(pairs[0]), in_output)


def _mean_gap(one: Printed, columns: Mapping[Cell, Columns], prompt: str) -> Iterator[Beside]:
    without = _answers(columns, one.task, prompt, "no_image")
    found = [pair(column, without[key]) for key, column in _answers(columns, one.task, prompt, "image").items() if key in without]
    if not found or not all(len(each) and each.first.any() for each in found):
        return  # an undefined gap rate has no place in a mean
    yield Beside(one, _models(found), _mean([_gap(each) for each in found], found), len(found[0]), Span(math.nan))


def _models(found: Sequence[object]) -> str:
    return f"mean of {len(found)} model{'s' * (len(found) != 1)}"


def _in_output(columns: Columns) -> Columns:
    """The same answers, right where an alias stands in the output."""
    status = np.where(columns.status < code("error"), code("scored"), columns.status).astype(np.uint8)
    return replace(columns, value=columns.counts[:, 0], status=status)


def _gap(pairs: Pairs) -> NDArray[np.float64]:
    """(n,) values whose mean is 1 - r, r = score without / score with, and whose standard error is its own (delta method)."""
    with_ = float(pairs.first.mean())
    ratio = float(pairs.second.mean()) / with_
    return np.asarray(1 - ratio - (pairs.second - ratio * pairs.first) / with_, np.float64)


def _mean(values: Sequence[NDArray[np.float64]], pairs: Sequence[Pairs]) -> Span:
    """Mean over models of each one's (n,) values."""
    value = float(np.mean([each.mean() for each in values])) if all(len(each) for each in values) else math.nan
    first = pairs[0]
    same = all(np.array_equal(each.sample, first.sample) and np.array_equal(each.repeat, first.repeat) for each in pairs)
    if math.isnan(value) or not same or any(withheld(each.n_distinct, each.factors.count) for each in pairs):
        return Span(value)
    low, high = factor_interval(np.mean(values, axis=0), first.factors)
    return Span(value, max(low, -1.0), min(high, 1.0))


def printed_sheet(rows: Sequence[Beside]) -> Sheet:
    """What the paper prints beside ours."""
    made = tuple(
        (
            *(one.printed.task, one.printed.words, Span(one.printed.value, alone=True)),
            *(one.model, one.ours, one.n, one.in_output),
        )
        for one in rows
    )
    columns = ("task", "quantity", "the paper %", "ours is", "ours %", "n", "ours by answer in output %")
    return Sheet("paper_printed", "What the paper prints, beside this run", columns, made)


def paper_sheets(columns: Mapping[Cell, Columns], facts: Sequence[Facts], *, seed: int) -> tuple[Sheet, ...]:
    """Every table of the paper that this run has a row for, and what the paper prints beside it."""
    asked = asked_rows(columns, seed=seed)
    made = (
        score_sheet(asked, facts),
        options_sheet(asked),
        known_sheet(known_rows(columns, seed=seed)),
        ratio_sheet(facts),
        printed_sheet(printed_rows(asked, facts, columns)),
    )
    return tuple(sheet for sheet in made if sheet.rows)
