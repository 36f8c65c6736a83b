"""Figures: animals, people, robots and the peoples of invented planets. Each stands on (0, 0) and is about 45 units tall."""

from __future__ import annotations

from collections.abc import Callable

from pen import COLOURS, INK, Colour, Pen, darker

WHITE, BLACK = COLOURS["white"], COLOURS["black"]
Draw = Callable[[Pen, Colour, str], None]

MOODS = ("happy", "sad", "angry", "asleep", "surprised", "broken")


def face(pen: Pen, y: float, size: float, mood: str, eyes: tuple[float, ...] = (-1.0, 1.0)) -> None:
    """Eyes and mouth around (0, y); size: half the distance between two eyes."""
    for place in eyes:
        x = place * size
        if mood == "asleep":
            pen.arc(x, y, 2, 1.6, (0, 180))
        elif mood == "broken":
            pen.line([(x - 1.6, y - 1.6), (x + 1.6, y + 1.6)])
            pen.line([(x - 1.6, y + 1.6), (x + 1.6, y - 1.6)])
        else:
            pen.oval(x, y, 2, 2.4, WHITE)
            pen.oval(x, y + 0.3, 0.9, 1.1, INK, edge=False)
        if mood == "angry":
            lean = 1 if place > 0 else -1 if place < 0 else 0
            pen.line([(x - 2.2, y - 3 - lean), (x + 2.2, y - 3 + (-lean if lean else 0) + 2 * (lean == 0))], width=1.1)
    mouth = y + 6
    if mood == "happy":
        pen.arc(0, mouth - 1.5, 4, 3, (15, 165), width=1.1)
    elif mood in ("sad", "angry"):
        pen.arc(0, mouth + 2.5, 4, 3, (200, 340), width=1.1)
    elif mood == "surprised":
        pen.oval(0, mouth + 0.5, 1.6, 2, INK, edge=False)
    else:
        pen.line([(-2.5, mouth), (2.5, mouth)], width=1)
    if mood == "sad":
        pen.oval(-size - 1.8, y + 4, 1, 1.7, (110, 180, 240), edge=False)
    if mood == "asleep":
        for step, (x, up) in enumerate(((size + 7, 6), (size + 11, 11))):
            _z(pen.at(x, y - up, 1 + 0.4 * step))


def _z(pen: Pen) -> None:
    pen.line([(-1.5, -1.5), (1.5, -1.5), (-1.5, 1.5), (1.5, 1.5)], width=0.8)


def _body(pen: Pen, colour: Colour) -> None:
    for side in (-1, 1):
        pen.oval(side * 5, -1.5, 4, 2.4, darker(colour))
    pen.oval(0, -12, 10, 12, colour)
    for side in (-1, 1):
        pen.oval(side * 9.5, -13, 2.6, 6, colour)


def cat(pen: Pen, colour: Colour, mood: str) -> None:
    """Pointed ears, whiskers, tail."""
    pen.arc(13, -10, 7, 12, (250, 90), colour, 2.6)
    _body(pen, colour)
    for side in (-1, 1):
        pen.area([(side * 9.5, -44), (side * 10, -33), (side * 2.5, -39.5)], colour)
    pen.oval(0, -31, 11, 9.5, colour)
    for side in (-1, 1):
        pen.line([(side * 6, -27.5), (side * 14, -29)], width=0.5)
        pen.line([(side * 6, -26.5), (side * 14, -25.5)], width=0.5)
    face(pen, -33, 4.5, mood)


def dog(pen: Pen, colour: Colour, mood: str) -> None:
    """Hanging ears, a snout."""
    pen.line([(9, -10), (17, -20)], darker(colour), 2.6)
    _body(pen, colour)
    pen.oval(0, -31, 10.5, 10, colour)
    for side in (-1, 1):
        pen.oval(side * 11, -30, 3.2, 8, darker(colour, 0.65))
    pen.oval(0, -27, 5.5, 4.5, WHITE, edge=False)
    pen.oval(0, -29.5, 1.8, 1.3, INK, edge=False)
    face(pen, -34, 4.2, mood)


def penguin(pen: Pen, colour: Colour, mood: str) -> None:
    """Black and white whatever the colour of its scarf."""
    for side in (-1, 1):
        pen.oval(side * 5, -1, 4.5, 2, COLOURS["orange"])
        pen.oval(side * 12, -18, 3, 10, BLACK)
    pen.oval(0, -20, 12.5, 20, BLACK)
    pen.oval(0, -16, 8.5, 15, WHITE)
    pen.oval(0, -33, 8, 7, WHITE, edge=False)
    face(pen, -35, 3.6, mood)
    pen.area([(-2.5, -32), (2.5, -32), (0, -28.8)], COLOURS["orange"])
    pen.box(-10, -25, 10, -22, colour)


