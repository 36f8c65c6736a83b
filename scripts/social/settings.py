"""Backgrounds. The pen's unit is a 120th of the picture's width; `height` is the picture's in units."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from pen import COLOURS, Colour, Pen, darker

WHITE, YELLOW, GREEN = COLOURS["white"], COLOURS["yellow"], COLOURS["green"]
SKY, SAND, SNOW, GRASS = (150, 210, 244), (240, 218, 160), (240, 246, 250), (130, 196, 92)
HORIZON = 0.62
"""Where the ground begins, as a part of the height."""

Setting = Callable[[Pen, float, Random], None]


def _sky(pen: Pen, height: float, sky: Colour, ground: Colour, horizon: float = HORIZON) -> float:
    """Both halves; gives the horizon in units."""
    pen.box(-1, -1, 121, height + 1, sky, edge=False)
    pen.box(-1, height * horizon, 121, height + 1, ground, edge=False)
    return height * horizon


def _sun(pen: Pen, x: float, y: float) -> None:
    for ray in range(12):
        turn = math.pi * ray / 6
        pen.line(
            [(x + 8 * math.cos(turn), y + 8 * math.sin(turn)), (x + 12 * math.cos(turn), y + 12 * math.sin(turn))], YELLOW, 1.2
        )
    pen.oval(x, y, 6.5, 6.5, YELLOW, edge=False)


def _cloud(pen: Pen, x: float, y: float, colour: Colour, size: float = 1) -> None:
    for dx, dy, radius in ((-8, 1, 5), (0, -2, 7), (8, 1, 5.5), (0, 3, 6)):
        pen.oval(x + dx * size, y + dy * size, radius * size * 1.2, radius * size * 0.8, colour, edge=False)


def meadow(pen: Pen, height: float, random: Random) -> None:
    """Sun over grass."""
    top = _sky(pen, height, SKY, GRASS)
    pen.oval(30, top + 8, 50, 14, darker(GRASS, 0.92), edge=False)
    _sun(pen, random.choice((18, 60, 102)), top * 0.42)
    _cloud(pen, random.randint(36, 84), top * 0.62, WHITE)
    for _ in range(9):
        x, y = random.randint(2, 118), random.uniform(top + 6, height - 3)
        pen.oval(x, y, 1.2, 1.2, random.choice((WHITE, YELLOW, COLOURS["pink"])), edge=False)


def storm(pen: Pen, height: float, random: Random) -> None:
    """Black clouds, lightning, rain."""
    top = _sky(pen, height, (92, 100, 118), (84, 104, 84))
    for x in (15, 45, 75, 105):
        _cloud(pen, x, top * 0.3, (58, 62, 76), 1.7)
    x = random.choice((24, 60, 96))
    pen.area(
        [
            (x, top * 0.4),
            (x - 6, top * 0.7),
            (x, top * 0.68),
            (x - 4, top),
            (x + 7, top * 0.6),
            (x + 2, top * 0.62),
            (x + 5, top * 0.4),
        ],
        YELLOW,
    )
    for number in range(60):
        rx, ry = (number * 37 + random.randint(0, 6)) % 120, top * 0.45 + (number * 53 % 100) / 100 * (height - top * 0.45)
        pen.line([(rx, ry), (rx - 1.6, ry + 5)], (176, 200, 226), 0.5)


def beach(pen: Pen, height: float, random: Random) -> None:
    """Sea, sand, a palm."""
    top = _sky(pen, height, SKY, SAND)
    pen.box(-1, top - 10, 121, top + 2, (64, 150, 206), edge=False)
    _sun(pen, random.choice((30, 60)), top * 0.4)
    pen.line([(104, top + 10), (108, top - 10), (106, top - 26)], COLOURS["brown"], 3)
    for dx, dy in ((-14, -2), (-10, -10), (2, -13), (11, -8), (13, 2)):
        pen.line([(106, top - 26), (106 + dx, top - 26 + dy)], GREEN, 2.6)


def snow(pen: Pen, height: float, random: Random) -> None:
    """White ground, firs, flakes."""
    top = _sky(pen, height, (176, 204, 228), SNOW)
    for x in (10, 28, 92, 110):
        for floor in range(3):
            y = top + 4 - floor * 8
            pen.area([(x - 8 + floor * 2, y), (x, y - 12), (x + 8 - floor * 2, y)], (58, 120, 90))
    for _ in range(36):
        pen.oval(random.uniform(0, 120), random.uniform(0, height), 0.8, 0.8, WHITE, edge=False)


def night(pen: Pen, height: float, random: Random) -> None:
    """Moon and stars over dark hills."""
    top = _sky(pen, height, (32, 40, 84), (34, 62, 58))
    pen.oval(26, top + 6, 46, 14, (28, 52, 52), edge=False)
    x = random.choice((22, 98))
    pen.oval(x, top * 0.42, 8, 8, (246, 240, 200), edge=False)
    pen.oval(x + 4, top * 0.38, 7, 7, (32, 40, 84), edge=False)
    for _ in range(26):
        pen.oval(random.uniform(0, 120), random.uniform(0, top - 6), 0.6, 0.6, WHITE, edge=False)


def street(pen: Pen, height: float, random: Random) -> None:
    """Houses and a road."""
    top = _sky(pen, height, (188, 216, 232), (122, 124, 130))
    x = -2
    for _ in range(6):
        wide, high = random.randint(19, 24), random.uniform(0.35, 0.55) * height
        colour = random.choice([(222, 150, 120), (232, 208, 150), (160, 190, 170), (198, 170, 200)])
        pen.box(x, top - high, x + wide, top, colour)
        for wx in (x + 4, x + wide - 9):
            for wy in (top - high + 5, top - high + 16):
                if wy + 7 < top:
                    pen.box(wx, wy, wx + 5, wy + 6, (240, 240, 200))
        x += wide
    for x in range(4, 120, 18):
        pen.box(x, height * 0.7, x + 9, height * 0.7 + 1.4, WHITE, edge=False)


def office(pen: Pen, height: float, random: Random) -> None:
    """Grey wall, window, a chart."""
    top = _sky(pen, height, (214, 218, 222), (150, 140, 128), 0.66)
    pen.box(8, top * 0.35, 38, top * 0.8, (170, 214, 240))
    pen.line([(23, top * 0.35), (23, top * 0.8)], WHITE, 1.4)
    pen.box(80, top * 0.36, 112, top * 0.78, WHITE)
    points = [(84 + 6 * step, top * random.uniform(0.45, 0.72)) for step in range(5)]
    pen.line(points, COLOURS["red"], 1.4)
    pen.line([(0, top), (120, top)], (110, 104, 96), 1)


def kitchen(pen: Pen, height: float, random: Random) -> None:
    """Tiles, a cupboard, a table top."""
    top = _sky(pen, height, random.choice(((250, 236, 200), (214, 236, 226), (246, 222, 214))), (186, 130, 84), 0.68)
    for x in range(0, 121, 12):
        pen.line([(x, 0), (x, top)], (226, 206, 176), 0.4)
    for y in range(0, int(top), 12):
        pen.line([(0, y), (120, y)], (226, 206, 176), 0.4)
    pen.box(6, top * 0.32, 34, top * 0.7, (150, 180, 190))
    pen.oval(30, top * 0.52, 1, 1, WHITE)
    pen.line([(0, top), (120, top)], (130, 86, 52), 1.4)


def room(pen: Pen, height: float, random: Random) -> None:
    """Wallpaper, a lamp, a picture."""
    wall = random.choice(((244, 222, 178), (200, 220, 230), (226, 206, 226), (212, 228, 196)))
    top = _sky(pen, height, wall, (170, 116, 76), 0.68)
    for x in range(5, 120, 14):
        pen.line([(x, 0), (x, top)], darker(wall, 0.94), 1.6)
    pen.box(12, top * 0.34, 36, top * 0.66, (250, 246, 230))
    pen.area([(13, top * 0.64), (22, top * 0.44), (30, top * 0.64)], (120, 160, 120), edge=False)
    pen.line([(100, 0), (100, top * 0.34)], width=0.7)
    pen.area([(92, top * 0.46), (108, top * 0.46), (103, top * 0.33), (97, top * 0.33)], YELLOW)


def space(pen: Pen, height: float, random: Random) -> None:
    """Craters, stars, a ringed planet."""
    top = _sky(pen, height, (26, 22, 56), random.choice(((196, 140, 110), (150, 150, 170), (176, 120, 160))))
    for _ in range(40):
        pen.oval(random.uniform(0, 120), random.uniform(0, top - 3), 0.6, 0.6, WHITE, edge=False)
    x = random.choice((24, 96))
    pen.oval(x, top * 0.5, 9, 9, (232, 170, 90), edge=False)
    pen.arc(x, top * 0.5, 16, 4, (0, 360), (246, 220, 160), 1.2)
    for cx in (14, 60, 104):
        pen.oval(cx, height * 0.88, 9, 2.4, (120, 90, 100), edge=False)


def stage(pen: Pen, height: float, _: Random) -> None:
    """Curtains and boards."""
    top = _sky(pen, height, (86, 40, 60), (190, 140, 90), 0.7)
    pen.area([(60, 0), (30, top + 8), (90, top + 8)], (150, 96, 90), edge=False)
    for side in (0, 1):
        for fold in range(3):
            x = fold * 7 if side == 0 else 113 - fold * 7
            pen.box(x, -1, x + 7, top + 2, (176, 34, 44) if fold % 2 else (150, 24, 36))


def mountain(pen: Pen, height: float, random: Random) -> None:
    """Peaks with snow."""
    top = _sky(pen, height, (166, 214, 240), (116, 170, 96))
    for x, high in ((20, 0.42), (100, 0.4), (60, 0.54)):
        peak = top - high * height * random.uniform(0.9, 1.0)
        pen.area([(x - 36, top + 2), (x, peak), (x + 36, top + 2)], (136, 132, 146))
        pen.area([(x - 9, peak + (top - peak) * 0.25), (x, peak), (x + 9, peak + (top - peak) * 0.25)], WHITE)


def sea(pen: Pen, height: float, _: Random) -> None:
    """Blue waves, sun."""
    top = _sky(pen, height, SKY, (56, 134, 196))
    _sun(pen, 98, top * 0.45)
    for row, y in enumerate((top + 6, top + 16, top + 26, top + 36)):
        for x in range(-6 + 6 * (row % 2), 126, 18):
            pen.arc(x, y, 6, 2.4, (180, 360), (170, 214, 240), 1)


def stadium(pen: Pen, height: float, random: Random) -> None:
    """Crowd, pitch."""
    top = _sky(pen, height, (178, 210, 236), (92, 176, 84), 0.6)
    pen.box(-1, top * 0.5, 121, top, (110, 114, 124), edge=False)
    for row in range(4):
        for x in range(2, 120, 5):
            shade = COLOURS[random.choice(("red", "blue", "yellow", "white"))]
            pen.oval(x + 2 * (row % 2), top * (0.56 + row * 0.12), 1.7, 1.7, shade, edge=False)
    for x in range(0, 120, 40):
        pen.box(x, top, x + 20, height + 1, (104, 188, 94), edge=False)
    pen.line([(0, top + 6), (120, top + 6)], WHITE, 0.9)


def hall(pen: Pen, height: float, _: Random) -> None:
    """Columns and a carpet."""
    top = _sky(pen, height, (228, 220, 204), (160, 60, 60), 0.7)
    for x in (6, 34, 78, 106):
        pen.box(x, 4, x + 8, top, (246, 242, 232))
        pen.box(x - 2, top - 4, x + 10, top, (214, 206, 190))
        pen.box(x - 2, 2, x + 10, 7, (214, 206, 190))
    pen.area([(50, 6), (70, 6), (70, top * 0.5), (60, top * 0.6), (50, top * 0.5)], (60, 90, 160))


SETTINGS: dict[str, Setting] = {
    draw.__name__: draw
    for draw in (meadow, storm, beach, snow, night, street, office, kitchen, room, space, stage, mountain, sea, stadium, hall)
}
"""Name -> how it is drawn."""
