"""`eyetest compare`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.grid import flag
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.evaluation import compare as comparing
from eyetest.reports.text import print_comparison, terminal

WORSE = 3
"""Exit code when the second run is worse than allowed."""


def compare(
    first: Annotated[Path, Parameter(help="Run directory: the one to compare with.")],
    second: Annotated[Path, Parameter(help="Run directory: the new one.")],
    /,
    *,
    fail_if_worse: Annotated[
        float | None,
        flag("Exit with 3 unless every cell's interval shows that the second is at most this much worse, e.g. 0.02."),
    ] = None,
) -> int:
    """Compare two runs on the samples that both answered: paired differences, exact McNemar, Holm.

    With --fail-if-worse M the exit code is 3 when the lower end of any difference lies below -M: for a pipeline that must
    not ship a regression, what is not shown is not assumed.
    """
    if fail_if_worse is not None and not 0 <= fail_if_worse <= 1:
        raise UsageError(f"--fail-if-worse {fail_if_worse}: give a share of right answers between 0 and 1, e.g. 0.02.")
    made = comparing.compare(first, second)
    print_comparison(terminal(), made)
    if fail_if_worse is None:
        return 0
    log = terminal(stderr=True)
    # A withheld interval shows nothing, so it cannot show that the second run is good enough.
    failing = [one for one in made if math.isnan(one.estimate.low) or one.estimate.low < -fail_if_worse]
    for one in failing:
        said = f"not shown to be at most {fail_if_worse:g} worse: {one.task}, {one.second}, {one.condition}"
        say(log, said, "bold red")
    return WORSE if failing else 0
