"""What lies in a folder of InfoSeek: the split's rows, the two files joined to them, and pictures of OVEN by id."""

from __future__ import annotations

import hashlib
import heapq
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.readers.rows import read_rows
from eyetest.tasks.dataset_files import BadRowError, dropping

SPLITS = ("val", "train", "test", "human")
"""Splits as the authors publish them."""

SUBSETS: Mapping[str, tuple[str, int, str]] = {"val:infoseek3k_v1": ("val", 3000, "infoseek3k|seed=0|")}
"""Name -> (split, number of ids, salt): the ids with the smallest sha256(salt + data_id), whatever the order of the file."""

_USUAL = (".jpg", ".JPEG", ".jpeg", ".png")
"""Tried one by one, because listing a folder of a million pictures takes longer."""
_PICTURES = frozenset((".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"))
_NAME = re.compile(r"[\w-][\w.-]*")

Columns = tuple[str, ...]


def rows(file: Path, subset: str, report: LoadReport) -> Iterator[Row]:
    """Rows of a split, line by line. subset: a name in `SUBSETS`, or another word for all; other rows are then not counted."""
    if subset not in SUBSETS:
        yield from read_rows(file, report)
        return
    _, size, salt = SUBSETS[subset]
    ids = {one for row in read_rows(file, LoadReport()) if isinstance(one := row.values.get("data_id"), str)}
    chosen = frozenset(
        heapq.nsmallest(size, ids, key=lambda one: hashlib.sha256(f"{salt}{one}".encode("utf-8", "surrogatepass")).digest())
    )
    for row in read_rows(file, report):
        name = row.values.get("data_id")
        if isinstance(name, str) and name not in chosen:
            report.read -= 1
        else:
            yield row


class Joined:
    """The text columns of a file beside the split, by data_id. Equal values are held once, ids as whole numbers."""

    def __init__(self, file: Path, split: str, columns: Columns, without: str, report: LoadReport) -> None:
        """without: the warning where there is no such file. What is wrong with its rows is a warning, as they are no samples."""
        self.there = file.is_file()
        self._prefix = f"infoseek_{split}_"
        self._found: dict[int | str, Columns] = {}
        if not self.there:
            report.warn(without, str(file), "no such file")
            return
        own, held = LoadReport(strict=report.strict), dict[Columns, Columns]()
        for row in read_rows(file, own):
            with dropping(row.place, own):
                self._add(row, columns, held)
        report.files.append(str(file))
        for reason, count in own.dropped.items():
            for place in own.rows[reason]:
                report.warn(f"{file.name}: {reason}", place)
            report.warnings[f"{file.name}: {reason}"] += count - len(own.rows[reason])  # places are named for the first few only

    def _add(self, row: Row, columns: Columns, held: dict[Columns, Columns]) -> None:
        for column in ("data_id", *columns):
            value = row.values.get(column)
            if not isinstance(value, str) or not value.strip():
                raise BadRowError("row without its texts", f"{column} is {shown(value)}")
        values = tuple(row.values[column].strip() for column in columns)
        key = self._key(row.values["data_id"])
        if self._found.setdefault(key, held.setdefault(values, values)) != values:
            raise BadRowError("second row of an id", f"{row.values['data_id']}; the first one is kept")

    def _key(self, name: str) -> int | str:
        digits = name.removeprefix(self._prefix)
        usual = len(digits) == 8 and digits.isascii() and digits.isdecimal() and len(name) > 8
        return int(digits) if usual else name

    def get(self, name: str) -> Columns | None:
        """The columns of a data_id, None if the file has no usable row of it."""
        return self._found.get(self._key(name))


class Pictures:
    """Finds pictures by id, with any extension: `04/oven_04950028.JPEG`, `oven_04950028.png` or `infoseek_val_00000000.jpg`."""

    def __init__(self, split: str, places: Sequence[Path]) -> None:
        """places: where the folder of pictures may lie. Raises DataError if there is none."""
        names = ("oven_images", "images", "infoseek_images", f"infoseek_{split}_images")
        asked = [os.path.join(place, name) for place in dict.fromkeys(places) for name in names]
        self._folders = [folder for folder in asked if os.path.isdir(folder)]
        if not self._folders:
            raise DataError(
                f"{places[0]}: expected a folder of pictures, found none of {', '.join(names)}. Put the pictures of OVEN "
                f"there, as oven_images/04/oven_04950028.jpg, in one folder, or named by data_id."
            )
        self._listed: dict[str, dict[str, str]] = {}

    def find(self, image_id: str, data_id: str) -> str | None:
        """The picture's path, None where it is missing. The file is not opened."""
        shard = image_id.removeprefix("oven_")[:2]
        places = [(place, image_id) for folder in self._folders for place in (os.path.join(folder, shard), folder)]
        places += [(folder, data_id) for folder in self._folders]
        return next((path for folder, stem in places if (path := self._in(folder, stem)) is not None), None)

    def _in(self, folder: str, stem: str) -> str | None:
        for suffix in _USUAL:
            if os.path.isfile(path := os.path.join(folder, stem + suffix)):
                return path
        if folder not in self._listed:
            self._listed[folder] = _unusual(folder)
        found = self._listed[folder].get(stem)
        return None if found is None else os.path.join(folder, found)


def _unusual(folder: str) -> dict[str, str]:
    """Name without its extension -> name, of the pictures whose extension is not tried one by one."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # no such shard; a folder that may not be read has no pictures for us
        return {}
    parts = ((name, *os.path.splitext(name)) for name in names)
    return {stem: name for name, stem, suffix in parts if suffix not in _USUAL and suffix.lower() in _PICTURES}


def name(value: Any, column: str) -> str:
    """An id that may be part of a file's name. Raises BadRowError."""
    if value is None or value == "":
        raise BadRowError("no id", f"{column} is empty")
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise BadRowError("bad id", f"{column} is {shown(value)}; expected a name such as oven_04990048")
    return value
