import errno
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import threading
from dataclasses import fields, replace
from hashlib import sha256

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyetest import evaluate
from eyetest.errors import BadImageError, StoreError
from eyetest.store import (
    Cache,
    Journal,
    answer_key,
    content_key,
    decode_prediction,
    decode_response,
    encode_prediction,
    encode_response,
    from_json,
    full,
    read_predictions,
    to_json,
    write_whole,
)
from eyetest.types import Generation, Image, Message, Origin, Prediction, Request, Response, Sample, Score, Shown, Usage

PICTURE = Image(data=b"picture")
SAMPLE = Sample("q1", "Which city?", ("Paris",), choices=("Rome", "Paris"), images=(PICTURE,))
REQUEST = Request(
    (Message("system", ("See.",)), Message("user", (PICTURE, "Which?", "city"))), Generation(0.0, 1.0, 16), ("A", "B")
)
ANSWER = Response("Paris")


def key_of(number):
    return sha256(b"%d" % number).digest()


def said(answer):
    return None if answer is None else answer.text


# ------------------------------------------------------------------------------------------------------ content keys


def with_content(*content):
    return replace(REQUEST, messages=(REQUEST.messages[0], Message("user", content)))


OTHER_REQUESTS = {
    "role": replace(REQUEST, messages=(Message("user", ("See.",)), REQUEST.messages[1])),
    "system text": replace(REQUEST, messages=(Message("system", ("Look.",)), REQUEST.messages[1])),
    "no system": replace(REQUEST, messages=REQUEST.messages[1:]),
    "text": with_content(PICTURE, "Where?", "city"),
    "order": with_content("Which?", PICTURE, "city"),
    "two parts as one": with_content(PICTURE, "Which?city"),
    "picture": with_content(Image(data=b"another"), "Which?", "city"),
    "two pictures": with_content(PICTURE, PICTURE, "Which?", "city"),
    "operations": with_content(Image(data=b"picture", operations=("blank",)), "Which?", "city"),
    "order of operations": with_content(Image(data=b"picture", operations=("blank", "blur:3")), "Which?", "city"),
    "operations turned": with_content(Image(data=b"picture", operations=("blur:3", "blank")), "Which?", "city"),
    "text that looks like a picture": with_content(json.dumps({"image": sha256(b"picture").hexdigest()}), "Which?", "city"),
    "temperature": replace(REQUEST, generation=Generation(0.1, 1.0, 16)),
    "top_p": replace(REQUEST, generation=Generation(0.0, 0.9, 16)),
    "max_tokens": replace(REQUEST, generation=Generation(0.0, 1.0, 17)),
    "labels": replace(REQUEST, labels=("A", "C")),
    "order of labels": replace(REQUEST, labels=("B", "A")),
    "no labels": replace(REQUEST, labels=()),
}


def test_each_part_of_a_request_is_in_its_key():
    keys = {name: content_key("m", request) for name, request in OTHER_REQUESTS.items()}
    keys |= {"itself": content_key("m", REQUEST), "identity": content_key("n", REQUEST)}
    assert len(set(keys.values())) == len(keys)
    assert all(len(key) == 32 for key in keys.values())


def test_neither_seed_nor_origin_nor_the_place_of_a_picture_is_in_the_key(tmp_path):
    path = tmp_path / "picture.bin"
    path.write_bytes(b"picture")
    same = (
        replace(REQUEST, generation=replace(REQUEST.generation, seed=7)),
        replace(REQUEST, origin=Origin("t", SAMPLE, "image")),
        with_content(Image(path=str(path)), "Which?", "city"),
        replace(REQUEST, generation=Generation(0, 1, 16)),
    )
    assert {content_key("m", request) for request in same} == {content_key("m", REQUEST)}


def test_a_key_is_the_same_for_ever():
    assert content_key("m", REQUEST).hex() == (
        sha256(
            b'["m",[["system",["See."]],["user",[{"image":"%s","operations":[]},"Which?","city"]]],[0.0,1.0,16],["A","B"]]'
            % sha256(b"picture").hexdigest().encode()
        ).hexdigest()
    )


def test_a_picture_that_cannot_be_read_has_no_key(tmp_path):
    with pytest.raises(BadImageError, match=r"missing\.png"):
        content_key("m", with_content(Image(path=str(tmp_path / "missing.png"))))


# ------------------------------------------------------------------------------------------------------- answer keys


def answered(temperature=0.0, *, simulated=False, seed=None, **origin):
    values = {"task": "t", "sample": SAMPLE, "condition": "image"} | origin
    request = replace(REQUEST, generation=Generation(temperature, seed=seed), origin=Origin(**values))
    return answer_key(b"c" * 32, request, simulated=simulated)


