"""Captions: white capitals with a black outline, as memes have them, in the CC0 font that Pillow ships (Aileron)."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from scenes import FINE

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
GAP = 0.5
"""Between words, as a part of the font size."""


def _width(line: str, size: int) -> float:
    """Of a line in pixels, with wide gaps between words: outlines eat into them, and readers run words together."""
    font = ImageFont.load_default(size=size)
    return sum(map(font.getlength, line.split())) + GAP * size * line.count(" ")


def lines(text: str, width: int, size: int) -> list[str]:
    """`text` broken at blanks so that no line is wider than `width` pixels at font size `size`."""
    found = [""]
    for word in text.split():
        longer = f"{found[-1]} {word}".strip()
        if found[-1] and _width(longer, size) > width:
            found.append(word)
        else:
            found[-1] = longer
    return [line for line in found if line]


def fit(text: str, width: int, size: int, most: int = 2) -> tuple[list[str], int]:
    """(lines, font size): the largest size up to `size` at which the text takes at most `most` lines."""
    while len(broken := lines(text, width, size)) > most or any(_width(line, size) > width for line in broken):
        size -= 1
    return broken, size


def caption(picture: Image.Image, top: str, bottom: str, size: int) -> list[str]:
    """Write both texts into the picture, `FINE` times as large as it will be; font size in final pixels. Gives the lines."""
    draw, said = ImageDraw.Draw(picture), list[str]()
    for text, at_top in ((top, True), (bottom, False)):
        broken, used = fit(text.upper(), picture.width - 24 * FINE, size * FINE)
        font, step = ImageFont.load_default(size=used), round(used * 1.16)
        y = 7 * FINE if at_top else picture.height - 9 * FINE - step * len(broken)
        for line in broken:
            x = (picture.width - _width(line, used)) / 2
            for word in line.split():
                draw.text((x, y), word, fill=BLACK, font=font, stroke_width=round(used * 0.1), stroke_fill=BLACK)
                draw.text((x, y), word, fill=WHITE, font=font, stroke_width=round(used * 0.03), stroke_fill=WHITE)
                x += font.getlength(word) + GAP * used
            y += step
        said += broken
    return said


def png(picture: Image.Image, colours: int) -> bytes:
    """The picture, averaged down by `FINE`, as a PNG with a palette of at most `colours`.

    Half of the palette are the flat colours that cover most, so that even a small thing keeps the colour that its description
    says; the rest are what edges need: greys, and flat colours mixed with black.
    """
    counted: list[tuple[int, Any]] = picture.getcolors(picture.width * picture.height) or []
    flat = [colour for _, colour in sorted(counted, key=lambda one: (-one[0], one[1]))][: colours * 2 // 3]
    edges = [(85, 85, 85), (170, 170, 170), *(tuple(value // 2 + 18 for value in colour) for colour in flat)]
    chosen = [*flat, *edges][:colours]
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for colour in chosen + chosen[:1] * (256 - len(chosen)) for value in colour])
    small = picture.reduce(FINE).quantize(palette=palette, dither=Image.Dither.NONE)
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True)
    return out.getvalue()
