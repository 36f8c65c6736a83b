"""Knowledge questions by substitution: each rule, its order, and its doubts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from eyetest.tasks.entity_question import ATTRIBUTES, NOUNS, EntityQuestion, entity_question

FIXTURES = Path(__file__).parent.parent / "fixtures" / "infoseek"

CASES = [
    # in_image
    ("How wide is the vehicle in the image? answer in millimetre", "How wide is E? answer in millimetre", "in_image", ()),
    ("What is the width of this mountain range, in the image?", "What is the width of E?", "in_image", ()),
    ("Who built the old church shown in the picture?", "Who built E?", "in_image", ()),
    (
        "How old is this house in the photo and who built this house?",
        "How old is E and who built this house?",
        "in_image",
        "still",
    ),
    # this_class
    ("What country does this animal belong to?", "What country does E belong to?", "this_class", ()),
    ("What is this person's place of birth?", "What is E's place of birth?", "this_class", ()),
    ("What is this small red bird named after?", "What is E named after?", "this_class", ()),
    ("Who owns this railway station?", "Who owns E?", "this_class", ()),
    ("Where is this mountain range?", "Where is E?", "this_class", ()),
    ("What is the parent of this species of bird?", "What is the parent of E?", "this_class", ()),
    ("what was the date this aircraft enter into service?", "what was the date E enter into service?", "this_class", ()),
    ("In the image, who made this object?", "who made E?", "this_class", ()),
    ("Does this animal eat what this animal finds?", "Does E eat what E finds?", "this_class", ()),
    ("THIS LAKE IS HOW DEEP?", "E IS HOW DEEP?", "this_class", ()),
    ("What eats these fish?", "What eats E?", "this_class", ("plural",)),
    ("Who runs these libraries?", "Who runs E?", "this_class", ("plural",)),
    # this_word
    ("Where is this quark found?", "Where is E found?", "this_word", ("this_word",)),
    ("Who studies these quarks?", "Who studies E?", "this_word", ("plural", "this_word")),
    # the_class
    ("Who designed the bridge?", "Who designed E?", "the_class", ("the_class",)),
    # appended: no words to replace, or words that ask for something else
    ("What inflows lake?", "What inflows lake? (about E)", "appended", ("appended",)),
    ("Who is the legislation body of island?", "Who is the legislation body of island? (about E)", "appended", ("appended",)),
    ("What is the place of birth of the man?", "What is the place of birth of the man? (about E)", "appended", ("appended",)),
    ("What is the bridge of the nose?", "What is the bridge of the nose? (about E)", "appended", ("appended",)),
    ("What is shown in the image?", "What is? (about E)", "appended", ("appended",)),
    ("What is this?", "What is this? (about E)", "appended", ("appended", "still_points")),
    ("Who drew the picture?", "Who drew the picture? (about E)", "appended", ("appended", "still_points")),
]


@pytest.mark.parametrize(("question", "text", "rule", "doubts"), CASES)
def test_the_first_rule_that_fits(question: str, text: str, rule: str, doubts: tuple[str, ...] | str) -> None:
    wanted = ("still_points",) if doubts == "still" else tuple(doubts)
    assert entity_question(question, " E ") == EntityQuestion(text, rule, wanted)


@pytest.mark.parametrize("entity", [r"\1 \g<0>", "St. Bernard (dog)", "This animal in the image"])
def test_a_name_is_put_in_as_it_stands_and_read_for_nothing(entity: str) -> None:
    assert entity_question("Where does this dog live?", entity) == EntityQuestion(f"Where does {entity} live?", "this_class")


def test_real_questions_need_two_rules_and_raise_no_doubt() -> None:
    rules: Counter[str] = Counter()
    for split in ("val", "train"):
        for line in (FIXTURES / f"infoseek_{split}.jsonl").read_text(encoding="utf-8").splitlines():
            made = entity_question(json.loads(line)["question"], "Kale")
            assert made.doubts == ()
            assert "Kale" in made.text
            rules[made.rule] += 1
    assert rules == {"this_class": 80, "in_image": 1}


def test_what_is_asked_for_after_the_is_a_class_too() -> None:
    assert ATTRIBUTES <= NOUNS
