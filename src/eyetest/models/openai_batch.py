"""OpenAI's Batch API: half the price, an answer within a day. `openai:NAME,batch=true[,batch_size=5000][,poll=5]`.

Requests are written to input files, each is uploaded and submitted as a batch, and the batches are looked at now and then
until they end. Which request is in which batch is in a list on disk (`openai_batch_state`) before anything is submitted.
So whoever stops here, with Ctrl-C or `kill -9`, leaves the batches running, and the same run collects them when it is
started again: a request that a batch of this run holds is not submitted a second time.

Source: platform.openai.com/docs/guides/batch. Limits: 50,000 requests and 200 MB a file, results within 24 hours.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

from eyetest.errors import BadImageError, ModelError
from eyetest.models.openai_batch_book import Book, Sent
from eyetest.models.openai_batch_files import LARGEST_INPUT, Input, Results, fetch, line_of
from eyetest.models.openai_batch_http import ENDED, Stopped, Unavailable
from eyetest.models.openai_faults import no_access, no_money
from eyetest.models.openai_settings import Settings
from eyetest.models.openai_wire import Failure, encode, out_of_money
from eyetest.store import answer_key, content_key
from eyetest.types import Request, Response

AT_ONCE = 8
"""Batches under way at once; so `AT_ONCE * batch_size` requests are pulled ahead."""
GROWTH = 1.5
"""Each look at the batches comes so many times later than the one before, ..."""
SLOWEST = 12.0
"""... up to so many times `poll`."""
PATIENCE = 3600.0
"""Seconds without a word from the server, while batches are under way, until the run ends."""
ID = 40
"""Hex digits of an answer key that name a request: 160 bits."""

_log = logging.getLogger(__name__)


class OpenAIBatchModel:
    """A chat model behind a Batch API. The key stays in this object: not in name, identity, repr, errors, logs or files.

    identity: as of the model that is asked directly, so that both share a cache.
    """

    def __init__(self, settings: Settings, key: str | None, *, name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.simulated = False
        self._book = Book(settings, key, identity)

    def __repr__(self) -> str:
        return f"<{self.identity} batch>"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found on the way that a reader of the numbers should know: a sentence each."""
        book = self._book
        said = [f"{self.name}: {count} lines of results were {why}, and left out." for why, count in sorted(book.odd.items())]
        if book.again:
            said.append(f"{self.name}: {book.again} times a request that failed in a batch was put into a further one.")
        return (*book.learned.remarks(self.name), *said)

    def keep_in(self, folder: Path) -> None:
        """Where to keep the list of batches. The same run names the same folder again, and finds what it submitted."""
        self._book.move(folder)

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Answer, batch by batch; see `types.Model`. Pulls `AT_ONCE * batch_size` requests ahead.

        Raises ModelError on a wrong key, a server without a Batch API, a batch that the server does not take.
        """
        book = self._book
        book.enter()
        stream = _Stream(book, self.name, requests)
        try:
            yield from stream.answers()
        except Stopped:
            return
        finally:
            stream.drop()
            under_way = book.leave()
            if under_way:
                ids = ", ".join(under_way)
                _log.warning("%s: still under way: %s. Run the same command again to collect the answers.", self.name, ids)

    def close(self) -> None:
        """Stop waiting; iterators still open end. Batches go on if this run can collect them later, else are cancelled."""
        self._book.close()


class _Stream:
    """One `generate`."""

    def __init__(self, book: Book, name: str, requests: Iterator[Request]) -> None:
        self._book, self._name, self._requests, self._settings = book, name, requests, book.settings
        self._seen: Counter[str] = Counter()
        self._tries: Counter[str] = Counter()
        self._input: Input | None = None
        self._token, self._form = "", book.learned.form
        self._written: dict[str, Request] = {}
        self._more, self._at_once = True, AT_ONCE
        self._heard = time.monotonic()
        self._interval = self._settings.poll

    def answers(self) -> Iterator[tuple[Request, Response]]:
        """Pull, submit, look and yield in turn."""
        first = next(self._requests, None)
        if first is None:
            return
        self._state = self._book.open()
        self._held = {id: sent for sent in self._book.sent.values() for id in sent.left}
        yield from self._placed(first)
        while True:
            while self._more and len(self._waiting()) < self._at_once:
                request = next(self._requests, None)
                if request is None:
                    self._more = False
                else:
                    yield from self._placed(request)
            if len(self._waiting()) < self._at_once:
                self._submit()
            if not (waiting := self._waiting()):
                if not self._more:
                    return
                continue
            if self._book.stop.is_set():
                return
            ended = [sent for sent in waiting if self._ended(sent)]
            for sent in ended:
                yield from self._collected(sent)
            if not ended:
                self._wait()

    def drop(self) -> None:
        """Throw away what was written and not submitted."""
        if self._input is not None:
            self._input.close()
            self._input.path.unlink(missing_ok=True)
            self._input = None

    def _waiting(self) -> list[Sent]:
        return [sent for sent in self._book.sent.values() if sent.waiting]

    def _placed(self, request: Request) -> Iterator[tuple[Request, Response]]:
        """Find the request in a batch, or put it into the next; an answer where it can be in none."""
        try:
            content = content_key(self._book.identity, request)
        except BadImageError as error:
            yield request, Response(status="bad_image", error=str(error))
            return
        id = answer_key(content, request, simulated=False).hex()[:ID]
        self._seen[id] += 1
        if self._seen[id] > 1:  # the same question again is a request of its own
            id = f"{id}-{self._seen[id]}"
        sent = self._held.pop(id, None)
        if sent is not None:
            sent.waiting[id] = request
        else:
            yield from self._put(id, request)

    def _put(self, id: str, request: Request) -> Iterator[tuple[Request, Response]]:
        """Write the request into the next batch; an answer where it cannot be written."""
        try:
            form = self._book.learned.form
            body = encode(request, model=self._settings.model, max_side=self._settings.max_side, form=form)
        except BadImageError as error:
            yield request, Response(status="bad_image", error=str(error))
            return
        except orjson.JSONEncodeError as error:
            yield request, Response(status="error", error=f"The prompt cannot be sent as UTF-8: {error}.")
            return
        line = line_of(id, body)
        if len(line) > LARGEST_INPUT:
            said = (
                f"The request takes {len(line) / 1e6:.0f} MB, over the limit of {LARGEST_INPUT / 1e6:.0f} MB for a whole batch."
            )
            yield request, Response(status="error", error=said)
            return
        if self._input is not None and (self._input.size + len(line) > LARGEST_INPUT or self._form != form):
            self._submit()
        if self._input is None:
            self._form = form
            self._token = self._book.token(uuid.uuid4().hex)
            self._input = Input(self._book.path(self._token, "input"))
        self._input.add(id, line)
        self._written[id] = request
        if len(self._input.ids) >= self._settings.batch_size:
            self._submit()

    def _submit(self) -> None:
        """Upload and submit what was written. On disk first, that it will be: no crash may hide a batch that is paid for."""
        if self._input is None:
            return
        written, requests, token = self._input, self._written, self._token
        self._input, self._written = None, {}
        written.close()
        self._state.plan(token, written.ids)
        batch = self._book.server.create(self._book.server.upload(written.path), token)
        self._state.named(token, batch.id)
        written.path.unlink(missing_ok=True)
        sent = Sent(token, batch.id, self._state.open[token], False, self._form, set(written.ids), requests)
        self._book.sent[token] = sent
        self._interval = self._settings.poll
        _log.info("%s: batch %s submitted, %d requests, %d bytes.", self._name, batch.id, len(written.ids), written.size)

    def _wait(self) -> None:
        if self._book.stop.wait(self._interval):
            raise Stopped
        self._interval = min(self._interval * GROWTH, self._settings.poll * SLOWEST)

    def _ended(self, sent: Sent) -> bool:
        """Whether the batch has ended; its results are on the disk then. A server out of reach is asked again later."""
        if sent.results is not None:
            return True
        path = self._book.path(sent.token, "results")
        if path.exists():  # of an earlier process; without them, the server would be asked again
            sent.results, sent.why = Results(path), "no line for it in the results"
            return True
        try:
            batch = self._book.server.get(sent.id)
        except Unavailable as error:
            if time.monotonic() - self._heard > PATIENCE:
                raise self._book.server.gone(error.reason) from None
            return False
        self._heard = time.monotonic()
        if batch.completed != sent.completed:
            sent.completed = batch.completed
            _log.info("%s: batch %s: %d of %d answered.", self._name, sent.id, batch.completed, len(sent.kept.ids))
        if batch.status not in ENDED:
            return False
        self._book.odd += fetch(self._book.server, batch.files, path, sent.kept.ids, self._book.key)
        sent.results = Results(path)
        sent.explain(batch)
        return True

    def _collected(self, sent: Sent) -> Iterator[tuple[Request, Response]]:
        """Yield what the batch answered; what may do better goes into the next one."""
        self._interval = self._settings.poll
        while sent.waiting:
            id, request = next(iter(sent.waiting.items()))
            outcome = self._outcome(sent, id, request)
            if isinstance(outcome, Failure):
                del sent.waiting[id]
                sent.left.discard(id)
                self._book.again += 1
                yield from self._put(id, request)
            else:
                yield request, outcome
                # Only now: the reader has come back, so it has kept the answer.
                sent.waiting.pop(id, None)
                sent.left.discard(id)
        if sent.full:
            self._at_once = max(1, len(self._waiting()))
            self._interval = self._settings.poll * SLOWEST
            self._wait()
        if not sent.left and sent.results is not None:
            self._state.done(sent.token)
            sent.results.remove()
            del self._book.sent[sent.token]

    def _outcome(self, sent: Sent, id: str, request: Request) -> Response | Failure:
        """What became of one request; a Failure is to be asked again. Raises ModelError where no request can succeed."""
        read = None if sent.results is None else sent.results.read(id, request.labels, self._book.key)
        if read is None:
            if id in sent.reasons and not sent.earlier:
                return Response(status="error", error=sent.reasons[id])
            read = 0, b"", Failure(sent.why)
        status, payload, outcome = read
        if isinstance(outcome, Response) and outcome.status != "error":
            self._book.proven = True
            self._book.learned.answered(request, outcome, payload)
            return outcome
        if sent.earlier:
            return Failure("asked again, as every run asks again what failed")
        reason = (outcome.reason if isinstance(outcome, Failure) else outcome.error) or ""
        if out_of_money(status, payload):
            raise no_money(self._settings, reason)
        if isinstance(outcome, Response):
            return self._mistaken(sent, status, payload, request, outcome)
        if sent.failed and not sent.full:
            return self._not_taken(sent, reason)
        self._tries[id] += 1
        if self._tries[id] <= self._settings.retries:
            return outcome
        return Response(status="error", error=f"Gave up after {self._tries[id]} batches: {reason}")

    def _mistaken(self, sent: Sent, status: int, payload: bytes, request: Request, outcome: Response) -> Response | Failure:
        """What an error that would come again means: another form of writing it, no access at all, or just this error."""
        if status in (400, 422) and self._book.learned.refuse(request, sent.form, payload):
            return Failure("a field is refused")
        if status in (401, 403, 404) and not self._book.proven:
            raise no_access(self._settings, status, outcome.error or "", held=self._book.key is not None)
        return outcome

    def _not_taken(self, sent: Sent, reason: str) -> Response:
        if not self._book.proven:
            raise ModelError(
                f"{self._name}: the server does not take batch {sent.id} ({reason}). Check the model's name and what a "
                f"batch may hold, then run the same command again."
            )
        return Response(status="error", error=reason)
