"""A simulated model whose truth is known: what it perceives, what it knows, and how it guesses.

After equation 3 of "Understanding the Role of LLMs in Multimodal Evaluation Benchmarks" (arXiv 2410.12329): a question on a
picture is answered rightly iff the picture is perceived **and** the fact is known; otherwise the model guesses.

What it answers, by what the condition shows (`Sample.shown`):

* the knowledge question: right iff it knows the sample's fact;
* the own picture, with the question or with the options alone: right iff it perceives and knows;
* the own picture blurred by r: the same, with the perception `perception * sharpness(r)`, see `sharpness`;
* a caption: right iff it knows, because the caption says what there is to see;
* a question that never had a picture: right iff it knows;
* no picture or a blank one: a guess;
* another sample's picture: `shown.partner_target`, iff it perceives and knows that partner and could give that answer here.

Everywhere else, and where it does not perceive or know, it guesses.

Draws. Every draw is a number in [0, 1) made by sha256 from the seed, a purpose and

* perceiving, knowing: the sample id alone. The same in all conditions, variants, repeats and models of equal seed, so a
  model with the larger `perception` perceives all that the one with the smaller does;
* guess: id, condition and variant, so that repeats guess alike;
* refusal, format error, drift: id, condition, variant and repeat;
* the fresh guess of a drifted answer: id, condition, variant and repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from typing import Literal, NamedTuple, get_args

from eyetest.errors import UsageError, unknown
from eyetest.models.baselines import Simulated, labels_text, no_target, read_spec, written
from eyetest.types import Model, Origin, Response, Sample

Guess = Literal["chance", "wrong", "none"]
"""How it guesses: uniformly among the options shown, always wrongly, or by saying that it does not know (no credit)."""

REFUSAL = "I'm sorry, but I can't help with that."
NO_IDEA = "I don't know."
WRONG_TEXTS = ("Ruritania", "Brobdingnag")
"""Wrong answers to open questions: invented places, of which one is never part of the target."""

DECLARED: Mapping[str, type] = {
    "perception": float,
    "knowledge": float,
    "guess": str,
    "refuse": float,
    "format_error": float,
    "drift": float,
}


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on `parts` alone: 53 bits of the sha256 of their texts joined by colons."""
    key = ":".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return (int.from_bytes(sha256(key).digest()[:8], "big") >> 11) * 2.0**-53


def perceives(seed: int, perception: float, id: str) -> bool:
    """Whether a phantom of this seed sees what is in the picture of sample `id`: true with probability `perception`."""
    return uniform(seed, "perceives", id) < perception


def knows(seed: int, knowledge: float, id: str) -> bool:
    """Whether a phantom of this seed knows the fact that sample `id` asks for: true with probability `knowledge`."""
    return uniform(seed, "knows", id) < knowledge


UNSEEN = 0.1
"""Blur, as a share of the picture's longer side, from which on nothing is perceived."""


def sharpness(radius: float) -> float:
    """Share of its perception that a phantom keeps at blur `radius`: falls in a straight line from 1 at 0 to 0 at `UNSEEN`.

    What it perceives at one blur it perceives at every smaller one.
    """
    return max(0.0, 1 - radius / UNSEEN)


@dataclass(frozen=True, slots=True)
class PhantomSettings:
    """What a phantom can do. Probabilities in [0, 1]; raises UsageError on any other, and on an unknown guess."""

    perception: float = 0.8
    """Probability that the picture of a sample is perceived."""
    knowledge: float = 0.7
    """Probability that the fact of a sample is known."""
    guess: Guess = "chance"
    """What it does when it does not perceive or know."""
    refuse: float = 0.0
    """Probability that an answer is a refusal instead."""
    format_error: float = 0.0
    """Probability that an answer is a text that cannot be read instead; never both, so the two add up to at most 1."""
    drift: float = 0.0
    """Probability that an answer, known or guessed, is replaced by a fresh guess of its repeat (0: all repeats agree)."""

    def __post_init__(self) -> None:
        for key in ("perception", "knowledge", "refuse", "format_error", "drift"):
            value = getattr(self, key)
            if not 0 <= value <= 1:
                raise UsageError(f"phantom: {key}={value} is not a probability. Give a number from 0 to 1, such as {key}=0.5.")
        if self.refuse + self.format_error > 1:
            raise UsageError(
                f"phantom: refuse={self.refuse} and format_error={self.format_error} add up to more than 1, "
                f"but an answer is one of them at most."
            )
        if self.guess not in get_args(Guess):
            raise unknown("guess", self.guess, get_args(Guess), "phantom")

    def __str__(self) -> str:
        """The canonical spec: every option, equal settings giving equal texts."""
        shown = {key: getattr(self, key) for key in DECLARED}
        return "phantom:" + ",".join(f"{key}={value if key == 'guess' else _plain(value)}" for key, value in shown.items())


