"""How credit is shared out between the picture and the question."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import ERROR, REFUSED, UNPARSED, UNSCORED, columns

import eyetest
from eyetest import stats
from eyetest.metrics.columns import Columns
from eyetest.metrics.shapley import Shapley, shapley


def game(both: float, question: float, picture: float, chance: float, n: int = 40) -> tuple[Columns, Columns, Columns]:
    """Columns in which every sample has the same credit: the game of a textbook."""
    return tuple(columns(np.full(n, v), chance=np.full(n, chance)) for v in (both, question, picture))  # type: ignore[return-value]


def parts(made: Shapley) -> tuple[float, float, float]:
    return made.picture.value, made.question.value, made.synergy.value


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1.0, 0.25, 0.25, 0.25), (0.375, 0.375, 0.75)),  # both are needed
        ((1.0, 1.0, 0.25, 0.25), (0.0, 0.75, 0.0)),  # the question is enough
        ((1.0, 0.25, 1.0, 0.25), (0.75, 0.0, 0.0)),  # the picture is enough
        ((1.0, 1.0, 1.0, 0.25), (0.375, 0.375, -0.75)),  # either would do
    ],
)
def test_textbook_games(values: tuple[float, ...], expected: tuple[float, ...]) -> None:
    made = shapley(*game(*values), seed=0)
    assert parts(made) == pytest.approx(expected)
    assert made.synergy.note == "interval without width: every sample agrees"


def three(seed: int, n: int = 60) -> tuple[Columns, Columns, Columns]:
    rng = np.random.default_rng(seed)
    chance = rng.choice([0.25, 0.5], n)
    sides = (columns((rng.random(n) < p).astype(float), chance=chance) for p in (0.8, 0.4, 0.3))
    return tuple(sides)  # type: ignore[return-value]


@given(st.integers(0, 10**6))
def test_the_values_share_out_what_is_gained_over_chance(seed: int) -> None:
    image, question, picture = three(seed)
    made = shapley(image, question, picture, seed=0)
    assert made.picture.value + made.question.value == pytest.approx(image.value.mean() - image.chance.mean())
    # Without synergy each player gets what it adds alone; synergy is halved between them.
    alone = picture.value.mean() - image.chance.mean()
    assert made.picture.value == pytest.approx(alone + made.synergy.value / 2)
    swapped = shapley(image, picture, question, seed=0)
    assert (swapped.question.value, swapped.picture.value) == pytest.approx((made.picture.value, made.question.value))


def test_intervals_are_students_over_samples() -> None:
    from scipy.stats import ttest_1samp

    image, question, picture = three(1)
    made = shapley(image, question, picture, level=0.9, seed=7)
    x = ((image.value - question.value) + (picture.value - image.chance)) / 2
    expected = ttest_1samp(x, 0).confidence_interval(0.9)
    assert (made.picture.low, made.picture.high) == pytest.approx((expected.low, expected.high))
    assert made.picture.signature == f"shapley_picture|unparsed=wrong|interval=t90|seed=7|v{eyetest.__version__}"
    assert (made.picture.n, made.picture.n_distinct, made.picture.note) == (60, 60, "")


def test_samples_are_aligned_by_number_and_repeat_and_what_is_left_out_is_counted() -> None:
    image = columns(np.ones(40), status=[ERROR, UNPARSED] + [0] * 38, chance=np.full(40, 0.5))
    question = columns(np.zeros(39), sample=np.arange(39)[::-1], status=[REFUSED] * 2 + [0] * 37)
    picture = columns(np.zeros(40), repeat=[0] * 39 + [1], status=[0, 0, UNSCORED] + [0] * 37)
    made = shapley(image, question, picture, seed=0)
    assert (made.picture.n, made.picture.n_failed, made.picture.n_unparsed, made.picture.n_refused) == (37, 2, 1, 2)
    assert made.question.note == "2 samples not asked in all three ways; 1 answers unscored"
    assert made.picture.value == pytest.approx(((36 / 37) - 0.5) / 2)
    assert shapley(image, question, picture, seed=0, policy="parsed_only").picture.n == 34


def test_variants_count_by_their_mean() -> None:
    image, _, picture = game(1.0, 0.0, 0.0, 0.5, 20)
    both = columns(np.tile([1.0, 0.0], 20), sample=np.arange(40) // 2, variant=np.arange(40) % 2, chance=np.full(40, 0.5))
    made = shapley(both, columns(np.zeros(20)), picture, seed=0)
    assert (made.synergy.value, made.synergy.n) == (pytest.approx(1.0), 20)
    assert shapley(image, columns(np.zeros(20)), picture, seed=0).synergy.value == pytest.approx(1.5)


def test_open_answers_have_no_chance() -> None:
    chance = np.where(np.arange(40) < 30, 0.5, np.nan)
    made = shapley(columns(np.ones(40), chance=chance), columns(np.zeros(40)), columns(np.zeros(40)), seed=0)
    assert made.synergy.value == pytest.approx(1 + 0.5 * 30 / 40)
    assert made.synergy.note == "chance of 10 open answers taken as 0"


def test_no_or_few_samples() -> None:
    made = shapley(*(columns([1.0], sample=[i]) for i in range(3)), seed=0)
    assert math.isnan(made.picture.value)
    assert made.picture.note == "undefined: no sample was answered in all three ways; 3 samples not asked in all three ways"
    few = shapley(*three(0, 9), seed=0).synergy
    assert few.note == "interval withheld: only 9 distinct requests"
    assert math.isnan(few.low)
    assert not math.isnan(few.value)


def test_pictures_and_questions_that_cross() -> None:
    """Without the question one request a picture, without the picture one a question: joined, all would be one group."""
    rng = np.random.default_rng(2)
    pictures, questions = np.repeat(np.arange(50), 12), np.tile(np.arange(12), 50)
    image, question, picture = (
        columns((rng.random(600) < p).astype(float), cluster=pictures, request=request, chance=np.full(600, 0.25))
        for p, request in ((0.8, np.arange(600)), (0.4, questions), (0.3, pictures))
    )
    made = shapley(image, question, picture, seed=0).synergy
    assert "|interval=twoway_t95|" in made.signature
    x = image.value - question.value - picture.value + 0.25
    factors = stats.crossed(stats.groups(pictures), stats.groups(questions))
    assert (made.low, made.high) == pytest.approx(stats.factor_interval(x, factors))
    assert made.n_distinct == 12


def covered(times: int, seed: int) -> float:
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(times):
        ease = np.repeat(rng.random(25), 4)
        sides = [
            columns((rng.random(100) < p * ease).astype(float), cluster=np.arange(100) // 4, chance=np.full(100, 0.25))
            for p in (1.0, 0.6, 0.4)
        ]
        made = shapley(*sides, seed=0).picture
        hits += made.low <= (0.5 - 0.3 + 0.2 - 0.25) / 2 <= made.high
    return hits / times


def test_shapley_values_are_covered() -> None:
    assert 0.92 <= covered(400, 0) <= 0.98


@pytest.mark.long
def test_shapley_values_are_covered_at_length() -> None:
    assert 0.94 <= covered(6000, 1) <= 0.96