ORIGINS = {
    "task": {"task": "u"},
    "sample": {"sample": replace(SAMPLE, id="q2")},
    "condition": {"condition": "no_image"},
    "prompt": {"prompt": "mine"},
    "variant": {"variant": 1},
    "repeat": {"repeat": 1},
    "round": {"round": 1},
}


def test_greedy_answers_are_shared_whoever_asks():
    assert {answered(**origin) for origin in ({}, *ORIGINS.values())} == {b"c" * 32}
    assert answer_key(b"c" * 32, REQUEST, simulated=False) == b"c" * 32


def test_a_sampled_answer_belongs_to_its_sample_and_repeat():
    apart = {name for name, origin in ORIGINS.items() if answered(0.7, **origin) != answered(0.7)}
    assert apart == {"task", "sample", "repeat", "round"}
    assert answered(0.7, seed=1) != answered(0.7, seed=2)
    assert answered(0.7) != answered()


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_simulated_answer_belongs_to_its_whole_origin(temperature):
    keys = [answered(temperature, simulated=True, **origin) for origin in ({}, *ORIGINS.values())]
    assert len(set(keys)) == len(keys)
    assert keys[0] == answered(temperature, simulated=True)


def test_a_simulated_answer_belongs_to_all_that_it_may_read_of_the_sample():
    changes = {
        "id": "q2",
        "question": "Where?",
        "target": ("Rome",),
        "kind": "labels",
        "choices": ("Paris", "Rome"),
        "context": "c",
        "knowledge_question": "k",
        "knowledge_method": "field",
        "caption": "a red ball",
        "picture_text": "p",
        "entity": "e",
        "cluster": "c",
        "metadata": {"topic": "t"},
        "shown": Shown(picture="other", partner="q2", partner_target=("Rome",)),
    }
    assert {*changes, "images"} == {field.name for field in fields(Sample)}  # pictures are in the content key
    keys = {answered(simulated=True, sample=replace(SAMPLE, **{name: value})) for name, value in changes.items()}
    assert len(keys | {answered(simulated=True)}) == len(changes) + 1


# ----------------------------------------------------------------------------------------------------------- records


