"""Table, summary: numbers against direct computation from predictions.jsonl."""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import mean

import numpy as np
import pytest
from rich.console import Console
from sklearn.metrics import f1_score, precision_score, recall_score

from evaluation.made import Asked, by_content, go, item, items, laid_out, predictions, text_of
from eyetest.errors import UsageError
from eyetest.evaluation.evaluate import evaluate_plan, prepare
from eyetest.evaluation.plan import Dataset
from eyetest.evaluation.rescore import summed_up
from eyetest.evaluation.table import Cell, Order, Table, chance_of
from eyetest.reports.text import print_results
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Response

FAILED = Response(status="error", error="500")


def mixed(request):
    """Right, wrong, unreadable, refused and failed answers, depending on the request alone."""
    letter = by_content(request)
    if "7" in text_of(request).splitlines()[0]:
        return FAILED
    return "I am sorry, but I cannot help with that." if letter == "?" and "1" in text_of(request) else letter


def rows_of(out, **wanted):
    """Records of a run inside n."""
    found = [record for record in predictions(out) if all(record[key] == value for key, value in wanted.items())]
    return [record for record in found if record["response"]["status"] not in ("error", "bad_image")]


def credit(record):
    return record["score"]["value"] if record["score"]["status"] == "scored" else 0.0


def by_item(records):
    found = defaultdict(list)
    for record in records:
        found[record["sample"], record["repeat"]].append(credit(record))
    return {key: mean(values) for key, values in found.items()}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("ran")
    samples = [
        item(n, metadata={"topic": "abc"[n % 3], "rare": 1} if n % 10 == 0 else {"topic": "abc"[n % 3]}) for n in range(150)
    ]
    conditions = ["image", "no_image", "blank", "shuffled"]
    settings = {"conditions": conditions, "by": ["metadata.topic", "metadata.rare"], "generation": {"temperature": 1.0}}
    return out, go(out, samples, Asked(mixed), repeats=2, **settings).results


def test_the_headline_is_the_mean_credit(ran):
    out, results = ran
    for condition in ("image", "no_image", "blank", "shuffled"):
        records = rows_of(out, condition=condition)
        made = results.headline("samples", "asked", condition)
        assert made.n == len(records)
        assert made.value == pytest.approx(mean(map(credit, records)))
        assert made.low < made.value < made.high
        assert made.n_unparsed == sum(record["score"]["status"] == "unparsed" for record in records)
        assert made.n_refused == sum(record["score"]["status"] == "refused" for record in records)
        assert made.n_failed == 300 - len(records) > 0


@pytest.mark.parametrize("policy", ["as_wrong", "parsed_only"])
def test_class_metrics_are_scikit_learns(ran, policy):
    out, results = ran
    records = rows_of(out, condition="image")
    if policy == "parsed_only":
        records = [record for record in records if record["score"]["status"] == "scored"]
    labels = ["cat", "dog", "bird"]
    target = [labels.index(record["target"][0]) for record in records]
    answer = [labels.index(record["score"]["answer"]) if record["score"]["status"] == "scored" else 3 for record in records]
    found = {
        row.estimate.metric: row.estimate.value
        for row in results.rows
        if (row.condition, row.policy, row.by) == ("image", policy, "")
    }
    settings = {"labels": [0, 1, 2], "average": "macro", "zero_division": 0}
    assert found["macro_f1"] == pytest.approx(f1_score(target, answer, **settings))
    if policy == "as_wrong":
        assert found["macro_precision"] == pytest.approx(precision_score(target, answer, **settings))
        assert found["macro_recall"] == pytest.approx(recall_score(target, answer, **settings))


def test_differences_and_gap_rates_pair_samples(ran):
    out, results = ran
    picture = by_item(rows_of(out, condition="image"))
    made = {(pair.second, pair.estimate.metric): pair for pair in results.pairs}
    assert set(made) == {
        *((condition, "paired_difference") for condition in ("no_image", "blank", "shuffled")),
        ("no_image", "gap_rate"),
        ("blank", "gap_rate"),
    }
    for condition in ("no_image", "blank", "shuffled"):
        other = by_item(rows_of(out, condition=condition))
        both = sorted(picture.keys() & other.keys())
        first, second = mean(picture[key] for key in both), mean(other[key] for key in both)
        difference = made[condition, "paired_difference"]
        assert difference.estimate.value == pytest.approx(first - second)
        assert difference.estimate.n == len(both)
        assert difference.p <= difference.p_holm <= 1
        if condition != "shuffled":
            assert made[condition, "gap_rate"].estimate.value == pytest.approx(1 - second / first)


def test_slices_are_the_mean_of_their_samples(ran):
    out, results = ran
    records = rows_of(out, condition="no_image")
    found = {
        (row.by, row.slice): row.estimate
        for row in results.rows
        if (row.condition, row.estimate.metric, row.policy) == ("no_image", "accuracy", "as_wrong") and row.by
    }
    assert set(found) == {
        *(("metadata.topic", topic) for topic in "abc"),
        ("metadata.rare", "1"),
        ("metadata.rare", "(missing)"),
    }
    for (by, value), made in found.items():
        part = [record for record in records if str(record["metadata"].get(by[9:], "(missing)")) == value]
        assert made.n == len(part)
        assert made.value == pytest.approx(mean(map(credit, part)))


def test_stored_scores_give_the_same_results(ran):
    out, results = ran
    again = summed_up(out)[1]
    assert json.dumps(again.as_dict()) == json.dumps(results.as_dict())
    assert {row.by for row in summed_up(out, by=())[1].rows} == {""}


