"""Misinformation detection on FakeNewsNet: the tasks `politifact` and `gossipcop` of MM-Soc (arXiv 2402.14154, section 3).

MM-Soc asked the articles of the SpotFake+ release. Three layouts are read: that release, the copies that MM-Soc's authors
put on Hugging Face, and the original label files with the tree that its code crawls. The last has no splits, so it is one
split called `all`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from eyetest.errors import DataError, UsageError
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import listed
from eyetest.tasks import mmsoc
from eyetest.tasks.fakenewsnet_files import SHORT, Item, Site, parquet, parquet_files, spotfake, spotfake_files
from eyetest.tasks.fakenewsnet_tree import crawled, crawled_files
from eyetest.tasks.layouts import Layout, described, entries, find, instead, needed
from eyetest.tasks.task import Card, Load, Task
from eyetest.types import Sample

QUESTION = "Is the following news misinformation?"
"""Table 6 of the paper, without the news."""
LABELS = ("misinformation", "not_misinformation")
"""Table 6 of the paper; it writes the second with a blank here and such labels with an underscore elsewhere."""
SPLITS = ("test", "train", "all")


@dataclass(frozen=True, slots=True)
class _Published:
    """One way in which the dataset lies in a folder, whichever site is asked for."""

    files: Callable[[Site, Path, Path], list[Path]]
    """(site, the folder that the user named, a folder) -> marker files in the latter."""
    marker: str
    """The marker files, in words; {site} and {short} stand for the site's names."""
    splits: tuple[str, ...]
    """Splits that exist in this layout."""
    read: Callable[[Site, Path, str, LoadReport], Iterator[Item]]
    """(site, folder, split, report) -> items."""


_PUBLISHED: Mapping[str, _Published] = {
    "spotfake": _Published(
        spotfake_files,
        "{short}_test.csv and {short}_train.csv beside Images/{short}_test/ and Images/{short}_train/",
        ("test", "train"),
        spotfake,
    ),
    "parquet": _Published(
        parquet_files,
        "data/test-*.parquet and data/train-*.parquet, in the folder itself or one with {short} in its name",
        ("test", "train"),
        parquet,
    ),
    "crawled": _Published(
        crawled_files,
        "dataset/{site}_fake.csv and dataset/{site}_real.csv, or {site}/fake/ID/news content.json and {site}/real/...",
        ("all",),
        crawled,
    ),
}
"""Every layout by name."""


def _root(site: Site, folder: Path | None, names: Collection[str]) -> tuple[str, Path]:
    """The one of these layouts that the folder has, and where it begins."""
    folder = needed(site, folder, names)
    sought = {
        name: Layout(one.marker.format(site=site, short=SHORT[site]), partial(one.files, site, folder))
        for name, one in _PUBLISHED.items()
        if name in names
    }
    if there := instead(folder):
        what = "does not exist" if there == "none" else f"is {there}, not a folder"
        raise DataError(f"Task {site}: {folder} {what}. Pass the folder that holds one of: {described(sought)}.")
    found = find(site, folder, sought)
    if found is None:
        inside = [name + "/" * (folder / name).is_dir() for name in entries(folder)]
        raise DataError(
            f"Task {site}: {folder} has no layout that is known. Looked there and one level down for: {described(sought)}. "
            f"Found: {listed(inside, 10) or 'an empty folder'}. Known layouts: {', '.join(_PUBLISHED)}."
        )
    return found.layout, found.root


def _loader(site: Site, *names: str) -> Load:
    def load(folder: Path | None, split: str, report: LoadReport) -> Iterator[Sample]:
        name, root = _root(site, folder, names)
        layout = _PUBLISHED[name]
        if split in layout.splits:
            return _samples(layout.read(site, root, split, report), split, report)
        if split == "train":
            # No error: a model that would learn from the training split then does without.
            report.drop("no such split", str(root), "a crawled tree is one split; pass --split all")
            return iter(())
        raise UsageError(
            f"Task {site}: the layout {name} in {root} has no split {split!r}. Pass --split {' or '.join(layout.splits)}."
        )

    return load


