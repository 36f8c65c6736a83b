"""Columns made for a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eyetest.metrics.columns import STATUSES, Columns
from eyetest.stats import Factors, groups

SCORED, UNPARSED, REFUSED, BLOCKED, ERROR, BAD_IMAGE, UNSCORED = range(len(STATUSES))


def columns(value: Any, **given: Any) -> Columns:
    """Columns whose answers are scored, independent and one a sample unless `given` says otherwise."""
    n = len(value)
    labels = tuple(given.pop("labels", ()))
    arrays: dict[str, Any] = {
        "sample": np.arange(n),
        "variant": np.zeros(n),
        "repeat": np.zeros(n),
        "status": np.zeros(n),
        "value": value,
        "target": np.full(n, -1),
        "answer": np.full(n, -1),
        "chance": np.full(n, np.nan),
    }
    arrays.update(given)
    arrays.setdefault("request", np.asarray(arrays["sample"]) + 1000 * np.asarray(arrays["variant"]))
    arrays.setdefault("cluster", arrays["sample"])
    types = Columns.__annotations__
    cast = {name: np.asarray(array, types[name].split("np.")[1].rstrip("]")) for name, array in arrays.items()}
    return Columns(**cast, labels=labels)


def labelled(truth: Sequence[Any], answers: Sequence[Any], labels: Sequence[Any], **given: Any) -> Columns:
    """Columns of a classification; an answer of None could not be read."""
    place = {label: i for i, label in enumerate(labels)}
    given.setdefault("chance", np.full(len(truth), 1 / len(labels)))
    given.setdefault("status", [UNPARSED if answer is None else SCORED for answer in answers])
    return columns(
        [float(t == a) for t, a in zip(truth, answers, strict=True)],
        target=[place[t] for t in truth],
        answer=[-1 if a is None else place[a] for a in answers],
        labels=labels,
        **given,
    )


def as_sets(made: Columns) -> Columns:
    """The same answers as sets of one label, unread ones empty: of them MultilabelMacroF1, which is resampled, is macro-F1."""
    target, answer = (np.where(code >= 0, 1 << np.maximum(code, 0), 0).astype(np.uint64) for code in (made.target, made.answer))
    return replace(made, target_set=target[:, None], answer_set=answer[:, None])


def one_way(group: Any) -> Factors:
    """One grouping of answers."""
    return Factors((groups(np.asarray(group)),))