def test_a_field_that_no_sample_has_is_named_before_anything_is_asked(ran, tmp_path):
    model = Asked()
    with pytest.raises(UsageError) as caught:
        go(tmp_path, [item(0, metadata={"topic": 1, "year": 2})], model, by=["metadata.topik"])
    assert str(caught.value) == (
        "--by metadata.topik: no sample has a metadata field 'topik'. Did you mean 'topic'? "
        "Fields: topic, year. Write metadata.FIELD."
    )
    assert not model.seen
    with pytest.raises(UsageError, match=r"Fields: rare, topic. Write metadata.FIELD.$"):
        summed_up(ran[0], by=("metadata.nope",))[1]
    with pytest.raises(UsageError, match=r"no sample has a metadata field 'x'. Fields: none."):
        go(tmp_path, items(3), Asked(), by=["x"])


def test_doubtful_open_questions_are_reported_apart(tmp_path):
    samples = [
        item(n, question=f"Which of the following is in picture {n}?" if n % 4 == 0 else f"What is in {n}?") for n in range(80)
    ]
    results = go(tmp_path, samples, Asked(lambda request: "cat"), conditions=["image", "open_ended"]).results
    flags = {
        (row.condition, row.slice): row.estimate.n
        for row in results.rows
        if row.by == "flag" and (row.estimate.metric, row.policy) == ("accuracy", "as_wrong")
    }
    assert flags == {("open_ended", "needs_options"): 20, ("open_ended", "none"): 60}
    assert results.headline("samples", "asked", "open_ended").n == 80


def test_repeats_are_answers_of_one_sample_and_not_independent(tmp_path):
    answers = {}

    def steady(request):  # all repeats of a sample agree
        return answers.setdefault(text_of(request), by_content(request))

    sampled = {"generation": {"temperature": 1.0}}
    once = go(tmp_path / "1", items(100), Asked(steady), **sampled).results.headline("samples", "asked", "image")
    four = go(tmp_path / "4", items(100), Asked(steady), repeats=4, **sampled).results.headline("samples", "asked", "image")
    assert (once.n, four.n, four.n_distinct) == (100, 400, 100)
    assert four.value == pytest.approx(once.value)
    assert four.high - four.low == pytest.approx(once.high - once.low, rel=0.1)


def test_six_hundred_samples_on_eight_requests_have_no_interval(tmp_path):
    samples = [item(n, question=f"Is meme {n % 8} hateful?", target=("cat",)) for n in range(600)]
    outcome = go(tmp_path, samples, Asked(lambda r: "A" if "2" in text_of(r) else "B"), conditions=["image", "no_image"])
    made = outcome.results.headline("samples", "asked", "no_image")
    assert (made.n, made.n_distinct) == (600, 8)
    assert made.value == pytest.approx(0.125)
    assert np.isnan(made.low)
    assert np.isnan(made.high)
    assert made.note == "interval withheld: only 8 distinct requests"
    pair = next(pair for pair in outcome.results.pairs if pair.estimate.metric == "paired_difference")
    assert pair.estimate.note == "interval withheld: only 8 distinct requests"
    console = Console(width=132)
    with console.capture() as printed:
        print_results(console, outcome.results)
    said = printed.get()
    assert ".125 [withheld]" in said
    assert "  interval withheld: only 8 distinct requests: samples, asked, no_image; samples, asked, image / no_image\n" in said


def test_cells_follow_the_grid_and_not_the_answers():
    order = Order(("b", "a"), ("m2", "m1"), ("default",), ("image", "blank"))
    table = Table({}, (), order)
    cells = [
        Cell(t, m, "default", c, "choice") for t in ("b", "a", "new") for m in ("m2", "m1") for c in ("image", "blank", "zzz")
    ]
    for cell in reversed(cells):
        table._growing[cell] = None
    assert table.cells == cells


def test_chance_of_an_item():
    assert chance_of(item(0)) == pytest.approx(1 / 3)
    assert chance_of(item(0, choices=("cat", "cat", "dog"), target=("cat",))) == pytest.approx(2 / 3)
    assert np.isnan(chance_of(item(0, kind="text")))


def test_two_tasks_with_different_fields_are_sliced_each_by_its_own(tmp_path):
    first = task_from_samples([item(n, metadata={"topic": n % 2}) for n in range(20)], name="first")
    second = task_from_samples([item(n, metadata={"year": 1990}) for n in range(20)], name="second")
    config, _ = laid_out(items(1), out=str(tmp_path), by=[])
    config = config.model_copy(update={"by": ("metadata.topic", "metadata.year")})
    plan = prepare(config, (Dataset(first), Dataset(second)))
    results = evaluate_plan(config, plan, (Asked(),), watch=lambda _: None).results
    assert {(row.task, row.by, row.slice) for row in results.rows if row.by} == {
        ("first", "metadata.topic", "0"),
        ("first", "metadata.topic", "1"),
        ("second", "metadata.year", "1990"),
    }


def test_kinds_of_one_task_are_compared_together(tmp_path):
    samples = items(40) + [item(100 + n, kind="text", choices=(), target=("A",)) for n in range(40)]
    results = go(tmp_path, samples, Asked(lambda _: "A"), conditions=["image", "no_image"]).results
    assert {row.kind for row in results.rows} == {"choice", "text"}
    (difference,) = (pair for pair in results.pairs if pair.estimate.metric == "paired_difference")
    assert difference.estimate.n == 80
    assert difference.estimate.value == 0
