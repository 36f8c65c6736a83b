"""How far repeats of one prompt, and prompts of one task, lie apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyetest.metrics.classification import Accuracy
from eyetest.metrics.columns import Columns, Metric, code
from eyetest.metrics.estimate import by_repeat
from eyetest.stats.intervals import normal_quantile


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviation of a metric over repeats. Not the error of its mean: other samples would move that, too."""

    metric: str
    """Metric name."""
    sd: float
    """n - 1 in the denominator; nan for fewer than two repeats."""
    low: float
    """Lower end of its chi-square interval, which takes the repeats' values as normal; nan where `sd` is."""
    high: float
    """Upper end; with two or three repeats some 30 or 6 times `sd`."""
    n_repeats: int
    """Repeats in which the metric is defined."""

    @property
    def difference(self) -> float:
        """Two repeats differ by less than this, by chance alone, in 95 of 100 cases: 1.96 sqrt(2) sd (normal; sd as given)."""
        return normal_quantile(0.95) * math.sqrt(2) * self.sd


def between_repeats(metric: Metric, columns: Columns, *, level: float = 0.95) -> Spread:
    """How far `metric` varies over the repeats of the same requests.

    Interval of the standard deviation: sd sqrt(d / q) with q the quantiles of chi-square with d = n_repeats - 1.
    """
    values = by_repeat(metric, columns)
    values = values[~np.isnan(values)]
    count = len(values)
    if count < 2:
        return Spread(metric.name, math.nan, math.nan, math.nan, count)
    sd = float(values.std(ddof=1))
    low, high = (sd * math.sqrt((count - 1) / _chi_square(p, count - 1)) for p in ((1 + level) / 2, (1 - level) / 2))
    return Spread(metric.name, sd, low, high, count)


def _chi_square(p: float, df: int) -> float:
    """q with P(chi-square <= q) = p."""
    from scipy.special import chdtri

    return float(chdtri(df, 1 - p))


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What two repeats of the same prompt differ by without any cause: smaller differences between prompts say nothing."""

    answers_differ: float
    """Share of pairs whose answers differ; answers that could not be read are equal. nan if it was not kept what was read."""
    credit_differs: float
    """Share of pairs whose credit differs."""
    score_difference: float
    """`Spread.difference` of mean credit: how far two repeats' scores lie apart in 95 of 100 cases."""
    n_pairs: int
    """Pairs of repeats that answered the same sample and variant."""
    n_repeats: int
    """Repeats with an answer inside n."""


def noise_floor(columns: Columns) -> NoiseFloor:
    """How far repeats of the same requests differ, answer by answer and as a score. Shares are nan for no pair.

    A pair is two answers inside n to the same sample and variant in different repeats.
    """
    kept = columns.counted()
    _, asked = np.unique(np.stack([kept.sample, kept.variant]), axis=1, return_inverse=True)
    pairs = _pairs(asked)
    differ = [1 - _pairs(asked, values) / pairs if pairs else math.nan for values in (kept.said, kept.credit())]
    unknown = bool((kept.said[kept.status == code("scored")] == 0).any())
    spread = between_repeats(Accuracy(), columns)
    return NoiseFloor(math.nan if unknown else differ[0], differ[1], spread.difference, pairs, spread.n_repeats)


def _pairs(*codes: NDArray[np.int64] | NDArray[np.float64]) -> int:
    """Pairs of answers that agree in all of `codes`, (n,) each."""
    if not len(codes[0]):
        return 0
    count = np.unique(np.stack(codes), axis=1, return_counts=True)[1]
    return int((count * (count - 1) // 2).sum())


@dataclass(frozen=True, slots=True)
class PromptSpread:
    """Values of a metric under several prompts. A range grows with the number of prompts: compare equal numbers only."""

    median: float
    """Half of the prompts do at least as well; nan if none is defined."""
    lowest: float
    """The smallest value."""
    highest: float
    """The largest value."""
    lowest_prompt: str
    """Prompt with the smallest value, the first of several; empty if none is defined."""
    highest_prompt: str
    """Prompt with the largest value, the first of several; empty if none is defined."""
    n_prompts: int
    """Prompts whose value is defined."""

    @property
    def range(self) -> float:
        """Largest minus smallest value."""
        return self.highest - self.lowest


def prompt_spread(values: Mapping[str, float]) -> PromptSpread:
    """Median and extremes of {prompt: value}, with the prompts that attain them; undefined values (nan) are left out."""
    defined = {prompt: value for prompt, value in values.items() if not math.isnan(value)}
    if not defined:
        return PromptSpread(math.nan, math.nan, math.nan, "", "", 0)
    low, high = min(defined, key=defined.__getitem__), max(defined, key=defined.__getitem__)
    return PromptSpread(statistics.median(defined.values()), defined[low], defined[high], low, high, len(defined))
