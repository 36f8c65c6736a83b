from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import BLOCKED, ERROR, REFUSED, SCORED, UNPARSED, columns, labelled

from eyetest.metrics.classification import (
    Accuracy,
    BalancedAccuracy,
    MacroF1,
    MacroPrecision,
    MacroRecall,
    ScoreRate,
    SuccessRate,
    confusion,
    per_class,
)
from eyetest.metrics.columns import Columns, Metric, Policy, point

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "metric_cases.json").read_text())["cases"]
POLICY: dict[str, Policy] = {"exclude": "parsed_only", "as_wrong": "as_wrong"}
CLASS_WISE = (MacroF1, MacroPrecision, MacroRecall, BalancedAccuracy)
QUICK = settings(deadline=None, max_examples=60)


def cases(metric: str, policies: tuple[str, ...] = ("exclude", "as_wrong")) -> Any:
    found = [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["metric"] == metric and case.get("policy", policies[0]) in policies
    ]
    assert found, metric
    return pytest.mark.parametrize("case", found)


def near(case: dict[str, Any], value: Any) -> Any:
    return pytest.approx(float(value), abs=case["tolerance"], nan_ok=True)


@cases("accuracy")
def test_accuracy_case(case: dict[str, Any]) -> None:
    made = labelled(case["args"]["y_true"], case["args"]["y_pred"], case["args"]["labels"])
    assert point(Accuracy(POLICY[case["policy"]]), made) == near(case, case["expected"])


@cases("macro_prf")
def test_macro_case(case: dict[str, Any]) -> None:
    made = labelled(case["args"]["y_true"], case["args"]["y_pred"], case["args"]["labels"])
    policy = POLICY[case["policy"]]
    metrics = {"precision": MacroPrecision(policy), "recall": MacroRecall(policy), "f1": MacroF1(policy)}
    for name, metric in metrics.items():
        assert point(metric, made) == near(case, case["expected"][name]), name


@cases("macro_prf", ("sentinel_counted_as_class_DO_NOT_USE",))
def test_an_unread_answer_is_no_class_of_its_own(case: dict[str, Any]) -> None:
    made = labelled(case["args"]["y_true"], case["args"]["y_pred"], ["real", "fake"])
    assert point(MacroF1(), made) == pytest.approx(0.5)
    assert point(MacroF1(), made) != near(case, case["expected"]["f1"])


@cases("success_rate")
def test_success_rate_case(case: dict[str, Any]) -> None:
    read = case["args"]["y_pred"]
    made = columns(np.zeros(len(read)), status=[UNPARSED if answer is None else SCORED for answer in read])
    assert point(SuccessRate(), made) == near(case, case["expected"])


@cases("score_rate")
def test_score_rate_case(case: dict[str, Any]) -> None:
    assert point(ScoreRate(), columns(case["args"]["correct"])) == near(case, case["expected"])


@cases("binary_report")
def test_table_2_of_the_first_paper(case: dict[str, Any]) -> None:
    cells, total = case["args"]["confusion"], case["args"]["n_total"]
    truth = ["fake"] * (cells["tp"] + cells["fn"]) + ["real"] * (cells["fp"] + cells["tn"])
    answers: list[str | None] = ["fake"] * cells["tp"] + ["real"] * cells["fn"] + ["fake"] * cells["fp"] + ["real"] * cells["tn"]
    missing = total - len(truth)
    made = labelled(truth + ["real"] * missing, answers + [None] * missing, ["fake", "real"])
    found = {
        "f1_macro": point(MacroF1("parsed_only"), made),
        "accuracy": point(Accuracy("parsed_only"), made),
        "auc_hard": point(BalancedAccuracy("parsed_only"), made),
        "balanced_accuracy": point(BalancedAccuracy("parsed_only"), made),
        "success_rate": point(SuccessRate(), made),
    }
    assert found == {name: near(case, value) for name, value in case["expected"].items()}


def hard_label_auc() -> list[Any]:
    two_classes = [case for case in CASES if case["metric"] == "auc" and len(set(case["args"]["y_true"])) == 2]
    return [
        pytest.param(case, id=case["id"])
        for case in two_classes
        if set(case["args"]["y_score"]) <= {0, 1} or len(set(case["args"]["y_score"])) == 1
    ]


