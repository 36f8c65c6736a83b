"""Draw small pictures of shapes and write their questions as JSONL: data that anyone may use, made in a second.

    python examples/drawn_shapes.py FOLDER [COUNT]

Each picture is asked for its colour and its shape; every answer is known because we drew it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw

COLOURS = {"red": (220, 40, 40), "green": (40, 170, 60), "blue": (50, 80, 220), "yellow": (230, 200, 40)}
SHAPES = ("circle", "square", "triangle")


def draw(colour: str, shape: str, random: Random) -> Image.Image:
    """A 64 x 64 picture of one shape at a random place and size."""
    picture = Image.new("RGB", (64, 64), (235, 235, 235))
    size = random.randint(28, 48)
    left, top = random.randint(2, 62 - size), random.randint(2, 62 - size)
    box = (left, top, left + size, top + size)
    pen, fill = ImageDraw.Draw(picture), COLOURS[colour]
    if shape == "circle":
        pen.ellipse(box, fill=fill)
    elif shape == "square":
        pen.rectangle(box, fill=fill)
    else:
        pen.polygon([(left + size // 2, top), (left, top + size), (left + size, top + size)], fill=fill)
    return picture


def main(folder: Path, count: int = 120) -> None:
    """Write `count` pictures and `items.jsonl` into `folder`."""
    random = Random(7)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    with (folder / "items.jsonl").open("w", encoding="utf-8") as items:
        for number in range(count):
            colour, shape = random.choice(list(COLOURS)), random.choice(SHAPES)
            name = f"pictures/{number:04d}.png"
            draw(colour, shape, random).save(folder / name)
            common = {"image": name, "cluster": f"picture-{number}"}
            for asks, question, choices, answer in (
                ("colour", "What colour is the shape?", list(COLOURS), colour),
                ("shape", "What shape is it?", list(SHAPES), shape),
            ):
                item = {"id": f"{number:04d}-{asks}", "question": question, "choices": choices, "answer": answer, "asks": asks}
                items.write(json.dumps(item | common) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 120)
