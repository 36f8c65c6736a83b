"""A model writes knowledge questions and captions: over real local HTTP, in process, killed, and gone on with."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.made import Asked, text_of
from eyetest.commands.caption import caption
from eyetest.commands.knowledge import knowledge
from eyetest.commands.making import Source
from eyetest.errors import DataError, ModelError, StoreError, UsageError
from eyetest.evaluation.making import Made, MakeSettings, make
from eyetest.evaluation.plan import Dataset, Selection, survey
from eyetest.evaluation.prepared import read_prepared
from eyetest.models import build, openai_api
from eyetest.models.fake_answers import Body, last_user_text
from eyetest.models.fake_server import FakeServer
from eyetest.scorers.converter import prompt_hash
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Image, Request, Response, Sample

KNOWLEDGE, CAPTION = MakeSettings("knowledge"), MakeSettings("caption")


def items(n: int, pictures: int = 100) -> list[Sample]:
    return [
        Sample(f"q{i}", f"Who made monument {i}?", (f"Maker{i}",), kind="text", images=(Image(data=b"%d" % (i % pictures)),))
        for i in range(n)
    ]


def number_in(request: Request) -> int:
    found = re.search(r"Who made monument (\d+)\?", text_of(request))
    assert found
    return int(found[1])


def converted(request: Request) -> str:
    return f"Who built the tower of town {number_in(request)}?"


def made(samples: list[Sample], model: Any, path: Path, settings: MakeSettings = KNOWLEDGE) -> Made:
    task = task_from_samples(samples)
    surveyed = survey(Dataset(task, split=task.splits[0]), Selection(), seed=0, pooled=False)
    return make(surveyed, model, settings, path, watch=lambda _: None)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_item_has_its_line_in_the_order_of_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "new" / "k.jsonl"
    found = made(items(12), Asked(converted, window=5), path)
    assert [line["id"] for line in lines(path)] == [f"q{i}" for i in range(12)]
    first = lines(path)[0]
    assert re.fullmatch("[0-9a-f]{16}", first.pop("request"))
    assert first == {
        "id": "q0",
        "k": "Who built the tower of town 0?",
        "method": "model:asked",
        "model": "asked",
        "prompt_hash": prompt_hash(),
        "flags": [],
    }
    assert (found.samples, found.usable, found.methods, found.progress.asked) == (12, 12, Counter({"model:asked": 12}), 12)


def test_what_is_rejected_is_in_the_file_with_its_flag_and_counted(tmp_path: Path) -> None:
    replies = {
        0: "NOT_CONVERTIBLE",
        1: "Did Maker1 build it?",
        2: "Who made the one in the picture?",
        3: "Same?",
        4: "Same?",
        5: "",
    }
    path = tmp_path / "k.jsonl"
    found = made(items(8), Asked(lambda request: replies.get(number_in(request), converted(request))), path)
    flags = [line["flags"] for line in lines(path)]
    assert flags == [["not_convertible"], ["leak"], ["mentions_picture"], ["duplicate"], ["duplicate"], ["empty"], [], []]
    assert lines(path)[1]["k"] == "Did Maker1 build it?"
    assert (found.usable, found.flags["duplicate"], found.flags["leak"]) == (2, 2, 1)
    assert read_prepared(path, "knowledge").lines["q3"].rejected == ("duplicate",)


def test_a_duplicate_that_was_asked_otherwise_again_is_none_any_more(tmp_path: Path) -> None:
    path, samples = tmp_path / "k.jsonl", items(3)
    made(samples, Asked(lambda _: "Same?"), path)
    assert [line["flags"] for line in lines(path)] == [["duplicate"]] * 3
    made(samples[:1], Asked(converted, name="other"), path)
    assert lines(path)[0]["flags"] == []
    made(samples, Asked(converted, name="other"), path)
    assert [line["flags"] for line in lines(path)] == [[]] * 3


def test_only_what_is_missing_or_was_asked_otherwise_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    made(items(6), Asked(converted), path)
    before = path.read_bytes()
    again = Asked(converted)
    found = made(items(6), again, path)
    assert (again.seen, found.progress.resumed, path.read_bytes()) == ([], 6, before)
    more = Asked(converted)
    made(items(9), more, path)
    assert sorted(map(number_in, more.seen)) == [6, 7, 8]
    other = Asked(converted)
    made(items(9), other, path, MakeSettings("knowledge", pictures=False))
    assert len(other.seen) == 9
    assert len(lines(path)) == 9


def test_lines_of_a_person_and_of_other_ids_stay(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    path.write_text('{"id": "q1", "k": "By hand?", "flags": ["mine"]}\n{"id": "gone", "k": "Old?"}')  # no line break at the end
    model = Asked(converted)
    found = made(items(3), model, path)
    assert sorted(map(number_in, model.seen)) == [0, 2]
    assert [(line["id"], line["k"]) for line in lines(path)][1::2] == [("q1", "By hand?"), ("gone", "Old?")]
    assert lines(path)[1]["flags"] == ["mine"]
    assert found.methods == {"model:asked": 2, "file": 1}


def test_a_killed_pass_loses_nothing_and_half_a_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"

    def dies(request: Request) -> str:
        if number_in(request) == 4:
            raise KeyboardInterrupt
        return converted(request)

    model = Asked(dies)
    with pytest.raises(KeyboardInterrupt):
        made(items(8), model, path)
    assert model.closed >= 1
    assert [line["id"] for line in lines(path)] == ["q0", "q1", "q2", "q3"]
    with path.open("a") as file:
        file.write('{"id": "q4", "k": "Who bui')
    again = Asked(converted)
    found = made(items(8), again, path)
    assert sorted(map(number_in, again.seen)) == [4, 5, 6, 7]
    assert (found.usable, len(lines(path))) == (8, 8)


def test_failures_are_counted_and_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    statuses = {1: Response(status="error", error="HTTP 500"), 2: Response("I can't.", status="refused")}
    found = made(items(4), Asked(lambda request: statuses.get(number_in(request)) or converted(request)), path)
    assert (found.usable, found.progress.failed) == (2, 2)
    assert found.progress.first_failure == "sample 'q1': error: HTTP 500"
    assert [line["id"] for line in lines(path)] == ["q0", "q3"]
    again = Asked(converted)
    assert made(items(4), again, path).usable == 4
    assert sorted(map(number_in, again.seen)) == [1, 2]


def test_an_id_that_no_file_can_hold_fails_alone(tmp_path: Path) -> None:
    samples = [*items(1), Sample("caf\udce9", "Who made monument 5?", ("x",), kind="text")]
    found = made(samples, Asked(converted), tmp_path / "k.jsonl")
    assert (found.usable, found.progress.failed) == (1, 1)
    assert "its id is no Unicode text and cannot stand in a file" in found.progress.first_failure
    assert len(read_prepared(tmp_path / "k.jsonl", "knowledge").lines) == 1


def test_a_picture_that_cannot_be_read_fails_alone(tmp_path: Path) -> None:
    samples = [*items(2), Sample("torn", "Who?", ("x",), kind="text", images=(Image(path=str(tmp_path / "no.png")),))]
    found = made(samples, Asked(lambda _: "A tower."), tmp_path / "c.jsonl", CAPTION)
    assert (found.usable, found.progress.failed) == (2, 1)
    assert "no.png" in found.progress.first_failure


def test_equal_pictures_are_described_once_and_items_without_one_not_at_all(tmp_path: Path) -> None:
    samples = [*items(9, pictures=3), Sample("bare", "Who?", ("x",), kind="text")]
    model = Asked(lambda _: "A tower.", window=2)
    found = made(samples, model, tmp_path / "c.jsonl", CAPTION)
    assert len(model.seen) == 3
    assert (found.usable, found.nothing, found.progress.shared) == (9, 1, 6)
    assert {line["caption"] for line in lines(tmp_path / "c.jsonl")} == {"A tower."}
    assert "method" not in lines(tmp_path / "c.jsonl")[0]


def test_simulated_models_answer_their_own_sample(tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text(
        "".join(json.dumps({"id": f"q{i}", "condition": "knowledge", "completion": f"K {i}?"}) + "\n" for i in range(3))
    )
    assert made(items(3), build(f"scripted:{script}"), tmp_path / "k.jsonl").usable == 3
    oracle = made(items(3), build("oracle"), tmp_path / "o.jsonl")
    assert (oracle.usable, oracle.flags) == (0, Counter({"leak": 3}))


@pytest.mark.parametrize(
    "reply", [lambda request: [(request, Response("K?"))] * 2, lambda request: [(Request(()), Response("K?"))]]
)
def test_a_model_that_answers_twice_or_what_was_not_asked_is_named(tmp_path: Path, reply: Callable[[Request], Any]) -> None:
    class Wrong(Asked):
        def generate(self, requests: Any) -> Any:
            for request in requests:
                yield from reply(request)

    with pytest.raises(ModelError, match="Model 'wrong' yielded a request that it was not given, or answered one twice"):
        made(items(2), Wrong(name="wrong"), tmp_path / "k.jsonl")


def test_a_request_that_is_never_answered_is_a_failure(tmp_path: Path) -> None:
    class Silent(Asked):
        def generate(self, requests: Any) -> Any:
            list(requests)
            return iter(())

    found = made(items(2), Silent(), tmp_path / "k.jsonl")
    assert (found.progress.failed, found.progress.first_failure) == (2, "sample 'q0': error: the model never answered")


def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(DataError, match=r"bad JSON: notes\.txt:1"):
        made(items(1), Asked(converted), path)
    assert path.read_text() == "my notes\n"
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        made(items(1), Asked(converted), tmp_path)


@pytest.mark.parametrize("foreign", ["one line without an end", "two\nlines", '{"other": 1'])
def test_the_end_of_somebody_elses_file_is_not_cut_off(tmp_path: Path, foreign: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(foreign)
    with pytest.raises(DataError, match=r"notes\.txt"):
        made(items(1), Asked(converted), path)
    assert path.read_text() == foreign


def test_settings_out_of_range() -> None:
    with pytest.raises(UsageError, match="--max-tokens 0: give a number of tokens, 1 or more"):
        MakeSettings("caption", max_tokens=0)


# --- the commands, over real local HTTP ---------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(openai_api, "BACKOFF", 0.02)
    monkeypatch.setattr(openai_api, "GREETING", 0.02)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    from PIL import Image as pil

    rows = []
    for i in range(6):
        pil.new("RGB", (4, 4), (40 * i, 0, 0)).save(tmp_path / f"{i}.png")
        rows.append({"id": f"q{i}", "question": f"Who made monument {i}?", "answer": f"Maker{i}", "image": f"{i}.png"})
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def reply(body: Body, _attempt: int) -> str:
    found = re.search(r"Who made monument (\d)\?", last_user_text(body))
    if found is None:
        return "A tower on a square."
    return "NOT_CONVERTIBLE" if found[1] == "0" else f"Who built the tower of town {found[1]}?"


def test_knowledge_by_command(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = data.parent / "k.jsonl"
    with FakeServer(answer=reply) as server:
        assert knowledge(str(data), model=f"openai:gpt,base_url={server.url}", out=out, source=Source(limit="5")) == 0
        assert knowledge(str(data), model=f"openai:gpt,base_url={server.url}", out=out) == 0
        assert server.log.requests == 6
    shown = capsys.readouterr()
    assert f"{out}: 5 of 6 items (83.3%) have a usable knowledge question." in shown.out
    assert "rejected, not_convertible: 1 (16.7%): the model says that it cannot be asked without the picture" in shown.out
    assert "1 requests, 5 from before, 0 shared." in shown.err


def test_caption_by_command_and_what_failed_has_its_exit_code(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = data.parent / "c.jsonl"
    with FakeServer(faults=("400",)) as server:
        assert caption(str(data), model=f"openai:gpt,base_url={server.url},retries=0", out=out, source=Source(limit="2")) == 1
    shown = capsys.readouterr()
    assert "2 of 2 failed. Run the same command again to ask exactly for those. The first: sample 'q" in shown.err
    with FakeServer(answer=reply) as server:
        assert caption(str(data), model=f"openai:gpt,base_url={server.url}", out=out) == 0
    assert [line["caption"] for line in lines(out)] == ["A tower on a square."] * 6


def test_a_dataset_may_be_a_registered_task(tmp_path: Path) -> None:
    assert caption("eyechart_shapes", model="constant:Shapes.", out=tmp_path / "c.jsonl", source=Source(limit="3")) == 0
    assert len(lines(tmp_path / "c.jsonl")) == 3


def test_the_data_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "q1", "k": "K?", "question": "Q?", "answer": "A"}\n')
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"d\.jsonl: is the data file itself, which would be overwritten\. Name another file\."):
        knowledge(str(path), model="constant:x", out=tmp_path / "." / "d.jsonl")
    assert path.read_bytes() == before
