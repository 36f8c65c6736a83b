"""What the page draws: charts, heat tables and cards as values with their drawings, in the order in which they stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eyetest.evaluation.results import ClassTable, Finding, PairRow, Row, Standing, first_rows
from eyetest.reports import charts
from eyetest.reports.charts import Mark, Scale
from eyetest.reports.measures import measure
from eyetest.reports.naming import Naming, of_cells, of_prompts
from eyetest.reports.sheets import UNPARSED
from eyetest.reports.wording import hundredths, span

MOST_GROUPS = 40
"""Groups of lines in one chart; the CSV has the others."""

MOST_LABELS = 25
"""Labels of a confusion matrix that is drawn; above, the most frequent confusions are listed."""

MOST_CONFUSIONS = 20

WITHHELD = "[withheld]"

CAPTIONS = {
    "image": "the question with its own picture",
    "no_image": "the question without the picture",
    "told_blind": "without the picture, and told so",
    "blank": "a grey picture of the same size",
    "blurred": "its own picture, blurred",
    "swapped": "with somebody else's picture",
    "caption": "a caption instead of the picture",
    "knowledge": "the fact as pure knowledge, no picture",
    "options_only": "nothing but the options",
    "picture_only": "picture and options, no question",
    "shuffled": "options in another order",
    "rotated": "options in every rotation",
    "open_ended": "without the options, answered freely",
    "text_only": "the words in the picture instead of the picture",
    "image_text": "the picture, and the words in it as text",
    "truncated": "the text cut short",
}
"""Condition -> plain words."""


def caption(condition: str) -> str:
    """A condition, composed ones too, in plain words; empty for what a plug-in made."""
    steps = [step.partition("@")[0] for step in condition.split("+")]
    return "; ".join(CAPTIONS[step] for step in steps if step in CAPTIONS)


@dataclass(frozen=True, slots=True)
class Line:
    """One model in a group."""

    model: str
    number: int
    drawing: Markup
    value: str
    interval: str
    n: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Lines under one heading."""

    heading: str
    caption: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A dot-and-interval chart."""

    groups: tuple[LineGroup, ...]
    axis: Markup
    dashed: str = ""
    """What the dashed line is; empty where there is none."""
    left_out: int = 0
    """Groups that did not fit."""
    withheld: bool = False
    """A value stands without its interval."""
    marks: str = "Dot: value. Line: 95\u00a0% interval."
    """What dot and line are."""


def number_of(models: Sequence[str]) -> dict[str, int]:
    """Model -> place in the palette."""
    return {model: number for number, model in enumerate(models)}


def _line(row: Row | PairRow | Finding, numbers: dict[str, int], scale: Scale, dashed: float) -> Line:
    made, number = row.estimate, numbers[row.model]
    drawing = charts.line([Mark(made.value, made.low, made.high, number)], scale, dashed=dashed)
    shown = span(made.low, made.high) or (WITHHELD if math.isfinite(made.value) else "")
    return Line(row.model, number, drawing, hundredths(made.value), shown, made.n, made.note)


def _chart(groups: Iterable[LineGroup], scale: Scale, dashed: str, unit: str = " %") -> Chart:
    made = tuple(groups)
    withheld = any(line.interval == WITHHELD for group in made for line in group.lines)
    return Chart(made[:MOST_GROUPS], charts.axis(scale, unit), dashed, max(0, len(made) - MOST_GROUPS), withheld)


def _dashed(rows: Iterable[Row]) -> str:
    known = {hundredths(row.chance) for row in rows if not math.isnan(row.chance)}
    if not known:
        return ""
    return f"guessing gives {known.pop()} %" if len(known) == 1 else "guessing, which differs between lines"


def scores(rows: Sequence[Row], numbers: dict[str, int]) -> Chart:
    """The headline of every cell of one task: a group a condition, a line a model."""
    first = list(first_rows(rows))
    naming = of_cells(first)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in first:
        groups.setdefault((row.condition, naming.words(row.prompt, row.kind)), []).append(row)
    drawn = (
        LineGroup(
            f"{condition} ({more})" if more else condition,
            caption(condition),
            tuple(_line(row, numbers, charts.SHARE, row.chance) for row in of_group),
        )
        for (condition, more), of_group in groups.items()
    )
    return _chart(drawn, charts.SHARE, _dashed(first))


SECOND = {
    "no_image": "What taking the picture away costs",
    "told_blind": "What taking the picture away, and saying so, costs",
    "blank": "What greying the picture out costs",
    "swapped": "What showing somebody else's picture costs",
    "shuffled": "What shuffling the options costs",
    "knowledge": "Seen minus known: the question with its picture against the same fact asked as knowledge",
    "options_only": "What taking picture and question away costs",
    "picture_only": "What taking the question away costs",
    "open_ended": "What taking the options away costs",
    "text_only": "What showing the words instead of the picture costs",
    "image_text": "What adding the words to the picture costs",
}
"""Second condition of a difference -> heading."""


def _costs(second: str) -> str:
    words = caption(second)
    return SECOND.get(second) or (f"What this costs: {words}" if words else f"Beside {second}")


def differences(pairs: Sequence[PairRow], numbers: dict[str, int]) -> Chart:
    """Paired differences of one task, `image` minus each other condition."""
    shown = [pair for pair in pairs if pair.estimate.metric != "gap_rate"]
    scale = charts.signed_scale(x for pair in shown for x in (pair.estimate.value, pair.estimate.low, pair.estimate.high))
    groups = _pair_groups(shown, numbers, scale, _costs)
    return _chart(groups, scale, "no difference", " points")


GAPS = {
    "no_image": "The picture taken away",
    "told_blind": "The picture taken away, and told so",
    "blank": "The picture greyed out",
}
"""Condition without the picture -> heading of its gap rates."""


def gap_rates(pairs: Sequence[PairRow], numbers: dict[str, int]) -> Chart:
    """Gap rates of one task."""
    shown = [pair for pair in pairs if pair.estimate.metric == "gap_rate"]
    scale = charts.gap_scale(pair.estimate.low for pair in shown)
    groups = _pair_groups(shown, numbers, scale, lambda second: GAPS.get(second, second))
    return _chart(groups, scale, "nothing goes with the picture")


def _pair_groups(
    pairs: Iterable[PairRow], numbers: dict[str, int], scale: Scale, heading: Callable[[str], str]
) -> Iterator[LineGroup]:
    groups: dict[tuple[str, str], list[PairRow]] = {}
    rows = list(pairs)
    naming = of_prompts(rows)
    for row in rows:
        groups.setdefault((row.second, naming.words(row.prompt)), []).append(row)
    for (second, prompt), of_group in groups.items():
        named = f"image − {second}" + (f", {prompt}" if prompt else "")
        yield LineGroup(heading(second), named, tuple(_line(row, numbers, scale, 0.0) for row in of_group))


def ranks(standings: Sequence[Standing], numbers: dict[str, int]) -> Chart:
    """The ranks that the models of one task may have: a group a condition, a line a model, best first."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    naming = of_cells(standings)
    for row in standings:
        groups.setdefault((row.condition, naming.words(row.prompt, row.kind)), []).append(row)
    most = max((len(rows) for rows in groups.values()), default=1)
    scale = Scale(1.0, float(max(most, 2)), tuple(float(rank) for rank in _few(most)))
    made = (
        LineGroup(
            f"{condition} ({more})" if more else condition,
            caption(condition),
            tuple(_rank(row, numbers, scale) for row in rows),
        )
        for (condition, more), rows in groups.items()
    )
    return Chart(
        tuple(made)[:MOST_GROUPS],
        charts.axis(scale, "", plain=True),
        left_out=max(0, len(groups) - MOST_GROUPS),
        marks="Dot: the rank given. Line: ranks that are not ruled out.",
    )


