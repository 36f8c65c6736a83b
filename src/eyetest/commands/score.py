"""`eyetest score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from eyetest.commands.all_rules import all_rules
from eyetest.commands.grid import flag
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.evaluation.rescore import rescore
from eyetest.reports.facts import facts_of_table
from eyetest.reports.text import print_results, terminal


def score(
    run_directory: Annotated[Path, Parameter(help="Directory of a finished run.")],
    /,
    *,
    match: Annotated[
        Literal["tokens", "contains"] | None, flag("How short answers are compared; as in the run when left out.")
    ] = None,
    out: Annotated[Path | None, flag("Directory for the new scores; the run's own when left out.")] = None,
    every_rule: Annotated[
        bool,
        flag(
            "Print what every rule makes of the same answers, and every answer they dispute; change nothing.", name="--all-rules"
        ),
    ] = False,
) -> int:
    """Read the stored answers of a run again with this version's scorers. No model is called."""
    if every_rule:
        if match is not None or out is not None:
            raise UsageError("--all-rules reads by every rule and writes nothing. Leave --match and --out out.")
        return all_rules(run_directory)
    outcome = rescore(run_directory, match=match, out=out)
    print_results(terminal(), outcome.results, facts_of_table(outcome.table, outcome.results, seed=outcome.results.seed))
    say(terminal(stderr=True), f"{outcome.changed} of {outcome.n} answers are read differently now.")
    return 0
