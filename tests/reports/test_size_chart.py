"""Success rate against size: which models are drawn, where, and that nothing covers anything."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.reports.gather import gather
from eyetest.reports.html import page
from eyetest.reports.size_chart import (
    NARROWEST,
    SPACE,
    SizeChart,
    rate_scale,
    size_charts,
    size_of,
    size_scale,
    spread,
    written_size,
)
from reports.making import answer, write_run


def run_of(folder: Path, cards: dict[str, Any], **rest: Any) -> Path:
    """Every model answers 40 questions; of the k-th model's (from 0) answers the first 2k cannot be read."""
    rows = [
        answer(number, condition, model=model, status="unparsed" if number < 2 * k else "scored", **rest)
        for k, model in enumerate(cards)
        for number in range(40)
        for condition in ("no_image", "image")
    ]
    return write_run(folder, rows, models={name: {"identity": name, "card": card} for name, card in cards.items()})


CARDS: dict[str, Any] = {
    "large": {"parameters": 70.6, "architecture": "Deep"},
    "small": {"parameters": 7, "architecture": "Deep"},
    "other": {"parameters": 7.0},
    "service": {"architecture": "Hidden"},
    "bare": None,
}


def charts_of(run: Path) -> tuple[SizeChart, ...]:
    found = gather(run)
    return size_charts(found.results.rows, found.manifest["models"])


def test_models_stand_by_size_with_rate_interval_and_architecture(tmp_path: Path) -> None:
    (chart,) = charts_of(run_of(tmp_path / "run", CARDS))
    assert (chart.condition, chart.words, chart.withheld) == ("image", "", False)
    assert [(one.place, one.model, one.size) for one in chart.points] == [
        (1, "small", "7\u00a0B"),
        (2, "other", "7\u00a0B"),
        (3, "large", "70.6\u00a0B"),
    ]
    assert [(one.architecture, one.series) for one in chart.points] == [
        ("Deep", 0),
        ("architecture not named", 1),
        ("Deep", 0),
    ]
    small, other, large = chart.points
    assert re.fullmatch(r"95\.0 \[83\.\d, 98\.\d\]", small.value)  # 38 of 40
    assert other.value.startswith("90.0 [")
    assert large.value.startswith("100.0 [")
    assert {one.n for one in chart.points} == {40}
    assert chart.unknown == ("service", "bare")


def test_the_drawing_has_a_mark_and_an_interval_a_model_and_no_name(tmp_path: Path) -> None:
    cards = {'<b onload="x">': {"parameters": 3, "architecture": "</svg><script>"}, "b": {"parameters": 30}}
    run = run_of(tmp_path / "run", cards)
    (chart,) = charts_of(run)
    assert re.findall(r'y="-8">(\d+)<', chart.drawing) == ["1", "2"]
    assert chart.drawing.count('class="span"') == chart.drawing.count('class="dot"') == 2
    assert "script" not in chart.drawing
    text = page(gather(run))
    assert "<script" not in text
    assert "onload=" not in re.sub(r"&lt;b onload=", "", text)


def test_at_its_place_on_the_logarithmic_axis(tmp_path: Path) -> None:
    (chart,) = charts_of(run_of(tmp_path / "run", {"a": {"parameters": 1}, "b": {"parameters": 10}, "c": {"parameters": 100}}))
    places = [float(x) for x in re.findall(r'<svg x="([\d.]+)%" overflow="visible"><g', chart.drawing)]
    assert places[1] == pytest.approx(50, abs=0.01)
    assert places[2] - places[1] == pytest.approx(places[1] - places[0], abs=0.02)
    assert {float(shift) for shift in re.findall(r'<text x="(-?[\d.]+)" y="-8">', chart.drawing)} == {0.0}


@pytest.mark.parametrize("cards", [{"a": {"parameters": 7}, "b": {}}, {"a": {"parameters": 7}}, {"a": None, "b": None}])
def test_fewer_than_two_sizes_draw_nothing(cards: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", cards)
    assert charts_of(run) == ()
    assert 'id="size"' not in page(gather(run))


def test_the_page_has_the_section_its_link_and_the_models_without_size(tmp_path: Path) -> None:
    text = page(gather(run_of(tmp_path / "run", CARDS)))
    assert '<section id="size">' in text
    assert '<a href="#size">Size</a>' in text
    assert "Size not known: service, bare." in re.sub(r"<[^>]+>", "", text)


def test_without_the_condition_image_the_first_is_shown(tmp_path: Path) -> None:
    rows = [answer(number, "no_image", model=model) for model in "ab" for number in range(20)]
    cards = {name: {"card": {"parameters": size}} for name, size in (("a", 1), ("b", 2))}
    (chart,) = charts_of(write_run(tmp_path / "run", rows, models=cards))
    assert chart.condition == "no_image"


@pytest.mark.parametrize("card", [None, [], "7", {}, *({"parameters": x} for x in ("7", True, 0, -1, math.nan, math.inf, [7]))])
def test_what_is_no_size(card: object) -> None:
    assert size_of(card) == 0


@pytest.mark.parametrize(
    ("billions", "text"),
    [
        (7.1, "7.1 B"),
        (76.34, "76.3 B"),
        (405, "405 B"),
        (1800, "1,800 B"),
        (0.2536, "254 M"),
        (0.0082, "8.2 M"),
        (3.8e-5, "38 k"),
    ],
)
def test_a_size_in_words(billions: float, text: str) -> None:
    assert written_size(billions).replace("\u00a0", " ") == text


@given(st.lists(st.floats(1e-5, 5e3), min_size=1, max_size=30))
def test_the_axis_holds_every_size_and_can_be_read(sizes: list[float]) -> None:
    scale = size_scale(sizes)
    assert all(scale.low < math.log10(size) < scale.high for size in sizes)
    assert 1 <= len(scale.ticks) <= 10
    assert list(scale.ticks) == sorted(scale.ticks)


@pytest.mark.parametrize(("values", "low"), [([0.85, 1.0], 0.8), ([0.8], 0.8), ([0.79, 1.0], 0.5), ([0.2, math.nan], 0), ([], 0)])
def test_the_rates_start_where_there_is_something_to_see(values: list[float], low: float) -> None:
    assert rate_scale(values).low == low


@given(st.lists(st.floats(0, NARROWEST), min_size=1, max_size=47).map(sorted))
def test_marks_keep_apart_in_order_and_inside(places: list[float]) -> None:
    moved = spread(places, SPACE, NARROWEST)
    assert all(after - before >= SPACE - 1e-6 for before, after in pairwise(moved))
    assert moved[0] >= 0
    assert moved[-1] <= NARROWEST + 1e-6


def test_marks_that_are_apart_stay_and_others_move_alike() -> None:
    assert spread([0, 100, 100, 200], 15, 285) == [0, 92.5, 107.5, 200]
    assert spread([284, 285], 15, 285) == [270, 285]


def test_the_style_sheet_keeps_the_width_that_marks_are_set_apart_for(tmp_path: Path) -> None:
    assert f"min-width: {NARROWEST:.0f}px" in page(gather(run_of(tmp_path / "run", CARDS)))
