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
    cells=Cells(37, 31, 8, 24),
    difference=made(0.31, 0.22, 0.40),
)


def test_the_sentence_of_the_specification() -> None:
    assert sentences.cells(USES) == (
        "Of 100 questions: 68 right with the picture, 45 without it, where guessing gives about 25; "
        "31 only with it, 37 both ways, 8 only without, 24 never."
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {},
            "uses the picture, and answers part without it: 72 % right with the picture, 41 % without it, "
            "where guessing gives 25 %",
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
            {"chance": NAN, "without_picture": made(0.05, 0.02, 0.11)},
            "needs the picture: 72 % right with the picture, 5 % without it",
        ),
        (
            {"frequent": 0.35},
            "uses the picture: 72 % right with the picture, 41 % without it, "
            "where guessing gives 25 % and always the most frequent answer 35 %",
        ),
        (
            {"without_picture": made(0.71, 0.61, 0.79), "difference": made(0.01, -0.02, 0.04)},
            "does not need the picture: 72 % right with the picture, 71 % without it, where guessing gives 25 %",
        ),
        (
            {"without_picture": made(0.70, 0.6, 0.79), "difference": made(0.02, -0.09, 0.13)},
            "may or may not use the picture, which cannot be told at this n: 72 % right with the picture, 70 % without it, "
            "where guessing gives 25 %",
        ),
        (
            {"without_picture": made(0.90, 0.8, 0.95), "difference": made(-0.18, -0.28, -0.08)},
            "does better without the picture: 72 % right with the picture, 90 % without it, where guessing gives 25 %",
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
            "cannot be told from guessing at this n: 30 % right with the picture, where guessing gives 25 %",
        ),
        (
            {"with_picture": made(0.10, 0.05, 0.18)},
            "is below guessing even with the picture: 10 % right with the picture, where guessing gives 25 %",
        ),
        (
            {"with_picture": replace(made(0.10, 0.05, 0.18), n_unparsed=50, n_refused=10)},
            "often gave no answer that could be read: 60 of 100 with the picture; 10 % right with the picture, "
            "where guessing gives 25 %",
        ),
        (
            {"with_picture": replace(made(0.10, 0.05, 0.18), n_unparsed=5)},
            "is below guessing even with the picture: 10 % right with the picture, where guessing gives 25 %",
        ),
        (
            {"without_picture": None},
            "is better than guessing: 72 % right with the picture, where guessing gives 25 %; "
            "whether it needs the picture was not asked (condition no_image)",
        ),
        (
            {"without_picture": made(NAN), "chance": NAN},
            "was asked with the picture only: 72 % right with the picture; "
            "whether it needs the picture was not asked (condition no_image)",
        ),
        (
            {"without_picture": None, "frequent": 0.7},
            "cannot be told from always giving the most frequent answer: 72 % right with the picture, where guessing gives 25 % "
            "and always the most frequent answer 70 %; whether it needs the picture was not asked (condition no_image)",
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


SAME = made(0.0, -0.03, 0.03)
"""A difference that is shown to be small."""


@pytest.mark.parametrize(
    ("seen", "dark", "changes", "expected"),
    [
        # A uniform guesser.
        (made(0.26, 0.18, 0.35), made(0.24, 0.17, 0.33), {}, "cannot be told from guessing at this n: 26 %"),
        # The majority answer of a lopsided set, above the uniform guess.
        (
            made(0.6, 0.5, 0.7),
            made(0.6, 0.5, 0.7),
            {"frequent": 0.6},
            "cannot be told from always giving the most frequent answer, with the picture or without it: 60 % right with the "
            "picture, 60 % without it, where guessing gives 25 % and always the most frequent answer 60 %",
        ),
        (made(0.7, 0.61, 0.78), made(0.68, 0.59, 0.76), {"frequent": 0.6}, "cannot be told from always giving the most frequent"),
        (made(0.8, 0.71, 0.87), made(0.8, 0.71, 0.87), {"frequent": 0.6}, "does not need the picture: 80 %"),
        # Better than a guess with the picture, not without, and the difference is small.
        (made(0.3, 0.26, 0.35), made(0.28, 0.24, 0.33), {}, "gains next to nothing from the picture: 30 %"),
        # Short answers, where nobody knows what guessing gives.
        (
            made(0.2, 0.13, 0.29),
            made(0.2, 0.13, 0.29),
            {"chance": NAN, "kind": "text"},
            "gains next to nothing from the picture, and how much of its score is guessing is not known: "
            "20 % right with the picture, 20 % without it",
        ),
        (
            made(0.02, 0.01, 0.07),
            made(0.01, 0.0, 0.05),
            {"chance": NAN, "kind": "text"},
            "gets almost nothing right with or without the picture (2 %, 1 %)",
        ),
        (
            made(0.01, 0.0, 0.05),
            made(0.05, 0.02, 0.11),
            {"chance": NAN, "kind": "text", "difference": made(-0.04, -0.09, -0.01)},
            "gets almost nothing right with or without the picture (1 %, 5 %)",
        ),
        (
            made(0.04, 0.03, 0.06),
            made(0.03, 0.02, 0.05),
            {"chance": 0.01},
            "gets almost nothing right with or without the picture (4 %, 3 %), where guessing gives 1 %",
        ),
        # Small, but shown to come from the picture.
        (
            made(0.05, 0.03, 0.09),
            made(0.0, 0.0, 0.01),
            {"chance": NAN, "kind": "text", "difference": made(0.05, 0.02, 0.08)},
            "needs the picture: 5 % right with the picture, 0 % without it",
        ),
    ],
)
def test_only_a_model_above_every_guess_does_not_need_the_picture(
    seen: Estimate, dark: Estimate, changes: dict[str, object], expected: str
) -> None:
    facts = replace(USES, with_picture=seen, without_picture=dark, difference=SAME)
    assert sentences.lead(replace(facts, **changes)).startswith(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("score", "chance", "frequent", "verdict"),
    [
        (made(0.5, 0.4, 0.6), 0.25, NAN, "above"),
        (made(0.5, 0.4, 0.6), 0.25, 0.39, "above"),
        (made(0.5, 0.4, 0.6), 0.25, 0.4, "frequent"),
        (made(0.5, 0.4, 0.6), 0.4, 0.5, "within"),
        (made(0.5, 0.4, 0.6), 0.7, 0.8, "below"),
        (made(0.5, 0.4, 0.6), NAN, 0.5, "unknown"),
        (made(0.5), 0.25, 0.3, "unknown"),
    ],
)
def test_beside_guessing(score: Estimate, chance: float, frequent: float, verdict: str) -> None:
    assert sentences.beside_guessing(score, chance, frequent) == verdict


def test_in_words_names_task_kind_and_prompt_only_where_there_are_several() -> None:
    assert next(sentences.in_words([USES])).startswith("m uses the picture, ")
    kinds = list(sentences.in_words([USES, replace(USES, kind="text", chance=NAN)]))
    assert [line.split(" uses")[0] for line in kinds] == ["m (multiple choice)", "m (short answers)"]
    several = list(sentences.in_words([USES, replace(USES, prompt="terse"), replace(USES, task="b")]))
    assert [line.split(" uses")[0] for line in several] == ["m (toys, prompt default)", "m (toys, prompt terse)", "m (b)"]


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
        "Of the 96 questions answered both ways: 70.8 right (partial credit added up) with the picture, 40.5 without it; "
        "30.2 only with it, 40.5 both ways, 0 only without, 25.2 never."
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
        (3, 8, "Of the answers with and without the picture, 3 are unparsed and 8 were refused; they count as wrong."),
        (0, 1, "Of the answers with and without the picture, 1 was refused; they count as wrong."),
        (2, 0, "Of the answers with and without the picture, 2 are unparsed; they count as wrong."),
        (1, 0, "Of the answers with and without the picture, 1 is unparsed; they count as wrong."),
        (0, 0, ""),
    ],
)
def test_unparsed(unparsed: int, refused: int, expected: str) -> None:
    assert sentences.unparsed(replace(USES, n_unparsed=unparsed, n_refused=refused)) == expected


def test_failed() -> None:
    assert sentences.failed(USES) == ""
    assert sentences.failed(replace(USES, n_failed=1)).startswith("1 call failed or had a broken picture and is outside every n")
    assert sentences.failed(replace(USES, n_failed=6)).startswith("6 calls failed or had a broken picture and are outside")


def test_an_answer_holds_only_sentences_with_numbers() -> None:
    assert sentences.answer(USES).details == (sentences.cells(USES), sentences.cost(USES))
