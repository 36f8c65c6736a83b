"""`eyetest judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from eyetest.commands.grid import flag, whole
from eyetest.commands.progress import Shown
from eyetest.commands.say import say
from eyetest.evaluation.judge import Judged, JudgeSettings, judge_run
from eyetest.models import build
from eyetest.reports.facts import facts_of_table
from eyetest.reports.text import print_results, terminal

WITHHELD = 1
"""Exit code when too many answers stayed without a verdict, so that numbers are withheld."""


def judge(
    run_directory: Annotated[Path, Parameter(help="Directory of a finished run.")],
    /,
    *,
    model: Annotated[str, flag("The judge, NAME[:ARGUMENT], e.g. openai:NAME. See: eyetest list models.")],
    everything: Annotated[bool, flag("Judge every answer, not only what the rules could not read.", name="--all")] = False,
    votes: Annotated[int, whole("Verdicts on each answer, an odd number; more than half must agree.")] = 1,
    max_failures: Annotated[float, flag("Share of a cell's answers that may stay without a verdict, e.g. 0.01.")] = 0.0,
    verdict: Annotated[
        Literal["json", "labels"],
        flag("A JSON object, or the label with the largest log-probability where the backend gives it."),
    ] = "json",
    max_tokens: Annotated[int, whole("Longest reply of the judge in tokens.")] = 1024,
    seed: Annotated[int, whole("Of the judge's own randomness, such as its waits.")] = 0,
) -> int:
    """Let a model grade the stored answers that the rules could not read, and report again.

    The same command again goes on where it stopped: only verdicts that are missing are asked for. Exit code 1 when numbers are
    withheld because too many answers have no verdict (run again to ask exactly for those), 2 for a mistake in the command, or
    a judge that cannot work at all.
    """
    settings = JudgeSettings(everything, votes, max_failures, verdict, max_tokens)
    out, log = terminal(), terminal(stderr=True)
    with Shown(log) as shown:
        judged = judge_run(run_directory, build(model, seed=seed), settings, watch=shown)
    print_results(out, judged.results, facts_of_table(judged.table, judged.results, seed=judged.results.seed))
    _say_counts(log, judged)
    return WITHHELD if judged.withheld else 0


def _say_counts(log: Console, judged: Judged) -> None:
    n, progress = sum(one.judged for one in judged.counts), judged.progress
    said = f"{n} answers judged: {progress.asked} requests, {progress.resumed} verdicts from before, {progress.shared} shared."
    say(log, said)
    for name in judged.own:
        say(log, f"The judge is {name} itself: graders favour what they wrote. Choose another, or calibrate it.", "bold red")
    if judged.unscored:
        missing = f"{judged.unscored} of {n} have no verdict. Run the same command again to ask exactly for those."
        say(log, f"{missing} The first: {progress.first_failure or 'the votes do not agree'}", "bold red")
    for one in judged.withheld:
        cell = ", ".join((one.cell.task, one.cell.model, one.cell.condition))
        said = f"No number is given for {cell}: {one.unscored} of {one.answers} answers have no verdict ({one.rate:.1%})."
        say(log, said, "bold red")
