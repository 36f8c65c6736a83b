"""The words in the picture, told: what the model is shown under `text_only` and `image_text`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eyetest.conditions import Pool, build, canonical
from eyetest.conditions.words import HEADING, joined, parted
from eyetest.errors import UsageError
from eyetest.types import Image, Kind, Sample, Shown

MEME = Sample(
    "m1",
    "Is the following meme hateful?",
    ("not_hateful",),
    choices=("hateful", "not_hateful"),
    images=(Image(data=b"one"),),
    picture_text="when the  pineapple\ngoes on",
)
OTHER = replace(MEME, id="m2", images=(Image(data=b"two"),), picture_text="monday again")
NEWS = replace(MEME, id="n1", images=(Image(data=b"three"),), picture_text=None, context="The mayor resigned.")
BOTH = replace(MEME, id="b1", images=(Image(data=b"four"),), context="Posted on a Monday.")
POOL = Pool.of((MEME, OTHER, NEWS, BOTH))
TOLD = "The words in the picture: when the  pineapple\ngoes on"


def shown(name: str, sample: Sample) -> tuple[Sample, ...]:
    return build(name, POOL).apply(sample, seed=0, task="memes")


def test_text_only_tells_the_words_instead_of_the_picture() -> None:
    assert shown("text_only", MEME) == (replace(MEME, images=(), context=TOLD, shown=Shown(picture="none")),)


def test_image_text_tells_them_beside_the_picture() -> None:
    assert shown("image_text", MEME) == (replace(MEME, context=TOLD),)


def test_the_words_follow_a_context_of_its_own() -> None:
    for name in ("text_only", "image_text"):
        assert [one.context for one in shown(name, BOTH)] == [f"Posted on a Monday.\n\n{TOLD}"]


@pytest.mark.parametrize(
    "sample", [NEWS, replace(NEWS, picture_text=""), replace(MEME, picture_text=None), replace(NEWS, images=())]
)
def test_without_words_they_are_no_image_and_image(sample: Sample) -> None:
    assert shown("text_only", sample) == shown("no_image", sample)
    assert shown("image_text", sample) == (sample,)


@pytest.mark.parametrize("text", [None, "the answer"])
def test_a_transcription_is_not_told_its_answer(text: str | None) -> None:
    ocr = replace(MEME, kind="transcription", choices=(), target=("the answer",), picture_text=text)
    for name in ("text_only", "image_text", "text_only+truncated@1", "swapped+image_text"):
        assert shown(name, ocr) == ()


@pytest.mark.parametrize("kind", ["choice", "labels", "text", "description"])
def test_every_other_kind_is_told(kind: Kind) -> None:
    sample = replace(MEME, kind=kind)
    assert [one.context for name in ("text_only", "image_text") for one in shown(name, sample)] == [TOLD, TOLD]


def test_somebody_elses_picture_comes_with_the_samples_own_words() -> None:
    [one] = shown("swapped+image_text", MEME)
    assert (one.context, one.shown.picture) == (TOLD, "other")
    assert one.images != MEME.images
    [grey] = shown("blank+image_text", MEME)
    assert (grey.context, grey.shown.picture) == (TOLD, "blank")


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("text_only+image_text", "'text_only' and 'image_text' both decide the words"),
        ("no_image+text_only", "'no_image' and 'text_only' both decide the picture"),
        ("no_image+image_text", "'image_text' needs the picture that 'no_image' takes away"),
        ("picture_only+image_text", "'image_text' needs the question that 'picture_only' takes away"),
    ],
)
def test_what_cannot_stand_together(written: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        canonical(written)
    assert (
        str(caught.value) == f"Condition {written!r} is impossible: {reason}. Run them as two conditions, separated by a comma."
    )


@pytest.mark.parametrize("own", [None, "A post.", "ends with a gap\n\n", HEADING, f"{HEADING}x"])
@pytest.mark.parametrize("words", ["x", "two\n\nlines", HEADING])
def test_parting_undoes_joining(own: str | None, words: str) -> None:
    sample = replace(MEME, context=joined(own, words), picture_text=words)
    assert parted(sample) == (own, words)
    assert joined(*parted(sample)) == sample.context


@pytest.mark.parametrize("context", [None, "", "A post.", "x", "The words in the picture: another"])
def test_a_context_that_no_step_added_to_is_the_samples_own(context: str | None) -> None:
    for text in ("x", "", None):
        assert parted(replace(MEME, context=context, picture_text=text)) == (context, None)
