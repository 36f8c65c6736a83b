"""`eyetest serve-fake`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from eyetest.commands.grid import GridOptions, commas, flag, read_config, whole
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.evaluation import setup
from eyetest.evaluation.evaluate import prepare
from eyetest.evaluation.plan import Plan
from eyetest.models import build
from eyetest.models.baselines import Simulated
from eyetest.models.fake_answers import Answer
from eyetest.models.fake_questions import recognising
from eyetest.models.fake_server import FakeServerSettings, serve
from eyetest.models.fake_settings import PRESETS, Reasoning
from eyetest.reports.text import terminal
from eyetest.types import Request

LAST_PORT = 65_535
Kinds = Literal["busy", "flaky", "openai", "reasoning", "vllm", "transformers"]


def serve_fake(
    run_file: Annotated[Path | None, Parameter(help="TOML run file whose questions are recognised; flags overrule it.")] = None,
    /,
    *,
    answers: Annotated[
        str,
        flag(
            "constant:TEXT, phantom (a random offered letter), scripted:FILE.jsonl; of a run: a simulated model, phantom:KEY=N."
        ),
    ] = "phantom",
    like: Annotated[Kinds | None, flag("Behave like a kind of server; the other flags overrule it.")] = None,
    host: Annotated[str, flag("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, whole("Port; 0 takes a free one.")] = 8377,
    latency: Annotated[
        str | None, flag("Seconds before an answer, or uniform:LOW,HIGH, lognormal:MEDIAN,P99, file:FILE.")
    ] = None,
    spread: Annotated[float | None, flag("Latency is uniform in mean ± spread.")] = None,
    fault: Annotated[tuple[str, ...], flag("FAULT=RATE, e.g. 429=0.02, 500=0.01, hang=0.01. Repeatable.")] = (),
    retry_after: Annotated[float | None, flag("Seconds that a 429 asks to wait.")] = None,
    retry_after_form: Annotated[Literal["seconds", "date", "none"], flag("How it says so.")] = "seconds",
    ignore_logprobs: Annotated[bool, flag("Answer without logprobs though asked.")] = False,
    ignore: Annotated[tuple[str, ...], flag("Fields not heeded: logprobs, n, response_format, seed.")] = (),
    reject: Annotated[tuple[str, ...], flag("Fields answered with HTTP 400: max_tokens, temperature, logprobs, ...")] = (),
    reasoning: Annotated[Reasoning | None, flag("Where a reply holds what the model thought.")] = None,
    at_once: Annotated[int | None, whole("Most requests served at once; others get 429.")] = None,
    queue: Annotated[bool, flag("Others wait their turn instead.")] = False,
    per_minute: Annotated[int | None, whole("Requests a minute, then 429.")] = None,
    key_env: Annotated[str | None, flag("Environment variable that holds the only key that is let in.")] = None,
    log: Annotated[Path | None, flag("JSON Lines file to which every request is appended: time, digest, outcome.")] = None,
    max_side: Annotated[int | None, whole("The client's max_side, if it scales pictures down.")] = None,
    grid: Annotated[GridOptions, Parameter(name="*")] = GridOptions(),  # noqa: B008 (frozen)
) -> int:
    """A local OpenAI-compatible server that misbehaves on request: rehearse a run before paying for it.

    Faults are HTTP statuses (429, 500, ...) or one of hang, stall, closed, cut, malformed, not_json, html, empty, no_choices,
    null_content, wrong_types, gzip_bomb, blocked, filtered, refused, refused_text, length, quota. Given a run (its file or its
    flags), it recognises each question and answers as the simulated model that --answers names. GET /log returns what it
    counted. Stop it with Ctrl-C.
    """
    if not 0 <= port <= LAST_PORT:
        raise UsageError(f"--port {port}: give a port from 1 to {LAST_PORT}, or 0 for a free one.")
    plan, seed = _run(run_file, grid)
    given: dict[str, Any] = {
        "answers": answers,
        "seed": seed,
        **_latency(latency, spread),
        "rates": dict(_rate(text) for text in fault) or None,
        "retry_after": retry_after,
        "retry_after_date": retry_after_form == "date" or None,
        "ignore_logprobs": ignore_logprobs or None,
        "ignores": tuple(commas("--ignore", ignore)) or None,
        "rejects": tuple(commas("--reject", reject)) or None,
        "reasoning": reasoning,
        "concurrency": at_once,
        "queue": queue or None,
        "per_minute": per_minute,
        "require_key": None if key_env is None else _key(key_env),
        "log": log,
    }
    base = PRESETS[like] if like else FakeServerSettings()
    settings = replace(base, **{name: value for name, value in given.items() if value is not None})
    if retry_after_form == "none":
        settings = replace(settings, retry_after=None)
    return _serve(settings, host, port, None if plan is None else _simulated(answers, plan, max_side, settings))


def _serve(settings: FakeServerSettings, host: str, port: int, known: tuple[Answer, int] | None) -> int:
    console = terminal(stderr=True)

    def listening(url: str) -> None:
        if known is not None:
            say(console, f"{known[1]} distinct questions of the run are recognised; any other gets HTTP 422.")
        say(console, f"Listening. Use --model openai:any,base_url={url}")

    counted = serve(settings, host, port, listening, None if known is None else known[0])
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counted.outcomes.items()))
    say(console, f"Answered: {outcomes or 'nothing'}")
    if counted.again:
        say(console, f"{counted.again} requests came again after they had been answered")
    return 0


def _run(run_file: Path | None, grid: GridOptions) -> tuple[Plan | None, int]:
    """The run that will ask, if one is named, and the seed. Raises EyetestError."""
    if run_file is None and not grid.data and not grid.task:
        if replace(grid, seed=None) != GridOptions():
            raise UsageError("The flags of a run need its questions. Name them with --data FILE, --task NAME or a run file.")
        return None, grid.seed or 0
    config, folder = read_config(run_file, grid)
    return prepare(config, setup.datasets(config.tasks), folder=folder), config.seed


def _simulated(spec: str, plan: Plan, max_side: int | None, settings: FakeServerSettings) -> tuple[Answer, int]:
    """A simulated model that recognises what a plan will ask, and how many distinct questions that is."""
    if max_side is not None and max_side < 1:
        raise UsageError(f"--max-side {max_side}: give the longer side in pixels, at least 1, or leave it out.")
    model = build(spec, {}, seed=settings.seed)
    if not isinstance(model, Simulated) or hasattr(model, "prepare"):
        raise UsageError(
            f"--answers {spec!r}: a run is answered by a simulated model. Name phantom, oracle, chance, constant:TEXT or "
            f"scripted:FILE."
        )
    return recognising(model, _requests(plan), max_side=max_side, settings=settings)


def _requests(plan: Plan) -> Iterator[Request]:
    for survey in plan.surveys:
        for work in replace(plan, repeats=1).work(survey, Counter()):
            yield work.request


def _latency(text: str | None, spread: float | None) -> dict[str, Any]:
    """A plain number, with its spread, or the name of a distribution."""
    if text is None:
        return {} if spread is None else {"spread": spread, "latencies": ""}
    try:
        return {"latency": float(text), "spread": spread or 0.0, "latencies": ""}
    except ValueError:
        if spread is not None:
            raise UsageError(f"--latency {text} has a spread of its own. Leave --spread out.") from None
        return {"latencies": text}


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
