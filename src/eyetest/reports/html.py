"""A run as one self-contained HTML file: no script, no foreign address, everything from outside escaped.

The template only lays out what is made here. Autoescape is on; `untrusted.plain` cleans every text on its way.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from eyetest.evaluation.results import PairRow, Row
from eyetest.metrics import KnowledgeTable
from eyetest.reports import charts, panels, sentences
from eyetest.reports.audit_page import audit_views
from eyetest.reports.cards import OUTCOMES, Asked, Card, Given
from eyetest.reports.facts import Facts, named_cells, naming_of
from eyetest.reports.gather import Gathered
from eyetest.reports.latex import as_latex
from eyetest.reports.more import MORE, ItemsView, items_views, meanings_of
from eyetest.reports.naming import KINDS, Naming, of_cells
from eyetest.reports.paper_figures import paper_view
from eyetest.reports.pictures import Drawn, Policy, drawn, policy
from eyetest.reports.provenance import provenance
from eyetest.reports.sheet import Sheet, written
from eyetest.reports.sheets import RATIOS
from eyetest.reports.size_chart import SizeChart, size_charts
from eyetest.reports.tables_csv import as_csv
from eyetest.reports.untrusted import Said, name, plain, said
from eyetest.reports.wording import count, rate
from eyetest.types import Image

LARGEST_LINK = 150_000
"""Bytes of a table that the page carries as a download; larger ones come from --csv and --latex."""

MOST_ROWS = 400
"""Rows of a table on the page."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a report may show."""

    embed_pictures: bool = False
    """Show pictures whatever the dataset's card says."""
    redact: bool = False
    """No text and no picture of any sample."""


PLAIN = Options()
"""Pictures where the card allows them, all texts."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The answer in words for one model and kind of question."""

    model: str
    words: str
    """Kind and prompt; empty where there is one of each."""
    number: int
    lead: str
    details: tuple[str, ...]
    bar: Markup | None
    parts: tuple[tuple[str, str, str], ...]
    """(class, words, count) of the bar."""


@dataclass(frozen=True, slots=True)
class KnowledgeView:
    """V x K of one model and kind of question."""

    model: str
    words: str
    number: int
    n: int
    cells: tuple[str, str, str, str]
    ratios: tuple[tuple[str, str, str, str], ...]
    """(plain name, the paper's name, value with interval, cases)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation as the page shows it."""

    role: str
    parts: tuple[Said | Drawn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What one condition asked."""

    condition: str
    prompt: str
    kind: str
    partner: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class CardView:
    """A sample card."""

    title: str
    outcome: str
    kind: str
    """Class of the outcome."""
    model: str
    question: Said | None
    choices: tuple[Said, ...]
    target: tuple[Said, ...]
    picture: Drawn
    conditions: tuple[str, ...]
    models: tuple[tuple[str, int, tuple[Given | None, ...]], ...]
    """Model, its number, its answer under each condition."""
    asked: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class TaskView:
    """Everything about one task."""

    name: str
    title: str
    number: int
    offensive: bool
    samples: int
    answers: tuple[AnswerView, ...]
    scores: panels.Chart
    metric: str
    pooled: str
    """The kinds of question that differences put together, in words; empty where there is one."""
    differences: panels.Chart
    gaps: panels.Chart
    knowledge: tuple[KnowledgeView, ...]
    heats: tuple[panels.Heat, ...]
    slices: tuple[panels.SliceChart, ...]
    sizes: tuple[SizeChart, ...]
    """Success rate against size; empty with fewer than two models of known size."""
    ranks: panels.Chart
    group_gaps: tuple[panels.SliceChart, ...]
    """False alarms, misses and refusals of each group beside the others."""
    items: tuple[ItemsView, ...]
    cards: tuple[CardView, ...]
    prompts: tuple[Question, ...]
    sheets: dict[str, Sheet]
    troubled: Sheet
    """Cells with an answer that is unparsed, refused or failed."""


def page(found: Gathered, options: Options = PLAIN) -> str:
    """The whole page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eyetest.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"name": name, "said": said, "written": written, "caption": panels.caption, "swatch": charts.swatch}
    numbers = panels.number_of(found.models)
    tasks = [_task(found, task, place, numbers, options) for place, task in enumerate(found.tasks)]
    text = environment.get_template("report.html.jinja").render(
        found=found,
        tasks=tasks,
        numbers=numbers,
        redact=options.redact,
        kinds=KINDS,
        captions={condition: panels.caption(condition) for condition in found.manifest["spec"].get("conditions", ())},
        provenance=provenance(found.manifest, found.results, redact=options.redact),
        downloads=list(_downloads(found.sheets)),
        notes=list(_notes(found)),
        most_rows=MOST_ROWS,
        means=_shown(next((sheet for sheet in found.sheets if sheet.name == "means"), _NO_SHEET)),
        meanings=meanings_of(found.results.findings),
        more=MORE,
        bars=any(one.cells for one in found.facts),
        audits=audit_views(found.audits, numbers, redact=options.redact),
        paper=paper_view(found.facts, map(_shown, found.sheets), numbers),
    )
    return text.lstrip()  # macros leave their line ends


