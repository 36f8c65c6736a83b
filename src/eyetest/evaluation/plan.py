"""The grid: tasks x conditions x prompts x repeats, streamed picture by picture in windows.

The first pass over a dataset (`survey`) checks it and learns what a run must know beforehand: how many samples, which
are selected, which labels they share, which pictures could be swapped in. The second (`Plan.work`) makes the requests.
Neither holds the samples.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from eyetest.conditions import Composed, Pool, build, canonical, rank
from eyetest.errors import BadImageError, DataError, UsageError, unknown
from eyetest.evaluation.table import LABELLED
from eyetest.prices import Workload
from eyetest.prompts import Prompt, letters, render
from eyetest.readers.load_report import LoadReport
from eyetest.store import answer_key, content_key
from eyetest.tasks import Task
from eyetest.tasks.task import Load
from eyetest.types import Generation, Image, Kind, Message, Origin, Request, Sample

WINDOW = 64
"""Samples that are grouped by picture at a time."""

MAX_LABELS = 1000
"""A task with more distinct options than this has no shared label space."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A task and where its files are."""

    task: Task
    directory: Path | None = None
    split: str = "test"
    format: str | None = None
    """Layout of the directory; the task finds it out when left out."""
    asked_positive: str | None = None
    """The positive label that the run names; the task's own when left out."""

    @property
    def positive(self) -> str | None:
        """Of two labels, the one whose misses and false alarms matter."""
        return self.asked_positive or self.task.positive

    @property
    def scored(self) -> Task:
        """The task with the run's positive label."""
        return replace(self.task, positive=self.positive)

    @property
    def _load(self) -> Load:
        return self.task.load if self.format is None else self.task.formats[self.format]

    def samples(self, report: LoadReport | None = None) -> Iterator[Sample]:
        """Stream the split; samples that name no cluster and show the same picture file go together."""
        for sample in self._load(self.directory, self.split, report if report is not None else LoadReport()):
            yield replace(sample, cluster=_picture(sample.images)) if sample.cluster is None and sample.images else sample

    def train(self) -> Iterator[Sample]:
        """Stream the training split; empty where the task has none or the folder does not hold it."""
        if self.task.train_split is None or self.task.train_split == self.split:
            return
        try:
            found = self._load(self.directory, self.task.train_split, LoadReport())
            first = next(found, None)
        except DataError:  # a folder with the test split alone is whole enough to be asked
            return
        if first is not None:
            yield first
            yield from found


def _picture(pictures: tuple[Image, ...]) -> str | None:
    """What pictures are called where they stand for a cluster, none where one was given as bytes."""
    if any(picture.path is None for picture in pictures):
        return None
    named = "|".join(f"{picture.path}[{picture.member}]" for picture in pictures)
    return f"picture {hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which samples of a split are asked. A limit takes the first in seeded hash order, so 100 are part of 200."""

    limit: int | float | None = None
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What the first pass learned of one dataset."""

    dataset: Dataset
    report: LoadReport
    n: int
    """Samples that will be asked."""
    n_split: int
    """Samples in the split."""
    pictured: int
    """Of these, samples with a picture."""
    kinds: Mapping[Kind, int]
    """Selected samples of each kind."""
    labels: tuple[str, ...]
    """The options, where all choice samples have the same; else empty."""
    classes: Mapping[str, int]
    """How often each shared label is the target, over the selected samples."""
    selected: frozenset[str] | None
    """Ids that are asked; None for all."""
    pool: Pool
    """The split as conditions see it."""
    fingerprint: str
    """sha256 of the selected ids in file order."""

    @property
    def task(self) -> Task:
        """The dataset's task."""
        return self.dataset.task

    def samples(self) -> Iterator[Sample]:
        """Stream the selected samples."""
        for sample in self.dataset.samples():
            if self.selected is None or sample.id in self.selected:
                yield sample


@dataclass(slots=True)
class _Tally:
    """What a pass over the asked samples adds up to."""

    n: int = 0
    pictured: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    options: tuple[str, ...] | None = None
    as_set: frozenset[str] = frozenset()
    shared: bool = True
    digest: Any = field(default_factory=hashlib.sha256)

    def see(self, sample: Sample) -> None:
        self.n += 1
        self.pictured += bool(sample.images)
        self.kinds[sample.kind] += 1
        self.digest.update(sample.id.encode("utf-8", "surrogatepass") + b"\0")
        if sample.kind not in LABELLED or not self.shared:
            return
        if self.options is None:
            self.options, self.as_set = sample.choices, frozenset(sample.choices)
            self.shared = len(self.as_set) == len(sample.choices) <= MAX_LABELS
        elif sample.choices != self.options:
            self.shared = len(sample.choices) == len(self.as_set) and frozenset(sample.choices) == self.as_set
        self.shared = self.shared and (len(sample.target) == 1 or sample.kind == "labels")
        self.classes.update(sample.target)

    @property
    def labels(self) -> tuple[str, ...]:
        """The options, if all choice samples have the same."""
        return self.options if self.shared and self.options is not None else ()


