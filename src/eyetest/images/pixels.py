"""Pixels as a person sees them, and the form in which an API is sent a picture.

Nothing is decoded before `decode`, `check` or a `data_uri` that must re-encode. Every fault of a file is a
`BadImageError` that names the picture. All functions may be called from several threads at once.

What `decode` makes of a file (always 8-bit RGB):

* animations and multi-page files: the first frame; EXIF orientation (IFD 0, tag 274) is applied;
* transparency is laid on white; an embedded ICC profile is converted to sRGB, a broken one ignored;
* CMYK and YCCK JPEG are read as Adobe writes them (inverted), as browsers do;
* 16-bit grey is divided by 257; 32-bit integers map 0..255, else 0..65535, else their own minimum..maximum to 0..255;
* floats map 0..1, else the minimum..maximum of the finite values, to 0..255; nan is black, a flat picture outside 0..1 mid grey.
"""

from __future__ import annotations

import base64
import importlib
import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

from eyetest.images.files import bad, read_bytes
from eyetest.types import Image

if TYPE_CHECKING:
    import numpy as np
    from PIL import ImageCms
    from PIL.Image import Image as Pixels
    from PIL.ImageFile import ImageFile

MAX_PIXELS = 100_000_000
"""Largest picture, in width times height; checked in the header. TIFF also keeps Pillow's own limit, 89 million."""

PNG_LIMIT = 1_500_000
"""A picture that `data_uri` re-encodes becomes PNG; over this many bytes it becomes JPEG instead."""

JPEG_QUALITY = 90
"""Quality (1-95) of those JPEG files."""

API_LIMIT = 15_000_000
"""Bytes of the largest picture that `data_uri` sends, before base64: servers refuse requests of some 20 MB."""

SHRINK = 0.8
"""Factor for the sides of a JPEG over API_LIMIT, as often as it takes."""

READABLE = "PNG, JPEG, GIF, WebP, TIFF, BMP, PPM, TGA, JPEG 2000 or AVIF"

# Opened by their first bytes, never by the file's name, and only from this list: Pillow's other readers run external
# programs (EPS, WMF) or have no use here. format: (plug-in module, class, pattern of the first bytes).
_FORMATS: Mapping[str, tuple[str, str, re.Pattern[bytes]]] = {
    name: (f"PIL.{module}", class_name, re.compile(start, re.DOTALL))
    for name, module, class_name, start in (
        ("JPEG", "JpegImagePlugin", "JpegImageFile", rb"\xff\xd8\xff"),
        ("PNG", "PngImagePlugin", "PngImageFile", rb"\x89PNG\r\n\x1a\n"),
        ("GIF", "GifImagePlugin", "GifImageFile", rb"GIF8[79]a"),
        ("WEBP", "WebPImagePlugin", "WebPImageFile", rb"RIFF.{4}WEBPVP8"),
        ("BMP", "BmpImagePlugin", "BmpImageFile", rb"BM"),
        ("TIFF", "TiffImagePlugin", "TiffImageFile", rb"II[*+]\0|MM\0[*+]"),
        ("PPM", "PpmImagePlugin", "PpmImageFile", rb"P[1-6]\s"),
        ("AVIF", "AvifImagePlugin", "AvifImageFile", rb".{4}ftypavi[fs]"),
        ("JPEG2000", "Jpeg2KImagePlugin", "Jpeg2KImageFile", rb"\xff\x4f\xff\x51|\0\0\0\x0cjP  \r\n\x87\n"),
    )
}
_TGA = ("PIL.TgaImagePlugin", "TgaImageFile")
_TGA_END = b"TRUEVISION-XFILE.\0"  # TGA has no mark at its start, only this one at its end

