from __future__ import annotations

import json
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest import registry
from eyetest.errors import DataError, UsageError
from eyetest.readers import LoadReport
from eyetest.scorers import TextScorer
from eyetest.tasks.viquae import CARD, SPLITS, viquae
from eyetest.types import Image, Sample

FIXTURES = Path(__file__).parent.parent / "fixtures" / "viquae"
ROWS = [json.loads(line) for line in (FIXTURES / "viquae_dataset" / "test.jsonl").read_text(encoding="utf-8").splitlines()]


def load(
    folder: Path, split: str = "test", layout: str | None = None, *, strict: bool = False
) -> tuple[list[Sample], LoadReport]:
    report = LoadReport(strict=strict)
    loader = viquae.load if layout is None else viquae.formats[layout]
    return list(loader(folder, split, report)), report


def row(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "id": f"id{number}",
        "image": "512px-A.jpg",
        "input": f"who is this, {number}?",
        "original_question": f"Who is A, {number}?",
        "output": {"original_answer": "A", "answer": ["A", "B"]},
        "wikidata_id": "Q1",
        "kilt_id": f"qw_{number}",
    } | changed


def made(folder: Path, *lines: dict[str, Any] | bytes, pictures: str = "images") -> Path:
    (folder / pictures).mkdir(parents=True, exist_ok=True)
    (folder / pictures / "512px-A.jpg").write_bytes(b"")
    (folder / "test.jsonl").write_bytes(
        b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    )
    return folder


def test_a_question_as_a_sample_and_the_whole_load_report() -> None:
    samples, report = load(FIXTURES)
    assert samples[0] == Sample(
        id="00000000000000000000000000000002",
        question="In which city was this physicist born?",
        target=("Warsaw", "Warszawa", "City of Warsaw", "WARSAW"),
        kind="text",
        images=(Image(path=str(FIXTURES / "viquae_images" / "images" / "512px-Marie_Curie.jpg")),),
        knowledge_question="In which city was Marie Curie born?",
        knowledge_method="field",
        cluster="Q7186",
        metadata={"split": "test", "wikidata_id": "Q7186", "kilt_id": "qw_2", "image": "512px-Marie_Curie.jpg"},
    )
    assert [one.id[-1] for one in samples] == ["2", "3", "4", "5"]
    assert report.as_dict() == {
        "files": [str(FIXTURES / "viquae_dataset" / "test.jsonl")],
        "read": 6,
        "kept": 4,
        "dropped": {"missing picture": 2},
        "warnings": {},
        "rows": {"missing picture": ["test.jsonl:1: 512px-Jackie_Wilson.png", "test.jsonl:6: 512px-Clara_Schumann.jpg"]},
    }
    assert load(FIXTURES)[0] == samples, "a second pass reads the same"


def test_every_layout_and_every_place_of_the_pictures_gives_the_same_samples(tmp_path: Path) -> None:
    plain = made(tmp_path / "plain", row(1), row(2))
    columns = {name: [one[name] for one in (row(1), row(2))] for name in row(1)}
    hugging = tmp_path / "hugging"
    made(hugging / "data", row(1)).joinpath("test.jsonl").unlink()
    pq.write_table(pa.table(columns), hugging / "data" / "test-00000-of-00001.parquet")
    folders = {
        "images/": plain,
        "parquet, one level down": hugging,
        "the archive's folders": made(tmp_path / "archive", row(1), row(2), pictures="viquae_images/images"),
        "a folder of its own": made(tmp_path / "own", row(1), row(2), pictures="viquae_images"),
        "among the data files": made(tmp_path / "flat", row(1), row(2), pictures="."),
    }
    expected = [(one.id, one.question, one.target, one.knowledge_question, one.metadata) for one in load(plain)[0]]
    assert [one[0] for one in expected] == ["id1", "id2"]
    for called, folder in folders.items():
        samples, report = load(folder)
        assert [(one.id, one.question, one.target, one.knowledge_question, one.metadata) for one in samples] == expected, called
        assert (report.read, report.kept, report.dropped, report.warnings) == (2, 2, {}, {}), called
    assert load(hugging, layout="parquet")[1].kept == 2
    with pytest.raises(DataError, match=r"no layout of ViQuAE here .* Looked for: parquet \(test\.parquet, test-\*\.parquet, "):
        load(plain, layout="parquet")


