"""What a full audit costs beyond the models: 20,000 samples x 8 conditions x 3 simulated models. Exits 1 if a target is missed.

python benchmarks/audit.py [SAMPLES]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from eyetest.evaluation.audit_run import audit_run
from eyetest.reports.audit_files import write_audit
from eyetest.store import encode_prediction, to_json
from eyetest.types import Message, Prediction, Response, Sample, Score, Shown

SAMPLES = 20_000
CONDITIONS = (
    "image", "no_image", "shuffled", "no_image+shuffled", "open_ended", "no_image+open_ended", "knowledge", "swapped",
)  # fmt: skip
MODELS = {"reader": 0.9, "looker": 0.6, "guesser": 0.3}
"""Model -> share of its answers that are right."""
CPU_SECONDS, MEGABYTES = 60.0, 1024.0
OPTIONS = ("red", "green", "blue", "grey")


def predictions(n: int) -> Iterator[Prediction]:
    """Answers as a run stores them; which are right is a hash of their place."""
    for place, (model, share) in enumerate(MODELS.items()):
        for number, condition in enumerate(CONDITIONS):
            kind = "text" if "open_ended" in condition else "choice"
            asks = "knowledge" if condition == "knowledge" else "question"
            for k in range(n):
                right = (k * 7919 + number * 104_729 + place * 1_299_709) % 1000 < 1000 * share
                answer = OPTIONS[k % 4] if right else OPTIONS[(k + 1) % 4]
                question = f"What colour is the thing numbered {k} in this picture, among those that stand in front?"
                sample = Sample(
                    f"q{k}", question, (OPTIONS[k % 4],), kind, OPTIONS if kind == "choice" else (),  # type: ignore[arg-type]
                    shown=Shown("none" if "no_image" in condition else "own", asks),  # type: ignore[arg-type]
                )  # fmt: skip
                yield Prediction(
                    "made", condition, model, "default", 0, 0, 0, sample, f"{number * n + k:032x}",
                    (Message("user", (question,)),), Response(answer), Score("scored", float(right), answer, (), "text"),
                )  # fmt: skip


def write_run(folder: Path, n: int) -> None:
    """A finished run directory."""
    folder.mkdir(parents=True)
    tasks = {"made": {"card": {"title": "Made"}, "labels": [], "scoring": {}, "samples": n}}
    spec = {"seed": 0, "conditions": CONDITIONS, "prompts": ["default"]}
    models = {name: {"identity": name, "simulated": True} for name in MODELS}
    whole = {"eyetest": "0", "spec": spec, "tasks": tasks, "models": models, "by": [], "backbones": {}}
    (folder / "run.json").write_bytes(to_json(whole))
    (folder / "results.json").write_bytes(to_json({"counts": {}}))
    with (folder / "predictions.jsonl").open("wb") as file:
        file.writelines(to_json(encode_prediction(one)) for one in predictions(n))


def main() -> int:
    """Time reading, summing up, auditing and writing; 0 if both targets are met."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        write_run(run, n)
        start = time.process_time()
        _, _, found = audit_run(run)
        write_audit(run, found)
        seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answers = n * len(CONDITIONS) * len(MODELS)
    sys.stdout.write(
        f"{answers:,} answers, {len(found)} audits: {seconds:.1f} CPU s (target {CPU_SECONDS:.0f}), "
        f"peak {megabytes:,.0f} MB (target {MEGABYTES:,.0f})\n"
    )
    return int(seconds > CPU_SECONDS or megabytes > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