def _plain(value: float) -> str:
    """A number that reads back equal, without a trailing `.0`."""
    return repr(float(value)).removesuffix(".0")


@dataclass(frozen=True, slots=True)
class PhantomTruth:
    """What a phantom perceives and knows: the truth that a measurement of it should find."""

    settings: PhantomSettings
    """What it can do."""
    seed: int
    """Which of the phantoms with these settings it is."""

    def perceives(self, id: str) -> bool:
        """Whether it perceives the picture of sample `id`."""
        return perceives(self.seed, self.settings.perception, id)

    def knows(self, id: str) -> bool:
        """Whether it knows the fact of sample `id`."""
        return knows(self.seed, self.settings.knowledge, id)

    def answer(self, sample: Sample) -> str | None:
        """What it answers to the sample as shown when it does not have to guess; None when it guesses."""
        found = evidence(sample)
        if found is None or not self.knows(found.id):
            return None
        if found.visual and not perceives(self.seed, self.settings.perception * found.clear, found.id):
            return None
        return written(sample.kind, found.answer)


class Evidence(NamedTuple):
    """What a condition leaves to answer from."""

    id: str
    """Sample whose fact must be known, and whose picture must be perceived if `visual`."""
    visual: bool
    """Whether the answer is in the picture."""
    answer: tuple[str, ...]
    """What it leads to."""
    clear: float = 1.0
    """Share of the perception that is left of a blurred picture."""


def evidence(sample: Sample) -> Evidence | None:
    """What the sample as shown can be answered from; None if nothing is left but to guess."""
    shown = sample.shown
    if shown.asks == "knowledge":
        return Evidence(sample.id, False, sample.target)
    if shown.picture == "caption":
        return Evidence(sample.id, False, sample.target)
    if shown.picture == "blurred":
        return Evidence(sample.id, True, sample.target, sharpness(_blur(sample)))
    if shown.picture == "own":
        visual = bool(sample.images)
        return Evidence(sample.id, visual, sample.target) if visual or shown.asks == "question" else None
    if shown.picture == "other" and shown.partner is not None:
        answer = _possible(sample, shown.partner_target)
        return Evidence(shown.partner, True, answer) if answer else None
    return None


def _blur(sample: Sample) -> float:
    """The strongest blur of its pictures."""
    blurs = (text.partition(":") for picture in sample.images for text in picture.operations)
    return max((float(radius) for name, _, radius in blurs if name == "blur"), default=0.0)