@dataclass(slots=True)
class _Kinship:
    """Which items are not independent: the same text, picture name or URL."""

    first: dict[bytes, str] = field(default_factory=dict)

    def cluster(self, item: Item, sample_id: str) -> str:
        """The id of the first item that this one is alike."""
        words = " ".join(item.text.split())
        keys = [hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest() for key in (words, *item.alike) if key]
        cluster = next((self.first[key] for key in keys if key in self.first), sample_id)
        for key in keys:
            self.first.setdefault(key, cluster)
        return cluster


def _samples(items: Iterator[Item], split: str, report: LoadReport) -> Iterator[Sample]:
    taken, kinship = Counter[str](), _Kinship()
    for item in items:
        taken[item.id] += 1
        sample_id = item.id if taken[item.id] == 1 else f"{item.id}#{taken[item.id]}"
        if sample_id != item.id:
            report.warn("duplicate id", item.place, f"named {sample_id}")
        if not item.text.strip():
            report.warn("no text: the picture alone is asked about", item.place)
        report.kept += 1
        yield Sample(
            id=sample_id,
            question=QUESTION,
            target=(LABELS[0] if item.fake else LABELS[1],),
            kind="choice",
            choices=LABELS,
            images=(item.image,),
            context=item.text if item.text.strip() else None,
            cluster=kinship.cluster(item, sample_id),
            metadata={"split": split, **item.metadata},
        )


_CITATION = (
    "Shu, Mahudeswaran, Wang, Lee, Liu: FakeNewsNet. Big Data 8(3), 2020, arXiv:1809.01286; with pictures: Singhal, Kabra, "
    "Sharma, Shah, Chakraborty, Kumaraguru: SpotFake+. AAAI 2020"
)
_NOTES = (
    "Labels are the site's verdicts on a claim; some true reports about fake news are labelled fake. In the SpotFake+ files 0 is "
    "fake, in the Hugging Face copies 1 is. "
)


def _card(title: str, sizes: Mapping[str, int], notes: str) -> Card:
    return Card(
        title=title,
        licence="none given; MM-Soc says CC-BY-SA. Articles and photographs belong to their publishers",
        redistribution="ids, URLs and titles with attribution, tweets as ids only; no article text and no photographs",
        citation=_CITATION,
        url="https://github.com/KaiDMML/FakeNewsNet",
        sizes=sizes,
        notes=_NOTES + notes,
    )


def _task(site: Site, card: Card) -> Task:
    return Task(
        name=site,
        card=card,
        load=_loader(site, *_PUBLISHED),
        scorers=mmsoc.scorers("misinformation"),
        metrics=mmsoc.metrics("misinformation"),
        prompts=mmsoc.prompts("misinformation"),
        splits=SPLITS,
        formats={name: _loader(site, name) for name in _PUBLISHED},
        positive=LABELS[0],
        family="misinformation",
        train_split="train",
        embedded="fakenewsnet",
        hub={"politifact": "Ahren09/MMSoc_PolitiFact", "gossipcop": "Ahren09/MMSoc_GossipCop"}[site],
    )


politifact = _task(
    "politifact",
    _card(
        "FakeNewsNet: PolitiFact",
        {"test": 104, "train": 381, "all": 1056},
        "Sizes of test and train are SpotFake+'s (485 in all, as in the paper), of all the original label files' (432 fake, 624 "
        "real), of which most pages are gone. With 104 items an accuracy is known to about 10 points.",
    ),
)
gossipcop = _task(
    "gossipcop",
    _card(
        "FakeNewsNet: GossipCop",
        {"test": 2830, "train": 10010, "all": 22140},
        "Sizes of test and train are SpotFake+'s; the Hugging Face copy left out what had no readable picture (2,672 and 9,988). "
        "The paper's table has the sum, 12,840; its appendix prints that number beside another dataset. Always answering "
        "not_misinformation is right 81 times in 100.",
    ),
)
