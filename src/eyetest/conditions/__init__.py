"""What the model is shown of a sample. Conditions need no model and no network."""

from eyetest.conditions.compose import (
    Composed,
    ConditionCard,
    Step,
    about_pictures,
    build,
    canonical,
    contradiction,
    needs_pool,
    parse,
    whole_conditions,
)
from eyetest.conditions.pool import Pool, rank

__all__ = [
    "Composed",
    "ConditionCard",
    "Pool",
    "Step",
    "about_pictures",
    "build",
    "canonical",
    "contradiction",
    "needs_pool",
    "parse",
    "rank",
    "whole_conditions",
]
