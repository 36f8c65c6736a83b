"""`eyetest knowledge`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.grid import flag
from eyetest.commands.making import Data, MaxTokens, ModelName, Out, Source, make_file
from eyetest.evaluation.making import MakeSettings


def knowledge(
    data: Data,
    /,
    *,
    model: ModelName,
    out: Out,
    text_only: Annotated[bool, flag("Do not show the model the pictures; it goes by caption and entity.")] = False,
    captions: Annotated[str | None, flag("JSONL file of captions that the model is told: id, caption.")] = None,
    source: Annotated[Source, Parameter(name="*")] = Source(),  # noqa: B008 (frozen)
    max_tokens: MaxTokens = 1024,
) -> int:
    """Let a model write every question as pure knowledge, for the condition `knowledge`: eyetest run --knowledge-file FILE.

    It is shown the question with its right answer and may say that a question cannot be converted. What gives the answer away,
    still speaks of the picture, or is two items' question with different answers is in the file with a flag, and is not asked.
    The same command again goes on where it stopped. Exit code 1 when some calls failed (run again to ask exactly for those), 2
    for a mistake in the command or the data.
    """
    return make_file(data, model, MakeSettings("knowledge", not text_only, max_tokens), out, source, captions=captions)
