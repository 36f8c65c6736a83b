from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import ERROR, UNPARSED, UNSCORED, columns, one_way

import eyetest
from eyetest import stats
from eyetest.metrics.columns import Columns
from eyetest.metrics.dependence import gap_rate, knowledge_table, paired_difference
from eyetest.types import Estimate

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "metric_cases.json").read_text())["cases"]
PATTERNS = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def table(n11: int, n10: int, n01: int, n00: int, **given: Any) -> tuple[Columns, Columns]:
    """Two columns whose paired table is the one given."""
    first, second = np.repeat(PATTERNS, [n11, n10, n01, n00], axis=0).T
    return columns(first, **given), columns(second, **given)


def ends(made: Estimate) -> tuple[float, float]:
    return made.low, made.high


# --- gap rate ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["metric"] == "gap_rate_ci"])
def test_gap_rate_case(case: dict[str, Any]) -> None:
    made = gap_rate(*table(**case["args"]), seed=0, resamples=500)
    assert made.value == pytest.approx(case["expected"]["gr"], abs=case["tolerance"])
    if min(case["args"].values()) >= 5:
        assert ends(made) == pytest.approx((case["expected"]["low"], case["expected"]["high"]), abs=case["tolerance"])
        assert "|interval=delta95|" in made.signature
    else:
        assert made.low <= made.value <= made.high
        assert made.low < made.high


@pytest.mark.parametrize("cells", [(200, 100, 4, 300), (4, 20, 30, 40), (30, 4, 5, 6), (20, 30, 40, 0)])
def test_gap_rate_of_a_small_cell_is_that_of_the_posterior(cells: tuple[int, ...]) -> None:
    made = gap_rate(*table(*cells), seed=7, resamples=4000)
    assert ends(made) == stats.gap_rate_posterior(stats.Cells(*cells), resamples=4000, seed=7)
    assert made.signature == f"gap_rate|unparsed=wrong|interval=posterior95x4000|seed=7|v{eyetest.__version__}"


@pytest.mark.parametrize("cells", [(0, 20, 0, 10), (20, 0, 0, 10)])
def test_gap_rate_keeps_a_width_where_resamples_cannot_vary(cells: tuple[int, ...]) -> None:
    made = gap_rate(*table(*cells), seed=0)
    assert made.value == (1.0 if cells[0] == 0 else 0.0)
    assert made.high - made.low > 0.05
    assert "|interval=posterior95x2000|" in made.signature


@pytest.mark.parametrize(
    ("cells", "value", "note"),
    [
        ((0, 0, 0, 20), math.nan, "undefined: no right answer with the picture"),
        (
            (0, 0, 5, 15),
            -math.inf,
            "undefined (defined=false): right answers without the picture, none with it; never average it",
        ),
    ],
)
def test_an_undefined_gap_rate_says_so(cells: tuple[int, ...], value: float, note: str) -> None:
    made = gap_rate(*table(*cells), seed=0)
    assert made.value == pytest.approx(value, nan_ok=True)
    assert all(math.isnan(end) for end in ends(made))
    assert made.note == note


def test_one_request_without_the_picture_gives_no_interval() -> None:
    shown, blind = columns(np.ones(50)), columns(np.arange(50) % 2, request=np.zeros(50))
    made = gap_rate(shown, blind, seed=0)
    assert (made.value, made.n_distinct) == (0.5, 1)
    assert made.note == "interval withheld: only 1 distinct requests"
    assert math.isnan(made.low)


