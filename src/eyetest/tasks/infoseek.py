"""InfoSeek (Chen et al. 2023, arXiv 2302.11713): what an encyclopaedia says of the thing in a picture.

One layout, the authors' JSON Lines with the pictures of OVEN beside them or one level up:

    infoseek_{val,train,test,human}.jsonl     data_id, image_id, question, answer, answer_eval, data_split
    infoseek_val_qtype.jsonl                  String, Numerical or Time
    infoseek_{val,train}_withkb.jsonl         the entity that the picture shows; test and human have none
    oven_images/04/oven_04990048.jpg          or in one folder, or named by data_id, with any extension

Answers come in three shapes: a list of aliases (of a date its spellings and the years beside it), `[{"wikidata": 1.0, "range":
[0.9, 1.1]}]`, or this object bare. A range is kept in `metadata["range"]`; the printed answer stands first in `target`.

K is the question about the entity by name (`entity_question`). `val:infoseek3k_v1` is 3,000 of the validation questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from eyetest.errors import UsageError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.rows import columns
from eyetest.scorers import TextScorer
from eyetest.scorers.converter import leaks
from eyetest.tasks.dataset_files import BadRowError, check_columns, plain, samples
from eyetest.tasks.entity_question import entity_question
from eyetest.tasks.infoseek_files import SPLITS, SUBSETS, Joined, Pictures, name, rows
from eyetest.tasks.layouts import Found, Layout, any_of, entries, locate
from eyetest.tasks.standard import METRICS
from eyetest.tasks.task import Card, Task
from eyetest.types import Image, Sample

CARD = Card(
    title="InfoSeek",
    licence="Apache-2.0 (questions and answers); pictures: each of OVEN's sources has its own terms",
    redistribution="questions and answers with their notice; no pictures",
    citation="Chen et al. 2023. Can Pre-trained Vision and Language Models Answer Visual Information-Seeking Questions? EMNLP. "
    "arXiv 2302.11713. Under viewing conditions: arXiv 2410.12329.",
    url="https://github.com/open-vision-language/infoseek",
    sizes={"val": 73620, "test": 347980},
    notes="arXiv 2410.12329 asks 3,000 validation questions whose ids were not published. val:infoseek3k_v1 is a sample "
    'of ours: the 3,000 smallest sha256("infoseek3k|seed=0|" + data_id), chosen before pictures are looked for, so '
    "that the set is the same for everybody and what lacks its picture counts as dropped. Of the first 1,000 validation rows "
    "707 are answered by a name, and 164 of these accept an alias of at most two characters (in, us, no): the paper's rule, an "
    "alias anywhere in the output, gives a refusal 2 %, so answers are compared by tokens. Numbers are right within 10 %, years "
    "within one. Clusters are entities, or pictures where no entity is known. Knowledge questions name the entity by rules of "
    "ours, without article; metadata.knowledge_doubt says where one may be no sentence or still need the picture. Some questions "
    "are ungrammatical as published. The authors' score is the harmonic mean of val_unseen_question and val_unseen_entity.",
)

_TYPES = ("String", "Numerical", "Time")
_NEEDED = ("data_id", "image_id", "question", "answer_eval")


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is joined to a row."""

    types: Joined
    entities: Joined
    pictures: Pictures


