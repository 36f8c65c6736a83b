"""A second pass over a finished run: a model grades what the rules could not read, or everything.

Verdicts go to a journal of their own beside the run's, so that a killed pass loses nothing and a later one asks exactly what is
missing. Only readable verdicts are kept: what failed is asked again. The scores are a function of the stored answers and of
that journal, so judging twice, or after another judge, gives what judging once gives.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyetest.errors import ModelError, UsageError
from eyetest.evaluation.judged import cell_of, signed
from eyetest.evaluation.rescore import Stored, stored_run
from eyetest.evaluation.results import Results
from eyetest.evaluation.run import Progress, Watch, read
from eyetest.evaluation.rundir import VERDICTS, RunDirectory
from eyetest.evaluation.table import Cell, Table
from eyetest.scorers.judge import (
    Form,
    JudgeOptions,
    Verdict,
    can_be_judged,
    decide,
    is_judged,
    judge_request,
    judged_score,
    prompt_hash,
    read_verdict,
)
from eyetest.store import Journal, content_key, read_predictions
from eyetest.tasks import Task
from eyetest.types import Model, Prediction, Request, Response, Sample, Score

MOST_VOTES = 15

VARIED = 0.7
"""Temperature of several votes, and of asking again: at 0 another seed would change nothing."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What is judged, and what is asked of the judge. Raises UsageError on a value out of range."""

    everything: bool = False
    """Judge every answer that can be judged, not only what the rules could not read."""
    votes: int = 1
    """Verdicts on each answer; more than half must agree. Odd."""
    max_failures: float = 0.0
    """Largest share of a cell's answers that may stay unscored before no number of the cell is given."""
    form: Form = "json"
    """How verdicts are given."""
    max_tokens: int = 1024
    """Longest reply."""

    def __post_init__(self) -> None:
        if not (1 <= self.votes <= MOST_VOTES and self.votes % 2):
            raise UsageError(f"--votes {self.votes}: give an odd number from 1 to {MOST_VOTES}, so that most can agree.")
        if not 0 <= self.max_failures < 1:
            raise UsageError(f"--max-failures {self.max_failures:g}: give a share from 0 to below 1, e.g. 0.01.")
        if self.max_tokens < 1:
            raise UsageError(f"--max-tokens {self.max_tokens}: give a number of tokens, 1 or more.")

    def options(self, vote: int, *, lettered: bool) -> JudgeOptions:
        """How vote number `vote` is asked for."""
        return JudgeOptions(self.form, lettered, 0.0 if self.votes == 1 else VARIED, self.max_tokens, vote)


@dataclass(frozen=True, slots=True)
class CellCount:
    """What became of the answers of one cell."""

    cell: Cell
    answers: int
    judged: int
    """Answers that went to the judge."""
    unscored: int
    """Of these, without a verdict."""

    @property
    def rate(self) -> float:
        """Share of the cell's answers that stayed unscored."""
        return self.unscored / self.answers


