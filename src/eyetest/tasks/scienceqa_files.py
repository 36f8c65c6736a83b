"""The layouts in which ScienceQA is published, and its problems in them.

problems     problems.json beside images/SPLIT/PID/image.png, as the authors give it out; pid_splits.json is used if there
llava        llava_test_CQM-A.json beside problems.json and images/, as LLaVA's evaluation wants it: the test split
parquet      train, validation, test as Hugging Face `datasets` writes them: derek-thomas/ScienceQA, lmms-lab/ScienceQA
vlmevalkit   ScienceQA_VAL.tsv, ScienceQA_TEST.tsv: problems with a picture only
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyetest.errors import DataError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, unreadable
from eyetest.readers.rows import read_rows
from eyetest.tasks import vlmevalkit_tsv
from eyetest.tasks.dataset_files import BadRowError, check_columns, check_parts, parquet_patterns, picture
from eyetest.tasks.exams import chosen
from eyetest.tasks.layouts import Layout, all_of, any_of
from eyetest.types import Image

PROBLEMS, LLAVA = "problems.json", "llava_test_CQM-A.json"
SPLITS = ("test", "validation", "train")
PUBLISHED = 21_208
"""Problems in the authors' problems.json."""
MAX_JSON = 256 << 20
"""Largest JSON file in bytes: it is held in memory whole. The authors' problems.json has about 35 MB."""

_AUTHORS = {"validation": "val"}
"""Our name of a split -> the authors'."""
_TABLES = {"test": "ScienceQA_TEST.tsv", "validation": "ScienceQA_VAL.tsv"}
_NEEDED = ("image", "question", "choices", "answer")


def _problems_alone(folder: Path) -> list[Path]:
    return [] if (folder / LLAVA).is_file() else all_of(PROBLEMS)(folder)


