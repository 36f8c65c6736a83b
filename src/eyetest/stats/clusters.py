"""Answers that are not independent: standard errors and intervals by group, and what the groups are.

A group is an integer code an answer, any integers; answers of different groups are independent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.stats.intervals import WITHHELD, Interval, t_quantile, wilson

Codes = NDArray[np.integer[Any]]


def groups(*codes: Codes) -> NDArray[np.int64]:
    """Connected components of several clusterings of the same n answers: (n,) codes 0..G-1.

    Two answers are together if they share a code in any of `codes`, directly or through others: same picture, same
    request, same sample. Equal integers in different `codes` mean nothing.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(codes[0])
    if n == 0:
        return np.zeros(0, np.int64)
    # A bipartite graph: answers on one side, codes of every clustering on the other.
    places = []
    offset = n
    for code in codes:
        distinct, place = np.unique(code, return_inverse=True)
        if len(distinct) == n:
            continue  # all different: joins nothing
        places.append(place + offset)
        offset += len(distinct)
    if not places:
        return np.arange(n, dtype=np.int64)
    answer = np.tile(np.arange(n), len(places))
    link = coo_array((np.ones(len(answer), np.bool_), (answer, np.concatenate(places))), shape=(offset, offset))
    _, label = connected_components(link, directed=False)
    return np.unique(label[:n], return_inverse=True)[1].astype(np.int64)


def group_sums(x: NDArray[np.float64], group: Codes) -> NDArray[np.float64]:
    """Sum of x within each group: (n,) -> (G,)."""
    _, place = np.unique(group, return_inverse=True)
    return np.bincount(place, weights=x).astype(np.float64)


def effective_groups(group: Codes) -> float:
    """How many groups of equal size would weigh as much: n^2 / sum of squared sizes (Kish 1965). G if all are equal."""
    sizes = np.unique(group, return_counts=True)[1].astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum()) if len(sizes) else 0.0


def cluster_se(x: ArrayLike, group: ArrayLike) -> float:
    """Standard error of the mean of x when answers of one group go together, without a small-sample factor.

    sqrt(sum over groups of (sum of residuals)^2) / n: Miller 2024 (arXiv 2411.00640), eq. 4; equals statsmodels
    `OLS(x, 1).fit(cov_type="cluster", use_correction=False)`. nan for no answers.
    """
    values = np.asarray(x, np.float64)
    if not len(values):
        return math.nan
    sums = group_sums(values - values.mean(), np.asarray(group))
    return float(np.sqrt((sums**2).sum()) / len(values))


def cluster_se_cr1(x: ArrayLike, group: ArrayLike) -> float:
    """`cluster_se` times sqrt(G / (G - 1)), the usual small-sample factor (CR1, Cameron & Miller 2015); nan for G < 2.

    With every answer a group of its own it is the ordinary s / sqrt(n).
    """
    count = len(np.unique(np.asarray(group)))
    return cluster_se(x, group) * math.sqrt(count / (count - 1)) if count > 1 else math.nan


def degrees_of_freedom(group: Codes) -> float:
    """Degrees of freedom of a clustered standard error: effective groups - 1.

    G - 1 for groups of equal size; fewer when a few groups hold most answers, where G - 1 covers too rarely
    (Carter, Schnepel & Steigerwald 2017).
    """
    return effective_groups(group) - 1


def cluster_interval(x: ArrayLike, group: ArrayLike, level: float = 0.95) -> Interval:
    """Mean of x -+ t * `cluster_se_cr1`; t has `degrees_of_freedom`. nan with fewer than two groups."""
    values, codes = np.asarray(x, np.float64), np.asarray(group)
    se = cluster_se_cr1(values, codes)
    if math.isnan(se):
        return WITHHELD
    half = t_quantile(level, degrees_of_freedom(codes)) * se
    return float(values.mean()) - half, float(values.mean()) + half


def effective_size(x: NDArray[np.float64], group: Codes) -> float:
    """Number of independent answers with the same standard error as the clustered proportion x (of 0 and 1), at most n.

    p (1 - p) / se^2 with `cluster_se_cr1`. Where all answers agree nothing shows how alike the groups are inside, so a
    group counts as one answer.
    """
    n, p = float(len(x)), float(x.mean())
    if p in (0.0, 1.0):
        return effective_groups(group)
    se = cluster_se_cr1(x, group)
    return min(n, p * (1 - p) / se**2) if se > 0 else n


def cluster_wilson(x: ArrayLike, group: ArrayLike, level: float = 0.95) -> Interval:
    """Wilson interval of a clustered proportion, on its effective sample size, with Student's t.

    Stays within [0, 1] and keeps its width at 0 and 1 (Korn & Graubard 1998 do the same with Clopper-Pearson; Dean &
    Pagano 2015 compare). nan with fewer than two groups.
    """
    values, codes = np.asarray(x, np.float64), np.asarray(group)
    df = degrees_of_freedom(codes)
    if df <= 0:
        return WITHHELD
    size = effective_size(values, codes)
    return wilson(float(values.mean()) * size, size, level, quantile=t_quantile(level, df))
