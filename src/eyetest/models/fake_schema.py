"""A completion in the format that a request asks for: JSON, perhaps of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson


def formatted(response_format: Any, text: str) -> str:
    """A completion in the format asked for: itself if it is a JSON object, else one that holds it."""
    if not isinstance(response_format, Mapping) or response_format.get("type") not in ("json_object", "json_schema"):
        return text
    try:
        if isinstance(orjson.loads(text), dict):
            return text
    except orjson.JSONDecodeError:
        pass
    described = response_format.get("json_schema")
    schema = described.get("schema") if isinstance(described, Mapping) else None
    return orjson.dumps({"answer": text} if schema is None else fitting(schema, text)).decode()


def fitting(schema: Any, text: str) -> Any:
    """A value that fits a simple JSON schema (types, properties, enum, const, anyOf) and is or holds `text` where it can."""
    if not isinstance(schema, Mapping):
        return text
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return text if text in schema["enum"] else schema["enum"][0]
    if schema.get("anyOf"):
        return fitting(schema["anyOf"][0], text)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return {name: fitting(part, text) for name, part in schema.get("properties", {}).items()}
    return {"array": [], "boolean": True, "integer": 0, "number": 0.0, "null": None}.get(str(kind), text)
