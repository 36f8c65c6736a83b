"""What one model knows of its batches: those under way, where their files are, what was learnt. Shared by its streams."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from eyetest.models.openai_batch_files import Results
from eyetest.models.openai_batch_http import Batch, BatchServer
from eyetest.models.openai_batch_state import Kept, State
from eyetest.models.openai_learned import Learned
from eyetest.models.openai_settings import TOKENS_KEYS, Settings
from eyetest.models.openai_wire import Form
from eyetest.types import Request


@dataclass(slots=True)
class Sent:
    """A batch that the server has."""

    token: str
    id: str
    kept: Kept
    earlier: bool
    """Whether an earlier process submitted it: what failed in it is then asked again, as every run does."""
    form: Form
    """How its requests are written."""
    left: set[str]
    """Ids of which nobody was given the answer yet."""
    waiting: dict[str, Request] = field(default_factory=dict)
    """Of these, those that this `generate` was asked for."""
    completed: int = -1
    """Answers that the server has, when it last said so."""
    results: Results | None = None
    """Its results, once it has ended."""
    reasons: dict[str, str] = field(default_factory=dict)
    """id -> what the server says is wrong with its line."""
    why: str = ""
    """Why there are no results for the others."""
    failed: bool = False
    """Whether the server took none of it."""
    full: bool = False
    """Whether that was for a limit on what may be under way at once."""

    def explain(self, batch: Batch) -> None:
        """Take note of why there may be no results. batch: as it ended."""
        said = "; ".join(dict.fromkeys(reason for _, reason in batch.errors))
        self.why = f"batch {batch.id} is {batch.status}, without a line for it{f': {said}' if said else ''}"
        at = {line: reason for line, reason in batch.errors if line is not None}
        self.reasons = {id: at[line] for line, id in enumerate(self.kept.ids, 1) if line in at}
        self.full = batch.status == "failed" and "limit" in said.lower()
        self.failed = batch.status == "failed" and not self.reasons


class Book:
    """Everything that outlives one `generate`. identity: of the model; names the list of batches."""

    def __init__(self, settings: Settings, key: str | None, identity: str) -> None:
        fixed = settings.tokens_key is not None
        self.settings, self.key, self.identity = settings, key, identity
        self.learned = Learned(Form(settings.tokens_key or TOKENS_KEYS[0], fixed, settings.reasoning_effort))
        self.odd: Counter[str] = Counter()
        """Why lines of results were left out -> how many."""
        self.again = 0
        """How often a request was put into a further batch."""
        self.proven = False
        """Whether the server ever answered a request."""
        self.sent: dict[str, Sent] = {}
        """Token -> batch under way, or not yet handed over."""
        self.stop = threading.Event()
        self.server = BatchServer(settings, key, self.stop.wait)
        self._prefix = f"eyetest-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        self._folder: Path | None = None
        self._passing: tempfile.TemporaryDirectory[str] | None = None
        self._state: State | None = None
        self._streams = 0

    def move(self, folder: Path) -> None:
        """Keep the files there."""
        self._folder, self._state, self.sent = folder, None, {}

    def enter(self) -> None:
        """A stream begins."""
        self.stop.clear()
        self._streams += 1
        for sent in self.sent.values():
            sent.waiting.clear()  # of a stream that its reader left

    def leave(self) -> list[str]:
        """A stream ends. Ids of the batches that go on; those that nobody could ever collect are cancelled instead."""
        self._streams -= 1
        under_way = [sent for sent in self.sent.values() if sent.waiting and sent.results is None]
        if self._passing is None:
            return [sent.id for sent in under_way]
        for sent in under_way:
            self.server.cancel(sent.id)
            del self.sent[sent.token]
        if self.stop.is_set():
            self.close()
        return []

    def close(self) -> None:
        """Wake whoever waits; throw passing files away once no stream needs them."""
        self.stop.set()
        if self._passing is not None and not self._streams:
            self._passing.cleanup()
            self._folder = self._passing = self._state = None
            self.sent = {}

    def path(self, token: str, what: str) -> Path:
        """The file of a batch that holds its `input` or its `results`."""
        return (self._folder or Path()) / f"{token}.{what}.jsonl"

    def token(self, unique: str) -> str:
        """Our name for a new batch."""
        return f"{self._prefix}-{unique}"

    def open(self) -> State:
        """The list of batches; the first time it is read, and compared with what the server has."""
        if self._state is not None:
            return self._state
        self.server.check()
        if self._folder is None:
            self._passing = tempfile.TemporaryDirectory(prefix="eyetest-batches-")
            self._folder = Path(self._passing.name)
        state = State(self._folder / f"{self._prefix}.jsonl")
        nameless = {token: kept.at for token, kept in state.open.items() if kept.id is None}
        found = self.server.find(nameless) if nameless else {}
        for token in nameless:
            if token in found:
                state.named(token, found[token].id)
            else:
                state.done(token)
        for leftover in self._folder.glob(f"{self._prefix}-*.input.jsonl"):
            leftover.unlink(missing_ok=True)
        for token, kept in state.open.items():
            self.sent[token] = Sent(token, kept.id or "", kept, True, self.learned.form, set(kept.ids))
        self._state = state
        return state