# What people have under the name of a picture, by the first bytes (white space stripped, in either case).
_LOOKS_LIKE: tuple[tuple[str, str], ...] = (
    ("HTML (a web page)", r"<!doctype html|<html|<head|<body"),
    ("SVG (a drawing; render it to PNG first)", r"<svg|(<\?xml.*|<!--.*)<svg"),
    ("XML", r"<\?xml"),
    ("a Git LFS pointer (fetch the files with: git lfs pull)", r"version https://git-lfs"),
    ("HEIC (convert it to JPEG first)", r".{4}ftyp(hei|hev|mif1|msf1)"),
    ("a video", r".{4}ftyp|\x1a\x45\xdf\xa3"),
    ("PDF", r"%PDF"),
    ("EPS or PostScript", r"%!PS|\xc5\xd0\xd3\xc6"),
    ("PSD (export it to PNG first)", r"8BPS"),
    ("a ZIP archive", r"PK\x03\x04"),
    ("gzip", r"\x1f\x8b"),
    ("JSON", r"[\[{]\s*[\"{\[\]}]"),
)

_MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}


def decode(image: Image) -> Pixels:
    """The picture a person sees, 8-bit RGB, operations applied; the rules are in the module's docstring.

    Raises BadImageError if the file is damaged, not a picture, or over MAX_PIXELS.
    """
    return _decode(image, read_bytes(image))


def check(image: Image) -> None:
    """Decode the picture fully; raises BadImageError if that fails."""
    decode(image)


def size(image: Image) -> tuple[int, int]:
    """(width, height) in pixels as a person sees it (EXIF orientation applied), from the header alone."""
    data = read_bytes(image)
    with _reporting(image):
        opened = _open(image, data)
        width, height = opened.size
        return (height, width) if _orientation(opened) >= 5 else (width, height)


def with_operation(image: Image, operation: str) -> Image:
    """The same picture with one more operation, e.g. `blank`, applied after those it already has."""
    _operation(operation)
    return replace(image, operations=(*image.operations, operation))


def data_uri(image: Image, *, max_side: int | None = None) -> str:
    """`data:` URI (base64) for an API.

    The original bytes go out unchanged if every client shows them as `decode` does: PNG, JPEG, WebP or still GIF; RGB, grey or
    palette; opaque, upright, sRGB; without operations, no side over `max_side` pixels, not over API_LIMIT. Everything else is
    decoded, scaled down to `max_side` (Lanczos) and encoded as PNG, or as JPEG of quality JPEG_QUALITY if the PNG passes
    PNG_LIMIT; a JPEG over API_LIMIT is scaled down by SHRINK until it fits.
    """
    if max_side is not None and max_side < 1:
        raise ValueError(f"max_side must be at least 1, not {max_side}.")
    data = read_bytes(image)
    with _reporting(image):
        opened = _open(image, data)
        fits = len(data) <= API_LIMIT and (max_side is None or max(opened.size) <= max_side)
        as_is = fits and not image.operations and _is_plain(opened)
        kind = opened.format or ""
    if not as_is:
        return _uri(*_encode(_scale_down(_decode(image, data), max_side)))
    if not _ends_well(kind, data):  # perhaps cut off: an API must not be the first to find out
        _decode(image, data)
    return _uri(_MIME[kind], data)


def api_form(max_side: int | None) -> str:
    """How `data_uri` makes what is sent; part of a cache identity, so that a change of the rules changes the key."""
    side = "any" if max_side is None else str(max_side)
    return f"picture/1:max_side={side},lanczos,png<={PNG_LIMIT},jpeg-q{JPEG_QUALITY},all<={API_LIMIT},x{SHRINK}"


# --- opening ---------------------------------------------------------------------------------------------------------


@cache
def _pillow_errors() -> tuple[type[Exception], ...]:
    """Everything that Pillow's readers raise on damaged files (its documentation and its source)."""
    from PIL.Image import DecompressionBombError

    return (
        OSError,  # most faults, UnidentifiedImageError included
        SyntaxError,  # "not identified by this driver", broken PNG chunks
        ValueError,  # text chunks that are decompression bombs, bad modes, UnicodeDecodeError
        TypeError,
        AssertionError,
        LookupError,  # IndexError, KeyError: tables and palettes that end too early
        ArithmeticError,  # OverflowError, ZeroDivisionError: impossible sizes and resolutions
        RuntimeError,  # codecs without the feature that a file needs
        EOFError,
        MemoryError,
        struct.error,
        zlib.error,
        DecompressionBombError,
        Warning,  # Pillow's remarks about metadata, where Python runs with -W error
    )


