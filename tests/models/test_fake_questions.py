"""A simulated model behind HTTP answers as the same model does in this process."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import orjson
import pytest
from PIL import Image as Pillow

from eyetest.models.baselines import Simulated
from eyetest.models.fake_answers import Unanswered
from eyetest.models.fake_questions import digest, recognising
from eyetest.models.fake_server import FakeServer, FakeServerSettings
from eyetest.models.openai_api import openai
from eyetest.models.openai_wire import encode
from eyetest.models.phantom import Phantom, PhantomSettings
from eyetest.prompts import Prompt, render
from eyetest.types import Generation, Image, Origin, Request, Response, Sample, Shown

PLAIN = FakeServerSettings()


def picture(colour: int, size: int = 8) -> Image:
    file = io.BytesIO()
    Pillow.new("RGB", (size, size), (colour, 0, 0)).save(file, "PNG")
    return Image(data=file.getvalue())


def asked(sample: Sample, condition: str = "image", **fields: Any) -> Request:
    origin = Origin("task", sample, condition, repeat=fields.pop("repeat", 0))
    return Request(render(Prompt(), sample), Generation(max_tokens=8, **fields), origin=origin)


def run(n: int = 40) -> list[Request]:
    """Choices, short answers and sets of labels on the same question with different pictures, and without them."""
    found = []
    for number in range(n):
        shown = (picture(number),)
        choice = Sample(f"c{number}", "Which?", ("dog",), "choice", ("cat", "dog", "cow"), shown)
        text = Sample(f"t{number}", "What is it?", ("Oslo",), "text", images=shown)
        labels = Sample(f"l{number}", "All?", ("a", "b"), "labels", ("a", "b", "c"), shown)
        found += [asked(choice), asked(text), asked(labels)]
        blind = replace(choice, images=(), question=f"Which, {number}?", shown=Shown(picture="none"))
        found.append(asked(blind, "no_image"))
    return found


def body(request: Request, max_side: int | None = None) -> Any:
    return orjson.loads(encode(request, model="m", max_side=max_side))


def letters(request: Request, text: str) -> str:
    """What a lettered prompt makes of an option."""
    assert request.origin is not None
    choices = request.origin.sample.choices
    return "ABC"[choices.index(text)] if request.origin.sample.kind == "choice" and text in choices else text


def test_over_http_as_in_process() -> None:
    requests, model = run(), Phantom(PhantomSettings(refuse=0.2, format_error=0.1), seed=3)
    answer, known = recognising(model, requests, settings=PLAIN)
    assert known == len(requests)
    with FakeServer(answer) as server:
        client = openai(f"any,base_url={server.url}", {}, seed=0)
        served = {id(request): response for request, response in client.generate(iter(requests))}
        client.close()
        assert server.log.outcomes == {"ok": len(requests)}
    for request, expected in model.generate(iter(requests)):
        response = served[id(request)]
        assert (response.status, response.text) == (expected.status, letters(request, expected.text))
    assert {response.status for response in served.values()} == {"ok", "refused"}


def test_another_picture_is_another_question() -> None:
    requests = run(2)
    answer, _ = recognising(Phantom(PhantomSettings(), 0), requests[:4], settings=PLAIN)
    with pytest.raises(Unanswered) as raised:
        answer(body(requests[4]), 0)
    assert str(raised.value).startswith("no question of the run looks like 'Which?\\nA. cat")
    assert str(raised.value).endswith("with these pictures")


def test_pictures_that_the_client_scales_down() -> None:
    request = asked(Sample("x", "What?", ("Oslo",), "text", images=(picture(9, size=64),)))
    model = Phantom(PhantomSettings(perception=1, knowledge=1), 0)
    answer, _ = recognising(model, [request], settings=PLAIN, max_side=16)
    assert answer(body(request, max_side=16), 0) == "Oslo"
    with pytest.raises(Unanswered):
        answer(body(request), 0)


def test_a_picture_that_nobody_can_send_is_left_out() -> None:
    broken = asked(Sample("x", "What?", ("Oslo",), "text", images=(Image(data=b"none"),)))
    whole = asked(Sample("y", "What?", ("Rome",), "text"))
    _, known = recognising(Phantom(PhantomSettings(), 0), [broken, whole], settings=PLAIN)
    assert known == 1


def test_what_looks_the_same_gets_the_answer_to_the_first() -> None:
    first, second = (asked(Sample(id, "What?", (target,), "text")) for id, target in (("x", "Oslo"), ("y", "Rome")))
    model = Phantom(PhantomSettings(perception=1, knowledge=1), 0)
    answer, known = recognising(model, [first, second], settings=PLAIN)
    assert (known, answer(body(second), 0)) == (1, "Oslo")


class Repeats(Simulated):
    """Says which repeat it was asked."""

    def answer(self, origin: Origin) -> Response:
        return Response(str(origin.repeat))


def test_the_seed_tells_the_repeat() -> None:
    sample = Sample("x", "What?", ("Oslo",), "text")
    warm = [asked(sample, temperature=0.7, seed=40 + repeat, repeat=repeat) for repeat in range(3)]
    answer, known = recognising(Repeats("r", "r"), warm, settings=PLAIN)
    assert known == 1
    assert [answer(body(request), attempt) for attempt, request in enumerate(warm)] == ["0", "1", "2"]
    assert answer(body(warm[0]) | {"seed": 3}, 0) == "0"
    deaf, _ = recognising(Repeats("r", "r"), warm, settings=FakeServerSettings(ignores=("seed",)))
    assert [deaf(body(warm[0]), attempt) for attempt in range(3)] == ["0", "1", "2"]
    cold, _ = recognising(Repeats("r", "r"), [asked(sample)], settings=PLAIN)
    assert [cold(body(asked(sample)), attempt) for attempt in range(3)] == ["0"] * 3


def test_a_sample_without_a_target_has_no_answer() -> None:
    request = asked(Sample("x", "What?", (), "text"))
    answer, _ = recognising(Phantom(PhantomSettings(), 0), [request], settings=PLAIN)
    with pytest.raises(Unanswered, match="sample 'x' of task 'task' has no target to answer from"):
        answer(body(request), 0)


def test_digests() -> None:
    text = [{"role": "user", "content": "hello"}]
    assert digest(text) == digest([{"role": "user", "content": [{"type": "text", "text": "hello"}]}])
    others = [
        [{"role": "system", "content": "hello"}],
        [{"role": "user", "content": "hell"}, {"role": "user", "content": "o"}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "hello"}}]}],
        ["hello"],
        [],
    ]
    found = {digest(messages) for messages in [text, *others]}
    assert len(found) == len(others)  # a message that is none adds nothing
