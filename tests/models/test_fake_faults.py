"""Faults, limits and the log of the fake server, over real sockets."""

from __future__ import annotations

import hashlib
import http.client
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from eyetest.errors import UsageError
from eyetest.models.fake_log import Log
from eyetest.models.fake_replies import BROKEN
from eyetest.models.fake_server import FakeServer, FakeServerSettings

KEY = "sk-very-secret"


@contextmanager
def replied(server: FakeServer, text: str = "hello", timeout: float = 10, **fields: Any) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(server.url)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **fields})
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)) as connection:
        connection.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {KEY}"})
        yield connection.getresponse()


def read(server: FakeServer, text: str = "hello", **fields: Any) -> tuple[int, Any, Any]:
    with replied(server, text, **fields) as reply:
        return reply.status, reply.headers, json.loads(reply.read())


def settings(**fields: Any) -> FakeServerSettings:
    return FakeServerSettings(**fields)


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_bodies_come_with_status_200(fault: str) -> None:
    with FakeServer(faults=(fault,)) as server:
        with replied(server) as reply:
            assert (reply.status, reply.read()) == (200, BROKEN[fault])
            assert reply.headers["Content-Type"] == ("text/html" if fault == "html" else "application/json")
        assert read(server)[2]["choices"][0]["message"]["content"] == "A"
        assert server.log.outcomes == {fault: 1, "ok": 1}
        assert server.log.again == 0, "a broken body is no answer"


def test_broken_bodies_are_what_they_are_called() -> None:
    null, wrong = (json.loads(BROKEN[fault])["choices"][0] for fault in ("null_content", "wrong_types"))
    assert (null["message"]["content"], null["finish_reason"]) == (None, "stop")
    assert (wrong["message"]["content"], wrong["finish_reason"]) == (17, 3)
    assert json.loads(BROKEN["no_choices"])["choices"] == []
    for fault in ("malformed", "not_json", "html", "empty"):
        with pytest.raises(json.JSONDecodeError):
            json.loads(BROKEN[fault])


def test_a_connection_closed_before_any_header() -> None:
    with FakeServer(faults=("closed",)) as server:
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            read(server)
        assert read(server)[0] == 200
        assert server.log.in_flight == 0


def test_a_body_that_stalls() -> None:
    with FakeServer(faults=("stall",)) as server:
        with replied(server, timeout=0.3) as reply:
            assert (reply.status, reply.read(5)) == (200, b'{"cho')
            with pytest.raises(TimeoutError):
                reply.read()
        _await(lambda: server.log.abandoned == 1)
        assert server.log.in_flight == 0


def _await(true: Any) -> None:
    end = time.monotonic() + 5
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    assert true()


def test_a_gzip_bomb_says_that_it_is_packed() -> None:
    with FakeServer(faults=("gzip_bomb",)) as server, replied(server) as reply:
        assert (reply.headers["Content-Encoding"], reply.read(2)) == ("gzip", b"\x1f\x8b")
        assert int(reply.headers["Content-Length"]) < 2e6


def test_endings() -> None:
    with FakeServer(faults=("filtered", "length", "refused_text")) as server:
        found = [read(server)[2]["choices"][0] for _ in range(3)]
    assert [(one["finish_reason"], one["message"]["content"]) for one in found] == [
        ("content_filter", ""),
        ("length", "The answer to this question is"),
        ("stop", "I'm sorry, but I can't help with that."),
    ]


def test_no_waiting_mends_a_quota() -> None:
    with FakeServer(faults=("quota",)) as server:
        status, headers, reply = read(server)
    assert (status, reply["error"]["code"], headers["Retry-After"]) == (429, "insufficient_quota", None)


def test_three_forms_of_retry_after() -> None:
    for fields, check in (
        ({"retry_after": 2.5}, lambda said: said == "2.5"),
        ({"retry_after": None}, lambda said: said is None),
        (
            {"retry_after": 30, "retry_after_date": True},
            lambda said: 28 < parsedate_to_datetime(said).timestamp() - time.time() <= 31,
        ),
    ):
        with FakeServer(faults=("429",), settings=settings(**fields)) as server:
            status, headers, _ = read(server)
        assert status == 429
        assert check(headers["Retry-After"]), fields


def test_rejected_fields() -> None:
    with FakeServer(settings=settings(rejects=("max_tokens",))) as server:
        status, _, reply = read(server, max_tokens=5)
        assert (status, reply["error"]["code"], reply["error"]["param"]) == (400, "unsupported_parameter", "max_tokens")
        assert "Use 'max_completion_tokens' instead." in reply["error"]["message"]
        assert read(server, max_completion_tokens=5)[0] == 200
        assert server.log.outcomes == {"400 max_tokens": 1, "ok": 1}


def test_a_question_without_an_answer_is_not_counted_as_answered() -> None:
    with FakeServer(answer={"known": "yes"}) as server:
        assert [read(server, text)[0] for text in ("known", "strange", "strange")] == [200, 422, 422]
        assert server.log.outcomes == {"ok": 1, "unanswered": 2}
        assert (len(server.log.answered), server.log.again) == (1, 0)


