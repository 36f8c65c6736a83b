"""What answers cost: a table of prices, what a run has spent, what it will have spent, and where it must stop.

The table is `prices.toml` beside this file, and before it the user's own (`--prices FILE`, run-file key `prices`), in the same
form: `[models."NAME"]` with USD per million tokens. A name is looked up as it is, then without the date at its end
(`gpt-4o-2024-08-06` as `gpt-4o`); nothing else is taken for another model. A price that is not known is never 0.
"""

from __future__ import annotations

import ipaddress
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from eyetest.errors import EyetestError, UsageError, nearest, shown
from eyetest.types import Request, Response, Usage

CHARACTERS = 4
"""Characters of text a token, in estimates before anything was asked."""

SHORT_ANSWER = 20
"""Tokens of an answer in the lower estimate; the upper one takes the longest that is allowed."""

_MILLION = 1_000_000
_KEYS = ("input", "output", "cached_input", "image_tokens", "batch_factor", "as_of", "source")
_DATED = re.compile(r"(?P<name>.+)-(?:\d{4}-\d{2}-\d{2}|\d{8})")
_SERVED = re.compile(r"openai (?P<where>\S+) model=(?P<name>.+?) images=")
"""Identity of a model behind HTTP: `openai HOST/PATH model=NAME images=...`."""


class CostLimitError(EyetestError):
    """A run has reached its `--max-cost`. What was answered is kept; the command line exits with 4."""


@dataclass(frozen=True, slots=True)
class Price:
    """One entry of a table; USD per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """Of input tokens from the server's prompt cache; `input` when left out."""
    image_tokens: int | None = None
    """Tokens of one picture, for estimates; None: the model reads none, or nobody said."""
    batch_factor: float = 1.0
    """What the Batch API costs of the price, in (0, 1]."""
    as_of: str = ""
    """Day of the price, ISO 8601."""
    source: str = ""
    """Where it was read."""

    def of(self, usage: Usage, *, batch: bool = False) -> float:
        """USD of one answer."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        cheap = self.input if self.cached_input is None else self.cached_input
        tokens = (usage.input_tokens - cached) * self.input + cached * cheap + usage.output_tokens * self.output
        return tokens * (self.batch_factor if batch else 1.0) / _MILLION


@dataclass(slots=True)
class Workload:
    """How much is to be asked: what estimates are made of."""

    requests: int = 0
    characters: int = 0
    pictures: int = 0
    longest: int = 0
    """Sum of the longest answers allowed, in tokens."""

    def add(self, request: Request) -> None:
        """Count one request."""
        self.requests += 1
        self.longest += request.generation.max_tokens
        for message in request.messages:
            for part in message.content:
                if isinstance(part, str):
                    self.characters += len(part)
                else:
                    self.pictures += 1

    def plus(self, other: Workload) -> Workload:
        """Both together."""
        return Workload(
            self.requests + other.requests,
            self.characters + other.characters,
            self.pictures + other.pictures,
            self.longest + other.longest,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """The user's table and the packaged one."""

    own: Mapping[str, Price]
    packaged: Mapping[str, Price]

    def account(self, name: str, identity: str, *, simulated: bool, batch: bool = False) -> Account | None:
        """Where the costs of one model are counted; None for a model that costs nothing: simulated, or on this machine.

        name: the model as the run calls it; the user's own table may price it so, whatever it is. A model behind HTTP is also
        looked up by the name its server knows.
        """
        if simulated:
            return None
        served = _SERVED.match(identity)
        price = _find(self.own, name) or (_find(self.own, served["name"]) if served else None)
        if price is None:
            if served is None or _is_here(served["where"]):
                return None
            price = _find(self.packaged, served["name"])
        return Account(name, price, batch and served is not None)


def _find(table: Mapping[str, Price], name: str) -> Price | None:
    dated = _DATED.fullmatch(name)
    return table.get(name) or (table.get(dated["name"]) if dated else None)


def _is_here(where: str) -> bool:
    host = urlsplit(f"//{where}").hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


