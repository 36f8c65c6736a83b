from __future__ import annotations

import io
import math

import pytest
from PIL import Image as Pillow

from evaluation.made import item, laid_out
from eyetest.evaluation.check import NAMED, check
from eyetest.stats import smallest_detectable_difference, wilson
from eyetest.types import Image, Sample


def picture(shade: int) -> Image:
    buffer = io.BytesIO()
    Pillow.new("RGB", (4, 4), (shade, shade, shade)).save(buffer, "PNG")
    return Image(data=buffer.getvalue())


def shown(n, **fields):
    return item(n, **{"images": (picture(n),), **fields})


def looked_at(samples, **values):
    seen = []
    (made,) = check(laid_out(samples, **values)[1], lambda done, total: seen.append((done, total)))
    assert seen == [(number, made.survey.n) for number in range(1, made.survey.n + 1)]
    return made


def test_nothing_to_find():
    made = looked_at([shown(n) for n in range(6)])
    assert (made.errors, made.remarks, made.pictures) == ({}, {}, 6)
    assert made.chance == pytest.approx(1 / 3)


def test_pictures_that_fail_are_errors_with_their_place(tmp_path):
    (tmp_path / "page.png").write_text("<html>not found</html>")
    cut = picture(9).data[:-20]
    bad = [Image(path=str(tmp_path / "gone.png")), Image(path=str(tmp_path / "page.png")), Image(data=cut)]
    made = looked_at([shown(0), *(item(n, images=(one,)) for n, one in enumerate(bad, 1))])
    (found,) = made.errors.values()
    assert list(made.errors) == ["pictures that cannot be shown"]
    assert (found.count, made.pictures) == (3, 1)
    assert found.places[0].startswith(f"q0001: The picture {tmp_path}/gone.png does not exist.")
    assert "HTML" in found.places[1]


def test_only_the_first_places_are_kept(tmp_path):
    made = looked_at([item(n, images=(Image(path=str(tmp_path / f"{n}.png")),)) for n in range(NAMED + 4)])
    (found,) = made.errors.values()
    assert (found.count, len(found.places)) == (NAMED + 4, NAMED)


def test_a_picture_is_decoded_once_however_often_it_is_shown(monkeypatch):
    decoded = []
    monkeypatch.setattr("eyetest.images.check", decoded.append)
    assert looked_at([shown(n, images=(picture(n % 2),)) for n in range(8)]).pictures == len(decoded) == 2


def test_labels_that_are_never_right():
    made = looked_at([shown(n, target=("cat",)) for n in range(4)])
    assert made.remarks["options that are never the right answer"].places == ["dog", "bird"]
    assert made.survey.classes == {"cat": 4, "dog": 0, "bird": 0}


def test_duplicates_name_the_earlier_one():
    twin = {"question": "What?", "images": (picture(1),)}
    made = looked_at([shown(0, **twin), shown(1), shown(2, **twin), shown(3, question="What?"), shown(4, **twin)])
    found = made.remarks["items with the same question, options and picture as an earlier one"]
    assert found.places == ["q0002 (as q0000)", "q0004 (as q0000)"]


def test_single_and_equal_options():
    single = shown(0, choices=("cat",), target=("cat",))
    equal = shown(1, choices=("cat", "dog", "cat"), target=("cat",))
    made = looked_at([single, equal, shown(2)])
    assert made.remarks["items with a single option: always right by guessing"].places == ["q0000"]
    assert made.remarks["items with two equal options"].places == ["q0001"]
    assert made.chance == pytest.approx((1 + 2 / 3 + 1 / 3) / 3)


def test_what_this_n_could_show():
    made = looked_at([shown(n) for n in range(200)], limit=150)
    low, high = wilson(75, 150)
    assert made.half_width == pytest.approx((high - low) / 2)
    assert made.detectable == {share: smallest_detectable_difference(150, share) for share in (0.1, 0.3)}
    assert 0 < made.detectable[0.1] < made.detectable[0.3] < 0.3


def test_short_answers_have_no_chance_level():
    made = looked_at([Sample(str(n), f"Q{n}?", ("a",), kind="text") for n in range(3)])
    assert math.isnan(made.chance)
    assert made.survey.labels == ()
