from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest import images
from eyetest.errors import DataError, UsageError
from eyetest.metrics import Accuracy, MacroF1, estimate
from eyetest.readers import LoadReport
from eyetest.tasks import Task
from eyetest.tasks.hateful_memes import (
    CARD,
    LABELS,
    hateful_memes,
    hateful_memes_image_description,
    hateful_memes_ocr,
    hateful_memes_social_context,
)
from eyetest.types import Image, Sample
from metrics.made import labelled

FIXTURES = Path(__file__).parent.parent / "fixtures" / "hateful_memes"
PNG = (FIXTURES / "data" / "img" / "01235.png").read_bytes()
TASKS = (hateful_memes, hateful_memes_ocr, hateful_memes_image_description, hateful_memes_social_context)

COUNTS = {
    "train": (5481, 3019),
    "dev_seen": (253, 247),
    "dev_unseen": (340, 200),
    "test_seen": (510, 490),
    "test_unseen": (1250, 750),
}
"""Split -> rows with label 0, with label 1, in the published files of phase 2."""


def load(task: Task, folder: Path, split: str = "dev_seen", layout: str | None = None) -> tuple[list[Sample], LoadReport]:
    report = LoadReport()
    loader = task.load if layout is None else task.formats[layout]
    return list(loader(folder, split, report)), report


def copy(source: str, folder: Path, name: str = "data") -> Path:
    """A layout of the fixtures with pictures beside it."""
    shutil.copytree(FIXTURES / source, folder / name)
    shutil.copytree(FIXTURES / "data" / "img", folder / name / "img", dirs_exist_ok=True)
    return folder / name


def made(folder: Path, *lines: dict[str, Any] | bytes, file: str = "dev_seen.jsonl") -> Path:
    """A folder with one data file of these lines and the pictures 00001 to 00004."""
    (folder / "img").mkdir(exist_ok=True)
    for number in range(1, 5):
        (folder / "img" / f"{number:05d}.png").write_bytes(PNG)
    (folder / file).write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return folder


def meme(number: int, **changed: Any) -> dict[str, Any]:
    return {"id": f"{number:05d}", "img": f"img/{number:05d}.png", "label": number % 2, "text": f"meme {number}"} | changed


PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def packed(folder: Path, file: str, rows: list[dict[str, Any]], picture: pa.DataType = PICTURE) -> Path:
    """A Parquet file as Hugging Face writes it."""
    folder.mkdir(exist_ok=True)
    cells = [row.get("image", {"bytes": PNG, "path": f"{n}.png"}) for n, row in enumerate(rows)]
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "image"}
    pq.write_table(pa.table({**columns, "image": pa.array(cells, picture)}), folder / file)
    return folder


def test_a_meme_as_a_sample() -> None:
    folder = FIXTURES / "data"
    samples, report = load(hateful_memes, folder)
    assert samples[0] == Sample(
        id="01235",
        question="Is the following meme hateful?",
        target=("hateful",),
        choices=("hateful", "not_hateful"),
        images=(Image(path=str(folder / "img" / "01235.png")),),
        picture_text="when the pineapple goes on the pizza",
        cluster="when the pineapple goes on the pizza",
        metadata={"split": "dev_seen", "source_id": "01235", "label": "hateful"},
    )
    assert report.as_dict() == {
        "files": [str(folder / "dev_seen.jsonl")],
        "read": 4,
        "kept": 3,
        "dropped": {"missing picture": 1},
        "warnings": {},
        "rows": {"missing picture": ["dev_seen.jsonl:4: img/04567.png"]},
    }
    assert load(hateful_memes, folder)[0] == samples, "a second pass reads the same"


def test_every_layout_gives_the_same_samples(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (FIXTURES / "data" / "dev_seen.jsonl").read_text().splitlines()][:3]
    hugging = [{"id": int(row["id"]), "text": row["text"], "label": row["label"], "split": "validation"} for row in rows]
    (tmp_path / "hf").mkdir()
    folders = {
        "phase2": FIXTURES / "data",
        "phase2 through pandas": copy("data_pandas_roundtrip", tmp_path, "pandas"),
        "phase1": copy("data_phase1_kaggle", tmp_path, "phase1"),
        "parquet": packed(tmp_path / "hf" / "data", "validation-00000-of-00001.parquet", hugging).parent,
    }
    found = {
        layout: [(one.id, one.target, one.picture_text, one.cluster) for one in load(hateful_memes, folder)[0]]
        for layout, folder in folders.items()
    }
    assert [name for name, *_ in found["phase2"]] == ["01235", "02345", "03456"]
    assert all(samples == found["phase2"] for samples in found.values()), found
    for name in ("dev", "validation"):
        assert [one.id for one in load(hateful_memes, folders["phase2"], name)[0]] == ["01235", "02345", "03456"]
    (sample, *_), _ = load(hateful_memes, folders["parquet"])
    assert images.read_bytes(sample.images[0]) == PNG
    assert sample.metadata["split"] == "validation"


