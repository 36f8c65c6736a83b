"""What an audit asks by default, and the audit of a run directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eyetest.evaluation.audit import Audit, Tally, audits
from eyetest.evaluation.judged import cell_of, signed, withheld
from eyetest.evaluation.plan import Plan, Survey
from eyetest.evaluation.rescore import stored_run
from eyetest.evaluation.results import Results
from eyetest.evaluation.table import Table
from eyetest.store import read_predictions

CONDITIONS = (
    "image",
    "no_image",
    "shuffled",
    "no_image+shuffled",
    "open_ended",
    "no_image+open_ended",
    "knowledge",
)
"""What is asked where the data allow it: Tables 1 and 2 of arXiv 2410.12329 for one data set."""


def applicable(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of CONDITIONS can apply to some sample of the plan, and a reason for each that is left out."""
    known, options = _has(plan.surveys)
    reasons: dict[str, str] = {}
    for condition in CONDITIONS:
        steps = condition.split("+")
        if "knowledge" in steps and not known:
            reasons[condition] = "no sample has a knowledge question (see: eyetest knowledge --help)"
        elif {"shuffled", "open_ended"} & set(steps) and not options:
            reasons[condition] = "no question has options"
    kept = tuple(condition for condition in CONDITIONS if condition not in reasons)
    return kept, tuple(f"{condition}, because {reason}" for condition, reason in reasons.items())


def _has(surveys: Sequence[Survey]) -> tuple[bool, bool]:
    """Whether some sample has a knowledge question, and whether some has options to choose from."""
    known = options = False
    for survey in surveys:
        for sample in survey.samples():
            known = known or bool(sample.knowledge_question)
            options = options or (sample.kind == "choice" and len(sample.choices) > 1)
            if known and options:
                return True, True
    return known, options


def audit_run(directory: Path, results: Results | None = None) -> tuple[Table, Results, tuple[Audit, ...]]:
    """The stored scores of a finished run as columns, their estimates and the audits. Raises StoreError.

    results: of this run, where it has just been summed up.
    """
    stored = stored_run(directory)
    table, tally, left_out = stored.table(), Tally(), withheld(stored.manifest)
    for prediction in read_predictions(stored.predictions):
        if cell_of(prediction) not in left_out:
            table.add(prediction)
            tally.add(prediction)
    if results is None:
        results = stored.summarised(table, stored.tasks())
        judge = stored.manifest.get("judge")
        results = results if judge is None else signed(results, judge)
    return table, results, audits(table, results, tally)
