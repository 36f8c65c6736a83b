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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from eyetest.errors import DataError, UsageError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed, unreadable
from eyetest.readers.rows import columns, read_rows
from eyetest.tasks import mmsoc
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

_Layout = Literal["phase2", "phase1", "parquet"]

_SPLITS: Mapping[_Layout, tuple[str, ...]] = {
    "phase2": ("train", "dev_seen", "dev_unseen", "test_seen", "test_unseen"),
    "phase1": ("train", "dev", "test"),
    "parquet": ("train", "validation", "test"),
}
_SAME = ("dev_seen", "dev", "validation")
"""Names of the same 500 memes."""

_PICTURE_NAME = re.compile(r"(?:[\w.-]+/)*(\d+)\.\w+")
_SHARD = re.compile(r"-(\d+)-of-(\d+)$")
_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
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


@dataclass(frozen=True, slots=True)
class _Source:
    """One split on the disk."""

    layout: _Layout
    folder: Path
    """As the user named it."""
    root: Path
    """Where the layout begins: `folder` or a folder in it."""
    split: str
    """As the layout calls it."""
    files: tuple[Path, ...]


class _BadRowError(Exception):
    """This row cannot become a sample."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def _load(asked: _Asked, only: _Layout | None, folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """only: the layout to read; None finds out. Folder, split, columns and labels are checked at once, rows as they are taken."""
    source = _source(asked.task, folder, split, only)
    _check_columns(source)
    if source.layout != "parquet" and not (source.root / "img").is_dir():
        raise DataError(
            f"{source.root / 'img'}: expected the folder of pictures, found {_instead(source.root / 'img')}. "
            f"Put img/ of the dataset beside {source.files[0].name}."
        )
    if asked.kind == "choice":
        _check_labels(asked, source)
    return _samples(asked, source, report)


def _source(task: str, folder: Path | None, split: str, only: _Layout | None) -> _Source:
    if folder is None:
        raise UsageError(f"Task {task} needs its folder: --dir FOLDER (layouts: {', '.join(_SPLITS)}).")
    layout, root = _find(folder, only)
    present = [name for name in _SPLITS[layout] if _files(layout, root, name)]
    found = next((name for name in (split, *(_SAME if split in _SAME else ())) if name in present), None)
    if found is None:
        raise DataError(
            f"{root}: no split {split!r} here. In the layout {layout} it is one of {', '.join(_SPLITS[layout])}; "
            f"this folder has {', '.join(present) or 'none of them'}."
        )
    return _Source(layout, folder, root, found, _whole(_files(layout, root, found)))


def _find(folder: Path, only: _Layout | None) -> tuple[_Layout, Path]:
    """The one layout that the folder, or else the folders in it, hold."""
    try:
        inside = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"--dir {folder}: expected the dataset's folder, found {_instead(folder)}.") from None
    except (OSError, ValueError) as error:
        raise unreadable(folder, error) from error
    for roots in ([folder], [path for path in inside if path.is_dir()]):
        found = [(layout, root) for root in roots for layout in _SPLITS if only in (None, layout) and _is(layout, root, only)]
        if len(found) == 1:
            return found[0]
        if found:
            names = dict.fromkeys(layout for layout, _ in found)
            say = f", or say {' or '.join(f'format={name}' for name in names)}" if len(names) > 1 else ""
            places = ", ".join(f"{layout} in {root}" for layout, root in found)
            raise DataError(f"{folder} holds more than one copy of the dataset: {places}. Pass the folder of one of them{say}.")
    looked = "; ".join(f"{layout} ({', '.join(_markers(layout, only))})" for layout in _SPLITS if only in (None, layout))
    raise DataError(
        f"{folder}: no layout of Hateful Memes here or one folder down. Looked for: {looked}. "
        f"Found: {listed((path.name for path in inside), 10) or 'nothing'}. Known layouts: {', '.join(_SPLITS)}."
    )


def _markers(layout: _Layout, only: _Layout | None) -> list[str]:
    """Patterns of the files that tell a layout: two have a train.jsonl, so it tells nothing unless the user named one."""
    names = [name for name in _SPLITS[layout] if only or layout == "parquet" or name != "train"]
    return [pattern for name in names for pattern in _patterns(layout, name)]


def _is(layout: _Layout, root: Path, only: _Layout | None) -> bool:
    return any(next(root.glob(pattern), None) for pattern in _markers(layout, only))


def _patterns(layout: _Layout, split: str) -> tuple[str, ...]:
    return (f"{split}.parquet", f"{split}-*.parquet") if layout == "parquet" else (f"{split}.jsonl",)


def _files(layout: _Layout, root: Path, split: str) -> tuple[Path, ...]:
    return tuple(sorted(path for pattern in _patterns(layout, split) for path in root.glob(pattern)))


def _whole(files: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files, if no part of a split in several files is missing."""
    shards = [shard for path in files if (shard := _SHARD.search(path.stem))]
    for total in {int(shard[2]) for shard in shards}:
        missing = sorted(set(range(total)) - {int(shard[1]) for shard in shards if int(shard[2]) == total})
        if missing:
            raise DataError(
                f"{files[0].parent}: part {missing[0]:05d} of {total:05d} is missing beside {files[0].name}. Fetch all parts."
            )
    return files


def _instead(path: Path) -> str:
    return "a file" if os.path.isfile(path) else "none"


def _check_columns(source: _Source) -> None:
    needed = ("id", "image", "text") if source.layout == "parquet" else ("img", "text")
    for file in source.files:
        found = columns(file)
        if missing := [name for name in needed if name not in found]:
            raise DataError(
                f"{file}: expected the columns {listed(needed)} (and 'label'), found {listed(found)}: no {listed(missing)}. "
                f"Is this Hateful Memes in the layout {source.layout}?"
            )


