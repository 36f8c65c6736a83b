"""Pictures of the eye chart, drawn from a seeded generator: coloured shapes and single words.

Everything is drawn four times as large and averaged down, so edges are smooth and the same in every Pillow.
"""

from __future__ import annotations

import math
from random import Random

from PIL import Image, ImageDraw, ImageFont

SIDE = 96
"""Width and height of a picture in pixels."""
FINE = 4
"""How much larger pictures are drawn."""

COLOURS = {
    "red": (215, 40, 40),
    "green": (40, 160, 60),
    "blue": (45, 80, 215),
    "yellow": (235, 205, 40),
    "purple": (140, 50, 170),
    "black": (35, 35, 35),
}
SHAPES = ("circle", "square", "triangle", "cross", "star")
POSITIONS = ("top left", "top right", "bottom left", "bottom right")
NUMBERS = ("one", "two", "three", "four")
WORDS = ("love", "hope", "fake", "real", "news", "vote", "stop", "free", "home", "moon", "fish", "king")

PAPER, INK = (238, 238, 234), (30, 30, 30)

Colour = tuple[int, int, int]


def jitter(colour: Colour, random: Random, by: int = 18) -> Colour:
    """The colour with every channel moved by up to `by`."""
    red, green, blue = (max(0, min(255, value + random.randint(-by, by))) for value in colour)
    return red, green, blue


def one_shape(random: Random, colour: str, shape: str, position: str) -> Image.Image:
    """One shape in a quarter of the picture. Its size and place within the quarter vary."""
    picture, draw = _paper(random)
    radius = random.randint(18, 25)
    x, y = (_within(random, SIDE // 2 if word in position else 0, radius) for word in ("right", "bottom"))
    _draw(draw, shape, x, y, radius, jitter(COLOURS[colour], random))
    return picture.reduce(FINE)


def several_shapes(random: Random, colour: str, shape: str, number: int) -> Image.Image:
    """`number` equal shapes, at most nine, that do not touch."""
    picture, draw = _paper(random)
    ink, cell = jitter(COLOURS[colour], random), SIDE // 3
    for place in random.sample(range(9), number):
        radius = random.randint(11, 14)
        x, y = (at * cell + cell // 2 + random.randint(radius - 15, 15 - radius) for at in divmod(place, 3))
        _draw(draw, shape, x, y, radius, ink)
    return picture.reduce(FINE)


def one_word(random: Random, word: str) -> Image.Image:
    """A word in dark letters, anywhere on the picture."""
    picture, draw = _paper(random)
    font = ImageFont.load_default(size=random.randint(34, 38) * FINE)
    left, top, right, bottom = map(round, draw.textbbox((0, 0), word, font=font))
    edge = 2 * FINE
    x = random.randint(edge, max(edge, SIDE * FINE - edge - (right - left))) - left
    y = random.randint(edge, max(edge, SIDE * FINE - edge - (bottom - top))) - top
    draw.text((x, y), word, fill=jitter(INK, random, 25), font=font)
    return picture.reduce(FINE)


def _paper(random: Random) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    picture = Image.new("RGB", (SIDE * FINE, SIDE * FINE), jitter(PAPER, random, 15))
    return picture, ImageDraw.Draw(picture)


def _within(random: Random, start: int, radius: int) -> int:
    """A centre within half the side from `start` on, so that the shape stays inside the picture."""
    middle, slack = start + SIDE // 4, 3
    return max(radius + 1, min(SIDE - radius - 1, middle + random.randint(-slack, slack)))


def _draw(draw: ImageDraw.ImageDraw, shape: str, x: int, y: int, radius: int, ink: Colour) -> None:
    x, y, radius = x * FINE, y * FINE, radius * FINE
    if shape == "circle":
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)
    elif shape == "square":
        half = round(radius * 0.88)
        draw.rectangle((x - half, y - half, x + half, y + half), fill=ink)
    elif shape == "triangle":
        draw.polygon([(x, y - radius), (x - radius, y + round(radius * 0.85)), (x + radius, y + round(radius * 0.85))], fill=ink)
    elif shape == "cross":
        arm = round(radius * 0.34)
        draw.rectangle((x - radius, y - arm, x + radius, y + arm), fill=ink)
        draw.rectangle((x - arm, y - radius, x + arm, y + radius), fill=ink)
    else:
        draw.polygon([_tip(x, y, radius if tip % 2 == 0 else 0.4 * radius, tip) for tip in range(10)], fill=ink)


def _tip(x: int, y: int, radius: float, tip: int) -> tuple[float, float]:
    """Corner `tip` of ten of a five-pointed star that points up."""
    angle = math.pi * (tip / 5 - 0.5)
    return x + radius * math.cos(angle), y + radius * math.sin(angle)
