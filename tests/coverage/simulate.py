"""Answers of phantoms whose true rates are known, and how often each statistic's interval holds its truth.

A question is right with its picture iff the phantom perceives the picture **and** knows the fact, else it guesses
(`eyetest.models.phantom`, after equation 3 of arXiv 2410.12329), so that every statistic has its truth in closed form. What a
phantom may do besides is to answer a share `blind` of what it knows from the text alone. Answers are drawn as columns, by
the thousand, and handed to the functions that a report calls.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from eyetest.metrics import Accuracy, Columns, MacroF1, estimate, gap_rate, knowledge_table, paired_difference
from eyetest.metrics.sight import chance_corrected_gap
from eyetest.types import Estimate

Floats = NDArray[np.float64]

RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
SIZES = (60, 200, 1000)
CLUSTERS = (40, 100)
PER_CLUSTER = 5
CORRELATION = 0.3
"""Of credit within a cluster: the share of the variance of a 0/1 credit that lies between clusters."""

RUNS = 2000
RESAMPLES = 500
"""Of each bootstrap and posterior: a report draws 2,000, which moves an end by far less than sampling does."""

FEW = 20
"""From this expected denominator on, coverage must lie within EACH, and its mean over a statistic's settings within MEAN."""

EACH = (0.92, 0.985)
MEAN = (0.94, 0.965)


@dataclass(frozen=True, slots=True)
class Phantom:
    """What a simulated model can do; rates in [0, 1]."""

    perception: float = 1.0
    knowledge: float = 1.0
    blind: float = 0.0
    """Share of the questions whose text alone leads to the answer, for those who know the fact."""
    options: int = 0
    """Options to guess among; 0: short answers, which no guess hits."""

    @property
    def guess(self) -> float:
        """Probability that a guess is right."""
        return 1 / self.options if self.options else 0.0

    @property
    def certain(self) -> float:
        """Share that need not be guessed with the picture."""
        return self.knowledge * (self.blind + (1 - self.blind) * self.perception)

    @property
    def with_picture(self) -> float:
        """Share right with the picture."""
        return self.certain + (1 - self.certain) * self.guess

    @property
    def without(self) -> float:
        """Share right without it."""
        certain = self.knowledge * self.blind
        return certain + (1 - certain) * self.guess

    @property
    def discordant(self) -> float:
        """Share right one way only."""
        dark = self.knowledge * self.blind
        both = dark + (self.certain - dark) * self.guess + (1 - self.certain) * self.guess**2
        return self.with_picture + self.without - 2 * both


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table: a statistic of one phantom at one n."""

    statistic: str
    phantom: str
    """In words, e.g. `right 50 %, gap rate 20 %`."""
    n: int
    """Questions; in clusters of PER_CLUSTER where `clustered`."""
    clustered: bool
    truth: float
    denominator: float
    """Expected number of answers that the statistic divides by (`docs/coverage.md` says which)."""
    measure: Callable[[np.random.Generator, int], Estimate]
    """Draws the answers of one run and hands them to the public function with this seed."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the line: statistic, phantom, n."""
        return self.statistic, self.phantom, self.size

    @property
    def size(self) -> str:
        """`1,000`, or `40 x 5` in clusters."""
        return f"{self.n // PER_CLUSTER} x {PER_CLUSTER}" if self.clustered else f"{self.n:,}"

    @property
    def promised(self) -> bool:
        """Whether its denominator is large enough for the promise to hold."""
        return self.denominator >= FEW


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often the interval held the truth."""

    runs: int
    given: int
    """Runs with an interval; the others had no value, or said that it is withheld."""
    below: int
    """Intervals that end below the truth."""
    above: int
    """Intervals that start above the truth."""
    width: float
    """Median width of the intervals."""

    @property
    def rate(self) -> float:
        """Share of the intervals given that hold the truth; nan without any."""
        return 1 - (self.below + self.above) / self.given if self.given else math.nan


def coverage(setting: Setting, runs: int = RUNS, seed: int = 0) -> Coverage:
    """Simulate one setting: what it draws depends on its key and the seed alone."""
    rng = np.random.default_rng([seed, zlib.crc32("|".join(setting.key).encode())])
    below = above = 0
    widths = []
    for run in range(runs):
        made = setting.measure(rng, run)
        if math.isnan(made.low):
            continue
        # 1e-9: an end that is the truth itself holds it, whatever rounding says.
        below += made.high < setting.truth - 1e-9
        above += made.low > setting.truth + 1e-9
        widths.append(made.high - made.low)
    return Coverage(runs, len(widths), below, above, float(np.median(widths)) if widths else math.nan)


def settings() -> Iterator[Setting]:
    """Every line of the table, statistic by statistic."""
    yield from _accuracy()
    yield from _pairs("gap rate")
    yield from _corrected()
    yield from _knowledge("SuR")
    yield from _knowledge("NeR")
    yield from _macro_f1()
    yield from _pairs("paired difference")


def sizes() -> Iterator[tuple[int, bool]]:
    """(n, clustered)."""
    yield from ((n, False) for n in SIZES)
    yield from ((count * PER_CLUSTER, True) for count in CLUSTERS)


# --- drawing -----------------------------------------------------------------------------------------------------------


def columns(credit: NDArray[np.bool_], *, side: int = 0, chance: float = 0.0, clustered: bool = False) -> Columns:
    """Answers of one condition; side: conditions ask different requests."""
    n = len(credit)
    sample = np.arange(n, dtype=np.int32)
    return Columns(
        sample=sample,
        variant=np.zeros(n, np.int16),
        repeat=np.zeros(n, np.int16),
        status=np.zeros(n, np.uint8),
        value=credit.astype(np.float64),
        target=np.full(n, -1, np.int32),
        answer=np.full(n, -1, np.int32),
        request=sample + np.int64(side * n),
        cluster=sample // np.int64(PER_CLUSTER if clustered else 1),
        chance=np.full(n, chance if chance else math.nan),
    )


def at_quantiles(quantile: Floats, rate: float) -> Floats:
    """Rates of clusters, Beta with mean `rate` and intra-cluster correlation CORRELATION: (G,) -> (G,)."""
    strength = (1 - CORRELATION) / CORRELATION
    return np.asarray(betaincinv(rate * strength, (1 - rate) * strength, quantile), np.float64)


def by_cluster(rng: np.random.Generator, n: int, *rates: float) -> list[Floats]:
    """A rate a question for each of `rates`, (n,) each.

    A cluster stands at the same quantile of all: a picture that is hard is hard both ways.
    """
    quantile = rng.random(n // PER_CLUSTER)
    return [np.repeat(at_quantiles(quantile, rate), PER_CLUSTER) for rate in rates]


def discordant(phantom: Phantom, clustered: bool) -> float:
    """Expected share of questions that are right one way only."""
    if not clustered:
        return phantom.discordant
    quantiles = (np.arange(10_000) + 0.5) / 10_000
    shown, dark = (at_quantiles(quantiles, rate) for rate in (phantom.with_picture, phantom.without))
    return float(np.mean(shown + dark - 2 * shown * dark))


def both_ways(rng: np.random.Generator, phantom: Phantom, n: int, clustered: bool) -> tuple[Columns, Columns]:
    """Answers with and without the picture. In clusters both are beta-binomial with the phantom's two rates."""
    if clustered:
        shown, dark = (rng.random(n) < rate for rate in by_cluster(rng, n, phantom.with_picture, phantom.without))
    else:
        knows, perceives, plain = (rng.random(n) < rate for rate in (phantom.knowledge, phantom.perception, phantom.blind))
        shown = (knows & (perceives | plain)) | (rng.random(n) < phantom.guess)
        dark = (knows & plain) | (rng.random(n) < phantom.guess)
    guess = phantom.guess
    return (
        columns(shown, chance=guess, clustered=clustered),
        columns(dark, side=1, chance=guess, clustered=clustered),
    )


