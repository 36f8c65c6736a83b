"""The SemEval-2020 (CodaLab) files of Memotion, read line by line.

One meme is one line: name, URL, OCR text, corrected text and, in the training file, five labels. Some cells were cut at their
first comma but kept the quote that opened them, so a CSV parser reads on to the next quote: without a word it returns 6,592
records for 6,991 memes. Here lines are split first, the labels are found from the end of the line, and a quote that is not
closed within its line is a character like any other. A line break inside a cell is always damage in these files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from eyetest.errors import DataError, shown
from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row, listed
from eyetest.readers.text import LINE_TOO_LONG, physical_lines
from eyetest.tasks.dataset_files import BadRowError, dropping

LEVELS: Mapping[str, tuple[str, ...]] = {
    "humour": ("not_funny", "funny", "very_funny", "hilarious"),
    "sarcasm": ("not_sarcastic", "general", "twisted_meaning", "very_twisted"),
    "offensive": ("not_offensive", "slight", "very_offensive", "hateful_offensive"),
    "motivational": ("not_motivational", "motivational"),
    "overall_sentiment": ("very_negative", "negative", "neutral", "positive", "very_positive"),
}
"""Label column -> its raw labels, lowest first. No label belongs to two columns, so a shifted row always shows."""

TEXTS = ("image_name", "image_url", "text_ocr", "text_corrected")
"""The cells before the labels, under the names that Kaggle's copy gives them."""

CUT = "unclosed"
"""Extra column: which of `TEXTS` begin with a quote that nothing closes, and so lack what followed their first comma."""

_LABELS = re.compile("".join(rf',\s*"?(?P<{column}>{"|".join(levels)})"?' for column, levels in LEVELS.items()), re.I)
_GLUED = re.compile(r"[^,]*\.(?:jpe?g|jpe|png|bmp|gif)[\s,]*", re.I)
_QUOTED = re.compile(r'"((?:[^"]|"")*+)"\s*(?=,|$)')
_LITERAL = re.compile(r"[^,]*")
_HEADER = re.compile(r'\s*"?image_name"?\s*(,|$)', re.I)


def read_lines(path: Path, report: LoadReport, *, labelled: bool = True) -> Iterator[Row]:
    """Memes of a CodaLab file, one a line, under the columns `TEXTS`, `LEVELS` (raw, lower case) and `CUT`.

    labelled: the training file (`data_7000_new.csv`, with a header, a header that names Motivational twice, or none), else
    the test file (`2000_testdata.csv`). Line ends may be LF and CRLF in one file; blank lines are skipped and not counted. Text
    that is not UTF-8 is read as Windows-1252 and NULs are left out, with a warning. Where the texts of a line cannot be told
    apart they are None, with a warning. Raises DataError if no line is a meme.
    """
    before, kept, first = report.read, 0, True
    for number, raw in physical_lines(path):
        place = f"{path.name}:{number}"
        if raw is not None and not raw.strip():
            continue
        at_first, first = first, False
        if at_first and raw is not None:
            if b"\r" in raw.rstrip(b"\r\n"):
                raise DataError(f"{path} ends its lines with CR alone (old Mac); save it with LF or CRLF line ends.")
            if _is_header(raw):
                _check_header(raw, place, labelled)
                continue
        if raw is None:
            report.read += 1
            report.drop(LINE_TOO_LONG, place)
            continue
        for piece in _pieces(raw, place, report) if labelled else [raw]:
            report.read += 1
            with dropping(place, report):
                row = _meme(_decoded(piece, place, report), place, report, labelled)
                kept += 1
                yield row
    if not kept:
        wanted = "a name, a URL, two texts" + (f" and five labels such as {_example()}" if labelled else "")
        raise DataError(f"{path}: none of its {report.read - before} lines is a meme; expected {wanted}. Is it another file?")


def is_training_file(path: Path) -> bool:
    """Whether the first line is the header or a meme of the labelled CodaLab file."""
    first = next((raw for _, raw in physical_lines(path) if raw is None or raw.strip()), None) or b""
    text = first.decode("utf-8", "replace")
    return (_is_header(first) and "humo" in text.lower()) or _LABELS.search(text) is not None


def _is_header(raw: bytes) -> bool:
    return _HEADER.match(raw.decode("utf-8", "replace")) is not None


def _check_header(raw: bytes, place: str, labelled: bool) -> None:
    """Cells are known by position, so another order must not pass."""
    names = [name.strip(' "\r\n').lower() for name in raw.decode("utf-8", "replace").split(",")]
    while names and not names[-1]:
        names.pop()
    wanted: list[tuple[str, ...]] = [("ocr_extracted_text", "text_ocr"), ("corrected_text", "text_corrected")]
    if labelled:
        wanted += [("humour", "humor"), ("sarcasm",), ("offensive",), ("motivational",)]
        wanted += [("overall_sentiment", "sentiment", "motivational")]  # one public header names Motivational twice
    if len(names) != 2 + len(wanted) or any(name not in known for name, known in zip(names[2:], wanted, strict=True)):
        expected = ", ".join(["image_name", "image_url", *(known[0] for known in wanted)])
        raise DataError(f"{place}: the header names {listed(names, 15)}; expected {expected}, in this order. Is it another file?")


