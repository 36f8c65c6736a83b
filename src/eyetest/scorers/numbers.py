"""Numbers, ranges and dates as short answers spell them."""

from __future__ import annotations

import re
from dataclasses import dataclass

SMALL_WORDS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty"""
SMALL = {word: value for value, word in enumerate(SMALL_WORDS.split())}
SCALES = {"hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
UNIT_NAMES = {
    "km": "kilometre kilometer", "m": "metre meter", "cm": "centimetre centimeter", "mm": "millimetre millimeter", "mi": "mile",
    "ft": "foot feet", "in": "inch inches", "kg": "kilogram kilo", "g": "gram gramme", "lb": "pound lbs", "t": "tonne ton",
    "s": "second", "min": "minute", "h": "hour", "yr": "year", "%": "percent", "$": "dollar usd", "€": "euro eur", "°": "degree",
    "km2": "km² sqkm", "l": "litre liter",
}  # fmt: skip
UNITS = {name: unit for unit, names in UNIT_NAMES.items() for name in (*names.split(), unit)} | {
    "per cent": "%",
    "square kilometre": "km2",
    "square kilometer": "km2",
    "sq km": "km2",
}
"""Spelling -> unit. Numbers with different units are never compared by value: nothing is converted."""
DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
NUMBER = re.compile(
    rf"(?P<currency>[$€£¥])?\s?(?:(?<![\w.,])|"
    rf"(?<=[$€£¥]))(?P<sign>[-+](?=[\d.]))?(?P<digits>{DIGITS})(?:[eE](?P<exponent>[-+]?\d{{1,2}}))?(?!\d|s\b)"
    rf"|\b(?P<word>{'|'.join(sorted(SMALL, key=len, reverse=True))})\b",
    re.I,
)
SCALE = re.compile(rf"[\s-]?(?P<scale>{'|'.join(sorted(SCALES, key=len, reverse=True))})\b", re.I)
UNIT = re.compile(
    rf"[\s-]?(?P<unit>{'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))})s?(?![A-Za-z0-9²])",
    re.I,
)
RANGE = re.compile(
    rf"\s*(?:between\s+|from\s+)?(?P<low>[-+]?(?:{DIGITS}))\s*(?:-|–|—|\bto\b|"
    rf"\band\b)\s*(?P<high>[-+]?(?:{DIGITS}))\s*(?P<rest>[^\d]{{0,20}})\Z",
    re.I,
)
MONTH_NAMES = """january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct|
november nov|december dec"""
MONTHS = {name: number for number, names in enumerate(MONTH_NAMES.split("|"), start=1) for name in names.split()}
MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
YEAR = r"(?P<year>\d{4})(?!\d)"
DATES = (
    re.compile(r"(?<!\d)(?P<year>\d{4})[-/. ](?P<month>\d{1,2})[-/. ](?P<day>\d{1,2})(?!\d)"),
    re.compile(rf"(?<!\d){DAY}(?: of)? {MONTH},? (?:of )?{YEAR}", re.I),
    re.compile(rf"\b{MONTH} {DAY},? (?:of )?{YEAR}", re.I),
    re.compile(rf"\b{MONTH},? (?:of )?{YEAR}", re.I),
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text."""

    value: float
    """Its value, scale words multiplied in."""
    unit: str
    """Canonical unit, empty if none is given."""
    start: int
    """First character."""
    end: int
    """Past the last character, scale and unit included."""


@dataclass(frozen=True, slots=True)
class Date:
    """A calendar date; a day of 0 is a month."""

    year: int
    """Year."""
    month: int
    """1 to 12."""
    day: int
    """1 to 31, or 0."""
    start: int = 0
    """First character."""
    end: int = 0
    """Past the last character."""

    def within(self, target: Date) -> bool:
        """Whether this date is `target`, or a day of it if `target` is a month."""
        return (self.year, self.month) == (target.year, target.month) and target.day in (0, self.day)


def numbers(text: str) -> tuple[Number, ...]:
    """Every number in `text`: `1,234`, `-3.5`, `1.2 million`, `$5`, `5 km`, `seven`. text: as `clean.visible` leaves it."""
    found = []
    for match in NUMBER.finditer(text):
        end = match.end()
        value = float(SMALL[match["word"].lower()]) if match["word"] else _digits(match)
        while scale := SCALE.match(text, end):
            value, end = value * SCALES[scale["scale"].lower()], scale.end()
        unit = match["currency"] or ""
        if not unit and (named := UNIT.match(text, end)):
            word = named["unit"].lower()
            unit, end = UNITS.get(word, word), named.end()
        elif named := re.match(r"\s?(?:US )?(?:dollars?|euros?)\b", text[end:], re.I):
            end += named.end()
        found.append(Number(value, unit, match.start(), end))
    return tuple(found)


def _digits(match: re.Match[str]) -> float:
    exponent = int(match["exponent"] or 0)
    return float(f"{match['sign'] or ''}{match['digits'].replace(',', '')}e{exponent}")


def number(text: str) -> Number | None:
    """The number that `text` as a whole is, unit included; None if it is anything else."""
    found = numbers(text)
    if len(found) != 1 or text[: found[0].start].strip(" ~≈") or text[found[0].end :].strip(" ."):
        return None
    return found[0]


def span(text: str) -> tuple[float, float] | None:
    """The range that `text` as a whole is, e.g. `6.5-7.0`; None if it is no rising range."""
    match = RANGE.match(text)
    if not match:
        return None
    low, high = (float(match[end].replace(",", "")) for end in ("low", "high"))
    rest = match["rest"].strip(" .")
    known = not rest or UNIT.fullmatch(rest) or SCALE.fullmatch(rest)
    scale = SCALES.get(rest.lower(), 1.0)
    return (low * scale, high * scale) if low < high and known else None


def dates(text: str) -> tuple[Date, ...]:
    """Every date with at least a month and a year: `1990-12-20`, `20 December 1990`, `December 20, 1990`, `December 1990`."""
    found: dict[int, Date] = {}
    for form in DATES:
        for match in form.finditer(text):
            parts = match.groupdict()
            month = MONTHS.get(parts["month"].lower()) or (int(parts["month"]) if parts["month"].isdigit() else 0)
            date = Date(int(parts["year"]), month, int(parts.get("day") or 0), match.start(), match.end())
            if 1 <= date.month <= 12 and date.day <= 31 and not any(d.start <= date.start < d.end for d in found.values()):
                found[date.start] = date
    return tuple(found[start] for start in sorted(found))


def date(text: str) -> Date | None:
    """The date that `text` as a whole is; None if it is anything else."""
    found = dates(text)
    return found[0] if len(found) == 1 and not text[: found[0].start].strip() and not text[found[0].end :].strip(" .") else None
