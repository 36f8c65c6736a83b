"""Things that stand about: each on (0, 0), at most 40 units wide and high. The colour is that of its main part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import getmembers, isfunction

import indoors
import outdoors
from pen import Colour, Pen

THINGS: dict[str, Callable[[Pen, Colour], None]] = {
    "good_score": partial(outdoors.scoreboard, digits=("3", "0")),
    "bad_score": partial(outdoors.scoreboard, digits=("0", "9")),
    "bin": outdoors.bin_,
    **{
        name: draw
        for module in (indoors, outdoors)
        for name, draw in getmembers(module, isfunction)
        if draw.__module__ == module.__name__ and name not in ("scoreboard", "bin_", "_digit")
    },
}
"""Name -> how it is drawn."""
