"""What the documentation says and the code could stop doing: names, commands, links, examples."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyetest import registry
from eyetest.cli import COMMANDS, application
from eyetest.config import run_config
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
