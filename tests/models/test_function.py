import asyncio
import functools
import os
import subprocess
import sys

import pytest

from eyetest.errors import BadImageError
from eyetest.models.function import CallableModel, fingerprint, in_order
from eyetest.types import Message, Request, Response


def asked(text):
    return Request((Message("user", (text,)),))


def responses(model, *texts):
    return [response for _, response in model.generate(map(asked, texts))]


def last_text(messages):
    return messages[-1].content[-1]


def test_the_function_is_given_the_messages():
    requests = [asked("one"), asked("zwei")]
    pairs = list(CallableModel(lambda messages: last_text(messages).upper()).generate(iter(requests)))
    assert [(request, response.text, response.status) for request, response in pairs] == [
        (requests[0], "ONE", "ok"),
        (requests[1], "ZWEI", "ok"),
    ]
    assert all(response.latency > 0 for _, response in pairs)


def test_a_response_is_taken_as_it_is():
    response = Response("half an ans", status="truncated", latency=3.0)
    assert responses(CallableModel(lambda messages: response), "x") == [response]


def test_an_exception_fails_one_sample():
    def function(messages):
        return {"good": "fine"}[last_text(messages)] if last_text(messages) != "worse" else int("seven")

    good, bad, worse, after = responses(CallableModel(function), "good", "bad", "worse", "good")
    assert good.text == after.text == "fine"
    assert bad == Response(status="error", error="KeyError: 'bad'")
    assert worse == Response(status="error", error="ValueError: invalid literal for int() with base 10: 'seven'")


def test_a_bad_picture_is_a_bad_image():
    def function(messages):
        raise BadImageError("x.png: is empty")

    assert responses(CallableModel(function), "x") == [Response(status="bad_image", error="x.png: is empty")]


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes(interrupt):
    def function(messages):
        raise interrupt

    with pytest.raises(interrupt):
        responses(CallableModel(function), "x")


@pytest.mark.parametrize(("value", "name"), [(None, "NoneType"), (7, "int"), (b"yes", "bytes"), (["yes"], "list")])
def test_a_wrong_type_fails_one_sample(value, name):
    expected = Response(status="error", error=f"the function returned {name}; expected str or Response")
    assert responses(CallableModel(lambda messages: value), "x") == [expected]


def test_only_an_identity_makes_it_shareable():
    anonymous, named = CallableModel(str), CallableModel(str, "mine", identity="mine v3")
    assert (anonymous.name, anonymous.identity, anonymous.simulated) == ("function", "function str", True)
    assert (named.name, named.identity, named.simulated) == ("mine", "mine v3", False)
    assert repr(named) == "CallableModel(name='mine', identity='mine v3')"


def test_the_function_is_called_when_its_answer_is_taken():
    calls = []
    model = CallableModel(lambda messages: calls.append(last_text(messages)) or "yes")
    stream = model.generate(asked(str(number)) for number in range(10**9))
    assert calls == []
    next(stream)
    assert calls == ["0"]
    next(stream)
    assert calls == ["0", "1"]
    model.close()
    model.close()


def test_a_list_is_given_in_order_and_then_fails():
    model = in_order(["a", "b", "c"])
    assert [response.text for response in responses(model, "1", "2")] == ["a", "b"]
    third, spent = responses(model, "3", "4")
    assert third.text == "c"
    assert spent == Response(status="error", error="the list has no more completions: all 3 have been given")
    assert model.simulated


class Unsayable(Exception):
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unsayable(), "Unsayable: (its message cannot be shown)"),
        (asyncio.CancelledError("gone"), "CancelledError: gone"),
        (GeneratorExit(), "GeneratorExit: "),
        (StopIteration(3), "StopIteration: 3"),
    ],
)
def test_whatever_a_function_raises_fails_one_sample(error, said):
    def function(messages):
        if last_text(messages) == "bad":
            raise error
        return "fine"

    bad, good = responses(CallableModel(function), "bad", "good")
    assert bad == Response(status="error", error=said)
    assert good.text == "fine"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_passes(error):
    def function(messages):
        raise error

    with pytest.raises(error):
        responses(CallableModel(function), "x")


def answering(text, times=1):
    def function(messages, mark="!"):
        return (text + mark) * times

    return function


class Callable:
    def __call__(self, messages):
        return "x"

    def ask(self, messages):
        return "y"


def test_functions_that_answer_differently_have_different_fingerprints():
    nested = [lambda messages: [one + "!" for one in "a"], lambda messages: [one + "?" for one in "a"]]
    found = [
        answering("a"),
        answering("b"),
        answering("a", 2),
        answering(["a"]),
        lambda messages: "a",
        lambda messages: "b",
        lambda messages, mark="b": mark,
        lambda messages, mark="c": mark,
        *nested,
        functools.partial(answering("a"), mark="?"),
        functools.partial(answering("a"), mark="."),
        Callable(),
        Callable().ask,
        str,
        repr,
    ]
    assert len({fingerprint(function) for function in found}) == len(found)


def test_the_same_function_has_the_same_fingerprint_wherever_it_stands():
    here = lambda messages: {"a", "b"} & set(messages)  # noqa: E731

    there = lambda messages: {"a", "b"} & set(messages)  # noqa: E731
    assert fingerprint(here) == fingerprint(there)
    assert fingerprint(answering("a")) == fingerprint(answering("a"))
    assert fingerprint(answering(object())) == fingerprint(answering(object()))  # an object is only its type
    assert fingerprint(Callable()) == fingerprint(Callable())


def test_a_fingerprint_is_the_same_in_the_next_process():
    program = (
        "from eyetest.models.function import fingerprint\n"
        "print(fingerprint(lambda messages: messages in {'a', 'b', 'c'}), fingerprint(lambda m, n={'x', 'y'}: m))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


def test_a_function_that_is_not_yet_whole_has_a_fingerprint():
    def outer():
        def early(messages):
            return later

        found = fingerprint(early)
        later = "a"
        return found, fingerprint(early), later

    before, after, _ = outer()
    assert before != after


def test_a_default_that_holds_itself_has_a_fingerprint():
    around = ["a"]
    around.append(around)
    assert fingerprint(answering(around)) != fingerprint(answering(["a"]))
