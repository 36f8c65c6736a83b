from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.made import go, item, items, write_items
from eyetest.cli import main
from eyetest.config import run_config
from eyetest.evaluation.audit import Audit
from eyetest.evaluation.audit_run import CONDITIONS, audit_run
from eyetest.evaluation.audit_verdict import Data, Verdict, strongest, verdict
from eyetest.evaluation.setup import models
from eyetest.models.scripted import scripted_from
from eyetest.reports.audit_words import CAUSE, DATA, cause_evidence, data_evidence, warnings
from eyetest.store import to_json
from eyetest.types import Image, Model, Origin, Response, Sample

OPTIONS = ("red", "green", "blue", "grey")


def known(n: int, **fields: Any) -> list[Sample]:
    """Choice items with four options, a picture and a knowledge question each."""
    return [
        item(
            number,
            **{"choices": OPTIONS, "target": (OPTIONS[number % 4],), "knowledge_question": f"What colour is thing {number}?"}
            | fields,
        )
        for number in range(n)
    ]


def phantom(spec: str, seed: int = 0) -> Model:
    config = run_config({"models": [{"model": f"phantom:{spec}", "name": "seer"}]}, "test")
    return models(config.models, seed=seed)[0]


def leaking(spec: str, share: float) -> Model:
    """A phantom that, without the picture, still gets a share of the questions right that it gets right with it."""
    truth: Any = phantom(spec)
    whole = known(2400)

    def answer(origin: Origin) -> Response:
        number = int(origin.sample.id[1:])
        if origin.condition == "no_image" and number % 100 < 100 * share:
            origin = Origin(origin.task, whole[number], "image")
        found: Response = truth.answer(origin)
        return found

    return scripted_from(answer, "seer")


def audited(
    out: Path,
    samples: Sequence[Sample],
    model: Model,
    conditions: Sequence[str] = ("image", "no_image", "knowledge"),
    **more: Any,
) -> Audit:
    go(out, samples, model, conditions=list(conditions), **more)
    found = audit_run(out)[2]
    assert len(found) == 1
    return found[0]


def of(right: Callable[[Origin], bool]) -> Model:
    """A model that is right where `right` says so."""

    def answer(origin: Origin) -> str:
        sample = origin.sample
        wrong = next((one for one in sample.choices if one not in sample.target), "")
        return sample.target[0] if right(origin) else wrong or "nothing"

    return scripted_from(answer, "made")


# Acceptance: three phantoms of different make-up


@pytest.mark.parametrize(
    ("model", "data", "cause"),
    [
        (lambda: phantom("perception=0.95,knowledge=0.3"), "needs", "know"),
        (lambda: phantom("perception=0.3,knowledge=0.95"), "needs", "see"),
        (lambda: leaking("perception=0.9,knowledge=0.9", 0.5), "half", "both"),
    ],
)
def test_three_phantoms_are_told_apart(tmp_path: Path, model: Callable[[], Model], data: Data, cause: str) -> None:
    audit = audited(tmp_path / "run", known(2400), model())
    made = verdict(audit)
    assert (made.data, made.cause) == (data, cause)


def test_the_share_of_failures_by_cause_is_that_of_the_phantom(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(2000), phantom("perception=0.6,knowledge=0.7"))
    found = audit.known_but_failed
    assert found is not None
    truth = 0.7 * 0.4 / (1 - 0.6 * 0.7)  # known but not perceived, among what is not both
    assert found.low < truth < found.high
    assert found.high - found.low < 0.12


def test_a_model_that_never_guesses_is_not_corrected_for_guessing(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(1000), phantom("perception=0.6,knowledge=0.7,guess=none"))
    found = audit.known_but_failed
    assert found is not None
    assert audit.knowledge is not None
    assert found.value == pytest.approx(1 - audit.knowledge.ner.value)


