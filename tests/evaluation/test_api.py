from __future__ import annotations

import json

import pytest

import eyetest
from evaluation.made import Asked, item, items, write_items
from eyetest import evaluate
from eyetest.errors import DataError, ModelError, UsageError
from eyetest.tasks import Task
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Image, Response


def accuracy(results, model, condition="image", task="samples"):
    return results.headline(task, model, condition).value


def test_samples_and_a_function():
    def always_a(messages):
        return "A"

    results = evaluate(items(30), always_a, conditions=("image", "no_image"))
    assert accuracy(results, "always_a") == accuracy(results, "always_a", "no_image") == pytest.approx(1 / 3)
    assert {row["metric"] for row in results.table()} >= {"accuracy", "macro_f1", "success_rate"}
    assert all(isinstance(row["value"], float) for row in results.table())


def test_a_file_with_other_columns(tmp_path):
    rows = [{"q": f"What {n}?", "label": "yes", "choices": ["yes", "no"]} for n in range(12)]
    data = write_items(tmp_path / "mine.jsonl", rows)
    for path in (data, str(data)):
        results = evaluate(path, "constant:A", columns={"question": "q", "answer": "label"})
        assert accuracy(results, "constant:A", task="mine") == 1.0


def test_pictures_are_looked_for_in_the_given_folder(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"x")
    data = write_items(tmp_path / "mine.jsonl", [{"question": "?", "answer": "A", "image": "a.png"}])
    assert accuracy(evaluate(data, "constant:A", images=tmp_path / "pictures"), "constant:A", task="mine") == 1.0
    with pytest.raises(DataError, match=r"none of the 1 pictures was found; looked for .*/a\.png; pass --images FOLDER"):
        evaluate(data, "constant:A")


def test_a_mapping_names_its_models():
    results = evaluate(items(12), {"left": "constant:A", "right": lambda messages: Response("B"), "chance": "chance"})
    assert accuracy(results, "left") == accuracy(results, "right") == pytest.approx(1 / 3)
    assert list(dict.fromkeys(row.model for row in results.rows)) == ["left", "right", "chance"]


def test_a_sequence_of_models_and_an_object():
    model = Asked(lambda _: "C")
    results = evaluate(items(12), ["oracle", model])
    assert accuracy(results, "oracle") == 1.0
    assert accuracy(results, "asked") == pytest.approx(1 / 3)
    assert model.closed


def test_a_task_is_read_from_its_own_first_split():
    made = task_from_samples(items(5))
    asked = []

    def load(directory, split, report):
        asked.append(split)
        return made.load(directory, split, report)

    task = Task("split", made.card, load, made.scorers, made.metrics, splits=("validation", "test"))
    assert accuracy(evaluate(task, "oracle"), "oracle", task="split") == 1.0
    assert set(asked) == {"validation"}


def test_samples_may_come_from_a_generator():
    assert accuracy(evaluate((item(n) for n in range(5)), "oracle"), "oracle") == 1.0


def test_a_kept_directory_is_gone_on_with(tmp_path):
    first, second = Asked(), Asked()
    evaluate(items(12), first, out=tmp_path / "run", limit=0.5)
    evaluate(items(12), second, out=str(tmp_path / "run"), limit=0.5, by=())
    assert (len(first.seen), len(second.seen)) == (6, 0)
    assert json.loads((tmp_path / "run" / "results.json").read_bytes())["counts"]["resumed"] == 6


def test_a_cache_is_shared_and_by_default_there_is_none(tmp_path):
    models = [Asked() for _ in range(3)]
    evaluate(items(5), models[0], cache=tmp_path / "c.sqlite")
    evaluate(items(5), models[1], cache=tmp_path / "c.sqlite")
    evaluate(items(5), models[2])
    assert [len(model.seen) for model in models] == [5, 0, 5]


def test_settings_reach_the_request():
    model = Asked()
    evaluate(items(2), model, repeats=2, temperature=0.5, max_tokens=7, seed=11)
    made = {(r.generation.temperature, r.generation.max_tokens, r.generation.seed) for r in model.seen}
    assert made == {(0.5, 7, 11), (0.5, 7, 12)}


