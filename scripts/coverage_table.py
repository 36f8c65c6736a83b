"""Tables of docs/coverage.md: how often each statistic's 95 % interval holds the truth of a phantom.

    python scripts/coverage_table.py                          every table, printed
    python scripts/coverage_table.py "gap rate" --write       one table, put in its place in docs/coverage.md

All tables take some 20 minutes of one core. What is simulated is tests/coverage/simulate.py.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage.md"
sys.path.insert(0, str(ROOT / "tests" / "coverage"))

from simulate import RUNS, Coverage, Setting, coverage, settings  # noqa: E402  (lies beside the tests that use it)

HEAD = "| phantom | n | truth | denominator | interval given % | truth held % | below / above | median width |"
RULE = "|---|---:|---:|---:|---:|---:|---:|---:|"


def line(setting: Setting, found: Coverage) -> str:
    """One row; a denominator too small for the promise is marked."""
    few = "" if setting.promised else " (few)"
    cells = (
        setting.phantom,
        setting.size,
        f"{setting.truth:.3f}",
        f"{setting.denominator:,.0f}{few}",
        f"{100 * found.given / found.runs:.1f}",
        f"{100 * found.rate:.1f}",
        f"{found.below} / {found.above}",
        f"{found.width:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def table(name: str, chosen: Sequence[Setting], runs: int) -> str:
    """The table of one statistic and the mean of what it promises."""
    found = [coverage(setting, runs) for setting in chosen]
    rates = [one.rate for setting, one in zip(chosen, found, strict=True) if setting.promised]
    rows = [line(setting, one) for setting, one in zip(chosen, found, strict=True)]
    mean = f"{len(rates)} settings with a denominator of 20 or more: {100 * min(rates):.1f} to {100 * max(rates):.1f} %, "
    return "\n".join(
        (f"## {name[0].upper()}{name[1:]}", "", HEAD, RULE, *rows, "", f"{mean}mean {100 * statistics.mean(rates):.1f} %.")
    )


def replaced(page: str, name: str, made: str) -> str:
    """The page with another table between the markers of `name`. Raises ValueError if they are not there."""
    start, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    before, found, rest = page.partition(start)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise ValueError(f"{PAGE}: has no lines {start.strip()} and {end.strip()}; add them where the table belongs")
    return f"{before}{start}{made}{end}{after}"


def main() -> None:
    """Simulate, print, and write where asked."""
    by_name: dict[str, list[Setting]] = {}
    for setting in settings():
        by_name.setdefault(setting.statistic, []).append(setting)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("statistics", nargs="*", metavar="STATISTIC", help=f"of: {', '.join(by_name)}; all when left out")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/coverage.md")
    given = parser.parse_args()
    unknown = sorted(set(given.statistics) - set(by_name))
    if unknown:
        parser.error(f"unknown statistic {unknown[0]!r}; known: {', '.join(by_name)}")
    for name in given.statistics or by_name:
        made = table(name, by_name[name], given.runs)
        sys.stdout.write(f"{made}\n\n")
        sys.stdout.flush()
        if given.write:
            PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), name, made), encoding="utf-8")


if __name__ == "__main__":
    main()
