"""`eyetest run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from eyetest.commands.grid import GridOptions, flag, read_config
from eyetest.commands.progress import Shown
from eyetest.commands.said import say_costs, say_loads, say_plan
from eyetest.commands.say import say
from eyetest.evaluation import setup
from eyetest.evaluation.evaluate import evaluate_plan, prepare
from eyetest.evaluation.run import Progress
from eyetest.prices import CostLimitError
from eyetest.reports.facts import facts_of_table
from eyetest.reports.text import print_results, terminal

FAILED_ITEMS = 1
"""Exit code of a run in which some answers failed."""

TOO_EXPENSIVE = 4
"""Exit code of a run that stopped at its --max-cost."""


def run(
    run_file: Annotated[Path | None, Parameter(help="TOML run file; flags overrule it.")] = None,
    /,
    *,
    grid: Annotated[GridOptions, Parameter(name="*")] = GridOptions(),  # noqa: B008 (frozen)
    dry_run: Annotated[bool, flag("Say what would be asked, ask nothing.")] = False,
) -> int:
    """Ask models questions under viewing conditions and report what they got right, with intervals.

    The same command again goes on where it stopped: only what is missing is asked. Exit code 1 when some answers failed
    (run again to retry exactly those), 2 for a mistake in the command or the data, 4 when the run stopped at --max-cost.
    """
    out, log = terminal(), terminal(stderr=True)
    config, folder = read_config(run_file, grid)
    datasets = setup.datasets(config.tasks)
    models = setup.models(config.models, seed=config.seed, batch=config.batch)
    budget = setup.budget(config, models)
    plan = prepare(config, datasets, folder=folder)
    say_loads(log, plan)
    if dry_run:
        say_plan(out, plan, models, budget)
        return 0
    try:
        with Shown(log) as shown:
            outcome = evaluate_plan(config, plan, models, watch=shown)
    except CostLimitError as error:
        say(log, str(error), "bold red")
        return TOO_EXPENSIVE
    print_results(out, outcome.results, facts_of_table(outcome.table, outcome.results, seed=config.seed))
    say_costs(log, outcome.progress)
    say(log, f"Run directory: {outcome.directory}")
    _say_failures(log, outcome.progress)
    return FAILED_ITEMS if outcome.progress.failed else 0


def _say_failures(log: Console, progress: Progress) -> None:
    calls, pictures = progress.failed - progress.bad_images, progress.bad_images
    said = []
    if calls:
        said.append(f"{calls} of {progress.done} answers failed. Run the same command again to ask exactly those.")
    if pictures:
        said.append(f"{pictures} of {progress.done} answers lack a picture that can be read: mend the pictures, then run again.")
    if said:
        said.append(f"They are outside every n. The first: {progress.first_failure}")
    for line in said:
        say(log, line, "bold red")
