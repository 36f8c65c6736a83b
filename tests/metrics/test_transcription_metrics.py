from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from made import BLOCKED, ERROR, SCORED, UNPARSED, columns
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu

from eyetest.metrics import estimate
from eyetest.metrics import transcription as counted
from eyetest.metrics.columns import Columns, Metric, point
from eyetest.metrics.transcription import (
    BagF1,
    BagPrecision,
    BagRecall,
    Bleu,
    CharacterErrorRate,
    SentenceBleu,
    WordErrorRate,
)
from eyetest.scorers import transcription as scored
from eyetest.scorers.transcription import TranscriptionScorer
from eyetest.types import Sample

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "metric_cases.json").read_text())["cases"]
PAPER = TranscriptionScorer.paper()
JIWER = TranscriptionScorer(unicode="keep", case="keep", quotes="keep", frame="keep", whitespace="keep")
WEIGHTS = [(1.0,), (0.5, 0.5), (1 / 3,) * 3, (0.25,) * 4]
ORDERS = (1, 2, 3, 4)
ALL: tuple[Metric, ...] = (
    WordErrorRate(),
    WordErrorRate(pooled=False),
    CharacterErrorRate(),
    CharacterErrorRate(pooled=False),
    BagPrecision(),
    BagRecall(),
    BagF1(),
    *(Bleu(order=n) for n in ORDERS),
    *(Bleu(order=n, style="sacrebleu") for n in ORDERS),
    *(SentenceBleu(order=n) for n in ORDERS),
)


def sample(reference: str) -> Sample:
    return Sample("s", "What is written?", (reference,), kind="transcription")


def read(references: Sequence[str], hypotheses: Sequence[str], scorer: TranscriptionScorer = PAPER, **given: Any) -> Columns:
    scores = [scorer(sample(r), h) for r, h in zip(references, hypotheses, strict=True)]
    return columns([score.value for score in scores], **{"counts": [score.counts for score in scores]} | given)


def cases(*metrics: str) -> Any:
    found = [pytest.param(case, id=case["id"]) for case in CASES if case["metric"] in metrics]
    assert found, metrics
    return pytest.mark.parametrize("case", found)


def test_scorer_and_metrics_agree_on_the_columns() -> None:
    assert counted.COUNTS == scored.COUNTS


@cases("wer", "cer")
def test_error_rate_case(case: dict[str, Any]) -> None:
    references, hypotheses = (
        [text] if isinstance(text, str) else text for text in map(case["args"].get, ("reference", "hypothesis"))
    )
    pooled = not case["call"].startswith("mean of per-pair")
    metric = {"wer": WordErrorRate(pooled=pooled), "cer": CharacterErrorRate(pooled=pooled)}[case["metric"]]
    assert point(metric, read(references, hypotheses, JIWER)) == pytest.approx(case["expected"], abs=case["tolerance"])


@cases("ocr_bag_prf")
def test_bag_case(case: dict[str, Any]) -> None:
    made = read(case["args"]["references"], case["args"]["hypotheses"])
    for name, metric in {"precision": BagPrecision(), "recall": BagRecall(), "f1_of_means": BagF1()}.items():
        assert point(metric, made) == pytest.approx(case["expected"][name], abs=case["tolerance"]), name


@cases("bleu_sentence")
def test_sentence_bleu_case(case: dict[str, Any]) -> None:
    made = read([case["args"]["reference"]], [case["args"]["hypothesis"]])
    kind: Any = SentenceBleu if case["policy"] == "method1" else Bleu
    assert [point(kind(order=n), made) for n in ORDERS] == pytest.approx(case["expected"], abs=case["tolerance"])


@cases("bleu_corpus")
def test_corpus_bleu_case(case: dict[str, Any]) -> None:
    made = read(case["args"]["references"], case["args"]["hypotheses"])
    assert [point(Bleu(order=n), made) for n in ORDERS] == pytest.approx(case["expected"], abs=case["tolerance"])


@cases("bleu_sacrebleu")
def test_sacrebleu_case(case: dict[str, Any]) -> None:
    options = case["args"]["kwargs"]
    scorer = TranscriptionScorer(
        case="fold" if options.get("lowercase") else "keep",
        punctuation="keep" if options.get("tokenize") == "none" else "split",
        quotes="keep",
        frame="keep",
    )
    made = read(case["args"]["references"], case["args"]["hypotheses"], scorer)
    assert point(Bleu(style="sacrebleu"), made) == pytest.approx(case["expected"], abs=case["tolerance"])


TEXTS = st.lists(
    st.tuples(*[st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12).map(" ".join)] * 2), min_size=1, max_size=5
)


