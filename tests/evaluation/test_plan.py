from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise, product
from pathlib import Path
from random import Random

import pytest

from evaluation.made import Asked, go, item, items, laid_out
from eyetest import registry
from eyetest.errors import DataError, UsageError
from eyetest.evaluation import plan as planning
from eyetest.evaluation.plan import Dataset, Selection, count_requests, survey
from eyetest.readers.load_report import LoadReport
from eyetest.tasks import Card, Task
from eyetest.tasks.from_samples import task_from_samples
from eyetest.tasks.standard import METRICS, scorers
from eyetest.types import Image, Sample

GRID = {
    "conditions": ["image", "no_image", "shuffled"],
    "prompts": ["default", "short"],
    "prompt": {"short": {"templates": {"choice": "{{ question }}"}}},
    "repeats": 2,
    "generation": {"temperature": 1.0},
}


def asked(samples, **values):
    """(sample, condition, prompt, repeat, what is said) of every request, in order."""
    plan = laid_out(samples, **values)[1]
    works = plan.work(plan.surveys[0], Counter())
    return [
        (o.sample.id, o.condition, o.prompt, o.repeat, work.request.messages, work.request.generation.seed)
        for work in works
        for o in [work.origin]
    ]


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 128, 129, 200])
def test_everything_is_asked_exactly_once(n):
    found = Counter(key[:4] for key in asked(items(n), **GRID))
    wanted = product((sample.id for sample in items(n)), ["image", "no_image", "shuffled"], ["default", "short"], [0, 1])
    assert found == Counter(wanted)


@pytest.mark.parametrize("window", [1, 2, 7, 64, 1000])
def test_windows_and_grouping_change_nothing_but_the_order(window, monkeypatch):
    shared = [item(number, images=(Image(data=b"%d" % (number % 5)),)) for number in range(70)]
    wanted = sorted(map(repr, asked(shared, **GRID)))
    monkeypatch.setattr(planning, "WINDOW", window)
    assert sorted(map(repr, asked(shared, **GRID))) == wanted


def test_samples_of_one_picture_follow_each_other_within_a_window():
    shared = [item(number, images=(Image(data=b"%d" % (number % 5)),)) for number in range(planning.WINDOW)]
    pictures = [messages[-1].content[0] for _, _, _, _, messages, _ in asked(shared)]
    changes = sum(one != other for one, other in pairwise(pictures))
    assert changes == 4


def selected(samples, **values):
    return {key[0] for key in asked(samples, **values)}


def test_a_limit_is_part_of_a_larger_one_and_independent_of_file_order():
    samples = items(100)
    mixed = Random(1).sample(samples, 100)
    counts = [selected(samples, limit=limit) for limit in (1, 10, 0.25, 0.5, 99)]
    assert [len(found) for found in counts] == [1, 10, 25, 50, 99]
    assert all(smaller < larger for smaller, larger in pairwise(counts))
    assert [selected(mixed, limit=limit) for limit in (1, 10, 0.25, 0.5, 99)] == counts
    assert selected(samples, limit=100) == selected(samples, limit=1000) == {sample.id for sample in samples}
    assert selected(samples, limit=10, seed=1) != counts[1]


def test_a_tiny_fraction_asks_one():
    assert len(selected(items(5), limit=0.001)) == 1


def test_ids_and_a_limit_among_them():
    samples, wanted = items(20), [f"q{number:04d}" for number in (3, 5, 7, 11)]
    assert selected(samples, ids=wanted) == set(wanted)
    assert len(selected(samples, ids=wanted * 3, limit=2)) == 2
    assert selected(samples, ids=wanted, limit=2) < set(wanted)


def test_a_missing_id_is_named():
    with pytest.raises(UsageError) as caught:
        laid_out(items(3), ids=["q0001", "nope", "zero"])
    assert str(caught.value) == "samples: no sample has the id 'nope' (2 of --ids are missing). Ids look like 'q0000'."


def task(load):
    return Task("made", Card("made"), load, scorers(), METRICS)


def test_an_empty_dataset_says_what_was_dropped():
    def load(_directory, _split, report):
        report.files.append("made.jsonl")
        for line in (1, 2, 3):
            report.read += 1
            report.drop("no answer" if line < 3 else "bad JSON", f"made.jsonl:{line}")
        yield from ()

    with pytest.raises(DataError) as caught:
        survey(Dataset(task(load)), Selection(), seed=0, pooled=False)
    assert str(caught.value) == (
        "made: no usable sample in made.jsonl. Rows read: 3; dropped: "
        "2 x no answer (first: made.jsonl:1); 1 x bad JSON (first: made.jsonl:3)."
    )


