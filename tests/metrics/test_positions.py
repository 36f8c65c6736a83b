"""Circular accuracy, recall and prior by position: closed forms, brute force, models of known bias."""

import math
from collections import defaultdict

import numpy as np
import pytest

from eyetest import Sample, evaluate
from eyetest.metrics.positions import by_position
from eyetest.types import Image
from metrics.made import ERROR, REFUSED, SCORED, UNPARSED, columns


def circles(answers, k, *, repeats=None, status=None, cluster=None):
    """answers: (samples, k) place that is chosen in each rotation, -1 for none; the right option is option `sample % k`."""
    answers = np.asarray(answers)
    n = len(answers)
    sample, variant = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    right, chosen = (sample - variant) % k, answers.ravel()
    given = {
        "sample": sample,
        "variant": variant,
        "status": np.where(chosen >= 0, SCORED, UNPARSED) if status is None else status,
        "positions": np.stack([right, chosen, np.full(n * k, k)], axis=1).astype(float),
        "cluster": sample if cluster is None else cluster,
    }
    if repeats is not None:
        given["repeat"] = repeats
    return columns((chosen == right).astype(float), **given)


def values(estimates):
    return [made.value for made in estimates]


def test_a_model_that_always_chooses_the_second_place():
    [found] = by_position(circles(np.full((40, 3), 1), 3))
    assert (found.options, found.circular.value, found.circular.n, found.chance) == (3, 0, 40, pytest.approx(1 / 27))
    assert values(found.recall) == [0, 1, 0]
    assert values(found.prior) == [0, 1, 0]
    assert [made.n for made in (*found.recall, *found.prior)] == [40] * 3 + [120] * 3


def test_a_model_that_knows_all():
    [found] = by_position(circles([[(s - v) % 4 for v in range(4)] for s in range(20)], 4))
    assert found.circular.value == 1
    assert values(found.recall) == [1] * 4
    assert values(found.prior) == [0.25] * 4
    assert all(made.low < 0.25 < made.high for made in found.prior)


def test_a_toy_table_by_hand():
    # Right places of sample 0 are 0, 1; of sample 1 they are 1, 0.
    [found] = by_position(circles([[0, 1], [1, 1]], 2))
    assert (found.circular.value, found.circular.n) == (0.5, 2)
    assert values(found.recall) == [0.5, 1.0]
    assert values(found.prior) == [0.25, 0.75]
    assert "interval withheld: only 2 distinct requests" in found.circular.note
    assert math.isnan(found.circular.low)


def brute(rows, k):
    """(sample, repeat, variant, right, chosen or -1, failed) -> circular, recall, prior by the definitions' own words."""
    groups = defaultdict(list)
    for row in rows:
        groups[row[0], row[1]].append(row)
    whole = [group for group in groups.values() if sum(not row[5] for row in group) == k]
    answers = [row for group in whole for row in group]
    circular = np.mean([all(row[3] == row[4] for row in group) for group in whole])
    recall = [np.mean([row[4] == place for row in answers if row[3] == place]) for place in range(k)]
    read = [row for row in answers if row[4] >= 0]
    return circular, recall, [np.mean([row[4] == place for row in read]) for place in range(k)]


@pytest.mark.parametrize("seed", range(4))
def test_against_brute_force_with_repeats_failures_and_mixed_numbers_of_options(seed):
    rng = np.random.default_rng(seed)
    rows, k_of = [], rng.choice([2, 3, 5], 60)
    for sample, k in enumerate(k_of):
        for repeat in range(2):
            for variant in range(k):
                right = int(sample - variant) % int(k)
                chosen = right if rng.random() < 0.6 else int(rng.integers(-1, k))
                rows.append((sample, repeat, variant, right, chosen, rng.random() < 0.05))
    rng.shuffle(rows)
    sample, repeat, variant, right, chosen, failed = np.array(rows).T
    unread = rng.choice([UNPARSED, REFUSED], len(rows))
    made = columns(
        (chosen == right) & ~failed.astype(bool),
        sample=sample,
        repeat=repeat,
        variant=variant,
        status=np.where(failed, ERROR, np.where(chosen < 0, unread, SCORED)),
        positions=np.stack([right, np.where(failed, -1, chosen), k_of[sample]], axis=1).astype(float),
    )
    found = by_position(made)
    assert [one.options for one in found] == [2, 3, 5]
    for one in found:
        circular, recall, prior = brute([tuple(row) for row in rows if k_of[row[0]] == one.options], one.options)
        assert one.circular.value == pytest.approx(circular)
        assert values(one.recall) == pytest.approx(recall)
        assert values(one.prior) == pytest.approx(prior)
        assert sum(values(one.prior)) == pytest.approx(1)


