"""Areas under ROC curves against scikit-learn, sums over all pairs and simulations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.stats import Factors, crossed, factor_se, groups
from eyetest.stats.auc import Auc, delong, delong_difference, one_vs_rest, operating_intervals, operating_point, roc_auc

CASES = json.loads((Path(__file__).parent / "fixtures" / "metric_cases.json").read_text())["cases"]
AUC_CASES = [case for case in CASES if case["metric"] == "auc"]


def one_way(group: Any) -> Factors:
    return Factors((groups(np.asarray(group)),))


def scored(seed: int, n: int = 60, share: float = 0.4, steps: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Truth and a score with many ties."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < share
    return truth, np.round(rng.random(n) * steps + 3 * truth) / steps


def all_pairs(truth: np.ndarray, score: np.ndarray) -> np.ndarray:
    """1, 1/2 or 0 for every (positive, negative)."""
    difference = score[truth][:, None] - score[~truth]
    return (np.sign(difference) + 1) / 2


def brute_variance(truth: np.ndarray, score: np.ndarray) -> float:
    """DeLong, DeLong & Clarke-Pearson 1988, equations 4 to 6, as printed."""
    psi = all_pairs(truth, score)
    return psi.mean(axis=1).var(ddof=1) / len(psi) + psi.mean(axis=0).var(ddof=1) / psi.shape[1]


# --- the value ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", AUC_CASES, ids=[case["id"] for case in AUC_CASES])
def test_cases(case: dict[str, Any]) -> None:
    made = roc_auc(case["args"]["y_true"], case["args"]["y_score"])
    assert made == pytest.approx(float(case["expected"]), abs=case["tolerance"], nan_ok=True)
    assert delong(case["args"]["y_true"], case["args"]["y_score"]).value == pytest.approx(made, nan_ok=True)


def test_every_case_is_here() -> None:
    assert {case["id"] for case in AUC_CASES} == {f"auc-0{i}" for i in range(3, 8)}


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 30))
def test_value_equals_scikit_learn_ties_and_all(seed: int, n: int, steps: int) -> None:
    from sklearn.metrics import roc_auc_score

    truth, score = scored(seed, n, steps=steps)
    if 0 < truth.sum() < n:
        assert roc_auc(truth, score) == pytest.approx(roc_auc_score(truth, score), abs=1e-12)
        assert roc_auc(truth, score) == pytest.approx(1 - roc_auc(~truth, score), abs=1e-12)


def test_infinite_scores_rank() -> None:
    assert roc_auc([1, 0, 0], [math.inf, -math.inf, 0.0]) == 1.0


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1 of 3 scores are nan; leave these items out"):
        roc_auc([1, 0, 1], [0.1, math.nan, 0.3])
    with pytest.raises(ValueError, match=r"positive \(2,\) and score \(3,\) must be \(n,\) of equal length"):
        delong([1, 0], [0.1, 0.2, 0.3])


# --- DeLong ------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_standard_error_is_delongs(seed: int) -> None:
    truth, score = scored(seed)
    if 1 < truth.sum() < len(truth) - 1:
        expected = pytest.approx(math.sqrt(brute_variance(truth, score)), rel=1e-12, abs=1e-15)
        assert delong(truth, score).se == expected
        assert delong(truth, score, one_way(np.arange(len(truth)))).se == expected


def test_interval_is_on_the_logit_scale_with_welchs_degrees_of_freedom() -> None:
    from scipy.stats import t

    truth, score = scored(1)
    made, psi = delong(truth, score, level=0.9), all_pairs(*scored(1))
    one, other = psi.mean(axis=1).var(ddof=1) / len(psi), psi.mean(axis=0).var(ddof=1) / psi.shape[1]
    df = (one + other) ** 2 / (one**2 / (len(psi) - 1) + other**2 / (psi.shape[1] - 1))
    half = t.ppf(0.95, df) * made.se / (made.value * (1 - made.value))
    logit = math.log(made.value / (1 - made.value))
    assert (made.low, made.high) == pytest.approx([1 / (1 + math.exp(-logit - s * half)) for s in (-1, 1)], rel=1e-9)
    assert made.note == ""


@pytest.mark.parametrize(
    ("truth", "note"),
    [
        ([], "undefined: no items"),
        ([True] * 4, "undefined: no negative item"),
        ([False] * 4, "undefined: no positive item"),
    ],
)
def test_one_class_is_undefined(truth: list[bool], note: str) -> None:
    score = np.arange(float(len(truth)))
    for made in (delong(truth, score), delong_difference(truth, score, -score)):
        assert all(math.isnan(number) for number in (made.value, made.se, made.low, made.high))
        assert made.note == note
    assert math.isnan(delong_difference(truth, score, score).p)
    assert math.isnan(roc_auc(truth, score))


def test_one_positive_has_a_value_and_no_interval() -> None:
    made = delong([1, 0, 0, 0], [0.3, 0.1, 0.2, 0.4])
    assert made.value == pytest.approx(2 / 3)
    assert math.isnan(made.low)
    assert made.note == "interval withheld: a class has only one independent item"
    together = delong([1, 1, 1, 0, 0, 0], [3, 1, 4, 0, 2, 5], one_way([0, 0, 0, 1, 2, 3]))
    assert together.note == made.note


def test_perfect_ranking_still_has_width() -> None:
    def low(n: int) -> float:
        made = delong(np.arange(2 * n) >= n, np.arange(2 * n))
        assert (made.value, made.se, made.high, made.note) == (1.0, 0.0, 1.0, "")
        return made.low

    assert 0.6 < low(10) < low(30) < low(100) < 0.99
    wrong = delong(np.arange(60) < 30, np.arange(60))
    assert (wrong.value, wrong.low) == (0.0, 0.0)
    assert wrong.high == pytest.approx(1 - low(30))


def test_end_of_a_perfect_ranking_solves_newcombes_equation() -> None:
    from scipy.stats import t as student

    end = delong(np.arange(40) >= 25, np.arange(40)).low
    variance = end * (1 - end) * (1 + 19 * ((1 - end) / (2 - end) + end / (1 + end))) / (25 * 15)
    assert 1 - end == pytest.approx(student.ppf(0.975, 14) * math.sqrt(variance), rel=1e-9)


def test_a_perfect_ranking_of_few_groups_is_less_sure() -> None:
    truth = np.repeat([True, False], 60)
    alone, grouped = (delong(truth, truth, one_way(g)) for g in (np.arange(120), np.arange(120) // 6))
    assert grouped.low < alone.low - 0.1
    assert grouped.low == pytest.approx(delong(np.arange(20) < 10, np.arange(20) < 10).low)


def test_a_constant_score_says_that_it_has_no_width() -> None:
    made = delong([1, 0, 1, 0, 1], np.ones(5))
    assert (made.value, made.low, made.high) == (0.5, 0.5, 0.5)
    assert made.note == "interval without width: all scores are equal"


def test_a_standard_error_below_rounding_does_not_overflow() -> None:
    truth = np.arange(4000) >= 2000
    made = delong(truth, np.where(np.arange(4000) == 1999, 2000.5, np.arange(4000)))
    assert 0.99 < made.low < made.value < made.high <= 1.0


def test_a_wide_interval_does_not_overflow() -> None:
    made = delong([1, 1, *[0] * 100], [200, 95, *range(100)], level=0.99999)
    assert 0 <= made.low < 1e-100
    assert made.high == 1.0


# --- what goes together ------------------------------------------------------------------------------------------------


def obuchowski(truth: np.ndarray, score: np.ndarray, group: np.ndarray) -> float:
    """Obuchowski 1997 (Biometrics 53, 567-578), variance of a clustered area, as printed."""
    psi = all_pairs(truth, score)
    m, n, area = *psi.shape, psi.mean()
    x = {g: (psi.mean(axis=1) - area)[group[truth] == g].sum() for g in set(group.tolist())}
    y = {g: (psi.mean(axis=0) - area)[group[~truth] == g].sum() for g in set(group.tolist())}
    i10, i01 = (len(set(group[mask].tolist())) for mask in (truth, ~truth))
    s10 = i10 / (i10 - 1) / m * sum(v**2 for v in x.values())
    s01 = i01 / (i01 - 1) / n * sum(v**2 for v in y.values())
    s11 = len(x) / (len(x) - 1) * sum(x[g] * y[g] for g in x)
    return float(s10 / m + s01 / n + 2 * s11 / (m * n))


@pytest.mark.parametrize("seed", range(4))
def test_clustered_standard_error_is_obuchowskis_up_to_the_small_sample_factor(seed: int) -> None:
    truth, score = scored(seed, n=900)
    group = np.arange(900) // 3
    score = score + np.random.default_rng(seed).standard_normal(300)[group]
    made = delong(truth, score, one_way(group))
    assert made.se == pytest.approx(math.sqrt(obuchowski(truth, score, group)), rel=0.01)


def test_every_item_twice_is_as_good_as_once() -> None:
    truth, score = scored(3, n=400)
    once, twice = delong(truth, score), delong(np.repeat(truth, 2), np.repeat(score, 2), one_way(np.repeat(np.arange(400), 2)))
    assert twice.value == pytest.approx(once.value)
    assert twice.se == pytest.approx(once.se, rel=0.005)
    assert delong(np.repeat(truth, 2), np.repeat(score, 2)).se == pytest.approx(once.se / math.sqrt(2), rel=0.01)


def test_two_ways_are_never_narrower_than_either() -> None:
    truth, score = scored(5, n=300)
    one, other = groups(np.arange(300) // 6), groups(np.arange(300) % 30)
    both = delong(truth, score, crossed(one, other))
    assert both.se >= max(delong(truth, score, Factors((code,))).se for code in (one, other)) * 0.97
    assert 0 < both.low < both.value < both.high < 1


# --- many labels -------------------------------------------------------------------------------------------------------


def table(seed: int, n: int = 200, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    target = rng.integers(0, k, n)
    raw = rng.random((n, k)) + 0.6 * np.eye(k)[target]
    return target, raw / raw.sum(axis=1, keepdims=True)


def test_one_vs_rest_equals_scikit_learn() -> None:
    from sklearn.metrics import roc_auc_score

    target, scores = table(0)
    made = one_vs_rest(target, scores)
    assert made.value == pytest.approx(roc_auc_score(target, scores, multi_class="ovr", average="macro"))
    assert made.low < made.value < made.high
    assert made.note == ""


def test_one_vs_rest_standard_error_is_the_jackknifes() -> None:
    target, scores = table(1, n=300, k=3)
    left_out = [one_vs_rest(np.delete(target, i), np.delete(scores, i, axis=0)).value for i in range(300)]
    jackknife = math.sqrt(299 / 300 * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    assert one_vs_rest(target, scores).se == pytest.approx(jackknife, rel=0.02)


def test_two_labels_are_two_equal_areas() -> None:
    target, scores = table(2, k=2)
    whole, last = one_vs_rest(target, scores), delong(target == 1, scores[:, 1])
    assert (whole.value, whole.se, whole.low, whole.high) == pytest.approx((last.value, last.se, last.low, last.high))


def test_the_rarest_label_decides_the_degrees_of_freedom() -> None:
    target, scores = table(4, n=600, k=3)
    common = one_vs_rest(target, scores)
    rare = np.flatnonzero((target != 2) | (np.cumsum(target == 2) <= 4))
    made = one_vs_rest(target[rare], scores[rare])

    def quantile(each: Auc) -> float:
        logits = [math.log(end / (1 - end)) for end in (each.low, each.high)]
        return (logits[1] - logits[0]) / 2 * each.value * (1 - each.value) / each.se

    assert quantile(common) == pytest.approx(1.96, abs=0.02)
    assert 2.5 < quantile(made) < 3.2  # t with 3 degrees of freedom: 3.18


def test_absent_labels_are_left_out_and_said() -> None:
    target, scores = table(3)
    padded = np.concatenate([scores, np.zeros((len(scores), 1))], axis=1)
    made = one_vs_rest(target, padded)
    assert made.value == pytest.approx(one_vs_rest(target, scores).value)
    assert made.note == "1 of 5 labels left out: no area"
    for few in (one_vs_rest(np.zeros(10, int), scores[:10]), one_vs_rest(np.zeros(0, int), scores[:0])):
        assert math.isnan(few.value)
        assert few.note == "undefined: fewer than two labels occur"


# --- two scores --------------------------------------------------------------------------------------------------------


def test_difference_is_delongs() -> None:
    from scipy.stats import norm

    truth, first = scored(6, n=500)
    second = first + np.random.default_rng(0).random(500)
    made = delong_difference(truth, first, second)
    psi = all_pairs(truth, first) - all_pairs(truth, second)
    variance = psi.mean(axis=1).var(ddof=1) / len(psi) + psi.mean(axis=0).var(ddof=1) / psi.shape[1]
    assert made.value == pytest.approx(roc_auc(truth, first) - roc_auc(truth, second))
    assert made.se == pytest.approx(math.sqrt(variance))
    assert made.p == pytest.approx(2 * norm.sf(abs(made.value) / made.se), rel=0.2)  # Student's t is a little heavier
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * made.se, rel=0.01)
    back = delong_difference(truth, second, first)
    assert (back.value, back.low, back.p) == pytest.approx((-made.value, -made.high, made.p))


def test_scores_that_rank_alike_do_not_differ() -> None:
    truth, score = scored(7)
    made = delong_difference(truth, score, 3 * score - 1)
    assert (made.value, made.low, made.high, made.p) == (0.0, 0.0, 0.0, 1.0)
    assert made.note == "interval without width: both scores rank alike"


def test_a_difference_that_cannot_vary_is_withheld() -> None:
    truth = np.arange(40) >= 20
    made = delong_difference(truth, truth, np.ones(40))
    assert made.value == 0.5
    assert math.isnan(made.p)
    assert made.note == "interval withheld: the difference does not vary"
    single = delong_difference([1, 0, 0], [1, 0, 2], [0, 1, 2])
    assert single.note == "interval withheld: a class has only one independent item"


# --- a point on the curve ----------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]))
def test_operating_point_is_the_best_that_keeps_to_the_rate(seed: int, fpr: float) -> None:
    from sklearn.metrics import roc_curve

    truth, score = scored(seed)
    if not 0 < truth.sum() < len(truth):
        return
    made = operating_point(truth, score, fpr)
    rates, recalls, thresholds = roc_curve(truth, score, drop_intermediate=False)
    best = np.flatnonzero(rates <= fpr + 1e-12)[-1]
    assert (made.false_positive_rate, made.recall) == pytest.approx((rates[best], recalls[best]))
    assert made.threshold == pytest.approx(thresholds[best])
    called = score >= made.threshold
    assert made.precision == pytest.approx(truth[called].mean() if called.any() else math.nan, nan_ok=True)


def test_operating_point_equals_scikit_learns_precision_and_recall() -> None:
    from sklearn.metrics import precision_recall_curve

    truth, score = scored(11, n=400, steps=200)
    made = operating_point(truth, score)
    precision, recall, thresholds = precision_recall_curve(truth, score)
    at = np.flatnonzero(thresholds == made.threshold)[0]
    assert (made.precision, made.recall) == pytest.approx((precision[at], recall[at]))


def test_a_rate_that_is_a_whole_number_of_negatives_is_used_up() -> None:
    truth = np.arange(30) >= 20
    for allowed in range(21):
        assert operating_point(truth, -np.arange(30), allowed / 20).false_positive_rate == allowed / 20
    # 0.29 * 100 is 28.999999999999996.
    assert operating_point(np.arange(110) >= 100, -np.arange(110), 0.29).false_positive_rate == 0.29


def test_nothing_is_called_positive_if_the_top_is_negative() -> None:
    made = operating_point([0, 1, 1, 0], [0.9, 0.8, 0.7, 0.1])
    assert made.threshold == math.inf
    assert math.isnan(made.precision)
    assert (made.recall, made.false_positive_rate) == (0.0, 0.0)
    assert math.isnan(operating_point([1, 1], [0.1, 0.2]).threshold)
    assert np.isnan(operating_intervals([1, 1], [0.1, 0.2], resamples=10, seed=0)).all()


@pytest.mark.parametrize("shared", [None, one_way(np.arange(200) // 4)])
def test_intervals_choose_the_threshold_anew(shared: Factors | None) -> None:
    truth, score = scored(12, n=200)
    made = operating_intervals(truth, score, shared, 0.1, resamples=400, seed=1)
    rng, naive = np.random.default_rng(2), []
    for _ in range(400):
        rows = rng.integers(0, 200, 200) if shared is None else (4 * rng.integers(0, 50, 50)[:, None] + np.arange(4)).ravel()
        point = operating_point(truth[rows], score[rows], 0.1)
        naive.append((point.precision, point.recall))
    expected = np.nanquantile(naive, [0.025, 0.975], axis=0).T
    assert np.abs(np.array(made) - expected).max() < 0.06
    fixed = 1.96 * math.sqrt(0.25 / truth.sum())
    assert made[1][1] - made[1][0] > fixed  # a threshold taken as given would be surer


def test_intervals_follow_their_seed_and_fill_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    from eyetest.stats import auc

    truth, score = scored(13, n=300)
    two_way = crossed(groups(np.arange(300) // 6), groups(np.arange(300) % 30))
    whole, again, other = (operating_intervals(truth, score, two_way, resamples=200, seed=seed) for seed in (0, 0, 1))
    assert whole == again != other
    monkeypatch.setattr(auc, "CHUNK", 3000)
    chunked = operating_intervals(truth, score, two_way, resamples=200, seed=0)
    assert np.abs(np.array(chunked) - np.array(whole)).max() < 0.1


# --- simulations -------------------------------------------------------------------------------------------------------


def coverage(positives: int, negatives: int, shift: float, runs: int) -> float:
    """Share of intervals of two normals that hold the true area."""
    from scipy.stats import norm

    rng, true = np.random.default_rng(0), norm.cdf(shift / math.sqrt(2))
    truth, held = np.arange(positives + negatives) < positives, 0
    for _ in range(runs):
        made = delong(truth, rng.standard_normal(len(truth)) + shift * truth)
        held += made.low <= true <= made.high
    return held / runs


def test_intervals_hold_the_true_area() -> None:
    assert coverage(10, 60, 1.0, 600) > 0.93


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(5, 95), (10, 20), (50, 50), (20, 180), (200, 200)])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0, 3.0])
def test_intervals_hold_the_true_area_everywhere(sizes: tuple[int, int], shift: float) -> None:
    assert 0.89 < coverage(*sizes, shift, 3000) < 0.999


@pytest.mark.long
def test_clustered_intervals_hold_the_true_area() -> None:
    from scipy.stats import norm

    rng, held, group = np.random.default_rng(1), 0, np.repeat(np.arange(40), 5)
    for _ in range(1500):
        truth = rng.random(200) < 0.4
        score = rng.standard_normal(40)[group] + rng.standard_normal(200) + truth
        made = delong(truth, score, one_way(group))
        held += made.low <= norm.cdf(1 / 2) <= made.high
    assert 0.93 < held / 1500 < 0.975


def test_se_by_one_class_alone_is_the_groups() -> None:
    """Positives against one fixed negative crowd: the area is the mean of 0/1 placements."""
    truth, group = np.repeat([True, False], 100), np.concatenate([np.arange(100) // 5, 1000 + np.arange(100)])
    score = np.concatenate([np.random.default_rng(4).choice([0.0, 2.0], 20).repeat(5), np.ones(100)])
    made = delong(truth, score, one_way(group))
    assert made.se == pytest.approx(factor_se(score[:100] / 2, one_way(group[:100])), rel=0.015)