def test_the_four_lists_hold_every_question_once(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(200), phantom("perception=0.6,knowledge=0.7"))
    ids = [name for part in audit.lists for name in part.ids]
    assert sorted(ids) == [f"q{number:04d}" for number in range(200)]
    assert sum(part.share.value for part in audit.lists) == pytest.approx(1)
    assert audit.knowledge is not None
    n11, n10, n01, n00 = audit.knowledge.cells
    assert [len(part.ids) for part in audit.lists] == [n11, n01, n10, n00]
    for part in audit.lists:
        assert part.share.low <= len(part.ids) / 200 <= part.share.high


def test_repeats_make_no_more_questions(tmp_path: Path) -> None:
    model = phantom("perception=0.6,knowledge=0.7,drift=0.3")
    audit = audited(tmp_path / "run", known(60), model, repeats=3, generation={"temperature": 1.0})
    assert sum(len(part.ids) for part in audit.lists) == 60
    assert {part.share.n for part in audit.lists} == {60}


def test_guessing_is_counted_from_the_real_number_of_options(tmp_path: Path) -> None:
    samples = [item(number, choices=OPTIONS[:2] if number % 2 else OPTIONS, target=("red",)) for number in range(40)]
    audit = audited(tmp_path / "run", samples, of(lambda _: True), ("image", "no_image", "open_ended"))
    image, free = audit.under("image"), audit.under("open_ended")
    assert image is not None
    assert free is not None
    assert image.guess == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert math.isnan(free.guess)


def test_bounds_and_statuses(tmp_path: Path) -> None:
    def answer(origin: Origin) -> Response:
        number = int(origin.sample.id[1:])
        if number < 4:
            return Response(status="refused")
        if number < 6:
            return Response(status="error", error="down")
        return Response("xyz" if number < 9 else origin.sample.target[0])

    audit = audited(tmp_path / "run", known(40), scripted_from(answer), ("image", "no_image"))
    image = audit.under("image")
    assert image is not None
    assert (image.score.n_refused, image.score.n_unparsed, image.score.n_failed, image.score.n) == (4, 3, 2, 38)
    assert (image.all_wrong, image.all_right) == (31 / 40, 1.0)
    assert "image: 2 answers outside n, because the call failed" in " ".join(warnings(audit))


def test_choice_questions_without_their_options_stay_with_the_choice_questions(tmp_path: Path) -> None:
    free = [item(number, kind="text", choices=(), target=("red",)) for number in range(60, 80)]
    go(tmp_path / "run", [*known(60), *free], of(lambda _: True), conditions=["image", "no_image", "open_ended"])
    found = {audit.kind: audit for audit in audit_run(tmp_path / "run")[2]}
    assert {kind: [one.condition for one in audit.asked] for kind, audit in found.items()} == {
        "choice": ["image", "no_image", "open_ended"],
        "text": ["image", "no_image"],
    }
    open_ended = found["choice"].under("open_ended")
    assert open_ended is not None
    assert open_ended.score.n == 60
    assert [found[kind].makeup.questions for kind in ("choice", "text")] == [60, 20]


def test_nothing_gained_and_nothing_beyond_one_answer(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(2000, target=("red",)), of(lambda _: True), ("image", "no_image"))
    assert verdict(audit).data == "gains_nothing"


# Verdicts on the data


@pytest.mark.parametrize(
    ("n", "with_", "without", "data"),
    [
        (400, 0.9, 0.85, "most_not"),
        (2000, 0.7, 0.7, "needs_not"),
        (400, 0.6, 0.8, "better_without"),
        (40, 0.7, 0.65, "open"),
        (8, 1.0, 0.0, "few"),
        (60, 0.3, 0.2, "guessing"),
        (400, 0.9, 0.4, "part"),
        (2000, 0.25, 0.25, "guessing"),
    ],
)
def test_verdict_on_the_data(tmp_path: Path, n: int, with_: float, without: float, data: Data) -> None:
    def right(origin: Origin) -> bool:
        share = with_ if origin.condition == "image" else without
        return (int(origin.sample.id[1:]) * 37) % n < share * n

    audit = audited(tmp_path / "run", known(n), of(right), ("image", "no_image"))
    made = verdict(audit)
    assert made.data == data
    said = data_evidence(audit, made)
    assert "nan" not in said
    assert "–" not in said
    assert math.isnan(made.remaining.value) == (data not in ("most_not", "part"))


