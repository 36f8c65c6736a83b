"""The layouts in which MMMU is published, and its questions in them.

    parquet      SPLIT-*.parquet, or SUBJECT/SPLIT-*.parquet: lmms-lab/MMMU and MMMU/MMMU on Hugging Face
    jsonl        SPLIT.jsonl: the same rows, with the names of picture files, relative to its folder, in image_1 to image_7
    vlmevalkit   MMMU_DEV_VAL.tsv, MMMU_TEST.tsv

VLMEvalKit has no open questions: it asks each as a choice between the answer and `Other Answers`. They are made open again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, shown
from eyetest.prompts import MARKER
from eyetest.readers.lists import python_list
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.readers.rows import columns, read_rows
from eyetest.tasks import vlmevalkit_tsv
from eyetest.tasks.dataset_files import BadRowError, check_columns, check_parts, parquet_patterns, picture
from eyetest.tasks.exams import check_options, chosen
from eyetest.tasks.layouts import Layout, any_of
from eyetest.types import Image

SPLITS = ("validation", "dev", "test")
SUBJECTS = frozenset(
    """
    Accounting Agriculture Architecture_and_Engineering Art Art_Theory Basic_Medical_Science Biology Chemistry Clinical_Medicine
    Computer_Science Design Diagnostics_and_Laboratory_Medicine Economics Electronics Energy_and_Power Finance Geography History
    Literature Manage Marketing Materials Math Mechanical_Engineering Music Pharmacy Physics Psychology Public_Health Sociology
    """.split()  # noqa: SIM905  a list of 30 quoted words would be a page long
)
PICTURES = 7
"""Most pictures that a question has."""
MAX_LIST = 64 << 10
"""Longest text, in characters, that is read as a Python list."""

_OTHER = "Other Answers"
_NEEDED = ("id", "question", "options", "answer", "question_type", "image_1")
_KINDS = {"multiple-choice": True, "open": False, "short-answer": False}
_ID = re.compile(r"(?:dev|validation|test)_(\w+)_\d+")


def parquet_files(folder: Path, splits: Sequence[str] = SPLITS) -> list[Path]:
    """Parquet files of these splits: those in the folder or, where it has none, those in its folders, one a subject."""
    names = [pattern for split in splits for pattern in parquet_patterns(split)]
    return any_of(*names)(folder) or any_of(*(f"*/{name}" for name in names))(folder)


LAYOUTS: Mapping[str, Layout] = {
    "parquet": Layout("validation-*.parquet, ..., in it or in a folder for each subject", parquet_files),
    "jsonl": Layout("validation.jsonl, ...", any_of(*(f"{split}.jsonl" for split in SPLITS))),
    "vlmevalkit": Layout("MMMU_DEV_VAL.tsv or MMMU_TEST.tsv", any_of("MMMU_DEV_VAL.tsv", "MMMU_TEST.tsv")),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One question, checked but for its pictures."""

    id: str
    question: str
    choices: tuple[str, ...]
    """Empty for an open question."""
    target: tuple[str, ...]
    place: str
    pictures: tuple[Any, ...]
    """As the layout holds them: unopened pictures, names of files, base64."""
    values: Mapping[str, Any]

    @property
    def marked(self) -> frozenset[int]:
        """Numbers of the pictures that the question and its options name."""
        return frozenset(int(found[1]) for text in (self.question, *self.choices) for found in MARKER.finditer(text))

    @property
    def is_single(self) -> bool:
        """Whether it names one picture and has one."""
        return len(self.marked) == 1 and len(self.pictures) == 1


def rows(layout: str, root: Path, split: str, report: LoadReport) -> Iterator[Row]:
    """The rows of a split; those of the others do not count as read. Raises DataError where the copy lacks the split."""
    files = _files(layout, root, split)
    if not files:
        raise DataError(f"{root}: no split {split!r} here in the layout {layout}. Fetch it, or ask another split.")
    check_parts(files)
    for file in files:
        _check_columns(layout, file)
    if layout == "vlmevalkit":
        return _of_split(files[0], split, report)
    folders = {file.parent.name for file in files if file.parent != root}
    if folders & SUBJECTS and (missing := sorted(SUBJECTS - folders)):
        report.warn("not the whole dataset", str(root), f"{len(missing)} subjects are missing: {', '.join(missing)}")
    return (row for file in files for row in read_rows(file, report))


def _files(layout: str, root: Path, split: str) -> list[Path]:
    if layout == "parquet":
        return parquet_files(root, [split])
    name = f"{split}.jsonl" if layout == "jsonl" else "MMMU_TEST.tsv" if split == "test" else "MMMU_DEV_VAL.tsv"
    return any_of(name)(root)


def _check_columns(layout: str, file: Path) -> None:
    if layout == "vlmevalkit":
        vlmevalkit_tsv.check_columns(file, "MMMU")
    else:
        check_columns(file, _NEEDED, f"Is this MMMU in the layout {layout}?")


def _of_split(file: Path, split: str, report: LoadReport) -> Iterator[Row]:
    """Rows of one split of a table that holds two."""
    if "split" not in columns(file):
        raise DataError(f"{file}: no column 'split', so dev and validation cannot be told apart. Fetch the file again.")
    for row in vlmevalkit_tsv.rows(file, report):
        if row.values["split"].strip() == split:
            yield row
        else:
            report.read -= 1


