from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.stats import mcnemar_exact, permutation
from eyetest.stats.permutation import paired_permutation

LABELS = 3


def mean(totals: Any) -> Any:
    """Of rows (credit, 1)."""
    return totals[..., 0] / totals[..., 1]


def ones(credit: Any) -> Any:
    return np.stack([np.asarray(credit, float), np.ones(len(credit))], axis=1)


def macro_f1(totals: Any) -> Any:
    """Of a confusion matrix laid flat."""
    table = totals.reshape(*totals.shape[:-1], LABELS, LABELS)
    right, size = np.diagonal(table, axis1=-2, axis2=-1), table.sum(-1) + table.sum(-2)
    return np.divide(2 * right, size, out=np.zeros_like(size), where=size > 0).mean(-1)


def cells(truth: Any, answer: Any) -> Any:
    return np.eye(LABELS * LABELS)[np.asarray(truth) * LABELS + np.asarray(answer)]


def answers(n: int, rates: tuple[float, ...], seed: int = 0) -> list[Any]:
    """Truth, then the answers of models with these rates."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, LABELS, n)
    return [truth, *(np.where(rng.random(n) < rate, truth, rng.integers(0, LABELS, n)) for rate in rates)]


# --- oracles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_means_equal_scipys_exact_test(seed: int) -> None:
    from scipy.stats import permutation_test

    rng = np.random.default_rng(seed)
    first, second = rng.random(10) + 0.2, rng.random(10)
    oracle = permutation_test(
        (first, second), lambda a, b, axis: (a - b).mean(axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert paired_permutation(ones(first), ones(second), mean, permutations=1, seed=0) == pytest.approx(oracle.pvalue)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 9))
def test_credit_of_0_and_1_gives_mcnemars_exact_p(only_first: int, only_second: int, both: int) -> None:
    times = np.array([only_first, only_second, both, 1])
    made = paired_permutation(ones([1, 0, 1, 0]), ones([0, 1, 1, 0]), mean, times, permutations=1, seed=0)
    assert made == pytest.approx(mcnemar_exact(only_first, only_second), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_macro_f1_equals_every_exchange_by_hand(seed: int) -> None:
    from sklearn.metrics import f1_score

    truth, first, second = answers(9, (0.9, 0.2), seed)

    def difference(exchanged: Any) -> float:
        sides = np.where(exchanged, second, first), np.where(exchanged, first, second)
        one, other = (f1_score(truth, side, labels=range(LABELS), average="macro", zero_division=0) for side in sides)
        return float(one - other)

    moves = first != second
    assert 3 <= moves.sum() <= 8
    observed = abs(difference(np.zeros(9, bool)))
    found = []
    for chosen in itertools.product([False, True], repeat=int(moves.sum())):
        exchanged = np.zeros(9, bool)
        exchanged[moves] = chosen
        found.append(abs(difference(exchanged)) >= observed - 1e-12)
    made = paired_permutation(cells(truth, first), cells(truth, second), macro_f1, permutations=1, seed=0)
    assert made == pytest.approx(np.mean(found), rel=1e-9)


def test_drawn_assignments_agree_with_a_loop_over_units() -> None:
    truth, first, second = answers(300, (0.7, 0.65), 6)
    rng, (one, other) = np.random.default_rng(1), (cells(truth, first), cells(truth, second))
    observed = abs(macro_f1(one.sum(0)) - macro_f1(other.sum(0)))
    extreme = 0
    for _ in range(3000):
        swap = rng.random((300, 1)) < 0.5
        a, b = np.where(swap, other, one).sum(0), np.where(swap, one, other).sum(0)
        extreme += abs(macro_f1(a) - macro_f1(b)) >= observed - 1e-12
    brute = extreme / 3000
    made = paired_permutation(one, other, macro_f1, permutations=20_000, seed=0)
    assert 0.05 < brute < 0.95
    assert made == pytest.approx(brute, abs=4 * math.sqrt(brute * (1 - brute) / 3000))


def test_drawn_agrees_with_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    first, second = ones(rng.random(12)), ones(rng.random(12) + 0.05)
    exact = paired_permutation(first, second, mean, permutations=1, seed=0)
    monkeypatch.setattr(permutation, "EXACT", 0)
    monkeypatch.setattr(permutation, "CHUNK", 10_000)  # many chunks
    assert paired_permutation(first, second, mean, permutations=40_000, seed=0) == pytest.approx(exact, abs=0.01)
    assert 0.02 < exact < 0.5


# --- properties --------------------------------------------------------------------------------------------------------


def test_counted_rows_are_the_units_they_stand_for_in_any_order() -> None:
    truth, first, second = answers(400, (0.8, 0.7), 3)
    one, other = cells(truth, first), cells(truth, second)
    distinct, times = np.unique(np.concatenate([one, other], axis=1), axis=0, return_counts=True)
    left, right = np.split(distinct, 2, axis=1)
    order = np.random.default_rng(0).permutation(400)
    made = {
        paired_permutation(left, right, macro_f1, times, permutations=500, seed=7),
        paired_permutation(one, other, macro_f1, permutations=500, seed=7),
        paired_permutation(one[order], other[order], macro_f1, permutations=500, seed=7),
        paired_permutation(other, one, macro_f1, permutations=500, seed=7),
    }
    assert len(made) == 1
    assert 0 < made.pop() < 0.2


def test_steps_are_few_however_many_units_there_are() -> None:
    truth, first, second = answers(20_000, (0.7, 0.5), 0)
    step, units, reversed_ = permutation._steps(cells(truth, second) - cells(truth, first), np.ones(20_000, np.int64))
    assert len(step) == LABELS * math.comb(LABELS, 2)  # a target and two answers, whichever side gave which
    assert units.sum() == (first != second).sum()
    assert (reversed_ <= units).all()
    assert 0 < reversed_.sum() < units.sum()


def test_the_least_p_is_one_draw_among_all() -> None:
    rows = ones(np.ones(5000)), ones(np.linspace(0, 0.1, 5000))
    assert paired_permutation(*rows, mean, permutations=99, seed=0) == 0.01


def test_under_the_null_few_are_rejected() -> None:
    rng, rejected = np.random.default_rng(0), 0
    for seed in range(400):
        truth, first, second = answers(60, (0.6, 0.6), int(rng.integers(1 << 30)))
        rejected += paired_permutation(cells(truth, first), cells(truth, second), macro_f1, permutations=199, seed=seed) <= 0.05
    assert 0.02 <= rejected / 400 <= 0.085


# --- degenerate --------------------------------------------------------------------------------------------------------


def test_equal_sides_and_no_units() -> None:
    rows = ones([0.2, 0.9])
    assert paired_permutation(rows, rows, mean, permutations=9, seed=0) == 1.0
    assert paired_permutation(np.zeros((0, 9)), np.zeros((0, 9)), macro_f1, permutations=9, seed=0) == 1.0


def test_rounding_breaks_no_tie() -> None:
    rows = ones([0.1, 0.2, 0.3]), ones([0.3, 0.2, 0.1])  # 0.1 + 0.2 + 0.3 depends on the order
    assert paired_permutation(*rows, mean, permutations=9, seed=0) == 1.0


def test_an_undefined_difference_has_no_p_and_an_undefined_exchange_is_extreme() -> None:
    def defined_from(least: float) -> Any:
        return lambda totals: np.where(totals[..., 0] >= least, totals[..., 0], np.nan)

    # Totals 5 and 4; exchanging one of the units leaves 1 and 8, or 8 and 1.
    rows = np.array([[1.0], [4.0]]), np.array([[4.0], [0.0]])
    assert math.isnan(paired_permutation(*rows, defined_from(5), permutations=9, seed=0))
    assert paired_permutation(*rows, defined_from(4), permutations=9, seed=0) == 1.0
    # Totals 9 and 0: without the exchanges that are undefined under the other value, 1/2.
    rows = np.array([[5.0], [4.0]]), np.array([[0.0], [0.0]])
    assert paired_permutation(*rows, defined_from(0), permutations=9, seed=0) == 0.5


def test_an_infinite_difference_is_extreme_only_where_it_is_infinite() -> None:
    with np.errstate(divide="ignore"):
        rows = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
        assert paired_permutation(*rows, mean, permutations=9, seed=0) == 0.5
