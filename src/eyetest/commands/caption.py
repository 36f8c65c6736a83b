"""`eyetest caption`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.making import Data, MaxTokens, ModelName, Out, Source, make_file
from eyetest.evaluation.making import MakeSettings


def caption(
    data: Data,
    /,
    *,
    model: ModelName,
    out: Out,
    source: Annotated[Source, Parameter(name="*")] = Source(),  # noqa: B008 (frozen)
    max_tokens: MaxTokens = 1024,
) -> int:
    """Let a model describe every picture in words, for the condition `caption`: eyetest run --captions FILE.

    It is shown the pictures and nothing of the question; equal pictures are described once. The same command again goes on where
    it stopped. Exit code 1 when some calls failed (run again to ask exactly for those), 2 for a mistake in the command or the
    data.
    """
    return make_file(data, model, MakeSettings("caption", max_tokens=max_tokens), out, source)
