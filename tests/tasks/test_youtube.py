from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as PillowImage

from eyetest import images
from eyetest.errors import DataError, UsageError
from eyetest.prompts import render
from eyetest.readers import LoadReport
from eyetest.tasks.youtube import CARD, TAGS, tag, youtube_tagging
from eyetest.types import Image, Sample

FIXTURE = Path(__file__).parent.parent / "fixtures" / "youtube" / "YouTube2000"
COLUMNS = ("id", "title", "description", "topics", "channelId")


def jpeg(width: int, height: int) -> bytes:
    out = io.BytesIO()
    PillowImage.new("RGB", (width, height), "grey").save(out, "JPEG")
    return out.getvalue()


THUMBNAIL = jpeg(48, 36)


def load(folder: Path, split: str = "train", layout: str | None = None) -> tuple[list[Sample], LoadReport]:
    report = LoadReport()
    loader = youtube_tagging.load if layout is None else youtube_tagging.formats[layout]
    return list(loader(folder, split, report)), report


def name(number: int) -> str:
    return f"video_{number:05d}"


def video(number: int, **changed: Any) -> dict[str, Any]:
    topics = "['Music', 'Pop_music']"
    row = {"id": name(number), "title": f"title {number}", "description": "", "topics": topics, "channelId": f"UC{number % 7}"}
    return row | changed


def workbook(folder: Path, rows: Iterable[dict[str, Any]], columns: tuple[str, ...] = COLUMNS) -> Path:
    """A workbook with a thumbnail for every row."""
    (folder / "img").mkdir(exist_ok=True)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(columns)
    for row in rows:
        sheet.append([row.get(column) for column in columns])
        if isinstance(row["id"], str) and "/" not in row["id"]:
            (folder / "img" / f"{row['id']}.jpg").write_bytes(THUMBNAIL)
    book.save(folder / "YouTube2000.xlsx")
    return folder


def packed(folder: Path, file: str, rows: list[dict[str, Any]]) -> Path:
    """A Parquet file as Hugging Face writes it: topics as lists, pictures inside."""
    folder.mkdir(exist_ok=True)
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    cells = [row.get("image", {"bytes": THUMBNAIL, "path": None}) for row in rows]
    columns = {key: [row[key] for row in rows] for key in rows[0] if key != "image"}
    pq.write_table(pa.table({**columns, "image": pa.array(cells, picture)}), folder / file)
    return folder


def test_a_video_as_a_sample() -> None:
    samples, report = load(FIXTURE)
    assert samples[3] == Sample(
        id="jR3j1twdTKU",
        question="Predict the tags of the following online video given its title, description, and thumbnail image. "
        "Different tags must be separated by commas.",
        target=("action_game", "lifestyle"),
        kind="labels",
        choices=TAGS,
        images=(Image(path=str(FIXTURE / "img" / "jR3j1twdTKU.jpg")),),
        context="Title: Synthetic title 3 – “quoted”\nDescription: Synthetic description 3\nhttps://example.org &amp; more 🎮",
        cluster="UCTddB-XhkAS1voQG6yyzyN9",
        metadata={
            "split": "train",
            "topics": ["Action_game", "Lifestyle_(sociology)"],
            "channelTitle": "Channel 3",
            "categoryId": 13,
            "defaultLanguage": None,
            "duration": "PT59S",
            "publishedAt": "2019-04-11T07:00:03Z",
            "viewCount": 3000,
        },
    )
    assert samples[4].context == "Title: Synthetic title 4 – “quoted”\nDescription: "
    assert (report.read, report.kept, report.dropped) == (24, 23, {"missing picture": 1})
    assert report.rows == {
        "missing picture": ["YouTube2000.xlsx row 13: img/IhP6Br1iQFc.jpg"],
        "number of rows": ["YouTube2000.xlsx: 24 rows, expected 2,000: the split by position differs from MM-Soc's"],
    }
    assert load(FIXTURE.parent)[0] == samples, "one folder up, and a second pass"


