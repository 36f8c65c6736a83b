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

EMBEDDED = {"model": "eyechart", "name": "embedded LLaVA", "options": {"batch_size": 32}}

EYECHART: dict[str, Any] = {
    "tasks": ("eyechart_shapes", "eyechart_words", "eyechart_flags"),
    "models": (
        EMBEDDED,
        {"model": "chance"},
        {"model": "majority"},
        {"model": "phantom:perception=0.9,knowledge=0.5", "name": "phantom: sees 90 %, knows 50 %"},
        {"model": "phantom:perception=0.4,knowledge=0.9,refuse=0.05", "name": "phantom: sees 40 %, knows 90 %"},
    ),
    "conditions": ("image", "no_image", "blank", "swapped", "shuffled", "no_image+shuffled", "knowledge"),
    "by": ("metadata.asks",),
    "generation": {"max_tokens": 16},
}
"""A real model and four rulers of known truth, seven ways of looking."""

SOCIAL: dict[str, Any] = {
    "tasks": tuple(
        {"task": task, "dir": "embedded"}
        for task in ("politifact", "hateful_memes", "memotion_sentiment", "youtube_tagging", "memotion_ocr")
    ),
    "models": ({"model": "ocr_linear:train=40"}, EMBEDDED, {"model": "chance"}, {"model": "majority"}),
    "conditions": ("image", "no_image", "swapped", "text_only", "image_text"),
    "label_logprobs": True,
    "generation": {"max_tokens": 32},
    "limit": 12,
}
"""MM-Soc in short, on the embedded social data: twelve samples of five of its tasks. `configs/mmsoc_demo.toml` is the whole."""


def demo(
    *,
    out: Annotated[Path, flag("Folder for both run directories; each has its report.html.")] = Path("demo"),
    limit: Annotated[int, whole("Samples of each task; 0 for all of the eye chart and twelve of each social task.")] = 0,
) -> int:
    """Examine the embedded model on the embedded eye chart and social data, and write two reports.

    Needs no download and no network: a tiny LLaVA that we trained, on pictures that we drew, beside a uniform guesser, the
    majority answer and models of known truth; then five tasks of MM-Soc in short, with a baseline that reads the words in
    the pictures. Needs the extras `hf`, `data` and `text`.
    """
    failed = 0
    for name, values in (("eyechart", EYECHART), ("social", SOCIAL)):
        failed += _examine(out / name, values | ({"limit": limit} if limit else {}))
    return 1 if failed else 0


def _examine(out: Path, values: dict[str, Any]) -> int:
    """One run and its report; how many answers failed."""
    log = terminal(stderr=True)
    config = run_config(values | {"out": str(out), "use_cache": False}, "eyetest demo")
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
    return outcome.progress.failed
