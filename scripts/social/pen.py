"""A pen with its own origin and unit, so that things are drawn where they stand and as large as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import ImageDraw

Colour = tuple[int, int, int]
Point = tuple[float, float]

COLOURS: dict[str, Colour] = {
    "red": (214, 58, 50),
    "blue": (58, 108, 200),
    "green": (66, 150, 72),
    "yellow": (246, 206, 60),
    "orange": (238, 142, 44),
    "purple": (140, 84, 172),
    "pink": (240, 150, 178),
    "grey": (150, 154, 162),
    "brown": (142, 92, 54),
    "black": (46, 46, 52),
    "white": (250, 250, 246),
}
INK: Colour = (36, 34, 40)


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws in units of its own; y grows downwards, (0, 0) is where the thing stands."""

    draw: ImageDraw.ImageDraw
    x: float = 0.0
    y: float = 0.0
    unit: float = 1.0
    """Pixels a unit."""

    def at(self, x: float, y: float, scale: float = 1.0) -> Pen:
        """A pen whose origin is (x, y) here and whose unit is `scale` of this one's."""
        return Pen(self.draw, self.x + x * self.unit, self.y + y * self.unit, self.unit * scale)

    def oval(self, x: float, y: float, rx: float, ry: float, colour: Colour, *, edge: bool = True) -> None:
        """An ellipse around (x, y)."""
        (left, top), (right, bottom) = self._pixels([(x - rx, y - ry), (x + rx, y + ry)])
        self.draw.ellipse((left, top, right, bottom), fill=colour, outline=INK if edge else None, width=self._width(0.7))

    def box(self, left: float, top: float, right: float, bottom: float, colour: Colour, *, edge: bool = True) -> None:
        """A rectangle."""
        corners = self._pixels([(left, top), (right, bottom)])
        self.draw.rectangle((*corners[0], *corners[1]), fill=colour, outline=INK if edge else None, width=self._width(0.7))

    def area(self, points: Sequence[Point], colour: Colour, *, edge: bool = True) -> None:
        """A polygon."""
        corners = self._pixels(points)
        self.draw.polygon(corners, fill=colour)
        if edge:
            self.draw.line([*corners, corners[0]], fill=INK, width=self._width(0.7), joint="curve")

    def line(self, points: Sequence[Point], colour: Colour = INK, width: float = 0.9) -> None:
        """Straight lines from point to point; `width` in units."""
        self.draw.line(self._pixels(points), fill=colour, width=self._width(width), joint="curve")

    def arc(self, x: float, y: float, rx: float, ry: float, angles: Point, colour: Colour = INK, width: float = 0.9) -> None:
        """Part of an ellipse; angles in degrees, clockwise from three o'clock."""
        (left, top), (right, bottom) = self._pixels([(x - rx, y - ry), (x + rx, y + ry)])
        self.draw.arc((left, top, right, bottom), *angles, fill=colour, width=self._width(width))

    def star(self, x: float, y: float, radius: float, colour: Colour, *, tips: int = 5, inner: float = 0.45) -> None:
        """A star that points up."""
        turns = [(math.pi * (tip / tips - 0.5), radius if tip % 2 == 0 else radius * inner) for tip in range(2 * tips)]
        self.area([(x + size * math.cos(turn), y + size * math.sin(turn)) for turn, size in turns], colour)

    def _pixels(self, points: Sequence[Point]) -> list[tuple[int, int]]:
        return [(round(self.x + x * self.unit), round(self.y + y * self.unit)) for x, y in points]

    def _width(self, width: float) -> int:
        return max(1, round(width * self.unit))


def darker(colour: Colour, by: float = 0.75) -> Colour:
    """The colour times `by`."""
    red, green, blue = (min(255, round(value * by)) for value in colour)
    return red, green, blue
