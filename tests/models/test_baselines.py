import io
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from eyetest import registry
from eyetest.errors import ModelError, UsageError
from eyetest.models import Prepares, baselines, build
from eyetest.types import Image, Message, Origin, Request, Response, Sample, Shown

CHOICE = Sample("q1", "Which city?", ("Paris",), choices=("Rome", "Paris", "Oslo"))
LABELS = Sample("v1", "Which topics?", ("Music", "Film"), kind="labels", choices=("Film", "Music", "Sport"))
TEXT = Sample("t1", "Which city?", ("Paris", "City of Light"), kind="text")


def asked(sample, *, task="cities", condition="image", variant=0, repeat=0):
    return Request((), origin=Origin(task, sample, condition, "default", variant, repeat))


def answers(model, *requests):
    return [response.text for _, response in model.generate(iter(requests))]


def majority_of(*targets, train=(), task="cities", **fields):
    model = build("majority")
    samples = [
        Sample(f"s{n}", "", target if isinstance(target, tuple) else (target,), **fields) for n, target in enumerate(targets)
    ]
    model.prepare(task, samples, [Sample(f"x{n}", "", (target,)) for n, target in enumerate(train)])
    return model


def mistake(spec, options=None):
    with pytest.raises(UsageError) as caught:
        build(spec, options)
    return str(caught.value)


SIMULATED = ("oracle", "chance", "majority")


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        (CHOICE, "Paris"),
        (LABELS, "Music, Film"),
        (replace(LABELS, target=()), "none"),
        (TEXT, "Paris"),
        (replace(TEXT, kind="transcription"), "Paris"),
        (replace(TEXT, kind="description"), "Paris"),
        (replace(CHOICE, shown=Shown("other", partner="q2", partner_target=("Oslo",))), "Paris"),
        (replace(CHOICE, shown=Shown("none", "nothing"), question=""), "Paris"),
    ],
)
def test_the_oracle_writes_the_target_under_every_condition(sample, text):
    assert answers(build("oracle"), asked(sample)) == [text]


def test_the_oracle_cannot_know_an_unlabelled_sample():
    [(_, response)] = build("oracle").generate(iter([asked(replace(CHOICE, target=()))]))
    assert response == Response(status="error", error="sample 'q1' of task 'cities' has no target to answer from")


def test_chance_is_uniform_over_the_choices():
    n, model = 6000, build("chance", seed=3)
    counts = Counter(answers(model, *(asked(replace(CHOICE, id=str(number))) for number in range(n))))
    sigma = (n * (1 / 3) * (2 / 3)) ** 0.5
    assert set(counts) == set(CHOICE.choices)
    assert all(abs(count - n / 3) < 5 * sigma for count in counts.values())


def test_chance_takes_each_label_with_probability_one_half():
    n, model = 4000, build("chance")
    counts = Counter(answers(model, *(asked(replace(LABELS, id=str(number))) for number in range(n))))
    subsets = {
        ", ".join(label for label, taken in zip(LABELS.choices, mask, strict=True) if taken) or "none" for mask in masks(3)
    }
    assert set(counts) == subsets
    assert all(abs(count - n / 8) < 5 * (n * 7 / 64) ** 0.5 for count in counts.values())


def masks(n):
    return product((False, True), repeat=n)


@pytest.mark.parametrize("sample", [TEXT, replace(CHOICE, choices=()), replace(LABELS, choices=())])
def test_chance_writes_unknown_where_there_is_nothing_to_choose_from(sample):
    assert answers(build("chance"), asked(sample)) == ["unknown"]


def test_chance_draws_anew_for_each_part_of_its_key():
    many = replace(CHOICE, choices=tuple(map(str, range(10_000))))
    requests = [
        asked(many),
        asked(replace(many, id="q2")),
        asked(many, task="towns"),
        asked(many, condition="no_image"),
        asked(many, variant=1),
        asked(many, repeat=1),
    ]
    drawn = answers(build("chance", seed=0), *requests) + answers(build("chance", seed=1), *requests)
    assert len(set(drawn)) == len(drawn)


def test_chance_is_keyed_as_documented():
    from random import Random

    draw = Random("7:chance:cities:no_image:2:1:q1").random()
    assert answers(build("chance", seed=7), asked(CHOICE, condition="no_image", variant=2, repeat=1)) == [
        CHOICE.choices[int(3 * draw)]
    ]