def test_the_words_of_a_meme(tmp_path: Path) -> None:
    samples, report = load(hateful_memes_ocr, made(tmp_path, meme(1), meme(2, text=" "), meme(3, text=1984), meme(4, label=-1)))
    assert [(one.kind, one.target, one.choices) for one in samples] == [
        ("transcription", (text,), ()) for text in ("meme 1", "1984", "meme 4")
    ]
    assert {one.picture_text for one in samples} == {None}, "a condition that gives picture_text would give the answer away"
    assert {one.question for one in samples} == {"What is the text in the image?"}
    assert report.rows == {"no text": ["dev_seen.jsonl:2: there is nothing to compare a transcription with"]}
    assert hateful_memes_ocr.family == "ocr"


def test_descriptions_have_the_references_beside_the_data(tmp_path: Path) -> None:
    folder = made(tmp_path, meme(1), meme(2), meme(3))
    samples, report = load(hateful_memes_social_context, folder)
    assert [(one.kind, one.target) for one in samples] == [("description", ())] * 3
    assert samples[0].question.startswith("Describe the cultural and social context of the image. What particular groups")
    place = f"{folder / 'references' / 'social_context.jsonl'}: no such file"
    assert report.rows == {"no references: descriptions cannot be scored": [place]}

    (folder / "references").mkdir()
    lines = [{"id": 1, "reference": "A cat."}, {"id": "00001", "reference": "A grey cat."}, {"id": "00002"}, {"id": 3}]
    lines[3]["reference"] = "A dog."
    (folder / "references" / "image_description.jsonl").write_text("\n".join(map(json.dumps, lines)))
    samples, report = load(hateful_memes_image_description, folder)
    assert [one.target for one in samples] == [("A cat.", "A grey cat."), (), ("A dog.",)]
    assert samples[0].question == "Describe the scene, such as its major subjects, colors, and texture."
    assert report.rows == {
        "references: expected an id and a reference": ["image_description.jsonl:3"],
        "no reference": ["dev_seen.jsonl:2: 00002"],
    }
    assert (report.read, report.kept, report.dropped) == (3, 3, {})
    with pytest.raises(DataError, match=r"image_description\.jsonl:3: expected an id and a reference"):
        hateful_memes_image_description.load(folder, "dev_seen", LoadReport(strict=True)).__next__()


def test_references_lie_in_the_folder_that_the_user_names_or_in_the_layout_s_own(tmp_path: Path) -> None:
    (tmp_path / "set" / "data").mkdir(parents=True)
    made(tmp_path / "set" / "data", meme(1))
    for place in ("set/data/references", "set/references"):  # the second one wins, being the named folder's
        (tmp_path / place).mkdir()
        (tmp_path / place / "social_context.jsonl").write_text(json.dumps({"id": "1", "reference": place}))
        samples, report = load(hateful_memes_social_context, tmp_path / "set")
        assert [one.target for one in samples] == [(place,)]
        assert report.files == [str(tmp_path / place / "social_context.jsonl"), str(tmp_path / "set/data/dev_seen.jsonl")]


