"""The tables in which VLMEvalKit publishes datasets: a row a question, options in the columns A, B, ..., pictures as base64.

A picture's cell holds base64, a list of them, or, to save room, the `index` of another row that holds the picture.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyetest.errors import shown
from eyetest.prompts import ALPHABET
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.readers.rows import read_rows
from eyetest.tasks import dataset_files
from eyetest.tasks.dataset_files import BadRowError
from eyetest.types import Image

SHORTEST = 64
"""Characters; VLMEvalKit takes a shorter cell for the index of another row."""

NEEDED = ("index", "image", "question", "A", "B", "answer")


def check_columns(file: Path, dataset: str) -> None:
    """Raises DataError unless the table has the columns of a dataset with pictures and options."""
    dataset_files.check_columns(file, NEEDED, f"Is this {dataset} as VLMEvalKit publishes it?")


def rows(file: Path, report: LoadReport) -> Iterator[Row]:
    """The rows, with the picture's cell of another row in place of its index, where that row is there."""
    cells = _cited(file)
    for row in read_rows(file, report):
        image = row.values["image"].strip()
        yield replace(row, values={**row.values, "image": cells[image]}) if image in cells else row


def pictures(cell: str) -> tuple[Image, ...]:
    """The pictures of one cell, in order. Raises BadRowError for none and for what is not base64.

    They are held as bytes, because no part of such a table can be reached without reading what stands before it.
    """
    text = cell.strip()
    parts = [part.strip(" \t\n'\"") for part in text[1:-1].split(",")] if text.startswith("[") else [text]
    if not any(parts):
        raise BadRowError("missing picture", "image is empty")
    if short := [part for part in parts if len(part) <= SHORTEST]:
        raise BadRowError("missing picture", f"image is {shown(short[0])}; no row with that index holds one")
    try:
        return tuple(Image(data=base64.b64decode(part, validate=True)) for part in parts)
    except (binascii.Error, ValueError) as error:
        raise BadRowError("undecodable picture", f"image is no base64: {error}") from None


def options(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Texts of the options A, B, ... up to the last that is filled. Raises BadRowError for a gap among them."""
    cells = [str(values.get(letter) or "") for letter in ALPHABET]
    while cells and not cells[-1].strip():
        cells.pop()
    if gap := next((letter for letter, cell in zip(ALPHABET, cells, strict=False) if not cell.strip()), None):
        raise BadRowError("malformed options", f"{gap} is empty, but not the one after it")
    return tuple(cells)


def _cited(file: Path) -> dict[str, str]:
    """Index -> picture's cell of the rows that others cite; the table is read once to find them, once more if there are any."""
    images = ((row.values["index"].strip(), row.values["image"].strip()) for row in read_rows(file, LoadReport()))
    cited = {image for _, image in images if 0 < len(image) <= SHORTEST}
    if not cited:
        return {}
    again = ((row.values["index"].strip(), row.values["image"].strip()) for row in read_rows(file, LoadReport()))
    return {index: image for index, image in again if index in cited and len(image) > SHORTEST}
