"""The same completions under every rule of reading: how far the score hangs on the rule, and on which items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from eyetest.evaluation.judged import cell_of
from eyetest.evaluation.rescore import Stored, stored_run
from eyetest.evaluation.run import read
from eyetest.evaluation.table import Cell, Table
from eyetest.metrics import estimate
from eyetest.scorers import ChoiceScorer, TextScorer
from eyetest.scorers.clean import plain, visible
from eyetest.scorers.declared import declared_text
from eyetest.scorers.judge import JUDGED_KINDS, is_judged
from eyetest.scorers.options import compile_options, fold
from eyetest.scorers.text import tokens
from eyetest.store import read_predictions
from eyetest.tasks import Task
from eyetest.types import Estimate, Prediction, Sample, Score

LENIENT, JUDGE = "lenient", "judge"

EXCERPT = 200
"""Characters of a disputed completion that are kept."""

BARE = frozenset(("option_text", "letter_alone"))
"""Rules of the choice scorer by which the whole completion is the answer and nothing else."""


@dataclass(frozen=True, slots=True)
class _Completion:
    """What a rule reads."""

    sample: Sample
    text: str
    lenient: Score
    """How the task's own scorer reads it."""
    lettered: bool
    """Whether the prompt showed option letters."""


Rule = Callable[[_Completion], Score]


def _strict(said: _Completion) -> Score:
    """The completion is an option, its letter, or an alias, and nothing else (case, articles and outer punctuation aside)."""
    if said.sample.kind == "choice":
        bare = said.lenient.status == "scored" and said.lenient.rule in BARE
        return said.lenient if bare else Score("unparsed", rule="not_bare")
    words = _words(visible(said.text, said.sample.question))
    if not words:
        return Score("unparsed", rule="empty")
    equal = words in {_words(plain(alias)) for alias in said.sample.target}
    return Score("scored", float(equal), words[:EXCERPT], rule="alias" if equal else "not_bare")


def _words(shown: str) -> str:
    return " ".join(token.text for token in tokens(shown))


def _lenient(said: _Completion) -> Score:
    return said.lenient


def _last_declared(said: _Completion) -> Score:
    """What the completion declares last ("the answer is ..."), and nothing else of it."""
    declared = declared_text(visible(said.text, said.sample.question))
    if declared is None:
        return Score("unparsed", rule="nothing_declared")
    scorer = ChoiceScorer(letters=said.lettered) if said.sample.kind == "choice" else TextScorer()
    return scorer(said.sample, declared)


def _text_match(said: _Completion) -> Score:
    """The only option whose text occurs, letters and denials aside; of a short answer, whether an alias occurs as words."""
    sample, shown = said.sample, visible(said.text, said.sample.question)
    if sample.kind == "choice":
        options = compile_options(sample.choices, False)
        whole = options.exact.get(fold(shown))
        found = {whole} if whole is not None else {mention.text for mention in options.mentions(shown)}
        if len(found) != 1:
            return Score("unparsed", rule="several_option_texts" if found else "no_option_text")
        [choice] = found
        return Score("scored", float(choice in sample.target), choice, rule="option_text_occurs")
    words = " ".join(shown.casefold().split())
    if not words:
        return Score("unparsed", rule="empty")
    occurs = any(_as_words(alias).search(words) for alias in sample.target if alias.strip())
    return Score("scored", float(occurs), words[:EXCERPT], rule="alias_occurs" if occurs else "no_alias")


def _as_words(alias: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(' '.join(visible(alias).casefold().split()))}(?!\w)")


def _contains(said: _Completion) -> Score:
    """The right answer occurs as a substring: the presence rule of arXiv 2410.12329."""
    return TextScorer(match="contains")(said.sample, said.text)


RULES: Mapping[str, Rule] = {
    "strict": _strict,
    LENIENT: _lenient,
    "last_declared": _last_declared,
    "text_match": _text_match,
    "contains": _contains,
}
"""Name -> rule; `lenient` is the task's own scorer. A judge, where one graded, stands beside them."""


@dataclass(frozen=True, slots=True)
class RuleScores:
    """The headline metric of one cell under every rule."""

    cell: Cell
    estimates: Mapping[str, Estimate]
    n_disputed: int

    @property
    def lowest(self) -> float:
        """The smallest value that a rule gives."""
        return min(made.value for made in self.estimates.values())

    @property
    def highest(self) -> float:
        """The largest value that a rule gives."""
        return max(made.value for made in self.estimates.values())


