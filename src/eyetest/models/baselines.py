"""Models that need no model: the oracle, the uniform guesser, the majority answer and a constant.

`oracle` is every metric's upper end, `chance` and `majority` are the floors that a score must pass, and `constant` costs
almost nothing, so that what remains of a run's time is the harness.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from random import Random
from typing import Any

from eyetest import registry
from eyetest.errors import BadImageError, UsageError
from eyetest.types import Image, Kind, Model, Origin, Request, Response, Sample

MAX_DISTINCT = 100_000
"""Distinct targets that `majority` counts; values first seen later are left out, so memory is bounded."""

NO_LABELS = "none"
"""What is written for an empty set of labels: an empty text could not be told from no answer."""

UNKNOWN = "unknown"
"""What is written where there is nothing to choose from."""


class Simulated(ABC):
    """A model that reads `Request.origin` and answers one request at a time, in order, pulling none ahead.

    Its answers depend on the origin alone, never on time, order or process. Never cached, never shared.
    Raises UsageError on a request without an origin.
    """

    simulated: bool = True

    def __init__(self, name: str, identity: str) -> None:
        self.name = name
        self.identity = identity

    def __repr__(self) -> str:
        return self.identity

    @abstractmethod
    def answer(self, origin: Origin) -> Response:
        """The answer to the request that comes from `origin`."""

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Answer every request once, in order."""
        for request in requests:
            if request.origin is None:
                raise UsageError(
                    f"The simulated model {self.name!r} answers from Request.origin, and a request has none. "
                    f"Set Request.origin, or ask a model that reads the messages."
                )
            yield request, self.answer(request.origin)

    def close(self) -> None:
        """Nothing is in flight and nothing is held."""
        return


def read_spec(
    argument: str, options: Mapping[str, str], declared: Mapping[str, type], *, what: str, free_text: bool = False
) -> tuple[str, dict[str, Any]]:
    """The argument without its options, and the options of the run file overruled by those in the spec.

    declared, what, free_text: as in `registry.split_spec`. Raises UsageError on an unknown key or a value of the wrong type.
    """
    text, given = registry.split_spec(argument, declared, what=what, free_text=free_text)
    return text, {key: registry.typed(key, value, declared, what=what) for key, value in options.items()} | given


def no_argument(argument: str, options: Mapping[str, str], *, what: str) -> None:
    """Raise UsageError if a model that takes neither argument nor option was given one."""
    text, _ = read_spec(argument, options, {}, what=what)
    if text:
        raise UsageError(f"{what} takes no argument, but was given {text!r}. Write {what!r}.")


def written(kind: Kind, answer: tuple[str, ...]) -> str:
    """An answer as a model writes it: all labels, else the first text. Needs one unless `labels`."""
    return labels_text(answer) if kind == "labels" else answer[0]


def labels_text(labels: Iterable[str]) -> str:
    """Labels as a model writes them: separated by commas, `none` for the empty set."""
    return ", ".join(labels) or NO_LABELS


def no_target(origin: Origin) -> Response | None:
    """A failed call if the sample has no gold answer to know, else None. An empty set of labels is an answer."""
    if origin.sample.target or origin.sample.kind == "labels":
        return None
    return Response(status="error", error=f"sample {origin.sample.id!r} of task {origin.task!r} has no target to answer from")


def pictures(request: Request) -> Iterator[Image]:
    """The pictures of a request in reading order."""
    return (part for message in request.messages for part in message.content if isinstance(part, Image))


class Oracle(Simulated):
    """Always right, under every condition: attains each metric's `best`."""

    def answer(self, origin: Origin) -> Response:
        """The target."""
        return no_target(origin) or Response(written(origin.sample.kind, origin.sample.target))


class Chance(Simulated):
    """Guesses without looking.

    `choice`: uniform over the choices as shown, right with probability 1/n. `labels`: each label with probability 1/2,
    so the set is right with probability 2**-n. Guessing has no closed form elsewhere, and there it writes `unknown`.
    """

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, f"chance,seed={seed}")
        self.seed = seed

    def answer(self, origin: Origin) -> Response:
        """A guess that differs between samples, tasks, conditions, variants and repeats."""
        sample = origin.sample
        key = f"{self.seed}:chance:{origin.task}:{origin.condition}:{origin.variant}:{origin.repeat}:{sample.id}"
        rng = Random(key.encode("utf-8", "surrogatepass"))  # `Random(key)` draws the same, but refuses lone surrogates
        if not sample.choices or sample.kind not in ("choice", "labels"):
            return Response(UNKNOWN)
        if sample.kind == "labels":
            return Response(labels_text([label for label in sample.choices if rng.random() < 0.5]))
        # Python promises the same numbers in later versions for random() alone, not for choice().
        return Response(sample.choices[int(rng.random() * len(sample.choices))])


