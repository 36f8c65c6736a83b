"""The question as pure knowledge."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from eyetest.conditions.compose import ConditionCard
from eyetest.conditions.image import without_picture
from eyetest.conditions.pool import Pool
from eyetest.types import Condition, Sample


def _knowledge(_parameter: str, _pool: Pool) -> Condition:
    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        if not sample.knowledge_question:
            return ()
        bare = without_picture(sample)
        return (replace(bare, question=sample.knowledge_question, shown=replace(bare.shown, asks="knowledge")),)

    return condition


knowledge = ConditionCard(
    "(∅,K): the knowledge question instead of picture and question; samples without one do not apply",
    _knowledge,
    changes=frozenset({"picture", "question"}),
    removes=frozenset({"picture"}),
)
