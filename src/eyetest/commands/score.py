"""`eyetest score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from eyetest.commands.grid import flag
from eyetest.commands.say import say
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
) -> int:
    """Read the stored answers of a run again with this version's scorers. No model is called."""
    outcome = rescore(run_directory, match=match, out=out)
    print_results(terminal(), outcome.results, facts_of_table(outcome.table, outcome.results, seed=outcome.results.seed))
    say(terminal(stderr=True), f"{outcome.changed} of {outcome.n} answers are read differently now.")
    return 0
