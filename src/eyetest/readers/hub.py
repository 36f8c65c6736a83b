"""A dataset's published copy on the Hugging Face hub, downloaded only when asked and only at a pinned revision."""

from __future__ import annotations

import re
from pathlib import Path

from eyetest.errors import DataError, MissingExtraError, UsageError

_REVISION = re.compile(r"[0-9a-f]{40}")


def download(task: str, repository: str, pinned: str, directory: str) -> Path:
    """Folder of the Parquet files of a dataset repository, from the local hub cache where they are there already.

    directory: `hub` for the revision `pinned`, `hub@REVISION` for another: 40 hexadecimal digits, as a branch would not be
    the same tomorrow. Raises UsageError without a revision, MissingExtraError, and DataError when the hub does not answer.
    """
    if not repository:
        raise UsageError(f"Task {task!r} has no copy on the hub that is known. Name its folder with --dir.")
    revision = directory.partition("@")[2] or pinned
    if not _REVISION.fullmatch(revision):
        said = f"{revision!r} is no revision" if revision else f"no revision of {repository} is known to be right"
        raise UsageError(
            f"--dir {directory}: {said}. Write --dir hub@REVISION with the 40 digits that the hub shows under Files, History."
        )
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError:
        raise MissingExtraError("huggingface_hub", "hub", f"--dir {directory}") from None
    try:
        found = snapshot_download(repository, repo_type="dataset", revision=revision, allow_patterns=["*.parquet", "*.md"])
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        raise DataError(
            f"--dir {directory}: {repository} at {revision[:12]} cannot be downloaded: {type(error).__name__}: "
            f"{' '.join(str(error).split())[:300]}. Download it yourself and name the folder with --dir."
        ) from None
    return Path(found)
