"""What reading one completion costs, in microseconds of CPU.

python benchmarks/scorers.py
"""

from __future__ import annotations

import time

from eyetest.scorers import ChoiceScorer, TextScorer
from eyetest.types import Sample

CITIES = Sample("s", "Which city is it?", ("Paris",), choices=("London", "Paris", "Rome", "Madrid"))
OPEN = Sample("s", "Which city is it?", ("Paris", "City of Light"), kind="text")
PARAGRAPH = (
    "The picture shows a wide river with stone bridges and, behind the roofs, an iron tower. London has a river and bridges "
    "too, but towers of stone. Rome and Madrid have no iron tower of this kind. The lattice, the four feet and the "
    "platforms are those of the Eiffel Tower, and the long row of trees is that of the Champ de Mars. The answer is B."
)
COMPLETIONS = {
    "a letter": "B",
    "an option's text": "Paris",
    "a declared answer": "Answer: B",
    "a paragraph": PARAGRAPH,
    "a megabyte of 'the answer is'": "the answer is " * 71_000,
}


def cost(scorer: ChoiceScorer | TextScorer, sample: Sample, text: str) -> float:
    """Microseconds of CPU a call, best of five."""
    times = max(1, 20_000 // max(len(text), 20))
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(times):
            scorer(sample, text)
        best = min(best, time.process_time() - start)
    return best / times * 1e6


def main() -> None:
    """Print the table."""
    print(f"{'completion':32} {'choice':>12} {'text':>12}")
    for name, text in COMPLETIONS.items():
        print(f"{name:32} {cost(ChoiceScorer(), CITIES, text):12,.1f} {cost(TextScorer(), OPEN, text):12,.1f}")


if __name__ == "__main__":
    main()
