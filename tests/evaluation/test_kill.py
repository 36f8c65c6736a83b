"""kill -9 at every kind of moment, then the same command again: only what is missing is asked, and the records are the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.made import Asked, by_content, go, items, predictions, write_items
from eyetest.evaluation import rundir
from eyetest.store import Journal

N = 30
CONDITIONS = ["image", "no_image", "blank"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def noted(side: Path) -> Asked:
    """A model that notes every request in a side file before it answers."""

    def answer(request):
        with side.open("a") as lines:
            lines.write(f"{request.origin.condition} {request.origin.sample.id}\n")
        return by_content(request)

    return Asked(answer, window=3)


def asked(side: Path) -> list[str]:
    return side.read_text().splitlines() if side.exists() else []


def run_here(folder: Path, side: Path, use_cache: bool) -> None:
    go(folder / "run", items(N), noted(side), conditions=CONDITIONS, use_cache=use_cache, cache=str(folder / "c.sqlite"))


def _after_writes(count: int) -> None:
    put = Journal.put

    def counting(journal, key, response):
        put(journal, key, response)
        if len(journal) == count:
            die()

    Journal.put = counting


def _inside_line(count: int) -> None:
    put = Journal.put

    def torn(journal, key, response):
        if len(journal) == count - 1:
            with journal.path.open("ab", buffering=0) as file:
                file.write((key.hex() + ' {"text": "and then the power').encode())
            die()
        put(journal, key, response)

    Journal.put = torn


def _at_prediction(count: int) -> None:
    write, seen = rundir.RunDirectory.write, []

    def dying(directory, prediction):
        write(directory, prediction)
        seen.append(1)
        if len(seen) == count:
            directory._lines.write(b'{"torn":')
            directory._lines.flush()
            die()

    rundir.RunDirectory.write = dying


def _at_replace(name: str, after: bool) -> None:
    replace = os.replace

    def dying(source, target):
        if Path(target).name == name:
            if after:
                replace(source, target)
            die()
        replace(source, target)

    os.replace = dying


POINTS = [
    *(("journal", _after_writes, (count,)) for count in (1, 2, 3, 7, 20, 33, 60, 89, 90)),
    *(("line", _inside_line, (count,)) for count in (1, 2, 45, 90)),
    *(("predictions", _at_prediction, (count,)) for count in (1, 44, 90)),
    *(
        (f"{'after' if after else 'before'} {name}", _at_replace, (name, after))
        for name in ("run.json", "predictions.jsonl", "results.json")
        for after in (False, True)
    ),
]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    run_here(folder, folder / "side", False)
    assert len(asked(folder / "side")) == 3 * N
    return predictions(folder / "run")


@pytest.mark.parametrize("use_cache", [False, True], ids=["no_cache", "cache"])
@pytest.mark.parametrize(("arm", "arguments"), [point[1:] for point in POINTS], ids=[f"{p[0]} {p[2]}" for p in POINTS])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path, uninterrupted, arm, arguments, use_cache):
    def child():
        arm(*arguments)
        run_here(tmp_path, tmp_path / "first", use_cache)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    journal = tmp_path / "run" / "journal.txt"
    kept = journal.read_bytes().count(b"\n") if journal.exists() else 0  # it is opened when the manifest stands
    assert journal.exists() or arguments[0] == "run.json"
    run_here(tmp_path, tmp_path / "second", use_cache)
    first, second = asked(tmp_path / "first"), asked(tmp_path / "second")
    assert len(second) == 3 * N - kept
    assert len(first) - kept in (0, 1)  # one at most was answered and not yet written
    assert predictions(tmp_path / "run") == uninterrupted
    assert journal.read_bytes().count(b"\n") == 3 * N


def test_killed_twice(tmp_path, uninterrupted):
    for count in (10, 50):
        process = multiprocessing.get_context("fork").Process(
            target=lambda count=count: (_after_writes(count), run_here(tmp_path, tmp_path / "side", False))
        )
        process.start()
        process.join(30)
        assert process.exitcode == -signal.SIGKILL
    run_here(tmp_path, tmp_path / "side", False)
    assert len(asked(tmp_path / "side")) == len(set(asked(tmp_path / "side"))) == 3 * N
    assert predictions(tmp_path / "run") == uninterrupted


# ---------------------------------------------------------------------------------------------------------- full disks

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from eyetest.cli import main
main(sys.argv[2:])
"""


def on_a_small_disk(room: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LIMITED, str(room), *arguments], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("room", "more", "said"),
    [
        (100, ["--no-cache"], "run.json: writing failed: File too large. "),
        (8_000, ["--no-cache"], "journal.txt: writing an answer failed: File too large. "),
        (60_000, ["--no-cache"], "predictions.jsonl: writing predictions failed: File too large. "),
        (24_000, [], "c.sqlite: the response cache cannot be used: "),
    ],
    ids=["manifest", "journal", "predictions", "cache"],
)
def test_a_full_disk_is_a_clear_error_and_not_the_end(tmp_path, room, more, said):
    rows = [{"id": str(n), "question": f"Question {n}?", "answer": "A", "choices": ["A", "B"]} for n in range(150)]
    data = write_items(tmp_path / "items.jsonl", rows)
    command = ["run", "--data", str(data), "--model", "constant:A", "--out", str(tmp_path / "run")]
    command += more or ["--cache", str(tmp_path / "c.sqlite")]
    full = on_a_small_disk(room, *command)
    assert full.returncode == 2, full.stderr
    assert "Traceback" not in full.stderr
    last = full.stderr.splitlines()[-1]
    assert last.startswith(f"eyetest: {tmp_path}")
    assert said in last
    assert "journal" in last or last.endswith("then run the same command again to go on.")
    journal = tmp_path / "run" / "journal.txt"
    assert all(line.endswith("}") for line in (journal.read_text().splitlines() if journal.exists() else ()))
    with_room = on_a_small_disk(10**8, *command)
    assert with_room.returncode == 0, with_room.stderr
    assert len(predictions(tmp_path / "run")) == 150
    assert journal.read_bytes().count(b"\n") == 150