def _load(folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """Folder, files and columns are checked at once, rows as they are taken."""
    if folder is None:
        raise UsageError("Task infoseek needs its folder: --dir FOLDER, the one with infoseek_val.jsonl and oven_images/.")
    published = SUBSETS[split][0] if split in SUBSETS else split
    marker = f"infoseek_{published}.jsonl"
    found = locate("infoseek", CARD.title, folder, {"jsonl": Layout(marker, any_of(marker))}, ("jsonl",))
    _check_columns(found)
    pictures = Pictures(published, (found.root, folder))
    return _samples(found, split, published, pictures, report)


def _check_columns(found: Found) -> None:
    file = found.files[0]
    withheld = set(_NEEDED) - set(columns(file)) == {"answer_eval"}
    extra = "The authors keep the answers of this split. " if withheld else ""
    holds = f"The folder holds {listed(entries(found.root), 10)}."
    check_columns(file, _NEEDED, f"{extra}Is this a split of InfoSeek with answers? {holds}", also=" and 'answer'")


def _samples(found: Found, split: str, published: str, pictures: Pictures, report: LoadReport) -> Iterator[Sample]:
    start = f"infoseek_{published}"
    beside = _Beside(
        Joined(found.root / f"{start}_qtype.jsonl", published, ("question_type",), "no question types", report),
        Joined(
            found.root / f"{start}_withkb.jsonl",
            published,
            ("entity_id", "entity_text"),
            "no entities: no knowledge questions",
            report,
        ),
        pictures,
    )
    source = found.files[0]
    yield from samples(rows(source, split, report), partial(_sample, beside, split, report), report, source=source)


def _sample(beside: _Beside, split: str, report: LoadReport, row: Row) -> Sample:
    """Raises BadRowError for a row that cannot be asked or scored."""
    values = row.values
    data_id, image_id = name(values.get("data_id"), "data_id"), name(values.get("image_id"), "image_id")
    question = values.get("question")
    if not isinstance(question, str) or not question.strip():
        raise BadRowError("no question", f"question is {shown(question)}")
    target, bounds = answers(values)
    path = beside.pictures.find(image_id, data_id)
    if path is None:
        raise BadRowError("missing picture", image_id)
    metadata: dict[str, Any] = {"split": split, "data_split": plain(values.get("data_split")), "image_id": image_id}
    metadata["question_type"] = _type(beside.types, data_id, bounds, row.place, report)
    if bounds is not None:
        metadata["range"] = bounds
    made, entity = None, beside.entities.get(data_id)
    if entity is not None:
        made = entity_question(question, entity[1])
        metadata |= {"entity_id": entity[0], "knowledge_doubt": ", ".join(made.doubts) or None}
        if made.doubts:
            report.warn("doubtful knowledge question", row.place, f"{made.rule}: {shown(made.text)}")
    elif beside.entities.there:
        report.warn("no entity: no knowledge question", row.place, data_id)
    sample = Sample(
        id=data_id,
        question=question.strip(),
        target=target,
        kind="text",
        images=(Image(path=path),),
        knowledge_question=None if made is None else made.text,
        knowledge_method=None if made is None else f"entity:{made.rule}",
        entity=None if entity is None else entity[1],
        cluster=image_id if entity is None else entity[0],
        metadata=metadata,
    )
    if made is not None and leaks(sample, made.text):
        report.warn("the knowledge question names the answer: not asked", row.place, shown(made.text))
        return replace(sample, knowledge_question=None, knowledge_method=None)
    return sample


def answers(values: Any) -> tuple[tuple[str, ...], list[float] | None]:
    """(accepted texts, the printed answers first; [low, high] of a numerical answer) of a row. Raises BadRowError."""
    printed, accepted = _list(values, "answer"), _list(values, "answer_eval")
    ranges = [one for one in accepted if isinstance(one, dict)]
    if ranges and len(accepted) > 1:
        raise BadRowError("bad range", f"answer_eval is {shown(accepted)}; expected one range, or texts only")
    texts = [*printed, *([] if ranges else accepted)]
    for one in texts:
        if not isinstance(one, str):
            raise BadRowError("wrong type", f"an answer is {shown(one)}; expected text")
    target = tuple(dict.fromkeys(one.strip() for one in texts if one.strip()))
    if not target:
        raise BadRowError("no answer")
    return target, _range(ranges[0]) if ranges else None


def _list(values: Any, column: str) -> list[Any]:
    """The cell as a list; a bare object is a list of it."""
    cell = values.get(column)
    if cell is None:
        return []
    if isinstance(cell, dict):
        return [cell]
    if not isinstance(cell, list):
        raise BadRowError("wrong type", f"{column} is {shown(cell)}; expected a list")
    return cell


def _range(given: dict[str, Any]) -> list[float]:
    ends = given.get("range")
    numbers = [float(end) for end in ends if _number(end)] if isinstance(ends, list) and len(ends) == 2 else []
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise BadRowError("bad range", f"range is {shown(ends)}; expected two rising numbers")
    return numbers


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _type(types: Joined, data_id: str, bounds: list[float] | None, place: str, report: LoadReport) -> str | None:
    """The question's type; without a file of types only `Numerical` is known, by the answer."""
    joined = types.get(data_id)
    if joined is None:
        if types.there:
            report.warn("no question type", place, data_id)
        return None if bounds is None else "Numerical"
    if joined[0] not in _TYPES or (joined[0] == "Numerical") != (bounds is not None):
        report.warn("question type and answer disagree", place, f"{shown(joined[0])}, {'a range' if bounds else 'texts'}")
    return joined[0]


infoseek = Task(
    "infoseek",
    CARD,
    _load,
    {"text": TextScorer()},
    {"text": METRICS["text"]},
    splits=("val", *SUBSETS, *SPLITS[1:]),
    formats={"jsonl": _load},
    train_split="train",
)
