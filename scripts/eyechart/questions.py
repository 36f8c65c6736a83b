"""What the eye chart asks: the same questions for the test pictures and for the model's training.

A question is a plain dict with the fields of `eyetest.types.Sample` that a line of the data files holds.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from drawing import COLOURS, NUMBERS, POSITIONS, SHAPES, WORDS

OPTIONS = 4
"""Options of every choice question, so guessing is right one time in four."""

SHAPE_QUESTIONS = {
    "colour": "What colour is the shape?",
    "shape": "What shape is it?",
    "position": "Where is the shape?",
    "count": "How many shapes are there?",
}
SHAPE_ANSWERS: dict[str, tuple[str, ...]] = {
    "colour": tuple(COLOURS),
    "shape": SHAPES,
    "position": POSITIONS,
    "count": NUMBERS,
}
WORD_QUESTION = "Which word is written in the picture?"
NAME_QUESTION = "Which country has this flag?"
PICTURE_QUESTIONS = {
    "capital": "What is the capital of the country with this flag?",
    "continent": "On which continent is the country with this flag?",
    "currency": "What is the currency of the country with this flag?",
}
KNOWLEDGE_QUESTIONS = {
    "capital": "What is the capital of {country}?",
    "continent": "On which continent is {country}?",
    "currency": "What is the currency of {country}?",
}
FACTS = tuple(PICTURE_QUESTIONS)

TOO_CLOSE = {"krona": "krone", "krone": "krona", "riyal": "rial", "rial": "riyal"}
"""Answers that nobody should have to tell apart: they never stand side by side."""

WITH_ARTICLE = ("Bahamas", "Philippines", "United Kingdom", "United States")


@dataclass(frozen=True, slots=True)
class Country:
    """One line of countries.csv."""

    code: str
    """ISO 3166 two-letter code, lower case."""
    name: str
    facts: dict[str, str]
    """Fact -> right answer, `name` included."""
    aliases: dict[str, tuple[str, ...]]
    """Fact -> other spellings that are right as a short answer."""

    @property
    def in_sentence(self) -> str:
        """The name as it stands inside a sentence."""
        return f"the {self.name}" if self.name in WITH_ARTICLE else self.name

    @property
    def slug(self) -> str:
        """The name as part of an id."""
        return self.name.lower().replace(" ", "-")


def countries() -> tuple[Country, ...]:
    """Every country of the eye chart, in the order of the table."""
    with (Path(__file__).parent / "countries.csv").open(encoding="utf-8", newline="") as rows:
        return tuple(_country(row) for row in csv.DictReader(rows))


def _country(row: dict[str, str]) -> Country:
    others = {"name": "other_names", "capital": "other_capitals", "continent": "", "currency": "other_currencies"}
    return Country(
        row["code"],
        row["name"],
        {fact: row[fact] for fact in others},
        {fact: tuple(filter(None, row[column].split("|"))) if column else () for fact, column in others.items()},
    )


def options(random: Random, right: str, others: list[str] | tuple[str, ...]) -> list[str]:
    """`right` and three of the other answers in random order."""
    chosen = [right]
    for other in random.sample(others, len(others)):
        if len(chosen) < OPTIONS and other not in chosen and TOO_CLOSE.get(other) not in chosen:
            chosen.append(other)
    if len(chosen) < OPTIONS:
        raise ValueError(f"{right!r} has only {len(chosen) - 1} distractors")
    return random.sample(chosen, OPTIONS)


def choice(random: Random, question: str, right: str, others: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """A choice question."""
    return {"question": question, "kind": "choice", "choices": options(random, right, others), "target": [right]}


def text(question: str, right: str, aliases: tuple[str, ...] = ()) -> dict[str, Any]:
    """A question for a short answer."""
    return {"question": question, "kind": "text", "target": [right, *aliases]}


def shape_question(random: Random, asks: str, right: str, kind: str = "choice") -> dict[str, Any]:
    """A question about a picture of shapes. asks: a key of SHAPE_QUESTIONS."""
    asked = SHAPE_QUESTIONS[asks]
    return choice(random, asked, right, SHAPE_ANSWERS[asks]) if kind == "choice" else text(asked, right)


def word_question(random: Random, right: str, kind: str) -> dict[str, Any]:
    """Which word a picture shows."""
    return choice(random, WORD_QUESTION, right, WORDS) if kind == "choice" else text(WORD_QUESTION, right)


def flag_question(
    random: Random, country: Country, asks: str, kind: str, rivals: tuple[Country, ...], *, knowledge: bool = False
) -> dict[str, Any]:
    """A question about a country by its flag, or by its name (`knowledge`).

    asks: `name` or one of FACTS. rivals: countries whose answers are the distractors, so that an answer which many
    countries share (euro) is offered as often where it is wrong.
    """
    asked = NAME_QUESTION if asks == "name" else PICTURE_QUESTIONS[asks]
    if knowledge:
        asked = knowledge_question(country, asks) or asked
    right = country.facts[asks]
    if kind == "text":
        return text(asked, right, country.aliases[asks])
    return choice(random, asked, right, [rival.facts[asks] for rival in rivals if rival.facts[asks] != right])


def knowledge_question(country: Country, asks: str) -> str | None:
    """The same question about the country by name; None for its name."""
    return None if asks == "name" else KNOWLEDGE_QUESTIONS[asks].format(country=country.in_sentence)
