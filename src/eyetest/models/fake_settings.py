"""What the fake server can be told: answers, latency, faults, limits, and what it ignores or rejects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from eyetest.errors import UsageError, unknown
from eyetest.models.fake_latency import Latency, latency_of, uniform

FAULTS: Mapping[str, str] = {
    "ok": "nothing goes wrong",
    "hang": "no answer ever",
    "stall": "headers and half a body, then nothing",
    "closed": "the connection is closed before any header",
    "cut": "the connection is cut in mid-body",
    "malformed": "half a JSON text",
    "not_json": "a plain text with status 200",
    "html": "an HTML error page with status 200",
    "empty": "an empty body with status 200",
    "no_choices": "an empty list of choices",
    "null_content": "a completion that is null",
    "wrong_types": "numbers where texts belong",
    "gzip_bomb": "1 MB that unpacks to 1 GiB",
    "blocked": "HTTP 400 with code content_filter",
    "filtered": "finish_reason content_filter",
    "refused": "a text in the field `refusal`, no content",
    "refused_text": "a refusal as the completion",
    "length": "finish_reason length",
    "quota": "HTTP 429 with code insufficient_quota, which no waiting mends",
}
"""What may happen to an attempt, beside an HTTP status such as `429`, `500`, `404`."""

Reasoning = Literal["none", "reasoning_content", "reasoning", "think"]
"""Where the reasoning stands: nowhere, in a field of the message (DeepSeek's, vLLM's name), or in the text as <think>."""

IGNORABLE = ("logprobs", "n", "response_format", "seed")
"""Fields that a server may take and not heed."""
REJECTABLE = ("max_tokens", "temperature", "top_p", "seed", "n", "logprobs", "response_format")
"""Fields that a server may answer with HTTP 400 (`temperature`: unless it is 1; `logprobs`: unless false)."""

BATCH_FAULTS = ("ok", "failed", "failed_line", "limit", "expired", "cancelled", "shuffled", "lost", "cut")
"""What may happen to a batch."""


@dataclass(frozen=True, slots=True)
class FakeServerSettings:
    """What the server answers and how it misbehaves."""

    answers: str = "constant:A"
    """`constant:TEXT`, `phantom` (one of the offered letters at random) or `scripted:FILE.jsonl` (see `scripted`)."""
    latency: float = 0.0
    """Mean seconds before an answer."""
    spread: float = 0.0
    """Latency is uniform in mean +- spread, never below 0."""
    faults: tuple[str, ...] = ()
    """What happens to attempt 0, 1, ... of every body; `ok` beyond the end."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Fault -> probability per attempt, where `faults` says nothing; together at most 1."""
    retry_after: float | None = 1.0
    """Seconds that a 429 asks to wait; None: it does not say."""
    retry_after_date: bool = False
    """Whether a 429 says so as an HTTP date (whole seconds, rounded up)."""
    ignore_logprobs: bool = False
    """Answer without logprobs though asked, as `transformers serve` does; the same as `logprobs` in `ignores`."""
    require_key: str | None = field(default=None, repr=False)
    """The only key that is let in (else HTTP 401); None lets everybody in."""
    model: str | None = None
    """The only model known (else HTTP 404); None knows every name."""
    seed: int = 0
    """Of latencies, rates and phantom answers."""
    latencies: str = ""
    """A distribution in place of `latency` and `spread`: see `latency_of`."""
    ignores: tuple[str, ...] = ()
    """Fields of `IGNORABLE` that are taken and not heeded."""
    rejects: tuple[str, ...] = ()
    """Fields of `REJECTABLE` that are answered with HTTP 400, in OpenAI's words."""
    reasoning: Reasoning = "none"
    """Where a reply says what the model thought."""
    concurrency: int = 0
    """Most attempts served at once; 0 is no limit."""
    queue: bool = False
    """Whether attempts above `concurrency` wait their turn, as with `transformers serve`; else they get HTTP 429."""
    per_minute: int = 0
    """Requests a minute, then HTTP 429, told in `x-ratelimit-*` headers; 0 is no limit. A full minute's may come at once."""
    log: Path | None = None
    """JSON Lines file to which every attempt is appended."""
    batch_delay: float = 0.0
    """Seconds that a batch spends in each of its states."""
    batch_faults: tuple[str, ...] = ()
    """What happens to batch 0, 1, ...: of `BATCH_FAULTS`, which `fake_batch` explains."""

    def __post_init__(self) -> None:
        for fault in (*self.faults, *self.rates):
            check_fault(fault)
        if not (all(rate >= 0 for rate in self.rates.values()) and sum(self.rates.values()) <= 1):
            raise UsageError(f"fake server: the fault rates {dict(self.rates)} must be 0 or more and together at most 1.")
        if not all(math.isfinite(number) and number >= 0 for number in (self.latency, self.spread, self.retry_after or 0.0)):
            raise UsageError("fake server: latency, spread and retry_after are seconds, 0 or more.")
        if self.concurrency < 0 or self.per_minute < 0:
            raise UsageError("fake server: concurrency and per_minute are counts; 0 is no limit.")
        if self.queue and not self.concurrency:
            raise UsageError("fake server: nothing waits in a queue without a limit. Set concurrency, e.g. to 1.")
        _check_fields("ignored field", self.ignores, IGNORABLE)
        _check_fields("rejected field", self.rejects, REJECTABLE)
        _check_fields("batch fault", self.batch_faults, BATCH_FAULTS)
        _check_fields("reasoning", (self.reasoning,), get_args(Reasoning))

    def ignoring(self, name: str) -> bool:
        """Whether a field of the request is not heeded."""
        return name in self.ignores or (name == "logprobs" and self.ignore_logprobs)

    def serving_time(self) -> Latency:
        """The distribution of seconds before an answer. Raises UsageError, DataError."""
        if self.latencies:
            return latency_of(self.latencies)
        return uniform(self.latency - self.spread, self.latency + self.spread)


def check_fault(fault: str) -> None:
    """Raise UsageError for what is neither a fault nor an HTTP status of an error."""
    if fault not in FAULTS and not (fault.isdecimal() and 400 <= int(fault) <= 599):
        raise unknown("fault", fault, (*FAULTS, "any HTTP status from 400 to 599"), "fake server")


def _check_fields(thing: str, names: tuple[str, ...], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            raise unknown(thing, name, known, "fake server")


PRESETS: Mapping[str, FakeServerSettings] = {
    "busy": FakeServerSettings(latencies="lognormal:0.5,5", concurrency=32, rates={"503": 0.01}),
    "flaky": FakeServerSettings(
        latencies="lognormal:0.2,1",
        rates={"429": 0.02, "500": 0.01, "502": 0.005, "closed": 0.005, "cut": 0.005, "html": 0.005, "hang": 0.005},
    ),
    "openai": FakeServerSettings(latencies="lognormal:0.8,6", per_minute=500, rates={"500": 0.001, "blocked": 0.002}),
    "reasoning": FakeServerSettings(
        latencies="lognormal:3,30", rejects=("max_tokens", "temperature", "top_p", "logprobs"), reasoning="reasoning_content"
    ),
    "vllm": FakeServerSettings(latencies="lognormal:0.3,2"),
    "transformers": FakeServerSettings(latency=0.03, concurrency=1, queue=True, ignores=("logprobs", "n", "response_format")),
}
"""Behaviour of well-known kinds of servers, roughly: the numbers are for rehearsals, and measured nowhere."""
