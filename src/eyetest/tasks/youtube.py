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
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from eyetest import images
from eyetest.errors import BadImageError, DataError, UsageError
from eyetest.readers.lists import python_list
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed, unreadable
from eyetest.readers.rows import columns, read_rows
from eyetest.tasks import mmsoc
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

_Layout = Literal["xlsx", "parquet"]

_MARKERS: Mapping[_Layout, tuple[str, ...]] = {
    "xlsx": ("YouTube2000.xlsx",),
    "parquet": tuple(pattern for split in SPLITS for pattern in (f"{split}.parquet", f"{split}-*.parquet")),
}
_POSITIONS = {"train": (0, 1600), "val": (1600, 1800), "test": (1800, 1_048_576)}
"""First row of a split and the row after its last, 0-based, headers not counted; 1,048,576 is Excel's limit."""

PLACEHOLDER = (120, 90)
"""Width and height in pixels of the grey picture that YouTube shows for a deleted video."""

_NEEDED = ("id", "title", "description", "topics", "channelId")
_KEPT = ("channelTitle", "categoryId", "defaultLanguage", "duration", "publishedAt", "viewCount")
"""Columns that become metadata."""

_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_SHARD = re.compile(r"-(\d+)-of-(\d+)$")


class _BadRowError(Exception):
    """This row cannot become a sample."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def tag(topic: str) -> str:
    """A topic as Table 7 spells it: `https://en.wikipedia.org/wiki/Lifestyle_(sociology)` and `Lifestyle` are `lifestyle`.

    The last segment of a URL, percent-decoded, without a trailing `_(...)`, in lower case, blanks as underscores.
    """
    name = topic.strip()
    if "://" in name:
        name = unquote(name.split("#")[0].split("?")[0].rstrip("/").rsplit("/", 1)[-1])
    return re.sub(r"_\([^()]*\)$", "", "_".join(name.split())).lower()


def _load(only: _Layout | None, folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
    """only: the layout to read; None finds out. Folder, split and columns are checked at once, rows as they are taken."""
    if folder is None:
        raise UsageError(f"Task youtube_tagging needs its folder: --dir FOLDER (layouts: {', '.join(_MARKERS)}).")
    layout, root = _find(folder, only)
    files = (root / "YouTube2000.xlsx",) if layout == "xlsx" else _shards(root, split)
    for file in files:
        needed = _NEEDED if layout == "xlsx" else (*_NEEDED, "image")
        found = columns(file)
        if missing := [name for name in needed if name not in found]:
            raise DataError(
                f"{file}: expected the columns {listed(needed)}; no {listed(missing)} among {listed(found)}. "
                f"Is this YouTube2000 in the layout {layout}?"
            )
    if layout == "xlsx" and not (root / "img").is_dir():
        raise DataError(
            f"{root / 'img'}: expected the folder of thumbnails (<video id>.jpg), found {_instead(root / 'img')}. "
            f"Put it beside YouTube2000.xlsx."
        )
    return _samples(layout, files, split, report)


def _find(folder: Path, only: _Layout | None) -> tuple[_Layout, Path]:
    """The one layout that the folder, or else the folders in it, hold."""
    try:
        inside = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"--dir {folder}: expected the dataset's folder, found {_instead(folder)}.") from None
    except (OSError, ValueError) as error:
        raise unreadable(folder, error) from error
    layouts = [layout for layout in _MARKERS if only in (None, layout)]
    for roots in ([folder], [path for path in inside if path.is_dir()]):
        found = [(layout, root) for root in roots for layout in layouts if _is(layout, root)]
        if len(found) == 1:
            return found[0]
        if found:
            names = dict.fromkeys(layout for layout, _ in found)
            say = f", or say {' or '.join(f'format={name}' for name in names)}" if len(names) > 1 else ""
            places = ", ".join(f"{layout} in {root}" for layout, root in found)
            raise DataError(f"{folder} holds more than one copy of the dataset: {places}. Pass the folder of one of them{say}.")
    looked = "; ".join(f"{layout} ({', '.join(_MARKERS[layout])})" for layout in layouts)
    raise DataError(
        f"{folder}: no layout of YouTube2000 here or one folder down. Looked for: {looked}. "
        f"Found: {listed((path.name for path in inside), 10) or 'nothing'}. Known layouts: {', '.join(_MARKERS)}."
    )


def _is(layout: _Layout, root: Path) -> bool:
    return any(next(root.glob(pattern), None) for pattern in _MARKERS[layout])


def _shards(root: Path, split: str) -> tuple[Path, ...]:
    """The Parquet files of a split, none of its parts missing."""
    files = sorted((*root.glob(f"{split}.parquet"), *root.glob(f"{split}-*.parquet")))
    if not files:
        present = sorted({path.stem.split("-")[0] for path in root.glob("*.parquet")})
        raise DataError(f"{root}: no Parquet file of the split {split!r}; found the splits {', '.join(present)}.")
    shards = [shard for path in files if (shard := _SHARD.search(path.stem))]
    for total in {int(shard[2]) for shard in shards}:
        missing = sorted(set(range(total)) - {int(shard[1]) for shard in shards if int(shard[2]) == total})
        if missing:
            raise DataError(f"{root}: part {missing[0]:05d} of {total:05d} is missing beside {files[0].name}. Fetch all parts.")
    return tuple(files)


def _instead(path: Path) -> str:
    return "a file" if os.path.isfile(path) else "none"


def _samples(layout: _Layout, files: tuple[Path, ...], split: str, report: LoadReport) -> Iterator[Sample]:
    before, kept = report.read, report.kept
    ids: set[str] = set()
    for file in files:
        for row in _rows(layout, file, split, report):
            try:
                sample = _sample(layout, file.parent, split, row, report)
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
        raise DataError(
            f"{files[0]}: none of the {report.read - before} rows of the split {split!r} can be used. {reasons}".strip()
        )


def _rows(layout: _Layout, file: Path, split: str, report: LoadReport) -> Iterator[Row]:
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
            f"from 1,801). Use the whole file, or another split."
        )


def _sample(layout: _Layout, root: Path, split: str, row: Row, report: LoadReport) -> Sample:
    """Raises _BadRowError for a row that cannot be asked or scored."""
    values = row.values
    if all(value is None or value == "" for value in values.values()):
        raise _BadRowError("empty row")
    name = _text(values["id"])
    if not name:
        raise _BadRowError("no id")
    if not _ID.fullmatch(name):
        raise _BadRowError("shifted row", f"id is {_shown(name)}; expected a video id of 11 characters")
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
        metadata={"split": split, "topics": topics} | {key: _plain(values.get(key)) for key in _KEPT},
    )


def _topics(value: Any) -> list[str]:
    """The topics as the file spells them."""
    if isinstance(value, str) and value.strip():
        try:
            value = python_list(value)
        except ValueError as error:
            raise _BadRowError("topics are no list", f"{error}, found {_shown(value)}") from None
    if value is None or value == "" or value == []:
        raise _BadRowError("no label", "topics is empty")
    if not isinstance(value, list) or not all(isinstance(topic, str) for topic in value):
        raise _BadRowError("shifted row", f"topics is {_shown(value)}; expected a list of names")
    return value


def _known(topics: list[str], row: Row, report: LoadReport) -> tuple[str, ...]:
    """The tags among the 62, in the file's order."""
    tags = dict.fromkeys(map(tag, topics))
    known = tuple(name for name in tags if name in TAGS)
    unknown = [name for name in tags if name not in TAGS]
    if not known:
        raise _BadRowError("unknown label", f"{listed(unknown, 5)}; none is among the 62 tags of MM-Soc")
    for name in unknown:
        report.warn(f"unknown tag {name[:60]!r}", row.place)
    return known


def _check_picture(picture: Any, row: Row, report: LoadReport) -> None:
    """Drop a row without picture; warn of one that cannot be decoded, and of a placeholder. Only the header is looked at."""
    if not isinstance(picture, Image):
        raise _BadRowError("missing picture", f"image is {_shown(picture)}")
    if picture.member is None and not os.path.isfile(picture.path or ""):
        raise _BadRowError("missing picture", f"img/{os.path.basename(picture.path or '')}")
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
    raise _BadRowError("shifted row", f"expected a text, found {_shown(value)}")


def _plain(value: Any) -> Any:
    """Metadata that any JSON writer takes."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else _shown(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


youtube_tagging = Task(
    "youtube_tagging",
    CARD,
    partial(_load, None),
    mmsoc.scorers("tagging"),
    mmsoc.metrics("tagging"),
    mmsoc.prompts("tagging"),
    splits=SPLITS,
    formats={layout: partial(_load, layout) for layout in _MARKERS},
    train_split="train",
)
