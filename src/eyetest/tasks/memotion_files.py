"""Where Memotion's memes lie: its published layouts, the rows of one split, the pictures beside them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, UsageError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.rows import header, read_rows
from eyetest.tasks.dataset_files import BadRowError, check_parts, dropping, picture_format, split_in_name
from eyetest.tasks.layouts import Found, Layout, all_of, any_of, entries, find, instead, needed
from eyetest.tasks.memotion_lines import LEVELS, is_training_file, read_lines
from eyetest.types import Image

SPLITS = ("test", "validation", "train")
"""The default first."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "image_name": ("image_name", "image"),
    "text_corrected": ("text_corrected", "corrected_text"),
    "humour": ("humour", "humor"),
    "sarcasm": ("sarcasm",),
    "offensive": ("offensive",),
    "motivational": ("motivational",),
    "overall_sentiment": ("overall_sentiment", "sentiment"),
}
"""Column -> the names that it has in public copies."""

_ENDINGS = {".jpg": "jpeg", ".jpe": "jpeg", ".tif": "tiff"}
_CODE = re.compile(r"(?P<sentiment>-1|0|1)_(?P<binary>[01]{4})_(?P<levels>[0-3]{3}[01])")
_SENTIMENTS = {"-1": "negative", "0": "neutral", "1": "positive"}


@dataclass(frozen=True, slots=True)
class Meme:
    """One row of one split, under one set of names whatever its layout."""

    id: str
    values: Mapping[str, Any]
    """`text_corrected`, the columns of `LEVELS`, and what else the layout gives; blank and missing cells are None."""
    place: str
    image: Image
    image_name: str | None = None


@dataclass(slots=True)
class _Recorded(LoadReport):
    """Remembers at which row something was counted, so that what belongs to another split can be left out."""

    events: list[tuple[int, bool, str, str, str]] = field(default_factory=list)
    """(0-based row or -1 for the file, whether the row was dropped, reason, place, detail)."""

    def drop(self, reason: str, place: str, detail: str = "") -> None:
        """Remember a drop."""
        self.events.append((self.read - 1, True, reason, place, detail))

    def warn(self, reason: str, place: str, detail: str = "") -> None:
        """Remember a warning."""
        self.events.append((self.read - 1, False, reason, place, detail))

    def tell(self, report: LoadReport, rows: range) -> None:
        """Count in `report` what happened in these rows and before the first row."""
        report.read += len(rows)
        for at, dropped, reason, place, detail in self.events:
            if at < 0 or at in rows:
                count = report.drop if dropped else report.warn
                count(reason, place, detail)


class Pictures:
    """The folder of pictures that a label file names: the one, among a folder and its subfolders, that holds most of them."""

    def __init__(self, folder: Path, names: Iterable[str], labels: Path) -> None:
        wanted = set(names)
        subfolders = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
        listings = {path: set(os.listdir(path)) for path in (*subfolders, str(folder)) if os.access(path, os.R_OK | os.X_OK)}
        self.folder = max(listings, key=lambda path: len(wanted & listings[path]), default=str(folder))
        self.names = listings.get(self.folder, set())
        self.folded = {name.casefold(): name for name in sorted(self.names)}
        if wanted and not any(name.casefold() in self.folded for name in wanted):
            looked = listed((os.path.relpath(path, folder) for path in listings), 10)
            raise DataError(
                f"{labels}: none of the {len(wanted)} pictures of this split was found, for example {min(wanted)!r}; looked in "
                f"the folders {looked} of {folder}. Put the pictures into {folder / 'images'}."
            )

    def find(self, name: str, place: str, report: LoadReport) -> Image:
        """The picture of this name; only its first bytes are looked at. Raises BadRowError."""
        found = name if name in self.names else self.folded.get(name.casefold())
        if not name or found is None:
            raise BadRowError("missing picture", shown(name))
        if found != name:
            report.warn("picture name differs in case", place, f"{name!r}, found {found!r}")
        path = os.path.join(self.folder, found)
        kind, _ = picture_format(path)
        if kind is None:
            report.warn("undecodable picture", place, f"{found!r} does not begin like a picture")
        elif kind != _named(found):
            report.warn("picture is not what its name says", place, f"{found!r} is {kind}")
        return Image(path=path)


def _named(name: str) -> str:
    ending = os.path.splitext(name)[1].lower()
    return _ENDINGS.get(ending, ending[1:])


def part(n: int, split: str) -> range:
    """Rows of a split of n rows, as MM-Soc cuts them: up to int(0.8 n), up to int(0.9 n), the rest; not shuffled."""
    first, second = n * 8 // 10, n * 9 // 10
    return {"train": range(first), "validation": range(first, second), "test": range(second, n)}[split]


