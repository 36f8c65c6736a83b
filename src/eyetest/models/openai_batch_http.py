"""The calls of OpenAI's Batch API: upload, create, look, list, cancel, download. Standard library only: minutes lie between them.

Source: platform.openai.com/docs/api-reference/batch and /files.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import re
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import orjson

from eyetest.errors import ModelError
from eyetest.models.openai_faults import no_access, no_money
from eyetest.models.openai_secret import scrub, server_of
from eyetest.models.openai_settings import Settings
from eyetest.models.openai_wire import RETRIED, excerpt, out_of_money, seconds_to_wait

ENDPOINT = "/v1/chat/completions"
"""Where the server is to send the requests of a batch: a name, not an address, so the same for every `base_url`."""
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""States in which a batch stays."""
QUIET = 60.0
"""Seconds without a byte until a connection is given up."""
BACKOFF = 0.5
"""Seconds before a call's second attempt, doubled for each further one up to `LONGEST_BACKOFF`."""
LONGEST_BACKOFF = 60.0
LARGEST_REPLY = 2**24
"""Bytes of the largest reply read, output files aside."""
BLOCK = 2**16
"""Bytes read or sent at once."""
PAGE = 100
"""Batches a page of the list: the most that OpenAI gives."""
CLOCKS = 3600.0
"""Seconds by which the server's clock may differ from ours."""
NAME = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
"""What the server may call a file or a batch: it becomes part of a path."""

Done = TypeVar("Done")


class Unavailable(Exception):
    """The server could not be reached, or asks to come back. `reason` holds no key; wait: seconds that it asks for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


class Stopped(Exception):
    """`close` was called while the server was waited for."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as the server describes it."""

    id: str
    token: str
    """Our own name for it, out of its metadata; empty for other people's batches."""
    status: str
    created: float
    """Unix seconds; infinity where the server does not say, so that a list is read on."""
    files: tuple[str, ...]
    """Files that hold its results: output, then errors."""
    completed: int
    """Requests answered so far."""
    errors: tuple[tuple[int | None, str], ...]
    """Why it failed: (line from 1 or None, code and message)."""


