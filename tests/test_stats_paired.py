from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.stats import Cells, mcnemar_exact, normal_quantile, smallest_detectable_difference
from eyetest.stats.multiplicity import benjamini_hochberg, holm_tested
from eyetest.stats.paired import items_needed, resolution_ratio

QUICK = settings(deadline=None, max_examples=60)
Z = 1.959963984540054, 0.8416212335729143
"""z of .975 and of .8."""


# --- how many items ----------------------------------------------------------------------------------------------------


def test_items_needed_is_connors_formula() -> None:
    expected = (Z[0] * math.sqrt(0.3) + Z[1] * math.sqrt(0.3 - 0.01)) ** 2 / 0.01
    assert items_needed(0.1, 0.3) == items_needed(-0.1, 0.3) == pytest.approx(expected)
    assert expected == pytest.approx(233, abs=1)


@QUICK
@given(st.floats(0.02, 0.99), st.floats(0.05, 1), st.sampled_from([(0.8, 0.05), (0.9, 0.01)]))
def test_items_needed_inverts_the_smallest_detectable_difference(share: float, psi: float, plan: tuple[float, float]) -> None:
    n = items_needed(share * psi, psi, *plan)
    assert smallest_detectable_difference(n, psi, *plan) == pytest.approx(share * psi, rel=1e-6)


def test_so_many_items_find_it_as_often_as_wanted() -> None:
    n = round(items_needed(0.12, 0.3))
    rng, found = np.random.default_rng(0), 0
    for _ in range(1500):
        only_first, only_second, _ = rng.multinomial(n, [0.21, 0.09, 0.7])
        found += mcnemar_exact(int(only_first), int(only_second)) <= 0.05
    assert 0.73 <= found / 1500 <= 0.83  # the exact test is a little conservative


def test_items_needed_at_the_edges() -> None:
    assert items_needed(0.0, 0.3) == items_needed(0.0, 0.0) == math.inf
    for impossible in ((0.4, 0.3), (0.1, 1.1), (math.nan, 0.3), (0.1, math.nan)):
        assert math.isnan(items_needed(*impossible))


# --- resolved? ---------------------------------------------------------------------------------------------------------


def test_the_ratio_is_one_where_the_items_are_just_enough() -> None:
    cells = Cells(40, 30, 10, 20)
    needed = items_needed(0.2, 0.4)
    assert resolution_ratio(cells) == pytest.approx(100 / needed)
    enough = Cells(*(needed / 100 * count for count in cells))
    assert resolution_ratio(enough) == pytest.approx(1.0)
    assert resolution_ratio(enough, design_effect=4) == pytest.approx(1 / 4)
    assert resolution_ratio(enough, power=0.9) < 1 < resolution_ratio(enough, power=0.7)


def test_the_ratio_says_what_p_says() -> None:
    for only_first, only_second in ((60, 40), (130, 100), (70, 20)):
        n = 1000
        z = (only_first - only_second) / math.sqrt(only_first + only_second)
        assert resolution_ratio(Cells(500, only_first, only_second, n - 500 - only_first - only_second)) == pytest.approx(
            (z / sum(Z)) ** 2, rel=0.1
        )


def test_the_ratio_at_the_edges() -> None:
    assert resolution_ratio(Cells(5, 4, 4, 3)) == resolution_ratio(Cells(5, 0, 0, 3)) == 0.0
    assert math.isnan(resolution_ratio(Cells(0, 0, 0, 0)))
    assert resolution_ratio(Cells(0, 20, 0, 0)) == pytest.approx(20 / Z[0] ** 2)
    assert resolution_ratio(Cells(4.0, 3.0, -1e-16, 3.0)) == pytest.approx(10 / items_needed(0.3, 0.3))


def test_the_quantiles_of_these_tests() -> None:
    assert (normal_quantile(0.95), normal_quantile(0.6)) == pytest.approx(Z)


# --- many tests at once ------------------------------------------------------------------------------------------------


@QUICK
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_benjamini_hochberg_equals_scipy(p: list[float]) -> None:
    from scipy.stats import false_discovery_control

    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))


def test_benjamini_hochberg_leaves_untested_out() -> None:
    made = benjamini_hochberg([0.04, math.nan, 0.01, 0.03])
    assert made == pytest.approx([0.04, math.nan, 0.03, 0.04], nan_ok=True)
    assert np.isnan(benjamini_hochberg([math.nan])).all()
    assert len(benjamini_hochberg([])) == 0
    assert np.nanmax(made - holm_tested([0.04, math.nan, 0.01, 0.03])) <= 0
