"""The page: what it shows, and that nothing from a dataset or a model runs, hides or leaks in it."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from eyetest.reports.export import Options, gather, in_words
from eyetest.reports.html import page
from eyetest.types import Prediction, Response, Sample
from reports.making import answer, usual, write_run

RUNS = "document.documentElement.dataset.ran='1';document.title='ran'"

HOSTILE = "".join(
    (
        f"<script>{RUNS}</script></style></title></textarea><script>{RUNS}</script>",
        f'"\'><img src=x onerror="{RUNS}"><svg onload="{RUNS}"><a href="javascript:{RUNS}">x</a>',
        "{{7*7}}{% raw %}{#",
        "\u202eevil\u200b\0\x1b[31m-->]]><!--",
        f'<iframe srcdoc="<script>parent.{RUNS}</script>"><style>*{{display:none}}</style>',
    )
)


class Elements(HTMLParser):
    """What a browser would make of the page: tags, attributes, text by element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.veiled = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "img", "line", "rect", "path", "circle", "br"):
            self.open.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1][0] == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(tag for tag, _ in self.open), data))
        if any(tag == "details" and given.get("class") == "veil" and "open" not in given for tag, given in self.open):
            self.veiled += data

    @property
    def text(self) -> str:
        return "".join(data for tags, data in self.texts if "style" not in tags)


ALLOWED_HREF = re.compile(r"#[a-z]+|data:text/(csv|plain);charset=utf-8;base64,[A-Za-z0-9+/=]+|https?://[^\s\"'<>]+")
ALLOWED_SRC = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=]+")


def hostile_prediction(one: Prediction) -> Prediction:
    sample = replace(one.sample, metadata={"group": HOSTILE + one.sample.id[-1]})
    return replace(one, model=HOSTILE if one.model == "seer" else one.model, sample=sample, prompt=HOSTILE)


def hostile_run(folder: Path) -> Path:
    choices = (HOSTILE, "B" + HOSTILE, "javascript:alert(1)", "=1+1")
    texts: dict[str, Any] = {"choices": choices, "task": HOSTILE, "question": HOSTILE}
    predictions = [hostile_prediction(one) for one in usual(20, **texts)]
    for place, status in ((0, "error"), (8, "bad_image"), (16, "blocked")):
        response = Response(HOSTILE, status=status, error=HOSTILE)  # type: ignore[arg-type]
        predictions[place] = replace(predictions[place], response=response)
    sample = replace(predictions[24].sample, id=HOSTILE)
    predictions[24] = replace(predictions[24], sample=sample, response=Response(HOSTILE + "\u202e" * 2**20))
    card = dict.fromkeys(("title", "licence", "citation", "notes"), HOSTILE) | {"url": f"javascript:{RUNS}"}
    report = {"files": [HOSTILE], "read": 1, "kept": 1, "dropped": {HOSTILE: 3}, "warnings": {}, "rows": {HOSTILE: [HOSTILE]}}
    task = {"load_report": report, "files_sha256": {HOSTILE: HOSTILE}, "split": HOSTILE, "ids_sha256": HOSTILE}
    models = {HOSTILE: {"identity": HOSTILE}, "blind": {"identity": "x"}}
    return write_run(
        folder, predictions, card=card, labels=choices, by=["metadata.group"], task=task, models=models,
        started=HOSTILE, eyetest=HOSTILE, python=HOSTILE, packages={HOSTILE: HOSTILE},
    )  # fmt: skip


def harmless(text: str) -> Elements:
    """The page as a parser sees it, after the checks that hold for every page."""
    seen = Elements(text)
    assert set(seen.tags).isdisjoint(
        {"script", "iframe", "object", "embed", "base", "form", "link", "textarea", "button", "input"}
    )
    assert seen.tags.count("style") == seen.tags.count("title") == seen.tags.count("html") == 1
    assert [name for name, _ in seen.attributes if name.startswith("on") or name in ("srcdoc", "action", "formaction")] == []
    assert all(ALLOWED_HREF.fullmatch(value) for name, value in seen.attributes if name in ("href", "xlink:href"))
    assert all(ALLOWED_SRC.fullmatch(value) for name, value in seen.attributes if name == "src")
    assert all(re.fullmatch(r"--h:\d+%", value) for name, value in seen.attributes if name == "style")
    assert re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", text) is None
    assert seen.open == []
    return seen


def test_hostile_texts_are_shown_as_text(tmp_path: Path) -> None:
    text = page(gather(hostile_run(tmp_path)), Options(embed_pictures=True))
    seen = harmless(text)
    assert "<script>document.documentElement" in seen.text
    assert "{{7*7}}{% raw %}{#" in seen.text
    assert "[U+202E]evil[U+200B]" in seen.text
    assert f"first 1,500 of {len(HOSTILE) + 2**20:,} characters" in seen.text
    assert len(text) < 3_000_000


