import io
import socket
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont
from rapidfuzz.distance import Levenshtein

from eyetest.errors import BadImageError, MissingExtraError
from eyetest.models import ocr
from eyetest.models.ocr import PictureReader, Piece, in_lines
from eyetest.types import Image


def png(picture):
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return Image(data=buffer.getvalue())


def written(*lines, size=(320, 120), colour="white"):
    picture = Pillow.new("RGB", size, (60, 90, 120))
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        draw.text((12, 10 + 50 * number), line, font=ImageFont.load_default(30), fill=colour)
    return png(picture)


def noise(size, seed=0):
    return png(Pillow.fromarray(np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)))


class Engine:
    """Finds the same pieces in every picture, and keeps the pictures it was shown."""

    def __init__(self, *pieces):
        self.pieces, self.shown, self.loaded = pieces, [], 0

    def load(self):
        self.loaded += 1
        return self

    def __call__(self, picture):
        self.shown.append(picture)
        return self.pieces


def test_rapidocr_reads_lines_in_order_without_a_network(monkeypatch):
    def no_network(*_):
        raise AssertionError("reading a picture must not open a connection")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    assert PictureReader().read(written("WHEN MONDAY", "COMES AGAIN")) == "WHEN MONDAY\nCOMES AGAIN"


def test_rapidocr_is_given_the_colours_in_its_own_order(monkeypatch):
    import rapidocr

    seen = []

    class Recorder:
        def __init__(self, params):
            seen.append(params)

        def __call__(self, picture):
            seen.append(picture)
            return SimpleNamespace(txts=None)

    monkeypatch.setattr(rapidocr, "RapidOCR", Recorder)
    red = np.zeros((2, 2, 3), np.uint8)
    red[..., 0] = 255
    assert ocr.rapidocr_engine()(red) == ()
    assert seen[1][0, 0].tolist() == [0, 0, 255]
    assert seen[0]["EngineConfig.onnxruntime.intra_op_num_threads"] == 1


def test_a_picture_without_words_has_none():
    assert PictureReader().read(noise((64, 48))) == ""


def test_each_picture_is_read_once_by_its_content(tmp_path):
    engine, picture = Engine(Piece("HELLO", 0, 0, 10)), noise((8, 8))
    path = tmp_path / "copy.png"
    path.write_bytes(picture.data)
    reader = PictureReader(engine.load)
    assert [reader.read(one) for one in (picture, picture, Image(path=str(path)), noise((8, 8), seed=1))] == ["HELLO"] * 4
    assert (len(engine.shown), engine.loaded) == (2, 1)


def test_a_closed_reader_remembers_what_it_read_and_loads_again_for_more():
    engine = Engine(Piece("HELLO", 0, 0, 10))
    reader = PictureReader(engine.load)
    reader.read(noise((8, 8)))
    reader.close()
    reader.close()
    reader.read(noise((8, 8)))
    assert engine.loaded == 1
    reader.read(noise((8, 8), seed=1))
    assert (engine.loaded, len(engine.shown)) == (2, 2)


def test_the_words_of_the_picture_read_first_are_forgotten_first(monkeypatch):
    monkeypatch.setattr(ocr, "MAX_TEXTS", 2)
    engine = Engine()
    reader = PictureReader(engine.load)
    for seed in (0, 1, 2, 2, 1, 0):
        reader.read(noise((8, 8), seed))
    assert len(engine.shown) == 4


def test_a_blank_picture_is_decoded_but_not_searched():
    engine = Engine(Piece("HELLO", 0, 0, 10))
    reader, picture = PictureReader(engine.load), noise((8, 8))
    blank = Image(data=picture.data, operations=("blank",))
    assert (reader.read(blank), reader.read(picture)) == ("", "HELLO")
    assert len(engine.shown) == 1
    with pytest.raises(BadImageError, match="is truncated"):
        reader.read(Image(data=picture.data[:-20], operations=("blank",)))


@pytest.mark.parametrize("size", [(202, 2), (2, 202)])
def test_a_hair_line_of_a_picture_is_not_searched(size):
    engine = Engine(Piece("HELLO", 0, 0, 10))
    assert PictureReader(engine.load).read(noise(size)) == ""
    assert engine.shown == []


@pytest.mark.parametrize("size", [(1, 1), (1, 100), (100, 1), (3000, 30)])
def test_rapidocr_survives_every_size_that_it_is_given(size):
    assert isinstance(PictureReader().read(png(Pillow.linear_gradient("L").convert("RGB").resize(size))), str)


def test_the_engine_sees_what_a_person_sees():
    engine = Engine()
    clear = Pillow.new("RGBA", (2, 1), (255, 0, 0, 255))
    clear.putpixel((1, 0), (0, 0, 0, 0))
    PictureReader(engine.load).read(png(clear))
    assert engine.shown[0].tolist() == [[[255, 0, 0], [255, 255, 255]]]


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ((), ()),
        ((Piece("below", 0, 20, 30), Piece("above", 50, 0, 10)), ("above", "below")),
        ((Piece("right", 50, 0, 10), Piece(" left ", 0, 4, 14)), ("left right",)),  # centres 4 apart, half a height is 5
        ((Piece("right", 0, 6, 16), Piece("left", 50, 0, 10)), ("left", "right")),
        ((Piece("large", 0, 0, 40), Piece("small", 50, 26, 34)), ("large", "small")),  # the lower of the two decides
        ((Piece("c", 80, 4, 14), Piece("a", 0, 0, 10), Piece("b", 40, 2, 12), Piece("d", 0, 20, 30)), ("a b c", "d")),
    ],
)
def test_pieces_become_lines(pieces, lines):
    assert in_lines(pieces) == lines


@pytest.mark.parametrize("package", ["rapidocr", "onnxruntime"])
def test_a_missing_package_is_named_with_its_install_command(monkeypatch, package):
    monkeypatch.setattr(ocr, "installed", lambda name: "" if name == package else "1.0")
    assert ocr.missing() == package
    with pytest.raises(MissingExtraError) as caught:
        PictureReader().read(noise((8, 8)))
    assert str(caught.value) == (
        f"Reading the words in pictures needs the package {package!r}, which is not installed. "
        "Install it with: pip install 'eyetest[text]'"
    )


def test_nothing_is_missing_here():
    assert ocr.missing() is None
    assert ocr.installed("no-such-package-anywhere") == ""


@pytest.mark.long
def test_captions_of_memes_are_read_with_few_errors():
    caption = "when you realise it is monday and the coffee is gone but my boss said there was one more thing to do"
    reader, words = PictureReader(), caption.split()
    edits = total = 0
    for number in range(12):
        lines = [" ".join(words[number : number + 3]), " ".join(words[number + 3 : number + 6])]
        lines = [line.upper() for line in lines] if number % 2 else lines
        said = " ".join(lines).split()
        edits += Levenshtein.distance(said, reader.read(written(*lines, size=(500, 400))).split())
        total += len(said)
    assert edits / total < 0.05
