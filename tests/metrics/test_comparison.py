from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from made import BLOCKED, ERROR, REFUSED, UNPARSED, UNSCORED, columns, labelled

import eyetest
from eyetest.metrics.classification import Accuracy, BalancedAccuracy, MacroF1, SuccessRate
from eyetest.metrics.columns import Columns, Counts, point
from eyetest.metrics.comparison import MetricDifference, metric_difference
from eyetest.metrics.dependence import paired_difference
from eyetest.metrics.estimate import estimate
from eyetest.types import Estimate


def side(n: int, rate: float, seed: int, labels: int = 3, **given: Any) -> Columns:
    """Answers of a model that knows with probability `rate` and guesses otherwise; the truth is the same for all seeds."""
    truth = np.random.default_rng(99).integers(0, labels, n)
    rng = np.random.default_rng(seed)
    answer = np.where(rng.random(n) < rate, truth, rng.integers(0, labels, n))
    return labelled(truth.tolist(), answer.tolist(), range(labels), **given)


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


def method(made: MetricDifference) -> str:
    return made.estimate.signature.split("interval=")[1].split("|")[0]


# --- any metric --------------------------------------------------------------------------------------------------------


def test_macro_f1_of_independent_answers() -> None:
    first, second = side(300, 0.8, 1), side(300, 0.6, 2)
    made = metric_difference(MacroF1(), first, second, seed=3, resamples=500)
    assert made.estimate.value == pytest.approx(point(MacroF1(), first) - point(MacroF1(), second))
    assert 0 < made.estimate.low < made.estimate.value < made.estimate.high
    assert (made.estimate.metric, made.estimate.n, made.estimate.n_distinct) == ("macro_f1_difference", 300, 300)
    assert (made.test, made.p < 0.01, made.estimate.note) == ("permutation", True, "")
    assert made.estimate.signature == (
        f"macro_f1_difference|unparsed=wrong|interval=bootstrap95x500|seed=3|v{eyetest.__version__}"
    )


def bootstrap_by_hand(first: Columns, second: Columns, group: Any, resamples: int) -> Any:
    """Ends of macro-F1 differences of whole groups drawn together."""
    rng, draws = np.random.default_rng(1), []
    rows = [np.flatnonzero(group == one) for one in np.unique(group)]
    for _ in range(resamples):
        drawn = np.concatenate([rows[i] for i in rng.integers(0, len(rows), len(rows))])
        draws.append(point(MacroF1(), first.take(drawn)) - point(MacroF1(), second.take(drawn)))
    return np.quantile(draws, [0.05, 0.95])


@pytest.mark.parametrize("size", [1, 4])
def test_the_interval_is_the_paired_bootstrap(size: int) -> None:
    cluster = np.arange(240) // size
    first, second = side(240, 0.8, 1, cluster=cluster), side(240, 0.7, 2, cluster=cluster)
    made = metric_difference(MacroF1(), first, second, seed=0, resamples=6000, level=0.9)
    assert ends(made.estimate) == pytest.approx(bootstrap_by_hand(first, second, cluster, 2500), abs=0.008)
    assert method(made) == ("cluster_bootstrap90x6000" if size > 1 else "bootstrap90x6000")


def test_p_exchanges_whole_groups() -> None:
    cluster = np.arange(60) // 6
    first, second = side(60, 0.75, 1, cluster=cluster), side(60, 0.5, 2, cluster=cluster)
    made = metric_difference(BalancedAccuracy(), first, second, seed=0, resamples=10)
    observed, found = abs(made.estimate.value), []
    for chosen in itertools.product([False, True], repeat=10):
        swap = np.array(chosen)[cluster]
        one, other = (labelled_like(first, np.where(s, second.answer, first.answer)) for s in (swap, ~swap))
        found.append(abs(point(BalancedAccuracy(), one) - point(BalancedAccuracy(), other)) >= observed - 1e-12)
    assert made.p == pytest.approx(np.mean(found))
    assert made.test == "cluster_permutation"
    assert made.p < 0.5


def labelled_like(side: Columns, answer: Any) -> Columns:
    return labelled(side.target.tolist(), answer.tolist(), side.labels)


def test_the_other_way_round_is_the_negative_and_order_changes_nothing() -> None:
    first, second = side(200, 0.7, 1), side(200, 0.6, 2)
    order = np.random.default_rng(0).permutation(200)
    made = metric_difference(MacroF1(), first, second, seed=0)
    back = metric_difference(MacroF1(), second, first, seed=0)
    assert (back.estimate.value, back.p) == pytest.approx((-made.estimate.value, made.p))
    assert ends(back.estimate) == pytest.approx((-made.estimate.high, -made.estimate.low), abs=0.01)
    assert metric_difference(MacroF1(), first.take(order), second.take(order[::-1]), seed=0) == made