def test_gap_rate_of_answers_that_go_together_is_wider() -> None:
    alone = gap_rate(*table(100, 100, 20, 180), seed=0)
    together = gap_rate(*table(100, 100, 20, 180, cluster=np.arange(400) // 5), seed=0)
    assert together.value == alone.value
    assert together.high - together.low > 1.9 * (alone.high - alone.low)
    assert "|interval=cluster_delta95|" in together.signature


def test_gap_rate_counts_unread_as_wrong_and_drops_failed_pairs() -> None:
    shown = columns(np.ones(40), status=[ERROR] + [0] * 39)
    blind = columns(np.ones(39), status=[0] * 20 + [UNPARSED] * 18 + [UNSCORED])
    made = gap_rate(shown, blind, seed=0)
    assert (made.n, made.n_failed, made.n_unparsed) == (37, 2, 18)
    assert made.value == pytest.approx(1 - 19 / 37)
    assert made.note == "1 answers without a partner; 1 answers unscored"
    assert gap_rate(shown, blind, seed=0, policy="parsed_only").value == 0.0


def test_nothing_to_pair() -> None:
    for made in (
        gap_rate(columns([1.0], sample=[0]), columns([1.0], sample=[1]), seed=0),
        paired_difference(columns([1.0], sample=[0]), columns([1.0], sample=[1]), seed=0).estimate,
    ):
        assert math.isnan(made.value)
        assert made.note.startswith("undefined: no sample was answered")


# --- paired difference -------------------------------------------------------------------------------------------------


def test_binary_difference_is_newcombes_with_mcnemars_test() -> None:
    made = paired_difference(*table(36, 12, 2, 0), seed=0)
    assert made.estimate.value == pytest.approx(0.2)
    assert ends(made.estimate) == pytest.approx((0.0569, 0.3404), abs=5e-5)
    assert (made.test, made.p) == ("mcnemar_exact", pytest.approx(stats.mcnemar_exact(12, 2)))
    assert made.cells == (36, 12, 2, 0)
    assert "paired_difference|unparsed=wrong|interval=newcombe95|" in made.estimate.signature


def test_partial_credit_is_students_paired_test() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(0)
    first, second = rng.random(60), rng.random(60) * 0.9
    made = paired_difference(columns(first), columns(second), seed=0)
    expected = ttest_rel(first, second)
    assert (made.test, made.p) == ("t", pytest.approx(expected.pvalue))
    assert ends(made.estimate) == pytest.approx(tuple(expected.confidence_interval()))


def test_clustered_partial_credit_is_the_cluster_robust_test() -> None:
    rng = np.random.default_rng(1)
    group = np.arange(80) // 4
    first, second = rng.random(80), rng.random(80)
    made = paired_difference(columns(first, cluster=group), columns(second, cluster=group), seed=0)
    assert made.test == "cluster_t"
    assert ends(made.estimate) == pytest.approx(stats.factor_interval(first - second, one_way(group)))
    t = (first - second).mean() / stats.factor_se(first - second, one_way(group))
    assert made.p == pytest.approx(stats.t_tail(t, 19))


def test_clustered_binary_difference_is_wider_and_keeps_a_width_at_zero() -> None:
    group = np.arange(400) // 8
    alone = paired_difference(*table(100, 100, 60, 140), seed=0)
    together = paired_difference(*table(100, 100, 60, 140, cluster=group), seed=0)
    assert together.test == "cluster_t"
    assert together.p > alone.p
    assert together.estimate.high - together.estimate.low > 2 * (alone.estimate.high - alone.estimate.low)
    same = paired_difference(*table(200, 0, 0, 200, cluster=group), seed=0)
    assert (same.estimate.value, same.p) == (0.0, 1.0)
    assert same.estimate.high - same.estimate.low > 0.05


def test_unlike_differences_inside_groups_do_not_narrow_the_interval() -> None:
    first = np.tile([1.0, 0.0, 1.0, 0.0], 20)
    second = np.tile([0.0, 1.0, 1.0, 0.0], 20)
    second[0] = 1.0
    made = paired_difference(*(columns(x, cluster=np.arange(80) // 4) for x in (first, second)), seed=0)
    cells = stats.paired_cells(first, second)
    assert ends(made.estimate) == pytest.approx(stats.newcombe(cells, quantile=stats.t_quantile(0.95, 19)))


def test_groups_that_all_differ_alike_are_a_sign_test() -> None:
    made = paired_difference(*table(0, 24, 0, 0, cluster=np.arange(24) // 2), seed=0)
    assert (made.estimate.value, made.p) == (1.0, pytest.approx(2 * 0.5**12))


def test_few_requests_withhold_interval_and_test() -> None:
    made = paired_difference(*table(3, 3, 1, 2), seed=0)
    assert made.estimate.value == pytest.approx(2 / 9)
    assert made.estimate.note == "interval withheld: only 9 distinct requests"
    assert math.isnan(made.p)
    assert made.test == "none"


# --- what was known ----------------------------------------------------------------------------------------------------


def test_knowledge_table_holds_the_four_conditionals_with_wilsons_intervals() -> None:
    made = knowledge_table(*table(60, 20, 15, 25), seed=4)
    assert made.cells == (60, 20, 15, 25)
    for found, k, n in ((made.sur, 60, 80), (made.ner, 25, 40), (made.p_vq_given_k, 60, 75), (made.p_not_vq_given_not_k, 25, 45)):
        assert (found.value, found.n, found.n_distinct) == (k / n, n, n)
        assert ends(found) == stats.wilson(k, n)
    assert made.ner.signature == f"ner|unparsed=wrong|interval=wilson95|seed=4|v{eyetest.__version__}"
    assert [made.sur.value, made.p_vq_given_k.value] == list(stats.sur_ner(60, 20, 15, 25))[::2]


def test_a_share_without_cases_says_so_and_one_of_few_cases_has_no_interval() -> None:
    made = knowledge_table(*table(30, 9, 0, 0), seed=0)
    assert made.sur.value == pytest.approx(30 / 39)
    assert math.isnan(made.ner.value)
    assert made.ner.note == "undefined: no wrong answer with the picture"
    assert (made.p_not_vq_given_not_k.value, made.p_not_vq_given_not_k.n) == (0.0, 9)
    assert made.p_not_vq_given_not_k.note == "interval withheld: only 9 distinct requests"
    none = knowledge_table(columns([1.0], sample=[0]), columns([1.0], sample=[1]), seed=0)
    assert none.p_vq_given_k.note == "undefined: no right answer to a knowledge question; 2 answers without a partner"


def test_shares_respect_clusters_and_questions_that_cross() -> None:
    rng = np.random.default_rng(3)
    seen, known = (rng.random((2, 600)) < 0.7).astype(float)
    cluster, request = rng.integers(0, 100, 600), rng.integers(0, 40, 600)
    made = knowledge_table(columns(seen, cluster=cluster), columns(known, cluster=cluster, request=request), seed=0).sur
    chosen = seen == 1
    factors = stats.crossed(stats.groups(cluster[chosen]), stats.groups(request[chosen]))
    assert ends(made) == stats.factor_wilson(known[chosen], factors)
    assert (made.n_distinct, "|interval=twoway_wilson95|" in made.signature) == (40, True)


def test_partial_credit_weighs_the_cases() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(5)
    seen, known = rng.choice([0.0, 0.5, 1.0], 80), rng.random(80)
    made = knowledge_table(columns(seen), columns(known), seed=0).sur
    assert made.value == pytest.approx(seen @ known / seen.sum())
    assert "|interval=t95|" in made.signature
    some = seen > 0
    fit = sm.WLS(known[some], np.ones(some.sum()), weights=seen[some]).fit(cov_type="HC1")
    half = stats.t_quantile(0.95, some.sum() - 1) * fit.bse[0]
    assert ends(made) == pytest.approx((made.value - half, made.value + half))


def test_knowledge_table_counts_what_it_leaves_out() -> None:
    shown = columns(np.ones(40), status=[ERROR] * 2 + [UNPARSED] + [0] * 37)
    made = knowledge_table(shown, columns(np.ones(38)), seed=0)
    assert (made.sur.n, made.sur.n_failed, made.sur.n_unparsed) == (35, 2, 0)
    assert (made.ner.n, made.ner.n_failed, made.ner.n_unparsed) == (1, 2, 1)
    assert made.sur.note == "2 answers without a partner"


# --- coverage ----------------------------------------------------------------------------------------------------------


def coverage(p: list[float], n: int, times: int, made: Callable[..., Estimate], truth: float, per_group: int = 1) -> float:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(times):
        cell = np.repeat(rng.choice(4, n // per_group, p=p), per_group)
        first, second = PATTERNS[cell].T
        cluster = np.arange(n) // per_group
        found = made(columns(first, cluster=cluster), columns(second, cluster=cluster))
        hits += found.low <= truth <= found.high
    return hits / times


def difference(first: Columns, second: Columns) -> Estimate:
    return paired_difference(first, second, seed=0).estimate


def gap(first: Columns, second: Columns) -> Estimate:
    return gap_rate(first, second, seed=0, resamples=500)


@pytest.mark.parametrize("per_group", [1, 5])
def test_differences_are_covered(per_group: int) -> None:
    p = [0.4, 0.25, 0.1, 0.25]
    assert coverage(p, 150, 400, difference, 0.15, per_group) >= 0.92


@pytest.mark.parametrize(("p", "per_group"), [([0.3, 0.3, 0.1, 0.3], 1), ([0.3, 0.3, 0.1, 0.3], 5), ([0.1, 0.58, 0.02, 0.3], 1)])
def test_gap_rates_are_covered(p: list[float], per_group: int) -> None:
    assert coverage(p, 150, 400, gap, 1 - (p[0] + p[2]) / (p[0] + p[1]), per_group) >= 0.92
