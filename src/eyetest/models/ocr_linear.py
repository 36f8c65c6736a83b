"""`ocr_linear`: a baseline that reads words and understands nothing. A multimodal model that does not beat it has not looked.

It sees the words in the pictures that the condition shows (`text=picture`: RapidOCR; `text=dataset`: what the dataset says is
written in them), and the context that is shown with the question. It does not read the question.

* `choice` with the same options for all samples: logistic regression on TF-IDF; its probabilities are the response's;
* `choice` with options of their own: the option most like the words, by the cosine of TF-IDF over character n-grams, fitted
  on the item's options; without any likeness, an option drawn by the seed;
* `labels`: one regression a label; every label of probability 1/2 or more, else the most probable one;
* `transcription`, `text`, `description`: the words in the pictures.

Where it reads no word that it knows, a regression answers with the shares of the classes, as `majority` would.

What the regressions learn from: the training split where there is one, each sample with its own picture. Where there is none,
the asked samples themselves, cross-fitted: samples are dealt into folds by a hash of their cluster (else their id), and whoever
is asked, or whose picture is shown instead, has no part in the fit that answers, nor has anybody of the same fold.
Only the TF-IDF weights, for which no answer is read, are those of all folds. In both cases at most `train` samples are used,
the first in seeded hash order; a picture that cannot be read is left out.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from eyetest import images
from eyetest.errors import BadImageError, MissingExtraError, UsageError, unknown
from eyetest.models import ocr
from eyetest.models.baselines import UNKNOWN, Simulated, labels_text, read_spec
from eyetest.types import Image, Kind, Model, Origin, Response, Sample

Source = Literal["picture", "dataset"]
"""Where the words in a picture come from: the picture itself, or what the dataset says."""

MAX_LABELS = 1000
"""More distinct options than this are no shared label space, as in `evaluation.plan`."""

MAX_FEATURES = 50_000
"""Most frequent n-grams that each of the two vectorisers keeps."""

STRENGTH = 10.0
"""scikit-learn's C, the inverse strength of the penalty. On short texts of unit length 10 beat the default of 1 in log loss
at 150, 600 and 2,000 training samples, and hardly ever lost in accuracy."""

IMPOSSIBLE = 1e-6
"""Probability, before all are made to sum to 1, of a label that no training sample has."""

DECLARED: Mapping[str, type] = {"text": str, "folds": int, "train": int, "seed": int}


@dataclass(frozen=True, slots=True)
class Settings:
    """What makes the answers of two `ocr_linear` differ. Raises UsageError if a number is out of range."""

    text: Source
    folds: int = 5
    """Parts of a cross-fit."""
    train: int = 2000
    """Samples that are learned from at most."""
    seed: int = 0
    """Deals samples into folds, picks those that are learned from and breaks ties."""

    def __post_init__(self) -> None:
        for name, least in (("folds", 2), ("train", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"ocr_linear: {name}={getattr(self, name)} is too few; it must be at least {least}.")

    def __str__(self) -> str:
        return f"text={self.text},folds={self.folds},train={self.train},seed={self.seed}"

    def rank(self, *parts: str) -> bytes:
        """A place in an order that depends on the seed and the parts alone."""
        return hashlib.sha256(repr((self.seed, *parts)).encode()).digest()

    def fold(self, sample: Sample) -> int:
        """The fold of a sample, the same for a whole cluster."""
        group = sample.id if sample.cluster is None else sample.cluster
        return int.from_bytes(self.rank("fold", group)[:8], "big") % self.folds


class Example(NamedTuple):
    """One sample to learn from."""

    text: str
    target: tuple[str, ...]
    fold: int
    """-1 for a sample of the training split, which is never hidden."""


class TextClassifier:
    """TF-IDF over words and characters with logistic regressions, each fitted when it is first needed.

    Features: word 1- and 2-grams and, within words, character 3- to 5-grams (OCR runs words together); 1 + log(tf), unit length.
    examples: at least one.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = examples
        self._vectoriser = _vectoriser([example.text for example in examples])
        texts = [example.text for example in examples]
        self._matrix = None if self._vectoriser is None else self._vectoriser.fit_transform(texts)
        self._fits: dict[tuple[frozenset[int], str | None], _Fit | None] = {}

    def probabilities(self, text: str, hidden: frozenset[int], label: str | None = None) -> Mapping[Hashable, float] | None:
        """Class -> probability, by the examples outside the hidden folds; None if there are none.

        Classes are the first targets; with a label, True and False: whether the label is among the targets. Where the text
        has no known feature, the shares of the classes in all examples.
        """
        key = (hidden, label)
        if key not in self._fits:
            self._fits[key] = self._fit(hidden, label)
        fit = self._fits[key]
        if fit is None:
            return None
        row = None if self._vectoriser is None else self._vectoriser.transform([text])
        if row is None or not row.nnz:
            # Not those of the other folds: a class is rarer where its own are left out, and a guess would be worse than chance.
            return _shares(self._classes(label))
        odds = [1.0] if fit.model is None else fit.model.predict_proba(row)[0].tolist()
        return dict(zip(fit.classes, odds, strict=True))

    def _classes(self, label: str | None) -> list[Hashable]:
        """The class of every example."""
        return [example.target[0] if label is None else label in example.target for example in self._examples]

    def _fit(self, hidden: frozenset[int], label: str | None) -> _Fit | None:
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

        kept = [number for number, example in enumerate(self._examples) if example.fold not in hidden]
        if not kept:
            return None
        every = self._classes(label)
        codes = {one: code for code, one in enumerate(_shares(every[number] for number in kept))}
        if len(codes) < 2 or self._matrix is None:  # nothing to tell apart, or nothing to tell it by
            return _Fit(tuple(codes), None)
        numbers = [codes[every[number]] for number in kept]  # not texts: NumPy's lose the zeros at their ends
        return _Fit(tuple(codes), LogisticRegression(C=STRENGTH, max_iter=1000).fit(self._matrix[kept], numbers))


