"""Distributions of the fake server's seconds."""

from __future__ import annotations

import statistics
from pathlib import Path
from random import Random

import pytest

from eyetest.errors import DataError, UsageError
from eyetest.models.fake_latency import latency_of
from eyetest.models.fake_settings import FakeServerSettings


def drawn(spec: str, n: int = 20_000) -> list[float]:
    latency, random = latency_of(spec), Random(1)
    return sorted(latency(random) for _ in range(n))


@pytest.mark.parametrize("spec", ["0.25", "constant:0.25"])
def test_a_constant(spec: str) -> None:
    assert set(drawn(spec, 3)) == {0.25}


def test_uniform() -> None:
    seconds = drawn("uniform:0.1,0.5")
    assert 0.1 <= seconds[0] < 0.101
    assert 0.499 < seconds[-1] <= 0.5
    assert statistics.mean(seconds) == pytest.approx(0.3, abs=5 * 0.1155 / 20_000**0.5)


def test_lognormal_has_the_median_and_the_tail_that_it_was_told() -> None:
    seconds = drawn("lognormal:0.5,5")
    assert seconds[10_000] == pytest.approx(0.5, rel=0.05)
    above = sum(second > 5 for second in seconds)
    assert abs(above - 200) < 5 * 14.1


def test_the_seconds_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "seconds").write_text("0.1\n\n 0.2 \n0.3\n0.3\n")
    seconds = drawn(f"file:{tmp_path / 'seconds'}")
    assert set(seconds) == {0.1, 0.2, 0.3}
    assert abs(seconds.count(0.3) - 10_000) < 5 * 71


@pytest.mark.parametrize(
    "spec", ["", "x", "-1", "nan", "inf", "uniform:1", "uniform:2,1", "lognormal:0,1", "lognormal:2,1", "constant:1,2"]
)
def test_what_is_no_latency(spec: str) -> None:
    with pytest.raises(UsageError) as raised:
        latency_of(spec)
    assert str(raised.value) == (
        f"fake server: latency {spec!r}: write SECONDS, uniform:LOW,HIGH, lognormal:MEDIAN,P99 (the median above 0, the second "
        "number no smaller than the first) or file:FILE; all in seconds, 0 or more."
    )


def test_a_kind_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"Unknown latency 'lognormel' in fake server\. Did you mean 'lognormal'\?"):
        latency_of("lognormel:1,2")


@pytest.mark.parametrize("line", ["soon", "-1", "nan", "1,2"])
def test_a_wrong_line_of_a_file_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "seconds"
    file.write_text(f"0.1\n{line}\n")
    with pytest.raises(DataError) as raised:
        latency_of(f"file:{file}")
    assert str(raised.value) == f"{file}:2: expected seconds, 0 or more, such as 0.25; found {line!r}."


@pytest.mark.parametrize("content", [None, b"", b"\n\n"])
def test_a_file_without_seconds(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "seconds").write_bytes(content)
    with pytest.raises(DataError, match=r"seconds is no file that holds latencies\. Give file:FILE with one number"):
        latency_of(f"file:{tmp_path / 'seconds'}")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "seconds").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"cannot read .*seconds: 'utf-8' codec"):
        latency_of(f"file:{tmp_path / 'seconds'}")


def test_settings_draw_from_the_spread_or_the_distribution() -> None:
    random = Random(0)
    spread = FakeServerSettings(latency=0.1, spread=0.3).serving_time()
    seconds = [spread(random) for _ in range(2000)]
    assert min(seconds) == 0.0
    assert 0.39 < max(seconds) <= 0.4
    assert FakeServerSettings(latency=9, latencies="0.5").serving_time()(random) == 0.5
