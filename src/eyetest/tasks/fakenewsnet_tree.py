"""FakeNewsNet's files, second part: the original release, label files and the tree that its code crawls.

    dataset/{politifact,gossipcop}_{fake,real}.csv                  id, news_url, title, tweet_ids; the label is the file's name
    {politifact,gossipcop}/{fake,real}/ID/news content.json         what the crawler found; the label is the folder's name
    images/ID.jpg                                                   the user's: the release has URLs of pictures only

Either of the first two suffices. A picture may also lie in its article's folder, and be .jpeg, .png, .webp or .gif.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from eyetest.errors import DataError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.rows import header, read_rows
from eyetest.readers.text import flaw
from eyetest.tasks.dataset_files import BadRowError, dropping
from eyetest.tasks.fakenewsnet_files import Item, Pictures, Site, warn_of_cut_cells

KINDS = ("fake", "real")
"""The two labels as files and folders are called."""
ARTICLE = "news content.json"
"""What the crawler calls an article; the blank is in the name."""
MAX_ARTICLE = 64 << 20
"""Largest article in bytes."""
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif")
"""Endings under which a user's picture is found."""

_TREES = (".", "fakenewsnet_dataset", "code/fakenewsnet_dataset")  # the crawler's default folder, seen from two places
_NOT_AN_ARTICLE = re.compile(
    r"(this )?account (has been )?suspended|.*\b(is )?under construction|information for the nation|transcripts?"
    r"|(http )?(error )?(403|404|410|500|503)( error| forbidden| not found| page not found)?"
    r"|(page|file|article) (was )?not found.*|access denied|forbidden|just a moment.*|.*domain (name )?(is )?for sale.*"
    r"|outlook, office, skype, bing, breaking news, and latest videos",
    re.IGNORECASE,
)
"""Titles of hosting pages and home pages that stand in the published files, and their like."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An article before it is looked up: from a label file or from the tree."""

    id: str
    kind: str
    place: str
    title: str = ""
    url: str = ""
    tweets: int | None = None


def _label_file(site: Site, kind: str, folder: Path) -> Path | None:
    paths = (folder / "dataset" / f"{site}_{kind}.csv", folder / f"{site}_{kind}.csv")
    return next((path for path in paths if path.is_file()), None)


def _tree(site: Site, kind: str, folder: Path) -> Path | None:
    paths = (folder / tree / site / kind for tree in _TREES)
    return next((path for path in paths if path.is_dir()), None)


def crawled_files(site: Site, _named: Path, folder: Path) -> list[Path]:
    """The label files and the parts of the tree that lie here."""
    return [path for kind in KINDS for path in (_label_file(site, kind, folder), _tree(site, kind, folder)) if path]


def crawled(site: Site, folder: Path, _split: str, report: LoadReport) -> Iterator[Item]:
    """Every article that has a picture, fake ones first, label files before what only the tree has. Ids are unique.

    The text is title and article; the title alone where the article is gone. Raises DataError if one of the two labels is
    absent altogether, or no article has a picture.
    """
    for kind in KINDS:
        if _label_file(site, kind, folder) is None and _tree(site, kind, folder) is None:
            raise DataError(
                f"{folder}: nothing of {site} is labelled {kind}; looked for dataset/{site}_{kind}.csv and {site}/{kind}/. "
                f"Both labels are needed: fetch the rest."
            )
    pictures, seen = Pictures(report, folder / "images"), dict[str, str]()
    for entry in _entries(site, folder, report):
        with dropping(entry.place, report):
            if entry.id in seen:
                raise BadRowError("duplicate id", f"{entry.id!r}, the first stands in {seen[entry.id]}")
            seen[entry.id] = entry.place
            yield _item(entry, _tree(site, entry.kind, folder), pictures)
    pictures.check_any_found(
        folder,
        f"FakeNewsNet holds URLs of pictures only: fetch them and save each as ID{SUFFIXES[0]} there or in its article's folder.",
    )


