import json
import os
import tracemalloc

import pytest

from eyetest.errors import DataError, UsageError
from eyetest.models import build
from eyetest.models.scripted import Key, read_script, scripted_from
from eyetest.types import Origin, Request, Response, Sample

EXAMPLE = '{"id": "q1", "completion": "Paris"}'


def asked(id, condition="image", *, task="cities", repeat=0, variant=0):
    return Request((), origin=Origin(task, Sample(id, "Which city?", ("Paris",)), condition, repeat=repeat, variant=variant))


def responses(model, *requests):
    return [response for _, response in model.generate(iter(requests))]


@pytest.fixture
def script(tmp_path):
    def write(*lines):
        path = tmp_path / "script.jsonl"
        texts = [
            line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode() for line in lines
        ]
        path.write_bytes(b"\n".join(texts) + b"\n")
        return str(path)

    return write


def refusal(path):
    with pytest.raises(DataError) as caught:
        read_script(path)
    return str(caught.value)


def test_a_completion_for_each_sample(script):
    path = script(
        {"id": "q1", "completion": "Paris"},
        "",
        {"id": 2, "completion": "猫 🐈\u2028 naïve"},
        "  ",
        {"id": "q3", "completion": ""},
    )
    model = build(f"scripted:{path}")
    assert responses(model, asked("2"), asked("q1"), asked("q3")) == [
        Response("猫 🐈\u2028 naïve"),
        Response("Paris"),
        Response(""),
    ]
    assert (model.name, model.simulated) == (f"scripted:{path}", True)
    model.close()
    model.close()


def test_a_sample_without_a_line_is_a_failed_call(script):
    path = script({"id": "q1", "condition": "image", "completion": "Paris"})
    found, missing = responses(build(f"scripted:{path}"), asked("q1"), asked("q1", "no_image"))
    assert found.text == "Paris"
    assert missing == Response(status="error", error=f"no completion for id 'q1' under condition 'no_image' in {path}")


def test_the_specific_line_wins(script):
    model = build(
        "scripted:"
        + script(
            {"id": "q", "completion": "general"},
            {"id": "q", "repeat": 1, "completion": "repeat"},
            {"id": "q", "task": "towns", "completion": "task"},
            {"id": "q", "condition": "image", "completion": "condition"},
            {"id": "q", "condition": "image", "repeat": 1, "completion": "condition, repeat"},
            {"id": "q", "condition": "image", "task": "towns", "repeat": 1, "completion": "all"},
            {"id": "q", "condition": "blank", "task": None, "repeat": None, "completion": "null is left out"},
        )
    )
    requests = {
        "general": asked("q", "no_image"),
        "repeat": asked("q", "no_image", repeat=1),
        "task": asked("q", "no_image", task="towns", repeat=1),
        "condition": asked("q", task="towns"),
        "condition, repeat": asked("q", repeat=1),
        "all": asked("q", task="towns", repeat=1),
        "null is left out": asked("q", "blank", task="towns", repeat=5),
    }
    assert [response.text for response in responses(model, *requests.values())] == list(requests)


@pytest.mark.parametrize(
    ("first", "second", "key"),
    [
        ({"id": "q1"}, {"id": "q1", "condition": None}, "id 'q1'"),
        ({"id": 7}, {"id": "7"}, "id '7'"),
        (
            {"id": "q1", "condition": "image", "task": "t", "repeat": 2},
            {"id": "q1", "repeat": 2, "task": "t", "condition": "image"},
            "id 'q1', condition 'image', task 't', repeat 2",
        ),
    ],
)
def test_the_same_key_twice_names_both_lines(script, first, second, key):
    path = script({"id": "q0", "completion": "a"}, first | {"completion": "b"}, "", second | {"completion": "b"})
    assert refusal(path) == (
        f"{path}:4: the completion for {key} is already given in line 2. "
        f"Keep one of the two, or tell them apart by condition, task, repeat or variant."
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"completion": "a"}, f"has no 'id'. Expected {EXAMPLE}."),
        ({"id": "q1"}, f"has no 'completion'. Expected {EXAMPLE}."),
        ({"id": "q1", "completion": None}, f"has no 'completion'. Expected {EXAMPLE}."),
        ({"id": "q1", "completion": 7}, "completion is 7, not a text. Put it in quotes."),
        ({"id": True, "completion": "a"}, "id is True, not a text. Put it in quotes."),
        ({"id": "q1", "completion": "a", "condition": 3}, "condition is 3, not a text. Put it in quotes."),
        ({"id": "q1", "completion": "a", "task": ["t"]}, "task is ['t'], not a text. Put it in quotes."),
        (
            {"id": "q1", "completion": "a", "repeat": "1"},
            "repeat is '1', not a whole number from 0. Leave it out for every repeat.",
        ),
        (
            {"id": "q1", "completion": "a", "repeat": -1},
            "repeat is -1, not a whole number from 0. Leave it out for every repeat.",
        ),
        (
            {"id": "q1", "completion": "a", "repeat": True},
            "repeat is True, not a whole number from 0. Leave it out for every repeat.",
        ),
        (
            {"id": "q1", "completion": "a", "conditon": "image"},
            "unknown field 'conditon'. Did you mean 'condition'? "
            "Known: id, completion, condition, task, repeat, variant, status.",
        ),
        ("[1]", f"is a list, not an object. Expected {EXAMPLE}."),
        ('"Paris"', f"is a str, not an object. Expected {EXAMPLE}."),
    ],
)
def test_a_wrong_line_is_named(script, line, message):
    path = script({"id": "q0", "completion": "a"}, "", line)
    assert refusal(path) == f"{path}:3: {message}"


