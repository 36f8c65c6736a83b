"""The fake server by itself, asked with the standard library."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from eyetest.errors import DataError, UsageError
from eyetest.models.fake_server import FakeServer, FakeServerSettings, serve


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def post(
    server: FakeServer, text: str = "hello", *, key: str | None = None, timeout: float = 5, **fields: Any
) -> tuple[int, Any, Any]:
    """Status, headers and JSON of one call."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **fields}
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"{server.url}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            return reply.status, reply.headers, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, json.loads(error.read())


def said(server: FakeServer, text: str = "hello", **fields: Any) -> str:
    return post(server, text, **fields)[2]["choices"][0]["message"]["content"]  # type: ignore[no-any-return]


def settings(**fields: Any) -> FakeServerSettings:
    return FakeServerSettings(**fields)


def test_a_plain_answer() -> None:
    with FakeServer(settings=settings(answers="constant:It is: A")) as server:
        status, _, reply = post(server, "two words")
    assert status == 200
    assert reply == {
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is: A"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5},
    }


def test_scripted_answers(tmp_path: Path) -> None:
    file = tmp_path / "script.jsonl"
    digest = hashlib.sha256("exactly this 好".encode()).hexdigest()
    lines = [
        {"match": "capital", "completion": "Paris"},
        {"match": "this", "completion": "sub"},
        {"sha256": digest, "completion": "whole"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n", "utf-8")
    with FakeServer(settings=settings(answers=f"scripted:{file}")) as server:
        assert said(server, "the capital of this?") == "Paris"
        assert said(server, "exactly this 好") == "whole"
        assert said(server, "not exactly this 好") == "sub"
        status, _, reply = post(server, "nothing fits")
    assert status == 422
    assert reply["error"]["message"].startswith(f"no line of {file} fits 'nothing fits'")


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"match": "x"}', '{"match": 3, "completion": "x"}', '{"completion": "x"}', '"match"']
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "script.jsonl"
    file.write_text('{"match": "a", "completion": "b"}\n' + line, "utf-8")
    with pytest.raises(DataError) as raised:
        FakeServer(settings=settings(answers=f"scripted:{file}"))
    assert str(raised.value) == f'{file}:2: expected {{"match": TEXT, "completion": TEXT}}, or "sha256" in place of "match".'


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*none.jsonl: No such file or directory. Give scripted:FILE.jsonl."):
        FakeServer(settings=settings(answers=f"scripted:{tmp_path / 'none.jsonl'}"))


def test_phantom_answers_an_offered_letter() -> None:
    prompts = [f"Question {i}?\nA. cat\nB) dog\n(C) cow\nAnswer with a letter." for i in range(60)]
    with FakeServer(settings=settings(answers="phantom")) as server:
        letters = [said(server, prompt) for prompt in prompts]
        assert said(server, "A dog is running.") == "unknown"
    with FakeServer(settings=settings(answers="phantom")) as server:
        assert [said(server, prompt) for prompt in reversed(prompts)] == letters[::-1], "order changes nothing"
    with FakeServer(settings=settings(answers="phantom", seed=1)) as server:
        assert [said(server, prompt) for prompt in prompts] != letters
    assert set(letters) == {"A", "B", "C"}


def test_faults_in_sequence_and_the_counts() -> None:
    sequence = ("429", "500", "malformed", "cut", "blocked", "refused", "ok")
    with FakeServer(faults=sequence) as server:
        status, headers, reply = post(server)
        assert (status, headers["Retry-After"], reply["error"]["code"]) == (429, "1", "rate_limit_exceeded")
        assert post(server)[0] == 500
        with pytest.raises(json.JSONDecodeError):
            post(server)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            post(server)
        status, _, reply = post(server)
        assert (status, reply["error"]["code"]) == (400, "content_filter")
        message = post(server)[2]["choices"][0]["message"]
        assert (message["content"], message["refusal"]) == (None, "I'm sorry, but I can't help with that.")
        assert said(server) == "A"
        assert said(server) == "A"
        with urllib.request.urlopen(server.url.removesuffix("/v1") + "/log") as log:
            counts = json.loads(log.read())
        assert [received.outcome for received in server.log.received] == [*sequence, "ok"]
        assert [received.attempt for received in server.log.received] == list(range(8))
    assert counts == {
        "requests": 8,
        "distinct": 1,
        "ok": 2,
        "answered": 1,
        "outcomes": {"429": 1, "500": 1, "blocked": 1, "cut": 1, "malformed": 1, "ok": 2, "refused": 1},
        "asked_again_after_success": 3,
        "abandoned": 0,
        "in_flight": 0,
        "peak_in_flight": 1,
    }


def test_a_hang_ends_when_the_client_leaves() -> None:
    with FakeServer(faults={"slow": ("hang",)}) as server:
        with pytest.raises(TimeoutError):
            post(server, "slow", timeout=0.2)
        assert said(server, "quick") == "A"
        deadline = time.monotonic() + 5
        while server.log.in_flight and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.log.in_flight == 0


def test_leaving_does_not_wait_for_a_hang() -> None:
    with FakeServer(faults=("hang",)) as server:
        with pytest.raises(TimeoutError):
            post(server, timeout=0.2)
        started = time.monotonic()
    assert time.monotonic() - started < 20  # a hang lasts for ever


def test_fault_rates_are_a_function_of_the_request() -> None:
    misbehaving = settings(rates={"500": 0.3, "429": 0.2}, retry_after=0)

    def outcomes(order: range) -> dict[str, str]:
        with FakeServer(settings=misbehaving) as server:
            for i in order:
                post(server, f"item {i}")
            return {received.text: received.outcome for received in server.log.received}

    found = outcomes(range(300))
    assert outcomes(range(299, -1, -1)) == found
    counts = [list(found.values()).count(outcome) for outcome in ("500", "429", "ok")]
    assert all(abs(count - expected) < 5 * 8.7 for count, expected in zip(counts, (90, 60, 150), strict=True))


def test_latency_and_its_spread() -> None:
    with FakeServer(settings=settings(latency=0.2, spread=0.1)) as server:
        times = []
        for i in range(6):
            started = time.monotonic()
            post(server, f"item {i}")
            times.append(time.monotonic() - started)
    assert min(times) >= 0.1
    assert max(times) - min(times) > 0.02


def test_keys_and_models() -> None:
    with FakeServer(settings=settings(require_key="right", model="known")) as server:
        status, _, reply = post(server, key="wrong")
        assert (status, reply["error"]["code"]) == (401, "invalid_api_key")
        assert "Bearer wrong" in reply["error"]["message"]
        assert post(server)[0] == 401
        status, _, reply = post(server, key="right")
        assert (status, reply["error"]["code"]) == (404, "model_not_found")
        assert post(server, key="right", model="known")[0] == 200
        request = urllib.request.Request(f"{server.url}/models", headers={"Authorization": "Bearer right"})
        with urllib.request.urlopen(request) as reply:
            assert [model["id"] for model in json.loads(reply.read())["data"]] == ["known"]
    assert "right" not in repr(settings(require_key="right"))


def test_logprobs_on_request_only() -> None:
    with FakeServer(answer={"": "B it is"}) as server:
        first = post(server, "A. cat\nB. dog\n", logprobs=True)[2]["choices"][0]["logprobs"]["content"][0]
        assert "logprobs" not in post(server, "A. cat\nB. dog\n")[2]["choices"][0]
    assert (first["token"], [entry["token"] for entry in first["top_logprobs"]]) == ("B", ["B", "A"])


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"model": "m"}', b""])
def test_a_body_that_is_no_request(body: bytes) -> None:
    with FakeServer() as server:
        request = urllib.request.Request(f"{server.url}/chat/completions", body, {"Content-Type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(request)
        raised.value.close()
        assert raised.value.code == 400
        assert server.log.outcomes == {"400": 1}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"faults": ("hangs",)}, "Unknown fault 'hangs' in fake server. Did you mean 'hang'?"),
        ({"rates": {"299": 0.1}}, "Unknown fault '299' in fake server."),
        (
            {"rates": {"500": 0.8, "429": 0.3}},
            "fake server: the fault rates {'500': 0.8, '429': 0.3} must be 0 or more and together at most 1.",
        ),
        ({"latency": -1.0}, "fake server: latency, spread and retry_after are seconds, 0 or more."),
    ],
)
def test_wrong_settings(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        settings(**fields)
    assert str(raised.value).startswith(message)


def test_wrong_answers() -> None:
    with pytest.raises(UsageError, match=r"Unknown answers 'fantom' in fake server\. Did you mean 'phantom'\?"):
        FakeServer(settings=settings(answers="fantom"))


def test_serve_says_where_and_ends_on_interrupt() -> None:
    code = (
        "from eyetest.models.fake_server import FakeServerSettings, serve\n"
        "log = serve(FakeServerSettings(), '127.0.0.1', 0, lambda url: print(url, flush=True))\n"
        "print(log.requests)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body)) as reply:
        assert json.loads(reply.read())["choices"][0]["message"]["content"] == "A"
    os.kill(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=20)
    assert (process.returncode, out, error) == (0, "1\n", "")


def test_without_aiohttp_it_says_what_to_install() -> None:
    for module, thing in (("fake_server", "The fake server"), ("openai_api", "The model openai:NAME")):
        code = f"import sys; sys.modules['aiohttp'] = None; import eyetest.models.{module}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
        assert done.stderr.splitlines()[-1] == (
            f"eyetest.errors.MissingExtraError: {thing} needs the package 'aiohttp', which is not installed. "
            "Install it with: pip install 'eyetest[api]'"
        )


def test_a_taken_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as raised:
            serve(settings(), "127.0.0.1", port, lambda url: None)
    assert str(raised.value).startswith(f"fake server: cannot listen on 127.0.0.1:{port}: ")
    assert str(raised.value).endswith(". Choose another host or port.")


def test_a_script_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError) as raised:
        FakeServer(settings=settings(answers=f"scripted:{tmp_path / 'pipe'}"))
    assert str(raised.value) == f"fake server: {tmp_path / 'pipe'} is not a regular file. Give scripted:FILE.jsonl."


@pytest.mark.parametrize(("host", "port"), [("a..b", 0), ("a" * 64, 0), ("127.0.0.1", 99999), ("127.0.0.1", -1)])
def test_an_address_to_listen_on_that_is_none(host: str, port: int) -> None:
    with pytest.raises(UsageError) as raised:
        serve(settings(), host, port, print)
    assert str(raised.value).startswith(f"fake server: cannot listen on {host}:{port}: ")
    assert str(raised.value).endswith(". Choose another host or port.")