@pytest.mark.parametrize("case", hard_label_auc())
def test_auc_on_hard_labels_is_balanced_accuracy(case: dict[str, Any]) -> None:
    answers = [int(score >= 0.5) for score in case["args"]["y_score"]]
    made = labelled(case["args"]["y_true"], answers, [0, 1])
    assert point(BalancedAccuracy(), made) == near(case, case["expected"])


# --- against scikit-learn ----------------------------------------------------------------------------------------------


def random_columns(seed: int, k: int, n: int = 300) -> tuple[Columns, np.ndarray, np.ndarray]:
    """Skewed classes, the last one absent, some answers unread: columns, truth, answers (-1 unread)."""
    rng = np.random.default_rng(seed)
    truth = np.minimum(rng.integers(0, k, n), rng.integers(0, max(k - 1, 1), n))
    answers = np.where(rng.random(n) < 0.5, truth, rng.integers(0, k, n))
    answers[rng.random(n) < 0.1] = -1
    labels = [f"label {i}" for i in range(k)]
    made = labelled([labels[t] for t in truth], [None if a < 0 else labels[a] for a in answers], labels)
    return made, truth, answers


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("policy", ["as_wrong", "parsed_only"])
@pytest.mark.filterwarnings("ignore:y_pred contains classes")
def test_class_wise_metrics_equal_scikit_learn(seed: int, policy: Policy) -> None:
    from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

    k = seed + 2
    made, truth, answers = random_columns(seed, k)
    kept = answers >= (0 if policy == "parsed_only" else -1)
    truth, answers = truth[kept], answers[kept]
    p, r, f, support = precision_recall_fscore_support(truth, answers, labels=range(k), zero_division=0)
    assert point(MacroPrecision(policy), made) == pytest.approx(p.mean(), abs=1e-12)
    assert point(MacroRecall(policy), made) == pytest.approx(r.mean(), abs=1e-12)
    assert point(MacroF1(policy), made) == pytest.approx(f.mean(), abs=1e-12)
    assert point(BalancedAccuracy(policy), made) == pytest.approx(r[support > 0].mean(), abs=1e-12)
    assert point(Accuracy(policy), made) == pytest.approx(accuracy_score(truth, answers), abs=1e-12)
    rows = per_class(made, policy)
    assert [row.f1 for row in rows] == pytest.approx(f)
    assert [row.precision for row in rows] == pytest.approx(p)
    assert [row.recall for row in rows] == pytest.approx(r)
    assert [row.support for row in rows] == support.tolist()
    assert [row.predicted for row in rows] == [int((answers == i).sum()) for i in range(k)]
    square = confusion_matrix(truth, np.where(answers < 0, k, answers), labels=range(k + 1))
    assert confusion(made, policy).tolist() == square[:k].tolist()


# --- laws --------------------------------------------------------------------------------------------------------------

answered = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=40)


def of(rows: list[tuple[str, str | None]]) -> Columns:
    return labelled([truth for truth, _ in rows], [answer for _, answer in rows], "abc")


