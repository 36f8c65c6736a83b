"""A user's own data: the rows of one file become samples.

Columns are known by exact name; nothing is guessed. `--column ours=theirs` names any that is called something else.

    question                              required
    answer, answers                       one is required; a list holds aliases (of a short text) or labels (of a set)
    id                                    `row-N` without it
    image, images                         a path, or a list of paths, relative to the picture folder (the file's own by default)
    choices                               a list; or one column for each: choice_a, choice_b, ... or A, B, ...
    kind                                  `choice` where there are choices, else `text`
    knowledge_question, caption, context, entity, cluster

Any further column is metadata. In formats without lists (CSV, TSV, XLSX) a cell of `image`, `images` or `answers` that is a
JSON list is read as one; `choices` may also be a Python list. Text is never split at commas, semicolons or bars.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, cast, get_args

from eyetest.errors import DataError, UsageError, nearest, shown, unknown
from eyetest.readers.lists import json_list, python_list
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Header, Row, listed
from eyetest.readers.rows import header, read_rows
from eyetest.tasks.dataset_files import BadRowError, dropping
from eyetest.types import Image, Kind, Sample

AnswerIs = Literal["text", "letter", "index"]
"""How a choice item's answer names the right choice: its text, its letter (A, B, ...), its 0-based position."""

FIELDS = (
    *("id", "image", "images", "question", "choices", "answer", "answers"),
    *("knowledge_question", "caption", "context", "entity", "cluster", "kind"),
)
"""Every field that a column can stand for, besides choice_a, choice_b, ..."""

