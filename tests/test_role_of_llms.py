"""The run files of the second paper, and its tables and figures in small: phantoms of known make-up are recovered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from eyetest.commands.grid import GridOptions, read_config
from eyetest.config import PRESETS, RunConfig, run_config
from eyetest.evaluation import setup
from eyetest.evaluation.evaluate import evaluate_plan, prepare
from eyetest.eyechart import truth
from eyetest.reports.gather import gather
from eyetest.reports.sheet import Sheet, Span
from eyetest.stats import wilson
from eyetest.store import read_predictions

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "configs" / "role_of_llms_demo.toml"
FILES = sorted((ROOT / "configs" / "role_of_llms").glob("*.toml"))
EMBEDDED = "embedded LLaVA"


class MakeUp(NamedTuple):
    """What a phantom of the demo perceives and knows."""

    perception: float
    knowledge: float


MADE = {
    "sees and knows": MakeUp(0.9, 0.9),
    "knows, sees little": MakeUp(0.4, 0.9),
    "sees, knows little": MakeUp(0.9, 0.4),
}


# --- run files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", [DEMO, *FILES], ids=lambda file: file.stem)
def test_a_run_file_uses_the_preset_and_finds_its_models(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config, _ = read_config(file, GridOptions())
    assert config.preset == "role_of_llms"
    assert config.generation.temperature == 0
    assert config.models
    assert f"configs/{file.relative_to(ROOT / 'configs')}" in file.read_text(encoding="utf-8")


def test_there_is_a_run_file_for_every_table_and_figure_that_is_built() -> None:
    assert [file.stem for file in FILES] == ["figure2", "figure3", "table1", "table2"]
    named = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert [file.name for file in FILES if f"role_of_llms/{file.name}" not in named] == []


def test_the_eight_models_of_the_paper_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    asked = [{one.name for one in read_config(file, GridOptions())[0].models} for file in FILES]
    assert all(len(names) == 8 and names == asked[0] for names in asked)


def test_the_preset_asks_what_serves_all_tables_and_gives_way_to_the_run() -> None:
    plain = run_config({"preset": "role_of_llms", "tasks": ["eyechart_flags"]}, "test")
    assert plain.conditions == ("image", "no_image", "knowledge")
    assert (plain.generation.temperature, plain.generation.max_tokens, plain.repeats) == (0.0, 256, 1)
    own = run_config({"preset": "role_of_llms", "conditions": ["image"], "generation": {"max_tokens": 8}}, "test")
    assert own.conditions == ("image",)
    assert own.generation.max_tokens == 8
    assert set(PRESETS) == {"mmsoc", "role_of_llms"}


# --- the demo ----------------------------------------------------------------------------------------------------------


def demo(out: Path, *, limit: str | None, phantoms_only: bool) -> Mapping[str, Sheet]:
    """The tables of the demo, by name."""
    config, folder = read_config(DEMO, GridOptions(limit=limit, out=str(out / "run"), no_cache=True))
    models = tuple(one for one in config.models if one.name in MADE or not phantoms_only)
    config = RunConfig.model_validate({**config.model_dump(), "models": [one.model_dump() for one in models]})
    plan = prepare(config, setup.datasets(config.tasks), folder=folder)
    evaluate_plan(config, plan, setup.models(config.models, seed=config.seed), watch=lambda _progress: None)
    return {sheet.name: sheet for sheet in gather(out / "run", samples=False).sheets}


def rows(sheet: Sheet) -> Iterator[dict[str, object]]:
    for row in sheet.rows:
        if row[sheet.columns.index("model")] in MADE:
            yield dict(zip(sheet.columns, row, strict=True))


def chances(kind: str, of: MakeUp) -> tuple[float, float, float, float]:
    """Probabilities (VQ, K), (VQ, not K), (not VQ, K), (neither): equation 3 of the paper; a guess is one in four."""
    p, k = of
    guess = 0.25 if kind == "choice" else 0.0
    known = k * (p + (1 - p) * guess)  # seen, or guessed
    blind = k * (1 - p) * (1 - guess)
    lucky = (1 - k) * guess
    return known + lucky * guess, lucky * (1 - guess), blind + (1 - k) * (1 - guess) * guess, (1 - k) * (1 - guess) ** 2


def expected(sheets: Mapping[str, Sheet], made: Mapping[str, MakeUp]) -> Iterator[tuple[str, Span, float, float]]:
    """(what, found, its n, its truth) of every number of a phantom in Tables 1 and 2 and Figures 2 and 3."""
    for name in ("score_with_and_without", "options", "score_and_knowledge", "sufficiency_necessity"):
        for row in rows(sheets[name]):
            kind = str(row.get("kind", "text" if row.get("options") == "open-ended" else "choice"))
            both, seen, known, neither = chances(kind, made[str(row["model"])])
            guess = 0.25 if kind == "choice" else 0.0
            truths = {
                ("with picture %", "n with"): both + seen,
                ("without picture %", "n without"): guess,
                ("as knowledge %", "n as knowledge"): both + known,
                ("SuR %", "SuR of"): both / (both + seen),
                ("NeR %", "NeR of"): neither / (neither + known),
                ("wrong with the picture if not known %", "wrong with the picture if not known of"): neither / (neither + seen),
            }
            for (value, n), told in truths.items():
                found = row.get(value)
                if isinstance(found, Span) and not math.isnan(found.value):
                    yield f"{name}: {row['task']} {kind} {row['model']} {value}", found, float(row[n]), told  # type: ignore[arg-type]


def missed(sheets: Mapping[str, Sheet], made: Mapping[str, MakeUp] = MADE) -> tuple[int, list[str]]:
    """How many numbers there are, and those whose simultaneous 95 % interval (Bonferroni) misses the truth."""
    found = list(expected(sheets, made))
    level = 1 - 0.05 / len(found)
    out = []
    for what, span, n, told in found:
        low, high = wilson(round(span.value * n), n, level)
        if not low - 1e-9 <= told <= high + 1e-9:
            out.append(f"{what}: {span.value:.3f} of {n:g}, [{low:.3f}, {high:.3f}] without {told:.3f}")
    return len(found), out


def test_the_truth_of_phantoms_adds_up() -> None:
    for of in MADE.values():
        for kind in ("choice", "text"):
            assert sum(chances(kind, of)) == pytest.approx(1)
    assert chances("text", MakeUp(0.4, 0.9)) == pytest.approx((0.36, 0, 0.54, 0.1))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sheet]:
    return demo(tmp_path_factory.mktemp("small"), limit="160", phantoms_only=True)


def test_phantoms_are_recovered_from_the_tables(small: Mapping[str, Sheet]) -> None:
    n, wrong = missed(small)
    assert wrong == []
    assert n > 80


def test_another_make_up_would_be_noticed(small: Mapping[str, Sheet]) -> None:
    _, wrong = missed(small, {**MADE, "sees, knows little": MakeUp(0.4, 0.9)})
    for table in ("score_and_knowledge", "sufficiency_necessity"):
        assert any(line.startswith(table) for line in wrong), table
    assert all("sees, knows little" in line for line in wrong)
    _, wrong = missed(small, {**MADE, "sees and knows": MakeUp(0.7, 0.9)})
    for table in ("score_with_and_without", "options"):
        assert any(line.startswith(table) for line in wrong), table


@pytest.mark.long
def test_the_whole_demo_recovers_phantoms_and_the_embedded_models_table(tmp_path: Path) -> None:
    n, wrong = missed(demo(tmp_path, limit=None, phantoms_only=False))
    assert wrong == []
    assert n > 80
    right: dict[tuple[str, bool], list[float]] = {}
    for one in read_predictions(tmp_path / "run" / "predictions.jsonl"):
        taught = truth().get((one.sample.metadata.get("country", ""), one.sample.metadata.get("asks", "")))
        if one.model != EMBEDDED or one.sample.kind != "text" or taught is None or one.condition not in ("image", "knowledge"):
            continue
        built_in = taught.asked if one.condition == "image" else taught.told
        right.setdefault((one.condition, built_in), []).append(one.score.value)
    ends = {key: wilson(sum(values), len(values), 1 - 0.05 / 4) for key, values in right.items()}
    assert set(ends) == {(condition, known) for condition in ("image", "knowledge") for known in (True, False)}
    for (condition, known), (low, high) in ends.items():
        # Continents can be guessed: one in seven, and better from what a flag looks like.
        assert low > 0.8 if known else high < 0.6, (condition, known, low, high)
