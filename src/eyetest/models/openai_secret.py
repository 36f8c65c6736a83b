"""The key must reach no file: it is taken out of everything a server says, in whatever spelling a server may repeat it."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from html.entities import html5
from urllib.parse import urlsplit

SHORTEST = 8
"""Characters of the shortest text that can be a secret. Local servers take `none` or `EMPTY`, which answers may well hold."""
HIDDEN = "[key]"
"""What stands in the key's place."""

_ESCAPES = re.compile(r"[\\&%=]")
"""Without one of these a text holds no escaped character."""


def scrub(text: str, key: str | None) -> str:
    """`text` without the key: plain, escaped (JSON, HTML, URL, quoted-printable; also twice), in base64 or in hexadecimal.

    A key under `SHORTEST` characters is no secret and stays.
    """
    if key is None or len(key) < SHORTEST:
        return text
    for form in _forms(key):
        text = text.replace(form, HIDDEN)
    return _escaped(key).sub(HIDDEN, text) if _ESCAPES.search(text) else text


@lru_cache(maxsize=64)
def _forms(key: str) -> tuple[str, ...]:
    """The key, its hexadecimal forms, and what every base64 text that holds the key must hold."""
    raw = key.encode()
    found = [key, raw.hex(), raw.hex().upper()]
    for before in range(3):  # how many bytes of other text stand in the group of three in which the key begins
        text = base64.b64encode(b"\0" * before + raw).rstrip(b"=").decode()
        # Characters at either end mix bits of the key with bits of its neighbours.
        inner = text[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6]
        found += [inner, inner.replace("+", "-").replace("/", "_")]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=64)
def _escaped(key: str) -> re.Pattern[str]:
    """The key and its base64 forms with any of their characters escaped, whichever they are and however often."""
    return re.compile("|".join("".join(map(_spellings, form)) for form in _forms(key)))


@lru_cache(maxsize=256)
def _spellings(character: str) -> str:
    """A pattern for one ASCII character: itself or an escape of it. `%2525` and `&amp;#45;` are escapes of escapes."""
    code = ord(character)
    digits = f"(?i:{code:02x})"
    entities = "|".join(sorted(re.escape(name.rstrip(";")) for name, text in html5.items() if text == character))
    named = f"|{entities}" if entities else ""
    # The repetitions are bounded, or a long run of backslashes would take quadratic time.
    return (
        rf"(?:\\{{0,8}}{re.escape(character)}|\\{{1,8}}(?:u00|x|u\{{0{{0,4}}){digits}\}}?|=(?:3D){{0,4}}{digits}"
        rf"|%(?:25){{0,4}}{digits}"
        rf"|&(?:amp;){{0,4}}(?:#0{{0,6}}{code}(?!\d)|#[xX]0{{0,6}}{digits}(?![0-9a-fA-F]){named});?)"
    )


def server_of(url: str) -> str:
    """Scheme, host and port of a web address: what a message may show of one that may hold a name and a password."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port is not None else ""
        host = parts.hostname or ""
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