_CHOICE_FIELDS = tuple(f"choice_{letter.lower()}" for letter in ascii_uppercase)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column of a file stands for what."""

    fields: Mapping[str, str]
    """Field -> column, for the fields that the file has."""
    lettered: tuple[str, ...] = ()
    """Columns that hold one choice each, A first."""


@dataclass(slots=True)
class _Tally:
    """What only the whole file can tell."""

    ids: set[str] = field(default_factory=set)
    pictures: int = 0
    found: int = 0
    looked_for: str = ""
    choice_items: int = 0
    lookalikes: dict[AnswerIs, int] = field(default_factory=dict)
    example: dict[AnswerIs, str] = field(default_factory=dict)


def read_samples(
    path: Path,
    *,
    report: LoadReport,
    image_folder: Path | None = None,
    columns: Mapping[str, str] | None = None,
    answer_is: AnswerIs = "text",
) -> Iterator[Sample]:
    """Samples of one data file, streamed in file order; the report is complete when the stream ends.

    image_folder: what relative picture paths start from, the data file's folder by default; columns: field -> column for
    columns with other names. The path, the folder and the columns are checked at once. When the stream ends, raises
    DataError if no row could be used, none of the pictures was found, or most answers look like letters or positions.
    """
    if answer_is not in get_args(AnswerIs):
        raise unknown("way to give answers", answer_is, get_args(AnswerIs), "--answer-is")
    if image_folder is not None and not os.path.isdir(image_folder):  # pathlib's raises for a name that is too long
        raise UsageError(f"--images {image_folder}: there is no such folder. Pass the folder that picture paths start from.")
    layout = check_columns(header(path), columns or {})
    if "id" not in layout.fields:
        report.warn("no column 'id': rows are named row-N", path.name)
    return _samples(path, _Builder(layout, image_folder or path.parent, answer_is, report), report)


def check_columns(found: Header, columns: Mapping[str, str]) -> Layout:
    """Match fields with the columns of a file.

    Raises UsageError for a field that does not exist, DataError for a column that the file lacks: one named by `columns`,
    `question`, or both `answer` and `answers`.
    """
    for ours, theirs in columns.items():
        if ours not in (*FIELDS, *_CHOICE_FIELDS):
            raise unknown("field", ours, (*FIELDS, "choice_a"), f"--column {ours}={theirs}")
        if theirs not in found.names:
            raise DataError(
                f"--column {ours}={theirs}: {found.place} has no column {theirs!r}.{nearest(theirs, found.names)} "
                f"Found: {listed(found.names)}."
            )
    claimed = set(columns.values())
    named = {name: name for name in (*FIELDS, *_CHOICE_FIELDS) if name in found.names and name not in claimed} | dict(columns)
    for needed in (("question",), ("answer", "answers")):
        if not any(name in named for name in needed):
            raise DataError(_missing_column(found, needed))
    lettered = () if "choices" in named else _lettered(found.names, named)
    return Layout({name: named[name] for name in FIELDS if name in named}, lettered)


def _lettered(names: Sequence[str], named: Mapping[str, str]) -> tuple[str, ...]:
    """Columns choice_a, choice_b, ... or else A, B, ... up to the first that is missing; a lone A means something else."""
    for columns in (
        [named.get(name) for name in _CHOICE_FIELDS],
        [letter if letter in names else None for letter in ascii_uppercase],
    ):
        first = tuple(columns[: columns.index(None)] if None in columns else columns)
        if len(first) > 1:
            return cast(tuple[str, ...], first)
    return ()


def _missing_column(found: Header, needed: tuple[str, ...]) -> str:
    either = " or ".join(repr(name) for name in needed)
    near = difflib.get_close_matches(needed[0], found.names, n=1, cutoff=0.6)
    way_out = f"Found {near[0]!r}; map it with" if near else "If another column holds it, map it with"
    return (
        f"{found.place}: expected a column {either}, found {listed(found.names) or 'no column at all'}. "
        f"{way_out} --column {needed[0]}={near[0] if near else 'NAME'}."
    )


def _samples(path: Path, builder: _Builder, report: LoadReport) -> Iterator[Sample]:
    before, kept = report.read, report.kept
    for row in read_rows(path, report):
        with dropping(row.place, report):
            sample = builder.sample(row, report.read - before)
            report.kept += 1
            yield sample
    builder.check_whole_file(path)
    if report.kept == kept:
        reasons = "; ".join(f"{reason}: {count}, first {report.rows[reason][0]}" for reason, count in report.dropped.items())
        raise DataError(f"{path}: none of its {report.read - before} rows can be used. {reasons}".strip())


class _Builder:
    """Turns rows into samples and remembers what the end of the file must judge."""

    def __init__(self, layout: Layout, folder: Path, answer_is: AnswerIs, report: LoadReport) -> None:
        self.layout, self.folder, self.answer_is, self.report = layout, str(folder), answer_is, report
        self.taken = {*layout.fields.values(), *layout.lettered}
        self.tally = _Tally()

    def sample(self, row: Row, number: int) -> Sample:
        """The sample of row `number` (1-based, dropped rows included). Raises BadRowError."""
        cells = {name: row.values.get(column) for name, column in self.layout.fields.items()}
        name = self._id(row, cells, number)
        question = _text(cells["question"], "question")
        if question is None:
            raise BadRowError("empty question")
        choices = self._choices(row, cells.get("choices"))
        kind = _kind(cells.get("kind"), choices)
        knowledge = _text(cells.get("knowledge_question"), "knowledge_question")
        sample = Sample(
            id=name,
            question=question,
            target=self._target(row, cells, kind, choices),
            kind=kind,
            choices=choices,
            images=self._images(row, cells),
            metadata={key: _json_value(value) for key, value in row.values.items() if key not in self.taken and _is_data(value)},
            context=_text(cells.get("context"), "context"),
            knowledge_question=knowledge,
            knowledge_method=knowledge and "field",
            caption=_text(cells.get("caption"), "caption"),
            entity=_text(cells.get("entity"), "entity"),
            cluster=_text(cells.get("cluster"), "cluster"),
        )
        if "id" in cells:
            self.tally.ids.add(name)
        return sample

    def check_whole_file(self, path: Path) -> None:
        """Raise DataError for what no single row shows: a wrong picture folder, letters or positions given as answers."""
        tally = self.tally
        if tally.pictures and not tally.found:
            raise DataError(
                f"{path}: none of the {tally.pictures} pictures was found; looked for {tally.looked_for}; pass --images FOLDER."
            )
        for way, count in tally.lookalikes.items():
            if 2 * count > tally.choice_items:
                raise DataError(
                    f"{path}: {count} of {tally.choice_items} answers are not among their choices but look like "
                    f"{_AS_WORDS[way]}, such as {tally.example[way]}. If they are, pass --answer-is {way}."
                )

    def _id(self, row: Row, cells: Mapping[str, Any], number: int) -> str:
        name = _text(cells.get("id"), "id")
        if name is None:
            name = f"row-{number}"
            if "id" in cells:
                self.report.warn("no id", row.place, f"named {name}")
        if name in self.tally.ids:
            raise BadRowError("duplicate id", f"{shown(name)}; the first one is kept")
        return name

    def _choices(self, row: Row, cell: Any) -> tuple[str, ...]:
        if self.layout.lettered:
            found = [row.values.get(column) for column in self.layout.lettered]
            while found and found[-1] in (None, ""):
                found.pop()
        else:
            found = _choice_list(cell)
        choices = tuple(text for text in (_text(item, "a choice") for item in found) if text is not None)
        if len(choices) < len(found):
            raise _bad_choices("one of them is empty", found)
        if len(set(choices)) < len(choices):
            self.report.warn("duplicate choices", row.place)
        return choices

    def _target(self, row: Row, cells: Mapping[str, Any], kind: Kind, choices: tuple[str, ...]) -> tuple[str, ...]:
        if kind in ("choice", "labels") and not choices:
            raise BadRowError("fewer than 1 choice")
        if kind == "labels" and any(", " in choice for choice in choices):
            raise BadRowError("a label holds a comma and a blank", "sets of labels are written with commas between them")
        answers = _answers(cells)
        if kind == "description":
            return answers
        if kind == "transcription" and len(answers) > 1:
            raise BadRowError("more than one answer", f"{listed(answers, 5)}; a transcription has one")
        empty_set = kind == "labels" and [] in (cells.get("answer"), _items(cells.get("answers")))
        if not answers and not empty_set:
            raise BadRowError("no answer")
        if not choices or kind not in ("choice", "labels"):
            return answers
        if kind == "choice" and len(answers) > 1:
            raise BadRowError("more than one answer", f"{listed(answers, 5)}; a choice item has one")
        self.tally.choice_items += 1
        return tuple(dict.fromkeys(self._choice(row, answer, choices) for answer in answers))

    def _choice(self, row: Row, answer: str, choices: tuple[str, ...]) -> str:
        """The choice that an answer means."""
        if self.answer_is == "text":
            return self._choice_by_text(row, answer, choices)
        position = _position(answer, self.answer_is)
        if position is None or position >= len(choices):
            wanted = f"a letter from A to {ascii_uppercase[min(len(choices), 26) - 1]}"
            if self.answer_is == "index":
                wanted = f"a position from 0 to {len(choices) - 1}"
            raise BadRowError("answer outside the choices", f"{shown(answer)} is not {wanted} (--answer-is {self.answer_is})")
        return choices[position]

    def _choice_by_text(self, row: Row, answer: str, choices: tuple[str, ...]) -> str:
        if answer in choices:
            return answer
        bare = answer.strip()
        for choice in choices:
            if choice.strip() == bare:
                return choice
        alike = list(dict.fromkeys(choice for choice in choices if choice.strip().casefold() == bare.casefold()))
        if len(alike) == 1:
            self.report.warn("answer differs from the choice in case", row.place, f"{shown(answer)}, {shown(alike[0])}")
            return alike[0]
        detail = f"{shown(answer)} is not among {listed((choice[:40] for choice in choices), 10)}"
        ways: tuple[AnswerIs, ...] = ("letter", "index")
        for way in ways:
            position = _position(answer, way)
            if position is not None and position < len(choices):
                self.tally.lookalikes[way] = self.tally.lookalikes.get(way, 0) + 1
                self.tally.example.setdefault(way, f"{answer!r} at {row.place}")
                detail += f"; if it is one of {_AS_WORDS[way]}, pass --answer-is {way}"
        raise BadRowError("answer outside the choices", detail)

    def _images(self, row: Row, cells: Mapping[str, Any]) -> tuple[Image, ...]:
        images = []
        for name in ("image", "images"):
            for item in _items(cells.get(name)):
                if isinstance(item, Image):
                    self.tally.pictures += 1
                    self.tally.found += 1
                    images.append(item)
                elif item is not None and item != "":
                    images.append(self._image_file(row, item))
        return tuple(images)

    def _image_file(self, row: Row, item: Any) -> Image:
        if not isinstance(item, str):
            raise BadRowError("bad picture path", f"expected a path, found {shown(item)}")
        if "\0" in item:
            raise BadRowError("bad picture path", f"NUL character in {shown(item)}")
        path = os.path.join(self.folder, item)
        self.tally.pictures += 1
        if os.path.isfile(path):
            self.tally.found += 1
        else:
            self.tally.looked_for = self.tally.looked_for or os.path.abspath(path)[:300]
            self.report.warn("missing picture", row.place, shown(item))
        return Image(path=path)


_AS_WORDS: Mapping[AnswerIs, str] = {"text": "texts", "letter": "letters", "index": "0-based positions"}


def _text(value: Any, what: str) -> str | None:
    """A plain value as text, None for nothing or blanks. Raises BadRowError for lists, objects and pictures."""
    if isinstance(value, str):
        return value if value.strip() else None
    if value is None:
        return None
    if isinstance(value, bool | int | float):
        return str(value)
    raise BadRowError("not text", f"{what} is {shown(value)}")


def _kind(value: Any, choices: tuple[str, ...]) -> Kind:
    name = _text(value, "kind")
    if name is None:
        return "choice" if choices else "text"
    if name not in get_args(Kind):
        raise BadRowError("unknown kind", f"{shown(name)}; known: {', '.join(get_args(Kind))}")
    return cast(Kind, name)


def _answers(cells: Mapping[str, Any]) -> tuple[str, ...]:
    """`answer` and then `answers`, each a text or a list, without repetitions."""
    answer = cells.get("answer")
    found = [*(answer if isinstance(answer, list) else [answer]), *_items(cells.get("answers"))]
    texts = (_text(item, "an answer") for item in found)
    return tuple(dict.fromkeys(text for text in texts if text is not None))


def _items(cell: Any) -> list[Any]:
    """The items of a list or of a JSON list in text; anything else is the one item."""
    if isinstance(cell, list):
        return cell
    found = json_list(cell) if isinstance(cell, str) else None
    return [cell] if found is None else found


def _position(answer: str, way: AnswerIs) -> int | None:
    """0-based position that a letter or a whole number names."""
    bare = answer.strip()
    if way == "letter":
        return ascii_uppercase.index(bare.upper()) if len(bare) == 1 and bare.upper() in ascii_uppercase else None
    return int(bare) if bare.isascii() and bare.isdecimal() and len(bare) < 10 else None


def _choice_list(cell: Any) -> list[Any]:
    """The items of a `choices` cell: a list, or the text of a JSON or Python list; nothing for an empty cell."""
    if isinstance(cell, list):
        return cell
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return []
    if not isinstance(cell, str):
        raise _bad_choices("expected a list", cell)
    found = json_list(cell)
    try:
        return python_list(cell) if found is None else found
    except ValueError as error:
        raise _bad_choices(str(error), cell) from None


def _bad_choices(why: str, found: Any) -> BadRowError:
    return BadRowError("bad choices", f"{why}, found {shown(found)}")


def _is_data(value: Any) -> bool:
    return not isinstance(value, Image | bytes)


def _json_value(value: Any) -> Any:
    """Metadata that any JSON writer takes: whole numbers over 64 bits as text, pictures left out."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    if isinstance(value, list):
        return [_json_value(item) for item in value if _is_data(item)]
    if isinstance(value, dict):
        return {key: _json_value(item) for key, item in value.items() if _is_data(item)}
    return value
