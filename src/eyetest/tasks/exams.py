"""What the two datasets of exam questions share: their folder, right options, and what is odd about options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from eyetest.errors import UsageError, shown
from eyetest.prompts import letters
from eyetest.readers.load_report import LoadReport
from eyetest.tasks.dataset_files import BadRowError
from eyetest.tasks.layouts import Found, Layout, locate

MOST_OPTIONS = 26
"""As many as there are letters."""


def folder_of(task: str, dataset: str, folder: Path | None, only: str | None, layouts: Mapping[str, Layout]) -> Found:
    """The copy of the dataset. only: the layout to look for; None for all.

    Raises UsageError without a folder, DataError for no copy or several.
    """
    if folder is None:
        raise UsageError(
            f"Task {task} needs its folder: --dir FOLDER (layouts: {', '.join(layouts)}), or --dir hub@REVISION to download it."
        )
    sought = layouts if only is None else {only: layouts[only]}
    return locate(task, dataset, folder, sought, layouts)


def check_options(choices: Sequence[str]) -> None:
    """Raises BadRowError for options that cannot be asked: fewer than two, too many, or one without a text."""
    if len(choices) < 2:
        raise BadRowError("fewer than two options", f"found {len(choices)}")
    if len(choices) > MOST_OPTIONS:
        raise BadRowError("malformed options", f"{len(choices)} of them; at most {MOST_OPTIONS} have a letter each")
    if not all(choice.strip() for choice in choices):
        raise BadRowError("malformed options", "one has no text")


def warn_of_doubles(choices: Sequence[str], target: str, place: str, report: LoadReport) -> None:
    """Count an item whose options are not all different; apart, if the right one stands twice: either is then right."""
    if len(set(choices)) == len(choices):
        return
    twice = sum(choice == target for choice in choices) > 1
    report.warn("right option stands twice" if twice else "an option stands twice", place, shown(list(choices)))


def chosen(answer: str, choices: Sequence[str]) -> str:
    """The text of the option with this letter. Raises BadRowError for a letter that no option has."""
    known = letters(len(choices))
    if answer not in known:
        reason = "no answer" if answer in ("", "?") else "unknown answer"
        raise BadRowError(reason, f"answer is {shown(answer)}; expected a letter from A to {known[-1]}")
    return choices[known.index(answer)]