# --- statistics --------------------------------------------------------------------------------------------------------


def percent(rate: float) -> str:
    """`5 %`."""
    return f"{100 * rate:.0f} %"


def _accuracy() -> Iterator[Setting]:
    """Right with the picture, whatever it comes from."""
    for n, clustered in sizes():
        for rate in RATES:

            def measure(rng: np.random.Generator, seed: int, rate: float = rate, n: int = n, c: bool = clustered) -> Estimate:
                phantom = Phantom(knowledge=rate)
                return estimate(Accuracy(), both_ways(rng, phantom, n, c)[0], seed=seed)

            yield Setting("accuracy", f"right {percent(rate)}", n, clustered, rate, n, measure)


def _answering(right: float, gap: float) -> Phantom:
    """A phantom that is right with the picture at rate `right` and has that gap rate, with as few options as allow it."""
    without = right * (1 - gap)
    options = next((count for count in (4, 20) if 1 / count <= without), 0)
    guess = 1 / options if options else 0.0
    certain, dark = ((rate - guess) / (1 - guess) for rate in (right, without))
    # With everything perceived, what is known is `certain`, and `blind` of it shows in the text.
    return Phantom(knowledge=certain, blind=dark / certain, options=options)


def _points() -> Iterator[tuple[float, float]]:
    """(right with the picture, share of it that needs the picture)."""
    yield from ((right, 0.5) for right in RATES)
    yield from ((0.8, share) for share in RATES if share != 0.5)


