"""Charts as inline SVG, one small drawing a line, so that labels stay HTML text that wraps, can be searched and is never scaled.

Places are percentages of the drawing's size, marks have a fixed size: a chart fills its place, on paper and on a phone. A drawing
holds numbers only; names and values stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eyetest.reports.facts import named_cells
from eyetest.stats import Cells

SHAPES = 4
"""Marks that differ in shape, so that colour is never the only difference."""

COLOURS = 8
"""Colours of the palette (Okabe & Ito, safe for colour-blind readers); defined in the style sheet as `--m0` to `--m7`."""

LABEL_SHARE = 0.08
"""Parts of a stacked bar narrower than this hold no number; the text beside it has it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Linear from `low` to `high`, in the numbers' own unit."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def x(self, value: float) -> float:
        """Place in per cent of the width, at most the ends."""
        return 100 * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)


SHARE = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
"""Scores."""


def signed_scale(values: Iterable[float]) -> Scale:
    """Symmetric about 0 and wide enough for `values`, in steps a reader can count; never beyond -1 to 1."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    end = next((end for end in (0.1, 0.2, 0.4, 0.6) if largest <= end), 1.0)
    return Scale(-end, end, (-end, -end / 2, 0.0, end / 2, end))


def gap_scale(lows: Iterable[float]) -> Scale:
    """Gap rates: up to 1, down to what is needed but not below -1, where the picture halves the score."""
    lowest = min((value for value in lows if math.isfinite(value)), default=0.0)
    if lowest >= -0.02:
        return Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    return Scale(-0.5, 1.0, (-0.5, 0.0, 0.5, 1.0)) if lowest >= -0.5 else Scale(-1.0, 1.0, (-1.0, -0.5, 0.0, 0.5, 1.0))


@dataclass(frozen=True, slots=True)
class Mark:
    """A number with its interval; nan where there is none."""

    value: float
    low: float
    high: float
    number: int = 0
    """Which model: chooses colour and shape."""
    hollow: bool = False


def line(marks: Sequence[Mark], scale: Scale = SHARE, *, dashed: float = math.nan) -> Markup:
    """One line of a dot-and-interval chart. dashed: where guessing, or no difference, lies."""
    drawn = [_rule(scale.x(tick), "grid") for tick in scale.ticks]
    if not math.isnan(dashed):
        drawn.append(_rule(scale.x(dashed), "chance"))
    drawn += [_mark(mark, scale) for mark in marks if not math.isnan(mark.value)]
    return drawing("line", "100%", drawn)


def _rule(x: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="100%"/>'


def _mark(mark: Mark, scale: Scale) -> str:
    kind = f"m{mark.number % COLOURS}" + (" hollow" if mark.hollow else "")
    drawn = ""
    if not math.isnan(mark.low):
        ends = f'x1="{scale.x(mark.low):.2f}%" x2="{scale.x(mark.high):.2f}%"'
        drawn = f'<line class="span" {ends} y1="50%" y2="50%"/>'
        drawn += "".join(_arrow(end, scale) for end in (mark.low, mark.high))
    # A nested drawing places a shape of fixed size at a percentage; a transform could not.
    shape = mark_of(mark.number)
    placed = f'<svg x="{scale.x(mark.value):.2f}%" y="50%" overflow="visible">{shape}</svg>'
    return f'<g class="{kind}">{drawn}{placed}</g>'


def _arrow(end: float, scale: Scale) -> str:
    """A head where an interval goes on beyond the scale."""
    if scale.low <= end <= scale.high:
        return ""
    way = -1 if end < scale.low else 1
    head = f'<path class="dot" d="M{4 * way} 0L{-3 * way} -4L{-3 * way} 4Z"/>'
    return f'<svg x="{scale.x(end):.2f}%" y="50%" overflow="visible">{head}</svg>'


def _shape(number: int) -> str:
    shapes = (
        '<circle class="dot" r="4.5"/>',
        '<rect class="dot" x="-4" y="-4" width="8" height="8"/>',
        '<path class="dot" d="M0 -5.5L5.5 0L0 5.5L-5.5 0Z"/>',
        '<path class="dot" d="M0 -5L5.2 4L-5.2 4Z"/>',
    )
    return shapes[number % SHAPES]


def mark_of(number: int) -> str:
    """The shape of one place in the palette."""
    return _shape(number // COLOURS + number % SHAPES)


def swatch(number: int) -> Markup:
    """The mark of one model, for a legend."""
    shape = mark_of(number)
    inner = f'<g class="m{number % COLOURS}"><svg x="7" y="7" overflow="visible">{shape}</svg></g>'
    return Markup(f'<svg class="swatch" width="14" height="14" aria-hidden="true">{inner}</svg>')  # noqa: S704 (numbers only)


def axis(scale: Scale = SHARE, unit: str = " %", *, plain: bool = False) -> Markup:
    """The numbers under a chart, in per cent or points, or as they are (`plain`). unit: after the last."""
    drawn = []
    for place, tick in enumerate(scale.ticks):
        sign = "+" if tick > 0 and scale.low < 0 else ""
        text = f"{sign}{tick if plain else 100 * tick:g}".replace("-", "−") + (unit if place == len(scale.ticks) - 1 else "")
        drawn.append(f'<text x="{scale.x(tick):.2f}%" y="13" text-anchor="middle">{text}</text>')
    return drawing("axis", "18", drawn)


def stacked(cells: Cells) -> Markup:
    """The four named cells as one bar."""
    total, left, drawn = sum(cells), 0.0, []
    for kind, _, size in named_cells(cells):
        share = size / total if total else 0.0
        if share > 0:
            drawn.append(f'<rect class="{kind}" x="{100 * left:.2f}%" y="0" width="{100 * share:.2f}%" height="26"/>')
        if share >= LABEL_SHARE:
            drawn.append(f'<text class="on-{kind}" x="{100 * (left + share / 2):.2f}%" y="18">{size:,.0f}</text>')
        left += share
    return drawing("stacked", "26", drawn)


def drawing(kind: str, height: str, drawn: Iterable[str]) -> Markup:
    """A drawing as wide as its place, of shapes made of numbers."""
    # Only numbers were formatted into it; names are set beside it, escaped by the template.
    return Markup(f'<svg class="{kind}" width="100%" height="{height}" aria-hidden="true">{"".join(drawn)}</svg>')  # noqa: S704
