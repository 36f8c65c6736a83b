"""The Batch API of the fake server: files in memory, batches that take their time, and what may go wrong with them.

Each line of a batch is sent to the server's own `/v1/chat/completions`, so that answers, faults and counts are those of any
other request. What may happen to batch 0, 1, ... is in `FakeServerSettings.batch_faults`:

    failed          validation fails, for all of it (code invalid_request)
    failed_line     validation fails for its first line
    limit           validation fails: too much is under way (code token_limit_exceeded)
    expired         half of its lines are answered, the rest expires
    cancelled       the same, cancelled by somebody else
    shuffled        its results come in another order, some twice, with a stranger's and a malformed line between them
    lost            it is accepted, and the connection cut before the client hears of it
    cut             it is completed; the first download of each file breaks off half-way
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import Any

import orjson

from eyetest.errors import MissingExtraError

try:
    import aiohttp
    from aiohttp import web
except ModuleNotFoundError as missing:
    raise MissingExtraError("aiohttp", "api", "The fake server") from missing

AT_ONCE = 32
"""Lines of a batch that are answered at once."""

Refuse = Callable[[web.Request], web.Response | None]
"""An error for a request that may not come in."""


class FakeBatches:
    """Files and batches of one fake server.

    delay: seconds in each of the states validating, in_progress (at least) and finalizing. faults: as above, for
    batch 0, 1, ...; `ok` beyond the end. refuse: checks the key.
    """

    def __init__(self, delay: float, faults: Sequence[str], refuse: Refuse) -> None:
        self.counts: Counter[str] = Counter()
        """`uploads`, `created`, `listed`, `looks`, `downloads`, `cancelled`, `lines` (sent on, in all) -> calls."""
        self.batches: dict[str, dict[str, Any]] = {}
        """id -> batch as the API shows it, oldest first."""
        self._delay, self._faults, self._refuse = delay, faults, refuse
        self._files: dict[str, bytes] = {}
        self._cut: set[str] = set()
        """Files whose next download breaks off."""
        self._tasks: set[asyncio.Task[None]] = set()

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._get)
        app.router.add_post("/v1/batches/{id}/cancel", self._cancel)
        app.on_cleanup.append(self._stop)

    async def _stop(self, _app: web.Application) -> None:
        for task in self._tasks:
            task.cancel()

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refuse(request)) is not None:
            return refused
        form = await request.post()
        file = form.get("file")
        if form.get("purpose") != "batch" or not isinstance(file, web.FileField):
            return _error(400, "invalid_request", "expected purpose=batch and a file")
        self.counts["uploads"] += 1
        id = f"file-{len(self._files)}"
        self._files[id] = file.file.read()
        return _json({"id": id, "object": "file", "bytes": len(self._files[id]), "purpose": "batch"})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refuse(request)) is not None:
            return refused
        id = request.match_info["id"]
        if id not in self._files:
            return _error(404, "not_found", "no such file")
        self.counts["downloads"] += 1
        data = self._files[id]
        if id in self._cut:
            self._cut.remove(id)
            broken = web.StreamResponse(headers={"Content-Length": str(len(data))})
            await broken.prepare(request)
            await broken.write(data[: len(data) // 2])
            _hang_up(request)
            return broken
        return web.Response(body=data, content_type="application/octet-stream")

    async def _create(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refuse(request)) is not None:
            return refused
        said = orjson.loads(await request.read())
        if said.get("input_file_id") not in self._files or said.get("endpoint") != "/v1/chat/completions":
            return _error(400, "invalid_request", "expected input_file_id and endpoint")
        number = len(self.batches)
        fault = self._faults[number] if number < len(self._faults) else "ok"
        batch = {
            "id": f"batch_{number}",
            "object": "batch",
            "endpoint": said["endpoint"],
            "input_file_id": said["input_file_id"],
            "completion_window": said.get("completion_window"),
            "status": "validating",
            "created_at": int(time.time()),
            "metadata": said.get("metadata"),
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
        }
        self.batches[batch["id"]] = batch
        self.counts["created"] += 1
        self._start(self._work(batch, fault, f"{request.url.origin()}", request.headers.get("Authorization")))
        if fault == "lost":
            _hang_up(request)
        return _json(batch)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refuse(request)) is not None:
            return refused
        self.counts["listed"] += 1
        newest = list(reversed(self.batches))
        after, limit = request.query.get("after"), int(request.query.get("limit", "20"))
        start = newest.index(after) + 1 if after in self.batches else 0
        page = [self.batches[id] for id in newest[start : start + limit]]
        return _json({"object": "list", "data": page, "has_more": start + limit < len(newest)})

    async def _get(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refuse(request)) is not None:
            return refused
        self.counts["looks"] += 1
        batch = self.batches.get(request.match_info["id"])
        return _error(404, "not_found", "no such batch") if batch is None else _json(batch)

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refuse(request)) is not None:
            return refused
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            return _error(404, "not_found", "no such batch")
        self.counts["cancelled"] += 1
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "cancelling"
        return _json(batch)

    async def _work(self, batch: dict[str, Any], fault: str, server: str, authorization: str | None) -> None:
        """The life of a batch."""
        await asyncio.sleep(self._delay)
        rows = [orjson.loads(line) for line in self._files[batch["input_file_id"]].splitlines()]
        if fault in ("failed", "failed_line", "limit"):
            batch |= {"status": "failed", "errors": {"object": "list", "data": [_invalid(fault, authorization)]}}
            return
        batch["request_counts"]["total"] = len(rows)
        answered = rows if fault not in ("expired", "cancelled") else rows[: len(rows) // 2]
        if batch["status"] == "validating":
            batch["status"] = "in_progress"
        said, _ = await asyncio.gather(self._answers(batch, answered, server, authorization), asyncio.sleep(self._delay))
        ended = fault if fault in ("expired", "cancelled") else "completed"
        if batch["status"] == "cancelling":
            ended = "cancelled"
        batch["status"] = "finalizing"
        await asyncio.sleep(self._delay)
        said += [_dropped(row, f"batch_{ended}", f"The batch was {ended}.") for row in rows[len(said) :]]
        good = [orjson.dumps(one) for one in said if (one["response"] or {}).get("status_code") == 200]
        bad = [orjson.dumps(one) for one in said if (one["response"] or {}).get("status_code") != 200]
        if fault == "shuffled":
            good = _shuffled(good)
        for field, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                id = batch[field] = f"file-{len(self._files)}"
                self._files[id] = b"\n".join(lines) + b"\n"
                if fault == "cut":
                    self._cut.add(id)
        batch["status"] = ended

    async def _answers(
        self, batch: dict[str, Any], rows: Sequence[Mapping[str, Any]], server: str, authorization: str | None
    ) -> list[dict[str, Any]]:
        """The results of the lines in order; fewer than lines when the batch is cancelled."""
        headers = {"Authorization": authorization} if authorization else {}
        counts, found = batch["request_counts"], list[dict[str, Any]]()
        async with aiohttp.ClientSession(server, headers=headers) as session:

            async def one(row: Mapping[str, Any]) -> dict[str, Any]:
                self.counts["lines"] += 1
                try:
                    async with session.post(row["url"], json=row["body"]) as reply:
                        body = orjson.loads(await reply.read())
                except (aiohttp.ClientError, ValueError) as error:  # a fault that leaves no JSON
                    return _dropped(row, "server_error", str(error))
                counts["completed" if reply.status == 200 else "failed"] += 1
                answer = {"status_code": reply.status, "request_id": "fake", "body": body}
                return {"id": "fake", "custom_id": row["custom_id"], "response": answer, "error": None}

            for start in range(0, len(rows), AT_ONCE):
                if batch["status"] == "cancelling":
                    break
                found += await asyncio.gather(*map(one, rows[start : start + AT_ONCE]))
        return found


def _invalid(fault: str, authorization: str | None) -> dict[str, Any]:
    if fault == "limit":
        return {"code": "token_limit_exceeded", "message": "Enqueued token limit reached.", "line": None}
    line = 1 if fault == "failed_line" else None
    return {"code": "invalid_request", "message": f"fake fault (you sent {authorization})", "line": line}


def _dropped(row: Mapping[str, Any], code: str, message: str) -> dict[str, Any]:
    return {"id": "fake", "custom_id": row["custom_id"], "response": None, "error": {"code": code, "message": message}}


def _shuffled(lines: list[bytes]) -> list[bytes]:
    """Another order, the first line twice (the second time with another answer), a stranger's line, a broken one."""
    other = re.sub(rb'"content":"[^"]*"', b'"content":"a second answer"', lines[0])
    stranger = re.sub(rb'"custom_id":"[^"]*"', b'"custom_id":"stranger"', lines[0])
    mixed = lines.copy()
    Random(0).shuffle(mixed)
    return [stranger, b'{"custom_id": "bro', *mixed, other]


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _json(value: Mapping[str, Any]) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


def _error(status: int, code: str, text: str) -> web.Response:
    return web.Response(
        status=status, body=orjson.dumps({"error": {"code": code, "message": text}}), content_type="application/json"
    )
