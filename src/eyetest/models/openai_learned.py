"""What a server turned out to refuse, to ignore or to do badly; kept for as long as the model object lives.

A refusal (HTTP 400 that names a field) changes how later requests are written. What is ignored in silence changes nothing
that is sent, so that cache keys stay true; it is counted and said once, in `remarks`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from eyetest.models.openai_pace import Pace
from eyetest.models.openai_wire import Form, lacks_logprobs
from eyetest.types import Request, Response

CROWDED = 4
"""Requests in flight from which on a latency says whether the server works on several at once."""
ENOUGH = 20
"""Such latencies that a verdict needs."""
ONE_AT_A_TIME = 0.4
"""Latency over requests in flight, in terms of a request's latency alone: 1 where answers are made one after another, half
for two at a time, next to nothing on a server that batches."""
SPREAD = 2.0
"""Most that the tenth and the ninetieth percentile of it may differ by: a queue evens out, lengths of answers do not."""

FASTEST = 0.008
"""Seconds of a latency below which it is this machine that takes its time, not the server."""

REFUSED = {
    "temperature": "temperature {temperature:g} is not accepted: the server's default is used, so answers may vary.",
    "top_p": "top_p {top_p:g} is not accepted: the server's default is used.",
    "seed": "seed is not accepted: a sampled answer cannot be had a second time.",
    "logprobs": "logprobs is not accepted: there are no probabilities of the options.",
    "response_format": "response_format is not accepted: answers are asked for without a schema.",
}
"""Field that a server may refuse -> what that means."""


class Queue:
    """Whether a server answers one request at a time: latency grows with what is in flight, and throughput stays."""

    def __init__(self) -> None:
        self._lowest = float("inf")
        self._each: deque[float] = deque(maxlen=256)

    def took(self, latency: float, in_flight: int) -> None:
        """An answer came after `latency` seconds; `in_flight` were under way when it was asked, itself included."""
        self._lowest = min(self._lowest, latency)
        if in_flight >= CROWDED:
            self._each.append(latency / in_flight)

    @property
    def one_at_a_time(self) -> bool:
        """The verdict; False until there is enough to go by."""
        if len(self._each) < ENOUGH or self._lowest < FASTEST:
            return False
        each = sorted(self._each)
        low, high = each[len(each) // 10], each[len(each) * 9 // 10]
        # Bounded on both sides: beside one answer out of a cache every server looks slow. The first request goes alone, and no
        # second one may: its latency is what the others are measured by.
        return ONE_AT_A_TIME * self._lowest <= low and high <= min(SPREAD * low, self._lowest / ONE_AT_A_TIME)


@dataclass(slots=True)
class Learned:
    """Counts of one model. Written by the thread of its event loop."""

    form: Form
    """How requests are written now."""
    queue: Queue = field(default_factory=Queue)
    refused: dict[str, Request] = field(default_factory=dict)
    """Field that was refused -> the first request for which it was."""
    labelled: int = 0
    """Answers to requests for label log-probabilities."""
    silent: int = 0
    """Of these, those without any."""
    schemas: int = 0
    """Whole answers to requests with a schema."""
    unfitting: int = 0
    """Of these, those that do not fit it."""
    cuts: int = 0
    """How often the server was found full."""
    limit: int = 0
    """Requests in flight that were allowed after the last cut or rise."""

    def refuse(self, request: Request, sent: Form, payload: bytes) -> bool:
        """Take note of a 400. Whether the request, as `sent`, is worth asking again in the form that holds now."""
        better = sent.without_refused(request, payload)
        if better is None:
            return False
        for name in better.dropped - sent.dropped:
            self.refused.setdefault(name, request)
        self.form = self.form.joined(better)
        return True

    def answered(self, request: Request, response: Response, payload: bytes) -> None:
        """Take note of whether an answer holds what was asked for."""
        if request.labels and "logprobs" not in self.form.dropped and response.status in ("ok", "truncated"):
            self.labelled += 1
            self.silent += response.label_logprobs is None and lacks_logprobs(payload)
        if request.schema is not None and "response_format" not in self.form.dropped and response.status == "ok":
            self.schemas += 1
            self.unfitting += not fits(response.text, request.schema)

    def paced(self, pace: Pace) -> None:
        """Take note of how many requests a run came to keep in flight."""
        self.cuts += pace.cuts
        self.limit = pace.limit

    def remarks(self, name: str) -> tuple[str, ...]:
        """One sentence for each thing that a reader of the results should know."""
        said = [
            REFUSED[what].format(temperature=request.generation.temperature, top_p=request.generation.top_p)
            for what, request in self.refused.items()
        ]
        if self.silent:
            said.append(f"the server ignores logprobs: {self.silent} of {self.labelled} answers came without them.")
        if self.unfitting:
            said.append(
                f"the server does not hold to response_format: {self.unfitting} of {self.schemas} answers do not fit the schema."
            )
        if self.queue.one_at_a_time:
            said.append("the server answers one or two requests at a time: more in flight only wait longer.")
        if self.cuts:
            said.append(
                f"the server was overloaded: what it is given at once was halved {self.cuts} time{'s' * (self.cuts > 1)}, "
                f"and was {self.limit} at the end."
            )
        return tuple(f"{name}: {sentence}" for sentence in said)


def fits(text: str, schema: str) -> bool:
    """Whether `text` is JSON of the schema's outermost shape: type object, required and allowed fields, their enums."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    wanted: Mapping[str, Any] = orjson.loads(schema)
    if wanted.get("type") != "object":
        return True
    if not isinstance(value, dict) or not value.keys() >= set(wanted.get("required", ())):
        return False
    fields: Mapping[str, Mapping[str, Any]] = wanted.get("properties", {})
    if wanted.get("additionalProperties") is False and not value.keys() <= fields.keys():
        return False
    return all("enum" not in rule or value[name] in rule["enum"] for name, rule in fields.items() if name in value)
