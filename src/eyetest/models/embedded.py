"""The tiny model that ships with eyetest."""

from __future__ import annotations

from collections.abc import Mapping

from eyetest.eyechart import MODEL
from eyetest.models.huggingface import hf
from eyetest.types import Model


def eyechart(argument: str, options: Mapping[str, str], seed: int) -> Model:
    """The embedded model: a tiny LLaVA whose model card says what it sees and knows.

    Takes the options of `hf`. Raises as `hf` does, MissingExtraError above all.
    """
    model = hf(f"{MODEL}{argument and ','}{argument}", options, seed)
    model.name = "eyechart"
    return model