def test_progress_is_watched():
    seen = []
    evaluate(items(4), "chance", watch=lambda progress: seen.append(progress.done))
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        ((items(2), 7), {}, r"evaluate\(\): 7 is not a model\. Give a spec, an object with generate\(\), or a function\.$"),
        ((items(2), []), {}, r"evaluate\(\): models need different names, got \[\]\."),
        ((items(2), ["chance", "chance"]), {}, r"got \['chance', 'chance'\]\. Pass a mapping name -> model\.$"),
        ((items(2), "chanse"), {}, r"^Unknown model 'chanse'\. Did you mean 'chance'\?"),
        ((items(2), "chance"), {"conditions": ("imgae",)}, r"^Unknown condition 'imgae'\. Did you mean 'image'\?"),
        ((items(2), "chance"), {"conditions": ()}, r"^No condition\. Name at least one"),
        (
            (items(2), "chance"),
            {"images": "x"},
            r"images, columns, answer_is and match describe a data file, but",
        ),
        ((items(2), "chance"), {"repeats": 0}, r"^evaluate\(\): repeats: .*greater than or equal to 1.*found 0"),
        ((items(2), "chance"), {"limit": 1.5}, r"^evaluate\(\): limit: .*a whole number of samples"),
        ((items(2), "chance"), {"temperature": -1}, r"^evaluate\(\): generation.temperature: .*greater than or equal to 0"),
        ((items(2), "chance"), {"by": ("topic",)}, r"^--by topic: no sample has a metadata field 'topic'\. Fields: none\."),
        (("gone.jsonl", "chance"), {}, r"^gone.jsonl does not exist\."),
    ],
)
def test_mistakes(arguments, settings, said):
    with pytest.raises(UsageError, match=said):
        evaluate(*arguments, **settings)


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([item(0), item(0)], "Task 'samples': two samples have the id 'q0000'. Ids must be unique."),
        ([item(0, target=("cow",))], "the target 'cow' is not among its choices ['cat', 'dog', 'bird']."),
        ([item(0, target=())], "Task 'samples', sample 1 ('q0000'): has no target."),
        (
            [item(0, kind="sound")],
            "kind 'sound' cannot be scored by a task made from samples. Use: choice, text, transcription, labels, ",
        ),
        ([item(0, kind="labels", choices=())], "needs choices, the labels that a set is made of"),
        ([item(0, kind="labels", choices=("a, b", "c"))], "none of which holds a comma and a blank."),
        ([item(0, kind="transcription", target=("a", "b"))], "has 2 targets; a transcription has one."),
        ([item(0, kind="transcription", target=(" ",))], "its target is empty; an error rate needs words to be wrong about."),
        ([item(0, picture_text=5)], "picture_text is 5; expected a text or None."),
        ([], "samples: no usable sample in its files. The file holds no rows."),
    ],
)
def test_samples_that_cannot_be_scored(samples, said):
    with pytest.raises(DataError) as caught:
        evaluate(samples, "chance")
    assert said in str(caught.value)


def test_the_package_holds_what_it_promises():
    assert all(getattr(eyetest, name) is not None for name in eyetest.__all__)
    with pytest.raises(AttributeError, match="module 'eyetest' has no attribute 'evalute'"):
        eyetest.evalute  # noqa: B018


def test_failures_are_warned_of_and_named(tmp_path):
    def broken(_messages):
        raise ValueError("no such luck")

    with pytest.warns(UserWarning, match=r"12 of 12 answers failed .* The first: sample 'q0000': ValueError: no such luck"):
        results = evaluate(items(12), {"broken": broken})
    assert results.counts["first_failure"] == "sample 'q0000': ValueError: no such luck"


def test_answers_as_letters_and_a_string_of_conditions(tmp_path):
    rows = [{"question": "Which?", "choices": ["cat", "dog"], "answer": "B"} for _ in range(12)]
    file = write_items(tmp_path / "items.jsonl", rows)
    results = evaluate(file, {"dog": lambda _messages: "dog"}, conditions="image, shuffled", answer_is="letter")
    assert [results.headline("items", "dog", condition).value for condition in ("image", "shuffled")] == [1.0, 1.0]


def test_results_show_their_headlines_and_name_their_cells():
    results = evaluate(items(12), {"cat": lambda _messages: "cat"})
    assert repr(results).splitlines() == [
        "Results, 95 % intervals:",
        "samples | cat | image | accuracy 0.333 [0.138, 0.609] n=12",
    ]
    with pytest.raises(KeyError, match=r"no cell .*; there are \('samples', 'cat', 'image', 'default'\)"):
        results.headline("samples", "cat", "imag")


