"""Every way in which the fake server can misbehave, and how often the client then called: counted by the server."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from eyetest.errors import ModelError
from eyetest.models import openai_api, openai_pace
from eyetest.models.fake_server import FakeServer, FakeServerSettings
from eyetest.models.fake_settings import FAULTS, IGNORABLE, REJECTABLE
from eyetest.models.openai_api import openai
from eyetest.types import Message, Request, Response

N = 12
SCHEMA = '{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": false}'

SENT: dict[str, dict[str, Any]] = {"logprobs": {"labels": ("A", "B")}, "response_format": {"schema": SCHEMA}}
"""What a request holds for a field to be sent."""

RETRIED = {
    *("hang", "stall", "closed", "cut", "malformed", "not_json", "html", "empty", "no_choices", "null_content", "wrong_types"),
    *("408", "409", "429", "500", "502", "503", "504"),
}
"""Faults that may pass: the same request once more."""
FINAL = {
    "blocked": "blocked",
    "filtered": "blocked",
    "refused": "refused",
    "refused_text": "ok",  # what a completion says is the scorer's to read
    "length": "truncated",
    "gzip_bomb": "error",
    "400": "error",
    "422": "error",
}
"""Faults that will not pass, and what becomes of the answer."""
ENDING = ("quota", "401", "403", "404")
"""Faults that end the run."""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(openai_api, "BACKOFF", 0.01)
    monkeypatch.setattr(openai_pace, "FIRST_TIMEOUT", 0.2)


def asked(*, labels: tuple[str, ...] = (), schema: str | None = None) -> list[Request]:
    return [Request((Message("user", (f"Question {number}?",)),), labels=labels, schema=schema) for number in range(N)]


def answers(server: FakeServer, requests: list[Request], options: str = "") -> tuple[list[Response], tuple[str, ...]]:
    model = openai(f"any,base_url={server.url},concurrency=4,min_attempt_timeout=0.2{options}", {}, 0)
    given = {id(request): response for request, response in model.generate(iter(requests))}
    model.close()
    assert len(given) == len(requests)
    return [given[id(request)] for request in requests], model.remarks


def test_every_fault_has_its_place_in_these_tables() -> None:
    assert set(FAULTS) - {"ok"} == {one for one in (*RETRIED, *FINAL, *ENDING) if not one.isdecimal()}


@pytest.mark.parametrize("fault", sorted(RETRIED))
def test_what_may_pass_is_asked_once_more_and_then_never_again(fault: str) -> None:
    with FakeServer(faults=(fault,), settings=FakeServerSettings(retry_after=0.01)) as server:
        responses, _ = answers(server, asked())
        assert server.log.outcomes == Counter({fault: N, "ok": N})
        assert set(server.log.attempts.values()) == {2}
        assert server.log.again == 0
    assert {one.status for one in responses} == {"ok"}


@pytest.mark.parametrize("fault", sorted(RETRIED - {"hang", "stall", "closed"}))
def test_what_does_not_pass_is_asked_as_often_as_allowed(fault: str) -> None:
    with FakeServer(settings=FakeServerSettings(retry_after=0.01, rates={fault: 1.0})) as server:
        responses, _ = answers(server, asked(), ",retries=2")
        assert server.log.outcomes == Counter({fault: 3 * N})
        assert set(server.log.attempts.values()) == {3}
    assert {one.status for one in responses} == {"error"}


@pytest.mark.parametrize(("fault", "status"), FINAL.items())
def test_what_will_not_pass_is_asked_once(fault: str, status: str) -> None:
    with FakeServer(faults=(fault,)) as server:
        responses, _ = answers(server, asked())
        assert server.log.outcomes == Counter({fault: N})
        assert set(server.log.attempts.values()) == {1}
    assert {one.status for one in responses} == {status}


@pytest.mark.parametrize("fault", ENDING)
def test_what_ends_the_run_ends_it_at_the_first_request(fault: str) -> None:
    with FakeServer(faults=(fault,)) as server:
        with pytest.raises(ModelError):
            answers(server, asked())
        assert server.log.outcomes == Counter({fault: 1})


@pytest.mark.parametrize("field", REJECTABLE)
def test_a_field_that_the_server_rejects_costs_one_call_and_is_left_out_from_then_on(field: str) -> None:
    sent = SENT.get(field, {})
    with FakeServer(settings=FakeServerSettings(rejects=(field,))) as server:
        responses, remarks = answers(server, asked(**sent))
        assert {one.status for one in responses} == {"ok"}
        assert server.log.outcomes["ok"] == N
        never = field in ("n", "seed")  # not sent
        refused = server.log.requests - N
        assert refused == 0 if never else refused == 1
        assert bool(remarks) is (not never and field != "max_tokens")


@pytest.mark.parametrize("field", IGNORABLE)
def test_a_field_that_the_server_ignores_costs_no_call_and_is_said_where_it_shows(field: str) -> None:
    sent = SENT.get(field, {})
    with FakeServer(settings=FakeServerSettings(ignores=(field,))) as server:
        _, remarks = answers(server, asked(**sent))
        assert server.log.outcomes == Counter({"ok": N})
        assert set(server.log.attempts.values()) == {1}
    assert bool(remarks) is bool(sent)
    assert all(field in remark or "schema" in remark for remark in remarks)


@pytest.mark.parametrize("options", [{"concurrency": 2}, {"per_minute": 600}])
def test_a_limit_of_the_server_loses_nothing(options: dict[str, int]) -> None:
    with FakeServer(settings=FakeServerSettings(latency=0.02, retry_after=0.05, **options)) as server:  # type: ignore[arg-type]
        responses, _ = answers(server, asked(), ",retries=50")
        assert server.log.outcomes["ok"] == N
        assert server.log.again == 0
    assert {one.status for one in responses} == {"ok"}