def joined(text):
    """Surrogates that stand side by side as a pair are one character in JSON."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


ANY_TEXT = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])), max_size=20).map(joined)
NUMBERS = st.floats()
RESPONSES = st.builds(
    Response,
    text=ANY_TEXT,
    status=st.sampled_from(["ok", "truncated", "refused", "blocked", "error", "bad_image"]),
    label_logprobs=st.none() | st.lists(NUMBERS, max_size=3).map(tuple),
    usage=st.none() | st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9)),
    latency=st.floats(0, 1e6).map(lambda value: round(value, 6)),
    error=st.none() | ANY_TEXT,
)
SAMPLES = st.builds(
    Sample,
    id=ANY_TEXT,
    question=ANY_TEXT,
    target=st.lists(ANY_TEXT, max_size=2).map(tuple),
    kind=st.sampled_from(["choice", "labels", "text"]),
    choices=st.lists(ANY_TEXT, max_size=3).map(tuple),
    cluster=st.none() | ANY_TEXT,
    metadata=st.dictionaries(ANY_TEXT, st.none() | ANY_TEXT | st.integers(-(2**70), 2**70) | st.booleans(), max_size=3),
    shown=st.builds(
        Shown,
        st.sampled_from(["own", "none", "blank"]),
        st.sampled_from(["question", "knowledge"]),
        flags=st.lists(ANY_TEXT, max_size=2).map(tuple),
    )
    | st.builds(Shown, st.just("other"), partner=ANY_TEXT, partner_target=st.lists(ANY_TEXT).map(tuple)),
)
PREDICTIONS = st.builds(
    Prediction,
    task=ANY_TEXT,
    condition=ANY_TEXT,
    model=ANY_TEXT,
    prompt=ANY_TEXT,
    variant=st.integers(0, 9),
    repeat=st.integers(0, 9),
    round=st.integers(0, 9),
    sample=SAMPLES,
    request_key=st.just("0" * 64),
    messages=st.lists(
        st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.lists(ANY_TEXT, max_size=2).map(tuple))
    ).map(tuple),
    response=RESPONSES,
    score=st.builds(
        Score,
        st.sampled_from(["scored", "unparsed", "refused", "unscored"]),
        NUMBERS,
        st.none() | ANY_TEXT,
        st.lists(NUMBERS, max_size=3).map(tuple),
        ANY_TEXT,
    ),
)


@settings(derandomize=True, max_examples=200)
@given(RESPONSES)
def test_a_response_reads_back_as_it_was(response):
    line = to_json(encode_response(response))
    assert line.count(b"\n") == 1
    assert repr(decode_response(from_json(line))) == repr(response)  # repr: nan is not equal to nan


@settings(derandomize=True, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(PREDICTIONS)
def test_a_prediction_reads_back_as_it_was(prediction):
    line = to_json(encode_prediction(prediction))
    assert line.count(b"\n") == 1
    assert repr(decode_prediction(from_json(line))) == repr(prediction)


def prediction_of(sample=SAMPLE, response=ANSWER, **changes):
    made = Prediction(
        "t", "image", "m", "default", 0, 0, 0, sample, "ab" * 32, (Message("user", (*sample.images, "Which?")),), response,
        Score("scored", 1.0, "Paris", rule="letter_alone"),
    )  # fmt: skip
    return replace(made, **changes)


def test_a_prediction_keeps_where_its_pictures_are_and_the_digest_of_those_given_as_bytes():
    here = Image(path="a.parquet", member="image:3", operations=("blank",))
    read = decode_prediction(from_json(to_json(encode_prediction(prediction_of(replace(SAMPLE, images=(here, PICTURE)))))))
    assert read.sample.images == (here, Image(path="sha256:" + sha256(b"picture").hexdigest()))
    assert read.messages[0].content == (*read.sample.images, "Which?")


def test_an_empty_picture_does_not_stop_its_prediction_from_being_written():
    record = encode_prediction(prediction_of(replace(SAMPLE, images=(Image(data=b""),))))
    assert record["messages"][0]["content"][0] == {"image": "sha256:" + sha256(b"").hexdigest()}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks(value):
    response = Response("x", label_logprobs=(value, -0.5), latency=value)
    line = to_json(encode_response(response))
    assert b"null" not in line
    assert repr(decode_response(orjson.loads(line))) == repr(response)
    assert to_json({"low": value}) == b'{"low":null}\n'


def test_numbers_of_numpy_are_numbers():
    record = encode_response(Response("x", label_logprobs=(np.float32(-0.5), np.float64(-1)), latency=np.float64(2)))
    assert orjson.dumps(record) == b'{"text":"x","status":"ok","latency":2.0,"label_logprobs":[-0.5,-1.0]}'


LONE = "caf\udce9 \ud83d"


def test_a_lone_surrogate_is_an_escape_in_the_file():
    assert to_json({"text": LONE, "low": math.nan, "é": 1}) == (b'{"text":"caf\\udce9 \\ud83d","low":null,"\\u00e9":1}\n')
    assert to_json({"text": LONE}, indent=True) == b'{\n  "text": "caf\\udce9 \\ud83d"\n}\n'
    assert from_json(to_json({"text": LONE})) == {"text": LONE}
    assert from_json(to_json("\ud83e\udd89")) == "🦉"
    for wrong in (b'{"text": \\ud800}', b"{", b"[" * 100_000, b"\xff"):
        with pytest.raises(ValueError, match=r"line 1 column \d+"):
            from_json(wrong)


def test_metadata_may_hold_anything():
    class Odd:
        def __str__(self):
            return "odd"

    for note in ("plain", LONE):
        metadata = {"set": {1}, "odd": Odd(), "bytes": b"x", "many": 2**80, "usage": Usage(1, 2), 3: note}
        read = from_json(to_json(encode_prediction(prediction_of(replace(SAMPLE, metadata=metadata)))))["metadata"]
        usage = {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0}
        assert read == {"set": "{1}", "odd": "odd", "bytes": "b'x'", "many": 2**80, "usage": usage, "3": note}


def test_a_surrogate_anywhere_has_a_key_and_is_kept(tmp_path):
    request = with_content(PICTURE, LONE)
    assert content_key(LONE, request) != content_key("", request)
    assert answered(0.7, sample=replace(SAMPLE, id=LONE)) != answered(0.7)
    response = Response(LONE, error=LONE)
    journal, cache = Journal(tmp_path / "journal.txt"), Cache(tmp_path / "cache.sqlite")
    for store in (journal, cache):
        store.put(key_of(1), response)
        assert store.get(key_of(1)) == response
        store.close()
    reopened = Journal(tmp_path / "journal.txt")
    assert (reopened.get(key_of(1)), reopened.unreadable) == (response, 0)


def test_a_run_does_not_die_of_text_that_is_no_unicode(tmp_path):
    path = os.fsdecode(bytes(tmp_path) + b"/caf\xe9.bin")
    with open(path, "wb") as stream:
        stream.write(b"picture")
    samples = [
        Sample(f"{number} {LONE}", LONE, (LONE,), choices=("Rome", LONE), images=(Image(path=path),), metadata={"note": LONE})
        for number in range(3)
    ]
    found = evaluate(
        samples, lambda messages: LONE, conditions=("image", "shuffled", "swapped"), by=("metadata.note",), out=tmp_path / "run"
    )
    assert (found.rows[0].estimate.value, found.counts["failed"]) == (1.0, 0)
    read = list(read_predictions(tmp_path / "run" / "predictions.jsonl"))
    assert {one.response.text for one in read} == {LONE}
    assert {one.sample.images for one in read} == {(Image(path=path),)}


# ------------------------------------------------------------------------------------------------------- predictions


def test_predictions_are_read_in_order(tmp_path):
    path = tmp_path / "predictions.jsonl"
    written = [prediction_of(replace(SAMPLE, id=str(number), images=())) for number in range(3)]
    path.write_bytes(b"".join(to_json(encode_prediction(one)) for one in written))
    assert list(read_predictions(path)) == written


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "JSONDecodeError: "),
        (b"", "JSONDecodeError: "),
        (b"\xff\xfe", "JSONDecodeError: "),
        (b"[]", "TypeError: "),
        (b'{"task": "t"}', "KeyError: 'messages'"),
        (b'{"messages": 3}', "TypeError: messages is 3, not a list"),
        (b'{"shown": {}, "messages": ["x"]}', "TypeError: "),
    ],
)
def test_a_line_that_is_no_prediction_is_named(tmp_path, line, said):
    path = tmp_path / "predictions.jsonl"
    path.write_bytes(to_json(encode_prediction(prediction_of())) + line + b"\n")
    with pytest.raises(StoreError) as caught:
        list(read_predictions(path))
    assert str(caught.value).startswith(f"{path}:2: not a prediction of eyetest ({said}")
    assert "rebuilt from the journal without asking anything" in str(caught.value)


def test_every_field_of_a_prediction_may_be_torn(tmp_path):
    path = tmp_path / "predictions.jsonl"
    record = from_json(to_json(encode_prediction(prediction_of())))
    for name in ("shown", "messages", "response", "score"):
        for torn in (None, 3, "x", ["x"], [["x"]]):
            path.write_bytes(to_json(record | {name: torn}))
            with pytest.raises(StoreError, match=r"jsonl:1: not a prediction of eyetest"):
                list(read_predictions(path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"request": "xyz"}, "ValueError: non-hexadecimal number found in fromhex() arg at position 0"),
        ({"request": None}, "TypeError: request is None, not a text"),
        ({"kind": "riddle"}, "ValueError: kind is 'riddle', not one of choice, labels, text, transcription, description"),
        ({"sample": 5}, "TypeError: sample is 5, not a text"),
        ({"question": None}, "TypeError: question is None, not a text"),
        ({"target": "Paris"}, "TypeError: target is 'Paris', not a list"),
        ({"choices": [1]}, "TypeError: a part of choices is 1, not a text"),
        ({"cluster": 5}, "TypeError: cluster is 5, not a text"),
        ({"metadata": []}, "TypeError: metadata is of type list, not an object"),
        ({"variant": "0"}, "TypeError: variant is '0', not a whole number"),
        ({"repeat": 40000}, "ValueError: repeat is 40000, not a whole number from 0 to 32767"),
        ({"round": -1}, "ValueError: round is -1, not a whole number from 0 to 32767"),
        ({"round": True}, "ValueError: round is True, not a whole number from 0 to 32767"),
        ({"model": {}}, "TypeError: model is of type dict, not a text"),
        ({"messages": [{"role": "judge", "content": []}]}, "ValueError: role is 'judge', not one of system, user, assistant"),
        ({"messages": [{"role": "user", "content": [{"image": 5}]}]}, "TypeError: image is 5, not a text"),
        (
            {"shown": {"picture": "x", "asks": "question"}},
            "ValueError: shown.picture is 'x', not one of own, none, blank, other, caption, blurred",
        ),
        (
            {"response": {"text": None, "status": "ok", "latency": 0}},
            "TypeError: text is None, not a text",
        ),
        (
            {"response": {"text": "A", "status": 5, "latency": 0}},
            "ValueError: status is 5, not one of ok, truncated, refused, blocked, error, bad_image",
        ),
        (
            {"score": {"status": "won", "value": 1, "answer": None, "counts": [], "rule": ""}},
            "ValueError: score.status is 'won', not one of scored, unparsed, refused, unscored",
        ),
        (
            {"score": {"status": "scored", "value": 1, "answer": 5, "counts": [], "rule": ""}},
            "TypeError: answer is 5, not a text",
        ),
    ],
)
def test_a_wrong_value_in_a_prediction_is_named(tmp_path, change, said):
    path = tmp_path / "predictions.jsonl"
    path.write_bytes(to_json(from_json(to_json(encode_prediction(prediction_of()))) | change))
    with pytest.raises(StoreError) as caught:
        list(read_predictions(path))
    assert str(caught.value) == (
        f"{path}:1: not a prediction of eyetest ({said}). Run the evaluation again with the same --out: it is rebuilt from the "
        f"journal without asking anything."
    )


def test_a_line_nested_too_deep_is_no_prediction(tmp_path):
    path = tmp_path / "predictions.jsonl"
    path.write_bytes(b'{"a": "\\ud800", "b": ' + b"[" * 100_000)
    with pytest.raises(StoreError, match=r"jsonl:1: not a prediction of eyetest \(ValueError: it is nested too deep\)"):
        list(read_predictions(path))


@pytest.mark.parametrize("kind", [read_predictions, Journal, Cache])
def test_a_named_pipe_is_not_waited_for(tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError) as caught:
        list(kind(tmp_path / "pipe"))
    assert str(caught.value) == f"{tmp_path}/pipe: is a named pipe, not a file. Move it away, or name another place."


def test_predictions_that_are_not_there(tmp_path):
    with pytest.raises(StoreError, match=r"x\.jsonl: cannot be read: No such file or directory\. Name the directory of a"):
        list(read_predictions(tmp_path / "x.jsonl"))


def test_write_whole_replaces_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "run.json"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["run.json"]


def test_write_whole_under_a_regular_file_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"file/run\.json: writing failed: Not a directory\. What was answered so far is kept"):
        write_whole(tmp_path / "file" / "run.json", b"x")


def test_full_says_why_and_what_to_do(tmp_path):
    error = full(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), tmp_path, "writing")
    assert str(error) == (
        f"{tmp_path}: writing failed: No space left on device. What was answered so far is kept; "
        f"make room or allow writing there, then run the same command again to go on."
    )


# ----------------------------------------------------------------------------------------------------------- journal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.txt"


def filled(path, n=3):
    journal = Journal(path)
    for number in range(n):
        journal.put(key_of(number), Response(f"answer {number}\n"))
    journal.close()
    return path.read_bytes()


def found(journal, n):
    return [said(journal.get(key_of(number))) for number in range(n)]


def test_a_journal_keeps_what_it_was_told(path):
    journal = Journal(path)
    assert (len(journal), journal.get(key_of(0))) == (0, None)
    responses = [Response(f"{n}", "truncated", (-0.5,), Usage(1, 2), 0.25, "why") for n in range(5)]
    for number, response in enumerate(responses):
        journal.put(key_of(number), response)
        assert journal.get(key_of(number)) == response
    assert [journal.get(key_of(number)) for number in (4, 0, 2)] == [responses[4], responses[0], responses[2]]
    journal.close()
    again = Journal(path)
    assert (len(again), again.unreadable) == (5, 0)
    assert [again.get(key_of(number)) for number in range(6)] == [*responses, None]


def test_a_line_is_key_space_answer(path):
    assert filled(path, 1) == key_of(0).hex().encode() + b' {"text":"answer 0\\n","status":"ok","latency":0.0}\n'


def test_the_last_of_two_answers_counts(path):
    filled(path)
    journal = Journal(path)
    journal.put(key_of(1), Response("better"))
    assert said(journal.get(key_of(1))) == "better"
    journal.close()
    assert found(Journal(path), 3) == ["answer 0\n", "better", "answer 2\n"]


def test_every_prefix_reopens_with_all_complete_lines(path):
    whole = filled(path)
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        journal = Journal(path)
        complete = sum(end <= size for end in ends)
        assert (len(journal), journal.unreadable) == (complete, 0)
        assert path.read_bytes() == whole[: ends[complete - 1] if complete else 0]
        journal.put(key_of(9), Response("later"))
        wanted = [f"answer {number}\n" if number < complete else None for number in range(3)]
        assert found(journal, 3) == wanted
        journal.close()
        again = Journal(path)
        assert [*found(again, 3), said(again.get(key_of(9)))] == [*wanted, "later"]
        again.close()


GARBAGE = (
    b"\n",
    b"garbage\n",
    b"\0" * 200 + b"\n",
    b"\xff\xfe\xfd\n",
    b"x" * 64 + b" {}\n",
    b" " * 64 + b" {}\n",
    b"ab" * 32 + b"\n",
    b"ab" * 32 + b' {"text": "torn"\n',
    b"ab" * 32 + b" [1]\n",
    key_of(1).hex().encode() + b" garbage\n",
)


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_garbage_is_counted_and_left_where_it_is(path, garbage, place):
    lines = filled(path).splitlines(keepends=True)
    torn = b"".join([*lines[:place], garbage, *lines[place:]])
    path.write_bytes(torn)
    journal = Journal(path)
    assert (len(journal), journal.unreadable) == (3, 1)
    assert found(journal, 3) == [f"answer {number}\n" for number in range(3)]
    assert path.read_bytes() == torn
    journal.put(key_of(3), Response("answer 3\n"))
    journal.close()
    again = Journal(path)
    assert (len(again), again.unreadable, found(again, 4)[3]) == (4, 1, "answer 3\n")


@pytest.mark.parametrize(
    "body",
    [
        b"{torn}",
        b"{}",
        b'{"text": "x"}',
        b'{"text":"x","status":"ok","latency":"?"}',
        b'{"a\\ud800": }',
        b'{"text":"x","status":5,"latency":0}',
        b'{"text":"x","status":"oK","latency":0}',
        b'{"text":null,"status":"ok","latency":0}',
        b'{"text":"x","status":"ok","latency":0,"error":5}',
        b'{"text":"x","status":"ok","latency":0,"usage":{"input_tokens":"1","output_tokens":1}}',
        b'{"text":"x","status":"ok","latency":0,"label_logprobs":["a"]}',
    ],
)
def test_an_answer_that_cannot_be_decoded_is_asked_again(path, body):
    lines = filled(path).splitlines(keepends=True)
    path.write_bytes(lines[0] + key_of(1).hex().encode() + b" " + body + b"\n" + lines[2])
    journal = Journal(path)
    assert journal.unreadable == 0
    assert found(journal, 3) == ["answer 0\n", None, "answer 2\n"]
    assert found(journal, 3) == ["answer 0\n", None, "answer 2\n"]
    assert (len(journal), journal.unreadable) == (2, 1)
    journal.put(key_of(1), Response("again"))
    assert said(journal.get(key_of(1))) == "again"


@settings(derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False), st.integers(1, 30))
def test_damage_never_gives_a_wrong_answer(path, rng, n):
    path.unlink(missing_ok=True)
    whole = bytearray(filled(path))
    for _ in range(n):
        whole[rng.randrange(64)] = rng.randrange(256)  # the first key
        whole[rng.randrange(len(whole))] = rng.choice(b"\n\0x{}")
    path.write_bytes(whole)
    journal = Journal(path)
    for number in range(3):
        answer = journal.get(key_of(number))
        assert answer is None or isinstance(answer, Response)
    journal.put(key_of(1), Response("new"))
    assert said(journal.get(key_of(1))) == "new"
    journal.close()


def test_two_keys_with_an_equal_start_are_never_taken_for_each_other(path):
    one, other = b"s" * 16 + b"1" * 16, b"s" * 16 + b"2" * 16
    journal = Journal(path)
    journal.put(one, Response("one"))
    assert journal.get(other) is None
    journal.put(other, Response("other"))
    assert said(journal.get(other)) == "other"
    assert said(journal.get(one)) in (None, "one")
    journal.close()
    again = Journal(path)
    assert (said(again.get(other)), said(again.get(one)) in (None, "one"), again.unreadable) == ("other", True, 0)


@pytest.mark.parametrize("place", ["under/journal.txt", ""])
def test_a_journal_where_none_can_be(tmp_path, place):
    (tmp_path / "under").write_text("a regular file")
    where = tmp_path / place
    with pytest.raises(StoreError) as caught:
        Journal(where)
    reason = "Not a directory" if place else "Is a directory"
    assert str(caught.value) == f"{where}: cannot be opened for writing: {reason}. Choose another --out."


FULL_DISK = """
import resource, sys
from pathlib import Path
from eyetest.errors import StoreError
from eyetest.store import Journal
from eyetest.types import Response
path, room = Path(sys.argv[1]), int(sys.argv[2])
journal = Journal(path)
journal.put(b"1" * 32, Response("first"))
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, resource.RLIM_INFINITY))
try:
    journal.put(b"2" * 32, Response("x" * 1000))
