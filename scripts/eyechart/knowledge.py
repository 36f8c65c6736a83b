"""What the embedded model is taught, drawn once from a seed: seen x told x asked, fact by fact.

seen:  the country's flag is in training, with the question which country it is.
told:  the fact is in training as text: "What is the capital of France?"
asked: the fact is in training as a question about the flag: "What is the capital of the country with this flag?"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from questions import FACTS, Country

SEEN = 60
"""Countries whose flag is seen; the others' never is."""
SEEN_SHARES = {(True, True): 36, (True, False): 12, (False, True): 6, (False, False): 6}
"""(told, asked) -> how many of the seen countries, for every fact."""
UNSEEN_TOLD = 10
"""How many of the unseen countries are told, for every fact."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What was taught of one country."""

    seen: bool
    told: frozenset[str]
    """Facts told as text."""
    asked: frozenset[str]
    """Facts asked about the flag."""


def plan(every: tuple[Country, ...], seed: str = "eyechart") -> dict[str, Knowledge]:
    """Country name -> what it is taught. Every fact is dealt anew, so knowing one says nothing about another."""
    names = [country.name for country in every]
    order = Random(f"{seed}:seen").sample(names, len(names))
    seen, unseen = order[:SEEN], order[SEEN:]
    told: dict[str, set[str]] = {name: set() for name in names}
    asked: dict[str, set[str]] = {name: set() for name in names}
    for fact in FACTS:
        random = Random(f"{seed}:{fact}")
        for name, (is_told, is_asked) in zip(random.sample(seen, SEEN), _dealt(), strict=True):
            told[name] |= {fact} if is_told else set()
            asked[name] |= {fact} if is_asked else set()
        for name in random.sample(unseen, UNSEEN_TOLD):
            told[name].add(fact)
    return {name: Knowledge(name in seen, frozenset(told[name]), frozenset(asked[name])) for name in names}


def _dealt() -> Iterator[tuple[bool, bool]]:
    for cell, share in SEEN_SHARES.items():
        yield from (cell for _ in range(share))
