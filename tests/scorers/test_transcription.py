from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jiwer
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import DataError
from eyetest.scorers.edits import edits
from eyetest.scorers.ngrams import clipped, possible
from eyetest.scorers.transcription import COUNTS, TranscriptionScorer
from eyetest.types import Sample

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "metric_cases.json").read_text())["cases"]
DEFAULT, PAPER = TranscriptionScorer(), TranscriptionScorer.paper()
JIWER = TranscriptionScorer(unicode="keep", case="keep", quotes="keep", frame="keep", whitespace="keep")
WORDS = st.text(alphabet="ab .é\t\n", max_size=30)


def sample(*target: str) -> Sample:
    return Sample("s", "What is written?", target, kind="transcription")


def counts(scorer: TranscriptionScorer, reference: str, hypothesis: str) -> dict[str, float]:
    return dict(zip(COUNTS, scorer(sample(reference), hypothesis).counts, strict=True))


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if c["metric"] == "wer_counts"])
def test_wer_counts_case(case: dict[str, Any]) -> None:
    found = counts(JIWER, case["args"]["reference"], case["args"]["hypothesis"])
    assert found["word_edits"] == case["expected"]["errors"]
    assert found["ref_words"] == case["expected"]["reference_words"]


@settings(deadline=None, max_examples=150)
@given(WORDS, WORDS)
def test_edits_are_those_of_jiwer(reference: str, hypothesis: str) -> None:
    found = counts(JIWER, reference, hypothesis)
    words, characters = jiwer.process_words(reference, hypothesis), jiwer.process_characters(reference, hypothesis)
    assert found["word_edits"] == words.substitutions + words.deletions + words.insertions
    assert found["ref_words"] == words.hits + words.substitutions + words.deletions
    assert found["char_edits"] == characters.substitutions + characters.deletions + characters.insertions
    assert found["ref_chars"] == characters.hits + characters.substitutions + characters.deletions


def test_the_order_of_counts() -> None:
    assert PAPER(sample("a b c d"), "a b x c d").counts == (1, 4, 5, 2, 7, 4, 4, 2, 0, 0, 5, 4, 3, 2)
    assert COUNTS[:6] == ("word_edits", "ref_words", "hyp_words", "char_edits", "ref_chars", "bag_hits")
    assert COUNTS[6:] == tuple(f"{name}_{n}" for name in ("matches", "ngrams") for n in (1, 2, 3, 4))


def test_n_grams_are_clipped() -> None:
    assert clipped(["the", "cat", "is", "on", "the", "mat"], ["the"] * 7) == (2, 0, 0, 0)
    assert clipped(list("abab"), list("ababab")) == (4, 3, 2, 1)
    assert possible(2) == (2, 1, 0, 0)
    assert edits(["a", "b"], ["b", "a"]) == 2


@pytest.mark.parametrize(
    ("reference", "completion"),
    [
        ("ONE DOES not simply", "one does\nnot  simply "),
        ("hello world", '"Hello world"'),
        ("hello world", "“hello world”."),
        ("it's", "'it's'"),
        ("hello world", 'The text says: "Hello world".'),
        ("hello world", 'Sure! The text in the image reads: "hello world"'),
        ("hello world", 'The text in the image is "hello world".'),
        ("hello world", "Here is the transcription:\n\nhello world"),
        ("hello world", "Text: hello world"),
        ("hello world", "```text\nhello\nworld\n```"),
        ("hello world", "<think>is it?</think>hello world"),
        ("café", "cafe\u0301"),
        ("the sign says: stop", "The sign says: stop"),
        ("answer: yes", "Answer: yes"),
        ("I cannot help you with this", "I cannot help you with this"),
    ],
)
def test_the_default_takes_off_what_frames_a_text(reference: str, completion: str) -> None:
    found = DEFAULT(sample(reference), completion)
    assert (found.status, found.value, found.rule) == ("scored", 1.0, "exact")


