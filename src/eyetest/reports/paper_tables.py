"""Tables 1 and 2 and the numbers of Figures 2 and 3 of arXiv 2410.12329, across the models and datasets of one run.

A table whose conditions were not asked has no row, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eyetest.evaluation.groups import WITHOUT_PICTURE, blind_of
from eyetest.evaluation.table import Cell
from eyetest.metrics import Accuracy, AnswerInOutput, Columns, estimate, gap_rate
from eyetest.reports.facts import Facts
from eyetest.reports.sheet import Sheet, Span, Value
from eyetest.types import Estimate, Kind

OPTIONS = ("original", "shuffled", "open-ended")
"""How Table 1 asks: options as they are, in another order, none."""

_STEP = {"shuffled": "shuffled", "open_ended": "open-ended"}


class _Question(NamedTuple):
    """What the rows of Table 1 have in common."""

    task: str
    prompt: str
    model: str
    options: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One row of Table 1: a way of asking, with and without the picture; absent is what was not asked."""

    task: str
    prompt: str
    model: str
    options: str
    kind: Kind
    with_picture: Estimate | None
    without_picture: Estimate | None
    gap: Estimate | None
    """Gap rate of this way of asking."""
    with_in_output: Estimate | None
    """Answers in the output, the paper's rule, with the picture; of short answers only."""
    without_in_output: Estimate | None


@dataclass(frozen=True, slots=True)
class Known:
    """One row of Table 2: the questions that were also asked as pure knowledge."""

    task: str
    kind: Kind
    prompt: str
    model: str
    with_picture: Estimate | None
    without_picture: Estimate | None
    knowledge: Estimate


def asked_rows(columns: Mapping[Cell, Columns], *, seed: int) -> tuple[Asked, ...]:
    """Figure 2 and Table 1: every way of asking of every model, in the order of the grid.

    "Without" is the first of no_image, told_blind, blank that was asked; a kind of answer is a row of its own.
    """
    found: dict[tuple[_Question, Kind], dict[str, Columns]] = {}
    for cell, column in columns.items():
        options, shown = _way(cell.condition)
        if options:
            question = _Question(cell.task, cell.prompt, cell.model, options)
            found.setdefault((question, cell.kind), {})[shown] = column
    made = (_asked(question, kind, ways, seed) for (question, kind), ways in found.items())
    order = {name: place for place, name in enumerate(OPTIONS)}
    groups = {name: place for place, name in enumerate(dict.fromkeys(key[0][:3] for key in found))}
    return tuple(sorted(made, key=lambda one: (groups[one.task, one.prompt, one.model], order[one.options])))


def _way(condition: str) -> tuple[str, str]:
    """(options, picture condition) of a condition that Table 1 asks, whichever way round it was composed; else empty."""
    steps = condition.split("+")
    options = [_STEP[step] for step in steps if step in _STEP]
    pictures = [step for step in steps if step == "image" or step in WITHOUT_PICTURE]
    if len(options) + len(pictures) != len(steps) or len(options) > 1 or len(pictures) > 1:
        return "", ""
    return (options or ["original"])[0], (pictures or ["image"])[0]


def _asked(question: _Question, kind: Kind, ways: Mapping[str, Columns], seed: int) -> Asked:
    with_, without = ways.get("image"), ways.get(blind_of(ways))
    return Asked(
        *question,
        kind,
        with_picture=_score(with_, seed),
        without_picture=_score(without, seed),
        gap=None if with_ is None or without is None else gap_rate(with_, without, seed=seed),
        with_in_output=_in_output(with_, kind, seed),
        without_in_output=_in_output(without, kind, seed),
    )


def _score(columns: Columns | None, seed: int) -> Estimate | None:
    return None if columns is None else estimate(Accuracy(), columns, seed=seed)


def _in_output(columns: Columns | None, kind: Kind, seed: int) -> Estimate | None:
    return None if columns is None or kind != "text" else estimate(AnswerInOutput(), columns, seed=seed)


def known_rows(columns: Mapping[Cell, Columns], *, seed: int) -> tuple[Known, ...]:
    """Table 2. Scores with and without the picture are of the questions that have a knowledge question, and no others."""
    ways: dict[Cell, dict[str, Columns]] = {}
    for cell, column in columns.items():
        ways.setdefault(cell._replace(condition=""), {})[cell.condition] = column
    made = []
    for cell, of_cell in ways.items():
        known = of_cell.get("knowledge")
        if known is None:
            continue
        sides = [
            None if side is None else side.take(np.isin(side.sample, known.sample))
            for side in (of_cell.get("image"), of_cell.get(blind_of(of_cell)))
        ]
        with_, without = (_score(side, seed) for side in sides)
        made.append(Known(cell.task, cell.kind, cell.prompt, cell.model, with_, without, estimate(Accuracy(), known, seed=seed)))
    return tuple(made)


