from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.evaluation.results import Row
from eyetest.reports.naming import Naming, folded, of_cells
from eyetest.types import Estimate

NOTHING = Estimate("accuracy", 0.5, 0.4, 0.6, 10, 10)


def row(condition: str, kind: str, prompt: str = "default") -> Row:
    return Row("toys", "m", prompt, condition, kind, NOTHING)


@pytest.mark.parametrize(
    ("naming", "expected"),
    [
        (Naming(), "image"),
        (Naming(prompts=True), "image (prompt terse)"),
        (Naming(kinds=True), "image (short answers)"),
        (Naming(True, True), "image (short answers, terse)"),
    ],
)
def test_what_is_named(naming: Naming, expected: str) -> None:
    assert naming.of("image", "terse", "text") == expected


def test_a_sentence_names_the_prompt_as_such() -> None:
    assert Naming(True, True).words("terse", "text") == "short answers, prompt terse"


def test_a_pair_of_all_kinds_names_the_prompt_only() -> None:
    assert Naming(True, True).of("image − blank", "terse") == "image − blank (prompt terse)"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("image", "choice"), row("no_image", "choice")], Naming()),
        ([row("image", "choice"), row("open_ended", "text")], Naming()),
        ([row("image", "choice"), row("image", "text")], Naming(kinds=True)),
        ([row("image", "choice"), row("image", "choice", "terse")], Naming(prompts=True)),
    ],
)
def test_prompts_and_kinds_are_named_where_there_are_several(rows: list[Row], expected: Naming) -> None:
    assert of_cells(rows) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chance", "chance"),
        ("", ""),
        ("phantom:perception=.8,knowledge=.5", "phantom:\nperception=\n.8,\nknowledge=.5"),
        ("llava-hf/llava-1.5", "llava-hf/\nllava-1.5"),
        ("x" * 25, "x" * 12 + "\n" + "x" * 12 + "\n" + "x"),
    ],
)
def test_names_are_folded_at_separators(name: str, expected: str) -> None:
    assert folded(name, 12) == expected


@given(st.text(alphabet="ab-/: ", max_size=80), st.integers(1, 20))
def test_folding_keeps_the_width_and_every_letter(name: str, width: int) -> None:
    lines = folded(name, width).split("\n")
    assert max(map(len, lines)) <= width
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")
