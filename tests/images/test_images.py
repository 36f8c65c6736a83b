"""Pictures that people have, and the pixels a person would see in them. Every odd file is made here."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import struct
import subprocess
import sys
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as pil
from PIL import ImageCms, PngImagePlugin

from eyetest import images
from eyetest.errors import BadImageError, MissingExtraError
from eyetest.images import files, pixels
from eyetest.types import Image

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def encoded(picture: pil.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def flat(mode: str, colour: Any, size: tuple[int, int] = (16, 12)) -> pil.Image:
    return pil.new(mode, size, colour)


def red_left_blue_right(size: tuple[int, int] = (32, 16)) -> pil.Image:
    picture = flat("RGB", BLUE, size)
    picture.paste(RED, (0, 0, size[0] // 2, size[1]))
    return picture


def noise(size: tuple[int, int] = (48, 40)) -> pil.Image:
    return pil.fromarray(np.random.default_rng(0).integers(0, 255, (*size[::-1], 3), dtype=np.uint8))


def seen(data: bytes, at: tuple[int, int] = (1, 1)) -> tuple[int, ...]:
    picture = images.decode(Image(data=data))
    assert picture.mode == "RGB"
    pixel = picture.getpixel(at)
    assert isinstance(pixel, tuple)
    return pixel


def near(a: tuple[int, ...], b: tuple[int, ...], by: int = 3) -> bool:
    return max(abs(x - y) for x, y in zip(a, b, strict=True)) <= by


def bad(data: bytes) -> str:
    with pytest.raises(BadImageError) as caught:
        images.check(Image(data=data))
    return str(caught.value)


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, *before_pixels: bytes, bits: int = 8, colour: int = 0, pixels: bytes | None = None) -> bytes:
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    body = png_chunk(b"IDAT", zlib.compress(pixels or b"")) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(before_pixels) + body


def exif(orientation: int) -> pil.Exif:
    block = pil.Exif()
    block[274] = orientation
    return block


# --- what a person sees ---


def test_plain_formats() -> None:
    picture = flat("RGB", (200, 30, 30))
    for kind in ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "PPM", "TGA", "GIF", "JPEG2000", "AVIF", "MPO"):
        assert near(seen(encoded(picture, kind)), (200, 30, 30), by=4), kind


def test_cmyk_jpeg_is_read_as_adobe_writes_it() -> None:
    data = encoded(flat("CMYK", (0, 255, 255, 0)), "JPEG", quality=95)
    assert b"Adobe" in data
    assert near(seen(data), RED)
    assert near(seen(encoded(flat("CMYK", (0, 0, 0, 255)), "JPEG", quality=95)), (0, 0, 0))


def test_ycck_jpeg() -> None:
    # libjpeg's YCCK (jdcolor.c, ycck_cmyk_convert) is the YCbCr of 255 minus the stored ink, and Adobe stores 255 minus the
    # ink: so of the inks themselves. Pillow cannot write it, but it too writes 255 minus the ink: give it 255 - Y, ... and
    # set the transform flag of the Adobe marker from 0 (CMYK) to 2 (YCCK).
    inks_of_red = pil.new("RGB", (16, 16), (0, 255, 255)).convert("YCbCr")
    bands = [band.point(lambda value: 255 - value) for band in inks_of_red.split()]
    data = bytearray(encoded(pil.merge("CMYK", [*bands, flat("L", 0, (16, 16))]), "JPEG", quality=100))
    flag = data.index(b"Adobe") + 11
    assert data[flag] == 0
    data[flag] = 2
    assert near(seen(bytes(data)), RED, by=4)


def test_cmyk_tiff() -> None:
    assert near(seen(encoded(flat("CMYK", (255, 255, 0, 0)), "TIFF")), BLUE)


@pytest.mark.parametrize("kind", ["PNG", "GIF"])
def test_transparent_palette_is_white(kind: str) -> None:
    picture = flat("P", 0)
    picture.putpalette([0, 0, 0, 255, 0, 0])
    picture.putpixel((5, 5), 1)
    data = encoded(picture, kind, transparency=0)
    assert seen(data) == WHITE
    assert seen(data, (5, 5)) == RED


def test_palette_with_partial_transparency() -> None:
    picture = flat("P", 0)
    picture.putpalette([255, 0, 0, 0, 0, 255])
    picture.putpixel((5, 5), 1)
    data = encoded(picture, "PNG", transparency=bytes([128, 255]))
    assert near(seen(data), (255, 127, 127))
    assert seen(data, (5, 5)) == BLUE


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("RGBA", (0, 0, 0, 0), WHITE),
        ("RGBA", (255, 0, 0, 128), (255, 127, 127)),
        ("LA", (0, 128), (127, 127, 127)),
        ("1", 1, WHITE),
        ("1", 0, (0, 0, 0)),
        ("L", 77, (77, 77, 77)),
    ],
)
@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_alpha_and_bilevel(mode: str, colour: Any, expected: tuple[int, ...], kind: str) -> None:
    assert near(seen(encoded(flat(mode, colour), kind)), expected, by=1)


def test_one_transparent_colour() -> None:
    row = b"\0" + bytes([255, 0, 0, 0, 0, 255])
    assert seen(png(2, 1, png_chunk(b"tRNS", struct.pack(">HHH", 255, 0, 0)), colour=2, pixels=row), (0, 0)) == WHITE
    assert seen(png(2, 1, png_chunk(b"tRNS", struct.pack(">HHH", 255, 0, 0)), colour=2, pixels=row), (1, 0)) == BLUE


def test_16_bit_rgb_with_a_transparent_colour_is_shown() -> None:
    row = b"\0" + struct.pack(">HHH", 65535, 0, 0)
    data = png(1, 1, png_chunk(b"tRNS", struct.pack(">HHH", 1000, 2000, 3000)), bits=16, colour=2, pixels=row)
    assert seen(data, (0, 0)) == RED


def test_premultiplied_grey_tiff() -> None:
    data = encoded(flat("LA", (64, 128)), "TIFF")
    straight, premultiplied = (struct.pack("<HHIHH", 338, 3, 1, kind, 0) for kind in (2, 1))  # ExtraSamples
    assert near(seen(data), (159, 159, 159))
    assert straight in data
    assert near(seen(data.replace(straight, premultiplied)), (191, 191, 191))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bit_grey_is_scaled(kind: str) -> None:
    values = np.array([[0, 32768, 65535, 256]], np.uint16)
    picture = images.decode(Image(data=encoded(pil.fromarray(values), kind)))
    assert [p[0] for p in np.asarray(picture)[0]] == [0, 128, 255, 1]


def test_16_bit_grey_with_a_transparent_value() -> None:
    row = b"\0" + struct.pack(">HH", 1000, 1001)
    data = png(2, 1, png_chunk(b"tRNS", struct.pack(">H", 1000)), bits=16, pixels=row)
    assert seen(data, (0, 0)) == WHITE
    assert seen(data, (1, 0)) == (4, 4, 4)


def test_16_bit_white_is_zero() -> None:
    data = encoded(pil.fromarray(np.array([[0, 65535]], np.uint16)), "TIFF", tiffinfo={262: 0})
    assert pil.open(io.BytesIO(data)).tag_v2[262] == 0  # type: ignore[attr-defined]
    assert seen(data, (0, 0)) == WHITE
    assert seen(data, (1, 0)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.0, 0.5, 1.0], [0, 128, 255]),
        ([-10.0, 0.0, 10.0], [0, 128, 255]),
        ([0.0, 100.0, 200.0], [0, 128, 255]),
        ([np.nan, 5.0, 6.0, np.inf, -np.inf], [0, 0, 255, 255, 0]),
        ([np.nan, np.nan], [0, 0]),
        ([7.0, 7.0], [128, 128]),
        ([3e38, -3e38], [255, 0]),
    ],
)
def test_float_tiff(values: list[float], shown: list[int]) -> None:
    data = encoded(pil.fromarray(np.array([values], np.float32)), "TIFF")
    assert [p[0] for p in np.asarray(images.decode(Image(data=data)))[0]] == shown


def test_16_bit_ppm() -> None:
    assert seen(b"P5 1 1 65535\n\x00\xff", (0, 0)) == (1, 1, 1)
    assert seen(b"P5 1 1 1023\n\x02\x00", (0, 0)) == (128, 128, 128)


@pytest.mark.parametrize(
    ("values", "shown"),
    [([0, 100, 255], [0, 100, 255]), ([0, 32768, 65535], [0, 128, 255]), ([-50, 0, 50], [0, 128, 255]), ([0, 2**30], [0, 255])],
)
def test_32_bit_integer_tiff(values: list[int], shown: list[int]) -> None:
    data = encoded(pil.fromarray(np.array([values], np.int32)), "TIFF")
    assert [p[0] for p in np.asarray(images.decode(Image(data=data)))[0]] == shown


def test_lab_tiff() -> None:
    lab = ImageCms.createProfile("LAB")
    to_lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), lab, "RGB", "LAB")
    picture = ImageCms.applyTransform(flat("RGB", RED), to_lab)
    assert picture is not None
    data = encoded(picture, "TIFF")
    assert pil.open(io.BytesIO(data)).mode == "LAB"
    assert near(seen(data), RED, by=6)


def swapped_profile() -> bytes:
    """An sRGB profile whose red and blue primaries are exchanged: (255, 0, 0) in it looks blue."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, blue = profile.index(b"rXYZ"), profile.index(b"bXYZ")
    profile[red : red + 4], profile[blue : blue + 4] = b"bXYZ", b"rXYZ"
    return bytes(profile)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "JPEG"])
