"""Benchmarks with communicating threads, which run only in launches with MPI_THREAD_MULTIPLE."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import CORES

if TYPE_CHECKING:
    from .conftest import Native

THREADED = ("latency_mt", "message_rate_mt")
SHORT = "mode=fixed iterations=2 warmup=0"


def results(
    native: Native,
    folder: Path,
    *cases: str,
    level: str | None = "multiple",
    environment: Mapping[str, str | Path] | None = None,
) -> list[dict[str, Any]]:
    (folder / "cases.txt").write_text("\n".join(cases) + "\n")
    out = folder / "events.jsonl"
    out.unlink(missing_ok=True)
    words = ["--threads", level] if level else []
    done = native.run(
        2, native.program, *words, "--cases", folder / "cases.txt", "--out", out, preload=environment
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert events[-1]["event"] == "end"
    return [event for event in events if event["event"] == "result"]


def variants(*threads: int) -> list[str]:
    return [
        f"{name}/{number}/{channel}/{size} {name} bytes={size} threads={number} channel={channel} {SHORT}"
        for name in THREADED
        for number in threads
        for channel in ("tag", "communicator")
        for size in (1, 40_000)
    ]


def test_they_say_that_they_need_such_a_launch(native: Native) -> None:
    described = json.loads(native.alone("--describe").stdout)
    assert {one["name"] for one in described if one["threads"]} == set(THREADED)


@pytest.mark.parametrize("level", [None, "single"])
def test_in_another_launch_they_are_skipped(native: Native, tmp_path: Path, level: str | None) -> None:
    cases = [f"{name} {name} bytes=8" for name in (*THREADED, "pingpong")]
    *skipped, pingpong = results(native, tmp_path, *cases, level=level)
    assert [one["outcome"] for one in skipped] == ["skipped"] * len(THREADED)
    assert all("--threads multiple" in one["reason"] for one in skipped)
    assert pingpong["outcome"] == "ok"


@pytest.mark.both_mpis
def test_all_threads_get_their_own_messages(native: Native, tmp_path: Path) -> None:
    """All threads receive their own messages: each has a different payload, so swapped messages would fail
    the check.
    """
    measured = results(native, tmp_path, *variants(1, 2, 3), f"none latency_mt bytes=0 {SHORT}")
    assert {(one["case"], one["check"]) for one in measured[:-1]} == {
        (line.split()[0], "passed") for line in variants(1, 2, 3)
    }
    assert (measured[-1]["outcome"], measured[-1]["check"]) == ("ok", "not run")
    for one in measured:
        assert one["metrics"][0]["name"] == "time" and one["metrics"][0]["p50"] > 0


@pytest.mark.parametrize("fault", ["corrupt", "drop", "truncate"])
def test_their_checks_notice(native: Native, tmp_path: Path, fault: str) -> None:
    environment: dict[str, str | Path] = {"KIVIAT_FAULT": fault, "LD_PRELOAD": native.faults}
    for one in results(native, tmp_path, *variants(2), environment=environment):
        assert (one["outcome"], one["check"], one["phase"]) == ("failed", "failed", "check"), one["case"]


def test_threads_without_processors_of_their_own_are_marked(native: Native, tmp_path: Path) -> None:
    many = CORES + 1
    alone, crowded = results(native, tmp_path, *(f"{n} latency_mt threads={n} {SHORT}" for n in (1, many)))
    assert (alone["oversubscribed"], crowded["oversubscribed"]) == (CORES < 2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("latency_mt threads=0", "threads=0: give 1 to 1024"),
        ("message_rate_mt window=0", "window=0"),
        ("latency_mt channel=pipe", "channel=pipe: give one of tag, communicator"),
    ],
)
def test_words_that_make_no_sense(native: Native, tmp_path: Path, words: str, said: str) -> None:
    (one,) = results(native, tmp_path, f"a {words}")
    assert one["outcome"] == "failed" and one["phase"] == "setup" and said in one["reason"]


def test_an_unknown_thread_level_is_refused(native: Native) -> None:
    done = native.alone("pingpong", "--threads", "seven")
    assert done.returncode == 2
    assert "kiviat-bench: --threads is 'seven': give single or multiple" in done.stderr
