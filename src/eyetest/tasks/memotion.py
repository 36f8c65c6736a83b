"""Memotion 7k (SemEval-2020 Task 8) as MM-Soc uses it (arXiv 2402.14154): humour, sarcasm, offensiveness, sentiment, OCR.

Layouts: Kaggle's `labels.csv` or `labels.xlsx` beside `images/` (the same records; the CSV is read where both are there,
because it is faster and needs no extra package), the CodaLab file (see `memotion_lines`), the SemEval test set, and the
Hugging Face Parquet files. Kaggle's and CodaLab's files are cut by position as MM-Soc does, without shuffling: the first
80 % of the rows are `train`, the next 10 % `validation`, the last 10 % `test`; a row that is dropped keeps its place.

A question about a picture that is missing cannot be asked, so its meme is dropped. Otherwise a task drops only memes that lack
its own answer; labels of a shifted row belong to no task.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from eyetest.errors import shown
from eyetest.readers.load_report import LoadReport
from eyetest.tasks import mmsoc
from eyetest.tasks.dataset_files import BadRowError, dropping, references
from eyetest.tasks.layouts import Found
from eyetest.tasks.memotion_files import LAYOUTS, SPLITS, Meme, locate, memes
from eyetest.tasks.memotion_lines import CUT, LEVELS
from eyetest.tasks.task import Card, Load, Task
from eyetest.types import Kind, Sample

CARD = Card(
    title="Memotion Analysis 7k",
    licence="Community Free Resource License (according to MM-Soc; a Hugging Face copy says MIT)",
    citation="Sharma et al. 2020, SemEval-2020 Task 8: Memotion Analysis - the Visuo-Lingual Metaphor!",
    url="https://www.kaggle.com/datasets/williamscott701/memotion-dataset-7k",
    redistribution="The pictures belong to third parties: do not pass them on. Whether the label rows may be is unclear.",
    revision="cdb15b61d84d56db73e0e59535dfea81ea3c22f4",
    sizes={"train": 5593, "validation": 699, "test": 700},
    offensive=True,
    notes="MM-Soc's Table 5 says 10,000 memes and its Appendix C 12,143; the published files have 6,992, and its numbers are "
    "those of the last 700, cut by position and not shuffled. A label is on where the raw level is above the lowest. Labels "
    "are subjective: of 49 texts that occur more than once, 40 carry different labels. OCR references keep the watermarks of "
    "meme sites; HTML entities in them are unescaped, references that are an Excel error or a web page are dropped. In the "
    "CodaLab file unclosed quotes make a CSV parser lose 399 of 6,991 memes without a word; it is read line by line here. "
    "The revision is that of the Hugging Face copy Ahren09/MMSoc_Memotion.",
)

_ERROR = re.compile(r"\s*#(?:NAME\?|REF!|VALUE!|N/A|DIV/0!|NULL!|NUM!)\s*")
_PAGE = re.compile(r"<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]|<script[\s>]", re.I)
_COLUMN_OF = {level: column for column, levels in LEVELS.items() for level in levels}


@dataclass(frozen=True, slots=True)
class _Question:
    """What one task asks about a meme."""

    task: str
    key: str
    """Its name in `mmsoc`, and the name of its file of references."""
    question: str
    kind: Kind = "choice"
    column: str = ""
    """Label column."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Raw label -> choice, for `choice`."""
    choices: tuple[str, ...] = ()
    """In the order of the paper's Table 6."""

    def load(self, folder: Path | None, split: str, report: LoadReport, *, only: str | None = None) -> Iterator[Sample]:
        """Samples of a split. The folder and its layout are checked at once."""
        return self._samples(locate(self.task, folder, only), split, report)

    def _samples(self, found: Found, split: str, report: LoadReport) -> Iterator[Sample]:
        texts: Mapping[str, tuple[str, ...]] = {}
        if self.kind == "description":
            places, flaw = (found.folder, found.root), "reference without an id or a text"
            texts = references(places, self.key, report, name=lambda name: name if isinstance(name, str) else None, flaw=flaw)
        any_text = False
        for meme in memes(found, split, report):
            with dropping(meme.place, report):
                target = self._target(meme, texts)
                any_text = any_text or bool(target)
                sample = self._sample(meme, target, found.layout, split, report)
                report.kept += 1
                yield sample
        if texts and not any_text:
            report.warn("no reference belongs to this split", f"{self.key}.jsonl", f"its first id is {next(iter(texts))!r}")

    def _target(self, meme: Meme, texts: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """The gold answer. texts: references by id. Raises BadRowError."""
        _check_shift(meme)
        if self.kind == "description":
            return texts.get(meme.id, ())
        if self.kind == "transcription":
            text, flaw = reference(meme.values["text_corrected"])
            if text is not None and "text_corrected" in meme.values.get(CUT, ()):
                text, flaw = None, "reference cut at an unclosed quote"
            if text is None:
                raise BadRowError(flaw)
            return (text,)
        raw = str(meme.values.get(self.column) or "").strip()
        if raw.lower() in self.labels:
            return (self.labels[raw.lower()],)
        wanted = f"{self.column} is {shown(raw)}; expected one of {', '.join(LEVELS[self.column])}"
        raise BadRowError("unknown label" if raw else "no label", wanted)

    def _sample(self, meme: Meme, target: tuple[str, ...], layout: str, split: str, report: LoadReport) -> Sample:
        text, flaw = reference(meme.values["text_corrected"])
        if flaw:
            report.warn(flaw, meme.place)
        metadata = {"split": split, "layout": layout, **{column: meme.values.get(column) for column in LEVELS}}
        return Sample(
            id=meme.id,
            question=self.question,
            target=target,
            kind=self.kind,
            choices=self.choices,
            images=(meme.image,),
            picture_text=None if self.kind == "transcription" else text,
            cluster=None if text is None else f"text {_digest(text)}",
            metadata=metadata if meme.image_name is None else {**metadata, "image_name": meme.image_name},
        )


def reference(cell: str | None) -> tuple[str | None, str]:
    """(what is written in the picture, what is wrong with the cell or "").

    The text is None for an empty cell, an Excel error and a web page pasted into the cell. Blanks at its ends are stripped
    and HTML entities unescaped, twice where they were escaped twice.
    """
    if cell is None or not cell.strip():
        return None, "no text"
    if _ERROR.fullmatch(cell):
        return None, "text is an Excel error"
    if _PAGE.search(cell):
        return None, "text is a page, not a caption"
    text = html.unescape(html.unescape(cell))
    return text.strip(), "HTML entities unescaped" if text != cell else ""


def _check_shift(meme: Meme) -> None:
    for column in LEVELS:
        value = str(meme.values.get(column) or "").strip().lower()
        if _COLUMN_OF.get(value, column) != column:
            raise BadRowError("shifted row", f"{column} is {value!r}, a label of {_COLUMN_OF[value]}")


def _digest(text: str) -> str:
    """Of a text without regard to case and white space."""
    return hashlib.blake2b(" ".join(text.casefold().split()).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _task(
    name: str,
    question: str,
    *,
    key: str = "",
    kind: Kind = "choice",
    column: str = "",
    labels: Mapping[str, str] | None = None,
    choices: tuple[str, ...] = (),
    positive: str | None = None,
) -> Task:
    key = key or name.removeprefix("memotion_")
    asked = _Question(name, key, question, kind, column, labels or {}, choices)
    formats: dict[str, Load] = {layout: partial(asked.load, only=layout) for layout in LAYOUTS}
    return Task(
        name,
        CARD,
        asked.load,
        mmsoc.scorers(key),
        mmsoc.metrics(key),
        mmsoc.prompts(key),
        splits=SPLITS,
        formats=formats,
        positive=positive,
        family="ocr" if key == "ocr" else "",
        train_split="train",
        embedded="memotion",
        hub="Ahren09/MMSoc_Memotion",
    )


def _yes_or_no(name: str, column: str, yes: str, question: str) -> Task:
    """The lowest raw label is `not_YES`, every other one YES (MM-Soc, `mmsoc/const.py`)."""
    lowest, *others = LEVELS[column]
    labels = {lowest: f"not_{yes}"} | dict.fromkeys(others, yes)
    return _task(name, question, column=column, labels=labels, choices=(yes, f"not_{yes}"), positive=yes)


def _level(name: str, column: str, question: str) -> Task:
    """The four raw labels; not in the paper."""
    levels = LEVELS[column]
    return _task(name, question, column=column, labels={level: level for level in levels}, choices=levels)


_SENTIMENTS = dict(zip(LEVELS["overall_sentiment"], ("negative", "negative", "neutral", "positive", "positive"), strict=True))

memotion_humor = _yes_or_no("memotion_humor", "humour", "humorous", "Is the following meme humorous?")
memotion_sarcasm = _yes_or_no("memotion_sarcasm", "sarcasm", "sarcastic", "Is the following meme sarcastic?")
memotion_offensiveness = _yes_or_no("memotion_offensiveness", "offensive", "offensive", "Is the following meme offensive?")
memotion_sentiment = _task(
    "memotion_sentiment",
    "What is the overall sentiment expressed through this meme?",
    column="overall_sentiment",
    labels=_SENTIMENTS,
    choices=("positive", "neutral", "negative"),
)
memotion_motivational = _yes_or_no("memotion_motivational", "motivational", "motivational", "Is the following meme motivational?")
memotion_humor_level = _level("memotion_humor_level", "humour", "How funny is the following meme?")
memotion_sarcasm_level = _level("memotion_sarcasm_level", "sarcasm", "How sarcastic is the following meme?")
memotion_offensiveness_level = _level("memotion_offensiveness_level", "offensive", "How offensive is the following meme?")
memotion_ocr = _task("memotion_ocr", "What is the text in the image?", kind="transcription")
memotion_image_description = _task(
    "memotion_image_description",
    "Describe the scene, such as its major subjects, colors, and texture.",
    kind="description",
)
memotion_social_context = _task(
    "memotion_social_context",
    "Describe the cultural and social context of the image. What particular groups is the image and text targeting at?",
    kind="description",
)
