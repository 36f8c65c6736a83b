"""Hateful Memes (Kiela et al. 2020, arXiv 2005.04790) as MM-Soc (arXiv 2402.14154) asks it: hate, words, two descriptions.

    phase2    train, dev_seen, dev_unseen, test_seen, test_unseen .jsonl and img/, as the authors give it out
    phase1    train, dev, test .jsonl and img/: the Kaggle copy; its test has no labels
    parquet   train, validation, test as Hugging Face `datasets` writes them, pictures inside

Copies spell ids as `"08291"` or `8291`; a sample's id is the five digits of its picture's name, the same in every layout.
The 500 memes that MM-Soc reports are called dev_seen, dev or validation: each name finds them in any layout, so the default
split suits all three. `references/image_description.jsonl` and `references/social_context.jsonl` in the dataset's folder
(`{"id": ..., "reference": ...}`, several lines for several references) are what descriptions are compared with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.readers.rows import read_rows
from eyetest.tasks import mmsoc
from eyetest.tasks.dataset_files import BadRowError, check_columns, check_parts, parquet_patterns, picture, references, samples
from eyetest.tasks.layouts import Found, Layout, any_of, check_folder, locate
from eyetest.tasks.task import Card, Task
from eyetest.types import Image, Kind, Sample

LABELS = ("hateful", "not_hateful")
"""As in the paper's Table 6."""

SPLITS = ("dev_seen", "train", "dev_unseen", "test_seen", "test_unseen", "dev", "validation", "test")
"""Names in all layouts. The first one is the default and stands for `dev` and `validation` too."""

CARD = Card(
    title="Hateful Memes",
    licence="Hateful Memes Dataset License Agreement (research only, non-transferable, no sublicence); pictures by Getty Images",
    redistribution="nothing, neither pictures nor texts",
    citation="Kiela et al. 2020. The Hateful Memes Challenge: Detecting Hate Speech in Multimodal Memes. NeurIPS. "
    "arXiv 2005.04790. As a task of MM-Soc: Jin et al. 2024. Findings of ACL. arXiv 2402.14154.",
    url="https://ai.meta.com/tools/hatefulmemes/",
    sizes={"train": 8500, "dev_seen": 500, "dev_unseen": 540, "test_seen": 1000, "test_unseen": 2000},
    offensive=True,
    notes="The same 500 memes are called dev_seen (phase 2), dev (phase 1) and validation (Hugging Face); MM-Soc reports them. "
    "400 of them stand in dev_unseen again, so the two splits must not be put together: phase 2 has 12,140 distinct memes, "
    "where MM-Soc prints 12,143 in its Table 5 and other numbers in its Appendix C. "
    "One text often stands on several pictures with different labels, by design; memes of one text form a cluster. "
    "Texts are given in lower case, while pictures show capitals. Phase 1's test has no labels. "
    "The authors warn of wrong labels, and a later annotation changed some.",
)

_SPLITS: Mapping[str, tuple[str, ...]] = {
    "phase2": ("train", "dev_seen", "dev_unseen", "test_seen", "test_unseen"),
    "phase1": ("train", "dev", "test"),
    "parquet": ("train", "validation", "test"),
}
_SAME = ("dev_seen", "dev", "validation")
"""Names of the same 500 memes."""

