"""`caption`, `blurred@r` and `rotated`: what each shows, and the truth of a phantom under it."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image as pil

from eyetest import evaluate, images
from eyetest.conditions import Pool, about_pictures, build, canonical
from eyetest.errors import UsageError
from eyetest.models.phantom import PhantomSettings, PhantomTruth, expected_score, sharpness
from eyetest.types import Image, Sample, Shown

PICTURE = (Image(data=b"one"), Image(data=b"two", operations=("blank",)))
ITEM = Sample(
    "q1",
    "Which city?",
    ("Paris",),
    choices=("Rome", "Paris", "Oslo"),
    images=PICTURE,
    context="A postcard.",
    caption=" A tower. ",
)


def shown(name, sample=ITEM):
    return build(name, Pool()).apply(sample, seed=0, task="t")


def only(name, sample=ITEM):
    [one] = shown(name, sample)
    return one


# ------------------------------------------------------------------------------------------------------------- caption


def test_a_caption_stands_before_the_context_in_place_of_the_picture():
    told = "What the picture shows: A tower."
    assert only("caption") == replace(ITEM, images=(), context=f"{told}\n\nA postcard.", shown=Shown("caption"))
    assert only("caption", replace(ITEM, context=None)).context == told


@pytest.mark.parametrize("lacks", [{"caption": None}, {"caption": "  "}, {"images": ()}])
def test_without_a_caption_or_a_picture_it_does_not_apply(lacks):
    assert shown("caption", replace(ITEM, **lacks)) == ()


def test_a_caption_is_not_cut_and_does_not_make_an_item_point_at_options():
    long = replace(ITEM, caption="Which of the following words are these?", context="one two three")
    for name in ("caption+truncated@1", "truncated@1+caption"):
        assert only(name, long).context == "What the picture shows: Which of the following words are these?\n\none"
    assert only("caption+open_ended", long).shown == Shown("caption")


# ------------------------------------------------------------------------------------------------------------- blurred


def test_the_blur_follows_the_operations_that_were_there_and_equal_radii_have_one_name():
    one = only("blurred@.02")
    assert [picture.operations for picture in one.images] == [("blur:0.02",), ("blank", "blur:0.02")]
    assert one.shown == Shown("blurred")
    assert one == replace(ITEM, images=one.images, shown=one.shown)
    assert {canonical(f"blurred@{text}") for text in (".02", "0.02", "2e-2", " 0.0200 ")} == {"blurred@0.02"}
    assert canonical("image+blurred@1+shuffled") == "blurred@1.0+shuffled"
    assert shown("blurred@.1", replace(ITEM, images=())) == ()


@pytest.mark.parametrize("text", ["blurred", "blurred@", "blurred@0", "blurred@1.01", "blurred@-1", "blurred@nan", "blurred@2%"])
def test_a_blur_that_is_no_share_is_refused(text):
    with pytest.raises(UsageError) as caught:
        canonical(text)
    given = text.partition("@")[2]
    assert str(caught.value) == (
        f"Condition 'blurred@{given}': expected blurred@R, where R is the radius as a share of the picture's longer side, "
        f"above 0 and at most 1, found {given!r}. Write, for example, blurred@.02."
    )


@pytest.mark.parametrize("pair", ["caption+no_image", "blurred@.1+no_image", "caption+blurred@.1", "blurred+told_blind"])
def test_two_that_decide_the_picture_are_named(pair):
    first, second = (part.partition("@")[0] for part in pair.split("+"))
    with pytest.raises(UsageError, match=f"{first!r} and {second!r} both decide the picture"):
        canonical(pair)


def test_which_of_them_say_nothing_without_a_picture():
    assert [about_pictures(text) for text in ("caption", "blurred@.1", "rotated")] == [True, True, False]


def edge(width, height):
    """A picture that is black on its left half and white on its right."""
    values = np.zeros((height, width, 3), np.uint8)
    values[:, width // 2 :] = 255
    return pil.fromarray(values)


def decoded(picture, tmp_path, *operations):
    file = tmp_path / f"{picture.width}.png"
    picture.save(file)
    return np.asarray(images.decode(Image(path=str(file), operations=operations)), float)


def test_the_blur_of_an_edge_is_the_normal_distribution(tmp_path):
    from scipy.stats import norm

    found = decoded(edge(400, 60), tmp_path, "blur:0.05")
    assert found.shape == (60, 400, 3)
    wanted = 255 * norm.cdf(np.arange(400) + 0.5, loc=200, scale=0.05 * 400)
    assert np.abs(found[30, :, 0] - wanted).max() < 4  # three box blurs are a Gaussian to about one in a hundred
    assert np.ptp(found, axis=0).max() <= 1


def test_the_blur_is_relative_to_the_longer_side(tmp_path):
    small, large = (decoded(edge(side, 20), tmp_path, "blur:0.04")[10, :, 0] for side in (200, 800))
    assert np.abs(small - large.reshape(200, 4).mean(axis=1)).max() < 3
    tall = decoded(edge(200, 800), tmp_path, "blur:0.04")[400, :, 0]
    assert tall[60] > small[60] + 10


@pytest.mark.parametrize("operation", ["blur", "blur:", "blur:0", "blur:2", "blur:x"])
def test_an_operation_that_is_no_share_is_refused(operation):
    with pytest.raises(ValueError, match="write blur:R with 0 < R <= 1, a share of the longer side"):
        images.with_operation(PICTURE[0], operation)


# ------------------------------------------------------------------------------------------------------------- rotated


def test_every_option_stands_once_in_every_place_and_the_first_variant_is_as_written():
    found = shown("rotated")
    assert [one.choices for one in found] == [("Rome", "Paris", "Oslo"), ("Paris", "Oslo", "Rome"), ("Oslo", "Rome", "Paris")]
    assert found[0] == ITEM
    assert all(replace(one, choices=ITEM.choices) == ITEM for one in found)
    assert [replace(one, images=PICTURE, shown=Shown()) for one in shown("no_image+rotated")] == list(found)


@pytest.mark.parametrize(
    "other",
    [{"choices": ("Paris",)}, {"kind": "labels"}, {"kind": "text", "choices": ()}, {"choices": ("A", "B"), "target": ("A",)}],
)
def test_what_has_no_order_is_not_rotated(other):
    assert shown("rotated", replace(ITEM, **other)) == ()


# ------------------------------------------------------------------------------------------------------------- phantoms


def items(n):
    cities = ("Rome", "Paris", "Oslo", "Bonn")
    return [
        Sample(f"{k}", f"Which city ({k})?", (cities[k % 4],), choices=cities, images=(Image(data=b"%d" % k),), caption="A town.")
        for k in range(n)
    ]


LADDER = (0.02, 0.05, 0.1, 0.5)


def test_a_phantom_sees_less_the_more_is_blurred_and_needs_no_sight_of_a_caption():
    names = ("image", *(f"blurred@{radius}" for radius in LADDER), "caption", "no_image")
    settings, samples = PhantomSettings(0.9, 0.8), items(2000)
    found = evaluate(samples, f"{settings}", conditions=names)
    wanted = {name: expected_score(settings, shown(name, samples[0])[0]) for name in names}
    assert wanted["blurred@0.05"] == pytest.approx(0.9 * 0.5 * 0.8 + (1 - 0.9 * 0.5 * 0.8) / 4)
    assert wanted["caption"] == pytest.approx(0.8 + 0.2 / 4)
    assert wanted["blurred@0.1"] == wanted["blurred@0.5"] == wanted["no_image"] == 0.25
    for name in names:
        made = found.headline("samples", f"{settings}", canonical(name))
        assert abs(made.value - wanted[name]) < 4 * np.sqrt(0.25 / 2000), name


def test_what_is_perceived_at_one_blur_is_perceived_at_every_smaller_one():
    truth, samples = PhantomTruth(PhantomSettings(0.9, 1), 3), items(500)
    seen = [{one.id for one in samples if truth.answer(only(f"blurred@{radius}", one))} for radius in (0.001, *LADDER)]
    assert seen == sorted(seen, key=len, reverse=True)
    assert all(later <= earlier for earlier, later in pairwise(seen))
    assert seen[-1] == set()
    assert [sharpness(radius) for radius in (0, 0.05, 0.1, 1)] == [1, 0.5, 0, 0]


def test_rotations_share_the_first_request_with_image():
    keys = Counter()

    def model(messages):
        keys[messages[-1].content[-1]] += 1
        return "A"

    evaluate(items(5), {"m": model}, conditions=("image", "rotated"))
    assert len(keys) == 20
