"""Makes the data of the eye chart: src/eyetest/eyechart/files/*.jsonl.

    npm pack flag-icons@7.5.0 && tar xzf flag-icons-7.5.0.tgz
    pip install resvg-py==0.5.0
    python scripts/eyechart/make_data.py --flags package/flags/4x3

Seeded: another run with the same Pillow, resvg-py and flag-icons writes the same bytes. One line is one picture with its
questions: {"picture": id, "png": base64, "questions": [...]}. Without --flags only shapes, words and passages are made.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from drawing import COLOURS, NUMBERS, POSITIONS, SHAPES, WORDS, one_shape, one_word, several_shapes
from PIL import Image
from questions import FACTS, Country, countries, flag_question, knowledge_question, shape_question, word_question

FILES = Path(__file__).parents[2] / "src" / "eyetest" / "eyechart" / "files"
FLAG_SIZE = (96, 72)
"""Width and height of a flag in pixels: flag-icons draws every flag 4:3."""

Line = dict[str, Any]


def png(picture: Image.Image) -> str:
    """The picture as base64 of a PNG file."""
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode("ascii")


def shapes(split: str, single: int, several: int) -> Iterator[Line]:
    """`single` pictures of one shape and `several` of one to four; every third picture is asked two questions."""
    for number in range(single + several):
        name = f"shapes-{split}-{number:03d}"
        random = Random(name)
        colour, shape = random.choice(list(COLOURS)), random.choice(SHAPES)
        facts = {"colour": colour, "shape": shape}
        if number < single:
            facts["position"] = random.choice(POSITIONS)
            picture = one_shape(random, **facts)
            asked: tuple[str, ...] = ("colour", "shape", "position")
        else:
            count = random.randint(1, len(NUMBERS))
            facts["count"] = NUMBERS[count - 1]
            picture = several_shapes(random, colour, shape, count)
            asked = ("count", "shape")
        first = number % len(asked) if number < single else 0
        kinds = (asked[first], asked[(first + 1) % len(asked)])[: 2 if number % 4 == 0 else 1]
        questions = [
            {"id": f"{name}-{asks}", **shape_question(random, asks, facts[asks]), "metadata": {"asks": asks, **facts}}
            for asks in kinds
        ]
        yield {"picture": name, "png": png(picture), "questions": questions}


def words(split: str, each: int) -> Iterator[Line]:
    """`each` pictures of every word, each asked once with options and once without."""
    for number in range(each * len(WORDS)):
        name, word = f"words-{split}-{number:03d}", WORDS[number % len(WORDS)]
        random = Random(name)
        picture = one_word(random, word)
        questions = [
            {"id": f"{name}-{kind}", **word_question(random, word, kind), "metadata": {"word": word}}
            for kind in ("choice", "text")
        ]
        yield {"picture": name, "png": png(picture), "questions": questions}


def flags(folder: Path) -> Iterator[Line]:
    """One picture a country, asked its name and every fact, each with options and without."""
    from resvg_py import svg_to_bytes

    every = countries()
    for country in every:
        drawn = svg_to_bytes(svg_path=str(folder / f"{country.code}.svg"), width=FLAG_SIZE[0] * 4, height=FLAG_SIZE[1] * 4)
        picture = Image.open(io.BytesIO(bytes(drawn))).convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")  # Nepal's flag is no rectangle
        picture = Image.alpha_composite(white, picture).convert("RGB").reduce(4)
        if picture.size != FLAG_SIZE:
            raise ValueError(f"{country.code}.svg was drawn as {picture.size}, not {FLAG_SIZE}. Pass the folder flags/4x3.")
        questions = [_about(country, asks, kind, every) for asks in ("name", *FACTS) for kind in ("choice", "text")]
        yield {"picture": f"flags-{country.code}", "png": png(picture), "questions": questions}


def _about(country: Country, asks: str, kind: str, every: tuple[Country, ...]) -> dict[str, Any]:
    name = f"flags-{country.slug}-{asks}-{kind}"
    question = {"id": name, **flag_question(Random(name), country, asks, kind, every)}
    known = knowledge_question(country, asks)
    if known is not None:
        question["knowledge_question"] = known
    metadata = {"asks": asks, "country": country.name, "continent": country.facts["continent"]}
    return question | {"entity": country.name, "metadata": metadata}


def passages() -> Iterator[Line]:
    """Our own sentences about every country: three short passages each, to be found by retrieval."""
    for country in countries():
        name, (capital, continent, currency) = country.in_sentence, (country.facts[fact] for fact in FACTS)
        start = name[0].upper() + name[1:]
        random = Random(country.code)
        variants = (
            (
                f"{start} is a country in {continent}. Its capital is {capital}.",
                f"{capital} is the capital of {name}, a country in {continent}.",
            ),
            (
                f"The currency of {name} is the {currency}. Prices in {capital} are given in it.",
                f"In {name} people pay with the {currency}. It is the official currency of the country.",
            ),
            (
                f"The government of {name} has its seat in {capital}. The national flag is flown there.",
                f"Travellers to {name} often begin in {capital}. They change their money into the local {currency}.",
            ),
        )
        texts = [random.choice(pair) for pair in variants]
        for number, sentence in enumerate(texts, 1):
            yield {"id": f"{country.slug}-{number}", "title": country.name, "text": sentence}


def write(name: str, lines: Iterable[Line]) -> None:
    """One JSON object a line, keys in the order given."""
    FILES.mkdir(parents=True, exist_ok=True)
    with (FILES / name).open("w", encoding="utf-8", newline="\n") as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def main() -> None:
    """Write every file."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--flags", type=Path, help="folder flags/4x3 of the npm package flag-icons")
    folder = arguments.parse_args().flags
    write("shapes.test.jsonl", shapes("test", 420, 180))
    write("shapes.train.jsonl", shapes("train", 105, 45))
    write("words.test.jsonl", words("test", 10))
    write("words.train.jsonl", words("train", 4))
    write("passages.jsonl", passages())
    if folder is not None:
        write("flags.test.jsonl", flags(folder))


if __name__ == "__main__":
    main()