class _Fit(NamedTuple):
    classes: tuple[Hashable, ...]
    model: Any
    """Its classes are places in `classes`; None for a single class, and where no example has a feature."""


def _shares(classes: Iterable[Hashable]) -> dict[Hashable, float]:
    """Class -> its share, in sorted order."""
    counts = Counter(classes)
    return {one: counts[one] / counts.total() for one in sorted(counts, key=str)}


def _vectoriser(texts: Sequence[str]) -> Any:
    """An unfitted vectoriser; None if the texts have no features."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]
    from sklearn.pipeline import FeatureUnion  # type: ignore[import-untyped]

    made = partial(TfidfVectorizer, sublinear_tf=True, max_features=MAX_FEATURES)
    parts = {
        "words": made(ngram_range=(1, 2)),
        "characters": made(analyzer="char_wb", ngram_range=(3, 5)),
    }
    # One without a single n-gram in all texts could not be fitted.
    used = [(name, part) for name, part in parts.items() if any(map(part.build_analyzer(), texts))]
    return FeatureUnion(used) if used else None


def likeness(text: str, choices: Sequence[str]) -> list[float]:
    """How much a text is like each of some choices: cosine of TF-IDF over character 3- to 5-grams fitted on the choices."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not text.strip() or not any(choice.strip() for choice in choices):
        return [0.0] * len(choices)
    vectoriser = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    matrix = vectoriser.fit_transform(choices)
    # Rounded, because the order of a sum must not decide between equals.
    return [round(float(value), 9) for value in (matrix @ vectoriser.transform([text]).T).toarray()[:, 0]]


class _NothingToReadError(Exception):
    """The sample cannot be answered; the message says why."""


