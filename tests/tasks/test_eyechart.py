"""The embedded suites as tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from eyetest.errors import UsageError
from eyetest.readers.load_report import LoadReport
from eyetest.tasks import Task
from eyetest.tasks.eyechart import eyechart_flags, eyechart_shapes, eyechart_words

TASKS = (eyechart_shapes, eyechart_words, eyechart_flags)


@pytest.mark.parametrize(("task", "items", "train"), [*zip(TASKS, (750, 240, 640), (188, 96, None), strict=True)])
def test_a_task_loads_its_splits_twice_alike(task: Task, items: int, train: int | None) -> None:
    first, second = (list(task.load(None, task.splits[0], LoadReport())) for _ in range(2))
    assert first == second
    assert len(first) == items
    assert {sample.kind for sample in first} <= set(task.scorers)
    if train is None:
        assert task.train_split is None
    else:
        assert len(list(task.load(None, task.train_split or "", LoadReport()))) == train


@pytest.mark.parametrize("task", TASKS)
def test_the_right_text_scores_one_and_a_wrong_option_zero(task: Task) -> None:
    for sample in task.load(None, "test", LoadReport()):
        score = task.scorers[sample.kind]
        assert all(score(sample, alias).value == 1 for alias in sample.target), sample.id
        if sample.choices:
            wrong = next(choice for choice in sample.choices if choice not in sample.target)
            assert (score(sample, wrong).status, score(sample, wrong).value) == ("scored", 0.0)


def test_pictures_may_be_shown_and_their_makers_are_named() -> None:
    assert all(task.card.redistributable for task in TASKS)
    assert "flag-icons 7.5.0 (MIT)" in eyechart_flags.card.licence
    assert "Aileron (CC0-1.0)" in eyechart_words.card.licence


def test_a_folder_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Task eyechart_words is part .* no folder\. Leave out the directory data"):
        eyechart_words.load(Path("data"), "test", LoadReport())
