"""How tables, charts and sentences call what they are about: prompts and kinds of question are named where there are several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

KINDS: Mapping[str, str] = {
    "choice": "multiple choice",
    "labels": "sets of labels",
    "text": "short answers",
    "transcription": "transcriptions",
    "description": "descriptions",
}
"""Kind of question -> plain words."""

POLICIES: Mapping[str, str] = {"as_wrong": "unparsed as wrong", "parsed_only": "parsed only"}
"""What an answer that cannot be read counts as -> plain words."""


class _OfPrompt(Protocol):
    @property
    def prompt(self) -> str: ...


class _OfCell(_OfPrompt, Protocol):
    @property
    def condition(self) -> str: ...

    @property
    def kind(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Naming:
    """Whether a prompt and a kind must be named for a reader to know which is meant."""

    prompts: bool = False
    kinds: bool = False

    def words(self, prompt: str, kind: str = "") -> str:
        """`short answers, prompt terse`; empty where nothing need be named. kind: empty where several stand together."""
        parts = [KINDS.get(kind, kind)] * (self.kinds and bool(kind)) + [f"prompt {prompt}"] * self.prompts
        return ", ".join(parts)

    def of(self, thing: str, prompt: str, kind: str = "") -> str:
        """`thing (prompt terse)`, in short `thing (short answers, terse)`, or `thing` alone."""
        both = self.kinds and self.prompts and kind
        words = f"{KINDS.get(kind, kind)}, {prompt}" if both else self.words(prompt, kind)
        return f"{thing} ({words})" if words else thing


def of_cells(rows: Iterable[_OfCell]) -> Naming:
    """What must be named in rows of one task: a kind only where one condition has several, as others tell it themselves."""
    prompts: set[str] = set()
    kinds: dict[str, set[str]] = {}
    for row in rows:
        prompts.add(row.prompt)
        kinds.setdefault(row.condition, set()).add(row.kind)
    return Naming(len(prompts) > 1, any(len(of_condition) > 1 for of_condition in kinds.values()))


def of_prompts(rows: Iterable[_OfPrompt]) -> Naming:
    """What must be named in rows that are of one kind, or of all kinds together."""
    return Naming(len({row.prompt for row in rows}) > 1)


_SEPARATED = re.compile(r"[^\s/:,;=+@_-]*[\s/:,;=+@_-]*")


def folded(name: str, width: int) -> str:
    """`name` in lines of at most `width` characters, broken after separators, inside a word only where it is longer."""
    lines = [""]
    for piece in _SEPARATED.findall(name):
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1]:
            lines.append("")
        rest = lines.pop() + piece
        while len(rest.rstrip()) > width:
            lines.append(rest[:width])
            rest = rest[width:]
        lines.append(rest)
    return "\n".join(line.rstrip() for line in lines)