@settings(derandomize=True, max_examples=25)
@given(st.permutations(range(12)))
def test_order_changes_nothing(order):
    requests = [asked(replace(CHOICE, id=str(number))) for number in range(12)]
    straight = answers(build("chance"), *requests)
    assert answers(build("chance"), *(requests[number] for number in order)) == [straight[number] for number in order]


def test_another_process_answers_alike():
    script = (
        "from eyetest.models import build; from eyetest.types import *;"
        "c=('Rome','Paris','Oslo'); m=build('chance', seed=5); j=build('majority');"
        "j.prepare('t', [Sample(x, '', (x,)) for x in 'badc'], []);"
        "ask=lambda i, c: Request((), origin=Origin('t', Sample(str(i), '', ('Paris',), choices=c), 'image'));"
        "print([r.text for _, r in m.generate(ask(i, c) for i in range(40))]);"
        "print([r.text for _, r in j.generate(iter([ask(0, ())]))])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert printed.pop().endswith("['a']\n")


def test_majority_prefers_the_training_split():
    assert answers(majority_of("Oslo", "Oslo", train=("Rome",)), asked(CHOICE)) == ["Rome"]


def test_majority_without_training_split_counts_the_samples():
    assert answers(majority_of("Oslo", "Rome", "Oslo"), asked(CHOICE)) == ["Oslo"]


def test_majority_does_not_read_the_samples_when_there_is_a_training_split():
    def unread():
        raise AssertionError("read")
        yield

    model = build("majority")
    model.prepare("cities", unread(), [CHOICE])
    assert answers(model, asked(CHOICE)) == ["Paris"]


def test_a_training_split_without_targets_is_none():
    model = build("majority")
    model.prepare("cities", [CHOICE], [replace(CHOICE, target=())])
    assert answers(model, asked(CHOICE)) == ["Paris"]


@pytest.mark.parametrize(
    ("targets", "choices", "text"),
    [
        (("Rome", "Oslo"), ("Rome", "Oslo"), "Oslo"),
        (("Bonn", "Bonn", "Rome", "Oslo", "Rome"), ("Oslo", "Rome"), "Rome"),
        (("Bonn",), ("Rome", "Oslo"), "Oslo"),
        ((), ("Rome", "Oslo"), "Oslo"),
        (("Bonn", "Bonn", "Rome"), (), "Bonn"),
        ((), (), "unknown"),
    ],
    ids=["tie", "among the choices", "none among the choices", "nothing counted", "no choices", "nothing at all"],
)
def test_majority_answers_among_the_choices(targets, choices, text):
    assert answers(majority_of(*targets), asked(replace(CHOICE, choices=choices))) == [text]


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        ((("Film", "Music"), ("Film",), ("Sport",), ("Music", "Film")), "Film, Music"),
        ((("Film",), ("Music",), ("Sport",)), "Film"),
        ((), "Film"),
    ],
    ids=["at least half", "the most frequent", "nothing counted"],
)
def test_majority_of_labels(targets, text):
    assert answers(majority_of(*targets, kind="labels"), asked(LABELS)) == [text]


def test_majority_keeps_tasks_apart():
    model = majority_of("Rome", task="one")
    model.prepare("two", [CHOICE], [])
    assert answers(model, asked(CHOICE, task="one"), asked(CHOICE, task="two")) == ["Rome", "Paris"]
    assert isinstance(model, Prepares)


def test_majority_must_be_prepared():
    with pytest.raises(UsageError) as caught:
        answers(majority_of("Rome", task="one"), asked(CHOICE, task="two"))
    assert str(caught.value) == (
        "The model 'majority' has not counted the targets of task 'two'. Call prepare('two', samples, train) before its requests."
    )


def test_majority_counts_a_bounded_number_of_targets(monkeypatch):
    monkeypatch.setattr(baselines, "MAX_DISTINCT", 3)
    frequencies = baselines.Frequencies((Sample(str(n), "", (text,)) for n, text in enumerate("abcdddddac")), [])
    assert frequencies.counts == {"a": 2, "b": 1, "c": 2}
    assert frequencies.most_frequent == "a"


@pytest.mark.parametrize("name", [*SIMULATED, "constant:yes"])
def test_no_request_is_pulled_ahead(name):
    pulled = []

    def endless():
        for number in range(10**9):
            pulled.append(number)
            yield asked(replace(CHOICE, id=str(number)))

    model = build(name)
    if name == "majority":
        model.prepare("cities", [CHOICE], [])
    stream = model.generate(endless())
    assert pulled == []
    for count in (1, 2, 3):
        request, _ = next(stream)
        assert len(pulled) == count
        assert request.origin.sample.id == str(count - 1)
    model.close()
    model.close()