def of(made: Estimate | None) -> Span:
    """An estimate in a table; nothing where it was not asked."""
    return Span(math.nan) if made is None else Span(made.value, made.low, made.high)


def _n(made: Estimate | None) -> int:
    return 0 if made is None else made.n


def _sides(one: Asked | Known) -> tuple[Value, ...]:
    first, second = one.with_picture, one.without_picture
    return of(first), _n(first), of(second), _n(second)


_SIDES = ("with picture %", "n with", "without picture %", "n without")
_IN_OUTPUT = ("answer in output with picture %", "answer in output without picture %")


def score_sheet(asked: Sequence[Asked], facts: Sequence[Facts]) -> Sheet:
    """Figure 2: score rate with and without the picture."""
    chance = {(one.task, one.kind, one.prompt, one.model): one.chance for one in facts}
    rows = tuple(
        (
            *(one.task, one.kind, one.prompt, one.model, *_sides(one), of(one.gap)),
            Span(chance.get((one.task, one.kind, one.prompt, one.model), math.nan), alone=True),
            *(of(one.with_in_output), of(one.without_in_output)),
        )
        for one in asked
        if one.options == "original" and one.gap is not None
    )
    columns = ("task", "kind", "prompt", "model", *_SIDES, "gap rate %", "guessing %", *_IN_OUTPUT)
    return Sheet("score_with_and_without", "Score rate with and without the picture", columns, _together(rows, 2))


def options_sheet(asked: Sequence[Asked]) -> Sheet:
    """Table 1: options as they are, shuffled, taken away, each with and without the picture."""
    changed = {(one.task, one.prompt, one.model) for one in asked if one.options != "original"}
    rows = tuple(
        (
            one.task,
            one.prompt,
            one.model,
            one.options,
            *_sides(one),
            of(one.gap),
            of(one.with_in_output),
            of(one.without_in_output),
        )
        for one in asked
        if (one.task, one.prompt, one.model) in changed and (one.options != "original" or one.kind == "choice")
    )
    columns = ("task", "prompt", "model", "options", *_SIDES, "gap rate %", *_IN_OUTPUT)
    return Sheet("options", "Score rate with the options as they are, shuffled, and taken away", columns, _together(rows, 1))


def known_sheet(known: Sequence[Known]) -> Sheet:
    """Table 2: with the picture, without it, and as pure knowledge, of the same questions."""
    rows = tuple((one.task, one.kind, one.prompt, one.model, *_sides(one), of(one.knowledge), one.knowledge.n) for one in known)
    columns = ("task", "kind", "prompt", "model", *_SIDES, "as knowledge %", "n as knowledge")
    title = "Score rate of the questions that were also asked as pure knowledge"
    return Sheet("score_and_knowledge", title, columns, _together(rows, 2))


def ratio_sheet(facts: Sequence[Facts]) -> Sheet:
    """Figure 3: SuR and NeR as printed (eqs. 4 and 5), and P(VQ wrong | K wrong), by which the paper's text reads NeR."""
    rows = []
    for one in facts:
        if one.knowledge is not None:
            ratios = one.knowledge.sur, one.knowledge.ner, one.knowledge.p_not_vq_given_not_k
            spans = [value for ratio in ratios for value in (of(ratio), ratio.n)]
            rows.append((one.task, one.kind, one.prompt, one.model, *spans))
    named = (
        "SuR %",
        "SuR of",
        "NeR %",
        "NeR of",
        "wrong with the picture if not known %",
        "wrong with the picture if not known of",
    )
    columns = ("task", "kind", "prompt", "model", *named)
    return Sheet("sufficiency_necessity", "Sufficiency and necessity of knowledge", columns, tuple(rows))


def _together(rows: Sequence[tuple[Value, ...]], columns: int) -> tuple[tuple[Value, ...], ...]:
    """Rows that agree in their first columns next to each other, otherwise in their order."""
    places = {key: place for place, key in enumerate(dict.fromkeys(row[:columns] for row in rows))}
    return tuple(sorted(rows, key=lambda row: places[row[:columns]]))
