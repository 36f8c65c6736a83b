"""Makes the social data: src/eyetest/social/files/.

    python scripts/social/make_social.py [--out FOLDER]

Seeded: another run with the same Pillow and pyarrow writes the same bytes. Takes about a minute.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import captions
import hate
import news
import videos
from captions import Meme
from describing import image_description, social_context
from lettering import caption, png
from scenes import Scene, draw

FILES = Path(__file__).parents[2] / "src" / "eyetest" / "social" / "files"
MEME_SIZE, NEWS_SIZE, THUMBNAIL_SIZE = (400, 320), (120, 90), (256, 144)
"""Width and height in pixels."""
FONT_SIZE = 32
MEME_COLOURS, NEWS_COLOURS, THUMBNAIL_COLOURS = 28, 20, 24
SPLITS = {"test": 0.5, "validation": 0.1, "train": 0.4}
"""Split -> its share of every family of Memotion-like memes."""
NEWS = {"politi": {"train": 120, "test": 120}, "gossip": {"train": 180, "test": 180}}
FAKE_SHARE = {"politi": 0.45, "gossip": 0.35}

Rows = list[dict[str, Any]]


@cache
def memes() -> dict[str, list[Meme]]:
    """Split -> its memes. The two memes of a pair stand in one split, no words stand in two."""
    random = Random("memotion")
    found: dict[str, list[Meme]] = {split: [] for split in SPLITS}
    groups: list[list[tuple[Meme, ...]]] = [list(captions.pairs(random))]
    groups += [[(meme,) for meme in captions.distinct(family, n, random)] for family, n in captions.FAMILIES.items()]
    for group in groups:
        random.shuffle(group)
        tests, rest = round(len(group) * SPLITS["test"]), round(len(group) * (SPLITS["test"] + SPLITS["validation"]))
        for split, part in (("test", group[:tests]), ("validation", group[tests:rest]), ("train", group[rest:])):
            found[split] += [meme for together in part for meme in together]
    for several in found.values():
        random.shuffle(several)
    return found


def meme_picture(seed: str, scene: Scene, top: str, bottom: str) -> tuple[bytes, list[str]]:
    """(PNG, lines as written) of a meme."""
    picture = draw(scene, MEME_SIZE, Random(seed))
    written = caption(picture, top, bottom, FONT_SIZE)
    return png(picture, MEME_COLOURS), written


def memotion_row(split: str, number: int, meme: Meme) -> dict[str, Any]:
    """A row as the Hugging Face copy of Memotion has it."""
    name = f"{split}-{number}"
    data, written = meme_picture(f"memotion {name}", meme.scene, meme.top, meme.bottom)
    labels = dict(zip(("humor", "sarcasm", "offensive", "motivational", "sentiment"), meme.labels, strict=True))
    words = {"text_ocr": "\n".join(written), "text_corrected": f"{meme.top} {meme.bottom}".upper()}
    return {"image": {"bytes": data, "path": f"{name}.png"}, "split": split, **words, **labels}


def memotion(out: Path) -> None:
    """train, validation and test .parquet, and the references."""
    described: dict[str, Rows] = {"image_description": [], "social_context": []}
    for split, part in memes().items():
        write_parquet(out / f"{split}.parquet", [memotion_row(split, number, meme) for number, meme in enumerate(part)])
        for number, meme in enumerate(part):
            add_references(described, f"{split}-{number}", meme.scene, f"{meme.top} {meme.bottom}", meme.point)
    for key, rows in described.items():
        write_jsonl(out / "references" / f"{key}.jsonl", rows)


def add_references(described: dict[str, Rows], name: str, scene: Scene, words: str, point: str) -> None:
    """One line for each of the two questions."""
    random = Random(f"references {name}")
    described["image_description"].append({"id": name, "reference": image_description(scene, random)})
    described["social_context"].append({"id": name, "reference": social_context(words, point, random)})


def hateful_memes(out: Path) -> None:
    """data/{train,dev_seen}.jsonl with data/img/, and the references."""
    described: dict[str, Rows] = {"image_description": [], "social_context": []}
    ids = Random("hateful ids").sample(range(10_000, 100_000), 400)
    for part, split in enumerate(("dev_seen", "train")):
        made, rows = list(hate.split(part, Random(f"hateful {split}"))), Rows()
        Random(f"order {split}").shuffle(made)
        for meme in made:
            name = str(ids.pop())
            # A confounder with other words shows the very same drawing, so the seed is the scene, not the meme.
            data, _ = meme_picture(repr(meme.scene), meme.scene, meme.top, meme.bottom)
            write(out / "data" / "img" / f"{name}.png", data)
            words = f"{meme.top} {meme.bottom}".lower()
            rows.append({"id": name, "img": f"img/{name}.png", "label": int(meme.hateful), "text": words})
            add_references(described, name, meme.scene, words, meme.point)
        write_jsonl(out / "data" / f"{split}.jsonl", rows)
    for key, lines in described.items():
        write_jsonl(out / "data" / "references" / f"{key}.jsonl", lines)


def fakenewsnet(out: Path) -> None:
    """{politi,gossip}_{train,test}.csv with Images/; 0 is fake."""
    for section, sizes in NEWS.items():
        random, serial = Random(f"news {section}"), 0
        made = news.items(section, sum(sizes.values()), FAKE_SHARE[section], random)
        for split, number in sizes.items():
            rows: list[tuple[int, str, str, int]] = []
            for row in range(number):
                item, serial = next(made), serial + 1
                name = f"{section}{'fact' if section == 'politi' else 'cop-'}{90_000 + serial}.png"
                picture = png(draw(item.scene, NEWS_SIZE, Random(name)), NEWS_COLOURS)
                write(out / "Images" / f"{section}_{split}" / name, picture)
                rows.append((row, item.text, name, int(not item.fake)))
            write_csv(out / f"{section}_{split}.csv", ("", "content", "image", "label"), rows)


def youtube(out: Path) -> None:
    """train, val and test .parquet."""
    found: dict[str, Rows] = {"train": [], "val": [], "test": []}
    for video in videos.videos(Random("youtube")):
        picture = draw(video.scene, THUMBNAIL_SIZE, Random(video.id))
        caption(picture, video.word, "", 34)
        minutes, seconds = divmod(video.seconds, 60)
        row: dict[str, Any] = {
            "id": video.id,
            "title": video.title,
            "description": video.description,
            "topics": list(video.topics),
        }
        row |= {"channelId": video.channel_id, "channelTitle": video.channel, "defaultLanguage": "en"}
        row |= {"duration": f"PT{minutes}M{seconds}S", "publishedAt": video.published, "viewCount": video.views}
        thumbnail = {"bytes": png(picture, THUMBNAIL_COLOURS), "path": f"{video.id}.png"}
        found[video.split].append({"image": thumbnail, **row, "split": video.split})
    for split, rows in found.items():
        Random(f"order {split}").shuffle(rows)
        write_parquet(out / f"{split}.parquet", rows)


def write(path: Path, data: bytes) -> None:
    """A file in a folder that may not exist yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """One JSON object a line."""
    write(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8"))


def write_csv(path: Path, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """A CSV file with LF line ends."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def write_parquet(path: Path, rows: Rows) -> None:
    """A Parquet file with a picture column as Hugging Face `datasets` writes it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=24, compression="zstd")


MAKERS = {"memotion": memotion, "hateful_memes": hateful_memes, "fakenewsnet": fakenewsnet, "youtube": youtube}


def main() -> None:
    """Write everything anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FILES)
    out: Path = parser.parse_args().out
    for name, make in MAKERS.items():
        shutil.rmtree(out / name, ignore_errors=True)
        make(out / name)


if __name__ == "__main__":
    main()