def item(layout: str, split: str, row: Row) -> Item:
    """Raises BadRowError for a row that cannot be asked."""
    values = row.values
    question = values.get("question")
    if not isinstance(question, str) or not question.strip():
        raise BadRowError("no question", f"question is {shown(question)}")
    if layout == "vlmevalkit":
        name = values.get("id") or f"{split}_{values['index'].strip()}"
        choices, target = _of_table(values)
        held = vlmevalkit_tsv.pictures(values["image"])
    else:
        name = values.get("id")
        choices, target = _of_row(values)
        held = _held(values)
    if not isinstance(name, str) or not name.strip():
        raise BadRowError("no id", f"id is {shown(name)}")
    made = Item(name.strip(), question.strip(), choices, target, row.place, held, values)
    if missing := [number for number in sorted(made.marked) if not 1 <= number <= len(held)]:
        raise BadRowError("missing picture", f"<image {missing[0]}> is named, and there are {len(held)} pictures")
    if not held:
        raise BadRowError("missing picture", "image_1 is empty")
    return made


def _of_table(values: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    choices = vlmevalkit_tsv.options(values)
    answer = values["answer"].strip()
    if len(choices) == 2 and choices[1] == _OTHER:
        return (), _aliases(choices[0])
    check_options(choices)
    return choices, (chosen(answer, choices),)


def _of_row(values: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kind, answer = values.get("question_type"), values.get("answer")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise BadRowError("unknown question type", f"{shown(kind)}; expected {', '.join(_KINDS)}")
    if not _KINDS[kind]:
        return (), _aliases(answer)
    choices = _options(values.get("options"))
    check_options(choices)
    return choices, (chosen(answer.strip() if isinstance(answer, str) else "", choices),)


def _options(value: Any) -> tuple[str, ...]:
    """The options that a Python list spells: `['Zero', 'None']`, with LaTeX and its backslashes, so not JSON."""
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, list):
        raise BadRowError("malformed options", f"options is {shown(value)}; expected a list")
    if wrong := [one for one in value if isinstance(one, bool) or not isinstance(one, str | int | float)]:
        raise BadRowError("malformed options", f"an option is {shown(wrong[0])}; expected a text")
    return tuple(str(one) for one in value)


def _parsed(text: str) -> list[Any]:
    if len(text) > MAX_LIST:
        raise BadRowError("malformed options", f"{len(text):,} characters; at most {MAX_LIST:,} are read")
    try:
        return python_list(text)
    except ValueError as error:
        raise BadRowError("malformed options", f"options is {shown(text)}: {error}") from None


def _aliases(answer: Any) -> tuple[str, ...]:
    """Right answers of an open question: one text, or a list, which Hugging Face's copies spell as a text."""
    found: Any = answer
    if isinstance(answer, str) and answer.lstrip().startswith("[") and len(answer) <= MAX_LIST:
        try:
            found = python_list(answer)
        except ValueError:  # an answer such as `[0, 1)` is no list
            found = answer
    ones = found if isinstance(found, list) else [found]
    if not all(isinstance(one, str) for one in ones):
        ones = [answer]
    texts = tuple(dict.fromkeys(str(one).strip() for one in ones if one is not None))
    if not texts or "" in texts or texts == ("?",):
        raise BadRowError("no answer", f"answer is {shown(answer)}")
    return texts


def _held(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """What image_1 to image_7 hold. Raises BadRowError where one is left out, because `<image N>` counts them."""
    cells = [values.get(f"image_{number}") for number in range(1, PICTURES + 1)]
    while cells and cells[-1] in (None, ""):
        cells.pop()
    if gap := next((number for number, cell in enumerate(cells, 1) if cell in (None, "")), None):
        raise BadRowError("missing picture", f"image_{gap} is empty, but not the one after it")
    return tuple(cells)


def images(found: Item, root: Path, report: LoadReport) -> tuple[Image, ...]:
    """The unopened pictures. Raises BadRowError for a file that is not there or not within `root`."""
    return tuple(held if isinstance(held, Image) else _on_disk(held, root, found.place, report) for held in found.pictures)


def _on_disk(name: Any, root: Path, place: str, report: LoadReport) -> Image:
    if not isinstance(name, str) or "\0" in name or os.path.isabs(name) or ".." in re.split(r"[/\\]", name):
        raise BadRowError("missing picture", f"found {shown(name)}; expected the name of a file in the dataset's folder")
    return picture([root / name], name, place, report)


def subject(sample_id: str) -> str | None:
    """`Art_Theory` of `validation_Art_Theory_17`."""
    found = _ID.fullmatch(sample_id)
    return found[1] if found else None


def image_types(value: Any) -> str | None:
    """`Diagrams, Tables` for `"['Diagrams', 'Tables']"`; what is no list stays as it is."""
    if not isinstance(value, str) or not value.startswith("[") or len(value) > MAX_LIST:
        return None if value is None else str(value)[:200]
    try:
        return ", ".join(map(str, python_list(value)))
    except ValueError:
        return value[:200]
