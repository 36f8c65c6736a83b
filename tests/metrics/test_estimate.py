from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from made import BAD_IMAGE, BLOCKED, ERROR, REFUSED, SCORED, UNPARSED, UNSCORED, as_sets, columns, labelled, one_way

import eyetest
from eyetest import stats
from eyetest.metrics.classification import Accuracy, MacroF1, ScoreRate, SuccessRate
from eyetest.metrics.columns import Metric
from eyetest.metrics.estimate import bounds, by_repeat, estimate, overall
from eyetest.metrics.multilabel import MultilabelMacroF1
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


def test_bootstrap_equals_naive_resampling() -> None:
    made = as_sets(answers(300, seed=1))
    metric = MultilabelMacroF1()
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
    made = as_sets(answers(240, seed=4, cluster=group))
    truth, read = made.target, np.where(made.status == SCORED, made.answer, -1)
    rng = np.random.default_rng(5)
    members = np.arange(240).reshape(40, 6)
    naive = []
    for _ in range(600):
        rows = members[rng.integers(0, 40, 40)].ravel()
        naive.append(f1_score(truth[rows], read[rows], labels=[0, 1, 2], average="macro", zero_division=0))
    found = estimate(MultilabelMacroF1(), made, seed=0, resamples=4000)
    assert found.value == pytest.approx(f1_score(truth, read, labels=[0, 1, 2], average="macro"))
    assert ends(found) == pytest.approx(tuple(np.quantile(naive, [0.025, 0.975])), abs=0.03)
    assert "|interval=cluster_bootstrap95x4000|" in found.signature


