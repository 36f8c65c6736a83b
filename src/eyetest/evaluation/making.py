"""Lets a model write knowledge questions or captions, one JSON line each, into a file that runs then read.

Every line is appended as its answer arrives, so that a killed pass loses nothing; a later one asks exactly what is missing, and
again what was asked otherwise (another question, picture, prompt or model). Lines that a person wrote are left alone. At the end
the file is written whole, in the order of the dataset, with duplicates flagged; lines of other ids stay, last.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from eyetest.errors import BadImageError, ModelError, StoreError, UsageError
from eyetest.evaluation.plan import Survey
from eyetest.evaluation.prepared import Line, Making, read_prepared
from eyetest.evaluation.run import Progress, Watch
from eyetest.models import Prepares
from eyetest.scorers.converter import (
    caption_request,
    duplicates,
    knowledge_request,
    prompt_hash,
    read_caption,
    read_knowledge,
)
from eyetest.store import check_regular, content_key, full, to_json, write_whole
from eyetest.types import Model, Origin, Request, Response, Sample

DUPLICATE = "duplicate"
_START = b'{"id":'
"""How every line begins that a pass writes."""


@dataclass(frozen=True, slots=True)
class MakeSettings:
    """What is made, and how it is asked for. Raises UsageError on a value out of range."""

    kind: Making
    pictures: bool = True
    """Show the model the pictures; captions cannot be made without."""
    max_tokens: int = 1024
    """Longest reply."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise UsageError(f"--max-tokens {self.max_tokens}: give a number of tokens, 1 or more.")

    def request(self, sample: Sample) -> Request | None:
        """What the model is asked; None where there is nothing to ask for: no picture to describe, no question, no answer."""
        if self.kind == "caption":
            return caption_request(sample, max_tokens=self.max_tokens) if sample.images else None
        if not sample.question.strip() or not sample.target:
            return None
        return knowledge_request(sample, pictures=self.pictures, max_tokens=self.max_tokens)

    def read(self, sample: Sample, response: Response) -> tuple[str, tuple[str, ...]]:
        """(text, flags) of the reply."""
        return read_caption(response) if self.kind == "caption" else read_knowledge(sample, response)


@dataclass(frozen=True, slots=True)
class Made:
    """What a pass left in its file."""

    samples: int
    """Samples of the dataset that were to be had one."""
    usable: int
    """Of these, with a text that will be asked."""
    methods: Counter[str]
    """How the usable ones were made."""
    flags: Counter[str]
    """Why others were rejected; one may have several flags."""
    nothing: int
    """Samples for which there is nothing to ask."""
    progress: Progress