def test_a_circle_with_a_failed_answer_is_left_out_and_said():
    made = circles(np.zeros((30, 2)), 2, status=[ERROR, *[SCORED] * 59])
    [found] = by_position(made)
    assert (found.circular.n, found.circular.n_failed) == (29, 1)
    assert found.prior[0].n == 58
    assert found.circular.note == "1 questions left out: not answered in every rotation"


def test_unread_answers_are_wrong_in_recall_and_outside_the_prior():
    [found] = by_position(circles([[-1, 1]] * 20, 2))
    assert (found.circular.value, found.circular.n_unparsed) == (0, 20)
    assert sum(made.n for made in found.recall) == 40
    assert (found.prior[0].n, found.prior[1].value) == (20, 1)
    assert "unparsed=excluded" in found.prior[0].signature
    assert "unparsed=wrong" in found.recall[0].signature


def test_nothing_is_defined_where_nothing_was_answered():
    [found] = by_position(circles([[0, 0]] * 3, 2, status=[ERROR] * 6))
    for made in (found.circular, *found.recall, *found.prior):
        assert (made.n, made.note) == (0, "undefined: no such answer; 3 questions left out: not answered in every rotation")
        assert math.isnan(made.value)
    assert by_position(columns([1, 0])) == ()


def test_the_interval_of_the_prior_covers_what_a_biased_guesser_does():
    """Answers that go together by sample: 95 % intervals of a prior of .5, .3, .2 cover in some 95 of 100 draws."""
    rng, prior, covered, draws = np.random.default_rng(1), np.array([0.5, 0.3, 0.2]), 0, 300
    for _ in range(draws):
        sticky = rng.choice(3, (50, 1), p=prior)  # half of the samples give one place in all rotations
        answers = np.where(rng.random((50, 1)) < 0.5, sticky, rng.choice(3, (50, 3), p=prior))
        [found] = by_position(circles(answers, 3))
        covered += found.prior[0].low <= 0.5 <= found.prior[0].high
        assert found.prior[0].signature.split("|")[2] == "interval=cluster_wilson95"
    assert 0.92 <= covered / draws <= 0.985


def test_from_questions_to_the_table_of_findings():
    items = [
        Sample(f"{k}", f"Which ({k})?", ("xyz"[k % 3],), choices=tuple("xyz"), images=(Image(data=b"%d" % k),)) for k in range(30)
    ]
    found = evaluate(items, {"first": lambda messages: "A"}, conditions=("image", "rotated", "no_image+rotated"))
    rows = [row for row in found.findings if row.panel == "positions" and row.condition == "rotated"]
    assert [(row.estimate.metric, row.by, row.slice, row.estimate.value) for row in rows] == [
        ("circular_accuracy", "options", "3", 0),
        *[("recall_by_position", "place", f"{place} of 3", float(place == 1)) for place in (1, 2, 3)],
        *[("position_prior", "place", f"{place} of 3", float(place == 1)) for place in (1, 2, 3)],
    ]
    assert rows[0].detail == "guessing among 3 options: 0.037"
    assert {row.condition for row in found.findings if row.panel == "positions"} == {"rotated", "no_image+rotated"}


def test_an_option_that_stands_twice_has_no_place():
    items = [Sample(f"{k}", f"Which ({k})?", ("x",), choices=("x", "x", "y")) for k in range(12)]
    found = evaluate(items, {"last": lambda messages: "y"}, conditions="rotated").findings
    by_name = {(row.estimate.metric, row.slice): row.estimate for row in found if row.panel == "positions"}
    assert by_name["recall_by_position", "1 of 3"].n == 0
    assert [by_name["position_prior", f"{place} of 3"].value for place in (1, 2, 3)] == pytest.approx([1 / 3] * 3)


def test_a_phantom_that_goes_by_what_options_say_has_no_bias():
    items = [Sample(f"{k}", f"Which ({k})?", ("wxyz"[k % 4],), choices=tuple("wxyz")) for k in range(1500)]
    found = evaluate(items, "phantom:knowledge=0.5", conditions="rotated").findings
    rows = {(row.estimate.metric, row.slice): row.estimate for row in found if row.panel == "positions"}
    circular = rows["circular_accuracy", "4"]
    wanted = 0.5 + 0.5 * 4.0**-4
    assert circular.low <= wanted <= circular.high
    for place in range(1, 5):
        recall, prior = rows["recall_by_position", f"{place} of 4"], rows["position_prior", f"{place} of 4"]
        assert abs(recall.value - 0.625) < 4 * math.sqrt(0.25 / 1500)
        assert abs(prior.value - 0.25) < 0.02
