"""Asks the plan's requests and turns answers into predictions.

Every answer goes to the journal before anything else is done with it. Equal requests are asked once; what the journal or
the cache knows is not asked at all. A failed call is a prediction with a status; it is in neither, so that running again
asks exactly what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain

from eyetest.errors import BadImageError, ModelError
from eyetest.evaluation.plan import Plan, Survey, Work
from eyetest.models import Prepares
from eyetest.prices import Account, Budget, CostLimitError, dollars
from eyetest.scorers import ChoiceScorer, TranscriptionScorer
from eyetest.store import Cache, Journal, answer_key, checked_response, content_key
from eyetest.tasks import Task
from eyetest.types import Model, Origin, Prediction, Request, Response, Sample, Score

FAILED = frozenset({"error", "bad_image"})
"""Response statuses that stay outside n and are asked again by the next run."""


@dataclass(slots=True)
class Progress:
    """Counts of one run so far, over all models."""

    total: int = 0
    """Answers expected; corrected when a condition turns out not to apply, or to have several variants."""
    done: int = 0
    asked: int = 0
    """Requests sent to a model."""
    resumed: int = 0
    """Answers that the run's own journal held from an earlier call of the same run."""
    cached: int = 0
    """Answers that the cache held from other runs."""
    shared: int = 0
    """Answers that came with an equal request of this run."""
    unparsed: int = 0
    refused: int = 0
    failed: int = 0
    """Failed calls and bad pictures."""
    bad_images: int = 0
    """Of these, bad pictures: asking again does not mend them."""
    first_failure: str = ""
    """What went wrong the first time."""
    inapplicable: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(task, condition) -> samples to which the condition does not apply, the same for every model."""
    budget: Budget = field(default_factory=Budget)
    """What the answers cost, and may cost."""
    remarks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Model -> what it found on the way."""


Sink = Callable[[Prediction], None]
Watch = Callable[[Progress], None]


def read(task: Task, sample: Sample, response: Response, *, lettered: bool = True) -> Score:
    """The score of one response: the scorer's reading, or what the call's own status says.

    lettered: whether the prompt showed option letters; where it did not, a letter in the answer names no option. What was not
    transcribed has the counts of an empty transcription: an error rate must know how much there was to read.
    """
    made, scorer = _read(task, sample, response, lettered), task.scorers[sample.kind]
    if made.counts or not isinstance(scorer, TranscriptionScorer):
        return made
    return replace(made, counts=scorer.empty(sample))


def _read(task: Task, sample: Sample, response: Response, lettered: bool) -> Score:
    status = response.status
    if status in FAILED:
        return Score("unscored", rule=status)
    if status == "blocked":
        return Score("refused", rule="blocked_by_endpoint")
    if status == "refused":
        return Score("refused", rule="refused_by_endpoint")
    scorer = task.scorers[sample.kind]
    if isinstance(scorer, ChoiceScorer) and scorer.letters != lettered:
        scorer = replace(scorer, letters=lettered)
    return scorer(sample, response.text)


