"""What `openai:NAME,...`, the run file and the environment say about one OpenAI-compatible server."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from eyetest.errors import ModelError, UsageError, unknown
from eyetest.registry import split_spec, typed

OPTIONS: Mapping[str, type] = {
    "base_url": str,
    "api_key_env": str,
    "api_key_file": str,
    "concurrency": int,
    "timeout": float,
    "retries": int,
    "max_side": int,
    "min_attempt_timeout": float,
    "tokens_key": str,
    "reasoning_effort": str,
    "batch": bool,
    "batch_size": int,
    "poll": float,
}
"""Options of the spec and of the run file."""

TOKENS_KEYS = ("max_tokens", "max_completion_tokens")
"""Names under which servers take the longest answer: everybody's, and that of OpenAI's reasoning models."""

LARGEST_KEY = 4096
"""Bytes of the largest key file."""

LARGEST_BATCH = 50_000
"""Requests that a batch may hold."""

MOST_AT_ONCE = 10_000
"""Largest concurrency: each request in flight holds a socket and a body."""

DEFAULT_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the spec, the run file and the environment say. Holds no key."""

    model: str
    """Name the server knows."""
    base_url: str = DEFAULT_URL
    """Everything before `/chat/completions`; no user name, password, query or fragment."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    api_key_file: str | None = None
    """File that holds the key and nothing else, in place of the variable."""
    concurrency: int = 32
    """Most requests in flight; fewer when the server is full."""
    timeout: float = 300.0
    """Seconds from the first attempt of a request to giving it up, waits and retries included."""
    retries: int = 6
    """Attempts after the first."""
    max_side: int | None = None
    """Pictures are downscaled to this longer side, in pixels; None leaves them alone."""
    min_attempt_timeout: float = 1.0
    """Floor of the adaptive attempt time-out in seconds."""
    tokens_key: str | None = None
    """Which of `TOKENS_KEYS` names the longest answer; None: the first, and the second once the server asks for it."""
    reasoning_effort: str | None = None
    """Passed on as it is, e.g. `low`; part of the identity."""
    batch: bool = False
    """Whether to ask through the Batch API: see `openai_batch`."""
    batch_size: int = 5000
    """Most requests in a batch."""
    poll: float = 5.0
    """Seconds until the first look at a batch; the later ones come more seldom."""

    @property
    def url(self) -> str:
        """Where requests go."""
        return f"{self.base_url}/chat/completions"

    @property
    def key_place(self) -> str:
        """Where the key is looked for, in words."""
        if self.api_key_file is not None:
            return f"the file {self.api_key_file}"
        return f"the environment variable {self.api_key_env}"

    @property
    def local(self) -> bool:
        """Whether the server is on this machine: then no key is needed and no proxy is used."""
        host = urlsplit(self.base_url).hostname or ""
        with contextlib.suppress(ValueError):
            address = ipaddress.ip_address(host)
            return address.is_loopback or address.is_unspecified
        return host == "localhost" or host.endswith(".localhost")

    @property
    def proxy(self) -> str | None:
        """The proxy that the environment names for this server. Asked once: aiohttp's own look-up takes two threads a request."""
        parts = urlsplit(self.base_url)
        if self.local or proxy_bypass(parts.hostname or ""):
            return None
        return getproxies().get(parts.scheme)


