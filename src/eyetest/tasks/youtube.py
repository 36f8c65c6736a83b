"""YouTube2000, tagging of online videos from title, description and thumbnail (MM-Soc, arXiv 2402.14154).

    xlsx      YouTube2000.xlsx and img/<id>.jpg, as MM-Soc's code reads them; `topics` is a Python list in text. The split
              goes by position: rows 1-1,600 train, 1,601-1,800 val, the rest test, before rows without picture are dropped
    parquet   train, val, test as Hugging Face `datasets` writes them, pictures inside; `topics` is a list

A video's tags are its Wikipedia topics in the spelling of the paper's Table 7 (`tag`). Tags outside the 62 are named in
the load report and do not count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from eyetest import images
from eyetest.errors import BadImageError, DataError, shown
from eyetest.readers.lists import python_list
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.rows import columns, read_rows
from eyetest.tasks import mmsoc
from eyetest.tasks.dataset_files import BadRowError, check_parts, parquet_patterns, plain, samples, split_in_name
from eyetest.tasks.layouts import Layout, any_of, check_folder, locate
from eyetest.tasks.task import Card, Task
from eyetest.types import Image, Sample

TAGS = (
    *("action-adventure_game", "action_game", "american_football", "association_football", "baseball", "basketball", "boxing"),
    *("business", "casual_game", "christian_music", "classical_music", "country_music", "cricket", "electronic_music"),
    *("entertainment", "fashion", "film", "food", "golf", "health", "hip_hop_music", "hobby", "humour", "ice_hockey"),
    *("independent_music", "jazz", "knowledge", "lifestyle", "military", "mixed_martial_arts", "motorsport", "music"),
    *("music_of_asia", "music_of_latin_america", "music_video_game", "performing_arts", "pet", "physical_attractiveness"),
    *("physical_fitness", "politics", "pop_music", "professional_wrestling", "puzzle_video_game", "racing_video_game"),
    *("reggae", "religion", "rhythm_and_blues", "rock_music", "role-playing_video_game", "simulation_video_game", "society"),
    *("soul_music", "sport", "sports_game", "strategy_video_game", "technology", "television_program", "tennis", "tourism"),
    *("vehicle", "video_game_culture", "volleyball"),
)
"""The 62 tags of the paper's Table 7."""

SPLITS = ("test", "train", "val")

CARD = Card(
    title="YouTube2000",
    licence="Apache-2.0 by MM-Soc's authors; metadata under the YouTube API terms, thumbnails by the videos' uploaders",
    redistribution="video ids at most",
    citation="Jin et al. 2024. MM-Soc: Benchmarking Multimodal Large Language Models in Social Media Platforms. "
    "Findings of ACL. arXiv 2402.14154.",
    url="https://huggingface.co/datasets/Ahren09/MMSoc_YouTube2000",
    sizes={"train": 1600, "val": 200, "test": 200},
    notes="Sizes are those before videos without thumbnail are dropped; the Hugging Face copy has about 1,580, 198 and 196. The "
    "paper speaks of 80:20, its README of 1,600/200/200. Tags are YouTube's Wikipedia topics (topicCategories), not the "
    "uploader's keywords. A thumbnail of 120x90 pixels is often the grey placeholder of a deleted video. Several videos may "
    "come from one channel; a channel's videos form a cluster.",
)

QUESTION = (
    "Predict the tags of the following online video given its title, description, and thumbnail image. "
    "Different tags must be separated by commas."
)
"""As in the paper's Table 6."""

_MARKERS = {"xlsx": ("YouTube2000.xlsx",), "parquet": tuple(name for split in SPLITS for name in parquet_patterns(split))}
_LAYOUTS = {name: Layout(", ".join(markers), any_of(*markers)) for name, markers in _MARKERS.items()}
_POSITIONS = {"train": (0, 1600), "val": (1600, 1800), "test": (1800, 1_048_576)}
"""First row of a split and the row after its last, 0-based, headers not counted; 1,048,576 is Excel's limit."""

PLACEHOLDER = (120, 90)
"""Width and height in pixels of the grey picture that YouTube shows for a deleted video."""

_NEEDED = ("id", "title", "description", "topics", "channelId")
_KEPT = ("channelTitle", "categoryId", "defaultLanguage", "duration", "publishedAt", "viewCount")
"""Columns that become metadata."""

_ID = re.compile(r"[A-Za-z0-9_-]{11}")


def tag(topic: str) -> str:
    """A topic as Table 7 spells it: `https://en.wikipedia.org/wiki/Lifestyle_(sociology)` and `Lifestyle` are `lifestyle`.

    The last segment of a URL, percent-decoded, without a trailing `_(...)`, in lower case, blanks as underscores.
    """
    name = topic.strip()
    if "://" in name:
        name = unquote(name.split("#")[0].split("?")[0].rstrip("/").rsplit("/", 1)[-1])
    return re.sub(r"_\([^()]*\)$", "", "_".join(name.split())).lower()


