"""`eyetest check`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress

from eyetest.commands.grid import GridOptions, read_config
from eyetest.commands.said import say_loads, say_plan
from eyetest.commands.say import say
from eyetest.evaluation import check as checking
from eyetest.evaluation import setup
from eyetest.evaluation.evaluate import prepare
from eyetest.reports.text import terminal

FOUND_ERRORS = 1
"""Exit code when something would fail in a run."""


def check(
    run_file: Annotated[Path | None, Parameter(help="TOML run file; flags overrule it.")] = None,
    /,
    *,
    grid: Annotated[GridOptions, Parameter(name="*")] = GridOptions(),  # noqa: B008 (frozen)
) -> int:
    """Look at everything that can be known before spending, and ask nothing.

    Decodes every picture, renders every prompt, looks for labels that never occur and for duplicates, counts requests
    before and after sharing, and says what difference this many samples could detect. Exit code 1 when something would
    fail.
    """
    console, log = terminal(), terminal(stderr=True)
    config, folder = read_config(run_file, grid)
    datasets = setup.datasets(config.tasks)
    models = setup.models(config.models, seed=config.seed) if config.models else ()
    plan = prepare(config, datasets, folder=folder)
    say_loads(console, plan)
    with Progress(console=log, transient=True, disable=not log.is_terminal) as bar:
        line = bar.add_task("looking at samples", total=None)
        checked = checking.check(plan, lambda done, total: bar.update(line, completed=done, total=total))
    for one in checked:
        _show(console, one)
    say_plan(console, plan, models)
    return FOUND_ERRORS if any(one.errors for one in checked) else 0


def _show(console: Console, one: checking.Checked) -> None:
    survey = one.survey
    say(console, f"{survey.task.name}: {one.pictures} distinct pictures decode; prompts render under every condition.")
    _findings(console, one.errors, "bold red")
    _findings(console, one.remarks, None)
    if survey.labels:
        counts = ", ".join(f"{label} {count}" for label, count in survey.classes.items())
        say(console, f"  shared labels: {counts}")
    if not math.isnan(one.chance):
        say(console, f"  guessing among the options is right {one.chance:.3f} of the time")
    say(console, f"  n = {survey.n}: a score near one half has a 95 % interval of about ±{one.half_width:.3f}")
    for share, difference in one.detectable.items():
        found = "no difference can be shown"
        if not math.isnan(difference):
            found = f"a paired difference of {difference:.3f} or more is found with 80 % power"
        say(console, f"  if {share:.0%} of items are right on one side only, {found}")


def _findings(console: Console, findings: Mapping[str, checking.Finding], style: str | None) -> None:
    for reason, finding in findings.items():
        more = "; ..." if finding.count > len(finding.places) else ""
        say(console, f"  {finding.count} {reason}: {'; '.join(finding.places)}{more}", style)
