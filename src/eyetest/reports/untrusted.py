"""Texts of datasets and models as a page may show them: visible, harmless, of bounded length.

Escaping is jinja2's work (autoescape); here is what escaping does not cover: NULs and control characters, characters that
turn or hide text, and sheer length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

NAME_LENGTH = 120
"""Characters shown of a name: model, sample id, label, file."""

TEXT_LENGTH = 1500
"""Characters shown of a question, prompt or completion."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]"
)
"""Characters that show nothing or turn the text around. The joiners are part of the spelling of Persian, Indic scripts and
emoji, so they are only named where they stand after an ASCII character."""


def clean(text: str, limit: int = TEXT_LENGTH) -> str:
    """At most `limit` characters; control characters left out, hidden and turning ones named as `[U+202E]`."""
    text = _CONTROL.sub("", text[:limit].replace("\r\n", "\n").replace("\r", "\n"))
    return _HIDDEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", _SURROGATE.sub("\ufffd", text))


@dataclass(frozen=True, slots=True)
class Said:
    """A text from outside, cut at a stated length. Renders itself isolated from the text around it (`<bdi>`)."""

    text: str
    """Cleaned, at most `limit` characters of the original."""
    length: int
    """Characters of the original."""
    limit: int

    def __html__(self) -> Markup:
        body = Markup('<bdi dir="auto">{}</bdi>').format(self.text)
        if self.length <= self.limit:
            return body
        return body + Markup('<span class="cut"> … first {:,} of {:,} characters</span>').format(self.limit, self.length)


def said(text: str, limit: int = TEXT_LENGTH) -> Said:
    """`text` as the page shows it."""
    return Said(clean(text, limit), len(text), limit)


def name(text: str) -> Said:
    """A name as the page shows it."""
    return said(text, NAME_LENGTH)


def plain(value: object) -> object:
    """What jinja2 calls with every value before it escapes it: no text reaches the page uncleaned."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value, 100 * TEXT_LENGTH)
    return value


def link(url: str) -> Markup:
    """A web address as a link; anything but http(s) as plain text."""
    shown = escape(clean(url, 300))
    if not re.fullmatch(r"https?://[^\s\"'<>\\]+", url):
        return shown
    return Markup('<a href="{}" rel="noreferrer noopener">{}</a>').format(clean(url, 2000), shown)
