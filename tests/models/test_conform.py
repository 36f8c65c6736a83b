"""`eyetest conform`: broken backends are named by the right check, the built-in ones pass."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eyetest.commands import conform as command_module
from eyetest.commands.conform import conform as run_command
from eyetest.errors import ModelError, UsageError
from eyetest.models import build
from eyetest.models.command import command
from eyetest.models.conform import Finding, conform
from eyetest.models.conform_questions import many, questions, samples
from eyetest.models.fake_server import FakeServer
from eyetest.models.function import CallableModel
from eyetest.models.openai_api import openai
from eyetest.types import Image, Model, Request, Response, Sample

ROOT = Path(__file__).parents[2]
CHECKS = ["named", "raises", "ends", "pairs", "once", "thread", "type", "fields", "labels", "answers", "repeats", "identity"]
CHECKS += ["nothing", "lazy", "close"]
SHORT = 0.5
"""Seconds that a toy may take; those that hang take as long."""


class Toy:
    """Keeps every promise; each broken one breaks one."""

    name = "toy"
    identity = "toy 1"
    simulated = False

    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        for request in requests:
            yield request, self.answer(request)

    def answer(self, request: Request) -> Any:
        return Response("red")

    def close(self) -> None:
        pass


class AnswersTwice(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        for number, request in enumerate(requests):
            yield request, Response("red")
            if number == 3:
                yield request, Response("red")


class DropsOne(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        return ((request, Response("red")) for number, request in enumerate(requests) if number != 4)


class Copies(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        return ((replace(request), Response("red")) for request in requests)


class Invents(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        for request in requests:
            yield request, Response("red")
            yield next(many(1, origins=False)), Response("red")


class PullsAll(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        yield from super().generate(iter(list(requests)))


class Raises(Toy):
    def answer(self, request: Request) -> Response:
        raise KeyError("choices")


class RaisesLate(Toy):
    """On the one question that has right-to-left text, as a backend with an encoding problem does."""

    def answer(self, request: Request) -> Response:
        request.messages[-1].content[-1].encode("latin-1")  # type: ignore[union-attr]
        return Response("red")


class WrongStatus(Toy):
    def answer(self, request: Request) -> Response:
        return Response("red", "fine")  # type: ignore[arg-type]


class WrongField(Toy):
    def answer(self, request: Request) -> Response:
        return Response("red", latency="fast")  # type: ignore[arg-type]


class Text(Toy):
    def answer(self, request: Request) -> Any:
        return "red"


class Bare(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        return (Response("red") for _ in requests)


class NotIterable(Toy):
    def generate(self, requests: Iterator[Request]) -> Any:
        return None


released = threading.Event()
"""Set at the end, so that no thread outlives the tests."""


class HangsOnClose(Toy):
    def close(self) -> None:
        released.wait(60)


class HangsOnCloseInMidStream(Toy):
    def __init__(self) -> None:
        self.asked = False

    def answer(self, request: Request) -> Response:
        self.asked = True
        return Response("red")

    def close(self) -> None:
        if self.asked:
            released.wait(60)


class ClosesOnce(Toy):
    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("already closed")
        self.closed = True


class NeverEnds(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        yield from super().generate(requests)
        released.wait(60)


class HangsAfterClose(Toy):
    def __init__(self) -> None:
        self.closed = False

    def answer(self, request: Request) -> Response:
        if self.closed:
            released.wait(60)
        return Response("red")

    def close(self) -> None:
        self.closed = True


class WrongLabels(Toy):
    def answer(self, request: Request) -> Response:
        return Response("red", label_logprobs=(-1.0, -1.0, -1.0) if request.labels else None)


class Probabilities(Toy):
    def answer(self, request: Request) -> Response:
        return Response("red", label_logprobs=tuple(0.5 for _ in request.labels) or None)


class Unasked(Toy):
    def answer(self, request: Request) -> Response:
        return Response("red", label_logprobs=(-1.0,) * (len(request.labels) or 2))


class Fickle(Toy):
    def __init__(self) -> None:
        self.count = 0

    def answer(self, request: Request) -> Response:
        self.count += 1
        return Response(str(self.count))


class FailsAll(Toy):
    def answer(self, request: Request) -> Response:
        return Response(status="error", error="no weights")


class NeedsPictures(Toy):
    def answer(self, request: Request) -> Response:
        if any(isinstance(part, Image) for message in request.messages for part in message.content):
            return Response("red")
        return Response(status="error", error="a picture is needed")


class OtherThread(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        found: list[Request] = []
        thread = threading.Thread(target=lambda: found.extend(requests))
        thread.start()
        thread.join()
        yield from super().generate(iter(found))


class Nameless(Toy):
    name = " "


class Changing(Toy):
    built = 0

    def __init__(self) -> None:
        Changing.built += 1
        self.identity = f"toy {Changing.built}"


class Fixed(Toy):
    @property
    def name(self) -> str:  # type: ignore[override]
        return "toy"


class LearnsItsIdentity(Toy):
    def answer(self, request: Request) -> Response:
        self.identity = "toy, loaded"
        return Response("red")


class Prepared(Toy):
    simulated = True

    def prepare(self, task: str, samples: Iterable[Sample], train: Iterable[Sample]) -> None:
        raise ValueError("no training split")


class AnswersNothing(Toy):
    def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
        first = next(requests, None)
        yield first, Response("red")
        yield from super().generate(requests)


@pytest.fixture(scope="module", autouse=True)
def _released() -> Iterator[None]:
    yield
    released.set()


def checked(factory: Callable[[], Model], **settings: Any) -> dict[str, Finding]:
    found = list(conform(factory, **{"timeout": 20.0, **settings}))
    named = {finding.check: finding for finding in found}
    assert len(named) == len(found)
    return named


def verdicts(found: Mapping[str, Finding], verdict: str) -> list[str]:
    return [check for check, finding in found.items() if finding.verdict == verdict]


def test_a_backend_that_keeps_its_promises_passes_every_check() -> None:
    found = checked(Toy)
    assert list(found) == CHECKS
    assert verdicts(found, "ok") == CHECKS
    assert found["lazy"].found == "1 pulled before the first answer"


@pytest.mark.parametrize(
    ("toy", "check", "said"),
    [
        (AnswersTwice, "once", "1 of 14 were answered more than once: conversation"),
        (DropsOne, "once", "1 of 14 were never answered: every-script"),
        (Copies, "once", "it yielded a copy of a request"),
        (Invents, "once", "it yielded a request that it was not given"),
        (PullsAll, "lazy", "all 257 that there were, before the first answer"),
        (Raises, "raises", "it raised KeyError: 'choices'"),
        (RaisesLate, "raises", "it raised UnicodeEncodeError: 'latin-1' codec can't encode"),
        (WrongStatus, "fields", "one-picture: status is 'fine', not one of ok, truncated, refused, blocked, error, bad_image; "),
        (WrongField, "fields", "one-picture: latency is 'fast', not a number; "),
        (Text, "type", "14 of 14 are not, such as a str"),
        (Bare, "pairs", "it yielded Response"),
        (NotIterable, "raises", "it raised TypeError: 'NoneType' object is not iterable"),
        (HangsOnClose, "close", "unused: it did not return within 0.5 s"),
        (HangsOnCloseInMidStream, "close", "in mid-stream: it did not return within 0.5 s"),
        (HangsAfterClose, "close", "the iterator after close(): it did not return within 0.5 s"),
        (ClosesOnce, "close", "unused: it raised RuntimeError: already closed"),
        (NeverEnds, "ends", "it did not return within 0.5 s"),
        (WrongLabels, "labels", "labels: 3 values for 2 labels; one-label: 3 values for 1 labels"),
        (Probabilities, "labels", "labels: (0.5, 0.5), and no probability is above 1; "),
        (FailsAll, "answers", "not one was; one-picture: error (no weights); "),
        (OtherThread, "thread", "14 of 14 were not"),
        (Nameless, "named", "name is ' '"),
        (Changing, "named", "identity was 'toy "),
        (Fixed, "named", "name cannot be set ("),
        (LearnsItsIdentity, "identity", "it was 'toy 1', then 'toy, loaded'"),
        (Prepared, "prepare", "it raised ValueError: no training split"),
        (AnswersNothing, "nothing", "it yielded something"),
    ],
)
def test_a_broken_backend_fails_the_right_check_and_no_other(toy: type[Toy], check: str, said: str) -> None:
    hangs = toy in (HangsOnClose, HangsOnCloseInMidStream, HangsAfterClose, NeverEnds)
    found = checked(toy, timeout=SHORT if hangs else 20.0)
    if toy is OtherThread:  # it must also have pulled them all
        assert found.pop("lazy").verdict == "failed"
    assert verdicts(found, "failed") == [check]
    assert found[check].found.startswith(said)


@pytest.mark.parametrize(
    ("toy", "check", "said"),
    [
        (Fickle, "repeats", "one-picture: '1', then '15'; "),
        (Unasked, "labels", "one-picture: 2 values, and no label was asked for; "),
        (NeedsPictures, "answers", "text-only: error (a picture is needed); one-label: error (a picture is needed)"),
    ],
)
def test_what_is_only_doubtful_is_a_warning(toy: type[Toy], check: str, said: str) -> None:
    found = checked(toy)
    assert (verdicts(found, "failed"), verdicts(found, "warning")) == ([], [check])
    assert found[check].found.startswith(said)


def test_what_could_not_be_checked_is_skipped_and_says_why() -> None:
    found = checked(Raises)
    assert {check: found[check].found for check in verdicts(found, "skipped")} == {
        "once": "not every request could be asked",
        "answers": "there are no answers to look at",
        "lazy": "it raised KeyError: 'choices'",
        "close": "before close(): it raised KeyError: 'choices'",
    }


@pytest.mark.parametrize("text", ["", "x" * 10_000_000, "\ud800 \x00 א\u202e"])
def test_empty_huge_and_odd_answers_are_answers(text: str) -> None:
    found = checked(lambda: CallableModel(lambda messages: text, "mine", identity="mine 1"))
    assert verdicts(found, "ok") == CHECKS


def test_answers_in_another_order_within_a_window_are_fine() -> None:
    class Batches(Toy):
        def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
            while batch := [request for request, _ in zip(requests, range(8), strict=False)]:
                yield from ((request, Response("red")) for request in reversed(batch))

    found = checked(Batches)
    assert found["once"].verdict == "failed"  # zip pulls a request that it then drops, a mistake easily made
    assert "never answered" in found["once"].found

    class Mended(Toy):
        def generate(self, requests: Iterator[Request]) -> Iterator[Any]:
            while batch := [request for _, request in zip(range(8), requests, strict=False)]:
                yield from ((request, Response("red")) for request in reversed(batch))

    found = checked(Mended, ahead=8)
    assert verdicts(found, "ok") == CHECKS
    assert found["lazy"].found == "8 pulled before the first answer"
    assert verdicts(checked(Mended, ahead=7), "failed") == ["lazy"]


def test_the_questions_have_every_shape_and_tell_real_models_nothing() -> None:
    asked = dict(questions(origins=False))
    assert all(request.origin is None for request in [*asked.values(), *many(3, origins=False)])
    pictures = {
        name: sum(isinstance(part, Image) for message in request.messages for part in message.content)
        for name, request in asked.items()
    }
    assert (pictures["text-only"], pictures["one-picture"], pictures["two-pictures"]) == (0, 1, 2)
    assert {request.labels for request in asked.values()} == {(), ("red", "blue"), ("yes",)}
    assert all(sign in str(asked["every-script"].messages[0].content[1]) for sign in ("何", "א", "\u202b", "👩🏽‍🔬", "\x00"))
    assert [sample.id for sample in samples()] == list(asked)
    repeats = [
        request.origin.repeat for name, request in questions(origins=True) if name.startswith("sampled") and request.origin
    ]
    assert repeats == [0, 1]


# --- the built-in backends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    ["oracle", "chance", "majority", "constant:A", "constant:A,decode=true", "phantom", "ocr_linear:text=dataset", "eyechart"],
)
def test_the_built_in_models_conform(spec: str) -> None:
    found = checked(lambda: build(spec))
    assert verdicts(found, "failed") == verdicts(found, "skipped") == []


def test_a_script_with_the_questions_conforms(tmp_path: Path) -> None:
    file = tmp_path / "script.jsonl"
    file.write_text("".join(json.dumps({"id": sample.id, "completion": "red"}) + "\n" for sample in samples()))
    found = checked(lambda: build(f"scripted:{file}"))
    assert verdicts(found, "ok") == CHECKS
    file.write_text('{"id": "x", "completion": "red"}\n')
    assert verdicts(checked(lambda: build(f"scripted:{file}")), "failed") == ["answers"]


def test_a_function_conforms_and_one_that_raises_fails_its_samples_only() -> None:
    assert verdicts(checked(lambda: CallableModel(lambda messages: "red")), "ok") == CHECKS
    assert verdicts(checked(lambda: CallableModel(lambda messages: 1 / 0)), "failed") == ["answers"]  # type: ignore[arg-type,return-value]


def test_the_command_example_conforms() -> None:
    spec = f"{shlex.quote(sys.executable)} {ROOT / 'examples' / 'command_model.py'},window=5"
    found = checked(lambda: command(spec, {}, 0))
    assert verdicts(found, "ok") == CHECKS
    assert 1 <= int(found["lazy"].found.split()[0]) <= 5


def test_a_server_conforms_and_one_that_is_away_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with FakeServer(answer=lambda body, attempt: "red") as server:
        found = checked(lambda: openai(f"any,base_url={server.url},concurrency=4", {}, 0))
        url = server.url
    assert verdicts(found, "ok") == CHECKS
    assert 1 <= int(found["lazy"].found.split()[0]) <= 8
    away = checked(lambda: openai(f"any,base_url={url},retries=0", {}, 0))
    assert verdicts(away, "failed") == ["raises"]
    assert away["raises"].found.startswith("No server answers at http://127.0.0.1:")


def test_a_checkpoint_conforms(tmp_path: Path) -> None:
    import torch

    from tiny_llava import build as tiny

    torch.set_num_threads(1)
    folder = tiny(tmp_path / "tiny-llava")
    found = checked(lambda: build(f"hf:{folder},batch_size=4"), timeout=120.0)
    assert verdicts(found, "ok") == CHECKS
    assert found["lazy"].found == "32 pulled before the first answer"


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_prints_a_line_a_check_and_says_whether_it_conforms(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("constant:A") == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["ok", check] for check in CHECKS]
    assert last == "constant:A conforms: 15 ok"


def test_the_command_ends_with_1_when_a_check_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_module, "build", lambda spec, seed: DropsOne())
    assert run_command("toy") == 1
    out = capsys.readouterr().out
    assert "failed   once      every request object that it was given is answered exactly once. Found: 1 of 14 were never" in out
    assert out.splitlines()[-1] == "toy does not conform: 14 ok, 1 failed"


def test_what_cannot_be_built_or_asked_for_is_the_users_mistake() -> None:
    with pytest.raises(UsageError, match=r"Unknown model 'oracl'\. Did you mean 'oracle'\?"):
        run_command("oracl")
    with pytest.raises(UsageError, match="--ahead is 1 or more, and --timeout is a number of seconds above 0"):
        run_command("oracle", timeout=0.0)
    with pytest.raises(ModelError, match="does not exist"):
        run_command("hf:./nowhere")