@dataclass(slots=True)
class _Known:
    """What `prepare` learned of one task."""

    crossed: bool
    """Whether the examples are the asked samples themselves."""
    shared: bool
    """Whether all choice samples have the same options."""
    learned: tuple[Sample, ...] = ()
    """Samples to learn from."""
    folds: Mapping[str, int] = field(default_factory=dict)
    """Sample id -> fold, where cross-fitted."""
    said: Mapping[str, str | None] = field(default_factory=dict)
    """Sample id -> words that the dataset says are in its picture; only for text=dataset."""
    classifiers: dict[Kind, TextClassifier | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Seen:
    """What a pass over the asked samples finds out."""

    keeps_words: bool
    options: frozenset[str] | None = None
    shared: bool = True
    said: dict[str, str | None] = field(default_factory=dict)

    def watch(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        for sample in samples:
            if self.keeps_words and sample.images:
                self.said[sample.id] = sample.picture_text
            if sample.kind == "choice":
                options = frozenset(sample.choices)
                self.options = options if self.options is None else self.options
                self.shared = self.shared and options == self.options and len(options) <= MAX_LABELS
            yield sample


class OcrLinear(Simulated):
    """The baseline; see the module's text. Reads and fits when the first answer needs it, so a finished run reads nothing."""

    def __init__(self, name: str, settings: Settings, remark: str = "", reader: ocr.PictureReader | None = None) -> None:
        packages = ("scikit-learn", *(ocr.PACKAGES if settings.text == "picture" else ()))
        versions = ", ".join(f"{package} {ocr.installed(package)}" for package in packages)
        self._described = f"ocr_linear:{settings}{remark}; {versions}"
        super().__init__(name, self._described)
        self.settings = settings
        self._reader = ocr.PictureReader() if reader is None else reader
        self._tasks: dict[str, _Known] = {}

    def prepare(self, task: str, samples: Iterable[Sample], train: Iterable[Sample]) -> None:
        """Pick what is learned from: reads both iterables once, no picture but for its digest.

        Everything that is learned enters `identity`, so that a gold answer mended elsewhere changes the key of every answer.
        """
        seen = _Seen(keeps_words=self.settings.text == "dataset")
        learned = self._first(train)
        asked = seen.watch(samples)
        crossed = not learned
        if crossed:
            learned = self._first(asked)
        for _ in asked:  # all of them are looked at
            pass
        learned = [sample for sample in learned if sample.kind == "labels" or seen.shared]
        folds = {sample.id: self.settings.fold(sample) for sample in learned} if crossed else {}
        self._tasks[task] = _Known(crossed, seen.shared, tuple(learned), folds, seen.said)
        digest = hashlib.sha256(repr((crossed, seen.shared, seen.said)).encode())
        for sample in learned:
            digest.update(repr(self._content(sample)).encode())
        self.identity = f"{self._described}; {task} sha256:{digest.hexdigest()[:16]}"

    def _first(self, samples: Iterable[Sample]) -> list[Sample]:
        """The samples to learn from: those with an answer, at most `train` of them."""
        usable = (
            sample
            for sample in samples
            if sample.kind == "labels" or (sample.kind == "choice" and sample.target and sample.choices)
        )
        return heapq.nsmallest(self.settings.train, usable, key=lambda sample: self.settings.rank("train", sample.id))

    def _content(self, sample: Sample) -> tuple[object, ...]:
        """Everything about a sample that is learned from."""
        shown: object = sample.picture_text if self.settings.text == "dataset" else [_digest(one) for one in sample.images]
        return sample.id, sample.cluster, sample.kind, sample.target, sample.context, shown

    def answer(self, origin: Origin) -> Response:
        """What the words say. Raises UsageError if the origin's task was not prepared, MissingExtraError without the packages."""
        if origin.task not in self._tasks:
            raise UsageError(
                f"The model 'ocr_linear' has not seen the samples of task {origin.task!r}. "
                f"Call prepare({origin.task!r}, samples, train) before its requests."
            )
        try:
            return self._answer(origin, self._tasks[origin.task])
        except BadImageError as error:
            return Response(status="bad_image", error=str(error))
        except _NothingToReadError as error:
            return Response(status="error", error=str(error))

    def close(self) -> None:
        """Forget the fits and free the reader; the words read stay."""
        self._reader.close()
        for known in self._tasks.values():
            known.classifiers.clear()

    def _answer(self, origin: Origin, known: _Known) -> Response:
        sample = origin.sample
        words = self._words(sample, known)
        if sample.kind not in ("choice", "labels"):
            return Response(words)
        if not sample.choices:
            return Response(UNKNOWN)
        text = _joined(sample.context, words)
        if sample.kind == "labels":
            odds = [self._odds(origin, known, text, label).get(True, 0.0) for label in sample.choices]
            chosen = [label for label, value in zip(sample.choices, odds, strict=True) if value >= 0.5]
            return Response(labels_text(chosen or [self._best(odds, origin)]))
        if not known.shared:
            return Response(self._best(likeness(text, sample.choices), origin))
        found = self._odds(origin, known, text)
        weights = [max(found.get(choice, 0.0), IMPOSSIBLE) for choice in sample.choices]
        logs = tuple(math.log(weight / sum(weights)) for weight in weights)
        return Response(self._best(weights, origin), label_logprobs=logs)

    def _best(self, values: Sequence[float], origin: Origin) -> str:
        """The choice of the highest value; among equals the one that the seed ranks first, in whatever order they are shown."""
        sample, highest = origin.sample, max(values)
        best = (choice for choice, value in zip(sample.choices, values, strict=True) if value == highest)
        return min(best, key=lambda choice: self.settings.rank("tie", origin.task, sample.id, choice))

    def _odds(self, origin: Origin, known: _Known, text: str, label: str | None = None) -> Mapping[Hashable, float]:
        sample = origin.sample
        if sample.kind not in known.classifiers:
            known.classifiers[sample.kind] = self._classifier(sample.kind, known)
        classifier, hidden = known.classifiers[sample.kind], frozenset[int]()
        if known.crossed:
            partner = known.folds.get(sample.shown.partner or "")
            hidden = frozenset({self.settings.fold(sample)} | (set() if partner is None else {partner}))
        found = None if classifier is None else classifier.probabilities(text, hidden, label)
        if found is None:
            raise _NothingToReadError(
                f"sample {sample.id!r} of task {origin.task!r}: ocr_linear has no other sample to learn from. "
                f"Ask more samples, or a task with a training split."
            )
        return found

    def _classifier(self, kind: Kind, known: _Known) -> TextClassifier | None:
        examples = []
        for sample in known.learned:
            if sample.kind != kind:
                continue
            try:
                text = _joined(sample.context, self._words(sample, known))
            except (BadImageError, _NothingToReadError):
                continue  # says nothing about what its words mean
            examples.append(Example(text, sample.target, known.folds.get(sample.id, -1)))
        return TextClassifier(examples) if examples else None

    def _words(self, sample: Sample, known: _Known) -> str:
        """The words in the pictures that are shown. Raises BadImageError, _NothingToReadError."""
        if self.settings.text == "picture":
            return _joined(*(self._reader.read(image) for image in sample.images))
        shown = sample.shown
        if not sample.images or shown.picture in ("none", "blank"):
            return ""
        whose = shown.partner if shown.picture == "other" else sample.id
        said = known.said.get(whose or "") if shown.picture == "other" else sample.picture_text
        # A picture without known words is no picture without words; with a text beside it there is still something to read.
        if said is None and (shown.picture == "other" or sample.kind == "transcription" or sample.context is None):
            raise _NothingToReadError(
                f"no words are known of the picture of sample {whose!r} (of a transcription they are the answer). "
                f"Use ocr_linear:text=picture, which needs eyetest[text]."
            )
        return said or ""


def _joined(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text)


def _digest(image: Image) -> str:
    try:
        return images.digest(image)
    except BadImageError:
        return ""


def ocr_linear(argument: str, options: Mapping[str, str], seed: int) -> Model:
    """Reads the words in the picture, understands nothing: ocr_linear:text=picture|dataset|auto,folds=5,train=2000,seed=0.

    `auto`, the default, is `picture` if RapidOCR is installed, else `dataset`; the identity says which. `prepare` must be called
    first. Raises UsageError on an argument, an unknown option or a value out of range, MissingExtraError without the packages.
    """
    argument_left, found = read_spec(argument, options, DECLARED, what="ocr_linear")
    if argument_left:
        raise UsageError(
            f"ocr_linear takes options only, but was given {argument_left!r}. Write, for example, ocr_linear:folds=10."
        )
    if not ocr.installed("scikit-learn"):
        raise MissingExtraError("scikit-learn", "text", "The model ocr_linear")
    wanted, lacks, remark = found.pop("text", "auto"), ocr.missing(), ""
    if wanted == "auto":
        wanted = "picture" if lacks is None else "dataset"
        remark = f" (auto: {lacks} is not installed)" if lacks else " (auto)"
    elif wanted not in get_args(Source):
        raise unknown("text", wanted, ("auto", *get_args(Source)), "ocr_linear")
    elif wanted == "picture" and lacks is not None:
        raise MissingExtraError(lacks, "text", "ocr_linear:text=picture")
    settings = Settings(**{"text": wanted, "seed": seed} | found)
    return OcrLinear(f"ocr_linear:{argument}" if argument else "ocr_linear", settings, remark)
