"""Lists that a file without lists (CSV, TSV, XLSX) spells as text."""

from __future__ import annotations

import ast
import io
import itertools
import json
import re
import tokenize
import warnings
from typing import Any

from eyetest.readers.row import too_deep

_NEIGHBOURS = re.compile(r"""['"]\s+['"]""")


def json_list(text: str) -> list[Any] | None:
    """The list that a text spells in JSON, None if it is not one."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if _encodable(value) and not too_deep(value) else None


def python_list(text: str) -> list[Any]:
    """The items of a Python list or tuple such as `['a', 'b']`.

    Raises ValueError saying why not. `['a' 'b']`, as NumPy prints an array, is refused: Python would join the two texts.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LaTeX in the texts has backslashes that Python does not know
            value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        value = None
    if not isinstance(value, list | tuple) or too_deep(value) or not _encodable(value):
        raise ValueError("expected a list")
    if _NEIGHBOURS.search(text) and _joins_texts(text):
        raise ValueError("two texts without a comma between them")
    return list(value)


def _joins_texts(text: str) -> bool:
    tokens = tokenize.generate_tokens(io.StringIO(text.strip()).readline)
    kinds = [token.type for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE)]
    return any(first == second == tokenize.STRING for first, second in itertools.pairwise(kinds))


def _encodable(items: list[Any] | tuple[Any, ...]) -> bool:
    """False if an escape such as `\\ud800` made half a character, which no UTF-8 file can hold."""
    try:
        "".join(item for item in items if isinstance(item, str)).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
