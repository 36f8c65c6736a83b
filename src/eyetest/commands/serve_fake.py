"""`eyetest serve-fake`."""

from __future__ import annotations

import os
from typing import Annotated

from eyetest.commands.grid import flag, whole
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.models.fake_server import FakeServerSettings, serve
from eyetest.reports.text import terminal

LAST_PORT = 65_535


def serve_fake(
    *,
    answers: Annotated[str, flag("constant:TEXT, phantom (a random offered letter), or scripted:FILE.jsonl.")] = "phantom",
    host: Annotated[str, flag("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, whole("Port; 0 takes a free one.")] = 8377,
    latency: Annotated[float, flag("Mean seconds before an answer.")] = 0.0,
    spread: Annotated[float, flag("Latency is uniform in mean ± spread.")] = 0.0,
    fault: Annotated[tuple[str, ...], flag("FAULT=RATE, e.g. 429=0.02, 500=0.01, hang=0.01. Repeatable.")] = (),
    retry_after: Annotated[float, flag("Seconds that a 429 asks to wait.")] = 1.0,
    ignore_logprobs: Annotated[bool, flag("Answer without logprobs though asked.")] = False,
    key_env: Annotated[str | None, flag("Environment variable that holds the only key that is let in.")] = None,
    seed: Annotated[int, whole("Of latencies, faults and phantom answers.")] = 0,
) -> int:
    """A local OpenAI-compatible server that misbehaves on request: rehearse a run before paying for it.

    Faults are HTTP statuses (429, 500, ...), hang, malformed, cut, blocked or refused. GET /log returns what it counted.
    Stop it with Ctrl-C.
    """
    if not 0 <= port <= LAST_PORT:
        raise UsageError(f"--port {port}: give a port from 1 to {LAST_PORT}, or 0 for a free one.")
    log = terminal(stderr=True)
    settings = FakeServerSettings(
        answers=answers,
        latency=latency,
        spread=spread,
        rates=dict(_rate(text) for text in fault),
        retry_after=retry_after,
        ignore_logprobs=ignore_logprobs,
        require_key=None if key_env is None else _key(key_env),
        seed=seed,
    )

    def listening(url: str) -> None:
        say(log, f"Listening. Use --model openai:any,base_url={url}")

    counted = serve(settings, host, port, listening)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counted.outcomes.items()))
    say(log, f"Answered: {outcomes or 'nothing'}")
    return 0


def _rate(text: str) -> tuple[str, float]:
    fault, equals, rate = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return fault.strip(), float(rate)
    except ValueError:
        raise UsageError(f"--fault {text!r}: write FAULT=RATE, e.g. --fault 429=0.02.") from None


def _key(variable: str) -> str:
    key = os.environ.get(variable)
    if not key:
        raise UsageError(f"--key-env {variable}: the environment variable is not set. Set it to the key that is let in.")
    return key
