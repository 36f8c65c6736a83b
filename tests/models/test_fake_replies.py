"""The bodies of the fake server: formats, choices, reasoning, rejected fields."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from eyetest.errors import UsageError
from eyetest.models.fake_answers import answer_of, phantom
from eyetest.models.fake_replies import REASONING, bomb, rejected, rejection, reply
from eyetest.models.fake_schema import fitting, formatted
from eyetest.models.fake_settings import PRESETS, FakeServerSettings

PROMPT = "Which?\nA. cat\nB. dog\nC. cow\n"


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": PROMPT}], **fields}


def replied(fields: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return reply(FakeServerSettings(**settings), lambda _body, _attempt: "A cat", body(**fields), 0)


def test_as_many_choices_as_asked_for() -> None:
    assert [choice["index"] for choice in replied({"n": 3})["choices"]] == [0, 1, 2]
    assert replied({"n": 3})["usage"]["completion_tokens"] == 6
    assert len(replied({"n": 3}, ignores=("n",))["choices"]) == 1
    assert [len(replied({"n": n})["choices"]) for n in (0, 1, "3", None)] == [1] * 4


def test_choices_differ_as_seeds_do() -> None:
    settings, answer = FakeServerSettings(), phantom(0)

    def letters(**fields: Any) -> list[str]:
        whole = reply(settings, answer, body(temperature=1, **fields), 0)
        return [choice["message"]["content"] for choice in whole["choices"]]

    many = letters(seed=5, n=40)
    assert set(many) == {"A", "B", "C"}
    assert many[1:] == [letters(seed=seed)[0] for seed in range(6, 45)]


def test_at_temperature_0_the_seed_changes_nothing() -> None:
    said = {phantom(0)(body(temperature=0, seed=seed), 0) for seed in range(30)}
    assert len(said) == 1


def test_a_heeded_seed_has_a_fingerprint() -> None:
    assert replied({"seed": 1})["system_fingerprint"] == "fp_fake"
    assert "system_fingerprint" not in replied({"seed": 1}, ignores=("seed",))
    assert "system_fingerprint" not in replied({})


def test_ignored_logprobs_in_both_spellings() -> None:
    assert "logprobs" in replied({"logprobs": True})["choices"][0]
    for settings in ({"ignores": ("logprobs",)}, {"ignore_logprobs": True}):
        assert "logprobs" not in replied({"logprobs": True}, **settings)["choices"][0]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field(field: str) -> None:
    whole = replied({}, reasoning=field)
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "A cat", field: REASONING}
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": len(REASONING.split())}
    assert whole["usage"]["completion_tokens"] == len(REASONING.split()) + 2


def test_reasoning_in_the_text() -> None:
    message = replied({}, reasoning="think")["choices"][0]["message"]
    assert message["content"] == f"<think>\n{REASONING}\n</think>\n\nA cat"


SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["right", "wrong"]},
        "why": {"type": "string"},
        "sure": {"type": "boolean"},
        "n": {"type": ["integer", "null"]},
        "p": {"type": "number"},
        "list": {"type": "array"},
        "fixed": {"const": 3},
        "either": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        "inner": {"type": "object", "properties": {"any": True}},
    },
}


def test_an_answer_in_the_schema() -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    text = answer_of("constant:A cat", 0)(body(response_format=asked), 0)
    assert isinstance(text, str)
    assert json.loads(text) == {
        "verdict": "right",
        "why": "A cat",
        "sure": True,
        "n": 0,
        "p": 0.0,
        "list": [],
        "fixed": 3,
        "either": None,
        "inner": {"any": "A cat"},
    }
    assert answer_of("constant:A cat", 0, formats=False)(body(response_format=asked), 0) == "A cat"
    assert replied({"response_format": asked})["choices"][0]["message"]["content"] == "A cat", "a function is taken at its word"
    assert fitting({"enum": ["a", "wrong"]}, "wrong") == "wrong"


@pytest.mark.parametrize(
    ("asked", "text", "expected"),
    [
        ({"type": "json_object"}, "hello", '{"answer":"hello"}'),
        ({"type": "json_object"}, '{"mine": 1}', '{"mine": 1}'),
        ({"type": "json_object"}, "[1]", '{"answer":"[1]"}'),
        ({"type": "text"}, "hello", "hello"),
        ("json", "hello", "hello"),
        ({"type": "json_schema", "json_schema": None}, "hello", '{"answer":"hello"}'),
    ],
)
def test_formats(asked: Any, text: str, expected: str) -> None:
    assert formatted(asked, text) == expected


REASONER = PRESETS["reasoning"]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"max_tokens": 5}, "max_tokens"),
        ({"temperature": 0.0}, "temperature"),
        ({"temperature": 1}, None),
        ({"temperature": None}, None),
        ({"logprobs": True}, "logprobs"),
        ({"logprobs": False}, None),
        ({"max_completion_tokens": 5, "seed": 3}, None),
    ],
)
def test_rejected_fields(fields: dict[str, Any], name: str | None) -> None:
    assert rejected(REASONER, body(**fields)) == name
    assert rejected(FakeServerSettings(), body(**fields)) is None


def test_what_a_rejection_says() -> None:
    assert rejection(body(max_tokens=5), "max_tokens") == (
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    )
    assert rejection(body(temperature=0.0), "temperature") == (
        "unsupported_value",
        "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.",
    )
    assert rejection(body(), "seed")[1] == "Unsupported parameter: 'seed' is not supported with this model."


def test_a_small_body_unpacks_to_a_gibibyte() -> None:
    packed, unpack, size = bomb(), zlib.decompressobj(16 + zlib.MAX_WBITS), 0
    assert len(packed) < 2e6
    for start in range(0, len(packed), 65536):
        data = unpack.decompress(packed[start : start + 65536])
        if not size:
            assert data.startswith(b'{"choices": [{"message": {"content": "   ')
        size += len(data)
        if size > 2**27:  # as much again for each eighth of the body: the rest is the same block
            break
    assert size > 2**27
    assert unpack.unused_data == b""


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ignores": ("sead",)}, "Unknown ignored field 'sead' in fake server. Did you mean 'seed'?"),
        ({"rejects": ("tempature",)}, "Unknown rejected field 'tempature' in fake server. Did you mean 'temperature'?"),
        ({"reasoning": "thinks"}, "Unknown reasoning 'thinks' in fake server. Did you mean 'think'?"),
        ({"concurrency": -1}, "fake server: concurrency and per_minute are counts; 0 is no limit."),
        ({"queue": True}, "fake server: nothing waits in a queue without a limit. Set concurrency, e.g. to 1."),
        ({"retry_after": float("nan")}, "fake server: latency, spread and retry_after are seconds, 0 or more."),
    ],
)
def test_wrong_settings(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        FakeServerSettings(**fields)
    assert str(raised.value).startswith(message)
