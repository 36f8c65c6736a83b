"""The run directory: one run, one folder, one process at a time.

run.json           what was asked for and of what: the manifest
journal.txt        every answer as it arrived (see store.Journal)
predictions.jsonl  one line an answer, written when the run ends
results.json       the estimates
pictures/          pictures that were given as bytes, by digest
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from eyetest import images
from eyetest.errors import StoreError
from eyetest.store import (
    BY_DIGEST,
    Journal,
    check_regular,
    encode_prediction,
    expected,
    from_json,
    full,
    to_json,
    write_whole,
)
from eyetest.types import Image, Message, Prediction

MANIFEST, JOURNAL, PREDICTIONS, RESULTS = "run.json", "journal.txt", "predictions.jsonl", "results.json"
LOCK, PICTURES = "lock", "pictures"
VERDICTS, LABELS = "judge.txt", "labels.csv"
FILES = (MANIFEST, JOURNAL, PREDICTIONS, RESULTS, LOCK, VERDICTS, LABELS)
"""The run's own files, of which none may be taken for a report."""


class RunDirectory:
    """An opened, locked run directory. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        """Create or reopen `path`. Raises StoreError when it cannot be written, another process uses it, or it is no run's.

        Nothing in it is changed until `check` or `claim` has found it to be this run's.
        """
        self.path = path
        _check_not_foreign(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(path / LOCK)
        except OSError as error:
            raise StoreError(f"Run directory {path}: cannot be written: {error.strerror}. Choose another with --out.") from error
        self._lines: IO[bytes] | None = None
        self._kept: set[str] = set()
        self._journal: Journal | None = None

    @property
    def journal(self) -> Journal:
        """The answers so far; opened when first asked for, which cuts off a half-written last line: `claim` goes before it."""
        if self._journal is None:
            self._journal = Journal(self.path / JOURNAL)
        return self._journal

    def manifest(self) -> dict[str, Any] | None:
        """The manifest of the run that is here; None in a new directory."""
        return read_manifest(self.path) if (self.path / MANIFEST).exists() else None

    def claim(self, spec: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
        """Write the manifest, unless the directory holds a run of another specification (StoreError)."""
        self.check(spec)
        write_whole(self.path / MANIFEST, to_json({"spec": spec, **manifest}, indent=True))

    def check(self, spec: Mapping[str, Any]) -> None:
        """Raise StoreError when the directory holds a run of another specification."""
        there = self.manifest()
        wanted = from_json(to_json(spec))
        if there is not None and there["spec"] != wanted:
            raise StoreError(
                f"Run directory {self.path} holds another run: {_difference(there['spec'], wanted)}. "
                f"Choose another --out; answers that both runs need come from the cache."
            )

    def write(self, prediction: Prediction) -> None:
        """Add one line to the predictions of this pass; they replace the old ones in `finish`."""
        target = self.path / (PREDICTIONS + ".partial")
        try:
            if self._lines is None:
                self._lines = target.open("wb", buffering=1 << 20)
            self._lines.write(to_json(encode_prediction(prediction)))
            for message in prediction.messages:
                self._keep(message)
        except OSError as error:
            raise full(error, target, "writing predictions") from error

    def _keep(self, message: Message) -> None:
        """Keep the pictures that were given as bytes, once each: a report must be able to show them."""
        for part in message.content:
            if isinstance(part, Image) and part.data:
                digest = images.digest(part)
                if digest not in self._kept:
                    (self.path / PICTURES).mkdir(exist_ok=True)
                    write_whole(self.path / PICTURES / digest, part.data)
                    self._kept.add(digest)

    def finish(self, results: Mapping[str, Any]) -> None:
        """Put predictions and results in place."""
        target = self.path / PREDICTIONS
        try:
            if self._lines is None:
                self._lines = (self.path / (PREDICTIONS + ".partial")).open("wb")
            self._lines.close()
            self._lines = None
            os.replace(self.path / (PREDICTIONS + ".partial"), target)
        except OSError as error:
            raise full(error, target, "writing predictions") from error
        write_whole(self.path / RESULTS, to_json(results, indent=True))

    def close(self) -> None:
        """Close the files and give up the lock."""
        if self._lines is not None:
            # On a full disk `write` has raised already; the partial file is rebuilt from the journal.
            with contextlib.suppress(OSError):
                self._lines.close()
            self._lines = None
        if self._journal is not None:
            self._journal.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def kept_picture(directory: Path, image: Image) -> Image:
    """The picture as it can be read: one that was given as bytes is a file of the run directory."""
    if image.path is None or not image.path.startswith(BY_DIGEST):
        return image
    return replace(image, path=str(directory / PICTURES / image.path.removeprefix(BY_DIGEST)))


def _check_not_foreign(path: Path) -> None:
    """Raise StoreError for a folder with files but no run.json: somebody else's, whose files a run would replace.

    What a run killed before its manifest stood may have left is its own.
    """
    try:
        there = sorted(set(os.listdir(path)) - {LOCK, MANIFEST + ".partial"})
    except OSError:
        return  # there is none, or making it will say what is wrong
    if there and MANIFEST not in there:
        named = ", ".join(there[:3]) + (f" and {len(there) - 3} more" if len(there) > 3 else "")
        raise StoreError(
            f"{path}: holds files ({named}) but no {MANIFEST}, so it is not the directory of a run. "
            f"Choose a new or empty folder with --out."
        )


def _locked(path: Path) -> IO[bytes]:
    handle = path.open("ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise StoreError(
                f"Run directory {path.parent} is in use by another process. Wait for it to end, or choose another --out."
            ) from None
        raise
    return handle


def _difference(there: Any, wanted: Any, name: str = "") -> str:
    """The first thing that differs between two specifications, in words."""
    if name.endswith("samples"):
        return "it asks other samples (the ids in the data, limit, ids or seed differ)"
    if isinstance(there, dict) and isinstance(wanted, dict):
        key = next(key for key in sorted({*there, *wanted}) if there.get(key, _ABSENT) != wanted.get(key, _ABSENT))
        return _difference(there.get(key, _ABSENT), wanted.get(key, _ABSENT), f"{name}.{key}" if name else key)
    if isinstance(there, list) and isinstance(wanted, list) and len(there) == len(wanted):
        place = next(place for place, (one, other) in enumerate(zip(there, wanted, strict=True)) if one != other)
        if isinstance(there[place], dict) and isinstance(wanted[place], dict):
            return _difference(there[place], wanted[place], f"{name}[{place}]")
    return f"there {name} is {_shown(there)}, here {_shown(wanted)}"


_ABSENT = object()


def _shown(value: Any) -> str:
    return "not set" if value is _ABSENT else str(to_json(value), "utf-8").strip()[:200]


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run directory. Raises StoreError when there is none, it is broken, or a value is of a wrong type."""
    check_regular(path / MANIFEST)
    try:
        manifest: Any = from_json((path / MANIFEST).read_bytes())
    except OSError as error:
        raise StoreError(f"{path}: not a run directory ({MANIFEST}: {error.strerror}). Name the --out folder of a run.") from None
    except ValueError as error:
        raise StoreError(f"{path / MANIFEST}: is not JSON: {error}. {_RESTORE}") from None
    if (
        not isinstance(manifest, dict)
        or not isinstance(manifest.get("spec"), dict)
        or not isinstance(manifest.get("tasks"), dict)
    ):
        raise StoreError(f"{path / MANIFEST}: is not the manifest of a run: it lacks spec or tasks. {_RESTORE}")
    try:
        _check_manifest(manifest)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{path / MANIFEST}: is not the manifest of a run: {error}. {_RESTORE}") from None
    return manifest