def _pairs(statistic: str) -> Iterator[Setting]:
    """Gap rate and paired difference, of the same phantoms."""
    for n, clustered in sizes():
        for right, gap in _points():
            phantom = _answering(right, gap)

            def measure(
                rng: np.random.Generator, seed: int, phantom: Phantom = phantom, n: int = n, c: bool = clustered
            ) -> Estimate:
                shown, dark = both_ways(rng, phantom, n, c)
                if statistic == "gap rate":
                    return gap_rate(shown, dark, seed=seed, resamples=RESAMPLES)
                return paired_difference(shown, dark, seed=seed).estimate

            words = f"right {percent(right)}, without the picture {percent(right * (1 - gap))}"
            if statistic == "gap rate":
                yield Setting(statistic, words, n, clustered, gap, n * right, measure)
            else:
                yield Setting(statistic, words, n, clustered, right * gap, n * discordant(phantom, clustered), measure)


def _corrected() -> Iterator[Setting]:
    """Four options; `certain` is known beyond guessing, `share` of it from the picture alone."""
    for n in SIZES:
        for certain, share in _points():
            phantom = Phantom(knowledge=certain, blind=1 - share, options=4)

            def measure(rng: np.random.Generator, seed: int, phantom: Phantom = phantom, n: int = n) -> Estimate:
                shown, dark = both_ways(rng, phantom, n, False)
                return chance_corrected_gap(shown, dark, seed=seed, resamples=RESAMPLES)

            beyond = n * (phantom.with_picture - phantom.guess)
            words = f"knows {percent(certain)}, of which {percent(share)} by the picture alone"
            yield Setting("chance-corrected gap rate", words, n, False, share, beyond, measure)


def _knowledge(statistic: str) -> Iterator[Setting]:
    """The visual question has four options, the knowledge question none, so that it is right iff the fact is known."""
    for n in SIZES:
        for rate in RATES:
            phantom = _knowing(statistic, rate)
            right = phantom.with_picture
            expected = n * (right if statistic == "SuR" else 1 - right)

            def measure(rng: np.random.Generator, seed: int, phantom: Phantom = phantom, n: int = n) -> Estimate:
                knows, perceives = rng.random(n) < phantom.knowledge, rng.random(n) < phantom.perception
                shown = columns((knows & perceives) | (rng.random(n) < phantom.guess), chance=phantom.guess)
                made = knowledge_table(shown, columns(knows, side=1), seed=seed)
                return made.sur if statistic == "SuR" else made.ner

            words = f"perceives {percent(phantom.perception)}, knows {percent(phantom.knowledge)}"
            yield Setting(statistic, words, n, False, rate, expected, measure)


def _knowing(statistic: str, rate: float, perception: float = 0.8, options: int = 4) -> Phantom:
    """The phantom whose knowledge makes the ratio `rate`.

    With p, k, g: SuR = k (p + (1 - p) g) / (p k (1 - g) + g) and NeR = (1 - k) / (1 - p k).
    """
    guess = 1 / options
    if statistic == "SuR":
        known = rate * guess / (perception + (1 - perception) * guess - rate * perception * (1 - guess))
    else:
        known = (1 - rate) / (1 - perception * rate)
    return Phantom(perception=perception, knowledge=known, options=options)


PRIORS: Sequence[tuple[str, tuple[float, ...]]] = (("2 even classes", (0.5, 0.5)), ("classes of 60, 30, 10 %", (0.6, 0.3, 0.1)))
"""Class shares, in words and numbers."""


def _macro_f1() -> Iterator[Setting]:
    """A share `rate` of the classes is told, the rest guessed among all of them."""
    for n, clustered in sizes():
        for words, shares in PRIORS:
            for rate in RATES:
                prior = np.array(shares)

                def measure(
                    rng: np.random.Generator,
                    seed: int,
                    prior: Floats = prior,
                    rate: float = rate,
                    n: int = n,
                    c: bool = clustered,
                ) -> Estimate:
                    made = labelled(rng, prior, rate, n, c)
                    return estimate(MacroF1(), made, seed=seed, resamples=RESAMPLES)

                told = f"{words}, tells {percent(rate)}"
                yield Setting("macro-F1", told, n, clustered, true_macro_f1(prior, rate), n * float(prior.min()), measure)


def labelled(rng: np.random.Generator, prior: Floats, rate: float, n: int, clustered: bool) -> Columns:
    """Answers of a phantom that tells the class at `rate` and guesses among all classes otherwise."""
    k = len(prior)
    target = rng.choice(k, size=n, p=prior)
    tells = rng.random(n) < (by_cluster(rng, n, rate)[0] if clustered else rate)
    answer = np.where(tells, target, rng.integers(0, k, n))
    made = columns(answer == target, chance=1 / k, clustered=clustered)
    return replace(
        made, target=target.astype(np.int32), answer=answer.astype(np.int32), labels=tuple(f"class {i}" for i in range(k))
    )


def true_macro_f1(prior: Floats, rate: float) -> float:
    """Mean over classes of 2 P(right in the class) / (P(class) + P(answered so))."""
    guessed = (1 - rate) / len(prior)
    return float(np.mean(2 * prior * (rate + guessed) / (prior + rate * prior + guessed)))
