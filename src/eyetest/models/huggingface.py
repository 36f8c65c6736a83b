"""Multimodal checkpoints run in this process with Hugging Face transformers: `hf:PATH_OR_ID[,key=value...]`.

What decides an answer is the request and the checkpoint alone:

* Batch size, order and neighbours change nothing but rounding: prompts are padded on the left, sampled requests run
  one by one under their own seed.
* The sampling defaults that a checkpoint ships (`generation_config.json`: temperature, top_k, repetition_penalty) are
  not used; its end-of-text tokens are.
* Pictures are prepared by the PIL image processors, whether or not torchvision is installed, because the two differ
  in the fourth decimal.

torch and transformers are imported when the first request arrives, never before.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from eyetest.errors import BadImageError, MissingExtraError, ModelError, UsageError, unknown
from eyetest.images import decode
from eyetest.models.huggingface_engine import Checkpoint, Engine, Item, load, sources
from eyetest.registry import split_spec, typed
from eyetest.types import Generation, Model, Request, Response

OPTIONS: Mapping[str, type] = {
    "batch_size": int,
    "dtype": str,
    "device": str,
    "revision": str,
    "trust_remote_code": bool,
}
DTYPES = ("auto", "float32", "bfloat16", "float16")
DEVICES = ("auto", "cpu", "cuda", "mps")

WINDOW = 8
"""Batches that are pulled together and sorted by length."""

CHECKPOINT_SUFFIXES = (".safetensors", ".bin", ".pt", ".json", ".jinja", ".model", ".txt", ".py")
"""Files of a checkpoint folder that can change an answer: weights, configuration, tokenizer, template, remote code."""

REMEMBER_FROM = 2**26
"""Files of at least so many bytes are hashed once per size and modification time, not at every start."""

SAMPLE_FAILURES = (RuntimeError, ValueError, IndexError, ArithmeticError)
"""What one bad request raises inside a processor or a model: shapes, aspect ratios, placeholder counts, positions."""


def hf(argument: str, options: Mapping[str, str], seed: int) -> Model:
    """A Hugging Face checkpoint, hf:PATH_OR_ID, with options after commas, e.g. batch_size=16,dtype=bfloat16.

    options: the same keys from a run file; those in `argument` win. Keys: batch_size (8), dtype (auto, float32,
    bfloat16, float16), device (auto, cpu, cuda, mps), revision (of a hub id), trust_remote_code (false).
    Nothing is loaded before the first request, but a hub id is resolved to its commit.
    Raises UsageError for a wrong option, ModelError where there is no such checkpoint, MissingExtraError without torch.
    """
    name = f"hf:{argument}"
    path, in_spec = split_spec(argument, OPTIONS, what="hf")
    chosen = {key: typed(key, value, OPTIONS, what="hf") for key, value in options.items()} | in_spec
    for key, known in (("dtype", DTYPES), ("device", DEVICES)):
        if chosen.setdefault(key, "auto") not in known:
            raise unknown(key, chosen[key], known, where=name)
    if chosen.setdefault("batch_size", 8) < 1:
        raise UsageError(f"{name}: batch_size={chosen['batch_size']} is not a positive number.")
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "hf", f"The model {name}")
    revision, weights = locate(name, path, chosen.get("revision"))
    checkpoint = Checkpoint(
        name=name,
        path=path,
        revision=revision,
        batch_size=chosen["batch_size"],
        dtype=chosen["dtype"],
        device=chosen["device"],
        trust_remote_code=chosen.get("trust_remote_code", False),
        seed=seed,
    )
    identity = f"hf weights={weights} dtype={checkpoint.dtype} images=pil transformers={version('transformers')}"
    return HuggingFaceModel(checkpoint, identity)


def locate(name: str, path: str, revision: str | None) -> tuple[str | None, str]:
    """Where the weights are and what they are: (commit or None, what enters the identity).

    A folder is known by the contents of its files, a hub id by its commit, so that a renamed copy shares its answers
    and a retrained one does not.
    """
    folder = Path(path)
    if os.path.isdir(folder):  # unlike Path.is_dir, no error for a name that is too long
        if revision is not None:
            raise UsageError(f"{name}: revision={revision} belongs to a hub id, but {path} is a folder. Leave it out.")
        if not (folder / "config.json").is_file():
            raise ModelError(
                f"{name}: {folder / 'config.json'} does not exist. Expected a checkpoint folder as transformers saves it "
                f"(config.json, tokenizer, *.safetensors); merge an adapter into its base model and save that first."
            )
        return None, "sha256:" + folder_digest(folder)
    if path.count("/") != 1 or path.startswith(("/", ".", "~")):
        raise ModelError(f"{name}: the folder {path} does not exist. Give a checkpoint folder or a hub id such as owner/model.")
    commit = hub_commit(name, path, revision)
    return commit, f"{path}@{commit}"


def hub_commit(name: str, hub_id: str, revision: str | None) -> str:
    """The commit that `revision` (default: main) of a hub id means now, or meant when it was downloaded, if offline."""
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(hub_id, "config.json", revision=revision)).parent.name
    except (OSError, ValueError) as error:  # the hub's errors for no network, no repository, no access, no such revision
        reason = str(error).strip().partition("\n")[0]
        at = "" if revision is None else f" at revision {revision}"
        raise ModelError(
            f"{name}: {hub_id} is not a folder here, and the Hugging Face hub could not be asked for it{at}: {reason} "
            f"Check the id and your access. Without network, download it first where there is one (hf download {hub_id}), "
            f"bring the cache or the folder here, and set HF_HUB_OFFLINE=1."
        ) from error


def folder_digest(folder: Path) -> str:
    """sha256 (hex) over the names, sizes and contents of the files that can change an answer."""
    whole = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in CHECKPOINT_SUFFIXES and file.is_file():
            whole.update(f"{file.name}\0{file.stat().st_size}\0{file_digest(file)}\n".encode())
    return whole.hexdigest()


def file_digest(file: Path) -> str:
    """sha256 (hex) of one file; large files are remembered in the user's cache folder by path, size and time."""
    stat = file.stat()
    if stat.st_size < REMEMBER_FROM:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    key = f"{file.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eyetest" / "digests"
    note = cache / hashlib.sha256(key.encode()).hexdigest()
    with suppress(OSError):
        return note.read_text()
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    with suppress(OSError):  # a read-only home only costs the time to hash again
        cache.mkdir(parents=True, exist_ok=True)
        half = note.with_suffix(f".{os.getpid()}")
        half.write_text(digest)
        half.replace(note)
    return digest


