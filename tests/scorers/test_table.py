"""Every completion of the tables is read as a person would read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eyetest.scorers import ChoiceScorer, TextScorer
from eyetest.types import Sample, Score

FIXTURES = Path(__file__).parents[1] / "fixtures"
DISPUTED: Mapping[str, str] = {}
"""Blind label -> why the scorer reads it otherwise. Empty: all blind labels were accepted."""


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines() if line.strip()]


def score(row: Mapping[str, Any]) -> Score:
    sample = Sample(
        id=row["id"],
        question=row["question"],
        target=tuple(row["target"]),
        kind=row["kind"],
        choices=tuple(row["choices"]),
        metadata=row.get("metadata", {}),
    )
    scorer = ChoiceScorer() if row["kind"] == "choice" else TextScorer()
    return scorer(sample, row["completion"])


def agrees(row: Mapping[str, Any]) -> bool:
    found = score(row)
    same_answer = row["kind"] == "text" or found.answer == row["answer"]
    return same_answer and (found.status, found.value) == (row["status"], row["value"])


@pytest.mark.parametrize("row", rows("completions.jsonl"), ids=lambda row: row["id"])
def test_own_table(row: dict[str, Any]) -> None:
    assert agrees(row), (row["completion"], row["why"], score(row))


@pytest.mark.parametrize("row", rows("completions_blind.jsonl"), ids=lambda row: row["id"])
def test_blind_table(row: dict[str, Any]) -> None:
    assert agrees(row) is (row["id"] not in DISPUTED), (row["completion"], row["why"], score(row))


def test_table_is_wide_enough() -> None:
    table = rows("completions.jsonl")
    assert len(table) >= 150
    assert len({row["id"] for row in table}) == len(table)
    assert {row["status"] for row in table} == {"scored", "unparsed", "refused"}
    assert {row["value"] for row in table} == {0.0, 1.0}


def test_every_score_says_why() -> None:
    for row in rows("completions.jsonl"):
        found = score(row)
        assert found.rule.replace("_", "").isalpha(), (row["completion"], found)
        assert found.rule.islower()
        if found.status != "scored":
            assert (found.value, found.answer) == (0.0, None)
