"""The embedded eye chart: three small suites of pictures with questions, and the tiny model that was taught them."""

from eyetest.eyechart.suites import MODEL, PASSAGES, SUITES, Suite, Truth, picture_lines, samples, truth

__all__ = ["MODEL", "PASSAGES", "SUITES", "Suite", "Truth", "picture_lines", "samples", "truth"]
