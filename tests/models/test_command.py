"""`command:PROGRAM`: programs that behave, misbehave, hang and die."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from eyetest.errors import ModelError, UsageError
from eyetest.models import command_pool, command_process, command_wire
from eyetest.models.command import CommandModel, command, read_settings
from eyetest.models.command_wire import decode, encode, parse
from eyetest.types import Generation, Image, Message, Origin, Request, Response, Sample, Usage

ROOT = Path(__file__).parents[2]
LOOP = """import json, os, sys, time
for line in sys.stdin:
    r = json.loads(line)
    text = r['messages'][-1]['content'][-1]['text']
"""
REPLY = "    print(json.dumps({'id': r['id'], 'text': text.upper()}))\n"

Make = Callable[..., CommandModel]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Builds a model from the source of a program; ends what the test leaves running."""
    monkeypatch.setattr(command_pool, "BACKOFF", 0.01)
    monkeypatch.setattr(command_process, "FAREWELL", 0.2)
    monkeypatch.setattr(command_process, "GRACE", 0.5)
    made: list[CommandModel] = []

    def build(source: str, options: str = "") -> CommandModel:
        file = tmp_path / f"program_{len(made)}.py"
        file.write_text(source)
        model = command(f"{shlex.quote(sys.executable)} -S {file}{',' + options if options else ''}", {}, 0)
        assert isinstance(model, CommandModel)
        made.append(model)
        return model

    yield build
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in made:
            model.close()


def ask(text: str, *more: str | Image, labels: tuple[str, ...] = ()) -> Request:
    return Request((Message("user", (*more, text)),), labels=labels)


def answers(model: CommandModel, *texts: str) -> dict[str, Response]:
    requests = [ask(text) for text in texts]
    found = list(model.generate(iter(requests)))
    assert sorted(id(request) for request, _ in found) == sorted(map(id, requests))
    return {str(request.messages[0].content[-1]): response for request, response in found}


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for counts as running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


# --- the wire --------------------------------------------------------------------------------------------------------


def png() -> bytes:
    file = io.BytesIO()
    Pillow.new("RGB", (3, 2), "red").save(file, "PNG")
    return file.getvalue()


def test_a_request_is_one_line_and_tells_nothing_of_its_origin() -> None:
    origin = Origin("SECRET-TASK", Sample("SECRET-ID", "SECRET-QUESTION", ("SECRET-TARGET",)), "SECRET-CONDITION")
    messages = (Message("system", ("Be\nbrief. 🙂",)), Message("user", (Image(data=png()), "Red?")))
    line = encode("7", Request(messages, Generation(0.5, 0.9, 7, 3), ("yes", "no"), origin))
    assert line.count(b"\n") == 1
    assert b"SECRET" not in line
    assert json.loads(line) == {
        "id": "7",
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be\nbrief. 🙂"}]},
            {
                "role": "user",
                "content": [
                    {"type": "image", "mime": "image/png", "base64": base64.b64encode(png()).decode()},
                    {"type": "text", "text": "Red?"},
                ],
            },
        ],
        "generation": {"temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "seed": 3},
        "labels": ["yes", "no"],
    }


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"text": "a"}, Response("a")),
        ({"text": "a", "status": None, "error": None, "usage": None, "label_logprobs": None}, Response("a")),
        ({"text": "", "label_logprobs": []}, Response("")),
        ({"text": "a", "status": "truncated", "usage": {"input_tokens": 2}}, Response("a", "truncated", usage=Usage(2, 0))),
        ({"status": "bad_image"}, Response(status="bad_image", error="the program gave no reason")),
        ({"status": "refused", "error": "no"}, Response(status="refused", error="no")),
    ],
)
def test_an_answer_becomes_a_response(record: dict[str, Any], expected: Response) -> None:
    assert decode({"id": "1", **record}, ()) == expected


