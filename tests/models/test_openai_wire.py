"""Reading replies and headers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from eyetest.models.openai_wire import LONGEST_REASONING, Form, decode, encode, excerpt, label_logprobs, seconds_to_wait
from eyetest.types import Generation, Message, Request, Response, Usage

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


def reply(message: dict[str, Any], finish: str = "stop", **more: Any) -> bytes:
    return orjson.dumps({"choices": [{"message": message, "finish_reason": finish}], **more})


@pytest.mark.parametrize(
    ("message", "finish", "expected"),
    [
        ({"content": "B", "reasoning_content": "Let me see."}, "stop", ("B", "Let me see.", "ok")),
        ({"content": "B", "reasoning": "Let me see."}, "stop", ("B", "Let me see.", "ok")),
        ({"content": "<think>\nLet me see.\n</think>\n\nB"}, "stop", ("B", "Let me see.", "ok")),
        ({"content": "\n<think></think>B"}, "stop", ("B", "", "ok")),
        ({"content": "<think>Let me"}, "length", ("<think>Let me", "", "truncated")),
        ({"content": "<think>Let me"}, "stop", ("<think>Let me", "", "ok")),
        ({"content": "B <think>x</think>"}, "stop", ("B <think>x</think>", "", "ok")),
        ({"content": None, "reasoning_content": "Let me see."}, "length", ("", "Let me see.", "truncated")),
        ({"content": None, "reasoning": "Let me see."}, "stop", ("", "Let me see.", "ok")),
        ({"content": "B", "reasoning": {"odd": 1}, "reasoning_content": None}, "stop", ("B", "", "ok")),
    ],
)
def test_reasoning_is_kept_apart(message: dict[str, Any], finish: str, expected: tuple[str, str, str]) -> None:
    found = decode(200, None, reply(message, finish), (), None)
    assert isinstance(found, Response)
    assert (found.text, found.reasoning, found.status) == expected


def test_reasoning_is_bounded_and_holds_no_key() -> None:
    key = "sk-0123456789abcdef"
    found = decode(200, None, reply({"content": "B", "reasoning": "x" * (LONGEST_REASONING - 4) + key + "y" * 99}), (), key)
    assert isinstance(found, Response)
    assert found.reasoning == "x" * (LONGEST_REASONING - 4) + "[key"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(9, 5, 4)),
        (
            {"prompt_tokens": 9, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}},
            Usage(9, 5, 0),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": None}, Usage(9, 5, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": "4"}}, Usage(9, 5, 0)),
        ({"prompt_tokens": 9}, None),
        ("9", None),
        ({"prompt_tokens": -9, "completion_tokens": 5}, None),
        ({"prompt_tokens": 9, "completion_tokens": True}, None),
        ({"prompt_tokens": 2**64 - 1, "completion_tokens": 5}, None),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 10}}, Usage(9, 5, 9)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -1}}, Usage(9, 5, 0)),
    ],
)
def test_usage(usage: Any, expected: Usage | None) -> None:
    found = decode(200, None, reply({"content": "B"}, usage=usage), (), None)
    assert isinstance(found, Response)
    assert found.usage == expected


def test_a_body_is_rewritten_as_it_would_have_been_encoded() -> None:
    request = Request((Message("user", ("Ça?",)),), Generation(seed=3), ("A", "B"), schema='{"type": "object"}')
    plain = encode(request, model="m", max_side=None)
    for form in (
        Form(tokens_key="max_completion_tokens"),
        Form(dropped=frozenset({"temperature", "top_p", "seed", "logprobs", "response_format"})),
    ):
        assert orjson.loads(form.rewritten(plain)) == orjson.loads(encode(request, model="m", max_side=None, form=form))
    assert set(orjson.loads(encode(request, model="m", max_side=None, form=form))) == {"model", "messages", "max_tokens"}


def test_forms_join() -> None:
    first, second = Form(dropped=frozenset({"seed"})), Form("max_completion_tokens", dropped=frozenset({"top_p"}))
    assert first.joined(second) == second.joined(first) == Form("max_completion_tokens", dropped=frozenset({"seed", "top_p"}))
