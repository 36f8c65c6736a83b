"""Things of kitchens, rooms, offices and stages; see `things`."""

from __future__ import annotations

from figures import smoke
from pen import COLOURS, Colour, Pen, darker

WHITE, BROWN, GREEN, YELLOW, RED, GREY, ORANGE, BLACK = (
    COLOURS[name] for name in ("white", "brown", "green", "yellow", "red", "grey", "orange", "black")
)
WOOD, GLASS, TOAST = (176, 122, 72), (176, 220, 240), (224, 170, 96)


def cake(pen: Pen, colour: Colour) -> None:
    """Two floors, three candles."""
    pen.oval(0, -1.5, 19, 2.6, WHITE)
    pen.box(-15, -13, 15, -2, colour)
    pen.box(-15, -13, 15, -10, WHITE)
    pen.box(-10, -23, 10, -13, colour)
    pen.box(-10, -23, 10, -20, WHITE)
    for x in (-6, 0, 6):
        pen.box(x - 0.8, -29, x + 0.8, -23, RED)
        pen.oval(x, -31, 1.3, 2.1, YELLOW)


def crumbs(pen: Pen, colour: Colour) -> None:
    """A plate with a few crumbs."""
    pen.oval(0, -2, 19, 3.2, WHITE)
    for x, y in ((-9, -3), (-4, -1.6), (1, -3.4), (5, -2), (11, -2.8)):
        pen.oval(x, y, 1.3, 0.9, colour)
    pen.line([(-15, -6), (-6, -9)], GREY, 1.4)


def salad(pen: Pen, _: Colour) -> None:
    """A bowl of leaves."""
    for x in (-10, -4, 2, 8):
        pen.oval(x, -14, 5, 6, (110, 186, 80))
    for x in (-6, 5):
        pen.oval(x, -13, 3, 3, RED)
    pen.area([(-17, -12), (17, -12), (10, 0), (-10, 0)], (230, 230, 236))


def burgers(pen: Pen, _: Colour) -> None:
    """A tower of three."""
    for floor in range(3):
        y = -floor * 11
        pen.oval(0, y - 8, 11, 4.5, TOAST)
        pen.box(-11, y - 7, 11, y - 5, GREEN)
        pen.box(-10, y - 5, 10, y - 2.4, BROWN)
        pen.box(-11, y - 2.4, 11, y, TOAST)


def roast(pen: Pen, _: Colour) -> None:
    """A golden bird on a dish."""
    pen.oval(0, -2, 20, 3.4, WHITE)
    pen.oval(0, -11, 14, 9, (226, 152, 62))
    for side in (-1, 1):
        pen.line([(side * 11, -9), (side * 17, -14)], (226, 152, 62), 3.4)
        pen.oval(side * 18, -15, 2, 2, WHITE)
    pen.oval(-4, -14, 4, 2, (246, 196, 120), edge=False)


def burnt(pen: Pen, _: Colour) -> None:
    """A black lump that smokes."""
    pen.oval(0, -2, 20, 3.4, WHITE)
    pen.area([(-13, -3), (-11, -12), (-4, -16), (3, -13), (9, -15), (13, -4)], BLACK)
    smoke(pen.at(0, -17))


def laptop(pen: Pen, colour: Colour) -> None:
    """Open, with lines of text."""
    pen.box(-14, -22, 14, -3, BLACK)
    pen.box(-12, -20, 12, -5, (214, 236, 250))
    for row, length in enumerate((16, 10, 14)):
        pen.line([(-10, -17 + row * 4), (-10 + length, -17 + row * 4)], colour, 1.2)
    pen.area([(-14, -3), (14, -3), (18, 0), (-18, 0)], GREY)


def smoking_laptop(pen: Pen, _: Colour) -> None:
    """A red cross on the screen, and smoke."""
    laptop(pen, GREY)
    pen.box(-12, -20, 12, -5, (60, 90, 200))
    pen.line([(-6, -18), (6, -7)], RED, 2.6)
    pen.line([(-6, -7), (6, -18)], RED, 2.6)
    smoke(pen.at(5, -22))


