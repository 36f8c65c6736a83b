"""`eyetest demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from eyetest.commands.grid import flag, whole
from eyetest.commands.progress import Shown
from eyetest.commands.said import say_loads
from eyetest.commands.say import say
from eyetest.config import run_config
from eyetest.evaluation import setup
from eyetest.evaluation.evaluate import evaluate_plan, prepare
from eyetest.reports import export
from eyetest.reports.text import terminal

CONDITIONS = ("image", "no_image", "blank", "swapped", "shuffled", "no_image+shuffled", "knowledge")
"""Seven ways of looking."""

MODELS = (
    {"model": "eyechart", "name": "embedded LLaVA", "options": {"batch_size": 32}},
    {"model": "chance"},
    {"model": "majority"},
    {"model": "phantom:perception=0.9,knowledge=0.5", "name": "phantom: sees 90 %, knows 50 %"},
    {"model": "phantom:perception=0.4,knowledge=0.9,refuse=0.05", "name": "phantom: sees 40 %, knows 90 %"},
)
"""A real model and four rulers of known truth."""

TASKS = ("eyechart_shapes", "eyechart_words", "eyechart_flags")


def demo(
    *,
    out: Annotated[Path, flag("Run directory; the report is report.html in it.")] = Path("demo/eyechart"),
    limit: Annotated[int, whole("Samples of each suite; 0 for all.")] = 0,
) -> int:
    """Examine the embedded model on the embedded suites under seven conditions, and write the report.

    Needs no download and no network: a tiny LLaVA that we trained, on pictures that we drew, beside a uniform guesser, the
    majority answer and two phantoms of known truth. Needs the extra `hf` (torch, transformers).
    """
    log = terminal(stderr=True)
    values: dict[str, Any] = {
        "tasks": TASKS,
        "models": MODELS,
        "conditions": CONDITIONS,
        "by": ("metadata.asks",),
        "out": str(out),
    }
    values |= {"limit": limit or None, "use_cache": False, "generation": {"max_tokens": 16}}
    config = run_config(values, "eyetest demo")
    datasets, models = setup.datasets(config.tasks), setup.models(config.models, seed=config.seed)
    plan = prepare(config, datasets)
    say_loads(log, plan)
    with Shown(log) as shown:
        outcome = evaluate_plan(config, plan, models, watch=shown)
    found = export.gather(outcome.directory, summed=(outcome.table, outcome.results))
    page = export.write_page(outcome.directory / "report.html", found)
    console = terminal()
    for line in (*export.in_words(found.facts), f"Report: {page}"):
        say(console, line)
    return 1 if outcome.progress.failed else 0
