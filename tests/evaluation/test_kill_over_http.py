"""kill -9 of the client and of the server in the middle of a run over real HTTP; then the same command again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import orjson
import pytest

from eyetest.models.fake_server import FakeServer, FakeServerSettings

N = 300
AT_ONCE = 8
CLI = (sys.executable, "-m", "eyetest.cli")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [{"id": f"q{number}", "question": f"Which is {number}?", "choices": ["1", "2"], "answer": "1"} for number in range(N)]
    (tmp_path / "data.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return tmp_path


def client(folder: Path, url: str, options: str = "") -> subprocess.Popen[str]:
    model = f"openai:any,base_url={url},concurrency={AT_ONCE}{options}"
    command = [*CLI, "run", "--data", "data.jsonl", "--condition", "image", "--model", model, "--out", "run", "--no-cache"]
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "nothing happened for a minute"
        time.sleep(0.005)


def kept(folder: Path) -> int:
    """Answers that the journal holds."""
    journal = folder / "run" / "journal.txt"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def statuses(folder: Path) -> list[str]:
    lines = (folder / "run" / "predictions.jsonl").read_bytes().splitlines()
    return [orjson.loads(line)["response"]["status"] for line in lines]


@pytest.mark.parametrize("at", [1, 150])
def test_a_killed_client_asks_only_what_its_journal_lacks(folder: Path, at: int) -> None:
    with FakeServer(answer=lambda body, attempt: "1", settings=FakeServerSettings(latency=0.02)) as server:
        first = client(folder, server.url)
        wait_until(lambda: server.log.outcomes["ok"] >= at)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        time.sleep(0.2)  # what was in flight is counted when it is answered
        held, before = kept(folder), server.log.requests
        second = client(folder, server.url)
        assert second.wait(60) == 0
        assert server.log.requests - before == N - held
        assert before - held <= 2 * AT_ONCE + AT_ONCE  # in flight, waiting to be read, and answered but not yet written
        assert max(server.log.attempts.values()) <= 2
        assert len(server.log.attempts) == N
        third = client(folder, server.url)
        assert third.wait(60) == 0
        assert server.log.requests - before == N - held
    assert statuses(folder) == ["ok"] * N


def serving(port: int) -> subprocess.Popen[str]:
    command = [*CLI, "serve-fake", "--port", str(port), "--answers", "constant:1", "--latency", "0.02"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "Listening" in process.stderr.readline()
    return process


def served(port: int) -> int:
    """Requests that the server says it got."""
    with urlopen(f"http://127.0.0.1:{port}/log", timeout=5) as reply:
        return int(sum(orjson.loads(reply.read())["outcomes"].values()))


def test_a_killed_server_fails_what_it_did_not_answer_and_nothing_else(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    server = serving(port)
    run = client(folder, url, ",retries=1")
    wait_until(lambda: kept(folder) >= 100)
    server.kill()
    server.communicate()
    _, said = run.communicate(timeout=60)
    assert run.returncode == 1, said
    held = kept(folder)
    found = re.search(rf"(\d+) of {N} answers failed\. Run the same command again to ask exactly those\.", said)
    assert found, said
    assert int(found[1]) == N - held == statuses(folder).count("error")
    server = serving(port)
    try:
        again = client(folder, url, ",retries=1")
        assert again.wait(60) == 0
        assert served(port) == N - held
    finally:
        server.terminate()
        server.communicate()
    assert statuses(folder) == ["ok"] * N