@dataclass(slots=True)
class _Pass:
    survey: Survey
    model: Model
    settings: MakeSettings
    path: Path
    watch: Watch
    lines: dict[str, Line]
    progress: Progress = field(default_factory=Progress)
    nothing: int = 0
    waiting: dict[int, tuple[Request, str]] = field(default_factory=dict)
    """id(request) -> the request, kept alive, and its key."""
    asked: dict[str, list[Sample]] = field(default_factory=dict)
    """Key in flight -> the samples that wait for it."""
    known: dict[str, Response] = field(default_factory=dict)
    """Key -> its answer, for samples that ask the same."""

    def requests(self) -> Iterator[Request]:
        """What must really be asked."""
        for sample in self.survey.samples():
            request = self.settings.request(sample)
            if request is None:
                self.nothing += 1
                continue
            self.progress.total += 1
            try:
                sample.id.encode()
                key = self._key(request, sample)
            except UnicodeEncodeError:
                self._fail(sample, "its id is no Unicode text and cannot stand in a file")
                continue
            except BadImageError as error:
                self._fail(sample, str(error))
                continue
            if self._has(sample, key):
                self.progress.resumed += 1
                self._done()
            elif key in self.known or key in self.asked:
                self.progress.shared += 1
                if key in self.known:
                    self._keep(sample, key, self.known[key])
                else:
                    self.asked[key].append(sample)
            else:
                origin = Origin(self.survey.task.name, sample, self.settings.kind)
                request = replace(request, origin=origin)
                self.asked[key] = [sample]
                self.waiting[id(request)] = (request, key)
                yield request

    def _key(self, request: Request, sample: Sample) -> str:
        """What makes it the same request; a simulated model answers the sample, not the words."""
        key = content_key(self.model.identity, request).hex()[:16]
        return f"{key}:{sample.id}" if self.model.simulated else key

    def _has(self, sample: Sample, key: str) -> bool:
        line = self.lines.get(sample.id)
        return line is not None and line.request in (None, key)

    def ask_all(self) -> None:
        with closing(_pairs(self.model, self.requests())) as answers:
            for request, response in answers:
                found = self.waiting.pop(id(request), None)
                if found is None:
                    raise ModelError(
                        f"Model {self.model.name!r} yielded a request that it was not given, or answered one twice. "
                        f"generate() must yield each request object it was given exactly once."
                    )
                self._settle(found[1], response)
        for _, key in self.waiting.values():
            self._settle(key, Response(status="error", error="the model never answered"))

    def _settle(self, key: str, response: Response) -> None:
        self.progress.asked += 1
        samples = self.asked.pop(key)
        if response.status not in ("ok", "truncated"):
            for sample in samples:
                self._fail(sample, f"{response.status}: {response.error or 'no reason given'}")
            return
        if not self.model.simulated:
            self.known[key] = response
        for sample in samples:
            self._keep(sample, key, response)

    def _keep(self, sample: Sample, key: str, response: Response) -> None:
        text, flags = self.settings.read(sample, response)
        kind, name = self.settings.kind, self.model.name
        line = Line(text, flags, f"model:{name}", name, prompt_hash(caption=kind == "caption"), key)
        _append(self.path, to_json(line.as_dict(sample.id, kind)))
        self.lines[sample.id] = line
        self._done()

    def _fail(self, sample: Sample, why: str) -> None:
        self.progress.failed += 1
        self.progress.first_failure = self.progress.first_failure or f"sample {sample.id!r}: {why}"
        self._done()

    def _done(self) -> None:
        self.progress.done += 1
        self.watch(self.progress)

    def write(self) -> Made:
        """Flag duplicates and write the file whole."""
        if self.settings.kind == "knowledge":
            twice = duplicates((one, self.lines[one.id].text) for one in self.survey.samples() if one.id in self.lines)
            for name, line in self.lines.items():
                others = tuple(flag for flag in line.flags if flag != DUPLICATE)
                if line.request is not None and (name in twice or len(others) < len(line.flags)):
                    self.lines[name] = replace(line, flags=(*others, DUPLICATE) if name in twice else others)
        own = [sample.id for sample in self.survey.samples() if sample.id in self.lines]
        ordered = dict.fromkeys([*own, *self.lines])
        kind = self.settings.kind
        write_whole(self.path, b"".join(to_json(self.lines[name].as_dict(name, kind)) for name in ordered))
        return self._made([self.lines[name] for name in own])

    def _made(self, lines: list[Line]) -> Made:
        usable = [line for line in lines if not line.rejected]
        flags = Counter(flag for line in lines for flag in line.rejected)
        methods = Counter(line.made_by for line in usable)
        return Made(self.progress.total, len(usable), methods, flags, self.nothing, self.progress)


def _pairs(model: Model, requests: Iterator[Request]) -> Generator[tuple[Request, Response], None, None]:
    # A generator, whose close() cancels what is in flight whatever iterable a plug-in returns.
    yield from model.generate(requests)


def make(survey: Survey, model: Model, settings: MakeSettings, path: Path, *, watch: Watch) -> Made:
    """Ask for whatever the file lacks, and write it. The model is closed in any case.

    Raises DataError where `path` holds something else, StoreError where it cannot be written, ModelError where the model cannot
    work at all; what was answered until then is in the file.
    """
    try:
        one_pass = _Pass(survey, model, settings, path, watch, _opened(path, settings.kind))
        if isinstance(model, Prepares):
            model.prepare(survey.task.name, survey.samples(), survey.dataset.train())
        one_pass.ask_all()
    finally:
        model.close()
    return one_pass.write()


def _opened(path: Path, kind: Making) -> dict[str, Line]:
    """The lines that the file holds, none where there is no file; half a line at its end (a killed pass) is cut off."""
    check_regular(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            file.seek(0)
            kept = sum(len(line) for line in file if line.endswith(b"\n"))
            file.seek(kept)
            rest = file.read()
            if rest.rstrip().endswith(b"}"):  # a whole line all the same: editors leave the break out
                file.write(b"\n")
            elif rest.startswith(_START[: len(rest)]):  # anything else is not ours to cut; read_prepared says what it is
                file.truncate(kept)
    except OSError as error:
        raise StoreError(f"{path}: cannot be opened for writing: {error.strerror}. Choose another --out.") from error
    return dict(read_prepared(path, kind).lines)


def _append(path: Path, line: bytes) -> None:
    """One line in one write. Raises StoreError; the lines before it are safe."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            if os.write(handle, line) < len(line):
                raise OSError(28, "No space left on device")
        finally:
            os.close(handle)
    except OSError as error:
        raise full(error, path, "writing a line") from error
