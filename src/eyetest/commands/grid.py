"""The flags that lay out a grid, shared by `run` and `check`, and how they join with a run file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

from eyetest.conditions import whole_conditions
from eyetest.config import Preset, RunConfig, read_run_file, run_config, with_model_files
from eyetest.errors import UsageError


def flag(help_text: str, **settings: Any) -> Parameter:
    """A documented flag without the `--no-x` / `--empty-x` twins."""
    return Parameter(help=help_text, negative=(), show_default=False, **settings)


def whole(help_text: str) -> Parameter:
    """A documented flag that takes a whole number and nothing that could be rounded to one."""
    return flag(help_text, converter=_whole)


def _whole(_type: type, tokens: Sequence[Token]) -> int:
    token = tokens[0]
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", token.value):
        shown = token.value if len(token.value) <= 40 else f"{token.value[:40]}..."
        raise UsageError(f"{token.keyword}: {shown} is not a whole number{' of at most 18 digits' * shown.endswith('...')}.")
    return int(token.value)


@dataclass(frozen=True)
class GridOptions:
    """Flags of a grid. What is given here overrules the run file."""

    data: Annotated[tuple[str, ...], flag("Data file: JSONL, CSV, TSV, Parquet or XLSX, one question a row. Repeatable.")] = ()
    images: Annotated[str | None, flag("Folder that picture paths are relative to; the data file's when left out.")] = None
    column: Annotated[tuple[str, ...], flag("OURS=THEIRS: our column name and the file's, e.g. answer=label. Repeatable.")] = ()
    answer_is: Annotated[Literal["text", "letter", "index"] | None, flag("How the file writes the right choice.")] = None
    match: Annotated[Literal["tokens", "contains"] | None, flag("How short answers are compared.")] = None
    task: Annotated[tuple[str, ...], flag("Registered task. Repeatable. See: eyetest list tasks.")] = ()
    dir: Annotated[
        str | None,
        flag("Folder that holds the task's files; `embedded`: the small set inside eyetest; `hub`: download the published copy."),
    ] = None
    format: Annotated[str | None, flag("Layout of that folder; found out when left out.")] = None
    knowledge_file: Annotated[str | None, flag("JSONL file of knowledge questions: id, k. See: eyetest knowledge --help.")] = None
    captions: Annotated[str | None, flag("JSONL file of captions: id, caption. See: eyetest caption --help.")] = None
    positive: Annotated[str | None, flag("Of two labels, the one whose misses and false alarms matter, e.g. hateful.")] = None
    split: Annotated[str | None, flag("Split of the task.")] = None
    model: Annotated[
        tuple[str, ...],
        flag(
            "[CALLED=]NAME[:ARGUMENT], e.g. chance, mine=hf:PATH, openai:NAME, or a TOML file with one model. Repeatable. "
            "See: eyetest list models."
        ),
    ] = ()
    condition: Annotated[
        tuple[str, ...], flag("Viewing conditions, comma-separated; + composes. See: eyetest list conditions.")
    ] = ()
    prompt: Annotated[tuple[str, ...], flag("Prompt names, comma-separated.")] = ()
    preset: Annotated[Preset | None, flag("Settings of a paper: temperature, length, repeats, conditions.")] = None
    repeats: Annotated[int | None, whole("How often each question is asked.")] = None
    seed: Annotated[int | None, whole("All randomness derives from it.")] = None
    temperature: Annotated[float | None, flag("Sampling temperature; 0 is greedy.")] = None
    top_p: Annotated[float | None, flag("Nucleus mass.")] = None
    max_tokens: Annotated[int | None, whole("Longest answer in tokens.")] = None
    limit: Annotated[str | None, flag("Samples per task: a count, a fraction below 1, or a percentage.")] = None
    ids: Annotated[tuple[str, ...], flag("Only these sample ids, comma-separated; @FILE reads one a line.")] = ()
    by: Annotated[tuple[str, ...], flag("Slice by metadata.FIELD. Repeatable.")] = ()
    strict: Annotated[bool, flag("Any dropped row is an error.")] = False
    label_logprobs: Annotated[
        bool, flag("Ask for the probability of each option where the backend can: ROC AUC, calibration, risk.")
    ] = False
    backbone: Annotated[
        tuple[str, ...], flag("MODEL=TEXTMODEL: the text model it is built on, also in the run: gain and leakage. Repeatable.")
    ] = ()
    exploration: Annotated[bool, flag("Adjust tests of conditions and of models by Benjamini-Hochberg instead of Holm.")] = False
    prices: Annotated[str | None, flag("TOML table of prices (USD per million tokens) that goes before the packaged one.")] = None
    max_cost: Annotated[float | None, flag("Stop before the run has cost more than this many USD, earlier calls included.")] = (
        None
    )
    batch: Annotated[bool, flag("Ask openai: models through the Batch API: about half the price, answers within a day.")] = False
    out: Annotated[str | None, flag("Run directory; runs/TASK-HASH when left out.")] = None
    cache: Annotated[
        str | None, flag("Response cache shared between runs; $EYETEST_CACHE or the user's cache folder when left out.")
    ] = None
    no_cache: Annotated[bool, flag("No response cache. The run still resumes from its own journal.")] = False


def read_config(run_file: Path | None, options: GridOptions) -> tuple[RunConfig, Path]:
    """The run's configuration and the folder its relative paths start from. Raises UsageError."""
    values = read_run_file(run_file) if run_file is not None else {}
    values = with_model_files({**values, **_given(options, values)})
    where = str(run_file) if run_file is not None else "command line"
    return run_config(values, where), run_file.parent if run_file is not None else Path()


