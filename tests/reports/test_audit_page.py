from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from eyetest.errors import StoreError
from eyetest.evaluation.audit_run import audit_run
from eyetest.reports import export
from eyetest.reports.audit_files import print_audits, write_audit
from eyetest.reports.text import terminal
from eyetest.types import Prediction, Response
from reports.making import answer, write_run


def seen(n: int, with_: float, without: float, known: float, **fields: object) -> Iterable[Prediction]:
    """n questions; the first `known` of them known, the last `with_` seen."""
    for number in range(n):
        place = number / n
        yield answer(number, "image", right=place >= 1 - with_, **fields)  # type: ignore[arg-type]
        yield answer(number, "no_image", right=place >= 1 - without, **fields)  # type: ignore[arg-type]
        yield answer(number, "knowledge", right=place < known, **fields)  # type: ignore[arg-type]


def page(directory: Path, out: Path, **options: bool) -> str:
    table, results, found = audit_run(directory)
    gathered = replace(export.gather(directory, summed=(table, results)), audits=found)
    return export.write_page(out, gathered, export.Options(**options)).read_text(encoding="utf-8")


def test_the_page_says_first_what_the_data_and_the_models_are(tmp_path: Path) -> None:
    rows = [*seen(400, 0.6, 0.25, 0.9, model="blinkered"), *seen(400, 0.6, 0.25, 0.02, model="unread")]
    text = page(write_run(tmp_path / "run", rows), tmp_path / "page.html")
    head = text[text.index('<section id="audit">') : text.index('<section id="words">')]
    assert "toys</bdi>: needs its pictures." in head or "toys: needs its pictures." in head
    assert "mostly fails to see." in head
    assert "mostly fails to know." in head
    assert "knows but does not see" in head
    assert "nan" not in head
    assert "q000" in head


def test_redacted_pages_show_no_sample_id(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", seen(60, 0.6, 0.25, 0.9))
    text = page(directory, tmp_path / "page.html", redact=True)
    head = text[text.index('<section id="audit">') : text.index('<section id="words">')]
    assert "q000" not in head
    assert "knows but does not see" in head


def test_a_plain_report_has_no_audit(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", seen(40, 0.6, 0.25, 0.9))
    export.write_page(tmp_path / "page.html", export.gather(directory))
    assert 'id="audit"' not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_names_from_outside_are_escaped(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", seen(40, 0.6, 0.25, 0.9, model="<script>x</script>", id="<b>q</b>"))
    assert "<script>x" not in page(directory, tmp_path / "page.html")


def test_files_hold_every_number_and_every_id(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", seen(80, 0.5, 0.25, 0.5))
    whole, listed = write_audit(directory, audit_run(directory)[2])
    found = json.loads(whole.read_text(encoding="utf-8"))["audits"][0]
    assert found["verdict"]["model"]["words"]
    assert [len(part["ids"]) for part in found["lists"]] == [0, 40, 40, 0]
    rows = list(csv.DictReader(listed.read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == 80
    assert {row["list"] for row in rows} == {"knows but does not see", "sees without knowing"}


def test_an_undefined_gap_is_no_number_in_the_file(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", seen(40, 0.0, 0.5, 0.5))
    whole, _ = write_audit(directory, audit_run(directory)[2])
    found = json.loads(whole.read_text(encoding="utf-8"))["audits"][0]
    assert found["gap"]["value"] is None
    assert found["verdict"]["data"]["code"] == "nothing_right"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", seen(20, 0.5, 0.5, 0.5))
    (directory / "audit").write_text("in the way")
    with pytest.raises(StoreError, match=r"audit: cannot be made: .*Allow writing there"):
        write_audit(directory, audit_run(directory)[2])


def test_the_terminal_says_the_verdict_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    down = answer(400, "image", response=Response(status="error", error="down"))
    directory = write_run(tmp_path / "run", [*seen(400, 0.6, 0.25, 0.9), down])
    print_audits(terminal(), audit_run(directory)[2], ("open_ended, because no question has options",))
    said = capsys.readouterr().out
    assert said.startswith("\ntoys: needs its pictures.\n  seer, the data: needs its pictures.")
    assert "Mind: image: 1 answer outside n, because the call failed" in said
    assert said.endswith("Left out: open_ended, because no question has options.\n")
    assert "nan" not in said


def test_nothing_to_audit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    print_audits(terminal(), ())
    assert capsys.readouterr().out == "Nothing to audit: no question was asked with its picture.\n"
