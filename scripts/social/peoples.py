"""The peoples that rude and hateful memes are aimed at. None of them exists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class People:
    """An invented people."""

    figure: str
    """Its name in `figures.FIGURES`."""
    them: str
    one: str
    long: str
    home: str
    look: str
    """What one of them looks like."""


PEOPLES = (
    People("zog", "Zogs", "Zog", "the people from planet Zog", "planet Zog", "a green alien with three eyes and two antennae"),
    People("blurg", "Blurgs", "Blurg", "the Blurgs of the low marshes", "the marshes", "a heap-shaped purple alien with one eye"),
    People(
        "quibble", "Quibbles", "Quibble", "the Quibbles of Hatville", "Hatville", "an orange square-headed alien with a top hat"
    ),
    People("fizzling", "Fizzlings", "Fizzling", "the Fizzlings of planet Fizz", "planet Fizz", "a pink alien with a spiky head"),
    People("mool", "Mools", "Mool", "the Mools from the far moon", "the far moon", "a round grey alien covered with craters"),
)