def test_a_dataset_without_rows_says_so():
    with pytest.raises(DataError, match=r"^samples: no usable sample in its files. The file holds no rows.$"):
        laid_out([])


def labels(*samples, **values):
    found = laid_out(samples, **values)[1].surveys[0]
    return found.labels, dict(found.classes)


AB = {"choices": ("a", "b"), "target": ("a",)}
BA = {"choices": ("b", "a"), "target": ("a",)}
ABA = {"choices": ("a", "b", "a"), "target": ("a",)}
ABC = {"choices": ("a", "b", "c"), "target": ("c",)}


def test_labels_are_shared_in_any_order_of_the_options():
    assert labels(item(0, **AB), item(1, **BA)) == (("a", "b"), {"a": 2, "b": 0})


@pytest.mark.parametrize("pair", [(AB, ABC), (ABC, AB), (AB, ABA), (ABA, AB), (ABA, ABA)])
def test_other_sets_and_options_given_twice_share_nothing(pair):
    assert labels(item(0, **pair[0]), item(1, **pair[1])) == ((), {})


def test_short_answers_beside_do_not_matter():
    text = item(1, kind="text", choices=(), target=("x",))
    assert labels(item(0, **AB), text)[0] == ("a", "b")
    assert labels(text)[0] == ()


def test_labels_are_those_of_the_selected_samples():
    assert labels(item(0, **AB), item(1, **ABC), ids=["q0000"]) == (("a", "b"), {"a": 1, "b": 0})


def test_too_many_options_are_no_label_space(monkeypatch):
    monkeypatch.setattr(planning, "MAX_LABELS", 2)
    assert labels(item(0, **AB))[0] == ("a", "b")
    assert labels(item(0, **ABC))[0] == ()


def test_work_pulls_a_window_ahead_at_most():
    pulled = []

    def load(_directory, _split, report: LoadReport):
        for sample in items(300):
            pulled.append(sample.id)
            yield sample

    plan = laid_out(task(load), conditions=["image", "no_image"])[1]
    pulled.clear()
    works = plan.work(plan.surveys[0], Counter())
    for count in (1, 2 * planning.WINDOW, 1):
        for _ in islice(works, count):
            pass
    assert planning.WINDOW < len(pulled) <= 2 * planning.WINDOW


@pytest.fixture
def doubled(monkeypatch):
    names = registry.names
    extra = {"doubled": "evaluation.made:doubled"}
    monkeypatch.setattr(registry, "names", lambda group: {**names(group), **(extra if group == "conditions" else {})})


@pytest.mark.usefixtures("doubled")
def test_inapplicable_samples_are_counted_and_the_total_comes_true(tmp_path: Path):
    plain = items(70, images=())
    single = [item(number, choices=("cat",), target=("cat",)) for number in range(70, 75)]
    totals = []
    out = go(
        tmp_path,
        plain + single + items(80)[75:],
        Asked(),
        Asked(name="second"),
        conditions=["image", "told_blind", "shuffled", "doubled", "swapped"],
        repeats=2,
        generation={"temperature": 0.5},
        watch=lambda progress: totals.append((progress.done, progress.total)),
    )
    progress = out.progress
    assert progress.done == progress.total == 2 * 2 * (80 + 10 + 75 + 20 + 10)
    assert all(done <= total for done, total in totals)
    assert out.results.counts["inapplicable"] == [
        {"task": "samples", "condition": "doubled", "samples": 70},
        {"task": "samples", "condition": "shuffled", "samples": 5},
        {"task": "samples", "condition": "swapped", "samples": 70},
        {"task": "samples", "condition": "told_blind", "samples": 70},
    ]


