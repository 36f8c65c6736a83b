"""A narrow terminal breaks names, never numbers: a digit cut off leaves another number."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from eyetest.reports.text import _Console, grid_of, print_grid


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_every_number_is_whole_at_every_width(width: int) -> None:
    grid = grid_of("A title that is longer than the terminal is wide", ["model", "condition", "accuracy", "n"], right=(2, 3))
    rows = [
        ("openai:a-model-with-a-long-name,base_url=http://localhost", "no_image+shuffled", f".{n} [.500, .799]", f"{n}60")
        for n in range(601, 604)
    ]
    for row in rows:
        grid.add_row(*map(Text, row))
    console = _Console(file=io.StringIO(), width=width)
    print_grid(console, grid)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    for _, _, score, n in rows:
        assert sum(line.endswith(f"{score}  {n}") for line in lines) == 1
    assert max(map(len, lines)) <= max(width, 12 + 2 + 12 + 2 + 17 + 2 + 5)
