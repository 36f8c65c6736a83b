"""Names that a run file spells as strings: tasks, conditions, models.

A name maps to `module:attribute`, imported on first use, so that listing names costs nothing and a heavy package is
only imported by those who use it. Plug-ins add names through the entry-point groups `eyetest.tasks`,
`eyetest.conditions` and `eyetest.models`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

from eyetest.errors import EyetestError, UsageError, nearest, unknown

Group = Literal["tasks", "conditions", "models"]

BUILT_IN: Mapping[Group, Mapping[str, str]] = {
    "tasks": {
        "eyechart_shapes": "eyetest.tasks.eyechart:eyechart_shapes",
        "eyechart_words": "eyetest.tasks.eyechart:eyechart_words",
        "eyechart_flags": "eyetest.tasks.eyechart:eyechart_flags",
        "politifact": "eyetest.tasks.fakenewsnet:politifact",
        "gossipcop": "eyetest.tasks.fakenewsnet:gossipcop",
        "hateful_memes": "eyetest.tasks.hateful_memes:hateful_memes",
        "memotion_humor": "eyetest.tasks.memotion:memotion_humor",
        "memotion_sarcasm": "eyetest.tasks.memotion:memotion_sarcasm",
        "memotion_offensiveness": "eyetest.tasks.memotion:memotion_offensiveness",
        "memotion_sentiment": "eyetest.tasks.memotion:memotion_sentiment",
        "youtube_tagging": "eyetest.tasks.youtube:youtube_tagging",
        "memotion_ocr": "eyetest.tasks.memotion:memotion_ocr",
        "hateful_memes_ocr": "eyetest.tasks.hateful_memes:hateful_memes_ocr",
        "memotion_image_description": "eyetest.tasks.memotion:memotion_image_description",
        "hateful_memes_image_description": "eyetest.tasks.hateful_memes:hateful_memes_image_description",
        "memotion_social_context": "eyetest.tasks.memotion:memotion_social_context",
        "hateful_memes_social_context": "eyetest.tasks.hateful_memes:hateful_memes_social_context",
        "memotion_motivational": "eyetest.tasks.memotion:memotion_motivational",
        "memotion_humor_level": "eyetest.tasks.memotion:memotion_humor_level",
        "memotion_sarcasm_level": "eyetest.tasks.memotion:memotion_sarcasm_level",
        "memotion_offensiveness_level": "eyetest.tasks.memotion:memotion_offensiveness_level",
        "viquae": "eyetest.tasks.viquae:viquae",
        "infoseek": "eyetest.tasks.infoseek:infoseek",
        "scienceqa": "eyetest.tasks.scienceqa:scienceqa",
        "mmmu": "eyetest.tasks.mmmu:mmmu",
    },
    "conditions": {
        "image": "eyetest.conditions.image:image",
        "no_image": "eyetest.conditions.image:no_image",
        "told_blind": "eyetest.conditions.image:told_blind",
        "blank": "eyetest.conditions.image:blank",
        "blurred": "eyetest.conditions.image:blurred",
        "swapped": "eyetest.conditions.image:swapped",
        "caption": "eyetest.conditions.image:caption",
        "text_only": "eyetest.conditions.words:text_only",
        "image_text": "eyetest.conditions.words:image_text",
        "knowledge": "eyetest.conditions.knowledge:knowledge",
        "options_only": "eyetest.conditions.options:options_only",
        "picture_only": "eyetest.conditions.options:picture_only",
        "shuffled": "eyetest.conditions.options:shuffled",
        "rotated": "eyetest.conditions.options:rotated",
        "open_ended": "eyetest.conditions.options:open_ended",
        "truncated": "eyetest.conditions.length:truncated",
    },
    "models": {
        "oracle": "eyetest.models.baselines:oracle",
        "chance": "eyetest.models.baselines:chance",
        "majority": "eyetest.models.baselines:majority",
        "constant": "eyetest.models.baselines:constant",
        "scripted": "eyetest.models.scripted:scripted",
        "phantom": "eyetest.models.phantom:phantom",
        "ocr_linear": "eyetest.models.ocr_linear:ocr_linear",
        "eyechart": "eyetest.models.embedded:eyechart",
        "hf": "eyetest.models.huggingface:hf",
        "openai": "eyetest.models.openai_api:openai",
        "command": "eyetest.models.command:command",
    },
}


@cache
def names(group: Group) -> Mapping[str, str]:
    """Every known name of a group and where it is found, plug-ins included. A plug-in may not take a built-in's name."""
    found = dict(BUILT_IN[group])
    for point in entry_points(group=f"eyetest.{group}"):
        if point.name in found:
            raise UsageError(
                f"The plug-in {point.value!r} registers the {group[:-1]} {point.name!r}, which is already {found[point.name]!r}. "
                f"Rename it in the plug-in's entry point."
            )
        found[point.name] = point.value
    return found


def load(group: Group, name: str, where: str = "") -> Any:
    """Import what `name` stands for. Raises UsageError that names the nearest known name, or says why a plug-in is broken."""
    known = names(group)
    if name not in known:
        raise unknown(group[:-1], name, known, where)
    if name in BUILT_IN[group]:
        return _imported(known[name])
    try:
        return _imported(known[name])
    except EyetestError:
        raise
    except Exception as error:  # a stranger's module may raise anything; what is broken is theirs, not ours
        raise UsageError(
            f"The plug-in {known[name]!r} for the {group[:-1]} {name!r} cannot be loaded: {type(error).__name__}: {error}. "
            f"Mend it, or uninstall its package."
        ) from error


def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def split_spec(spec: str, options: Mapping[str, type], *, what: str, free_text: bool = False) -> tuple[str, dict[str, Any]]:
    """Split `ARGUMENT,key=value,...` into the argument and its typed options.

    options: known keys and their types (str, int, float, bool); what: the model or condition, for error messages;
    free_text: the argument may itself hold `,word=...`, so only trailing parts with a known key are options.
    Raises UsageError on an unknown key or a value of the wrong type.
    """
    parts = spec.split(",")
    found: dict[str, Any] = {}
    while parts:
        key, equals, value = parts[-1].partition("=")
        key = key.strip()
        if not equals or not key.isidentifier() or (free_text and key not in options):
            break
        found.setdefault(key, typed(key, value.strip(), options, what=what))
        parts.pop()
    return ",".join(parts), dict(reversed(found.items()))


def typed(key: str, value: str, options: Mapping[str, type], *, what: str) -> Any:
    """`value` as the type that `options` declares for `key`."""
    if key not in options:
        raise UsageError(f"{what} has no option {key!r}.{nearest(key, options)} Known: {', '.join(sorted(options)) or 'none'}.")
    kind = options[key]
    try:
        if kind is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[value.lower()]
        return kind(value)
    except (ValueError, KeyError):
        expected = (
            "true or false" if kind is bool else {"int": "a whole number", "float": "a number"}.get(kind.__name__, kind.__name__)
        )
        raise UsageError(f"{what}: option {key}={value!r} is not {expected}.") from None
