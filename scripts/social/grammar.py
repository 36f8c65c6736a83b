"""What templates get wrong."""

from __future__ import annotations

import re


def mended(text: str) -> str:
    """`a` before a vowel becomes `an`; a sentence that begins with a quotation begins with a capital."""
    text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)
    return re.sub(r'((?:^|[.:] )")([a-z])', lambda found: found[1] + found[2].upper(), text)
