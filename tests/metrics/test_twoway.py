"""Several questions about one picture, one question about many pictures: what shares either goes together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from made import as_sets, columns, labelled, one_way
from scipy.special import ndtr

from eyetest import stats
from eyetest.metrics import Accuracy, Columns, MacroF1, ScoreRate, estimate, gap_rate, paired_difference
from eyetest.metrics.multilabel import MultilabelMacroF1
from eyetest.types import Estimate


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


def method(made: Estimate) -> str:
    return made.signature.split("interval=")[1].split("|")[0]


def without_pictures(seed: int = 0, pictures: int = 1000, texts: int = 107) -> tuple[Columns, Columns]:
    """Ten questions a picture out of `texts`, answered with the picture, and without it: then by the text alone."""
    rng = np.random.default_rng(seed)
    picture = np.repeat(np.arange(pictures), 10)
    text = rng.integers(0, texts, len(picture))
    target = rng.integers(0, 3, len(picture))
    seen, guessed = np.where(rng.random(len(picture)) < 0.8, target, (target + 1) % 3), rng.integers(0, 3, texts)[text]
    shown = labelled(target.tolist(), seen.tolist(), range(3), cluster=picture)
    return shown, labelled(target.tolist(), guessed.tolist(), range(3), cluster=picture, request=text)


# --- what is given and what is withheld --------------------------------------------------------------------------------


def test_a_thousand_pictures_and_a_hundred_questions_give_intervals() -> None:
    shown, blind = without_pictures()
    # Joined into one grouping they would be a single group.
    assert stats.groups(blind.cluster, blind.request).max() == 0
    accuracy, f1 = (estimate(metric, blind, seed=0) for metric in (Accuracy(), MacroF1()))
    resampled = estimate(MultilabelMacroF1(), as_sets(blind), seed=0, resamples=300)
    assert (accuracy.n, accuracy.n_distinct, accuracy.note) == (10_000, 107, "")
    assert (method(accuracy), method(f1), method(resampled)) == ("twoway_wilson95", "twoway_score95", "twoway_bootstrap95x300")
    assert ends(accuracy) == stats.factor_wilson(blind.credit(), blind.factors())
    for made in (accuracy, f1, resampled):
        assert made.low < made.value < made.high < made.low + 0.06
    found, gap = paired_difference(shown, blind, seed=0), gap_rate(shown, blind, seed=0)
    assert (method(found.estimate), found.test, method(gap)) == ("twoway_newcombe95", "twoway_t", "twoway_delta95")
    assert found.p < 1e-6
    for made in (found.estimate, gap):
        assert made.low < made.value < made.high < made.low + 0.06


def test_partial_credit_is_two_way_students() -> None:
    shown, blind = without_pictures()
    halves = Columns.concatenate([blind])
    halves.value[::2] *= 0.5
    made, found = estimate(ScoreRate(), halves, seed=0), paired_difference(shown, halves, seed=0)
    assert method(made) == method(found.estimate) == "twoway_t95"
    assert ends(made) == stats.factor_interval(halves.credit(), halves.factors())
    difference = shown.credit() - halves.credit()
    t = difference.mean() / stats.factor_se(difference, halves.factors())
    assert found.p == pytest.approx(stats.t_tail(t, halves.factors().degrees_of_freedom))


@pytest.mark.parametrize(
    ("cluster", "request_", "note"),
    [
        (np.arange(600) // 8, np.arange(600) % 8, "interval withheld: only 8 distinct requests"),
        (np.arange(600) % 9, np.arange(600) // 6, "interval withheld: only 9 independent groups"),
    ],
)
def test_too_few_of_either_withhold_the_interval(cluster: Any, request_: Any, note: str) -> None:
    blind = columns(np.arange(600) % 3 == 0, cluster=cluster, request=request_)
    shown = columns(np.ones(600), cluster=cluster)
    assert blind.factors().prefix == "twoway_"
    for made in (estimate(Accuracy(), blind, seed=0), gap_rate(shown, blind, seed=0), paired_difference(shown, blind, seed=0)):
        found = made if isinstance(made, Estimate) else made.estimate
        assert found.note == note
        assert math.isnan(found.low)
        assert method(found) == "none"


def test_all_right_counts_as_many_answers_as_the_smaller_factor_has_groups() -> None:
    cluster, request = np.arange(600) // 8, np.arange(600) % 20
    blind = columns(np.ones(600), cluster=cluster, request=request)
    made, gap = estimate(Accuracy(), blind, seed=0), gap_rate(columns(np.ones(600), cluster=cluster), blind, seed=0)
    assert ends(made) == pytest.approx(stats.wilson(20, 20, quantile=stats.t_quantile(0.95, 19)))
    assert (gap.value, method(gap)) == (0.0, "posterior95x2000")
    assert gap.low == pytest.approx(stats.gap_rate_posterior(stats.Cells(20, 0, 0, 0), resamples=2000, seed=0)[0])


# --- nested, and in any order ------------------------------------------------------------------------------------------


def test_nested_requests_and_clusters_are_one_way_bit_for_bit() -> None:
    rng = np.random.default_rng(2)
    outer = rng.integers(0, 30, 300)
    inner = outer * 9 + rng.integers(0, 4, 300)
    truth, read = rng.integers(0, 3, (2, 300)).tolist()
    for given in ({"cluster": outer, "request": inner}, {"cluster": inner, "request": outer}):
        made, alone = (labelled(truth, read, range(3), **kw) for kw in (given, {"cluster": outer}))
        for metric in (Accuracy(), MacroF1(), MultilabelMacroF1()):
            assert ends(estimate(metric, as_sets(made), seed=0)) == ends(estimate(metric, as_sets(alone), seed=0))
        found = paired_difference(labelled(truth, truth, range(3), **given), made, seed=0)
        expected = paired_difference(labelled(truth, truth, range(3), cluster=outer), alone, seed=0)
        assert (ends(found.estimate), found.p, found.test) == (ends(expected.estimate), expected.p, "cluster_t")
        assert ends(estimate(Accuracy(), made, seed=0)) == stats.factor_wilson(made.credit(), one_way(outer))


def test_the_bootstrap_follows_its_seed_and_not_the_order_of_answers() -> None:
    blind = as_sets(without_pictures(pictures=40, texts=20)[1])
    shuffled = blind.take(np.random.default_rng(0).permutation(len(blind)))
    given = ((blind, 1), (shuffled, 1), (blind, 2))
    first, again, other = (estimate(MultilabelMacroF1(), c, seed=s, resamples=200) for c, s in given)
    assert ends(first) == ends(again)
    assert ends(first) != ends(other)


# --- coverage ----------------------------------------------------------------------------------------------------------

SHARE = 0.15
"""Share of the picture, and of the question, in the variance behind an answer."""


def drawn(rng: np.random.Generator) -> tuple[Columns, Columns]:
    """1,000 answers to 60 questions about 200 pictures by two models, right more often (.69 and .58) in class 1 (.50, .38)."""
    n, pictures, questions = 1000, 200, 60
    picture, question = rng.integers(0, pictures, n), rng.integers(0, questions, n)
    target = rng.integers(0, 2, n)
    sides = []
    for ease in (0.5, 0.2):
        parts = rng.standard_normal(pictures)[picture], rng.standard_normal(questions)[question], rng.standard_normal(n)
        latent = math.sqrt(SHARE) * (parts[0] + parts[1]) + math.sqrt(1 - 2 * SHARE) * parts[2]
        read = np.where(latent + ease - 0.5 * target > 0, target, 1 - target)
        sides.append(labelled(target.tolist(), read.tolist(), range(2), cluster=picture, request=question))
    return sides[0], sides[1]


def truths() -> tuple[float, float, float]:
    """Accuracy and macro-F1 of the first, and its accuracy less that of the second, in the long run."""
    first, second = (ndtr([ease, ease - 0.5]) for ease in (0.5, 0.2))
    predicted = np.array([first[0] + 1 - first[1], first[1] + 1 - first[0]])
    return float(first.mean()), float((2 * first / (1 + predicted)).mean()), float((first - second).mean())


def coverage(times: int, seed: int, resamples: int) -> tuple[float, ...]:
    """Of accuracy, macro-F1, the same by the pigeonhole, and a paired difference."""
    rng, hits = np.random.default_rng(seed), np.zeros(4)
    right, f1, difference = truths()
    for _ in range(times):
        one, other = drawn(rng)
        resampled = estimate(MultilabelMacroF1(), as_sets(one), seed=0, resamples=resamples)
        made = estimate(Accuracy(), one, seed=0), estimate(MacroF1(), one, seed=0), resampled
        made += (paired_difference(one, other, seed=0).estimate,)
        hits += [found.low <= truth <= found.high for found, truth in zip(made, (right, f1, f1, difference), strict=True)]
    return tuple(hits / times)


def test_crossed_effects_are_covered() -> None:
    for held in coverage(200, seed=0, resamples=200):
        assert 0.92 <= held <= 0.985


@pytest.mark.long
def test_crossed_effects_are_covered_at_length() -> None:
    *exact, pigeonhole, difference = coverage(3000, seed=1, resamples=1000)
    for held in (*exact, difference):
        assert 0.935 <= held <= 0.965
    assert 0.935 <= pigeonhole <= 0.985