def test_icc_profile_is_applied_once(kind: str) -> None:
    picture = images.decode(Image(data=encoded(flat("RGB", RED), kind, icc_profile=swapped_profile())))
    assert near(picture.getpixel((1, 1)), BLUE, by=4)  # type: ignore[arg-type]
    assert picture.info == {}


def test_icc_profile_of_a_palette_and_of_alpha() -> None:
    profile = swapped_profile()
    assert near(seen(encoded(flat("RGB", RED).convert("P"), "PNG", icc_profile=profile)), BLUE, by=4)
    assert near(seen(encoded(flat("RGBA", (255, 0, 0, 0)), "PNG", icc_profile=profile)), WHITE)


def test_srgb_profile_changes_nothing() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    picture = noise()
    image = Image(data=encoded(picture, "PNG", icc_profile=profile))
    assert images.decode(image).tobytes() == picture.tobytes()
    assert sent(image) == ("image/png", image.data)


@pytest.mark.parametrize("profile", [b"nonsense" * 40, ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()])
def test_unusable_icc_profile_is_ignored(profile: bytes) -> None:
    assert near(seen(encoded(flat("RGB", RED), "JPEG", icc_profile=profile)), RED)
    assert near(seen(encoded(flat("CMYK", (0, 255, 255, 0)), "JPEG", icc_profile=profile)), RED)
    assert seen(encoded(flat("L", 99), "PNG", icc_profile=profile)) == (99, 99, 99)


