from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import DataError
from eyetest.scorers import TextScorer
from eyetest.scorers.clean import HEAD, TAIL
from eyetest.scorers.numbers import dates, number, numbers, span
from eyetest.types import Sample

SCORE = TextScorer()


def sample(*target: str, **metadata: Any) -> Sample:
    return Sample(id="s", question="Which?", target=target, kind="text", metadata=metadata)


@pytest.mark.parametrize(
    ("target", "completion", "rule"),
    [
        ("Paris", "Paris", "verbatim"),
        ("Paris", "paris!", "alias"),
        ("Paris", "It is Paris.", "alias_named"),
        ("1200000", "about 1.2 million", "number"),
        ("6.5-7.0", "6.6", "number_in_range"),
        ("1990-12-20", "on 20 December 1990", "date"),
        ("1990", "on 1990-12-20", "year"),
        ("Paris", "London", "no_alias"),
        ("Paris", "", "empty"),
        ("Paris", "I cannot identify the place.", "refusal_phrase"),
    ],
)
def test_rules(target: str, completion: str, rule: str) -> None:
    assert SCORE(sample(target), completion).rule == rule


def test_a_range_in_the_metadata_is_used() -> None:
    inside, outside = (SCORE(sample("477.4", range=[429.66, 525.14]), text) for text in ("about 500", "about 600"))
    assert (inside.value, inside.rule) == (1.0, "number_in_range")
    assert (outside.status, outside.value) == ("scored", 0.0)


@pytest.mark.parametrize("wrong", [[2, 1], [1], "ab", 3, [1, None]])
def test_a_bad_range_is_named(wrong: Any) -> None:
    with pytest.raises(DataError, match=r"Sample 's': metadata 'range' is .*Expected two numbers \[low, high\]"):
        SCORE(sample("1", range=wrong), "x")


@pytest.mark.parametrize(
    ("target", "completion", "value"),
    [
        ("J. K. Rowling", "The answer is J. K. Rowling.", 1),
        ("St. Louis", "The answer is St. Louis. It lies on a river.", 1),
        ("Paris", "The answer is Paris. This conclusion is supported by the tower.", 1),
        ("Paris", "Paris, so beautiful.", 1),
        ("Verdi", "It could be Verdi, Puccini or Bizet.", 0),
        ("Verdi", "Puccini, Bizet or Verdi", 0),
        ("5", "5-7", 0),
        ("1990", "the 1990s", 0),
        ("-3", "3", 0),
        ("2.5", "2.50", 1),
        ("3 million", "3,000,000", 1),
        ("December 1990", "December 20, 1990", 1),
        ("no", "no", 1),
    ],
)
def test_declared_hedged_and_numeric_answers(target: str, completion: str, value: int) -> None:
    found = SCORE(sample(target), completion)
    assert (found.status, found.value) == ("scored", value)


def test_a_long_answer_is_read_in_its_first_sentence() -> None:
    rest = " ".join(f"word{i}" for i in range(80))
    assert SCORE(sample("Paris"), f"It is Paris. {rest}").value == 1.0
    assert SCORE(sample("Paris"), f"It is Rome. {rest} Paris").value == 0.0


def test_contains_is_the_presence_rule() -> None:
    scorer = TextScorer(match="contains")
    assert scorer.signature == "text(match=contains)"
    assert SCORE.signature == "text(match=tokens)"
    assert scorer(sample("no"), "I do not know").value == 1.0
    assert scorer(sample("Paris"), "a Parisian street").value == 1.0
    assert scorer(sample("Paris"), "not PARIS").value == 1.0
    assert scorer(sample("Paris"), "<think>Paris</think>Rome").value == 0.0
    assert scorer(sample("Paris"), "I'm sorry, I can't help.").status == "refused"
    assert scorer(sample("Paris"), " ").status == "unparsed"


@given(st.text(min_size=1, max_size=40).filter(lambda text: text.strip()), st.lists(st.text(max_size=10), max_size=3))
@settings(max_examples=300, deadline=None)
def test_every_alias_given_verbatim_is_right(alias: str, others: list[str]) -> None:
    for scorer in (SCORE, TextScorer(match="contains")):
        assert scorer(sample(*others, alias), alias).value == 1.0


@given(st.text(max_size=100), st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_never_raises(completion: str, alias: str) -> None:
    found = SCORE(sample(alias), completion)
    assert found.value in (0.0, 1.0)
    assert found.value == 0.0 or found.status == "scored"


@given(st.integers(-(10**9), 10**9))
@settings(deadline=None)
def test_a_number_survives_its_spellings(value: int) -> None:
    for spelling in (f"{value}", f"{value:,}", f"{value}.0", f"about {value:,} people"):
        assert SCORE(sample(str(value)), spelling).value == 1.0, spelling


@pytest.mark.parametrize("unit", ["1", "a ", "Paris ", "1-", "or ", "the answer is ", "May 1 ", "1,", "twenty ", "$", "\n"])
def test_a_megabyte_is_read_from_its_ends(unit: str) -> None:
    item, text = sample("London", "6.5-7.0", "1990-12-20", "5 km"), unit * (1_000_000 // len(unit))
    assert SCORE(item, text) == SCORE(item, f"{text[:HEAD]}\n{text[-TAIL:]}")


def test_numbers_ranges_and_dates() -> None:
    assert [(n.value, n.unit) for n in numbers("1,234.5 km, $3 and seven, -2 %")] == [
        (1234.5, "km"),
        (3.0, "$"),
        (7.0, ""),
        (-2.0, "%"),
    ]
    assert number("5 apples") is None
    assert span("6.5-7.0") == (6.5, 7.0)
    assert span("between 1 and 2 million") == (1e6, 2e6)
    assert span("7-6") is None
    assert span("1990-12-20") is None
    assert [(d.year, d.month, d.day) for d in dates("1990 12 20; 3rd of May, 2001; Sept. 11, 2001; May 1999")] == [
        (1990, 12, 20),
        (2001, 5, 3),
        (2001, 9, 11),
        (1999, 5, 0),
    ]
