"""The embedded model: what it answers does not depend on its batch, and it sees and knows what its card says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from statistics import mean

import pytest
import torch

from eyetest import evaluate
from eyetest.evaluation.results import Results
from eyetest.eyechart import MODEL, Suite, samples, truth
from eyetest.models.huggingface import hf
from eyetest.prompts import Prompt, render
from eyetest.readers.load_report import LoadReport
from eyetest.types import Generation, Request, Response, Sample

torch.set_num_threads(1)


@cache
def load(suite: Suite) -> tuple[Sample, ...]:
    return tuple(samples(suite, "test", LoadReport()))


def answers(requests: Sequence[Request], batch_size: int) -> list[Response]:
    model = hf(str(MODEL), {"batch_size": str(batch_size)}, 0)
    try:
        given = {id(request): response for request, response in model.generate(iter(requests))}
    finally:
        model.close()
    return [replace(given[id(request)], latency=0.0) for request in requests]


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """Twenty of every suite, every third without its picture."""
    asked = [sample for suite in ("shapes", "words", "flags") for sample in load(suite)[:200:10]]
    shown = [replace(sample, images=()) if place % 3 == 0 else sample for place, sample in enumerate(asked)]
    return [Request(render(Prompt(), sample), Generation(max_tokens=8)) for sample in shown]


def test_alone_in_eights_and_mixed_it_answers_the_same(requests: list[Request]) -> None:
    alone = answers(requests, 1)
    assert {response.status for response in alone} == {"ok"}
    assert answers(requests, 8) == alone
    assert answers(requests[::-1], 7)[::-1] == alone


@pytest.fixture(scope="module")
def results() -> Results:
    """A few of every suite under the conditions that tell seeing from knowing."""
    facts = [sample for sample in load("flags") if sample.kind == "text" and taught(sample) == (True, True, True)][::4]
    picked = {"shapes": load("shapes")[::6], "words": load("words")[::4], "flags": facts}
    asked = [replace(sample, metadata={"suite": suite}) for suite, chosen in picked.items() for sample in chosen]
    return evaluate(
        asked,
        {"embedded": f"hf:{MODEL}"},
        conditions=("image", "no_image", "shuffled", "knowledge"),
        by=("metadata.suite",),
        max_tokens=8,
    )


def taught(sample: Sample) -> tuple[bool, bool, bool] | None:
    known = truth().get((sample.entity or "", sample.metadata["asks"]))
    return (known.seen, known.told, known.asked) if known else None


def accuracy(results: Results, suite: str, condition: str) -> float:
    found = [
        row.estimate.value
        for row in results.rows
        if row.slice == suite
        and row.condition == condition
        and row.estimate.metric.startswith("accuracy")
        and row.policy == "as_wrong"
    ]
    assert found
    return mean(found)


@pytest.mark.parametrize(
    ("suite", "condition", "low", "high"),
    [
        ("shapes", "image", 0.8, 1.0),
        ("shapes", "shuffled", 0.8, 1.0),
        ("shapes", "no_image", 0.1, 0.45),
        ("words", "image", 0.8, 1.0),
        ("words", "no_image", 0.0, 0.45),
        ("flags", "image", 0.8, 1.0),
        ("flags", "knowledge", 0.8, 1.0),
        ("flags", "no_image", 0.0, 0.35),
    ],
)
def test_it_sees_and_knows_and_guesses_without(results: Results, suite: str, condition: str, low: float, high: float) -> None:
    assert low <= accuracy(results, suite, condition) <= high


def test_the_card_shows_what_was_measured() -> None:
    card = (MODEL / "README.md").read_text(encoding="utf-8")
    assert "{{" not in card
    assert "| seen | told | asked | kind | n | image | no_image |" in card
    assert all(f"| {country} |" in card for country, _ in truth())