def test_a_split_without_labels_is_refused_for_hate_and_asked_for_words(tmp_path: Path) -> None:
    phase1 = copy("data_phase1_kaggle", tmp_path)
    with pytest.raises(
        DataError, match=r"test\.jsonl: no row of the split 'test' has a label, so answers to hateful_memes cannot"
    ):
        hateful_memes.load(phase1, "test", LoadReport())
    assert [one.id for one in load(hateful_memes_ocr, phase1, "test")[0]] == ["06789", "07890"]
    for number, label in enumerate((None, -1)):
        rows = [{"id": str(n), "text": "a", "label": label} for n in range(3)]
        folder = packed(tmp_path / f"hf{number}", "test-00000-of-00001.parquet", rows)
        with pytest.raises(DataError, match=r"no row of the split 'test' has a label.*hateful_memes_ocr, can still be asked"):
            hateful_memes.load(folder, "test", LoadReport())
        samples, _ = load(hateful_memes_social_context, folder, "test")
        assert [one.metadata["label"] for one in samples] == [None] * 3


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (meme(2, label=None), "no label", ""),
        (meme(2, label=-1), "no label", ""),
        ({"img": "img/00002.png", "text": "a"}, "no label", ""),
        (meme(2, label=2), "unknown label", ": 2; expected 1 (hateful) or 0"),
        (meme(2, label=[1]), "unknown label", ": [1]; expected 1 (hateful) or 0"),
        (meme(2, label="meme 2", text=0), "unknown label", ": 'meme 2'; expected 1 (hateful) or 0"),
        (meme(2, text=["a"]), "shifted row", ": text is ['a']; expected words"),
        (meme(2, text=True), "shifted row", ": text is True; expected words"),
        (meme(2, img="meme 2"), "shifted row", ": img is 'meme 2'; expected a name such as img/01235.png"),
        (
            meme(2, img="../../img/00002.png"),
            "shifted row",
            ": img is '../../img/00002.png'; expected a name such as img/01235.png",
        ),
        (meme(2, img="/img/00002.png"), "shifted row", ": img is '/img/00002.png'; expected a name such as img/01235.png"),
        (meme(2, img=7), "shifted row", ": img is 7; expected a name such as img/01235.png"),
        (meme(2, img=None), "missing picture", ": img is empty"),
        (meme(9), "missing picture", ": img/00009.png"),
        (meme(1), "duplicate id", ": 00001; the first one is kept"),
        ({"id": "", "img": None}, "empty row", ""),
        (
            json.dumps(meme(2)).encode() + json.dumps(meme(3)).encode(),
            "bad JSON",
            ": column 70: unexpected content after document",
        ),
        (b'{"id": "00002", "img": "img/00002.png", "label": 0', "bad JSON", ": column 51: unexpected end of data"),
        (
            json.dumps(meme(2, text="caf_")).encode().replace(b"_", b"\xe9"),
            "not UTF-8",
            ": byte 0xe9 in column 65; save the file as UTF-8",
        ),
        (json.dumps(meme(2, text="caf_")).encode().replace(b"_", b"\0"), "NUL byte", ": column 65"),
    ],
)
def test_one_bad_row_is_dropped_and_named(tmp_path: Path, line: Any, reason: str, detail: str) -> None:
    samples, report = load(hateful_memes, made(tmp_path, meme(1), line, b"", meme(4)))
    assert [(one.id, one.target) for one in samples] == [("00001", ("hateful",)), ("00004", ("not_hateful",))]
    assert (report.read, report.kept, report.dropped) == (3, 2, {reason: 1})
    assert report.rows == {reason: [f"dev_seen.jsonl:2{detail}"]}
    with pytest.raises(DataError, match=rf"^dev_seen\.jsonl:2: {reason}"):
        list(hateful_memes.load(tmp_path, "dev_seen", LoadReport(strict=True)))


def test_odd_rows_are_kept_and_named(tmp_path: Path) -> None:
    lines = (meme(1, id=1, img="img/00001.png"), meme(2, id="00003"), meme(3, text=None), meme(4, label="not hateful"))
    folder = made(tmp_path, b"\xef\xbb\xbf" + json.dumps(lines[0]).encode(), *lines[1:])
    (folder / "img" / "00003.png").write_text("<html>404</html>")
    (folder / "img" / "00004.png").write_bytes(b"")
    samples, report = load(hateful_memes, folder)
    assert [(one.id, one.target[0], one.cluster) for one in samples] == [
        ("00001", "hateful", "meme 1"),
        ("00002", "not_hateful", "meme 2"),
        ("00003", "hateful", None),
        ("00004", "not_hateful", "meme 4"),
    ]
    assert (report.dropped, report.warnings) == ({}, {"id and picture disagree": 1, "no text": 1, "undecodable picture": 2})
    assert report.rows == {
        "id and picture disagree": ["dev_seen.jsonl:2: id '00003', picture img/00002.png; named 00002"],
        "no text": ["dev_seen.jsonl:3: 00003"],
        "undecodable picture": [
            "dev_seen.jsonl:3: img/00003.png begins with b'<html>404</h'",
            "dev_seen.jsonl:4: img/00004.png is empty (0 bytes)",
        ],
    }


def test_bad_rows_of_a_parquet_file(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "text": "A  b", "label": 1.0},
        {"id": "x", "text": "a", "label": 1.0},
        {"id": "3", "text": "a B", "label": 0.0, "image": None},
        {"id": "4", "text": "a B", "label": 0.0},
        {"id": "5", "text": "a", "label": None},
    ]
    samples, report = load(hateful_memes, packed(tmp_path, "train.parquet", rows), "train")
    assert [(one.id, one.target, one.cluster) for one in samples] == [
        ("00001", ("hateful",), "a b"),
        ("00004", ("not_hateful",), "a b"),
    ]
    assert [one.images[0].member for one in samples] == ["image:0", "image:3"]
    assert report.rows == {
        "no id": ["train.parquet row 2: expected a number such as 08291, found 'x'"],
        "missing picture": ["train.parquet row 3: image is None"],
        "no label": ["train.parquet row 5"],
    }


