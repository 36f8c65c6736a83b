from __future__ import annotations

import math
from dataclasses import replace

import pytest

from eyetest.metrics import KnowledgeTable
from eyetest.reports import sentences
from eyetest.reports.facts import Facts
from eyetest.stats import Cells
from eyetest.types import Estimate

NAN = math.nan


def made(value: float, low: float = NAN, high: float = NAN, n: int = 100) -> Estimate:
    return Estimate("accuracy", value, low, high, n, n)


USES = Facts(
    "toys",
    "m",
    "default",
    with_picture=made(0.72, 0.63, 0.80),
    without_picture=made(0.41, 0.32, 0.51),
    chance=0.25,
    cells=Cells(41, 31, 0, 28),
    difference=made(0.31, 0.22, 0.40),
)


def test_the_sentence_of_the_specification() -> None:
    assert sentences.cells(USES) == (
        "Of 100 questions: 72 right with the picture; 31 only with it; 41 also without it, where guessing alone gives about 25; "
        "0 only without it; 28 never."
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {},
            "uses the picture, and answers part without it: 72 % right with the picture, 41 % without it, "
            "where guessing alone gives 25 %",
        ),
        (
            {"without_picture": made(0.27, 0.19, 0.36)},
            "needs the picture: 72 % right with the picture; without it 27 %, which cannot be told from guessing (25 %)",
        ),
        (
            {"without_picture": made(0.05, 0.02, 0.11)},
            "needs the picture: 72 % right with the picture; without it 5 %, below guessing (25 %)",
        ),
        ({"chance": NAN}, "uses the picture: 72 % right with the picture, 41 % without it"),
        (
            {"without_picture": made(0.71, 0.61, 0.79), "difference": made(0.01, -0.02, 0.04)},
            "does not need the picture: 72 % right with the picture, 71 % without it, where guessing alone gives 25 %",
        ),
        (
            {"without_picture": made(0.70, 0.6, 0.79), "difference": made(0.02, -0.09, 0.13)},
            "may or may not use the picture, which cannot be told at this n: 72 % right with the picture, 70 % without it, "
            "where guessing alone gives 25 %",
        ),
        (
            {"without_picture": made(0.90, 0.8, 0.95), "difference": made(-0.18, -0.28, -0.08)},
            "does better without the picture: 72 % right with the picture, 90 % without it, where guessing alone gives 25 %",
        ),
        (
            {"difference": made(0.31), "chance": NAN},
            "has too few independent answers to tell: 72 % right with the picture, 41 % without it",
        ),
        (
            {"difference": None, "chance": NAN},
            "has too few independent answers to tell: 72 % right with the picture, 41 % without it",
        ),
        (
            {"with_picture": made(0.30, 0.22, 0.40)},
            "cannot be told from guessing at this n: 30 % right with the picture, where guessing alone gives 25 %",
        ),
        (
            {"with_picture": made(0.10, 0.05, 0.18)},
            "is below guessing even with the picture: 10 % right with the picture, where guessing alone gives 25 %",
        ),
        (
            {"without_picture": None},
            "is better than guessing: 72 % right with the picture, where guessing alone gives 25 %; "
            "whether it needs the picture was not asked (condition no_image)",
        ),
        (
            {"without_picture": made(NAN), "chance": NAN},
            "was asked with the picture only: 72 % right with the picture; "
            "whether it needs the picture was not asked (condition no_image)",
        ),
        ({"with_picture": None}, "was not asked with the picture (condition image), so nothing can be told about what it sees"),
        ({"with_picture": made(NAN)}, "gave no answer that counts with the picture"),
        (
            {"with_picture": made(0.0, 0.0, 0.04), "without_picture": made(0.0, 0.0, 0.04), "chance": NAN},
            "is right on no question, with the picture or without it",
        ),
    ],
)
def test_lead(changes: dict[str, object], expected: str) -> None:
    assert sentences.lead(replace(USES, **changes)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (made(0.31, 0.22, 0.40), "Taking the picture away costs 31.0 points (95 % interval 22.0 to 40.0, n = 100)."),
        (made(-0.18, -0.28, -0.08), "Taking the picture away adds 18.0 points (95 % interval 8.0 to 28.0, n = 100)."),
        (
            made(0.01, -0.02, 0.04),
            "Taking the picture away changes at most 4.0 points either way (95 % interval −2.0 to 4.0, n = 100).",
        ),
        (
            made(0.03, -0.09, 0.13),
            "Taking the picture away: no difference can be told at this n "
            "(with − without: +3.0 points, 95 % interval −9.0 to 13.0, n = 100).",
        ),
        (
            made(-0.03, -0.13, 0.09),
            "Taking the picture away: no difference can be told at this n "
            "(with − without: −3.0 points, 95 % interval −13.0 to 9.0, n = 100).",
        ),
        (
            made(0.25, n=8),
            "Taking the picture away: with − without 25.0 points, too few independent answers for an interval, n = 8.",
        ),
        (made(NAN), ""),
        (None, ""),
    ],
)
def test_cost(difference: Estimate | None, expected: str) -> None:
    assert sentences.cost(replace(USES, difference=difference)) == expected


