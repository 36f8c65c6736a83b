"""Figures 2 and 3 of arXiv 2410.12329 as charts, and its tables for the page: all models on all datasets of one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eyetest.metrics import KnowledgeTable
from eyetest.reports import charts
from eyetest.reports.charts import Mark
from eyetest.reports.facts import Facts, naming_of
from eyetest.reports.panels import MOST_GROUPS, WITHHELD, Chart, Line, LineGroup
from eyetest.reports.sheet import Sheet
from eyetest.reports.wording import hundredths, span
from eyetest.types import Estimate

SHEETS = ("options", "score_and_knowledge", "paper_printed", "score_with_and_without", "sufficiency_necessity")
"""Tables of the section; the last two hold the numbers of the charts."""

_FIGURE_3: tuple[tuple[str, str, Callable[[KnowledgeTable], Estimate]], ...] = (
    ("SuR", "of those right with the picture: known", lambda known: known.sur),
    ("NeR, as eq. 5", "of those wrong with the picture: not known", lambda known: known.ner),
    ("NeR, as the text reads it", "of those not known: wrong with the picture", lambda known: known.p_not_vq_given_not_k),
)


@dataclass(frozen=True, slots=True)
class PaperView:
    """The section of the page."""

    with_and_without: Chart
    """Figure 2; without groups where no task was asked both ways."""
    ratios: Chart
    """Figure 3; without groups where nothing was asked as knowledge."""
    sheets: Mapping[str, Sheet]
    """Name -> table; absent where there is nothing to show."""

    @property
    def worth_showing(self) -> bool:
        """More than what the sections of each task say already: several lines to compare, or options changed."""
        lines = sum(len(group.lines) for group in self.with_and_without.groups)
        return lines > 1 or "options" in self.sheets or "paper_printed" in self.sheets


def paper_view(facts: Sequence[Facts], sheets: Iterable[Sheet], numbers: dict[str, int]) -> PaperView:
    """The section from what was gathered; sheets: all of the run; numbers: model -> place in the palette."""
    kept = {sheet.name: sheet for sheet in sheets if sheet.name in SHEETS}
    return PaperView(with_and_without(facts, numbers), ratios(facts, numbers), kept)


def with_and_without(facts: Sequence[Facts], numbers: dict[str, int]) -> Chart:
    """Figure 2: a group a dataset and kind, a line a model: filled with the picture, hollow without it, dashed guessing."""
    shown = [one for one in facts if one.with_picture is not None and one.without_picture is not None]
    groups = [LineGroup(name, "", tuple(_both(one, numbers) for one in rows)) for name, rows in _groups(shown).items()]
    dashed = "guessing" if any(math.isfinite(one.chance) for one in shown) else ""
    return _chart(
        groups, dashed, "Hollow: without the picture. Filled: with it. Lines: 95\u00a0% intervals, as numbers in the table."
    )


def _both(one: Facts, numbers: dict[str, int]) -> Line:
    sides = [made for made in (one.without_picture, one.with_picture) if made is not None]
    number = numbers[one.model]
    marks = [Mark(made.value, made.low, made.high, number, hollow=made is one.without_picture) for made in sides]
    drawing = charts.line(marks, dashed=one.chance)
    value = " → ".join(hundredths(made.value) for made in sides)
    interval = WITHHELD if any(math.isnan(made.low) for made in sides) else ""  # the table has the intervals
    return Line(one.model, number, drawing, value, interval, max(made.n for made in sides))


def ratios(facts: Sequence[Facts], numbers: dict[str, int]) -> Chart:
    """Figure 3: SuR, NeR as its equation and as the text reads it; a group a dataset and ratio, a line a model."""
    groups = []
    for name, rows in _groups([one for one in facts if one.knowledge is not None]).items():
        for words, caption, get in _FIGURE_3:
            made = [(one, get(one.knowledge)) for one in rows if one.knowledge is not None]
            groups.append(LineGroup(f"{name}: {words}", caption, tuple(_ratio(one, each, numbers) for one, each in made)))
    return _chart(groups, "", "Dot: value. Line: 95\u00a0% interval.")


def _ratio(one: Facts, made: Estimate, numbers: dict[str, int]) -> Line:
    drawing = charts.line([Mark(made.value, made.low, made.high, numbers[one.model])])
    interval = span(made.low, made.high) or (WITHHELD if math.isfinite(made.value) else "")
    return Line(one.model, numbers[one.model], drawing, hundredths(made.value), interval, made.n)


def _groups(facts: Sequence[Facts]) -> dict[str, list[Facts]]:
    """Heading -> facts: a dataset, with kind and prompt where there are several."""
    naming = naming_of(facts)
    found: dict[str, list[Facts]] = {}
    for one in facts:
        found.setdefault(naming[one.task].of(one.task, one.prompt, one.kind), []).append(one)
    return found


def _chart(groups: Sequence[LineGroup], dashed: str, marks: str) -> Chart:
    withheld = any(line.interval == WITHHELD for group in groups for line in group.lines)
    left_out = max(0, len(groups) - MOST_GROUPS)
    return Chart(tuple(groups[:MOST_GROUPS]), charts.axis(charts.SHARE), dashed, left_out, withheld, marks)