@dataclass(frozen=True, slots=True)
class Judged:
    """What a pass gave."""

    table: Table
    """The cells whose numbers are given."""
    results: Results
    counts: tuple[CellCount, ...]
    """Every cell, in the order of the grid."""
    withheld: tuple[CellCount, ...]
    """Cells with more failures than allowed: no number is made of them, nor of a comparison with them."""
    progress: Progress
    own: tuple[str, ...]
    """Models of the run that the judge is itself: graders favour what they wrote."""

    @property
    def unscored(self) -> int:
        """Answers without a verdict, over all cells."""
        return sum(one.unscored for one in self.counts)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One verdict to be asked for."""

    key: bytes
    request: Request
    sample: Sample
    completion: str
    options: JudgeOptions
    repeated: bool = False

    def again(self, votes: int) -> _Ask:
        """The same question with another seed, under the same key."""
        seed = votes + (self.options.seed or 0)
        options = replace(self.options, temperature=VARIED, seed=seed)
        return replace(self, request=judge_request(self.sample, self.completion, options), options=options, repeated=True)


@dataclass(frozen=True, slots=True)
class _Item:
    """One answer that goes to the judge."""

    sample: Sample
    by_rules: Score
    keys: tuple[bytes, ...]
    """Of its verdicts, one a vote."""


@dataclass(slots=True)
class _Pass:
    """One pass of one judge over one run."""

    stored: Stored
    tasks: Mapping[str, Task]
    model: Model
    settings: JudgeSettings
    journal: Journal
    watch: Watch
    progress: Progress = field(default_factory=Progress)
    items: dict[int, _Item] = field(default_factory=dict)
    """Line of the prediction, from 0 -> what was asked of it."""
    verdicts: dict[bytes, Verdict] = field(default_factory=dict)
    waiting: dict[int, _Ask] = field(default_factory=dict)
    """id(request) -> what it asks, which keeps the request alive."""
    unread: list[_Ask] = field(default_factory=list)
    """Answered in a form that is no verdict: asked once more."""
    answers: Counter[Cell] = field(default_factory=Counter)

    def by_rules(self, prediction: Prediction) -> Score:
        """How the rules read it: the stored score, unless that is a judge's."""
        if not is_judged(prediction.score):
            return prediction.score
        task, lettered = self.stored.task(prediction, self.tasks), self.stored.lettered(prediction, self.tasks)
        return read(task, prediction.sample, prediction.response, lettered=lettered)

    def first_asks(self) -> Iterator[_Ask]:
        """Every verdict that is not known yet, each once; notes on the way which verdicts each answer needs."""
        for line, prediction in enumerate(read_predictions(self.stored.predictions)):
            self.answers[cell_of(prediction)] += 1
            by_rules = self.by_rules(prediction)
            if not self._is_wanted(prediction, by_rules):
                continue
            asks = self._asks(prediction)
            self.items[line] = _Item(prediction.sample, by_rules, tuple(ask.key for ask in asks))
            self.progress.total += len(asks)
            for ask in asks:
                if self._is_new(ask):
                    yield ask
                else:
                    self.progress.done += 1
                    self.watch(self.progress)

    def _is_wanted(self, prediction: Prediction, by_rules: Score) -> bool:
        statuses = ("unparsed", "scored") if self.settings.everything else ("unparsed",)
        answered = prediction.response.status in ("ok", "truncated")
        return answered and by_rules.status in statuses and can_be_judged(prediction.sample, prediction.response.text)

    def _asks(self, prediction: Prediction) -> tuple[_Ask, ...]:
        sample, completion = prediction.sample, prediction.response.text
        lettered = self.stored.lettered(prediction, self.tasks)
        asks = []
        for vote in range(self.settings.votes):
            options = self.settings.options(vote, lettered=lettered)
            request = judge_request(sample, completion, options)
            key = hashlib.sha256(content_key(self.model.identity, request) + b"vote %d" % vote).digest()
            asks.append(_Ask(key, request, sample, completion, options))
        return tuple(asks)

    def _is_new(self, ask: _Ask) -> bool:
        if ask.key in self.verdicts:
            self.progress.shared += 1
            return False
        known = self.journal.get(ask.key)
        verdict = Verdict(None, problem="the judge gave no answer") if known is None else _verdict(ask, known)
        self.verdicts[ask.key] = verdict
        self.progress.resumed += verdict.correct is not None
        return verdict.correct is None

    def ask_all(self) -> ModelError | None:
        """Ask what is missing, then once more what was answered in another form. Returns why the judge cannot work at all."""
        asks = self.first_asks()
        try:
            self._ask(asks)
            again, self.unread = self.unread, []
            self._ask(ask.again(self.settings.votes) for ask in again)
        except ModelError as error:
            for _ in asks:  # the answers that it did not come to have no verdict either
                pass
            return error
        return None

    def _ask(self, asks: Iterator[_Ask]) -> None:
        with closing(_pairs(self.model, self._sent(asks))) as answers:
            for request, response in answers:
                ask = self.waiting.pop(id(request), None)
                if ask is None:
                    raise ModelError(
                        f"Judge {self.model.name!r} yielded a request that it was not given, or answered one twice. "
                        f"generate() must yield each request object it was given exactly once."
                    )
                self._settle(ask, response)
        for ask in self.waiting.values():
            self._fail(ask, "the judge never answered")
        self.waiting.clear()

    def _sent(self, asks: Iterator[_Ask]) -> Iterator[Request]:
        for ask in asks:
            self.waiting[id(ask.request)] = ask
            yield ask.request

    def _settle(self, ask: _Ask, response: Response) -> None:
        self.progress.asked += 1
        verdict = _verdict(ask, response)
        if verdict.correct is not None:
            self.verdicts[ask.key] = verdict
            self.journal.put(ask.key, response)
        elif response.status in ("ok", "truncated") and not ask.repeated:
            self.unread.append(ask)
            return
        else:
            self._fail(ask, verdict.problem + (f": {response.error}" if response.error else ""))
        self.progress.done += 1
        self.watch(self.progress)

    def _fail(self, ask: _Ask, why: str) -> None:
        self.verdicts[ask.key] = Verdict(None, problem=why)
        self.progress.failed += 1
        self.progress.first_failure = self.progress.first_failure or f"sample {ask.sample.id!r}: {why}"

    def scores(self) -> dict[int, Score]:
        """Line of the prediction -> the judge's score."""
        return {
            line: judged_score(item.sample, decide([self.verdicts[key] for key in item.keys]), item.by_rules)
            for line, item in self.items.items()
        }