def test_the_edge_of_negligible_is_negligible_and_a_small_sure_difference_too() -> None:
    assert sentences.effect(made(0.03, 0.01, 0.05)) == "negligible"
    assert sentences.effect(made(0.03, 0.01, 0.051)) == "up"
    assert sentences.effect(made(-0.03, -0.051, -0.01)) == "down"


def test_swapped_and_shuffled_name_what_was_done() -> None:
    facts = replace(USES, swapped=made(0.2, 0.1, 0.3), shuffled=made(0.02, -0.08, 0.12))
    assert sentences.swapped(facts).startswith("Showing somebody else's picture costs 20.0 points")
    assert sentences.shuffled(facts) == (
        "Shuffling the options: no difference can be told at this n "
        "(original − shuffled: +2.0 points, 95 % interval −8.0 to 12.0, n = 100)."
    )


def test_cells_say_when_fewer_were_answered_both_ways_and_when_credit_is_partial() -> None:
    facts = replace(USES, cells=Cells(40.5, 30.25, 0, 25.25), whole=False, chance=NAN)
    assert sentences.cells(facts) == (
        "Of the 96 questions answered both ways: 70.8 right (partial credit added up) with the picture; 30.2 only with it; "
        "40.5 also without it; 0 only without it; 25.2 never."
    )
    assert sentences.cells(replace(USES, unit="answer")).startswith("Of 100 answers: ")
    assert sentences.cells(replace(USES, cells=None)) == ""


def test_knowledge() -> None:
    shares = (made(value, 0.4, 0.7, n) for value, n in ((0.9, 45), (0.4, 55), (0.57, 70), (0.8, 30)))
    known = KnowledgeTable(Cells(40, 5, 30, 25), *shares)
    assert sentences.knowledge(replace(USES, knowledge=known)) == (
        "Of 100 questions also asked as pure knowledge: 40 known and right with the picture; "
        "30 known but wrong with the picture; 5 right with the picture but not known; 25 neither. "
        "Where the fact is known, the question with the picture is right in 57 % (95 % interval 40 to 70 %, n = 70)."
    )
    bare = replace(known, p_vq_given_k=made(0.5, n=4))
    assert sentences.knowledge(replace(USES, knowledge=bare)).endswith("is right in 50 % (no interval, n = 4).")
    none = replace(known, p_vq_given_k=made(NAN, n=0))
    assert sentences.knowledge(replace(USES, knowledge=none)).endswith("25 neither.")


@pytest.mark.parametrize(
    ("unparsed", "refused", "expected"),
    [
        (3, 8, "Of the answers with and without the picture, 3 could not be read and 8 were refused; they count as wrong."),
        (0, 1, "Of the answers with and without the picture, 1 was refused; they count as wrong."),
        (2, 0, "Of the answers with and without the picture, 2 could not be read; they count as wrong."),
        (0, 0, ""),
    ],
)
def test_unread(unparsed: int, refused: int, expected: str) -> None:
    assert sentences.unread(replace(USES, n_unparsed=unparsed, n_refused=refused)) == expected


def test_failed() -> None:
    assert sentences.failed(USES) == ""
    assert sentences.failed(replace(USES, n_failed=1)).startswith("1 call failed or had a broken picture and is outside every n")
    assert sentences.failed(replace(USES, n_failed=6)).startswith("6 calls failed or had a broken picture and are outside")


def test_an_answer_holds_only_sentences_with_numbers() -> None:
    assert sentences.answer(USES).details == (sentences.cells(USES), sentences.cost(USES))