def upright(orientation: int, picture: pil.Image) -> pil.Image:
    """The stored pixels that the orientation turns back into `picture`."""
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    return picture.transpose(pil.Transpose(undo[orientation])) if orientation > 1 else picture


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "AVIF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation(kind: str, orientation: int) -> None:
    wanted = flat("RGB", BLUE, (32, 16))
    wanted.paste(RED, (0, 0, 16, 16))
    wanted.paste((0, 255, 0), (0, 0, 16, 8))  # green top left, red below it, blue on the right
    data = encoded(upright(orientation, wanted), kind, exif=exif(orientation), quality=95)
    image = Image(data=data)
    picture = images.decode(image)
    assert images.size(image) == picture.size == (32, 16)
    for at, colour in (((4, 4), (0, 255, 0)), ((4, 12), RED), ((28, 4), BLUE), ((28, 12), BLUE)):
        assert near(picture.getpixel(at), colour, by=12), at  # type: ignore[arg-type]


def test_exif_of_both_byte_orders_and_nonsense() -> None:
    stored = red_left_blue_right()
    for order, block in (("<", b"II*\0"), (">", b"MM\0*")):
        entry = struct.pack(order + "IHHHIHH", 8, 1, 274, 3, 1, 3, 0)
        assert near(seen(encoded(stored, "JPEG", exif=b"Exif\0\0" + block + entry)), BLUE), order
        wild = struct.pack(order + "IHHHIHH", 8, 1, 274, 3, 1, 99, 0)
        assert near(seen(encoded(stored, "JPEG", exif=b"Exif\0\0" + block + wild)), RED), order
    for nonsense in (b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"):
        assert near(seen(encoded(stored, "PNG", exif=nonsense)), RED), nonsense


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF", "MPO"])
def test_first_frame_of_an_animation(kind: str) -> None:
    data = encoded(flat("RGB", RED), kind, save_all=True, append_images=[flat("RGB", BLUE), flat("RGB", WHITE)])
    assert getattr(pil.open(io.BytesIO(data)), "n_frames", 1) == 3
    assert near(seen(data), RED)


@pytest.mark.parametrize("size", [(1, 1), (4000, 2), (2, 4000)])
def test_extreme_sizes(size: tuple[int, int]) -> None:
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"):
        image = Image(data=encoded(flat("RGB", RED, size), kind))
        assert images.size(image) == images.decode(image).size == size


def test_png_named_jpg(tmp_path: Path) -> None:
    path = tmp_path / "meme.jpg"
    path.write_bytes(encoded(flat("RGB", RED), "PNG"))
    assert images.decode(Image(path=str(path))).getpixel((0, 0)) == RED
    assert images.data_uri(Image(path=str(path))).startswith("data:image/png;")


# --- refusals ---


def test_over_the_pixel_cap_before_decoding() -> None:
    for size in ((100_000, 100_000), (2**31 - 1, 2**31 - 1), (10_001, 10_000)):
        message = bad(png(*size))
        assert f"{size[0]} x {size[1]}" in message
        assert "over the limit of 100,000,000" in message
        with pytest.raises(BadImageError, match="over the limit"):
            images.size(Image(data=png(*size)))


def test_just_under_the_cap_gives_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixels, "MAX_PIXELS", 8000)
    monkeypatch.setattr(pil, "MAX_IMAGE_PIXELS", 5000)  # between Pillow's warning (5,000) and its error (10,000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP"):
            images.check(Image(data=encoded(flat("RGB", RED, (70, 100)), kind)))
        assert "over the limit of 5,000" in bad(encoded(flat("RGB", RED, (70, 100)), "TIFF"))
        assert "over the limit of 8,000" in bad(encoded(flat("RGB", RED, (90, 100)), "PNG"))


