"""Things of streets, gardens, beaches and stadiums; see `things`."""

from __future__ import annotations

from figures import smoke
from pen import COLOURS, INK, Colour, Pen, darker

WHITE, BROWN, YELLOW, RED, GREY, ORANGE, BLACK = (
    COLOURS[name] for name in ("white", "brown", "yellow", "red", "grey", "orange", "black")
)
WOOD, GLASS = (176, 122, 72), (176, 220, 240)


def tent(pen: Pen, colour: Colour) -> None:
    """With a patch."""
    pen.area([(-20, 0), (0, -28), (20, 0)], colour)
    pen.area([(-6, 0), (0, -14), (6, 0)], BLACK)
    pen.box(7, -11, 12, -6, YELLOW)


def hotel(pen: Pen, colour: Colour) -> None:
    """Five stars over the door."""
    pen.box(-19, -36, 19, 0, colour)
    for floor in (-30, -20):
        for x in (-14, -5, 4, 13):
            pen.box(x - 2.5, floor, x + 2.5, floor + 6, GLASS)
    pen.box(-5, -10, 5, 0, WOOD)
    for x in (-14, -7, 0, 7, 14):
        pen.star(x, -40, 3, YELLOW)


def boat(pen: Pen, colour: Colour) -> None:
    """With a sail."""
    pen.line([(0, -8), (0, -40)], BROWN, 1.6)
    pen.area([(1, -39), (17, -12), (1, -12)], WHITE)
    pen.area([(-1, -34), (-12, -12), (-1, -12)], (240, 220, 180))
    pen.area([(-20, -8), (20, -8), (13, 1), (-13, 1)], colour)


def car(pen: Pen, colour: Colour) -> None:
    """Seen from the side."""
    pen.area([(-11, -12), (-7, -21), (7, -21), (12, -12)], GLASS)
    pen.area([(-19, -12), (18, -12), (19, -4), (-19, -4)], colour)
    for x in (-11, 11):
        pen.oval(x, -4, 4.6, 4.6, INK)
        pen.oval(x, -4, 2, 2, GREY)


def broken_car(pen: Pen, colour: Colour) -> None:
    """A wheel is off, the bonnet smokes."""
    car(pen, colour)
    pen.box(6, -9, 17, 0, darker(colour, 0.6), edge=False)
    pen.oval(23, -4, 4.6, 4.6, INK)
    smoke(pen.at(13, -13))


def scoreboard(pen: Pen, _: Colour, digits: tuple[str, str]) -> None:
    """Two digits, in strokes."""
    pen.line([(-12, 0), (-12, -14)], width=2)
    pen.line([(12, 0), (12, -14)], width=2)
    pen.box(-19, -36, 19, -13, (30, 60, 44))
    for x, digit in zip((-9.0, 9.0), digits, strict=True):
        _digit(pen.at(x, -24.5), digit)
    for y in (-27, -22):
        pen.oval(0, y, 1.1, 1.1, WHITE, edge=False)


def _digit(pen: Pen, digit: str) -> None:
    strokes = {
        "0": [(-4, -7), (4, -7), (4, 7), (-4, 7), (-4, -7)],
        "3": [(-4, -7), (4, -7), (4, 0), (-3, 0), (4, 0), (4, 7), (-4, 7)],
        "9": [(4, 0), (-4, 0), (-4, -7), (4, -7), (4, 7), (-4, 7)],
    }
    pen.line(strokes[digit], YELLOW, 1.8)


def snowman(pen: Pen, _: Colour) -> None:
    """Three balls, a carrot."""
    for y, size in ((-9, 10), (-24, 7.5), (-35, 5.5)):
        pen.oval(0, y, size, size, WHITE)
    pen.area([(0, -36), (8, -34.5), (0, -33.5)], ORANGE)
    for x in (-2, 2):
        pen.oval(x, -38, 0.8, 0.8, INK, edge=False)
    pen.box(-6, -42, 6, -40, BLACK)
    pen.box(-4, -47, 4, -41, BLACK)


def melted_snowman(pen: Pen, _: Colour) -> None:
    """A puddle with a hat in it."""
    pen.oval(0, -1.5, 20, 4, (190, 226, 246))
    pen.oval(-2, -4, 8, 4, WHITE)
    pen.area([(6, -3), (15, -1), (6, 0)], ORANGE)
    pen.box(-10, -9, 2, -7, BLACK)
    pen.box(-8, -14, 0, -8, BLACK)


