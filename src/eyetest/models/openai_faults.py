"""What a user is told when a server cannot be used. No message repeats a key, or a proxy's address with its password."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin

from eyetest.errors import ModelError
from eyetest.models.openai_secret import server_of
from eyetest.models.openai_settings import Settings

if TYPE_CHECKING:
    import aiohttp


def no_answer(error: aiohttp.ClientError | OSError, base_url: str, proxy: str | None) -> str:
    """What kept an answer away: the kind of error and the machine. Its own text may hold a proxy's address with the password."""
    import aiohttp

    kind = type(error).__name__
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"{kind}: the proxy {server_of(proxy or '')} answers HTTP {error.status}"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    reason = (cause.strerror or "") if isinstance(cause, OSError) else ""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = "its certificate is not valid"
    elif isinstance(error, aiohttp.ClientResponseError):
        reason = "what it sends is no HTTP answer, or one with headers that are wrong or too long"
    elif isinstance(error, aiohttp.ServerDisconnectedError):
        reason = "it closed the connection without an answer"
    elif isinstance(error, aiohttp.ClientPayloadError):
        reason = "the answer is cut off, or not packed as its Content-Encoding says"
    through = f" through the proxy {server_of(proxy)}" if proxy else ""
    return f"{kind}: {server_of(base_url)}{through}{f': {reason}' if reason else ''}"


def no_server(settings: Settings, reason: str) -> ModelError:
    """The error for a server that never said a word. reason: what the last attempt met."""
    return ModelError(
        f"No server answers at {settings.base_url} (model {settings.model!r}; {reason}). "
        f"Start the server, or mend base_url=... (or the environment variable OPENAI_BASE_URL)."
    )


def elsewhere(settings: Settings, status: int, location: str | None) -> ModelError:
    """The error for a server that sends requests on. Only a machine is named: the path may hold secrets."""
    to = server_of(urljoin(settings.url, location)) if location else "an address that is not named"
    return ModelError(
        f"{settings.url} sends requests on to {to} (HTTP {status}), which is not followed, since the key would go there too. "
        f"If you trust it, put its address, up to /chat/completions, into base_url=... (or into OPENAI_BASE_URL)."
    )


def no_access(settings: Settings, status: int, reason: str, *, held: bool) -> ModelError:
    """The error for a wrong key, a forbidden or unknown model, a wrong path. held: whether there is a key."""
    if status == 404:
        told = f"knows no model {settings.model!r}, or has no such path"
        way_out = f"Check the name (GET {settings.base_url}/models lists them) and base_url."
    else:
        told = f"does not let this key use the model {settings.model!r}"
        other = f"{settings.api_key_env}, or name another variable with api_key_env=NAME"
        way_out = f"Put a valid key into {other if settings.api_key_file is None else 'it'}."
    state = "" if settings.api_key_file is not None else f", which is {'set' if held else 'not set'}"
    return ModelError(f"{settings.url} {told} ({reason}). The key is read from {settings.key_place}{state}. {way_out}")


def no_money(settings: Settings, reason: str) -> ModelError:
    """The error for an account whose quota is used up."""
    return ModelError(
        f"{settings.url}: the account behind the key has nothing left ({reason}). Asking again would not help. Top it up or use "
        f"another key ({settings.key_place}), and run the same command again: what was answered so far is kept."
    )
