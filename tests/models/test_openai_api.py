"""The client against the fake server over real local HTTP."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import logging
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image as Pillow

from eyetest.errors import ModelError, UsageError
from eyetest.models import openai_api
from eyetest.models.fake_server import FakeServer, FakeServerSettings
from eyetest.models.openai_api import OpenAIModel, openai
from eyetest.types import Generation, Image, Message, Request, Response

KEY = "sk-test/Secret+key=0123456789"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key or URL from the developer's environment, a proxy that would break everything, short waits."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setattr(openai_api, "BACKOFF", 0.02)


def ask(text: str, *, labels: tuple[str, ...] = (), image: Image | None = None) -> Request:
    return Request((Message("user", (text,) if image is None else (image, text)),), labels=labels)


def model_at(server: FakeServer, options: str = "", name: str = "any") -> OpenAIModel:
    return openai(f"{name},base_url={server.url}{',' + options if options else ''}", {}, 0)


def one(server: FakeServer, request: Request | None = None, options: str = "") -> Response:
    [(_, response)] = model_at(server, options).generate(iter([request or ask("hello")]))
    return response


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith(("eyetest-openai", "asyncio"))}


def jpeg(size: tuple[int, int] = (64, 48)) -> bytes:
    file = io.BytesIO()
    Pillow.effect_noise(size, 80).convert("RGB").save(file, "JPEG")
    return file.getvalue()


# What becomes of an answer


def test_an_answer_arrives_with_usage_and_latency() -> None:
    with FakeServer(answer={"hello": "Ça va 🙂 好"}, latency=0.05) as server:
        response = one(server)
    assert (response.text, response.status, response.error) == ("Ça va 🙂 好", "ok", None)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (1, 4)
    assert 0.05 <= response.latency < 1


def test_the_body_holds_what_the_request_says_and_nothing_of_its_origin() -> None:
    request = Request(
        (Message("system", ("Be brief.",)), Message("user", ("One", "two"))),
        Generation(temperature=0.5, top_p=0.9, max_tokens=7, seed=3),
    )
    with FakeServer() as server:
        one(server, request)
        [received] = server.log.received
    assert received.body == {
        "model": "any",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "two"}]},
        ],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "seed": 3,
    }


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"message": {"content": "It is"}, "finish_reason": "length"}, ("truncated", "It is", None)),
        ({"message": {"content": None}, "finish_reason": "length"}, ("truncated", "", None)),
        ({"message": {"content": None}, "finish_reason": "content_filter"}, ("blocked", "", "finish_reason: content_filter")),
        ({"message": {"content": None, "refusal": "I won't."}, "finish_reason": "stop"}, ("refused", "I won't.", "I won't.")),
        ({"message": {"content": ""}, "finish_reason": "stop"}, ("ok", "", None)),
        ({"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}, ("ok", "ab", None)),
    ],
)
def test_status_of_a_reply(choice: dict[str, object], expected: tuple[str, str, str | None]) -> None:
    with FakeServer(answer=lambda body, attempt: {"choices": [choice]}) as server:
        response = one(server)
        assert server.log.requests == 1
    assert (response.status, response.text, response.error) == expected


def test_refused_and_blocked_are_not_tried_again() -> None:
    with FakeServer(faults={"r": ("refused",), "b": ("blocked",)}) as server:
        found = {request.messages[0].content[0]: response for request, response in model_at(server).generate(map(ask, "rb"))}
        assert server.log.requests == 2
    assert found["r"].status == "refused"
    assert found["r"].text == "I'm sorry, but I can't help with that."
    assert found["b"].status == "blocked"
    assert found["b"].error is not None
    assert found["b"].error.startswith('HTTP 400: {"error":')


@pytest.mark.parametrize("status", ["400", "422", "405", "501"])
def test_what_will_not_pass_is_not_tried_again(status: str) -> None:
    with FakeServer(faults=(status,)) as server:
        response = one(server)
        assert server.log.outcomes == {status: 1}
    assert response.status == "error"
    assert response.error is not None
    assert response.error.startswith(f"HTTP {status}: ")


@pytest.mark.parametrize("fault", ["408", "409", "429", "500", "502", "503", "504", "cut", "malformed"])
def test_what_may_pass_is_tried_again(fault: str) -> None:
    with FakeServer(faults=(fault, fault), settings=FakeServerSettings(retry_after=0.0)) as server:
        response = one(server)
        assert server.log.outcomes == {fault: 2, "ok": 1}
        assert len(server.log.attempts) == 1, "every attempt sends the same bytes"
    assert (response.status, response.text) == ("ok", "A")


@pytest.mark.parametrize(
    "payload",
    [
        {"choices": []},
        {"choices": None},
        {"choices": [{}]},
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
    ],
    ids=["no choices", "null choices", "no message", "null content"],
)
def test_an_answer_without_a_completion_is_tried_again(payload: dict[str, object]) -> None:
    with FakeServer(answer=lambda body, attempt: payload if attempt == 0 else "fine") as server:
        assert one(server).text == "fine"
        assert server.log.requests == 2


def test_retries_end() -> None:
    with FakeServer(faults=("500",) * 9) as server:
        response = one(server, options="retries=2")
        assert server.log.requests == 3
    assert response.status == "error"
    assert response.error is not None
    assert response.error.startswith("Gave up after 3 attempts in 0.")
    assert "HTTP 500: " in response.error


def test_a_megabyte_of_unicode() -> None:
    text = "Ünïcödé 好🙂" * 60_000
    with FakeServer(answer=lambda body, attempt: body["messages"][0]["content"]) as server:
        response = one(server, ask(text))
    assert response.text == text


def test_text_that_is_not_unicode_fails_alone() -> None:
    with FakeServer() as server:
        found = [response for _, response in model_at(server).generate(iter([ask("\ud800"), ask("fine")]))]
        assert server.log.requests == 1
    assert [response.status for response in found] == ["error", "ok"]
    assert found[0].error == "The prompt cannot be sent as UTF-8: str is not valid UTF-8: surrogates not allowed."


# Waiting


@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "date"])
def test_retry_after_is_honoured(as_date: bool) -> None:
    settings = FakeServerSettings(retry_after=0.7, retry_after_date=as_date)
    with FakeServer(faults=("429",), settings=settings) as server:
        assert one(server).status == "ok"
        first, second = (received.at for received in server.log.received)
    assert 0.69 <= second - first < 10


def test_a_wait_past_the_time_out_is_not_waited_for() -> None:
    with FakeServer(faults=("429",), settings=FakeServerSettings(retry_after=3600)) as server:
        started = time.monotonic()
        response = one(server)
        assert server.log.requests == 1
    assert time.monotonic() - started < 60  # the server asks for an hour
    assert response.status == "error"
    assert response.error is not None
    assert "Gave up after 1 attempts in 0.0 s, and the server asks to wait 3600 s: HTTP 429" in response.error


def test_a_hang_is_tried_again_and_holds_up_nobody() -> None:
    with FakeServer(latency=0.02, faults={"slow": ("hang",)}) as server:
        requests = [ask("slow"), *(ask(f"item {i}") for i in range(60))]
        started = time.monotonic()
        answers = list(model_at(server, "concurrency=8,min_attempt_timeout=0.5").generate(iter(requests)))
        spent = time.monotonic() - started
        assert server.log.outcomes == {"ok": 61, "hang": 1}
    assert {response.status for _, response in answers} == {"ok"}
    # The first goes alone for a second; it is overdue as soon as others have shown how fast the server is.
    assert spent < 60  # the time-out of the whole request is 300 s


def test_a_time_out_doubles_the_next_allowance() -> None:
    with FakeServer(latency=0.01, faults={"slow": ("hang", "hang")}) as server:
        requests = [*(ask(f"item {i}") for i in range(20)), ask("slow")]
        answers = list(model_at(server, "min_attempt_timeout=0.3").generate(iter(requests)))
        at = [received.at for received in server.log.received if received.text == "slow"]
    assert answers[-1][1].status == "ok"
    assert len(at) == 3
    assert at[1] - at[0] >= 0.3
    assert at[2] - at[1] >= 0.6
    assert at[2] - at[0] < 4


def test_the_time_out_covers_all_attempts() -> None:
    with FakeServer(faults={"slow": ("hang",) * 9}) as server:
        requests = [*(ask(f"item {i}") for i in range(10)), ask("slow")]
        started = time.monotonic()
        answers = list(model_at(server, "min_attempt_timeout=0.2,timeout=0.5").generate(iter(requests)))
        assert 0.4 < time.monotonic() - started < 3
    assert answers[-1][1].status == "error"
    assert answers[-1][1].error is not None
    assert "no answer within 0." in answers[-1][1].error


# The iterator


def test_five_hundred_requests_each_once_and_never_far_ahead() -> None:
    pulled: list[Request] = []
    yielded = furthest = 0
    thread = threading.get_ident()

    def producer() -> Iterator[Request]:
        nonlocal furthest
        for i in range(500):
            assert threading.get_ident() == thread
            request = ask(f"item {i}.")
            pulled.append(request)
            furthest = max(furthest, len(pulled) - yielded)
            yield request

    with FakeServer(answer=lambda body, attempt: body["messages"][0]["content"], latency=0.02) as server:
        found = []
        for request, response in model_at(server, "concurrency=64").generate(producer()):
            yielded += 1
            found.append(request)
            assert response.text == request.messages[0].content[0]
        assert server.log.requests == 500
        assert 8 < server.log.peak <= 64
    assert len(found) == 500
    assert {id(request) for request in found} == {id(request) for request in pulled}
    assert furthest <= 64 + openai_api.AHEAD


def test_under_every_fault_at_once_each_is_answered_once() -> None:
    rates = {"429": 0.1, "500": 0.1, "cut": 0.1, "malformed": 0.1, "hang": 0.02, "blocked": 0.05, "refused": 0.05}
    settings = FakeServerSettings(rates=rates, latency=0.02, spread=0.02, retry_after=0.0)
    with FakeServer(lambda body, attempt: body["messages"][0]["content"], settings=settings) as server:
        requests = [ask(f"item {i}.") for i in range(400)]
        answers = list(model_at(server, "concurrency=64,min_attempt_timeout=0.5,retries=12").generate(iter(requests)))
        outcomes = server.log.outcomes
        assert len(server.log.attempts) == 400
    assert {id(request) for request, _ in answers} == {id(request) for request in requests}
    assert len(answers) == 400
    counts = Counter(response.status for _, response in answers)
    assert counts == {"ok": outcomes["ok"], "blocked": outcomes["blocked"], "refused": outcomes["refused"]}
    assert all(response.text == request.messages[0].content[0] for request, response in answers if response.status == "ok")


def test_answers_come_in_completion_order() -> None:
    with FakeServer(
        answer=lambda body, attempt: "late" if body["messages"][0]["content"] == "first" else "soon", faults={"first": ("500",)}
    ) as server:
        order = [response.text for _, response in model_at(server).generate(map(ask, ("first", "second", "third")))]
    assert order == ["soon", "soon", "late"]


def test_a_request_is_pulled_only_when_asked_for() -> None:
    pulled = []

    def producer() -> Iterator[Request]:
        for i in range(9):
            pulled.append(i)
            yield ask(f"item {i}")

    with FakeServer() as server:
        answers = model_at(server).generate(producer())
        assert pulled == []
        assert threads() == set()
        assert len(list(answers)) == 9


def test_an_abandoned_iterator_leaves_no_thread_and_no_socket() -> None:
    with FakeServer(latency=0.05, faults={"item 39.": ("hang",)}) as server:
        answers = model_at(server, "concurrency=8").generate(ask(f"item {i}.") for i in range(500))
        for _ in range(40):
            next(answers)
        assert threads() == {"eyetest-openai"}
        answers.close()  # type: ignore[attr-defined]
        assert threads() == set()
        assert server.log.requests <= 40 + 16
        for _ in range(100):
            if server.log.in_flight == 0:
                break
            time.sleep(0.02)
        assert server.log.in_flight == 0, "the server saw its clients leave"


def test_close_yields_what_is_done() -> None:
    with FakeServer(faults={"hang": ("hang",) * 9}) as server:
        model = model_at(server, "concurrency=4")
        answers = model.generate(map(ask, ("a", "hang", "b", "hang too")))
        assert next(answers)[1].status == "ok"
        deadline = time.monotonic() + 5
        while model._runs[0].done.empty() and time.monotonic() < deadline:
            time.sleep(0.01)
        model.close()
        assert threads() == set()
        assert [request.messages[0].content[0] for request, _ in answers] == ["b"]
        model.close()


def test_close_from_another_thread_wakes_the_iterator() -> None:
    with FakeServer(faults=("hang",)) as server:
        model = model_at(server)
        threading.Timer(0.3, model.close).start()
        assert list(model.generate(iter([ask("x")]))) == []


def test_an_error_of_the_producer_passes_and_cleans_up() -> None:
    def producer() -> Iterator[Request]:
        yield ask("one")
        raise ZeroDivisionError

    with FakeServer(latency=0.1) as server, pytest.raises(ZeroDivisionError):
        list(model_at(server).generate(producer()))
    assert threads() == set()


def test_a_forgotten_iterator_does_not_keep_the_interpreter(tmp_path: Path) -> None:
    code = (
        "from eyetest.models.fake_server import FakeServer\nfrom eyetest.models.openai_api import openai\n"
        "from eyetest.types import Message, Request\n"
        "server = FakeServer(latency=0.1).__enter__()\n"
        "answers = openai(f'x,base_url={server.url},concurrency=2', {}, 0).generate(\n"
        "    Request((Message('user', (str(i),)),)) for i in range(50))\n"
        "print(next(answers)[1].text)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "A\n", "")


# Pictures


def test_a_picture_arrives_byte_for_byte_and_in_place() -> None:
    data = jpeg()
    with FakeServer() as server:
        one(server, ask("What is it?", image=Image(data=data)))
        [received] = server.log.received
    picture, text = received.body["messages"][0]["content"]
    head, _, encoded = picture["image_url"]["url"].partition(",")
    assert (picture["type"], head) == ("image_url", "data:image/jpeg;base64")
    assert base64.b64decode(encoded) == data
    assert text == {"type": "text", "text": "What is it?"}


def test_a_large_picture_is_streamed_whole() -> None:
    data = jpeg((1700, 1400))
    assert len(data) > 2**20
    with FakeServer(faults=("500",)) as server:
        assert one(server, ask("?", image=Image(data=data))).status == "ok"
        assert len(server.log.attempts) == 1, "the second attempt sends the same bytes"


def test_max_side_scales_down() -> None:
    with FakeServer() as server:
        one(server, ask("?", image=Image(data=jpeg((64, 48)))), options="max_side=32")
        [received] = server.log.received
    encoded = received.body["messages"][0]["content"][0]["image_url"]["url"].partition(",")[2]
    assert Pillow.open(io.BytesIO(base64.b64decode(encoded))).size == (32, 24)


def test_a_bad_picture_fails_alone(tmp_path: Path) -> None:
    missing = Image(path=str(tmp_path / "missing.jpg"))
    with FakeServer() as server:
        found = dict(model_at(server).generate(iter([ask("bad", image=missing), ask("good")])))
        assert server.log.requests == 1
    bad, good = found.values()
    assert (bad.status, good.status) == ("bad_image", "ok")
    assert bad.error is not None
    assert "missing.jpg" in bad.error


# Label probabilities


def test_label_logprobs_where_the_server_gives_them() -> None:
    with FakeServer(answer={"A.": "B"}) as server:
        request = ask("Which?\nA. cat\nB. dog\nC. cow\n", labels=("A", "B", "C"))
        response = one(server, request)
        assert server.log.received[0].body["top_logprobs"] == 20
        without = one(server, ask("Which?\nA. cat\nB. dog\n"))
        assert "logprobs" not in server.log.received[1].body
    assert response.label_logprobs == pytest.approx((-2.9957, -0.1054, -2.9957), abs=1e-4)
    assert without.label_logprobs is None


def test_label_logprobs_where_the_server_ignores_the_question() -> None:
    with FakeServer(settings=FakeServerSettings(ignore_logprobs=True)) as server:
        response = one(server, ask("A. cat\nB. dog\n", labels=("A", "B")))
    assert (response.status, response.label_logprobs) == ("ok", None)


# Keys and wrong addresses


def test_a_wrong_key_ends_the_run_at_the_first_request(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", KEY)
    with FakeServer(settings=FakeServerSettings(require_key="another")) as server:
        model = model_at(server, "api_key_env=MY_KEY,concurrency=64")
        with pytest.raises(ModelError) as raised:
            list(model.generate(ask(f"item {i}") for i in range(500)))
        assert server.log.outcomes == {"401": 1}
    message = str(raised.value)
    assert message.startswith(f"{server.url}/chat/completions does not let this key use the model 'any' (HTTP 401: ")
    assert "(you sent Bearer [key])" in message
    assert message.endswith(
        "The key is read from the environment variable MY_KEY, which is set. "
        "Put a valid key into MY_KEY, or name another variable with api_key_env=NAME."
    )
    for place in (message, repr(raised.value), repr(model), model.name, model.identity, caplog.text):
        assert KEY not in place
        assert "Secret" not in place
    assert threads() == set()


def test_an_unknown_model_ends_the_run_at_the_first_request() -> None:
    with FakeServer(settings=FakeServerSettings(model="known")) as server:
        with pytest.raises(ModelError) as raised:
            list(model_at(server, name="unknwon").generate(ask(f"item {i}") for i in range(50)))
        assert server.log.outcomes == {"404": 1}
    assert "knows no model 'unknwon', or has no such path (HTTP 404: " in str(raised.value)
    assert "environment variable OPENAI_API_KEY, which is not set" in str(raised.value)
    assert str(raised.value).endswith(f"Check the name (GET {server.url}/models lists them) and base_url.")


@pytest.mark.parametrize("status", ["401", "403", "404"])
def test_no_access_ends_the_run(status: str) -> None:
    with FakeServer(faults=(status,)) as server:
        with pytest.raises(ModelError, match=f"HTTP {status}"):
            list(model_at(server).generate(ask(f"item {i}") for i in range(50)))
        assert server.log.outcomes == {status: 1}


def test_once_something_succeeded_a_401_is_one_failure() -> None:
    with FakeServer(faults={"locked": ("401",)}) as server:
        statuses = [response.status for _, response in model_at(server, "concurrency=1").generate(map(ask, ("a", "locked", "b")))]
    assert statuses == ["ok", "error", "ok"]


def test_no_server(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    model = openai(f"any,base_url=http://127.0.0.1:{port}/v1,retries=2", {}, 0)
    with pytest.raises(ModelError) as raised:
        list(model.generate(ask(f"item {i}") for i in range(50)))
    assert str(raised.value).startswith(f"No server answers at http://127.0.0.1:{port}/v1 (model 'any'; ClientConnectorError: ")
    assert str(raised.value).endswith("Start the server, or mend base_url=... (or the environment variable OPENAI_BASE_URL).")
    assert threads() == set()
    assert caplog.text == ""


def test_a_server_that_never_answers() -> None:
    with (
        FakeServer(faults=("hang",)) as server,
        pytest.raises(ModelError, match=r"No server answers at .*; no answer within 0\.5 s\)"),
    ):
        list(model_at(server, "timeout=0.5").generate(map(ask, "ab")))


def test_the_key_is_scrubbed_from_a_failed_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeServer(faults=("400",), settings=FakeServerSettings(require_key=KEY)) as server:
        response = one(server)
    assert response.error is not None
    assert "(you sent Bearer [key])" in response.error
    assert "Secret" not in response.error


def serve_raw(answer: bytes) -> tuple[socket.socket, int]:
    """A server that gives every connection the same bytes, whatever it is asked."""
    listener = socket.create_server(("127.0.0.1", 0))

    def forever() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    threading.Thread(target=forever, daemon=True).start()
    return listener, listener.getsockname()[1]


def test_a_proxys_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    listener, port = serve_raw(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    with listener:
        for variable in ("https_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(variable, f"http://user:PASSWORD@127.0.0.1:{port}")
        with pytest.raises(ModelError) as raised:
            list(openai("m,base_url=https://models.invalid/v1,retries=0", {}, 0).generate(iter([ask("hello")])))
    assert str(raised.value) == (
        "No server answers at https://models.invalid/v1 (model 'm'; ClientHttpProxyError: the proxy "
        f"http://127.0.0.1:{port} answers HTTP 407). "
        "Start the server, or mend base_url=... (or the environment variable OPENAI_BASE_URL)."
    )
    monkeypatch.setenv("https_proxy", "http://user:PASSWORD@127.0.0.1:1")
    with pytest.raises(ModelError) as raised:
        list(openai("m,base_url=https://models.invalid/v1,retries=0", {}, 0).generate(iter([ask("hello")])))
    assert "https://models.invalid through the proxy http://127.0.0.1:1: " in str(raised.value)
    assert "PASSWORD" not in str(raised.value)


@pytest.mark.parametrize(
    "proxy", ["socks5://user:PASSWORD@host:1", "http://user:PASSWORD@host:port", "user:PASSWORD@[", "http://["]
)
def test_a_proxy_that_is_no_address(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(UsageError) as raised:
        openai("m,base_url=https://models.invalid/v1", {}, 0)
    assert str(raised.value) == (
        "model openai: the proxy that the environment names for models.invalid must look like http://host:port. "
        "Mend the environment variable https_proxy (or HTTPS_PROXY), or unset it."
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://host:port/v1",
        "http://host:99999/v1",
        "ftp://host",
        "http://",
        "http://a\nb",
        "http://a..b/v1",
        f"http://{'a' * 64}/v1",
    ],
)
def test_a_base_url_that_is_no_address(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        openai("m", {"base_url": url}, 0)
    expected = "base_url must look like https://host[:port]/path, e.g. http://localhost:8000/v1."
    assert str(raised.value) == f"model openai: {expected}"


def test_an_answer_not_packed_as_it_says_fails_alone() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"
    listener, port = serve_raw(head + b"not gzip!")
    with listener:
        model = openai(f"m,base_url=http://127.0.0.1:{port}/v1,retries=1", {}, 0)
        [(_, response)] = model.generate(iter([ask("hello")]))
    assert response.status == "error"
    assert str(response.error).startswith("Gave up after 2 attempts in ")
    assert str(response.error).endswith(
        f"ClientPayloadError: http://127.0.0.1:{port}: the answer is cut off, or not packed as its Content-Encoding says"
    )


def test_an_answer_is_not_read_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    body = gzip.compress(bytes(4 * 2**20))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    monkeypatch.setattr(openai_api, "LARGEST_ANSWER", 2**20)
    listener, port = serve_raw(head.encode() + body)
    with listener:
        [(_, response)] = openai(f"m,base_url=http://127.0.0.1:{port}/v1", {}, 0).generate(iter([ask("hello")]))
    assert response.status == "error"
    assert response.error == "The answer is larger than 1 MB; it was not read on."


def test_a_key_is_needed_elsewhere_but_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("http://localhost:1/v1", "http://127.0.0.2:1/v1", "http://[::1]:1/v1"):
        openai(f"m,base_url={url}", {}, 0)
    with pytest.raises(ModelError) as raised:
        openai("gpt-x", {}, 0)
    assert str(raised.value) == (
        "openai:gpt-x at https://api.openai.com/v1 needs a key, and the environment variable OPENAI_API_KEY is not set. "
        "Set it (to any text if the server takes no key), or name another with api_key_env=NAME."
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1\n")
    assert openai("gpt-x", {}, 0).identity.startswith("openai api.openai.com/v1 model=gpt-x images=")


# Options


def test_options_spec_wins_over_run_file_over_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1/")
    assert "localhost:1/v1 " in openai("m", {}, 0).identity
    assert "localhost:2/v1 " in openai("m", {"base_url": "http://localhost:2/v1"}, 0).identity
    model = openai("org/m:free,base_url=http://localhost:3/v1", {"base_url": "http://localhost:2/v1", "max_side": "512"}, 0)
    assert model.identity.startswith("openai localhost:3/v1 model=org/m:free images=")
    assert "512" in model.identity
    assert model.name == "openai:org/m:free,base_url=http://localhost:3/v1"
    assert model.simulated is False


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("", "model openai: the model's name is missing. Write openai:NAME, e.g. openai:gpt-4o-mini."),
        ("m,concurency=3", "model openai has no option 'concurency'. Did you mean 'concurrency'?"),
        ("m,concurrency=0", "model openai: concurrency=0 is too small; expected 1 or more."),
        ("m,concurrency=10001", "model openai: concurrency=10001 is too large; expected 10000 or less."),
        ("m,retries=-1", "model openai: retries=-1 is too small; expected 0 or more."),
        ("m,timeout=nan", "model openai: timeout=nan is not a number of seconds above 0."),
        ("m,base_url=localhost:8000", "model openai: base_url must look like https://host[:port]/path"),
        ("m,base_url=http://me:hush@localhost/v1", "model openai: base_url for localhost holds a user name, a password, a query"),
        (
            "m,base_url=http://localhost/v1?api-key=hush",
            "model openai: base_url for localhost holds a user name, a password, a query",
        ),
        ("m,api_key_env=sk-hush", "model openai: api_key_env takes the name of an environment variable, not the key itself."),
    ],
)
def test_wrong_options(argument: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        openai(argument, {}, 0)
    assert str(raised.value).startswith(message)
    assert "hush" not in str(raised.value)


def test_a_key_that_no_header_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-é")
    with pytest.raises(UsageError, match="the key in OPENAI_API_KEY holds a character that no HTTP header may hold") as raised:
        openai("m", {}, 0)
    assert "é" not in str(raised.value)


def one_connection(*replies: tuple[bytes, bytes]) -> Iterator[str]:
    """The base_url of a server that on each connection answers request i with replies[i], later sending its second half."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                for now, later in replies:
                    if not connection.recv(65536):
                        return
                    connection.sendall(now)
                    time.sleep(0.02)
                    connection.sendall(later)
                connection.recv(65536)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def reply(text: str) -> bytes:
    body = b'{"choices": [{"message": {"content": "%s"}}]}' % text.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def test_a_late_second_answer_is_not_taken_for_the_next_ones() -> None:
    def spaced() -> Iterator[Request]:
        for text in ("a", "b", "c"):
            yield ask(text)
            time.sleep(0.2)

    with contextlib.contextmanager(one_connection)((reply("right"), reply("stray"))) as url:
        answers = [response.text for _, response in openai(f"any,base_url={url},concurrency=1", {}, 0).generate(spaced())]
    assert answers == ["right"] * 3


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirect_is_not_followed_and_ends_the_run(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeServer() as other:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: {other.url}/chat/completions?k={KEY}\r\nContent-Length: 0\r\n\r\n".encode()
        with contextlib.contextmanager(one_connection)((moved, b"")) as url, pytest.raises(ModelError) as caught:
            list(openai(f"any,base_url={url}", {}, 0).generate(iter([ask("a"), ask("b")])))
        assert other.log.received == []
    assert f"sends requests on to {other.url.removesuffix('/v1')} (HTTP {status}), which is not followed" in str(caught.value)
    assert "base_url" in str(caught.value)
    assert KEY not in str(caught.value)


def test_what_is_no_http_is_said_to_be_none() -> None:
    with (
        contextlib.contextmanager(one_connection)((b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"")) as url,
        pytest.raises(ModelError, match="what it sends is no HTTP answer"),
    ):
        list(openai(f"any,base_url={url},retries=0", {}, 0).generate(iter([ask("a")])))
