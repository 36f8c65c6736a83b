"""Scenes: what is in a picture, as facts from which both the picture and its description are made.

A scene is written `SETTING: THING, FIGURE/MOOD, ...`, each with an optional `COLOUR ` before it and `*SIZE` after it, for example
`room: cat/angry, red sofa*1.2`. Colours that are not given are drawn by lot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from figures import FIGURES, MOODS
from pen import COLOURS, Pen
from PIL import Image, ImageDraw
from settings import SETTINGS
from things import THINGS

FINE = 3
"""How much larger pictures are drawn before they are averaged down."""
NATURAL: dict[str, tuple[str, ...]] = {
    "cat": ("orange", "grey", "black", "brown"),
    "dog": ("brown", "grey", "orange"),
    "frog": ("green",),
    "rabbit": ("grey", "brown", "white"),
    "bear": ("brown", "black"),
    "duck": ("yellow", "white"),
    "cow": ("black", "brown"),
    "octopus": ("pink", "purple", "orange"),
    "robot": ("blue", "grey", "red"),
    "snail": ("brown", "orange", "pink"),
}
"""Colours that a figure may have; others may have any of `ANY`."""
ANY = ("red", "blue", "green", "yellow", "purple", "orange")
_ITEM = re.compile(r"(?:(?P<colour>[a-z]+) )?(?P<name>[a-z_]+)(?:/(?P<mood>[a-z]+))?(?:\*(?P<size>[\d.]+))?")


@dataclass(frozen=True, slots=True)
class Item:
    """A figure or a thing."""

    name: str
    colour: str
    mood: str = ""
    """Of `MOODS` for a figure, empty for a thing."""
    size: float = 1.0


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that a picture shows but its lettering."""

    setting: str
    items: tuple[Item, ...]
    """From left to right."""


def scene(text: str, random: Random) -> Scene:
    """The scene that `text` writes. Raises ValueError for names that do not exist."""
    setting, _, rest = text.partition(":")
    if setting not in SETTINGS:
        raise ValueError(f"{text!r}: no setting {setting!r}; expected one of {', '.join(SETTINGS)}")
    return Scene(setting, tuple(_item(part.strip(), random) for part in rest.split(",") if part.strip()))


def _item(text: str, random: Random) -> Item:
    found = _ITEM.fullmatch(text)
    if found is None or (found["name"] not in FIGURES and found["name"] not in THINGS):
        raise ValueError(f"{text!r}: expected a figure or thing that exists, such as 'red sofa' or 'cat/angry*1.5'")
    colour = found["colour"] or random.choice(NATURAL.get(found["name"], ANY))
    mood = (found["mood"] or "happy") if found["name"] in FIGURES else ""
    if colour not in COLOURS or (mood and mood not in MOODS):
        raise ValueError(f"{text!r}: unknown colour {colour!r} or mood {mood!r}")
    return Item(found["name"], colour, mood, float(found["size"] or 1))


def draw(what: Scene, size: tuple[int, int], random: Random) -> Image.Image:
    """The picture of a scene, `FINE` times as large as `size` (width and height in pixels), so that letters can be added."""
    width, height = size[0] * FINE, size[1] * FINE
    picture = Image.new("RGB", (width, height))
    pen = Pen(ImageDraw.Draw(picture), unit=width / 120)
    tall = 120 * height / width
    SETTINGS[what.setting](pen, tall, random)
    slot = 120 / max(1, len(what.items))
    for number, item in enumerate(what.items):
        scale = tall / 100 * min(1.12, slot / 34) * item.size
        spot = pen.at(slot * (number + 0.5) + random.uniform(-2, 2), tall * 0.8 + random.uniform(-1, 2), scale)
        if item.mood:
            FIGURES[item.name](spot, COLOURS[item.colour], item.mood)
        else:
            THINGS[item.name](spot, COLOURS[item.colour])
    return picture
