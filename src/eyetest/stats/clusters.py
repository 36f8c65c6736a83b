"""Answers that are not independent: what goes together, and the standard error of a mean by group.

A group is an integer code an answer, any integers; answers of different groups are independent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.integer[Any]]


def groups(*codes: Codes) -> NDArray[np.int64]:
    """Connected components of several clusterings of the same n answers: (n,) codes 0..G-1.

    Two answers are together if they share a code in any of `codes`, directly or through others: same picture or same
    sample. Equal integers in different `codes` mean nothing. Groups are numbered by first appearance.
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


def cluster_se_cr2(x: ArrayLike, group: ArrayLike) -> float:
    """Standard error of the mean of x, (n,), unbiased if answers were independent after all (CR2); nan for G < 2.

    Bell & McCaffrey 2002; Pustejovsky & Tipton 2018 (doi 10.1080/07350015.2016.1247004). For a mean their matrices
    (I - H_gg)^(-1/2) only scale: each group's sum of residuals is divided by sqrt(1 - n_g / n). Equals CR1 for groups of
    equal size, and s / sqrt(n) where every answer is a group of its own.
    """
    values = np.asarray(x, np.float64)
    _, place, sizes = np.unique(np.asarray(group), return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return math.nan
    n = len(values)
    sums = np.bincount(place, weights=values - values.mean())
    return float(np.sqrt((sums**2 / (1 - sizes / n)).sum()) / n)


def degrees_of_freedom_cr2(group: ArrayLike) -> float:
    """Satterthwaite's degrees of freedom of `cluster_se_cr2` if answers were independent, at least 1; 0 for G < 2.

    2 E(V)^2 / Var(V), V the squared standard error (the same sources). For a mean, with w_g = n_g / n and
    b_g = w_g^2 / (1 - w_g), it comes to 1 / (sum w^2 + (sum b)^2 - sum b^2): G - 1 for groups of equal size, else near
    effective groups - 1.
    """
    sizes = np.unique(np.asarray(group), return_counts=True)[1]
    if len(sizes) < 2:
        return 0.0
    weight = sizes / sizes.sum()
    pull = weight**2 / (1 - weight)
    return float(1 / ((weight**2).sum() + pull.sum() ** 2 - (pull**2).sum()))
