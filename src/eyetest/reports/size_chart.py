"""Success rate against model size, as in the first paper (arXiv 2402.14154): a chart a task, a series an architecture.

A drawing holds numbers only: marks are numbered, and the table beneath says which model each one is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from eyetest.evaluation.results import Row
from eyetest.reports.charts import COLOURS, Scale, drawing, mark_of
from eyetest.reports.naming import of_cells
from eyetest.reports.wording import rate

FEWEST = 2
"""Models of known size below which nothing is drawn."""

SPACE, NARROWEST = 13.0, 600.0
"""Pixels between neighbouring marks, and the least width of the plot, for which they are set apart; a small screen scrolls."""

UNNAMED = "architecture not named"


@dataclass(frozen=True, slots=True)
class Point:
    """One model of known size."""

    place: int
    """Its number in the drawing."""
    model: str
    architecture: str
    series: int
    """Place of the architecture in the palette."""
    size: str
    value: str
    n: int


@dataclass(frozen=True, slots=True)
class SizeChart:
    """The models of one task under one condition."""

    condition: str
    words: str
    """Kind and prompt; empty where there is one of each."""
    drawing: Markup
    points: tuple[Point, ...]
    unknown: tuple[str, ...]
    """Models whose size is not known, so that they are not drawn."""
    withheld: bool
    """A value stands without its interval."""


def size_charts(rows: Sequence[Row], models: Mapping[str, Any]) -> tuple[SizeChart, ...]:
    """Charts of one task with its picture (else under its first condition): one a prompt and kind of question.

    models: of the manifest; `card.parameters` is a size in billions. Empty with fewer than two models of known size.
    """
    rates = [row for row in rows if row.estimate.metric == "success_rate" and not row.by and row.policy == "as_wrong"]
    conditions = {row.condition for row in rates}
    condition = "image" if "image" in conditions else next((row.condition for row in rates), "")
    shown = [row for row in rates if row.condition == condition]
    naming = of_cells(shown)
    groups: dict[str, list[Row]] = {}
    for row in shown:
        groups.setdefault(naming.words(row.prompt, row.kind), []).append(row)
    cards = {name: one.get("card") for name, one in models.items()}
    made = (_chart(condition, words, of_group, cards) for words, of_group in groups.items())
    return tuple(one for one in made if len(one.points) >= FEWEST)


def _chart(condition: str, words: str, rows: Sequence[Row], cards: Mapping[str, Any]) -> SizeChart:
    sized = [(size, row) for row in rows if (size := size_of(cards.get(row.model))) and math.isfinite(row.estimate.value)]
    sized.sort(key=lambda one: one[0])
    series: dict[str, int] = {}
    points = []
    for place, (size, row) in enumerate(sized, 1):
        architecture = _architecture(cards[row.model])
        made, number = row.estimate, series.setdefault(architecture, len(series))
        value = rate(made.value, made.low, made.high)
        points.append(Point(place, row.model, architecture, number, written_size(size), value, made.n))
    return SizeChart(
        condition,
        words,
        _drawing(sized, [point.series for point in points]) if points else Markup(),
        tuple(points),
        tuple(row.model for row in rows if not size_of(cards.get(row.model))),
        any(math.isnan(row.estimate.low) for _, row in sized),
    )


def size_of(card: object) -> float:
    """Billions of parameters that a card names; 0 where it names none."""
    size = card.get("parameters") if isinstance(card, Mapping) else None
    if isinstance(size, bool) or not isinstance(size, int | float) or not math.isfinite(size):
        return 0.0
    return max(0.0, float(size))


def _architecture(card: Mapping[str, Any]) -> str:
    named = card.get("architecture")
    return named if isinstance(named, str) and named else UNNAMED


def written_size(billions: float) -> str:
    """`7.1 B`, `76.3 B`, `250 M`, `38 k` parameters."""
    for unit, power in (("B", 1.0), ("M", 1e3), ("k", 1e6)):
        if billions * power >= 1 or unit == "k":
            amount = billions * power
            return f"{amount:,.0f}\u00a0{unit}" if amount >= 100 else f"{amount:.3g}\u00a0{unit}"
    raise AssertionError("the last unit takes every size")


def size_scale(sizes: Sequence[float]) -> Scale:
    """Logarithms (base 10) of billions: a little beyond the smallest and the largest, over half a decade at least."""
    low, high = math.log10(min(sizes)) - 0.1, math.log10(max(sizes)) + 0.1
    wider = max(0.0, 0.6 - (high - low)) / 2
    low, high = low - wider, high + wider
    steps = (1, 2, 5) if high - low < 1.8 else (1, 3) if high - low < 3 else (1,)
    decades = range(math.floor(low), math.ceil(high) + 1)
    ticks = [decade + math.log10(step) for decade in decades for step in steps]
    return Scale(low, high, tuple(tick for tick in ticks if low <= tick <= high))


def rate_scale(values: Iterable[float]) -> Scale:
    """Rates from 0, from 50 % or from 80 % on: whichever holds all, so that near 100 % there is something to see."""
    lowest = min((value for value in values if math.isfinite(value)), default=0.0)
    if lowest >= 0.8:
        return Scale(0.8, 1.0, (0.8, 0.85, 0.9, 0.95, 1.0))
    return Scale(0.5, 1.0, (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)) if lowest >= 0.5 else Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))


def spread(places: Sequence[float], space: float, end: float) -> list[float]:
    """Rising places moved as little as possible (least squares) so that neighbours are `space` apart, within 0 to `end`.

    Isotonic regression of place minus number x space (pool adjacent violators), cut at its bounds.
    """
    blocks: list[tuple[float, int]] = []
    for number, place in enumerate(places):
        total, size = place - number * space, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / size:
            total, size = total + blocks[-1][0], size + blocks[-1][1]
            blocks.pop()
        blocks.append((total, size))
    last = max(0.0, end - (len(places) - 1) * space)
    flat = [min(max(total / size, 0.0), last) for total, size in blocks for _ in range(size)]
    return [place + number * space for number, place in enumerate(flat)]


def _drawing(sized: Sequence[tuple[float, Row]], series: Sequence[int]) -> Markup:
    x, y = size_scale([size for size, _ in sized]), rate_scale(v for _, r in sized for v in (r.estimate.value, r.estimate.low))
    places = [x.x(math.log10(size)) for size, _ in sized]
    wanted = [place * NARROWEST / 100 for place in places]
    moved = spread(wanted, min(SPACE, NARROWEST / len(sized)), NARROWEST)
    drawn = list(_grid(x, y))
    for number, (place, (_, row)) in enumerate(zip(places, sized, strict=True)):
        made, shift = row.estimate, moved[number] - wanted[number]
        top = made.value if math.isnan(made.high) else made.high
        ends = f'y1="{_down(made.low, y)}" y2="{_down(made.high, y)}"'
        interval = "" if math.isnan(made.low) else f'<line class="span" x1="{shift:.1f}" x2="{shift:.1f}" {ends}/>'
        name = f'<svg y="{_down(top, y)}" overflow="visible"><text x="{shift:.1f}" y="-8">{number + 1}</text></svg>'
        dot = f'<svg x="{shift:.1f}" y="{_down(made.value, y)}" overflow="visible">{mark_of(series[number])}</svg>'
        kind = f"m{series[number] % COLOURS}"
        drawn.append(f'<svg x="{place:.2f}%" overflow="visible"><g class="{kind}">{interval}{dot}{name}</g></svg>')
    return drawing("scatter", "230", drawn)


def _down(value: float, scale: Scale) -> str:
    return f"{100 - scale.x(value):.2f}%"


def _grid(x: Scale, y: Scale) -> Iterator[str]:
    """The lines of both axes with their numbers, which stand outside the drawing's own box."""
    for tick in y.ticks:
        at, unit = _down(tick, y), "\u00a0%" if tick == y.high else ""
        yield f'<line class="grid" x1="0" x2="100%" y1="{at}" y2="{at}"/>'
        yield f'<svg y="{at}" overflow="visible"><text class="tick end" x="-8" y="4">{100 * tick:g}{unit}</text></svg>'
    for tick in x.ticks:
        at = f"{x.x(tick):.2f}%"
        yield f'<line class="grid" x1="{at}" x2="{at}" y1="0" y2="100%"/>'
        label = f'<text class="tick" x="{at}" y="18">{written_size(10**tick)}</text>'
        yield f'<svg y="100%" overflow="visible">{label}</svg>'