def papers(pen: Pen, _: Colour) -> None:
    """A leaning pile of sheets."""
    for sheet in range(13):
        lean = (sheet * 7 % 5) - 2
        pen.box(-11 + lean, -2.6 * sheet - 2.6, 11 + lean, -2.6 * sheet, WHITE if sheet % 3 else (236, 232, 200))


def mess(pen: Pen, _: Colour) -> None:
    """Cups, balls of paper, a banana skin."""
    for x, y in ((-14, -3), (-6, -2), (8, -3), (14, -2)):
        pen.star(x, y, 4, (240, 240, 236), tips=7, inner=0.75)
    pen.box(-4, -11, 3, 0, RED)
    pen.arc(4, -6, 3, 3, (270, 90))
    pen.arc(11, -8, 6, 6, (10, 150), YELLOW, 2.4)


def book(pen: Pen, colour: Colour) -> None:
    """One book."""
    pen.box(-13, -6, 13, 0, colour)
    pen.box(-12, -5, 13.4, -1.2, WHITE)


def books(pen: Pen, colour: Colour) -> None:
    """A tower of seven."""
    for floor, shade in enumerate((colour, YELLOW, GREEN, RED, GREY, COLOURS["blue"], ORANGE)):
        lean = (floor * 5 % 4) - 1.5
        pen.box(-12 + lean, -5.6 * floor - 5.6, 12 + lean, -5.6 * floor, shade)


def flower(pen: Pen, colour: Colour) -> None:
    """In a pot, in bloom."""
    pen.line([(0, -10), (0, -27)], GREEN, 1.8)
    pen.oval(-5, -18, 5, 2.2, GREEN)
    pen.oval(5, -21, 5, 2.2, GREEN)
    for x, y in ((0, -37), (6, -32), (-6, -32), (4, -26), (-4, -26)):
        pen.oval(x, y, 4.2, 4.2, colour)
    pen.oval(0, -31, 3.4, 3.4, YELLOW)
    pen.area([(-8, -10), (8, -10), (6, 0), (-6, 0)], (200, 110, 70))


def dead_flower(pen: Pen, _: Colour) -> None:
    """In a pot, brown and hanging."""
    pen.line([(0, -10), (1, -24), (7, -29), (12, -25), (12, -17)], BROWN, 1.8)
    for x, y in ((9, -14), (12, -12.5), (15, -14)):
        pen.oval(x, y, 2.2, 3, (150, 110, 70))
    for x in (-12, -16, 14):
        pen.oval(x, -1, 2.4, 1.1, (150, 110, 70))
    pen.area([(-8, -10), (8, -10), (6, 0), (-6, 0)], (200, 110, 70))


def sofa(pen: Pen, colour: Colour) -> None:
    """For two."""
    pen.box(-18, -22, 18, -8, colour)
    pen.box(-20, -11, 20, -2, darker(colour, 0.88))
    for side in (-1, 1):
        pen.box(side * 20 - 3, -16, side * 20 + 3, 0, colour)


def torn_sofa(pen: Pen, colour: Colour) -> None:
    """The stuffing comes out."""
    sofa(pen, colour)
    for x, y in ((-10, -16), (-4, -18), (6, -15), (11, -18), (0, -7), (-14, 1), (14, 1)):
        pen.star(x, y, 4.2, WHITE, tips=8, inner=0.7)


def vase(pen: Pen, colour: Colour) -> None:
    """Whole."""
    pen.area([(-5, -30), (5, -30), (3, -23), (10, -12), (6, 0), (-6, 0), (-10, -12), (-3, -23)], colour)
    pen.line([(-9, -12), (9, -12)], WHITE, 1.6)


def broken_vase(pen: Pen, colour: Colour) -> None:
    """Shards."""
    pen.area([(-10, 0), (-12, -10), (-6, -6), (-3, -12), (2, -7), (6, -10), (7, 0)], colour)
    for x, y in ((-17, 0), (12, -1), (17, 0)):
        pen.area([(x - 3, y), (x, y - 6), (x + 3, y)], colour)


