"""What the client of OpenAI-compatible servers costs and reaches: `eyetest.evaluate` against `eyetest serve-fake` at 100 ms.

    python benchmarks/api.py [--n 20000] [--folder FOLDER]

Server and client are processes of their own, on CPU 1 and CPU 0 where the machine has two. Client figures are those of the
whole path: rows read, pictures hashed and encoded, requests sent, answers journaled, scored, summarised and written.
The ramp is the time until twice as many answers as connections are there; the rate is counted from there to the last
answer, its share is that of the ideal, connections / latency. CPU is user + system of the client process from the call of
`evaluate` to its return; start-up is printed apart. The plain client is aiohttp with one body made in advance, measured in
the same run. The peers' figures were measured on a quiet machine of the same kind (2 cores, AVX-512).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

LATENCY = 0.1
SMALL, LARGE = 13_000, 400_000
"""Bytes of a picture."""
PICTURES = 10_000
"""Most different pictures; beyond, questions tell requests apart."""
FAULTS = ("429=0.02", "500=0.01", "hang=0.01")

PEERS = (
    ("aiohttp, plain", 96, 85, "0.3"),
    ("openai SDK on aiohttp, plain", 81, 25, "1.8"),
    ("openai SDK, plain", 71, 16, "2.4"),
    ("httpx, plain, one pool", 15, 4, "10"),
    ("VLMEvalKit e8e78f05", 27, 10, "15-17"),
    ("lmms-eval 0.7.3", 9, None, "26"),
    ("Inspect 0.3.285", 6.5, 1.7, "28"),
)
"""Name, share of ideal at 64 and at 256 connections in percent, CPU ms a request (of the last three with start-up)."""


@dataclass(frozen=True)
class Cost:
    """One client process."""

    n: int
    connections: int
    failed: int
    ramp: float
    """Seconds until twice as many answers as connections were there."""
    rate: float
    """Answers a second from then on."""
    wall: float
    """Seconds from the first answer, less one latency, to the last."""
    cpu: float
    """CPU ms a request."""
    start_up: float
    """CPU seconds before the first call."""
    memory: float
    """Peak MB."""

    @property
    def share(self) -> float:
        """Of the ideal rate, in percent."""
        return 100 * self.rate * LATENCY / self.connections


class Clock:
    """Times of answers, as they come."""

    def __init__(self, n: int, connections: int) -> None:
        self.n, self.connections, self.done = n, connections, 0
        self.cpu, self.start = cpu(), time.perf_counter()
        self.first = self.warm = self.last = self.start

    def tick(self, done: int) -> None:
        now = time.perf_counter()
        if done == 1:
            self.first = now
        if done <= 2 * self.connections:
            self.warm = now
        self.done, self.last = done, now

    def cost(self, failed: int) -> Cost:
        after = max(1, self.done - 2 * self.connections)
        return Cost(
            self.n,
            self.connections,
            failed,
            ramp=self.warm - self.first + LATENCY,
            rate=after / max(1e-9, self.last - self.warm),
            wall=self.last - self.first + LATENCY,
            cpu=1000 * (cpu() - self.cpu) / self.n,
            start_up=self.cpu,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )


def cpu() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def make_data(folder: Path, n: int, size: int) -> Path:
    """`n` rows over JPEGs of `size` bytes that all differ."""
    pictures = folder / f"pictures-{size}"
    pictures.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    side, quality = (256, 40) if size < 100_000 else (1024, 80)
    buffer = BytesIO()
    Image.fromarray(noise).resize((side, side)).save(buffer, "JPEG", quality=quality)
    encoded = buffer.getvalue()
    many = min(n, PICTURES if size < 100_000 else 200)
    for number in range(many):
        path = pictures / f"{number:05d}.jpg"
        if not path.exists():
            path.write_bytes(encoded[:2] + comments(size - len(encoded), number) + encoded[2:])
    file = folder / f"items-{size}-{n}.jsonl"
    with file.open("w") as rows:
        for number in range(n):
            choices = [f"option {number % 7} {letter}" for letter in "wxyz"]
            question = f"Question number {number}: which of the four texts below fits the picture best?"
            place = f"{pictures.name}/{number % many:05d}.jpg"
            row = {
                "id": f"item-{number}",
                "image": place,
                "question": question,
                "choices": choices,
                "answer": choices[number % 4],
            }
            rows.write(json.dumps(row) + "\n")
    return file


def comments(size: int, number: int) -> bytes:
    """JPEG comments (marker FFFE) of `size` bytes in all, the first of which names the picture."""
    made = b""
    while size - len(made) > 16:
        length = min(60_000, size - len(made) - 4)
        made += b"\xff\xfe" + (length + 2).to_bytes(2, "big") + f"{number:<12}".encode().ljust(length, b"x")
    return made


def pin(number: int) -> None:
    """Keep this process to one CPU, where there are two."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {number})


