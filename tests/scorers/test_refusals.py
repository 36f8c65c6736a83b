from __future__ import annotations

import pytest

from eyetest.scorers.clean import HEAD, TAIL, plain, visible, without_thoughts
from eyetest.scorers.polarity import polarity
from eyetest.scorers.refusals import find_refusal


@pytest.mark.parametrize(
    "text",
    [
        "I can’t help with identifying real people in images.",
        "I'm sorry, but I can't assist with that request.",
        "As an AI language model, I don't have the ability to see pictures.",
        "I’m unable to view images directly.",
        "I don't see any image attached.",
        "The image was not provided.",
        "Please upload the image so that I can help.",
        "It is not possible to determine the answer from the image.",
        "There is not enough information to answer.",
        "I must respectfully decline.",
        "This goes against my guidelines.",
        "抱歉，我无法识别图片中的人物。",
        "Lo siento, no puedo ayudar con eso.",
        "Es tut mir leid, ich kann dabei nicht helfen.",
    ],
)
def test_refusals(text: str) -> None:
    assert find_refusal(visible(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "The image shows a dog.",
        "The image is provided by the museum.",
        "He can't see the image in the mirror.",
        "No people are shown in the image.",
        "It cannot fly.",
        "The man is sorry.",
        "The sign says no photos.",
    ],
)
def test_no_refusals(text: str) -> None:
    assert find_refusal(visible(text)) is None


def test_thoughts() -> None:
    assert without_thoughts("a<think>b</think>c<THINK>d</THINK>e") == "a c e"
    assert without_thoughts("b</think>c") == "c"
    assert without_thoughts("a<think>b") == "a"
    assert without_thoughts("◁think▷b◁/think▷c").strip() == "c"


def test_long_texts_keep_both_ends() -> None:
    text = visible("a" * 30_000 + "b" * 30_000)
    assert text == "a" * HEAD + "\n" + "b" * TAIL


def test_run_on_questions_are_cut_and_restatements_kept() -> None:
    assert visible("B\nQuestion: Which river?\nAnswer: A", "Which city?") == "B"
    assert visible("Sure.\nQuestion: Which city?\nB", "Which city?").endswith("B")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**B**", "B"),
        ("Ｂ", "B"),
        ("not_hateful", "not hateful"),
        ("3*4", "3*4"),
        ("$x$ costs $5", "x costs $5"),
        ("it’s", "it's"),
        ("\\(B\\)", "(B)"),
    ],
)
def test_plain(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it is a cat", "asserted"),
        ("it is not a cat", "denied"),
        ("it isn't a cat", "denied"),
        ("not a dog, a cat", "asserted"),
        ("not a dog but a cat", "asserted"),
        ("not only a cat", "asserted"),
        ("no doubt a cat", "asserted"),
        ("whether it is a cat", "open"),
        ("is it a cat?", "open"),
        ("the cat is wrong", "denied"),
        ("neither a dog, a bird, nor a cat", "denied"),
    ],
)
def test_polarity(text: str, expected: str) -> None:
    start = text.index("cat")
    assert polarity(text, start, start + 3) == expected