def test_damaged_rows_are_counted_with_file_and_line(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        row(1),
        b'{"id": "id2", "image"',
        row(3, output={"original_answer": None, "answer": [" "]}),
        row(4, image="512px-B.jpg"),
        row(1),
        row(6, input=["who"]),
        row(7, output="A"),
        row(8, output={"original_answer": "A", "answer": "B"}),
        row(9, output={"original_answer": 5, "answer": []}),
        row(10, image="../512px-A.jpg"),
        row(11, id=None),
        row(12, input=" "),
        row(13, image=None),
        row(14, original_question="", wikidata_id=""),
        row(15, original_question=None, output={"answer": ["B", "B", " C "]}),
    )
    samples, report = load(folder)
    assert report.read == 15
    assert report.kept == len(samples) == 3
    assert sum(report.dropped.values()) == 12
    assert report.rows == {
        "bad JSON": ["test.jsonl:2: column 22: unexpected end of data"],
        "no answer": ["test.jsonl:3"],
        "missing picture": ["test.jsonl:4: 512px-B.jpg", "test.jsonl:13: image is empty"],
        "duplicate id": ["test.jsonl:5: id1; the first one is kept"],
        "wrong type": [
            "test.jsonl:6: input is ['who']; expected text",
            "test.jsonl:7: output is 'A'; expected an object with original_answer and answer",
            "test.jsonl:8: output.answer is 'B'; expected a list of texts",
            "test.jsonl:9: an answer is 5; expected text",
        ],
        "bad picture name": ["test.jsonl:10: image is '../512px-A.jpg'; expected the name of a file"],
        "no id": ["test.jsonl:11"],
        "no question": ["test.jsonl:12"],
        "no knowledge question": ["test.jsonl:14: id14", "test.jsonl:15: id15"],
    }
    assert report.warnings == {"no knowledge question": 2}
    assert [(one.knowledge_question, one.knowledge_method) for one in samples[1:]] == [(None, None)] * 2
    assert samples[1].cluster == "512px-A.jpg", "the picture where there is no entity"
    assert samples[2].target == ("B", "C")
    with pytest.raises(DataError, match=r"^test\.jsonl:2: bad JSON: .*Mend the row, or run without --strict"):
        load(folder, strict=True)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_in_a_file_name_are_found_however_they_are_spelt(tmp_path: Path, form: Any) -> None:
    folder = made(tmp_path, row(1, image="512px-Donau_\u00cele.jpg"))
    (folder / "images" / unicodedata.normalize(form, "512px-Donau_\u00cele.jpg")).write_bytes(b"")
    assert load(folder)[1].kept == 1


def test_wrong_folders_say_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Task viquae needs its folder: --dir FOLDER, the one with test\.jsonl and images/\."):
        viquae.load(None, "test", LoadReport())
    with pytest.raises(DataError, match=r"no split 'train' here\. The folder holds 'test\.jsonl'"):
        load(FIXTURES, "train")
    shutil.copy(FIXTURES / "viquae_dataset" / "test.jsonl", tmp_path)
    with pytest.raises(DataError, match=r"expected the pictures of ViQuAE in images, .* Unpack images\.tar\.gz of PaulLerner/"):
        load(tmp_path)
    made(tmp_path, {"id": "1", "image": "512px-A.jpg", "question": "who?"})
    with pytest.raises(DataError, match=r"test\.jsonl: expected the columns 'id', .*: no 'input', 'output'\. Is this ViQuAE\?"):
        load(tmp_path)
    made(tmp_path, row(1, image="x.jpg"))
    with pytest.raises(DataError, match=r"none of the 1 rows can be used\. missing picture: 1, first test\.jsonl:1: x\.jpg"):
        load(tmp_path)
    (tmp_path / "test.jsonl").unlink()
    pq.write_table(pa.table({"id": ["1"]}), tmp_path / "test-00001-of-00002.parquet")
    with pytest.raises(DataError, match=r"is missing beside test-00001-of-00002\.parquet\. Fetch all parts\."):
        load(tmp_path)


def test_the_task() -> None:
    assert registry.load("tasks", "viquae") is viquae
    assert viquae.scorers == {"text": TextScorer()}
    assert viquae.metrics["text"][0].name == "accuracy"
    assert set(CARD.sizes) == set(SPLITS)
    assert SPLITS[0] == "test"
    assert CARD.sizes["test"] == 1257
    assert not CARD.redistributable


@pytest.mark.parametrize(
    ("text", "tokens", "contains"),
    [("1580", 1.0, 1.0), ("He did so in 1580.", 1.0, 1.0), ("15801 miles", 0.0, 1.0), ("I do not know.", 0.0, 0.0)],
)
def test_both_rules_read_an_answer(text: str, tokens: float, contains: float) -> None:
    sample = load(FIXTURES)[0][2]
    assert viquae.scorers["text"](sample, text).value == tokens
    assert TextScorer(match="contains")(sample, text).value == contains
