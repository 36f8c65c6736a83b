"""What `eyetest knowledge` and `eyetest caption` have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from eyetest import registry
from eyetest.commands.grid import GridOptions, flag, read_config, whole
from eyetest.commands.progress import Shown
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.evaluation import setup
from eyetest.evaluation.making import Made, MakeSettings, make
from eyetest.evaluation.plan import Selection, survey
from eyetest.evaluation.prepared import WORDS
from eyetest.models import build
from eyetest.reports.text import terminal
from eyetest.scorers.converter import FLAGS

FAILED_ITEMS = 1
"""Exit code when some calls failed."""

Data = Annotated[str, Parameter(help="Data file, or a registered task. See: eyetest list tasks.")]
ModelName = Annotated[str, flag("NAME[:ARGUMENT], e.g. openai:NAME. See: eyetest list models.")]
Out = Annotated[Path, flag("JSON Lines file to write, and to go on with.")]
MaxTokens = Annotated[int, whole("Longest reply in tokens.")]


@dataclass(frozen=True)
class Source:
    """Which samples, as flags; fields are those of GridOptions."""

    images: Annotated[str | None, flag("Folder that picture paths are relative to; the data file's when left out.")] = None
    column: Annotated[tuple[str, ...], flag("OURS=THEIRS: our column name and the file's, e.g. answer=label. Repeatable.")] = ()
    answer_is: Annotated[Literal["text", "letter", "index"] | None, flag("How the file writes the right choice.")] = None
    dir: Annotated[str | None, flag("Folder that holds the task's files.")] = None
    format: Annotated[str | None, flag("Layout of that folder; found out when left out.")] = None
    split: Annotated[str | None, flag("Split of the task.")] = None
    limit: Annotated[str | None, flag("Samples: a count, a fraction below 1, or a percentage.")] = None
    seed: Annotated[int, whole("Of --limit and of the model's own randomness.")] = 0


def make_file(data: str, model: str, settings: MakeSettings, out: Path, source: Source, *, captions: str | None = None) -> int:
    """Make the file, say what became of it, and return the exit code. source: which samples of the dataset named by `data`."""
    named = {"task": (data,)} if data in registry.names("tasks") else {"data": (data,)}
    if out.exists() and Path(data).exists() and out.samefile(data):
        raise UsageError(f"--out {out}: is the data file itself, which would be overwritten. Name another file.")
    config, _ = read_config(None, GridOptions(**{**vars(source), **named}, captions=captions))
    [dataset] = setup.datasets(config.tasks)
    built = build(model, seed=config.seed)
    surveyed = survey(dataset, Selection(config.limit), seed=config.seed, pooled=False)
    log = terminal(stderr=True)
    with Shown(log) as shown:
        made = make(surveyed, built, settings, out, watch=shown)
    _say(terminal(), log, made, settings, out)
    return FAILED_ITEMS if made.progress.failed else 0


def _say(console: Console, log: Console, made: Made, settings: MakeSettings, out: Path) -> None:
    word, n, progress = WORDS[settings.kind], made.samples, made.progress
    say(console, f"{out}: {made.usable} of {n} items{_share(made.usable, n)} have a usable {word}.")
    for method, count in sorted(made.methods.items()):
        say(console, f"  by {method}: {count}{_share(count, n)}")
    for flag_, why in FLAGS.items():
        if made.flags[flag_]:
            say(console, f"  rejected, {flag_}: {made.flags[flag_]}{_share(made.flags[flag_], n)}: {why}")
    if made.nothing:
        lacks = "no picture" if settings.kind == "caption" else "no question, or no right answer"
        say(console, f"  {made.nothing} more items have {lacks}: nothing was asked.")
    say(log, f"{progress.asked} requests, {progress.resumed} from before, {progress.shared} shared.")
    if progress.failed:
        failed = f"{progress.failed} of {n} failed. Run the same command again to ask exactly for those."
        say(log, f"{failed} The first: {progress.first_failure}", "bold red")


def _share(count: int, n: int) -> str:
    return f" ({count / n:.1%})" if n else ""
