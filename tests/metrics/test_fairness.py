"""Misses, false alarms and refusals by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from made import BLOCKED, ERROR, REFUSED, SCORED, UNPARSED, UNSCORED, columns, one_way

from eyetest import stats
from eyetest.errors import UsageError
from eyetest.metrics.columns import Columns
from eyetest.metrics.fairness import (
    Gap,
    false_negative_rate,
    false_positive_rate,
    group_gaps,
    group_rates,
    precision_at_fpr,
    refusal_rate,
    worst_group,
)
from eyetest.stats.auc import operating_intervals, operating_point
from eyetest.types import Estimate

LABELS = ("harmless", "hateful")
RATES = {"false_positive_rate": false_positive_rate, "false_negative_rate": false_negative_rate, "refusal_rate": refusal_rate}


def memes(target: Any, answer: Any, start: int = 0, **given: Any) -> Columns:
    """Answers 0 and 1, -1 where nothing was read; samples numbered from `start`."""
    target, answer = np.asarray(target), np.asarray(answer)
    given.setdefault("status", np.where(answer < 0, UNPARSED, SCORED))
    given.setdefault("sample", start + np.arange(len(target)))
    return columns(target == answer, target=target, answer=answer, labels=LABELS, **given)


def group(rate: float, n: int, start: int, *, seed: int = 0, **given: Any) -> Columns:
    """n harmless memes of which about `rate` are called hateful."""
    called = np.random.default_rng(seed + start).random(n) < rate
    return memes(np.zeros(n, int), called.astype(int), start, **given)


def exactly(k: int, n: int, start: int, **given: Any) -> Columns:
    """n harmless memes of which the first k are called hateful."""
    return memes(np.zeros(n, int), (np.arange(n) < k).astype(int), start, **given)


def only(groups: dict[str, Columns], rate: str = "false_positive_rate", **given: Any) -> tuple[Gap, ...]:
    return group_gaps(groups, "hateful", rates=[rate], seed=0, **given)


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


# --- rates -------------------------------------------------------------------------------------------------------------


def test_what_an_answer_counts_as() -> None:
    answer = [1, 0, -1, -1, -1, -1, 1, 0, -1, -1, -1, -1]
    status = [SCORED, SCORED, UNPARSED, REFUSED, BLOCKED, ERROR] * 2
    made = memes([1] * 6 + [0] * 6, answer, status=status)
    alarms, misses, refused = (rate(made, "hateful", seed=0) for rate in RATES.values())
    assert (alarms.metric, alarms.value, alarms.n) == ("false_positive_rate", 1 / 5, 5)
    assert (misses.metric, misses.value, misses.n) == ("false_negative_rate", 4 / 5, 5)
    assert (refused.metric, refused.value, refused.n) == ("refusal_rate", 4 / 10, 10)
    assert (alarms.n_unparsed, alarms.n_refused, alarms.n_failed) == (1, 2, 2)


def test_rates_equal_scikit_learns_confusion_matrix() -> None:
    from sklearn.metrics import confusion_matrix

    rng = np.random.default_rng(0)
    target, answer = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    (tn, fp), (fn, tp) = confusion_matrix(target, answer).tolist()
    made = memes(target, answer)
    alarms, misses = (rate(made, "hateful", seed=0) for rate in (false_positive_rate, false_negative_rate))
    assert (alarms.value, misses.value) == pytest.approx((fp / (fp + tn), fn / (fn + tp)))
    assert ends(alarms) == pytest.approx(stats.wilson(fp, fp + tn))
    assert ends(misses) == pytest.approx(stats.wilson(fn, fn + tp))
    turned = false_positive_rate(made, "harmless", seed=0)
    assert turned.value == misses.value
    assert alarms.signature.startswith("false_positive_rate|unparsed=wrong|interval=wilson95|seed=0|")


def test_answers_that_go_together_have_a_wider_interval() -> None:
    answer = np.repeat(np.arange(30) % 3 == 0, 4).astype(int)
    made = false_positive_rate(memes(np.zeros(120, int), answer, cluster=np.arange(120) // 4), "hateful", seed=0)
    assert ends(made) == pytest.approx(stats.factor_wilson(answer, one_way(np.arange(120) // 4)))
    assert "|interval=cluster_wilson95|" in made.signature


@pytest.mark.parametrize(
    ("name", "target", "note"),
    [
        ("false_positive_rate", 1, "undefined: no negative item"),
        ("false_negative_rate", 0, "undefined: no positive item"),
    ],
)
def test_one_class_is_undefined(name: str, target: int, note: str) -> None:
    made = RATES[name](memes([target] * 30, [0] * 30), "hateful", seed=0)
    assert math.isnan(made.value)
    assert (made.n, made.note) == (0, note)


@pytest.mark.parametrize("name", RATES)
def test_nothing_and_few(name: str) -> None:
    nothing = RATES[name](memes([], []), "hateful", seed=0)
    assert math.isnan(nothing.value)
    assert nothing.note.startswith("undefined: no ")
    few = RATES[name](memes([0] * 5 + [1] * 4, [0] * 9, status=[SCORED] * 8 + [UNSCORED]), "hateful", seed=0)
    assert math.isnan(few.low)
    assert few.note.startswith("interval withheld: only ")
    assert few.note.endswith("distinct requests; 1 answers unscored")


def test_an_unknown_label_or_rate_is_named() -> None:
    made = memes([0, 1], [0, 1])
    message = r"Unknown positive label 'hatefull'. Did you mean 'hateful'\? Known: harmless, hateful."
    for call in (*RATES.values(), precision_at_fpr):
        with pytest.raises(UsageError, match=message):
            call(made, "hatefull", seed=0)
    with pytest.raises(UsageError, match=message):
        group_gaps({"a": made}, "hatefull", seed=0)
    for call_rate in (lambda: only({"a": made}, "refusal"), lambda: worst_group({"a": made}, "hateful", "refusal", seed=0)):
        with pytest.raises(
            UsageError, match=r"Unknown rate 'refusal'.* Known: false_negative_rate, false_positive_rate, refusal_rate"
        ):
            call_rate()


def test_an_item_whose_target_is_no_label_is_in_no_rate_of_one_class() -> None:
    made = memes([0] * 20 + [1] * 20 + [-1] * 20, [0] * 60)
    assert [rate(made, "hateful", seed=0).n for rate in RATES.values()] == [20, 20, 60]


def test_rates_of_groups() -> None:
    parts = {"b": memes([0, 1] * 20, [0, 0] * 20), "a": memes([0, 1] * 20, [1, 1] * 20, 100)}
    made = group_rates(parts, "hateful", seed=0)
    assert [row.group for row in made] == ["b", "a"]
    assert [(row.false_positive_rate.value, row.false_negative_rate.value) for row in made] == [(0, 1), (1, 0)]
    assert made[0].refusal_rate == refusal_rate(parts["b"], "hateful", seed=0)


# --- group against the rest --------------------------------------------------------------------------------------------


def test_independent_answers_have_newcombes_interval_and_the_chi_square_test() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep, test_proportions_2indep

    first, second = only({"a": exactly(30, 100, 0), "b": exactly(40, 250, 1000)})
    assert (first.rate, first.rest, first.estimate.n) == (0.3, 0.16, 100)
    assert first.estimate.value == pytest.approx(0.14)
    assert first.estimate.metric == "false_positive_rate_gap"
    assert ends(first.estimate) == pytest.approx(confint_proportions_2indep(30, 100, 40, 250, method="newcomb"))
    z = test_proportions_2indep(30, 100, 40, 250, method="score", compare="diff", correction=True).statistic
    assert first.test == "chi_square"
    assert first.p == pytest.approx(2 * stats.t_tail(abs(z), 1e9) / 2, rel=0.01)
    assert first.estimate.signature.startswith("false_positive_rate_gap|unparsed=wrong|interval=newcombe95|")
    assert (second.estimate.value, second.p) == pytest.approx((-0.14, first.p))
    assert ends(second.estimate) == pytest.approx((-first.estimate.high, -first.estimate.low))


def test_few_events_are_tested_exactly() -> None:
    from scipy.stats import fisher_exact

    gap, _ = only({"a": exactly(2, 20, 0), "b": exactly(0, 60, 100)})
    assert gap.test == "fisher_exact"
    assert gap.p == pytest.approx(fisher_exact([[2, 18], [0, 60]])[1])
    assert only({"a": exactly(4, 20, 0), "b": exactly(2, 60, 100)})[0].test == "chi_square"  # 1.5 expected
    none, _ = only({"a": exactly(0, 20, 0), "b": exactly(0, 60, 100)})
    assert none.p == 1.0
    assert none.estimate.low < 0 < none.estimate.high


def test_holm_is_over_the_groups_of_a_rate() -> None:
    parts = {name: exactly(k, 80, 1000 * i) for i, (name, k) in enumerate(zip("abcd", (10, 12, 30, 8), strict=True))}
    parts["tiny"] = exactly(1, 5, 9000)
    made = only(parts)
    p = np.array([gap.p for gap in made])
    assert np.isnan(p[-1])
    assert [gap.p_adjusted for gap in made[:4]] == pytest.approx(stats.holm(p[:4]).tolist())
    assert math.isnan(made[-1].p_adjusted)
    assert made[-1].test == "none"
    assert made[-1].estimate.note == "interval withheld: only 5 distinct requests in the group"
    assert made[-1].estimate.value == pytest.approx(1 / 5 - 60 / 320)


def test_every_rate_is_a_family_of_its_own() -> None:
    parts = {name: memes([0, 1] * 30, np.arange(60) % k == 0, 100 * k) for name, k in (("a", 2), ("b", 3), ("c", 5))}
    made = group_gaps(parts, "hateful", seed=0)
    assert [(gap.estimate.metric, gap.group) for gap in made] == [(f"{rate}_gap", name) for rate in RATES for name in "abc"]
    assert made[3:6] == only(parts, "false_negative_rate")


def test_one_group_has_no_rest() -> None:
    (gap,) = only({"a": exactly(3, 40, 0)})
    assert gap.rate == pytest.approx(3 / 40)
    assert math.isnan(gap.rest)
    assert math.isnan(gap.estimate.value)
    assert gap.estimate.note == "undefined: no negative item in the rest"
    assert only({}) == ()


def test_an_answer_in_several_groups_counts_once() -> None:
    whole = exactly(60, 200, 0)
    rows = np.arange(200)
    parts = {"even": whole.take(rows % 2 == 0), "third": whole.take(rows % 3 == 0), "all but even": whole.take(rows % 2 == 1)}
    even, third, _ = only(parts)
    apart = only({"in": whole.take(rows % 3 == 0), "out": whole.take(rows % 3 > 0)})[0]
    assert (third.rate, third.rest, third.p, ends(third.estimate)) == (apart.rate, apart.rest, apart.p, ends(apart.estimate))
    assert even.rest == pytest.approx(0.3)


def test_clusters_inside_groups_are_a_regression_with_clusters() -> None:
    import statsmodels.api as sm

    made = [np.repeat(np.random.default_rng(i).random(40) < rate, 5).astype(int) for i, rate in enumerate((0.5, 0.3))]
    parts = {
        name: memes(np.zeros(200, int), called, start, cluster=start + np.arange(200) // 5)
        for name, called, start in zip("ab", made, (0, 1000), strict=True)
    }
    gap, _ = only(parts)
    x = np.repeat([1.0, 0.0], 200)
    fit = sm.OLS(np.concatenate(made), sm.add_constant(x)).fit(
        cov_type="cluster", cov_kwds={"groups": np.arange(400) // 5, "use_correction": False}
    )
    assert gap.test == "cluster_newcombe"
    assert gap.estimate.value == pytest.approx(fit.params[1])
    t = abs(gap.estimate.value) / fit.bse[1]
    assert gap.p == pytest.approx(stats.t_tail(t, 78), rel=0.15)
    assert (gap.estimate.high - gap.estimate.low) / 2 == pytest.approx(1.99 * fit.bse[1], rel=0.05)
    assert "|interval=cluster_newcombe95|" in gap.estimate.signature


def test_a_group_of_few_clusters_has_few_degrees_of_freedom() -> None:
    answer = np.repeat(np.arange(12) % 2, 5)
    parts = {
        "a": memes(np.zeros(60, int), answer, cluster=np.arange(60) // 5),
        "b": group(0.5, 4000, 1000, cluster=1000 + np.arange(4000) // 2),
    }
    low, high = ends(only(parts)[0].estimate)
    size = stats.effective_size(answer.astype(float), one_way(np.arange(60) // 5))
    alone, sure = (stats.wilson(size / 2, size, quantile=stats.t_quantile(0.95, df)) for df in (11, 1999))
    assert alone[1] - alone[0] < high - low < 1.02 * (alone[1] - alone[0])
    assert sure[1] - sure[0] < 0.95 * (high - low)


def test_clusters_that_lie_in_both_groups_cancel() -> None:
    """Each picture with one caption of either group: what the picture does is in both and so in no difference."""
    rng = np.random.default_rng(3)
    picture = rng.random(300) < 0.4
    called = [np.where(rng.random(300) < 0.1, ~picture, picture).astype(int) for _ in range(2)]
    parts = {
        name: memes(np.zeros(300, int), answer, start, cluster=np.arange(300))
        for name, answer, start in zip("ab", called, (0, 1000), strict=True)
    }
    apart = {name: part.take(np.arange(300)) for name, part in parts.items()}
    apart["b"] = memes(np.zeros(300, int), called[1], 1000)
    paired, unpaired = only(parts)[0], only(apart)[0]
    assert paired.estimate.value == unpaired.estimate.value
    difference = called[0] - called[1]
    se = difference.std(ddof=1) / math.sqrt(300)
    width, wide = (made.estimate.high - made.estimate.low for made in (paired, unpaired))
    assert width / 2 == pytest.approx(1.97 * se, rel=0.06)
    assert width < 0.75 * wide
    assert paired.p == pytest.approx(stats.t_tail(difference.mean() / se, 299), rel=0.05)


def test_all_of_one_group_and_none_of_the_rest() -> None:
    parts = {
        "a": exactly(60, 60, 0, cluster=np.arange(60) // 5),
        "b": exactly(0, 100, 1000, cluster=1000 + np.arange(100) // 5),
    }
    gap, _ = only(parts)
    assert gap.estimate.value == 1.0
    assert 0.4 < gap.estimate.low < 0.9
    assert gap.p < 1e-4
    nothing = {name: exactly(0, 100, start, cluster=start + np.arange(100) // 5) for name, start in (("a", 0), ("b", 1000))}
    gap, _ = only(nothing)
    assert (gap.estimate.value, gap.p) == (0.0, 1.0)
    assert gap.estimate.low == pytest.approx(-gap.estimate.high) != 0


def test_p_is_one_less_the_level_at_which_the_interval_ends_at_zero() -> None:
    parts = {
        name: group(rate, 150, start, cluster=start + np.arange(150) // 5)
        for name, rate, start in (("a", 0.4, 0), ("b", 0.25, 1000))
    }
    for gap, end in zip(only(parts), ("low", "high"), strict=True):
        assert 1e-6 < gap.p < 0.5
        assert getattr(only(parts, level=1 - gap.p)[end == "high"].estimate, end) == pytest.approx(0, abs=1e-9)


def test_a_small_group_without_events_is_no_finding() -> None:
    parts = {"a": exactly(0, 60, 0, cluster=np.arange(60) // 5), "b": group(0.05, 500, 1000, cluster=1000 + np.arange(500) // 5)}
    gap, _ = only(parts)
    assert gap.estimate.high > 0.1
    assert gap.p > 0.1


def test_questions_and_pictures_that_cross() -> None:
    rng = np.random.default_rng(4)
    parts = {
        name: group(rate, 240, start, cluster=rng.integers(0, 60, 240), request=rng.integers(0, 40, 240))
        for name, rate, start in (("a", 0.5, 0), ("b", 0.2, 1000))
    }
    gap, _ = only(parts)
    assert gap.test == "twoway_newcombe"
    assert gap.p < 0.001
    assert -1 < gap.estimate.low < gap.estimate.value < gap.estimate.high < 1


# --- the worst group ---------------------------------------------------------------------------------------------------


def test_the_worst_group_has_a_simultaneous_interval() -> None:
    parts = {name: exactly(k, 80, 1000 * i) for i, (name, k) in enumerate(zip("abcd", (10, 31, 30, 8), strict=True))}
    parts["tiny"] = exactly(5, 5, 9000)
    made = worst_group(parts, "hateful", "false_positive_rate", seed=0)
    assert made is not None
    assert (made.group, made.groups, made.estimate.value) == ("b", 4, 31 / 80)
    assert ends(made.estimate) == pytest.approx(stats.wilson(31, 80, 1 - 0.05 / 4))
    assert made.estimate.note == "highest of 4 groups, interval simultaneous over these; 1 groups too small to compare"


def test_the_first_of_equals_and_nothing_to_compare() -> None:
    equal = worst_group({"x": exactly(4, 20, 0), "y": exactly(4, 20, 100)}, "hateful", "false_positive_rate", seed=0)
    assert equal is not None
    assert equal.group == "x"
    alone = worst_group({"x": exactly(4, 20, 0)}, "hateful", "false_positive_rate", seed=0)
    assert alone is not None
    assert ends(alone.estimate) == pytest.approx(stats.wilson(4, 20))
    for parts in ({}, {"x": exactly(1, 4, 0)}, {"x": memes([1] * 20, [1] * 20)}):
        assert worst_group(parts, "hateful", "false_positive_rate", seed=0) is None


# --- precision at a false positive rate --------------------------------------------------------------------------------


def with_probabilities(seed: int, n: int = 300, shift: float = 1.5, **given: Any) -> tuple[Columns, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    target = (rng.random(n) < 0.4).astype(int)
    score = 1 / (1 + np.exp(-(rng.standard_normal(n) + shift * target)))
    made = memes(target, np.zeros(n, int), probabilities=np.stack([1 - score, score], axis=1), **given)
    return made, target == 1, score


def test_precision_at_a_false_positive_rate() -> None:
    made, truth, score = with_probabilities(0)
    found, point = precision_at_fpr(made, "hateful", 0.1, seed=2, resamples=200), operating_point(truth, score, 0.1)
    assert (found.precision.value, found.recall.value) == pytest.approx((point.precision, point.recall))
    assert found.threshold == pytest.approx(point.threshold)
    assert found.false_positive_rate == point.false_positive_rate <= 0.1
    expected = operating_intervals(truth, score, None, 0.1, resamples=200, seed=2)
    assert (*ends(found.precision), *ends(found.recall)) == pytest.approx([*expected[0], *expected[1]])
    assert [made.metric for made in (found.precision, found.recall)] == ["precision_at_fpr@10", "recall_at_fpr@10"]
    assert found.recall.signature.startswith("recall_at_fpr@10|from=label_probabilities|interval=bootstrap95x200|seed=2|")


def test_precision_is_the_same_whatever_the_order_and_wider_together() -> None:
    made, _, _ = with_probabilities(1)
    order = np.random.default_rng(0).permutation(300)
    assert precision_at_fpr(made.take(order), "hateful", seed=0, resamples=100) == precision_at_fpr(
        made, "hateful", seed=0, resamples=100
    )
    four = columns(
        np.zeros(1200),
        target=np.repeat(made.target, 4),
        labels=LABELS,
        probabilities=np.repeat(made.probabilities, 4, axis=0),
        cluster=np.arange(1200) // 4,
    )
    alone = columns(np.zeros(1200), target=four.target, labels=LABELS, probabilities=four.probabilities)
    grouped, single = (precision_at_fpr(each, "hateful", seed=0, resamples=200).recall for each in (four, alone))
    assert grouped.high - grouped.low > 1.3 * (single.high - single.low)
    assert "|interval=cluster_bootstrap95x200|" in grouped.signature


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        (np.zeros(300, bool), "undefined: no answer has probabilities"),
        ("positive", "undefined: no negative item"),
        ("negative", "undefined: no positive item"),
    ],
)
def test_precision_is_undefined(rows: Any, note: str) -> None:
    made, truth, _ = with_probabilities(2)
    kept = {"positive": truth, "negative": ~truth}[rows] if isinstance(rows, str) else rows
    found = precision_at_fpr(made.take(kept), "hateful", seed=0)
    assert math.isnan(found.threshold)
    for each in (found.precision, found.recall):
        assert math.isnan(each.value)
        assert math.isnan(each.low)
        assert each.note == note


def test_precision_without_probabilities() -> None:
    found = precision_at_fpr(memes([0, 1] * 20, [0, 1] * 20), "hateful", seed=0)
    assert math.isnan(found.precision.value)
    assert found.precision.note == "undefined: no answer has probabilities; 40 of 40 answers without probabilities"


def test_precision_of_few_positives_has_no_interval() -> None:
    made, truth, _ = with_probabilities(3)
    few = made.take(~truth | (np.cumsum(truth) <= 6))
    found = precision_at_fpr(few, "hateful", seed=0)
    assert not math.isnan(found.recall.value)
    assert math.isnan(found.recall.low)
    assert found.recall.note == "interval withheld: only 6 distinct requests"


def test_a_top_that_is_harmless() -> None:
    _, truth, score = with_probabilities(4, n=60, shift=0)
    sure = np.where(~truth, 0.99, score * 0.5)
    top = memes(truth.astype(int), np.zeros(60, int), probabilities=np.stack([1 - sure, sure], axis=1))
    found = precision_at_fpr(top, "hateful", seed=0, resamples=50)
    assert found.threshold == math.inf
    assert math.isnan(found.precision.value)
    assert found.recall.value == 0.0
    assert found.precision.note == "no threshold keeps to the rate: nothing is called positive"


# --- simulations -------------------------------------------------------------------------------------------------------


def gaps_held(runs: int, sizes: tuple[int, int], rates: tuple[float, float], grouped: bool) -> tuple[float, float]:
    """Share of intervals that hold the true gap, and of p below .05; every meme in a group of five if `grouped`."""
    rng, inside, significant = np.random.default_rng(0), 0, 0
    for _ in range(runs):
        parts = {}
        for name, n, rate in zip("ab", sizes, rates, strict=True):
            start, cluster = (0, np.arange(n) // 5) if name == "a" else (10_000, 10_000 + np.arange(n) // 5)
            chance = rng.beta(4 * rate, 4 * (1 - rate), n)[cluster - start] if grouped else np.full(n, rate)
            given = {"cluster": cluster} if grouped else {}
            parts[name] = memes(np.zeros(n, int), (rng.random(n) < chance).astype(int), start, **given)
        gap = only(parts)[0]
        inside += gap.estimate.low <= rates[0] - rates[1] <= gap.estimate.high
        significant += gap.p < 0.05
    return inside / runs, significant / runs


def test_gaps_hold_the_true_difference() -> None:
    inside, significant = gaps_held(50, (100, 400), (0.2, 0.2), True)
    assert inside > 0.88
    assert significant < 0.12


@pytest.mark.long
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("sizes", [(60, 500), (200, 200)])
@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.05, 0.05), (0.5, 0.3)])
def test_gaps_hold_the_true_difference_everywhere(grouped: bool, sizes: tuple[int, int], rates: tuple[float, float]) -> None:
    inside, significant = gaps_held(1000, sizes, rates, grouped)
    assert inside > 0.9
    assert rates[0] != rates[1] or significant < 0.1


@pytest.mark.long
def test_the_worst_of_eight_equal_groups_is_held_by_its_simultaneous_interval() -> None:
    inside, own = 0, 0
    for run in range(800):
        parts = {str(i): group(0.3, 60, 1000 * i, seed=10**6 * run) for i in range(8)}
        made = worst_group(parts, "hateful", "false_positive_rate", seed=0)
        assert made is not None
        inside += made.estimate.low <= 0.3
        own += false_positive_rate(parts[made.group], "hateful", seed=0).low <= 0.3
    assert inside / 800 > 0.95
    assert own / 800 < 0.9  # its own interval would not


@pytest.mark.long
def test_recall_at_a_rate_is_held() -> None:
    """Population: two normals, threshold at the 90 % quantile of the harmless ones."""
    from scipy.stats import norm

    recall, inside = norm.sf(norm.ppf(0.9) - 1.5), 0
    for seed in range(600):
        made, _, _ = with_probabilities(seed, n=400)
        found = precision_at_fpr(made, "hateful", 0.1, seed=seed, resamples=300).recall
        inside += found.low <= recall <= found.high
    assert inside / 600 > 0.92