def frog(pen: Pen, colour: Colour, mood: str) -> None:
    """Wide, eyes on top."""
    for side in (-1, 1):
        pen.oval(side * 13, -4, 7, 4, darker(colour))
        pen.oval(side * 6, -33, 5, 5, colour)
    pen.oval(0, -15, 14, 15, colour)
    pen.oval(0, -25, 13, 9, colour)
    face(pen, -32, 6, mood)


def rabbit(pen: Pen, colour: Colour, mood: str) -> None:
    """Long ears."""
    _body(pen, colour)
    for side in (-1, 1):
        pen.oval(side * 4.5, -46, 3, 9, colour)
        pen.oval(side * 4.5, -46, 1.4, 6.5, COLOURS["pink"], edge=False)
    pen.oval(0, -31, 9.5, 9, colour)
    face(pen, -33, 4, mood)


def bear(pen: Pen, colour: Colour, mood: str) -> None:
    """Round ears."""
    _body(pen, colour)
    for side in (-1, 1):
        pen.oval(side * 8.5, -39, 4, 4, colour)
    pen.oval(0, -31, 11, 10, colour)
    pen.oval(0, -27.5, 5, 4, darker(colour, 1.25), edge=False)
    face(pen, -34, 4.2, mood)


def duck(pen: Pen, colour: Colour, mood: str) -> None:
    """A round body and a bill."""
    for side in (-1, 1):
        pen.oval(side * 5, -1, 4.5, 2, COLOURS["orange"])
    pen.oval(0, -12, 14, 11.5, colour)
    pen.oval(9, -13, 6, 6, darker(colour, 0.88))
    pen.oval(0, -30, 9, 9, colour)
    face(pen, -33, 3.8, mood)
    pen.oval(0, -28.5, 4.5, 1.8, COLOURS["orange"])


def cow(pen: Pen, colour: Colour, mood: str) -> None:
    """Horns, spots, a pink snout."""
    _body(pen, WHITE)
    pen.oval(-4, -15, 3.5, 4, colour, edge=False)
    pen.oval(4.5, -8, 2.8, 3, colour, edge=False)
    for side in (-1, 1):
        pen.area([(side * 4, -39), (side * 9, -45), (side * 8, -37)], COLOURS["yellow"])
        pen.oval(side * 13, -33, 4, 2.4, colour)
    pen.oval(0, -31, 10, 10, WHITE)
    pen.oval(0, -26, 7, 5, COLOURS["pink"])
    face(pen, -34, 4.2, mood)


def snail(pen: Pen, colour: Colour, mood: str) -> None:
    """A shell as high as the others' shoulders."""
    pen.oval(-2, -3.5, 20, 3.5, (222, 196, 140))
    pen.oval(-5, -17, 14, 14, colour)
    pen.oval(-5, -17, 8.5, 8.5, darker(colour, 1.2))
    pen.oval(-5, -17, 3.5, 3.5, colour)
    for x in (14, 21):
        pen.line([(17, -18), (x, -28)], width=1.2)
    pen.oval(17, -13, 6.5, 9, (222, 196, 140))
    face(pen.at(17, 0), -17, 2.8, mood)


def octopus(pen: Pen, colour: Colour, mood: str) -> None:
    """Six arms are seen."""
    for x in (-15, -9, -3, 3, 9, 15):
        pen.line([(x * 0.6, -16), (x, -5), (x + (3 if x > 0 else -3), -1)], darker(colour), 4)
    pen.oval(0, -26, 14, 15, colour)
    face(pen, -27, 5, mood)


def robot(pen: Pen, colour: Colour, mood: str) -> None:
    """Boxes, an antenna; smoke if broken."""
    for side in (-1, 1):
        pen.box(side * 5 - 2.5, -6, side * 5 + 2.5, 0, darker(colour))
        pen.box(side * 13 - 2.5, -22, side * 13 + 2.5, -8, darker(colour))
    pen.box(-10, -24, 10, -5, colour)
    pen.oval(-4, -15, 2, 2, COLOURS["red"])
    pen.oval(4, -15, 2, 2, COLOURS["yellow"])
    pen.line([(0, -40), (0, -46)], width=1.2)
    pen.oval(0, -46, 2, 2, COLOURS["red"])
    pen.box(-9, -40, 9, -25, (206, 212, 218))
    face(pen, -35, 4, mood)
    if mood == "broken":
        smoke(pen.at(9, -40))