def test_limits_of_pillow_stay_as_they_were() -> None:
    from PIL import ImageFile

    before = (pil.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters))
    images.check(Image(data=encoded(noise(), "JPEG")))
    bad(encoded(noise(), "JPEG")[:-500])
    assert (pil.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters)) == before


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "AVIF", "JPEG2000"])
@pytest.mark.parametrize("kept", [0.3, 0.95])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_truncated(kind: str, kept: float, tmp_path: Path) -> None:
    data = encoded(noise(), kind)
    path = tmp_path / "cut.bin"
    path.write_bytes(data[: int(len(data) * kept)])
    for function in (images.check, images.data_uri):
        with pytest.raises(BadImageError) as caught:
            function(Image(path=str(path)))
        assert str(caught.value).startswith(f"The picture {path} is ")


def test_truncated_file_says_so() -> None:
    assert "image file is truncated" in bad(encoded(noise(), "JPEG")[:-2])
    assert "is truncated: its" in bad(encoded(noise(), "PNG")[:-1])


def test_broken_png() -> None:
    good = encoded(noise(), "PNG")
    at = good.index(b"IDAT") + 40
    wrong = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
    assert f"the PNG chunk 'IDAT' at byte {good.index(b'IDAT') - 4} has a wrong checksum" in bad(wrong)
    broken_stream = bytearray(zlib.compress(bytes(13 * 12)))
    broken_stream[2] ^= 0xFF
    header = png(12, 12)
    start = header.index(b"IDAT") - 4
    assert "broken data stream" in bad(header[:start] + png_chunk(b"IDAT", bytes(broken_stream)) + png_chunk(b"IEND", b""))
    assert "PNG" in bad(good[:8])


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt"])
def test_decompression_bomb_in_a_text_chunk(kind: bytes, after: bool) -> None:
    bomb = zlib.compress(bytes(PngImagePlugin.MAX_TEXT_CHUNK + 100))
    head = b"k\0\0" if kind == b"zTXt" else b"k\0\1\0\0\0"
    chunk = png_chunk(kind, head + bomb)
    good = png(1, 1, pixels=b"\0\x80")
    at = good.index(b"IEND" if after else b"IDAT") - 4
    assert "Decompressed data too large" in bad(good[:at] + chunk + good[at:])


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (b"<!DOCTYPE html><html><body>404</body></html>", "looks like HTML"),
        (b"\xef\xbb\xbf\n <HTML>", "looks like HTML"),
        (b'<?xml version="1.0"?>\n<svg xmlns="x"></svg>', "looks like SVG"),
        (b"<svg/>", "looks like SVG"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "looks like XML"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "looks like a Git LFS pointer (fetch"),
        (b'{"error": "not found"}', "looks like JSON"),
        (b"%PDF-1.7 ...", "looks like PDF"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "looks like EPS"),
        (b"\xc5\xd0\xd3\xc6\x20\0", "looks like EPS"),
        (b"8BPS\0\1", "looks like PSD"),
        (b"PK\3\4", "looks like a ZIP"),
        (b"\0\0\0\x18ftypheic", "looks like HEIC"),
        (b"\0\0\0\x18ftypisom", "looks like a video"),
        (b"Image not found", "looks like text"),
        (b"\x01\x02\x03\x04", "unknown content (begins with 01 02 03 04)"),
    ],
)
def test_not_a_picture(content: bytes, looks: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    for function in (images.decode, images.size, images.data_uri, images.check):
        with pytest.raises(BadImageError) as caught:
            function(Image(path=str(path)))
        message = str(caught.value)
        assert f"{path} is not a picture: {looks}" in message
        assert "Expected PNG, JPEG, GIF" in message


def test_formats_outside_the_list_are_not_opened() -> None:
    assert "is not a picture" in bad(encoded(flat("RGB", RED), "PCX"))
    assert "looks like EPS" in bad(encoded(flat("RGB", RED), "EPS"))


SEEDS = [
    encoded(noise(), "PNG"),
    encoded(noise().convert("P"), "PNG", transparency=3),
    encoded(noise(), "JPEG", exif=exif(6)),
    encoded(noise().convert("CMYK"), "JPEG"),
    encoded(noise(), "GIF", save_all=True, append_images=[noise().rotate(90)]),
    encoded(noise(), "WEBP"),
    encoded(noise().convert("RGBA"), "WEBP", lossless=True),
    encoded(noise(), "TIFF"),
    encoded(noise(), "TIFF", compression="tiff_lzw"),
    encoded(noise(), "BMP"),
]


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(
    seed=st.sampled_from(SEEDS),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
    early=st.booleans(),
    kept=st.floats(0, 1),
)
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_raise_nothing_else(seed: bytes, flips: list[tuple[float, int]], early: bool, kept: float) -> None:
    data = bytearray(seed)
    for where, value in flips:
        data[int(where * (min(200, len(data)) if early else len(data)))] = value
    cut = bytes(data[: int(len(data) * kept)] if kept < 0.7 else data)
    for function in (images.check, images.size, lambda image: images.data_uri(image, max_side=20)):
        try:
            function(Image(data=cut))
        except BadImageError as error:
            assert str(error).startswith("The picture <picture given as bytes> ")  # noqa: PT017


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    start=st.sampled_from([b"", b"BM", b"II*\0", b"MM\0*", b"GIF89a", b"P6 ", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8X"]),
    rest=st.binary(),
)
@pytest.mark.filterwarnings("ignore")
def test_random_bytes_raise_nothing_else(start: bytes, rest: bytes) -> None:
    for function in (images.decode, images.size, images.data_uri):
        try:
            function(Image(data=start + rest))
        except BadImageError:
            continue


# --- reading ---


def test_read_bytes_of_path_and_data(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"123")
    assert images.read_bytes(Image(path=str(path))) == b"123"
    assert images.read_bytes(Image(data=b"45", operations=("blank",))) == b"45"


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, reason in {
        "no.png": "does not exist",
        "empty.png/x.png": "does not exist",
        "empty.png": "is empty (0 bytes)",
        "": "is a directory",
        "pipe": "is not a regular file",
        "loop": "cannot be read: Too many levels of symbolic links",
        "nul\0.png": "cannot be read: embedded null byte",
    }.items():
        path = str(tmp_path / name)
        for function in (images.read_bytes, images.check, images.digest):
            with pytest.raises(BadImageError) as caught:
                function(Image(path=path))
            assert str(caught.value).startswith(f"The picture {path} {reason}")


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"1")

    def refuse(*_args: Any, **_options: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))  # tests may run as root, whom no mode bits stop

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(BadImageError, match=r"permission denied\. Give yourself the right to read it"):
        images.read_bytes(Image(path=str(path)))