_NO_SHEET = Sheet("", "", (), ())


def _task(found: Gathered, task: str, place: int, numbers: dict[str, int], options: Options) -> TaskView:
    results, described = found.results, found.manifest["tasks"].get(task, {})
    card = described.get("card", {})
    rows = [row for row in results.rows if row.task == task]
    pairs = [pair for pair in results.pairs if pair.task == task]
    rule = policy(card, found.directory, embed_pictures=options.embed_pictures, redact=options.redact)
    facts = [one for one in found.facts if one.task == task]
    naming, order = naming_of(facts).get(task, Naming()), _grid_order(found.manifest["spec"].get("conditions", ()))
    return TaskView(
        name=task,
        title=str(card.get("title", "")),
        number=place + 1,
        offensive=bool(card.get("offensive")),
        samples=int(described.get("samples", 0)),
        answers=tuple(_said(one, numbers, naming) for one in facts),
        scores=panels.scores(rows, numbers),
        metric=next((row.estimate.metric for row in rows), "").replace("_", " ").replace("f1", "F1"),
        pooled=" and ".join(KINDS.get(kind, kind) for kind in dict.fromkeys(one.kind for one in facts)) if naming.kinds else "",
        differences=panels.differences(pairs, numbers),
        gaps=panels.gap_rates(pairs, numbers),
        knowledge=tuple(_knowledge(one, one.knowledge, numbers, naming) for one in facts if one.knowledge is not None),
        heats=panels.heats([table for table in results.classes if table.task == task], numbers),
        slices=panels.slices(rows, numbers),
        sizes=size_charts(rows, found.manifest.get("models", {})),
        ranks=panels.ranks([row for row in results.standings if row.task == task], numbers),
        group_gaps=panels.group_gaps([row for row in results.findings if row.task == task], numbers),
        items=() if options.redact else tuple(items_views([one for one in found.items if one.task == task], numbers)),
        cards=tuple(_card(one, numbers, rule, options.redact, order) for one in found.cards if one.choice.task == task),
        prompts=tuple(_question(one, rule, options.redact) for one in sorted(found.examples.get(task, ()), key=order)),
        sheets={sheet.name: _shown(sheet.of(task)) for sheet in found.sheets},
        troubled=_shown(_troubled(next(sheet for sheet in found.sheets if sheet.name == "failures").of(task))),
    )


def _troubled(failures: Sheet) -> Sheet:
    places = [failures.columns.index(column) for column in ("unparsed", "refused", "failed")]
    rows = tuple(row for row in failures.rows if any(row[place] for place in places))
    return Sheet(failures.name, failures.title, failures.columns, rows)


_Order = Callable[[Asked], tuple[int, str, str, str]]


def _grid_order(conditions: Sequence[str]) -> _Order:
    """Sorts what was asked as the run file names the conditions, not as answers arrived."""
    places = {condition: place for place, condition in enumerate(conditions)}
    return lambda asked: (places.get(asked.condition, len(places)), asked.condition, asked.prompt, asked.kind)


_DULL = (
    *("prompt", "kind", "note", "SD between repeats %", "without", "policy", "slice by", "slice", "detail"),
    *("lowest %", "highest %", "score % if failed wrong", "score % if failed right"),
)


def _shown(sheet: Sheet) -> Sheet:
    """A sheet for the page: without columns that say nothing here."""
    return sheet.without(_DULL)