@dataclass(slots=True)
class _Asker:
    """Asks one model everything that is not known yet."""

    model: Model
    journal: Journal
    cache: Cache | None
    sink: Sink
    progress: Progress
    watch: Watch
    task: Task
    lettered: Mapping[str, bool]
    """Prompt name -> whether it shows option letters."""
    waiting: dict[int, tuple[Request, bytes]] = field(default_factory=dict)
    """id(request) -> the request itself (kept alive) and its answer key."""
    works: dict[bytes, list[tuple[Work, str]]] = field(default_factory=dict)
    """Answer key in flight -> everything that waits for it, with the content key in hex."""
    held: list[Work] = field(default_factory=list)
    """The one that could pass the limit of costs, if any: nothing behind it was looked at."""

    def pending(self, works: Iterator[Work]) -> Iterator[Request]:
        """The requests that must really be asked; settles the others as it passes them. Ends early at the limit of costs."""
        simulated = self.model.simulated
        held, self.held = self.held, []
        for work in chain(held, works):
            try:
                content = content_key(self.model.identity, work.request)
            except BadImageError as error:
                self._finish(work, "", Response(status="bad_image", error=str(error)))
                continue
            key = answer_key(content, work.request, simulated=simulated)
            # A simulated model answers its origin, so each of its calls is a request of its own.
            name = (key if simulated else content).hex()
            if key in self.works:
                self.works[key].append((work, name))
                continue
            known = self._known(key)
            if known is not None:
                self._finish(work, name, known)
                continue
            if self.progress.budget.refuses(self.model.name, work.request, len(self.waiting)) is not None:
                self.held.append(work)
                return
            self.works[key] = [(work, name)]
            self.waiting[id(work.request)] = (work.request, key)
            yield work.request

    def _known(self, key: bytes) -> Response | None:
        """The answer that the journal or the cache holds, counted."""
        response = self.journal.get(key)
        if response is not None:
            if self.journal.is_new(key):
                self.progress.shared += 1
            else:
                self.progress.resumed += 1
        elif self.cache is not None and not self.model.simulated:
            response = self.cache.get(key)
            if response is not None:
                self.progress.cached += 1
                self.journal.put(key, response)
        return response

    def ask(self, works: Iterator[Work]) -> None:
        """Ask until every work is settled. Raises CostLimitError where the next answer would pass the limit.

        With the limit near, what is in flight is waited for: it usually costs less than it could have.
        """
        while True:
            with closing(_as_generator(self.model, self.pending(works))) as answers:
                for yielded in answers:
                    self.settle(*_pair(self.model, yielded))
            for request, _ in list(self.waiting.values()):
                self.settle(request, Response(status="error", error=f"{self.model.name} never answered this request"))
            if not self.held:
                return
            self._check_limit(self.held[0].request)

    def _check_limit(self, request: Request) -> None:
        progress, budget = self.progress, self.progress.budget
        each = budget.refuses(self.model.name, request, 0)
        if each is None:
            return
        unseen = sum(one.unseen for one in budget.priced)
        beside = f" and at most {dollars(unseen)} more for answers without a count of tokens" if unseen else ""
        raise CostLimitError(
            f"Stopped at the limit of costs: {dollars(budget.total)} spent by all calls of this run{beside}, "
            f"--max-cost {dollars(budget.limit or 0)}, and the next answer of {self.model.name!r} may cost {dollars(each)}. "
            f"{progress.done} of about {progress.total} answers are there and kept, in all about {dollars(budget.forecast)} are "
            f"needed. Run the same command with a higher --max-cost to go on."
        )

    def settle(self, request: object, yielded: object) -> None:
        """Keep one answer and hand it to everything that waits for it."""
        entry = self.waiting.pop(id(request), None)
        if entry is None:
            raise ModelError(
                f"Model {self.model.name!r} yielded a request that it was not given, or answered one twice. "
                f"generate() must yield each request object it was given exactly once."
            )
        key = entry[1]
        response = _kept_promise(self.model, yielded)
        self.progress.asked += 1
        account = self.progress.budget.accounts.get(self.model.name)
        if account is not None:
            account.pay(entry[0], response)
        if response.status not in FAILED:
            self.journal.put(key, response)
            if self.cache is not None and not self.model.simulated:
                self.cache.put(key, response)
        works = self.works.pop(key)
        self.progress.shared += len(works) - 1
        for work, name in works:
            self._finish(work, name, response)

    def _finish(self, work: Work, name: str, response: Response) -> None:
        origin, progress = work.origin, self.progress
        response = _whose_picture(origin, response)
        reading = read(self.task, origin.sample, response, lettered=self.lettered[origin.prompt])
        progress.done += 1
        progress.unparsed += reading.status == "unparsed"
        progress.refused += reading.status == "refused"
        if response.status in FAILED:
            progress.failed += 1
            progress.bad_images += response.status == "bad_image"
            progress.first_failure = progress.first_failure or f"sample {origin.sample.id!r}: {response.error or response.status}"
        self.sink(
            Prediction(
                task=origin.task,
                condition=origin.condition,
                model=self.model.name,
                prompt=origin.prompt,
                variant=origin.variant,
                repeat=origin.repeat,
                round=origin.round,
                sample=origin.sample,
                request_key=name,
                messages=work.request.messages,
                response=response,
                score=reading,
            )
        )
        self.watch(progress)


