"""One line of output: what data, models and files are called reaches the terminal as harmless text."""

from __future__ import annotations

from rich.console import Console

from eyetest.reports.untrusted import clean

LONGEST_LINE = 10_000
"""Characters of the longest line printed."""


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print `text` as one line, neither wrapped nor read as markup: control characters left out, hidden ones named."""
    line = " ".join(clean(text, LONGEST_LINE).split("\n"))
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
