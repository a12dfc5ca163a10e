"""Launches of the real kiviat-bench under real MPIs."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.process import processes
from kiviat.launch.run import transport_probe
from kiviat.launch.run.outcome import Progress
from kiviat.plan import Case
from kiviat.record import schema
from kiviat.store.checksum import seal

from .conftest import Run, plan
from .test_runner import as_json


def case(benchmark: str, size: int, budget_s: float = 0.1) -> Case:
    name = f"{benchmark}/ranks=2/bytes={size}"
    # Samples until the time budget is spent: on a quiet machine a target would be reached at once, because
    # equal samples have an interval of width 0.
    controls = {"budget_s": budget_s, "min_samples": 10**6, "max_samples": 10**6}
    return Case(name, benchmark, 2, size, {}, controls, 2)


@pytest.fixture
def real(toolchain: Toolchain, tmp_path: Path) -> Run:
    return Run(toolchain, build(toolchain), tmp_path / "run")


def test_records_transport_and_context(real: Run) -> None:
    outcome = real(plan(case("allreduce", 8), case("pingpong", 1024)), transport=None)
    assert (outcome.records, outcome.failed) == (2, 0), [record.reason for record in real.records]
    for record in real.records:
        jsonschema.validate(json.loads(seal(record.to_json())), schema("record"))
        assert record.check == "passed"
    launch = real.launches[0]
    launches = {"type": "array", "items": schema("run")["properties"]["launches"]["items"]}
    jsonschema.validate(as_json([launch]), launches)
    assert launch["mpi"] == real.toolchain.vendor.title
    assert launch["mpi_version"] == real.toolchain.version
    assert len(launch["ranks"]) == launch["world"] == 2
    assert launch["transport"]["near"] is not None, launch["transport"]
    assert launch["transport"]["far"] is None, "there is one host only"


def test_ranks_that_ended_before_a_look_are_looked_at_again(
    mpich: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transport is read from running ranks only: MPICH's transport within a node is determined from files
    mapped by the ranks, so ranks that ended before are launched again.
    """
    mapped, looks = transport_probe._mapped, list[set[str]]()

    def too_late_at_first(*asked: Any) -> set[str]:
        looks.append(mapped(*asked) if looks else set())
        return looks[-1]

    monkeypatch.setattr(transport_probe, "_mapped", too_late_at_first)
    run = Run(mpich, build(mpich), tmp_path / "run")
    run(plan(case("pingpong", 8)), transport=None)
    assert len(looks) == 2 and looks[1]
    assert run.launches[0]["transport"]["near"] is not None, run.launches[0]["transport"]


def test_a_rank_killed_in_the_middle_of_a_case(real: Run) -> None:
    def kill_in_allreduce(progress: Progress) -> None:
        if progress.kind == "case" and str(progress.case).startswith("allreduce"):
            threading.Timer(0.2, _kill_a_rank, [real]).start()

    real(plan(case("allreduce", 8, budget_s=8), case("pingpong", 1024)), on_progress=kill_in_allreduce)
    assert real.outcomes() == [("allreduce/ranks=2/bytes=8", "failed"), ("pingpong/ranks=2/bytes=1024", "ok")]


def _kill_a_rank(run: Run) -> None:
    for pid in processes.our_processes():
        marker = processes.marker_of(pid)
        if marker and marker.owner == os.getpid() and str(run.binary) in processes.mapped(pid):
            os.kill(pid, signal.SIGKILL)
            return
