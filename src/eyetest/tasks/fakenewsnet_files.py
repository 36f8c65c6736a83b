"""FakeNewsNet's files, first part: SpotFake+ CSVs and Hugging Face Parquet; and what all its layouts yield.

The label is spelt both ways: 0 is fake in SpotFake+, 1 is fake in Parquet. Here, and nowhere else, both become `Item.fake`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eyetest.errors import DataError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.rows import header, read_rows
from eyetest.tasks.dataset_files import BadRowError, dropping, missing_parts, picture, plain, split_in_name
from eyetest.tasks.layouts import any_of
from eyetest.types import Image

Site = Literal["politifact", "gossipcop"]
"""Which of the two sites judged the articles."""

SHORT: Mapping[Site, str] = {"politifact": "politi", "gossipcop": "gossip"}
"""How SpotFake+ calls the two sites."""

FAKE_IN_SPOTFAKE, FAKE_IN_PARQUET = 0, 1
EXCEL_CELL = range(32_759, 32_768)
"""Lengths at which Excel has cut a cell: 32,767 characters at most, less where it cut at the end of a tweet id."""
ARTICLE_LINES = 20_000
"""Longest row of a CSV file in lines: articles hold line breaks, some more than a thousand."""

_SPOTFAKE_COLUMNS = ("content", "image", "label")
_PARQUET_COLUMNS = ("image", "text", "label")
_PICTURE_NAME = re.compile(r"[^,\n]+\.(?:jpe?g|jpe|png|gif|webp|bmp|tiff?)", re.IGNORECASE)
_ROW_END = re.compile(rf",{_PICTURE_NAME.pattern},[01](?:\.0)?\r?\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """One article with its picture, as every layout yields it."""

    id: str
    """The article's id, which SpotFake+ gives as its picture's name; unique only where the layout says so."""
    fake: bool
    """Whether the site judged it fake."""
    text: str
    """What the model reads; may be empty."""
    image: Image
    """Its picture."""
    place: str
    """Where it stands."""
    alike: tuple[str, ...] = ()
    """Items that share one of these (picture name, URL) are not independent."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Further columns."""


class Pictures:
    """Finds pictures and remembers whether any was there at all."""

    def __init__(self, report: LoadReport, folder: Path) -> None:
        self.report, self.folder = report, folder
        self.asked = self.found = 0

    def named(self, name: str, place: str) -> Image:
        """The picture `name` in the folder. Raises BadRowError."""
        if os.path.isabs(name) or ".." in re.split(r"[/\\]", name):  # a dataset must not reach for other files of this machine
            raise BadRowError("bad picture path", f"{shown(name)} points outside {self.folder}")
        return self.first([self.folder / name] if name else [], place, name or "the cell is empty")

    def first(self, candidates: list[Path], place: str, detail: str) -> Image:
        """The first of these files that exists. Raises BadRowError; warns where the file does not begin as a picture."""
        self.asked += 1
        image = picture(candidates, detail[:80], place, self.report)
        self.found += 1
        return image

    def check_any_found(self, source: Path, way_out: str) -> None:
        """Raise DataError if rows named pictures and none was there."""
        if self.asked and not self.found:
            raise DataError(f"{source}: not one of {self.asked} pictures was found; looked in {self.folder}. {way_out}")


def warn_of_cut_cells(row: Row, report: LoadReport) -> None:
    """Name cells of the length at which Excel cuts."""
    for name, cell in row.values.items():
        if isinstance(cell, str) and len(cell) in EXCEL_CELL:
            report.warn("cell cut by Excel", row.place, f"{name!r} has {len(cell):,} characters; use the file as published")


def spotfake_files(site: Site, _named: Path, folder: Path) -> list[Path]:
    """Those of the site's two CSV files that lie here."""
    return any_of(*(f"{SHORT[site]}_{split}.csv" for split in ("test", "train")))(folder)


