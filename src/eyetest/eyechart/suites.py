"""Reads the embedded files: pictures with their questions, and what the embedded model was taught."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from eyetest.errors import DataError, unknown
from eyetest.readers.load_report import LoadReport
from eyetest.types import Image, Sample

Suite = Literal["shapes", "words", "flags"]
"""Coloured shapes, single words, national flags."""

_FILES = Path(__file__).parent / "files"

SUITES: Mapping[Suite, tuple[str, ...]] = {"shapes": ("test", "train"), "words": ("test", "train"), "flags": ("test",)}
"""Suite -> its splits. Flags have one picture a country, so there is nothing to train on but the test itself."""

MODEL = Path(__file__).parent / "model"
"""Folder of the embedded model: a LLaVA checkpoint for `hf:`, its model card README.md, and truth.json."""

PASSAGES = _FILES / "passages.jsonl"
"""Short passages about every country of the flags, one JSON object a line: id, title, text."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the embedded model was taught of one fact, by construction."""

    seen: bool
    """Its training held the country's flag, with the question which country it is."""
    told: bool
    """Its training held the fact as text: "What is the capital of France?"."""
    asked: bool
    """Its training held the fact as a question about the flag."""


@cache
def truth() -> Mapping[tuple[str, str], Truth]:
    """(country, fact) -> what the embedded model was taught; fact: capital, continent or currency."""
    table = json.loads((MODEL / "truth.json").read_text(encoding="utf-8"))["countries"]
    return {
        (country, fact): Truth(entry["seen"], fact in entry["told"], fact in entry["asked"])
        for country, entry in table.items()
        for fact in ("capital", "continent", "currency")
    }


def samples(suite: Suite, split: str, report: LoadReport) -> Iterator[Sample]:
    """The samples of a suite, streamed in file order; those of one picture share a cluster and follow one another.

    Raises UsageError for a split that the suite does not have.
    """
    if split not in SUITES[suite]:
        raise unknown("split", split, SUITES[suite], f"task eyechart_{suite}")
    return _samples(suite, split, report)


def _samples(suite: Suite, split: str, report: LoadReport) -> Iterator[Sample]:
    for line in picture_lines(suite, split):
        picture = Image(data=base64.b64decode(line["png"]))
        for question in line["questions"]:
            report.read += 1
            report.kept += 1
            yield _sample(question, picture, line["picture"])


def picture_lines(suite: Suite, split: str) -> Iterator[dict[str, Any]]:
    """The lines of a suite's file: {"picture": id, "png": base64, "questions": [...]}.

    Raises DataError if the installation lacks the file.
    """
    path = _FILES / f"{suite}.{split}.jsonl"
    try:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    except FileNotFoundError:
        raise DataError(f"{path}: this file belongs to eyetest and is missing. Install eyetest again.") from None


def _sample(question: dict[str, Any], picture: Image, cluster: str) -> Sample:
    return Sample(
        id=question["id"],
        question=question["question"],
        target=tuple(question["target"]),
        kind=question["kind"],
        choices=tuple(question.get("choices", ())),
        images=(picture,),
        knowledge_question=question.get("knowledge_question"),
        knowledge_method="field" if question.get("knowledge_question") else None,
        entity=question.get("entity"),
        cluster=cluster,
        metadata=question["metadata"],
    )
