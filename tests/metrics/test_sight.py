"""What the picture adds: corrected for guessing and refusals, and with somebody else's picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import BAD_IMAGE, BLOCKED, ERROR, REFUSED, UNPARSED, UNSCORED, columns

import eyetest
from eyetest import stats
from eyetest.metrics import Accuracy, Columns, estimate, gap_rate, paired_difference
from eyetest.metrics.sight import (
    attempted_gap,
    best_possible_gap,
    chance_corrected_gap,
    flip_rate,
    follow_rate,
    gap_bounds,
    leakage,
    multimodal_gain,
    odds_ratio,
    perceptual_score,
    stuck_correct,
)
from eyetest.stats.odds import odds_ratio_ci, odds_ratio_factor_ci
from eyetest.stats.ratios import fieller
from eyetest.types import Estimate

PATTERNS = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
NONE, SAME, OTHER, IMPOSSIBLE = range(4)


def table(cells: tuple[int, ...], chance: float = math.nan, **given: Any) -> tuple[Columns, Columns]:
    """Two columns whose paired table is the one given."""
    first, second = np.repeat(PATTERNS, cells, axis=0).T
    guess = np.full(len(first), chance)
    return columns(first, chance=guess, **given), columns(second, chance=guess, **given)


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


def method(made: Estimate) -> str:
    return made.signature.split("interval=")[1].split("|")[0]


# --- corrected for guessing --------------------------------------------------------------------------------------------


def test_corrected_gap_is_1_at_chance_and_0_where_the_picture_adds_nothing() -> None:
    at_chance = chance_corrected_gap(*table((30, 50, 0, 40), 0.25), seed=0)
    assert at_chance.value == pytest.approx((80 - 30) / (80 - 30))
    nothing = chance_corrected_gap(*table((50, 10, 10, 30), 0.25), seed=0)
    assert nothing.value == 0.0
    assert nothing.low < 0 < nothing.high
    assert gap_rate(*table((30, 50, 0, 40)), seed=0).value == pytest.approx(0.625)


def test_corrected_gap_has_fiellers_interval() -> None:
    shown, blind = table((60, 50, 20, 70), 0.25)
    made = chance_corrected_gap(shown, blind, level=0.9, seed=3)
    expected = fieller(shown.value - blind.value, shown.value - 0.25, shown.factors(), 0.9)
    assert made.value == pytest.approx(30 / (110 - 50))
    assert ends(made) == expected
    assert made.signature == f"chance_corrected_gap|unparsed=wrong|interval=fieller90|seed=3|v{eyetest.__version__}"


def test_chance_is_each_answers_own_and_follows_variants() -> None:
    shown, blind = table((60, 50, 20, 70))
    guess = np.where(np.arange(200) % 4 == 0, 0.5, 0.2)
    mixed = columns(shown.value, chance=guess)
    made = chance_corrected_gap(mixed, blind, seed=0)
    assert made.value == pytest.approx(0.15 / (0.55 - 0.275))
    assert ends(made) == fieller(shown.value - blind.value, shown.value - guess, shown.factors())
    twice = Columns.concatenate([mixed, columns(shown.value, chance=guess, variant=np.ones(200))])
    assert chance_corrected_gap(twice, blind, seed=0).value == pytest.approx(made.value)
    failed = columns(shown.value, chance=guess, status=[ERROR] * 10 + [0] * 190)
    assert chance_corrected_gap(failed, blind, seed=0).value == pytest.approx((100 - 70) / (100 - guess[10:].sum()))


@pytest.mark.parametrize("cells", [(0, 80, 0, 20), (3, 77, 0, 20), (80, 0, 0, 20), (80, 2, 0, 18), (0, 60, 0, 0)])
def test_few_answers_right_without_or_few_that_differ_take_the_posterior(cells: tuple[int, ...]) -> None:
    made = chance_corrected_gap(*table(cells, 0.25), seed=0)
    assert method(made) == "posterior95x2000"
    assert made.low <= made.value <= made.high
    assert 0.02 < made.high - made.low < 0.5


def test_corrected_gap_of_answers_that_go_together_is_wider() -> None:
    alone = chance_corrected_gap(*table((100, 100, 20, 180), 0.25), seed=0)
    group = np.arange(400) // 5
    together = chance_corrected_gap(*table((100, 100, 20, 180), 0.25, cluster=group), seed=0)
    assert (together.value, method(together)) == (alone.value, "cluster_fieller95")
    assert together.high - together.low > 1.9 * (alone.high - alone.low)
    # Four groups with answers right without the picture are too few for Fieller, however many the answers.
    few = chance_corrected_gap(*table((20, 180, 0, 200), 0.25, cluster=group), seed=0)
    assert method(few) == "posterior95x2000"
    assert few.high - few.low > 0.1


@pytest.mark.parametrize(
    ("shown", "chance", "note"),
    [
        (0.8, math.nan, "undefined: guessing has no closed form here (short answers)"),
        (0.2, 0.25, "undefined: with the picture not above guessing"),
        (0.3, 0.25, "interval withheld: denominator cannot be told from 0 (with the picture, as guessing)"),
    ],
)
def test_corrected_gap_without_room_above_guessing(shown: float, chance: float, note: str) -> None:
    right, blind = (np.arange(100) < 100 * shown).astype(float), (np.arange(100) % 4 == 0).astype(float)
    made = chance_corrected_gap(columns(right, chance=np.full(100, chance)), columns(blind), seed=0)
    assert made.note == note
    assert math.isnan(made.value) == note.startswith("undefined")
    assert np.isnan(ends(made)).all()
    assert method(made) == "none"


def test_best_possible_gap_is_the_accuracys_interval_transformed() -> None:
    shown = table((60, 40, 0, 25), 0.5)[0]
    made, score = best_possible_gap(shown, seed=0), estimate(Accuracy(), shown, seed=0)
    assert made.value == pytest.approx(1 - 0.5 / 0.8)
    assert ends(made) == pytest.approx((1 - 0.5 / score.low, 1 - 0.5 / score.high))
    assert made.signature == f"best_possible_gap|unparsed=wrong|interval=wilson95|seed=0|v{eyetest.__version__}"
    assert (made.n, made.n_distinct) == (125, 125)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(2, 8))
def test_the_gap_over_the_best_possible_gap_is_the_corrected_gap(k1: int, k0: int, options: int) -> None:
    right, blind = (np.arange(60) < k1).astype(float), (np.arange(60) < k0).astype(float)
    shown = columns(right, chance=np.full(60, 1 / options))
    best, corrected = best_possible_gap(shown, seed=0), chance_corrected_gap(shown, columns(blind), seed=0, resamples=50)
    if math.isnan(corrected.value):
        assert k1 / 60 <= 1 / options
        return
    assert gap_rate(shown, columns(blind), seed=0, resamples=50).value == pytest.approx(corrected.value * best.value)


def test_best_possible_gap_where_it_is_undefined_or_without_end() -> None:
    wrong = best_possible_gap(columns(np.zeros(20), chance=np.full(20, 0.5)), seed=0)
    short, none = best_possible_gap(columns(np.ones(20)), seed=0), best_possible_gap(columns([]), seed=0)
    notes = ["right answer with the picture", "closed form here (short answers)", "answers"]
    for made, note in zip((wrong, short, none), notes, strict=True):
        assert math.isnan(made.value)
        assert np.isnan(ends(made)).all()
        assert made.note.startswith("undefined: ")
        assert made.note.endswith(note)
    few = best_possible_gap(columns(np.ones(9), chance=np.full(9, 0.5)), seed=0)
    assert (few.value, few.note) == (0.5, "interval withheld: only 9 distinct requests")
    assert math.isnan(few.low)


# --- corrected for refusals --------------------------------------------------------------------------------------------


def refusing(refused: int = 40, blind_right: int = 48) -> tuple[Columns, Columns]:
    """100 of 100 attempted and 100 right with the picture; without it some refused, the others right or wrong."""
    status = np.repeat([REFUSED, 0], [refused, 100 - refused])
    value = np.where(status == 0, np.arange(100) < refused + blind_right, 0)
    return columns(np.ones(100)), columns(value, status=status)


def test_refusals_inflate_the_gap_rate_and_not_the_attempted_one() -> None:
    sides = refusing()
    raw, made = gap_rate(*sides, seed=0), attempted_gap(*sides, seed=0)
    assert (raw.value, made.value) == (pytest.approx(0.52), pytest.approx(0.20))
    assert (made.n, made.n_refused, method(made)) == (100, 40, "log_t95")
    # With the picture all are right, so this is the interval of 48 of 60 on the log scale.
    se = math.sqrt(0.2 / 48 * 100 / 99)
    spread = math.exp(stats.t_quantile(0.95, 99) * se)
    assert ends(made) == pytest.approx((1 - 0.8 * spread, 1 - 0.8 / spread))


@pytest.mark.parametrize("given", [{}, {"cluster": np.arange(400) // 5}])
def test_without_refusals_it_is_the_gap_rate(given: dict[str, Any]) -> None:
    sides = table((100, 100, 20, 180), **given)
    made, raw = attempted_gap(*sides, seed=0), gap_rate(*sides, seed=0)
    assert made.value == pytest.approx(raw.value)
    assert ends(made) == pytest.approx(ends(raw), abs=0.0 if given else 2e-3)


def test_each_side_has_its_own_denominator_and_unread_is_attempted() -> None:
    shown = columns(np.ones(60), status=[BLOCKED] * 10 + [UNPARSED] * 10 + [0] * 40)
    blind = columns(np.ones(60), status=[0] * 20 + [REFUSED] * 20 + [UNPARSED] * 10 + [ERROR] * 10)
    made, read = (attempted_gap(shown, blind, seed=0, policy=policy) for policy in ("as_wrong", "parsed_only"))
    # 50 asked on both sides: with 30 of 40 right, without 20 of 30.
    assert made.value == pytest.approx(1 - (20 / 30) / (30 / 40))
    assert read.value == 0.0
    assert (made.n, made.n_failed, made.n_unparsed, made.n_refused) == (50, 10, 20, 30)
    assert "|unparsed=excluded|" in read.signature


@pytest.mark.parametrize(("blind_right", "value"), [(0, 1.0), (3, 0.95), (60, 0.0)])
def test_few_right_answers_or_no_variance_keep_a_width(blind_right: int, value: float) -> None:
    made = attempted_gap(*refusing(blind_right=blind_right), seed=0)
    assert (made.value, method(made)) == (pytest.approx(value), "mover95")
    assert made.low <= made.value <= made.high
    low, high = stats.wilson(blind_right, 60)
    assert made.high - made.low > 0.9 * (high - low)


@pytest.mark.parametrize(
    ("shown", "blind", "note"),
    [
        ([REFUSED] * 20, [0] * 20, "undefined: no answer with the picture was attempted"),
        ([0] * 20, [BLOCKED] * 20, "undefined: no answer without the picture was attempted"),
        ([ERROR] * 20, [0] * 20, "undefined: no sample was answered with and without the picture"),
        ([UNPARSED] * 20, [UNPARSED] * 20, "undefined: no right answer with the picture"),
        (
            [UNPARSED] * 20,
            [0] * 20,
            "undefined (defined=false): right answers without the picture, none with it; never average it",
        ),
        ([0] * 9 + [ERROR] * 11, [0] * 20, "interval withheld: only 9 distinct requests"),
    ],
)
def test_attempted_gap_says_why_it_is_undefined(shown: list[int], blind: list[int], note: str) -> None:
    made = attempted_gap(columns(np.ones(20), status=shown), columns(np.ones(20), status=blind), seed=0)
    assert made.note == note
    assert np.isnan(ends(made)).all()


def test_gap_bounds_are_the_extremes_over_all_fillings() -> None:
    shown = columns([1.0, 1.0, 0.0, 1.0, 1.0], status=[0, 0, 0, ERROR, 0])
    blind = columns([1.0, 0.0, 0.0, 1.0, 1.0], status=[0, 0, 0, BAD_IMAGE, UNSCORED])
    found = gap_bounds(shown, blind)
    every = []
    for a in (0.0, 1.0):
        for b in (0.0, 1.0):
            for c in (0.0, 1.0):
                every.append(1 - (1 + b + c) / (3 + a))
    assert found == pytest.approx((min(every), max(every)))


def test_gap_bounds_without_failures_are_the_gap_rate_and_nothing_has_none() -> None:
    sides = table((10, 5, 2, 3))
    assert gap_bounds(*sides) == (pytest.approx(gap_rate(*sides, seed=0).value),) * 2
    assert np.isnan(gap_bounds(columns([1.0], sample=[0]), columns([1.0], sample=[1]))).all()
    all_failed = columns([1.0, 1.0], status=[ERROR, ERROR])
    assert gap_bounds(all_failed, columns([1.0, 0.0])) == (-math.inf, 0.5)


# --- somebody else's picture -------------------------------------------------------------------------------------------


def swaps() -> tuple[Columns, Columns]:
    """60 samples: 20 with a like partner, 24 with another answer, 16 with one that cannot be given."""
    own = columns(np.arange(60) % 4 != 3, said=1 + np.arange(60) % 3)
    partner = np.repeat([SAME, OTHER, IMPOSSIBLE], [20, 24, 16])
    changed = np.arange(60) % 5 < 3
    swapped = columns(
        own.value.astype(bool) & ~changed,
        partner=partner,
        said=own.said + changed,
        followed=changed & (np.arange(60) % 2 == 0),
    )
    return own, swapped


def test_flips_are_counted_where_another_answer_is_right() -> None:
    own, swapped = swaps()
    made = flip_rate(own, swapped, seed=2)
    assert (made.value, made.n) == (24 / 40, 40)
    assert ends(made) == stats.wilson(24, 40)
    assert made.signature == f"flip_rate|unparsed=excluded|interval=wilson95|seed=2|v{eyetest.__version__}"


def test_flips_need_both_answers_read() -> None:
    own, swapped = swaps()
    status = np.zeros(60)
    status[[20, 21]], status[22], status[23] = UNPARSED, REFUSED, ERROR
    unread = columns(swapped.value, partner=swapped.partner, said=np.where(status == 0, swapped.said, 0), status=status)
    made = flip_rate(own.take(np.arange(60) != 59), unread, seed=0)
    assert (made.n, made.n_unparsed, made.n_refused, made.n_failed) == (35, 2, 1, 1)
    assert made.note == "1 answers without a partner"
    kept = np.arange(24, 59) % 5 < 3
    assert made.value == pytest.approx(kept.mean())


def test_stuck_answers_are_those_that_stay_right() -> None:
    own, swapped = swaps()
    made = stuck_correct(own, swapped, seed=0)
    differs = (np.arange(60) >= 20) & (own.value == 1)
    assert (made.value, made.n) == (pytest.approx(swapped.value[differs].mean()), differs.sum())
    assert ends(made) == stats.wilson(swapped.value[differs].sum(), differs.sum())
    unread = columns(swapped.value, partner=swapped.partner, status=np.where(np.arange(60) == 20, UNPARSED, 0))
    assert stuck_correct(own, unread, seed=0).n == made.n
    assert stuck_correct(own, unread, seed=0, policy="parsed_only").n == made.n - 1


def test_stuck_answers_weigh_partial_credit() -> None:
    own, swapped = swaps()
    half = columns(own.value / 2 + 0.25, said=own.said)
    made = stuck_correct(half, swapped, seed=0)
    weight = half.value[20:]
    assert made.value == pytest.approx(weight @ swapped.value[20:] / weight.sum())
    assert method(made) == "t95"


def test_following_counts_only_answers_that_can_be_given() -> None:
    _, swapped = swaps()
    made = follow_rate(swapped, seed=0)
    k = swapped.followed[20:44].sum()
    assert (made.value, made.n) == (k / 24, 24)
    assert ends(made) == stats.wilson(k, 24)
    unread = columns(
        swapped.value, partner=swapped.partner, followed=swapped.followed, status=[0] * 40 + [UNPARSED, ERROR] + [0] * 18
    )
    counted, read = (follow_rate(unread, seed=0, policy=policy) for policy in ("as_wrong", "parsed_only"))
    assert (counted.n, counted.n_unparsed, counted.n_failed, read.n) == (23, 1, 1, 22)


def test_swapped_answers_that_go_together() -> None:
    own, swapped = swaps()
    group = np.arange(60) // 2
    own, swapped = (
        columns(side.value, said=side.said, partner=side.partner, followed=side.followed, cluster=group)
        for side in (own, swapped)
    )
    factors = stats.crossed(stats.groups(group[20:]), np.arange(40))
    assert ends(flip_rate(own, swapped, seed=0)) == stats.factor_wilson((own.said != swapped.said)[20:], factors)
    for made in (flip_rate(own, swapped, seed=0), stuck_correct(own, swapped, seed=0), follow_rate(swapped, seed=0)):
        assert method(made) == "cluster_wilson95"


def test_no_differing_partner_or_few() -> None:
    own, swapped = swaps()
    like = columns(swapped.value, said=swapped.said, partner=np.full(60, SAME))
    made = flip_rate(own, like, seed=0), stuck_correct(own, like, seed=0), follow_rate(like, seed=0)
    assert [found.note for found in made] == [
        "undefined: no answer was read with both pictures",
        "undefined: no right answer with the own picture",
        "undefined: no picture was shown for which another answer is right and can be given",
    ]
    assert all(math.isnan(found.value) and math.isnan(found.low) for found in made)
    few = flip_rate(own.take(np.arange(60) < 25), swapped, seed=0)
    assert few.note == "interval withheld: only 5 distinct requests; 35 answers without a partner"
    assert few.value == 0.6


def test_perceptual_score_is_the_drop_over_the_score() -> None:
    sides = table((60, 40, 20, 80))
    made, drop = perceptual_score(*sides, seed=0), paired_difference(*sides, seed=0).estimate
    assert made.value == pytest.approx(drop.value / 0.5)
    assert ends(made) == stats.gap_rate_ci(60, 40, 20, 80)[1:]
    assert (made.metric, method(made)) == ("perceptual_score", "delta95")
    none = perceptual_score(columns(np.zeros(20)), columns(np.zeros(20)), seed=0)
    assert none.note == "undefined: no right answer with the own picture"
    apart = perceptual_score(columns([1.0], sample=[0]), columns([1.0], sample=[1]), seed=0)
    assert apart.note.startswith("undefined: no sample was answered with its own and with another picture")


# --- against no picture, a text model, the knowledge question ----------------------------------------------------------


def test_multimodal_gain_is_the_paired_difference() -> None:
    sides = table((60, 40, 20, 80))
    made, expected = multimodal_gain(*sides, seed=0), paired_difference(*sides, seed=0).estimate
    assert (made.value, ends(made)) == (pytest.approx(0.1), ends(expected))
    assert made.signature == f"multimodal_gain|unparsed=wrong|interval=newcombe95|seed=0|v{eyetest.__version__}"


@pytest.mark.parametrize("cells", [(60, 40, 20, 80), (60, 22, 20, 98), (60, 20, 40, 80)])
def test_leakage_is_never_below_0(cells: tuple[int, ...]) -> None:
    made, raw = leakage(*table(cells), seed=0), paired_difference(*table(cells), seed=0).estimate
    assert (made.value, *ends(made)) == (max(0.0, raw.value), max(0.0, raw.low), max(0.0, raw.high))
    assert made.metric == "leakage"
    few = leakage(*table((3, 2, 1, 3)), seed=0)
    assert math.isnan(few.low)
    assert few.note == "interval withheld: only 9 distinct requests"


def test_odds_ratio_of_seeing_and_knowing() -> None:
    made = odds_ratio(*table((60, 20, 15, 25)), seed=0)
    assert (made.value, *ends(made)) == pytest.approx(odds_ratio_ci(stats.Cells(60, 20, 15, 25)))
    assert (method(made), made.note) == ("woolf95", "")
    group = np.arange(120) // 3
    seen, known = table((60, 20, 15, 25), cluster=group)
    together = odds_ratio(seen, known, seed=0)
    assert ends(together) == odds_ratio_factor_ci(seen.value, known.value, seen.factors())[1:]
    assert method(together) == "cluster_woolf95"
    empty = odds_ratio(*table((30, 0, 10, 20)), seed=0)
    assert empty.note == "1/2 added to every cell: one is empty"
    assert 0 < empty.low < empty.value < empty.high < math.inf


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ((20, 10, 0, 0), "undefined: one side's answers are all right or all wrong"),
        ((0, 10, 0, 20), "undefined: one side's answers are all right or all wrong"),
        ((0, 0, 0, 0), "undefined: no sample was answered on both sides"),
        ((3, 2, 2, 2), "interval withheld: only 9 distinct requests"),
    ],
)
def test_odds_ratio_where_it_says_nothing(cells: tuple[int, ...], note: str) -> None:
    made = odds_ratio(*table(cells), seed=0)
    assert made.note == note
    assert np.isnan(ends(made)).all()
    assert math.isnan(made.value) == note.startswith("undefined")


def test_one_group_withholds_every_interval() -> None:
    given = {"cluster": np.zeros(80), "said": 1 + np.arange(80) % 2, "partner": np.full(80, OTHER)}
    sides = table((30, 20, 10, 20), 0.25, **given)
    made = [call(*sides, seed=0) for call in (chance_corrected_gap, attempted_gap, flip_rate, stuck_correct)]
    made += [call(*sides, seed=0) for call in (perceptual_score, multimodal_gain, leakage, odds_ratio)]
    made += [call(sides[0], seed=0) for call in (best_possible_gap, follow_rate)]
    for found in made:
        assert found.note == "interval withheld: only 1 independent groups"
        assert np.isnan(ends(found)).all()
        assert not math.isnan(found.value)


# --- coverage ----------------------------------------------------------------------------------------------------------


def cells_of(p1: float, p0: float, together: float) -> list[float]:
    """Cell probabilities with margins p1 and p0; together: 0 independent, 1 as alike as they can be."""
    both = (1 - together) * p1 * p0 + together * min(p1, p0)
    return [both, p1 - both, p0 - both, max(0.0, 1 - p1 - p0 + both)]


Made = Callable[[Columns, Columns], Estimate]


def covered(made: Made, p: list[float], truth: float, n: int, times: int, chance: float = math.nan, seed: int = 0) -> float:
    """Share of intervals that hold the truth, among those that are given (nearly all)."""
    rng, hits, given = np.random.default_rng(seed), 0, 0
    for _ in range(times):
        first, second = PATTERNS[rng.choice(4, n, p=np.array(p) / sum(p))].T
        found = made(columns(first, chance=np.full(n, chance)), columns(second))
        given += not math.isnan(found.low)
        hits += found.low <= truth <= found.high
    assert given > 0.8 * times
    return hits / given


def corrected(first: Columns, second: Columns) -> Estimate:
    return chance_corrected_gap(first, second, seed=0, resamples=400)


@pytest.mark.parametrize(
    ("p1", "p0", "together", "chance", "n"),
    [(0.7, 0.4, 0.5, 0.25, 60), (0.9, 0.85, 0.9, 0.5, 200), (0.8, 0.03, 0.5, 0.25, 60)],
)
def test_corrected_gaps_are_covered(p1: float, p0: float, together: float, chance: float, n: int) -> None:
    truth = (p1 - p0) / (p1 - chance)
    assert 0.92 <= covered(corrected, cells_of(p1, p0, together), truth, n, 400, chance) <= 0.99


@pytest.mark.long
def test_corrected_gaps_are_covered_over_the_whole_range() -> None:
    found = []
    for chance in (0.25, 0.5):
        for n, p1 in ((n, p1) for n in (60, 200, 1000) for p1 in (0.4, 0.7, 0.95) if n * (p1 - chance) >= 20):
            for share in (0.0, 0.5, 1.0):
                p0 = 0.25 + share * (p1 - 0.25)
                truth = (p1 - p0) / (p1 - chance)
                found.append(covered(corrected, cells_of(p1, p0, 0.5), truth, n, 1000, chance, seed=len(found)))
    assert 0.94 <= np.mean(found) <= 0.965
    assert min(found) >= 0.92
    assert max(found) <= 0.985


def refused(rng: np.random.Generator, n: int, p0: float, per_group: int) -> tuple[Columns, Columns]:
    """.7 right with the picture; without it four in ten refuse, and of the others p0 are right."""
    group = np.arange(n) // per_group
    ease, shy = (np.repeat(rng.random(n // per_group), per_group) for _ in range(2))
    shown, blind = ((np.where(rng.random(n) < 0.5, ease, rng.random(n)) < p).astype(float) for p in (0.7, p0))
    status = np.where(shy < 0.4, REFUSED, 0)
    return columns(shown, cluster=group), columns(blind * (status == 0), status=status, cluster=group)


def attempted_covered(times: int, seed: int, n: int, p0: float, per_group: int) -> float:
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(times):
        found = attempted_gap(*refused(rng, n, p0, per_group), seed=0)
        hits += found.low <= 1 - p0 / 0.7 <= found.high
    return hits / times


@pytest.mark.parametrize(("n", "p0", "per_group"), [(100, 0.3, 1), (80, 0.04, 1), (300, 0.3, 5)])
def test_attempted_gaps_are_covered(n: int, p0: float, per_group: int) -> None:
    assert 0.92 <= attempted_covered(300, 0, n, p0, per_group) <= 0.99


@pytest.mark.long
def test_attempted_gaps_are_covered_at_length() -> None:
    for n, p0, per_group in ((100, 0.3, 1), (80, 0.04, 1), (400, 0.3, 5)):
        assert 0.935 <= attempted_covered(4000, 1, n, p0, per_group) <= 0.975