class HuggingFaceModel:
    """A checkpoint behind the `Model` protocol. Loaded at the first request, freed by `close`."""

    simulated = False

    def __init__(self, checkpoint: Checkpoint, identity: str) -> None:
        self.name = checkpoint.name
        self.identity = identity
        self._checkpoint = checkpoint
        self._engine: Engine | None = None
        self._batch = checkpoint.batch_size

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        """Answer every request exactly once, longest first within windows of `WINDOW` batches.

        The next window is pulled when the last one is answered. A request that fails alone (bad picture, prompt too
        long, out of memory at batch size 1) is answered with status `bad_image` or `error`; the others go on.
        Raises ModelError if the checkpoint cannot be loaded.
        """
        while window := list(islice(requests, self._checkpoint.batch_size * WINDOW)):
            if self._engine is None:
                self._engine = load(self._checkpoint)
            ready = [(request, self._engine.render(request)) for request in window]
            yield from ((request, refused) for request, refused in ready if isinstance(refused, Response))
            for group in groups(item for _, item in ready if isinstance(item, Item)):
                while group and self._loaded():
                    size = 1 if group[0].request.generation.temperature > 0 else self._batch
                    batch, group = group[:size], group[size:]
                    yield from self._answers(batch)
            if not self._loaded():  # closed by whoever reads the answers
                return

    def close(self) -> None:
        """Free the weights. A running `generate` ends after the batch in flight; a later one loads again."""
        self._engine = None
        gc.collect()
        if "torch" in sys.modules:
            empty_device_cache()

    def _loaded(self) -> bool:
        return self._engine is not None

    def _answers(self, batch: Sequence[Item]) -> Iterator[tuple[Request, Response]]:
        """Answer one batch, in smaller and smaller parts if memory runs out or a request in it fails."""
        whole: list[Item] = []
        for item in batch:
            try:
                whole.append(replace(item, pictures=tuple(decode(image) for image in sources(item.request))))
            except BadImageError as error:
                yield item.request, Response(status="bad_image", error=str(error))
        work = [whole] if whole else []
        fitted, halved = 1, False
        while work and self._engine is not None:
            part = work.pop()
            answered, out_of_memory = attempt(self._engine, part, self._checkpoint.seed)
            if out_of_memory:
                empty_device_cache()
                halved = halved or len(part) > 1
            if isinstance(answered, list):
                fitted = max(fitted, len(part))
                yield from zip((item.request for item in part), answered, strict=True)
            elif len(part) == 1:
                yield part[0].request, Response(status="error", error=answered)
            else:
                step = (len(part) + 1) // 2 if out_of_memory else 1
                work += reversed([part[start : start + step] for start in range(0, len(part), step)])
        if halved:
            self._batch = fitted  # not the last half: that may have been small because of one long request


def attempt(engine: Engine, batch: Sequence[Item], seed: int) -> tuple[list[Response] | str, bool]:
    """Answer a batch: the responses, or what went wrong; and whether that was lack of memory.

    The exception dies here, and with it the references to the tensors of the failed batch.
    """
    from torch import OutOfMemoryError

    try:
        return engine.answer(batch, seed), False
    except SAMPLE_FAILURES as error:
        return f"{type(error).__name__}: {error}", isinstance(error, OutOfMemoryError)


def empty_device_cache() -> None:
    """Give freed memory back to the accelerator, if there is one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def groups(items: Iterable[Item]) -> list[list[Item]]:
    """Items that can share a batch (same generation settings), each group sorted longest first."""
    found: dict[Generation, list[Item]] = {}
    for item in items:
        generation = item.request.generation
        found.setdefault(generation if generation.temperature > 0 else replace(generation, top_p=1.0, seed=None), []).append(item)
    return [sorted(group, key=lambda item: item.sort_key, reverse=True) for group in found.values()]
