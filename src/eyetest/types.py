"""The values that travel the straight line from a sample to a report.

    Sample -> condition -> Request -> model -> Response -> scorer -> Score -> Prediction -> metric -> Estimate

Every value is frozen; each step returns a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, Protocol

Kind = Literal["choice", "labels", "text", "transcription", "description"]
"""What an answer is: one of the choices, a set of labels, a short text, a transcription, a long text."""

ResponseStatus = Literal["ok", "truncated", "refused", "blocked", "error", "bad_image"]
"""What became of a call. `error` and `bad_image` stay outside n; the others count."""

ScoreStatus = Literal["scored", "unparsed", "refused", "unscored"]
"""What became of an answer. `unparsed` and `refused` count as wrong; `unscored` could not be judged."""

ShownPicture = Literal["own", "none", "blank", "other", "caption", "blurred"]
"""What a condition shows: the sample's own picture, none, a grey one, another sample's, words in its place, its own blurred."""

ShownQuestion = Literal["question", "knowledge", "nothing"]
"""What a condition asks: the question, the knowledge question, or nothing but the options."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that has not been opened yet. Exactly one of `path` and `data` is set."""

    path: str | None = None
    """File that holds the encoded picture."""
    data: bytes | None = field(default=None, repr=False)
    """The encoded picture itself (PNG, JPEG, ... bytes)."""
    member: str | None = None
    """Place inside a container file, e.g. `image:17` for row 17 of a Parquet column `image`."""
    operations: tuple[str, ...] = ()
    """What to do to the pixels after decoding, in order, e.g. `("blank",)`; part of the request key."""

    @property
    def name(self) -> str:
        """How an error message calls this picture."""
        if self.path is None:
            return "<picture given as bytes>"
        return self.path if self.member is None else f"{self.path}[{self.member}]"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a condition made of a sample: read by simulated models and by reports, never sent to a model."""

    picture: ShownPicture = "own"
    """Which picture is shown."""
    asks: ShownQuestion = "question"
    """What is asked."""
    partner: str | None = None
    """Id of the sample whose picture is shown (`picture="other"`)."""
    partner_target: tuple[str, ...] = ()
    """What would be right for the partner's picture, if its question is the same."""
    flags: tuple[str, ...] = ()
    """Doubts about this item under this condition, reported apart, e.g. `needs_options`."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One question with its gold answer."""

    id: str
    """Unique within its task and split."""
    question: str
    """What is asked, without options and without letters. May be empty (`picture_only`, `options_only`)."""
    target: tuple[str, ...]
    """Right answers as text, never as letters: one or more aliases (`text`), the right choice (`choice`), the set (`labels`)."""
    kind: Kind = "choice"
    """What an answer is; selects the prompt template, the scorer and the metrics."""
    choices: tuple[str, ...] = ()
    """Options as text, in the order in which they are shown."""
    images: tuple[Image, ...] = ()
    """Pictures, in the order in which they are shown."""
    context: str | None = None
    """Text that belongs to the question (a post, a hint, a passage)."""
    picture_text: str | None = None
    """What is written in the picture, where the dataset says so (the words of a meme)."""
    knowledge_question: str | None = None
    """The same question as pure knowledge, answerable without the picture (K in the second paper)."""
    knowledge_method: str | None = None
    """How the knowledge question was made: `field`, `entity:RULE`, `file`, `model:NAME`; None where there is none."""
    caption: str | None = None
    """What the picture shows, in words: from the dataset, a file or `eyetest caption`."""
    entity: str | None = None
    """Name of the thing in the picture, if known."""
    cluster: str | None = None
    """Items with the same value are not independent (same picture, same author); intervals respect it."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Any further column of the dataset; used by `--by metadata.FIELD`."""
    shown: Shown = Shown()
    """What the condition changed."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    """Who speaks."""
    content: tuple[str | Image, ...]
    """Texts and pictures in reading order."""


@dataclass(frozen=True, slots=True)
class Generation:
    """How an answer is produced."""

    temperature: float = 0.0
    """0 is greedy; equal requests are then shared."""
    top_p: float = 1.0
    """Nucleus mass."""
    max_tokens: int = 256
    """Longest answer, in the model's tokens."""
    seed: int | None = None
    """Sampling seed for backends that take one; differs between repeats."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from. For simulated models and the journal; never read by a backend that talks to a real model."""

    task: str
    """Task name."""
    sample: Sample
    """The sample as the condition left it."""
    condition: str
    """Canonical condition name, e.g. `no_image+shuffled`."""
    prompt: str = "default"
    """Name of the prompt."""
    variant: int = 0
    """Number of the variant for conditions that give several."""
    repeat: int = 0
    """Number of the repeat."""
    round: int = 0
    """Number of the refine round."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one call is given."""

    messages: tuple[Message, ...]
    """The rendered conversation."""
    generation: Generation = Generation()
    """How to answer."""
    labels: tuple[str, ...] = ()
    """Texts whose log-probability is wanted, if the backend can."""
    origin: Origin | None = field(default=None, compare=False)
    """Where it comes from; not part of the key."""
    schema: str | None = None
    """JSON schema, as JSON text, that the answer must fit, for backends that can enforce it. Whoever reads it checks it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the backend counts them."""

    input_tokens: int = 0
    """Tokens read, pictures included."""
    output_tokens: int = 0
    """Tokens written, those of the reasoning included."""
    cached_tokens: int = 0
    """Of the tokens read, those that the server had in its prompt cache: cheaper with some."""


