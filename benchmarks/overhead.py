"""What the harness itself costs: 10,000 choice items, a 256 x 256 JPEG of about 10 kB each, a model that costs nothing.

    python benchmarks/overhead.py [--items 10000] [--large 100000] [--folder FOLDER]

Every line is a fresh process of the command line, start-up included: rows read, pictures hashed (or decoded), answers
journaled, scored, statistics, results and predictions written. CPU seconds are user + system of that process (wait4), peak
memory is its high-water mark. The peers' figures were measured for the same work on a machine of the same kind (2 cores,
AVX-512, no GPU) and are printed for comparison; they are not measured again here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

import eyetest

PEERS = {
    "Inspect 0.3.285": (155.0, 413),
    "VLMEvalKit e8e78f05": (301.0, 1553),
    "lmms-eval 0.7.3 (images decoded)": (23.3, 709),
    "lmms-eval 0.7.3 (no image touched)": (15.9, 618),
}
"""Name -> CPU seconds and peak MB at 10,000 items; the lowest CPU figure measured of each."""

TARGETS = {"hashed": 6.0, "decoded": 16.0, "run again": 4.0, "cached, new directory": 4.0}
"""CPU seconds at 10,000 items that each line must not pass."""

MEMORY = 250
"""Peak MB that no line may pass."""


@dataclass(frozen=True)
class Cost:
    """One process."""

    cpu: float
    wall: float
    memory: float


def make_data(folder: Path, items: int, pictures: int) -> Path:
    """`items` rows over `pictures` JPEGs that all differ."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    smooth = Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)).resize((256, 256))
    for number in range(pictures):
        path = folder / "pictures" / f"{number:05d}.jpg"
        if path.exists():
            continue
        if number % 500 == 0:
            noise = rng.integers(-14, 14, (256, 256, 3))
            buffer = BytesIO()
            Image.fromarray(np.clip(np.asarray(smooth) + noise, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=50)
            encoded = buffer.getvalue()
        comment = f"picture {number}".encode()
        path.write_bytes(encoded[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + encoded[2:])
    file = folder / f"items-{items}.jsonl"
    if not file.exists():
        with file.open("w") as rows:
            for number in range(items):
                choices = [f"option {number % 7} {letter}" for letter in "wxyz"]
                row = {
                    "id": f"item-{number}",
                    "image": f"pictures/{number % pictures:05d}.jpg",
                    "question": f"Question number {number}: which of the four texts below fits the picture best?",
                    "choices": choices,
                    "answer": choices[number % 4],
                }
                rows.write(json.dumps(row) + "\n")
    return file


def measure(arguments: list[str], folder: Path) -> Cost:
    """Run the command line once, in a process of its own."""
    environment = {**os.environ, "EYETEST_CACHE": str(folder / "cache.sqlite"), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "eyetest", *arguments], stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        start = os.times().elapsed
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            output.seek(0)
            raise SystemExit(output.read().decode()[-2000:])
    return Cost(usage.ru_utime + usage.ru_stime, os.times().elapsed - start, usage.ru_maxrss / 1024)


def run(folder: Path, items: int, large: int) -> dict[str, Cost]:
    """All lines."""
    pictures = min(items, 10_000)
    file, big, small = (make_data(folder, count, pictures) for count in (items, large, max(1, items // 10)))
    plain, decoding = "constant:B", "constant:B,decode=true"

    def ask(model: str, data: Path, out: str, *more: str) -> Cost:
        return measure(["run", "--data", str(data), "--model", model, "--out", str(folder / out), *more], folder)

    return {
        f"hashed, {max(1, items // 10):,} items": ask(plain, small, "small", "--no-cache"),
        "hashed": ask(plain, file, "first"),
        "run again": ask(plain, file, "first"),
        "cached, new directory": ask(plain, file, "second"),
        "decoded": ask(decoding, file, "decoded", "--no-cache"),
        f"hashed, {large:,} items": ask(plain, big, "large", "--no-cache"),
    }


def main() -> int:
    """Print the figures; exit 1 when a target is missed at the standard size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        costs = run(folder, arguments.items, arguments.large)
        sizes = [path.stat().st_size for path in list((folder / "pictures").iterdir())[:1000]]
    versions = (
        f"eyetest {eyetest.__version__}, Python {platform.python_version()}, numpy {np.__version__}, Pillow {Image.__version__}"
    )
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {versions}")
    print(f"{arguments.items:,} items, JPEG of {sum(sizes) / len(sizes):,.0f} bytes on average\n")
    print(f"{'eyetest':34} {'CPU s':>7} {'wall s':>7} {'peak MB':>8} {'target':>7}")
    missed = False
    for name, cost in costs.items():
        target = TARGETS.get(name)
        missed |= arguments.items == 10_000 and (cost.memory > MEMORY or (target is not None and cost.cpu > target))
        wanted = "" if target is None else f"{target:7.1f}"
        print(f"{name:34} {cost.cpu:7.2f} {cost.wall:7.2f} {cost.memory:8.0f} {wanted:>7}")
    print(f"\n{'peers, 10,000 items':34} {'CPU s':>7} {'':7} {'peak MB':>8} {'x hashed':>9}")
    for name, (cpu, memory) in PEERS.items():
        print(f"{name:34} {cpu:7.1f} {'':7} {memory:8.0f} {cpu / costs['hashed'].cpu:9.0f}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
