"""Models that learn from the training split, where a folder holds only what is asked."""

import shutil
from pathlib import Path

from eyetest import social
from eyetest.config import DataConfig
from eyetest.evaluation import setup


def test_a_folder_without_its_training_split_has_none(tmp_path: Path) -> None:
    shutil.copytree(social.folder("hateful_memes"), tmp_path / "memes")
    (dataset,) = setup.datasets([DataConfig(task="hateful_memes", dir=str(tmp_path / "memes"))])
    assert sum(1 for _ in dataset.train()) == 80
    (tmp_path / "memes/data/train.jsonl").unlink()
    assert list(dataset.train()) == []
    assert sum(1 for _ in dataset.samples()) == 80
