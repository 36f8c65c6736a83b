from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from made import BAD_IMAGE, BLOCKED, ERROR, REFUSED, SCORED, UNPARSED, UNSCORED, columns, labelled, one_way

import eyetest
from eyetest import stats
from eyetest.metrics.classification import Accuracy, BalancedAccuracy, MacroF1, ScoreRate, SuccessRate
from eyetest.metrics.estimate import bounds, estimate
from eyetest.types import Estimate


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


def test_a_proportion_of_independent_answers_has_wilsons_interval() -> None:
    made = estimate(Accuracy(), columns(np.arange(104) < 77), seed=0)
    assert made == Estimate(
        metric="accuracy",
        value=77 / 104,
        low=made.low,
        high=made.high,
        n=104,
        n_distinct=104,
        signature=f"accuracy|unparsed=wrong|interval=wilson95|seed=0|v{eyetest.__version__}",
    )
    assert ends(made) == pytest.approx((0.6486335151385043, 0.8150100644901246), abs=1e-12)
    assert ends(estimate(Accuracy(), columns(np.arange(104) < 77), seed=0, level=0.9)) == pytest.approx(
        stats.wilson(77, 104, 0.9)
    )


def test_partial_credit_has_students_interval_within_zero_and_one() -> None:
    credit = np.random.default_rng(0).random(50)
    made = estimate(ScoreRate(), columns(credit), seed=3)
    assert ends(made) == pytest.approx(stats.factor_interval(credit, one_way(np.arange(50))))
    assert made.signature.startswith("score_rate|unparsed=wrong|interval=t95|seed=3|")
    assert estimate(ScoreRate(), columns([1.0] * 19 + [0.95, 0.2]), seed=0).high == 1.0


def test_everything_else_is_counted() -> None:
    status = [SCORED] * 20 + [UNPARSED, REFUSED, BLOCKED, BLOCKED, ERROR, BAD_IMAGE, BAD_IMAGE, UNSCORED]
    made = estimate(Accuracy(), columns(np.ones(28), status=status), seed=0)
    assert (made.n, made.n_distinct, made.n_unparsed, made.n_refused, made.n_failed) == (24, 24, 1, 3, 3)
    assert made.value == pytest.approx(20 / 24)
    assert made.note == "1 answers unscored"
    excluded = estimate(Accuracy("parsed_only"), columns(np.ones(28), status=status), seed=0)
    assert (excluded.n, excluded.value) == (20, 1.0)
    assert excluded.signature.startswith("accuracy|unparsed=excluded|interval=wilson95|")
    assert estimate(SuccessRate(), columns(np.ones(28), status=status), seed=0).value == pytest.approx(20 / 24)


@pytest.mark.parametrize(
    ("metric", "status", "note"),
    [
        (Accuracy(), ERROR, "undefined: no answers"),
        (Accuracy("parsed_only"), UNPARSED, "undefined: no answer could be read"),
        (MacroF1(), SCORED, "undefined: macro_f1 needs one label space that all samples share"),
    ],
)
def test_undefined_says_why(metric: Any, status: int, note: str) -> None:
    made = estimate(metric, columns(np.ones(30), status=[status] * 30), seed=0)
    assert math.isnan(made.value)
    assert all(math.isnan(end) for end in ends(made))
    assert made.note == note
    assert "|interval=none|" in made.signature


def test_600_answers_to_8_requests_have_no_interval() -> None:
    made = estimate(Accuracy(), columns(np.arange(600) % 3 == 0, request=np.arange(600) % 8), seed=0)
    assert made.value == pytest.approx(1 / 3)
    assert (made.n, made.n_distinct) == (600, 8)
    assert all(math.isnan(end) for end in ends(made))
    assert made.note == "interval withheld: only 8 distinct requests"


