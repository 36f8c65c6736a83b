"""`eyetest knowledge`."""

from __future__ import annotations

from typing import Annotated

from eyetest.commands.grid import GridOptions, flag
from eyetest.commands.making import (
    AnswerIs,
    Column,
    Data,
    Dir,
    Format,
    Images,
    Limit,
    MaxTokens,
    ModelName,
    Out,
    Seed,
    Split,
    make_file,
)
from eyetest.evaluation.making import MakeSettings


def knowledge(
    data: Data,
    /,
    *,
    model: ModelName,
    out: Out,
    text_only: Annotated[bool, flag("Do not show the model the pictures; it goes by caption and entity.")] = False,
    captions: Annotated[str | None, flag("JSONL file of captions that the model is told: id, caption.")] = None,
    images: Images = None,
    column: Column = (),
    answer_is: AnswerIs = None,
    dir: Dir = None,
    format: Format = None,
    split: Split = None,
    limit: Limit = None,
    max_tokens: MaxTokens = 1024,
    seed: Seed = 0,
) -> int:
    """Let a model write every question as pure knowledge, for the condition `knowledge`: eyetest run --knowledge-file FILE.

    It is shown the question with its right answer and may say that a question cannot be converted. What gives the answer away,
    still speaks of the picture, or is two items' question with different answers is in the file with a flag, and is not asked.
    The same command again goes on where it stopped. Exit code 1 when some calls failed (run again to ask exactly for those), 2
    for a mistake in the command or the data.
    """
    options = GridOptions(
        images=images,
        column=column,
        answer_is=answer_is,
        dir=dir,
        format=format,
        split=split,
        limit=limit,
        seed=seed,
        captions=captions,
    )
    return make_file(data, model, MakeSettings("knowledge", not text_only, max_tokens), out, options)
