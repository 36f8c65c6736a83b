"""`eyetest audit`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from eyetest import conditions as viewing
from eyetest import registry
from eyetest.commands.grid import GridOptions, commas, flag, read_config
from eyetest.commands.progress import Shown
from eyetest.commands.report import refuse_run_file
from eyetest.commands.run import FAILED_ITEMS, TOO_EXPENSIVE
from eyetest.commands.said import say_costs, say_loads, say_plan
from eyetest.commands.say import say
from eyetest.config import RunConfig
from eyetest.errors import UsageError, nearest
from eyetest.evaluation import setup
from eyetest.evaluation.audit import Audit
from eyetest.evaluation.audit_run import CONDITIONS, applicable, audit_run
from eyetest.evaluation.evaluate import evaluate_plan, prepare
from eyetest.evaluation.plan import Plan
from eyetest.evaluation.results import Results
from eyetest.evaluation.rundir import MANIFEST
from eyetest.evaluation.table import Table
from eyetest.models.scripted import read_script
from eyetest.prices import CostLimitError
from eyetest.reports.audit_files import print_audits, write_audit
from eyetest.reports.text import terminal


def audit(
    *data: Annotated[str, Parameter(help="Task names, data files, or one run directory; a TOML run file.")],
    grid: Annotated[GridOptions, Parameter(name="*")] = GridOptions(),  # noqa: B008 (frozen)
    predictions: Annotated[
        tuple[str, ...],
        flag("[MODEL=]FILE.jsonl of completions instead of a model, comma-separated: id, condition, completion. Repeatable."),
    ] = (),
    html: Annotated[Path | None, flag("Write the report, with the audit on top, as one self-contained page.")] = None,
    dry_run: Annotated[bool, flag("Say what would be asked, ask nothing.")] = False,
) -> int:
    """Does a data set need its pictures, and does a model fail to see or fail to know? A verdict in words, with its evidence.

    Asks every question with and without its picture, as pure knowledge, with the options shuffled and without options, as far as
    the data allow; the same command again goes on where it stopped. Writes audit.json and audit/items.csv into the run directory.
    Given a finished run directory, it asks nothing and audits what is there. Exit code as of `eyetest run`.
    """
    out, log = terminal(), terminal(stderr=True)
    run_directory = _run_directory(data)
    if html is not None:
        refuse_run_file(html, run_directory or html.parent)
        _refuse_input(html, [*data, *grid.data, *(_split(one)[1] for one in commas("--predictions", predictions))])
    if run_directory is not None:
        if predictions or dry_run or grid != GridOptions():
            raise UsageError(f"{run_directory} is a finished run: nothing is asked. Of all flags, only --html goes with it.")
        table, results, found = audit_run(run_directory)
        _finish(out, run_directory, found, (), html, (table, results))
        return 0
    config, folder = _config(data, grid, commas("--predictions", predictions))
    datasets, models = setup.datasets(config.tasks), setup.models(config.models, seed=config.seed, batch=config.batch)
    budget = setup.budget(config, models)
    named = "conditions" in config.model_fields_set
    plan = prepare(config if named else config.model_copy(update={"conditions": CONDITIONS}), datasets, folder=folder)
    plan, left_out = (plan, ()) if named else _narrowed(plan)
    say_loads(log, plan)
    if dry_run:
        for reason in left_out:
            say(out, f"Left out: {reason}.")
        say_plan(out, plan, models, budget)
        return 0
    try:
        with Shown(log) as shown:
            outcome = evaluate_plan(config.model_copy(update={"conditions": plan.conditions}), plan, models, watch=shown)
    except CostLimitError as error:
        say(log, str(error), "bold red")
        return TOO_EXPENSIVE
    say_costs(log, outcome.progress)
    table, results, found = audit_run(outcome.directory, outcome.results)
    _finish(out, outcome.directory, found, left_out, html, (table, results))
    if outcome.progress.failed:
        again = "Run the same command again to ask exactly those."
        say(log, f"{outcome.progress.failed} answers failed. {again} The first: {outcome.progress.first_failure}", "bold red")
    return FAILED_ITEMS if outcome.progress.failed else 0


def _refuse_input(html: Path, inputs: Sequence[str]) -> None:
    """Raise UsageError where the page would take the place of what is read."""
    for text in inputs:
        if os.path.exists(html) and os.path.exists(text) and html.samefile(text):
            raise UsageError(f"--html {html}: is read by this audit, and would be overwritten. Name another file.")


def _run_directory(data: Sequence[str]) -> Path | None:
    if not any(os.path.exists(os.path.join(one, MANIFEST)) for one in data):
        return None
    if len(data) > 1:
        raise UsageError(f"{', '.join(data)}: one run directory at a time, and no data beside it.")
    return Path(data[0])


def _config(data: Sequence[str], grid: GridOptions, predictions: Sequence[str]) -> tuple[RunConfig, Path]:
    """The configuration: positional names are tasks or files, completions are scripted models. Raises UsageError."""
    run_files = [Path(one) for one in data if one.endswith(".toml")]
    if len(run_files) > 1:
        raise UsageError(f"{', '.join(map(str, run_files))}: one run file at a time.")
    files = tuple(_data(one) for one in data if not one.endswith(".toml") and one not in registry.names("tasks"))
    tasks = tuple(one for one in data if one in registry.names("tasks"))
    if predictions and grid.model:
        raise UsageError("--predictions holds the answers already: leave --model out, or leave --predictions out.")
    models = grid.model + tuple(map(_scripted, predictions))
    condition = grid.condition or tuple(_named_conditions(predictions))
    grid = replace(grid, data=grid.data + files, task=grid.task + tasks, model=models, condition=condition)
    config, folder = read_config(run_files[0] if run_files else None, grid)
    if not config.models:
        raise UsageError("No model. Name one with --model SPEC, or its answers with --predictions FILE.jsonl.")
    return config, folder


def _data(text: str) -> str:
    if os.path.exists(text):  # unlike Path.exists, false for a name too long for the system
        return text
    known = registry.names("tasks")
    raise UsageError(
        f"{text}: is no task, no data file and no run directory.{nearest(text, known)} See: eyetest list tasks, or name a file."
    )


def _split(text: str) -> tuple[str, str]:
    """`MODEL=FILE` or `FILE`; a file whose name holds an equals sign is taken as it is."""
    name, equals, path = text.partition("=")
    return (name.strip(), path) if equals and name.strip() and not os.path.exists(text) else (Path(text).stem, text)


def _scripted(text: str) -> str:
    name, path = _split(text)
    if any(sign in name for sign in ":,="):
        raise UsageError(f"--predictions {text!r}: a model's name holds no colon, comma or equals sign. Give it another.")
    return f"{name}=scripted:{path}"


def _named_conditions(predictions: Sequence[str]) -> Iterator[str]:
    """The conditions that the files answer, once each; completions that name none were given with the picture."""
    seen: dict[str, None] = {}
    for text in predictions:
        path = _split(text)[1]
        for name in dict.fromkeys(key.condition or "image" for key in read_script(path)):
            if (usual := viewing.canonical(name, path)) != name:
                raise UsageError(f"{path}: condition {name!r} is called {usual!r} in a run. Write it so.")
            seen[name] = None
    yield from sorted(seen, key=lambda name: (CONDITIONS.index(name) if name in CONDITIONS else len(CONDITIONS), name))


def _narrowed(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """The plan with the default conditions that can apply to its data, and why the others are left out."""
    kept, left_out = applicable(plan)
    return replace(plan, conditions=tuple(map(viewing.canonical, kept))), left_out


def _finish(
    out: Console,
    directory: Path,
    found: Sequence[Audit],
    left_out: Sequence[str],
    html: Path | None,
    summed: tuple[Table, Results],
) -> None:
    """Print the audit and write its files."""
    written: list[Any] = list(write_audit(directory, found))
    print_audits(out, found, left_out)
    if html is not None:
        from eyetest.reports import export  # the page costs start-up time that the tables need not pay

        gathered = replace(export.gather(directory, summed=summed), audits=tuple(found))
        written.append(export.write_page(html, gathered))
    for path in written:
        say(out, f"Written: {path}")
