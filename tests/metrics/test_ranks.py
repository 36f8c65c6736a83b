from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from made import columns, labelled

from eyetest.metrics.classification import Accuracy, MacroF1
from eyetest.metrics.columns import Columns
from eyetest.metrics.comparison import metric_difference
from eyetest.metrics.estimate import estimate
from eyetest.metrics.ranks import Leaderboard, Standing, leaderboard
from eyetest.stats import holm_tested


def right(rate: float, n: int = 200) -> Columns:
    """The first `rate` of all answers is right: models differ on as few samples as they can."""
    return columns((np.arange(n) < rate * n).astype(float))


def ranks(board: Leaderboard) -> dict[str, tuple[int, int]]:
    return {one.model: (one.rank_low, one.rank_high) for one in board.standings}


# --- the board ---------------------------------------------------------------------------------------------------------


def test_resolved_models_have_one_rank_and_unresolved_share_one() -> None:
    models = {"low": right(0.2), "mid": right(0.5), "middle": right(0.51), "high": right(0.9)}
    board = leaderboard(models, seed=0)
    assert ranks(board) == {"high": (1, 1), "middle": (2, 3), "mid": (2, 3), "low": (4, 4)}
    assert [one.rank for one in board.standings] == [1, 2, 2, 4]
    assert board.standings[0] == Standing("high", estimate(Accuracy(), models["high"], seed=0), 1, 1)


def test_every_pair_is_tested_and_adjusted_over_the_board() -> None:
    models = {name: right(rate) for name, rate in (("a", 0.5), ("b", 0.54), ("c", 0.6))}
    pairs = leaderboard(models, seed=0, level=0.9).pairs
    assert [(one.first, one.second) for one in pairs] == [("c", "b"), ("c", "a"), ("b", "a")]
    direct = [metric_difference(Accuracy(), models[one.first], models[one.second], seed=0, level=0.9) for one in pairs]
    assert [(one.estimate, one.p, one.test) for one in pairs] == [(one.estimate, one.p, one.test) for one in direct]
    assert [one.p_adjusted for one in pairs] == pytest.approx(list(holm_tested([one.p for one in direct])))


def test_exploration_resolves_more() -> None:
    models = {name: right(rate) for name, rate in (("a", 0.5), ("b", 0.53), ("c", 0.565))}
    strict, loose = leaderboard(models, seed=0), leaderboard(models, seed=0, exploration=True)
    p = {(one.first, one.second): one.p for one in strict.pairs}
    # 6, 7 and 13 samples apart: p of 1/32, 1/64 and 1/4096.
    assert sorted(p.values()) == pytest.approx([2 / 2**13, 2 / 2**7, 2 / 2**6])
    assert ranks(strict) == {"c": (1, 1), "b": (2, 2), "a": (3, 3)}
    closer = models | {"d": right(0.565)}
    assert ranks(leaderboard(closer, seed=0)) == {"c": (1, 3), "d": (1, 3), "b": (1, 4), "a": (3, 4)}
    assert ranks(leaderboard(closer, seed=0, exploration=True)) == {"c": (1, 2), "d": (1, 2), "b": (3, 3), "a": (4, 4)}
    assert [one.p_adjusted for one in loose.pairs] != [one.p_adjusted for one in strict.pairs]


@dataclass(frozen=True)
class ErrorRate(Accuracy):
    name: str = "error_rate"
    higher_is_better: bool = False


def test_lower_may_be_better() -> None:
    board = leaderboard({"often": right(0.9), "seldom": right(0.1)}, ErrorRate(), seed=0)
    assert ranks(board) == {"seldom": (1, 1), "often": (2, 2)}
    assert board.pairs[0].estimate.value == pytest.approx(-0.8)


def test_macro_f1_is_ranked_by_exchanging() -> None:
    rng, truth = np.random.default_rng(0), np.random.default_rng(1).integers(0, 3, 250)
    models = {
        name: labelled(truth.tolist(), np.where(rng.random(250) < rate, truth, 0).tolist(), range(3))
        for name, rate in (("a", 0.3), ("b", 0.32), ("c", 0.8))
    }
    board = leaderboard(models, MacroF1(), seed=0, resamples=100)
    assert ranks(board) == {"c": (1, 1), "a": (2, 3), "b": (2, 3)}
    assert {one.test for one in board.pairs} == {"permutation"}


# --- order and degenerate boards ---------------------------------------------------------------------------------------


