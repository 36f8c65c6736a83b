"""ScienceQA (Lu et al. 2022, arXiv 2209.09513): school questions with two to five choices, half of them with a picture.

Asked as "Understanding the Role of LLMs in Multimodal Evaluation Benchmarks" (arXiv 2410.12329) asks it: the 2,017 problems of
the test split that have a picture, without the hint. The hint is `metadata.hint`, for a template that wants it. Layouts are
those of `scienceqa_files`; an id is the authors' pid, or, in copies that dropped it, the split and the row's number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from eyetest.errors import shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.tasks import subsets
from eyetest.tasks.dataset_files import BadRowError, plain, samples
from eyetest.tasks.exams import check_options, folder_of, warn_of_doubles
from eyetest.tasks.layouts import Found
from eyetest.tasks.scienceqa_files import LAYOUTS, SPLITS, Problem, captions, image_of, options, problems
from eyetest.tasks.standard import METRICS, scorers
from eyetest.tasks.task import Card, Task
from eyetest.types import Image, Sample

SUBSETS: Mapping[str, tuple[bool, ...]] = {"pictures": (True,), "no_pictures": (False,), "all": (True, False)}
"""Name -> whether problems with and without a picture belong to it."""

CARD = Card(
    title="ScienceQA",
    licence="CC BY-NC-SA 4.0 (its repository; a Hugging Face copy says CC BY-SA 4.0, the stricter holds)",
    redistribution="not for sale, and only under the same licence",
    citation="Lu et al. 2022. Learn to Explain: Multimodal Reasoning via Thought Chains for Science Question Answering. NeurIPS. "
    "arXiv 2209.09513.",
    url="https://scienceqa.github.io/",
    sizes={"train": 12_726, "validation": 4241, "test": 4241},
    notes="The default, test:pictures, is what arXiv 2410.12329 asks: the 2,017 test problems that have a picture. Other "
    "harnesses put the hint into the prompt; here it stays out, as in that paper. The number of choices differs (2 to 5), so "
    "the chance of guessing right is computed item by item. Some pictures are mere decoration, by design. Many problems occur "
    "more than once in the same words.",
)

_KEPT = ("hint", "task", "grade", "subject", "topic", "category", "skill")


def _load(only: str | None, folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """only: the layout to read; None finds out. Folder, files and columns are checked at once, rows as they are taken."""
    part, subset = subsets.parted(split)
    found = folder_of("scienceqa", CARD.title, folder, only, LAYOUTS)
    told = captions([found.root, found.root.parent], report) if found.layout in ("problems", "llava") else {}
    asked = problems(found.layout, found.root, part, report)
    asked = _wanted(asked, SUBSETS[subset], report)
    return _samples(found, {"split": part, "subset": subset, "layout": found.layout}, asked, told, report)


def _wanted(asked: Iterator[Problem], pictured: tuple[bool, ...], report: LoadReport) -> Iterator[Problem]:
    """Those of a subset; the others do not count as read."""
    outside = 0
    for problem in asked:
        if problem.has_picture in pictured:
            yield problem
        else:
            outside += 1
    report.read -= outside  # at the end, because rows are numbered by it


def _samples(
    found: Found, where: Mapping[str, str], asked: Iterator[Problem], told: Mapping[str, str], report: LoadReport
) -> Iterator[Sample]:
    """where: split, subset and layout; told: captions by pid."""
    rows = (Row({"problem": problem}, problem.place) for problem in asked)
    return samples(rows, partial(_sample, found, where, told, report), report, source=found.root, called="problems")


def _sample(found: Found, where: Mapping[str, str], told: Mapping[str, str], report: LoadReport, row: Row) -> Sample:
    problem: Problem = row.values["problem"]
    question = problem.values.get("question")
    if not isinstance(question, str) or not question.strip():
        raise BadRowError("no question", f"question is {shown(question)}")
    choices, target = options(problem, found.layout)
    check_options(choices)
    pictures: tuple[Image, ...] = ()
    if problem.has_picture:
        pictures = (image_of(problem, found.layout, found.root, where["split"], report),)
    warn_of_doubles(choices, target, problem.place, report)
    metadata: dict[str, Any] = {name: plain(problem.values[name]) for name in _KEPT if name in problem.values}
    return Sample(
        id=problem.id,
        question=question.strip(),
        target=(target,),
        choices=choices,
        images=pictures,
        caption=told.get(problem.id) if problem.has_picture else None,
        metadata={**where, **metadata},
    )


scienceqa = Task(
    "scienceqa",
    CARD,
    partial(_load, None),
    scorers(),
    METRICS,
    splits=tuple(name for split in SPLITS for name in subsets.names(split, *SUBSETS)),
    formats={layout: partial(_load, layout) for layout in LAYOUTS},
    train_split="train:pictures",
    hub="derek-thomas/ScienceQA",
)