def _said(facts: Facts, numbers: dict[str, int], naming: Naming) -> AnswerView:
    made = sentences.answer(facts)
    parts = tuple((kind, words, count(size)) for kind, words, size in named_cells(facts.cells)) if facts.cells else ()
    bar = charts.stacked(facts.cells) if facts.cells else None
    words, details = naming.words(facts.prompt, facts.kind), tuple(map(_unbroken, made.details))
    return AnswerView(facts.model, words, numbers[facts.model], _unbroken(made.lead), details, bar, parts)


def _unbroken(text: str) -> str:
    """No line ends between a number and its sign or name."""
    return text.replace(" %", "\u00a0%").replace("n = ", "n\u00a0=\u00a0").replace(" points", "\u00a0points")


def _knowledge(facts: Facts, known: KnowledgeTable, numbers: dict[str, int], naming: Naming) -> KnowledgeView:
    both, only_seen, only_known, neither = map(count, known.cells)
    ratios = []
    for words, paper, get in RATIOS:
        made = get(known)
        ratios.append((words, paper, rate(made.value, made.low, made.high), count(made.n)))
    n, cells = round(sum(known.cells)), (both, only_seen, only_known, neither)
    words = naming.words(facts.prompt, facts.kind)
    return KnowledgeView(facts.model, words, numbers[facts.model], n, cells, tuple(ratios))


def _card(card: Card, numbers: dict[str, int], rule: Policy, redact: bool, order: _Order) -> CardView:
    asked = sorted(card.asked.values(), key=order)
    conditions = tuple(one.condition for one in asked)
    models = tuple(
        (model, number, tuple(_hidden(card.given.get((model, condition)), redact) for condition in conditions))
        for model, number in numbers.items()
        if any((model, condition) in card.given for condition in conditions)
    )
    return CardView(
        title="" if redact else card.choice.sample,
        outcome=OUTCOMES[card.choice.outcome],
        kind=card.choice.outcome,
        model=card.choice.model,
        question=None if redact else card.question,
        choices=() if redact else card.choices,
        target=() if redact else card.target,
        picture=drawn(card.picture, rule),
        conditions=conditions,
        models=models,
        asked=() if redact else tuple(_question(one, rule, redact) for one in asked),
    )


def _hidden(given: Given | None, redact: bool) -> Given | None:
    if given is None or not redact:
        return given
    return Given(given.model, given.condition, said(""), None, given.verdict, given.credit, "")


def _question(asked: Asked, rule: Policy, redact: bool) -> Question:
    turns = tuple(Turn(role, tuple(_part(part, rule, redact) for part in parts)) for role, parts in asked.turns)
    return Question(asked.condition, asked.prompt, asked.kind, "" if redact else asked.partner, turns)


def _part(part: Said | Image, rule: Policy, redact: bool) -> Said | Drawn:
    if isinstance(part, Image):
        return drawn(part, rule)
    return said(f"[{part.length:,} characters, left out (--redact)]") if redact else part


def _downloads(sheets: Sequence[Sheet]) -> Iterator[tuple[str, str, Markup | None, Markup | None]]:
    """(title, name, CSV link, LaTeX link) of every table; no link where it would be large."""
    for sheet in sheets:
        yield sheet.title, sheet.name, _data("text/csv", as_csv(sheet)), _data("text/plain", as_latex(sheet))


def _data(mime: str, text: str) -> Markup | None:
    content = text.encode("utf-8", "replace")
    if len(content) > LARGEST_LINK:
        return None
    return Markup(f"data:{mime};charset=utf-8;base64,{base64.b64encode(content).decode('ascii')}")  # noqa: S704 (base64)


def _notes(found: Gathered) -> Iterator[tuple[str, str]]:
    """Why numbers are undefined or withheld: (note, where)."""
    places: Counter[str] = Counter()
    first: dict[str, str] = {}
    whole = [row for row in found.results.rows if not row.by]
    naming = {task: of_cells(row for row in whole if row.task == task) for task in found.tasks}
    items: list[tuple[str, Row | PairRow]] = [
        (f"{row.task}, {row.model}, {naming[row.task].of(row.condition, row.prompt, row.kind)}", row) for row in whole
    ]
    for pair in found.results.pairs:
        compared = naming[pair.task].of(f"{pair.first} − {pair.second}", pair.prompt)
        items.append((f"{pair.task}, {pair.model}, {compared}", pair))
    for where, row in items:
        note = row.estimate.note
        if note:
            places[note] += 1
            first.setdefault(note, where)
    for note, number in places.items():
        yield note, first[note] + (f" and {number - 1:,} more" if number > 1 else "")
