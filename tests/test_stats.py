from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest import stats
from eyetest.stats import Cells

CASES = json.loads((Path(__file__).parent / "fixtures" / "metric_cases.json").read_text())["cases"]


QUICK = settings(deadline=None, max_examples=60)
"""Without a deadline: the first example pays for imports."""


def cases(metric: str) -> Any:
    found = [pytest.param(case, id=case["id"]) for case in CASES if case["metric"] == metric]
    assert found, metric
    return pytest.mark.parametrize("case", found)


def number(value: Any) -> float:
    return float(value)


def near(case: dict[str, Any], value: Any) -> Any:
    return pytest.approx(number(value), abs=case["tolerance"], nan_ok=True)


# --- the cases ---------------------------------------------------------------------------------------------------------


@cases("wilson_ci")
def test_wilson_case(case: dict[str, Any]) -> None:
    low, high = stats.wilson(case["args"]["k"], case["args"]["n"])
    assert low == near(case, case["expected"][0])
    assert high == near(case, case["expected"][1])


@cases("clopper_pearson_ci")
def test_clopper_pearson_case(case: dict[str, Any]) -> None:
    if "raises" in case:
        with pytest.raises(ValueError, match=case["raises_message"]):
            stats.clopper_pearson(**case["args"])
        return
    low, high = stats.clopper_pearson(**case["args"])
    assert low == near(case, case["expected"][0])
    assert high == near(case, case["expected"][1])


@cases("mcnemar_exact")
def test_mcnemar_case(case: dict[str, Any]) -> None:
    assert stats.mcnemar_exact(**case["args"]) == near(case, case["expected"])


@cases("holm")
def test_holm_case(case: dict[str, Any]) -> None:
    assert stats.holm(case["args"]["pvalues"]) == pytest.approx(case["expected"], abs=case["tolerance"])


@cases("cluster_se")
def test_cluster_se_case(case: dict[str, Any]) -> None:
    assert stats.cluster_se(case["args"]["x"], case["args"]["groups"]) == near(case, case["expected"])


@cases("random_baseline")
def test_random_baseline_case(case: dict[str, Any]) -> None:
    made = stats.random_baseline(case["args"]["class_counts"])
    assert made.accuracy == near(case, case["expected"]["accuracy"])
    assert made.macro_f1 == near(case, case["expected"]["macro_f1"])


@cases("gap_rate")
def test_gap_rate_case(case: dict[str, Any]) -> None:
    assert stats.gap_rate(case["args"]["sr_no_image"], case["args"]["sr_image"]) == near(case, case["expected"])


@cases("gap_rate_ci")
def test_gap_rate_ci_case(case: dict[str, Any]) -> None:
    made = stats.gap_rate_ci(**case["args"])
    assert made.value == near(case, case["expected"]["gr"])
    assert made.low == near(case, case["expected"]["low"])
    assert made.high == near(case, case["expected"]["high"])


@cases("sur_ner")
def test_sur_ner_case(case: dict[str, Any]) -> None:
    cells = stats.paired_cells(case["args"]["vq_correct"], case["args"]["k_correct"])
    made = {**cells._asdict(), **stats.sur_ner(*cells)._asdict()}
    assert made == {name: near(case, value) for name, value in case["expected"].items()}


# --- one proportion ----------------------------------------------------------------------------------------------------


@QUICK
@given(st.integers(1, 3000), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_of_a_proportion_equal_statsmodels_and_scipy(n: int, data: st.DataObject, level: float) -> None:
    from scipy.stats import binomtest
    from statsmodels.stats.proportion import proportion_confint

    k = data.draw(st.integers(0, n))
    assert stats.wilson(k, n, level) == pytest.approx(proportion_confint(k, n, 1 - level, "wilson"), abs=1e-12)
    exact = binomtest(k, n).proportion_ci(level, "exact")
    assert stats.clopper_pearson(k, n, level) == pytest.approx((exact.low, exact.high), abs=1e-9)


@QUICK
@given(st.integers(1, 500), st.data())
def test_wilson_ends_solve_the_score_equation(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n)) if n == 1 else data.draw(st.integers(1, n - 1))
    z = stats.normal_quantile(0.95)
    for end in stats.wilson(k, n):
        if 0 < end < 1:
            assert abs(k / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), rel=1e-9)


def test_wilson_of_nothing_is_undefined() -> None:
    assert all(math.isnan(end) for end in stats.wilson(0, 0))


def test_quantiles_equal_scipy() -> None:
    from scipy.stats import norm, t

    assert stats.normal_quantile(0.95) == pytest.approx(norm.ppf(0.975))
    assert stats.t_quantile(0.9, 7.5) == pytest.approx(t.ppf(0.95, 7.5))
    assert stats.t_tail(-2.1, 11) == pytest.approx(2 * t.sf(2.1, 11))