def read_settings(argument: str, options: Mapping[str, str]) -> Settings:
    """Settings from the spec `NAME[,option=value,...]` and the run file's options; the spec wins. Raises UsageError."""
    name, in_spec = split_spec(argument, OPTIONS, what="model openai")
    chosen = {key: typed(key, str(value), OPTIONS, what="model openai") for key, value in options.items()} | in_spec
    if not name.strip():
        raise UsageError("model openai: the model's name is missing. Write openai:NAME, e.g. openai:gpt-4o-mini.")
    chosen["base_url"] = (chosen.get("base_url") or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL).rstrip("/")
    settings = Settings(model=name.strip(), **chosen)
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    """Raise UsageError on a value out of range. Repeats no value that could be a secret."""
    if not _is_address(settings.base_url):
        raise UsageError("model openai: base_url must look like https://host[:port]/path, e.g. http://localhost:8000/v1.")
    parts = urlsplit(settings.base_url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"model openai: base_url for {parts.hostname} holds a user name, a password, a query or a fragment. "
            f"Write http(s)://host[:port]/path only; the key goes into the environment variable {settings.api_key_env}."
        )
    if settings.tokens_key not in (None, *TOKENS_KEYS):
        raise unknown("tokens_key", settings.tokens_key, TOKENS_KEYS, "model openai")
    least = {"concurrency": 1, "retries": 0, "max_side": 1, "batch_size": 1}
    for option, minimum in least.items():
        value = getattr(settings, option)
        if value is not None and value < minimum:
            raise UsageError(f"model openai: {option}={value} is too small; expected {minimum} or more.")
    for option, most in {"concurrency": MOST_AT_ONCE, "batch_size": LARGEST_BATCH}.items():
        if getattr(settings, option) > most:
            raise UsageError(f"model openai: {option}={getattr(settings, option)} is too large; expected {most} or less.")
    for option in ("timeout", "min_attempt_timeout", "poll"):
        if not getattr(settings, option) > 0:
            raise UsageError(f"model openai: {option}={getattr(settings, option)} is not a number of seconds above 0.")

    if settings.proxy is not None and not _is_address(settings.proxy):
        raise UsageError(
            f"model openai: the proxy that the environment names for {parts.hostname} must look like http://host:port. "
            f"Mend the environment variable {parts.scheme}_proxy (or {parts.scheme.upper()}_PROXY), or unset it."
        )


def _is_address(url: str) -> bool:
    """Whether it is a web address that a connection can be tried to."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(host) and parts.port != 0 and url.isprintable()
    except ValueError:  # brackets that do not close, a port that is no number or too large, a host that is no name
        return False


def read_key(settings: Settings) -> str | None:
    """The key from the file or the environment; None for a local server without one. Raises UsageError or ModelError."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", settings.api_key_env):
        raise UsageError("model openai: api_key_env takes the name of an environment variable, not the key itself.")
    if settings.api_key_file is not None:
        key = _key_in(Path(settings.api_key_file).expanduser())
    else:
        key = os.environ.get(settings.api_key_env, "").strip()
    if not (key.isascii() and key.isprintable()):
        place = settings.key_place.removeprefix("the environment variable ")
        raise UsageError(f"model openai: the key in {place} holds a character that no HTTP header may hold. Copy the key again.")
    if not key and settings.api_key_file is not None:
        raise ModelError(f"model openai: {settings.key_place} holds no key. Write the key into it, and nothing else.")
    if not key and not settings.local:
        raise ModelError(
            f"openai:{settings.model} at {settings.base_url} needs a key, and the environment variable {settings.api_key_env} "
            f"is not set. Set it (to any text if the server takes no key), or name another with api_key_env=NAME."
        )
    return key or None


def _key_in(file: Path) -> str:
    """What a key file holds. A file that is not there is not named: somebody may have put the key itself in its place."""
    try:
        if not file.is_file():  # a pipe would wait for a writer, a device may never end
            raise UsageError("model openai: api_key_file names no file. It takes the path of a file that holds the key.")
        with file.open("rb") as stream:
            data = stream.read(LARGEST_KEY + 1)
    except OSError as error:
        raise UsageError(
            f"model openai: the file that api_key_file names cannot be read: {error.strerror}. Mend its path or its permissions."
        ) from None
    if len(data) > LARGEST_KEY:
        raise UsageError(f"model openai: {file} is larger than {LARGEST_KEY} bytes; expected a key and nothing else.")
    return data.decode("utf-8", "replace").strip()