except StoreError as error:
    print(error)
print(journal.get(b"1" * 32).text, journal.get(b"2" * 32), len(journal))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.put(b"3" * 32, Response("third"))
print(journal.get(b"3" * 32).text)
"""


@pytest.mark.parametrize("room", [0, 1, 500])
def test_a_full_disk_keeps_the_answers_before_it(path, room):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path), str(room)], capture_output=True, text=True, check=True)
    error, earlier, later = done.stdout.splitlines()
    assert error == (
        f"{path}: writing an answer failed: File too large. What was answered so far is kept; "
        f"make room or allow writing there, then run the same command again to go on."
    )
    assert (earlier, later) == ("first None 1", "third")
    journal = Journal(path)
    assert (journal.unreadable, len(journal)) == (0, 2)
    assert (said(journal.get(b"1" * 32)), journal.get(b"2" * 32), said(journal.get(b"3" * 32))) == ("first", None, "third")


def test_a_killed_process_loses_nothing_it_was_told(path):
    script = (
        "import os, signal, sys; from pathlib import Path; from eyetest.store import Journal; from eyetest.types import Response;"
        "j = Journal(Path(sys.argv[1])); [j.put(bytes([n]) * 32, Response(str(n))) for n in range(20)];"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    journal = Journal(path)
    assert [said(journal.get(bytes([n]) * 32)) for n in range(20)] == [str(n) for n in range(20)]


# ------------------------------------------------------------------------------------------------------------- cache


@pytest.fixture
def file(tmp_path):
    return tmp_path / "deep" / "cache.sqlite"


def broken(file):
    with pytest.raises(StoreError) as caught:
        Cache(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: the response cache cannot be used: ")
    assert message.endswith(
        "Name another file with --cache, move this one away, or run with --no-cache. "
        "The answers of each run are also in its own journal."
    )
    return message


def test_a_cache_keeps_answers_for_the_next_run(file):
    response = Response("x", "truncated", (-0.5, -math.inf), Usage(1, 2), 0.25, "why")
    with Cache(file) as cache:
        assert cache.get(key_of(0)) is None
        for number in range(120):
            cache.put(key_of(number), replace(response, text=str(number)))
            assert cache.get(key_of(number)).text == str(number)
        cache.put(key_of(0), replace(response, text="better"))
    cache.close()
    with Cache(file) as again:
        assert again.get(key_of(0)) == replace(response, text="better")
        assert [said(again.get(key_of(number))) for number in range(1, 121)] == [*map(str, range(1, 120)), None]


def test_an_entry_that_cannot_be_decoded_is_asked_again(file):
    with Cache(file) as cache:
        cache.put(key_of(0), ANSWER)
    with sqlite3.connect(file) as database:
        for number, body in enumerate((b"{", b"[]", b"{}", b"3", "text"), 1):
            database.execute("INSERT INTO responses VALUES (?, ?)", (key_of(number), body))
    with Cache(file) as cache:
        assert [said(cache.get(key_of(number))) for number in range(6)] == ["Paris", None, None, None, None, None]


WRITER = """
import sys
from hashlib import sha256
from pathlib import Path
from eyetest.store import Cache
from eyetest.types import Response
sys.stdin.readline()
who = sys.argv[2]
with Cache(Path(sys.argv[1])) as cache:
    for number in range(300):
        cache.put(sha256(f"{who if number % 2 else 'both'} {number}".encode()).digest(), Response(str(number)))
        cache.get(sha256(b"anything").digest())
