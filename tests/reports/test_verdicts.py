"""Every verdict in words, reached by a simulated model at a stated n; and what a verdict may depend on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluation.made import Asked
from eyetest import evaluate
from eyetest.models.phantom import uniform
from eyetest.reports import sentences
from eyetest.reports.facts import Facts
from eyetest.reports.gather import gather
from eyetest.stats import Cells
from eyetest.types import Estimate, Image, Kind, Request, Response, Sample

OPTIONS = ("red", "green", "blue", "grey")


@dataclass(frozen=True)
class Quiz:
    """Questions that a run asks."""

    n: int
    kind: Kind = "choice"
    lopsided: bool = False
    """Six of ten questions have the same right answer; else each has as many."""
    shared: bool = False
    """Options stand in one order, so that labels are shared; else each question has its own, and no answer is most frequent."""

    def samples(self) -> list[Sample]:
        return [self.sample(number) for number in range(self.n)]

    def sample(self, number: int) -> Sample:
        right = OPTIONS[0] if self.lopsided and number % 10 < 6 else OPTIONS[number % 4]
        own = OPTIONS if self.shared else tuple(f"{colour} {number}" for colour in OPTIONS)
        target = own[OPTIONS.index(right)]
        picture = Image(data=f"picture {number}".encode())
        choices = own if self.kind == "choice" else ()
        return Sample(f"q{number:05d}", f"What colour is toy {number}?", (target,), self.kind, choices, images=(picture,))


def graded(shown: float, dark: float) -> Asked:
    """Right on a fixed share of the questions with the picture, and on another without: the same ones as far as it goes.

    Wrong where it is not right, so that these are the shares of the long run.
    """

    def answer(request: Request) -> str:
        assert request.origin is not None
        sample = request.origin.sample
        share = shown if sample.shown.picture == "own" else dark
        if uniform("graded", sample.id) < share:
            return sample.target[0]
        return next((option for option in sample.choices if option not in sample.target), "Ruritania")

    return Asked(answer, name=f"graded {shown} {dark}", simulated=True)


def broken() -> Asked:
    """A model whose every call fails."""
    return Asked(lambda _: Response(status="error", error="timeout"), simulated=True)


MODELS: Mapping[str, object] = {
    "chance": "chance",
    "majority": "majority",
    "seer": "phantom:perception=0.9,knowledge=0.9",
    "seer, wrong in the dark": "phantom:perception=0.9,knowledge=0.9,guess=wrong",
    "wrong": "phantom:perception=0,guess=wrong",
    "reader": graded(0.9, 0.5),
    "reader of little": graded(0.9, 0.03),
    "text only": graded(0.9, 0.9),
    "text only, half": graded(0.5, 0.5),
    "little": graded(0.03, 0.03),
    "maybe": graded(0.65, 0.6),
    "led astray": graded(0.6, 0.9),
    "lopsided seer": graded(0.95, 0.62),
    "hardly": graded(0.275, 0.25),
    "broken": broken(),
}

BOTH = ("image", "no_image")
LOPSIDED = Quiz(200, lopsided=True, shared=True)

CASES: Sequence[tuple[str, Quiz, tuple[str, ...], str]] = (
    ("text only", Quiz(60), ("no_image",), "was not asked with the picture (condition image)"),
    ("broken", Quiz(60), BOTH, "gave no answer that counts with the picture"),
    ("chance", Quiz(60), BOTH, "cannot be told from guessing at this n: "),
    ("wrong", Quiz(60), BOTH, "is below guessing even with the picture: 0 % right"),
    ("seer", Quiz(60), ("image",), "is better than guessing: "),
    (
        "majority",
        Quiz(200, lopsided=True, shared=True),
        ("image",),
        "cannot be told from always giving the most frequent answer: ",
    ),
    ("reader", Quiz(60, "text"), ("image",), "was asked with the picture only: "),
    ("wrong", Quiz(60, "text"), BOTH, "is right on no question, with the picture or without it"),
    ("little", Quiz(400, "text"), BOTH, "gets almost nothing right with or without the picture ("),
    ("reader", Quiz(200), BOTH, "uses the picture, and answers part without it: "),
    ("seer", Quiz(200), BOTH, "needs the picture: ... which cannot be told from guessing (25 %)"),
    ("seer, wrong in the dark", Quiz(60), BOTH, "needs the picture: ... without it 0 %, below guessing (25 %)"),
    ("reader", Quiz(60, "text"), BOTH, "uses the picture: ... right with the picture, ... without it"),
    ("reader of little", Quiz(200, "text"), BOTH, "needs the picture: ... right with the picture, ... without it"),
    (
        "lopsided seer",
        LOPSIDED,
        BOTH,
        "uses the picture: ..., where guessing gives 25 % and always the most frequent answer",
    ),
    ("maybe", Quiz(60), BOTH, "may or may not use the picture, which cannot be told at this n: "),
    ("maybe", Quiz(8), BOTH, "has too few independent answers to tell: "),
    ("led astray", Quiz(200), BOTH, "does better without the picture: "),
    (
        "majority",
        LOPSIDED,
        BOTH,
        "cannot be told from always giving the most frequent answer, with the picture or without it: ",
    ),
    ("text only", Quiz(200), BOTH, "does not need the picture: "),
    (
        "text only, half",
        Quiz(400, "text"),
        BOTH,
        "gains next to nothing from the picture, and how much of its score is guessing is not known: ",
    ),
    ("hardly", Quiz(1600), BOTH, "gains next to nothing from the picture: "),
)
"""Model, what it is asked, under which conditions, and what is said of it (`...` stands for numbers)."""


@cache
def facts(quiz: Quiz, conditions: tuple[str, ...], folder: Path) -> Mapping[str, Facts]:
    """What one run says of every model that a case asks these questions."""
    names = dict.fromkeys(name for name, asked, under, _ in CASES if (asked, under) == (quiz, conditions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `broken` fails on purpose
        evaluate(quiz.samples(), {name: MODELS[name] for name in names}, conditions=conditions, out=folder)  # type: ignore[dict-item]
    return {one.model: one for one in gather(folder, samples=False).facts}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verdicts")


@pytest.mark.parametrize(
    ("model", "quiz", "conditions", "expected"),
    CASES,
    ids=[f"{model}, {quiz.kind}, n={quiz.n}: {expected[:40]}" for model, quiz, _, expected in CASES],
)
def test_a_simulated_model_gets_its_verdict(
    runs: Path, model: str, quiz: Quiz, conditions: tuple[str, ...], expected: str
) -> None:
    folder = runs / "-".join(map(str, (quiz.n, quiz.kind, quiz.lopsided, *conditions)))
    found = sentences.lead(facts(quiz, conditions, folder)[model])
    start, *rest = expected.split("...")
    assert found.startswith(start.rstrip(",") if rest else start)
    for part in rest:
        assert part in found


def family(lead: str) -> str:
    """Which of the verdicts a lead is: the longest of FAMILIES it starts with."""
    return max((words for words in FAMILIES if lead.startswith(words)), key=len)


FAMILIES = (
    "was not asked with the picture",
    "gave no answer that counts",
    "cannot be told from guessing at this n",
    "is below guessing even with the picture",
    "is better than guessing",
    "cannot be told from always giving the most frequent answer",
    "cannot be told from always giving the most frequent answer, with the picture or without it",
    "was asked with the picture only",
    "is right on no ",
    "gets almost nothing right with or without the picture",
    "uses the picture, and answers part without it",
    "uses the picture: ",
    "needs the picture",
    "may or may not use the picture, which cannot be told at this n",
    "has too few independent answers to tell",
    "does better without the picture",
    "does not need the picture",
    "gains next to nothing from the picture, and how much of its score is guessing is not known",
    "gains next to nothing from the picture: ",
)
"""Every verdict that `lead` can give, by its first words."""


def test_every_verdict_is_reached() -> None:
    assert {family(expected) for *_, expected in CASES} == set(FAMILIES)
    needs = [expected for *_, expected in CASES if expected.startswith("needs")]
    assert len(needs) == 3  # at guessing without it, below it, and where guessing is not known


# --- what a verdict depends on -----------------------------------------------------------------------------------------

shares = st.floats(0, 1)


@st.composite
def spans(draw: st.DrawFn, lowest: float = 0.0) -> Estimate:
    """A value in its interval, at most 20 points wide either way so that much is told; one in ten has no interval."""
    value, below, above = draw(st.floats(lowest, 1)), draw(st.floats(0, 0.2)), draw(st.floats(0, 0.2))
    low, high = max(lowest, value - below), min(1.0, value + above)
    if draw(st.integers(0, 9)) == 0:
        low = high = math.nan
    return Estimate("m", value, low, high, 100, 100)


def facts_drawn(unknown: bool = True) -> st.SearchStrategy[Facts]:
    """Facts as `lead` reads them. unknown: guessing may have no closed form."""
    known = st.sampled_from([0.02, 0.25, 0.5])
    return st.builds(
        Facts,
        st.just("toys"),
        st.just("m"),
        st.just("default"),
        with_picture=spans(),
        without_picture=spans(),
        difference=spans(-1.0),
        chance=known | st.just(math.nan) if unknown else known,
        frequent=st.sampled_from([math.nan, 0.3, 0.6]),
    )


@given(facts_drawn(), st.integers(1, 10**6), st.text(max_size=5))
def test_a_verdict_depends_on_named_intervals_alone(one: Facts, n: int, word: str) -> None:
    def renamed(made: Estimate | None) -> Estimate | None:
        return made and replace(made, metric=word, n=n, n_distinct=n, n_unparsed=n, signature=word, note=word)

    other = replace(
        one,
        task=word,
        model=word,
        prompt=word,
        whole=not one.whole,
        blind="blank",
        with_picture=renamed(one.with_picture),
        without_picture=renamed(one.without_picture),
        difference=renamed(one.difference),
        cells=Cells(n, 1, 2, 3),
        gap=renamed(one.difference),
        swapped=renamed(one.difference),
        shuffled=renamed(one.difference),
        n_unparsed=n,
        n_refused=n,
        n_failed=n,
    )
    assert sentences.lead(other) == sentences.lead(one)


def narrowed(made: Estimate | None, by: float) -> Estimate | None:
    """The same value in an interval of 1 - `by` times the width."""
    if made is None or math.isnan(made.low):
        return made
    return replace(made, low=made.low + by * (made.value - made.low), high=made.high - by * (made.high - made.value))


STAYS: Mapping[str, Iterable[str]] = {
    "up": ("up", "negligible"),
    "down": ("down", "negligible"),
    "negligible": ("negligible",),
    "above": ("above",),
    "below": ("below",),
    "frequent": ("frequent", "above"),
}
"""What was told -> what may be told with more answers that say the same. The rest (open, within, unknown) was not told."""


@given(spans(-1.0), shares)
def test_an_effect_once_told_is_never_turned_round_by_a_narrower_interval(made: Estimate, by: float) -> None:
    before, after = sentences.effect(made), sentences.effect(narrowed(made, by))
    assert after in STAYS.get(before, (after,))


@given(spans(), shares, st.sampled_from([math.nan, 0.02, 0.25]), st.sampled_from([math.nan, 0.3, 0.6]))
def test_a_place_once_told_is_never_turned_round_by_a_narrower_interval(
    made: Estimate, by: float, chance: float, frequent: float
) -> None:
    before = sentences.beside_guessing(made, chance, frequent)
    after = sentences.beside_guessing(narrowed(made, by), chance, frequent)  # type: ignore[arg-type]
    assert after in STAYS.get(before, (after,))


NEGLIGIBLE = (
    "gains next to nothing",
    "does not need",
    "gets almost nothing",
    "is right on no",
    "cannot be told from always giving the most frequent answer, with",
)
AGREES: Mapping[str, tuple[str, ...]] = {
    "uses": ("uses", "needs", *NEGLIGIBLE),
    "needs": ("needs", "uses", *NEGLIGIBLE),
    "does better without": ("does better without", *NEGLIGIBLE),
    "does not need": ("does not need",),
    "is below guessing": ("is below guessing",),
    "gains next to nothing": NEGLIGIBLE,
}
"""First words of a verdict -> those that do not contradict it. A sure difference may turn out to be a small one."""


@given(facts_drawn(), shares)
def test_a_lead_once_told_is_never_turned_round_by_narrower_intervals(one: Facts, by: float) -> None:
    before = sentences.lead(one)
    told = next((words for words in AGREES if before.startswith(words)), None)
    assume(told is not None)
    assert told is not None
    narrow = {name: narrowed(getattr(one, name), by) for name in ("with_picture", "without_picture", "difference")}
    assert sentences.lead(replace(one, **narrow)).startswith(AGREES[told])  # type: ignore[arg-type]


@given(facts_drawn(unknown=False))
def test_nothing_is_told_from_intervals_that_cover_their_null(one: Facts) -> None:
    wide = Estimate("m", 0.4, 0.0, 1.0, 10, 10)
    seen = replace(one, with_picture=wide)
    assert family(sentences.lead(seen)) == "cannot be told from guessing at this n"
    open_ = replace(one, with_picture=replace(wide, low=0.9, high=1.0, value=0.95), difference=replace(wide, low=-0.5, high=0.5))
    assert family(sentences.lead(open_)) == "may or may not use the picture, which cannot be told at this n"