def _given(options: GridOptions, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that flags set."""
    given: dict[str, Any] = {
        "models": [_model(text) for text in options.model],
        "conditions": whole_conditions(commas("--condition", options.condition)),
        "prompts": commas("--prompt", options.prompt),
        "preset": options.preset,
        "repeats": options.repeats,
        "seed": options.seed,
        "limit": None if options.limit is None else _limit(options.limit),
        "ids": _ids(options.ids),
        "by": commas("--by", options.by),
        "strict": options.strict or None,
        "label_logprobs": options.label_logprobs or None,
        "backbones": dict(_backbone(text) for text in options.backbone),
        "exploration": options.exploration or None,
        "prices": options.prices,
        "max_cost": options.max_cost,
        "batch": options.batch or None,
        "out": options.out,
        "cache": options.cache,
        "use_cache": False if options.no_cache else None,
        "tasks": _tasks(options),
    }
    generation = {
        key: getattr(options, key) for key in ("temperature", "top_p", "max_tokens") if getattr(options, key) is not None
    }
    in_file = values.get("generation", {})
    if generation and isinstance(in_file, Mapping):  # anything else is the schema's to refuse
        given["generation"] = {**in_file, **generation}
    return {key: value for key, value in given.items() if value is not None and value != [] and value != {}}


def _tasks(options: GridOptions) -> list[dict[str, Any]]:
    of_data = {
        "images": options.images,
        "columns": dict(_pair(text) for text in options.column) or None,
        "answer_is": options.answer_is,
        "match": options.match,
    }
    of_task = {"dir": options.dir, "split": options.split, "format": options.format}
    of_both = {"positive": options.positive, "knowledge": options.knowledge_file, "captions": options.captions}
    if not options.data and any(value is not None for value in of_data.values()):
        raise UsageError("--images, --column, --answer-is and --match describe a data file. Name it with --data FILE.")
    if not options.task and any(value is not None for value in of_task.values()):
        raise UsageError("--dir, --split and --format describe a registered task. Name it with --task NAME.")
    tasks: list[dict[str, Any]] = [{"data": path, **_without_none(of_data | of_both)} for path in options.data]
    return tasks + [{"task": name, **_without_none(of_task | of_both)} for name in options.task]


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _model(text: str) -> dict[str, str]:
    """`CALLED=SPEC` or `SPEC`; an equals sign behind the first colon belongs to the spec."""
    called, equals, spec = text.partition("=")
    if equals and ":" not in called and "," not in called and called.strip():
        return {"name": called.strip(), "model": spec}
    return {"model": text}


def _pair(text: str) -> tuple[str, str]:
    ours, equals, theirs = text.partition("=")
    if not equals or not ours or not theirs:
        raise UsageError(f"--column {text!r}: write OURS=THEIRS, e.g. --column answer=label.")
    return ours.strip(), theirs.strip()


def _backbone(text: str) -> tuple[str, str]:
    """`MODEL=TEXTMODEL`; a name may hold an equals sign where the other does not."""
    model, equals, backbone = text.rpartition("=")
    if not equals or not model or not backbone:
        raise UsageError(f"--backbone {text!r}: write MODEL=TEXTMODEL, both as the run names them.")
    return model.strip(), backbone.strip()


def commas(flag_name: str, texts: Iterable[str]) -> list[str]:
    """The parts of a flag's comma-separated texts. Raises UsageError for a text without any: empty is not "all"."""
    found = []
    for text in texts:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts:
            raise UsageError(f"{flag_name} {text!r} names nothing. Name something, or leave {flag_name} out.")
        found += parts
    return found


def _limit(text: str) -> int | float:
    try:
        if text.endswith("%"):
            share = float(text[:-1]) / 100
            if not 0 < share < 1:
                raise ValueError
            return share
        number = float(text) if "." in text or "e" in text.lower() else int(text)
        if not math.isfinite(number):
            raise ValueError
        return number
    except ValueError:
        raise UsageError(f"--limit {text!r}: give a count (100), a fraction (0.1) or a percentage below 100 (10%).") from None


def _ids(texts: Iterable[str]) -> list[str]:
    found: list[str] = []
    for text in texts:
        if not text.startswith("@"):
            found += commas("--ids", [text])
            continue
        try:
            lines = [line.strip() for line in Path(text[1:]).read_text(encoding="utf-8-sig").splitlines() if line.strip()]
        except UnicodeDecodeError:
            raise UsageError(f"--ids {text}: is not UTF-8. Save it as UTF-8, one id a line.") from None
        except OSError as error:
            raise UsageError(f"--ids {text}: cannot be read: {error.strerror}. Name a file with one id a line.") from None
        if not lines:
            raise UsageError(f"--ids {text} names nothing: the file holds no id. Write one id a line, or leave --ids out.")
        found += lines
    return found
