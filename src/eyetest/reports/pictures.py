"""Pictures of sample cards as small `data:` URIs, or the reason why there is none."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from eyetest import images
from eyetest.errors import BadImageError
from eyetest.evaluation.rundir import kept_picture
from eyetest.reports.untrusted import clean
from eyetest.types import Image

LONGEST_SIDE = 256
"""Pixels of an embedded picture."""

JPEG_QUALITY = 82


@dataclass(frozen=True, slots=True)
class Policy:
    """Whether pictures of a task may stand in the page."""

    embed: bool
    reason: str
    """Why not; empty where they may."""
    directory: Path = Path()
    """The run's, which keeps the pictures that were given as bytes."""


def policy(card: Mapping[str, Any], directory: Path, *, embed_pictures: bool, redact: bool) -> Policy:
    """The rule for one task. card: its card as in the manifest, where what is not stated is not allowed."""
    if redact:
        return Policy(False, "left out (--redact)")
    if embed_pictures or card.get("redistributable") is True:
        return Policy(True, "", directory)
    return Policy(False, "picture not embedded: its dataset does not state that it may be passed on (see --embed-pictures)")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as the page shows it: a source or the reason why there is none."""

    source: Markup | None
    reason: str = ""


def drawn(image: Image | None, rule: Policy) -> Drawn:
    """The picture scaled down; never an error, because a report must not fail for a file that moved."""
    if image is None:
        return Drawn(None, "no picture")
    if not rule.embed:
        return Drawn(None, rule.reason)
    try:
        uri = _small(kept_picture(rule.directory, image))
    except BadImageError as error:
        return Drawn(None, clean(str(error), 300))
    return Drawn(Markup(uri))  # noqa: S704 (base64 of our own encoder)


def missing(pictures: Iterable[Image], rule: Policy) -> set[str]:
    """Paths of the pictures that should be shown and are not there; container files included."""
    if not rule.embed:
        return set()
    paths = {kept_picture(rule.directory, picture).path for picture in pictures}
    return {path for path in paths if path is not None and not os.path.exists(path)}


def _small(image: Image) -> str:
    """The picture as PNG, or as JPEG where that is shorter. Always encoded anew: no foreign bytes or metadata reach the page."""
    picture = images.decode(image)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    png, jpeg = io.BytesIO(), io.BytesIO()
    picture.save(png, "PNG", optimize=True)
    picture.save(jpeg, "JPEG", quality=JPEG_QUALITY, optimize=True)
    # JPEG blurs drawings, so it must save much.
    kind, data = ("jpeg", jpeg) if 2 * jpeg.tell() < png.tell() else ("png", png)
    return f"data:image/{kind};base64,{base64.b64encode(data.getvalue()).decode('ascii')}"
