from __future__ import annotations

import json
import os

import numpy as np
import orjson
import pytest

from evaluation.made import CHOICES, Asked, by_content, go, item, items, laid_out, predictions, text_of, write_items
from eyetest.cli import main
from eyetest.errors import ModelError, StoreError
from eyetest.evaluation.evaluate import evaluate_plan
from eyetest.evaluation.rescore import rescore
from eyetest.models import build
from eyetest.models.function import CallableModel
from eyetest.store import Cache, Journal
from eyetest.types import Image, Request, Response, Usage

MEMES = "Is the following meme hateful?"
"""The same question for every picture: without the picture it is one request."""


def results(out):
    """What a run found, without its counts."""
    found = json.loads((out / "results.json").read_bytes())
    del found["counts"]
    return found


def conditions(count):
    return ["image", "no_image", "told_blind", "options_only", "shuffled", "blank"][:count]


# ------------------------------------------------------------------------------------------------------------- sharing


@pytest.mark.parametrize("window", [1, 5, 1000])
def test_equal_requests_are_asked_once_however_far_apart(tmp_path, window):
    model = Asked(window=window)
    outcome = go(tmp_path, items(300, question=MEMES), model, conditions=["image", "no_image"])
    said = [(text_of(request), len(request.messages[-1].content)) for request in model.seen]
    assert len(said) == 301
    assert sum(pictures == 1 for _, pictures in said) == 1
    progress = outcome.progress
    assert (progress.done, progress.asked, progress.asked + progress.cached + progress.shared) == (600, 301, 600)


def test_the_answer_of_a_shared_request_reaches_everyone(tmp_path):
    go(tmp_path, items(30, question=MEMES), Asked(), conditions=["no_image"])
    found = predictions(tmp_path)
    assert len(found) == 30
    assert len({record["response"]["text"] for record in found}) == 1
    assert len({record["request"] for record in found}) == 1
    assert {record["sample"] for record in found} == {sample.id for sample in items(30)}


@pytest.mark.parametrize(
    ("simulated", "temperature"), [(True, 0.0), (False, 0.7), (True, 0.7)], ids=["simulated", "sampled", "both"]
)
def test_simulated_and_sampled_answers_are_not_shared(tmp_path, simulated, temperature):
    model = Asked(simulated=simulated)
    outcome = go(
        tmp_path, items(20, question=MEMES), model, conditions=["no_image"], repeats=2, generation={"temperature": temperature}
    )
    assert len(model.seen) == outcome.progress.asked == 40
    assert outcome.progress.shared == 0


def test_repeats_at_temperature_zero_are_one_request(tmp_path):
    model = Asked()
    assert go(tmp_path, items(4), model, repeats=3).progress.done == 12
    assert len(model.seen) == 4


def test_repeats_of_a_sampled_answer_differ_in_their_seed(tmp_path):
    model = Asked()
    go(tmp_path, items(2), model, repeats=3, seed=5, generation={"temperature": 1.0})
    assert sorted(request.generation.seed for request in model.seen) == [5, 5, 6, 6, 7, 7]


def test_one_model_never_gets_the_answers_of_another(tmp_path):
    first, second = Asked(name="first"), Asked(lambda _: "B", name="second")
    go(tmp_path, items(5), first, second)
    assert len(first.seen) == len(second.seen) == 5


# -------------------------------------------------------------------------------------------------- journal and cache


def test_a_run_that_ended_asks_nothing_again(tmp_path):
    go(tmp_path, items(20), Asked(), conditions=conditions(3))
    before, model = predictions(tmp_path), Asked()
    outcome = go(tmp_path, items(20), model, conditions=conditions(3))
    assert not model.seen
    assert (outcome.progress.resumed, outcome.progress.cached) == (60, 0)
    assert predictions(tmp_path) == before