def test_what_cannot_be_told_names_the_smallest_detectable_gap(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(20), of(lambda origin: int(origin.sample.id[1:]) % 10 < 7), ("image", "no_image"))
    made = verdict(audit)
    assert made.data == "open"
    assert "cannot be told at this n" in DATA[made.data]
    assert "This n would not reliably find any gap." in data_evidence(audit, made)

    def right(origin: Origin) -> bool:
        return (int(origin.sample.id[1:]) + (origin.condition == "image")) % 10 < 7

    audit = audited(tmp_path / "other", known(100), of(right), ("image", "no_image"))
    made = verdict(audit)
    assert made.data == "open"
    assert 0.05 < audit.detectable < 0.3
    said = data_evidence(audit, made)
    assert f"The smallest gap that this n finds in four of five cases is {100 * audit.detectable:.1f} points." in said


def test_refusing_without_the_picture_is_no_need_of_it(tmp_path: Path) -> None:
    def answer(origin: Origin) -> Response:
        return Response(origin.sample.target[0]) if origin.condition == "image" else Response(status="refused")

    audit = audited(tmp_path / "run", known(100), scripted_from(answer), ("image", "no_image"))
    assert verdict(audit).data == "unread"
    assert "more than 20 % of the answers are refused or unread" in DATA["unread"]


def test_one_model_that_leaks_is_enough() -> None:
    found = [Verdict("needs", "see"), Verdict("part", "see"), Verdict("open", "know")]
    assert strongest(found) == found[1]
    assert strongest([Verdict("open", "see"), Verdict("needs", "see")]) == Verdict("needs", "see")
    assert strongest([Verdict("few", "see"), Verdict("open", "see"), Verdict("unclear", "know")]) == Verdict("unclear", "know")
    assert strongest([Verdict("few", "see")]) == Verdict("few", "see")
    assert strongest([]) is None


# Bad input


def test_no_right_answer_with_the_picture(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(40), of(lambda origin: origin.condition == "no_image"))
    made = verdict(audit)
    assert made.data == "nothing_right"
    assert "the gap rate is undefined and not printed" in " ".join(warnings(audit))
    assert math.isnan(made.remaining.value)


def test_without_bounds_of_the_gap_nothing_is_concluded(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(400), phantom("perception=0.9,knowledge=0.9"))
    assert audit.corrected_gap is not None
    unbounded = replace(audit, corrected_gap=replace(audit.corrected_gap, low=math.nan, high=math.nan))
    assert verdict(audit).data == "needs"
    assert verdict(unbounded).data == "unclear"


def test_better_without_is_said_of_a_model_that_guesses_with_the_picture(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(200), of(lambda o: int(o.sample.id[1:]) % 4 < (1 if o.condition == "image" else 3)))
    assert verdict(audit).data == "better_without"


def test_a_negative_gap_is_said_and_no_share(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(100), of(lambda o: o.condition != "image" or int(o.sample.id[1:]) % 2 == 0))
    made = verdict(audit)
    assert made.data == "better_without"
    assert "The gap rate is negative" in " ".join(warnings(audit))
    assert "The gap is negative" in data_evidence(audit, made)


def test_one_option_is_named_and_not_guessed(tmp_path: Path) -> None:
    samples = known(30) + [item(number, choices=("red",), target=("red",)) for number in range(30, 40)]
    audit = audited(tmp_path / "run", samples, of(lambda _: True))
    image = audit.under("image")
    assert image is not None
    assert image.guess == pytest.approx(0.25)
    said = " ".join(warnings(audit))
    assert "10 questions with a single option: nothing to guess, left out of the score of guessing." in said
    assert "10 questions without a knowledge question" in said
    assert audit.makeup.without_knowledge == 10


def test_options_that_are_all_the_same(tmp_path: Path) -> None:
    samples = [item(number, choices=("red", "red"), target=("red",)) for number in range(40)]
    audit = audited(tmp_path / "run", samples, of(lambda _: True), ("image", "no_image"))
    made = verdict(audit)
    assert made.data == "no_choice"
    said = list(warnings(audit))
    assert "40 questions whose options are all the same text: any answer is right." in said
    assert data_evidence(audit, made) == ""


