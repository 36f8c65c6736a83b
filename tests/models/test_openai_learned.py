"""What a server is found to refuse, to ignore or to do badly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Event, Lock, Thread
from typing import Any

import pytest

from eyetest.errors import ModelError, UsageError
from eyetest.models.fake_server import FakeServer, FakeServerSettings
from eyetest.models.openai_api import OpenAIModel, openai
from eyetest.models.openai_learned import Learned, Queue, fits
from eyetest.models.openai_wire import Form
from eyetest.types import Generation, Message, Request, Response

Body = Mapping[str, Any]
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"verdict": {"enum": ["right", "wrong"]}, "why": {"type": "string"}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def ask(text: str, **more: Any) -> Request:
    return Request((Message("user", (text,)),), **more)


def said(content: str = "A", **message: Any) -> tuple[int, Any]:
    return 200, {"choices": [{"message": {"content": content, **message}, "finish_reason": "stop"}]}


def refused(message: str, **error: Any) -> tuple[int, Any]:
    return 400, {"error": {"message": message, "type": "invalid_request_error", **error}}


def unsupported(name: str, what: str = "value") -> tuple[int, Any]:
    return refused(f"Unsupported {what}: '{name}' ...", param=name, code=f"unsupported_{what}")


@contextmanager
def serving(answer: Callable[[Body], tuple[int, Any]]) -> Iterator[tuple[str, list[Body]]]:
    """A server that answers with a function of the body; its base URL and the bodies that came."""
    came: list[Body] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            came.append(body)
            status, reply = answer(body)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # at 5, connections of the first volley wait a second for their second SYN
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", came
    finally:
        server.shutdown()
        server.server_close()


def answers(url: str, requests: list[Request], options: str = "") -> tuple[OpenAIModel, list[Response]]:
    model = openai(f"m,base_url={url}{options}", {}, 0)
    given = {id(request): response for request, response in model.generate(iter(requests))}
    return model, [given[id(request)] for request in requests]


# Fields that are refused


def test_max_completion_tokens_costs_one_request() -> None:
    def answer(body: Body) -> tuple[int, Any]:
        if "max_tokens" in body:
            return refused("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.")
        return said()

    with serving(answer) as (url, came):
        model, found = answers(url, [ask(f"item {i}", generation=Generation(max_tokens=7)) for i in range(40)])
        assert [one.status for one in found] == ["ok"] * 40
        assert sum("max_tokens" in body for body in came) == 1
        assert len(came) == 41
        assert came[-1]["max_completion_tokens"] == 7
        list(model.generate(iter([ask("again")])))
        assert len(came) == 42, "remembered by the model, not by one run"
    assert model.remarks == ()


def test_a_named_tokens_key_is_kept() -> None:
    with serving(lambda body: refused("use max_completion_tokens") if "max_tokens" in body else said()) as (url, came):
        _, [found] = answers(url, [ask("x")], ",tokens_key=max_completion_tokens")
        assert (found.status, len(came)) == ("ok", 1)
        _, [found] = answers(url, [ask("x")], ",tokens_key=max_tokens")
        assert (found.status, len(came)) == ("error", 2)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("temperature", "temperature 0 is not accepted: the server's default is used, so answers may vary."),
        ("top_p", "top_p 1 is not accepted: the server's default is used."),
        ("seed", "seed is not accepted: a sampled answer cannot be had a second time."),
        ("logprobs", "logprobs is not accepted: there are no probabilities of the options."),
    ],
)
@pytest.mark.parametrize("what", ["value", "parameter"])
def test_a_field_that_is_refused_is_left_out_from_then_on(name: str, sentence: str, what: str) -> None:
    with serving(lambda body: unsupported(name, what) if name in body else said()) as (url, came):
        requests = [ask(f"item {i}", labels=("A", "B"), generation=Generation(seed=i)) for i in range(30)]
        model, found = answers(url, requests)
        assert {one.status for one in found} == {"ok"}
        assert len(came) == 31
        assert "top_logprobs" not in came[-1] or name != "logprobs"
    assert f"openai:m,base_url={url}: {sentence}" in model.remarks


def test_several_fields_are_learnt_one_after_another() -> None:
    def answer(body: Body) -> tuple[int, Any]:
        if "max_tokens" in body:
            return refused("use 'max_completion_tokens' instead")
        return next((unsupported(name) for name in ("temperature", "top_p") if name in body), said())

    with serving(answer) as (url, came):
        model, found = answers(url, [ask(f"item {i}") for i in range(20)])
        assert {one.status for one in found} == {"ok"}
        assert len(came) == 23
    assert len(model.remarks) == 2


@pytest.mark.parametrize(
    "reply",
    [
        refused("your prompt is bad"),
        refused("Unsupported parameter", param="messages", code="unsupported_parameter"),
        (400, {"error": "no"}),
        (400, [1]),
        (422, "response_format"),
    ],
)
def test_a_400_that_names_no_such_field_is_one_failure(reply: tuple[int, Any]) -> None:
    with serving(lambda body: reply) as (url, came):
        model, [found] = answers(url, [ask("x")])
        assert (found.status, len(came), model.remarks) == ("error", 1, ())


def test_a_server_that_goes_on_refusing_is_not_asked_without_end() -> None:
    with serving(lambda body: refused("max_completion_tokens, response_format")) as (url, came):
        _, [found] = answers(url, [ask("x", schema=SCHEMA)])
        assert (found.status, len(came)) == ("error", 3)


# Schemas


def test_a_schema_is_sent_as_response_format() -> None:
    with serving(lambda body: said('{"verdict": "right"}')) as (url, came):
        model, _ = answers(url, [ask("x", schema=SCHEMA)])
    named = {"name": "answer", "strict": True, "schema": json.loads(SCHEMA)}
    assert came[0]["response_format"] == {"type": "json_schema", "json_schema": named}
    assert model.remarks == ()


@pytest.mark.parametrize("status", [400, 422])
def test_without_response_format_where_it_is_refused(status: int) -> None:
    def answer(body: Body) -> tuple[int, Any]:
        return (status, {"detail": "response_format: extra fields not permitted"}) if "response_format" in body else said("right")

    with serving(answer) as (url, came):
        model, found = answers(url, [ask(f"item {i}", schema=SCHEMA) for i in range(20)])
        assert [one.text for one in found] == ["right"] * 20
        assert len(came) == 21
    assert model.remarks == (
        f"openai:m,base_url={url}: response_format is not accepted: answers are asked for without a schema.",
    )


def test_a_schema_that_is_ignored_is_said_once() -> None:
    with serving(lambda body: said("It is right.")) as (url, _):
        model, found = answers(url, [ask(f"item {i}", schema=SCHEMA) for i in range(5)])
    assert {one.text for one in found} == {"It is right."}
    assert model.remarks == (
        f"openai:m,base_url={url}: the server does not hold to response_format: 5 of 5 answers do not fit the schema.",
    )


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ('{"verdict": "right"}', True),
        (' {"verdict": "wrong", "why": "x"}\n', True),
        ('{"verdict": "perhaps"}', False),
        ('{"why": "x"}', False),
        ('{"verdict": "right", "more": 1}', False),
        ('["right"]', False),
        ('```json\n{"verdict": "right"}\n```', False),
        ("right", False),
        ("", False),
    ],
)
def test_fits(text: str, fitting: bool) -> None:
    assert fits(text, SCHEMA) is fitting
    assert fits('"x"', '{"type": "string"}')


# Log-probabilities


def test_ignored_logprobs_are_said_once_and_still_asked_for() -> None:
    with FakeServer(settings=FakeServerSettings(ignore_logprobs=True)) as server:
        model, _ = answers(server.url, [ask(f"A. x\nB. {i}\n", labels=("A", "B")) for i in range(40)])
        assert all(received.body["logprobs"] for received in server.log.received)
    assert model.remarks == (f"openai:m,base_url={server.url}: the server ignores logprobs: 40 of 40 answers came without them.",)


def test_logprobs_that_do_not_hold_the_labels_are_not_ignored_logprobs() -> None:
    with FakeServer() as server:
        model, found = answers(server.url, [ask("A. x\nB. y\n", labels=("A", "B")), ask("What?", labels=("red", "blue"))])
    assert [one.label_logprobs is None for one in found] == [False, True]
    assert model.remarks == ()


# One at a time


def test_a_server_that_answers_one_at_a_time_is_found_out() -> None:
    lock = Lock()

    def answer(body: Body) -> tuple[int, Any]:
        with lock:
            pause.wait(0.01)
            return said()

    pause = Event()
    with serving(answer) as (url, _):
        model, _ = answers(url, [ask(f"item {i}") for i in range(80)], ",concurrency=8")
    sentence = "the server answers one or two requests at a time: more in flight only wait longer."
    assert model.remarks == (f"openai:m,base_url={url},concurrency=8: {sentence}",)


def test_a_server_that_works_on_many_is_not() -> None:
    with FakeServer(latency=0.02) as server:
        model, _ = answers(server.url, [ask(f"item {i}") for i in range(200)], ",concurrency=16")
    assert model.remarks == ()


@pytest.mark.parametrize(
    ("at_once", "varied", "verdict"),
    [
        (1, False, True),
        (1, True, True),
        (2, False, True),
        (4, False, False),
        (4, True, False),
        (16, False, False),
        (16, True, False),
    ],
)
def test_queue_on_simulated_servers(at_once: int, varied: bool, verdict: bool) -> None:
    """Sixteen clients, `at_once` workers: 300 answers, first come first served."""
    queue, random, free = Queue(), Random(at_once), [0.0] * at_once
    clients = [0.0] * 16
    queue.took(1.0, 1)
    for _ in range(300):
        clients.sort()
        free.sort()
        asked, begun = clients[0], max(clients[0], free[0])
        ended = begun + (random.uniform(0.5, 1.5) if varied else 1.0)
        queue.took(ended - asked, sum(client > asked for client in clients) + 1 if asked else 16)
        free[0], clients[0] = ended, ended
    assert queue.one_at_a_time is verdict


def test_a_verdict_needs_enough_and_a_crowd() -> None:
    queue = Queue()
    for _ in range(1000):
        queue.took(1.0, 3)
    assert not queue.one_at_a_time
    for _ in range(19):
        queue.took(8.0, 8)
    assert not queue.one_at_a_time
    queue.took(8.0, 8)
    assert queue.one_at_a_time


def test_one_answer_out_of_a_cache_is_no_measure() -> None:
    queue = Queue()
    queue.took(0.001, 8)
    for _ in range(100):
        queue.took(1.0, 8)
    assert not queue.one_at_a_time


# Full servers, empty accounts, keys in files


def test_a_full_server_is_said() -> None:
    learned = Learned(Form(), cuts=3, limit=5)
    assert learned.remarks("openai:m") == (
        "openai:m: the server was overloaded: what it is given at once was halved 3 times, and was 5 at the end.",
    )


def test_fewer_at_once_where_the_server_is_full() -> None:
    lock, busy, refusals = Lock(), 0, 0

    def answer(body: Body) -> tuple[int, Any]:
        nonlocal busy, refusals
        with lock:
            if busy >= 4:
                refusals += 1
                return 503, {"error": {"message": "full"}}
            busy += 1
        pause.wait(0.02)
        with lock:
            busy -= 1
        return said()

    pause = Event()
    with serving(answer) as (url, came):
        model, found = answers(url, [ask(f"item {i}") for i in range(100)], ",concurrency=32,retries=20,min_attempt_timeout=30")
        assert {one.status for one in found} == {"ok"}
        assert len(came) == 100 + refusals
    assert any("the server was overloaded" in remark for remark in model.remarks)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"code": "insufficient_quota", "type": "insufficient_quota"}),
        (429, {"code": "billing_hard_limit_reached"}),
        (402, {"code": "invalid_request_error"}),
    ],
)
def test_an_empty_account_stops_the_run_and_keeps_what_was_answered(status: int, error: dict[str, str]) -> None:
    def answer(body: Body) -> tuple[int, Any]:
        if body["messages"][0]["content"] == "item 3":
            return status, {"error": {"message": "You exceeded your current quota.", **error}}
        return said()

    with serving(answer) as (url, came):
        model = openai(f"m,base_url={url},concurrency=1", {}, 0)
        kept = []
        with pytest.raises(ModelError) as raised:
            for _, response in model.generate(ask(f"item {i}") for i in range(50)):
                kept.append(response)
        assert len(came) == 4
    assert len(kept) == 3
    message = str(raised.value)
    assert message.startswith(f"{url}/chat/completions: the account behind the key has nothing left (HTTP {status}: ")
    assert message.endswith("and run the same command again: what was answered so far is kept.")


def test_a_plain_429_is_no_empty_account() -> None:
    with FakeServer(faults=("429",), settings=FakeServerSettings(retry_after=0)) as server:
        _, [found] = answers(server.url, [ask("x")])
    assert found.status == "ok"


def test_a_key_from_a_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text("  sk-from-a-file-0123456789\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    with FakeServer(settings=FakeServerSettings(require_key="sk-from-a-file-0123456789")) as server:
        model, [found] = answers(server.url, [ask("x")], f",api_key_file={file}")
        assert found.status == "ok"
        assert "sk-from" not in f"{model!r} {model.name} {model.identity}"
        file.write_text("sk-from-another-file")
        with pytest.raises(ModelError) as raised:
            answers(server.url, [ask("x")], f",api_key_file={file}")
    assert str(raised.value).endswith(f"The key is read from the file {file}. Put a valid key into it.")
    assert "sk-from" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (None, UsageError, "model openai: api_key_file names no file. It takes the path of a file that holds the key."),
        (b"\n", ModelError, "model openai: the file {} holds no key. Write the key into it, and nothing else."),
        (b"x" * 5000, UsageError, "model openai: {} is larger than 4096 bytes; expected a key and nothing else."),
        (b"a\nb", UsageError, "model openai: the key in the file {} holds a character that no HTTP header may hold."),
        (b"\xff", UsageError, "model openai: the key in the file {} holds a character that no HTTP header may hold."),
    ],
)
def test_a_key_file_that_is_none(tmp_path: Any, content: bytes | None, kind: type[Exception], message: str) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(kind) as raised:
        openai(f"m,api_key_file={file}", {}, 0)
    assert str(raised.value).startswith(message.format(file))


def test_a_key_in_the_place_of_its_file_is_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        openai("m,api_key_file=sk-hush", {}, 0)
    assert "hush" not in str(raised.value)


# Options


def test_reasoning_effort_is_passed_on_and_part_of_the_identity() -> None:
    with serving(lambda body: said()) as (url, came):
        model, _ = answers(url, [ask("x")], ",reasoning_effort=low")
        assert came[0]["reasoning_effort"] == "low"
    assert model.identity.endswith(" reasoning_effort=low")
    assert "reasoning_effort" not in openai(f"m,base_url={url}", {}, 0).identity


def test_a_tokens_key_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"Unknown tokens_key 'max_token' in model openai\. Did you mean 'max_tokens'"):
        openai("m,base_url=http://localhost:1/v1,tokens_key=max_token", {}, 0)
