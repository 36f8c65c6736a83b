"""Runs that fail in every way, whose server repeats the key in whatever it says: no file, message or traceback holds it."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import orjson
import pytest

from eyetest.models.fake_server import FakeServer, FakeServerSettings

KEY = "sk-proj/Secret+key=0123456789abcdef"
FORMS = (
    KEY,
    quote(KEY, safe=""),
    quote_plus(KEY),
    repr(KEY)[1:-1],
    orjson.dumps(KEY).decode()[1:-1],
    base64.b64encode(KEY.encode()).decode().rstrip("="),
    KEY[::-1],
    "Secret+key",
    "0123456789abcdef",
)
"""The key and what it looks like written in other ways, whole and in part."""

FAULTS = ("ok", "400", "401", "403", "404", "429", "500", "malformed", "cut", "hang", "blocked", "refused")

CRASH = """
import sys
from eyetest import cli
from eyetest.models import openai_api
def broken(*given, **named): raise RuntimeError("a bug")
openai_api.{function} = broken
cli.main(sys.argv[1:])
"""
"""The command line with a bug in it: its traceback shows arguments."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    lines = [{"id": f"q{number}", "question": f"Which is {number}?", "choices": ["1", "2"], "answer": "1"} for number in range(4)]
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return path


def run(data: Path, url: str, *more: str, program: str | None = None, spec: str = "", **environment: str) -> tuple[int, str]:
    """The exit code of a run with a page, and all that it said."""
    folder = data.parent
    start = [sys.executable, *(["-m", "eyetest.cli"] if program is None else ["-c", program])]
    model = f"openai:any,base_url={url},concurrency=2,retries=1,timeout=2,min_attempt_timeout=0.3{spec}"
    home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder)}
    command = [*start, "run", "--data", str(data), "--condition", "image", "--model", model, "--out", str(folder / "run"), *more]
    inherited = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run(
        command,
        env=inherited | home | {"OPENAI_API_KEY": KEY, "PYTHONFAULTHANDLER": "1", "PYTHONDEVMODE": "1"} | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def holding_the_key(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes().decode("latin-1")
            if any(form in content or form in path.name for form in FORMS):
                yield path


def check(folder: Path, said: str, *, but: Path | None = None) -> None:
    assert [path for path in holding_the_key(folder) if path != but] == []
    assert [form for form in FORMS if form in said] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_no_file_and_no_message_holds_the_key(data: Path, fault: str) -> None:
    settings = FakeServerSettings(require_key=KEY, retry_after=0.1, rates={} if fault == "ok" else {fault: 1.0})
    with FakeServer(answer=lambda body, attempt: f"My key is {KEY}, of course. 1", settings=settings) as server:
        code, said = run(data, server.url)
        assert server.log.requests, said
    assert code == (0 if fault in ("ok", "blocked", "refused") else 1 if "answers failed" in said else 2), said
    assert "Traceback" not in said
    check(data.parent, said)
    if (data.parent / "run" / "predictions.jsonl").exists():
        arguments = [sys.executable, "-m", "eyetest.cli", "report", "run", "--html", "page.html", "--csv", "csv"]
        made = subprocess.run(arguments, cwd=data.parent, capture_output=True, text=True, timeout=120)
        check(data.parent, made.stdout + made.stderr)
        assert (data.parent / "page.html").exists()


def test_a_wrong_key_is_not_repeated(data: Path) -> None:
    with FakeServer(settings=FakeServerSettings(require_key="another")) as server:
        code, said = run(data, server.url)
    assert code == 2
    assert "401" in said
    check(data.parent, said)


@pytest.mark.parametrize("function", ["encode", "decode"])
def test_a_bug_does_not_show_the_key_in_its_traceback(data: Path, function: str) -> None:
    with FakeServer(settings=FakeServerSettings(require_key=KEY)) as server:
        code, said = run(data, server.url, program=CRASH.format(function=function))
    assert code not in (0, 2)
    assert "RuntimeError: a bug" in said
    check(data.parent, said)


def test_a_key_from_a_file_stays_there(data: Path) -> None:
    file = data.parent / "key"
    file.write_text(KEY + "\n")
    with FakeServer(settings=FakeServerSettings(require_key=KEY, rates={"400": 0.5})) as server:
        _, said = run(data, server.url, spec=f",api_key_file={file}", OPENAI_API_KEY="")
        assert server.log.outcomes["ok"]
    check(data.parent, said, but=file)
