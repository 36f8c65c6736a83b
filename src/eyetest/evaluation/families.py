"""Means of the tasks of one family: misinformation is PolitiFact and GossipCop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from eyetest.evaluation.results import Finding, Row, first_rows
from eyetest.tasks import Task
from eyetest.types import Estimate


def families(rows: Iterable[Row], tasks: Mapping[str, Task]) -> Iterator[Finding]:
    """The plain mean over the tasks of a family of each headline, where two tasks or more were asked alike."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in first_rows(rows):
        family = tasks[row.task].family
        if family:
            found.setdefault((family, row.model, row.prompt, row.condition, row.kind, row.estimate.metric), []).append(row)
    for (family, model, prompt, condition, kind, _), members in found.items():
        if len(members) > 1:
            names = ", ".join(row.task for row in members)
            made = mean_of([row.estimate for row in members])
            yield Finding("families", family, model, prompt, condition, kind, made, detail=f"mean of {names}")


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """The plain mean of independent estimates of one metric.

    Interval by squaring and adding the distances of the ends (MOVER, Zou & Donner 2008): exact for normal estimates, and
    it keeps the skew of others. Undefined or withheld if any part is.
    """
    k = len(estimates)
    value = sum(made.value for made in estimates) / k
    below = math.sqrt(sum((made.value - made.low) ** 2 for made in estimates)) / k
    above = math.sqrt(sum((made.high - made.value) ** 2 for made in estimates)) / k
    note = "" if not math.isnan(below + above) else "interval withheld: a part has none"
    return Estimate(
        metric=f"mean_{estimates[0].metric}",
        value=value,
        low=value - below,
        high=value + above,
        n=sum(made.n for made in estimates),
        n_distinct=sum(made.n_distinct for made in estimates),
        n_unparsed=sum(made.n_unparsed for made in estimates),
        n_refused=sum(made.n_refused for made in estimates),
        n_failed=sum(made.n_failed for made in estimates),
        signature=f"mean_{estimates[0].metric}|of={k} tasks|interval=mover95|" + "|".join(estimates[0].signature.split("|")[-1:]),
        note=note,
    )