def test_the_prompt_holds_title_description_and_tags() -> None:
    samples, _ = load(FIXTURE)
    _, text = render(next(iter(youtube_tagging.prompts.values())), samples[0])[-1].content
    assert isinstance(text, str)
    assert "Synthetic title 0" in text
    assert "Synthetic description 0" in text


def test_both_layouts_give_the_same_samples(tmp_path: Path) -> None:
    from eyetest.readers.lists import python_list
    from eyetest.readers.rows import read_rows

    rows = [dict(row.values) for row in read_rows(FIXTURE / "YouTube2000.xlsx", LoadReport())]
    for row in rows:
        row["topics"] = python_list(row["topics"])
        file = FIXTURE / "img" / f"{row['id']}.jpg"
        row["image"] = {"bytes": file.read_bytes(), "path": None} if file.is_file() else None
    (tmp_path / "hf").mkdir()
    folder = packed(tmp_path / "hf" / "data", "train-00000-of-00001.parquet", rows)
    ours, report = load(folder.parent)
    theirs, _ = load(FIXTURE)
    same = [[(s.id, s.target, s.context, s.cluster, s.metadata) for s in samples] for samples in (ours, theirs)]
    assert same[0] == same[1]
    assert report.rows == {"missing picture": ["train-00000-of-00001.parquet row 12: image is None"]}
    assert [images.digest(one.images[0]) for one in ours] == [images.digest(one.images[0]) for one in theirs]


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [
        ("Music", "music"),
        ("Lifestyle_(sociology)", "lifestyle"),
        ("Lifestyle (sociology)", "lifestyle"),
        ("https://en.wikipedia.org/wiki/Lifestyle_(sociology)", "lifestyle"),
        ("https://en.wikipedia.org/wiki/Lifestyle_%28sociology%29", "lifestyle"),
        ("https://en.wikipedia.org/wiki/Action-adventure_game/", "action-adventure_game"),
        ("https://en.wikipedia.org/wiki/Hip_hop_music?x=1#History", "hip_hop_music"),
        ("https://en.wikipedia.org/wiki/Pet#History", "pet"),
        (" Music of  Latin America ", "music_of_latin_america"),
        ("Role-playing video game", "role-playing_video_game"),
        ("Caf%C3%A9", "caf%c3%a9"),
        ("https://en.wikipedia.org/wiki/Caf%C3%A9", "café"),
        ("(a)", "(a)"),
    ],
)
def test_a_topic_becomes_a_tag(topic: str, wanted: str) -> None:
    assert tag(topic) == wanted


def test_there_are_62_tags_and_each_is_its_own_spelling() -> None:
    assert len(set(TAGS)) == 62
    assert sorted(TAGS) == list(TAGS)
    assert [tag(one.title()) for one in TAGS] == list(TAGS)


def test_unknown_tags_are_named_and_do_not_count(tmp_path: Path) -> None:
    topics = ["['Music', 'Knitting', 'https://en.wikipedia.org/wiki/Music']", "['Knitting', 'Chess']", "('Pet',)"]
    rows = [video(number, topics=text) for number, text in enumerate(topics)]
    samples, report = load(workbook(tmp_path, rows))
    assert [(one.id, one.target) for one in samples] == [(name(0), ("music",)), (name(2), ("pet",))]
    del report.rows["number of rows"]
    assert report.rows == {
        "unknown tag 'knitting'": ["YouTube2000.xlsx row 2"],
        "unknown label": ["YouTube2000.xlsx row 3: 'knitting', 'chess'; none is among the 62 tags of MM-Soc"],
    }


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        (video(2, topics=None), "no label", ": topics is empty"),
        (video(2, topics="[]"), "no label", ": topics is empty"),
        (video(2, topics="Music"), "topics are no list", ": expected a list, found 'Music'"),
        (
            video(2, topics="['Music' 'Pet']"),
            "topics are no list",
            ": two texts without a comma between them, found \"['Music' 'Pet']\"",
        ),
        (video(2, topics="[1]"), "shifted row", ": topics is [1]; expected a list of names"),
        (video(2, topics=17), "shifted row", ": topics is 17; expected a list of names"),
        (video(2, id="title 2"), "shifted row", ": id is 'title 2'; expected a video id of 11 characters"),
        (video(2, id="../../img/a"), "shifted row", ": id is '../../img/a'; expected a video id of 11 characters"),
        (video(2, title=True), "shifted row", ": expected a text, found True"),
        (video(2, id=None), "no id", ""),
        (video(1), "duplicate id", ": video_00001; the first one is kept"),
    ],
)
def test_one_bad_row_is_dropped_and_named(tmp_path: Path, row: dict[str, Any], reason: str, detail: str) -> None:
    samples, report = load(workbook(tmp_path, [video(1), row, video(3)]))
    assert [one.id for one in samples] == [name(1), name(3)]
    assert report.dropped == {reason: 1}
    assert report.rows[reason] == [f"YouTube2000.xlsx row 3{detail}"]
    with pytest.raises(DataError, match=rf"^YouTube2000\.xlsx row 3: {reason}"):
        list(youtube_tagging.load(tmp_path, "train", LoadReport(strict=True)))


