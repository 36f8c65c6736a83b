"""`eyetest score --all-rules`: the table of every rule, and every answer on which the rules differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from eyetest.commands.say import say
from eyetest.evaluation.all_rules import AllRules, Disputed, RuleScores
from eyetest.evaluation.all_rules import all_rules as read_by_all
from eyetest.reports.text import interval, number, terminal
from eyetest.reports.untrusted import NAME_LENGTH, clean


def all_rules(run_directory: Path) -> int:
    """Read the stored answers by every rule: strict, lenient, last declared, text match, contains, and the judge's where it ran.

    Prints how far the score hangs on the rule, and every answer that some rules count and others do not. Changes nothing.
    """
    print_all_rules(terminal(), read_by_all(run_directory))
    return 0


def print_all_rules(console: Console, found: AllRules) -> None:
    """The range of the headline over all rules, then the disputed answers."""
    header = ["task", "model", "prompt", "condition", "metric", *found.rules, "range", "disputed", "n"]
    print_table(console, "the same answers under every rule", header, (_line(found.rules, cell) for cell in found.cells))
    console.print()
    say(console, f"Disputed answers: {len(found.disputed)}", "bold")
    for one in found.disputed:
        say(console, _dispute(one))


def _line(rules: Sequence[str], cell: RuleScores) -> list[str]:
    first = next(iter(cell.estimates.values()))
    values = [interval(cell.estimates[rule]) if rule in cell.estimates else "not given" for rule in rules]
    named = [cell.cell.task, cell.cell.model, cell.cell.prompt, cell.cell.condition, first.metric]
    return [*named, *values, f"{number(cell.lowest)} to {number(cell.highest)}", str(cell.n_disputed), str(first.n)]


def _dispute(one: Disputed) -> str:
    where = f"{one.cell.task}, {one.cell.model}, {one.cell.condition}, sample {one.sample}"
    where += f", variant {one.variant}" * bool(one.variant) + f", repeat {one.repeat}" * bool(one.repeat)
    readings = "; ".join(
        f"{rule} {'right' if score.value == 1 else number(score.value)}"
        if score.status == "scored" and score.value
        else f"{rule} {'wrong' if score.status == 'scored' else score.status} ({score.rule})"
        for rule, score in one.scores.items()
    )
    return f"  {where}: {one.completion!r}, right is {' | '.join(one.target)!r}: {readings}"


def print_table(console: Console, title: str, header: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """A table of harmless text, its title apart because rich breaks it where the table ends."""
    grid = Grid(header_style="bold", pad_edge=False, box=None)
    for name in header:
        grid.add_column(Text(name), overflow="fold")
    for line in lines:
        grid.add_row(*(Text(clean(cell, NAME_LENGTH)) for cell in line))
    console.print()
    console.print(title, style="bold", soft_wrap=True)
    console.print(grid)