class Frequencies:
    """How often each target occurs: in the training split, or in the evaluated samples if there is no training split."""

    def __init__(self, samples: Iterable[Sample], train: Iterable[Sample]) -> None:
        self.counts: Counter[str] = Counter()
        self.n = 0
        self._count(train)
        if self.n == 0:
            self._count(samples)
        self.most_frequent = self.first(self.counts, UNKNOWN)

    def _count(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            self.n += bool(sample.target)
            for text in sample.target if sample.kind == "labels" else sample.target[:1]:
                if text in self.counts or len(self.counts) < MAX_DISTINCT:
                    self.counts[text] += 1

    def first(self, texts: Iterable[str], default: str) -> str:
        """The most frequent of `texts`, ties by sorted text; `default` if there are none."""
        return min(texts, key=lambda text: (-self.counts[text], text), default=default)

    def answer(self, sample: Sample) -> str:
        """The best answer that does not depend on the question, among the sample's choices if it has any."""
        if sample.kind == "labels":
            candidates = sample.choices or sorted(self.counts)
            common = [label for label in candidates if self.n and 2 * self.counts[label] >= self.n]
            return labels_text(common or [self.first(candidates, NO_LABELS)])
        if not sample.choices:
            return self.most_frequent
        if self.most_frequent in sample.choices:
            return self.most_frequent
        return self.first(sample.choices, UNKNOWN)


class Majority(Simulated):
    """Always the most frequent target of the training split, or of the evaluated samples themselves if there is none.

    Among the item's choices: the most frequent that is a choice, ties and unseen choices by sorted text. `labels`: every
    label that at least half of the samples have (the constant answer of least Hamming loss), else the most frequent one.
    At most MAX_DISTINCT distinct targets are counted.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, "majority")
        self._tables: dict[str, Frequencies] = {}

    def prepare(self, task: str, samples: Iterable[Sample], train: Iterable[Sample]) -> None:
        """Count the targets of a task: reads `train` once, and `samples` only if `train` has no target.

        The counts enter `identity`: a gold answer mended elsewhere in the file may change the answer to every question.
        """
        table = self._tables[task] = Frequencies(samples, train)
        counts = repr((table.n, sorted(table.counts.items())))
        self.identity = f"majority {task} sha256:{hashlib.sha256(counts.encode()).hexdigest()[:16]}"

    def answer(self, origin: Origin) -> Response:
        """The majority answer of `origin.task`. Raises UsageError if that task was not prepared."""
        if origin.task not in self._tables:
            raise UsageError(
                f"The model 'majority' has not counted the targets of task {origin.task!r}. "
                f"Call prepare({origin.task!r}, samples, train) before its requests."
            )
        return Response(self._tables[origin.task].answer(origin.sample))


class Constant:
    """Always the same text, whatever is asked: the null model of benchmarks.

    decode: first decode every picture of the request to RGB; one that cannot be decoded is a `bad_image`.
    Reads neither the messages nor the origin, nor, without `decode`, any picture.
    """

    simulated: bool = False

    def __init__(self, name: str, text: str, *, decode: bool = False) -> None:
        self.name = name
        self.identity = f"constant:{text},decode={str(decode).lower()}"
        self._response = Response(text)
        self._decode = decode

    def __repr__(self) -> str:
        return self.identity

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Pair every request with the one response, in order."""
        # zip runs in C and pulls one request for each pair taken from it.
        return self._looked_at(requests) if self._decode else zip(requests, repeat(self._response), strict=False)

    def _looked_at(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        from eyetest.images import decode

        for request in requests:
            response = self._response
            try:
                for image in pictures(request):
                    decode(image)
            except BadImageError as error:
                response = Response(status="bad_image", error=str(error))
            yield request, response

    def close(self) -> None:
        """Nothing is in flight and nothing is held."""
        return


def oracle(argument: str, options: Mapping[str, str], seed: int) -> Model:  # noqa: ARG001  (every factory has this form)
    """Always right: the upper end of every metric.

    Raises UsageError on any argument or option.
    """
    no_argument(argument, options, what="oracle")
    return Oracle("oracle", "oracle")


def chance(argument: str, options: Mapping[str, str], seed: int) -> Model:
    """A uniform guess among the options; `unknown` where there are none.

    Raises UsageError on any argument or option.
    """
    no_argument(argument, options, what="chance")
    return Chance("chance", seed)


def majority(argument: str, options: Mapping[str, str], seed: int) -> Model:  # noqa: ARG001  (every factory has this form)
    """The most frequent right answer of the training split, else of the data themselves.

    `prepare` must be called first. Raises UsageError on any argument or option.
    """
    no_argument(argument, options, what="majority")
    return Majority("majority")


def constant(argument: str, options: Mapping[str, str], seed: int) -> Model:  # noqa: ARG001  (every factory has this form)
    """Always the same text: constant:TEXT; with ,decode=true it decodes the pictures first.

    Raises UsageError without a text.
    """
    text, found = read_spec(argument, options, {"decode": bool}, what="constant", free_text=True)
    if not text:
        raise UsageError("constant needs the text that it always answers. Write constant:TEXT, for example 'constant:yes'.")
    return Constant(f"constant:{argument}", text, decode=found.get("decode", False))
