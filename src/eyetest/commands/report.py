"""`eyetest report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.grid import flag
from eyetest.evaluation.rescore import results_of
from eyetest.reports.text import print_results, terminal


def report(
    run_directory: Annotated[Path, Parameter(help="Directory of a finished run.")],
    /,
    *,
    by: Annotated[tuple[str, ...], flag("Slice by metadata.FIELD instead of the run's own slices. Repeatable.")] = (),
) -> int:
    """Print the tables of a finished run, from its stored scores. Asks nothing and changes nothing."""
    print_results(terminal(), results_of(run_directory, by=by or None))
    return 0