def test_the_cache_serves_another_run_directory(tmp_path):
    cached = {"use_cache": True, "cache": str(tmp_path / "c.sqlite")}
    first, second = Asked(), Asked()
    go(tmp_path / "a", items(20), first, **cached)
    go(tmp_path / "b", items(25), second, **cached)
    assert [len(first.seen), len(second.seen)] == [20, 5]
    assert results(tmp_path / "a") != results(tmp_path / "b")


def test_answers_from_the_cache_are_journaled(tmp_path):
    cached = {"use_cache": True, "cache": str(tmp_path / "c.sqlite")}
    go(tmp_path / "a", items(20), Asked(), **cached)
    go(tmp_path / "b", items(20), Asked(), **cached)
    third = Asked()
    go(tmp_path / "b", items(20), third)
    assert not third.seen


def test_simulated_answers_do_not_enter_the_cache(tmp_path):
    cache = tmp_path / "c.sqlite"
    go(tmp_path / "a", items(3), Asked(simulated=True), Asked(name="real"), use_cache=True, cache=str(cache))
    with Cache(cache) as opened:
        assert opened._database.execute("SELECT count(*) FROM responses").fetchone() == (3,)


@pytest.mark.parametrize("use_cache", [True, False])
def test_failed_calls_are_kept_nowhere_and_asked_again(tmp_path, use_cache):
    def flaky(request: Request) -> Response | str:
        return Response(status="error", error="503") if "picture 7?" in text_of(request) else "A"

    def sees_badly(request: Request) -> Response | str:
        return Response(status="bad_image", error="cut off") if "picture 7?" in text_of(request) else "A"

    settings = {"use_cache": use_cache, "cache": str(tmp_path / "c.sqlite") if use_cache else None}
    for answer in (flaky, sees_badly):
        model = Asked(answer)
        outcome = go(tmp_path / "run", items(20), model, **settings)
        assert outcome.progress.failed == 1
        assert outcome.results.headline("samples", "asked", "image").n == 19
    with Journal(tmp_path / "run" / "journal.txt").path.open("rb") as lines:
        assert len(lines.readlines()) == 19
    healed = Asked(lambda _: "A")
    assert go(tmp_path / "run", items(20), healed, **settings).progress.failed == 0
    assert [text_of(request).splitlines()[0] for request in healed.seen] == ["What is in picture 7?"]


def test_a_picture_that_is_not_there_is_never_asked_about(tmp_path):
    samples = [*items(12), item(12, images=(Image(path=str(tmp_path / "gone.png")),))]
    model = Asked()
    outcome = go(tmp_path / "run", samples, model)
    assert len(model.seen) == 12
    failed = predictions(tmp_path / "run")[12]
    assert failed["response"]["status"] == "bad_image"
    assert failed["response"]["error"] == (
        f"The picture {tmp_path}/gone.png does not exist. Check the folder of pictures and the file's name."
    )
    made = outcome.results.headline("samples", "asked", "image")
    assert (made.n, made.n_failed) == (12, 1)


# ------------------------------------------------------------------------------------------------------ wayward models


class Wayward(Asked):
    def __init__(self, generate):
        super().__init__()
        self._generate = generate

    def generate(self, requests):
        return self._generate(requests)


def _foreign(requests):
    for request in requests:
        yield Request(request.messages), Response("A")


def _twice(requests):
    for request in requests:
        yield request, Response("A")
        yield request, Response("A")


@pytest.mark.parametrize(("generate", "kept"), [(_foreign, 0), (_twice, 1)])
def test_a_foreign_or_repeated_request_is_the_models_fault(tmp_path, generate, kept):
    model = Wayward(generate)
    with pytest.raises(ModelError) as caught:
        go(tmp_path, items(3), model)
    assert str(caught.value) == (
        "Model 'asked' yielded a request that it was not given, or answered one twice. "
        "generate() must yield each request object it was given exactly once."
    )
    assert len(Journal(tmp_path / "journal.txt")) == kept
    assert model.closed


def test_a_request_that_is_never_answered_is_a_failed_call(tmp_path):
    def skips(requests):
        for number, request in enumerate(requests):
            if number % 2:
                yield request, Response("A")

    outcome = go(tmp_path, items(20), Wayward(skips))
    assert (outcome.progress.done, outcome.progress.failed) == (20, 10)
    assert predictions(tmp_path)[0]["response"]["error"] == "asked never answered this request"