def shelf(pen: Pen, _: Colour) -> None:
    """Straight, with books."""
    pen.box(-15, -36, -12.5, 0, WOOD)
    pen.box(12.5, -36, 15, 0, WOOD)
    for y, shade in ((-2, RED), (-14, GREEN), (-26, YELLOW)):
        for x in range(-11, 9, 4):
            pen.box(x, y - 8, x + 3, y, shade if x % 8 else COLOURS["blue"])
        pen.box(-15, y, 15, y + 2, WOOD)


def broken_shelf(pen: Pen, _: Colour) -> None:
    """Boards and books on a heap."""
    pen.area([(-16, 0), (-19, -34), (-16, -34), (-12, 0)], WOOD)
    pen.area([(-14, -4), (14, -20), (15, -17), (-12, -1)], WOOD)
    pen.area([(2, 0), (18, -9), (19, -6), (8, 0)], WOOD)
    for x, shade in ((-8, RED), (0, GREEN), (9, YELLOW)):
        pen.box(x - 3, -4, x + 4, 0, shade)


def tomatoes(pen: Pen, _: Colour) -> None:
    """Thrown and burst."""
    for x, y in ((-13, -2), (-3, -1), (8, -2), (15, -1)):
        pen.star(x, y, 4, RED, tips=8, inner=0.65)
    for x, y in ((-10, -30), (10, -24)):
        pen.oval(x, y, 3.4, 3.2, RED)
        pen.line([(x, y - 3), (x + 1, y - 5)], GREEN, 1.2)


def bouquet(pen: Pen, colour: Colour) -> None:
    """Wrapped."""
    for x, y in ((-7, -22), (0, -26), (7, -22), (-3, -18), (4, -18)):
        pen.oval(x, y, 4, 4, colour)
        pen.oval(x, y, 1.4, 1.4, YELLOW, edge=False)
    pen.area([(-9, -17), (9, -17), (0, 0)], (190, 226, 190))


def phone(pen: Pen, _: Colour) -> None:
    """The screen glows."""
    pen.box(-9, -34, 9, 0, BLACK)
    pen.box(-7, -30, 7, -5, GLASS)
    for x in (-3.5, 3.5):
        for y in (-25, -18, -11):
            pen.box(x - 2, y, x + 2, y + 4, GREEN if y == -18 else ORANGE)


def cracked_phone(pen: Pen, _: Colour) -> None:
    """The screen is a cobweb."""
    pen.box(-9, -34, 9, 0, BLACK)
    pen.box(-7, -30, 7, -5, GREY)
    for x, y in ((-7, -28), (0, -30), (7, -26), (7, -16), (7, -6), (0, -5), (-7, -8), (-7, -18)):
        pen.line([(-1, -17), (x * 0.6 + 1, y * 0.5 - 9), (x, y)], WHITE, 0.9)


def clock(pen: Pen, colour: Colour) -> None:
    """An alarm clock that rings."""
    for side in (-1, 1):
        pen.oval(side * 8, -27, 5, 4, colour)
        pen.line([(side * 8, -4), (side * 11, 0)], width=2)
        pen.arc(side * 17, -20, 4, 8, (270, 90) if side > 0 else (90, 270), width=0.9)
    pen.oval(0, -15, 13, 13, colour)
    pen.oval(0, -15, 10, 10, WHITE)
    pen.line([(0, -23), (0, -15), (5, -13)], width=1.3)


def drum(pen: Pen, colour: Colour) -> None:
    """With two sticks."""
    pen.box(-14, -18, 14, -2, colour)
    pen.oval(0, -2, 14, 3, colour)
    pen.oval(0, -18, 14, 4, WHITE)
    pen.line([(-16, -30), (-3, -19)], BROWN, 1.6)
    pen.line([(16, -30), (4, -19)], BROWN, 1.6)


def guitar(pen: Pen, colour: Colour) -> None:
    """Standing."""
    pen.box(-1.6, -42, 1.6, -16, BROWN)
    pen.oval(0, -9, 10, 9, colour)
    pen.oval(0, -19, 7, 6, colour)
    pen.oval(0, -13, 3, 3, BLACK)