@QUICK
@given(answered, st.randoms(use_true_random=False))
def test_order_does_not_matter(rows: list[tuple[str, str | None]], random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    for kind in (Accuracy, SuccessRate, *CLASS_WISE):
        assert point(kind(), of(rows)) == pytest.approx(point(kind(), of(shuffled)), abs=1e-12)


@QUICK
@given(answered, answered)
def test_counts_add_up(one: list[tuple[str, str | None]], other: list[tuple[str, str | None]]) -> None:
    metric: Metric
    for metric in (Accuracy(), SuccessRate(), *(kind() for kind in CLASS_WISE)):
        parts = metric.counts(of(one)).total() + metric.counts(of(other)).total()
        assert metric.counts(of(one + other)).total() == pytest.approx(parts)


@QUICK
@given(answered)
def test_an_oracle_attains_the_best_and_nothing_exceeds_it(rows: list[tuple[str, str | None]]) -> None:
    oracle = of([(truth, truth) for truth, _ in rows])
    for kind in (Accuracy, *CLASS_WISE):
        assert point(kind(), oracle) == pytest.approx(kind().best(oracle))
        assert point(kind(), of(rows)) <= kind().best(of(rows)) + 1e-12


def test_values_of_many_totals_at_once() -> None:
    made, _, _ = random_columns(1, 4)
    for kind in CLASS_WISE:
        total = kind().counts(made).total()
        assert kind().value(np.tile(total, (3, 2, 1))) == pytest.approx(np.full((3, 2), point(kind(), made)))


# --- edges -------------------------------------------------------------------------------------------------------------


def test_failed_calls_are_outside_and_refusals_are_wrong() -> None:
    made = labelled("aabb", "aabb", "ab", status=[SCORED, REFUSED, BLOCKED, ERROR])
    assert point(Accuracy(), made) == pytest.approx(1 / 3)
    assert point(Accuracy("parsed_only"), made) == 1.0
    assert point(SuccessRate(), made) == pytest.approx(1 / 3)
    assert confusion(made).tolist() == [[1, 0, 1], [0, 0, 1]]


def test_nothing_counted_is_undefined_and_nothing_read_is_zero() -> None:
    failed = labelled("ab", "ab", "ab", status=[ERROR, ERROR])
    unread = labelled("ab", [None, None], "ab")
    for kind in (Accuracy, *CLASS_WISE):
        assert math.isnan(point(kind(), failed))
        assert math.isnan(kind().best(failed))
        assert math.isnan(kind().chance(failed))
        assert point(kind(), unread) == 0.0
        assert math.isnan(point(kind("parsed_only"), unread))
    assert math.isnan(point(SuccessRate(), failed))


def test_without_a_label_space_class_wise_metrics_are_undefined() -> None:
    made = columns([1, 0, 1], chance=[0.25] * 3)
    for kind in CLASS_WISE:
        assert math.isnan(point(kind(), made))
        assert math.isnan(kind().best(made))
        assert math.isnan(kind().chance(made))
    assert confusion(made).shape == (0, 1)
    assert per_class(made) == ()


def test_a_target_outside_the_label_space_is_refused() -> None:
    made = columns([1, 0], target=[0, -1], answer=[0, 0], labels=("a", "b"))
    with pytest.raises(ValueError, match=r"target outside 0\.\.1"):
        point(MacroF1(), made)


def test_balanced_accuracy_leaves_absent_classes_out() -> None:
    made = labelled("aab", "abb", "abc")
    assert point(BalancedAccuracy(), made) == pytest.approx((0.5 + 1) / 2)
    assert point(MacroRecall(), made) == pytest.approx((0.5 + 1) / 3)


# --- chance ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Accuracy, *CLASS_WISE])
def test_chance_is_what_a_uniform_guesser_gets(kind: Any) -> None:
    rng = np.random.default_rng(2)
    truth = rng.choice(3, 60_000, p=[0.7, 0.3, 0.0])
    labels = ("x", "y", "z")
    guesses = rng.integers(0, 3, len(truth))
    made = columns(truth == guesses, target=truth, answer=guesses, chance=np.full(len(truth), 1 / 3), labels=labels)
    assert kind().chance(made) == pytest.approx(point(kind(), made), abs=0.006)


def test_chance_is_the_mean_over_samples_and_undefined_without_a_closed_form() -> None:
    assert Accuracy().chance(columns([1, 0], chance=[0.25, 0.5])) == pytest.approx(0.375)
    assert math.isnan(Accuracy().chance(columns([1, 0], chance=[0.25, math.nan])))
    some_options = labelled("ab", "ab", "abc", chance=[0.5, 0.5])
    assert math.isnan(MacroF1().chance(some_options))
    assert math.isnan(SuccessRate().chance(some_options))


def test_names() -> None:
    kinds = (Accuracy, ScoreRate, SuccessRate, *CLASS_WISE)
    assert [kind().name for kind in kinds] == [
        "accuracy",
        "score_rate",
        "success_rate",
        "macro_f1",
        "macro_precision",
        "macro_recall",
        "balanced_accuracy",
    ]
    assert all(kind().higher_is_better for kind in kinds)
    assert [kind().additive for kind in kinds] == [True] * 3 + [False] * 4
