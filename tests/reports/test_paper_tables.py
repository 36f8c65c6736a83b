"""Tables 1 and 2 and Figures 2 and 3 of the second paper, from answers whose numbers are known."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eyetest.reports import charts, export, html
from eyetest.reports.gather import gather
from eyetest.reports.panels import number_of
from eyetest.reports.paper_figures import paper_view
from eyetest.reports.paper_printed import printed
from eyetest.reports.paper_tables import OPTIONS
from eyetest.reports.sheet import Sheet, Span
from eyetest.scorers.text import answer_in_output
from eyetest.types import Prediction, Response, Sample
from reports.making import answer, write_run

N = 40
RIGHT = {
    "image": 30,
    "no_image": 12,
    "shuffled": 28,
    "no_image+shuffled": 14,
    "open_ended": 20,
    "no_image+open_ended": 4,
    "knowledge": 24,
}
"""Of 40: how many are right."""


def asked(conditions: dict[str, int], **rest: object) -> Iterator[Prediction]:
    for condition, right in conditions.items():
        for number in range(N):
            open_ended = "open_ended" in condition
            one = answer(number, condition, right=number < right, **rest)  # type: ignore[arg-type]
            yield replace(one, sample=replace(one.sample, kind="text", choices=())) if open_ended else one


def sheets(folder: Path, predictions: list[Prediction]) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in gather(write_run(folder, predictions)).sheets}


def column(sheet: Sheet, name: str) -> list[object]:
    place = sheet.columns.index(name)
    return [row[place].value if isinstance(row[place], Span) else row[place] for row in sheet.rows]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sheet]:
    predictions = [one for model in ("a", "b") for one in asked(RIGHT, model=model)]
    return sheets(tmp_path_factory.mktemp("run"), predictions)


def test_figure_2_has_a_row_a_model_with_n_gap_rate_and_guessing(made: dict[str, Sheet]) -> None:
    sheet = made["score_with_and_without"]
    assert column(sheet, "model") == ["a", "b"]
    assert column(sheet, "with picture %") == [0.75, 0.75]
    assert column(sheet, "without picture %") == [0.3, 0.3]
    assert column(sheet, "gap rate %") == pytest.approx([0.6, 0.6])
    assert column(sheet, "guessing %") == [0.25, 0.25]
    assert column(sheet, "n with") == column(sheet, "n without") == [40, 40]


def test_table_1_pairs_every_way_of_asking_with_and_without_the_picture(made: dict[str, Sheet]) -> None:
    sheet = made["options"]
    assert column(sheet, "options") == [*OPTIONS, *OPTIONS]
    assert column(sheet, "with picture %")[:3] == [0.75, 0.7, 0.5]
    assert column(sheet, "without picture %")[:3] == [0.3, 0.35, 0.1]
    assert column(sheet, "gap rate %")[:3] == pytest.approx([0.6, 0.5, 0.8])
    ends = [(row[4].low, row[4].high) for row in sheet.rows if isinstance(row[4], Span)]
    assert len(ends) == 6
    assert all(low < value < high for (low, high), value in zip(ends, [0.75, 0.7, 0.5] * 2, strict=True))


def test_table_1_reads_conditions_composed_either_way_round(tmp_path: Path) -> None:
    found = sheets(tmp_path, list(asked({"image": 30, "shuffled": 28, "shuffled+blank": 14})))["options"]
    assert column(found, "without picture %")[1] == 0.35
    assert math.isnan(column(found, "without picture %")[0])  # type: ignore[arg-type]
    assert column(found, "n without") == [0, 40]


def test_table_2_is_of_the_questions_that_have_a_knowledge_question(tmp_path: Path) -> None:
    predictions = [
        one
        for one in asked({"image": 30, "no_image": 12, "knowledge": 16})
        if one.condition != "knowledge" or one.sample.id < "q020"
    ]
    found = sheets(tmp_path, predictions)["score_and_knowledge"]
    assert column(found, "with picture %") == [1.0]
    assert column(found, "without picture %") == [0.6]
    assert column(found, "as knowledge %") == [0.8]
    assert column(found, "n with") == column(found, "n as knowledge") == [20]


def test_figure_3_names_both_readings_of_necessity(tmp_path: Path) -> None:
    # 24 known and seen, 6 seen and not known, none known and not seen, 10 neither.
    found = sheets(tmp_path, list(asked({"image": 30, "knowledge": 24})))["sufficiency_necessity"]
    assert column(found, "SuR %") == [0.8]
    assert column(found, "SuR of") == [30]
    assert column(found, "NeR %") == [1.0]
    assert column(found, "NeR of") == [10]
    assert column(found, "wrong with the picture if not known %") == [10 / 16]
    assert column(found, "wrong with the picture if not known of") == [16]


@pytest.mark.parametrize(
    ("conditions", "absent"),
    [
        (["image"], {"score_with_and_without", "options", "score_and_knowledge", "sufficiency_necessity"}),
        (["image", "no_image"], {"options", "score_and_knowledge", "sufficiency_necessity"}),
        (["image", "shuffled"], {"score_with_and_without", "score_and_knowledge", "sufficiency_necessity"}),
        (["no_image", "knowledge"], {"score_with_and_without", "options", "sufficiency_necessity"}),
    ],
)
def test_what_was_not_asked_is_left_out(tmp_path: Path, conditions: list[str], absent: set[str]) -> None:
    found = sheets(tmp_path, list(asked({name: RIGHT[name] for name in conditions})))
    assert absent & set(found) == set()
    names = {"score_with_and_without", "options", "score_and_knowledge", "sufficiency_necessity"}
    assert names - absent <= set(found)


def test_an_alias_anywhere_in_the_output_is_right_by_the_papers_rule_alone(tmp_path: Path) -> None:
    said = "I do not know."
    predictions = [
        replace(one, sample=replace(one.sample, kind="text", choices=(), target=("no",)), response=Response(said))
        for one in asked({"image": 0, "no_image": 0}, status="refused")
    ]
    found = sheets(tmp_path, predictions)["score_with_and_without"]
    assert column(found, "with picture %") == [0.0]
    assert column(found, "answer in output with picture %") == [1.0]


@pytest.mark.parametrize(
    ("target", "text", "right"),
    [
        (("no",), "I do not know.", True),
        (("Eiffel Tower",), "it is the EIFFEL TOWER, in Paris", True),
        (("Caf\u00e9",), "Cafe\u0301 Central", True),
        (("Paris", ""), "London", False),
        (("Paris",), "<think>Paris?</think>London", False),
        (("Paris",), "", False),
    ],
)
def test_the_papers_rule(target: tuple[str, ...], text: str, right: bool) -> None:
    assert answer_in_output(Sample("a", "Where?", target, kind="text"), text) is right


def test_the_papers_rule_takes_a_number_inside_a_range() -> None:
    asked = Sample("a", "How tall is it?", ("5",), kind="text", metadata={"range": [4.5, 5.5]})
    assert answer_in_output(asked, "about 4.8 m")
    assert not answer_in_output(asked, "about 9 m")


def test_failed_calls_are_outside_n_and_bound_the_papers_rule(tmp_path: Path) -> None:
    made = list(asked({"image": 30}))
    made[:10] = [replace(one, response=Response("", "error", error="timeout")) for one in made[:10]]
    texts = [replace(one, sample=replace(one.sample, kind="text", choices=())) for one in made]
    [row] = [row for row in gather(write_run(tmp_path, texts)).results.rows if row.estimate.metric == "answer_in_output"]
    assert (row.estimate.n, row.estimate.n_failed) == (30, 10)
    assert row.estimate.value == pytest.approx(20 / 30)
    assert (row.if_failed_wrong, row.if_failed_right) == (pytest.approx(20 / 40), pytest.approx(30 / 40))


def printed_run(folder: Path, **rest: object) -> Sheet:
    predictions = []
    for model, seen, blind in (("Phi-3.5", 20, 10), ("other", 30, 12)):
        predictions += asked({"image": seen, "no_image": blind, "knowledge": 24}, model=model, task="viquae", **rest)
        predictions += asked({"image": seen, "no_image": blind}, model=model, task="mmmu", **rest)
    predictions = [
        replace(one, sample=replace(one.sample, kind="text", choices=())) if one.task == "viquae" else one for one in predictions
    ]
    return sheets(folder, predictions)["paper_printed"]


def test_the_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    sheet = printed_run(tmp_path)
    found = {(row[0], row[1]): row for row in sheet.rows}
    mean = found["viquae", "score rate without the picture, mean of models"]
    assert (str(mean[2]), mean[3], mean[5]) == ("25.0", "mean of 2 models", 40)
    assert isinstance(mean[4], Span)
    assert mean[4].value == pytest.approx(11 / 40)
    assert mean[4].low < 11 / 40 < mean[4].high
    assert isinstance(mean[6], Span)
    assert mean[6].value == pytest.approx(11 / 40)
    gap = found["mmmu", "gap rate, mean of the models' own"]
    assert isinstance(gap[4], Span)
    assert gap[4].value == pytest.approx((0.5 + 0.6) / 2)
    largest = found["mmmu", "gap rate, largest of a model"]
    assert (str(largest[2]), largest[3]) == ("24.6", "other")
    assert found["viquae", "SuR, of Phi-3, more than"][3] == "Phi-3.5"


def test_short_answers_of_a_task_of_choices_are_in_no_printed_figure(tmp_path: Path) -> None:
    short = [
        replace(one, sample=replace(one.sample, id=f"short {one.sample.id}", kind="text", choices=()))
        for one in asked({"image": 40, "no_image": 0}, task="mmmu")
    ]
    found = sheets(tmp_path, [*asked({"image": 30, "no_image": 12}, task="mmmu"), *short])["paper_printed"]
    assert [(str(row[1]), row[3]) for row in found.rows] == [
        ("gap rate, mean of the models' own", "mean of 1 model"),
        ("gap rate, largest of a model", "seer"),
    ]
    assert column(found, "ours %") == pytest.approx([0.6, 0.6])


def test_the_mean_gap_rate_of_one_model_has_the_interval_of_its_own(tmp_path: Path) -> None:
    run = gather(write_run(tmp_path, list(asked({"image": 30, "no_image": 12}, task="mmmu"))))
    found = {sheet.name: sheet for sheet in run.sheets}
    mean = next(row[4] for row in found["paper_printed"].rows if "mean" in str(row[1]))
    own = found["score_with_and_without"].rows[0][8]
    assert isinstance(mean, Span)
    assert isinstance(own, Span)
    # Student's t and the delta method on the gap, against the delta method on its logarithm.
    assert (mean.value, mean.low, mean.high) == pytest.approx((own.value, own.low, own.high), abs=0.05)


def test_models_that_answered_other_questions_give_a_mean_without_an_interval(tmp_path: Path) -> None:
    predictions = [*asked({"image": 30, "no_image": 12}, task="viquae", model="a")]
    predictions += [one for one in asked({"image": 30, "no_image": 12}, task="viquae", model="b") if one.sample.id < "q030"]
    ours = sheets(tmp_path, predictions)["paper_printed"].rows[0][4]
    assert isinstance(ours, Span)
    assert ours.value == pytest.approx((12 / 40 + 12 / 30) / 2)
    assert math.isnan(ours.low)


def test_what_is_printed_is_a_share_of_a_dataset_of_the_paper() -> None:
    assert {one.task for one in printed()} == {"viquae", "scienceqa", "infoseek", "mmmu"}
    assert all(0 < one.value < 1 and one.options in OPTIONS and one.words for one in printed())


# --- the page ----------------------------------------------------------------------------------------------------------


def test_the_section_stands_where_there_is_something_to_compare(tmp_path: Path) -> None:
    several = gather(write_run(tmp_path / "a", [one for model in "ab" for one in asked(RIGHT, model=model)]))
    page = html.page(several)
    assert '<a href="#across">' in page
    for words in ("Figure 2", "Table 1", "Table 2", "Figure 3", "NeR, as the text reads it", "30.0 → 75.0"):
        assert words in page
    alone = gather(write_run(tmp_path / "b", list(asked({"image": 30, "no_image": 12}))))
    assert 'id="across"' not in html.page(alone)


def test_a_line_of_figure_2_has_a_hollow_and_a_filled_mark(tmp_path: Path) -> None:
    found = gather(write_run(tmp_path, list(asked({"image": 30, "no_image": 12}))))
    [group] = paper_view(found.facts, found.sheets, number_of(found.models)).with_and_without.groups
    [line] = group.lines
    assert (line.value, line.interval, line.n) == ("30.0 → 75.0", "", 40)
    assert line.drawing.count("hollow") == 1
    assert f'x="{charts.SHARE.x(0.75):.2f}%"' in line.drawing


def test_a_withheld_interval_is_said(tmp_path: Path) -> None:
    few = [one for one in asked({"image": 30, "no_image": 12}) if one.sample.id < "q005"]
    found = gather(write_run(tmp_path, few))
    chart = paper_view(found.facts, found.sheets, number_of(found.models)).with_and_without
    assert chart.withheld
    assert chart.groups[0].lines[0].interval == "[withheld]"


def test_csv_and_latex_have_the_tables(tmp_path: Path) -> None:
    found = gather(write_run(tmp_path / "run", [one for model in "ab" for one in asked(RIGHT, model=model)]))
    export.write_csv(tmp_path / "csv", found.to_keep)
    export.write_latex(tmp_path / "tex", found.sheets)
    with (tmp_path / "csv" / "options.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["gap rate"]) for row in rows[:3]] == pytest.approx([0.6, 0.5, 0.8])
    assert all(float(row["with picture low"]) < float(row["with picture"]) < float(row["with picture high"]) for row in rows)
    assert r"\label{tab:sufficiency_necessity}" in (tmp_path / "tex" / "sufficiency_necessity.tex").read_text(encoding="utf-8")
