"""Which items make no sense without their options."""

import pytest

from eyetest.conditions.options import needs_options
from eyetest.types import Sample

POINTS = (
    "Which of these is it?",
    "Which of the following is the capital of France?",
    "What is the following animal classified as: mammal or bird?",
    "Which one of these animals is a mammal?",
    "Who among these directed the film?",
    "Which country among those is the largest?",
    "Which of the above is true?",
    "Which one is bigger?",
    "Which option is right?",
    "Which statement is supported by the chart?",
    "Which answer fits best?",
    "Choose the correct answer.",
    "Select the best description of the picture.",
    "Pick the odd one out.",
    "Look at the picture and choose one of the answers below.",
    "Is it a mammal, given the options below?",
    "From the given choices, where was it taken?",
    "What is shown? See the alternatives listed below.",
    "Complete the sentence with one of the choices provided.",
    "WHICH OF THE FOLLOWING IS IT?",
    "The painting shows\nwhich of\nthese people?",
    "What is it, of the available options?",
    "What of these is edible?",
    "Who from the options is shown?",
)
STANDS_ALONE = (
    "Which city is this?",
    "What is the colour of these flowers?",
    "Who is the author of this book?",
    "What happened in the following year?",
    "Which team won the following season?",
    "What does the city look like from above?",
    "Which river runs between these two countries?",
    "What is the name of these animals?",
    "How many of these birds can fly?",
    "Where was this photograph taken?",
    "Did the coach choose him for the team?",
    "What choice did the king face?",
    "When was it built?",
    "What is written below the statue?",
    "Which animal is this?",
    "Who is standing above the crowd?",
    "",
)


@pytest.mark.parametrize("question", POINTS)
def test_a_question_that_points_at_its_options(question):
    assert needs_options(Sample("q", question, ("Paris",), choices=("Rome", "Paris")))


@pytest.mark.parametrize("question", STANDS_ALONE)
def test_a_question_that_stands_alone(question):
    assert not needs_options(Sample("q", question, ("Paris",), choices=("Rome", "Paris")))


@pytest.mark.parametrize(
    "choice",
    [
        "None of the above",
        "All of the above.",
        "all of these",
        "Both A and B",
        "neither A nor C",
        "None of these options",
        "Both of the above",
        "A and B",
        "(A) and (C) only",
        "Either of the others",
        "Two of the above",
        "None",
        "Both",
    ],
)
def test_an_option_that_refers_to_the_others(choice):
    assert needs_options(Sample("q", "Which city is this?", ("Rome",), choices=("Rome", choice)))


@pytest.mark.parametrize(
    "choice",
    [
        "Bosnia and Herzegovina",
        "Both of his parents",
        "None of his paintings",
        "All of the students",
        "A and E departments",
        "Plan A and plan B",
        "Nonesuch",
        "Vitamins A and D",
    ],
)
def test_an_option_that_only_sounds_like_it(choice):
    assert not needs_options(Sample("q", "Which city is this?", ("Rome",), choices=("Rome", choice)))
