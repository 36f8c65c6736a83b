from __future__ import annotations

import builtins
import hashlib
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from eyetest import registry
from eyetest.errors import DataError, UsageError
from eyetest.readers import LoadReport
from eyetest.scorers import TextScorer
from eyetest.tasks import infoseek_files
from eyetest.tasks.infoseek import CARD, answers, infoseek
from eyetest.tasks.infoseek_files import SUBSETS, Pictures
from eyetest.types import Image, Sample

FIXTURES = Path(__file__).parent.parent / "fixtures" / "infoseek"
SUBSET = "val:infoseek3k_v1"
CONTAINS = TextScorer(match="contains")


def load(folder: Path, split: str = "val", *, strict: bool = False) -> tuple[list[Sample], LoadReport]:
    report = LoadReport(strict=strict)
    return list(infoseek.load(folder, split, report)), report


def row(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "data_id": f"infoseek_val_{number:08d}",
        "image_id": "oven_04000001",
        "question": "Who built this bridge?",
        "answer": ["Ann"],
        "answer_eval": ["Ann", "A."],
        "data_split": "val_unseen_entity",
    } | changed


def written(file: Path, *lines: dict[str, Any] | bytes) -> None:
    file.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))


def made(folder: Path, *lines: dict[str, Any] | bytes) -> Path:
    """A folder with these validation rows and one picture."""
    (folder / "oven_images" / "04").mkdir(parents=True, exist_ok=True)
    (folder / "oven_images" / "04" / "oven_04000001.jpg").write_bytes(b"")
    written(folder / "infoseek_val.jsonl", *lines)
    return folder


def typed(number: int, kind: str = "String") -> dict[str, Any]:
    return {"data_id": f"infoseek_val_{number:08d}", "question_type": kind}


def entity(number: int, name: str = "Tower Bridge") -> dict[str, Any]:
    return {"data_id": f"infoseek_val_{number:08d}", "entity_id": f"Q{number}", "entity_text": name}