def _check_labels(asked: _Asked, source: _Source) -> None:
    """Raise DataError if no row has a label; stops at the first that has one."""
    for file in source.files:
        if any(_word(row.values.get("label")) not in _NO_LABEL for row in read_rows(file, LoadReport())):
            return
    raise DataError(
        f"{source.files[0]}: no row of the split {source.split!r} has a label, so answers to {asked.task} cannot be scored. "
        f"Use another split; what needs no label, such as hateful_memes_ocr, can still be asked."
    )


def _samples(asked: _Asked, source: _Source, report: LoadReport) -> Iterator[Sample]:
    before, kept = report.read, report.kept
    references = _references(asked, source, report) if asked.kind == "description" else {}
    ids: set[str] = set()
    for file in source.files:
        for row in read_rows(file, report):
            try:
                sample = _sample(asked, source, references, row, report)
                if sample.id in ids:
                    raise _BadRowError("duplicate id", f"{sample.id}; the first one is kept")
            except _BadRowError as bad:
                report.drop(bad.reason, row.place, bad.detail)
                continue
            ids.add(sample.id)
            report.kept += 1
            yield sample
    if report.kept == kept:
        reasons = "; ".join(f"{reason}: {count}, first {report.rows[reason][0]}" for reason, count in report.dropped.items())
        raise DataError(f"{source.files[0]}: none of the {report.read - before} rows can be used. {reasons}".strip())


def _sample(asked: _Asked, source: _Source, references: Mapping[str, tuple[str, ...]], row: Row, report: LoadReport) -> Sample:
    """Raises _BadRowError for a row that cannot be asked or scored."""
    values = row.values
    if all(value is None or value == "" for value in values.values()):
        raise _BadRowError("empty row")
    name, picture = _packed(row) if source.layout == "parquet" else _on_disk(source.root, row, report)
    text = _text(values.get("text"))
    label = _label(values.get("label"), scored=asked.kind == "choice")
    if text is None and asked.kind == "transcription":
        raise _BadRowError("no text", "there is nothing to compare a transcription with")
    if text is None:
        report.warn("no text", row.place, name)
    if asked.kind == "description":
        target = references.get(name, ())
        if references and not target:
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
        images=(picture,),
        # Where the words are the answer, no condition may give them to the model.
        picture_text=None if asked.kind == "transcription" else text,
        cluster=None if text is None else " ".join(text.casefold().split()),
        metadata={"split": source.split, "source_id": _word(values.get("id")), "label": label},
    )


def _packed(row: Row) -> tuple[str, Image]:
    """(id, picture) of a Parquet row."""
    name, picture = _digits(row.values["id"]), row.values["image"]
    if name is None:
        raise _BadRowError("no id", f"expected a number such as 08291, found {_shown(row.values['id'])}")
    if not isinstance(picture, Image):
        raise _BadRowError("missing picture", f"image is {_shown(picture)}")
    return name, picture


def _on_disk(root: Path, row: Row, report: LoadReport) -> tuple[str, Image]:
    """(id, picture) of a JSON row; the id is what the picture's name says, because copies changed the other one."""
    named = row.values.get("img")
    if named is None or named == "":
        raise _BadRowError("missing picture", "img is empty")
    match = _PICTURE_NAME.fullmatch(named) if isinstance(named, str) else None
    name = None if match is None else _digits(match[1])
    if name is None or ".." in named.split("/"):
        raise _BadRowError("shifted row", f"img is {_shown(named)}; expected a name such as img/01235.png")
    path = os.path.join(root, named)
    if not os.path.isfile(path):
        raise _BadRowError("missing picture", named)
    if flaw := _picture_flaw(path):
        report.warn("undecodable picture", row.place, f"{named} {flaw}")
    if "id" in row.values and _digits(row.values["id"]) != name:
        report.warn("id and picture disagree", row.place, f"id {_shown(row.values['id'])}, picture {named}; named {name}")
    return name, Image(path=path)


def _picture_flaw(path: str) -> str | None:
    """Why the first bytes cannot be a picture's. Nothing is decoded: there are thousands, and most runs show a few."""
    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(12)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not head:
        return "is empty (0 bytes)"
    return None if head.startswith(_MAGIC) else f"begins with {head!r}"


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
        raise _BadRowError("shifted row", f"text is {_shown(value)}; expected words")
    return str(value)


def _label(value: Any, *, scored: bool) -> str | None:
    """scored: raise _BadRowError for a label that is missing or unknown."""
    label = _LABEL_WORDS.get(_word(value))
    if label is None and scored:
        if _word(value) in _NO_LABEL:
            raise _BadRowError("no label")
        raise _BadRowError("unknown label", f"{_shown(value)}; expected 1 (hateful) or 0")
    return label


def _references(asked: _Asked, source: _Source, report: LoadReport) -> Mapping[str, tuple[str, ...]]:
    """Id -> references, in file order; nothing without a file."""
    places = dict.fromkeys(root / "references" / f"{asked.key}.jsonl" for root in (source.folder, source.root))
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        report.warn("no references: descriptions cannot be scored", str(next(iter(places))), "no such file")
        return {}
    own = LoadReport(strict=report.strict)  # its rows are not rows of the dataset
    found: dict[str, tuple[str, ...]] = {}
    for row in read_rows(path, own):
        name, text = _digits(row.values.get("id")), row.values.get("reference")
        if name is None or not isinstance(text, str) or not text.strip():
            own.drop("expected an id and a reference", row.place)
            continue
        found[name] = (*found.get(name, ()), text)
    report.files.append(str(path))
    for reason, places_named in own.rows.items():
        for place in places_named:
            report.warn(f"references: {reason}", place)
    return found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


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
