"""The embedded model behind `transformers serve`, a real server over real HTTP, beside the same model in this process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from eyetest.eyechart import MODEL, samples
from eyetest.models.huggingface import hf
from eyetest.models.openai_api import openai
from eyetest.prompts import Prompt, render
from eyetest.readers.load_report import LoadReport
from eyetest.types import Generation, Model, Request, Response

torch.set_num_threads(1)

START = 180.0
"""Seconds that the server may take to load: 5 on a quiet machine."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).parent / "transformers"
    command = [program, "serve", MODEL, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    log = tmp_path_factory.mktemp("serve") / "log"
    with log.open("wb") as said, subprocess.Popen(command, env=offline, stdout=said, stderr=said) as process:
        try:
            _await(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"transformers serve did not come up:\n{log.read_text()[-2000:]}")


def requests() -> list[Request]:
    """Sixteen of every suite, every fourth without its picture, with labels where there are options."""
    asked = []
    for suite in ("shapes", "words", "flags"):
        for number, sample in zip(range(16), samples(suite, "test", LoadReport()), strict=False):
            messages = render(Prompt(), sample)
            if number % 4 == 3:
                messages = tuple(
                    type(one)(one.role, tuple(part for part in one.content if isinstance(part, str))) for one in messages
                )
            asked.append(Request(messages, Generation(max_tokens=16), sample.choices))
    return asked


def answers(model: Model, asked: list[Request]) -> list[Response]:
    try:
        given = {id(request): response for request, response in model.generate(iter(asked))}
    finally:
        model.close()
    return [given[id(request)] for request in asked]


def test_the_same_answers_over_http_and_what_the_server_cannot(server: str) -> None:
    asked = requests()
    first = [*requests(), *requests()]  # a server is slower at first, and what it does one after another takes some to see
    remote = openai(str(MODEL), {"base_url": server, "concurrency": "8"}, 0)
    answers(remote, first)
    over_http, here = answers(remote, asked), answers(hf(str(MODEL), {}, 0), asked)
    assert [(one.text, one.status) for one in over_http] == [(one.text, one.status) for one in here]
    assert len({one.text for one in here}) > 10
    assert all(one.label_logprobs for one, request in zip(here, asked, strict=True) if request.labels)
    assert not any(one.label_logprobs for one in over_http)
    assert any("ignores logprobs" in remark for remark in remote.remarks), remote.remarks
    assert any("one or two requests at a time" in remark for remark in remote.remarks), remote.remarks