def test_odd_rows_are_kept_and_named(tmp_path: Path) -> None:
    folder = workbook(tmp_path, [video(1), video(2, title=None), video(3, title=1984), video(4, channelId=None)])
    (folder / "img" / f"{name(1)}.jpg").write_bytes(jpeg(120, 90))
    (folder / "img" / f"{name(2)}.jpg").write_text("<html>404</html>")
    samples, report = load(folder)
    assert [one.context for one in samples][2] == "Title: 1984\nDescription: "
    assert [one.cluster for one in samples] == ["UC1", "UC2", "UC3", None]
    assert report.rows["120x90 picture, as YouTube shows for a deleted video"] == [
        f"YouTube2000.xlsx row 2: {folder / 'img' / name(1)}.jpg"
    ]
    assert report.rows["no title"] == ["YouTube2000.xlsx row 3: video_00002"]
    (said,) = report.rows["undecodable picture"]
    assert said.startswith("YouTube2000.xlsx row 3: The picture ")
    assert "is not a picture: looks like" in said
    assert (report.kept, report.dropped) == (4, {})


def test_bad_rows_of_a_parquet_file(tmp_path: Path) -> None:
    rows = [video(number, topics=["Music"]) for number in range(5)]
    rows[1] |= {"topics": [None]}
    rows[2] |= {"image": {"bytes": jpeg(120, 90), "path": None}}
    rows[3] |= {"topics": None}
    rows[4] = dict.fromkeys([*rows[4], "image"])
    samples, report = load(packed(tmp_path, "val.parquet", rows), "val")
    assert [(one.id, one.images[0].member) for one in samples] == [(name(0), "image:0"), (name(2), "image:2")]
    assert report.rows == {
        "shifted row": ["val.parquet row 2: topics is [None]; expected a list of names"],
        "120x90 picture, as YouTube shows for a deleted video": [f"val.parquet row 3: {tmp_path / 'val.parquet'}[image:2]"],
        "no label": ["val.parquet row 4: topics is empty"],
        "empty row": ["val.parquet row 5"],
    }


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook of 2,000 videos; those at positions 1,599 and 1,800 have no thumbnail."""
    folder = workbook(tmp_path_factory.mktemp("full"), map(video, range(2000)))
    for number in (1599, 1800):
        (folder / "img" / f"{name(number)}.jpg").unlink()
    return folder


@pytest.mark.parametrize(
    ("split", "first", "last", "kept"), [("train", 0, 1598, 1599), ("val", 1600, 1799, 200), ("test", 1801, 1999, 199)]
)
def test_the_split_goes_by_position_before_rows_are_dropped(full: Path, split: str, first: int, last: int, kept: int) -> None:
    samples, report = load(full, split)
    assert [samples[at].id for at in (0, -1)] == [name(first), name(last)]
    assert (len(samples), report.kept, report.read) == (kept, kept, CARD.sizes[split])
    assert (sum(report.dropped.values()), report.warnings) == (CARD.sizes[split] - kept, {})


def test_a_split_that_the_workbook_is_too_short_for() -> None:
    with pytest.raises(DataError, match=r"YouTube2000\.xlsx: has 24 rows, but the split 'test' begins at row 1801"):
        load(FIXTURE, "test")


def test_a_folder_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^Task youtube_tagging needs its folder: --dir FOLDER \(layouts: xlsx, parquet\), or"):
        youtube_tagging.load(None, "test", LoadReport())
    with pytest.raises(UsageError, match=r"nowhere: expected the dataset's folder, found none"):
        youtube_tagging.load(tmp_path / "nowhere", "test", LoadReport())


def test_no_layout_or_two(tmp_path: Path) -> None:
    (tmp_path / "videos.csv").write_text("id")
    with pytest.raises(DataError) as error:
        youtube_tagging.load(tmp_path, "train", LoadReport())
    for part in (
        "Looked for: xlsx (YouTube2000.xlsx); parquet (test.parquet,",
        "Found: 'videos.csv'. Known layouts: xlsx, parquet.",
    ):
        assert part in str(error.value)
    workbook(tmp_path, [video(1)])
    packed(tmp_path, "train.parquet", [video(2, topics=["Pet"])])
    with pytest.raises(DataError, match=r"xlsx in .*, parquet in .*\. Pass --format xlsx or --format parquet\.$"):
        youtube_tagging.load(tmp_path, "train", LoadReport())
    assert [load(tmp_path, "train", layout)[0][0].id for layout in youtube_tagging.formats] == [name(1), name(2)]


def test_missing_files(tmp_path: Path) -> None:
    folder = packed(tmp_path / "hf", "val-00000-of-00002.parquet", [video(2, topics=["Pet"])])
    with pytest.raises(DataError, match=r"part 00001 of 00002 is missing beside val-00000-of-00002\.parquet"):
        youtube_tagging.load(folder, "val", LoadReport())
    with pytest.raises(DataError, match=r"no Parquet file of the split 'test'; found the splits val\."):
        youtube_tagging.load(folder, "test", LoadReport())
    other = workbook(tmp_path, [video(1), video(2)])
    shutil.rmtree(other / "img")
    (other / "img").mkdir()
    with pytest.raises(
        DataError, match=r"none of the 2 rows of the split 'train' can be used\. missing picture: 2, first YouTube2000"
    ):
        load(other)
    (other / "img").rmdir()
    with pytest.raises(DataError, match=r"img: expected the folder of thumbnails \(<video id>\.jpg\), found none"):
        load(other)


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    file = tmp_path / "YouTube2000.xlsx"
    for content, message in (
        (b"", r"YouTube2000\.xlsx is empty"),
        (b"id,title\n", r"YouTube2000\.xlsx is not a readable \.xlsx file"),
        (json.dumps(video(1)).encode("latin-1"), r"YouTube2000\.xlsx is not a readable \.xlsx file"),
    ):
        file.write_bytes(content)
        with pytest.raises(DataError, match=message):
            load(tmp_path)
    workbook(tmp_path, [video(1)], ("id", "title", "tags"))
    with pytest.raises(
        DataError, match=r"no 'description', 'topics', 'channelId' among 'id', 'title', 'tags'\. Is this YouTube2000"
    ):
        load(tmp_path)
    file.unlink()
    packed(tmp_path, "train.parquet", [video(1, topics=["Pet"])])
    table = pq.read_table(tmp_path / "train.parquet").drop_columns(["image"])
    pq.write_table(table, tmp_path / "train.parquet")
    with pytest.raises(DataError, match=r"no 'image' among"):
        load(tmp_path)


def test_the_task_says_what_it_is() -> None:
    assert (youtube_tagging.name, youtube_tagging.splits, youtube_tagging.train_split) == (
        "youtube_tagging",
        ("test", "train", "val"),
        "train",
    )
    assert not CARD.redistributable
    assert sum(CARD.sizes.values()) == 2000
