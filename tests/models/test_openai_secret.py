"""The key in what a server says, in every spelling."""

from __future__ import annotations

import base64
import html
import time
from urllib.parse import quote

import pytest

from eyetest.models.openai_secret import scrub, server_of
from eyetest.models.openai_wire import LONGEST_TEXT, Failure, decode
from eyetest.types import Response

KEY = "sk-test/Secret+key=0123&<>456789"


def each(form: str) -> str:
    return "".join(form.format(ord(character)) for character in KEY)


FORMS = {
    "plain": KEY,
    "json": KEY.replace("/", "\\/").replace("-", "\\u002d"),
    "json in full": each("\\u{:04x}"),
    "json twice": each("\\\\u{:04X}"),
    "hex escapes": each("\\x{:02x}"),
    "html": html.escape(KEY),
    "html decimal": each("&#{};"),
    "html hexadecimal": each("&#x{:X};"),
    "html twice": each("&amp;#{};"),
    "url": quote(KEY, safe=""),
    "url in full": each("%{:02x}"),
    "url twice": quote(quote(KEY, safe="")),
    "quoted-printable": KEY.replace("=", "=3D"),
    "hexadecimal": KEY.encode().hex(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_key_is_gone(form: str) -> None:
    assert scrub(f"you sent {form}, which is wrong", KEY) == "you sent [key], which is wrong"


@pytest.mark.parametrize("before", ["", "a", "ab", "Bearer ", "user:", "Basic: "])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_the_key_is_gone_from_base64(before: str, encode) -> None:
    said = scrub(encode(f"{before}{KEY} and more".encode()).decode(), KEY)
    left = base64.urlsafe_b64decode(said.replace("+", "-").replace("/", "_").split("[key]")[0][:-4] + "====")
    assert "[key]" in said
    assert b"sk-t" not in left
    assert scrub(encode(f"{before}{KEY}".encode()).decode().replace("/", "\\/"), KEY).count("[key]") == 1


@pytest.mark.parametrize("text", ["none of them", r"\frac{1}{2} & 50 % = x", "sk-test/Secret", ""])
def test_other_text_stays(text: str) -> None:
    assert scrub(text, KEY) == text
    assert scrub(text, None) == text
    assert scrub(text, "none") == text  # what local servers take is no secret, and an answer


@pytest.mark.parametrize("text", ["\\" * 200_000, "%25" * 60_000, "&amp;" * 40_000])
def test_escapes_without_end_take_no_time(text: str) -> None:
    started = time.perf_counter()
    assert scrub(text, KEY) == text
    assert time.perf_counter() - started < 5


def reply(**choice: object) -> bytes:
    import orjson

    return orjson.dumps({"choices": [{"message": {"content": "A"}, "finish_reason": "stop"} | choice]})


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_part_of_an_outcome_repeats_the_key(form: str) -> None:
    assert decode(200, None, reply(message={"content": f"A {form}"}), (), KEY) == Response(text="A [key]")
    refused = decode(200, None, reply(message={"content": None, "refusal": f"no {form}"}), (), KEY)
    assert refused == Response(text="no [key]", status="refused", error="no [key]")
    empty = decode(200, None, reply(message={"content": None}, finish_reason=f"bad {form}"), (), KEY)
    assert empty == Failure("malformed answer: no content (finish_reason: bad [key])")
    odd = decode(200, None, reply(message={"content": None}, finish_reason={"key": KEY}), (), KEY)
    assert odd == Failure("malformed answer: no content (finish_reason: {'key': '[key]'})")
    assert decode(400, None, form.encode(), (), KEY) == Response(status="error", error="HTTP 400: [key]")
    assert decode(500, None, form.encode(), (), KEY) == Failure("HTTP 500: [key]")
    assert decode(200, None, b" " * 3000 + form.encode(), (), KEY) == Failure("malformed answer: [key]")


def test_lengths_are_bounded() -> None:
    long = decode(200, None, reply(message={"content": "x" * (LONGEST_TEXT + 1)}), (), KEY)
    assert isinstance(long, Response)
    assert (long.status, len(long.text)) == ("truncated", LONGEST_TEXT)
    refused = decode(200, None, reply(message={"content": None, "refusal": "no " * 1000}), (), KEY)
    assert isinstance(refused, Response)
    assert refused.error == ("no " * 100)
    empty = decode(200, None, reply(message={"content": None}, finish_reason="x" * 9999), (), KEY)
    assert empty == Failure(f"malformed answer: no content (finish_reason: {'x' * 300})")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:SECRET@proxy:3128", "http://proxy:3128"),
        ("https://[::1]:80/v1?key=SECRET", "https://[::1]:80"),
        ("http://host", "http://host"),
        ("http://user:SECRET@[", "an address that is none"),
        ("http://user:SECRET@host:port", "an address that is none"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert server_of(url) == shown