def test_only_what_both_answered_counts() -> None:
    status = [ERROR, UNPARSED, REFUSED, BLOCKED] + [0] * 96
    first = side(100, 0.8, 1, status=status)
    second = side(120, 0.7, 2, status=[0, UNPARSED, 0, 0, UNSCORED] + [0] * 115)
    second = second.take(np.r_[0:90, 100:120])
    # Sample numbers pair answers, not positions: targets must be those of the same sample.
    target = np.random.default_rng(99).integers(0, 3, 100)
    first.target[:], second.target[:90] = target, target[:90]
    made = metric_difference(MacroF1(), first, second, seed=0, resamples=100)
    kept = np.r_[1:4, 5:90]
    assert made.estimate.value == pytest.approx(point(MacroF1(), first.take(kept)) - point(MacroF1(), second.take(kept)))
    found = made.estimate
    assert (found.n, found.n_failed, found.n_unparsed, found.n_refused) == (88, 2, 1, 2)
    assert found.note == "30 answers without a partner; 1 answers unscored"
    parsed = metric_difference(MacroF1("parsed_only"), first, second, seed=0, resamples=100).estimate
    assert (parsed.n, parsed.n_failed, parsed.n_unparsed, parsed.n_refused) == (85, 5, 0, 0)
    assert "|unparsed=excluded|" in parsed.signature


def test_variants_are_aligned_one_by_one() -> None:
    sample, variant = np.repeat(np.arange(50), 2), np.tile([0, 1], 50)
    first, second = (side(100, rate, i, sample=sample, variant=variant) for i, rate in enumerate((0.8, 0.5)))
    half = second.take(second.variant == 1)
    made = metric_difference(MacroF1(), first, half, seed=0, resamples=100).estimate
    assert made.value == pytest.approx(point(MacroF1(), first.take(variant == 1)) - point(MacroF1(), half))
    assert (made.n, made.note) == (50, "50 answers without a partner")
    whole = metric_difference(MacroF1(), first, second, seed=0, resamples=100)
    assert (whole.estimate.n, whole.test) == (100, "cluster_permutation")


def test_of_several_repeats_the_mean_of_each_is_compared() -> None:
    sample, repeat = np.tile(np.arange(80), 3), np.repeat([0, 1, 2], 80)
    first, second = (side(240, rate, i, sample=sample, repeat=repeat) for i, rate in enumerate((0.9, 0.6)))
    made = metric_difference(MacroF1(), first, second, seed=0, resamples=200)
    one, other = ([point(MacroF1(), one.take(repeat == r)) for r in range(3)] for one in (first, second))
    assert made.estimate.value == pytest.approx(np.mean(one) - np.mean(other))
    alone = [estimate(MacroF1(), one, seed=0, resamples=200).value for one in (first, second)]
    assert made.estimate.value == pytest.approx(alone[0] - alone[1])
    assert made.estimate.signature.startswith("macro_f1_difference|mean_of_repeats=3|")
    assert (made.test, made.p < 0.01) == ("cluster_permutation", True)


# --- clusters and requests that cross ----------------------------------------------------------------------------------


def crossing(blocks: int, seed: int) -> Columns:
    """Four pictures by three questions in each of `blocks` blocks that share nothing."""
    block, picture, question = (index.ravel() for index in np.indices((blocks, 4, 3)))
    return side(12 * blocks, 0.6 + 0.2 * (seed == 0), seed, cluster=4 * block + picture, request=3 * block + question)