def _few(most: int) -> list[int]:
    """Ranks that an axis names: all up to 8, else the ends and some between."""
    return list(range(1, max(most, 2) + 1)) if most <= 8 else sorted({1, *(round(1 + (most - 1) * k / 4) for k in range(1, 5))})


def _rank(row: Standing, numbers: dict[str, int], scale: Scale) -> Line:
    number = numbers[row.model]
    drawing = charts.line([Mark(row.rank, row.rank_low, row.rank_high, number)], scale)
    made = row.estimate
    return Line(
        row.model, number, drawing, row.ranks, f"score {hundredths(made.value)} {span(made.low, made.high)}", made.n, made.note
    )


def group_gaps(findings: Sequence[Finding], numbers: dict[str, int]) -> tuple[SliceChart, ...]:
    """False alarms, misses and refusals of each group minus those of all others: a chart a field, condition and rate."""
    shown = [row for row in findings if row.estimate.metric.endswith("_gap") and row.panel == "fairness"]
    naming = of_cells(shown)
    fields: dict[tuple[str, str, str], list[Finding]] = {}
    for row in shown:
        words = ", ".join(part for part in (measure(row.estimate.metric).words, naming.words(row.prompt, row.kind)) if part)
        fields.setdefault((row.by, row.condition, words), []).append(row)
    made = []
    for (by, condition, words), rows in fields.items():
        scale = charts.signed_scale(x for row in rows for x in (row.estimate.value, row.estimate.low, row.estimate.high))
        values: dict[str, list[Finding]] = {}
        for row in rows:
            values.setdefault(row.slice, []).append(row)
        groups = (
            LineGroup(value, "", tuple(_line(row, numbers, scale, 0.0) for row in of_value)) for value, of_value in values.items()
        )
        chart = _chart(groups, scale, "no difference from the others", " points")
        made.append(SliceChart(by.removeprefix("metadata."), condition, words, chart))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class SliceChart:
    """The slices of one field under one condition."""

    by: str
    condition: str
    words: str
    """Kind and prompt; empty where there is one of each."""
    chart: Chart


