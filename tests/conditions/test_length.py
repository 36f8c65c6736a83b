"""How much text the model is given under `truncated@N`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest import evaluate
from eyetest.conditions import Pool, build
from eyetest.errors import MissingExtraError, UsageError
from eyetest.types import Image, Sample, Shown

NEWS = Sample(
    "n1",
    "Is the following news misinformation?",
    ("no",),
    choices=("yes", "no"),
    images=(Image(data=b"one"),),
    context="  The mayor,\tof Bern\n\n resigned  today. ",
)
OTHER = replace(NEWS, id="n2", images=(Image(data=b"two"),), context="It rains.")
MEME = replace(NEWS, id="m1", images=(Image(data=b"three"),), context=None, picture_text="one  two three four")
POOL = Pool.of((NEWS, OTHER, MEME))


def shown(name: str, sample: Sample) -> Sample:
    [one] = build(name, POOL).apply(sample, seed=0, task="news")
    return one


@pytest.mark.parametrize(
    ("n", "context"),
    [(1, "  The"), (2, "  The mayor,"), (3, "  The mayor,\tof"), (5, "  The mayor,\tof Bern\n\n resigned"), (6, NEWS.context)],
)
def test_the_first_words_stay_with_their_spacing(n: int, context: str) -> None:
    assert shown(f"truncated@{n}", NEWS) == replace(NEWS, context=context)


@pytest.mark.parametrize("sample", [NEWS, OTHER, MEME, replace(NEWS, context=""), replace(NEWS, context=" \n ")])
def test_what_is_not_longer_is_asked_as_it_is(sample: Sample) -> None:
    assert shown("truncated@512", sample) == sample


def test_the_question_the_options_and_words_that_are_not_told_stay_whole() -> None:
    sample = replace(NEWS, picture_text="one two three")
    assert shown("truncated@1", sample) == replace(sample, context="  The")


def test_words_that_a_step_told_are_cut_and_their_heading_does_not_count() -> None:
    for name in ("text_only+truncated@2", "truncated@2+text_only"):
        one = shown(name, MEME)
        assert (one.context, one.images, one.shown) == ("The words in the picture: one  two", (), Shown(picture="none"))
    assert shown("image_text+truncated@3", MEME).context == "The words in the picture: one  two three"
    assert shown("image_text+truncated@4", MEME) == shown("image_text", MEME)


@pytest.mark.parametrize(
    ("n", "context"),
    [
        (1, "Posted"),
        (2, "Posted today:"),
        (3, "Posted today:\n\nThe words in the picture: one"),
        (6, "Posted today:\n\nThe words in the picture: one  two three four"),
    ],
)
def test_a_samples_own_text_goes_before_the_words_of_its_picture(n: int, context: str) -> None:
    assert shown(f"text_only+truncated@{n}", replace(MEME, context="Posted today:")).context == context


def test_it_composes() -> None:
    blind = shown("no_image+truncated@1", NEWS)
    assert (blind.context, blind.images, blind.shown.picture) == ("  The", (), "none")
    swapped = shown("truncated@1+swapped", NEWS)
    assert swapped == replace(shown("swapped", NEWS), context="  The")
    assert swapped.shown.picture == "other"
    assert shown("truncated@1+open_ended", NEWS).kind == "text"


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab \t\n é\u2003.", max_size=40), st.integers(1, 12))
def test_it_is_a_prefix_with_at_most_n_words(text: str, n: int) -> None:
    context = shown(f"truncated@{n}", replace(NEWS, context=text)).context or ""
    assert text.startswith(context)
    assert context.split() == text.split()[:n]


EXPECTED = "expected truncated@N[,tokenizer=whitespace|PATH] with a whole number N of tokens, 1 or more, found "


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("truncated@0", f"Condition 'truncated@0': {EXPECTED}'0'. Write, for example, truncated@64."),
        ("truncated@x", f"Condition 'truncated@x': {EXPECTED}'x'. Write, for example, truncated@64."),
        ("truncated", f"Condition 'truncated@': {EXPECTED}''. Write, for example, truncated@64."),
        ("truncated@-3", f"Condition 'truncated@-3': {EXPECTED}'-3'. Write, for example, truncated@64."),
        ("truncated@064", f"Condition 'truncated@064': {EXPECTED}'064'. Write, for example, truncated@64."),
        ("truncated@٣", f"Condition 'truncated@٣': {EXPECTED}'٣'. Write, for example, truncated@64."),
        ("truncated@1.5", f"Condition 'truncated@1.5': {EXPECTED}'1.5'. Write, for example, truncated@64."),
        (
            "truncated@64,tokeniser=x",
            "Condition 'truncated' has no option 'tokeniser'. Did you mean 'tokenizer'? Known: tokenizer.",
        ),
        (
            "truncated@64,tokenizer=no/such.json",
            "Condition 'truncated': tokenizer='no/such.json' is no file. Name a tokenizer.json, or leave tokenizer out to count "
            "words.",
        ),
        (
            "truncated@64,tokenizer=",
            "Condition 'truncated': tokenizer='' is no file. Name a tokenizer.json, or leave tokenizer out to count words.",
        ),
    ],
)
def test_a_wrong_parameter(written: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(written, POOL)
    assert str(caught.value) == message


def test_a_wrong_parameter_is_found_before_any_model_is_called() -> None:
    def never(_messages: object) -> str:
        raise AssertionError

    with pytest.raises(UsageError, match=r"^Condition 'truncated@0': expected "):
        evaluate([NEWS], {"never": never}, conditions=["image", "truncated@0"])


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("truncated@1+truncated@2", "names 'truncated' twice. Write it once."),
        ("options_only+truncated@2", "is impossible: 'truncated' needs the question that 'options_only' takes away. "),
    ],
)
def test_what_cannot_stand_together(written: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(written, POOL)
    assert str(caught.value).startswith(f"Condition {written!r} {reason}")


# --------------------------------------------------------------------------------------------------------- tokenizers


def byte_level(folder: Path, *, most: int | None = None) -> Path:
    """A tokenizer.json with one token a byte; most: tokens after which it cuts by itself."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate([*letters, "<s>"])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", len(letters))])
    if most is not None:
        tokenizer.enable_truncation(most)
        tokenizer.enable_padding(length=64)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.mark.parametrize(
    ("text", "n", "context"),
    [
        ("abc def", 3, "abc"),
        ("abc def", 4, "abc "),
        ("abc def", 7, "abc def"),
        ("abc def", 8, "abc def"),
        ("né", 2, "n"),
        ("né", 3, "né"),
        ("né!", 3, "né"),
        ("🦉🦉", 4, "🦉"),
        ("🦉🦉", 7, "🦉"),
        ("é", 1, ""),
        ("a\udce9b", 2, "a\udce9"),
    ],
)
def test_tokens_of_a_tokenizer(tmp_path: Path, text: str, n: int, context: str) -> None:
    written = f"truncated@{n},tokenizer={byte_level(tmp_path)}"
    assert shown(written, replace(NEWS, context=text)).context == context


def test_a_tokenizer_that_cuts_and_pads_by_itself_does_neither(tmp_path: Path) -> None:
    path = byte_level(tmp_path, most=4)
    assert shown(f"truncated@10,tokenizer={path}", replace(NEWS, context="abcdefghijkl")).context == "abcdefghij"
    assert shown(f"truncated@20,tokenizer={path}", replace(NEWS, context="abcdefghijkl")).context == "abcdefghijkl"


def test_a_file_that_is_no_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(
        UsageError, match=r"^Condition 'truncated': tokenizer='.*json' cannot be read: .*tokenizer\.json of a model\.$"
    ):
        build(f"truncated@4,tokenizer={path}", POOL)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError) as caught:
        build("truncated@4,tokenizer=some.json", POOL)
    assert str(caught.value) == (
        "Condition 'truncated' with tokenizer=some.json needs the package 'tokenizers', which is not installed. "
        "Install it with: pip install 'eyetest[hf]'"
    )
    assert shown("truncated@1,tokenizer=whitespace", NEWS).context == "  The"