@settings(deadline=None, max_examples=120)
@given(TEXTS)
def test_the_reference_libraries_agree(pairs: list[tuple[str, str]]) -> None:
    references, hypotheses = [r for r, _ in pairs], [h for _, h in pairs]
    made = read(references, hypotheses)
    rates = [jiwer.wer(r, h) for r, h in pairs]
    if any(references):
        assert point(WordErrorRate(), made) == pytest.approx(jiwer.wer(references, hypotheses))
        assert point(CharacterErrorRate(), made) == pytest.approx(jiwer.cer(references, hypotheses))
    assert point(WordErrorRate(pooled=False), made) == pytest.approx(np.mean(rates))
    split = [[r.split()] for r in references], [h.split() for h in hypotheses]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corpus = corpus_bleu(*split, weights=WEIGHTS)
        smooth = SmoothingFunction().method1
        sentences = [
            sentence_bleu(r, h, weights=WEIGHTS, smoothing_function=smooth) if h else [0] * 4 for r, h in zip(*split, strict=True)
        ]
    assert [point(Bleu(order=n), made) for n in ORDERS] == pytest.approx(corpus, abs=1e-9)
    means = np.mean([np.broadcast_to(one, 4) for one in sentences], axis=0)
    assert [point(SentenceBleu(order=n), made) for n in ORDERS] == pytest.approx(means, abs=1e-9)
    for n in ORDERS:
        theirs = sacrebleu.BLEU(tokenize="none", smooth_method="none", max_ngram_order=n).corpus_score(hypotheses, [references])
        assert point(Bleu(order=n, style="sacrebleu"), made) == pytest.approx(theirs.score / 100, abs=1e-9)


def test_pooled_is_not_the_mean() -> None:
    made = read(["a b c d", "a b"], ["a b c d", "a x"])
    assert point(WordErrorRate(), made) == pytest.approx(1 / 6)
    assert point(WordErrorRate(pooled=False), made) == pytest.approx(1 / 4)


def test_an_unread_answer_is_an_empty_transcription() -> None:
    references, said = ["a b", "c d", "e f", "g h"], ["a b", "c d", "e f", "g h"]
    status = [SCORED, UNPARSED, BLOCKED, ERROR]
    made = read(references, said, status=status)
    assert point(WordErrorRate(), made) == pytest.approx(4 / 6)
    assert point(CharacterErrorRate(), made) == pytest.approx(6 / 9)
    assert point(BagF1(), made) == pytest.approx(1 / 3)
    assert point(Bleu(order=1), made) == pytest.approx(point(Bleu(order=1), read(references[:3], ["a b", "", ""])))
    assert point(WordErrorRate("parsed_only"), made) == 0.0
    empty = [PAPER.empty(sample(reference)) for reference in references]
    assert point(WordErrorRate(), columns([0.0] * 4, counts=empty, status=status)) == 1.0


def test_missing_counts_are_named() -> None:
    row = list(PAPER(sample("a b"), "a b").counts)
    made = columns([1.0, 0.0], counts=[row, [math.nan] * 14], status=[SCORED, BLOCKED], sample=[3, 7])
    with pytest.raises(ValueError, match=r"the answer to sample number 7 has no counts.*TranscriptionScorer\.empty"):
        point(WordErrorRate(), made)
    assert point(WordErrorRate("parsed_only"), made) == 0.0
    with pytest.raises(ValueError, match="have 14 columns, found 0"):
        point(WordErrorRate(), columns([1.0]))


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_the_oracle_attains_the_best(metric: Metric) -> None:
    references = ["a b c d e", "a b", "", "é ü, x"]
    made = read(references, references)
    assert metric.best(made) == pytest.approx(point(metric, made))
    assert metric.best(read(references, ["x"] * 4)) == pytest.approx(metric.best(made))
    assert math.isnan(metric.chance(made))


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_no_answers_are_undefined(metric: Metric) -> None:
    failed = read(["a"], ["a"], status=[ERROR])
    assert math.isnan(point(metric, failed))
    assert math.isnan(metric.best(failed))


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_intervals_hold_the_value_and_do_not_depend_on_order(metric: Metric) -> None:
    rng = np.random.default_rng(0)
    references = [" ".join(rng.choice(list("abcdefgh"), 9)) for _ in range(60)]
    hypotheses = [
        " ".join(word if rng.random() < 0.9 else "x" for word in text.split() if rng.random() < 0.9) for text in references
    ]
    made = read(references, hypotheses)
    found = estimate(metric, made, seed=0, resamples=200)
    assert found.low < found.value < found.high
    assert estimate(metric, made.take(rng.permutation(60)), seed=0, resamples=200) == found


def test_the_mean_error_rate_may_exceed_one() -> None:
    found = estimate(WordErrorRate(pooled=False), read(["a"] * 20, ["b c d"] * 10 + ["b c"] * 10), seed=0, resamples=200)
    assert found.value == 2.5
    assert found.high > 2.5


def test_names_and_directions() -> None:
    assert [metric.name for metric in ALL] == [
        *("wer", "wer_mean", "cer", "cer_mean", "bag_precision", "bag_recall", "bag_f1"),
        *(f"bleu_{n}" for n in ORDERS),
        *(f"bleu_{n}_sacrebleu" for n in ORDERS),
        *(f"sentence_bleu_{n}" for n in ORDERS),
    ]
    assert [metric.name for metric in ALL if not metric.higher_is_better] == ["wer", "wer_mean", "cer", "cer_mean"]
    assert not any(metric.additive for metric in ALL)