def test_too_many_bytes_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(images.MAX_BYTES + 1)  # sparse
    with pytest.raises(BadImageError, match=r"has 268,435,457 bytes, over the limit of 268,435,456"):
        images.read_bytes(Image(path=str(path)))


def test_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"one")
    image = Image(path=str(path))
    assert images.digest(image) == hashlib.sha256(b"one").hexdigest()
    assert images.digest(Image(data=b"one", operations=("blank",))) == images.digest(image)
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert images.digest(image) == hashlib.sha256(b"two").hexdigest()


def test_digest_reads_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"once")
    expected = images.digest(Image(path=str(path)))
    monkeypatch.setattr(files, "read_bytes", lambda _image: pytest.fail("read twice"))
    assert images.digest(Image(path=str(path), operations=("blank",))) == expected


def parquet(folder: Path, column: list[Any], type_: Any = None, name: str = "a.parquet") -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = str(folder / name)
    pq.write_table(pa.table({"image": pa.array(column, type_)}), path, row_group_size=2)
    return path


def test_parquet_members(tmp_path: Path) -> None:
    path = parquet(tmp_path, [b"r0", b"r1", b"r2", b"r3", b"r4"])
    rows = [Image(path=path, member=f"image:{row}") for row in (4, 0, 3, 1, 2)]
    assert [images.read_bytes(image) for image in rows] == [b"r4", b"r0", b"r3", b"r1", b"r2"]
    assert images.digest(rows[0]) == hashlib.sha256(b"r4").hexdigest()


