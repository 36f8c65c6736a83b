"""Embedded social data: four small data sets in the layouts of MM-Soc's (arXiv 2402.14154), to try out its tasks offline.

    memotion        240 memes in the Hugging Face (Parquet) layout: 120 test, 24 validation, 96 train
    hateful_memes   160 memes in the phase 2 layout: 80 dev_seen, 80 train; confounders as in the real set
    fakenewsnet     600 news items in the SpotFake+ layout: politi 120 test, 120 train; gossip 180 test, 180 train
    youtube         120 videos in the Hugging Face (Parquet) layout: 60 test, 12 val, 48 train

Every word and every picture is invented and drawn by `scripts/social`; places, persons and peoples do not exist. What models
score here says nothing about the real data sets. Data: CC0-1.0; lettering: the font Aileron (CC0-1.0). See NOTICE.md.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from eyetest.errors import DataError, unknown

DATASETS = ("fakenewsnet", "hateful_memes", "memotion", "youtube")


def folder(name: str) -> Path:
    """The folder of an embedded data set, to be given to the task that reads the real one.

    name: one of `DATASETS`. Raises UsageError for another name, DataError if the installation lacks the files.
    """
    if name not in DATASETS:
        raise unknown("embedded data set", name, DATASETS)
    path = Path(str(resources.files(__name__))) / "files" / name
    if not path.is_dir():
        raise DataError(f"{path}: this folder belongs to eyetest and is missing. Install eyetest again.")
    return path
