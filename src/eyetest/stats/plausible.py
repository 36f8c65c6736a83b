"""Whether a published pair of accuracy and macro-F1 can belong to one set of rows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

Verdict = Literal["possible", "impossible for one run", "impossible"]
"""`impossible`: not even as means over several runs."""


@dataclass(frozen=True, slots=True)
class Plausibility:
    """A pair of figures against what arithmetic allows, rounding granted."""

    verdict: Verdict
    lowest: float
    """Least macro-F1 of one run at this accuracy: everything answered as one class."""
    lowest_mean: float
    """Least mean macro-F1 over runs with this mean accuracy."""
    highest: float
    """Greatest macro-F1 at this accuracy; 1 for more than two classes, where no such bound is known."""


def lowest_macro_f1(accuracy: float, classes: int) -> float:
    """(2/K) a / (1 + a): a model that answers everything as the class of share a has F1 2a/(1+a) there and 0 elsewhere."""
    return 2 / classes * accuracy / (1 + accuracy)


def plausible(accuracy: str, macro_f1: str, classes: int = 2) -> Plausibility:
    """Judge two printed figures, e.g. ".771" and ".246"; each may be off by half a unit of its last digit.

    For two classes and any prior, a/(1+a) <= macro-F1 <= a. Over runs the lower end relaxes to the chord a/K, because
    a/(1+a) is concave. Unparsed answers must be treated alike in both figures. Raises ValueError for figures outside
    [0, 1] and fewer than two classes.
    """
    if classes < 2:
        raise ValueError(f"classes must be at least 2, not {classes}")
    a_low, a_high = _rounded(accuracy)
    f_low, f_high = _rounded(macro_f1)
    lowest, lowest_mean = lowest_macro_f1(a_low, classes), a_low / classes
    highest = a_high if classes == 2 else 1.0
    slack = 1e-9  # half a unit of a decimal figure is no binary number
    if f_high < lowest_mean - slack or f_low > highest + slack:
        verdict: Verdict = "impossible"
    elif f_high < lowest - slack:
        verdict = "impossible for one run"
    else:
        verdict = "possible"
    return Plausibility(verdict, lowest, lowest_mean, highest)


def _rounded(figure: str) -> tuple[float, float]:
    """The numbers that print as `figure`, as an interval within [0, 1]."""
    try:
        value = Decimal(figure)
        exponent = value.as_tuple().exponent
    except InvalidOperation:
        raise ValueError(f"{figure!r} is not a number") from None
    if not isinstance(exponent, int) or not 0 <= value <= 1:
        raise ValueError(f"{figure!r} is not between 0 and 1")
    half = Decimal(5).scaleb(exponent - 1)
    return float(max(Decimal(0), value - half)), float(min(Decimal(1), value + half))