@dataclass(slots=True)
class Account:
    """What one model costs."""

    model: str
    price: Price | None
    """None: not known."""
    batch: bool = False
    spent: float = 0.0
    """USD of this call's answers."""
    earlier: float = 0.0
    """USD of answers that the run's journal holds from earlier calls."""
    asked: int = 0
    """Answers of this call."""
    without_usage: int = 0
    """Answers of this call that came without a count of tokens: their cost is not in `spent`."""
    paid: int = 0
    """Answers behind `spent` and `earlier`."""
    unseen: float = 0.0
    """USD that the answers without a count can have cost at most: not spent, but no longer free to spend."""
    load: Workload = field(default_factory=Workload)
    """What was to be asked when this call began."""

    def pay(self, request: Request, response: Response) -> None:
        """Count an answer that was asked for in this call. A call that failed without a count of tokens costs nothing."""
        self.asked += 1
        if self.price is None:
            return
        if response.usage is not None:
            self.spent += self.price.of(response.usage, batch=self.batch)
            self.paid += 1
        elif response.status in ("ok", "truncated", "refused"):
            self.without_usage += 1
            self.unseen += self.at_most(_alone(request))

    def remember(self, response: Response) -> None:
        """Count an answer that an earlier call of the run was given."""
        if self.price is not None and response.usage is not None:
            self.earlier += self.price.of(response.usage, batch=self.batch)
            self.paid += 1

    @property
    def total(self) -> float:
        """USD of all calls of the run."""
        return self.spent + self.earlier

    @property
    def mean(self) -> float | None:
        """USD an answer; None before the first with a count."""
        return self.total / self.paid if self.paid else None

    @property
    def forecast(self) -> float:
        """USD of the whole run: at the mean so far, before the first answer at `SHORT_ANSWER` tokens an answer."""
        left = max(0, self.load.requests - self.asked)
        mean = self.about(self.load) / max(1, self.load.requests) if self.mean is None else self.mean
        return self.total + left * mean

    def about(self, load: Workload) -> float:
        """USD of what is to be asked, if answers are short."""
        return self._estimate(load, load.requests * SHORT_ANSWER)

    def at_most(self, load: Workload) -> float:
        """USD of what is to be asked, if every answer is as long as it may be."""
        return self._estimate(load, load.longest)

    def _estimate(self, load: Workload, output: int) -> float:
        if self.price is None:
            return math.nan
        tokens = math.ceil(load.characters / CHARACTERS) + load.pictures * (self.price.image_tokens or 0)
        return self.price.of(Usage(tokens, min(output, load.longest)), batch=self.batch)

    def as_dict(self) -> dict[str, Any]:
        """For `results.json`; `usd` is null where the price is not known."""
        price = self.price
        known = price is not None
        return {
            "usd": self.total if known else None,
            "usd_this_call": self.spent if known else None,
            "asked": self.asked,
            "without_usage": self.without_usage,
            "batch": self.batch,
            "price": None
            if price is None
            else {name: value for name in _KEYS if (value := getattr(price, name)) not in (None, "")},
        }


def _alone(request: Request) -> Workload:
    load = Workload()
    load.add(request)
    return load


@dataclass(slots=True)
class Budget:
    """The accounts of a run, and its limit."""

    accounts: dict[str, Account] = field(default_factory=dict)
    """Model as the run calls it -> its account; models that cost nothing have none."""
    limit: float | None = None
    """USD that all calls of the run together may cost."""

    @property
    def priced(self) -> list[Account]:
        """The accounts whose price is known."""
        return [one for one in self.accounts.values() if one.price is not None]

    @property
    def total(self) -> float:
        """USD of all calls of the run so far, as far as prices are known."""
        return sum(one.total for one in self.priced)

    @property
    def forecast(self) -> float:
        """USD of the whole run, as far as prices are known."""
        return sum(one.forecast for one in self.priced)

    def check(self) -> None:
        """Raise UsageError where nothing could be stopped in time: a limit, and a price that is not known."""
        unknown = [one.model for one in self.accounts.values() if one.price is None]
        if self.limit is not None and unknown:
            raise UsageError(
                f"--max-cost: the price of model {unknown[0]!r} is not known, so nothing would stop it. Put it into a table of "
                f'your own ([models."NAME"] with input and output in USD per million tokens) and name that with --prices FILE, '
                f"or leave --max-cost out."
            )

    def refuses(self, model: str, request: Request, in_flight: int) -> float | None:
        """What one more answer would cost, if that and the `in_flight` could pass the limit; None if they cannot.

        An answer is taken to cost the model's mean so far, before the first one what it can cost at most.
        """
        account = self.accounts.get(model)
        if self.limit is None or account is None or account.price is None:
            return None
        each = account.at_most(_alone(request)) if account.mean is None else account.mean
        committed = self.total + sum(one.unseen for one in self.priced)
        return each if committed + (in_flight + 1) * each > self.limit else None

    def as_dict(self) -> dict[str, Any]:
        """For `results.json`: model -> its account."""
        return {name: one.as_dict() for name, one in self.accounts.items()}