@dataclass(frozen=True, slots=True)
class Disputed:
    """One answer that gets credit by some rules and not by others."""

    cell: Cell
    sample: str
    variant: int
    repeat: int
    target: tuple[str, ...]
    completion: str
    """Its first EXCERPT characters."""
    scores: Mapping[str, Score]
    """Rule -> score."""


@dataclass(frozen=True, slots=True)
class AllRules:
    """What all rules say of one run."""

    rules: tuple[str, ...]
    cells: tuple[RuleScores, ...]
    disputed: tuple[Disputed, ...]
    """Every disputed answer, in the order of the grid and of sample ids."""


def all_rules(directory: Path) -> AllRules:
    """Read a finished run by every rule; writes nothing and calls no model.

    Choice questions and short answers only: other kinds have one way of being read. Raises StoreError, UsageError.
    """
    stored = stored_run(directory)
    tasks = stored.tasks()
    judged = any(is_judged(prediction.score) for prediction in read_predictions(stored.predictions))
    rules = (*RULES, JUDGE) if judged else tuple(RULES)
    tables = {rule: stored.table() for rule in rules}
    disputed: list[Disputed] = []
    for prediction in read_predictions(stored.predictions):
        if prediction.sample.kind not in JUDGED_KINDS:
            continue
        scores = _by_every_rule(stored, tasks, prediction, rules)
        for rule, score in scores.items():
            tables[rule].add(replace(prediction, score=score))
        if _are_disputed(scores.values()):
            disputed.append(_dispute(prediction, scores))
    order = tables[LENIENT].order
    disputed.sort(key=lambda one: (order.place(one.cell), one.sample, one.variant, one.repeat))
    return AllRules(rules, _cells(stored, tasks, tables, disputed), tuple(disputed))


def _by_every_rule(stored: Stored, tasks: Mapping[str, Task], prediction: Prediction, rules: tuple[str, ...]) -> dict[str, Score]:
    sample, response = prediction.sample, prediction.response
    task, lettered = stored.task(prediction, tasks), stored.lettered(prediction, tasks)
    lenient = read(task, sample, response, lettered=lettered)
    if response.status not in ("ok", "truncated"):  # no rule reads what is no completion
        return dict.fromkeys(rules, lenient)
    said = _Completion(sample, response.text, lenient, lettered)
    scores = {name: rule(said) for name, rule in RULES.items()}
    return scores | ({JUDGE: prediction.score} if JUDGE in rules else {})


def _are_disputed(scores: Iterable[Score]) -> bool:
    """Whether credit, as the headline counts it, depends on the rule."""
    return len({score.value * (score.status == "scored") for score in scores}) > 1


def _dispute(prediction: Prediction, scores: Mapping[str, Score]) -> Disputed:
    excerpt = " ".join(prediction.response.text.split())[:EXCERPT]
    sample = prediction.sample
    cell = cell_of(prediction)
    return Disputed(cell, sample.id, prediction.variant, prediction.repeat, sample.target, excerpt, scores)


def _cells(
    stored: Stored, tasks: Mapping[str, Task], tables: Mapping[str, Table], disputed: list[Disputed]
) -> tuple[RuleScores, ...]:
    seed, found = int(stored.spec.get("seed", 0)), []
    counts = Counter(one.cell for one in disputed)
    for cell in tables[LENIENT].cells:
        headline = tasks[cell.task].metrics[cell.kind][0]
        columns = {rule: table.columns(cell) for rule, table in tables.items()}
        judged = columns.get(JUDGE)
        if judged is not None and judged.number_of("unscored") > _allowed(stored) * len(judged):
            del columns[JUDGE]
        made = {rule: estimate(headline, column, seed=seed) for rule, column in columns.items()}
        found.append(RuleScores(cell, made, counts[cell]))
    return tuple(found)


def _allowed(stored: Stored) -> float:
    """The share of unscored answers that the judge's pass allowed."""
    judge = stored.manifest.get("judge")
    return float(judge.get("max_failures", 0)) if isinstance(judge, dict) else 0.0