def _possible(sample: Sample, targets: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the partner's targets that may be answered here; all or nothing for a set of labels."""
    if sample.kind == "labels":
        return targets if set(targets) <= set(sample.choices) else ()
    return tuple(text for text in targets if text in sample.choices) if sample.kind == "choice" else targets


def expected_score(settings: PhantomSettings, sample: Sample) -> float:
    """Probability, over seeds, that the answer to the sample as shown is right (for `labels`: the whole set).

    sample: one with a target, as the condition left it.

    With p perception (times `sharpness` where the picture is blurred), k knowledge and g the probability that a guess is right
    (`right_guess`), it is

        (1 - refuse - format_error) * ((1 - drift) * (e * c + (1 - e) * g) + drift * g)

    where e is the probability that it need not guess (pk with a picture to see, k with a fact to know, 0 with neither),
    and c is 1 if what it then answers is right for this sample, which only somebody else's picture can make 0.
    """
    guessed, found = right_guess(settings.guess, sample), evidence(sample)
    answered = guessed
    if found is not None:
        certain = settings.knowledge * (settings.perception * found.clear if found.visual else 1)
        answered = certain * is_right(sample, found.answer) + (1 - certain) * guessed
    return (1 - settings.refuse - settings.format_error) * ((1 - settings.drift) * answered + settings.drift * guessed)


def is_right(sample: Sample, answer: tuple[str, ...]) -> bool:
    """Whether an answer is the sample's: the same set of labels, else a first text that is one of the targets."""
    return set(answer) == set(sample.target) if sample.kind == "labels" else answer[0] in sample.target


def right_guess(guess: Guess, sample: Sample) -> float:
    """Probability that a guess is right: the share of right options, 2**-n for a set out of n labels, else 0."""
    if guess != "chance" or not sample.choices:
        return 0.0
    if sample.kind == "labels":
        return 2.0 ** -len(sample.choices) if set(sample.target) <= set(sample.choices) else 0.0
    if sample.kind == "choice":
        return sum(text in sample.target for text in sample.choices) / len(sample.choices)
    return 0.0


def guess_text(guess: Guess, sample: Sample, *key: object) -> str:
    """A guess as the phantom writes it; `key` decides which.

    Open questions have no options to guess among: there `chance`, too, is a wrong text.
    """
    if guess == "none":
        return NO_IDEA
    if sample.kind == "labels" and sample.choices:
        if guess == "wrong":
            return labels_text([label for label in sample.choices if label not in sample.target])
        return labels_text([label for n, label in enumerate(sample.choices) if uniform(*key[:-1], n, key[-1]) < 0.5])
    if sample.kind != "choice":
        return wrong_text(sample)
    options = [text for text in sample.choices if guess == "chance" or text not in sample.target]
    return options[int(uniform(*key) * len(options))] if options else wrong_text(sample)


def wrong_text(sample: Sample) -> str:
    """A readable answer to an open question that is not right."""
    targets = " ".join(sample.target).casefold()
    return next(text for text in WRONG_TEXTS if text.casefold() not in targets or text is WRONG_TEXTS[-1])


def unreadable(sample: Sample) -> str:
    """A text that no scorer can read: two one-word options of which neither is part of the other, else an empty text."""
    if sample.kind == "choice":
        # Longer options may hold a full stop or a negation, and could be read as an answer that is then explained.
        words = [text for text in sample.choices if text.isalnum()]
        for first, second in combinations(words, 2):
            both = f"{first} or {second}"
            apart = first.casefold() not in second.casefold() and second.casefold() not in first.casefold()
            if apart and both not in sample.choices:
                return both
    return ""


class Phantom(Simulated):
    """A model with known perception and knowledge; see the module's text for what it answers."""

    def __init__(self, settings: PhantomSettings, seed: int, name: str | None = None) -> None:
        super().__init__(str(settings) if name is None else name, f"{settings},seed={seed}")
        self.truth = PhantomTruth(settings, seed)

    def __repr__(self) -> str:
        return str(self.truth.settings)

    def answer(self, origin: Origin) -> Response:
        """A refusal, an unreadable text, or what it perceives and knows, or a guess."""
        return no_target(origin) or self._answer(origin)

    def _answer(self, origin: Origin) -> Response:
        settings, seed, sample = self.truth.settings, self.truth.seed, origin.sample
        view = (origin.condition, origin.variant)
        slip = uniform(seed, "slip", *view, origin.repeat, sample.id)
        if slip < settings.refuse:
            return Response(REFUSAL, status="refused")
        if slip < settings.refuse + settings.format_error:
            return Response(unreadable(sample))
        if uniform(seed, "drift", *view, origin.repeat, sample.id) < settings.drift:
            return Response(guess_text(settings.guess, sample, seed, "fresh", *view, origin.repeat, sample.id))
        known = self.truth.answer(sample)
        return Response(guess_text(settings.guess, sample, seed, "guess", *view, sample.id) if known is None else known)


def phantom(argument: str, options: Mapping[str, str], seed: int) -> Model:
    """A simulated model of known truth: phantom:perception=0.8,knowledge=0.7,guess=chance,refuse=0,format_error=0,drift=0.

    Raises UsageError on an argument, an unknown option, or a value outside its range.
    """
    text, found = read_spec(argument, options, DECLARED, what="phantom")
    if text:
        raise UsageError(f"phantom takes options only, but was given {text!r}. Write, for example, phantom:perception=0.8.")
    return Phantom(PhantomSettings(**found), seed, f"phantom:{argument}" if argument else "phantom")