def test_a_model_that_asks_for_nothing_fails_nothing_else(tmp_path):
    outcome = go(tmp_path, items(3), Wayward(lambda requests: iter(())))
    assert outcome.progress.done == 0
    assert outcome.results.rows == ()


def test_a_list_will_do_as_an_iterator(tmp_path):
    answers = lambda requests: iter([(request, Response("A")) for request in list(requests)])  # noqa: E731
    assert go(tmp_path, items(10), Wayward(answers)).progress.done == 10


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError("a bug"), ModelError("no such checkpoint")])
def test_what_was_answered_before_a_crash_is_journaled(tmp_path, error):
    closed = []

    def breaks(requests):
        try:
            for number, request in enumerate(requests):
                if number == 6:
                    raise error
                yield request, Response(by_content(request))
        finally:
            closed.append(True)

    model, later = Wayward(breaks), Asked(name="later")
    with pytest.raises(error if isinstance(error, type) else type(error)):
        go(tmp_path, items(10), model, later)
    assert closed == [True]
    assert (model.closed, later.closed) == (1, 1)
    resumed = Asked()
    go(tmp_path, items(10), resumed, Asked(name="later"))
    assert len(resumed.seen) == 4


def test_an_interrupt_of_the_consumer_closes_the_model_too(tmp_path):
    cancelled = []

    def watched(requests):
        try:
            for request in requests:
                yield request, Response("A")
        finally:
            cancelled.append(True)

    def watch(progress):
        if progress.done == 3:
            raise KeyboardInterrupt

    model = Wayward(watched)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, items(10), model, watch=watch)
    assert cancelled == [True]
    assert model.closed
    assert len(Journal(tmp_path / "journal.txt")) == 3


def test_models_are_closed_when_the_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    model = Asked()
    with pytest.raises(StoreError, match=r"cannot be written: Not a directory. Choose another with --out\.$"):
        go(tmp_path / "file" / "run", items(3), model)
    assert model.closed == 1


def test_a_broken_cache_file_is_refused_and_left_alone(tmp_path):
    (tmp_path / "c.sqlite").write_bytes(b"not a database, " * 100)
    model = Asked()
    with pytest.raises(StoreError, match=r"the response cache cannot be used: file is not a database. Name another file"):
        go(tmp_path / "run", items(3), model, use_cache=True, cache=str(tmp_path / "c.sqlite"))
    assert (tmp_path / "c.sqlite").read_bytes() == b"not a database, " * 100
    assert (len(model.seen), model.closed) == (0, 1)


# --------------------------------------------------------------------------------------------------------- any order


@pytest.mark.parametrize("window", [2, 7, 1000])
def test_results_do_not_depend_on_the_order_of_answers(tmp_path, window):
    def answer(request):
        text = by_content(request)
        return Response(status="refused") if text == "?" and "picture 1" in text_of(request) else text

    samples = [item(number, metadata={"topic": number % 4}, cluster=f"c{number // 3}") for number in range(90)]
    samples += [item(100 + n, kind="text", choices=(), target=("a",), metadata={"topic": 9}) for n in range(15)]
    settings = {"conditions": [*conditions(6), "open_ended"], "by": ["metadata.topic"]}
    go(tmp_path / "in_order", samples, Asked(answer), **settings)
    go(tmp_path / "mixed", samples, Asked(answer, window=window), **settings)
    assert orjson.dumps(results(tmp_path / "mixed")) == orjson.dumps(results(tmp_path / "in_order"))
    assert predictions(tmp_path / "mixed") == predictions(tmp_path / "in_order")


# ----------------------------------------------------------------------------------------------------------- statuses