@pytest.mark.parametrize("name", SIMULATED)
def test_a_request_without_origin_is_an_error(name):
    with pytest.raises(UsageError) as caught:
        next(build(name).generate(iter([Request(())])))
    assert str(caught.value) == (
        f"The simulated model '{name}' answers from Request.origin, and a request has none. "
        "Set Request.origin, or ask a model that reads the messages."
    )


@pytest.mark.parametrize("name", SIMULATED)
def test_no_argument_is_taken(name):
    assert (build(name).name, build(name).simulated) == (name, True)
    assert mistake(f"{name}:x") == f"{name} takes no argument, but was given 'x'. Write '{name}'."
    assert mistake(f"{name}:speed=2") == mistake(name, {"speed": 2}) == f"{name} has no option 'speed'. Known: none."


def test_the_seed_is_part_of_what_chance_is():
    assert build("chance", seed=1).identity != build("chance", seed=2).identity


@pytest.mark.parametrize("text", ["yes", "Yes, it is", "x=1,y", "Да, 猫 🐈", " ", "a,colour=red"])
def test_constant_text(text):
    model = build(f"constant:{text}")
    requests = [Request(()), asked(CHOICE)]
    assert list(model.generate(iter(requests))) == [(request, Response(text)) for request in requests]
    assert (model.simulated, model.name, model.identity) == (False, f"constant:{text}", f"constant:{text},decode=false")


@pytest.mark.parametrize("spec", ["constant", "constant:", "constant:decode=true"])
def test_constant_needs_a_text(spec):
    assert mistake(spec) == "constant needs the text that it always answers. Write constant:TEXT, for example 'constant:yes'."


def test_constant_rejects_a_wrong_option():
    assert mistake("constant:yes,decode=maybe") == "constant: option decode='maybe' is not true or false."
    assert mistake("constant:yes", {"decod": True}) == "constant has no option 'decod'. Did you mean 'decode'? Known: decode."


def shown(*images):
    return Request((Message("system", ("look",)), Message("user", (*images, "What is it?"))))


def png():
    file = io.BytesIO()
    Pillow.new("P", (3, 2)).save(file, "PNG")
    return Image(data=file.getvalue())


def test_constant_decodes_every_picture_if_asked(monkeypatch):
    from eyetest import images

    decoded = []
    monkeypatch.setattr(images, "decode", decoded.append)
    first, second = png(), Image(path="other.png")
    assert answers(build("constant:yes,decode=true"), shown(first, second), shown()) == ["yes", "yes"]
    assert decoded == [first, second]
    assert answers(build("constant:yes"), shown(first)) == ["yes"]
    assert decoded == [first, second]


def test_a_picture_that_cannot_be_decoded_is_one_bad_image(tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(png().data[:40])
    requests = [shown(png()), shown(png(), Image(path=str(broken))), shown(png())]
    good, bad, after = [response for _, response in build("constant:yes,decode=true").generate(iter(requests))]
    assert good == after == Response("yes")
    assert (bad.status, bad.text) == ("bad_image", "")
    assert str(broken) in bad.error


def test_the_spec_overrules_the_run_file():
    assert build("constant:yes,decode=false", {"decode": True}).identity == "constant:yes,decode=false"
    assert (
        build("constant:yes", {"decode": True}).identity == repr(build("constant:yes,decode=true")) == "constant:yes,decode=true"
    )


def test_what_majority_counted_is_part_of_its_identity():
    def prepared(*targets):
        model = build("majority")
        model.prepare("t", [Sample(str(n), "?", (target,), kind="text") for n, target in enumerate(targets)], ())
        return model.identity

    assert prepared("a", "b", "a") == prepared("a", "a", "b") != prepared("a", "b", "b")


def test_a_plug_in_that_makes_no_model_is_named(monkeypatch):
    monkeypatch.setattr(registry, "load", lambda *_: lambda argument, options, seed: "abc")
    with pytest.raises(ModelError) as caught:
        build("theirs:x")
    assert str(caught.value) == (
        "Model 'theirs': str is not a model: it lacks name, identity, simulated, generate(), close(). A model has name and "
        "identity (texts), simulated (True or False), generate() and close(); see eyetest.types.Model."
    )