def test_a_part_of_a_split_that_is_missing(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "a", "label": 1}]
    folder = packed(tmp_path, "train-00001-of-00003.parquet", rows)
    packed(tmp_path, "train-00000-of-00003.parquet", [{"id": "2", "text": "b", "label": 0}])
    with pytest.raises(DataError, match=r"part 00002 of 00003 is missing beside train-00000-of-00003\.parquet\. Fetch all"):
        hateful_memes.load(folder, "train", LoadReport())
    packed(tmp_path, "train-00002-of-00003.parquet", [{"id": "3", "text": "b", "label": 0}])
    assert [one.id for one in load(hateful_memes, folder, "train")[0]] == ["00002", "00001", "00003"]


def test_a_folder_is_needed() -> None:
    with pytest.raises(
        UsageError, match=r"^Task hateful_memes_ocr needs its folder: --dir FOLDER \(layouts: phase2, phase1, parquet\), or"
    ):
        hateful_memes_ocr.load(None, "dev_seen", LoadReport())


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--dir .*nowhere: expected the dataset's folder, found none"):
        hateful_memes.load(tmp_path / "nowhere", "dev_seen", LoadReport())
    (tmp_path / "data.zip").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"data\.zip: expected the dataset's folder, found a file"):
        hateful_memes.load(tmp_path / "data.zip", "dev_seen", LoadReport())


def test_no_layout_fits(tmp_path: Path) -> None:
    made(tmp_path, meme(1), file="train.jsonl")
    with pytest.raises(DataError) as error:
        hateful_memes.load(tmp_path, "train", LoadReport())
    for part in (
        "phase2 (dev_seen.jsonl, dev_unseen.jsonl, test_seen.jsonl, test_unseen.jsonl)",
        "phase1 (dev.jsonl, test.jsonl)",
        "parquet (train.parquet, train-*.parquet, validation.parquet,",
        "Found: 'img', 'train.jsonl'. Known layouts: phase2, phase1, parquet.",
    ):
        assert part in str(error.value)
    for layout in ("phase1", "phase2"):  # both call it so, so the user must say which one it is
        assert [one.id for one in load(hateful_memes, tmp_path, "train", layout)[0]] == ["00001"]
    with pytest.raises(DataError, match=r"Looked for: parquet \(train"):
        hateful_memes.formats["parquet"](tmp_path, "train", LoadReport())


def test_two_layouts_fit(tmp_path: Path) -> None:
    made(tmp_path, meme(1))
    made(tmp_path, meme(2), file="dev.jsonl")
    with pytest.raises(
        DataError, match=r"more than one copy .*phase2 in .*, phase1 in .*\. Pass --format phase2 or --format phase1\.$"
    ):
        hateful_memes.load(tmp_path, "dev_seen", LoadReport())
    assert [one.id for one in load(hateful_memes, tmp_path, layout="phase2")[0]] == ["00001"]
    assert [one.id for one in load(hateful_memes, tmp_path, layout="phase1")[0]] == ["00002"]


def test_two_copies_below_the_folder(tmp_path: Path) -> None:
    copy("data", tmp_path, "one")
    assert len(load(hateful_memes, tmp_path)[0]) == 3
    copy("data", tmp_path, "two")
    with pytest.raises(
        DataError, match=r"more than one copy .*phase2 in .*one, phase2 in .*two\. Pass the folder of one of them with --dir\.$"
    ):
        hateful_memes.load(tmp_path, "dev_seen", LoadReport())


def test_a_split_that_the_layout_does_not_have(tmp_path: Path) -> None:
    phase1 = copy("data_phase1_kaggle", tmp_path)
    with pytest.raises(
        DataError, match=r"no split 'test_unseen' here. In the layout phase1 .* this folder has train, dev, test\."
    ):
        hateful_memes.load(phase1, "test_unseen", LoadReport())


