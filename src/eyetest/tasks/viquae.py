"""ViQuAE (Lerner et al. 2022, SIGIR): trivia questions whose subject was replaced by a picture of it.

    jsonl      train, validation, test .jsonl, as published (PaulLerner/viquae_dataset)
    parquet    the same columns as Hugging Face `datasets` writes them

Pictures lie beside them or one level up by the names of column `image`: in images/, viquae_images/images/ (the published
archive), viquae_images/, or among the data files. K is `original_question`, the trivia question of the same row.
Of `meta` and `output.provenance` nothing is read: they are nested differently in the two layouts.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, UsageError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.rows import read_rows
from eyetest.scorers import TextScorer
from eyetest.tasks.dataset_files import BadRowError, check_columns, check_parts, parquet_patterns, samples
from eyetest.tasks.layouts import Layout, any_of, entries, locate
from eyetest.tasks.standard import METRICS
from eyetest.tasks.task import Card, Task
from eyetest.types import Image, Sample

CARD = Card(
    title="ViQuAE",
    licence="CC-BY-4.0 (questions and answers); pictures: Wikimedia Commons, each under its own licence",
    redistribution="questions and answers with attribution; a picture only with its own credit",
    citation="Lerner et al. 2022. ViQuAE, a Dataset for Knowledge-based Visual Question Answering about Named Entities. SIGIR. "
    "Under viewing conditions: arXiv 2410.12329.",
    url="https://github.com/PaulLerner/ViQuAE",
    sizes={"train": 1190, "validation": 1250, "test": 1257},
    notes="Questions come from TriviaQA; a question without its original has no knowledge question and stays out of what "
    "compares with it. Aliases are those of TriviaQA, near-duplicates included. Clusters are entities (wikidata_id), or pictures "
    "where none is given. The paper's rule, an alias anywhere in the output, is lenient; answers are compared by tokens.",
)

SPLITS = ("test", "validation", "train")
"""The first is the default: arXiv 2410.12329 asks the 1,257 of the test."""

LAYOUTS = ("jsonl", "parquet")
_NEEDED = ("id", "image", "input", "output")
_FOLDERS = ("images", os.path.join("viquae_images", "images"), "viquae_images")


def _load(only: str | None, folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """only: the layout to read; None finds out. Folder, split and columns are checked at once, rows as they are taken."""
    if folder is None:
        raise UsageError("Task viquae needs its folder: --dir FOLDER, the one with test.jsonl and images/.")
    sought = {
        name: Layout(", ".join(pattern for one in SPLITS for pattern in _patterns(name, one)), any_of(*_every(name)))
        for name in LAYOUTS
        if only in (None, name)
    }
    found = locate("viquae", CARD.title, folder, sought, LAYOUTS)
    files = any_of(*_patterns(found.layout, split))(found.root)
    if not files:
        raise DataError(f"{found.root}: no split {split!r} here. The folder holds {listed(entries(found.root), 10)}.")
    check_parts(files)
    for file in files:
        check_columns(file, _NEEDED, "Is this ViQuAE?", also=" (and 'original_question')")
    places = _places(found.root, folder)
    rows = (row for file in files for row in read_rows(file, report))
    return samples(rows, partial(_sample, places, split, report), report, source=files[0])


def _patterns(layout: str, split: str) -> tuple[str, ...]:
    return parquet_patterns(split) if layout == "parquet" else (f"{split}.jsonl",)


def _every(layout: str) -> list[str]:
    return [pattern for split in SPLITS for pattern in _patterns(layout, split)]


def _places(root: Path, folder: Path) -> list[str]:
    """Folders in which pictures may lie. Raises DataError if there is none."""
    asked = [os.path.join(place, name) for place in dict.fromkeys((root, folder)) for name in _FOLDERS]
    found = [place for place in asked if os.path.isdir(place)]
    found += [str(place) for place in dict.fromkeys((root, folder)) if any(place.glob("512px-*"))]
    if not found:
        raise DataError(
            f"{folder}: expected the pictures of ViQuAE in {', '.join(_FOLDERS)} or as 512px-* beside the data files, "
            f"found none. Unpack images.tar.gz of PaulLerner/viquae_images there."
        )
    return found


def _sample(places: list[str], split: str, report: LoadReport, row: Row) -> Sample:
    """places: folders of pictures. Raises BadRowError for a row that cannot be asked or scored."""
    values = row.values
    sample_id, question = _text(values, "id"), _text(values, "input")
    if sample_id is None or question is None:
        raise BadRowError("no id" if sample_id is None else "no question")
    target = _answers(values.get("output"))
    named, path = _picture(values, places)
    knowledge, entity = _text(values, "original_question"), _text(values, "wikidata_id")
    if knowledge is None:
        report.warn("no knowledge question", row.place, sample_id)
    return Sample(
        id=sample_id,
        question=question,
        target=target,
        kind="text",
        images=(Image(path=path),),
        knowledge_question=knowledge,
        knowledge_method=None if knowledge is None else "field",
        cluster=entity or named,
        metadata={"split": split, "wikidata_id": entity, "kilt_id": _text(values, "kilt_id"), "image": named},
    )


def _text(values: Any, column: str) -> str | None:
    """The cell, stripped; None if it is empty."""
    value = values.get(column)
    if value is not None and not isinstance(value, str):
        raise BadRowError("wrong type", f"{column} is {shown(value)}; expected text")
    return value.strip() or None if value else None


def _answers(output: Any) -> tuple[str, ...]:
    """The original answer and then its aliases, each once."""
    if not isinstance(output, dict):
        raise BadRowError("wrong type", f"output is {shown(output)}; expected an object with original_answer and answer")
    original, aliases = output.get("original_answer"), output.get("answer")
    if aliases is not None and not isinstance(aliases, list):
        raise BadRowError("wrong type", f"output.answer is {shown(aliases)}; expected a list of texts")
    texts = [*([] if original is None else [original]), *(aliases or [])]
    for one in texts:
        if not isinstance(one, str):
            raise BadRowError("wrong type", f"an answer is {shown(one)}; expected text")
    target = tuple(dict.fromkeys(one.strip() for one in texts if one.strip()))
    if not target:
        raise BadRowError("no answer")
    return target


def _picture(values: Any, places: list[str]) -> tuple[str, str]:
    """(name, path) of a row's picture; it is not opened."""
    named = _text(values, "image")
    if named is None:
        raise BadRowError("missing picture", "image is empty")
    if named in (".", "..") or any(sign in named for sign in "/\\\0"):
        raise BadRowError("bad picture name", f"image is {shown(named)}; expected the name of a file")
    # Archives unpacked on a Mac spell letters with accents as two characters.
    spellings = dict.fromkeys((named, unicodedata.normalize("NFC", named), unicodedata.normalize("NFD", named)))
    paths = (os.path.join(place, spelling) for place in places for spelling in spellings)
    path = next((path for path in paths if os.path.isfile(path)), None)
    if path is None:
        raise BadRowError("missing picture", named)
    return named, path


viquae = Task(
    "viquae",
    CARD,
    partial(_load, None),
    {"text": TextScorer()},
    {"text": METRICS["text"]},
    splits=SPLITS,
    formats={layout: partial(_load, layout) for layout in LAYOUTS},
    train_split="train",
)