def test_the_same_right_answer_everywhere_is_named(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(40, target=("red",)), of(lambda _: True), ("image", "no_image"))
    assert "The right answer is the same for every question" in " ".join(warnings(audit))


def test_pictures_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    samples = [*known(40), item(40, choices=OPTIONS, target=("red",), images=(Image(path=str(tmp_path / "gone.png")),))]
    audit = audited(tmp_path / "run", samples, of(lambda _: True), ("image", "no_image"))
    assert "image: 1 answer outside n, because the call failed, the picture cannot be read" in " ".join(warnings(audit))


def test_without_knowledge_nothing_is_said_of_causes(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", items(40), of(lambda _: True), ("image", "no_image"))
    made = verdict(audit)
    assert made.cause == "not_asked"
    assert "no knowledge question was asked" in CAUSE[made.cause]
    assert cause_evidence(audit, made) == ""
    assert audit.lists == ()


@pytest.mark.parametrize(("failing", "cause"), [(0, "hardly"), (5, "few")])
def test_too_few_failures_have_no_cause(tmp_path: Path, failing: int, cause: str) -> None:
    n = 400 if not failing else 40
    audit = audited(tmp_path / "run", known(n), of(lambda o: o.condition != "image" or int(o.sample.id[1:]) >= failing))
    assert verdict(audit).cause == cause


def test_a_picture_free_run_has_no_verdict(tmp_path: Path) -> None:
    audit = audited(tmp_path / "run", known(40), of(lambda _: True), ("image",))
    assert verdict(audit).data == "not_asked"


def test_backbone_gives_gain_and_leakage(tmp_path: Path) -> None:
    config = run_config({"models": [{"model": "phantom:perception=0.9"}, {"model": "chance"}]}, "test")
    pair_ = models(config.models, seed=0)
    go(
        tmp_path / "run", known(100), *pair_, conditions=["image", "no_image"],
        models=[{"model": "phantom:perception=0.9"}, {"model": "chance"}],
        backbones={pair_[0].name: "chance"},
    )  # fmt: skip
    first = audit_run(tmp_path / "run")[2][0]
    assert {row.estimate.metric for row in first.findings} >= {"multimodal_gain", "leakage"}


# Commands


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return int(ended.value.code or 0)


def test_the_audit_of_exported_completions_is_the_audit_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = "perception=0.7,knowledge=0.6,refuse=0.1,format_error=0.05,drift=0.2"
    conditions = ",".join((*CONDITIONS, "rotated"))
    asked = ["--condition", conditions, "--limit", 30, "--no-cache", "--repeats", 2]
    assert run("audit", "eyechart_flags", "--model", f"seer=phantom:{flags}", *asked, "--out", tmp_path / "run") == 0
    assert run("export", tmp_path / "run", "--out", tmp_path / "seer.jsonl") == 0
    assert f"--predictions 'seer={tmp_path / 'seer.jsonl'}'" in capsys.readouterr().out
    again = ["--predictions", f"seer={tmp_path / 'seer.jsonl'}", *asked, "--out", tmp_path / "again"]
    assert run("audit", "eyechart_flags", *again) == 0
    first, second = (json.loads((tmp_path / name / "audit.json").read_text()) for name in ("run", "again"))
    assert first["audits"]
    assert first == second
    assert (tmp_path / "run/audit/items.csv").read_text() == (tmp_path / "again/audit/items.csv").read_text()
    capsys.readouterr()
    assert run("audit", tmp_path / "run", "--html", tmp_path / "page.html") == 0
    assert json.loads((tmp_path / "run/audit.json").read_text()) == first
    page = (tmp_path / "page.html").read_text()
    assert page.index('id="audit"') < page.index('id="words"')


def test_every_status_survives_the_export(tmp_path: Path) -> None:
    statuses = ("ok", "truncated", "refused", "blocked", "error", "bad_image", "ok")

    def answer(origin: Origin) -> Response:
        number = int(origin.sample.id[1:])
        return Response(OPTIONS[number % 3], statuses[number % 7], error="down" if number % 7 in (3, 4, 5) else None)  # type: ignore[arg-type]

    first = audited(tmp_path / "run", known(84), scripted_from(answer, "seer"))
    assert run("export", tmp_path / "run", "--out", tmp_path / "out" / "seer.jsonl") == 0
    config = run_config({"models": [{"model": f"scripted:{tmp_path}/out/seer.jsonl", "name": "seer"}]}, "test")
    second = audited(tmp_path / "again", known(84), models(config.models, seed=0)[0])
    assert to_json(first) == to_json(second)
    image = first.under("image")
    assert image is not None
    assert (image.score.n_failed, image.score.n_refused) == (24, 24)


def test_several_models_have_a_file_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = ["--model", "a=oracle", "--model", "b b=chance", "--condition", "image", "--limit", 12, "--no-cache"]
    assert run("audit", "eyechart_words", *two, "--out", tmp_path / "run") == 0
    assert run("export", tmp_path / "run", "--out", tmp_path / "x.jsonl") == 0
    assert {path.name for path in tmp_path.glob("*.jsonl")} == {"x-a.jsonl", "x-b_b.jsonl"}
    capsys.readouterr()
    assert run("export", tmp_path / "nowhere", "--out", tmp_path / "x.jsonl") == 2
    assert "nowhere" in capsys.readouterr().err


def test_an_export_never_takes_the_place_of_a_file_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go(tmp_path / "run", known(12), of(lambda _: True), conditions=["image"])
    before = (tmp_path / "run" / "predictions.jsonl").read_bytes()
    assert run("export", tmp_path / "run", "--out", tmp_path / "run" / "predictions.jsonl") == 2
    assert "is a file of a run itself. Name another." in capsys.readouterr().err
    assert run("audit", tmp_path / "run", "--html", tmp_path / "run" / "results.json") == 2
    assert "is a file of the run itself" in capsys.readouterr().err
    assert (tmp_path / "run" / "predictions.jsonl").read_bytes() == before


def test_an_export_replaces_completions_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go(tmp_path / "run", known(12), of(lambda _: True), conditions=["image"])
    out = tmp_path / "x.jsonl"
    assert run("export", tmp_path / "run", "--out", out) == 0
    before = out.read_bytes()
    assert before.count(b"\n") == 12
    assert run("export", tmp_path / "run", "--out", out) == 0
    assert out.read_bytes() == before
    answers = tmp_path / "run" / "predictions.jsonl"
    answers.write_bytes(answers.read_bytes()[:-50])
    assert run("export", tmp_path / "run", "--out", out) == 2
    assert "predictions.jsonl:12: not a prediction of eyetest" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert not list(tmp_path.glob("*.partial"))


def test_an_export_overwrites_nothing_but_completions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go(tmp_path / "run", known(12), of(lambda _: True), conditions=["image"])
    data, table, pipe = data_file(tmp_path, 2), tmp_path / "t.csv", tmp_path / "pipe"
    table.write_text("id,completion\n")
    os.mkfifo(pipe)
    for path, message in (
        (data, "holds something else than completions, which would be lost. Name another file."),
        (table, "holds something else than completions, which would be lost. Name another file."),
        (pipe, "is a named pipe, not a file. Move it away, or name another place."),
        (tmp_path / "run", "is a folder. Name a file in it."),
        (data / "x.jsonl", "cannot be written: "),
    ):
        before = path.read_bytes() if path.is_file() else b""
        assert run("export", tmp_path / "run", "--out", path) == 2
        assert f"{path}: {message}" in capsys.readouterr().err
        assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_full_disk_is_said_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go(tmp_path / "run", known(12), of(lambda _: True), conditions=["image"])

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert run("export", tmp_path / "run", "--out", tmp_path / "x.jsonl") == 2
    assert f"--out {tmp_path / 'x.jsonl'}: cannot be written: No space left on device. " in capsys.readouterr().err
    assert not list(tmp_path.glob("x.jsonl*"))


def test_half_a_surrogate_survives_the_export(tmp_path: Path) -> None:
    first = audited(tmp_path / "run", known(12), scripted_from(lambda _: "red \ud83d", "seer"))
    assert run("export", tmp_path / "run", "--out", tmp_path / "seer.jsonl") == 0
    config = run_config({"models": [{"model": f"scripted:{tmp_path}/seer.jsonl", "name": "seer"}]}, "test")
    assert to_json(first) == to_json(audited(tmp_path / "again", known(12), models(config.models, seed=0)[0]))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("no_imag", "Unknown condition 'no_imag' in {}. Did you mean 'no_image'?"),
        ("no_image + shuffled", "{}: condition 'no_image + shuffled' is called 'no_image+shuffled' in a run. Write it so."),
    ],
)
def test_a_condition_that_no_run_has_is_named_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], condition: str, message: str
) -> None:
    script = write_items(tmp_path / "mine.jsonl", [{"id": "q1", "condition": condition, "completion": "red"}])
    assert run("audit", data_file(tmp_path, 2), "--predictions", script, "--out", tmp_path / "run") == 2
    assert message.format(script) in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_page_never_takes_the_place_of_what_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = data_file(tmp_path, 2)
    script = write_items(tmp_path / "mine.jsonl", [{"id": "q1", "completion": "red"}])
    for path in (data, script):
        before = path.read_bytes()
        assert run("audit", data, "--predictions", f"m={script}", "--out", tmp_path / "run", "--html", path) == 2
        assert f"--html {path}: is read by this audit, and would be overwritten." in capsys.readouterr().err
        assert path.read_bytes() == before


