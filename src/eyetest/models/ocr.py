"""The words in a picture, read by RapidOCR 3 (https://github.com/RapidAI/RapidOCR): PP-OCR detection and recognition.

Its weights are part of the wheel, so reading needs no network; it runs on one thread of the CPU. Two of its settings differ:

* pictures are scaled down to a longest side of 960 pixels for detection, instead of up to a shortest side of 736: a third of
  the time (0.3 s of CPU for 500 x 400 pixels), and as few errors in captions of memes;
* lines are not tested for standing on their heads, which turned round upright lines of capitals more often than it helped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

from eyetest import images
from eyetest.errors import MissingExtraError
from eyetest.types import Image

if TYPE_CHECKING:
    import numpy as np

MAX_TEXTS = 50_000
"""Pictures whose words are remembered; then the one read first is forgotten first."""

MAX_ASPECT = 100
"""A picture longer than this many times its width holds no words: within RapidOCR's 2,000 pixels it is thinner than a letter."""

PACKAGES = ("rapidocr", "onnxruntime")
"""What reading needs, as in the extra `text`."""

_SETTINGS = {
    "Global.use_cls": False,
    "Global.log_level": "critical",  # it warns of every picture without words
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


class Piece(NamedTuple):
    """A run of words and the box around it, in pixels from the upper left corner."""

    text: str
    left: float
    top: float
    bottom: float


Engine = Callable[["np.ndarray[Any, Any]"], Sequence[Piece]]
"""Finds the words in a picture: (height, width, 3) RGB of 8 bits -> pieces in any order."""


def missing() -> str | None:
    """The package that reading needs and that is not installed; None if there is none."""
    return next((package for package in PACKAGES if not installed(package)), None)


def installed(package: str) -> str:
    """Version of an installed package; an empty text if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


class PictureReader:
    """Reads the words of pictures: each picture once, known again by its bytes and operations.

    load: makes what finds the words; called with the first picture that must be searched. RapidOCR when left out.
    """

    def __init__(self, load: Callable[[], Engine] | None = None) -> None:
        self._load = rapidocr_engine if load is None else load
        self._engine: Engine | None = None
        self._texts: dict[tuple[str, tuple[str, ...]], str] = {}

    def read(self, image: Image) -> str:
        """The words in reading order, one line a line; empty if there are none.

        Raises BadImageError if the picture cannot be decoded, MissingExtraError without the packages.
        """
        key = (images.digest(image), image.operations)
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = self._read(image)
            if len(self._texts) > MAX_TEXTS:
                del self._texts[next(iter(self._texts))]
        return found

    def close(self) -> None:
        """Free the engine; what was read stays."""
        self._engine = None

    def _read(self, image: Image) -> str:
        import numpy as np

        picture = images.decode(image)
        # A grey picture stands for none in half of all conditions, and need not be searched.
        flat = all(low == high for low, high in picture.getextrema())  # type: ignore[misc]
        if flat or max(picture.size) > MAX_ASPECT * min(picture.size):
            return ""
        if self._engine is None:
            self._engine = self._load()
        return "\n".join(in_lines(self._engine(np.asarray(picture))))


def in_lines(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """The lines of a picture from top to bottom, each with its pieces from left to right.

    Two pieces stand in one line if their centres differ by less than half of the lower one's height.
    """
    lines: list[list[Piece]] = []
    for piece in sorted(pieces, key=_centre):
        if lines and abs(_centre(piece) - _centre(lines[-1][-1])) < min(_height(piece), _height(lines[-1][-1])) / 2:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return tuple(" ".join(piece.text.strip() for piece in sorted(line, key=lambda piece: piece.left)) for line in lines)


def _centre(piece: Piece) -> float:
    return (piece.top + piece.bottom) / 2


def _height(piece: Piece) -> float:
    return piece.bottom - piece.top


def rapidocr_engine() -> Engine:
    """RapidOCR with the weights in its wheel. Raises MissingExtraError if a package is missing."""
    lacks = missing()
    if lacks is not None:
        raise MissingExtraError(lacks, "text", "Reading the words in pictures")
    from rapidocr import RapidOCR

    reader: Any = RapidOCR(params=_SETTINGS)

    def engine(picture: np.ndarray[Any, Any]) -> Sequence[Piece]:
        found = reader(picture[:, :, ::-1])  # it wants BGR
        if found.txts is None:
            return ()
        return [
            Piece(text, float(box[:, 0].min()), float(box[:, 1].min()), float(box[:, 1].max()))
            for text, box in zip(found.txts, found.boxes, strict=True)
        ]

    return engine
