"""The tables on the terminal."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from eyetest.evaluation.compare import Comparison, compare
from eyetest.evaluation.rescore import summed_up
from eyetest.reports.facts import facts_of_table
from eyetest.reports.text import PLAIN_WIDTH, print_comparison, print_results
from eyetest.types import Estimate, Prediction, Response
from reports.making import answer, usual, write_run

LABELS = ("red", "green", "blue", "grey")


def printed(run: Path) -> str:
    table, results = summed_up(run)
    console = Console(file=io.StringIO(), width=PLAIN_WIDTH, emoji=False)
    print_results(console, results, facts_of_table(table, results, seed=0))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def compared(comparisons: tuple[Comparison, ...]) -> list[str]:
    console = Console(file=io.StringIO(), width=PLAIN_WIDTH, emoji=False)
    print_comparison(console, comparisons)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines() if line]  # type: ignore[attr-defined]


def lines(text: str, title: str) -> list[str]:
    """The lines of one table, single-spaced."""
    return [" ".join(line.split()) for line in text.split(f"\n{title}")[1].split("\n\n")[0].splitlines()[1:]]


def prompted(predictions: list[Prediction]) -> list[Prediction]:
    return predictions + [replace(one, prompt="terse") for one in predictions]


def test_words_come_first_then_tables(tmp_path: Path) -> None:
    text = printed(write_run(tmp_path, usual(40)))
    assert text.splitlines()[1:4] == [
        "In words",
        "  seer needs the picture: 75 % right with the picture; without it 25 %, which cannot be told from guessing (25 %).",
        "  blind cannot be told from guessing at this n: 25 % right with the picture, where guessing gives 25 %.",
    ]
    table = lines(text, "toys: accuracy with 95 % intervals")
    assert table[0] == "model condition accuracy guessing parsed only success rate n unparsed refused failed"
    assert table[1] == "seer image .750 [.598, .858] .250 .750 1.000 40 0 0 0"


def test_every_table_names_the_prompt_where_there_are_several(tmp_path: Path) -> None:
    predictions = prompted([replace(one, sample=replace(one.sample, metadata={"size": "big"})) for one in usual(20)])
    text = printed(write_run(tmp_path, predictions, labels=LABELS, by=["metadata.size"]))
    for title, start in (
        ("toys: accuracy with", "image (prompt terse) .750 ["),
        ("toys: other metrics", "image (prompt terse) .214 ["),
        ("toys: conditions compared", "image − no_image (prompt terse) .500 ["),
        ("toys: slices", "image (prompt terse) metadata.size = big accuracy .750 ["),
    ):
        assert any(line.startswith(start) for line in lines(text, title)), (title, lines(text, title))
    assert "toys, seer, image (prompt default): target (rows) by answer (columns)" in text
    assert "toys, seer, image (prompt terse): target (rows) by answer (columns)" in text


def test_kinds_are_named_and_pairs_say_that_they_put_them_together(tmp_path: Path) -> None:
    texts = [answer(n, c, kind="text", id=f"t{n}") for n in range(12) for c in ("image", "no_image")]
    text = printed(write_run(tmp_path, usual(20) + texts))
    assert "seer image (multiple choice) .750" in " ".join(text.split())
    assert "toys: conditions compared on the same samples, multiple choice and short answers together" in text
    assert "together" not in printed(write_run(tmp_path / "one", usual(20)))


def test_slices_have_a_column_of_guessing(tmp_path: Path) -> None:
    predictions = [replace(one, sample=replace(one.sample, metadata={"size": "big"})) for one in usual(20)]
    table = lines(printed(write_run(tmp_path, predictions, by=["metadata.size"])), "toys: slices")
    assert table[0] == "model condition slice metric value guessing n unparsed refused"
    assert table[1].startswith("seer image metadata.size = big accuracy .750 [")
    assert table[1].endswith("] .250 20 0 0")


def test_a_long_name_is_folded_and_the_numbers_keep_their_line(tmp_path: Path) -> None:
    name = "openai:an-organisation/a-model-with-a-long-name-2026-01-02@revision"
    text = printed(write_run(tmp_path, [replace(one, model=name) for one in usual(20)]))
    table = text.split("\ntoys: accuracy")[1].split("\n\n")[0].splitlines()[2:]
    assert table[0].startswith("openai:an-organisation/a-model-with-a-  image ")
    assert table[1].rstrip() == "long-name-2026-01-02@revision"
    assert max(map(len, text.split("In words")[1].split("\n\n", 1)[1].split("\nNotes")[0].splitlines())) <= PLAIN_WIDTH


def test_bounds_for_failed_answers_are_the_headlines_and_say_the_policy(tmp_path: Path) -> None:
    predictions = usual(20)
    predictions[0] = replace(predictions[0], response=Response(status="error", error="timeout"))
    notes = printed(write_run(tmp_path, predictions, labels=LABELS)).split("\nNotes\n")[1].splitlines()
    bounds = [note for note in notes if "if failed answers" in note]
    assert bounds == ["  if failed answers were all wrong .700, all right .750: toys, seer, image, accuracy, unparsed as wrong"]


def test_unparsed_and_refused_answers_have_one_column(tmp_path: Path) -> None:
    predictions = [*usual(20), answer(21, status="unparsed"), answer(22, status="refused")]
    table = lines(printed(write_run(tmp_path, predictions, labels=LABELS)), "toys, seer, image: target")
    assert table[0] == "red green blue grey unparsed, refused precision recall F1 support"
    assert table[1].startswith("red 15 5 0 0 2 1.000")


def test_a_comparison_names_a_shared_model_once_and_prompts_where_there_are_several(tmp_path: Path) -> None:
    first, second = write_run(tmp_path / "a", usual(20)), write_run(tmp_path / "b", usual(20))
    title, header, row, *_ = compared(compare(first, second))
    assert title == (
        "second − first, on the samples that both answered; right under one only (discordant): first only, second only"
    )
    assert header == "task condition model difference p p (Holm) first only second only n"
    assert row.startswith("toys image seer .000 [")
    several = write_run(tmp_path / "c", prompted(usual(20)))
    assert any(row.startswith("toys image (prompt terse) seer .000 [") for row in compared(compare(several, several)))


def test_a_comparison_of_two_models_names_both_and_its_notes_the_prompt() -> None:
    made = Estimate("paired_difference", 0.25, math.nan, math.nan, 8, 8, note="interval withheld: only 8 distinct requests")
    one = Comparison("toys", "default", "image", "a/b", "c", made, math.nan, math.nan, "none", 1, 3)
    shown = compared((one, replace(one, prompt="terse")))
    assert shown[1] == "task condition first second difference p p (Holm) first only second only n"
    assert shown[2] == "toys image (prompt default) a/b c .250 [withheld] – – 1 3 8"
    assert shown[-1] == "interval withheld: only 8 distinct requests: toys, image (prompt terse)"