LAYOUTS: Mapping[str, Layout] = {
    "problems": Layout(PROBLEMS, _problems_alone),
    "llava": Layout(f"{LLAVA} and {PROBLEMS}", all_of(LLAVA, PROBLEMS)),
    "parquet": Layout("test-*.parquet, ...", any_of(*(pattern for split in SPLITS for pattern in parquet_patterns(split)))),
    "vlmevalkit": Layout(" or ".join(_TABLES.values()), any_of(*_TABLES.values())),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem as its layout spells it, not yet checked."""

    id: str
    values: Mapping[str, Any]
    """With the authors' keys; `choices` a tuple of texts and `target` the right one are put in by `options`."""
    place: str
    has_picture: bool
    """Whether the dataset gives it one, there or not."""


def options(problem: Problem, layout: str) -> tuple[tuple[str, ...], str]:
    """(choices, the right one). Raises BadRowError."""
    values = problem.values
    if layout == "vlmevalkit":
        choices = vlmevalkit_tsv.options(values)
        return choices, chosen(str(values["answer"]).strip(), choices)
    found, answer = values.get("choices"), values.get("answer")
    if not isinstance(found, list) or not all(isinstance(choice, str) for choice in found):
        raise BadRowError("malformed options", f"choices is {shown(found)}; expected a list of texts")
    if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(found):
        reason = "no answer" if answer is None else "unknown answer"
        raise BadRowError(reason, f"answer is {shown(answer)}; expected the place of a choice, 0 to {len(found) - 1}")
    return tuple(found), found[answer]


def image_of(problem: Problem, layout: str, root: Path, split: str, report: LoadReport) -> Image:
    """The unopened picture of a problem that has one. Raises BadRowError where it is not there."""
    value = problem.values["image"]
    if layout == "vlmevalkit":
        return vlmevalkit_tsv.pictures(value)[0]
    if isinstance(value, Image):
        return value
    if layout == "parquet" or not isinstance(value, str) or {"/", "\\", "\0"} & set(value) or value in (".", ".."):
        raise BadRowError("missing picture", f"image is {shown(value)}; expected the name of a file")
    named = f"images/{_AUTHORS.get(split, split)}/{problem.id}/{value}"
    return picture([root / named], named, problem.place, report)


def problems(layout: str, root: Path, split: str, report: LoadReport) -> Iterator[Problem]:
    """The problems of a split in file order, counted as read. Raises DataError where the copy does not have the split."""
    if layout in ("problems", "llava"):
        return _of_json(layout, root, split, report)
    files = any_of(*parquet_patterns(split))(root) if layout == "parquet" else [root / _TABLES.get(split, split)]
    if not files or not files[0].is_file():
        raise DataError(f"{root}: no split {split!r} here in the layout {layout}. Fetch it, or ask another split.")
    check_parts(files)
    for file in files:
        _check_columns(layout, file)
    return _of_rows(layout, files, split, report)


def _check_columns(layout: str, file: Path) -> None:
    if layout == "vlmevalkit":
        vlmevalkit_tsv.check_columns(file, "ScienceQA")
    else:
        check_columns(file, _NEEDED, f"Is this ScienceQA in the layout {layout}?")


def _of_rows(layout: str, files: list[Path], split: str, report: LoadReport) -> Iterator[Problem]:
    """These copies have no pid, or one of their own: an id is the split and the number of the row, from 0, or its index."""
    before = report.read
    for file in files:
        for row in vlmevalkit_tsv.rows(file, report) if layout == "vlmevalkit" else read_rows(file, report):
            name = str(row.values["index"]).strip() if layout == "vlmevalkit" else str(report.read - before - 1)
            has_picture = layout == "vlmevalkit" or row.values["image"] is not None
            yield Problem(f"{split}_{name}", row.values, row.place, has_picture)


def _of_json(layout: str, root: Path, split: str, report: LoadReport) -> Iterator[Problem]:
    found = read_object(root / PROBLEMS)
    report.files.append(str(root / PROBLEMS))
    if len(found) < PUBLISHED:
        report.warn("not the whole dataset", PROBLEMS, f"{len(found)} problems of {PUBLISHED}; is the file complete?")
    return _listed(found, _pids(layout, root, split, found, report), split, report)


def _listed(found: Mapping[str, Any], pids: Iterator[Row], split: str, report: LoadReport) -> Iterator[Problem]:
    for row in pids:
        pid = row.values["id"]
        problem = found.get(pid) if isinstance(pid, str) else None
        if not isinstance(problem, dict):
            what = f"{PROBLEMS} has none of this number" if problem is None else f"found {shown(problem)}"
            report.drop("no such problem", row.place, f"{shown(pid)}: {what}")
        elif problem.get("split") not in (None, _AUTHORS.get(split, split)):
            report.drop("of another split", row.place, f"split is {shown(problem['split'])}")
        else:
            yield Problem(pid, problem, row.place, problem.get("image") not in (None, ""))


def _pids(layout: str, root: Path, split: str, found: Mapping[str, Any], report: LoadReport) -> Iterator[Row]:
    """The numbers of a split's problems, each counted as read."""
    if layout == "llava":
        if split != "test":
            raise DataError(f"{root / LLAVA} lists the test split alone, not {split!r}. Use --format problems for the others.")
        return (Row({"id": row.values.get("id")}, row.place) for row in read_rows(root / LLAVA, report))
    name = _AUTHORS.get(split, split)
    splits = root / "pid_splits.json"
    if splits.is_file():
        pids = read_object(splits).get(name)
        if not isinstance(pids, list):
            raise DataError(f"{splits}: {name!r} is {shown(pids)}; expected the list of its problems' numbers.")
        report.files.append(str(splits))
    else:
        pids = [pid for pid, problem in found.items() if isinstance(problem, dict) and problem.get("split") == name]
    if not pids:
        raise DataError(f"{root}: no problem of the split {split!r}. Fetch the whole dataset, or ask another split.")
    return _counted(pids, report)


def _counted(pids: list[Any], report: LoadReport) -> Iterator[Row]:
    for pid in pids:
        report.read += 1
        yield Row({"id": pid}, f"{PROBLEMS} problem {shown(pid) if not isinstance(pid, str) else pid[:40]}")


def captions(folders: list[Path], report: LoadReport) -> Mapping[str, str]:
    """pid -> what its picture shows, from captions.json in the first of the folders that has it; empty without one."""
    file = next((folder / "captions.json" for folder in folders if (folder / "captions.json").is_file()), None)
    if file is None:
        return {}
    found = read_object(file).get("captions")
    if not isinstance(found, dict):
        raise DataError(f'{file}: expected {{"captions": {{"11": "...", ...}}}}, found {shown(found)} under \'captions\'.')
    report.files.append(str(file))
    return {pid: text.strip() for pid, text in found.items() if isinstance(text, str) and text.strip()}


def read_object(path: Path) -> dict[str, Any]:
    """The one object that a JSON file holds. Raises DataError for a file that is too large, cut off, or something else.

    A key that stands twice is refused too: one of its two problems would be lost.
    """
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MAX_JSON else b""
    except OSError as error:
        raise unreadable(path, error) from error
    if size > MAX_JSON:
        raise DataError(f"{path} has {size >> 20} MB; it is read whole, so at most {MAX_JSON >> 20} MB. Is this the right file?")
    try:
        value = json.loads(raw, object_pairs_hook=_without_doubles, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: bad JSON: column {error.colno}: {error.msg}. Is the file complete?") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8: byte 0x{raw[error.start]:02x}. Fetch the file again.") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply. Is this the right file?") from None
    except ValueError as error:
        raise DataError(f"{path}: bad JSON: {error}. Fetch the file again.") from None
    if not isinstance(value, dict):
        raise DataError(f"{path} holds {shown(value)}; expected one object: {{...}}.")
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in value if keys.count(key) > 1)!r} stands twice")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