def survey(dataset: Dataset, selection: Selection, *, seed: int, pooled: bool, strict: bool = False) -> Survey:
    """Read a split: count, check, select.

    pooled: whether a condition looks at other samples. Raises DataError when nothing is left to ask, UsageError when a
    wanted id is missing.
    """
    report, pool, ids, tally = LoadReport(strict=strict), Pool(seed), list[str](), _Tally()
    for sample in dataset.samples(report):
        ids.append(sample.id)
        tally.see(sample)
        if pooled:
            pool.add(sample)
    name = dataset.task.name
    if not ids:
        raise DataError(f"{name}: no usable sample in {_files(report)}. {_why(report)}")
    selected = _select(name, ids, selection, seed)
    if selected is not None:
        tally = _Tally()
        for sample in dataset.samples():
            if sample.id in selected:
                tally.see(sample)
    classes = {label: tally.classes[label] for label in tally.labels}
    return Survey(
        dataset,
        report,
        tally.n,
        len(ids),
        tally.pictured,
        dict(tally.kinds),
        tally.labels,
        classes,
        selected,
        pool,
        tally.digest.hexdigest(),
    )


def _files(report: LoadReport) -> str:
    return ", ".join(report.files) or "its files"


def _why(report: LoadReport) -> str:
    if not report.dropped:
        return "The file holds no rows."
    reasons = "; ".join(f"{count} x {reason} (first: {report.rows[reason][0]})" for reason, count in report.dropped.items())
    return f"Rows read: {report.read}; dropped: {reasons}."


def _select(task: str, ids: list[str], selection: Selection, seed: int) -> frozenset[str] | None:
    if selection.ids:
        missing = sorted(set(selection.ids) - set(ids))
        if missing:
            raise UsageError(
                f"{task}: no sample has the id {missing[0]!r} ({len(missing)} of --ids are missing). Ids look like {ids[0]!r}."
            )
        ids = list(dict.fromkeys(selection.ids))
    if selection.limit is None:
        return frozenset(ids) if selection.ids else None
    count = selection.limit if isinstance(selection.limit, int) else max(1, round(selection.limit * len(ids)))
    if count >= len(ids):
        return frozenset(ids) if selection.ids else None
    return frozenset(heapq.nsmallest(count, ids, key=lambda sample_id: rank(seed, sample_id)))


@dataclass(frozen=True, slots=True)
class Work:
    """One request and where its answer belongs."""

    request: Request
    origin: Origin


@dataclass(slots=True)
class Plan:
    """Everything a run will ask."""

    surveys: tuple[Survey, ...]
    conditions: tuple[str, ...]
    prompts: tuple[str, ...] = ("default",)
    own_prompts: Mapping[str, Prompt] = field(default_factory=dict)
    generation: Generation = field(default_factory=Generation)
    repeats: int = 1
    seed: int = 0
    label_logprobs: bool = False

    def __post_init__(self) -> None:
        self.conditions = tuple(dict.fromkeys(canonical(text) for text in self.conditions))
        self.prompts = tuple(dict.fromkeys(self.prompts))
        for survey_ in self.surveys:
            for name in self.prompts:
                self.prompt(survey_.task, name)

    def prompt(self, task: Task, name: str) -> Prompt:
        """The prompt `name` for a task: the user's own, else the task's, whose first is also its `default`. Raises UsageError."""
        known = {"default": next(iter(task.prompts.values())), **task.prompts, **self.own_prompts}
        if name not in known:
            raise unknown("prompt", name, known, f"task {task.name!r}")
        return known[name]

    @property
    def asks_per_condition(self) -> int:
        """How often one sample is asked under one condition."""
        return len(self.prompts) * self.repeats

    @property
    def asks_per_sample(self) -> int:
        """How often one sample is asked if every condition applies to it once."""
        return len(self.conditions) * self.asks_per_condition

    @property
    def requests_at_most(self) -> int:
        """Requests of one model if every condition applied once to every sample."""
        return sum(survey_.n for survey_ in self.surveys) * self.asks_per_sample

    def rehearse(self) -> None:
        """Render what will be asked, so that a template that fails is found before the first call.

        A built-in template cannot fail for one sample and not for another: the first sample of each kind stands for all.
        One that somebody wrote is rendered for every sample, as is a built-in one that may come out empty.
        Raises UsageError for a template that fails, and for a question with neither text nor picture.
        """
        for survey_ in self.surveys:
            built, seen = self._built(survey_), set[Kind]()
            variable = {
                kind: tuple(name for name in self.prompts if _varies(self.prompt(survey_.task, name), kind))
                for kind in survey_.kinds
            }
            for sample in survey_.samples():
                first = sample.kind not in seen
                seen.add(sample.kind)
                wanted = self.prompts if first else variable[sample.kind]
                for asked in self._rendered(survey_.task, built, sample, wanted, Counter()) if wanted else ():
                    _check_turns(survey_.task, asked)
                if len(seen) == len(survey_.kinds) and not any(variable.values()):
                    break

    def work(self, survey_: Survey, inapplicable: Counter[tuple[str, str]]) -> Iterator[Work]:
        """Stream the requests of one dataset, grouped by picture within windows.

        inapplicable: (task, condition) -> samples to which the condition does not apply; counted as they pass.
        """
        built = self._built(survey_)
        for window in _windows(survey_.samples(), WINDOW):
            for sample in _by_picture(window):
                yield from self._asks(survey_, built, sample, inapplicable)

    def _built(self, survey_: Survey) -> tuple[Composed, ...]:
        return tuple(build(text, survey_.pool) for text in self.conditions)

    def _rendered(
        self,
        task: Task,
        built: Iterable[Composed],
        sample: Sample,
        prompts: Sequence[str],
        inapplicable: Counter[tuple[str, str]],
    ) -> Iterator[_Rendered]:
        """Every conversation about one sample."""
        for condition in built:
            shown = condition.apply(sample, seed=self.seed, task=task.name)
            if not shown:
                inapplicable[task.name, condition.name] += 1
            for variant, one in enumerate(shown):
                for name in prompts:
                    yield _Rendered(one, condition.name, variant, name, render(self.prompt(task, name), one))

    def _asks(
        self, survey_: Survey, built: Iterable[Composed], sample: Sample, inapplicable: Counter[tuple[str, str]]
    ) -> Iterator[Work]:
        for asked in self._rendered(survey_.task, built, sample, self.prompts, inapplicable):
            labels = self._labels(survey_.task, asked) if self.label_logprobs else ()
            for repeat in range(self.repeats):
                generation = self.generation
                if generation.temperature:
                    generation = replace(generation, seed=self.seed + repeat)
                origin = Origin(survey_.task.name, asked.sample, asked.condition, asked.prompt, asked.variant, repeat)
                yield Work(Request(asked.messages, generation, labels, origin), origin)

    def _labels(self, task: Task, asked: _Rendered) -> tuple[str, ...]:
        """The texts whose probability is wanted: the options, as the prompt asks for them."""
        choices = asked.sample.choices if asked.sample.kind == "choice" else ()
        return letters(len(choices)) if self.prompt(task, asked.prompt).lettered else choices


