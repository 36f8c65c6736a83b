"""`eyetest caption`."""

from __future__ import annotations

from eyetest.commands.grid import GridOptions
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


def caption(
    data: Data,
    /,
    *,
    model: ModelName,
    out: Out,
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
    """Let a model describe every picture in words, for the condition `caption`: eyetest run --captions FILE.

    It is shown the pictures and nothing of the question; equal pictures are described once. The same command again goes on where
    it stopped. Exit code 1 when some calls failed (run again to ask exactly for those), 2 for a mistake in the command or the
    data.
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
    )
    return make_file(data, model, MakeSettings("caption", max_tokens=max_tokens), out, options)
