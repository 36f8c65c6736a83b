"""JSON in UTF-8. A lone surrogate, which is no Unicode text but which a file name or a model may hold, stands in it as the
escape `\\ud800` and is read back as it was.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import orjson


def dumps(value: Any, options: int = 0) -> bytes:
    """JSON bytes. options: as orjson takes them."""
    try:
        return orjson.dumps(value, default=_fallback, option=options)
    except orjson.JSONEncodeError:
        # Lone surrogates and integers over 64 bits are beyond orjson. NaN, which orjson writes as null, is no JSON.
        plain = json.loads(json.dumps(value, default=_fallback), parse_constant=lambda _: None)
        end = "\n" if options & orjson.OPT_APPEND_NEWLINE else ""
        indent = 2 if options & orjson.OPT_INDENT_2 else None
        return (json.dumps(plain, indent=indent, separators=None if indent else (",", ":")) + end).encode("ascii")


def _fallback(value: Any) -> Any:
    """What stands for a value that JSON lacks. A sample's metadata may hold anything, and must not end a run."""
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return asdict(value)
    return str(value)


def to_json(value: Any, *, indent: bool = False) -> bytes:
    """JSON bytes; nan and infinities become null, frozen records become objects, whatever JSON lacks becomes its text."""
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return dumps(value, options | (orjson.OPT_INDENT_2 if indent else 0))


def from_json(data: bytes) -> Any:
    """The inverse of `to_json`. Raises ValueError on what is not JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\ud" not in data.lower():
            raise
        try:
            return json.loads(data)
        except RecursionError:
            raise ValueError("it is nested too deep") from None


def number(value: float) -> float | str:
    """A number as the journal holds it: nan and infinities, which JSON lacks, as text that `float` reads."""
    plain = float(value)
    return plain if math.isfinite(plain) else str(plain)