def umbrella(pen: Pen, colour: Colour) -> None:
    """Open."""
    pen.line([(0, 0), (0, -34)], BROWN, 1.6)
    pen.arc(-2.5, 0, 2.5, 3, (0, 180), BROWN, 1.6)
    pen.area([(-18, -24), (-14, -33), (-6, -39), (6, -39), (14, -33), (18, -24)], colour)


def broken_umbrella(pen: Pen, colour: Colour) -> None:
    """Turned inside out."""
    pen.line([(0, 0), (3, -26)], BROWN, 1.6)
    pen.area([(3, -25), (-14, -40), (-6, -31), (-2, -42), (3, -31), (9, -42), (11, -31), (20, -38)], colour)
    pen.line([(3, -25), (-17, -30)], width=0.8)


def bridge(pen: Pen, colour: Colour) -> None:
    """Two towers and a deck."""
    pen.arc(0, -28, 13, 16, (0, 180), colour, 1.6)
    for x in (-14, 14):
        pen.box(x - 2, -30, x + 2, 0, colour)
    pen.box(-20, -11, 20, -7.5, colour)


def broken_bridge(pen: Pen, colour: Colour) -> None:
    """The middle is gone."""
    for x in (-14, 14):
        pen.box(x - 2, -30, x + 2, 0, colour)
    pen.area([(-20, -11), (-7, -11), (-4, -6), (-7, -7), (-20, -7.5)], colour)
    pen.area([(20, -11), (8, -11), (5, -5), (8, -7), (20, -7.5)], colour)
    pen.area([(-3, 0), (4, -5), (6, -1)], colour)


def chest(pen: Pen, _: Colour) -> None:
    """Full of gold."""
    pen.area([(-15, -16), (-13, -27), (13, -27), (15, -16)], BROWN)
    for x, y in ((-9, -16), (-3, -18), (3, -17), (9, -16), (0, -14)):
        pen.oval(x, y, 4, 3.4, YELLOW)
    pen.box(-15, -14, 15, 0, WOOD)
    pen.box(-2, -12, 2, -7, YELLOW)


def empty_chest(pen: Pen, _: Colour) -> None:
    """A spider has moved in."""
    pen.area([(-15, -16), (-13, -27), (13, -27), (15, -16)], BROWN)
    pen.box(-13, -20, 13, -13, BLACK)
    pen.box(-15, -14, 15, 0, WOOD)
    pen.line([(5, -25), (5, -18)], WHITE, 0.6)
    pen.oval(5, -17, 2, 2, GREY)


def campfire(pen: Pen, _: Colour) -> None:
    """Logs and flames."""
    pen.area([(-8, -3), (-9, -13), (-4, -10), (0, -25), (4, -11), (9, -15), (8, -3)], ORANGE)
    pen.area([(-4, -3), (-2, -11), (0, -15), (3, -10), (4, -3)], YELLOW, edge=False)
    pen.line([(-12, 0), (11, -4)], BROWN, 3)
    pen.line([(-11, -4), (12, 0)], BROWN, 3)


def ball(pen: Pen, colour: Colour) -> None:
    """A round one."""
    pen.oval(0, -8, 8, 8, colour)
    pen.arc(0, -8, 4, 8, (90, 270), WHITE, 1)
    pen.arc(0, -8, 4, 8, (270, 90), WHITE, 1)


def bin_(pen: Pen, _: Colour) -> None:
    """Overflowing."""
    for x, y in ((-6, -25), (2, -28), (7, -24)):
        pen.star(x, y, 5, (220, 220, 210), tips=7, inner=0.7)
    pen.area([(-11, -22), (11, -22), (8, 0), (-8, 0)], GREY)
    pen.box(-13, -24, 13, -21, GREY)


def statue(pen: Pen, colour: Colour) -> None:
    """Someone on a plinth."""
    pen.box(-10, -12, 10, 0, (200, 200, 196))
    pen.area([(-6, -12), (-4, -27), (4, -27), (6, -12)], colour)
    pen.oval(0, -32, 4.6, 5, colour)
    pen.line([(4, -25), (11, -35)], colour, 3)


def tram(pen: Pen, colour: Colour) -> None:
    """Windows and a bow."""
    pen.line([(-3, -24), (3, -31), (-8, -31)], width=1)
    pen.box(-20, -24, 20, -4, colour)
    for x in (-15, -7, 1, 9):
        pen.box(x - 1, -20, x + 5, -12, GLASS)
    for x in (-12, 12):
        pen.oval(x, -3, 3.4, 3.4, INK)


