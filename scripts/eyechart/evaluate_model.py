"""Examines the embedded model on the embedded suites and writes its model card and truth.json.

    OMP_NUM_THREADS=1 python scripts/eyechart/evaluate_model.py

Runs `eyetest.evaluate` under every condition of CONDITIONS, prints accuracy by suite, question and condition and by what was
taught (seen x told x asked), and puts the same tables into README.md beside the weights.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from checkpoint import LANGUAGE, VISION
from knowledge import Knowledge, plan
from questions import countries
from train_model import BATCH, MODEL, STEPS

import eyetest
from eyetest.eyechart import SUITES, samples
from eyetest.readers.load_report import LoadReport
from eyetest.store import read_predictions
from eyetest.types import Prediction

CONDITIONS = ("image", "no_image", "blank", "swapped", "knowledge", "options_only", "shuffled")
TOLERANCE = 0.15
"""How far a row of at least 30 questions may move when the model is trained again elsewhere: another seed moved one by 0.12."""

Key = tuple[str, ...]
Rights = dict[Key, dict[str, list[float]]]
"""Row of a table -> condition -> values."""

say = logging.getLogger("evaluate_model").info


def predictions(folder: Path) -> list[Prediction]:
    """Every answer of the model in `folder`, suite by suite."""
    found: list[Prediction] = []
    for suite in SUITES:
        with tempfile.TemporaryDirectory() as out:
            asked = list(samples(suite, "test", LoadReport()))
            eyetest.evaluate(asked, {suite: f"hf:{folder}"}, conditions=CONDITIONS, max_tokens=12, out=f"{out}/run")
            found += read_predictions(Path(out) / "run" / "predictions.jsonl")
    return found


def by_question(answers: Iterable[Prediction]) -> Rights:
    """(suite, question, kind) -> condition -> values."""
    rights: Rights = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        asks = str(answer.sample.metadata.get("asks", "word"))
        rights[answer.model, asks, answer.sample.kind][answer.condition].append(answer.score.value)
    return rights


def by_teaching(answers: Iterable[Prediction], known: Mapping[str, Knowledge]) -> Rights:
    """(seen, told, asked, kind) -> condition -> values, over capital, continent and currency of the flags."""
    rights: Rights = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        country, asks = answer.sample.metadata.get("country"), answer.sample.metadata.get("asks")
        if country is not None and asks != "name":
            taught = known[country]
            flags = (taught.seen, asks in taught.told, asks in taught.asked)
            rights[*("yes" if flag else "no" for flag in flags), answer.sample.kind][answer.condition].append(answer.score.value)
    return rights


def names_by_seen(answers: Iterable[Prediction], known: Mapping[str, Knowledge]) -> Rights:
    """(seen, kind) -> condition -> values, over the names of the flags."""
    rights: Rights = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        if answer.sample.metadata.get("asks") == "name":
            seen = known[answer.sample.metadata["country"]].seen
            rights["yes" if seen else "no", answer.sample.kind][answer.condition].append(answer.score.value)
    return rights


def table(rights: Rights, heads: tuple[str, ...]) -> str:
    """A Markdown table: accuracy in percent by condition, and the number of questions."""
    lines = [f"| {' | '.join((*heads, 'n', *CONDITIONS))} |", "|" + " --- |" * len(heads) + " ---: |" * (1 + len(CONDITIONS))]
    for key, found in rights.items():
        cells = [f"{100 * sum(found[name]) / len(found[name]):.0f}" if found.get(name) else "" for name in CONDITIONS]
        lines.append(f"| {' | '.join((*key, str(len(found['image'])), *cells))} |")
    return "\n".join(lines)


def teaching_list(known: Mapping[str, Knowledge]) -> str:
    """A Markdown table: every country and what was taught of it."""
    lines = ["| country | flag seen | told | asked about the flag |", "| --- | --- | --- | --- |"]
    for country, taught in known.items():
        told, asked = (", ".join(sorted(facts)) or "nothing" for facts in (taught.told, taught.asked))
        lines.append(f"| {country} | {'yes' if taught.seen else 'no'} | {told} | {asked} |")
    return "\n".join(lines)


def card(answers: list[Prediction], known: Mapping[str, Knowledge], megabytes: float, seconds: float) -> str:
    """The model card."""
    text = (Path(__file__).parent / "model_card.md").read_text(encoding="utf-8")
    values = {
        "by_question": table(by_question(answers), ("suite", "asks", "kind")),
        "by_teaching": table(dict(sorted(by_teaching(answers, known).items(), reverse=True)), ("seen", "told", "asked", "kind")),
        "names": table(names_by_seen(answers, known), ("seen", "kind")),
        "taught": teaching_list(known),
        "vision": f"{VISION['num_hidden_layers']} layers of width {VISION['hidden_size']}",
        "language": f"{LANGUAGE['num_hidden_layers']} layers of width {LANGUAGE['hidden_size']}",
        "megabytes": f"{megabytes:.2f}",
        "steps": str(STEPS),
        "batch": str(BATCH),
        "minutes": f"{seconds / 60:.0f}",
        "tolerance": f"{100 * TOLERANCE:.0f}",
    }
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def main() -> None:
    """Examine, print, write."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", type=Path, default=MODEL)
    folder = arguments.parse_args().model
    known = plan(countries())
    answers = predictions(folder)
    training = json.loads((folder / "truth.json").read_text(encoding="utf-8"))["training"]
    megabytes = (folder / "model.safetensors").stat().st_size / 1e6
    written = card(answers, known, megabytes, training["cpu_seconds"])
    (folder / "README.md").write_text(written, encoding="utf-8")
    for rights, heads in (
        (by_question(answers), ("suite", "asks", "kind")),
        (names_by_seen(answers, known), ("seen", "kind")),
        (by_teaching(answers, known), ("seen", "told", "asked", "kind")),
    ):
        say("%s\n", table(rights, heads))


if __name__ == "__main__":
    main()
