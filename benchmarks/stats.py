"""What the statistics cost, beside their targets. Exits 1 if a target is missed.

    python benchmarks/stats.py [--samples 20000] [--profile]

The whole run is 20,000 questions under 8 conditions by 3 models, summed up in a process of its own: every estimate, difference,
finding, fact and table of a report. Then the same with ten slices, clusters and probabilities: ten times as many estimates.
Reading the answers from disk is not in it; `benchmarks/overhead.py` measures that. CPU seconds of one process; memory is its
high-water mark, the answers as columns included.
"""

from __future__ import annotations

import argparse
import cProfile
import math
import multiprocessing
import pstats
import resource
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from eyetest.evaluation.groups import by_group
from eyetest.evaluation.items import items
from eyetest.evaluation.summary import Analysis, summarise
from eyetest.evaluation.table import Table
from eyetest.metrics import Columns, MacroF1, estimate
from eyetest.reports.facts import facts_of
from eyetest.reports.sheets import items_sheet, sheets_of
from eyetest.stats import Cells, Interval, bootstrap_counts, gap_rate_bootstrap, percentile
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Message, Prediction, Response, Sample, Score, Shown

OPTIONS = ("red", "green", "blue", "grey")
MODELS = {"seer": 0.8, "middling": 0.6, "blind": 0.1}
"""Model -> share of the questions that it answers from what it sees; the rest it guesses."""

CONDITIONS = {
    "image": Shown(),
    "no_image": Shown(picture="none"),
    "blank": Shown(picture="blank"),
    "swapped": Shown(picture="other", partner="q0"),
    "shuffled": Shown(),
    "knowledge": Shown(picture="none", asks="knowledge"),
    "options_only": Shown(asks="nothing"),
    "picture_only": Shown(asks="nothing"),
}
SEES = ("image", "shuffled", "knowledge", "options_only", "picture_only")

Row = tuple[str, str, str, bool]


def cpu(work: Callable[[], object], rounds: int = 5) -> float:
    """CPU seconds, best of `rounds`."""
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def labelled(n: int, classes: int) -> Columns:
    """Answers to a classification, seven of ten right."""
    rng = np.random.default_rng(0)
    target = rng.integers(0, classes, n, dtype=np.int32)
    answer = np.where(rng.random(n) < 0.7, target, rng.integers(0, classes, n, dtype=np.int32))
    return Columns(
        sample=np.arange(n, dtype=np.int32),
        variant=np.zeros(n, np.int16),
        repeat=np.zeros(n, np.int16),
        status=np.zeros(n, np.uint8),
        value=(target == answer).astype(np.float64),
        target=target,
        answer=answer,
        request=np.arange(n),
        cluster=np.arange(n),
        chance=np.full(n, 1 / classes),
        labels=tuple(map(str, range(classes))),
    )


def small() -> list[Row]:
    """One interval at a time."""
    made = labelled(10_000, 4)
    metric = MacroF1()
    counts = metric.counts(made)

    def resampled() -> Interval:
        return percentile(metric.value(bootstrap_counts(counts.rows, counts.times(), resamples=10_000, seed=0)))

    bootstrap, interval = cpu(resampled), cpu(lambda: estimate(metric, made, seed=0))
    cells = Cells(4_000, 3_000, 3, 2_997)
    gap = cpu(lambda: gap_rate_bootstrap(cells, resamples=10_000, seed=0))
    return [
        ("macro-F1 interval, n = 10,000", f"{interval:.3f} CPU s", "< 0.1 s", interval < 0.1),
        ("macro-F1 bootstrap, n = 10,000, 10,000 resamples", f"{bootstrap:.3f} CPU s", "< 0.1 s", bootstrap < 0.1),
        ("gap-rate cell bootstrap, 10,000 resamples", f"{gap:.4f} CPU s", "< 0.05 s", gap < 0.05),
    ]


TOPICS = tuple({"topic": f"topic {number}"} for number in range(10))
LOGS = {option: tuple(-0.3 if option == other else -2.1 for other in OPTIONS) for option in OPTIONS}
"""Answer -> log-probabilities of the options."""


def predictions(n: int, rich: bool) -> Iterator[Prediction]:
    """Every answer of the grid; options are shared, so that class-wise metrics have their labels.

    rich: five questions a picture, ten topics to slice by, and the probabilities of the options.
    """
    rng = np.random.default_rng(0)
    message = (Message("user", ("What colour is it?",)),)
    for number_of_cell, (model, sees) in enumerate(MODELS.items()):
        for place, (condition, shown) in enumerate(CONDITIONS.items()):
            known = rng.random(n) < (sees if condition in SEES else 0.05)
            guess = rng.integers(0, len(OPTIONS), n)
            for number in range(n):
                right = OPTIONS[number % len(OPTIONS)]
                said = right if known[number] else OPTIONS[guess[number]]
                cluster, extra = (f"c{number // 5}", TOPICS[number % len(TOPICS)]) if rich else (None, {})
                sample = Sample(
                    f"q{number}", "What colour is it?", (right,), choices=OPTIONS, cluster=cluster, metadata=extra, shown=shown
                )
                key = f"{(number_of_cell * len(CONDITIONS) + place) * n + number:015x}"
                score = Score("scored", float(said == right), said)
                response = Response(said, label_logprobs=LOGS[said] if rich else None)
                yield Prediction("toys", condition, model, "default", 0, 0, 0, sample, key, message, response, score)


def whole_run(n: int, rich: bool, profile: bool) -> tuple[float, float, int]:
    """CPU seconds of the statistics, peak MB of this process, rows of the tables."""
    table = Table({"toys": OPTIONS}, ("topic",) if rich else ())
    for prediction in predictions(n, rich):
        table.add(prediction)
    task = task_from_samples([Sample("q", "?", OPTIONS[:1], choices=OPTIONS)], name="toys")
    watch = cProfile.Profile()
    start = time.process_time()
    if profile:
        watch.enable()
    results = summarise(table, {"toys": task}, Analysis(), counts={})
    groups = by_group({cell: table.columns(cell) for cell in table.cells})
    facts = facts_of(groups, results, seed=0)
    sheets = (*sheets_of(results, facts), items_sheet(tuple(items(groups, table))))
    watch.disable()
    seconds = time.process_time() - start
    if profile:
        pstats.Stats(watch).sort_stats("cumulative").print_stats("eyetest", 35)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return seconds, peak, sum(len(sheet.rows) for sheet in sheets)


def whole(n: int, rich: bool, profile: bool) -> list[Row]:
    """The whole run in a process of its own, so that the peak is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak, rows = pool.apply(whole_run, (n, rich, profile))
    name = f"{n:,} x {len(CONDITIONS)} x {len(MODELS)}{', clusters, slices, logprobs' if rich else ''}: {rows:,} rows"
    return [
        (name, f"{seconds:.1f} CPU s", "none" if rich else "< 20 s", rich or seconds < 20),
        (name, f"{peak:.0f} MB peak", "< 1,000 MB", peak < 1000),
    ]


def main() -> int:
    """Print the table; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true", help="say where the time of the whole run goes")
    given = parser.parse_args()
    rows = [*small(), *whole(given.samples, False, given.profile), *whole(given.samples, True, given.profile)]
    for name, found, target, met in rows:
        print(f"{name:66} {found:16} {target:12} {'ok' if met else 'MISSED'}")
    return 0 if all(met for *_, met in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