def smoke(pen: Pen) -> None:
    """Three grey puffs that rise from (0, 0)."""
    for x, y, size in ((0, -1, 3), (3, -6, 4), (0, -12, 5)):
        pen.oval(x, y, size, size, (112, 112, 118))


def person(pen: Pen, colour: Colour, mood: str) -> None:
    """Shirt in the colour; hair and skin go with it, so that one colour is one person."""
    skins = ((244, 206, 168), (196, 142, 100), (132, 88, 60), (228, 180, 136))
    hairs = ((70, 46, 30), INK, (214, 168, 70), (160, 72, 40))
    pick = sum(colour)
    skin, hair = skins[pick % 4], hairs[pick // 4 % 4]
    for side in (-1, 1):
        pen.box(side * 4 - 2.6, -12, side * 4 + 2.6, 0, (60, 74, 110))
        pen.line([(side * 8, -24), (side * 12, -14)], skin, 3)
    pen.area([(-8, -27), (8, -27), (9, -10), (-9, -10)], colour)
    pen.oval(0, -39.5, 9.5, 8, hair)
    pen.oval(0, -35, 8.5, 9, skin)
    pen.box(-7.5, -43.5, 7.5, -40.5, hair, edge=False)
    face(pen, -36, 3.4, mood)


def wild_hair(pen: Pen, colour: Colour, mood: str) -> None:
    """A person whose hair stands up in all directions."""
    for x in range(-12, 13, 4):
        pen.area([(x * 0.6 - 2, -39), (x * 1.3, -52 + abs(x) * 0.5), (x * 0.6 + 2, -39)], COLOURS["orange"])
    person(pen, colour, mood)


def zog(pen: Pen, _: Colour, mood: str) -> None:
    """From planet Zog: green, three eyes, two antennae."""
    green = (112, 190, 84)
    for side in (-1, 1):
        pen.line([(side * 4, -40), (side * 8, -49)], width=1.2)
        pen.oval(side * 8, -49, 2, 2, COLOURS["yellow"])
    _body(pen, green)
    pen.oval(0, -32, 12, 9.5, green)
    face(pen, -34, 5.2, mood, (-1, 0, 1))


def blurg(pen: Pen, _: Colour, mood: str) -> None:
    """A Blurg: a purple heap with one eye."""
    purple = (158, 104, 190)
    pen.oval(0, -6, 17, 6, purple)
    pen.oval(0, -15, 14, 13, purple)
    pen.oval(0, -27, 10.5, 11, purple)
    for x, y in ((-8, -10), (7, -13), (-3, -6)):
        pen.oval(x, y, 1.8, 1.8, darker(purple), edge=False)
    face(pen, -30, 4, mood, (0,))


def quibble(pen: Pen, _: Colour, mood: str) -> None:
    """A Quibble: orange, square head, top hat."""
    orange = (240, 160, 70)
    _body(pen, orange)
    pen.box(-11, -40, 11, -24, orange)
    pen.box(-9, -43, 9, -40, BLACK)
    pen.box(-6, -51, 6, -42, BLACK)
    face(pen, -35, 4.6, mood)


def fizzling(pen: Pen, _: Colour, mood: str) -> None:
    """A Fizzling: pink, spikes all round the head."""
    pink = (240, 140, 176)
    _body(pen, pink)
    pen.star(0, -32, 16, pink, tips=11, inner=0.72)
    face(pen, -34, 4.4, mood)


def mool(pen: Pen, _: Colour, mood: str) -> None:
    """A Mool: a grey ball with craters on two thin legs."""
    grey = (176, 180, 188)
    for side in (-1, 1):
        pen.line([(side * 5, -10), (side * 6, -1)], width=1.6)
        pen.oval(side * 7.5, -1, 4, 1.8, darker(grey))
    pen.oval(0, -24, 16, 16, grey)
    for x, y, size in ((-9, -17, 2.4), (9, -15, 3), (7, -34, 2)):
        pen.oval(x, y, size, size, darker(grey, 0.85), edge=False)
    face(pen, -27, 5, mood)


FIGURES: dict[str, Draw] = {
    "cat": cat,
    "dog": dog,
    "penguin": penguin,
    "frog": frog,
    "rabbit": rabbit,
    "bear": bear,
    "duck": duck,
    "cow": cow,
    "snail": snail,
    "octopus": octopus,
    "robot": robot,
    "person": person,
    "wild_hair": wild_hair,
    "zog": zog,
    "blurg": blurg,
    "quibble": quibble,
    "fizzling": fizzling,
    "mool": mool,
}
"""Name -> how it is drawn."""
