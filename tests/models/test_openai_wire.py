"""Reading replies and headers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from eyetest.models.openai_wire import decode, excerpt, label_logprobs, seconds_to_wait
from eyetest.types import Response

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("12", 12.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("nan", None),
        ("1e308", 86_400.0),
        ("9" * 400, None),
        ("Fri, 02 Jan 99999 03:04:35 GMT", None),
        ("soon", None),
        ("Fri, 02 Jan 2026 03:04:35 GMT", 30.0),
        ("Fri, 02 Jan 2026 03:04:35 -0000", 30.0),
        ("Fri, 02 Jan 2026 03:04:00 GMT", 0.0),
    ],
)
def test_seconds_to_wait(header: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(header, NOW) == seconds


def first_token(**tokens: float) -> dict[str, Any]:
    top = [{"token": token, "logprob": logprob} for token, logprob in tokens.items()]
    return {"logprobs": {"content": [top[0] | {"top_logprobs": top}]}}


@pytest.mark.parametrize(
    ("tokens", "labels", "expected"),
    [
        ({"A": -0.5, "B": -1.5}, ("B", "A"), (-1.5, -0.5)),
        ({"A": -0.5}, (), None),
        ({"A": -0.5, "C": -1.5}, ("A", "B"), None),
        ({" A": -1.0, "A": -1.0, "▁B": -2.0}, ("A", "B"), (-0.306853, -2.0)),
        ({"hate": -0.1, "h": -4.0, "not": -2.0}, ("hateful", "not_hateful"), (-0.1, -2.0)),
        ({"dark": -0.1}, ("dark blue", "dark red"), None),
        ({"A": -0.0, "B": -9999.0, " B": -9999.0}, ("A", "B"), (0.0, -9998.306853)),
    ],
)
def test_label_logprobs(tokens: dict[str, float], labels: tuple[str, ...], expected: tuple[float, ...] | None) -> None:
    found = label_logprobs(first_token(**tokens) if tokens else {}, labels)
    assert found == (expected if expected is None else pytest.approx(expected, abs=1e-6))


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"logprobs": None},
        {"logprobs": {"content": []}},
        {"logprobs": {"content": [{"token": "A", "logprob": None, "top_logprobs": []}]}},
        {"logprobs": {"content": [{"token": "A", "logprob": "nan", "top_logprobs": []}]}},
    ],
)
def test_label_logprobs_of_an_odd_reply(choice: dict[str, Any]) -> None:
    assert label_logprobs(choice, ("A",)) is None


def test_the_key_is_gone_in_every_form_even_at_the_cut() -> None:
    key = 'sk-a/b"c+d=0123456789'
    forms = [key, "sk-a%2Fb%22c%2Bd%3D0123456789", 'sk-a/b\\"c+d=0123456789']
    for form in forms:
        for before in (0, 290):
            said = excerpt("x" * before + form + "y" * 400, key)
            assert len(said) == 300
            assert "0123" not in said
            assert "sk-a" not in said


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (b'{"error": {"code": "content_policy_violation", "message": "no"}}', "blocked"),
        (b'{"error": {"code": null, "type": "moderation_blocked"}}', "blocked"),
        (b'{"error": {"code": "invalid_value", "message": "moderation content_filter"}}', "error"),
        (b'{"error": "content_filter"}', "error"),
        (b"<html>content_filter</html>", "error"),
        (b"\xff\xfe", "error"),
    ],
)
def test_a_400_is_blocked_only_by_its_code(payload: bytes, status: str) -> None:
    response = decode(400, None, payload, (), None)
    assert isinstance(response, Response)
    assert response.status == status


def test_a_long_error_body_is_cut() -> None:
    assert decode(400, None, b"long\n " * 1000, (), None) == Response(status="error", error="HTTP 400: " + ("long " * 60))