def test_probabilities_come_as_floats_in_the_order_of_the_labels() -> None:
    found = decode({"id": "1", "text": "a", "label_logprobs": [-1, -0.5]}, ("a", "b"))
    assert found.label_logprobs == (-1.0, -0.5)
    assert type((found.label_logprobs or ())[0]) is float


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({}, "text is None, not a text"),
        ({"text": 3}, "text is 3, not a text"),
        ({"text": "a", "status": "fine"}, "status is 'fine', not one of ok, truncated, refused, blocked, error, bad_image"),
        ({"text": "a", "status": ""}, "status is '', not one of"),
        ({"text": "a", "status": ["ok"]}, "status is of type list, not one of"),
        ({"text": "a", "logprobs": 1}, "unknown field 'logprobs'. Did you mean 'label_logprobs'? Known: id, text, status,"),
        ({"text": "a", "label_logprobs": [-1.0]}, "label_logprobs holds 1 values, and 2 labels were asked for"),
        ({"text": "a", "label_logprobs": 3}, "label_logprobs holds int, and 2 labels were asked for"),
        ({"text": "a", "label_logprobs": [-1.0, float("-inf")]}, "label_logprobs holds -inf, which is no finite number"),
        ({"text": "a", "label_logprobs": [-1.0, "x"]}, "label_logprobs holds 'x', which is no finite number"),
        ({"text": "a", "usage": {"prompt_tokens": 1}}, 'usage is not {"input_tokens": NUMBER, "output_tokens": NUMBER}'),
        ({"text": "a", "usage": {"input_tokens": "x"}}, "usage.input_tokens is 'x', not a whole number"),
    ],
)
def test_a_wrong_answer_is_an_error_that_says_what_is_wrong(record: dict[str, Any], reason: str) -> None:
    found = decode({"id": "1", **record}, ("a", "b"))
    assert found.status == "error"
    assert (found.error or "").startswith(f"The program's answer cannot be used: {reason}")


@pytest.mark.parametrize("line", [b"", b"Loading...", b"[1]", b"{}", b'{"id": 3, "text": "a"}', b"\xff", b"[" * 100_000])
def test_what_is_no_answer(line: bytes) -> None:
    assert parse(line) is None


def test_a_long_text_is_cut_and_counts_as_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_wire, "LONGEST_TEXT", 3)
    assert decode({"id": "1", "text": "abc"}, ()) == Response("abc")
    assert decode({"id": "1", "text": "abcd"}, ()) == Response("abc", "truncated")
    assert decode({"id": "1", "text": "abcd", "status": "refused"}, ()) == Response("abc", "refused")


# --- the spec --------------------------------------------------------------------------------------------------------


def test_options_stand_behind_the_command_and_win_over_the_run_files() -> None:
    found = read_settings("my prog 'a b' --x=1,2 c,window=3 ,timeout=2.5", {"window": "7", "processes": "2"})
    assert found.words == ("my", "prog", "a b", "--x=1,2", "c")
    assert (found.window, found.timeout, found.processes, found.restarts) == (3, 2.5, 2, 3)