def test_smallest_detectable_proportion_has_the_power_it_promises() -> None:
    rise = stats.smallest_detectable_proportion(400, 0.25, power=0.8)
    drawn = np.random.default_rng(1).binomial(400, 0.25 + rise, 40_000) / 400
    z = (drawn - 0.25) / math.sqrt(0.25 * 0.75 / 400)
    assert (abs(z) > 1.959964).mean() == pytest.approx(0.8, abs=0.03)


def test_smallest_detectable_proportion_is_undefined_where_nothing_can_be_found() -> None:
    assert math.isnan(stats.smallest_detectable_proportion(4, 0.9))


# --- pairs -------------------------------------------------------------------------------------------------------------


@QUICK
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_equals_scipy(b: int, c: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(b, b + c).pvalue if b + c else 1.0
    assert stats.mcnemar_exact(b, c) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (Cells(36, 12, 2, 0), (0.0569, 0.3404)),
        (Cells(53, 1, 0, 0), (-0.0496, 0.0977)),
        (Cells(54, 0, 0, 0), (-0.0664, 0.0664)),
    ],
)
def test_newcombe_published_examples(cells: Cells, expected: tuple[float, float]) -> None:
    assert stats.newcombe(cells) == pytest.approx(expected, abs=5e-5)


def test_newcombe_of_many_items_is_walds_paired_interval() -> None:
    n11, n10, n01, n00 = cells = Cells(6000, 1500, 1000, 1500)
    se = math.sqrt(n10 + n01 - (n10 - n01) ** 2 / 10_000) / 10_000
    assert stats.newcombe(cells) == pytest.approx((0.05 - 1.959964 * se, 0.05 + 1.959964 * se), abs=2e-4)
    assert n11 * n00 > n10 * n01


def test_newcombe_takes_a_correlation_within_the_continuity_correction_as_none() -> None:
    cells = Cells(1, 1, 7, 12)  # 1 * 12 - 1 * 7 = 5, less than half of 21
    (low1, high1), (low2, high2) = stats.wilson(2, 21), stats.wilson(8, 21)
    below, above = math.hypot(2 / 21 - low1, high2 - 8 / 21), math.hypot(high1 - 2 / 21, 8 / 21 - low2)
    assert stats.newcombe(cells) == pytest.approx((-6 / 21 - below, -6 / 21 + above))


def test_newcombe_covers() -> None:
    rng = np.random.default_rng(3)
    for p in ([0.5, 0.2, 0.1, 0.2], [0.85, 0.1, 0.04, 0.01], [0.02, 0.05, 0.01, 0.92]):
        drawn = [stats.newcombe(Cells(*row)) for row in rng.multinomial(80, p, 2000)]
        covered = np.mean([low <= p[1] - p[2] <= high for low, high in drawn])
        assert covered > 0.935, p


@QUICK
@given(st.tuples(*[st.integers(0, 60)] * 4).filter(any))
def test_newcombe_turns_round_when_the_two_are_exchanged(counts: tuple[int, int, int, int]) -> None:
    n11, n10, n01, n00 = counts
    low, high = stats.newcombe(Cells(n11, n10, n01, n00))
    assert -1 <= low <= (n10 - n01) / sum(counts) <= high <= 1
    assert stats.newcombe(Cells(n11, n01, n10, n00)) == pytest.approx((-high, -low), abs=1e-12)


def test_paired_cells_keep_the_sums_of_partial_credit() -> None:
    cells = stats.paired_cells([1.0, 0.5, 0.0], [0.5, 0.5, 1.0])
    assert cells == pytest.approx((0.75, 0.75, 1.25, 0.25))
    assert (cells.n11 + cells.n10, cells.n11 + cells.n01, sum(cells)) == pytest.approx((1.5, 2.0, 3.0))


def test_smallest_detectable_difference_has_the_power_it_promises() -> None:
    n, discordance = 500, 0.2
    d = stats.smallest_detectable_difference(n, discordance, power=0.8)
    p = [(discordance + d) / 2, (discordance - d) / 2]
    drawn = np.random.default_rng(4).multinomial(n, [*p, 1 - discordance], 40_000)
    z = (drawn[:, 0] - drawn[:, 1]) / np.sqrt(drawn[:, 0] + drawn[:, 1])
    assert (abs(z) > 1.959964).mean() == pytest.approx(0.8, abs=0.02)


