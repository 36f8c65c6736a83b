"""The mean of answers that were drawn apart: subjects, languages, pictures of each class."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.stats.clusters import Codes, groups
from eyetest.stats.factors import Factors, factor_se


@dataclass(frozen=True, slots=True)
class Stratified:
    """A weighted mean of stratum means."""

    mean: float
    """Sum of weight times mean of each stratum."""
    se: float
    """Its standard error; nan where all answers make one group."""
    degrees_of_freedom: float
    """Satterthwaite's, of `se`; infinite where no part of it was estimated."""
    n_merged: int
    """Strata whose variance was taken together with another's."""
    n_bounded: int
    """Strata of one group, whose variance was taken as the largest possible."""


def stratified_mean(x: ArrayLike, strata: Codes, factors: Factors, weights: ArrayLike | None = None) -> Stratified:
    """Mean of x, (n,), over H strata with numbers fixed in advance, (n,) codes 0..H-1; answers go together by `factors`.

    weights: (H,) above 0, w_h is their share; by default each stratum's size, so that the mean is the plain one and only
    its variance is smaller: what lies between strata is no chance (Cochran 1977, sec. 5.3-5.4). se = sqrt(sum w_h^2 se_h^2)
    with `factor_se` inside strata; degrees of freedom (sum v_h)^2 / sum(v_h^2 / d_h), v_h = w_h^2 se_h^2 (sec. 5.4).

    Strata that share a group are not independent: their variance is taken together about their common mean ("collapsed",
    sec. 5A.12), which widens. One of a single group shows no variance: it gets the largest that the range of x allows,
    range^2 / 4 (Popoviciu 1935), since collapsing covers too rarely where it weighs as much as others.
    Raises ValueError for no answers or a stratum without any.
    """
    values, sizes = np.asarray(x, np.float64), np.bincount(strata)
    if not len(values) or not sizes.all():
        raise ValueError(f"stratified_mean: strata of {sizes.tolist()} answers; every stratum 0..H-1 needs one")
    weight = np.asarray(sizes if weights is None else weights, np.float64)
    each = (weight / weight.sum() / sizes)[strata]
    block = groups(strata, *factors.codes)
    of_stratum = block[np.unique(strata, return_index=True)[1]]
    n_strata = np.bincount(of_stratum)
    largest = float(np.ptp(values)) ** 2 / 4 if factors.count > 1 else math.nan
    members = [block == number for number in range(len(n_strata))]
    parts = [_variance(values[rows], each[rows], factors.take(rows), largest) for rows in members]
    variance, degrees = np.array(parts).T
    return Stratified(
        mean=float(weight @ (np.bincount(strata, weights=values) / sizes) / weight.sum()),
        se=math.sqrt(variance.sum()),
        degrees_of_freedom=_satterthwaite(variance, degrees),
        n_merged=int(n_strata[n_strata > 1].sum()),
        n_bounded=int(n_strata[np.isinf(degrees)].sum()),
    )


def _variance(x: NDArray[np.float64], weight: NDArray[np.float64], factors: Factors, largest: float) -> tuple[float, float]:
    """Variance and degrees of freedom of sum(weight x), sum(weight) taken as given; `largest`: of the mean of one group."""
    total = float(weight.sum())
    if factors.count < 2:
        return total**2 * largest, math.inf
    if (x == x[0]).all():
        return 0.0, factors.degrees_of_freedom  # exactly: a rounding error would divide something
    return factor_se(len(x) * weight * (x - float(weight @ x) / total), factors) ** 2, factors.degrees_of_freedom


def _satterthwaite(variance: NDArray[np.float64], degrees: NDArray[np.float64]) -> float:
    """Degrees of freedom of a sum of independent variances; where none varies, of all together."""
    if not variance.any():
        return float(degrees.sum())
    estimated = (variance[variance > 0] ** 2 / degrees[variance > 0]).sum()
    return float(variance.sum() ** 2 / estimated) if estimated else math.inf
