"""Numbers as the report writes them. Rates are in [0, 1]; pages and tables show per cent."""

from __future__ import annotations

import math

from eyetest.types import Estimate

MINUS = "−"


def decimal(value: float, digits: int = 1) -> str:
    """A number with a true minus sign; `–` for nan."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = f"{0:.{digits}f}"  # never "-0.0"
    return text.replace("-", MINUS)


def hundredths(rate: float) -> str:
    """A rate in per cent without the sign: `75.4`."""
    return decimal(100 * rate)


def percent(rate: float) -> str:
    """A rate for a sentence: `75 %`. What is not all or nothing never reads `100 %` or `0 %`."""
    if math.isnan(rate):
        return "–"
    rounded = f"{100 * rate:.0f}"
    if (rounded == "100" and rate < 1) or (rounded in ("0", "-0") and rate):
        rounded = f"{100 * rate:.1f}"
        if rounded in ("100.0", "0.0", "-0.0"):
            return f"{'over 99.9' if rounded == '100.0' else 'under 0.1'} %"
    return rounded.replace("-", MINUS) + " %"


def count(value: float) -> str:
    """A count; with one decimal where partial credit makes it a fraction."""
    return f"{value:,.0f}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"


def span(low: float, high: float) -> str:
    """An interval in per cent: `[69.5, 80.5]`; empty where withheld."""
    return "" if math.isnan(low) or math.isnan(high) else f"[{hundredths(low)}, {hundredths(high)}]"


def rate(value: float, low: float, high: float) -> str:
    """`75.4 [69.5, 80.5]`, in per cent; `75.4 [withheld]` without an interval, `–` without a value."""
    if math.isnan(value):
        return "–"
    return f"{hundredths(value)} {span(low, high) or '[withheld]'}"


def p_value(p: float) -> str:
    """A p-value: `.031`, `< .001`, `–` where there is no test."""
    if math.isnan(p):
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def sure(made: Estimate, share: bool = True) -> str:
    """`95 % interval 70–81 %, n = 240` for a sentence; says where the interval is withheld.

    share: the number is a share of answers; otherwise a difference in points.
    """
    if math.isnan(made.low):
        return f"no interval, n = {made.n:,}"
    if share:
        ends = f"{percent(made.low).removesuffix(' %')} to {percent(made.high)}"
    else:
        ends = f"{hundredths(made.low)} to {hundredths(made.high)}"
    return f"95 % interval {ends}, n = {made.n:,}"
