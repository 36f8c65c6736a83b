from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from eyetest.errors import StoreError
from eyetest.reports import export
from eyetest.reports.latex import as_latex, escaped
from eyetest.reports.sheet import Sheet, Span
from eyetest.reports.tables_csv import as_csv
from reports.making import answer, usual, write_run


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def sheets(folder: Path) -> dict[str, Sheet]:
    predictions = usual(40) + [answer(number, "knowledge", right=number % 2 == 0) for number in range(40)]
    run = write_run(folder, predictions, labels=("red", "green", "blue", "grey"))
    return {sheet.name: sheet for sheet in export.gather(run, samples=False).sheets}


def test_every_table_of_a_run_is_there(tmp_path: Path) -> None:
    expected = {"cells", "scores", "failures", "differences", "gap_rates", "knowledge", "classes", "confusion"}
    expected |= {"dependence", "ranks", "models"}
    expected |= {"score_with_and_without", "options", "score_and_knowledge", "sufficiency_necessity"}
    assert set(sheets(tmp_path)) == expected


def test_csv_has_the_exact_numbers_in_three_columns(tmp_path: Path) -> None:
    found = sheets(tmp_path)
    score = next(row for row in read(as_csv(found["scores"])) if (row["model"], row["condition"]) == ("seer", "image"))
    assert (score["metric"], score["score"], score["n"], score["guessing"]) == ("accuracy", "0.75", "40", "0.25")
    assert 0.59 < float(score["score low"]) < 0.60 < float(score["score high"]) < 0.86
    cells = read(as_csv(found["cells"]))[0]
    assert [cells[name] for name in ("right with", "right without", "only with", "both ways", "only without", "never")] == [
        "30", "10", "20", "10", "0", "10",
    ]  # fmt: skip
    gap = read(as_csv(found["gap_rates"]))[0]
    assert float(gap["gap rate"]) == pytest.approx(2 / 3)
    of_cell = [row for row in read(as_csv(found["confusion"])) if (row["model"], row["condition"]) == ("seer", "image")]
    assert [(row["right answer"], row["answer given"], row["count"]) for row in of_cell] == [
        ("red", "red", "30"),
        ("red", "green", "10"),
    ]


def test_csv_leaves_undefined_numbers_empty_and_disarms_formulas() -> None:
    sheet = Sheet(
        "x", "X", ("label", "score %"), (("=cmd|' /C calc'!A0", Span(float("nan"))), ("-1", Span(0.5)), ('a,"b\nc', Span(1.0)))
    )
    text = as_csv(sheet)
    assert text.startswith("label,score,score low,score high\r\n'=cmd|' /C calc'!A0,,,\r\n'-1,0.5,,\r\n")
    assert read(text)[2]["label"] == 'a,"b\nc'


def test_latex_prints_hostile_text_as_it_is() -> None:
    assert escaped("50 % of {a_b} & $x$ #1 ~^\\input{/etc/passwd}\n\0") == (
        r"50 \% of \{a\_b\} \& \$x\$ \#1 \textasciitilde{}\textasciicircum{}\textbackslash{}input\{/etc/passwd\} "
    )


def test_latex_is_a_booktabs_table_with_a_cell_a_column(tmp_path: Path) -> None:
    for sheet in sheets(tmp_path).values():
        text = as_latex(sheet)
        columns = len(re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1])  # type: ignore[index]
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert len(rows) == len(sheet.rows) + 1
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {columns - 1}
        assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
        assert "%" not in re.sub(r"\\%", "", text)
    scores = as_latex(sheets(tmp_path)["scores"]).replace("choice & ", "")
    assert r"seer & image & accuracy & unparsed as wrong & 75.0 [59.8, 85.8]" in scores


def test_files_are_written_and_a_place_that_cannot_be_is_named(tmp_path: Path) -> None:
    found = sheets(tmp_path / "run")
    written = export.write_csv(tmp_path / "deep" / "csv", list(found.values()))
    assert [path.name for path in written] == [f"{name}.csv" for name in found]
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreError, match=r"file/cells\.tex: the report cannot be written: .* Name another place\."):
        export.write_latex(blocked, list(found.values()))
