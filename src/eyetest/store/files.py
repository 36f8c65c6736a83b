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
    """Raise StoreError if a pipe or a device is at `path`: opening it would wait for ever, or never end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # opening it will say why
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a folder says why at once
        what = "a named pipe" if stat.S_ISFIFO(mode) else "a device or socket"
        raise StoreError(f"{path}: is {what}, not a file. Move it away, or name another place.")


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file so that a reader sees the old or the new one, never half of it."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError as error:
        raise full(error, path, "writing") from error
