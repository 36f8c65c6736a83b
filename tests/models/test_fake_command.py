"""`eyetest serve-fake` as users start it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eyetest.commands import serve_fake as command
from eyetest.commands.grid import GridOptions
from eyetest.errors import UsageError
from eyetest.models.fake_server import FakeServerSettings
from eyetest.models.fake_settings import PRESETS


def told(monkeypatch: pytest.MonkeyPatch, **flags: Any) -> FakeServerSettings:
    """The settings that flags come to."""
    found: list[FakeServerSettings] = []

    def keep(settings: FakeServerSettings, *_: object) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(command, "_serve", keep)
    assert command.serve_fake(**flags) == 0
    return found[0]


def test_flags_reach_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAKE_KEY", "k")
    found = told(
        monkeypatch,
        answers="constant:B",
        latency="uniform:0.1,0.2",
        fault=("429=0.5", "hang=0.1"),
        retry_after=3.0,
        retry_after_form="date",
        ignore_logprobs=True,
        ignore=("n,seed",),
        reject=("max_tokens", "temperature"),
        reasoning="think",
        at_once=4,
        queue=True,
        per_minute=60,
        key_env="FAKE_KEY",
        log=tmp_path / "log",
        grid=GridOptions(seed=7),
    )
    assert found == FakeServerSettings(
        answers="constant:B",
        latencies="uniform:0.1,0.2",
        rates={"429": 0.5, "hang": 0.1},
        retry_after=3.0,
        retry_after_date=True,
        ignore_logprobs=True,
        ignores=("n", "seed"),
        rejects=("max_tokens", "temperature"),
        reasoning="think",
        concurrency=4,
        queue=True,
        per_minute=60,
        require_key="k",
        log=tmp_path / "log",
        seed=7,
    )
    assert told(monkeypatch) == FakeServerSettings(answers="phantom")


def test_flags_overrule_a_kind_of_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, like="flaky").rates == PRESETS["flaky"].rates
    found = told(monkeypatch, like="busy", latency="0.5", retry_after_form="none", fault=("500=0.1",))
    assert (found.latency, found.latencies, found.retry_after, found.concurrency) == (0.5, "", None, 32)
    assert found.rates == {"500": 0.1}
    assert set(command.Kinds.__args__) == set(PRESETS)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"grid": GridOptions(condition=("image",))},
            "The flags of a run need its questions. Name them with --data FILE, --task NAME or a run file.",
        ),
        ({"latency": "uniform:0,1", "spread": 1.0}, "--latency uniform:0,1 has a spread of its own. Leave --spread out."),
        ({"fault": ("429",)}, "--fault '429': write FAULT=RATE, e.g. --fault 429=0.02."),
        ({"key_env": "NO_SUCH_KEY"}, "--key-env NO_SUCH_KEY: the environment variable is not set."),
        ({"max_side": 0, "data": True}, "--max-side 0: give the longer side in pixels, at least 1, or leave it out."),
        ({"answers": "command:cat", "data": True}, "--answers 'command:cat': a run is answered by a simulated model."),
        ({"answers": "majority", "data": True}, "--answers 'majority': a run is answered by a simulated model."),
    ],
)
def test_wrong_flags(flags: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if flags.pop("data", False):
        flags["grid"] = GridOptions(data=(str(items(tmp_path)),), condition=("shuffled",))
    with pytest.raises(UsageError) as raised:
        told(monkeypatch, **flags)
    assert str(raised.value).startswith(message)


def items(folder: Path) -> Path:
    """Questions with options."""
    rows = [{"id": f"q{n}", "question": f"Is {n} even?", "choices": ["yes", "no"], "answer": "yes"} for n in range(3)]
    file = folder / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    line = [sys.executable, "-m", "eyetest", "serve-fake", "--port", "0", *words]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for said in process.stderr:
                if said.startswith("Listening."):
                    yield process, said.split("base_url=")[1].strip()
                    return
            pytest.fail("it did not listen")
        finally:
            process.kill()


def test_a_run_is_rehearsed(tmp_path: Path) -> None:
    """The oracle, which needs to know the sample, behind a server that fails: every item right, none asked after its answer."""
    log = tmp_path / "log.jsonl"
    asks = ("--task", "eyechart_shapes", "--condition", "image,swapped", "--limit", "30", "--seed", "3")
    faults = ("--fault", "500=0.2", "--fault", "429=0.1", "--retry-after", "0", "--log", str(log))
    with serving(*asks, "--answers", "oracle", *faults) as (process, url):
        line = [sys.executable, "-m", "eyetest", "run", *asks, "--model", f"openai:any,base_url={url}", "--no-cache"]
        done = subprocess.run([*line, "--out", str(tmp_path / "run")], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        with urllib.request.urlopen(url.removesuffix("/v1") + "/log") as reply:
            counts = json.loads(reply.read())
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
    assert (counts["ok"], counts["distinct"], counts["asked_again_after_success"]) == (60, 60, 0)
    assert counts["requests"] > 60
    assert said.startswith("Answered: ")
    assert "60 ok" in said
    outcomes = [json.loads(row)["outcome"] for row in log.read_text().splitlines()]
    assert {outcome: outcomes.count(outcome) for outcome in set(outcomes)} == counts["outcomes"]
    rows = [json.loads(row) for row in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
    assert [row["score"]["value"] for row in rows] == [1.0] * 60