def test_every_status_is_scored_as_designed(tmp_path):
    answers = [
        Response("A", status="ok"),
        Response("A", status="truncated"),
        Response("", status="refused", error="content_filter"),
        Response("A", status="blocked", error="policy"),
        Response("A", status="error", error="500"),
        Response("A", status="bad_image", error="cut off"),
        Response("I would rather not choose between these three animals", status="ok"),
        Response("I cannot help with that.", status="ok"),
    ]
    samples = items(len(answers), target=("cat",))
    go(tmp_path, samples, Asked(lambda request: answers[int(text_of(request).split("picture ")[1].split("?")[0])]))
    scores = [(record["score"]["status"], record["score"]["value"], record["score"]["rule"]) for record in predictions(tmp_path)]
    assert scores[2:6] == [
        ("refused", 0.0, "refused_by_endpoint"),
        ("refused", 0.0, "blocked_by_endpoint"),
        ("unscored", 0.0, "error"),
        ("unscored", 0.0, "bad_image"),
    ]
    assert [score[:2] for score in scores[:2]] == [("scored", 1.0)] * 2
    assert scores[6][:2] == ("unparsed", 0.0)
    assert scores[7][:2] == ("refused", 0.0)


def test_counts_bounds_and_policies_add_up(tmp_path):
    by_number = ["A"] * 10 + ["B"] * 5 + ["hm"] * 4 + [Response(status="refused")] * 3
    by_number += [Response(status="blocked")] * 2 + [Response(status="error")] * 6
    outcome = go(
        tmp_path,
        items(30, target=("cat",)),
        Asked(lambda request: by_number[int(text_of(request).split("picture ")[1].split("?")[0])]),
    )
    rows = {(row.estimate.metric, row.policy): row for row in outcome.results.rows if not row.by}
    headline, parsed = rows["accuracy", "as_wrong"], rows["accuracy", "parsed_only"]
    made = headline.estimate
    assert (made.n, made.n_unparsed, made.n_refused, made.n_failed) == (24, 4, 5, 6)
    assert made.value == pytest.approx(10 / 24)
    assert (headline.if_failed_wrong, headline.if_failed_right) == pytest.approx((10 / 30, 16 / 30))
    assert parsed.estimate.value == pytest.approx(10 / 15)
    assert parsed.estimate.n == 15
    assert rows["success_rate", "as_wrong"].estimate.value == pytest.approx(15 / 24)
    assert headline.chance == pytest.approx(1 / 3)
    assert headline.best == 1.0
    progress = outcome.progress
    assert (progress.unparsed, progress.refused, progress.failed) == (4, 5, 6)


def test_a_model_that_must_know_the_samples_is_given_them_first(tmp_path):
    told = []

    class Knows(Asked):
        def prepare(self, task, samples, train):
            told.append((task, [sample.id for sample in samples], list(train), len(self.seen)))

    go(tmp_path, items(4), Knows(), limit=2)
    assert [(task, len(ids), train, seen) for task, ids, train, seen in told] == [("samples", 2, [], 0)]


def test_the_manifest_says_what_was_asked_of_what(tmp_path):
    config, plan = laid_out(items(5), out=str(tmp_path), limit=3, by=[])
    evaluate_plan(config, plan, (Asked(),), watch=lambda _: None)
    manifest = json.loads((tmp_path / "run.json").read_bytes())
    assert manifest["models"] == {"asked": {"identity": "asked", "simulated": False}}
    described = manifest["tasks"]["samples"]
    assert (described["samples"], described["samples_in_split"], described["labels"]) == (3, 5, ["cat", "dog", "bird"])
    assert described["scoring"]["match"] == "tokens"
    assert manifest["spec"]["conditions"] == ["image"]
    assert os.sep not in manifest["spec"]["tasks"][0]["samples"]