def dumped(browser: str, file: Path, profile: Path) -> str:
    """The page's elements after a headless browser has loaded it."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom", file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_nothing_runs_in_a_browser(tmp_path: Path) -> None:
    """In Chromium, with the page's own ban on scripts taken out; without a browser, the parser's verdict stands alone."""
    text = page(gather(hostile_run(tmp_path / "run")), Options(embed_pictures=True))
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert len(bare) < len(text)
    harmless(bare)
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return
    page_file, control = tmp_path / "page.html", tmp_path / "control.html"
    page_file.write_text(bare, encoding="utf-8")
    control.write_text(f'<!DOCTYPE html><html><title>t</title><img src=x onerror="{RUNS}">', encoding="utf-8")
    assert 'data-ran="1"' in dumped(browser, control, tmp_path / "profile")  # the check can see a script run
    result = dumped(browser, page_file, tmp_path / "profile")
    assert "data-ran" not in result[:500]
    assert "<title>Eye test: " in result
    assert "How to read this." in result


def test_the_page_bans_scripts_and_foreign_addresses_itself(tmp_path: Path) -> None:
    text = page(gather(write_run(tmp_path, usual(12))))
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in text
    seen = harmless(text)
    assert not [
        value for name, value in seen.attributes if name in ("src", "href") and "//" in value and value.startswith("http")
    ]


def test_sections_come_in_order_and_the_numbers_are_those_of_the_run(tmp_path: Path) -> None:
    predictions = usual(40) + [answer(number, "knowledge", right=number % 2 == 0) for number in range(40)]
    found = gather(write_run(tmp_path, predictions, labels=("red", "green", "blue", "grey")))
    text = page(found)
    seen = harmless(text)
    sections = re.findall(r'<section id="(\w+)">', text)
    expected = ["words", "scores", "models", "picture", "knowledge", "across", "mistakes", "samples", "prompts", "provenance"]
    assert sections == expected
    said = re.sub(r"\s+", " ", seen.text)
    assert "needs the picture: 75 % right with the picture; without it 25 %, which cannot be told from guessing (25 %)." in said
    assert "Of 40 questions: 30 right with the picture, 10 without it, where guessing gives about 10; 20 only with it" in said
    assert "75.0 [59.8, 85.8] n 40" in said
    assert next(iter(in_words(found.facts))).startswith("seer needs the picture: 75 %")


def test_kinds_and_prompts_are_named_where_there_are_several(tmp_path: Path) -> None:
    labels = ("red", "green", "blue", "grey")
    predictions = [replace(one, sample=replace(one.sample, metadata={"size": "big"})) for one in usual(20)]
    terse = [replace(one, prompt="terse") for one in predictions]
    texts = [answer(n, c, kind="text", id=f"t{n}", metadata={"size": "big"}) for n in range(12) for c in ("image", "no_image")]
    run = write_run(tmp_path, predictions + terse + texts, labels=labels, by=["metadata.size"])
    text = page(gather(run))
    said = re.sub(r"\s+", " ", harmless(text).text)
    assert "seer (multiple choice, prompt default) needs the picture" in said
    assert "seer (short answers, prompt default)" in said
    assert "image (short answers, prompt default) the question with its own picture" in said
    assert "image − no_image, prompt terse" in said
    assert "seer · image · prompt default" in said
    assert "by size · image · multiple choice, prompt terse" in said
    assert "Multiple choice and short answers together; “In words” tells them apart." in said
    assert '<td><bdi dir="auto">short answers</bdi></td>' in text


@pytest.mark.parametrize("word", ["could not be read", "unread", "guessing alone", "none of them"])
def test_one_word_a_thing(tmp_path: Path, word: str) -> None:
    predictions = usual(20)
    predictions[8] = answer(1, status="unparsed")
    text = page(gather(write_run(tmp_path, predictions, labels=("red", "green", "blue", "grey"))))
    assert "unparsed, refused" in text
    assert word not in harmless(text).text.lower()


def test_a_page_without_a_second_condition_says_what_to_add(tmp_path: Path) -> None:
    text = page(gather(write_run(tmp_path, [answer(number) for number in range(12)])))
    said = re.sub(r"\s+", " ", harmless(text).text)
    assert "Only one condition was asked, so nothing can be compared. Add no_image, swapped or shuffled." in said
    assert "Every question was asked with its picture and again without it" not in said


SECRET = "a-text-of-a-sample"


def secret_run(folder: Path, **rest: Any) -> Path:
    folder.mkdir()
    picture = folder / "picture.png"
    Pillow.new("RGB", (300, 200), (200, 30, 30)).save(picture)
    choices = ("right-" + SECRET, "wrong-" + SECRET, "other-" + SECRET)
    predictions = usual(12, choices=choices, question="question-" + SECRET, picture=str(picture))
    predictions = [replace(one, sample=replace(one.sample, id=f"{SECRET}-{one.sample.id}")) for one in predictions]
    predictions[0] = replace(predictions[0], response=Response("", status="error", error="error-" + SECRET))
    report = {"read": 3, "kept": 2, "dropped": {"no answer": 1}, "rows": {"no answer": [f"file:3: {SECRET}"]}, "warnings": {}}
    files = {f"/home/{SECRET}/items.jsonl": "abc"}
    return write_run(folder, predictions, task={"load_report": report, "files_sha256": files}, **rest)


def test_redact_leaves_no_text_and_no_picture_of_any_sample(tmp_path: Path) -> None:
    found = gather(secret_run(tmp_path / "run", card={"redistributable": True}))
    assert SECRET in page(found)
    text = page(found, Options(redact=True))
    seen = harmless(text)
    assert SECRET not in text
    assert "img" not in seen.tags
    assert "left out (--redact)" in seen.text
    assert seen.tags.count("article") == len(found.cards)  # who was right and wrong is still told


@pytest.mark.parametrize(
    ("card", "options", "shown"),
    [
        ({}, Options(), False),
        ({"redistributable": False}, Options(), False),
        ({"redistributable": "yes"}, Options(), False),
        ({"redistributable": True}, Options(), True),
        ({}, Options(embed_pictures=True), True),
    ],
)
def test_pictures_are_embedded_only_where_they_may(tmp_path: Path, card: dict[str, Any], options: Options, shown: bool) -> None:
    seen = harmless(page(gather(secret_run(tmp_path / "run", card=card)), options))
    assert ("img" in seen.tags) is shown
    assert ("does not state that it may be passed on" in seen.text) is not shown


def test_a_picture_that_is_gone_or_broken_is_a_sentence_not_an_error(tmp_path: Path) -> None:
    directory = secret_run(tmp_path / "run")
    found = gather(directory)
    (directory / "picture.png").unlink()
    assert "does not exist" in page(found, Options(embed_pictures=True))
    (directory / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    assert "img" not in harmless(page(found, Options(embed_pictures=True))).tags


def test_samples_of_offensive_sets_are_covered_until_clicked(tmp_path: Path) -> None:
    seen = Elements(page(gather(secret_run(tmp_path / "run", card={"offensive": True, "redistributable": True}))))
    shown = seen.text
    assert f"question-{SECRET}" in seen.veiled
    assert shown.count(f"question-{SECRET}") == seen.veiled.count(f"question-{SECRET}")
    assert "marked offensive" in shown


def test_a_sample_whose_answers_arrived_in_another_order_gives_the_same_page(tmp_path: Path) -> None:
    predictions = usual(24)
    first = page(gather(write_run(tmp_path / "a", predictions)))
    moved = sorted(predictions, key=lambda one: one.sample.id, reverse=True)
    assert page(gather(write_run(tmp_path / "b", moved))) == first


def test_many_labels_become_a_list_of_confusions(tmp_path: Path) -> None:
    labels = tuple(f"label {number}" for number in range(30))
    predictions = [answer(number, choices=(labels[number % 30], labels[(number + 1) % 30])) for number in range(60)]
    wrong = [answer(number, right=False, choices=(labels[3], labels[4])) for number in range(60, 67)]
    text = page(gather(write_run(tmp_path, predictions + wrong, labels=labels)))
    assert "30 labels; the most frequent confusions" in text
    said = re.sub(r"\s+", " ", harmless(text).text)
    assert re.search(r"label 3\s*label 4\s*7\b", said)


def test_very_many_labels_have_no_confusion_matrix_and_still_a_page(tmp_path: Path) -> None:
    labels = tuple(f"label {number}" for number in range(130))
    predictions = [answer(number, choices=(labels[number], labels[number - 1])) for number in range(130)]
    found = gather(write_run(tmp_path, predictions, labels=labels))
    assert "confusion" not in {sheet.name for sheet in found.sheets}
    assert "label 129" in harmless(page(found)).text


def test_failed_answers_stand_in_the_table_of_failures_with_their_bounds(tmp_path: Path) -> None:
    predictions = usual(20)
    predictions[0] = replace(predictions[0], response=Response(status="error", error="timeout"))
    said = re.sub(r"\s+", " ", harmless(page(gather(write_run(tmp_path, predictions)))).text)
    assert "failedscore % if failed wrongscore % if failed right seerimage19100.0 [83.2, 100.0]00170.075.0" in said
    assert "1 call failed or had a broken picture" in said


def test_texts_of_a_sample_without_any_picture_are_shown_with_no_picture(tmp_path: Path) -> None:
    sample = Sample("q", "Why?", ("because",), kind="text")
    one = answer(0)
    text = page(gather(write_run(tmp_path, [replace(one, sample=sample, response=Response("because"))])))
    assert "no picture" in harmless(text).text
    assert "right: " in harmless(text).text