def _pairs(model: Model, requests: Iterator[Request]) -> Generator[tuple[Request, Response], None, None]:
    # A generator, whose close() cancels what is in flight whatever iterable a plug-in returns.
    yield from model.generate(requests)


def _verdict(ask: _Ask, response: Response) -> Verdict:
    return read_verdict(ask.sample, response, ask.options)


def judge_run(directory: Path, model: Model, settings: JudgeSettings, *, watch: Watch) -> Judged:
    """Let `model` judge a finished run, write its predictions, results and manifest again, and sum up.

    Raises UsageError for a simulated model, StoreError when the run did not end or cannot be written. Where the judge cannot
    work at all (ModelError), everything that it did not judge is written as unscored before the error passes on; nothing is
    written where the pass is interrupted, and the verdicts until then are kept.
    """
    if model.simulated:
        raise UsageError(f"Judge {model.name!r} is a simulated model and reads no answers. Name one that does, e.g. openai:NAME.")
    stored = stored_run(directory)
    with RunDirectory(directory) as target, closing(Journal(directory / VERDICTS)) as journal:
        one_pass = _Pass(stored, stored.tasks(), model, settings, journal, watch)
        try:
            failure = one_pass.ask_all()
        finally:
            model.close()
        judged = _written(one_pass, target)
    if failure is not None:
        raise failure
    return judged


def _written(one_pass: _Pass, target: RunDirectory) -> Judged:
    """Put the judge's scores in place of the rules'; cells with too many failures are left out of every number."""
    stored, settings, model = one_pass.stored, one_pass.settings, one_pass.model
    scores, table = one_pass.scores(), stored.table()
    counts = _counts(one_pass, scores, table)
    withheld = tuple(one for one in counts if one.rate > settings.max_failures)
    left_out = {one.cell for one in withheld}
    for line, prediction in enumerate(read_predictions(stored.predictions)):
        score = scores.get(line) or one_pass.by_rules(prediction)
        again = replace(prediction, score=score)
        target.write(again)
        if cell_of(again) not in left_out:
            table.add(again)
    described = _described(one_pass, counts, withheld)
    results = signed(stored.summarised(table, one_pass.tasks), described)
    rest = {key: value for key, value in stored.manifest.items() if key != "spec"}
    target.claim(stored.spec, {**rest, "judge": described})
    target.finish(results.as_dict() | {"judge": described})
    models: Mapping[str, Mapping[str, Any]] = stored.manifest.get("models", {})
    own = tuple(name for name, about in models.items() if about.get("identity") == model.identity)
    return Judged(table, results, counts, withheld, one_pass.progress, own)


def _counts(one_pass: _Pass, scores: Mapping[int, Score], table: Table) -> tuple[CellCount, ...]:
    judged: Counter[Cell] = Counter()
    unscored: Counter[Cell] = Counter()
    for line, prediction in enumerate(read_predictions(one_pass.stored.predictions)):
        if line in scores:
            judged[cell_of(prediction)] += 1
            unscored[cell_of(prediction)] += scores[line].status == "unscored"
    cells = sorted(one_pass.answers, key=table.order.place)
    return tuple(CellCount(cell, one_pass.answers[cell], judged[cell], unscored[cell]) for cell in cells)


def _described(one_pass: _Pass, counts: tuple[CellCount, ...], withheld: tuple[CellCount, ...]) -> dict[str, Any]:
    """What the manifest and the results say of the judge."""
    settings, model = one_pass.settings, one_pass.model
    return {
        "model": model.name,
        "identity": model.identity,
        "prompt_sha256": prompt_hash(settings.form),
        "form": settings.form,
        "votes": settings.votes,
        "everything": settings.everything,
        "max_failures": settings.max_failures,
        "judged": sum(one.judged for one in counts),
        "unscored": sum(one.unscored for one in counts),
        "withheld": [[*one.cell] for one in withheld],
    }