@pytest.mark.parametrize(
    "line", ['{"id": "q1", "completion": "a"', "Paris", b'{"id": "q1", "completion": "\xe9"}', b"\xff\xfe{\x00"]
)
def test_a_line_that_is_not_json_is_named(script, line):
    path = script({"id": "q0", "completion": "a"}, line)
    message = refusal(path)
    assert message.startswith(f"{path}:2: is not JSON in UTF-8 (")
    assert message.endswith(f"). Expected {EXAMPLE}.")


def test_a_byte_order_mark_and_crlf_are_no_matter(tmp_path):
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "q1", "completion": "a"}\r\n\r\n{"id": "q2", "completion": "b"}')
    assert read_script(str(path)) == {Key("q1"): "a", Key("q2"): "b"}


def test_a_file_without_completions(script):
    path = script("", " ")
    assert refusal(path) == f"{path}: holds no completion. Expected one object a line, such as {EXAMPLE}."


def test_a_file_that_cannot_be_read(tmp_path):
    missing = str(tmp_path / "missing.jsonl")
    assert (
        refusal(missing)
        == f"{missing}: cannot be read (No such file or directory). Expected one object a line, such as {EXAMPLE}."
    )
    assert (
        refusal(str(tmp_path)) == f"{tmp_path}: cannot be read (Is a directory). Expected one object a line, such as {EXAMPLE}."
    )


def test_a_file_is_needed_and_no_option_is_taken(script):
    with pytest.raises(UsageError) as no_file:
        build("scripted")
    assert str(no_file.value) == "scripted needs a file of completions. Write scripted:FILE.jsonl."
    with pytest.raises(UsageError) as no_option:
        build(f"scripted:{script({'id': 'q', 'completion': 'a'})}", {"speed": 2})
    assert str(no_option.value) == "scripted has no option 'speed'. Known: none."


def test_a_path_may_hold_commas_and_equals_signs(tmp_path):
    path = tmp_path / "a,b=c.jsonl"
    path.write_text('{"id": "q1", "completion": "a"}\n')
    assert [response.text for response in responses(build(f"scripted:{path}"), asked("q1"))] == ["a"]