@pytest.mark.parametrize(
    ("argument", "options", "message"),
    [
        ("", {}, "command needs a program. Write command:PROGRAM [ARGUMENTS], e.g. 'command:python model.py'."),
        (",window=2", {}, "command needs a program."),
        ("a 'b", {}, "command:a 'b: cannot be split into words (No closing quotation). Close the quotation, or escape it."),
        ("a,window=0", {}, "command: window=0 is too small; expected 1 or more."),
        ("a,restarts=-1", {}, "command: restarts=-1 is too small; expected 0 or more."),
        ("a,timeout=nan", {}, "command: timeout=nan is not a number of seconds above 0."),
        ("a,timeout=soon", {}, "command: option timeout='soon' is not a number."),
        (
            "a",
            {"windows": "2"},
            "command has no option 'windows'. Did you mean 'window'? Known: processes, restarts, timeout, window.",
        ),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(argument: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        command(argument, options, 0)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=re.escape("command:nowhere x: the program 'nowhere' is neither a file nor on the PATH. Write")
    ):
        command("nowhere x", {}, 0)
    (tmp_path / "p").write_text("")
    with pytest.raises(ModelError, match=r"is not executable \(chmod \+x\)"):
        command(str(tmp_path / "p"), {}, 0)


def test_a_file_that_is_no_program_is_a_model_error(tmp_path: Path) -> None:
    file = tmp_path / "p"
    file.write_bytes(b"\x00\x01")
    file.chmod(0o755)
    model = command(str(file), {}, 0)
    with pytest.raises(ModelError, match=r"cannot be started \(Exec format error\)\. It must be a program"):
        list(model.generate(iter([ask("x")])))
    model.close()


def test_the_identity_follows_the_contents_and_nothing_else(tmp_path: Path) -> None:
    script, weights, program = tmp_path / "s.py", tmp_path / "w", shlex.quote(sys.executable)
    script.write_text("1")
    weights.write_text("1")

    def found(more: str = "") -> str:
        return command(f"{program} {script} --weights={weights}{more}", {}, 0).identity

    first = found()
    assert first == found() == found(",window=1,timeout=9,processes=2,restarts=0")
    assert re.fullmatch(r"command \S+ \S+ --weights=\S+ sha256:[0-9a-f]{16}(,[0-9a-f]{16}){2} images=\S+", first)
    script.write_text("2")
    second = found()
    weights.write_text("2")
    assert len({first, second, found(), found(" --version 2")}) == 4


def test_a_secret_on_the_command_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "abcdefgh1234")
    with pytest.raises(UsageError) as caught:
        command(f"{shlex.quote(sys.executable)} x.py --key=abcdefgh1234", {}, 0)
    assert "holds the value of the environment variable MY_API_KEY" in str(caught.value)
    assert "abcdefgh1234" not in str(caught.value)


# --- asking ----------------------------------------------------------------------------------------------------------


def test_the_example_of_the_docs_answers() -> None:
    page, file = (ROOT / "docs" / "models.md").read_text(encoding="utf-8"), ROOT / "examples" / "command_model.py"
    code = file.read_text(encoding="utf-8").split('"""\n\n', 1)[1]
    assert f"```py\n{code}```" in page
    assert len([line for line in code.splitlines() if line]) <= 10
    model = command(f"{shlex.quote(sys.executable)} {file}", {}, 0)
    [(_, response)] = model.generate(iter([ask("Red?", Image(data=png()), Image(data=png()))]))
    model.close()
    assert (response.text, response.status) == ("I was shown 2 pictures and 1 texts.", "ok")
    assert 0 < response.latency < 60


def test_answers_may_come_in_any_order_within_the_window(make: Make) -> None:
    held = (
        LOOP
        + "    held.append((r['id'], text))\n    if len(held) == 4:\n"
        + ("        for id, text in held[::-1]: print(json.dumps({'id': id, 'text': text}))\n        held.clear()\n")
    )
    model = make("held = []\n" + held, "window=4")
    found = [response.text for _, response in model.generate(ask(str(number)) for number in range(8))]
    assert found == ["3", "2", "1", "0", "7", "6", "5", "4"]


def test_requests_are_pulled_a_window_ahead_and_the_program_is_kept(make: Make) -> None:
    model = make(LOOP + "    print(json.dumps({'id': r['id'], 'text': str(os.getpid())}))\n", "window=3")
    pulled = []

    def endless() -> Iterator[Request]:
        while True:
            pulled.append(1)
            yield ask("x")

    stream = model.generate(endless())
    assert not pulled
    pids = {next(stream)[1].text for _ in range(5)}
    assert 5 <= len(pulled) <= 8
    stream.close()
    pids |= {next(model.generate(iter([ask("y")])))[1].text}
    assert len(pids) == 1
    model.close()
    model.close()
    assert gone(int(pids.pop()))
    assert answers(model, "z")["z"].status == "ok"  # started again


def test_several_processes_work_at_once(make: Make) -> None:
    model = make(
        LOOP + "    time.sleep(.05)\n    print(json.dumps({'id': r['id'], 'text': str(os.getpid())}))\n", "processes=2,window=1"
    )
    assert len({response.text for response in answers(model, *map(str, range(12))).values()}) == 2


def test_what_cannot_be_sent_is_answered_here(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyetest.models.command.LONGEST_REQUEST", 2**20)
    model = make(LOOP + REPLY)
    requests = [ask("a", Image(data=png()[:40])), ask("\ud800"), ask("x" * 2**21), ask("fine")]
    found = {id(request): response for request, response in model.generate(iter(requests))}
    bad, surrogate, long, fine = (found[id(request)] for request in requests)
    assert (bad.status, surrogate.status, long.status, fine.text) == ("bad_image", "error", "error", "FINE")
    assert (surrogate.error or "").startswith("The prompt cannot be sent as UTF-8: ")
    assert long.error == "The request is a line of 2 MB, over the limit of 1 MB."


def test_lines_that_answer_nothing_are_counted_and_named(make: Make) -> None:
    source = "print('Loading ' * 100)\n" + LOOP + REPLY + REPLY  # the second answer to an id is one, too
    model = make(source)
    assert {response.text for response in answers(model, "a", "b").values()} == {"A", "B"}
    with pytest.warns(
        RuntimeWarning, match=r"[23] lines on its standard output answered no request; the first: 'Loading Load.{0,200}'\."
    ):
        model.close()


def test_an_answer_that_cannot_be_used_fails_one_sample(make: Make) -> None:
    model = make(LOOP + "    print(json.dumps({'id': r['id'], 'txt': text} if text == 'b' else {'id': r['id'], 'text': text}))\n")
    found = answers(model, "a", "b", "c")
    assert [found[text].status for text in "abc"] == ["ok", "error", "ok"]
    assert "unknown field 'txt'" in (found["b"].error or "")


def test_secrets_are_taken_out_of_answers_and_errors(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "abcdefgh1234")
    tell = "    k = os.environ['MY_TOKEN']\n    if text == 'die': sys.exit(f'bad token {k}')\n"
    found = answers(make(LOOP + tell + "    print(json.dumps({'id': r['id'], 'text': 'it is ' + k}))\n"), "a", "die")
    assert found["a"].text == "it is [key]"
    assert "Its standard error ends with: bad token [key]" in (found["die"].error or "")
    assert "abcdefgh1234" not in repr(found)


def test_a_certificate_among_the_secrets_costs_no_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PRIVATE_KEY", "-----BEGIN\n" + "aB3/x-" * 500)
    model = make(LOOP + "    print(json.dumps({'id': r['id'], 'text': '50% of ' + os.environ['MY_PRIVATE_KEY']}))\n")
    started = time.process_time()
    assert answers(model, "a")["a"].text == "50% of [key]"
    assert time.process_time() - started < 3


def test_unicode_and_large_answers_pass(make: Make) -> None:
    said = answers(
        make(LOOP + "    print(json.dumps({'id': r['id'], 'text': text * 4}, ensure_ascii=False))\n"),
        "",
        "é🙂\u202eא\n",
        "x" * 250_000,
    )
    assert {text: response.text for text, response in said.items()} == {text: text * 4 for text in said}


# --- dying -----------------------------------------------------------------------------------------------------------


def test_the_request_that_kills_the_program_fails_and_its_neighbours_do_not(make: Make) -> None:
    model = make(LOOP + "    if text == 'poison':\n        print('oh no', file=sys.stderr)\n        os._exit(7)\n" + REPLY)
    found = answers(model, "a", "b", "poison", "c", "d", "e")
    assert found.pop("poison").error == (
        "The program ended with exit code 7, for the second time while it held this request. Its standard error ends with: oh no"
    )
    assert {text: response.text for text, response in found.items()} == {text: text.upper() for text in "abcde"}


def test_a_program_that_dies_once_answers_all(make: Make, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    source = LOOP + f"    if text == 'c' and not os.path.exists({str(mark)!r}):\n        open({str(mark)!r}, 'w')\n"
    source += "        os.kill(os.getpid(), 9)\n"
    found = answers(make(source + REPLY), *"abcdef")
    assert {text: response.text for text, response in found.items()} == {text: text.upper() for text in "abcdef"}


def test_a_program_of_one_answer_is_started_for_each(make: Make) -> None:
    found = answers(make(LOOP + REPLY + "    break\n", "window=1"), *"abc")
    assert [found[text].text for text in "abc"] == ["A", "B", "C"]


def test_a_program_that_cannot_work_ends_the_run(make: Make, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    model = make(
        f"import sys\nopen({str(starts)!r}, 'a').write('x')\nprint('Hello')\nsys.exit('no weights here')\n", "restarts=2"
    )
    with pytest.raises(ModelError) as caught:
        list(model.generate(iter([ask("a"), ask("b"), ask("c"), ask("d")])))
    message = str(caught.value)
    assert "the program ended with exit code 1; that makes 3 ends in a row without an answer (restarts=2)." in message
    assert "Its standard error ends with: no weights here" in message
    assert "3 lines on its standard output answered no request; the first: 'Hello'." in message
    assert "Run it by hand" in message
    assert starts.read_text() == "xxx"


def test_a_request_that_hangs_is_ended_with_the_program(make: Make, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    source = (
        f"import os\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\n"
        + LOOP
        + "    if text == 'hang': time.sleep(99)\n"
        + REPLY
    )
    started = time.monotonic()
    found = answers(make(source, "timeout=0.5,window=4"), "a", "b", "hang", "c")
    assert time.monotonic() - started < 15
    error = found.pop("hang").error or ""
    assert re.match(
        r"The program gave no answer within [\d.]+ s, for the second time while it held this request\. It wrote nothing", error
    )
    assert {text: response.text for text, response in found.items()} == {"a": "A", "b": "B", "c": "C"}
    first, second, *_ = map(int, pids.read_text().split())
    assert gone(first)
    assert gone(second)


def test_one_request_cannot_be_left_out_for_ever(make: Make) -> None:
    model = make(
        LOOP + "    if text != 'skip':\n        time.sleep(.1)\n        print(json.dumps({'id': r['id'], 'text': text}))\n",
        "timeout=0.4,window=2",
    )
    found = answers(model, "a", "skip", *map(str, range(40)))
    assert re.match(
        r"The program (left a request unanswered for [\d.]+ s|gave no answer within \d)", found.pop("skip").error or ""
    )
    assert {response.status for response in found.values()} == {"ok"}


def test_loading_may_take_longer_than_an_answer(make: Make) -> None:
    found = answers(make("import time\ntime.sleep(1)\n" + LOOP + REPLY, "timeout=0.5"), "a")
    assert found["a"].text == "A"


def test_a_line_without_end_ends_the_program(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_process, "LONGEST_ANSWER", 2**20)
    monkeypatch.setattr(command_pool, "LONGEST_ANSWER", 2**20)
    found = answers(make(LOOP + "    if text == 'big': print('x' * 10_000_000)\n" + REPLY), "a", "big", "b")
    assert "The program wrote a line of more than 1 MB, for the second time" in (found.pop("big").error or "")
    assert [found[text].text for text in "ab"] == ["A", "B"]


def test_standard_error_is_drained_and_its_last_lines_are_kept(make: Make) -> None:
    flood = "    for n in range(20_000): print('line', n, 'x' * 50, file=sys.stderr)\n    if text == 'die': sys.exit(3)\n"
    found = answers(make(LOOP + flood + REPLY), "a", "die")
    assert found["a"].text == "A"
    error = found["die"].error or ""
    assert "line 19999 " in error
    assert len(error) < 3_000


# --- closing ---------------------------------------------------------------------------------------------------------


def test_closing_in_mid_stream_yields_what_is_done_and_ends_everything(make: Make) -> None:
    stubborn = (
        "import signal, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        + LOOP
        + (
            "    child = subprocess.Popen(['sleep', '99'])\n"
            "    print(json.dumps({'id': r['id'], 'text': f'{os.getpid()} {child.pid}'}))\n"
            "    time.sleep(99)\n"
        )
    )
    model = make(stubborn, "timeout=50")
    stream = model.generate(ask(str(number)) for number in range(100))
    pids = [int(pid) for pid in next(stream)[1].text.split()]
    started = time.monotonic()
    model.close()
    assert list(stream) == []
    assert time.monotonic() - started < 10
    assert [gone(pid) for pid in pids] == [True, True]


def test_a_reader_that_goes_away_leaves_a_working_model(make: Make) -> None:
    model = make(LOOP + "    time.sleep(.02)\n" + REPLY, "window=4")
    for _ in range(3):
        stream = model.generate(ask(str(number)) for number in range(50))
        next(stream)
        stream.close()
    assert answers(model, "a", "b")["b"].text == "B"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.close()  # answers that nobody waits for are no strays


@pytest.mark.parametrize("interrupted", [True, False])
def test_neither_ctrl_c_nor_a_forgotten_close_leaves_a_program_behind(tmp_path: Path, interrupted: bool) -> None:
    program, pid_file = tmp_path / "p.py", tmp_path / "pid"
    program.write_text(
        f"import os\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()))\n"
        + LOOP
        + f"    time.sleep({99 * interrupted})\n"
        + REPLY
    )
    code = (
        "import sys\nfrom eyetest.models.command import command\nfrom eyetest.types import Message, Request\n"
        f"model = command({f'{shlex.quote(sys.executable)} {program}'!r}, {{}}, 0)\n"
        "print(next(model.generate(iter([Request((Message('user', ('a',)),))])))[1].text)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if interrupted:
        until = time.monotonic() + 30
        while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=30)
    if interrupted:
        assert "KeyboardInterrupt" in errors
    else:
        assert (out, errors, child.returncode) == ("A\n", "", 0)
    assert gone(int(pid_file.read_text()))


# --- LLaMA-Adapter-v2 ------------------------------------------------------------------------------------------------

LLAMA = """
print("Trainable param: to standard output, as the original does")
class Picture:
    def __init__(self, size): self.size = size
    def unsqueeze(self, axis): return self
    def to(self, device): return self
class Model:
    def eval(self): pass
    def generate(self, pictures, prompts, max_gen_len, temperature, top_p):
        if len(prompts[0]) > 512: raise RuntimeError("The expanded size of the tensor must match")
        return [f" {pictures.size} {prompts[0]} {max_gen_len} {temperature} {top_p}"]
def load(name, folder, llama_type, device):
    assert (name, folder, llama_type) == ("BIAS-7B", "/weights", "7B")
    return Model(), lambda picture: Picture(picture.size)
def format_prompt(text): return f"### {text} ###"
"""


def test_the_wrapper_of_the_docs_speaks_the_protocol(tmp_path: Path) -> None:
    """With a stand-in for the original repository: what is tested is our half."""
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    [code] = [block for block in re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "llama.load" in block]
    (tmp_path / "eyetest_adapter.py").write_text(code, encoding="utf-8")
    (tmp_path / "llama.py").write_text(LLAMA, encoding="utf-8")
    model = command(f"{shlex.quote(sys.executable)} {tmp_path / 'eyetest_adapter.py'} /weights", {}, 0)
    requests = [ask("Red?", Image(data=png())), ask("Red?"), ask("x" * 600, Image(data=png()))]
    found = {id(request): response for request, response in model.generate(iter(requests))}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.close()  # what loading prints went to standard error
    seen, blind, long = (found[id(request)] for request in requests)
    assert (seen.status, seen.text) == ("ok", "(3, 2) ### Red? ### 256 0.0 1.0")
    assert blind.error == "LLaMA-Adapter-v2 needs one picture, and was given 0; use the condition blank"
    assert long.error == "The expanded size of the tensor must match"