def tower(pen: Pen, colour: Colour) -> None:
    """With a clock and a pointed roof."""
    pen.box(-8, -30, 8, 0, colour)
    pen.area([(-10, -30), (0, -43), (10, -30)], darker(colour, 0.7))
    pen.oval(0, -22, 4.6, 4.6, WHITE)
    pen.line([(0, -25), (0, -22), (2.6, -21)], width=0.8)
    pen.box(-2.6, -8, 2.6, 0, BROWN)


def rocket(pen: Pen, colour: Colour) -> None:
    """On its fins."""
    for side in (-1, 1):
        pen.area([(side * 6, -14), (side * 13, 0), (side * 5, -3)], RED)
    pen.area([(-7, -3), (-8, -22), (0, -40), (8, -22), (7, -3)], colour)
    pen.oval(0, -21, 3.4, 3.4, GLASS)


def hoop(pen: Pen, _: Colour) -> None:
    """A basketball hoop."""
    pen.line([(0, 0), (0, -40)], GREY, 2)
    pen.box(-12, -44, 12, -28, WHITE)
    pen.box(-4, -37, 4, -31, WHITE)
    pen.line([(-6, -29), (6, -29)], RED, 1.8)
    for x in (-5, 0, 5):
        pen.line([(x, -28), (x * 0.5, -20)], WHITE, 0.8)


def goal(pen: Pen, _: Colour) -> None:
    """With a net."""
    for x in range(-16, 17, 5):
        pen.line([(x, -26), (x, 0)], (220, 230, 220), 0.5)
    for y in range(-22, 0, 5):
        pen.line([(-18, y), (18, y)], (220, 230, 220), 0.5)
    pen.line([(-18, 0), (-18, -27), (18, -27), (18, 0)], WHITE, 2)


def racket(pen: Pen, colour: Colour) -> None:
    """Strings and a ball."""
    pen.line([(0, 0), (0, -18)], BROWN, 2.4)
    pen.oval(0, -28, 9, 11, (236, 240, 220))
    pen.arc(0, -28, 9, 11, (0, 360), colour, 1.8)
    for x in (-4, 0, 4):
        pen.line([(x, -37), (x, -19)], GREY, 0.5)
    pen.oval(14, -5, 4, 4, (206, 226, 60))


def wasps(pen: Pen, _: Colour) -> None:
    """A swarm of four."""
    for x, y in ((-13, -30), (2, -36), (13, -24), (-4, -18)):
        for side in (-1, 1):
            pen.oval(x + side * 1.6, y - 4, 2, 3, (224, 240, 250))
        pen.oval(x, y, 5, 3.2, YELLOW)
        for stripe in (-2, 1):
            pen.line([(x + stripe, y - 2.6), (x + stripe, y + 2.6)], INK, 1.2)


def weeds(pen: Pen, _: Colour) -> None:
    """Thistles."""
    for x, height in ((-14, 16), (-7, 26), (0, 20), (7, 29), (14, 17)):
        pen.line([(x, 0), (x, -height)], (86, 120, 60), 1.6)
        pen.line([(x - 4, -height * 0.5), (x, -height * 0.3), (x + 4, -height * 0.6)], (86, 120, 60), 1.4)
        pen.star(x, -height, 3.2, COLOURS["purple"], tips=8, inner=0.6)


def basket(pen: Pen, _: Colour) -> None:
    """A picnic basket."""
    pen.arc(0, -12, 11, 14, (180, 360), BROWN, 1.8)
    pen.box(-14, -14, 14, 0, WOOD)
    for x in (-7, 0, 7):
        pen.line([(x, -13), (x, -1)], BROWN)
    pen.area([(-14, -14), (14, -14), (9, -9), (-9, -9)], RED)


def trophy(pen: Pen, _: Colour) -> None:
    """A gold cup."""
    for side in (-1, 1):
        pen.arc(side * 9, -26, 5, 5, (0, 360), YELLOW, 1.8)
    pen.area([(-10, -34), (10, -34), (5, -17), (-5, -17)], YELLOW)
    pen.box(-1.5, -17, 1.5, -8, YELLOW)
    pen.box(-8, -8, 8, 0, BROWN)


def balloons(pen: Pen, colour: Colour) -> None:
    """Three, one in the colour."""
    for x, y, shade in ((-8, -30, colour), (8, -32, YELLOW), (0, -38, RED if colour != RED else COLOURS["blue"])):
        pen.line([(0, 0), (x, y)], width=0.5)
        pen.oval(x, y, 6, 7.5, shade)