def _as_generator(model: Model, requests: Iterator[Request]) -> Generator[object, None, None]:
    """What generate() yields. Raises ModelError if it yields nothing at all; what it raises itself passes."""
    found: object = model.generate(requests)
    if not isinstance(found, Iterable):
        raise _broken_protocol(model, f"its generate() returned {type(found).__name__}")
    # A plug-in may return any iterable; closing() needs close(), which for a generator also cancels what is in flight.
    yield from found


def _pair(model: Model, yielded: object) -> tuple[object, object]:
    match yielded:
        case (request, response) if isinstance(yielded, tuple):
            return request, response
    raise _broken_protocol(model, f"its generate() yielded {type(yielded).__name__}")


def _broken_protocol(model: Model, what: str) -> ModelError:
    return ModelError(
        f"Model {model.name!r}: {what}; expected an iterator of pairs (request, Response). Mend the model and run the same "
        f"command again: what was answered so far is kept."
    )


def _whose_picture(origin: Origin, response: Response) -> Response:
    """A bad picture that is somebody else's says so.

    The partner is not chosen among the pictures that can be decoded: that would cost a decoding each, and make the partner
    of one sample depend on the state of other files and on the version of the decoder.
    """
    partner = origin.sample.shown.partner
    if response.status != "bad_image" or partner is None:
        return response
    return replace(response, error=f"{response.error} It is the picture of sample {partner!r}, shown under {origin.condition!r}.")


def _kept_promise(model: Model, yielded: object) -> Response:
    """The response if its fields hold what they promise; else a failed call that says which does not."""
    try:
        return checked_response(yielded)
    except (TypeError, ValueError, OverflowError) as error:
        return Response(status="error", error=f"model {model.name!r} gave a response that cannot be kept: {error}")


def run(
    plan: Plan,
    model: Model,
    journal: Journal,
    *,
    cache: Cache | None,
    sink: Sink,
    watch: Watch,
    progress: Progress,
) -> None:
    """Ask one model the whole plan. Every prediction goes to `sink`, in completion order.

    Raises ModelError when the model cannot work at all, StoreError when answers cannot be kept; what was answered until
    then is in the journal.
    """
    for survey in plan.surveys:
        if isinstance(model, Prepares):
            model.prepare(survey.task.name, survey.samples(), survey.dataset.train())
        lettered = {name: plan.prompt(survey.task, name).lettered for name in plan.prompts}
        asker = _Asker(model, journal, cache, sink, progress, watch, survey.task, lettered)
        asker.ask(_counted(plan, survey, progress))


def take_stock(plan: Plan, model: Model, account: Account, journal: Journal, *, cache: Cache | None, seen: set[bytes]) -> None:
    """Count what earlier calls of the run paid for one model, and what is left to ask.

    Reads every picture once (for its digest). seen: keys that were counted, over all models; 16 bytes each.
    """
    for survey in plan.surveys:
        for work in plan.work(survey, Counter()):
            try:
                key = answer_key(content_key(model.identity, work.request), work.request, simulated=False)
            except BadImageError:
                continue
            if key[:16] in seen:
                continue
            seen.add(key[:16])
            known = journal.get(key)
            if known is not None:
                account.remember(known)
            elif cache is None or cache.get(key) is None:
                account.load.add(work.request)


def _counted(plan: Plan, survey: Survey, progress: Progress) -> Iterator[Work]:
    """The works of one dataset; keeps `progress.total` right as conditions turn out not to apply."""
    passed: Counter[tuple[str, str]] = Counter()
    expected = survey.n * plan.asks_per_sample
    made = deducted = 0
    for work in plan.work(survey, passed):
        missed = passed.total() * plan.asks_per_condition
        progress.total -= missed - deducted
        deducted = missed
        made += 1
        # Variants show only as they come.
        if work.origin.variant:
            progress.total += 1
            expected += 1
        yield work
    progress.total -= expected - deducted - made
    # Every model is asked the same, so the largest count is the count; a sum would count samples once a model.
    progress.inapplicable |= passed