def test_a_prompt_without_letters_reads_no_letters(tmp_path):
    """And re-scoring knows it, too."""
    rows = [{"id": str(n), "question": "Which?", "choices": ["cat", "dog"], "answer": "cat"} for n in range(12)]
    write_items(tmp_path / "items.jsonl", rows)
    out = tmp_path / "run"
    run_file = tmp_path / "run.toml"
    run_file.write_text(
        'models = ["constant:A"]\nprompts = ["default", "plain"]\nuse_cache = false\n'
        f'out = "{out}"\n[prompt.plain]\nlettered = false\n[[tasks]]\ndata = "items.jsonl"\n'
    )
    with pytest.raises(SystemExit) as ended:
        main(["run", str(run_file)])
    assert ended.value.code == 0
    status = {(one["prompt"], one["score"]["status"]) for one in predictions(out)}
    assert status == {("default", "scored"), ("plain", "unparsed")}
    assert rescore(out).changed == 0


def test_equal_requests_far_apart_are_shared_not_cached(tmp_path):
    model = Asked(by_content)
    progress = go(tmp_path, [item(n, question=f"Question {n % 50}", images=()) for n in range(200)], model).progress
    assert (progress.asked, progress.shared, progress.cached) == (50, 150, 0)


# ------------------------------------------------------------------------------------- what a simulated model may have read


def test_a_mended_gold_answer_is_read_by_the_oracle_of_a_resumed_run(tmp_path):
    go(tmp_path, items(6), build("oracle"))
    mended = [item(n, target=(CHOICES[(n + 1) % 3],)) for n in range(6)]
    outcome = go(tmp_path, mended, build("oracle"))
    assert (outcome.progress.resumed, outcome.progress.asked) == (0, 6)
    assert outcome.results.headline("samples", "oracle", "image").value == 1.0


def test_majority_is_asked_anew_when_a_gold_answer_elsewhere_changed_what_it_says(tmp_path):
    def samples(*targets):
        return [item(n, target=(target,)) for n, target in enumerate(targets)]

    go(tmp_path, samples("cat", "cat", "dog", "dog", "cat"), build("majority"))
    outcome = go(tmp_path, samples("cat", "dog", "dog", "dog", "cat"), build("majority"))
    assert outcome.progress.asked == 5
    assert {record["response"]["text"] for record in predictions(tmp_path)} == {"dog"}


def test_an_edited_script_is_read_again(tmp_path):
    script = tmp_path / "s.jsonl"
    for completion in ("A", "B"):
        write_items(script, [{"id": sample.id, "completion": completion} for sample in items(3)])
        go(tmp_path / "run", items(3), build(f"scripted:{script}"))
        assert {record["response"]["text"] for record in predictions(tmp_path / "run")} == {completion}
    assert go(tmp_path / "run", items(3), build(f"scripted:{script}")).progress.resumed == 3


def test_two_functions_of_one_name_answer_for_themselves(tmp_path):
    for text, function in (("A", lambda messages: "A"), ("B", lambda messages: "B")):
        go(tmp_path, items(3), CallableModel(function, "mine"))
        assert {record["response"]["text"] for record in predictions(tmp_path)} == {text}
    assert go(tmp_path, items(3), CallableModel(lambda messages: "B", "mine")).progress.resumed == 3


# ------------------------------------------------------------------------------------------------- what a model may not yield