def _named_memes(path: Path, rows: list[tuple[str, Row]], report: LoadReport) -> Iterator[Meme]:
    """Memes whose pictures are files; (id, row) each."""
    names = {name: str(row.values["image_name"] or "").strip() for name, row in rows}
    pictures = Pictures(path.parent, (name for name in names.values() if name), path)
    for name, row in rows:
        with dropping(row.place, report):
            if all(value is None for column, value in row.values.items() if column in ALIASES):
                raise BadRowError("empty row")
            yield Meme(name, row.values, row.place, pictures.find(names[name], row.place, report), names[name])


def _kaggle(files: Sequence[Path], split: str, report: LoadReport) -> Iterator[Meme]:
    """Ids are `SPLIT-ROW`, 0-based within the split, as in the Parquet files, which name no pictures."""
    (path,) = files
    columns, seen = _columns(path), _Recorded()
    rows = [(seen.read - 1, row) for row in read_rows(path, seen)]
    mine = part(seen.read, split)
    report.files.append(str(path))
    seen.tell(report, mine)
    kept = [(f"{split}-{at - mine.start}", _renamed(row, columns)) for at, row in rows if at in mine]
    yield from _named_memes(path, kept, report)


def _columns(path: Path) -> Mapping[str, str]:
    """Our name of a column -> the file's. Raises DataError for one that is missing."""
    found = header(path)
    theirs = {name.strip().lower(): name for name in found.names}
    columns = {ours: next((theirs[name] for name in names if name in theirs), None) for ours, names in ALIASES.items()}
    missing = [" or ".join(map(repr, ALIASES[ours])) for ours, name in columns.items() if name is None]
    if missing:
        raise DataError(
            f"{found.place}: no column {'; no column '.join(missing)}. Found: {listed(found.names)}. "
            f"Is it the label file of Memotion? Pass the folder that it was published in."
        )
    return {ours: name for ours, name in columns.items() if name is not None}


def _renamed(row: Row, columns: Mapping[str, str]) -> Row:
    return Row({ours: _cell(row.values[name]) for ours, name in columns.items()}, row.place)


def _cell(value: Any) -> Any:
    """Excel turns the text 1984 into a number; blanks are nothing."""
    if value is None or isinstance(value, Image):
        return value
    return str(value) if str(value).strip() else None


def _codalab(files: Sequence[Path], split: str, report: LoadReport, *, labelled: bool = True) -> Iterator[Meme]:
    """Ids are picture names; the second meme of one name is `NAME#2`."""
    path, seen = files[0], _Recorded()
    counts: Counter[str] = Counter()
    rows: list[tuple[int, str, Row]] = []
    for row in read_lines(path, seen, labelled=labelled):
        name = row.values["image_name"].strip()
        counts[name] += 1
        if counts[name] > 1:
            seen.warn("duplicate picture name", row.place, f"{shown(name)} for the {counts[name]}. time")
        rows.append((seen.read - 1, name if counts[name] == 1 else f"{name}#{counts[name]}", row))
    mine = part(seen.read, split) if labelled else range(seen.read)
    report.files.append(str(path))
    seen.tell(report, mine)
    yield from _named_memes(path, [(name, row) for at, name, row in rows if at in mine], report)


def _semeval(files: Sequence[Path], split: str, report: LoadReport) -> Iterator[Meme]:
    """The test set; labels come from `Meme_groundTruth.csv` by picture name. It has no other split."""
    texts, truth = files
    if split != "test":
        report.warn(f"the layout semeval_test has no split {split!r}, only 'test'", texts.name)
        return
    labels = _truth(truth, report)
    for meme in _codalab([texts], split, report, labelled=False):
        values = {**meme.values, **labels.get(meme.image_name or "", {})}
        yield replace(meme, values=values)


def _truth(path: Path, report: LoadReport) -> dict[str, dict[str, str]]:
    """Picture name -> raw labels. A value that cannot be read stands as it is, for the task to name."""
    names = {name.lower(): name for name in header(path).names}
    if not {"image_name", "labels"} <= set(names):
        raise DataError(f"{path}: expected the columns 'Image_name' and 'Labels', found {listed(names)}. Fetch it again.")
    seen, found = _Recorded(), dict[str, dict[str, str]]()
    for row in read_rows(path, seen):
        name, code = (row.values[names[column]].strip() for column in ("image_name", "labels"))
        if found.setdefault(name, _decoded(code)) != _decoded(code):
            seen.warn("two sets of labels for one picture", row.place, f"{shown(name)}; the first is kept")
        if _contradicts(code):
            seen.warn("labels contradict each other", row.place, f"{code!r}; the levels at its end are used")
    report.files.append(str(path))
    for _, _, reason, place, detail in seen.events:  # the memes are counted in the other file
        report.warn(reason, place, detail)
    return found