def spotfake(site: Site, folder: Path, split: str, report: LoadReport) -> Iterator[Item]:
    """Rows of `{politi,gossip}_{train,test}.csv`; 0 is fake. The order of the columns counts: index, content, image, label.

    Raises DataError for other columns, no picture folder, or not one of the pictures.
    """
    name = f"{SHORT[site]}_{split}"
    path = folder / f"{name}.csv"
    rows = read_rows(path, report, record_lines=ARTICLE_LINES)
    _check_order(path)
    pictures = Pictures(report, _picture_folder(folder, name))
    for row in rows:
        with dropping(row.place, report):
            yield _spotfake_item(row, split, pictures)
    pictures.check_any_found(path, "Unpack Images/ beside the CSV files.")


def _spotfake_item(row: Row, split: str, pictures: Pictures) -> Item:
    """Raises BadRowError."""
    cells = [str(cell) for cell in row.values.values()]
    warn_of_cut_cells(row, pictures.report)
    _check_spotfake(cells)
    index, content, image, label = cells[:4]
    extra = {key: plain(value) for key, value in list(row.values.items())[4:]}
    return Item(
        id=Path(image.strip()).stem,
        fake=_label(label) == FAKE_IN_SPOTFAKE,
        text=content,
        image=pictures.named(image.strip(), row.place),
        place=row.place,
        alike=(image.strip(),),
        metadata={"split": split, "index": index, "image": image.strip(), "raw_label": label, **extra},
    )


def _check_order(path: Path) -> None:
    found = header(path)
    order = [name.lower() for name in found.names]
    misplaced = [name for place, name in enumerate(_SPOTFAKE_COLUMNS, 1) if name in order and order.index(name) != place]
    if len(order) < 4 or misplaced:
        raise DataError(
            f"{found.place}: expected the columns index, content, image, label in this order (a fourth of them, the label, is "
            f"0 for fake), found {listed(found.names)}. Use the files as SpotFake+ releases them, or reorder the columns."
        )


def _picture_folder(folder: Path, name: str) -> Path:
    tried = [folder / parent / name for parent in ("Images", "images")]
    for one in tried:
        if one.is_dir():
            return one
    inside = sorted(entry.name for entry in folder.iterdir())
    raise DataError(
        f"{folder}: no folder of pictures. Looked for {' and '.join(f'{one.parent.name}/{name}' for one in tried)}, "
        f"found {listed(inside, 10)}. Unpack Images/ beside the CSV files."
    )


def _check_spotfake(cells: list[str]) -> None:
    """Raise BadRowError if a row cannot be used as it stands."""
    if not any(cell.strip() for cell in cells[1:]):
        raise BadRowError("empty row")
    index, content, _, label = cells[:4]
    swallowed = _ROW_END.findall(content)
    if swallowed:
        said = f"an unclosed quote took in {len(swallowed)} rows, so text and label do not belong together"
        raise BadRowError("swallowed rows", said)
    if index.strip() and not re.fullmatch(r"\d+(\.0)?", index.strip()):
        raise BadRowError("shifted row", f"the first cell is {shown(index.strip())}, expected a row number")
    if _label(label) is None:
        others = [cell for cell in (*cells[:2], label, *cells[4:]) if _PICTURE_NAME.fullmatch(cell.strip())]
        if others:
            raise BadRowError("shifted row", f"the picture {shown(others[0].strip())} stands in another column than 'image'")
        raise _bad_label(label)


def _label(value: Any) -> int | None:
    """0 or 1 however it is written, else None."""
    return {"0": 0, "1": 1, "0.0": 0, "1.0": 1}.get(str(value).strip()) if not isinstance(value, bool) else int(value)


def _bad_label(value: Any) -> BadRowError:
    if value is None or not str(value).strip():
        return BadRowError("no label")
    return BadRowError("unknown label", f"{shown(str(value))}, expected 0 or 1")


def parquet_files(site: Site, named: Path, folder: Path) -> list[Path]:
    """Parquet files do not say which site they hold, so a folder found by looking around must say it in its name."""
    name = folder.resolve().name.lower()
    other = next(short for key, short in SHORT.items() if key != site)
    ours = SHORT[site] in name
    return _parquet_files(folder) if ours or (folder == named and other not in name) else []