def microphone(pen: Pen, _: Colour) -> None:
    """On a stand."""
    pen.line([(0, 0), (0, -28)], GREY, 1.6)
    pen.oval(0, -1, 8, 1.6, GREY)
    pen.oval(0, -33, 4, 5.5, BLACK)


def gamepad(pen: Pen, colour: Colour) -> None:
    """A cross and two buttons."""
    for side in (-1, 1):
        pen.oval(side * 12, -7, 7, 7, colour)
    pen.box(-12, -14, 12, -3, colour)
    pen.box(-13, -10.5, -6, -8, BLACK, edge=False)
    pen.box(-10.8, -13, -8.2, -5.5, BLACK, edge=False)
    for x, y in ((8, -7), (12, -11)):
        pen.oval(x, y, 1.8, 1.8, RED)


def dumbbell(pen: Pen, colour: Colour) -> None:
    """Heavy."""
    pen.line([(-12, -8), (12, -8)], GREY, 2.4)
    for side in (-1, 1):
        pen.box(side * 14 - 3, -17, side * 14 + 3, 1, colour)
        pen.box(side * 9.5 - 1.8, -14, side * 9.5 + 1.8, -2, colour)


def dress(pen: Pen, colour: Colour) -> None:
    """On a hanger."""
    pen.line([(0, -40), (0, -36), (-8, -32), (8, -32), (0, -36)], GREY, 1)
    pen.area([(-7, -32), (7, -32), (4, -20), (13, -2), (-13, -2), (-4, -20)], colour)
    pen.box(-4.4, -21, 4.4, -18.6, YELLOW)


def camera(pen: Pen, _: Colour) -> None:
    """A film camera on three legs."""
    for x in (-10, 0, 10):
        pen.line([(0, -16), (x, 0)], width=1.3)
    pen.box(-11, -28, 9, -15, BLACK)
    pen.area([(9, -24), (16, -28), (16, -15), (9, -19)], GREY)
    for x in (-6, 4):
        pen.oval(x, -33, 5, 5, GREY)


def piano(pen: Pen, _: Colour) -> None:
    """Upright."""
    pen.box(-18, -30, 18, 0, BLACK)
    pen.box(-19, -15, 19, -10, WHITE)
    for x in range(-16, 18, 4):
        pen.box(x, -15, x + 1.6, -12, BLACK, edge=False)


def ballot(pen: Pen, colour: Colour) -> None:
    """A ballot box."""
    pen.area([(-3, -31), (7, -33), (8, -20), (-2, -20)], WHITE)
    pen.box(-14, -20, 14, 0, colour)
    pen.box(-6, -19, 6, -17, BLACK)


def coins(pen: Pen, _: Colour) -> None:
    """Three rising stacks."""
    for x, height in ((-12, 3), (0, 6), (12, 9)):
        for floor in range(height):
            pen.oval(x, -2 - floor * 3, 5.4, 2.2, YELLOW)


def bread(pen: Pen, _: Colour) -> None:
    """A loaf on a board."""
    pen.box(-19, -3, 19, 0, WOOD)
    pen.oval(0, -10, 15, 8, TOAST)
    for x in (-7, 0, 7):
        pen.line([(x - 2, -8), (x + 2, -15)], (250, 220, 160), 1.4)


def socks(pen: Pen, colour: Colour) -> None:
    """A heap of odd socks."""
    for x, y, shade in ((-11, 0, colour), (0, 0, YELLOW), (9, 0, RED), (-5, -10, GREY), (5, -11, colour)):
        pen.area([(x - 3, y - 11), (x + 3, y - 11), (x + 3, y - 4), (x + 8, y - 3), (x + 8, y), (x - 3, y)], shade)


def potato(pen: Pen, _: Colour) -> None:
    """Three potatoes."""
    for x, y, size in ((-11, -6, 8), (8, -7, 9), (-1, -15, 7)):
        pen.oval(x, y, size, size * 0.75, (206, 168, 106))
        pen.oval(x - 2, y - 1, 0.8, 0.8, BROWN, edge=False)
        pen.oval(x + 3, y + 1, 0.8, 0.8, BROWN, edge=False)