def test_few_independent_groups_have_no_interval_however_many_requests() -> None:
    made = estimate(Accuracy(), columns(np.arange(60) % 2, cluster=np.arange(60) % 9), seed=0)
    assert made.note == "interval withheld: only 9 independent groups"
    assert math.isnan(made.low)


def test_answers_that_go_together_widen_the_interval() -> None:
    right = np.repeat(np.arange(40) % 2, 10)
    alone, together = (estimate(Accuracy(), columns(right, **kw), seed=0) for kw in ({}, {"request": np.arange(400) // 10}))
    assert together.n_distinct == 40
    assert ends(together) == pytest.approx(stats.factor_wilson(right, one_way(np.arange(400) // 10)))
    assert "|interval=cluster_wilson95|" in together.signature
    # Ten equal answers a group: as if there were 40, up to t for z and CR1.
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(math.sqrt(10), rel=0.04)


def test_repeats_of_a_sample_are_one_unit() -> None:
    right = np.repeat(np.arange(30) % 3 == 0, 4)
    made = estimate(
        Accuracy(), columns(right, sample=np.arange(120) // 4, repeat=np.arange(120) % 4, request=np.arange(120)), seed=0
    )
    assert ends(made) == pytest.approx(stats.factor_wilson(right, one_way(np.arange(120) // 4)))
    assert (made.n, made.n_distinct) == (120, 120)


def test_clustered_partial_credit_uses_the_cluster_robust_error() -> None:
    credit = np.random.default_rng(0).random(60)
    made = estimate(ScoreRate(), columns(credit, cluster=np.arange(60) // 3), seed=0)
    assert ends(made) == pytest.approx(stats.factor_interval(credit, one_way(np.arange(60) // 3)))
    assert "|interval=cluster_t95|" in made.signature


# --- bootstrap ---------------------------------------------------------------------------------------------------------


def answers(n: int, seed: int, k: int = 3, **given: Any) -> Any:
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, n, p=[0.6, 0.3, 0.1])
    guess = np.where(rng.random(n) < 0.6, truth, rng.integers(-1, k, n))
    return labelled(truth.tolist(), [None if g < 0 else int(g) for g in guess], range(k), **given)


def test_macro_f1_bootstrap_equals_naive_resampling() -> None:
    made = answers(300, seed=1)
    metric = MacroF1()
    rng = np.random.default_rng(2)
    counts = metric.counts(made)
    naive = metric.value(counts.rows[counts.index[rng.integers(0, 300, (4000, 300))]].sum(axis=1))
    drawn = metric.value(stats.bootstrap_counts(counts.rows, counts.times(), resamples=20_000, seed=3))
    from scipy.stats import ks_2samp

    assert ks_2samp(naive, drawn).pvalue > 1e-3
    found = estimate(metric, made, seed=3, resamples=20_000)
    assert ends(found) == pytest.approx(tuple(np.quantile(naive, [0.025, 0.975])), abs=0.008)
    assert "|interval=bootstrap95x20000|seed=3|" in found.signature


def test_cluster_bootstrap_equals_naive_resampling_of_groups() -> None:
    from sklearn.metrics import f1_score

    group = np.arange(240) // 6
    made = answers(240, seed=4, cluster=group)
    truth, read = made.target, np.where(made.status == SCORED, made.answer, -1)
    rng = np.random.default_rng(5)
    members = np.arange(240).reshape(40, 6)
    naive = []
    for _ in range(600):
        rows = members[rng.integers(0, 40, 40)].ravel()
        naive.append(f1_score(truth[rows], read[rows], labels=[0, 1, 2], average="macro", zero_division=0))
    found = estimate(MacroF1(), made, seed=0, resamples=4000)
    assert found.value == pytest.approx(f1_score(truth, read, labels=[0, 1, 2], average="macro"))
    assert ends(found) == pytest.approx(tuple(np.quantile(naive, [0.025, 0.975])), abs=0.03)
    assert "|interval=cluster_bootstrap95x4000|" in found.signature


@pytest.mark.parametrize("per_group", [1, 3])
def test_bootstrap_follows_its_seed_and_not_the_order_of_answers(per_group: int) -> None:
    made = answers(120, seed=6, cluster=np.arange(120) // per_group)
    shuffled = made.take(np.random.default_rng(0).permutation(120))
    first, again, other = (estimate(BalancedAccuracy(), c, seed=s) for c, s in ((made, 1), (shuffled, 1), (made, 2)))
    assert ends(first) == ends(again)
    assert ends(first) != ends(other)


def test_an_interval_without_width_says_so() -> None:
    made = estimate(MacroF1(), labelled("ab" * 20, "ab" * 20, "ab"), seed=0)
    assert ends(made) == (1.0, 1.0)
    assert made.note == "interval without width: every resample agrees"


# --- bounds ------------------------------------------------------------------------------------------------------------


def test_bounds_of_a_mean_count_everything_outside_n_both_ways() -> None:
    status = [SCORED] * 6 + [UNPARSED, ERROR, BAD_IMAGE, UNSCORED]
    made = columns([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], status=status)
    assert bounds(Accuracy(), made) == pytest.approx((3 / 10, 6 / 10))
    assert bounds(Accuracy("parsed_only"), made) == pytest.approx((3 / 9, 6 / 9))
    assert bounds(SuccessRate(), made) == pytest.approx((6 / 10, 9 / 10))
    assert bounds(Accuracy(), columns([1, 0])) == (0.5, 0.5)


def test_bounds_of_macro_f1_hold_the_value() -> None:
    made = labelled("aabbab", "aaabbb", "ab", status=[SCORED] * 4 + [ERROR] * 2)
    low, high = bounds(MacroF1(), made)
    assert low == pytest.approx((2 * 2 / (3 + 3) + 2 * 1 / (3 + 1)) / 2)
    assert high == pytest.approx((2 * 3 / (3 + 4) + 2 * 2 / (3 + 2)) / 2)


# --- coverage ----------------------------------------------------------------------------------------------------------


def covers(rng: np.random.Generator, sizes: np.ndarray, times: int) -> float:
    """How often the interval of answers that share requests holds the truth, 1/2."""
    request = np.repeat(np.arange(len(sizes)), sizes)
    hits = 0
    for _ in range(times):
        right = rng.random(len(request)) < rng.beta(1, 1, len(sizes))[request]
        made = estimate(Accuracy(), columns(right, request=request), seed=0)
        hits += made.low <= 0.5 <= made.high
    return hits / times


def test_600_answers_to_12_requests_are_covered() -> None:
    assert covers(np.random.default_rng(0), np.full(12, 50), 600) >= 0.92


def test_coverage_survives_one_request_that_holds_half_of_the_answers() -> None:
    assert covers(np.random.default_rng(1), np.array([300] + [27] * 11), 600) >= 0.92


@pytest.mark.long
@pytest.mark.parametrize("requests", [10, 12, 20, 50])
def test_coverage_at_length(requests: int) -> None:
    assert 0.94 <= covers(np.random.default_rng(requests), np.full(requests, 600 // requests), 20_000) <= 0.975


@pytest.mark.long
def test_macro_f1_coverage_at_length() -> None:
    rng, metric = np.random.default_rng(0), MacroF1()
    rates = np.array([[0.85, 0.15], [0.3, 0.7]])
    share = np.array([75, 29]) / 104
    expected = float(np.mean(2 * np.diag(rates) * share / (share + share @ rates)))
    hits = 0
    for _ in range(4000):
        drawn = rng.choice(2, 104, p=share)
        guess = (rng.random(104) < rates[drawn, 1]).astype(int)
        made = estimate(metric, labelled(drawn.tolist(), guess.tolist(), range(2)), seed=0)
        hits += made.low <= expected <= made.high
    assert hits / 4000 >= 0.925
