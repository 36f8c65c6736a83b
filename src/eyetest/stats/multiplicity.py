"""Many tests at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm's (1979) adjusted p-values of one declared family, in the order given: (m,) -> (m,).

    Equals statsmodels `multipletests(p, method="holm")[1]`. A nan stays nan and counts in m.
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted


def holm_tested(p: ArrayLike) -> NDArray[np.float64]:
    """`holm` over those of a family that were tested: a nan stays nan and, unlike there, does not count in m."""
    values = np.asarray(p, np.float64)
    tested = ~np.isnan(values)
    adjusted = np.full_like(values, np.nan)
    adjusted[tested] = holm(values[tested])
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Benjamini & Hochberg's (1995) adjusted p-values, in the order given: (m,) -> (m,). For exploration.

    Bounds the expected share of false findings among all findings, not the chance of one, for independent or positively
    dependent tests. A nan stays nan and, as in `holm_tested`, does not count in m. Equals scipy
    `false_discovery_control` without nan.
    """
    values = np.asarray(p, np.float64)
    tested = np.flatnonzero(~np.isnan(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    stepped = values[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted = np.full_like(values, np.nan)
    adjusted[order] = np.minimum.accumulate(stepped[::-1])[::-1]
    return np.minimum(1.0, adjusted)