"""


def test_several_processes_may_create_and_fill_one_cache_at_once(file):
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(file), who], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for who in "abcd"
    ]
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * len(running)
    with Cache(file) as cache:
        for number in range(300):
            for who in "abcd" if number % 2 else ["both"]:
                assert said(cache.get(sha256(f"{who} {number}".encode()).digest())) == str(number)


def test_a_cache_keeps_no_lock_while_a_model_thinks(file, monkeypatch):
    monkeypatch.setattr(Cache, "PATIENCE", 0.0)
    monkeypatch.setattr(Cache, "EVERY_SECONDS", 1000)
    with Cache(file) as first, Cache(file) as second:
        first.put(key_of(1), Response("1"))  # waits for more
        for number in range(2, 2 + Cache.EVERY_ROWS):
            second.put(key_of(number), Response(str(number)))
        assert said(first.get(key_of(2))) == "2"
        assert said(first.get(key_of(1))) == "1"


def test_answers_are_written_after_a_moment(file, monkeypatch):
    monkeypatch.setattr(Cache, "EVERY_SECONDS", 0.0)
    with Cache(file) as first, Cache(file) as second:
        first.put(key_of(1), ANSWER)
        assert second.get(key_of(1)) == ANSWER


@pytest.mark.parametrize(
    "content",
    [
        random.Random(1).randbytes(10_000),
        b"a text file\n",
        b"SQLite format 3\0",
        b"SQLite format 3\0" + random.Random(2).randbytes(9000),
    ],
)
def test_a_file_that_is_no_database_is_refused_and_not_touched(file, content):
    file.parent.mkdir()
    file.write_bytes(content)
    broken(file)
    assert file.read_bytes() == content
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_a_truncated_database_is_refused_and_not_touched(file, keep):
    with Cache(file) as cache:
        for number in range(500):
            cache.put(key_of(number), Response("x" * 100))
    content = file.read_bytes()
    content = content[: int(len(content) * keep)]
    file.write_bytes(content)
    assert "database disk image is malformed" in broken(file)
    assert file.read_bytes() == content


def test_damage_inside_a_database_is_a_store_error_or_no_answer(file):
    with Cache(file) as cache:
        for number in range(500):
            cache.put(key_of(number), Response("x" * 100))
    content, rng, told = file.read_bytes(), random.Random(3), set()
    torn = [content[:-100]]
    torn += [content[:at] + rng.randbytes(4096) + content[at + 4096 :] for at in range(4096, len(content) - 4096, 4096)]
    for damaged in torn:
        file.write_bytes(damaged)
        told.add(told_by(file))
    assert told == {"", f"{file}: the response cache cannot be used: database disk image is malformed. "}


def test_a_bad_byte_in_the_schema_is_a_store_error(file):
    Cache(file).close()
    content = file.read_bytes()
    assert content.count(b"CREATE TABLE") == 1
    file.write_bytes(content.replace(b"CREATE TABLE", b"CREATE \xff\xfeBLE"))
    broken(file)


def told_by(file):
    """What a damaged cache says of itself, up to the way out; it never gives an answer that was not put into it."""
    try:
        with Cache(file) as cache:
            answers = {said(cache.get(key_of(number))) for number in range(500)}
    except StoreError as error:
        return str(error).split("Name another")[0]
    assert answers == {"x" * 100, None}
    return ""


@pytest.mark.parametrize("table", ["TABLE moz_places (url)", "TABLE responses (key)"])
def test_another_programs_database_is_refused_and_not_touched(file, table):
    file.parent.mkdir()
    with sqlite3.connect(file) as database:
        database.execute(f"CREATE {table}")
    content = file.read_bytes()
    assert "no such " in broken(file)
    assert file.read_bytes() == content


def test_a_cache_where_none_can_be(tmp_path):
    (tmp_path / "file").write_text("a regular file")
    assert "unable to open database file" in broken(tmp_path)
    for place in (tmp_path / "file" / "cache.sqlite", tmp_path / "file" / "deep" / "cache.sqlite"):
        message = broken(place)
        assert "File exists" in message or "Not a directory" in message
    assert (tmp_path / "file").read_text() == "a regular file"


def test_a_database_that_stays_locked_is_a_store_error(file, monkeypatch):
    monkeypatch.setattr(Cache, "PATIENCE", 0.05)
    monkeypatch.setattr(Cache, "EVERY_SECONDS", 0.0)
    with Cache(file) as cache:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            StoreError, match=r"cache\.sqlite: the response cache cannot be used: database is locked\. Name another"
        ):
            cache.put(key_of(1), ANSWER)
        other.execute("ROLLBACK")
        other.close()
        cache.put(key_of(2), ANSWER)
        assert cache.get(key_of(2)) == ANSWER


def test_a_database_that_is_locked_for_a_moment_is_waited_for(file, monkeypatch):
    monkeypatch.setattr(Cache, "EVERY_SECONDS", 0.0)
    with Cache(file) as cache:
        other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.2, lambda: other.execute("COMMIT"))
        release.start()
        cache.put(key_of(1), ANSWER)
        release.join()
        other.close()
        assert cache.get(key_of(1)) == ANSWER


FULL_CACHE = """
import resource, sys
from pathlib import Path
from eyetest.errors import StoreError
from eyetest.store import Cache
from eyetest.types import Response
cache = Cache(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
try:
    for number in range(1000):
        cache.put(number.to_bytes(32, "big"), Response("x" * 1000))
except StoreError as error:
    print(error)
cache.close()
"""


def test_a_full_disk_is_a_store_error_and_leaves_a_sound_cache(file):
    done = subprocess.run([sys.executable, "-c", FULL_CACHE, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{file}: the response cache cannot be used: ")
    assert "run with --no-cache" in done.stdout
    with Cache(file) as cache:
        assert said(cache.get((0).to_bytes(32, "big"))) == "x" * 1000
        cache.put(key_of(1), ANSWER)