def filled(folder: Path) -> Path:
    """The fixtures with a picture for every row."""
    for name in ("infoseek_val", "infoseek_train"):
        for suffix in ("", "_qtype", "_withkb"):
            if (source := FIXTURES / f"{name}{suffix}.jsonl").exists():
                (folder / source.name).write_bytes(source.read_bytes())
    (folder / "images").mkdir()
    for name in ("infoseek_val", "infoseek_train"):
        for line in (FIXTURES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            (folder / "images" / f"{json.loads(line)['image_id']}.jpg").write_bytes(b"")
    return folder


def test_a_question_as_a_sample_and_the_whole_load_report() -> None:
    samples, report = load(FIXTURES)
    assert samples[0] == Sample(
        id="infoseek_val_00000000",
        question="What is the objective of this object?",
        target=("energy transformation", "energy conversion", "conversion"),
        kind="text",
        images=(Image(path=str(FIXTURES / "oven_images" / "04" / "oven_04990048.jpg")),),
        knowledge_question="What is the objective of Heat engine?",
        knowledge_method="entity:this_class",
        entity="Heat engine",
        cluster="Q178185",
        metadata={
            "split": "val",
            "data_split": "val_unseen_question",
            "image_id": "oven_04990048",
            "question_type": "String",
            "entity_id": "Q178185",
            "knowledge_doubt": None,
        },
    )
    assert [one.id[-1] for one in samples] == ["0", "1", "2", "3", "4", "5"]
    assert (samples[1].knowledge_question, samples[1].cluster) == (None, "oven_04962816")
    assert report.files == [str(FIXTURES / f"infoseek_val{end}.jsonl") for end in ("_qtype", "_withkb", "")]
    assert (report.read, report.kept) == (47, 6)
    assert report.dropped == {"missing picture": 41}
    assert report.warnings == {"no entity: no knowledge question": 5}
    assert report.rows["missing picture"][0] == "infoseek_val.jsonl:7: oven_04953833"
    assert load(FIXTURES)[0] == samples, "a second pass reads the same"


def test_every_row_of_both_splits_loads_with_its_type_and_entity(tmp_path: Path) -> None:
    folder = filled(tmp_path)
    samples, report = load(folder)
    assert (report.read, report.kept, report.dropped) == (47, 47, {})
    assert Counter(one.metadata["question_type"] for one in samples) == {"String": 23, "Numerical": 14, "Time": 10}
    assert sum("range" in one.metadata for one in samples) == 14
    samples, report = load(folder, "train")
    assert (report.read, report.kept, report.dropped) == (34, 34, {})
    leak = "the knowledge question names the answer: not asked"
    assert report.warnings == {"no question types": 1, leak: 2}
    assert report.rows[leak][0] == "infoseek_train.jsonl:22: 'What is Steak knife named after?'"
    assert Counter(one.knowledge_method for one in samples) == {"entity:this_class": 32, None: 2}
    assert sum(one.knowledge_question is None for one in samples) == 2
    assert samples[3].knowledge_question == "What country does Angora rabbit belong to?"
    assert Counter(one.metadata["question_type"] for one in samples) == {None: 27, "Numerical": 7}


def test_no_picture_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, opened = filled(tmp_path), list[str]()

    def noted(way: Any) -> Any:
        def opens(file: Any, *rest: Any, **more: Any) -> Any:
            opened.append(str(file))
            return way(file, *rest, **more)

        return opens

    monkeypatch.setattr(builtins, "open", noted(builtins.open))
    monkeypatch.setattr(Path, "open", noted(Path.open))
    assert load(folder)[1].kept == 47
    assert {Path(name).suffix for name in opened if str(tmp_path) in name} == {".jsonl"}


@pytest.mark.parametrize(
    ("accepted", "target", "bounds"),
    [
        (["Ann", "A.", " Ann "], ("Bea", "Ann", "A."), None),
        (["1990", "1991 12 20"], ("Bea", "1990", "1991 12 20"), None),
        ([{"wikidata": 1.0, "range": [0.9, 1.1]}], ("Bea",), [0.9, 1.1]),
        ({"wikidata": [6, 7], "range": [6, 7]}, ("Bea",), [6.0, 7.0]),
        (None, ("Bea",), None),
        ([], ("Bea",), None),
    ],
    ids=["aliases", "times", "a range in a list", "a bare range", "nothing", "an empty list"],
)
def test_shapes_of_answers(accepted: Any, target: tuple[str, ...], bounds: list[float] | None) -> None:
    assert answers({"answer": ["Bea"], "answer_eval": accepted}) == (target, bounds)


@pytest.mark.parametrize(
    ("number", "text", "tokens", "contains"),
    [
        (2, "6.7", 1.0, 1.0),
        (2, "about 6.5 to 7 days", 1.0, 1.0),
        (2, "It takes 8 days.", 0.0, 0.0),
        (17, "It lies at 440 metres.", 1.0, 1.0),
        (17, "It lies at 480 metres.", 0.0, 0.0),
        (17, "14345", 0.0, 1.0),
        (23, "In 1827.", 1.0, 1.0),
        (23, "In 1829.", 0.0, 0.0),
        (45, "It was on December 20, 1990.", 1.0, 1.0),
        (45, "20 Dec 1991", 1.0, 1.0),
        (45, "3 March 1995", 0.0, 0.0),
        (4, "I do not know; upkeep matters.", 0.0, 1.0),
    ],
)
def test_ranges_and_dates_by_both_rules(tmp_path: Path, number: int, text: str, tokens: float, contains: float) -> None:
    sample = next(one for one in load(filled(tmp_path))[0] if one.id == f"infoseek_val_{number:08d}")
    assert infoseek.scorers["text"](sample, text).value == tokens
    assert CONTAINS(sample, text).value == contains
    for target in sample.target[:1]:
        assert infoseek.scorers["text"](sample, target).value == CONTAINS(sample, target).value == 1.0


def test_contains_says_by_which_rule_a_number_is_right_and_still_sees_refusals(tmp_path: Path) -> None:
    sample = next(one for one in load(filled(tmp_path))[0] if one.id == "infoseek_val_00000017")
    assert CONTAINS(sample, "440 metres").rule == "number_in_range"
    assert CONTAINS(sample, "434 metres").rule == "alias_contained"
    assert CONTAINS(sample, "I'm sorry, I cannot help with that.").status == "refused"


def test_damaged_rows_are_counted_with_file_and_line(tmp_path: Path) -> None:
    wide = {"wikidata": 1, "range": [2, 1]}
    folder = made(
        tmp_path,
        row(1),
        b'{"data_id": ',
        row(3, answer=None, answer_eval=[]),
        row(4, image_id="oven_04000002"),
        row(1),
        row(6, question=7),
        row(7, answer="Ann"),
        row(8, answer_eval=["Ann", 5]),
        row(9, answer_eval=[wide]),
        row(10, answer_eval=[{"wikidata": 1}]),
        row(11, answer_eval=[{"range": [1, 10**301]}]),
        row(12, answer_eval=[{"range": [True, 2]}, "Ann"]),
        row(13, image_id="../oven_04000001"),
        row(14, data_id=None),
        b"[]",
        row(16),
    )
    samples, report = load(folder)
    assert [one.id[-2:] for one in samples] == ["01", "16"]
    assert (report.read, report.kept, sum(report.dropped.values())) == (16, 2, 14)
    assert report.warnings == {"no question types": 1, "no entities: no knowledge questions": 1}
    assert report.dropped == {
        "bad JSON": 1,
        "no answer": 1,
        "missing picture": 1,
        "duplicate id": 1,
        "no question": 1,
        "wrong type": 2,
        "bad range": 4,
        "bad id": 1,
        "no id": 1,
        "not an object": 1,
    }
    assert report.rows["wrong type"] == [
        "infoseek_val.jsonl:7: answer is 'Ann'; expected a list",
        "infoseek_val.jsonl:8: an answer is 5; expected text",
    ]
    assert report.rows["bad range"][0] == "infoseek_val.jsonl:9: range is [2, 1]; expected two rising numbers"
    assert report.rows["missing picture"] == ["infoseek_val.jsonl:4: oven_04000002"]
    assert report.rows["duplicate id"] == ["infoseek_val.jsonl:5: infoseek_val_00000001; the first one is kept"]
    assert report.rows["bad id"] == [
        "infoseek_val.jsonl:13: image_id is '../oven_04000001'; expected a name such as oven_04990048"
    ]
    with pytest.raises(DataError, match=r"^infoseek_val\.jsonl:2: bad JSON: .*run without --strict"):
        load(folder, strict=True)


def test_damage_in_the_joined_files_is_a_warning_and_strict_an_error(tmp_path: Path) -> None:
    folder = made(tmp_path, row(1), row(2), row(3, data_id="mine"), row(4))
    written(folder / "infoseek_val_qtype.jsonl", typed(1), typed(2, "Numerical"), {"data_id": "mine", "question_type": "Song"})
    written(
        folder / "infoseek_val_withkb.jsonl",
        b"{",
        entity(1),
        entity(1, "Bridge"),
        entity(1),
        entity(2, ""),
        {"data_id": "mine", "entity_id": "Q9", "entity_text": "Charm"},
        {"data_id": "infoseek_train_00000004", "entity_id": "Q5", "entity_text": "of another split"},
    )
    samples, report = load(folder)
    assert [one.entity for one in samples] == ["Tower Bridge", None, "Charm", None]
    assert report.kept == report.read == 4, "rows of joined files are no rows of the split"
    assert report.warnings == {
        "infoseek_val_withkb.jsonl: bad JSON": 1,
        "infoseek_val_withkb.jsonl: second row of an id": 1,
        "infoseek_val_withkb.jsonl: row without its texts": 1,
        "question type and answer disagree": 2,
        "no entity: no knowledge question": 2,
        "no question type": 1,
    }
    assert report.rows["infoseek_val_withkb.jsonl: second row of an id"] == [
        "infoseek_val_withkb.jsonl:3: infoseek_val_00000001; the first one is kept"
    ]
    assert report.rows["question type and answer disagree"][0] == "infoseek_val.jsonl:2: 'Numerical', texts"
    with pytest.raises(DataError, match=r"^infoseek_val_withkb\.jsonl:1: bad JSON"):
        load(folder, strict=True)


def test_a_doubtful_knowledge_question_is_kept_and_says_so(tmp_path: Path) -> None:
    folder = made(tmp_path, row(1), row(2, question="What inflows lake?"), row(3, question="Who feeds these quarks?"))
    written(folder / "infoseek_val_withkb.jsonl", *(entity(number) for number in (1, 2, 3)))
    samples, report = load(folder)
    assert [(one.knowledge_question, one.knowledge_method, one.metadata["knowledge_doubt"]) for one in samples] == [
        ("Who built Tower Bridge?", "entity:this_class", None),
        ("What inflows lake? (about Tower Bridge)", "entity:appended", "appended"),
        ("Who feeds Tower Bridge?", "entity:this_word", "plural, this_word"),
    ]
    assert report.rows["doubtful knowledge question"] == [
        "infoseek_val.jsonl:2: appended: 'What inflows lake? (about Tower Bridge)'",
        "infoseek_val.jsonl:3: this_word: 'Who feeds Tower Bridge?'",
    ]


@pytest.mark.parametrize(
    "place",
    [
        "oven_images/04/oven_04000001.JPEG",
        "oven_images/04/oven_04000001.webp",
        "oven_images/oven_04000001.png",
        "images/04/oven_04000001.jpeg",
        "images/oven_04000001.GIF",
        "infoseek_images/infoseek_val_00000001.jpg",
        "infoseek_val_images/infoseek_val_00000001.tiff",
    ],
)
def test_pictures_are_found_in_shards_flat_and_by_data_id_with_any_extension(tmp_path: Path, place: str) -> None:
    for decoy in ("oven_040000012.jpg", "oven_04000001.json", "oven_04000001"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).with_name(decoy).write_bytes(b"")
    assert Pictures("val", (tmp_path,)).find("oven_04000001", "infoseek_val_00000001") is None
    (tmp_path / place).write_bytes(b"")
    assert Pictures("val", (tmp_path,)).find("oven_04000001", "infoseek_val_00000001") == str(tmp_path / place)


def test_pictures_are_found_beside_the_folder_of_the_data_files_too(tmp_path: Path) -> None:
    made(tmp_path / "data", row(1))
    (tmp_path / "data" / "oven_images").rename(tmp_path / "oven_images")
    assert load(tmp_path)[1].kept == 1


def test_the_subset_is_the_smallest_hashes_whatever_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SUBSETS == {SUBSET: ("val", 3000, "infoseek3k|seed=0|")}
    monkeypatch.setattr(infoseek_files, "SUBSETS", {SUBSET: ("val", 5, "infoseek3k|seed=0|")})
    rows = [row(number) for number in range(40)]
    wanted = sorted(
        (one["data_id"] for one in rows), key=lambda one: hashlib.sha256(f"infoseek3k|seed=0|{one}".encode()).hexdigest()
    )
    found = []
    for seed in (0, 1):
        Random(seed).shuffle(rows)
        samples, report = load(made(tmp_path, *rows), SUBSET)
        assert (report.read, report.kept, report.dropped) == (5, 5, {})
        assert {one.metadata["split"] for one in samples} == {SUBSET}
        found.append([one.id for one in samples])
    assert set(found[0]) == set(found[1]) == set(wanted[:5])
    assert found[0] != found[1], "in the order of the file"
    lost = [one | {"image_id": "oven_04000002"} if one["data_id"] == wanted[0] else one for one in rows]
    samples, report = load(made(tmp_path, *lost, b"{", rows[0] | {"data_id": None}), SUBSET)
    assert {one.id for one in samples} == set(wanted[1:5]), "a picture that is missing is not made up for"
    assert report.read == 7
    assert report.dropped == {"missing picture": 1, "bad JSON": 1, "no id": 1}


def test_wrong_folders_say_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"Task infoseek needs its folder: --dir FOLDER, the one with infoseek_val\.jsonl and oven_"
    ):
        infoseek.load(None, "val", LoadReport())
    with pytest.raises(DataError, match=r"no layout of InfoSeek here .* Looked for: jsonl \(infoseek_human\.jsonl\)"):
        load(FIXTURES, "human")
    written(tmp_path / "infoseek_val.jsonl", row(1))
    with pytest.raises(
        DataError, match=r"expected a folder of pictures, found none of oven_images, .*infoseek_val_images\. Put the"
    ):
        load(tmp_path)
    made(tmp_path, {key: value for key, value in row(1).items() if key not in ("answer", "answer_eval")})
    with pytest.raises(DataError, match=r"no 'answer_eval'\. The authors keep the answers of this split\. Is this a split of"):
        load(tmp_path)
    made(tmp_path, row(1, image_id="x"))
    with pytest.raises(DataError, match=r"none of the 1 rows can be used\. missing picture: 1, first infoseek_val\.jsonl:1: x"):
        load(tmp_path)


def test_the_task() -> None:
    assert registry.load("tasks", "infoseek") is infoseek
    assert infoseek.scorers == {"text": TextScorer()}
    assert infoseek.splits == ("val", SUBSET, "train", "test", "human")
    assert CARD.sizes["val"] == 73620
    assert "whose ids were not published" in CARD.notes
    assert not CARD.redistributable
