"""What scoring transcriptions and tags costs, beside the reference libraries, in one process. Exits 1 if a target is missed.

python benchmarks/metrics.py        (needs the extra `test`)
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from eyetest.metrics.columns import Columns, Metric, point
from eyetest.metrics.multilabel import (
    HammingLoss,
    Jaccard,
    MultilabelMacroF1,
    MultilabelMacroPrecision,
    MultilabelMacroRecall,
)
from eyetest.metrics.transcription import Bleu, CharacterErrorRate, WordErrorRate
from eyetest.scorers.edits import edits
from eyetest.scorers.ngrams import clipped, possible
from eyetest.scorers.transcription import TranscriptionScorer
from eyetest.types import Sample

PAIRS, PEER_PAIRS = 10_000, 2_000
"""Pairs that are scored, and of these the pairs that nltk and jiwer's calls of one pair are timed on."""
VIDEOS, LABELS = 2_000_000, 62
WEIGHTS = [(1.0,), (0.5, 0.5), (1 / 3,) * 3, (0.25,) * 4]
Row = tuple[str, str, str, bool]


def cpu(work: Callable[[], object], rounds: int = 3) -> float:
    """CPU seconds, best of `rounds`."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def pairs() -> tuple[list[str], list[str]]:
    """References of 40-120 words (mean 80) from a vocabulary of 72,000, hypotheses with a tenth left out and a tenth changed."""
    rng = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(rng.choices(letters, k=rng.randint(2, 8))) for _ in range(72_000)]
    references, hypotheses = [], []
    for _ in range(PAIRS):
        words = rng.choices(vocabulary, k=rng.randint(40, 120))
        kept = [word for word in words if rng.random() > 0.09]
        references.append(" ".join(words))
        hypotheses.append(" ".join(word if rng.random() > 0.1 else rng.choice(vocabulary) for word in kept))
    return references, hypotheses


def columns(n: int, **given: object) -> Columns:
    zeros = np.zeros(n)
    base: dict[str, object] = {
        "sample": np.arange(n, dtype=np.int32),
        "variant": zeros.astype(np.int16),
        "repeat": zeros.astype(np.int16),
        "status": zeros.astype(np.uint8),
        "value": zeros,
        "target": zeros.astype(np.int32),
        "answer": zeros.astype(np.int32),
        "request": np.arange(n),
        "cluster": np.arange(n),
        "chance": zeros,
    }
    return Columns(**(base | given))  # type: ignore[arg-type]


def ratio(name: str, ours: float, theirs: float, target: float, difference: float) -> Row:
    found = theirs / ours
    equal = difference <= 1e-9
    return name, f"{found:.1f}x (differs by {difference:.0e})", f">= {target:g}x, <= 1e-9", found >= target and equal


def transcriptions() -> list[Row]:
    """WER, CER and BLEU beside jiwer and nltk."""
    import jiwer
    from nltk.translate.bleu_score import corpus_bleu

    references, hypotheses = pairs()
    both = list(zip(references, hypotheses, strict=True))
    some = both[:PEER_PAIRS]
    scorer = TranscriptionScorer.paper()
    samples = [Sample("s", "", (text,), kind="transcription") for text in references]
    counts = np.array([scorer(sample, said).counts for sample, said in zip(samples, hypotheses, strict=True)])
    made = columns(PAIRS, counts=counts)

    def per_pair(work: Callable[[str, str], object], chosen: Sequence[tuple[str, str]]) -> float:
        def run() -> None:
            for reference, hypothesis in chosen:
                work(reference, hypothesis)

        return cpu(run) / len(chosen)

    def corpus(work: Callable[[list[str], list[str]], object]) -> float:
        # One call is jiwer's way to the pooled rate, which is the value that is compared.
        return cpu(lambda: work(references, hypotheses), 2) / PAIRS

    def statistics(reference: str, hypothesis: str) -> tuple[int, ...]:
        words, said = reference.split(), hypothesis.split()
        return (len(words), *clipped(words, said), *possible(len(said)))

    def nltk_bleu(chosen: Sequence[tuple[str, str]]) -> list[float]:
        return corpus_bleu([[r.split()] for r, _ in chosen], [h.split() for _, h in chosen], weights=WEIGHTS)  # type: ignore[no-any-return]

    theirs = nltk_bleu(both)
    apart = max(abs(point(Bleu(order=n), made) - theirs[n - 1]) for n in (1, 2, 3, 4))
    wer = abs(point(WordErrorRate(), made) - jiwer.wer(references, hypotheses))
    cer = abs(point(CharacterErrorRate(), made) - jiwer.cer(references, hypotheses))
    ours_wer, ours_cer = per_pair(lambda r, h: edits(r.split(), h.split()), both), per_pair(edits, both)
    rows = [
        ratio("WER / jiwer", ours_wer, corpus(jiwer.wer), 10, wer),
        ratio("CER / jiwer", ours_cer, corpus(jiwer.cer), 12, cer),
        ratio("BLEU-1..4 / nltk", per_pair(statistics, both), cpu(lambda: nltk_bleu(some)) / PEER_PAIRS, 2, apart),
    ]
    whole = cpu(lambda: [scorer(s, h) for s, h in zip(samples, hypotheses, strict=True)], 1) / PAIRS
    pooling = cpu(lambda: [point(metric, made) for metric in (WordErrorRate(), CharacterErrorRate(), Bleu())])
    words = np.mean([len(text.split()) for text in references]), np.mean([len(text.split()) for text in hypotheses])
    print(f"{PAIRS:,} pairs of {words[0]:.0f}/{words[1]:.0f} words; the whole scorer {whole * 1e6:.0f} us a pair, ", end="")
    print(f"WER, CER and BLEU-4 of all pairs {pooling * 1e3:.0f} ms")
    single = per_pair(jiwer.wer, some) / ours_wer, per_pair(jiwer.cer, some) / ours_cer
    print(f"beside jiwer called once a pair, its faster way: WER {single[0]:.1f}x, CER {single[1]:.1f}x")
    return rows


def drawn_tags(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three tags a video, a fifth of them read wrongly: packed, (n, 1) each."""
    rng = np.random.default_rng(0)
    target, answer = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    for _ in range(3):
        tag = (LABELS * rng.random(n) ** 2).astype(np.uint64)
        read = np.where(rng.random(n) < 0.8, tag, rng.integers(0, LABELS, n, dtype=np.uint64))
        target |= np.uint64(1) << tag
        answer |= np.uint64(1) << read
    return target[:, None], answer[:, None]