def _pieces(raw: bytes, place: str, report: LoadReport) -> list[bytes]:
    """The memes of a line: more than one where line ends were lost, which shows as more than one set of labels."""
    ends = [found.end() for found in _LABELS.finditer(raw.decode("latin-1"))]  # one character a byte
    if len(ends) < 2:
        return [raw]
    report.warn("swallowed rows", place, f"{len(ends)} memes in one line; all are read")
    return [raw[start:end].lstrip(b" ,\r") for start, end in zip([0, *ends[:-1]], [*ends[:-1], len(raw)], strict=True)]


def _decoded(raw: bytes, place: str, report: LoadReport) -> str:
    if b"\0" in raw:
        report.warn("NUL byte", place, "left out")
        raw = raw.replace(b"\0", b"")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        report.warn("not UTF-8", place, f"byte 0x{raw[error.start]:02x}; read as Windows-1252")
        text = raw.decode("cp1252", "replace")
    return text.rstrip("\r\n")


def _meme(line: str, place: str, report: LoadReport, labelled: bool) -> Row:
    """One line as a row. Raises BadRowError."""
    if not line.strip(' ,"'):
        raise BadRowError("empty row")
    head, labels = _labels(line, place, report) if labelled else (line.rstrip(), dict[str, str]())
    cells = next((cells for cells in _cuts(head, len(TEXTS)) if len(cells) == len(TEXTS)), None)
    if cells is None:
        name = _LITERAL.match(head)
        kept = "only name and labels are kept" if labelled else "only the name is kept"
        report.warn("shifted row", place, f"expected 4 cells{' before the labels' if labelled else ''}; {kept}")
        texts: dict[str, str | None] = dict.fromkeys(TEXTS) | {"image_name": name[0].strip(' "') if name else ""}
        return Row({**texts, **labels, CUT: ()}, place)
    open_ = tuple(column for column, (_, closed) in zip(TEXTS, cells, strict=True) if not closed)
    if open_:
        report.warn("unclosed quote", place, f"in {', '.join(open_)}")
    return Row({**{column: text for column, (text, _) in zip(TEXTS, cells, strict=True)}, **labels, CUT: open_}, place)


def _labels(line: str, place: str, report: LoadReport) -> tuple[str, dict[str, str]]:
    """(what stands before the labels, label column -> raw label). Raises BadRowError."""
    found = _LABELS.search(line)
    rest = line[found.end() :] if found else ""
    glued = _GLUED.fullmatch(rest)
    if found is None or (rest.strip(" ,") and not glued):
        return _odd_labels(line)
    labels = {column: label.lower() for column, label in found.groupdict().items()}
    if glued:
        sentiment = labels["overall_sentiment"]
        report.warn("merged label", place, f"{shown((sentiment + rest).strip())}, read as {sentiment!r}")
    return line[: found.start()], labels


def _odd_labels(line: str) -> tuple[str, dict[str, str]]:
    """The last five cells, if most of them are what they should be: a task then misses only the label that is not."""
    head, *tail = line.rsplit(",", len(LEVELS))
    labels = {column: cell.strip(' "').lower() for column, cell in zip(LEVELS, tail, strict=False)}
    in_place = sum(label in LEVELS[column] for column, label in labels.items())
    if in_place > len(LEVELS) // 2:
        return head, labels
    known = [cell for cell in line.lower().split(",") if any(cell.strip(' "') in levels for levels in LEVELS.values())]
    if len(known) > 1:
        raise BadRowError("shifted row", f"found the labels {listed(known, 5)}; expected five at the end of the line")
    raise BadRowError("no label", f"expected five labels at the end of the line, such as {_example()}")


def _example() -> str:
    return ",".join(levels[0] for levels in LEVELS.values())


def _cuts(text: str, room: int) -> Iterator[tuple[tuple[str, bool], ...]]:
    """Every way to cut `text` into at most `room` cells of (text, whether its quote is closed), quoted cells tried first."""
    quoted = _QUOTED.match(text)
    if quoted:
        yield from _rest(text, quoted.end(), (quoted[1].replace('""', '"'), True), room)
    literal = _LITERAL.match(text)
    if literal:
        yield from _rest(text, literal.end(), (literal[0], not literal[0].startswith('"')), room)


def _rest(text: str, end: int, cell: tuple[str, bool], room: int) -> Iterator[tuple[tuple[str, bool], ...]]:
    if end == len(text):
        yield (cell,)
    elif room > 1:
        yield from ((cell, *others) for others in _cuts(text[end + 1 :], room - 1))
