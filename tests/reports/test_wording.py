from __future__ import annotations

import math

import pytest

from eyetest.reports import wording


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.724, "72 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.998, "99.8 %"),
        (0.9999, "over 99.9 %"),
        (0.002, "0.2 %"),
        (0.0001, "under 0.1 %"),
        (-0.2, "−20 %"),
        (math.nan, "–"),
    ],
)
def test_percent_never_calls_almost_all_all(rate: float, expected: str) -> None:
    assert wording.percent(rate) == expected


def test_numbers() -> None:
    assert wording.rate(0.754, 0.695, 0.805) == "75.4 [69.5, 80.5]"
    assert wording.rate(0.754, math.nan, math.nan) == "75.4 [withheld]"
    assert wording.rate(math.nan, math.nan, math.nan) == "–"
    assert wording.rate(-math.inf, math.nan, math.nan) == "−∞ [withheld]"
    assert wording.hundredths(-0.0001) == "0.0"
    assert (wording.p_value(0.0004), wording.p_value(0.0312), wording.p_value(1.0)) == ("< .001", ".031", "1.000")
    assert (wording.count(1234.0), wording.count(3.25)) == ("1,234", "3.2")
