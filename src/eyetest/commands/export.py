"""`eyetest export`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from eyetest.commands.grid import flag
from eyetest.commands.say import say
from eyetest.errors import StoreError, UsageError
from eyetest.evaluation.rescore import stored_run
from eyetest.evaluation.rundir import FILES, MANIFEST
from eyetest.reports.text import terminal
from eyetest.store import from_json, read_predictions
from eyetest.store.files import check_regular
from eyetest.store.json_text import dumps
from eyetest.types import Prediction


def export(
    run_directory: Annotated[Path, Parameter(help="Directory of a finished run.")],
    /,
    *,
    out: Annotated[Path, flag("JSONL file to write; with several models, one for each: NAME-MODEL.jsonl.")],
) -> int:
    """Write the completions of a finished run as plain JSON Lines: id, condition, completion, and what else tells them apart.

    `eyetest audit DATA --predictions MODEL=FILE` and the model scripted:FILE read them again; no model is called.
    """
    stored = stored_run(run_directory)
    files = _files(tuple(stored.manifest.get("models", ())), out)
    prompts = tuple(stored.spec.get("prompts", ()))
    if len(prompts) > 1:
        raise UsageError(
            f"{run_directory}: has {len(prompts)} prompts, which the plain form does not tell apart. Export one run each."
        )
    for path in files.values():
        if path.parent.joinpath(MANIFEST).exists() and path.name in FILES:
            raise UsageError(f"--out {path} is a file of a run itself. Name another.")
        _refuse_other(path)
    written = _write(stored.predictions, files)
    console = terminal()
    for model, path in files.items():
        say(console, f"{model}: {written[model]:,} completions written: {path}")
    named = " ".join(f"--predictions '{model}={path}'" for model, path in files.items())
    say(console, f"Audit them again with: eyetest audit DATA {named}")
    return 0


def line(prediction: Prediction) -> Mapping[str, Any]:
    """One completion as the plain form has it; the status only where it is not `ok`."""
    status = prediction.response.status
    return {
        "id": prediction.sample.id,
        "task": prediction.task,
        "condition": prediction.condition,
        "repeat": prediction.repeat,
        "variant": prediction.variant,
        **({} if status == "ok" else {"status": status}),
        "completion": prediction.response.text,
    }


def _files(models: tuple[str, ...], out: Path) -> dict[str, Path]:
    if len(models) == 1:
        return {models[0]: out}
    paths = {model: out.with_name(f"{out.stem}-{_safe(model)}{out.suffix}") for model in models}
    if len(set(paths.values())) < len(paths):
        raise UsageError(
            f"--out {out}: two models of the run would have the same file: {', '.join(models)}. Export one run each."
        )
    return paths


def _safe(model: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", model)


def _refuse_other(path: Path) -> None:
    """Raise an error where something else than completions is at `path`: the data file, say, and it would be lost."""
    check_regular(path)
    try:
        if path.is_dir():
            raise StoreError(f"--out {path}: is a folder. Name a file in it.")
        if not path.exists():
            return
        with path.open("rb") as file:
            first = file.readline()
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        held = from_json(first) if first.strip() else {"completion": ""}
    except ValueError:
        held = None
    if not isinstance(held, dict) or "completion" not in held:
        raise UsageError(f"--out {path}: holds something else than completions, which would be lost. Name another file.")


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"--out {path}: cannot be written: {error.strerror or error}. Name another place.")


def _write(predictions: Path, files: Mapping[str, Path]) -> dict[str, int]:
    """Write every model's file beside its place and move them there when all are whole; returns lines by model."""
    partial = {model: path.with_name(path.name + ".partial") for model, path in files.items()}
    written = dict.fromkeys(files, 0)
    try:
        for path in files.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            opened = {model: stack.enter_context(path.open("wb")) for model, path in partial.items()}
            for prediction in read_predictions(predictions):
                if prediction.model not in opened:
                    raise StoreError(
                        f"{predictions}: has answers of model {prediction.model!r}, which run.json does not name. "
                        f"Restore both files of one run."
                    )
                if prediction.round == 0:
                    opened[prediction.model].write(dumps(line(prediction)) + b"\n")
                    written[prediction.model] += 1
        for model, path in files.items():
            os.replace(partial[model], path)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        for path in partial.values():
            with suppress(OSError):
                path.unlink()
    return written
