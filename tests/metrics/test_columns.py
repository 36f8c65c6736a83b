from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import BAD_IMAGE, BLOCKED, ERROR, REFUSED, SCORED, UNPARSED, UNSCORED, columns, labelled

from eyetest.metrics.columns import STATUSES, Columns, Counts, code, pair


def test_every_status_has_its_code() -> None:
    assert [code(status) for status in STATUSES] == [SCORED, UNPARSED, REFUSED, BLOCKED, ERROR, BAD_IMAGE, UNSCORED]


def test_what_is_inside_n() -> None:
    made = columns(np.ones(7), status=np.arange(7))
    assert made.counted().status.tolist() == [SCORED, UNPARSED, REFUSED, BLOCKED]
    assert made.parsed().status.tolist() == [SCORED]
    assert made.credit().tolist() == [1.0, 0, 0, 0, 0, 0, 0]
    assert made.number_of("refused", "blocked") == 2


def test_take_selects_rows_of_every_column_and_keeps_labels() -> None:
    made = columns([0.0, 0.5, 1.0], labels=("a", "b")).take(np.array([2, 0]))
    assert (made.value.tolist(), made.sample.tolist(), made.labels) == ([1.0, 0.0], [2, 0], ("a", "b"))


def test_columns_of_different_length_are_refused() -> None:
    made = columns([0, 1, 1])
    with pytest.raises(ValueError, match=r"different length: .*'variant': 2, .*'value': 3"):
        replace(made, variant=made.variant[:2])


def test_concatenated_columns_keep_credit_and_drop_the_label_space() -> None:
    one = labelled("ab", "aa", "ab", sample=[0, 1])
    other = columns([0.5], sample=[2])
    made = Columns.concatenate([one, other])
    assert (made.sample.tolist(), made.credit().tolist()) == ([0, 1, 2], [1.0, 0.0, 0.5])
    assert (made.labels, set(made.target.tolist()), set(made.answer.tolist())) == ((), {-1}, {-1})


def test_clusters_and_samples_are_one_factor_and_requests_the_other() -> None:
    made = columns(np.zeros(6), sample=[0, 1, 2, 3, 4, 4], cluster=[7, 7, 1, 2, 3, 4], request=[0, 1, 1, 2, 3, 4])
    assert [code.tolist() for code in made.factors().codes] == [[0, 0, 1, 2, 3, 3], [0, 1, 1, 2, 3, 4]]
    by_cluster = columns(np.zeros(4), cluster=[5, 5, 5, 1], request=[3, 3, 2, 0]).factors()
    assert [code.tolist() for code in by_cluster.codes] == [[0, 0, 0, 1]]
    by_request = columns(np.zeros(4), request=[3, 3, 2, 0]).factors()
    assert [code.tolist() for code in by_request.codes] == [[0, 0, 1, 2]]


def test_order_is_by_sample_variant_and_repeat() -> None:
    made = columns(np.zeros(5), sample=[1, 0, 0, 0, 0], variant=[0, 1, 0, 0, 1], repeat=[0, 0, 1, 0, 1])
    assert made.order().tolist() == [3, 2, 1, 4, 0]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_counts_by_group_add_up_to_the_total(index: list[int], data: st.DataObject) -> None:
    counts = Counts(np.random.default_rng(0).random((4, 3)), np.array(index))
    group = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(index), max_size=len(index))))
    assert counts.by_group(group).sum(axis=0) == pytest.approx(counts.total())
    assert counts.total() == pytest.approx(counts.rows[counts.index].sum(axis=0))


# --- pairs -------------------------------------------------------------------------------------------------------------


def test_pairs_are_aligned_whatever_the_order() -> None:
    first = columns([1, 0, 1, 0], sample=[3, 1, 2, 3], repeat=[0, 0, 0, 1])
    second = columns([0.5, 1, 0, 0], sample=[2, 3, 3, 9], repeat=[0, 1, 0, 0])
    made = pair(first, second)
    assert made.sample.tolist() == [2, 3, 3]
    assert made.first.tolist() == [1, 1, 0]
    assert made.second.tolist() == [0.5, 0, 1]
    (group,) = made.factors.codes
    assert group[0] != group[1] == group[2]
    assert made.n_single == 2


def test_variants_are_averaged_and_a_missing_answer_counts_as_wrong() -> None:
    rotated = columns([1, 1, 0, 1], sample=[0, 0, 1, 1], variant=[0, 1, 0, 1], status=[SCORED, UNPARSED, SCORED, SCORED])
    plain = columns([1, 0])
    made = pair(rotated, plain)
    assert made.first.tolist() == [0.5, 0.5]
    assert (made.n_unparsed, made.n_distinct) == (1, 2)
    assert pair(rotated, plain, "parsed_only").first.tolist() == [1.0, 0.5]


def test_a_pair_with_a_failed_side_is_left_out_and_counted() -> None:
    first = columns(np.ones(5), status=[SCORED, ERROR, REFUSED, BLOCKED, SCORED])
    second = columns(np.ones(5), status=[SCORED, SCORED, REFUSED, SCORED, BAD_IMAGE])
    made = pair(first, second)
    assert made.sample.tolist() == [0, 2, 3]
    assert (made.n_failed, made.n_refused, made.n_single) == (2, 2, 0)


def test_requests_of_either_side_join_pairs_but_equal_codes_across_sides_do_not() -> None:
    first = columns(np.ones(4), request=[1, 2, 3, 4])
    for requests, expected in (([4, 3, 2, 1], [0, 1, 2, 3]), ([9, 8, 8, 7], [0, 1, 1, 2])):
        (made,) = pair(first, columns(np.ones(4), request=requests)).factors.codes
        assert made.tolist() == expected


def test_clusters_of_pairs_cross_their_requests() -> None:
    shown = columns(np.ones(5), cluster=[0, 0, 1, 1, 2])
    blind = columns(np.ones(5), cluster=[0, 0, 1, 1, 2], request=[7, 8, 7, 8, 9])
    for made in (pair(shown, blind), pair(blind, shown)):
        assert [code.tolist() for code in made.factors.codes] == [[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]]


def test_variants_join_the_requests_of_their_pair() -> None:
    rotated = columns(np.ones(6), sample=[0, 0, 1, 1, 2, 2], variant=[0, 1] * 3, request=[1, 2, 2, 3, 4, 5])
    (made,) = pair(rotated, columns(np.ones(3))).factors.codes
    assert made.tolist() == [0, 0, 1]


def test_nothing_in_common_gives_no_pairs() -> None:
    made = pair(columns([1.0], sample=[0]), columns([1.0], sample=[1]))
    assert (len(made), made.n_single, made.n_distinct) == (0, 2, 0)
