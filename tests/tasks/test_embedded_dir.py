"""`--dir embedded`: the small invented sets inside eyetest, under their own card."""

import pytest

from eyetest import registry
from eyetest.config import DataConfig
from eyetest.errors import UsageError
from eyetest.evaluation import setup
from eyetest.readers.load_report import LoadReport

SOCIAL = [name for name in registry.names("tasks") if registry.load("tasks", name).embedded]


@pytest.mark.parametrize("name", SOCIAL)
def test_every_social_task_reads_its_embedded_set_whole(name: str) -> None:
    (dataset,) = setup.datasets([DataConfig(task=name, dir="embedded")])
    report = LoadReport()
    samples = list(dataset.samples(report))
    assert len(samples) >= 60
    assert report.dropped == {}
    assert dataset.task.card.redistributable
    assert not dataset.task.card.offensive
    assert "CC0" in dataset.task.card.licence
    assert all(sample.images for sample in samples)


def test_a_run_on_it_can_be_scored_again_as_a_registered_task() -> None:
    (dataset,) = setup.datasets([DataConfig(task="hateful_memes", dir="embedded")])
    described = setup.scoring(dataset.scored)
    assert described["registered"]
    assert setup.rebuilt("hateful_memes", described, None).positive == "hateful"


def test_a_task_without_one_says_so() -> None:
    with pytest.raises(UsageError, match=r"Task 'eyechart_words' has no embedded set to read. Leave --dir embedded out."):
        setup.datasets([DataConfig(task="eyechart_words", dir="embedded")])