_PICTURE_NAME = re.compile(r"(?:[\w.-]+/)*(\d+)\.\w+")
_LABEL_WORDS = {"1": "hateful", "0": "not_hateful"} | {
    name: re.sub("[ -]", "_", name) for name in ("hateful", "not_hateful", "not-hateful", "not hateful")
}
_NO_LABEL = ("", "none", "-1")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a task asks about a meme."""

    task: str
    key: str
    question: str
    kind: Kind


def _load(asked: _Asked, only: str | None, folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """only: the layout to read; None finds out. Folder, split, columns and labels are checked at once, rows as they are taken."""
    source, split = _source(asked.task, folder, split, only)
    _check_columns(source)
    if source.layout != "parquet":
        check_folder(source.root / "img", "pictures", f"Put img/ of the dataset beside {source.files[0].name}.")
    if asked.kind == "choice":
        _check_labels(asked, source, split)
    return _samples(asked, source, split, report)


def _source(task: str, folder: Path | None, split: str, only: str | None) -> tuple[Found, str]:
    """The copy of the dataset with the files of the split, and the split as the layout calls it."""
    sought = {
        name: Layout(", ".join(markers), any_of(*markers))
        for name in _SPLITS
        if only in (None, name)
        for markers in [_markers(name, only)]
    }
    found = locate(task, CARD.title, folder, sought, _SPLITS)
    files = {name: any_of(*_patterns(found.layout, name))(found.root) for name in _SPLITS[found.layout]}
    present = [name for name in files if files[name]]
    called = next((name for name in (split, *(_SAME if split in _SAME else ())) if name in present), None)
    if called is None:
        raise DataError(
            f"{found.root}: no split {split!r} here. In the layout {found.layout} it is one of {', '.join(files)}; "
            f"this folder has {', '.join(present) or 'none of them'}."
        )
    check_parts(files[called])
    return replace(found, files=tuple(files[called])), called


def _markers(layout: str, only: str | None) -> list[str]:
    """Patterns of the files that tell a layout: two have a train.jsonl, so it tells nothing unless the user named one."""
    names = [name for name in _SPLITS[layout] if only or layout == "parquet" or name != "train"]
    return [pattern for name in names for pattern in _patterns(layout, name)]


def _patterns(layout: str, split: str) -> tuple[str, ...]:
    return parquet_patterns(split) if layout == "parquet" else (f"{split}.jsonl",)


def _check_columns(source: Found) -> None:
    needed = ("id", "image", "text") if source.layout == "parquet" else ("img", "text")
    for file in source.files:
        check_columns(file, needed, f"Is this Hateful Memes in the layout {source.layout}?", also=" (and 'label')")


def _check_labels(asked: _Asked, source: Found, split: str) -> None:
    """Raise DataError if no row has a label; stops at the first that has one."""
    for file in source.files:
        if any(_word(row.values.get("label")) not in _NO_LABEL for row in read_rows(file, LoadReport())):
            return
    raise DataError(
        f"{source.files[0]}: no row of the split {split!r} has a label, so answers to {asked.task} cannot be scored. "
        f"Use another split; what needs no label, such as hateful_memes_ocr, can still be asked."
    )


def _samples(asked: _Asked, source: Found, split: str, report: LoadReport) -> Iterator[Sample]:
    texts: Mapping[str, tuple[str, ...]] = {}
    if asked.kind == "description":
        places, flaw = (source.folder, source.root), "expected an id and a reference"
        texts = references(places, asked.key, report, name=_digits, flaw=flaw)
    rows = (row for file in source.files for row in read_rows(file, report))
    yield from samples(rows, partial(_sample, asked, source, split, texts, report), report, source=source.files[0])


def _sample(
    asked: _Asked, source: Found, split: str, texts: Mapping[str, tuple[str, ...]], report: LoadReport, row: Row
) -> Sample:
    """texts: references by id. Raises BadRowError for a row that cannot be asked or scored."""
    values = row.values
    name, image = _packed(row) if source.layout == "parquet" else _on_disk(source.root, row, report)
    text = _text(values.get("text"))
    label = _label(values.get("label"), scored=asked.kind == "choice")
    if text is None and asked.kind == "transcription":
        raise BadRowError("no text", "there is nothing to compare a transcription with")
    if text is None:
        report.warn("no text", row.place, name)
    if asked.kind == "description":
        target = texts.get(name, ())
        if texts and not target:
            report.warn("no reference", row.place, name)
    else:
        answer = label if asked.kind == "choice" else text
        target = () if answer is None else (answer,)
    return Sample(
        id=name,
        question=asked.question,
        target=target,
        kind=asked.kind,
        choices=LABELS if asked.kind == "choice" else (),
        images=(image,),
        # Where the words are the answer, no condition may give them to the model.
        picture_text=None if asked.kind == "transcription" else text,
        cluster=None if text is None else " ".join(text.casefold().split()),
        metadata={"split": split, "source_id": _word(values.get("id")), "label": label},
    )


def _packed(row: Row) -> tuple[str, Image]:
    """(id, picture) of a Parquet row."""
    name, image = _digits(row.values["id"]), row.values["image"]
    if name is None:
        raise BadRowError("no id", f"expected a number such as 08291, found {shown(row.values['id'])}")
    if not isinstance(image, Image):
        raise BadRowError("missing picture", f"image is {shown(image)}")
    return name, image


def _on_disk(root: Path, row: Row, report: LoadReport) -> tuple[str, Image]:
    """(id, picture) of a JSON row; the id is what the picture's name says, because copies changed the other one."""
    named = row.values.get("img")
    if named is None or named == "":
        raise BadRowError("missing picture", "img is empty")
    match = _PICTURE_NAME.fullmatch(named) if isinstance(named, str) else None
    name = None if match is None else _digits(match[1])
    if name is None or ".." in named.split("/"):
        raise BadRowError("shifted row", f"img is {shown(named)}; expected a name such as img/01235.png")
    found = picture([os.path.join(root, named)], named, row.place, report, empty="is empty (0 bytes)")
    if "id" in row.values and _digits(row.values["id"]) != name:
        report.warn("id and picture disagree", row.place, f"id {shown(row.values['id'])}, picture {named}; named {name}")
    return name, found