def _load(only: str | None, folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """only: the layout to read; None finds out. Folder, split and columns are checked at once, rows as they are taken."""
    sought = {name: layout for name, layout in _LAYOUTS.items() if only in (None, name)}
    found = locate("youtube_tagging", CARD.title, folder, sought, _LAYOUTS)
    layout, root = found.layout, found.root
    files = found.files if layout == "xlsx" else _parquet_files(root, split)
    for file in files:
        wanted = _NEEDED if layout == "xlsx" else (*_NEEDED, "image")
        there = columns(file)
        if missing := [name for name in wanted if name not in there]:
            raise DataError(
                f"{file}: expected the columns {listed(wanted)}; no {listed(missing)} among {listed(there)}. "
                f"Is this YouTube2000 in the layout {layout}?"
            )
    if layout == "xlsx":
        check_folder(root / "img", "thumbnails (<video id>.jpg)", "Put it beside YouTube2000.xlsx.")
    rows = (row for file in files for row in _rows(layout, file, split, report))
    sample = partial(_sample, layout, root, split, report)
    return samples(rows, sample, report, source=files[0], called=f"rows of the split {split!r}")


def _parquet_files(root: Path, split: str) -> tuple[Path, ...]:
    """Those of a split, none of its parts missing."""
    files = any_of(*parquet_patterns(split))(root)
    if not files:
        present = sorted({split_in_name(path) for path in root.glob("*.parquet")})
        raise DataError(f"{root}: no Parquet file of the split {split!r}; found the splits {', '.join(present)}.")
    check_parts(files)
    return tuple(files)


def _rows(layout: str, file: Path, split: str, report: LoadReport) -> Iterator[Row]:
    """The rows of a split. Rows of the workbook's other splits are not counted as read."""
    if layout == "parquet":
        yield from read_rows(file, report)
        return
    start, stop = _POSITIONS[split]
    before, others = report.read, 0
    for row in read_rows(file, report):
        position = report.read - before + others - 1
        if start <= position < stop:
            yield row
        else:
            report.read -= 1
            others += 1
    total = report.read - before + others
    if total != sum(CARD.sizes.values()):
        report.warn("number of rows", file.name, f"{total} rows, expected 2,000: the split by position differs from MM-Soc's")
    if total <= start:
        raise DataError(
            f"{file}: has {total} rows, but the split {split!r} begins at row {start + 1} (train 1-1,600, val 1,601-1,800, test "
            f"from 1,801). Use the whole file, or --split train."
        )


def _sample(layout: str, root: Path, split: str, report: LoadReport, row: Row) -> Sample:
    """Raises BadRowError for a row that cannot be asked or scored."""
    values = row.values
    name = _text(values["id"])
    if not name:
        raise BadRowError("no id")
    if not _ID.fullmatch(name):
        raise BadRowError("shifted row", f"id is {shown(name)}; expected a video id of 11 characters")
    topics = _topics(values["topics"])
    picture = values["image"] if layout == "parquet" else Image(path=os.path.join(root, "img", f"{name}.jpg"))
    _check_picture(picture, row, report)
    title, description = _text(values["title"]), _text(values["description"])
    if not title:
        report.warn("no title", row.place, name)
    return Sample(
        id=name,
        question=QUESTION,
        target=_known(topics, row, report),
        kind="labels",
        choices=TAGS,
        images=(picture,),
        context=f"Title: {title}\nDescription: {description}",
        cluster=_text(values["channelId"]) or None,
        metadata={"split": split, "topics": topics} | {key: plain(values.get(key)) for key in _KEPT},
    )


def _topics(value: Any) -> list[str]:
    """The topics as the file spells them."""
    if isinstance(value, str) and value.strip():
        try:
            value = python_list(value)
        except ValueError as error:
            raise BadRowError("topics are no list", f"{error}, found {shown(value)}") from None
    if value is None or value == "" or value == []:
        raise BadRowError("no label", "topics is empty")
    if not isinstance(value, list) or not all(isinstance(topic, str) for topic in value):
        raise BadRowError("shifted row", f"topics is {shown(value)}; expected a list of names")
    return value


def _known(topics: list[str], row: Row, report: LoadReport) -> tuple[str, ...]:
    """The tags among the 62, in the file's order."""
    tags = dict.fromkeys(map(tag, topics))
    known = tuple(name for name in tags if name in TAGS)
    unknown = [name for name in tags if name not in TAGS]
    if not known:
        raise BadRowError("unknown label", f"{listed(unknown, 5)}; none is among the 62 tags of MM-Soc")
    for name in unknown:
        report.warn(f"unknown tag {name[:60]!r}", row.place)
    return known


def _check_picture(picture: Any, row: Row, report: LoadReport) -> None:
    """Drop a row without picture; warn of one that cannot be decoded, and of a placeholder. Only the header is looked at."""
    if not isinstance(picture, Image):
        raise BadRowError("missing picture", f"image is {shown(picture)}")
    if picture.member is None and not os.path.isfile(picture.path or ""):
        raise BadRowError("missing picture", f"img/{os.path.basename(picture.path or '')}")
    try:
        size = images.size(picture)
    except BadImageError as error:
        report.warn("undecodable picture", row.place, str(error))
        return
    if size == PLACEHOLDER:
        report.warn("120x90 picture, as YouTube shows for a deleted video", row.place, picture.name)


def _text(value: Any) -> str:
    """A cell as text, `` for an empty one; Excel turns a title of digits into a number."""
    if value is None:
        return ""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value).strip()
    raise BadRowError("shifted row", f"expected a text, found {shown(value)}")


youtube_tagging = Task(
    "youtube_tagging",
    CARD,
    partial(_load, None),
    mmsoc.scorers("tagging"),
    mmsoc.metrics("tagging"),
    mmsoc.prompts("tagging"),
    splits=SPLITS,
    formats={layout: partial(_load, layout) for layout in _LAYOUTS},
    train_split="train",
    embedded="youtube",
    hub="Ahren09/MMSoc_YouTube2000",
)