def slices(rows: Sequence[Row], numbers: dict[str, int]) -> tuple[SliceChart, ...]:
    """A chart for every field, condition, kind and prompt: a group a value, largest first, a line a model."""
    first = list(first_rows(rows, sliced=True))
    naming = of_cells(first)
    fields: dict[tuple[str, str, str], list[Row]] = {}
    for row in first:
        fields.setdefault((row.by, row.condition, naming.words(row.prompt, row.kind)), []).append(row)
    made = []
    for (by, condition, words), of_field in fields.items():
        values: dict[str, list[Row]] = {}
        for row in of_field:
            values.setdefault(row.slice, []).append(row)
        ordered = sorted(values.items(), key=lambda item: -max(row.estimate.n for row in item[1]))
        groups = (
            LineGroup(value, "", tuple(_line(row, numbers, charts.SHARE, row.chance) for row in of_value))
            for value, of_value in ordered
        )
        chart = _chart(groups, charts.SHARE, _dashed(of_field))
        made.append(SliceChart(by.removeprefix("metadata."), condition, words, chart))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Heat:
    """A confusion matrix, or where it would be too wide the most frequent confusions, with the rows of the labels."""

    model: str
    number: int
    condition: str
    words: str
    """The prompt; empty where there is one."""
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[int, int], ...], ...]
    """(label, answer) -> (count, share of the row in per cent)."""
    confusions: tuple[tuple[str, str, int], ...]
    """(right answer, answer given, count) of wrong answers, most frequent first; only where the matrix is not drawn."""
    classes: tuple[tuple[str, str, str, str, int, int], ...]
    """(label, precision, recall, F1, support, answered)."""


def heats(tables: Sequence[ClassTable], numbers: dict[str, int]) -> tuple[Heat, ...]:
    """The confusion matrices of one task; with many labels those of `image` only."""
    shown = [table for table in tables if len(table.labels) <= MOST_LABELS or table.condition == "image"]
    naming = of_prompts(shown)
    return tuple(heat(table, numbers, naming) for table in shown)


def heat(table: ClassTable, numbers: dict[str, int], naming: Naming) -> Heat:
    """One cell's confusion matrix."""
    drawn = bool(table.confusion) and len(table.labels) <= MOST_LABELS
    wrong = [
        (label, given, count)
        for place, (label, counts) in enumerate(zip(table.labels, table.confusion, strict=False))
        for other, (given, count) in enumerate(zip((*table.labels, UNPARSED), counts, strict=True))
        if count and other != place
    ]
    classes = tuple(
        (row["label"], *(hundredths(row[name]) for name in ("precision", "recall", "f1")), row["support"], row["predicted"])
        for row in table.rows
    )
    return Heat(
        table.model,
        numbers[table.model],
        table.condition,
        naming.words(table.prompt),
        table.labels if drawn else (),
        (*table.labels, UNPARSED) if drawn else (),
        tuple(tuple(_shares(counts)) for counts in table.confusion) if drawn else (),
        () if drawn else tuple(sorted(wrong, key=lambda one: (-one[2], one[0], one[1]))[:MOST_CONFUSIONS]),
        classes,
    )


def _shares(counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    total = sum(counts)
    for count in counts:
        yield count, round(100 * count / total) if total else 0