def test_counted_requests_are_those_that_are_asked(tmp_path: Path):
    samples = [*items(30, question="Is it hateful?"), item(30, images=(Image(path=str(tmp_path / "gone.png")),))]
    plan = laid_out(samples, conditions=["image", "no_image", "told_blind"])[1]
    counted, distinct, load = count_requests(plan, plan.surveys[0])
    model = Asked()
    go(tmp_path / "run", samples, model, conditions=["image", "no_image", "told_blind"])
    assert {name: (one.answers, one.distinct, one.bad_images, one.inapplicable) for name, one in counted.items()} == {
        "image": (31, 30, 1, 0),
        "no_image": (31, 2, 0, 0),
        "told_blind": (31, 2, 0, 0),
    }
    assert distinct == load.requests == len(model.seen) == 34
    assert load.pictures == 30
    parts = [part for request in model.seen for message in request.messages for part in message.content]
    assert load.characters == sum(len(part) for part in parts if isinstance(part, str))
    assert load.longest == 34 * 256


def test_a_condition_given_twice_is_asked_once():
    assert len(asked(items(3), conditions=["image", "no_image", "image+no_image", " no_image"])) == 6


def test_an_unknown_prompt_is_named():
    with pytest.raises(UsageError, match=r"^Unknown prompt 'defualt' in task 'samples'. Did you mean 'default'"):
        laid_out(items(1), prompts=["defualt"])


def test_a_wrong_template_is_found_for_every_kind_before_anything_is_asked():
    text = Sample("t", "Q?", ("a",), kind="text")
    prompt = {"mine": {"templates": {"text": "{{ nothing }}"}}}
    assert laid_out([item(0)], prompts=["mine"], prompt=prompt)
    with pytest.raises(UsageError, match=r"^Prompt 'mine', template 'text', sample 't': 'nothing' is undefined"):
        laid_out([item(0), text], prompts=["mine"], prompt=prompt)


def test_a_task_from_samples_streams_again():
    made = task_from_samples(items(3))
    assert len(list(Dataset(made).samples())) == len(list(Dataset(made).samples())) == 3


# ---------------------------------------------------------------------------------------------------------- the rehearsal


def test_a_prompt_named_twice_is_asked_once():
    once, twice = asked(items(4)), asked(items(4), prompts=["default", "default"])
    assert twice == once
    assert len(twice) == 4


def own(kind="choice", template="{{ metadata.hint }} {{ question }}"):
    return {"mine": {"templates": {kind: template}}}


def test_a_template_that_fails_far_down_the_file_is_found_before_the_first_call(tmp_path):
    samples = [item(n, metadata={} if n == 150 else {"hint": "?"}) for n in range(200)]
    model = Asked()
    with pytest.raises(UsageError, match=r"^Prompt 'mine', template 'choice', sample 'q0150': .*has no attribute 'hint'"):
        go(tmp_path, samples, model, prompt=own())
    assert model.seen == []


def test_a_template_that_fails_under_one_condition_only_is_found(tmp_path):
    template = "{% if pictures == 0 %}{{ metadata.hint }}{% endif %}{{ question }}"
    samples = [item(n, metadata={} if n == 9 else {"hint": "?"}) for n in range(10)]
    assert laid_out(samples, prompt=own(template=template))[1].requests_at_most == 10
    with pytest.raises(UsageError, match="sample 'q0009'"):
        laid_out(samples, prompt=own(template=template), conditions=["image", "no_image"])


def test_a_built_in_template_is_rehearsed_on_one_sample_of_a_kind(monkeypatch):
    seen = []
    render = planning.render
    monkeypatch.setattr(planning, "render", lambda prompt, sample: (seen.append(sample.id), render(prompt, sample))[1])
    samples = [*items(5), Sample("t", "Who?", ("me",), kind="text", images=(Image(data=b"t"),))]
    laid_out(samples, conditions=["image", "no_image"])
    assert seen == ["q0000", "q0000", "t", "t"]


def test_an_empty_question_without_a_picture_is_refused():
    samples = [item(n, question="" if n == 3 else "What?") for n in range(5)]
    laid_out(samples, prompt=own(template="{{ question }}"))
    with pytest.raises(UsageError) as caught:
        laid_out(samples, prompt=own(template="{{ question }}"), conditions=["image", "no_image"])
    assert str(caught.value) == (
        "Task 'samples', sample 'q0003', condition 'no_image', prompt 'mine': nothing would be asked: the text is empty and no "
        "picture is shown. Mend the template or the question, or leave the condition out."
    )


def test_a_few_shot_picture_that_cannot_be_shown_is_refused():
    example = {"question": "What?", "answer": "cat", "image": "nowhere.png"}
    with pytest.raises(UsageError, match=r"^Prompt 'mine', example 1: The picture nowhere\.png does not exist\."):
        laid_out(items(3), prompt={"mine": {"examples": [example]}})
