from __future__ import annotations

import jinja2
import pytest

from eyetest.reports.untrusted import clean, link, plain, said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0b\x07c\x1bd\x9fe", "abcde"),
        ("tab\tand\r\nlines\rstay\n", "tab\tand\nlines\nstay\n"),
        ("abc\u202edef\u2066", "abc[U+202E]def[U+2066]"),
        ("zero\u200bwidth\ufeff\u00ad", "zero[U+200B]width[U+FEFF][U+00AD]"),
        ("tags\U000e0041", "tags[U+E0041]"),
        ("half\ud800", "half\ufffd"),
        ("می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"),
        ("in\u200dword\u200c", "in[U+200D]word[U+200C]"),
        ("\u200dfirst", "[U+200D]first"),
        ("שלום", "שלום"),
    ],
)
def test_clean_leaves_out_controls_and_names_what_hides_or_turns(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_said_is_cut_at_a_stated_length_and_isolated() -> None:
    html = said("<b>" + "x" * 2000, 10).__html__()
    assert html == '<bdi dir="auto">&lt;b&gt;xxxxxxx</bdi><span class="cut"> … first 10 of 2,003 characters</span>'
    assert said("whole", 10).__html__() == '<bdi dir="auto">whole</bdi>'


def test_what_a_template_prints_without_a_filter_is_cleaned_and_escaped_too() -> None:
    environment = jinja2.Environment(autoescape=True, finalize=plain)
    assert environment.from_string("{{ x }}{{ n }}").render(x="<i>\0\u202e", n=3) == "&lt;i&gt;[U+202E]3"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", 'https://a" onclick="x', "https://a b", "JAVASCRIPT:x"]
)
def test_only_web_addresses_become_links(url: str) -> None:
    assert "<a" not in link(url)


def test_a_web_address_becomes_a_link() -> None:
    assert link("https://example.org/?a=1&b=2") == (
        '<a href="https://example.org/?a=1&amp;b=2" rel="noreferrer noopener">https://example.org/?a=1&amp;b=2</a>'
    )