class _Rendered(NamedTuple):
    """One conversation, before it is repeated."""

    sample: Sample
    condition: str
    variant: int
    prompt: str
    messages: tuple[Message, ...]


def _varies(prompt: Prompt, kind: Kind) -> bool:
    """Whether a template may fail, or come out empty, for one sample and not for another."""
    return bool((prompt.templates or {}).get(kind)) or kind == "description"


def _check_turns(task: Task, asked: _Rendered) -> None:
    for message in asked.messages:
        if message.role == "user" and not any(isinstance(part, Image) or part.strip() for part in message.content):
            raise UsageError(
                f"Task {task.name!r}, sample {asked.sample.id!r}, condition {asked.condition!r}, prompt {asked.prompt!r}: "
                f"nothing would be asked: the text is empty and no picture is shown. "
                f"Mend the template or the question, or leave the condition out."
            )


def _windows(samples: Iterator[Sample], size: int) -> Iterator[list[Sample]]:
    while window := list(islice(samples, size)):
        yield window


def _by_picture(window: list[Sample]) -> Iterator[Sample]:
    groups: dict[tuple[Image, ...], list[Sample]] = {}
    for sample in window:
        groups.setdefault(sample.images, []).append(sample)
    for group in groups.values():
        yield from group


@dataclass(slots=True)
class Requests:
    """What one condition of one dataset would ask of one model."""

    answers: int = 0
    """Answers wanted."""
    distinct: int = 0
    """Requests that remain when equal ones are asked once."""
    bad_images: int = 0
    """Answers that cannot be asked because a picture cannot be read."""
    inapplicable: int = 0
    """Samples to which the condition does not apply."""


class Counts(NamedTuple):
    """What one dataset would ask of one model."""

    conditions: dict[str, Requests]
    """In the order of the grid."""
    distinct: int
    """Requests that remain over all conditions."""
    load: Workload
    """How much these are."""


def count_requests(plan: Plan, survey_: Survey) -> Counts:
    """What each condition would ask, and what remains over all conditions.

    Reads every picture once (for its digest), decodes none. Memory: 16 bytes and two set entries a distinct request.
    """
    counted = {condition: Requests() for condition in plan.conditions}
    seen: dict[str, set[bytes]] = {condition: set() for condition in plan.conditions}
    passed: Counter[tuple[str, str]] = Counter()
    distinct, load = set[bytes](), Workload()
    for work in plan.work(survey_, passed):
        condition = work.origin.condition
        counted[condition].answers += 1
        try:
            key = answer_key(content_key("", work.request), work.request, simulated=False)[:16]
        except BadImageError:
            counted[condition].bad_images += 1
            continue
        seen[condition].add(key)
        if key not in distinct:
            distinct.add(key)
            load.add(work.request)
    for condition, requests in counted.items():
        requests.distinct = len(seen[condition])
        requests.inapplicable = passed[survey_.task.name, condition]
    return Counts(counted, len(distinct), load)
