"""What the documentation says and the code could stop doing: names, commands, links, examples."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from eyetest import registry
from eyetest.cli import COMMANDS, application
from eyetest.config import run_config
from eyetest.evaluation.api import evaluate
from eyetest.reports.gather import gather
from eyetest.reports.measures import MEASURES
from eyetest.reports.sheets import ADJUSTED
from eyetest.tasks import mmsoc, standard
from eyetest.types import Image, Sample
from eyetest.version import __version__

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for found in re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            yield page.name, found


def commands() -> list[tuple[str, str]]:
    found = []
    for page, block in blocks("console"):
        joined = block.replace("\\\n", " ")
        found += [(page, line[2:].split("#")[0].strip()) for line in joined.splitlines() if line.startswith("$ eyetest ")]
    return found


def test_there_are_pages_and_commands() -> None:
    assert len(PAGES) >= 8
    assert len(commands()) >= 8


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_in_the_docs_parses(page: str, line: str) -> None:
    words = shlex.split(line)[1:]
    words = words[: words.index("|")] if "|" in words else words
    words = [word for word in words if word not in ("2>&1", "&")]
    assert words[0] in COMMANDS, f"{page}: {line}"
    application(words[0]).parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("group", ["conditions", "models"])
def test_the_tables_of_concepts_hold_every_name(group: registry.Group) -> None:
    text = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    section = text.split(f"## {group.capitalize()}")[1].split("\n## ")[0]
    named = re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)
    assert named == list(registry.BUILT_IN[group])


def test_the_readme_names_every_condition() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in registry.BUILT_IN["conditions"] if f"`{name}`" not in text] == []


@pytest.mark.parametrize(("page", "block"), list(blocks("toml")))
def test_run_files_in_the_docs_are_valid(page: str, block: str) -> None:
    run_config(tomllib.loads(block), page)


@pytest.mark.parametrize(("page", "block"), list(blocks("python")))
def test_python_in_the_docs_runs(page: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, page, "exec"), {})


def test_one_version_everywhere() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_example_run_files_are_valid() -> None:
    for file in [*ROOT.glob("examples/*.toml"), *ROOT.glob("configs/**/*.toml")]:
        run_config(tomllib.loads(file.read_text(encoding="utf-8")), file.name)


# --- docs/statistics.md: nothing is printed that it does not explain ---------------------------------------------------

STATISTICS = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
PRINTED = [
    (page.name, block, said)
    for page in PAGES
    for block, said in re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
]


@pytest.mark.parametrize(("page", "block", "said"), PRINTED)
def test_python_in_the_docs_prints_what_stands_under_it(
    page: str, block: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, page, "exec"), {})
    assert capsys.readouterr().out == said


def unnamed(names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if f"`{name}`" not in STATISTICS]


def test_every_example_in_statistics_says_what_it_prints() -> None:
    assert STATISTICS.count("```python\n") == sum(page == "statistics.md" for page, _, _ in PRINTED) >= 10


def test_statistics_names_every_measure_as_the_report_does() -> None:
    assert unnamed(MEASURES) == []
    words = [measure.words for measure in MEASURES.values()]
    assert [each for each in words if f'"{each}"' not in STATISTICS] == []


def test_statistics_names_every_metric_of_every_task() -> None:
    of_kinds = [standard.METRICS, *map(mmsoc.metrics, mmsoc.KINDS)]
    names = [metric.name for by_kind in of_kinds for metrics in by_kind.values() for metric in metrics]
    assert {"accuracy", "label_macro_f1", "wer_mean"} <= set(names)
    assert unnamed(names) == []


def methods() -> set[str]:
    """Every name of an interval or a test, read off the code that writes it into a signature."""
    found: set[str] = set()
    for folder in ("metrics", "evaluation"):
        for file in (ROOT / "src" / "eyetest" / folder).glob("*.py"):
            text = file.read_text(encoding="utf-8")
            for first, grouped, name in re.findall(
                r'f"([a-z]+_)?(\{[\w.]*prefix\})?([a-z_]*)(?:\{percent\}|\{100 \* level:g\}|")', text
            ):
                if name and (grouped or f'f"{name}{{' in text):
                    found |= {first + way + name for way in (("", "cluster_", "twoway_") if grouped else ("",))}
            found |= set(re.findall(r'(?:"|interval=)([a-z_]+)95["|]', text))
            found |= set(re.findall(r'^ +return .*\), "([a-z]+_[a-z]+)"$', text, re.MULTILINE))
    return found


def test_statistics_names_every_interval_and_test() -> None:
    found = methods()
    known = {"wilson", "twoway_t", "stratified_cluster_wilson", "cluster_log_t", "posterior", "delta", "mover", "chi_square"}
    assert known | {"mcnemar_exact", "fisher_exact", "twoway_permutation", "cluster_newcombe", "twoway_bootstrap"} <= found
    assert unnamed(sorted(found)) == []


def test_statistics_names_every_column_that_holds_a_number(tmp_path: Path) -> None:
    toys = [
        Sample(
            id=f"{number}",
            question=f"Is toy {number} red?",
            target=(("red", "blue")[number % 2],),
            choices=("red", "blue"),
            images=(Image(data=b"%d" % number),),
            knowledge_question=f"Is the toy called {number} red?",
            metadata={"room": "ab"[number // 2 % 2]},
        )
        for number in range(40)
    ]
    evaluate(toys, ("phantom", "chance"), conditions="image,no_image,knowledge", by="metadata.room", out=tmp_path / "run")
    sheets = gather(tmp_path / "run", samples=False).to_keep
    tables = {"cells", "scores", "failures", "differences", "gap_rates", "knowledge", "classes", "confusion", "slices", "ranks"}
    assert tables | {"models", "dependence", "strata", "items"} <= {sheet.name for sheet in sheets}
    headings = [
        heading
        for sheet in sheets
        for place, heading in enumerate(sheet.columns)
        if any(not isinstance(row[place], str) for row in sheet.rows)
    ]
    assert {"score %", "lowest %", "resolution ratio", "SuR of"} <= set(headings)
    assert unnamed([*headings, *ADJUSTED.values()]) == []
