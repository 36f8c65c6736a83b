from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import BLOCKED, ERROR, REFUSED, SCORED, UNPARSED, columns
from sklearn import metrics as oracle

from eyetest.metrics import estimate, multilabel
from eyetest.metrics.columns import Columns, Metric, point
from eyetest.metrics.multilabel import (
    ExactMatch,
    HammingLoss,
    InventedLabels,
    Jaccard,
    MultilabelMacroF1,
    MultilabelMacroPrecision,
    MultilabelMacroRecall,
    label_sums,
)

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "metric_cases.json").read_text())["cases"]
MACRO = {"precision": MultilabelMacroPrecision, "recall": MultilabelMacroRecall, "f1": MultilabelMacroF1}
QUICK = settings(deadline=None, max_examples=40)


def packed(table: Any) -> np.ndarray[Any, Any]:
    """(n, K) zeros and ones as (n, w) words."""
    table = np.asarray(table, np.uint64)
    words = np.zeros((len(table), -(-table.shape[1] // 64)), np.uint64)
    for label in range(table.shape[1]):
        words[:, label // 64] |= table[:, label] << np.uint64(label % 64)
    return words


def tagged(truth: Any, read: Any, **given: Any) -> Columns:
    names = tuple(f"label{i}" for i in range(np.asarray(truth).shape[1]))
    return columns([0.0] * len(truth), target_set=packed(truth), answer_set=packed(read), labels=names, **given)


def drawn(n: int, size: int, seed: int = 0, rarest: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.random((n, size)) < rng.uniform(rarest, 0.1, size)
    return truth.astype(int), (truth ^ (rng.random((n, size)) < 0.05)).astype(int)


def cases(metric: str) -> Any:
    found = [pytest.param(case, id=case["id"]) for case in CASES if case["metric"] == metric]
    assert found, metric
    return pytest.mark.parametrize("case", found)


@cases("hamming_loss")
def test_hamming_case(case: dict[str, Any]) -> None:
    made = tagged(case["args"]["y_true"], case["args"]["y_pred"])
    assert point(HammingLoss(), made) == pytest.approx(case["expected"], abs=case["tolerance"])


@cases("jaccard_samples")
def test_jaccard_case(case: dict[str, Any]) -> None:
    made = tagged(case["args"]["y_true"], case["args"]["y_pred"])
    metric = Jaccard(both_empty=case["policy"].removeprefix("both_empty="))
    assert point(metric, made) == pytest.approx(case["expected"], abs=case["tolerance"])


@cases("multilabel_macro_prf")
def test_macro_case(case: dict[str, Any]) -> None:
    made = tagged(case["args"]["y_true"], case["args"]["y_pred"])
    for name, kind in MACRO.items():
        metric = kind(supported=case["policy"] == "supported_labels_only")
        assert point(metric, made) == pytest.approx(case["expected"][name], abs=case["tolerance"]), name


@pytest.mark.parametrize("size", [1, 15, 16, 17, 62, 64, 65, 130])
def test_scikit_learn_agrees(size: int) -> None:
    truth, read = drawn(300, size, seed=size)
    made = tagged(truth, read)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = oracle.precision_recall_fscore_support(truth, read, average="macro", zero_division=0)
        jaccard = oracle.jaccard_score(truth, read, average="samples", zero_division=1) if size > 1 else None
    if size > 1:  # one column is a binary problem to scikit-learn
        assert [point(kind(), made) for kind in MACRO.values()] == pytest.approx(whole[:3])
        assert point(Jaccard(), made) == pytest.approx(jaccard)
    assert point(HammingLoss(), made) == pytest.approx(oracle.hamming_loss(truth, read))
    assert point(ExactMatch(), made) == pytest.approx(oracle.accuracy_score(truth, read))
    sums = label_sums(made)
    assert np.array_equal(sums, [(truth & read).sum(axis=0), truth.sum(axis=0), read.sum(axis=0)])


@pytest.mark.parametrize("kind", MACRO.values())
@pytest.mark.parametrize(("supported", "size"), [(False, 20), (True, 70)])
def test_pseudo_values_have_the_value_and_the_spread_of_exact_counts(
    kind: Any, supported: bool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, read = drawn(1000, size, rarest=0.04)
    metric, made = kind(supported=supported), tagged(truth, read)
    exact = estimate(metric, made, seed=1, resamples=500)
    monkeypatch.setattr(multilabel, "EXACT", 100)
    monkeypatch.setattr(multilabel, "CHUNK", 399)
    assert metric.counts(made).rows.shape == (1000, 2)
    pseudo = estimate(metric, made, seed=1, resamples=500)
    assert pseudo.value == pytest.approx(exact.value, abs=1e-12)
    assert pseudo.high - pseudo.low == pytest.approx(exact.high - exact.low, rel=0.15)


@pytest.mark.parametrize("metric", [HammingLoss(), Jaccard(), Jaccard(both_empty="skip"), ExactMatch()], ids=lambda m: m.name)
def test_many_answers_have_a_row_each_and_the_same_value(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tagged(*drawn(300, 20))
    value, few = point(metric, made), len(metric.counts(made).rows)
    monkeypatch.setattr(multilabel, "EXACT", 100)
    assert few < len(metric.counts(made).rows) == 300
    assert point(metric, made) == pytest.approx(value, abs=1e-12)


def test_exact_counts_are_few_where_sets_repeat() -> None:
    counts = MultilabelMacroF1().counts(tagged([[1, 0], [0, 1], [1, 0]], [[1, 1], [0, 0], [1, 1]]))
    assert sorted(map(tuple, counts.rows)) == [(0, 0, 0, 1, 0, 0, 1), (1, 0, 1, 0, 1, 1, 1)]
    assert sorted(counts.times()) == [1, 2]


def test_an_unread_answer_is_an_empty_set_and_earns_nothing() -> None:
    truth, read = [[1, 0], [1, 1], [0, 0], [0, 1]], [[1, 0], [1, 1], [0, 0], [0, 1]]
    made = tagged(truth, read, status=[SCORED, UNPARSED, REFUSED, ERROR])
    assert point(Jaccard(), made) == pytest.approx(1 / 3)
    assert point(Jaccard(both_empty="skip"), made) == pytest.approx(1 / 3)
    assert point(ExactMatch(), made) == pytest.approx(1 / 3)
    assert point(HammingLoss(), made) == pytest.approx(2 / 6)
    assert point(MultilabelMacroRecall(), made) == pytest.approx((1 / 2 + 0) / 2)
    assert point(MultilabelMacroPrecision(), made) == pytest.approx((1 + 0) / 2)
    for metric in (Jaccard("parsed_only"), ExactMatch("parsed_only")):
        assert point(metric, made) == 1.0
    assert point(HammingLoss("parsed_only"), made) == 0.0


def test_both_empty() -> None:
    made = tagged([[0, 0], [1, 0]], [[0, 0], [1, 1]])
    assert {choice: point(Jaccard(both_empty=choice), made) for choice in ("1", "0", "skip")} == {
        "1": 0.75,
        "0": 0.25,
        "skip": 0.5,
    }  # type: ignore[arg-type]
    assert math.isnan(point(Jaccard(both_empty="skip"), tagged([[0, 0]], [[0, 0]])))


def test_invented_labels() -> None:
    counts = [[1, 1, 1, 2], [0, 1, 0, 1], [math.nan] * 4]
    made = tagged([[1]] * 3, [[1], [0], [0]], counts=counts, status=[SCORED, SCORED, BLOCKED])
    assert point(InventedLabels(), made) == pytest.approx(1.0)
    assert point(InventedLabels("parsed_only"), made) == pytest.approx(1.5)
    with pytest.raises(ValueError, match=r"counts of labels need four columns \(right, target, read, invented\)"):
        point(InventedLabels(), tagged([[1]], [[1]]))


ALL: tuple[Metric, ...] = (
    *(kind(supported=supported) for kind in MACRO.values() for supported in (False, True)),
    HammingLoss(),
    Jaccard(),
    Jaccard(both_empty="0"),
    ExactMatch(),
)


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_the_oracle_attains_the_best(metric: Metric) -> None:
    truth = drawn(200, 62)[0]
    made = tagged(truth, truth)
    assert (truth.sum(axis=0) == 0).any()
    assert (truth.sum(axis=1) == 0).any()
    assert metric.best(made) == pytest.approx(point(metric, made))


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_chance_is_what_a_guesser_gets(metric: Metric) -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((15_000, 6)) < np.array([0.5, 0.3, 0.2, 0.1, 0.05, 0.0])
    made = tagged(truth, rng.random(truth.shape) < 0.5)
    assert metric.chance(made) == pytest.approx(point(metric, made), abs=0.012)


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_no_answers_and_no_label_space_are_undefined(metric: Metric) -> None:
    for made in (tagged([[1, 0]], [[1, 0]], status=[ERROR]), columns([1.0, 0.0])):
        assert math.isnan(point(metric, made))
        assert math.isnan(metric.best(made))
        assert math.isnan(metric.chance(made))


def test_sets_that_do_not_fit_the_labels_are_refused() -> None:
    made = columns([1.0], labels=("a", "b"))
    with pytest.raises(ValueError, match="2 labels need 1 words a set, but target_set has 0 and answer_set has 0"):
        point(HammingLoss(), made)


@QUICK
@given(st.integers(0, 10_000))
def test_the_order_of_answers_does_not_matter(seed: int) -> None:
    truth, read = drawn(40, 20, seed)
    order = np.random.default_rng(seed).permutation(40)
    for metric in ALL:
        one, other = metric.counts(tagged(truth, read)), metric.counts(tagged(truth[order], read[order]))
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.times(), other.times())


def test_intervals_hold_the_value() -> None:
    truth, read = drawn(120, 10)
    counts = np.tile([0.0, 0, 0, 2], (120, 1))
    counts[::3, 3] = 0
    for metric in (*ALL, InventedLabels()):
        found = estimate(metric, tagged(truth, read, counts=counts), seed=0, resamples=300)
        assert found.low <= found.value <= found.high, metric.name
        assert found.n == 120


def test_names_and_directions() -> None:
    assert [metric.name for metric in (*ALL, InventedLabels(), Jaccard(both_empty="skip"))] == [
        "label_macro_precision",
        "label_macro_precision_supported",
        "label_macro_recall",
        "label_macro_recall_supported",
        "label_macro_f1",
        "label_macro_f1_supported",
        "hamming_loss",
        "jaccard",
        "jaccard_both_empty_0",
        "exact_match",
        "invented_labels",
        "jaccard_both_empty_skip",
    ]
    assert {metric.name for metric in (*ALL, InventedLabels()) if not metric.higher_is_better} == {
        "hamming_loss",
        "invented_labels",
    }
    assert {metric.name for metric in ALL if metric.additive} == {
        "hamming_loss",
        "jaccard",
        "jaccard_both_empty_0",
        "exact_match",
    }
