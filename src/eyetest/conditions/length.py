"""How much text the model is given: `truncated@N` leaves the first N tokens.

The input lengths of MM-Soc's Figure 3 (arXiv 2402.14154), as a line of a run file:

    conditions = ["truncated@16", "truncated@32", "truncated@64", "truncated@128", "truncated@256", "truncated@512"]

What is cut is the context, i.e. the text that belongs to the question, not the question. Words of the picture that
`text_only` or `image_text` tell (in whichever order the steps are written) are part of it, after the sample's own text; the
sentence that announces them does not count. Spacing stays as it is up to the cut, and nothing is added after it. A sample
with no more than N tokens, or with no text at all, is asked as it is.

Tokens are what white space parts. `truncated@N,tokenizer=PATH` counts those of a `tokenizer.json` instead (package
`tokenizers`; no special tokens): languages written without spaces need one. PATH is relative to where the command runs
and may hold neither `,` nor `+`. A character that is several tokens is kept only if all of them are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random

from eyetest.conditions.compose import ConditionCard
from eyetest.conditions.pool import Pool
from eyetest.conditions.words import joined, parted
from eyetest.errors import MissingExtraError, UsageError
from eyetest.registry import split_spec
from eyetest.types import Condition, Sample

Cut = Callable[[str, int], tuple[str, int]]
"""(text, n >= 1) -> (its first n tokens with the spacing between them, or all of it; how many tokens that is)."""

PARAMETER = "N[,tokenizer=whitespace|PATH]"

_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


def _words(text: str, n: int) -> tuple[str, int]:
    ends = [found.end() for found in islice(_WORD.finditer(text), n + 1)]
    return (text[: ends[n - 1]], n) if len(ends) > n else (text, len(ends))


@lru_cache(maxsize=8)
def _of_tokenizer(path: str) -> Cut:
    """Counts the tokens of a `tokenizer.json`. Raises MissingExtraError, and UsageError for a file that is none."""
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:
        raise MissingExtraError("tokenizers", "hf", f"Condition 'truncated' with tokenizer={path}") from None
    if not Path(path).is_file():
        raise UsageError(
            f"Condition 'truncated': tokenizer={path!r} is no file. Name a tokenizer.json, or leave tokenizer out to count words."
        )
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the package raises nothing narrower
        raise UsageError(
            f"Condition 'truncated': tokenizer={path!r} cannot be read: {error}. It takes the tokenizer.json of a model."
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def cut(text: str, n: int) -> tuple[str, int]:
        # Lone surrogates, which tokenizers refuse, count as question marks: one character either way.
        spans = tokenizer.encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False).offsets
        if len(spans) <= n:
            return text, len(spans)
        (start, end), following = spans[n - 1], spans[n][0]
        # Byte-level tokens: the next one may be the rest of the last character.
        return text[: following if start <= following < end else end], n

    return cut


def _read(parameter: str) -> tuple[int, Cut]:
    """N and how to count. Raises UsageError, MissingExtraError."""
    number, options = split_spec(parameter, {"tokenizer": str}, what="Condition 'truncated'")
    if not _NUMBER.fullmatch(number.strip()):
        raise UsageError(
            f"Condition 'truncated@{parameter}': expected truncated@{PARAMETER} with a whole number N of tokens, 1 or more, "
            f"found {number.strip()!r}. Write, for example, truncated@64."
        )
    tokenizer = options.get("tokenizer", "whitespace")
    return int(number), _words if tokenizer == "whitespace" else _of_tokenizer(tokenizer)


def _truncated(parameter: str, _pool: Pool) -> Condition:
    most, cut = _read(parameter)

    def condition(sample: Sample, _random: Random) -> tuple[Sample, ...]:
        own, words = parted(sample)
        kept, used = cut(own, most) if own else (own, 0)
        told = cut(words, most - used)[0] if words and used < most else None
        return (replace(sample, context=joined(kept, told)),)

    return condition


truncated = ConditionCard(
    "the first N tokens of the text that belongs to the question; shorter texts are asked as they are",
    _truncated,
    changes=frozenset({"length"}),
    needs=frozenset({"question"}),
    parameter=PARAMETER,
)