def test_parquet_structs(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"file")
    cells = [
        {"bytes": b"cell", "path": "gone.png"},
        {"bytes": None, "path": "pictures/a.png"},
        {"bytes": None, "path": None},
        None,
        {"bytes": None, "path": "../secret.png"},
        {"bytes": None, "path": "/etc/hostname"},
        {"bytes": None, "path": "pictures/no.png"},
        {"bytes": b"", "path": None},
    ]
    path = parquet(tmp_path, cells)
    assert images.read_bytes(Image(path=path, member="image:0")) == b"cell"
    assert images.read_bytes(Image(path=path, member="image:1")) == b"file"
    for row, reason in {
        2: "is null",
        3: "is null",
        4: "points outside the dataset's folder (../secret.png)",
        5: "points outside the dataset's folder (/etc/hostname)",
        6: f"does not exist ({tmp_path}/pictures/no.png)",
        7: "is empty",
    }.items():
        with pytest.raises(BadImageError) as caught:
            images.read_bytes(Image(path=path, member=f"image:{row}"))
        assert str(caught.value).startswith(f"The picture {path}[image:{row}] {reason}")


def test_parquet_mistakes(tmp_path: Path) -> None:
    path = parquet(tmp_path, ["text", "text"])
    for member, reason in {
        "image:0": "is a cell of type str. Expected bytes or a struct {bytes, path}.",
        "image:2": "does not exist: the file has 2 rows.",
        "picture:0": "does not exist: no column 'picture'. Columns: image.",
    }.items():
        with pytest.raises(BadImageError) as caught:
            images.read_bytes(Image(path=path, member=member))
        assert f"{path}[{member}] {reason}" in str(caught.value)
    broken = tmp_path / "b.parquet"
    broken.write_bytes(b"PAR1 not really")
    with pytest.raises(BadImageError, match="cannot be read from the Parquet file"):
        images.read_bytes(Image(path=str(broken), member="image:0"))
    for image in (
        Image(path=path, member="image"),
        Image(path="a.zip", member="image:1"),
        Image(path=path, member="image:-1"),
        Image(),
    ):
        with pytest.raises(ValueError):
            images.read_bytes(image)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = Image(path=parquet(tmp_path, [b"a"]), member="image:0")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"Reading pictures from a Parquet file needs .* pip install 'eyetest\[data\]'"):
        images.read_bytes(image)


