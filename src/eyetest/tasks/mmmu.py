"""MMMU (Yue et al. 2023, arXiv 2311.16502): questions of college exams in 30 subjects, with one to seven pictures.

`<image 1>` in a question or an option is a picture, shown at that place (see `prompts`); without pictures the words stay as
they are. The answer is an option's text or, for an open question, what is to be said. Layouts are those of `mmmu_files`.

Subsets, written after the split (`validation:mmmu_single_all`):

    mmmu_single_all      questions that name one picture and have one; the default
    mmmu_single648_v1    648 of those of validation that have options, drawn by hash
    all                  every question

"Understanding the Role of LLMs in Multimodal Evaluation Benchmarks" (arXiv 2410.12329) asks 648 validation questions with one
picture and does not publish which. `mmmu_single648_v1` has as many, but they are not the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.tasks import subsets
from eyetest.tasks.dataset_files import BadRowError, plain, samples
from eyetest.tasks.exams import folder_of, warn_of_doubles
from eyetest.tasks.layouts import Found
from eyetest.tasks.mmmu_files import LAYOUTS, SPLITS, Item, image_types, images, item, rows, subject
from eyetest.tasks.standard import METRICS, scorers
from eyetest.tasks.task import Card, Task
from eyetest.types import Sample

SINGLE, DRAWN, ALL = "mmmu_single_all", "mmmu_single648_v1", "all"
N_DRAWN = 648

CARD = Card(
    title="MMMU",
    licence="Apache-2.0",
    redistribution="its rows, with the notice; some pictures may be others' property, as its authors say",
    citation="Yue et al. 2024. MMMU: A Massive Multi-discipline Multimodal Understanding and Reasoning Benchmark for Expert AGI. "
    "CVPR. arXiv 2311.16502.",
    url="https://mmmu-benchmark.github.io/",
    sizes={"dev": 150, "validation": 900, "test": 10_500},
    notes="Options differ in number (2 to 9), so the chance of guessing right is computed item by item: 0.262 over the 847 "
    "validation questions with options; 53 are open. In a few items two options are the same, in two of them the right one. "
    "The default asks every validation question with one picture. mmmu_single648_v1 has as many questions as arXiv 2410.12329 "
    "asks, but they are not the paper's, which are unpublished. Answer keys were corrected on 2026-07-10, so name the "
    "revision of your copy. In many copies the test split has no answers.",
)


def _load(only: str | None, folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """only: the layout to read; None finds out. Folder, files and columns are checked at once, rows as they are taken."""
    part, subset = subsets.parted(split)
    found = folder_of("mmmu", CARD.title, folder, only, LAYOUTS)
    if subset == DRAWN:
        return _drawn(found, part, _samples(found, part, DRAWN, LoadReport(), None), report)
    return _samples(found, part, subset, report, None)


def _drawn(found: Found, part: str, usable: Iterator[Sample], report: LoadReport) -> Iterator[Sample]:
    """The files are read twice: to learn the ids of what is `usable`, and to ask those that are drawn."""
    ids = subsets.drawn(DRAWN, (sample.id for sample in usable), N_DRAWN)
    if len(ids) < N_DRAWN:
        report.warn("fewer than its name says", str(found.root), f"{DRAWN} has {len(ids)} questions here")
    yield from _samples(found, part, DRAWN, report, ids)


def _samples(found: Found, part: str, subset: str, report: LoadReport, ids: frozenset[str] | None) -> Iterator[Sample]:
    """ids: those to keep; None for all of the subset."""
    read = rows(found.layout, found.root, part, report)
    make = partial(_sample, found, part, subset, report)
    return samples(_wanted(read, found.layout, part, subset, ids, report), make, report, source=found.root)


def _wanted(
    read: Iterable[Row], layout: str, part: str, subset: str, ids: frozenset[str] | None, report: LoadReport
) -> Iterator[Row]:
    """The rows of a subset, with what was read in them; the others do not count as read. Rows that are bad go with them."""
    for row in read:
        try:
            found = item(layout, part, row)
        except BadRowError as bad:
            yield Row({"item": bad}, row.place)
            continue
        if _belongs(found, subset) and (ids is None or found.id in ids):
            yield Row({"item": found}, row.place)
        else:
            report.read -= 1


def _belongs(found: Item, subset: str) -> bool:
    return subset == ALL or (found.is_single and (subset == SINGLE or bool(found.choices)))


def _sample(found: Found, part: str, subset: str, report: LoadReport, row: Row) -> Sample:
    read: Item | BadRowError = row.values["item"]
    if isinstance(read, BadRowError):
        raise read
    shown = images(read, found.root, report)
    if read.choices:
        warn_of_doubles(read.choices, read.target[0], read.place, report)
    return Sample(
        id=read.id,
        question=read.question,
        target=read.target,
        kind="choice" if read.choices else "text",
        choices=read.choices,
        images=shown,
        metadata={"split": part, "subset": subset, **_facts(read)},
    )


def _facts(read: Item) -> dict[str, Any]:
    """Subject, field, difficulty and kinds of picture, as far as the copy has them."""
    values = read.values
    facts = {
        "subject": subject(read.id) or values.get("category"),
        "subfield": values.get("subfield"),
        "difficulty": values.get("topic_difficulty"),
        "image_types": image_types(values.get("img_type")),
    }
    return {"pictures": len(read.pictures)} | {name: plain(value) for name, value in facts.items() if value}


mmmu = Task(
    "mmmu",
    CARD,
    partial(_load, None),
    scorers(),
    METRICS,
    splits=(
        *subsets.names("validation", SINGLE, DRAWN, ALL),
        *(name for split in SPLITS[1:] for name in subsets.names(split, SINGLE, ALL)),
    ),
    formats={layout: partial(_load, layout) for layout in LAYOUTS},
    hub="MMMU/MMMU",
)