def _check_manifest(manifest: dict[str, Any]) -> None:
    """Raise TypeError or ValueError that names the first value which readers of a run could not use."""
    spec = manifest["spec"]
    _of(spec, "spec", {"seed": int, "prompts": list, "conditions": list, "prompt": dict, "models": list})
    if not 0 <= spec.get("seed", 0) <= MAX_SEED:
        raise ValueError(f"spec.seed is not a whole number from 0 to {MAX_SEED}")
    for name, prompt in spec.get("prompt", {}).items():
        expected(prompt, dict, f"spec.prompt.{name}")
    _of(
        manifest,
        "",
        {"by": list, "models": dict, "packages": dict, "sources": list, "eyetest": str, "python": str, "started": str},
    )
    for name, values in (("by", manifest), ("prompts", spec), ("conditions", spec)):
        for one in values.get(name, ()):
            expected(one, str, f"a part of {name}")
    for name, model in manifest.get("models", {}).items():
        expected(model, dict, f"models.{name}")
    for name, task in manifest["tasks"].items():
        _of(expected(task, dict, f"tasks.{name}"), f"tasks.{name}", {"labels": list, "scoring": dict, "card": dict})
        for label in task.get("labels", ()):
            expected(label, str, f"a part of tasks.{name}.labels")
        _of(task.get("scoring", {}), f"tasks.{name}.scoring", {"scorers": dict})


def _of(values: Mapping[str, Any], where: str, kinds: Mapping[str, type]) -> None:
    for key, kind in kinds.items():
        if key in values:
            expected(values[key], kind, f"{where}.{key}" if where else key)


MAX_SEED = 2**63 - 1
"""Largest seed: what run files, JSON and every generator can hold."""

_RESTORE = "Restore it, or run again with another --out: what was answered comes from the cache."


def read_counts(path: Path) -> dict[str, Any]:
    """What the run counted (asked, shared, inapplicable, ...), from its results; empty where they are gone."""
    check_regular(path / RESULTS)
    try:
        counts = from_json((path / RESULTS).read_bytes())["counts"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return counts if isinstance(counts, dict) else {}


def finished(path: Path) -> Path:
    """The predictions file of a finished run. Raises StoreError when the run did not end."""
    predictions = path / PREDICTIONS
    try:
        there = predictions.exists()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise StoreError(f"{path}: cannot be looked at: {error.strerror}. Name the --out folder of a run.") from None
    if not there:
        read_manifest(path)
        raise StoreError(f"{path}: the run did not end. Run the same command again to go on where it stopped.")
    return predictions
