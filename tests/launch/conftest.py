"""Fixtures: a stub of kiviat-bench built with each MPI, plans for it, and a check that nothing is left
behind.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.transport import UNKNOWN
from kiviat.launch.process.processes import mapped, marker_of, our_processes
from kiviat.launch.run.outcome import Progress, RunResult
from kiviat.launch.run.runner import run_plan
from kiviat.plan import Case, Plan
from kiviat.record import Record

SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Toolchain], Path]:
    """Build the stub once for each MPI."""
    folder = tmp_path_factory.mktemp("stubs")

    def stub(toolchain: Toolchain) -> Path:
        program = folder / toolchain.name.replace(" ", "-")
        if not program.exists():
            source = Path(__file__).with_name("stub.cpp")
            subprocess.run([toolchain.mpicxx, "-std=c++20", "-w", source, "-o", program], check=True)
        return program

    return stub


@pytest.fixture
def stub(toolchain: Toolchain, stubs: Callable[[Toolchain], Path]) -> Path:
    return stubs(toolchain)


def case(name: str, act: str = "", *, ranks: int = 2, benchmark: str | None = None, **controls: Any) -> Case:
    return Case(
        id=name,
        benchmark=benchmark or name.partition("/")[0],
        ranks=ranks,
        bytes=None,
        axes={"act": act} if act else {},
        controls=controls,
        world=ranks,
    )


def plan(*cases: Case, launches: int = 1, **more: Any) -> Plan:
    """Return a plan that executes its cases in the order of their names."""
    return _InOrder(name="stub", launches=launches, seed=1, cases=cases, definition={}, **more)


class _InOrder(Plan):
    def ordered(self, repetition: int) -> list[Case]:
        return [case for cases in self.together() for case in sorted(cases, key=lambda case: case.id)]


@dataclass
class Run:
    """Executes plans in a folder and keeps the results."""

    toolchain: Toolchain
    binary: Path
    directory: Path
    launches: dict[int, dict[str, Any]] = field(default_factory=dict)
    published: list[tuple[int, str]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)

    def __call__(self, plan: Plan, **options: Any) -> RunResult:
        with suppress(OSError):
            self.directory.mkdir(exist_ok=True)
        return run_plan(
            plan,
            self.toolchain,
            self.binary,
            **{
                "run_id": "r",
                "directory": self.directory,
                "done": set(),
                "on_launch": self._launch,
                "on_record": self.records.append,
                "on_progress": self.progress.append,
                "transport": UNKNOWN,
                **options,
            },
        )

    def _launch(self, launch: dict[str, Any]) -> None:
        self.launches[launch["index"]] = launch
        self.published.append((launch["index"], launch["outcome"]))

    def outcomes(self) -> list[tuple[str, str]]:
        return [(record.case, record.outcome) for record in self.records]


@pytest.fixture
def run(toolchain: Toolchain, stub: Path, tmp_path: Path) -> Run:
    return Run(toolchain, stub, tmp_path / "run")


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no process and no file of any launch remains after the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = _segments()
    yield
    assert [pid for pid in our_processes() if _is_of_this_test(pid)] == []
    deadline = time.monotonic() + 3
    while (new := _segments() - before) and time.monotonic() < deadline:
        time.sleep(0.1)  # another MPI program of this machine may just be starting
    assert new == set()
    assert not list((tmp_path / "state").rglob("*.json")), "a journal of a launch was left"


def _is_of_this_test(pid: int) -> bool:
    marker = marker_of(pid)
    return marker is not None and marker.owner == os.getpid()


def _segments() -> set[Path]:
    """Return shared-memory segments whose MPI process is dead; those of running programs belong to others."""
    patterns = ("vader_segment.*", "mpich_shm_*", "mpich_shar_tmp*", "ucx_shm_posix_*", "sm_segment.*")
    found = {path for pattern in patterns for path in SHARED_MEMORY.glob(pattern)}
    used = {name for pid in our_processes() for name in mapped(pid)} if found else set()
    return {path for path in found if str(path) not in used}
