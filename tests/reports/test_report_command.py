from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image as Pixels

from eyetest.cli import main
from reports.making import usual, write_run


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["report", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_tables_are_the_default_and_files_come_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = write_run(tmp_path / "run", usual(40))
    assert run(directory) == 0
    said = capsys.readouterr().out
    assert said.startswith("\nIn words\n  seer needs the picture: 75 % right with the picture")
    assert "accuracy with 95 % intervals" in said
    page, tables, latex = tmp_path / "out" / "report.html", tmp_path / "csv", tmp_path / "latex"
    assert run(directory, "--html", page, "--csv", tables, "--latex", latex) == 0
    said = capsys.readouterr().out
    assert said.startswith("seer needs the picture: 75 % right with the picture")
    assert f"Written: {page}" in said
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tables / "scores.csv").exists()
    assert (latex / "scores.tex").exists()
    assert "accuracy with 95 % intervals" not in said


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (1, "1 picture was not found: make the report from the folder in which the run was started."),
        (2, "2 pictures were not found: make the report from the folder in which the run was started."),
    ],
)
def test_pictures_that_are_not_found_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], n: int, message: str
) -> None:
    names = [f"{number}.png" for number in range(n)]
    (tmp_path / "started").mkdir()
    for name in names:
        Pixels.new("RGB", (4, 4)).save(tmp_path / "started" / name)
    directory = write_run(tmp_path / "run", [one for name in names for one in usual(4, picture=name, id=name)])
    page = tmp_path / "page.html"
    monkeypatch.chdir(tmp_path / "started")
    assert run(directory, "--html", page, "--embed-pictures") == 0
    assert capsys.readouterr().err == ""
    assert page.read_text(encoding="utf-8").count("data:image/png") >= n
    monkeypatch.chdir(tmp_path)
    for flags, said in ((["--embed-pictures"], message + "\n"), ([], ""), (["--redact"], "")):
        assert run(directory, "--html", page, *flags) == 0
        assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--redact"], "Name the page with --html FILE."),
        (["--embed-pictures", "--csv", "x"], "Name the page with --html FILE."),
        (["--html", "x.html", "--redact", "--embed-pictures"], "contradict each other. Leave one out."),
        (["--html", "x.html", "--by", "metadata.nowhere"], "no sample has a metadata field 'nowhere'"),
    ],
)
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str) -> None:
    assert run(write_run(tmp_path / "run", usual(4)), *flags) == 2
    assert message in capsys.readouterr().err


def test_a_run_that_did_not_end_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = write_run(tmp_path / "run", usual(4))
    (directory / "predictions.jsonl").unlink()
    assert run(directory, "--html", tmp_path / "x.html") == 2
    assert "the run did not end" in capsys.readouterr().err