def at_once(server: FakeServer, n: int) -> list[int]:
    with ThreadPoolExecutor(n) as pool:
        return sorted(status for status, _, _ in pool.map(lambda i: read(server, f"item {i}"), range(n)))


def test_more_than_it_serves_at_once_are_turned_away() -> None:
    with FakeServer(latency=0.4, settings=settings(concurrency=2)) as server:
        assert at_once(server, 6) == [200, 200, 429, 429, 429, 429]
        assert server.log.outcomes == {"ok": 2, "busy": 4}
        assert (server.log.peak, server.log.in_flight, len(server.log.attempts)) == (2, 0, 2)


def test_being_turned_away_is_no_attempt() -> None:
    planned = settings(concurrency=1, latency=0.2, faults=("500",))
    with FakeServer(settings=planned) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(read, server, "first")
        _await(lambda: server.log.in_flight == 1)
        assert read(server, "second")[0] == 429
        assert first.result()[0] == 500
        assert read(server, "second")[0] == 500, "its first attempt"
        assert [one.attempt for one in server.log.received if one.text == "second"] == [0, 0]


def test_one_at_a_time() -> None:
    with FakeServer(latency=0.1, settings=settings(concurrency=1, queue=True)) as server:
        started = time.monotonic()
        assert at_once(server, 4) == [200] * 4
        assert time.monotonic() - started >= 0.4
        assert server.log.peak == 4


def test_a_rate_limit_says_how_long() -> None:
    with FakeServer(settings=settings(per_minute=2)) as server:
        found = [read(server, f"item {i}") for i in range(3)]
    assert [status for status, _, _ in found] == [200, 200, 429]
    assert [headers["x-ratelimit-remaining-requests"] for _, headers, _ in found] == ["1", "0", "0"]
    assert found[0][1]["x-ratelimit-limit-requests"] == "2"
    assert 25 < float(found[2][1]["Retry-After"]) <= 30
    assert found[2][2]["error"]["code"] == "rate_limit_exceeded"
    assert server.log.outcomes == {"ok": 2, "rate_limited": 1}


def test_what_is_asked_again_after_its_answer() -> None:
    with FakeServer(faults={"blocked": ("blocked",), "once": ("500",)}) as server:
        for text in ("blocked", "blocked", "once", "once", "once", "fine"):
            read(server, text)
        counts = server.log.as_dict()
    assert counts == {
        "requests": 6,
        "distinct": 3,
        "ok": 4,
        "answered": 3,
        "outcomes": {"500": 1, "blocked": 1, "ok": 4},
        "asked_again_after_success": 2,
        "abandoned": 0,
        "in_flight": 0,
        "peak_in_flight": 1,
    }


def test_a_late_answer_that_nobody_waited_for_is_no_answer() -> None:
    log = Log()
    assert [log.arrive("x"), log.arrive("x")] == [0, 1]
    log.leave("x", "ok", delivered=False)
    assert (log.abandoned, log.answered) == (1, set())
    log.leave("x", "ok", delivered=True)
    log.arrive("x")
    assert (log.again, log.peak) == (1, 2)


def test_the_log_file_holds_every_attempt_and_never_the_key(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    for _ in range(2):
        told = settings(faults=("500",), latency=0.02, log=file, require_key=KEY)
        with FakeServer(faults={"slow": ("hang",)}, settings=told) as server:
            assert [read(server)[0] for _ in range(2)] == [500, 200]
            with pytest.raises(TimeoutError), replied(server, "slow", timeout=0.2):
                pass
            _await(lambda: server.log.abandoned == 1)
    written = file.read_text()
    rows = [json.loads(line) for line in written.splitlines()]
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
    assert [(row["attempt"], row["outcome"], row["delivered"]) for row in rows] == [
        (0, "500", True),
        (1, "ok", True),
        (0, "hang", False),
    ] * 2, "a file that is there is continued"
    assert rows[0]["sha256"] == rows[1]["sha256"] == hashlib.sha256(body).hexdigest()
    assert all(0.02 <= row["latency"] < 5 and abs(row["time"] - time.time()) < 60 for row in rows if row["delivered"])
    assert set(rows[0]) == {"time", "sha256", "attempt", "outcome", "latency", "delivered"}
    assert KEY not in written


def test_what_a_limit_turns_away_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    with FakeServer(settings=settings(per_minute=1, log=file)) as server:
        assert [read(server)[0] for _ in range(2)] == [200, 429]
    assert [json.loads(line)["outcome"] for line in file.read_text().splitlines()] == ["ok", "rate_limited"]


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        FakeServer(settings=settings(log=tmp_path / "none" / "log"))
    assert str(raised.value) == (
        f"fake server: cannot write the log {tmp_path / 'none' / 'log'}: No such file or directory. Name another file."
    )


def test_an_ignored_format() -> None:
    asked = {"response_format": {"type": "json_object"}}
    for ignores, expected in (((), '{"answer":"A"}'), (("response_format",), "A")):
        with FakeServer(settings=settings(ignores=ignores)) as server:
            assert read(server, **asked)[2]["choices"][0]["message"]["content"] == expected
