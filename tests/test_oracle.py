"""The two ends of every scale, on every cell of the grid: what the oracle attains, and what a uniform guess attains."""

import math
from itertools import combinations

import pytest

from eyetest import evaluate, registry
from eyetest.conditions import parse
from eyetest.errors import UsageError
from eyetest.tasks.standard import METRICS
from eyetest.types import Image, Sample

CITIES = ("Rome", "Paris", "Oslo", "Bern")
"""Shared by all samples of one task; Bern is never right."""

OWN = (
    ("a cat", "a cat and a dog", "a dog"),
    ("Yes", "No"),
    ("3", "13", "31", "3.1", "-3"),
    ("None of the above", "Both A and B", "Neither"),
    ("the same", "The Same!", "not the same"),
    ("東京", "京都", "Ünïcödé 🦉"),
    ("A. first", "B. second", "C. third"),
    ("A", "B", "E"),
    ("I cannot say", "unknown", "I don't know", "none"),
    ("{{ question }}", "{% raw %}", "<b>", "*bold*", "`code`", "$x^2$"),
    ("only",),
)
"""Options of one sample each, made to be misread."""

SHORT = ("Paris", "3.14", "1,000", "No", "none", "東京", "U.S.", "the", "-3 °C", "12 May 1990", "I don't know", "x" * 300)


def legal(name):
    try:
        parse(name)
    except UsageError:
        return False
    return True


PARAMETERS = {"truncated": "1", "blurred": "0.02"}
"""Of conditions that need one; of a context of two words one is left."""

NAMES = tuple(
    f"{name}@{PARAMETERS[name]}" if name in PARAMETERS else name for name in registry.BUILT_IN["conditions"]
)  # fmt: skip
CONDITIONS = NAMES + tuple(
    name for name in ("+".join(pair) for pair in combinations(NAMES, 2)) if "image" not in name.split("+") and legal(name)
)


def viewed(n):
    """Every fourth sample has no picture, every third no knowledge question, every sixth no caption; all of them meet.

    Every seventh names the words in its picture.
    """
    return {
        "images": () if n % 4 == 3 else (Image(data=b"picture %d" % (n % 50)),),
        "knowledge_question": None if n % 3 == 2 else f"Where is monument {n}?",
        "context": "A postcard." if n % 5 == 0 else None,
        "caption": None if n % 6 == 5 else f"Monument {n} on a square.",
        "picture_text": f"Greetings from {n}" if n % 7 == 0 else None,
    }


def shared(n):
    return [
        Sample(f"shared-{k}", f"Which city is this ({k})?", (CITIES[(k % 7) % 3],), choices=CITIES, **viewed(k)) for k in range(n)
    ]


def own(n):
    lists = [options for options in OWN for _ in options]
    right = [text for options in OWN for text in options]
    return [
        Sample(f"own-{k}", f"Which one ({k})?", (right[k % len(right)],), choices=lists[k % len(lists)], **viewed(k))
        for k in range(n)
    ]


def short(n):
    return [
        Sample(f"short-{k}", f"What is it ({k})?", (SHORT[k % len(SHORT)], "alias"), kind="text", **viewed(k)) for k in range(n)
    ]


def rows(samples, model):
    found = evaluate(samples, model, conditions=CONDITIONS).rows
    assert {row.condition for row in found} == set(CONDITIONS)
    return found


def test_the_grid_is_whole():
    assert len(NAMES) == 16
    assert len(CONDITIONS) == 65


@pytest.mark.parametrize("samples", [shared(84), own(120) + short(60)], ids=["shared labels", "own options and texts"])
def test_the_oracle_attains_the_best_of_every_metric(samples):
    found = rows(samples, "oracle")
    short_of = {
        (row.condition, row.kind, row.estimate.metric, row.policy): (row.estimate.value, row.best)
        for row in found
        if not math.isclose(row.estimate.value, row.best, abs_tol=1e-12)
    }
    assert short_of == {}
    kinds = {row.kind for row in found}
    assert kinds == {"choice", "text"}
    labelled = any(row.estimate.metric == "macro_f1" for row in found)
    for kind in kinds:
        metrics = {(metric.name, metric.policy) for metric in METRICS[kind] if metric.additive or labelled}
        assert {(row.estimate.metric, row.policy) for row in found if row.kind == kind} == metrics


@pytest.mark.parametrize("samples", [shared(1200), own(1200)], ids=["shared labels", "own options"])
def test_chance_attains_the_closed_form_of_every_metric_that_has_one(samples):
    found = [row for row in rows(samples, "chance") if not math.isnan(row.chance)]
    assert {row.kind for row in found} == {"choice"}
    assert len({row.condition for row in found}) == len([name for name in CONDITIONS if "open_ended" not in name])
    far = {}
    for row in found:
        value, sigma = row.estimate.value, (row.estimate.high - row.estimate.low) / 2 / 1.96
        assert sigma > 0, row
        if abs(value - row.chance) > 5 * sigma:
            far[row.condition, row.estimate.metric, row.policy] = (value, row.chance, sigma)
    assert far == {}