@contextmanager
def server(*more: str) -> Iterator[str]:
    """The base URL of a fake server in a process of its own."""
    command = [sys.executable, "-m", "eyetest", "serve-fake", "--port", "0", "--latency", str(LATENCY), *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: pin(1))
    assert process.stderr is not None
    try:
        said = ""
        while (found := re.search(r"base_url=(http\S+/v1)", said.replace("\n", ""))) is None:
            line = process.stderr.readline()
            if not line:
                raise SystemExit(f"the server did not start: {said}")
            said += line
        yield found[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def counted(url: str) -> dict[str, Any]:
    """What the server counted."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/log") as reply:
        return dict(json.load(reply))


def child(what: str, url: str, n: int, connections: int, file: Path) -> Cost:
    """One client in a process of its own."""
    command = [sys.executable, __file__, "--child", what, url, str(n), str(connections), str(file)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment, preexec_fn=lambda: pin(0))
    return Cost(**json.loads(done.stdout))


def ours(url: str, n: int, connections: int, file: Path) -> Cost:
    """The whole path."""
    from eyetest import evaluate

    clock, failed = Clock(n, connections), 0

    def watch(progress: Any) -> None:
        nonlocal failed
        clock.tick(progress.done)
        failed = progress.failed

    evaluate(file, f"openai:any,base_url={url},concurrency={connections}", watch=watch)
    return clock.cost(failed)


def plain(url: str, n: int, connections: int, file: Path) -> Cost:
    """aiohttp and nothing else: workers that send bodies of the same size."""
    import base64

    import aiohttp

    picture = base64.b64encode((file.parent / json.loads(file.open().readline())["image"]).read_bytes()).decode()
    part = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{picture}"}}
    message = {"role": "user", "content": [part, {"type": "text", "text": "Question number 00000?\nA. x\nB. y"}]}
    head, tail = json.dumps({"model": "any", "messages": [message]}).encode().split(b"00000")
    clock, left = Clock(n, connections), iter(range(n))

    async def work(session: aiohttp.ClientSession) -> None:
        for number in left:
            body = head + str(number).encode() + tail
            async with session.post(f"{url}/chat/completions", data=body, headers={"Content-Type": "application/json"}) as reply:
                json.loads(await reply.read())
            clock.tick(clock.done + 1)

    async def run() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            await asyncio.gather(*(work(session) for _ in range(connections)))

    asyncio.run(run())
    return clock.cost(0)


def line(name: str, cost: Cost, target: str = "", met: bool | None = None) -> bool:
    """Print one measurement. Whether its target was missed."""
    verdict = "" if met is None else "met" if met else "NOT MET"
    print(
        f"{name:28} {cost.connections:4} {cost.n:6,} {cost.ramp:6.2f} {cost.rate:7,.0f} {cost.share:5.0f} % {cost.cpu:7.2f} "
        f"{cost.memory:5.0f} {cost.failed:6}  {target} {verdict}",
        flush=True,
    )
    return met is False


def run(folder: Path, n: int) -> bool:
    """All measurements. Whether a target was missed."""
    small, large = make_data(folder, n, SMALL), make_data(folder, max(200, n // 20), LARGE)
    missed = False
    print(f"{'':28} {'C':>4} {'n':>6} {'ramp s':>6} {'req/s':>7} {'ideal':>7} {'CPU ms':>7} {'MB':>5} {'failed':>6}  target")
    for connections in (64, 256):
        with server() as url:
            bare = child("plain", url, n, connections, small)
        with server() as url:
            cost = child("ours", url, n, connections, small)
            log = counted(url)
        line("plain aiohttp", bare)
        reached = cost.share >= 85 if connections == 64 else cost.rate >= 1000
        wanted = ">= 85 %" if connections == 64 else ">= 1,000/s"
        met = reached and cost.cpu <= 0.9 and cost.memory < 250 and log["requests"] == n and not cost.failed
        missed |= line("eyetest.evaluate", cost, f"{wanted}, <= 0.9 ms, < 250 MB:", met)
        print(f"{'':28} {100 * cost.rate / bare.rate:.0f} % of the plain client's rate, {cost.cpu - bare.cpu:+.2f} CPU ms; "
              f"start-up {cost.start_up:.2f} CPU s; the server counted {log['requests']:,} requests, at most "
              f"{log['peak_in_flight']} at once")  # fmt: skip
    with server() as url:
        cost = child("ours", url, large_n := max(200, n // 20), 64, large)
    missed |= line("400 kB pictures", cost, "<= 4 ms:", cost.cpu <= 4 and cost.n == large_n)
    with server(*(part for fault in FAULTS for part in ("--fault", fault)), "--retry-after", "1") as url:
        cost, log = child("ours", url, n, 64, small), counted(url)
    ideal = n * LATENCY / 64
    once = log["outcomes"]["ok"] == log["distinct"] == n and not cost.failed
    missed |= line(f"faults {' '.join(FAULTS)}", cost, "<= 2.5 x ideal time, each once:", once and cost.wall <= 2.5 * ideal)
    print(f"{'':28} {cost.wall:.1f} s, {cost.wall / ideal:.2f} x the ideal {ideal:.1f}; the server counted {log['outcomes']}")
    return missed


def main() -> int:
    """Print the figures; exit 1 when a target is missed at the standard size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        what, url, n, connections, file = arguments.child
        print(json.dumps(asdict((ours if what == "ours" else plain)(url, int(n), int(connections), Path(file)))))
        return 0
    import eyetest

    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        f"eyetest {eyetest.__version__}, Python {platform.python_version()}\n"
    )
    with tempfile.TemporaryDirectory() as temporary:
        missed = run(arguments.folder or Path(temporary), arguments.n)
    print(f"\n{'peers, not measured here':34} {'C = 64':>8} {'C = 256':>8} {'CPU ms':>8}")
    for name, few, many, milliseconds in PEERS:
        print(f"{name:34} {few:6} % {'/' if many is None else many:>6} % {milliseconds:>8}")
    return int(missed and arguments.n >= 20_000)


if __name__ == "__main__":
    sys.exit(main())