class BatchServer:
    """One server's Batch API.

    pause: waits so many seconds, and says whether to stop. Raises ModelError where the server cannot be used, Stopped from
    `pause`, and Unavailable only from `get`.
    """

    def __init__(self, settings: Settings, key: str | None, pause: Callable[[float], bool]) -> None:
        self._settings, self._key, self._pause = settings, key, pause
        parts = urlsplit(settings.base_url)
        self._base = urlunsplit((parts.scheme, parts.netloc.encode("idna").decode(), quote(parts.path, safe="/%"), "", ""))
        proxies = {} if settings.proxy is None else {parts.scheme: settings.proxy}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirect)

    def check(self) -> None:
        """Raise ModelError for a wrong key or a server without a Batch API, before anything is uploaded."""
        self._again(lambda: self._json("GET", "/batches?limit=1"))

    def upload(self, file: Path) -> str:
        """Send an input file; its id."""
        boundary = uuid.uuid4().hex
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n'
            f"Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        tail = f"\r\n--{boundary}--\r\n".encode()
        headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(head) + file.stat().st_size + len(tail)),
        }

        def body() -> Iterator[bytes]:
            yield head
            with file.open("rb") as stream:
                yield from iter(lambda: stream.read(BLOCK), b"")
            yield tail

        return self._again(lambda: self._name(self._json("POST", "/files", body(), headers)))

    def create(self, file: str, token: str) -> Batch:
        """Submit an uploaded file. Before it is tried again the list is looked through: the first try may have arrived."""
        asked = {"input_file_id": file, "endpoint": ENDPOINT, "completion_window": "24h", "metadata": {"eyetest": token}}
        headers = {"Content-Type": "application/json"}
        tried = False

        def submit() -> Batch:
            nonlocal tried
            there = self._listed({token: 0.0}, pages=1) if tried else {}
            tried = True
            return there.get(token) or self._batch(self._json("POST", "/batches", orjson.dumps(asked), headers))

        return self._again(submit)

    def get(self, id: str) -> Batch:
        """Look at a batch once. Raises Unavailable."""
        return self._batch(self._json("GET", f"/batches/{id}"))

    def find(self, tokens: Mapping[str, float]) -> dict[str, Batch]:
        """Those of our batches that the server has. tokens: token -> Unix seconds when it was planned."""
        return self._again(lambda: self._listed(tokens))

    def cancel(self, id: str) -> None:
        """Ask the server to stop, once: who cancels is about to leave, and has no time for more."""
        with contextlib.suppress(Unavailable, ModelError):
            self._json("POST", f"/batches/{id}/cancel", b"")

    def download(self, file: str, take: Callable[[Iterator[bytes]], Done]) -> Done:
        """What `take` makes of a file's blocks; it is called anew for each attempt. What breaks off is not taken."""

        def attempt() -> Done:
            with self._reply("GET", f"/files/{file}/content") as reply:
                taken = take(iter(lambda: reply.read(BLOCK), b""))
                if reply.length:  # http.client does not complain when a connection ends too early
                    raise Unavailable("the file is cut off")
                return taken

        return self._again(attempt)

    def _listed(self, tokens: Mapping[str, float], pages: int = 1000) -> dict[str, Batch]:
        """Newest first, as the server lists them, until all are found or the rest is older than any of them."""
        oldest, found, after = min(tokens.values(), default=0.0) - CLOCKS, dict[str, Batch](), ""
        for _ in range(pages):
            page = self._json("GET", f"/batches?{urlencode({'limit': PAGE} | ({'after': after} if after else {}))}")
            listed = page.get("data") if isinstance(page, dict) else None
            if not isinstance(listed, list):
                raise Unavailable("the list of batches is malformed")
            batches = [self._batch(one) for one in listed]
            found |= {batch.token: batch for batch in batches if batch.token in tokens}
            if len(found) == len(tokens) or not page.get("has_more") or not batches or batches[-1].created < oldest:
                break
            after = batches[-1].id
        return found

    def _again(self, call: Callable[[], Done]) -> Done:
        """Try until it works or `retries` are used up."""
        for attempt in range(self._settings.retries + 1):
            try:
                return call()
            except Unavailable as error:
                if attempt == self._settings.retries:
                    raise self.gone(error.reason) from None
                if self._pause(min(LONGEST_BACKOFF, BACKOFF * 2.0 ** min(attempt, 64) if error.wait is None else error.wait)):
                    raise Stopped from None
        raise AssertionError("the last attempt returns or raises")

    def gone(self, reason: str) -> ModelError:
        """The error for a server that cannot be reached."""
        return ModelError(
            f"{self._settings.base_url}: the Batch API does not answer ({reason}). What was answered is kept, and what was "
            f"submitted goes on there: run the same command again to collect it, or mend base_url=..."
        )

    @contextlib.contextmanager
    def _reply(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """The server's reply with a status of 2xx. Raises Unavailable or ModelError."""
        # read_settings lets only http and https pass.
        request = urllib.request.Request(self._base + path, data=body, headers=dict(headers or {}), method=method)  # noqa: S310
        if self._key:
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        try:
            with self._opener.open(request, timeout=QUIET) as reply:
                yield reply
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(path, error) from None
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            said = f": {cause.strerror}" if isinstance(cause, OSError) and cause.strerror else ""
            raise Unavailable(f"{type(cause).__name__} at {server_of(self._settings.base_url)}{said}") from None

    def _refusal(self, path: str, error: urllib.error.HTTPError) -> Exception:
        """What an HTTP status other than 2xx means."""
        try:
            payload = error.read(BLOCK)
        except (OSError, http.client.HTTPException):
            payload = b""
        reason = f"HTTP {error.code}: {excerpt(payload.decode('utf-8', 'replace'), self._key)}"
        if out_of_money(error.code, payload):
            return no_money(self._settings, reason)
        if error.code in RETRIED:
            return Unavailable(reason, seconds_to_wait(error.headers.get("Retry-After")))
        if error.code in (401, 403):
            return no_access(self._settings, error.code, reason, held=self._key is not None)
        if error.code in (404, 405) and path.startswith(("/batches?", "/files")) and not path.endswith("/content"):
            way_out = "Leave batch (--batch) out, or name a server that has one with base_url=..."
            return ModelError(f"{self._settings.base_url} has no Batch API ({reason}). {way_out}")
        if error.code == 404:
            return ModelError(
                f"{self._settings.base_url}{path} is not there any more, or belongs to another key ({reason}). Use the key with "
                f"which it was submitted ({self._settings.key_place}); or remove the folder of batches, to ask and pay again."
            )
        return ModelError(f"{self._settings.base_url}{path.partition('?')[0]}: the Batch API does not take this ({reason}).")

    def _json(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        with self._reply(method, path, body, headers) as reply:
            payload = reply.read(LARGEST_REPLY)
        try:
            return orjson.loads(payload)
        except orjson.JSONDecodeError:
            raise Unavailable(f"malformed reply: {excerpt(payload.decode('utf-8', 'replace'), self._key)}") from None

    def _name(self, said: Any) -> str:
        """The id in a reply. Raises Unavailable for one that could not stand in a path, or that repeats the key."""
        name = said.get("id") if isinstance(said, dict) else None
        if not isinstance(name, str) or not NAME.fullmatch(name) or ".." in name or scrub(name, self._key) != name:
            raise Unavailable("the reply holds no id")
        return name

    def _batch(self, said: Any) -> Batch:
        """A batch object, read with care."""
        id = self._name(said)
        counts, metadata, errors = (_mapping(said.get(field)) for field in ("request_counts", "metadata", "errors"))
        files = [self._name({"id": said[field]}) for field in ("output_file_id", "error_file_id") if said.get(field)]
        created = said.get("created_at")
        completed = counts.get("completed")
        told = errors.get("data")
        return Batch(
            id,
            str(metadata.get("eyetest", "")),
            str(said.get("status")),
            float(created) if isinstance(created, int | float) else math.inf,
            tuple(files),
            completed if isinstance(completed, int) else 0,
            tuple(self._error(_mapping(one)) for one in told) if isinstance(told, list) else (),
        )

    def _error(self, said: Mapping[str, Any]) -> tuple[int | None, str]:
        line = said.get("line")
        return line if isinstance(line, int) else None, excerpt(f"{said.get('code')}: {said.get('message')}", self._key)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirection would take the requests to a server that nobody named."""

    def redirect_request(self, *_: Any) -> None:
        """No."""