@dataclass(frozen=True, slots=True)
class Response:
    """What came back; a failed call is data."""

    text: str = ""
    """The raw completion, without the reasoning."""
    status: ResponseStatus = "ok"
    """What became of the call."""
    label_logprobs: tuple[float, ...] | None = None
    """Natural log-probability of each of `Request.labels`, in that order (the options as shown), where the backend really
    returns them; of as many as there are options, or nothing is computed from them."""
    usage: Usage | None = None
    """Tokens, if known."""
    latency: float = 0.0
    """Seconds from sending to the last byte of the attempt that succeeded."""
    error: str | None = None
    """What went wrong, for `error`, `blocked`, `bad_image` (and the reason given with a refusal)."""
    reasoning: str = ""
    """What a reasoning model said to itself, where the server keeps it apart; never scored."""


@dataclass(frozen=True, slots=True)
class Score:
    """One completion against one target."""

    status: ScoreStatus
    """Whether the answer could be read."""
    value: float = 0.0
    """Credit in [0, 1]; 0 unless `scored`."""
    answer: str | None = None
    """What the scorer read: the text of a choice, a normalised short answer; None if unreadable."""
    counts: tuple[float, ...] = ()
    """Additive statistics for corpus metrics (edits, words, ...), in the scorer's declared order."""
    rule: str = ""
    """Why it was read so."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The whole record of one answer: one line of `predictions.jsonl`."""

    task: str
    """Task name."""
    condition: str
    """Canonical condition name."""
    model: str
    """Model as named in the run."""
    prompt: str
    """Prompt name."""
    variant: int
    """Variant number."""
    repeat: int
    """Repeat number."""
    round: int
    """Refine round."""
    sample: Sample
    """The sample as the condition left it."""
    request_key: str
    """Content key of the request (hex); equal keys are one distinct request."""
    messages: tuple[Message, ...]
    """Exactly what the model was shown."""
    response: Response
    """Exactly what came back."""
    score: Score
    """How it was read."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval."""

    metric: str
    """Metric name."""
    value: float
    """Point estimate; nan where undefined (then `note` says why)."""
    low: float
    """Lower end of the 95 % interval; nan where withheld."""
    high: float
    """Upper end; nan where withheld."""
    n: int
    """Items in the denominator."""
    n_distinct: int
    """Distinct requests behind them."""
    n_unparsed: int = 0
    """Items whose answer could not be read."""
    n_refused: int = 0
    """Items refused or blocked."""
    n_failed: int = 0
    """Items outside n: failed calls and bad pictures."""
    signature: str = ""
    """Everything that defines the number: formula, policy, interval, seed, version."""
    note: str = ""
    """Why it is undefined, withheld or to be read with care."""


class Scorer(Protocol):
    """Reads one completion against one sample. Pure."""

    @property
    def signature(self) -> str:
        """Name and options, part of every estimate's signature."""
        ...

    def __call__(self, sample: Sample, text: str) -> Score:
        """The score of `text` as an answer to `sample`."""
        ...


Condition = Callable[[Sample, Random], tuple[Sample, ...]]
"""What the model is shown: `()` does not apply, several are variants."""


class Model(Protocol):
    """Anything that answers requests.

    Optional beside what stands here: `remarks`, a tuple of sentences on what became apparent while it was asked (the server
    ignores logprobs, say), read after the run; `prepare` and `keep_in`, see `models.Prepares` and `models.Keeps`.
    """

    name: str
    """The model as the user named it."""
    identity: str
    """Everything that makes answers differ: weights revision, adapter, dtype, quantisation, image backend, endpoint.

    Enters the cache key.
    """
    simulated: bool
    """Reads `Request.origin`; its answers are never cached or shared."""

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Answer every request exactly once, in completion order.

        `requests` is pulled lazily, at most a window ahead of what was yielded, and only from the thread that
        iterates the result (its producer may do bookkeeping). A call that fails is a `Response` with a status.
        """
        ...

    def close(self) -> None:
        """Cancel what is in flight and free what is held. May be called twice."""
        ...