def test_pictures_are_not_there(tmp_path: Path) -> None:
    folder = made(tmp_path, meme(1), meme(2))
    for file in (folder / "img").iterdir():
        file.unlink()
    with pytest.raises(
        DataError, match=r"none of the 2 rows can be used\. missing picture: 2, first dev_seen\.jsonl:1: img/00001"
    ):
        load(hateful_memes, folder)
    (folder / "img").rmdir()
    with pytest.raises(
        DataError, match=r"img: expected the folder of pictures, found none\. Put img/ of the dataset beside dev_seen"
    ):
        hateful_memes.load(folder, "dev_seen", LoadReport())
    (folder / "img").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"img: expected the folder of pictures, found a file"):
        hateful_memes.load(folder, "dev_seen", LoadReport())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"dev_seen\.jsonl is empty"),
        (b" \n\n", r"dev_seen\.jsonl is empty"),
        (
            b"id,img,label,text\n1,img/00001.png,0,a\n",
            r"none of its 2 rows is a JSON object\. bad JSON: 2, first dev_seen\.jsonl:1",
        ),
        (json.dumps(meme(1)).encode("utf-16"), r"dev_seen\.jsonl is UTF-16; save it as UTF-8"),
        (
            b'{"pid": 1, "image": "a.png"}',
            r"dev_seen\.jsonl: expected the columns 'img', 'text' .* found 'pid', 'image': no 'img', 'text'",
        ),
    ],
)
def test_a_file_that_is_something_else(tmp_path: Path, content: bytes, message: str) -> None:
    (made(tmp_path, meme(1)) / "dev_seen.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load(hateful_memes, tmp_path)


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match=r"train\.parquet is not a readable Parquet file"):
        hateful_memes.load(tmp_path, "train", LoadReport())


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Label files of the published sizes; 400 memes of dev_seen stand in dev_unseen again."""
    folder = tmp_path_factory.mktemp("full")
    (folder / "img").mkdir()
    rows: dict[str, list[dict[str, Any]]] = {}
    number = 0
    for split, (zeros, ones) in COUNTS.items():
        rows[split] = []
        for label in [0] * zeros + [1] * ones:
            number += 1
            rows[split].append(meme(number, label=label, text=f"text {number}"))
    shared = [row for row in rows["dev_seen"] if row["label"] == 0][:230] + [r for r in rows["dev_seen"] if r["label"] == 1][:170]
    own = [row for row in rows["dev_unseen"] if row["label"] == 0][230:] + [r for r in rows["dev_unseen"] if r["label"] == 1][
        170:
    ]
    rows["dev_unseen"] = shared + own
    whole = {row["img"]: row for split in rows.values() for row in split}
    for at, name in enumerate(whole):
        # Every picture of dev_seen is its own; the others are links to one file, since only their names matter.
        if 8500 <= at < 9000:
            (folder / name).write_bytes(PNG + str(at).encode())
        elif at == 0:
            (folder / name).write_bytes(PNG)
        else:
            os.link(folder / next(iter(whole)), folder / name)
    for split, items in rows.items():
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, items)))
    return folder


def test_the_published_counts(full: Path) -> None:
    ids: dict[str, set[str]] = {}
    for split, (zeros, ones) in COUNTS.items():
        samples, report = load(hateful_memes, full, split)
        assert Counter(one.target[0] for one in samples) == {"not_hateful": zeros, "hateful": ones}
        assert report.kept == report.read == CARD.sizes[split]
        ids[split] = {one.id for one in samples}
    assert len(set().union(*ids.values())) == 12140
    assert len(ids["dev_seen"] & ids["dev_unseen"]) == 400


def test_answers_that_see_nothing_get_what_the_classes_imply(full: Path) -> None:
    samples, _ = load(hateful_memes, full)
    truth = [one.target[0] for one in samples]
    constant = labelled(truth, ["not_hateful"] * len(truth), LABELS)
    assert round(estimate(Accuracy(), constant, seed=0).value, 3) == 0.506
    assert round(estimate(MacroF1(), constant, seed=0).value, 3) == 0.336
    random = Random(0)
    guess = estimate(MacroF1(), labelled(truth, [random.choice(LABELS) for _ in truth], LABELS), seed=0)
    assert guess.low < 0.5 < guess.high
    assert guess.high - guess.low < 0.1


def test_the_tasks_say_what_they_are() -> None:
    assert [task.name for task in TASKS] == [
        "hateful_memes",
        "hateful_memes_ocr",
        "hateful_memes_image_description",
        "hateful_memes_social_context",
    ]
    assert hateful_memes.positive in LABELS
    assert {task.splits[0] for task in TASKS} == {"dev_seen"}
    assert all(task.train_split in task.splits for task in TASKS)
    assert {tuple(task.formats) for task in TASKS} == {("phase2", "phase1", "parquet")}
    assert CARD.offensive
    assert not CARD.redistributable
    assert "400 of them stand in dev_unseen" in CARD.notes
