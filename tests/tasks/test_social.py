"""The embedded social data: read by the real tasks, complete, balanced, small, and made again by their script."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from eyetest import images, social
from eyetest.errors import UsageError
from eyetest.readers.load_report import LoadReport
from eyetest.tasks import fakenewsnet, hateful_memes, memotion, youtube
from eyetest.tasks.task import Task
from eyetest.types import Sample

SCRIPTS = Path(__file__).parents[2] / "scripts" / "social"
MEMOTION = [task for task in vars(memotion).values() if isinstance(task, Task)]
HATEFUL = [task for task in vars(hateful_memes).values() if isinstance(task, Task)]


def load(task: Task, name: str, split: str) -> list[Sample]:
    """The samples; nothing may be dropped or doubted."""
    report = LoadReport()
    found = list(task.load(social.folder(name), split, report))
    assert not report.dropped
    assert not report.rows
    assert len({sample.id for sample in found}) == len(found) == report.kept == report.read
    return found


@pytest.mark.parametrize(
    ("tasks", "name", "sizes"),
    [
        (MEMOTION, "memotion", {"test": 120, "validation": 24, "train": 96}),
        (HATEFUL, "hateful_memes", {"dev_seen": 80, "train": 80}),
        ([fakenewsnet.politifact], "fakenewsnet", {"test": 120, "train": 120}),
        ([fakenewsnet.gossipcop], "fakenewsnet", {"test": 180, "train": 180}),
        ([youtube.youtube_tagging], "youtube", {"test": 60, "val": 12, "train": 48}),
    ],
)
def test_the_real_tasks_read_every_row(tasks: list[Task], name: str, sizes: dict[str, int]) -> None:
    assert tasks
    for task in tasks:
        for split, size in sizes.items():
            found = load(task, name, split)
            assert len(found) == size, (task.name, split)
            assert all(sample.target and all(sample.target) for sample in found), (task.name, split)


def test_pictures_open_and_splits_share_none() -> None:
    for task, name, size in (
        (memotion.memotion_humor, "memotion", (400, 320)),
        (hateful_memes.hateful_memes, "hateful_memes", (400, 320)),
        (fakenewsnet.politifact, "fakenewsnet", (120, 90)),
        (fakenewsnet.gossipcop, "fakenewsnet", (120, 90)),
        (youtube.youtube_tagging, "youtube", (256, 144)),
    ):
        test, train = ([sample.images[0] for sample in load(task, name, split)] for split in (task.splits[0], "train"))
        assert {images.size(one) for one in (*test, *train)} == {size}
        assert not {images.digest(one) for one in test} & {images.digest(one) for one in train}


def test_no_label_rules_and_every_label_is_learnable_from_the_training_split() -> None:
    for task, name in (*((one, "memotion") for one in MEMOTION), *((one, "hateful_memes") for one in HATEFUL)):
        if task.positive is None and task is not memotion.memotion_sentiment:
            continue
        test, train = (Counter(sample.target for sample in load(task, name, split)) for split in (task.splits[0], "train"))
        assert max(test.values()) / sum(test.values()) < 0.85, (task.name, test)
        assert set(test) == set(train), task.name
        assert min(train.values()) >= 10, (task.name, train)


def test_news_are_fake_less_often_than_not_and_a_zero_means_fake() -> None:
    for task, share in ((fakenewsnet.politifact, 0.45), (fakenewsnet.gossipcop, 0.35)):
        found = [sample for split in ("test", "train") for sample in load(task, "fakenewsnet", split)]
        assert sum(sample.target == ("misinformation",) for sample in found) / len(found) == pytest.approx(share)
        assert all((sample.metadata["raw_label"] == "0") == (sample.target == ("misinformation",)) for sample in found)


def test_a_third_of_the_memes_need_their_picture() -> None:
    sentiments = defaultdict(set)
    for split in ("test", "validation", "train"):
        for sample in load(memotion.memotion_sentiment, "memotion", split):
            sentiments[sample.picture_text].add((split, sample.target))
    pairs = [found for found in sentiments.values() if len(found) > 1]
    assert len(pairs) == 40
    assert all(len(found) == 2 for found in pairs)
    assert all(len({split for split, _ in found}) == 1 for found in pairs), "words shared by two splits"
    assert Counter(next(iter(found))[0] for found in pairs) == {"test": 20, "validation": 4, "train": 16}


@pytest.mark.parametrize("split", ["dev_seen", "train"])
def test_hateful_words_have_a_harmless_picture_and_no_people_is_always_hated(split: str) -> None:
    labels, peoples = defaultdict(set), defaultdict(set)
    for sample in load(hateful_memes.hateful_memes, "hateful_memes", split):
        labels[sample.picture_text].add(sample.target[0])
        for name in ("zog", "blurg", "quibble", "fizzling", "mool"):
            if name in str(sample.picture_text):
                peoples[name].add(sample.target[0])
    assert sum(len(found) == 2 for found in labels.values()) == 16
    assert set(peoples) == {"zog", "blurg", "quibble", "fizzling", "mool"}
    assert all(found == {"hateful", "not_hateful"} for found in peoples.values())


def test_videos_have_one_to_three_known_tags_and_no_placeholder() -> None:
    found = [sample for split in ("test", "val", "train") for sample in load(youtube.youtube_tagging, "youtube", split)]
    assert {len(sample.target) for sample in found} == {1, 2, 3}
    assert len({tag for sample in found for tag in sample.target}) > 30
    assert 40 < len({sample.cluster for sample in found}) <= 48


def test_the_files_are_small_and_say_their_licence() -> None:
    files = [path for path in Path(social.__file__).parent.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    assert sum(path.stat().st_size for path in files) <= 6_000_000
    notice = Path(social.__file__).with_name("NOTICE.md").read_text(encoding="utf-8")
    assert "CC0-1.0" in notice
    assert "Aileron" in notice
    assert social.__doc__ is not None
    assert "CC0-1.0" in social.__doc__


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"Unknown embedded data set 'memotoin'. Did you mean 'memotion'\? Known: fakenewsnet,"):
        social.folder("memotoin")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("make_social")


def alike(made: bytes, kept: bytes) -> bool:
    """Equal pictures, give or take what another version of the drawing library rounds."""
    one, two = (np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float) for data in (made, kept))
    return one.shape == two.shape and float(np.abs(one - two).mean()) < 3


def test_making_memes_again_gives_the_same_words_labels_and_pictures(script: ModuleType) -> None:
    import pyarrow.parquet as pq

    kept = pq.read_table(social.folder("memotion") / "test.parquet").to_pylist()
    memes = script.memes()["test"]
    assert [row["text_corrected"] for row in kept] == [f"{meme.top} {meme.bottom}".upper() for meme in memes]
    for number in (0, 7, 63, 119):
        made = script.memotion_row("test", number, memes[number])
        assert made == script.memotion_row("test", number, memes[number])
        assert alike(made["image"]["bytes"], kept[number]["image"]["bytes"])
        del made["image"], kept[number]["image"], made["text_ocr"], kept[number]["text_ocr"]  # where lines break may differ
        assert made == kept[number]


def test_making_news_and_hateful_memes_again_gives_the_same_words(script: ModuleType) -> None:
    random = script.Random("news politi")
    made = [item.text for item in script.news.items("politi", 240, 0.45, random)]
    kept = []
    for split in ("train", "test"):
        with (social.folder("fakenewsnet") / f"politi_{split}.csv").open(encoding="utf-8", newline="") as file:
            kept += [row["content"] for row in csv.DictReader(file)]
    assert made == kept
    lines = (social.folder("hateful_memes") / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    memes = script.hate.split(1, script.Random("hateful train"))
    assert Counter((one["text"], one["label"]) for one in map(json.loads, lines)) == Counter(
        (f"{meme.top} {meme.bottom}".lower(), int(meme.hateful)) for meme in memes
    )