def test_parquet_cache_notices_a_change_and_stays_small(tmp_path: Path) -> None:
    image = Image(path=parquet(tmp_path, [b"a"] * 10), member="image:0")
    assert images.read_bytes(image) == b"a"
    parquet(tmp_path, [b"bb"] * 12)
    assert images.read_bytes(image) == b"bb"
    assert files._row_group.cache_info().maxsize == 2


# --- operations ---


def test_blank() -> None:
    image = images.with_operation(Image(data=encoded(red_left_blue_right(), "PNG", exif=exif(6))), "blank")
    assert image.operations == ("blank",)
    picture = images.decode(image)
    assert picture.size == images.size(image) == (16, 32)
    assert picture.getextrema() == ((127, 127), (127, 127), (127, 127))


def test_blank_of_a_broken_picture_is_still_bad() -> None:
    with pytest.raises(BadImageError):
        images.decode(images.with_operation(Image(data=encoded(noise(), "JPEG")[:-300]), "blank"))


def test_operations_run_in_order_with_their_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    paint = {"paint": lambda picture, argument: flat("RGB", argument, picture.size)}
    monkeypatch.setattr(pixels, "OPERATIONS", {**images.OPERATIONS, **paint})
    image = images.with_operation(images.with_operation(Image(data=encoded(noise(), "PNG")), "blank"), "paint:red")
    assert images.decode(image).getpixel((0, 0)) == RED


def test_unknown_operation_is_a_bug() -> None:
    with pytest.raises(ValueError, match=r"Unknown picture operation 'blurr:2'. Known: blank"):
        images.with_operation(Image(data=b"x"), "blurr:2")
    with pytest.raises(ValueError, match="Unknown picture operation 'x'"):
        images.decode(Image(data=encoded(noise(), "PNG"), operations=("x",)))


# --- the form for APIs ---


def sent(image: Image, max_side: int | None = None) -> tuple[str, bytes]:
    head, _, body = images.data_uri(image, max_side=max_side).partition(",")
    assert head.startswith("data:")
    assert head.endswith(";base64")
    return head[5:-7], base64.b64decode(body, validate=True)