def _parquet_files(folder: Path) -> list[Path]:
    """As `datasets` pushes them (`data/test-00000-of-00002.parquet`) or the hub converts them (`default/test/0000.parquet`)."""
    for places in ((".",), ("data",), ("default/test", "default/train"), ("test", "train")):
        if found := sorted(path for place in places for path in (folder / place).glob("*.parquet")):
            return found
    return []


def parquet(site: Site, folder: Path, split: str, report: LoadReport) -> Iterator[Item]:
    """Rows of the Hugging Face copies: `image` (struct of bytes and path), `text`, `label` (1 is fake), `split`.

    A file that does not say its split, by its own or its folder's name, is sorted by its column `split`.
    Raises DataError where neither is there, a column is missing, or no file has the split.
    """
    del site
    files = _parquet_files(folder)
    mine = [path for path in files if _split_of(path) in (split, None)]
    if not mine:
        raise DataError(f"{folder}: no Parquet file of the split {split!r}; found {listed((path.name for path in files), 10)}.")
    for name in missing_parts(mine):
        report.warn("missing Parquet file", name, "one of a numbered series; the split is smaller than published")
    for path in mine:
        names = header(path).names
        absent = [name for name in _PARQUET_COLUMNS if name not in names]
        if absent:
            raise DataError(
                f"{path}: no column {listed(absent)}; expected image, text, label (1 is fake); found {listed(names)}."
            )
        if _split_of(path) is None and "split" not in names:
            raise DataError(
                f"{path} does not say its split: there is no column 'split'. Name it test-... or train-..., or add the column."
            )
        yield from _parquet_items(path, split, report)


def _split_of(path: Path) -> str | None:
    return next((name for name in (path.parent.name, split_in_name(path)) if name in ("train", "test")), None)


def _parquet_items(path: Path, split: str, report: LoadReport) -> Iterator[Item]:
    names: list[str | None] = []
    for row in read_rows(path, report):
        stated = row.values.get("split", split)
        if stated != split:
            if _split_of(path) is None:
                report.read -= 1  # a row of the other split is not dropped: it is not asked for
                continue
            report.warn("split differs from the file's name", row.place, shown(stated))
        with dropping(row.place, report):
            image = _parquet_picture(row)
            names = names or _picture_names(path)
            number = int((image.member or "").rpartition(":")[2])
            yield _parquet_item(row, split, image, names[number], f"{path.stem}:{number + 1}")


def _parquet_picture(row: Row) -> Image:
    """Raises BadRowError for a row that lacks its picture or its label."""
    image = row.values["image"]
    if all(row.values[name] in (None, "") for name in _PARQUET_COLUMNS):
        raise BadRowError("empty row")
    if _label(row.values["label"]) is None:
        raise _bad_label(row.values["label"])
    if not isinstance(image, Image):
        raise BadRowError("missing picture")
    return image


def _parquet_item(row: Row, split: str, image: Image, file: str | None, number: str) -> Item:
    text = row.values["text"]
    extra = {key: plain(value) for key, value in row.values.items() if key not in (*_PARQUET_COLUMNS, "split")}
    stem = Path(file).stem if file else ""
    return Item(
        id=stem or number,
        fake=_label(row.values["label"]) == FAKE_IN_PARQUET,
        text=text if isinstance(text, str) else "",
        image=image,
        place=row.place,
        alike=(file,) if file else (),
        metadata={"split": split, "image": file, "raw_label": str(row.values["label"]), **extra},
    )


def _picture_names(path: Path) -> list[str | None]:
    """The file name that each picture had, read without the pictures; None where the file does not say."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            leaves = {file.metadata.schema.column(index).path for index in range(len(file.metadata.schema))}
            if "image.path" not in leaves:
                return [None] * file.metadata.num_rows
            cells = file.read(columns=["image.path"]).column("image").to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {str(error).splitlines()[0]}. Fetch it again.") from error
    return [os.path.basename(cell["path"]) if cell and cell["path"] else None for cell in cells]