def test_the_file_is_never_in_memory_as_a_whole(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_bytes((b" " * 9_999 + b"\n") * 1_000 + b'{"id": "q1", "completion": "a"}\n')
    tracemalloc.start()
    table = read_script(str(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table == {Key("q1"): "a"}
    assert peak < path.stat().st_size / 20


def test_no_request_is_pulled_ahead(script):
    pulled = []

    def endless():
        for number in range(10**9):
            pulled.append(number)
            yield asked("q1")

    stream = build(f"scripted:{script({'id': 'q1', 'completion': 'a'})}").generate(endless())
    assert pulled == []
    next(stream)
    next(stream)
    assert pulled == [0, 1]


def test_from_a_mapping():
    model = scripted_from({"q1": "general", ("q1", "no_image"): "blind"}, name="mine")
    general, blind, missing = responses(model, asked("q1"), asked("q1", "no_image"), asked("q2"))
    assert (general.text, blind.text) == ("general", "blind")
    assert missing == Response(status="error", error="no completion for id 'q2' under condition 'image' in the mapping")
    assert (model.name, model.simulated) == ("mine", True)


def test_from_a_list():
    model = scripted_from(["a", "b"])
    first, second, spent = responses(model, asked("q1"), asked("q1"), asked("q1"))
    assert (first.text, second.text) == ("a", "b")
    assert spent == Response(status="error", error="the list has no more completions: all 2 have been given")
    assert (model.name, model.simulated) == ("scripted", True)


def test_from_a_function_of_the_origin():
    def function(origin):
        return {"image": f"{origin.sample.target[0]}!", "blank": Response("no", status="refused")}[origin.condition]

    model = scripted_from(function)
    right, refused, failed = responses(model, asked("q1"), asked("q1", "blank"), asked("q1", "no_image"))
    assert right.text == "Paris!"
    assert refused == Response("no", status="refused")
    assert failed == Response(status="error", error="KeyError: 'no_image'")
    assert model.simulated


def test_a_single_text_is_a_mistake():
    with pytest.raises(UsageError) as caught:
        scripted_from("script.jsonl")
    assert str(caught.value) == (
        "scripted_from was given the text 'script.jsonl'. Pass [text] for one completion, scripted(FILE) for a file."
    )


def test_the_contents_of_a_script_are_part_of_its_identity(script):
    one, two = {"id": "q1", "completion": "Paris"}, {"id": "q2", "completion": "Rome"}
    first = build(f"scripted:{script(one, two)}").identity
    assert build(f"scripted:{script(two, '', one)}").identity == first
    assert build(f"scripted:{script(one)}").identity != first
    assert build(f"scripted:{script(one, two | {'condition': 'image'})}").identity != first
    assert scripted_from({"q1": "Paris"}).identity != scripted_from({"q1": "Rome"}).identity
    assert scripted_from(["Paris"]).identity != scripted_from(["Rome"]).identity
    assert scripted_from(lambda origin: "Paris").identity != scripted_from(lambda origin: "Rome").identity


def test_a_script_with_lone_surrogates_has_an_identity():
    assert scripted_from({"q1": "\ud800"}).identity != scripted_from({"q1": "\ud801"}).identity


def test_a_script_whose_name_no_system_can_hold():
    assert refusal("a\0b") == f"a\0b: cannot be read (embedded null byte). Expected one object a line, such as {EXAMPLE}."


def test_variants_are_told_apart_and_weigh_least(script):
    model = build(
        "scripted:"
        + script(
            {"id": "q", "completion": "any"},
            {"id": "q", "variant": 1, "completion": "second"},
            {"id": "q", "repeat": 2, "completion": "third repeat"},
        )
    )
    found = responses(model, asked("q"), asked("q", variant=1), asked("q", variant=1, repeat=2))
    assert [one.text for one in found] == ["any", "second", "third repeat"]


def test_a_status_is_what_became_of_the_call(script):
    statuses = ("ok", "truncated", "refused", "blocked", "error", "bad_image")
    model = build("scripted:" + script(*({"id": one, "completion": "text", "status": one} for one in statuses)))
    found = responses(model, *map(asked, statuses))
    assert [(one.status, one.text) for one in found] == [(one, "text") for one in statuses]
    assert [bool(one.error) for one in found] == [False, False, False, True, True, True]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": "refusd"}, "unknown status 'refusd'. Did you mean 'refused'? Known: ok, truncated,"),
        ({"status": 3}, "status is 3, not a text. Put it in quotes."),
        ({"variant": -1}, "variant is -1, not a whole number from 0. Leave it out for every variant."),
    ],
)
def test_a_wrong_status_or_variant_is_named(script, fields, message):
    assert f":1: {message}" in refusal(script({"id": "q", "completion": "a", **fields}))


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert refusal(str(tmp_path / "pipe.jsonl")) == (
        f"{tmp_path}/pipe.jsonl: is a pipe or a device, and completions are read more than once. Write them to a file."
    )


@pytest.mark.parametrize("field", ["condition", "task"])
def test_an_empty_name_answers_nothing_and_is_refused(script, field):
    path = script({"id": "q1", "completion": "Paris", field: ""})
    assert refusal(path) == f"{path}:1: {field} is empty. Leave it out for every {field}."


def test_a_long_wrong_value_is_cut(script):
    path = script({"id": "q1", "completion": list(range(5000))})
    said = refusal(path)
    assert said.endswith("..., not a text. Put it in quotes.")
    assert len(said) < len(path) + 200
