"""How much a score moves when nothing but the sampling, or nothing but the wording, changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from eyetest.evaluation.results import Finding, Row, first_rows
from eyetest.evaluation.standings import headline
from eyetest.evaluation.table import Cell
from eyetest.metrics import Columns
from eyetest.metrics.repeats import between_repeats, noise_floor, prompt_spread
from eyetest.tasks import Task
from eyetest.types import Estimate
from eyetest.version import __version__


def repeats(columns: Mapping[Cell, Columns], tasks: Mapping[str, Task]) -> Iterator[Finding]:
    """For every cell with several repeats: the spread between them and the noise floor."""
    for cell, column in columns.items():
        if column.repeat.max(initial=0) == 0:
            continue
        spread, floor = between_repeats(headline(tasks[cell.task], cell.kind, column), column), noise_floor(column)
        for made in (
            _plain(f"{spread.metric}_sd_between_repeats", spread.sd, spread.n_repeats, spread.low, spread.high, "chi_square95"),
            _plain("score_noise_floor", floor.score_difference, floor.n_repeats),
            _plain("answers_that_differ_between_repeats", floor.answers_differ, floor.n_pairs),
            _plain("credit_that_differs_between_repeats", floor.credit_differs, floor.n_pairs),
        ):
            if not math.isnan(made.value):
                yield Finding("repeats", *cell, estimate=made)


def wordings(rows: Sequence[Row]) -> Iterator[Finding]:
    """For every cell that was asked under several prompts: the median headline, the lowest, the highest, and whose they are."""
    cells: dict[tuple[str, str, str, str], dict[str, Row]] = {}
    for row in first_rows(rows):
        cells.setdefault((row.task, row.model, row.condition, row.kind), {})[row.prompt] = row
    for (task, model, condition, kind), by_prompt in cells.items():
        if len(by_prompt) < 2:
            continue
        spread = prompt_spread({prompt: row.estimate.value for prompt, row in by_prompt.items()})
        some = next(iter(by_prompt.values())).estimate
        made = _plain(f"median_{some.metric}_over_prompts", spread.median, spread.n_prompts)
        detail = f"lowest: {spread.lowest_prompt}; highest: {spread.highest_prompt}"
        yield Finding(
            *("prompts", task, model, "all", condition, kind),
            estimate=made,
            lowest=spread.lowest,
            highest=spread.highest,
            detail=detail,
        )


def _plain(metric: str, value: float, n: int, low: float = math.nan, high: float = math.nan, interval: str = "none") -> Estimate:
    """A description of what was seen: n is what was compared (repeats, pairs of answers, prompts)."""
    return Estimate(metric, value, low, high, n=n, n_distinct=n, signature=f"{metric}|interval={interval}|v{__version__}")