@pytest.mark.parametrize("per_group", [1, 3])
def test_bootstrap_follows_its_seed_and_not_the_order_of_answers(per_group: int) -> None:
    made = as_sets(answers(120, seed=6, cluster=np.arange(120) // per_group))
    shuffled = made.take(np.random.default_rng(0).permutation(120))
    first, again, other = (estimate(MultilabelMacroF1(), c, seed=s) for c, s in ((made, 1), (shuffled, 1), (made, 2)))
    assert ends(first) == ends(again)
    assert ends(first) != ends(other)


def test_an_interval_without_width_says_so() -> None:
    made = estimate(MultilabelMacroF1(), as_sets(labelled("ab" * 20, "ab" * 20, "ab")), seed=0)
    assert ends(made) == (1.0, 1.0)
    assert made.note == "interval without width: nothing varies"


# --- repeats ---------------------------------------------------------------------------------------------------------


def repeated(seed: int, n: int = 120, repeats: int = 3, **given: Any) -> Any:
    """Three classes; a sample is answered right with a probability of its own."""
    rng = np.random.default_rng(seed)
    truth, ease = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.beta(2, 1, n)
    read = np.where(rng.random((repeats, n)) < ease, truth, rng.integers(0, 3, (repeats, n)))
    place = {"sample": np.tile(np.arange(n), repeats), "repeat": np.repeat(np.arange(repeats), n)}
    place["request"] = np.arange(n * repeats)
    return labelled(np.tile(truth, repeats).tolist(), read.ravel().tolist(), range(3), **place | given)


def test_of_repeats_the_value_is_the_mean_of_theirs_and_not_the_pooled_one() -> None:
    from sklearn.metrics import f1_score

    made = repeated(0)
    each = [f1_score(made.target[r], made.answer[r], average="macro") for r in (made.repeat == k for k in range(3))]
    found = estimate(MacroF1(), made, seed=0)
    assert by_repeat(MacroF1(), made) == pytest.approx(each)
    assert found.value == pytest.approx(np.mean(each))
    assert abs(found.value - f1_score(made.target, made.answer, average="macro")) > 1e-4
    assert found.signature.startswith("macro_f1|mean_of_repeats=3|unparsed=wrong|interval=cluster_score95|")
    resampled = estimate(MultilabelMacroF1(), as_sets(made), seed=0)
    assert resampled.value == pytest.approx(found.value)
    assert resampled.signature.startswith("label_macro_f1|mean_of_repeats=3|unparsed=wrong|interval=cluster_bootstrap95x2000|")
    assert estimate(Accuracy(), made, seed=0).signature.startswith("accuracy|unparsed=wrong|")


def test_repeats_that_answer_alike_are_one() -> None:
    once = repeated(1, repeats=1)
    thrice = once.take(np.tile(np.arange(120), 3))
    thrice.repeat[:] = np.repeat(np.arange(3), 120)
    one, three = (estimate(MultilabelMacroF1(), as_sets(made), seed=0, resamples=20_000) for made in (once, thrice))
    assert one.value == pytest.approx(three.value)
    assert ends(three) == pytest.approx(ends(one), abs=0.004)
    one, three = (estimate(MultilabelMacroF1(), as_sets(made), seed=0) for made in (once, once.take(np.arange(120))))
    assert ends(three) == ends(one)


@pytest.mark.parametrize("repeat", [0, 7])
@pytest.mark.parametrize("given", [{}, {"cluster": np.arange(120) // 4}, {"cluster": np.arange(120) // 4, "request": None}])
def test_one_repeat_is_the_metric_of_all_counts_whatever_its_number(given: dict[str, Any], repeat: int) -> None:
    if "request" in given:
        given = given | {"request": np.random.default_rng(0).integers(0, 50, 120)}
    made = as_sets(repeated(2, repeats=1, **given))
    made.repeat[:] = repeat
    metric, factors = MultilabelMacroF1(), made.factors()
    counts = metric.counts(made)
    if factors.prefix == "twoway_":
        totals = stats.pigeonhole_counts(counts.rows, counts.index, factors, resamples=2000, seed=4)
    else:
        rows, times = counts.rows, counts.times()
        if factors.prefix:
            rows, times = np.unique(counts.by_group(factors.codes[0]), axis=0, return_counts=True)
        totals = stats.bootstrap_counts(rows, times, resamples=2000, seed=4)
    found = estimate(metric, made, seed=4)
    assert found.value == float(metric.value(counts.total()))
    assert ends(found) == stats.percentile(metric.value(totals))
    assert found.signature.startswith(f"label_macro_f1|unparsed=wrong|interval={factors.prefix}bootstrap95x2000|")


@pytest.mark.parametrize("crossed", [False, True])
def test_a_group_is_drawn_with_all_its_repeats(crossed: bool) -> None:
    """Equals resampling whole groups and taking the mean over repeats of each resample's values."""
    texts = np.random.default_rng(3).integers(0, 25, 120)
    given = {"cluster": np.tile(np.arange(120) // 4, 3), "request": np.tile(texts, 3)} if crossed else {}
    made, rng, metric = as_sets(repeated(3, **given)), np.random.default_rng(4), MultilabelMacroF1()
    factors, counts, naive = made.factors(), metric.counts(made), []
    assert factors.prefix == ("twoway_" if crossed else "cluster_")
    for _ in range(1500):
        weight = np.ones(360)
        for code in factors.codes:
            size = int(code.max()) + 1
            weight *= np.bincount(rng.integers(0, size, size), minlength=size)[code]
        each = [(weight * (made.repeat == k)) @ counts.rows[counts.index] for k in range(3)]
        naive.append(np.mean(metric.value(np.array(each))))
    found = estimate(metric, made, seed=0, resamples=8000)
    assert ends(found) == pytest.approx(tuple(np.quantile(naive, [0.025, 0.975])), abs=0.012)


def test_repeats_draw_the_same_whatever_the_order_of_answers() -> None:
    made = as_sets(repeated(5))
    shuffled = made.take(np.random.default_rng(0).permutation(360))
    first, again = (estimate(MultilabelMacroF1(), c, seed=1) for c in (made, shuffled))
    assert (first.value, ends(first)) == (pytest.approx(again.value, abs=1e-15), pytest.approx(ends(again), abs=1e-15))


def test_a_repeat_without_answers_is_left_out() -> None:
    made = repeated(6)
    made.status[made.repeat == 1] = ERROR
    rest = made.take(made.repeat != 1)
    assert np.isnan(by_repeat(MacroF1(), made)).tolist() == [False, True, False]
    found, expected = estimate(MacroF1(), made, seed=0), estimate(MacroF1(), rest, seed=0)
    assert (found.value, ends(found), found.signature) == (expected.value, ends(expected), expected.signature)
    assert "|mean_of_repeats=2|" in found.signature
    low, high = bounds(MacroF1(), made)
    assert low < high == pytest.approx((2 * expected.value + 1) / 3)
    made.status[:] = ERROR
    assert math.isnan(overall(MacroF1(), made))
    assert estimate(MacroF1(), made, seed=0).note == "undefined: no answers"


def test_repeats_without_a_label_space_are_undefined() -> None:
    made = estimate(MacroF1(), columns(np.ones(30), sample=np.arange(30) // 2, repeat=np.arange(30) % 2), seed=0)
    assert made.note == "undefined: macro_f1 needs one label space that all samples share"


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


def expected_of_a_repeat(n: int) -> float:
    """What macro-F1 comes to in a repeat of n samples on average: its confusion matrix is multinomial."""
    right = 2 / 3  # mean of Beta(2, 1); else a guess among three
    table = np.array([[0.5], [0.3], [0.2]]) * (right * np.eye(3) + (1 - right) / 3)
    drawn = np.random.default_rng(0).multinomial(n, table.ravel(), 20_000).reshape(-1, 3, 3)
    f1 = 2 * np.diagonal(drawn, axis1=1, axis2=2) / (drawn.sum(axis=1) + drawn.sum(axis=2))
    return float(f1.mean())


def repeats_cover(metric: Metric, times: int, seed: int, resamples: int) -> float:
    """How often the interval of 100 samples in three repeats holds what a repeat comes to on average."""
    rng, hits, truth = np.random.default_rng(seed), 0, expected_of_a_repeat(100)
    for _ in range(times):
        made = estimate(metric, as_sets(repeated(int(rng.integers(1 << 30)), n=100)), seed=0, resamples=resamples)
        hits += made.low <= truth <= made.high
    return hits / times


@pytest.mark.parametrize("metric", [MacroF1(), MultilabelMacroF1()])
def test_macro_f1_of_repeats_is_covered(metric: Metric) -> None:
    assert 0.9 <= repeats_cover(metric, 200, seed=0, resamples=400) <= 0.98


@pytest.mark.long
@pytest.mark.parametrize("metric", [MacroF1(), MultilabelMacroF1()])
def test_macro_f1_of_repeats_is_covered_at_length(metric: Metric) -> None:
    assert 0.935 <= repeats_cover(metric, 4000, seed=1, resamples=1000) <= 0.96