def test_equal_values_stand_as_given_and_undefined_last() -> None:
    nothing = right(0.5).take(np.zeros(200, bool))
    models = {"none": nothing, "z": right(0.5), "a": right(0.5), "best": right(0.52)}
    board = leaderboard(models, seed=0)
    assert [one.model for one in board.standings] == ["best", "z", "a", "none"]
    assert set(ranks(board).values()) == {(1, 4)}
    untested = [one for one in board.pairs if one.second == "none"]
    assert len(untested) == 3
    assert all(math.isnan(one.p) and math.isnan(one.p_adjusted) and one.test == "none" for one in untested)
    # What was not tested does not count in the family: 3 pairs, not 6.
    assert max(one.p_adjusted for one in board.pairs if one.p < 1) == pytest.approx(3 * 2 / 2**4)


def test_boards_of_one_model_and_of_none() -> None:
    alone = leaderboard({"a": right(0.5)}, seed=0)
    assert (ranks(alone), alone.pairs) == ({"a": (1, 1)}, ())
    assert leaderboard({}, seed=0) == ((), ())


def test_models_without_common_samples_share_all_ranks() -> None:
    far = columns(np.zeros(200), sample=np.arange(200, 400))
    board = leaderboard({"a": right(1.0), "b": far}, seed=0)
    assert ranks(board) == {"a": (1, 2), "b": (1, 2)}
    assert board.pairs[0].estimate.note.startswith("undefined: no sample was answered on both sides")


def test_all_wrong_and_identical_models_share_all_ranks() -> None:
    for rate in (0.0, 0.4):
        board = leaderboard({name: right(rate) for name in "abc"}, seed=0)
        assert ranks(board) == dict.fromkeys("abc", (1, 3))
        assert {one.p_adjusted for one in board.pairs} == {1.0}


def test_pairs_decide_where_models_answered_different_samples() -> None:
    # `part` was only asked the 40 samples that `whole` finds hard: a higher value, but worse on what both answered.
    whole = columns(np.r_[np.tile([1.0, 1.0, 1.0, 0.0], 10), np.zeros(160)])
    part = columns(np.tile([1.0, 0.0, 0.0, 0.0], 10))
    board = leaderboard({"whole": whole, "part": part}, seed=0)
    assert [one.model for one in board.standings] == ["part", "whole"]
    assert ranks(board) == {"part": (2, 2), "whole": (1, 1)}


# --- do the ranks hold? ------------------------------------------------------------------------------------------------


Draw = Callable[[np.random.Generator, tuple[float, ...]], dict[str, Columns]]


def credits(rng: np.random.Generator, rates: tuple[float, ...]) -> dict[str, Columns]:
    """200 answers a model; hard and easy samples make the models' answers go together."""
    ease = rng.normal(0, 0.25, 200)
    return {str(i): columns((rng.random(200) < np.clip(rate + ease, 0, 1)).astype(float)) for i, rate in enumerate(rates)}


def classes(rng: np.random.Generator, rates: tuple[float, ...]) -> dict[str, Columns]:
    """100 answers a model of two classes, 7 : 3, right with its rate in either: then macro-F1 rises with the rate."""
    truth = (rng.random(100) < 0.3).astype(int)
    drawn = {str(i): np.where(rng.random(100) < rate, truth, 1 - truth) for i, rate in enumerate(rates)}
    return {name: labelled(truth.tolist(), answer.tolist(), range(2)) for name, answer in drawn.items()}


def held(boards: int, rates: tuple[float, ...], seed: int, draw: Draw = credits, metric: Any = None) -> tuple[float, float]:
    """Share of boards whose ranks hold for all models at once, and mean number of pairs resolved."""
    rng, good, resolved = np.random.default_rng(seed), 0, 0
    for _ in range(boards):
        board = leaderboard(draw(rng, rates), metric, seed=0, resamples=20)
        found = ranks(board)
        good += all(
            found[str(i)][0] <= 1 + sum(other > rate for other in rates)
            and found[str(i)][1] >= len(rates) - sum(other < rate for other in rates)
            for i, rate in enumerate(rates)
        )
        resolved += sum(one.p_adjusted < 0.05 for one in board.pairs)
    return good / boards, resolved / boards


def test_true_ranks_are_held() -> None:
    share, resolved = held(60, (0.5, 0.5, 0.5, 0.75), seed=0)
    assert share >= 0.95
    assert 2.5 <= resolved <= 3.1  # not for want of resolving what is there


@pytest.mark.long
@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5, 0.5), (0.5, 0.5, 0.6, 0.75), (0.4, 0.55, 0.55, 0.7)])
def test_true_ranks_are_held_at_length(rates: tuple[float, ...]) -> None:
    assert held(500, rates, seed=1)[0] >= 0.95
    assert held(500, rates, seed=2, draw=classes, metric=MacroF1())[0] >= 0.95
