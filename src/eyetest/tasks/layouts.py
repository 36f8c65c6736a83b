"""Which of the layouts in which a dataset is published a folder has: told by marker files, there or one level down."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyetest.errors import DataError, UsageError
from eyetest.readers.row import listed, unreadable


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which a dataset lies in a folder."""

    marker: str
    """The files and folders that tell it, in words."""
    files: Callable[[Path], Sequence[Path]]
    """Folder -> which of them lie in it; empty where it is not laid out so."""
    one_file: bool = False
    """Whether each marker file is a whole copy, so that one folder may hold several."""


@dataclass(frozen=True, slots=True)
class Found:
    """A copy of a dataset."""

    layout: str
    """Name of its layout."""
    folder: Path
    """As the user named it."""
    root: Path
    """Where it begins: `folder` or one in it."""
    files: tuple[Path, ...]
    """Its marker files."""


def needed(task: str, folder: Path | None, layouts: Iterable[str]) -> Path:
    """The folder. Raises UsageError that names the layouts (`layouts`: their names) where the user gave none."""
    if folder is None:
        raise UsageError(
            f"Task {task} needs its folder: --dir FOLDER (layouts: {', '.join(layouts)}), or --dir embedded for the small set "
            f"inside eyetest."
        )
    return folder


def instead(path: Path) -> str:
    """What stands where a folder is expected: `a file` or `none`; empty if it is a folder."""
    if os.path.isdir(path):  # pathlib's raises for a name that is too long
        return ""
    return "a file" if os.path.exists(path) else "none"


def check_folder(folder: Path, what: str, way_out: str) -> None:
    """Raise DataError if a folder that belongs to a layout is not there. what: what it holds."""
    if there := instead(folder):
        raise DataError(f"{folder}: expected the folder of {what}, found {there}. {way_out}")


def find(task: str, folder: Path, sought: Mapping[str, Layout]) -> Found | None:
    """The one copy in an existing folder or, only if it holds none itself, in the folders in it; None where there is none.

    sought: layouts by name. Raises DataError for several copies, and for a folder that cannot be read.
    """
    try:
        for roots in ([folder], _readable(folder)):
            copies = _copies(folder, roots, sought)
            if len(copies) > 1:
                raise _several(task, folder, copies)
            if copies:
                return copies[0]
    except OSError as error:
        raise unreadable(folder, error) from error
    return None


def locate(task: str, dataset: str, folder: Path | None, sought: Mapping[str, Layout], known: Iterable[str]) -> Found:
    """As `find`, with the common words for what is wrong.

    dataset: as its authors call it; known: names of all layouts, where only some are sought.
    Raises UsageError for no folder, DataError for none or several copies.
    """
    known = tuple(known)
    folder = needed(task, folder, known)
    if there := instead(folder):
        raise UsageError(f"--dir {folder}: expected the dataset's folder, found {there}.")
    found = find(task, folder, sought)
    if found is None:
        raise DataError(
            f"{folder}: no layout of {dataset} here or one folder down. Looked for: {described(sought)}. "
            f"Found: {listed(entries(folder), 10) or 'nothing'}. Known layouts: {', '.join(known)}."
        )
    return found


def described(layouts: Mapping[str, Layout]) -> str:
    """Layouts and their marker files: `xlsx (YouTube2000.xlsx); parquet (...)`."""
    return "; ".join(f"{name} ({layout.marker})" for name, layout in layouts.items())


def entries(folder: Path) -> list[str]:
    """Names of what lies in an existing folder, sorted."""
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise unreadable(folder, error) from error


def any_of(*patterns: str) -> Callable[[Path], list[Path]]:
    """`Layout.files` of a layout that one file with one of these names or patterns (`train-*.parquet`) suffices to tell."""

    def files(folder: Path) -> list[Path]:
        return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})

    return files


def all_of(*names: str) -> Callable[[Path], list[Path]]:
    """`Layout.files` of a layout that has all these files, in this order."""

    def files(folder: Path) -> list[Path]:
        paths = [folder / name for name in names]
        return paths if all(path.is_file() for path in paths) else []

    return files


def _readable(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and os.access(path, os.R_OK | os.X_OK))


def _copies(folder: Path, roots: Iterable[Path], sought: Mapping[str, Layout]) -> list[Found]:
    copies = []
    for root in roots:
        for name, layout in sought.items():
            files = tuple(layout.files(root))
            if layout.one_file:
                copies += [Found(name, folder, root, (file,)) for file in files]
            elif files:
                copies.append(Found(name, folder, root, files))
    return copies


def _several(task: str, folder: Path, copies: Sequence[Found]) -> DataError:
    """The way out is another folder, another layout, either, or, for two files of one layout in one folder, neither."""
    names = dict.fromkeys(copy.layout for copy in copies)
    apart = len({(copy.layout, copy.root) for copy in copies}) == len(copies)
    where = ", ".join(f"{copy.layout} in {copy.root if apart else copy.files[0]}" for copy in copies)
    ways = ["the folder of one of them with --dir"] * (len({copy.root for copy in copies}) > 1)
    ways += [" or ".join(f"--format {name}" for name in names)] * (len(names) > 1)
    way_out = f"Pass {', or '.join(ways)}." if apart else "Leave one of these files there."
    return DataError(f"Task {task}: {folder} holds more than one copy of the dataset: {where}. {way_out}")