@pytest.mark.parametrize(
    ("kind", "mime"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")]
)
def test_plain_pictures_go_out_unchanged_and_undecoded(kind: str, mime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(noise(), kind)
    monkeypatch.setattr(pixels, "_decode", lambda *_: pytest.fail("decoded"))
    assert sent(Image(data=data)) == (mime, data)
    assert sent(Image(data=data), max_side=48) == (mime, data)


def test_bytes_after_the_end_are_kept() -> None:
    data = encoded(noise(), "JPEG") + b"\0\0\0"
    assert sent(Image(data=data)) == ("image/jpeg", data)


@pytest.mark.parametrize(
    "data",
    [
        encoded(red_left_blue_right(), "TIFF"),
        encoded(red_left_blue_right(), "BMP"),
        encoded(red_left_blue_right().transpose(pil.Transpose.ROTATE_90), "JPEG", exif=exif(6), quality=95),
        encoded(red_left_blue_right().convert("RGBA"), "PNG"),
        encoded(red_left_blue_right().convert("CMYK"), "JPEG", quality=95),
        encoded(red_left_blue_right(), "GIF", save_all=True, append_images=[noise((32, 16))]),
        encoded(red_left_blue_right(), "WEBP", save_all=True, append_images=[noise((32, 16))], lossless=True),
        encoded(red_left_blue_right(), "PNG", save_all=True, append_images=[noise((32, 16))]),
        encoded(red_left_blue_right().convert("P"), "PNG", transparency=200),
        encoded(red_left_blue_right().transpose(pil.Transpose.ROTATE_180), "PNG", icc_profile=swapped_profile()),
    ],
    ids=["tiff", "bmp", "turned", "alpha", "cmyk", "gif", "webp", "apng", "palette", "profile"],
)
def test_everything_else_is_sent_as_a_person_sees_it(data: bytes) -> None:
    mime, body = sent(Image(data=data))
    picture = pil.open(io.BytesIO(body))
    assert (mime, picture.format, picture.mode, picture.size) == ("image/png", "PNG", "RGB", (32, 16))
    assert picture.tobytes() == images.decode(Image(data=data)).tobytes()
    assert near(picture.getpixel((2, 2)), RED, by=6)  # type: ignore[arg-type]
    assert near(picture.getpixel((29, 2)), BLUE, by=6)  # type: ignore[arg-type]


def test_16_bit_grey_is_not_left_to_the_client() -> None:
    mime, body = sent(Image(data=encoded(pil.fromarray(np.full((4, 4), 32768, np.uint16)), "PNG")))
    assert (mime, pil.open(io.BytesIO(body)).convert("RGB").getpixel((0, 0))) == ("image/png", (128, 128, 128))


def test_scaled_down_and_blank() -> None:
    image = Image(data=encoded(red_left_blue_right((400, 200)), "JPEG", quality=95))
    mime, body = sent(image, max_side=100)
    picture = pil.open(io.BytesIO(body))
    assert (mime, picture.size) == ("image/png", (100, 50))
    assert near(picture.getpixel((10, 10)), RED)  # type: ignore[arg-type]
    assert pil.open(io.BytesIO(sent(images.with_operation(image, "blank"))[1])).getextrema() == ((127, 127),) * 3
    thin = Image(data=encoded(flat("RGB", RED, (4000, 2)), "PNG"))
    assert pil.open(io.BytesIO(sent(thin, max_side=100)[1])).size == (100, 1)
    with pytest.raises(ValueError, match="max_side must be at least 1, not 0"):
        images.data_uri(image, max_side=0)


def test_large_png_becomes_jpeg() -> None:
    mime, body = sent(Image(data=encoded(noise((900, 800)), "BMP")))
    assert (mime, pil.open(io.BytesIO(body)).format) == ("image/jpeg", "JPEG")


def test_no_picture_over_the_limit_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    original = encoded(noise((400, 300)), "JPEG")
    monkeypatch.setattr("eyetest.images.pixels.API_LIMIT", len(original))
    assert sent(Image(data=original)) == ("image/jpeg", original)
    monkeypatch.setattr("eyetest.images.pixels.PNG_LIMIT", 1000)
    monkeypatch.setattr("eyetest.images.pixels.API_LIMIT", 20_000)
    mime, body = sent(Image(data=original))
    assert mime == "image/jpeg"
    assert len(body) <= 20_000
    width, height = pil.open(io.BytesIO(body)).size
    assert width in {320, 256, 204, 163, 130}  # 400 x 0.8, as often as it takes
    assert height == round(width * 3 / 4)


def test_a_cut_off_picture_is_not_sent() -> None:
    for kind in ("JPEG", "PNG", "GIF", "WEBP"):
        with pytest.raises(BadImageError):
            images.data_uri(Image(data=encoded(noise(), kind)[:-100]))


def test_api_form_tells_the_settings_apart() -> None:
    assert images.api_form(None) == "picture/1:max_side=any,lanczos,png<=1500000,jpeg-q90,all<=15000000,x0.8"
    assert len({images.api_form(None), images.api_form(512), images.api_form(1024)}) == 3


# --- the module ---


def test_threads(tmp_path: Path) -> None:
    table = parquet(tmp_path, [encoded(flat("RGB", (i, 0, 0)), "PNG", icc_profile=swapped_profile()) for i in range(0, 240, 12)])
    rows = [Image(path=table, member=f"image:{i % 20}") for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        several = list(pool.map(lambda image: images.decode(image).tobytes(), rows))
    assert several == [images.decode(image).tobytes() for image in rows]


def test_import_is_light() -> None:
    code = "import sys, eyetest.images; print([m for m in ('PIL', 'numpy', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_parquet_list_items_and_the_suffix_in_capitals(tmp_path: Path) -> None:
    path = parquet(tmp_path, [[b"r0i0", b"r0i1"], [b"r1i0"]], name="A.PARQUET")
    assert images.read_bytes(Image(path=path, member="image[1]:0")) == b"r0i1"
    assert images.read_bytes(Image(path=path, member="image[0]:1")) == b"r1i0"
    with pytest.raises(BadImageError, match="its cell holds no such item"):
        images.read_bytes(Image(path=path, member="image[1]:1"))
