"""How far repeats and prompts lie apart, beside closed forms and counting by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from made import ERROR, UNPARSED, columns, labelled

from eyetest.metrics.classification import Accuracy, MacroF1
from eyetest.metrics.columns import Columns
from eyetest.metrics.repeats import NoiseFloor, PromptSpread, Spread, between_repeats, noise_floor, prompt_spread


def grid(credit: Any, **given: Any) -> Columns:
    """Columns of credits (repeats, samples)."""
    repeats, n = np.asarray(credit).shape
    place = {"sample": np.tile(np.arange(n), repeats), "repeat": np.repeat(np.arange(repeats), n)}
    return columns(np.ravel(credit), **place | {name: np.ravel(column) for name, column in given.items()})


# --- between repeats ---------------------------------------------------------------------------------------------------


def test_standard_deviation_between_repeats() -> None:
    rates = [6, 8, 7]
    made = between_repeats(Accuracy(), grid([np.arange(10) < right for right in rates]))
    assert (made.metric, made.n_repeats) == ("accuracy", 3)
    assert made.sd == pytest.approx(0.1)
    # Quantiles of chi-square with 2 degrees of freedom are those of the exponential: -2 log(1 - p).
    assert (made.low, made.high) == pytest.approx((0.1 / math.sqrt(-math.log(0.025)), 0.1 / math.sqrt(-math.log(0.975))))
    assert made.difference == pytest.approx(1.959964 * math.sqrt(2) * 0.1, rel=1e-6)


def test_macro_f1_varies_by_repeat() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(0)
    truth, read = np.tile(rng.integers(0, 3, 50), 4), rng.integers(0, 3, 200)
    made = labelled(truth.tolist(), read.tolist(), range(3), repeat=np.repeat(np.arange(4), 50))
    each = [f1_score(truth[:50], part, average="macro") for part in np.split(read, 4)]
    assert between_repeats(MacroF1(), made).sd == pytest.approx(np.std(each, ddof=1))


def test_equal_repeats_have_no_spread_and_one_has_none_that_is_known() -> None:
    assert between_repeats(Accuracy(), grid(np.ones((2, 5)))) == Spread("accuracy", 0.0, 0.0, 0.0, 2)
    made = grid([[1, 0], [1, 1]], status=[[0, 0], [ERROR, ERROR]])
    for one in (between_repeats(Accuracy(), made), between_repeats(Accuracy(), grid([[1, 0]]))):
        assert one.n_repeats == 1
        assert all(math.isnan(value) for value in (one.sd, one.low, one.high, one.difference))


def test_interval_of_the_spread_and_difference_of_two_repeats_are_covered() -> None:
    rng = np.random.default_rng(1)
    ease = rng.beta(2, 1, 200)
    truth = math.sqrt((ease * (1 - ease)).sum()) / 200
    held, ranges, gaps = 0, [], []
    for _ in range(500):
        right = rng.random((5, 200)) < ease
        made = between_repeats(Accuracy(), grid(right))
        held += made.low <= truth <= made.high
        ranges.append(made.difference)
        gaps.append(abs(right[0].mean() - right[1].mean()))
    assert 0.92 <= held / 500 <= 0.98
    assert np.mean(np.array(gaps) <= 1.96 * math.sqrt(2) * truth) == pytest.approx(0.95, abs=0.03)
    assert math.sqrt(np.mean(np.square(ranges))) == pytest.approx(1.96 * math.sqrt(2) * truth, rel=0.05)


# --- noise floor -------------------------------------------------------------------------------------------------------


def test_noise_floor_by_hand() -> None:
    # Sample 0: 5 5 6 (two pairs of three differ); 1: all unread; 2: 1 2 3, of which none is right; 3: 7 7 7.
    said = [[5, 0, 1, 7], [5, 0, 2, 7], [6, 0, 3, 7]]
    credit = [[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1]]
    status = [[0, UNPARSED, 0, 0]] * 3
    made = noise_floor(grid(credit, said=said, status=status))
    assert (made.answers_differ, made.credit_differs) == (pytest.approx(5 / 12), pytest.approx(2 / 12))
    assert (made.n_pairs, made.n_repeats) == (12, 3)
    assert made.score_difference == pytest.approx(1.959964 * math.sqrt(2) * np.std([0.5, 0.5, 0.25], ddof=1))


def test_noise_floor_counts_every_pair_inside_n() -> None:
    rng = np.random.default_rng(2)
    n = 300
    sample, variant, repeat = (code.ravel() for code in np.indices((25, 3, 4)))
    order = rng.permutation(n)
    said, credit, status = rng.integers(1, 4, n), rng.choice([0, 0.5, 1], n), rng.choice([0, ERROR], n, p=[0.8, 0.2])
    credit[status == ERROR] = 0.0
    given = {"sample": sample, "variant": variant, "repeat": repeat, "said": said, "status": status}
    made = noise_floor(columns(credit, **given).take(order))
    pairs = [
        (said[i] != said[j], credit[i] != credit[j])
        for i, j in itertools.combinations(np.flatnonzero(status == 0), 2)
        if (sample[i], variant[i]) == (sample[j], variant[j])
    ]
    assert made.n_pairs == len(pairs)
    assert (made.answers_differ, made.credit_differs) == pytest.approx(tuple(np.mean(pairs, axis=0)))


def test_without_what_was_read_or_without_a_second_repeat_nothing_is_invented() -> None:
    unknown = noise_floor(grid([[1, 0], [1, 1]]))
    assert math.isnan(unknown.answers_differ)
    assert unknown.credit_differs == 0.5
    for made in (noise_floor(grid([[1, 0]], said=[[3, 4]])), noise_floor(grid(np.zeros((1, 0))))):
        assert made.n_pairs == 0
        assert all(math.isnan(value) for value in (made.answers_differ, made.credit_differs, made.score_difference))


def test_equal_repeats_have_a_floor_of_zero() -> None:
    assert noise_floor(grid([[1, 0]] * 2, said=[[3, 4]] * 2)) == NoiseFloor(0.0, 0.0, 0.0, 2, 2)


# --- prompts -----------------------------------------------------------------------------------------------------------


def test_prompts_are_ranked() -> None:
    made = prompt_spread({"terse": 0.7, "polite": 0.4, "long": 0.5, "broken": math.nan, "other": 0.4})
    assert made == PromptSpread(pytest.approx(0.45), 0.4, 0.7, "polite", "terse", 4)
    assert made.range == pytest.approx(0.3)


def test_no_prompt_has_no_spread() -> None:
    made = prompt_spread({"default": math.nan})
    assert (made.lowest_prompt, made.highest_prompt, made.n_prompts) == ("", "", 0)
    assert all(math.isnan(value) for value in (made.median, made.lowest, made.highest, made.range))
