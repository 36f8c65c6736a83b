"""What the tasks of MM-Soc (arXiv 2402.14154) share: prompts, scorers, metrics. Datasets name theirs by a key.

Three prompts, each without option letters:

* `paper`, the default: the words of Table 6, and the labels. Whether the authors named the labels in the prompt is not
  printed; we name them ("Answer with one of: hateful, not_hateful."), because an answer outside the labels cannot be read.
* `paper_no_labels`: the words of Table 6 and nothing else.
* `released_code`: the questions of the authors' public code (github.com/claws-lab/MMSoc, `TASK2QUESTION`). Misinformation
  and hate are answered with Yes or No, which `ChoiceScorer` reads as the label and its negation; the others name their labels.
  The code has nothing for `motivational` and the levels (their labels are named in the same manner), and for descriptions the
  words of the paper. Its wrapping "Question: ... Answer:" belongs to one model family and is left out.

Where Table 6 has [NEWS], or [TITLE] and [DESCRIPTION], the sample's context stands; the code's own way to add a text is
broken, and it is put after the question here. For `ocr` and the descriptions `paper` and `paper_no_labels` are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from eyetest.metrics import Accuracy, BalancedAccuracy, MacroF1, MacroPrecision, MacroRecall, Metric, SuccessRate
from eyetest.prompts import Prompt
from eyetest.tasks import standard
from eyetest.types import Kind, Scorer

CHOICES = (
    *("misinformation", "hate", "humor", "sarcasm", "offensiveness", "sentiment", "motivational"),
    *("humor_level", "sarcasm_level", "offensiveness_level"),
)
"""Keys of the tasks that choose among labels; `motivational` and the levels are not the paper's."""

KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(CHOICES, "choice"),
    "ocr": "transcription",
    "tagging": "labels",
    "image_description": "description",
    "social_context": "description",
}
"""Every key and what its answers are."""

_YES_NO = ("misinformation", "hate")
"""Keys that the authors' code asks for Yes or No."""

_CONTEXT = "{% if context %} {{ context }}{% endif %}"
_LISTED = "{{ options | map(attribute='text') | join(', ') }}"
_QUOTED = "'{{ options | map(attribute='text') | join(\"' or '\") }}'"

# Conditions change the question (`told_blind`) or take it away (`picture_only`), so the code's wording is made of it.
_CODE_QUESTION = (
    "{{ question | replace('the following news', 'this news (image-text pair)') | replace('the following meme', 'this meme') }}"
)

_LABELS_NAMED: Mapping[Kind, str] = {
    "choice": f"\nAnswer with one of: {_LISTED}.",
    "text": "\nAnswer with a word or a short phrase.",
    "labels": f"\nChoose from these tags: {_LISTED}.",
}
"""What `paper` adds to Table 6. `text` is a choice under `open_ended`."""


def _kinds(key: str) -> tuple[Kind, ...]:
    """The kinds of answer that a task meets, those that conditions make included."""
    kind = KINDS[key]
    return ("choice", "text") if kind == "choice" else (kind,)


def _code_ending(key: str, kind: Kind) -> str:
    """What the authors' code says after the question."""
    if kind == "choice":
        if key in _YES_NO:
            return " Answer 'Yes' or 'No'."
        return f" Answer {_QUOTED}" + ("" if key == "sentiment" else ".")  # the code has no full stop there
    endings: Mapping[Kind, str] = {
        "transcription": " Use double quotes to enclose your answer.",
        "labels": ' For example, "sports,tennis,french-open"',
    }
    return endings.get(kind, "")


def prompts(key: str) -> Mapping[str, Prompt]:
    """`paper`, `paper_no_labels` and `released_code` (see the module) of a task; the first is the default.

    key: one of `KINDS`; any other is a KeyError, as in all functions here.
    """
    asked = "{{ question }}" + _CONTEXT
    templates: Mapping[str, Mapping[Kind, str]] = {
        "paper": {kind: asked + _LABELS_NAMED.get(kind, "") for kind in _kinds(key)},
        "paper_no_labels": dict.fromkeys(_kinds(key), asked),
        "released_code": {kind: _CODE_QUESTION + _code_ending(key, kind) + _CONTEXT for kind in _kinds(key)},
    }
    return {name: Prompt(name, by_kind, lettered=False) for name, by_kind in templates.items()}


def scorers(key: str) -> Mapping[Kind, Scorer]:
    """How answers of a task are read; `text` is a choice under `open_ended`, where Yes is not read as a label."""
    made = standard.scorers(lettered=False)
    return {kind: made[kind] for kind in _kinds(key)}


_METRICS: Mapping[Kind, tuple[Metric, ...]] = {
    **standard.METRICS,
    # The paper leaves unread answers out: its F1, Acc and AUC (balanced accuracy) are those of policy `parsed_only`.
    "choice": (
        MacroF1(),
        MacroF1(policy="parsed_only"),
        Accuracy(),
        Accuracy(policy="parsed_only"),
        MacroPrecision(),
        MacroRecall(),
        BalancedAccuracy(),
        BalancedAccuracy(policy="parsed_only"),
        SuccessRate(),
    ),
}


def metrics(key: str) -> Mapping[Kind, tuple[Metric, ...]]:
    """What is computed for a task, by kind of answer; the first is the headline, both policies for unread answers beside it."""
    return {kind: _METRICS[kind] for kind in _kinds(key)}