def data_file(folder: Path, n: int, **fields: Any) -> Path:
    rows = [
        {"id": f"q{k}", "question": f"What is in picture {k}?", "answer": "red", "image": "p.png", **fields} for k in range(n)
    ]
    from PIL import Image as Pixels

    Pixels.new("RGB", (4, 4)).save(folder / "p.png")
    return write_items(folder / "data.jsonl", rows)


def test_plain_completions_need_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = data_file(tmp_path, 20)
    lines = [{"id": f"q{k}", "condition": name, "completion": "red"} for k in range(20) for name in ("image", "no_image")]
    lines[0]["status"] = "refused"
    script = write_items(tmp_path / "mine.jsonl", lines)
    assert run("audit", data, "--predictions", script, "--out", tmp_path / "run") == 0
    whole = json.loads((tmp_path / "run/audit.json").read_text())
    assert [one["model"] for one in whole["audits"]] == ["mine"]
    assert [one["condition"] for one in whole["audits"][0]["asked"]] == ["image", "no_image"]
    assert whole["audits"][0]["asked"][0]["score"]["n_refused"] == 1


def test_what_cannot_apply_is_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", data_file(tmp_path, 20), "--model", "oracle", "--no-cache", "--out", tmp_path / "run", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "Left out: knowledge, because no sample has a knowledge question" in said
    assert "Left out: no_image+open_ended, because no question has options" in said
    assert "40 answers from" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl: is no task, no data file and no run directory."),
        (["x" * 5000, "--model", "oracle"], f"{'x' * 5000}: is no task, no data file and no run directory."),
        (["eyechart_flags", "--predictions", f"m={'x' * 5000}"], "File name too long"),
        (["eyechart_flag", "--model", "oracle"], "Did you mean 'eyechart_flags'?"),
        (["eyechart_flags"], "No model. Name one with --model SPEC, or its answers with --predictions FILE.jsonl."),
        (["eyechart_flags", "--model", "oracle", "--predictions", "x.jsonl"], "leave --model out"),
        (["eyechart_flags", "--predictions", "a:b=x.jsonl"], "holds no colon, comma or equals sign"),
        (["RUN", "eyechart_flags"], "one run directory at a time"),
        (["RUN", "--model", "oracle"], "Of all flags, only --html goes with it."),
    ],
)
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    go(tmp_path / "run", known(12), of(lambda _: True), conditions=["image"])
    (tmp_path / "x.jsonl").write_text('{"id": "q1", "completion": "a"}\n')
    assert run("audit", *(str(tmp_path / "run") if one == "RUN" else one for one in arguments)) == 2
    assert message in capsys.readouterr().err
