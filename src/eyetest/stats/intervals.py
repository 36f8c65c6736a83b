"""Intervals of one proportion, and the quantiles that all intervals use."""

from __future__ import annotations

import math

Interval = tuple[float, float]
"""Lower and upper end; both nan where there is none."""

WITHHELD: Interval = (math.nan, math.nan)
"""The interval that is not given."""


def standard_normal(p: float) -> float:
    """z with P(Z <= z) = p."""
    from scipy.special import ndtri  # here and below: half of the start-up time of commands that only list metrics

    return float(ndtri(p))


def normal_quantile(level: float) -> float:
    """z with P(|Z| <= z) = level; 1.96 for .95."""
    return standard_normal((1 + level) / 2)


def t_quantile(level: float, df: float) -> float:
    """t with P(|T| <= t) = level for Student's t with `df` degrees of freedom (any real number above 0)."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def t_tail(t: float, df: float) -> float:
    """Two-sided p of |T| >= t for Student's t with `df` degrees of freedom."""
    from scipy.special import stdtr

    return 2 * float(stdtr(df, -abs(t)))


def wilson(k: float, n: float, level: float = 0.95, *, quantile: float | None = None) -> Interval:
    """Score interval of k successes in n independent trials (Wilson 1927); nan for n = 0.

    k and n need not be whole, so that an effective sample size may stand for n; quantile: replaces the normal one, for
    instance by Student's t when the standard error was estimated from few clusters.
    Equals statsmodels `proportion_confint(k, n, method="wilson")`.
    """
    if n <= 0:
        return WITHHELD
    z = normal_quantile(level) if quantile is None else quantile
    p = k / n
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z * math.sqrt(max(p * (1 - p), 0.0) / n + z * z / (4 * n * n)) / shrink
    # The ends are exactly 0 and 1 in the closed form; rounding would leave 1e-17.
    low = 0.0 if k <= 0 else max(0.0, centre - half)
    high = 1.0 if k >= n else min(1.0, centre + half)
    return low, high


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Interval:
    """Exact interval of k successes in n independent trials (Clopper & Pearson 1934), as beta quantiles.

    Equals scipy `binomtest(k, n).proportion_ci(method="exact")`, and like it refuses n < 1.
    """
    from scipy.special import betaincinv

    if n < 1:
        raise ValueError(f"clopper_pearson: n must be an integer not less than 1, got {n}")
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def smallest_detectable_proportion(n: int, baseline: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """Smallest rise above `baseline` that a two-sided one-sample test of n independent answers finds with `power`.

    The d that solves d sqrt(n) = z_a sqrt(p0 q0) + z_b sqrt(p1 q1) with p1 = p0 + d (normal approximation, Fleiss,
    Levin & Paik 2003, sec. 2.4). nan where even p1 = 1 would not be found.
    """
    za, zb = standard_normal(1 - alpha / 2), standard_normal(power)
    spread = baseline * (1 - baseline)
    # Squared, the equation is a d^2 - b d + c = 0.
    a = n + zb * zb
    b = 2 * za * math.sqrt(spread * n) + zb * zb * (1 - 2 * baseline)
    c = (za * za - zb * zb) * spread
    root = b * b - 4 * a * c
    rise = (b + math.sqrt(root)) / (2 * a) if root >= 0 else math.nan
    return rise if rise <= 1 - baseline else math.nan