TAGGING: tuple[Metric, ...] = (
    MultilabelMacroPrecision(),
    MultilabelMacroRecall(),
    MultilabelMacroF1(),
    HammingLoss(),
    Jaccard(),
)


def tagging(n: int) -> tuple[float, float, list[float]]:
    """CPU seconds, peak MB of this process and the five values for n videos."""
    target, answer = drawn_tags(n)
    made = columns(n, target_set=target, answer_set=answer, labels=tuple(map(str, range(LABELS))))
    start = time.process_time()
    values = [point(metric, made) for metric in TAGGING]
    seconds = time.process_time() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, values


def reference_tagging(n: int) -> list[float]:
    """The same values by scikit-learn."""
    from sklearn.metrics import hamming_loss, jaccard_score, precision_recall_fscore_support

    packed = drawn_tags(n)
    truth, read = (((words >> np.arange(LABELS, dtype=np.uint64)) & np.uint64(1)).astype(np.uint8) for words in packed)
    macro = precision_recall_fscore_support(truth, read, average="macro", zero_division=0)[:3]
    return [*macro, hamming_loss(truth, read), jaccard_score(truth, read, average="samples", zero_division=1)]


def tags() -> list[Row]:
    """Tagging in a process of its own, so that the peak is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak, _ = pool.apply(tagging, (VIDEOS,))
        apart = float(np.abs(np.subtract(pool.apply(tagging, (100_000,))[2], pool.apply(reference_tagging, (100_000,)))).max())
    name = f"tagging {VIDEOS:,} x {LABELS}"
    return [
        (name, f"{seconds:.2f} CPU s", "< 2 s", seconds < 2),
        (name, f"{peak:.0f} MB peak", "< 600 MB", peak < 600),
        ("tagging / sklearn, 100,000", f"differs by {apart:.0e}", "<= 1e-9", apart <= 1e-9),
    ]


def main() -> int:
    """Print the table; 1 if a target is missed."""
    warnings.simplefilter("ignore")
    rows = [*transcriptions(), *tags()]
    for name, found, target, met in rows:
        print(f"{name:28} {found:28} {target:18} {'ok' if met else 'MISSED'}")
    return 0 if all(met for *_, met in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
