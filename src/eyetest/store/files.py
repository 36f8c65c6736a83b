"""Small files written whole, and what to say when the disk refuses."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from eyetest.errors import StoreError


def full(error: OSError, path: Path, doing: str) -> StoreError:
    """What to tell the user when the disk refuses."""
    return StoreError(
        f"{path}: {doing} failed: {error.strerror or error}. What was answered so far is kept; "
        f"make room or allow writing there, then run the same command again to go on."
    )


def check_regular(path: Path) -> None:
    """Raise StoreError if there is something at `path` that is no file: a pipe or a device would wait for ever."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # opening it will say why
    if not stat.S_ISREG(mode):
        raise StoreError(f"{path}: is {_WHAT.get(stat.S_IFMT(mode), 'no regular file')}, not a file. Move it away.")


_WHAT = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def check_path(path: Path, option: str) -> None:
    """Raise StoreError for a path that no system can hold. option: where it was given."""
    if "\0" in str(path):
        raise StoreError(f"{str(path)!r}: a path cannot hold a NUL character. Choose another {option}.")


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file so that a reader sees the old or the new one, never half of it."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError as error:
        raise full(error, path, "writing") from error