@pytest.mark.parametrize(
    ("yielded", "said"),
    [
        ("A", "the response is 'A', not a Response"),
        (None, "the response is None, not a Response"),
        (Response(None), "text is None, not a text"),
        (Response(5), "text is 5, not a text"),
        (Response(b"A"), "text is of type bytes, not a text"),
        (Response("A", latency=None), "latency is None, not a number"),
        (Response("A", latency="1"), "latency is '1', not a number"),
        (Response("A", latency=10**400), "latency is beyond every float"),
        (Response("A", label_logprobs=("a",)), "a part of label_logprobs is 'a', not a number"),
        (Response("A", label_logprobs=5), "label_logprobs is 5, not a tuple of numbers"),
        (Response("A", usage={}), "usage is of type dict, not a Usage"),
        (Response("A", usage=Usage("1", 2)), "usage.input_tokens is '1', not a whole number"),
        (
            Response("A", status=[]),
            "status is of type list, not one of ok, truncated, refused, blocked, error, bad_image",
        ),
        (
            Response("A", status="weird"),
            "status is 'weird', not one of ok, truncated, refused, blocked, error, bad_image",
        ),
        (Response("A", status=None), "status is None, not one of ok, truncated, refused, blocked, error, bad_image"),
        (Response("A", error=7), "error is 7, not a text"),
    ],
)
def test_a_response_that_breaks_its_promise_fails_one_sample(tmp_path, yielded, said):
    def generate(requests):
        for number, request in enumerate(requests):
            yield request, yielded if number == 1 else Response("A")

    outcome = go(tmp_path, items(3), Wayward(generate))
    assert (outcome.progress.done, outcome.progress.failed) == (3, 1)
    reason = f"model 'asked' gave a response that cannot be kept: {said}"
    assert outcome.progress.first_failure == f"sample 'q0001': {reason}"
    with Journal(tmp_path / "journal.txt").path.open() as lines:
        assert len(lines.readlines()) == 2
    assert go(tmp_path, items(3), Asked(lambda _: "A")).progress.asked == 1


def test_numbers_of_other_libraries_are_kept_as_numbers(tmp_path):
    odd = Response("A", latency=np.float32(0.5), label_logprobs=[np.float64(-1), 0], usage=Usage(np.int64(3), np.int32(4)))
    go(tmp_path, items(1), Wayward(lambda requests: ((request, odd) for request in requests)))
    stored = json.loads((tmp_path / "predictions.jsonl").read_text())["response"]
    usage = {"input_tokens": 3, "output_tokens": 4}
    assert stored == {"text": "A", "status": "ok", "latency": 0.5, "label_logprobs": [-1.0, 0.0], "usage": usage}


def _pairs_then(last):
    def generate(requests):
        yield next(requests), Response("A")
        next(requests)
        yield last

    return generate


@pytest.mark.parametrize(
    ("generate", "said", "kept"),
    [
        (lambda requests: None, "its generate() returned NoneType", 0),
        (lambda requests: 5, "its generate() returned int", 0),
        (lambda requests: "abc", "its generate() yielded str", 0),
        (_pairs_then(Response("A")), "its generate() yielded Response", 1),
        (_pairs_then(None), "its generate() yielded NoneType", 1),
        (_pairs_then((1, 2, 3)), "its generate() yielded tuple", 1),
    ],
)
def test_a_model_that_breaks_the_protocol_is_named_and_what_was_answered_is_kept(tmp_path, generate, said, kept):
    with pytest.raises(ModelError) as caught:
        go(tmp_path, items(3), Wayward(generate))
    assert str(caught.value) == (
        f"Model 'asked': {said}; expected an iterator of pairs (request, Response). Mend the model and run the same "
        f"command again: what was answered so far is kept."
    )
    assert go(tmp_path, items(3), Asked(lambda _: "A")).progress.resumed == kept


def test_a_bad_picture_of_the_partner_says_whose_it_is(tmp_path):
    def answer(request):
        shown = request.messages[-1].content[0]
        return Response(status="bad_image", error="<picture> is broken.") if shown.data == b"picture 1" else "A"

    go(tmp_path, items(3), Asked(answer), conditions=["image", "swapped"])
    failed = {
        (record["condition"], record["sample"]): record["response"]["error"]
        for record in predictions(tmp_path)
        if record["response"]["status"] == "bad_image"
    }
    [victim] = [sample for condition, sample in failed if condition == "swapped"]
    assert failed == {
        ("image", "q0001"): "<picture> is broken.",
        ("swapped", victim): "<picture> is broken. It is the picture of sample 'q0001', shown under 'swapped'.",
    }


def test_a_crash_closes_a_generator_that_somebody_else_holds(tmp_path):
    closed, held = [], []

    def watched(requests):
        try:
            for request in requests:
                yield request, Response("A")
        finally:
            closed.append(True)

    def generate(requests):
        held.append(watched(requests))
        return held[0]

    def watch(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, items(3), Wayward(generate), watch=watch)
    assert closed == [True]
