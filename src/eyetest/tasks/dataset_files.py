"""What the readers of published datasets share: rows that cannot be asked, Parquet parts, pictures, references."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.rows import columns, read_rows
from eyetest.types import Image, Sample

_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.parquet")
_FORMATS = {
    "jpeg": rb"\xff\xd8\xff",
    "png": rb"\x89PNG",
    "gif": rb"GIF8",
    "bmp": rb"BM",
    "webp": rb"RIFF....WEBP",
    "tiff": rb"II\*\0|MM\0\*",
    "avif": rb"....ftypavi",
    "ppm": rb"P[1-6]\s",
}
_START = re.compile(b"|".join(b"(?P<%b>%b)" % (name.encode(), start) for name, start in _FORMATS.items()), re.DOTALL)


class BadRowError(Exception):
    """This row cannot become a sample. Never leaves a reader: `dropping` counts it."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


@contextmanager
def dropping(place: str, report: LoadReport) -> Iterator[None]:
    """Counts the row at `place` as dropped if it turns out bad within. Raises DataError then if the report is strict."""
    try:
        yield
    except BadRowError as bad:
        report.drop(bad.reason, place, bad.detail)


def samples(
    rows: Iterable[Row], sample: Callable[[Row], Sample], report: LoadReport, *, source: Path, called: str = "rows"
) -> Iterator[Sample]:
    """One sample a row, counted. Empty rows, those that `sample` finds bad and all but the first of one id are dropped.

    source, called: what is read, for the DataError that is raised when no row was left.
    """
    before, kept = report.read, report.kept
    ids: set[str] = set()
    for row in rows:
        with dropping(row.place, report):
            if all(value is None or value == "" for value in row.values.values()):
                raise BadRowError("empty row")
            made = sample(row)
            if made.id in ids:
                raise BadRowError("duplicate id", f"{made.id}; the first one is kept")
            ids.add(made.id)
            report.kept += 1
            yield made
    if report.kept == kept:
        reasons = "; ".join(f"{reason}: {count}, first {report.rows[reason][0]}" for reason, count in report.dropped.items())
        raise DataError(f"{source}: none of the {report.read - before} {called} can be used. {reasons}".strip())


def parquet_patterns(split: str) -> tuple[str, str]:
    """How Hugging Face `datasets` calls the files of a split."""
    return f"{split}.parquet", f"{split}-*.parquet"


def split_in_name(path: Path) -> str:
    """The word before the first `-`, `_` or `.` of a file's name, such as `train`."""
    return re.split("[-_.]", path.name, maxsplit=1)[0]


def missing_parts(files: Iterable[Path]) -> list[str]:
    """Names of the files that lack in series such as `test-00000-of-00002.parquet`, sorted."""
    here = {path.name for path in files}
    series = {(part[1], part[3]) for part in map(_PART.fullmatch, here) if part}
    return sorted({f"{name}-{number:05}-of-{of}.parquet" for name, of in series for number in range(int(of))} - here)


def check_columns(file: Path, needed: Sequence[str], asks: str, *, also: str = "") -> None:
    """Raises DataError if `file` lacks one of the columns. asks: how the message ends; also: what it says after their names."""
    has = columns(file)
    if missing := [name for name in needed if name not in has]:
        raise DataError(f"{file}: expected the columns {listed(needed)}{also}, found {listed(has)}: no {listed(missing)}. {asks}")


def check_parts(files: Sequence[Path]) -> None:
    """Raises DataError if a part of a split in several files is missing."""
    for part in filter(None, map(_PART.fullmatch, missing_parts(files))):
        raise DataError(f"{files[0].parent}: part {part[2]} of {part[3]} is missing beside {files[0].name}. Fetch all parts.")


def picture(candidates: Iterable[str | Path], named: str, place: str, report: LoadReport, *, empty: str = "is empty") -> Image:
    """The first of these files that exists. Warns where it does not begin as a picture; raises BadRowError if there is none.

    named: how the row calls the picture; empty: what is said of a file without a byte.
    """
    path = next((str(one) for one in candidates if os.path.isfile(one)), None)
    if path is None:
        raise BadRowError("missing picture", named)
    kind, start = picture_format(path)
    if kind is None:
        report.warn("undecodable picture", place, f"{named} begins with {start!r}" if start else f"{named} {empty}")
    return Image(path=path)


def picture_format(path: str) -> tuple[str | None, bytes]:
    """`jpeg`, `png`, ... or None by the first 12 bytes, and these bytes; none where the file cannot be read.

    Nothing is decoded: there are thousands of pictures, and most runs show a few.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            start = file.read(12)
    except OSError:  # said with its reason when the picture is to be shown
        start = b""
    found = _START.match(start)
    return found.lastgroup if found else None, start


def references(
    folders: Iterable[Path], key: str, report: LoadReport, *, name: Callable[[Any], str | None], flaw: str
) -> dict[str, tuple[str, ...]]:
    """Sample id -> reference texts in file order, from `references/KEY.jsonl` in the first of the folders that has it.

    A line is `{"id": ..., "reference": text or list of texts}`; several lines of one id add up. name: the sample id that an
    `id` means, None for no id; flaw: what a line without id or text is called. Without a file a warning is counted; bad lines
    are warnings too, because they are no rows of the dataset, but a DataError if the report is strict.
    """
    places = [folder / "references" / f"{key}.jsonl" for folder in folders]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        report.warn("no references: descriptions cannot be scored", str(places[0]), "no such file")
        return {}
    own, found = LoadReport(strict=report.strict), dict[str, tuple[str, ...]]()
    for row in read_rows(path, own):
        with dropping(row.place, own):
            sample_id, texts = name(row.values.get("id")), _texts(row.values.get("reference"))
            if sample_id is None or not texts:
                raise BadRowError(flaw)
            found[sample_id] = (*found.get(sample_id, ()), *texts)
    report.files.append(str(path))
    for reason, count in (own.dropped | own.warnings).items():
        said = reason if reason.startswith("reference") else f"references: {reason}"
        for place in own.rows[reason]:
            report.warn(said, place)
        report.warnings[said] += count - len(own.rows[reason])  # places are named for the first few only
    return found


def _texts(value: Any) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str) and one.strip()]


def plain(value: Any) -> Any:
    """A further column's value as any JSON writer takes it: whole numbers over 64 bits and lists become text."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else shown(value)