def _digits(value: Any) -> str | None:
    """`"08291"`, `8291` and `8291.0` as `08291`; None for anything else."""
    word = _word(value)
    return word.zfill(5) if word.isascii() and word.isdecimal() and len(word) < 10 else None


def _word(value: Any) -> str:
    """A number or a text in one spelling; `` for None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)[:80].strip().lower()


def _text(value: Any) -> str | None:
    """The words of a meme as they stand; a meme that says 1984 became a number in some copies."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadRowError("shifted row", f"text is {shown(value)}; expected words")
    return str(value)


def _label(value: Any, *, scored: bool) -> str | None:
    """scored: raise BadRowError for a label that is missing or unknown."""
    label = _LABEL_WORDS.get(_word(value))
    if label is None and scored:
        if _word(value) in _NO_LABEL:
            raise BadRowError("no label")
        raise BadRowError("unknown label", f"{shown(value)}; expected 1 (hateful) or 0")
    return label


def _task(name: str, key: str, kind: Kind, question: str, *, positive: str | None = None, family: str = "") -> Task:
    asked = _Asked(name, key, question, kind)
    return Task(
        name,
        CARD,
        partial(_load, asked, None),
        mmsoc.scorers(key),
        mmsoc.metrics(key),
        mmsoc.prompts(key),
        splits=SPLITS,
        formats={layout: partial(_load, asked, layout) for layout in _SPLITS},
        positive=positive,
        family=family,
        train_split="train",
        embedded="hateful_memes",
        hub="Ahren09/MMSoc_HatefulMemes",
    )


hateful_memes = _task("hateful_memes", "hate", "choice", "Is the following meme hateful?", positive="hateful")
hateful_memes_ocr = _task("hateful_memes_ocr", "ocr", "transcription", "What is the text in the image?", family="ocr")
hateful_memes_image_description = _task(
    "hateful_memes_image_description",
    "image_description",
    "description",
    "Describe the scene, such as its major subjects, colors, and texture.",
)
hateful_memes_social_context = _task(
    "hateful_memes_social_context",
    "social_context",
    "description",
    "Describe the cultural and social context of the image. What particular groups is the image and text targeting at?",
)