def _entries(site: Site, folder: Path, report: LoadReport) -> Iterator[_Entry]:
    for kind in KINDS:
        listed_ids = set[str]()
        if (path := _label_file(site, kind, folder)) is not None:
            for entry in _labelled(site, kind, path, report):
                listed_ids.add(entry.id)
                yield entry
        if (tree := _tree(site, kind, folder)) is None:
            continue
        report.files.append(str(tree))
        for article in sorted(one for one in tree.iterdir() if one.is_dir() and one.name not in listed_ids):
            report.read += 1
            place = f"{site}/{kind}/{article.name}"
            with dropping(place, report):
                if not (article / ARTICLE).is_file():
                    raise BadRowError("empty article folder", f"no {ARTICLE}: the page was gone when it was crawled")
                yield _Entry(article.name, kind, place)


def _labelled(site: Site, kind: str, path: Path, report: LoadReport) -> Iterator[_Entry]:
    """Rows of one label file."""
    found = header(path)
    if absent := [name for name in ("id", "title") if name not in found.names]:
        raise DataError(
            f"{found.place}: no column {listed(absent)}; expected id, news_url, title, tweet_ids, found {listed(found.names)}. "
            f"Is this the file that FakeNewsNet publishes?"
        )
    for row in read_rows(path, report):
        with dropping(row.place, report):
            yield _entry(site, kind, row, report)


def _entry(site: Site, kind: str, row: Row, report: LoadReport) -> _Entry:
    """Raises BadRowError."""
    cells = {name: str(cell).strip() for name, cell in row.values.items()}
    if not any(cells.values()):
        raise BadRowError("empty row")
    if not re.fullmatch(rf"{site}[\w.-]*", cells["id"]):
        raise BadRowError("shifted row", f"the id is {shown(cells['id'])}, expected {site}...")
    warn_of_cut_cells(row, report)
    url, tweets = cells.get("news_url") or cells.get("url") or "", cells.get("tweet_ids")
    return _Entry(cells["id"], kind, row.place, cells["title"], url, None if tweets is None else len(tweets.split()))


def _item(entry: _Entry, tree: Path | None, pictures: Pictures) -> Item:
    """The article and its picture. Raises BadRowError."""
    beside = None if tree is None else tree / entry.id
    folders = [pictures.folder] if beside is None else [pictures.folder, beside]
    candidates = [folder / f"{entry.id}{suffix}" for folder in folders for suffix in SUFFIXES]
    image = pictures.first(candidates, entry.place, f"{entry.id}{SUFFIXES[0]}")
    article = {} if beside is None else _article(beside / ARTICLE, entry.place, pictures.report)
    title, text = _words(article, "title") or entry.title, _words(article, "text")
    if _NOT_AN_ARTICLE.fullmatch(title):
        pictures.report.warn("title is not an article's", entry.place, shown(title))
    if title and not text:
        pictures.report.warn("no article: the title alone", entry.place)
    url = entry.url or _words(article, "url")
    return Item(
        id=entry.id,
        fake=entry.kind == "fake",
        text=text if text.startswith(title) else "\n\n".join(filter(None, (title, text))),
        image=image,
        place=entry.place,
        alike=(url,) if url else (),
        metadata={
            "raw_label": entry.kind,
            "url": url,
            "source": _words(article, "source"),
            "publish_date": article.get("publish_date"),
            "tweets": entry.tweets,
        },
    )


def _words(article: dict[str, Any], key: str) -> str:
    value = article.get(key)
    return value.strip() if isinstance(value, str) else ""


def _article(path: Path, place: str, report: LoadReport) -> dict[str, Any]:
    """The object in one `news content.json`; empty without the file, and, with a warning, where it cannot be read."""
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MAX_ARTICLE else b""
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        report.warn("unreadable article", place, error.strerror or str(error))
        return {}
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        value = orjson.loads(raw)
    except ValueError as error:
        said = flaw(raw)
        detail = f"{size:,} bytes" if not raw else f"{said[0]}: {said[1]}" if said else f"bad JSON: {error}"
        report.warn("unreadable article", place, detail)
        return {}
    if isinstance(value, dict):
        return value
    report.warn("unreadable article", place, f"found {type(value).__name__}, expected an object")
    return {}
