"""Conditions by name: `no_image`, `no_image+shuffled`, `rag@5`; which compose and which cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from eyetest import registry
from eyetest.conditions.pool import Pool
from eyetest.errors import UsageError
from eyetest.types import Condition, Sample


@dataclass(frozen=True, slots=True)
class ConditionCard:
    """A condition as it stands in the registry."""

    summary: str
    """One line for `eyetest list conditions`."""
    build: Callable[[str, Pool], Condition]
    """Makes the condition from its parameter text (after `@`) and the split; called once per task."""
    changes: frozenset[str] = frozenset()
    """What it decides: `picture`, `question`, `options`, `order`, `words` (of the picture), `length` (of the text), `caption`.

    Two conditions cannot decide the same thing.
    """
    needs: frozenset[str] = frozenset()
    """What must still be there after all the others: `picture`, `question`, `options`."""
    removes: frozenset[str] = frozenset()
    """What is gone afterwards."""
    needs_pool: bool = False
    """Whether it looks at other samples."""
    parameter: str = ""
    """What stands after `@`, for help; empty when it takes none."""
    normal: Callable[[str], str] | None = None
    """Checks the parameter and writes equal ones alike (`.02`, `0.02`); where there is none, `build` checks it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One name of a composed condition."""

    name: str
    parameter: str
    card: ConditionCard

    @property
    def text(self) -> str:
        """The step as it is written."""
        return f"{self.name}@{self.parameter}" if self.parameter else self.name


@dataclass(frozen=True, slots=True)
class Composed:
    """A condition of one or more steps, built for one task."""

    name: str
    """Canonical name."""
    steps: tuple[tuple[str, Condition], ...]
    """Step text and condition, left to right."""

    def apply(self, sample: Sample, *, seed: int, task: str) -> tuple[Sample, ...]:
        """What the model is shown of `sample`; `()` when the condition does not apply.

        Each step draws from its own generator keyed by seed, task, step, variant and sample id, so that `shuffled` and
        `no_image+shuffled` show the same order and neither depends on other samples.
        """
        shown: tuple[Sample, ...] = (sample,)
        for text, condition in self.steps:
            shown = tuple(
                made
                for variant, one in enumerate(shown)
                for made in condition(one, _random(f"{seed}:{task}:{text}:{variant}:{sample.id}"))
            )
        return shown


def _random(key: str) -> Random:
    # `Random(key)` draws the same numbers, but refuses the lone surrogates that an id may hold.
    return Random(key.encode("utf-8", "surrogatepass"))


def parse(text: str, where: str = "") -> tuple[Step, ...]:
    """The steps of `a+b@parameter`. Raises UsageError for unknown names and pairs that contradict each other."""
    steps = []
    for part in text.split("+"):
        name, at, parameter = (piece.strip() for piece in part.partition("@"))
        card: ConditionCard = registry.load("conditions", name, where or (f"condition {text!r}" if "+" in text else ""))
        if at and not card.parameter:
            raise UsageError(f"Condition {part.strip()!r}: {name!r} takes no parameter. Write {name!r}.")
        steps.append(Step(name, parameter, card))
    meaningful = tuple(step for step in steps if step.name != "image") or tuple(steps[:1])
    for number, later in enumerate(meaningful):
        for earlier in meaningful[:number]:
            if earlier.name == later.name:
                raise UsageError(f"Condition {text!r} names {later.name!r} twice. Write it once.")
            reason = contradiction(earlier, later)
            if reason:
                raise UsageError(f"Condition {text!r} is impossible: {reason}. Run them as two conditions, separated by a comma.")
    return tuple(replace(step, parameter=step.card.normal(step.parameter)) if step.card.normal else step for step in meaningful)


def canonical(text: str, where: str = "") -> str:
    """The name under which a condition is stored: spaces and superfluous `image` steps removed."""
    return "+".join(step.text for step in parse(text, where))


def whole_conditions(parts: Iterable[str]) -> list[str]:
    """Parts of a comma-separated list as conditions: `truncated@64`, `tokenizer=FILE` is one with an option."""
    found: list[str] = []
    for part in parts:
        if found and part.partition("=")[0].strip().isidentifier() and "=" in part:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def contradiction(first: Step, second: Step) -> str:
    """Why two steps cannot stand together, or an empty string. Symmetric in its verdict."""
    both = first.card.changes & second.card.changes
    if both:
        return f"{first.name!r} and {second.name!r} both decide the {sorted(both)[0]}"
    for one, other in ((first, second), (second, first)):
        gone = one.card.needs & other.card.removes
        if gone:
            return f"{one.name!r} needs the {sorted(gone)[0]} that {other.name!r} takes away"
    return ""


def needs_pool(texts: Iterable[str]) -> bool:
    """Whether any of these conditions looks at other samples."""
    return any(step.card.needs_pool for text in texts for step in parse(text))


def about_pictures(text: str) -> bool:
    """Whether the condition differs from `image` by its picture alone, or needs one: without any picture it says nothing."""
    return any(step.card.changes - {"caption"} == {"picture"} or "picture" in step.card.needs for step in parse(text))


def _turn(step: Step) -> tuple[bool, bool, bool]:
    return "options" in step.card.removes, "caption" in step.card.changes, "length" in step.card.changes


def build(text: str, pool: Pool) -> Composed:
    """The condition `text`, ready for one task.

    Steps are applied left to right, but those that cut the text come after those that add to it (`truncated@16+text_only`
    is `text_only+truncated@16`), a caption, which stands for a picture and is not cut, after these, and those that take the
    options away last: they judge the question as it will be asked, so that `open_ended+knowledge` is `knowledge+open_ended`.
    """
    steps = parse(text)
    ordered = sorted(steps, key=_turn)
    return Composed(
        "+".join(step.text for step in steps), tuple((step.text, step.card.build(step.parameter, pool)) for step in ordered)
    )
