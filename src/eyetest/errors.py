"""Users' mistakes. Every message names the thing, the place, what was expected and the way out.

Bugs are not these: they crash with a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EyetestError(Exception):
    """Something the user can mend. The command line prints the message without a traceback and exits with 2."""


class UsageError(EyetestError):
    """An argument, a run file or a name is wrong."""


class DataError(EyetestError):
    """A dataset file is wrong."""


class BadImageError(EyetestError):
    """One picture cannot be shown. Becomes a response with status `bad_image`; never ends a run."""


class ModelError(EyetestError):
    """A model cannot be built or reached at all (no such checkpoint, wrong key)."""


class StoreError(EyetestError):
    """A run directory or a cache cannot be read or written."""


class MissingExtraError(EyetestError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package!r}, which is not installed. Install it with: pip install 'eyetest[{extra}]'"
        )


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for a near miss, else an empty string; made to be appended to a message."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown(thing: str, word: str, known: Iterable[str], where: str = "") -> UsageError:
    """The one form of every "no such name" error.

    thing: what the name should be, e.g. "condition"; where: the file or option it stands in.
    """
    names = sorted(known)
    place = f" in {where}" if where else ""
    return UsageError(f"Unknown {thing} {word!r}{place}.{nearest(word, names)} Known: {', '.join(names)}.")


SHOWN = 80
"""Longest value in an error message, in characters."""


def shown(value: object) -> str:
    """A value in an error message, at most `SHOWN` characters."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def message_of(error: BaseException) -> str:
    """The message of somebody else's exception, whose `__str__` may itself raise anything."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  a stranger's `__str__`: an error about an error would hide the first
        return "(its message cannot be shown)"
