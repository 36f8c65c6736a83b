"""The section of the page that says, first of all, whether the data need their pictures and why the models fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eyetest.evaluation.audit import Audit
from eyetest.evaluation.audit_verdict import Verdict, verdict
from eyetest.reports.audit_files import FIRST_IDS, bounds, measures, of_tasks
from eyetest.reports.audit_words import CAUSE, DATA, cause_evidence, data_evidence, warnings
from eyetest.reports.naming import Naming
from eyetest.reports.sheet import Sheet, Span


@dataclass(frozen=True, slots=True)
class ModelView:
    """One model on one kind of question."""

    model: str
    words: str
    """Kind and prompt; empty where there is one of each."""
    number: int
    data: str
    data_evidence: str
    cause: str
    cause_evidence: str
    warnings: tuple[str, ...]
    scores: Sheet
    lists: Sheet
    measures: Sheet
    methods: tuple[tuple[str, int], ...]
    without_knowledge: int


@dataclass(frozen=True, slots=True)
class DataView:
    """One data set."""

    task: str
    verdict: str
    models: tuple[ModelView, ...]


def audit_views(found: Sequence[Audit], numbers: dict[str, int], *, redact: bool = False) -> tuple[DataView, ...]:
    """Every data set, in the order of the grid. numbers: model -> place in the palette; redact: no sample ids."""
    return tuple(_data(task, decided, found, numbers, redact) for task, decided in of_tasks(found))


def _data(task: str, decided: Verdict | None, found: Sequence[Audit], numbers: dict[str, int], redact: bool) -> DataView:
    own = [one for one in found if one.task == task]
    naming = Naming(len({one.prompt for one in own}) > 1, len({one.kind for one in own}) > 1)
    words = "" if decided is None else DATA[decided.data]
    return DataView(task, words, tuple(_model(one, naming, numbers, redact) for one in own))


def _model(audit: Audit, naming: Naming, numbers: dict[str, int], redact: bool) -> ModelView:
    made = verdict(audit)
    columns = ("what", "value", "n")
    return ModelView(
        audit.model,
        naming.words(audit.prompt, audit.kind),
        numbers[audit.model],
        DATA[made.data],
        _unbroken(data_evidence(audit, made)),
        CAUSE[made.cause],
        _unbroken(cause_evidence(audit, made)),
        tuple(map(_unbroken, warnings(audit))),
        _scores(audit),
        _lists(audit, redact),
        Sheet("audit_measures", "", columns, tuple(measures(audit))),
        tuple(audit.makeup.methods.items()),
        audit.makeup.without_knowledge,
    )


def _unbroken(text: str) -> str:
    """No line ends between a number and its sign or name."""
    return text.replace(" %", "\u00a0%").replace("n = ", "n\u00a0=\u00a0").replace(" points", "\u00a0points")


def _scores(audit: Audit) -> Sheet:
    columns = ("condition", "score %", "guessing %", "n", "unread", "refused", "failed", "% if those were all wrong or all right")
    return Sheet("audit_scores", "", columns, tuple(_score_rows(audit))).without(columns[-1:])


def _score_rows(audit: Audit) -> Iterator[tuple[str | int | Span, ...]]:
    for one in audit.asked:
        made = one.score
        yield (
            one.condition,
            Span(made.value, made.low, made.high),
            Span(one.guess, alone=True),
            *(made.n, made.n_unparsed, made.n_refused, made.n_failed),
            bounds(one),
        )


def _lists(audit: Audit, redact: bool) -> Sheet:
    rows = []
    for part in audit.lists:
        share, first = part.share, "" if redact else ", ".join(part.ids[:FIRST_IDS]) + ", …" * (len(part.ids) > FIRST_IDS)
        rows.append((part.place, len(part.ids), Span(share.value, share.low, share.high), first))
    columns = ("with picture, as knowledge", "questions", "%", "the first of them")
    return Sheet("audit_lists", "", columns, tuple(rows))