def test_smallest_detectable_difference_cannot_exceed_the_discordance() -> None:
    assert math.isnan(stats.smallest_detectable_difference(30, 0.05))
    assert math.isnan(stats.smallest_detectable_difference(0, 0.5))


# --- bootstrap and gap rate --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 4000])  # unit by unit, and cell by cell
def test_bootstrap_se_of_a_proportion_is_its_closed_form(n: int) -> None:
    k = round(0.3 * n)
    rows = np.array([[1.0], [0.0]]) if n == 4000 else np.repeat([[1.0], [0.0]], [k, n - k], axis=0)
    times = np.array([k, n - k]) if n == 4000 else None
    draws = stats.bootstrap_counts(rows, times, resamples=20_000, seed=1)[:, 0] / n
    assert draws.mean() == pytest.approx(0.3, abs=4 * draws.std() / math.sqrt(20_000))
    assert draws.std() == pytest.approx(math.sqrt(0.21 / n), rel=0.02)


def test_bootstrap_is_reproducible_and_follows_the_seed() -> None:
    rows, times = np.eye(3), np.array([5, 60, 35])
    first, again, other = (stats.bootstrap_counts(rows, times, resamples=50, seed=seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    assert (first.sum(axis=1) == 100).all()


def test_percentile_leaves_undefined_draws_out_and_bears_infinite_ones() -> None:
    assert stats.percentile(np.array([math.nan, *range(101)]), 0.9) == pytest.approx((5, 95))
    assert stats.percentile(np.array([-math.inf] * 10 + [0.5] * 90)) == (-math.inf, 0.5)
    assert np.isnan(stats.percentile(np.array([math.nan]))).all()


def test_gap_rate_bootstrap_agrees_with_resampled_pairs_and_with_delta() -> None:
    cells = Cells(300, 150, 40, 510)
    low, high = stats.gap_rate_bootstrap(cells, resamples=20_000, seed=0)
    pairs = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [int(count) for count in cells], axis=0)
    drawn = pairs[np.random.default_rng(1).integers(0, 1000, (5000, 1000))].sum(axis=1)
    naive = np.quantile(1 - drawn[:, 1] / drawn[:, 0], [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(naive), abs=0.006)
    assert (low, high) == pytest.approx(stats.gap_rate_ci(*cells)[1:], abs=0.006)


def test_clustered_gap_rate_of_independent_items_has_the_closed_forms_standard_error() -> None:
    cells = Cells(300, 150, 40, 510)
    first, second = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [int(count) for count in cells], axis=0).T
    made, plain = stats.gap_rate_factor_ci(first, second, stats.Factors((np.arange(1000),))), stats.gap_rate_ci(*cells)
    width = [math.log((1 - m.low) / (1 - m.high)) for m in (made, plain)]
    inflation = math.sqrt(1000 / 999) * stats.t_quantile(0.95, 999) / stats.normal_quantile(0.95)
    assert width[0] == pytest.approx(inflation * width[1], rel=1e-9)
    assert made.value == pytest.approx(plain.value)


def test_gap_rate_posterior_has_width_where_resamples_have_none() -> None:
    cells = Cells(0, 20, 0, 10)
    assert stats.gap_rate_bootstrap(cells, resamples=500, seed=0) == (1.0, 1.0)
    low, high = stats.gap_rate_posterior(cells, resamples=4000, seed=0)
    assert high == 1.0
    # Beta(1, 31) puts its 97.5 % point at .11 of all 30 items, that is .17 of the 20 right ones.
    assert low == pytest.approx(0.84, abs=0.03)


# --- multiplicity and chance -------------------------------------------------------------------------------------------


@QUICK
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_equals_statsmodels(p: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    assert stats.holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)


def test_holm_leaves_an_undefined_test_undefined() -> None:
    assert stats.holm([math.nan, 0.01]) == pytest.approx([math.nan, 0.02], nan_ok=True)
    assert stats.holm([]).tolist() == []


def test_holm_over_the_tested_leaves_the_others_out_of_the_family() -> None:
    assert stats.holm_tested([math.nan, 0.01, 0.04]) == pytest.approx([math.nan, 0.02, 0.04], nan_ok=True)
    assert stats.holm_tested([math.nan]) == pytest.approx([math.nan], nan_ok=True)
    assert stats.holm_tested([]).tolist() == []


def test_random_baseline_is_what_a_guesser_gets() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(8)
    truth = np.repeat([0, 1, 2], [60_000, 30_000, 10_000])
    assert stats.random_baseline([60, 30, 10]).macro_f1 == pytest.approx(
        f1_score(truth, rng.integers(0, 3, len(truth)), average="macro"), abs=0.005
    )
    assert math.isnan(stats.random_baseline([0, 0]).macro_f1)