@contextmanager
def _reporting(image: Image) -> Iterator[None]:
    """Turn whatever Pillow raises into a BadImageError: the one place where that happens."""
    try:
        yield
    except _pillow_errors() as error:
        reason = str(error) if isinstance(error, OSError | SyntaxError | ValueError) else f"{type(error).__name__}: {error}"
        raise bad(image, f"is damaged or of an unknown variety: {reason.rstrip('. ')}") from error


@cache
def _reader(module: str, class_name: str) -> Callable[[io.BytesIO], ImageFile]:
    reader = getattr(importlib.import_module(module), class_name)
    if class_name == "JpegImageFile":  # do not parse the whole EXIF for a resolution: slow, and warns about damaged fields
        reader = type("Jpeg", (reader,), {"_read_dpi_from_exif": lambda _self: None})
    return cast("Callable[[io.BytesIO], ImageFile]", reader)


def _open(image: Image, data: bytes) -> ImageFile:
    """Read the header and check the size.

    The plug-in's class is called directly: `PIL.Image.open` would first try every format and would warn above a global limit.
    """
    found = next(((name, module) for name, (module, _, start) in _FORMATS.items() if start.match(data)), None)
    name, where = (found[0], _FORMATS[found[0]][:2]) if found else ("TGA", _TGA)
    if not found and not data.endswith(_TGA_END):
        raise bad(image, f"is not a picture: {_looks_like(data)}. Expected {READABLE}")
    try:
        reader = _reader(*where)
    except ImportError:
        raise bad(image, f"is {name}, which this Pillow cannot read", "Update it: pip install -U pillow.") from None
    if name == "PNG":
        _check_png(image, data)
    opened = reader(io.BytesIO(data))
    _check_pixels(image, opened)
    return opened


def _check_pixels(image: Image, opened: ImageFile) -> None:
    from PIL.Image import MAX_IMAGE_PIXELS

    # Pillow's TIFF reader compares with this limit once more and would warn.
    limit = min(MAX_PIXELS, MAX_IMAGE_PIXELS or MAX_PIXELS) if opened.format == "TIFF" else MAX_PIXELS
    width, height = opened.size
    if width * height > limit:
        what = f"has {width} x {height} = {width * height:,} pixels, over the limit of {limit:,}"
        raise bad(image, what, "Scale it down or leave the row out.")


