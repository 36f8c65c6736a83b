"""Tables as LaTeX, for `booktabs`. Rates are in per cent with their intervals in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from eyetest.reports.sheet import Sheet, written
from eyetest.reports.untrusted import clean

LONGEST = 200
"""Characters of a text in a cell."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "−": r"$-$",
    "–": r"--",
    "∞": r"$\infty$",
}

_LEFT_OUT = ("note", "signature", "distinct requests", "test")
"""Columns that no paper prints; the CSV has them."""

_CONSTANT = ("task", "prompt", "kind", "condition", "policy", "SD between repeats %")
"""Columns that are left out where they say one thing."""


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    one_line = re.sub(r"\s+", " ", clean(text, LONGEST))
    return "".join(_SPECIAL.get(character, character) for character in one_line)


def as_latex(sheet: Sheet) -> str:
    """A `table` with `booktabs` rules. Needs `\\usepackage{booktabs}` and, for quotation marks, `[T1]{fontenc}`."""
    keep = [place for place, column in enumerate(sheet.columns) if column not in _LEFT_OUT]
    rows = tuple(tuple(row[place] for place in keep) for row in sheet.rows)
    shown = Sheet(sheet.name, sheet.title, tuple(sheet.columns[place] for place in keep), rows).without(_CONSTANT)
    numeric = [all(not isinstance(row[place], str) for row in shown.rows) for place in range(len(shown.columns))]
    lines = [
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{escaped(sheet.title)}; 95\\,\\% intervals in brackets.}}",
        f"\\label{{tab:{sheet.name}}}",
        f"\\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        "\\toprule",
        _line(shown.columns),
        "\\midrule",
        *(_line(written(value) for value in row) for row in shown.rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
        "",
    ]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    # An empty group keeps a cell that begins with a bracket from being read as the optional argument of \\.
    return " & ".join(f"{{}}{text}" if text.startswith("[") else text for text in map(escaped, cells)) + r" \\"