def dollars(amount: float) -> str:
    """`$1.23`; below ten cents two digits that say something, e.g. `$0.0042`."""
    if amount == 0 or amount >= 0.095 or not math.isfinite(amount):
        return f"${amount:,.2f}"
    return f"${amount:.{min(9, 1 - math.floor(math.log10(amount)))}f}"


def read_prices(own: Path | None = None) -> Prices:
    """The packaged table, and the user's. Raises UsageError that names file and key."""
    packaged = read_table(files("eyetest").joinpath("prices.toml").read_text(encoding="utf-8"), "prices.toml")
    return Prices({} if own is None else read_table(_text(own), str(own)), packaged)


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # a pipe would wait for a writer, a device may never end
            raise UsageError(f"Price table {path}: is a {'folder' if path.is_dir() else 'pipe or device'}. Name a TOML file.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"Price table {path}: cannot be read: {error.strerror}. Name a TOML file with --prices.") from None
    except UnicodeDecodeError:
        raise UsageError(f"Price table {path}: is not UTF-8. Save it as UTF-8.") from None


def read_table(text: str, where: str) -> dict[str, Price]:
    """Model name -> price. where: the file, for messages. Raises UsageError."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f'Price table {where}: is not TOML: {error}. Texts stand in quotes, a table is [models."NAME"].'
        ) from None
    models = values.get("models")
    beside = [key for key in values if key != "models"]
    if beside or not isinstance(models, dict) or not models:
        found = f"the key {beside[0]!r}" if beside else "no model"
        raise UsageError(f'Price table {where}: holds {found}; expected tables [models."NAME"] with input and output.')
    return {name: _price(entry, f'Price table {where}: models."{name}"') for name, entry in models.items()}


def _price(entry: Any, where: str) -> Price:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: is {shown(entry)}; expected a table with input and output in USD per million tokens.")
    for key in entry:
        if isinstance(entry[key], dict):
            raise UsageError(f'{where}.{key}: is a table in a price. A name that holds a dot stands in quotes: [models."a-1.5"].')
        if key not in _KEYS:
            raise UsageError(f"{where}.{key}: is no key of a price.{nearest(key, _KEYS)} Known keys: {', '.join(_KEYS)}.")
    for key in ("input", "output"):
        if key not in entry:
            raise UsageError(f"{where}: lacks {key}. Give it in USD per million tokens; 0 if it is free.")
    values: dict[str, Any] = {}
    for key, value in entry.items():
        expected = _EXPECTED[key]
        if not _fits(key, value):
            raise UsageError(f"{where}.{key}: is {shown(value)}; expected {expected}.")
        values[key] = value.isoformat() if isinstance(value, date) else value
    return Price(**values)


_AMOUNT = "USD per million tokens, 0 or more, e.g. 2.5"
_EXPECTED: Mapping[str, str] = {
    "input": _AMOUNT,
    "output": _AMOUNT,
    "cached_input": _AMOUNT,
    "image_tokens": "a whole number of tokens a picture, e.g. 765",
    "batch_factor": "a number above 0 and at most 1, e.g. 0.5",
    "as_of": "the day of the price, e.g. 2026-11-30",
    "source": "a text in quotes, e.g. the address of the provider's price list",
}


def _fits(key: str, value: Any) -> bool:
    if key == "source":
        return isinstance(value, str)
    if key == "as_of":
        return type(value) is date or (isinstance(value, str) and _is_day(value))  # a datetime is a date, too
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if key == "image_tokens":
        return isinstance(value, int) and 0 <= value < _MILLION
    return 0 < value <= 1 if key == "batch_factor" else 0 <= value < _MILLION


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
