from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from eyetest.reports import charts
from eyetest.reports.charts import SHARE, Mark, Scale
from eyetest.stats import Cells

NAN = math.nan


def parsed(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def test_a_line_puts_value_interval_and_chance_where_they_belong() -> None:
    drawing = parsed(charts.line([Mark(0.75, 0.5, 0.9, 1)], SHARE, dashed=0.25))
    span = next(one for one in drawing.iter("line") if one.get("class") == "span")
    assert (span.get("x1"), span.get("x2")) == ("50.00%", "90.00%")
    assert [one.get("x") for one in drawing.iter("svg")][1:] == ["75.00%"]
    assert [one.get("x1") for one in drawing.iter("line") if one.get("class") == "chance"] == ["25.00%"]
    assert drawing.find("g[@class='m1']/svg/rect") is not None


def test_a_withheld_interval_has_no_line_and_an_undefined_value_no_mark() -> None:
    assert 'class="span"' not in charts.line([Mark(0.5, NAN, NAN)])
    assert "<g" not in charts.line([Mark(NAN, NAN, NAN)])


def test_an_interval_beyond_the_scale_ends_in_an_arrow() -> None:
    inside = charts.line([Mark(0.1, -0.4, 0.5)], Scale(-0.5, 1, ()))
    beyond = parsed(charts.line([Mark(-0.9, -4.7, 0.2)], Scale(-0.5, 1, ())))
    assert inside.count("<path") == 0
    assert [one.get("x") for one in beyond.iter("svg")][1:] == ["0.00%", "0.00%"]
    assert len(list(beyond.iter("path"))) == 1


def test_models_differ_in_shape_as_well_as_in_colour() -> None:
    shapes = [re.sub(r'class="m\d"', "", charts.swatch(number)) for number in range(charts.SHAPES)]
    assert len(set(shapes)) == charts.SHAPES
    assert len({charts.swatch(number) for number in range(4 * charts.COLOURS)}) == 4 * charts.COLOURS


@pytest.mark.parametrize(
    ("values", "end"), [([0.05, -0.03], 0.1), ([0.15], 0.2), ([-0.35, NAN], 0.4), ([0.57], 0.6), ([0.9], 1.0), ([], 0.1)]
)
def test_differences_get_a_symmetric_scale_that_holds_them(values: list[float], end: float) -> None:
    scale = charts.signed_scale(values)
    assert (scale.low, scale.high, scale.x(0)) == (-end, end, 50)


@pytest.mark.parametrize(("lows", "low"), [([0.2], 0.0), ([-0.2], -0.5), ([-3.0, NAN], -1.0)])
def test_gap_rates_get_a_scale_that_ends_at_one(lows: list[float], low: float) -> None:
    assert (charts.gap_scale(lows).low, charts.gap_scale(lows).high) == (low, 1.0)


def test_the_bar_shows_the_four_cells_in_proportion() -> None:
    drawing = parsed(charts.stacked(Cells(n11=40, n10=30, n01=5, n00=25)))
    assert [(one.get("class"), one.get("x"), one.get("width")) for one in drawing.iter("rect")] == [
        ("only-with", "0.00%", "30.00%"),
        ("either", "30.00%", "40.00%"),
        ("only-without", "70.00%", "5.00%"),
        ("never", "75.00%", "25.00%"),
    ]
    assert [one.text for one in drawing.iter("text")] == ["30", "40", "25"]


def test_the_axis_names_its_unit_once() -> None:
    texts = [one.text for one in parsed(charts.axis(charts.signed_scale([0.3]), " points")).iter("text")]
    assert texts == ["−40", "−20", "0", "+20", "+40 points"]