def _decoded(code: str) -> dict[str, str]:
    """`1_1110_2110`: sentiment; humorous, sarcastic, offensive, motivational; the same four as levels."""
    parts = _CODE.fullmatch(code)
    if parts is None:
        return dict.fromkeys(LEVELS, code)
    levels = {column: LEVELS[column][int(level)] for column, level in zip(LEVELS, parts["levels"], strict=False)}
    return levels | {"overall_sentiment": _SENTIMENTS[parts["sentiment"]]}


def _contradicts(code: str) -> bool:
    parts = _CODE.fullmatch(code)
    return parts is not None and [one == "0" for one in parts["binary"]] != [one == "0" for one in parts["levels"]]


def _parquet(files: Sequence[Path], split: str, report: LoadReport) -> Iterator[Meme]:
    """Files named after the split, else all; a column `split` decides about each row. Ids are `SPLIT-ROW` within the split."""
    named = [path for path in files if _split_of(split_in_name(path)) == split]
    if not named and all("split" not in header(path).names for path in files):
        raise DataError(
            f"{files[0].parent}: no Parquet file for the split {split!r}: found {listed(path.name for path in files)}, and no "
            f"column 'split' in them. Name the files train-*.parquet, validation-*.parquet, test-*.parquet."
        )
    check_parts(named or files)
    position = 0
    for path in named or files:
        columns, seen, before = _columns(path), _Recorded(), 0
        for row in read_rows(path, seen):
            mine = _split_of(str(row.values.get("split") or split)) == split
            seen.tell(report, range(before, seen.read) if mine else range(0))
            seen.events.clear()
            position, before = position + (seen.read - before if mine else 0), seen.read
            if not mine:
                continue
            with dropping(row.place, report):
                values = _renamed(row, columns).values
                if not isinstance(values["image_name"], Image):
                    raise BadRowError("missing picture", "the cell is empty")
                yield Meme(f"{split}-{position - 1}", values, row.place, values["image_name"])
        seen.tell(report, range(before, seen.read))
        report.files.append(str(path))


def _split_of(name: str) -> str:
    return {"val": "validation", "valid": "validation", "dev": "validation"}.get(name.lower(), name.lower())


def _xlsx(folder: Path) -> list[Path]:
    return [] if (folder / "labels.csv").is_file() else any_of("labels.xlsx")(folder)


def _codalab_file(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.glob("*.csv") if path.is_file())
    by_name = [path for path in files if path.name.startswith("data_7000")]
    return by_name or [path for path in files if path.name != "labels.csv" and _is_training_file(path)]


def _is_training_file(path: Path) -> bool:
    try:
        return is_training_file(path)
    except DataError:  # empty, UTF-16: another file that happens to lie here
        return False


LAYOUTS: Mapping[str, Layout] = {
    "kaggle_csv": Layout("labels.csv and a folder images/", any_of("labels.csv")),
    "kaggle_xlsx": Layout("labels.xlsx and a folder images/", _xlsx),
    "codalab": Layout("data_7000_new.csv and a folder of pictures", _codalab_file, one_file=True),
    "semeval_test": Layout(
        "2000_testdata.csv, Meme_groundTruth.csv and a folder 2000_data/", all_of("2000_testdata.csv", "Meme_groundTruth.csv")
    ),
    "parquet": Layout("train-*.parquet, validation-*.parquet, test-*.parquet", any_of("*.parquet")),
}
"""Layout name -> how it is recognised."""

_READERS: Mapping[str, Callable[[Sequence[Path], str, LoadReport], Iterator[Meme]]] = {
    "kaggle_csv": _kaggle,
    "kaggle_xlsx": _kaggle,
    "codalab": _codalab,
    "semeval_test": _semeval,
    "parquet": _parquet,
}


def memes(found: Found, split: str, report: LoadReport) -> Iterator[Meme]:
    """Memes of a split with their pictures."""
    return _READERS[found.layout](found.files, split, report)


def locate(task: str, folder: Path | None, only: str | None = None) -> Found:
    """The copy of the dataset in a folder or, if there is none, in its subfolders.

    only: the one layout to look for. Raises UsageError without a folder, DataError when no layout or several are found.
    """
    known = {only: LAYOUTS[only]} if only else LAYOUTS
    folder = needed(task, folder, known)
    if there := instead(folder):
        what = "does not exist" if there == "none" else f"is {there}; pass the folder that holds it"
        raise UsageError(f"Task {task}: the folder {folder} {what} (layouts: {', '.join(known)}).")
    found = find(task, folder, known)
    if found is None:
        looked = "; ".join(f"{name}: {layout.marker}" for name, layout in known.items())
        raise DataError(
            f"Task {task}: no known layout in {folder} or its subfolders. Looked for {looked}. "
            f"The folder holds {listed(entries(folder), 10) or 'nothing'}."
        )
    return found