def test_crossed_factors_are_exchanged_by_what_hangs_together() -> None:
    first, second = crossing(12, 0), crossing(12, 1)
    assert first.factors().prefix == "twoway_"
    made = metric_difference(MacroF1(), first, second, seed=0, resamples=200)
    assert (made.test, method(made)) == ("twoway_permutation", "twoway_bootstrap95x200")
    assert made.estimate.low < made.estimate.value < made.estimate.high
    # The same blocks as plain clusters: as many units to exchange, the same p.
    plain = [labelled(s.target.tolist(), s.answer.tolist(), s.labels, cluster=np.arange(144) // 12) for s in (first, second)]
    assert metric_difference(MacroF1(), *plain, seed=0, resamples=20).p == made.p


def test_without_a_second_component_there_is_no_test() -> None:
    picture, question = np.arange(400) // 20, np.arange(400) % 20
    first, second = (side(400, rate, i, cluster=picture, request=question) for i, rate in enumerate((0.9, 0.5)))
    made = metric_difference(MacroF1(), first, second, seed=0, resamples=200)
    assert math.isnan(made.p)
    assert (made.test, made.estimate.note) == ("none", "no test: every answer hangs together with every other")
    assert 0 < made.estimate.low < made.estimate.value < made.estimate.high


# --- a mean credit -----------------------------------------------------------------------------------------------------


def test_a_mean_credit_goes_to_the_paired_difference() -> None:
    first, second = side(200, 0.8, 1), side(200, 0.6, 2, status=[UNPARSED, REFUSED] + [0] * 198)
    made, direct = metric_difference(Accuracy(), first, second, seed=5), paired_difference(first, second, seed=5)
    assert (made.p, made.test) == (direct.p, "mcnemar_exact")
    found = made.estimate
    assert (found.value, *ends(found)) == (direct.estimate.value, *ends(direct.estimate))
    assert (found.n_unparsed, found.n_refused, found.metric) == (1, 1, "accuracy_difference")
    assert found.signature == f"accuracy_difference|unparsed=wrong|interval=newcombe95|seed=5|v{eyetest.__version__}"
    parsed = metric_difference(Accuracy("parsed_only"), first, second, seed=5).estimate
    assert (parsed.n, parsed.n_failed, parsed.n_unparsed) == (198, 2, 0)


def test_the_credit_is_the_metrics_own() -> None:
    first = side(100, 0.3, 1, status=[UNPARSED] * 5 + [0] * 95)
    second = side(100, 0.9, 2, status=[UNPARSED] * 30 + [REFUSED] * 10 + [ERROR] + [0] * 59)
    made = metric_difference(SuccessRate(), first, second, seed=0)
    assert made.estimate.value == pytest.approx(94 / 99 - 59 / 99)
    assert (made.estimate.n, made.estimate.n_failed, made.estimate.n_unparsed) == (99, 1, 30)
    assert made.test == "mcnemar_exact"


@dataclass(frozen=True)
class Edits(Accuracy):
    """A mean that exceeds 1."""

    name: str = "edits"

    def counts(self, columns: Columns) -> Counts:
        made = super().counts(columns)
        return Counts(made.rows * [8.0, 1.0], made.index)


def test_a_mean_beyond_1_is_resampled() -> None:
    first, second = columns(np.linspace(0.5, 1, 60)), columns(np.linspace(0, 0.5, 60))
    made = metric_difference(Edits(), first, second, seed=0, resamples=300)
    assert made.estimate.value == pytest.approx(4.0)
    assert ends(made.estimate) == pytest.approx((4.0, 4.0))
    assert (made.test, method(made), made.p < 0.001) == ("permutation", "bootstrap95x300", True)


# --- degenerate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [Accuracy(), MacroF1()])
def test_no_common_sample(metric: Any) -> None:
    first = side(20, 0.5, 1)
    made = metric_difference(metric, first, side(20, 0.5, 1, sample=np.arange(20, 40)), seed=0)
    assert all(map(math.isnan, (made.estimate.value, made.p, *ends(made.estimate))))
    assert (made.estimate.n, made.test) == (0, "none")
    assert made.estimate.note == "undefined: no sample was answered on both sides; 40 answers without a partner"


@pytest.mark.parametrize("metric", [Accuracy(), MacroF1()])
def test_a_model_equals_itself(metric: Any) -> None:
    first = side(50, 0.5, 1)
    made = metric_difference(metric, first, first, seed=0)
    assert (made.estimate.value, made.p) == (0.0, 1.0)


def test_all_wrong_on_both_sides() -> None:
    wrong = labelled([0, 1] * 20, [1, 0] * 20, range(2))
    unread = labelled([0, 1] * 20, [None] * 40, range(2))
    made = metric_difference(MacroF1(), wrong, unread, seed=0)
    assert (made.estimate.value, *ends(made.estimate), made.p) == (0.0, 0.0, 0.0, 1.0)
    assert made.estimate.n_unparsed == 40


def test_few_groups_withhold_interval_and_test() -> None:
    first, second = (side(90, rate, i, cluster=np.arange(90) // 10) for i, rate in enumerate((0.9, 0.2)))
    made = metric_difference(MacroF1(), first, second, seed=0)
    assert made.estimate.note == "interval withheld: only 9 independent groups"
    assert math.isnan(made.p)
    assert made.estimate.value > 0.3


def test_without_labels_there_is_no_macro_f1() -> None:
    made = metric_difference(MacroF1(), columns(np.ones(20)), columns(np.zeros(20)), seed=0)
    assert math.isnan(made.estimate.value)
    assert made.estimate.note == "undefined: macro_f1 has no value on both sides"


def test_what_cannot_be_compared_is_refused() -> None:
    first = side(20, 0.5, 1)
    with pytest.raises(ValueError, match=r"macro_f1 of different label spaces: \(0, 1, 2\) and \(0, 1\)"):
        metric_difference(MacroF1(), first, labelled([0, 1] * 10, [0, 1] * 10, range(2)), seed=0)
    with pytest.raises(ValueError, match=r"a \(sample, repeat, variant\) has two answers on one side"):
        metric_difference(MacroF1(), first, side(20, 0.5, 1, sample=np.arange(20) // 2), seed=0)