# ------------------------------------------------------------------------------------------------------------ wrong arguments


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"data": None}, "evaluate(): data is None; expected a path, a Task or samples."),
        ({"data": 5}, "evaluate(): data is 5; expected a path, a Task or samples."),
        ({"data": "a\0b"}, "evaluate(): data is 'a\\x00b'; expected a path, which cannot hold a NUL character."),
        ({"conditions": None}, "evaluate(): conditions is None; expected a text, or a list of texts."),
        ({"conditions": [5]}, "evaluate(): conditions is [5]; expected a text, or a list of texts."),
        ({"by": 5}, "evaluate(): by is 5; expected a text, or a list of texts."),
        ({"temperature": "a"}, "evaluate(): generation.temperature: expected a number, found 'a'."),
        ({"out": 5}, "evaluate(): out is 5; expected a path."),
        ({"out": "a\0b"}, "evaluate(): out is 'a\\x00b'; expected a path, which cannot hold a NUL character."),
        ({"cache": 5}, "evaluate(): cache is 5; expected a path."),
        ({"watch": None}, "evaluate(): watch is None; expected a function of a Progress."),
        ({"answer_is": "word"}, "evaluate(): answer_is is 'word'; expected one of text, letter, index."),
        ({"match": []}, "evaluate(): match is []; expected one of tokens, contains."),
        ({"columns": ["q"]}, "evaluate(): columns is ['q']; expected a mapping from our column name to the file's."),
        ({"models": {5: "oracle"}}, "evaluate(): models is [5]; expected names as texts."),
        ({"data": "x.jsonl", "images": 5}, "evaluate(): images is 5; expected a path."),
        ({"seed": -1}, "evaluate(): seed: input should be greater than or equal to 0, found -1."),
    ],
)
def test_a_wrong_argument_is_named(values, said):
    arguments = {"data": items(2), "models": "oracle"} | values
    with pytest.raises(UsageError) as caught:
        evaluate(arguments.pop("data"), arguments.pop("models"), **arguments)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": 5}, "id is 5; expected a text."),
        ({"id": None}, "id is None; expected a text."),
        ({"id": []}, "id is []; expected a text."),
        ({"question": None}, "question is None; expected a text."),
        ({"choices": None}, "choices is None; expected a tuple of texts."),
        ({"choices": "yes"}, "choices is 'yes'; expected a tuple of texts."),
        ({"choices": (1, 2)}, "choices is (1, 2); expected a tuple of texts."),
        ({"target": "cat"}, "target is 'cat'; expected a tuple of texts."),
        ({"images": None}, "images is None; expected a tuple of Images, each with a path (as text) or data (bytes)."),
        ({"images": (Image(),)}, "images is (Image("),
        ({"images": (Image(path=5),)}, "images is (Image("),
        ({"cluster": 5}, "cluster is 5; expected a text or None."),
        ({"metadata": None}, "metadata is None; expected a mapping."),
        ({"shown": None}, "shown is None; expected a Shown."),
    ],
)
def test_a_wrong_field_of_a_sample_is_named(fields, said):
    with pytest.raises(DataError) as caught:
        evaluate([item(0), item(1, **fields)], "oracle")
    assert str(caught.value).startswith(f"Task 'samples', sample 2: {said}")


def test_what_is_no_sample_is_named():
    with pytest.raises(DataError) as caught:
        evaluate(["a"], "oracle")
    assert str(caught.value) == "Task 'samples', sample 1: is 'a'; expected an eyetest.types.Sample."


def test_lists_in_a_sample_will_do():
    listed = item(0, choices=["cat", "dog"], target=["cat"], images=[Image(data=b"x")])
    assert accuracy(evaluate([listed], "oracle"), "oracle") == 1.0


def test_an_object_that_is_half_a_model_is_refused():
    class Half:
        identity = 5

        def generate(self, requests):
            return iter(())

    with pytest.raises(ModelError) as caught:
        evaluate(items(2), Half())
    assert str(caught.value) == (
        "evaluate(): Half is not a model: it lacks name, identity, simulated, close(). A model has name and identity (texts), "
        "simulated (True or False), generate() and close(); see eyetest.types.Model."
    )


def test_a_model_that_cannot_be_renamed_is_refused():
    class Fixed(Asked):
        name = property(lambda self: "fixed", lambda self, name: None)

    class Stubborn(Asked):
        def __setattr__(self, key, value):
            if key == "name" and hasattr(self, "name"):
                raise AttributeError(key)
            super().__setattr__(key, value)

    assert accuracy(evaluate(items(3), [Fixed(lambda _: "A")]), "fixed") == pytest.approx(1 / 3)
    with pytest.raises(UsageError, match=r"^evaluate\(\): the model 'asked' cannot be given the name 'mine'\. Leave it out\.$"):
        evaluate(items(3), {"mine": Stubborn()})
