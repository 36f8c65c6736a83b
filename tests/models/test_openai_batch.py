"""The Batch API's client against the fake server over real local HTTP; the server counts."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path

import pytest

from eyetest.cli import main
from eyetest.errors import ModelError, StoreError, UsageError
from eyetest.models import Keeps, openai_batch, openai_batch_files, openai_batch_http
from eyetest.models.fake_server import FakeServer, FakeServerSettings
from eyetest.models.openai_api import OpenAIModel, openai
from eyetest.models.openai_batch import OpenAIBatchModel
from eyetest.types import Generation, Image, Message, Request, Response

KEY = "sk-test/Secret+key=0123456789"
FAST = "batch=true,poll=0.01,retries=2"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setattr(openai_batch_http, "BACKOFF", 0.02)


def ask(text: str, temperature: float = 0.0) -> Request:
    return Request((Message("user", (text,)),), Generation(temperature=temperature))


def asked(count: int) -> list[Request]:
    return [ask(f"question {number} of many") for number in range(count)]


def model_at(server: FakeServer, folder: Path | None = None, options: str = "") -> OpenAIBatchModel:
    model = openai(f"any,base_url={server.url},{FAST}{options}", {}, 0)
    assert isinstance(model, OpenAIBatchModel)
    if folder is not None:
        model.keep_in(folder)
    return model


def echo(body: object, attempt: int) -> str:
    return f"answer to {body['messages'][-1]['content']}"  # type: ignore[index]


def faulty(*faults: str, **settings: object) -> FakeServerSettings:
    return FakeServerSettings(batch_faults=faults, **settings)  # type: ignore[arg-type]


def right(pairs: Iterable[tuple[Request, Response]], requests: list[Request]) -> bool:
    """Whether every request has its own answer, once."""
    found = [(id(request), response.text) for request, response in pairs]
    return sorted(found) == sorted((id(one), f"answer to {one.messages[0].content[0]}") for one in requests)


def left(folder: Path) -> list[str]:
    return sorted(file.name.split(".", 1)[1] for file in folder.iterdir())


# The factory


def test_the_option_makes_another_model_of_the_same_identity() -> None:
    spec = "any,base_url=http://localhost:1/v1,reasoning_effort=low"
    direct, batched = openai(spec, {}, 0), openai(spec, {"batch": "true"}, 0)
    assert isinstance(direct, OpenAIModel)
    assert isinstance(batched, OpenAIBatchModel)
    assert isinstance(batched, Keeps)
    assert (batched.identity, batched.name, batched.simulated) == (direct.identity, direct.name, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("batch_size=0", "batch_size=0 is too small; expected 1 or more."),
        ("batch_size=50001", "batch_size=50001 is too large; expected 50000 or less."),
        ("poll=0", "poll=0.0 is not a number of seconds above 0."),
        ("batch=maybe", "option batch='maybe' is not true or false."),
    ],
)
def test_wrong_options(options: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        openai(f"any,base_url=http://localhost:1/v1,{options}", {}, 0)


# Round trip


def test_a_round_trip(tmp_path: Path) -> None:
    requests = asked(10)
    with FakeServer(answer=echo) as server:
        model = model_at(server, tmp_path, ",batch_size=4")
        assert right(model.generate(iter(requests)), requests)
        counts = server.batches.counts
        assert (counts["uploads"], counts["created"], counts["lines"]) == (3, 3, 10)
        assert server.log.outcomes == {"ok": 10}
        assert server.log.received[0].body["max_tokens"] == 256
    assert model.remarks == ()
    assert left(tmp_path) == ["jsonl"], "the list of batches stays, inputs and results go"


def test_usage_and_status_arrive() -> None:
    with FakeServer(answer={"hello": "two words"}, faults={"r": ("refused",), "b": ("blocked",)}) as server:
        found = {request.messages[0].content[0]: one for request, one in model_at(server).generate(map(ask, ["hello", "r", "b"]))}
    assert found["hello"].usage is not None
    assert found["hello"].usage.output_tokens == 2
    assert found["r"].status == "refused"
    assert found["b"].status == "blocked"


def test_no_request_asks_nothing() -> None:
    with FakeServer() as server:
        assert list(model_at(server).generate(iter(()))) == []
        assert not server.batches.counts


def test_the_same_question_twice_is_two_requests() -> None:
    requests = [ask("same", 1.0), ask("same", 1.0), ask("same", 1.0)]
    with FakeServer(answer=lambda body, attempt: f"{attempt}") as server:
        texts = sorted(response.text for _, response in model_at(server).generate(iter(requests)))
    assert texts == ["0", "1", "2"]


def test_what_cannot_be_sent_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_batch, "LARGEST_INPUT", 1000)
    bad = Request((Message("user", (Image(data=b"no picture"), "look")),))
    with FakeServer() as server:
        requests = [ask("fine"), bad, ask("\ud800"), ask("x" * 1000)]
        found = [(request, one.status, one.error) for request, one in model_at(server).generate(iter(requests))]
        assert server.batches.counts["lines"] == 1
    by_request = {id(request): (status, error) for request, status, error in found}
    assert by_request[id(requests[0])] == ("ok", None)
    assert by_request[id(bad)][0] == "bad_image"
    assert "cannot be sent as UTF-8" in (by_request[id(requests[2])][1] or "")
    assert "over the limit of" in (by_request[id(requests[3])][1] or "")


def test_a_batch_is_cut_where_the_file_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_batch, "LARGEST_INPUT", 1000)
    requests = [ask(f"{number}" + "x" * 250) for number in range(8)]
    with FakeServer() as server:
        assert len(list(model_at(server).generate(iter(requests)))) == 8
        assert server.batches.counts["created"] == 4


def test_no_more_is_pulled_than_the_window_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_batch, "AT_ONCE", 2)
    pulled = []
    requests = (pulled.append(number) or ask(f"{number}") for number in range(20))
    with FakeServer(settings=faulty(batch_delay=0.02)) as server:
        answers = model_at(server, options=",batch_size=3").generate(requests)
        next(answers)
        assert len(pulled) == 6
        assert len(list(answers)) == 19
        assert server.batches.counts["created"] == 7


# What may go wrong with a batch


def test_results_in_any_order_twice_strange_or_malformed(tmp_path: Path) -> None:
    requests = asked(30)
    with FakeServer(answer=echo, settings=faulty("shuffled")) as server:
        model = model_at(server, tmp_path)
        assert right(model.generate(iter(requests)), requests)
    name = model.name
    assert model.remarks == (
        f"{name}: 1 lines of results were malformed, and left out.",
        f"{name}: 1 lines of results were of a request that had one already, and left out.",
        f"{name}: 1 lines of results were of no request of ours, and left out.",
    )


@pytest.mark.parametrize("fault", ["expired", "cancelled"])
def test_what_a_batch_did_not_come_to_is_asked_again_and_nothing_else(fault: str, tmp_path: Path) -> None:
    requests = asked(10)
    with FakeServer(answer=echo, settings=faulty(fault)) as server:
        model = model_at(server, tmp_path)
        assert right(model.generate(iter(requests)), requests)
        assert (server.batches.counts["created"], server.batches.counts["lines"]) == (2, 10)
        assert server.log.outcomes == {"ok": 10}
    assert model.remarks == (f"{model.name}: 5 times a request that failed in a batch was put into a further one.",)
    assert left(tmp_path) == ["jsonl"]


def test_it_is_not_asked_for_ever() -> None:
    with FakeServer(settings=faulty("expired", "expired", "expired", "expired")) as server:
        [(_, response)] = model_at(server).generate(iter([ask("hello")]))
        assert server.batches.counts["created"] == 3
    assert response.status == "error"
    assert response.error == "Gave up after 3 batches: batch_expired: The batch was expired."


@pytest.mark.parametrize("fault", ["429", "500", "malformed", "null_content"])
def test_a_line_that_failed_for_now_is_asked_again(fault: str) -> None:
    with FakeServer(answer=echo, faults={"question 3": (fault,)}) as server:
        requests = asked(5)
        assert right(model_at(server).generate(iter(requests)), requests)
        assert server.batches.counts["lines"] == 6


def test_a_line_that_is_wrong_is_an_error() -> None:
    with FakeServer(answer=echo, faults={"question 3": ("422",)}) as server:
        found = [response for _, response in model_at(server).generate(iter(asked(5)))]
        assert server.batches.counts["lines"] == 5
    assert sorted(one.status for one in found) == ["error", "ok", "ok", "ok", "ok"]


def test_a_field_that_is_refused_is_left_out_of_the_next_batch() -> None:
    requests = asked(3)
    with FakeServer(answer=echo, settings=FakeServerSettings(rejects=("max_tokens",))) as server:
        assert right(model_at(server).generate(iter(requests)), requests)
        assert server.log.outcomes == {"400 max_tokens": 3, "ok": 3}


def test_a_batch_that_is_not_taken_ends_the_run(tmp_path: Path) -> None:
    with FakeServer(settings=faulty("failed")) as server:
        with pytest.raises(ModelError) as raised:
            list(model_at(server, tmp_path).generate(iter(asked(2))))
        assert "does not take batch batch_0 (batch batch_0 is failed" in str(raised.value)
        assert "invalid_request: fake fault" in str(raised.value)
        assert len(list(model_at(server, tmp_path).generate(iter(asked(2))))) == 2, "the next run asks again"
        assert server.batches.counts["created"] == 2


def test_a_line_that_is_not_taken_is_an_error_and_the_others_are_asked_again() -> None:
    requests = asked(4)
    with FakeServer(answer=echo, settings=faulty("failed_line")) as server:
        found = list(model_at(server).generate(iter(requests)))
        assert server.batches.counts["lines"] == 3
    [failed] = [(request, one) for request, one in found if one.status == "error"]
    assert failed[0] is requests[0]
    assert (failed[1].error or "").startswith("invalid_request: fake fault")


def test_a_limit_on_what_is_under_way_is_waited_for() -> None:
    requests = asked(6)
    with FakeServer(answer=echo, settings=faulty("ok", "limit", batch_delay=0.02)) as server:
        assert right(model_at(server, options=",batch_size=3").generate(iter(requests)), requests)
        assert (server.batches.counts["created"], server.batches.counts["lines"]) == (3, 6)


def test_a_download_that_breaks_off_is_begun_again(tmp_path: Path) -> None:
    requests = asked(20)
    with FakeServer(answer=echo, settings=faulty("cut")) as server:
        assert right(model_at(server, tmp_path).generate(iter(requests)), requests)
        assert (server.batches.counts["downloads"], server.batches.counts["created"]) == (2, 1)


def test_a_batch_whose_acceptance_got_lost_is_not_submitted_again(tmp_path: Path) -> None:
    requests = asked(5)
    with FakeServer(answer=echo, settings=faulty("lost")) as server:
        assert right(model_at(server, tmp_path).generate(iter(requests)), requests)
        assert (server.batches.counts["created"], server.batches.counts["lines"]) == (1, 5)


# No access


def test_a_wrong_key_costs_no_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeServer(settings=FakeServerSettings(require_key="another")) as server:
        with pytest.raises(ModelError, match="does not let this key use the model 'any'") as raised:
            list(model_at(server).generate(iter(asked(2))))
        assert not server.batches.counts
    assert KEY not in str(raised.value)


def test_an_unknown_model_ends_the_run() -> None:
    with (
        FakeServer(settings=FakeServerSettings(model="other")) as server,
        pytest.raises(ModelError, match="knows no model 'any'"),
    ):
        list(model_at(server).generate(iter(asked(2))))


def test_an_empty_account_ends_the_run() -> None:
    with FakeServer(faults=("quota",)) as server, pytest.raises(ModelError, match="has nothing left"):
        list(model_at(server).generate(iter(asked(1))))


def test_no_server() -> None:
    model = openai(f"any,base_url=http://127.0.0.1:9/v1,{FAST}", {}, 0)
    with pytest.raises(ModelError, match=r"the Batch API does not answer.*Connection refused.*run the same command again"):
        list(model.generate(iter(asked(1))))


def test_a_server_without_a_batch_api() -> None:
    with FakeServer() as server:
        model = openai(f"any,base_url={server.url}/elsewhere,{FAST}", {}, 0)
        with pytest.raises(ModelError, match=r"has no Batch API \(HTTP 404.*Leave batch \(--batch\) out"):
            list(model.generate(iter(asked(1))))


# Stopping and going on


class Killed(BaseException):
    """In place of SIGKILL: nothing catches it."""


KILLS = ["before upload", "before create", "after create", "while waiting", "while downloading", "while collecting"]


def killed_at(point: str, server: FakeServer, folder: Path, requests: list[Request], monkeypatch: pytest.MonkeyPatch) -> list:
    """What was answered until the kill."""

    def die(*_: object, **__: object) -> None:
        raise Killed

    place = {
        "before upload": "upload",
        "before create": "create",
        "while waiting": "get",
        "while downloading": "download",
    }.get(point)
    found = []
    with monkeypatch.context() as patch, pytest.raises(Killed):
        if place is not None:
            patch.setattr(openai_batch_http.BatchServer, place, die)
        if point == "after create":
            patch.setattr("eyetest.models.openai_batch_state.State.named", die)
        for number, pair in enumerate(model_at(server, folder, ",batch_size=5").generate(iter(requests))):
            if number == 6:
                raise Killed
            found.append(pair)
    return found


@pytest.mark.parametrize("point", KILLS)
def test_killed_and_run_again(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = asked(10)
    with FakeServer(answer=echo) as server:
        found = killed_at(point, server, tmp_path, requests, monkeypatch)
        assert len(found) == (6 if point == "while collecting" else 0)
        answered = {id(request) for request, _ in found}
        missing = [request for request in requests if id(request) not in answered]
        assert right([*found, *model_at(server, tmp_path, ",batch_size=5").generate(iter(missing))], requests)
        counts = server.batches.counts
        assert (counts["created"], counts["lines"]) == (2, 10)
        assert server.log.again == 0
        assert counts["uploads"] == (3 if point == "before create" else 2)


def test_what_failed_in_an_earlier_run_is_asked_again(tmp_path: Path) -> None:
    requests = asked(4)
    with FakeServer(answer=echo, faults={"question 1": ("422",)}, settings=faulty(batch_delay=0.05)) as server:
        answers = model_at(server, tmp_path).generate(iter(requests))
        assert next(answers)[1].status in ("ok", "error")
        answers.close()
        assert right(model_at(server, tmp_path).generate(iter(requests)), requests)
        assert (server.batches.counts["created"], server.batches.counts["lines"]) == (2, 5)


def test_leaving_says_what_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    requests = asked(3)
    with FakeServer(answer=echo, settings=faulty(batch_delay=0.3)) as server:
        model = model_at(server, tmp_path)
        interrupted(model, requests)
        assert caplog.records[-1].levelno == logging.WARNING
        assert caplog.messages[-1] == (
            f"{model.name}: still under way: batch_0. Run the same command again to collect the answers."
        )
        assert server.batches.counts["cancelled"] == 0
        assert right(model_at(server, tmp_path).generate(iter(requests)), requests)
        assert server.batches.counts["created"] == 1


def interrupted(model: OpenAIBatchModel, requests: list[Request]) -> None:
    """Ctrl-C at the first look."""

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    model._book.stop.wait = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        list(model.generate(iter(requests)))


def test_what_nobody_could_collect_is_cancelled() -> None:
    with FakeServer(settings=faulty(batch_delay=0.3)) as server:
        model = model_at(server)
        interrupted(model, asked(3))
        assert server.batches.counts["cancelled"] == 1


def test_close_ends_an_open_iterator(tmp_path: Path) -> None:
    with FakeServer(settings=faulty(batch_delay=30)) as server:
        model = model_at(server, tmp_path)
        requests = asked(3)
        pulled = iter(requests)

        def closing() -> Iterable[Request]:
            yield from pulled
            model.close()

        started = time.monotonic()
        assert list(model.generate(iter(closing()))) == []
        assert time.monotonic() - started < 5
        model.close()


def test_batches_of_another_task_are_kept_for_it(tmp_path: Path) -> None:
    first, second = asked(3), [ask(f"another {number}") for number in range(3)]
    with FakeServer(answer=echo, settings=faulty(batch_delay=0.1)) as server:
        interrupted(model_at(server, tmp_path), second)
        model = model_at(server, tmp_path)
        assert right(model.generate(iter(first)), first)
        assert right(model.generate(iter(second)), second)
        assert (server.batches.counts["created"], server.batches.counts["lines"]) == (2, 6)


def test_a_batch_that_the_server_forgot_is_not_paid_for_twice(tmp_path: Path) -> None:
    with FakeServer(settings=faulty(batch_delay=0.3)) as server:
        interrupted(model_at(server, tmp_path), asked(2))
        server.batches.batches.clear()
        with pytest.raises(ModelError, match=r"batches/batch_0 is not there any more.*remove the folder of batches"):
            list(model_at(server, tmp_path).generate(iter(asked(2))))


def test_a_list_of_batches_that_is_damaged(tmp_path: Path) -> None:
    with FakeServer() as server:
        list(model_at(server, tmp_path).generate(iter(asked(1))))
        [file] = tmp_path.iterdir()
        file.write_bytes(file.read_bytes() + b'{"batch": "unfini')
        assert len(list(model_at(server, tmp_path).generate(iter(asked(1))))) == 1, "an unfinished line is cut off"
        file.write_bytes(b"rubbish\n" + file.read_bytes())
        with pytest.raises(StoreError, match=rf"{file.name}:1: not a line of eyetest's list of batches"):
            list(model_at(server, tmp_path).generate(iter(asked(1))))


# A run of its own, really killed


RUN = """
import sys
from pathlib import Path
from eyetest import Sample, evaluate
url, out = sys.argv[1:]
data = [Sample(f"{n}", f"What is {n} of many?", ("yes",), kind="text") for n in range(40)]
from eyetest.models import build
model = build(f"openai:any,base_url={url},batch=true,batch_size=10,poll=0.05")
evaluate(data, model, out=Path(out), conditions="image")
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_killed_anywhere(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    command = [sys.executable, "-c", RUN]
    with FakeServer(settings=faulty(batch_delay=0.15, require_key=KEY)) as server:
        arguments = [server.url, str(tmp_path / "run")]
        process = subprocess.Popen([*command, *arguments], env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")})
        while server.batches.counts["uploads"] < 1:
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(random.Random(seed).uniform(0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.wait()
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        subprocess.run([*command, *arguments], env=env, check=True, timeout=60)
        assert (server.batches.counts["created"], server.batches.counts["lines"]) == (4, 40)
        assert server.log.again == 0
    predictions = (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()
    assert sorted(int(json.loads(line)["sample"]) for line in predictions) == list(range(40))
    assert {json.loads(line)["response"]["status"] for line in predictions} == {"ok"}


def test_the_flag_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "items.jsonl"
    rows = [{"id": f"{n}", "question": f"What is {n}?", "answer": "yes", "kind": "text"} for n in range(6)]
    data.write_text("\n".join(map(json.dumps, rows)))
    with FakeServer(answer=lambda body, attempt: "yes") as server:
        model = f"openai:any,base_url={server.url},poll=0.01"
        words = ["run", "--data", f"{data}", "--model", model, "--batch", "--condition", "image", "--no-cache"]
        with pytest.raises(SystemExit) as ended:
            main([*words, "--out", f"{tmp_path / 'run'}"])
        assert ended.value.code == 0
        assert (server.batches.counts["created"], server.batches.counts["lines"]) == (1, 6)
    assert [file.suffix for file in (tmp_path / "run" / "batches").iterdir()] == [".jsonl"]


def test_no_key_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The server repeats the key in its errors, and files are looked through before they are removed."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    settings = faulty("ok", "failed_line", require_key=KEY)
    with FakeServer(faults={"question 1": ("422",), "question 2": ("429",)}, settings=settings) as server:
        model = model_at(server, tmp_path)
        said, seen = "", 0
        for _, response in model.generate(iter(asked(4))):
            said += str(response)
            for file in tmp_path.iterdir():
                assert KEY.encode() not in file.read_bytes()
                seen += b"you sent Bearer [key]" in file.read_bytes()
    assert seen > 0
    assert said.count("[key]") >= 1
    assert KEY not in said + caplog.text + repr(model) + str(model.remarks) + model.identity


# The fake server


def test_the_log_of_the_fake_server_counts_batches() -> None:
    with FakeServer() as server:
        list(model_at(server).generate(iter(asked(3))))
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(server.url.removesuffix("/v1") + "/log") as reply:
            counts = json.loads(reply.read())
    assert counts["requests"] == 3
    looks = counts["batches"].pop("looks")
    assert looks >= 1
    assert counts["batches"] == {"created": 1, "downloads": 1, "lines": 3, "listed": 1, "uploads": 1}


def test_an_unknown_batch_fault_is_named() -> None:
    with pytest.raises(UsageError, match=r"Unknown batch fault 'expire' in fake server\. Did you mean 'expired'\?"):
        faulty("expire")


# Files


def test_lines_of_a_stream_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_batch_files, "LONGEST_LINE", 10)
    data = b"one\n\n  \ntwo\n" + b"x" * 30 + b"\nthree"
    for size in range(1, len(data) + 1):
        blocks = [data[start : start + size] for start in range(0, len(data), size)]
        assert list(openai_batch_files.lines(blocks)) == [b"one", b"two", b"x" * 10, b"three"], size
