from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import DataError
from eyetest.prompts import letters
from eyetest.scorers import ChoiceScorer
from eyetest.scorers.clean import HEAD, TAIL
from eyetest.types import Sample

CITIES = ("London", "Paris", "Rome", "Madrid")
SCORE = ChoiceScorer()


def sample(choices: tuple[str, ...] = CITIES, target: str = "Paris", question: str = "Which city is it?") -> Sample:
    return Sample(id="s", question=question, target=(target,), choices=choices)


@pytest.mark.parametrize(
    ("completion", "rule"),
    [
        ("B", "letter_alone"),
        ("Paris", "option_text"),
        ("The answer is B.", "declared_answer"),
        ("B. Paris", "letter_first"),
        ("The picture shows Paris at night", "option_named"),
        ("The picture fits option B", "letter_named"),
        ("It is Paris. The tower says so.", "first_sentence"),
        ("B. London", "letter_and_text_disagree"),
        ("London or Paris", "two_options_named"),
        ("Lisbon", "no_option_found"),
        ("It is not Rome", "negated_option"),
        ("", "empty"),
        ("I cannot help with that.", "refusal_phrase"),
    ],
)
def test_rules(completion: str, rule: str) -> None:
    assert SCORE(sample(), completion).rule == rule


@pytest.mark.parametrize(
    ("completion", "rule"),
    [
        ("Yes", "yes_no_of_label"),
        ("It is not hateful at all", "option_named"),
        ("There is nothing hateful in it", "negation_of_label"),
        ("Yes, it is not hateful", "yes_no_and_text_disagree"),
    ],
)
def test_rules_of_a_label_and_its_opposite(completion: str, rule: str) -> None:
    assert SCORE(sample(("hateful", "not_hateful"), "hateful"), completion).rule == rule


def test_letters_off_reads_texts_only() -> None:
    scorer = ChoiceScorer(letters=False)
    assert scorer(sample(), "B").status == "unparsed"
    assert scorer(sample(), "Answer: B").status == "unparsed"
    assert scorer(sample(), "The answer is Paris").answer == "Paris"
    assert scorer(sample(("B", "C", "A"), "A"), "B").answer == "B"


def test_a_letter_that_is_another_option_is_not_guessed() -> None:
    found = SCORE(sample(("B", "C", "A"), "A"), "Answer: B")
    assert (found.status, found.rule) == ("unparsed", "letter_or_text")


def test_signature_names_the_option() -> None:
    assert ChoiceScorer().signature == "choice(letters=true)"
    assert ChoiceScorer(letters=False).signature == "choice(letters=false)"


def test_no_choices_is_the_users_mistake() -> None:
    with pytest.raises(DataError, match=r"Sample 's' has no choices.*kind 'text'"):
        SCORE(sample(()), "B")


def test_many_options_have_double_letters() -> None:
    choices = tuple(f"town {number}" for number in range(30))
    assert SCORE(sample(choices), "AB").answer == "town 27"
    assert SCORE(sample(choices), "The answer is (AD).").answer == "town 29"
    assert SCORE(sample(choices), "town 2").answer == "town 2"


def test_spellings_shared_by_two_options_are_read_verbatim_only() -> None:
    choices = ("x²", "x2", "y")
    assert SCORE(sample(choices), "x²").answer == "x²"
    assert SCORE(sample(choices), "x2").answer == "x2"
    assert SCORE(sample(choices), "it is x2").answer is None
    assert SCORE(sample(choices), "B").answer == "x2"


def test_value_compares_texts() -> None:
    assert SCORE(Sample(id="s", question="", target=("paris",), choices=("Paris",)), "A").value == 0.0


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "\n",
        "(",
        "**",
        "the answer is ",
        "not ",
        "\\boxed{",
        "<think>",
        "<answer>",
        '"answer": "',
        "$a",
        "{",
        "Paris ",
        "A. ",
        "no, ",
        "\nQuestion: ",
    ],
)
def test_a_megabyte_is_read_from_its_ends(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert SCORE(sample(), text) == SCORE(sample(), f"{text[:HEAD]}\n{text[-TAIL:]}")


def test_the_end_of_a_long_completion_is_read() -> None:
    padding = "The wall is red. " * 60_000
    assert SCORE(sample(), padding + "The answer is B.").answer == "Paris"
    assert SCORE(sample(), f"<think>{padding}</think>B").answer == "Paris"


WORDS = st.sampled_from(
    [
        "A",
        "B",
        "C.",
        "(D)",
        "Paris",
        "London",
        "not",
        "is",
        "the answer is",
        "or",
        "and",
        ",",
        ".",
        "\n",
        "no",
        "Yes",
        "I",
        "cannot",
        "?",
        "**",
    ]
)
MARKS = st.sampled_from(
    ["$", "<think>", "</think>", "\\boxed{B}", "wait", "so", ":", "option", "but", '{"answer": "', '"}', "Question:", "猫"]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(WORDS | MARKS, max_size=14).map(" ".join))


@given(TEXTS, st.booleans())
@settings(max_examples=300, deadline=None)
def test_never_raises_and_answers_with_a_choice(text: str, lettered: bool) -> None:
    found = ChoiceScorer(lettered)(sample(), text)
    assert found.status in ("scored", "unparsed", "refused")
    assert (found.answer in CITIES) if found.status == "scored" else found.answer is None
    assert found.value == float(found.answer == "Paris")


@given(
    st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True).filter(lambda c: all(t.strip() for t in c)),
    TEXTS,
)
@settings(max_examples=200, deadline=None)
def test_any_options_never_raise(choices: list[str], text: str) -> None:
    found = SCORE(sample(tuple(choices), choices[0]), text)
    assert found.answer is None or found.answer in choices


CLEAR = ("{}", "({})", "Answer: {}", "The answer is ({}).", "**{}**", "{}. ", "Option {}", "\\boxed{{{}}}", '{{"answer": "{}"}}')
TAILS = ("", " because of the tower", "\n\nThe others are wrong.")


@given(st.permutations(CITIES), st.sampled_from(CITIES), st.sampled_from(CLEAR), st.sampled_from(TAILS))
@settings(deadline=None)
def test_permuting_choices_with_letters_leaves_the_verdict(order: list[str], chosen: str, form: str, tail: str) -> None:
    letter = letters(len(order))[order.index(chosen)]
    found = SCORE(sample(tuple(order)), form.format(letter) + tail)
    assert found.answer == chosen
    assert found.value == float(chosen == "Paris")


@given(
    st.sampled_from(CLEAR),
    st.sampled_from(
        ["{}", "  {}\n", "\n\n{}", "**{}**", "> {}", "## {}", "`{}`", "\u200b{}", "<think>It may be A or C.</think>{}"]
    ),
)
@settings(deadline=None)
def test_dress_does_not_change_a_clear_answer(form: str, dress: str) -> None:
    assert SCORE(sample(), dress.format(form.format("B"))).answer == "Paris"


@given(st.permutations(CITIES), TEXTS)
@settings(max_examples=150, deadline=None)
def test_texts_are_read_the_same_in_any_order(order: list[str], text: str) -> None:
    scorer = ChoiceScorer(letters=False)
    assert scorer(sample(tuple(order)), text).answer == scorer(sample(), text).answer