@pytest.mark.parametrize(
    ("reference", "completion", "value"),
    [
        ("the sign says stop", "The sign says stop", 0.75),
        ("hello world", '"hello world"', 0.0),
        ("say hi", "say  hi", 1.0),
        ("café", "cafe\u0301", 1.0),
        ("hello world", "Text: hello world", 0.5),
    ],
)
def test_the_paper_takes_nothing_off(reference: str, completion: str, value: float) -> None:
    assert PAPER(sample(reference), completion).value == pytest.approx(value)


def test_quotes_within_a_text_stay() -> None:
    for text in ("'a' or 'b'", '"a" or "b"', "“a” or “b”"):
        assert DEFAULT(sample("x"), text).answer == text


@pytest.mark.parametrize(
    ("reference", "completion", "value", "rule"),
    [("hello", "", 0.0, "empty"), ("", "", 1.0, "empty"), ("", "a b", 0.0, "compared"), ("a", "a b c", 0.0, "compared")],
)
def test_nothing_written_and_nothing_said(reference: str, completion: str, value: float, rule: str) -> None:
    found = DEFAULT(sample(reference), completion)
    assert (found.status, found.value, found.rule) == ("scored", value, rule)


def test_a_refusal_counts_as_an_empty_transcription() -> None:
    found = DEFAULT(sample("hello world"), "I'm sorry, I cannot read the text in the image.")
    assert (found.status, found.value, found.answer, found.rule) == ("refused", 0.0, None, "refusal_phrase")
    assert found.counts == DEFAULT.empty(sample("hello world")) == (2, 2, 0, 11, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def test_punctuation() -> None:
    strip, split = TranscriptionScorer(punctuation="strip"), TranscriptionScorer(punctuation="split")
    assert strip(sample("Don't stop, now!"), "dont stop now").value == 1.0
    assert counts(split, "Hello, world again today.", "Hello , world again today .")["word_edits"] == 0
    assert counts(DEFAULT, "Hello, world again today.", "Hello , world again today .")["word_edits"] == 4


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet="ab1.,-!?()$ ", max_size=30))
def test_split_is_the_tokenizer_13a(text: str) -> None:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    split = TranscriptionScorer(punctuation="split", quotes="keep", frame="keep")
    assert counts(split, text, text)["ref_words"] == len(Tokenizer13a()(text).split())


def test_strip_is_what_jiwer_removes() -> None:
    text = "a-b … «c» don’t 5% $3 _x_ #y"
    strip = TranscriptionScorer(punctuation="strip", case="keep")
    assert strip(sample("z"), text).answer == " ".join(jiwer.RemovePunctuation()(text).split())


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=60))
def test_the_target_itself_is_right(text: str) -> None:
    for scorer in (DEFAULT, PAPER, JIWER):
        assert scorer(sample(text), text).value == 1.0


@pytest.mark.parametrize("targets", [(), ("a", "b")])
def test_one_target_is_needed(targets: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match=rf"Sample 's' has {len(targets)} targets\. .*exactly one text: give it one target"):
        DEFAULT(sample(*targets), "x")


def test_signatures_name_the_preset_and_every_option() -> None:
    options = "unicode=NFC,case=fold,punctuation=keep,quotes=strip,frame=strip,whitespace=collapse"
    assert DEFAULT.signature == f"transcription(preset=default,{options})"
    assert PAPER.signature.startswith("transcription(preset=paper,unicode=NFC,case=keep,")
    assert JIWER.signature.startswith("transcription(preset=custom,unicode=keep,")


def test_long_completions_are_read_in_time() -> None:
    for text in ("word " * 100_000, "x" * 500_000, "the text " * 50_000 + ":", " " * 500_000, "'" * 300_000, "a'" * 200_000):
        DEFAULT(sample("hello world " * 40), text)


def test_sacrebleu_counts_the_same_n_grams() -> None:
    reference, hypothesis = "the cat is on the mat on the mat", "the cat on the mat the mat"
    found = counts(PAPER, reference, hypothesis)
    oracle = sacrebleu.BLEU(tokenize="none", smooth_method="none").corpus_score([hypothesis], [[reference]])
    assert [found[f"matches_{n}"] for n in (1, 2, 3, 4)] == oracle.counts
    assert [found[f"ngrams_{n}"] for n in (1, 2, 3, 4)] == oracle.totals