def _check_png(image: Image, data: bytes) -> None:
    """Checksum of every chunk up to IEND (PNG 1.2, section 3.2): Pillow skips those of the pixel data."""
    at = 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, end = data[at + 4 : at + 8], at + 8 + length
        if end + 4 > len(data):
            break
        if zlib.crc32(memoryview(data)[at + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            raise bad(image, f"is damaged: the PNG chunk {kind.decode('latin-1')!r} at byte {at} has a wrong checksum")
        if kind == b"IEND":
            return
        at = end + 4
    raise bad(image, f"is truncated: its {len(data):,} bytes end before the PNG's last chunk (IEND)")


def _looks_like(data: bytes) -> str:
    """What a file without a picture's first bytes seems to be."""
    head = data[:1024].removeprefix(b"\xef\xbb\xbf")
    text = head.lstrip().decode("latin-1")
    for what, pattern in _LOOKS_LIKE:
        if re.match(pattern, text, re.DOTALL | re.IGNORECASE):
            return f"looks like {what}"
    if all(byte >= 32 or byte in b"\t\n\r\f" for byte in head):
        return "looks like text"
    return f"unknown content (begins with {data[:8].hex(' ')})"


def _orientation(opened: ImageFile) -> int:
    """EXIF orientation still to be applied, 1-8 (EXIF 2.32, tag 274 of IFD 0); 1 when absent or unreadable, as viewers do.

    Parsed here because Pillow warns about every other damaged field; its TIFF reader applies the orientation by itself.
    """
    exif = opened.info.get("exif")
    if opened.format == "TIFF" or not isinstance(exif, bytes):
        return 1
    block = exif.removeprefix(b"Exif\0\0")
    order = "<" if block.startswith(b"II") else ">"
    try:
        (start,) = struct.unpack_from(order + "I", block, 4)
        (count,) = struct.unpack_from(order + "H", block, start)
        for i in range(count):
            tag, value = struct.unpack_from(order + "H6xH", block, start + 2 + 12 * i)
            if tag == 274:
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1


# --- pixels ----------------------------------------------------------------------------------------------------------


def _decode(image: Image, data: bytes) -> Pixels:
    with _reporting(image):
        opened = _open(image, data)
        turn = _orientation(opened)  # before load(), which may find more EXIF: `size` must agree
        opened.load()
        picture = _upright(_rgb(opened), turn)
        picture.info = {}  # the profile and the orientation are used up: nobody may apply them again
    for operation in image.operations:
        function, argument = _operation(operation)
        picture = function(picture, argument)
    return picture


def _upright(picture: Pixels, orientation: int) -> Pixels:
    from PIL.Image import Transpose as T

    if orientation == 1:
        return picture
    turns = (T.FLIP_LEFT_RIGHT, T.ROTATE_180, T.FLIP_TOP_BOTTOM, T.TRANSPOSE, T.ROTATE_270, T.TRANSVERSE, T.ROTATE_90)
    return picture.transpose(turns[orientation - 2])


def _rgb(opened: ImageFile) -> Pixels:
    """Any mode to 8-bit RGB, as a new picture."""
    if opened.mode.startswith(("I", "F")):
        return _scaled_grey(opened)
    picture: Pixels = opened
    if opened.has_transparency_data:
        picture = _on_white(opened)
    elif opened.mode == "P":
        picture = opened.convert("RGB")
    to_srgb = _srgb_transform(opened.info.get("icc_profile"), picture.mode)
    if to_srgb is None:
        return picture.convert("RGB")
    from PIL import ImageCms

    return ImageCms.applyTransform(picture, to_srgb) or picture.convert("RGB")


def _on_white(picture: Pixels) -> Pixels:
    from PIL import Image as pil

    straight = picture.convert("LA") if picture.mode == "La" else picture  # La converts to nothing else
    white = pil.new("RGBA", picture.size, "white")
    white.alpha_composite(straight.convert("RGBA"))
    return white.convert("RGB")


@lru_cache(maxsize=32)
def _srgb_transform(profile: bytes | None, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Profile to sRGB for pictures of this mode; None if it is broken, of another colour space, or sRGB already."""
    if not profile:
        return None
    from PIL import Image as pil
    from PIL import ImageChops, ImageCms

    try:
        source = ImageCms.getOpenProfile(io.BytesIO(profile))
        transform = ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
    if mode != "RGB":
        return transform
    # Most profiles in the wild are sRGB: not converting is exact and saves a millisecond. Compared on 4,096 colours.
    colours = pil.frombytes("RGB", (64, 64), bytes(17 * (i >> s & 15) for i in range(4096) for s in (8, 4, 0)))
    changed = ImageChops.difference(colours, ImageCms.applyTransform(colours, transform) or colours)
    return None if max(high for _, high in changed.getextrema()) <= 2 else transform  # type: ignore[misc]


def _scaled_grey(picture: ImageFile) -> Pixels:
    """16-bit, 32-bit integer and float grey to 8-bit RGB, by the rules in the module's docstring."""
    import numpy as np
    from PIL import Image as pil

    values = np.asarray(picture)
    # 32 bits hold what a TIFF's author liked; elsewhere mode "I" is Pillow's way to hold 16 bits
    is_16_bit = picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format != "TIFF")
    low, high = (0, 65_535) if is_16_bit else _value_range(values, (1,) if picture.mode == "F" else (255, 65_535))
    grey = np.empty(values.shape, np.uint8)
    for top in range(0, len(values), 256):  # in strips: float64 of 100 million pixels would be 800 MB
        part = np.nan_to_num(values[top : top + 256].astype(np.float64), nan=low, neginf=low, posinf=high)
        grey[top : top + 256] = np.rint((part - low) * 255 / (high - low))
    if getattr(picture, "tag_v2", {}).get(262) == 0:  # TIFF WhiteIsZero, which Pillow only honours up to 8 bits
        grey = 255 - grey
    clear = picture.info.get("transparency")
    if isinstance(clear, int):  # the one grey value that a PNG may declare transparent
        grey[values == clear] = 255
    return pil.fromarray(grey).convert("RGB")


def _value_range(values: np.ndarray[Any, Any], usual: tuple[int, ...]) -> tuple[float, float]:
    """(value shown black, value shown white): 0 and the first usual top that holds all finite values, else their extremes."""
    import numpy as np

    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0, 0)
    for top in usual:
        if low >= 0 and high <= top:
            return 0, top
    return (low, high) if low < high else (low - 1, high + 1)


# --- operations ------------------------------------------------------------------------------------------------------


def _blank(picture: Pixels, _argument: str) -> Pixels:
    """Mid grey of the same size. The file was decoded all the same, so a damaged one is bad under every condition."""
    from PIL import Image as pil

    return pil.new("RGB", picture.size, (127, 127, 127))


def _blur(picture: Pixels, share: str) -> Pixels:
    """Gaussian blur of standard deviation `share` x the longer side, in (0, 1]; the size stays.

    Pillow's GaussianBlur: three extended box blurs (Gwosdek et al. 2011), edges repeated. Work and memory do not depend on the
    radius, some 25 ns a pixel of one core, about what decoding costs: large pictures need no detour over a smaller one.
    """
    from PIL import ImageFilter

    return picture.filter(ImageFilter.GaussianBlur(float(share) * max(picture.size)))


OPERATIONS: Mapping[str, Callable[[Pixels, str], Pixels]] = {"blank": _blank, "blur": _blur}
"""Operation `name` or `name:argument` -> function(RGB picture, argument) that returns a new RGB picture."""


_SHARE = re.compile(r"[0-9.]+(e-[0-9]+)?")


def _operation(operation: str) -> tuple[Callable[[Pixels, str], Pixels], str]:
    name, _, argument = operation.partition(":")
    if name not in OPERATIONS:
        raise ValueError(f"Unknown picture operation {operation!r}. Known: {', '.join(OPERATIONS)}.")
    if name == "blur" and not (_SHARE.fullmatch(argument) and 0 < float(argument) <= 1):
        raise ValueError(f"Picture operation {operation!r}: write blur:R with 0 < R <= 1, a share of the longer side.")
    return OPERATIONS[name], argument


# --- the form for APIs -----------------------------------------------------------------------------------------------


def _is_plain(opened: ImageFile) -> bool:
    """Whether every client shows these bytes as `decode` does; reads no pixels."""
    if opened.format not in _MIME or opened.mode not in ("1", "L", "P", "RGB") or opened.has_transparency_data:
        return False
    if _orientation(opened) != 1 or _srgb_transform(opened.info.get("icc_profile"), opened.mode.replace("P", "RGB")):
        return False
    try:
        return not getattr(opened, "is_animated", False)
    except _pillow_errors():  # a broken second frame, looked at by is_animated
        return False


def _ends_well(kind: str, data: bytes) -> bool:
    """Whether the file has its end mark where it belongs (PNG was walked to its end when it was opened)."""
    if kind == "JPEG":
        return data.endswith(b"\xff\xd9")
    if kind == "GIF":
        return data.endswith(b";")
    return kind != "WEBP" or int.from_bytes(data[4:8], "little") + 8 <= len(data)


def _scale_down(picture: Pixels, max_side: int | None) -> Pixels:
    from PIL.Image import Resampling

    longest = max(picture.size)
    if max_side is None or longest <= max_side:
        return picture
    width, height = (max(1, round(side * max_side / longest)) for side in picture.size)
    return picture.resize((width, height), Resampling.LANCZOS)


def _encode(picture: Pixels) -> tuple[str, bytes]:
    """(MIME type, encoded bytes)."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    if buffer.tell() <= PNG_LIMIT:
        return "image/png", buffer.getvalue()
    while True:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=JPEG_QUALITY)
        if buffer.tell() <= API_LIMIT:
            return "image/jpeg", buffer.getvalue()
        picture = _scale_down(picture, int(max(picture.size) * SHRINK))


def _uri(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"
