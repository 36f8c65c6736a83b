"""The audit on the terminal, as `audit.json` and as `audit/items.csv`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from eyetest.errors import StoreError
from eyetest.evaluation.audit import Asked, Audit
from eyetest.evaluation.audit_verdict import Verdict, strongest, verdict
from eyetest.reports.audit_words import CAUSE, DATA, cause_evidence, data_evidence, warnings
from eyetest.reports.measures import measure
from eyetest.reports.naming import Naming
from eyetest.reports.sheet import Plain, Sheet
from eyetest.reports.tables_csv import as_csv
from eyetest.reports.text import grid_of, print_grid
from eyetest.reports.untrusted import NAME_LENGTH, clean
from eyetest.reports.wording import count, hundredths, rate
from eyetest.store import to_json
from eyetest.store.files import write_whole

FIRST_IDS = 5
"""Sample ids of each list on the terminal and on the page; `audit/items.csv` has all."""


def write_audit(directory: Path, found: Sequence[Audit]) -> tuple[Path, ...]:
    """Write `audit.json` and `audit/items.csv` into a run directory; returns both. Raises StoreError."""
    whole, listed = directory / "audit.json", directory / "audit" / "items.csv"
    try:
        listed.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{listed.parent}: cannot be made: {error.strerror or error}. Allow writing there.") from None
    write_whole(whole, to_json(as_dict(found), indent=True))
    write_whole(listed, as_csv(items_sheet(found)).encode("utf-8", "replace"))
    return whole, listed


def as_dict(found: Sequence[Audit]) -> dict[str, Any]:
    """For `audit.json`: nan becomes null; the words stand beside the codes."""
    return {
        "data_sets": [
            {"task": task, "verdict": one.data, "words": DATA[one.data]} for task, one in of_tasks(found) if one is not None
        ],
        "audits": [_flat(one, verdict(one)) for one in found],
    }


def of_tasks(found: Sequence[Audit]) -> Iterator[tuple[str, Verdict | None]]:
    """Every data set and the verdict that decides for it."""
    for task in dict.fromkeys(one.task for one in found):
        yield task, strongest([verdict(one) for one in found if one.task == task])


def _flat(audit: Audit, made: Verdict) -> dict[str, Any]:
    flat = asdict(audit)
    flat["verdict"] = {
        "data": {"code": made.data, "words": DATA[made.data], "evidence": data_evidence(audit, made)},
        "model": {"code": made.cause, "words": CAUSE[made.cause], "evidence": cause_evidence(audit, made)},
        "remaining_without_picture": asdict(made.remaining),
        "warnings": list(warnings(audit)),
    }
    if audit.gap is not None and not _says_something(audit):
        flat["gap"]["value"] = None
    return flat


def _says_something(audit: Audit) -> bool:
    """Whether the gap rate is a share of something: defined and not below 0."""
    return audit.gap is not None and math.isfinite(audit.gap.value) and audit.gap.value >= 0


def items_sheet(found: Sequence[Audit]) -> Sheet:
    """Every question of the four lists."""
    rows = tuple(
        (one.task, one.model, one.prompt, one.kind, part.place, name) for one in found for part in one.lists for name in part.ids
    )
    return Sheet("items", "The four lists of the audit", ("task", "model", "prompt", "kind", "list", "sample"), rows)


def measures(audit: Audit) -> Iterator[tuple[str, str, str]]:
    """(words, value with interval, n) of gap, dependence panel and knowledge table; what means nothing is left out."""
    if _says_something(audit) and audit.gap is not None:
        yield "gap rate", f"{rate(audit.gap.value, audit.gap.low, audit.gap.high)} %", count(audit.gap.n)
    for row in audit.findings:
        made = row.estimate
        if not math.isfinite(made.value) or (made.metric.endswith("gap") and made.value < 0):
            continue
        if made.metric == "gap_rate":
            if math.isfinite(row.lowest) and math.isfinite(row.highest):
                between = f"{hundredths(row.lowest)} to {hundredths(row.highest)} %"
                yield "gap rate, if what failed had been all wrong or all right", between, count(made.n)
            continue
        about = measure(made.metric)
        value = rate(made.value, made.low, made.high) + " %" if about.share else str(Plain(made.value, made.low, made.high))
        yield about.words, value, count(made.n)
    if audit.knowledge is not None:
        for words, made in (("sufficiency ratio (SuR)", audit.knowledge.sur), ("necessity ratio (NeR)", audit.knowledge.ner)):
            if math.isfinite(made.value):
                yield words, f"{rate(made.value, made.low, made.high)} %", count(made.n)


def bounds(asked: Asked) -> str:
    """The score if all that was unread, refused or failed were wrong, and if it were right; empty where nothing was."""
    made = asked.score
    troubled = made.n_unparsed + made.n_refused + made.n_failed
    return f"{hundredths(asked.all_wrong)} to {hundredths(asked.all_right)}" if troubled else ""


def score_row(asked: Asked) -> tuple[str, ...]:
    """condition, score %, guessing %, unread, refused, failed, if all wrong to all right, n."""
    made = asked.score
    guess = "none" if math.isnan(asked.guess) else hundredths(asked.guess)
    shown = rate(made.value, made.low, made.high)
    return (
        asked.condition,
        shown,
        guess,
        *map(count, (made.n_unparsed, made.n_refused, made.n_failed)),
        bounds(asked),
        count(made.n),
    )


SCORE_COLUMNS = ("condition", "score %", "guessing %", "unread", "refused", "failed", "all wrong to all right %", "n")


def print_audits(console: Console, found: Sequence[Audit], left_out: Sequence[str] = ()) -> None:
    """All verdicts first, then a table for every model and kind of question of every data set."""
    if not found:
        _say(console, "Nothing to audit: no question was asked with its picture.")
    for task, decided in of_tasks(found):
        console.print()
        if decided is not None:
            _say(console, f"{clean(task, NAME_LENGTH)}: {DATA[decided.data]}.", "bold")
        for audit in found:
            if audit.task == task:
                _print_verdicts(console, audit, _called(audit, found))
    for audit in found:
        _print_numbers(console, audit, _called(audit, found))
    for reason in left_out:
        _say(console, f"Left out: {reason}.")


def _called(audit: Audit, found: Sequence[Audit]) -> str:
    """The model, with kind and prompt where its data set has several."""
    own = [one for one in found if one.task == audit.task]
    naming = Naming(len({one.prompt for one in own}) > 1, len({one.kind for one in own}) > 1)
    return clean(naming.of(clean(audit.model, NAME_LENGTH), audit.prompt, audit.kind), 2 * NAME_LENGTH)


def _print_verdicts(console: Console, audit: Audit, called: str) -> None:
    made = verdict(audit)
    _say(console, f"  {called}, the data: {DATA[made.data]}. {data_evidence(audit, made)}")
    _say(console, f"  {called}, the model: {CAUSE[made.cause]}. {cause_evidence(audit, made)}")
    for warning in warnings(audit):
        _say(console, f"  Mind: {warning}", "yellow")


def _print_numbers(console: Console, audit: Audit, called: str) -> None:
    title = f"{clean(audit.task, NAME_LENGTH)}, {called}"
    grid = grid_of(title, SCORE_COLUMNS, range(1, len(SCORE_COLUMNS)))
    for asked in audit.asked:
        grid.add_row(*(Text(clean(value, NAME_LENGTH)) for value in score_row(asked)))
    print_grid(console, grid)
    for words, value, n in measures(audit):
        _say(console, f"  {words}: {value} (n = {n})")
    for part in audit.lists:
        first = ", ".join(clean(name, NAME_LENGTH) for name in part.ids[:FIRST_IDS])
        more = ", ..." if len(part.ids) > FIRST_IDS else ""
        share = rate(part.share.value, part.share.low, part.share.high)
        _say(console, f"  {part.place}: {len(part.ids):,} of {part.share.n:,}, {share} %{': ' * bool(first)}{first}{more}")
    if audit.makeup.methods:
        shares = ", ".join(f"{clean(name, NAME_LENGTH)} {n:,}" for name, n in audit.makeup.methods.items())
        without = f"; without one {audit.makeup.without_knowledge:,}" if audit.makeup.without_knowledge else ""
        _say(console, f"  knowledge questions by how they were made: {shares}{without}")


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(text.rstrip(), style=style, highlight=False, markup=False, soft_wrap=True)
