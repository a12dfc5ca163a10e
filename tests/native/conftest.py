"""Fixtures that build the native program and its tests once for each MPI, and functions that start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.build import PROGRAM
from kiviat.launch.mpi.mpiexec import LauncherOptions, command, environment
from kiviat.launch.mpi.toolchain import Toolchain
from tests import builds

CORES = len(os.sched_getaffinity(0))
LIMIT_S = 120

# Values that make studies short, applied to every study that has the axis.
BRIEF = {
    "bandwidth_rings": 1,
    "halves": 1,
    "latency_rings": 1,
    "lmax": 4096,
    "long": 4096,
    "loop_ms": 0,
    "class": "S",
    "memory": 100_000,
    **dict.fromkeys(("nx", "ny", "nz"), 8),
    **{"i": 2, "j": 1, "k": 1, "steps": 9},
    "pair_ms": 1,
    "form_ms": 1,
    "phase_ms": 1,
    "phases": 2,
    "repetitions": 1,
    "time_ms": 20,
    "version": "quick",
}


# Studies without messages whose payload could be checked.
SILENT = {"dgemm", "noise", "startup", "stream"}

# Benchmarks of calls with wrong results in a version of an MPI, which their checks report.
WRONG = {("mpich", "4.0.2"): {"allgather_persistent"}}


@dataclass(frozen=True)
class Native:
    """A build of native/ and its tests for one MPI."""

    toolchain: Toolchain
    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "kiviat-bench"

    @property
    def tests(self) -> Path:
        return self.testing("kiviat-tests")

    @property
    def wrong(self) -> set[str]:
        """Names of benchmarks whose calls have wrong results in this MPI."""
        return WRONG.get((self.toolchain.family, self.toolchain.version), set())

    @property
    def faults(self) -> Path:
        return self.testing("libkiviat-faults.so")

    def testing(self, name: str) -> Path:
        """Return a program or library of native/tests; builds it if necessary."""
        _built(self.folder, f"tests/{name}")
        return self.folder / "tests" / name

    def run(
        self,
        ranks: int,
        program: Path,
        *arguments: str | Path,
        preload: Mapping[str, str | Path] | None = None,
        limit_s: float = LIMIT_S,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program under the launcher. `preload` sets variables of the ranks, not of the launcher."""
        before = ["env", *(f"{name}={value}" for name, value in preload.items())] if preload else []
        options = LauncherOptions(oversubscribed=ranks > CORES)
        process = subprocess.Popen(
            command(self.toolchain, ranks, [*before, program, *arguments], options),
            env={**os.environ, **environment(self.toolchain, options, os.environ)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, error = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # kills launcher and ranks, which would spin for ever
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, error)

    def described(self) -> dict[str, dict[str, Any]]:
        """Return the descriptions of all benchmarks without threads that work with this MPI, by name.

        Adds the parameters of a short case as `brief`; `silent` marks benchmarks without payload, `unchecked`
        those without any check.
        """
        everything = json.loads(self.alone("--describe").stdout)
        # the others are tested in test_threads.py
        benchmarks = [one for one in everything if not one["threads"] and one["name"] not in self.wrong]
        for one in benchmarks:
            axes = {axis["name"] for axis in one["axes"]} if one["sampling"] == "study" else set()
            one["brief"] = " ".join(f"{axis}={value}" for axis, value in BRIEF.items() if axis in axes)
            one["silent"] = one["name"] in SILENT
            one["unchecked"] = one["name"] == "noise"
        return {one["name"]: one for one in benchmarks}

    def alone(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run kiviat-bench without launcher, as on a login node."""
        return self._alone(self.program, *arguments)

    def alone_tests(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._alone(self.tests, *arguments)

    def _alone(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env={**os.environ, **environment(self.toolchain, LauncherOptions(), os.environ)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )


def _build(toolchain: Toolchain) -> Native:
    try:
        return Native(toolchain, builds.native(toolchain, PROGRAM))
    except builds.BuildError as failure:
        pytest.fail(str(failure), pytrace=False)


@cache
def _built(folder: Path, target: str) -> None:
    try:
        builds.compiled(folder, target)
    except builds.BuildError as failure:
        pytest.fail(str(failure), pytrace=False)


@pytest.fixture(scope="session")
def build() -> Callable[[Toolchain], Native]:
    """Return a function that builds for a toolchain at its first call."""
    built: dict[Path, Native] = {}

    def once(toolchain: Toolchain) -> Native:
        if toolchain.mpicxx not in built:
            built[toolchain.mpicxx] = _build(toolchain)
        return built[toolchain.mpicxx]

    return once


@pytest.fixture(scope="session")
def native(toolchain: Toolchain, build: Callable[[Toolchain], Native]) -> Native:
    """Provide the build for each supported MPI in turn."""
    return build(toolchain)


@pytest.fixture(scope="session")
def native_openmpi(openmpi: Toolchain, build: Callable[[Toolchain], Native]) -> Native:
    return build(openmpi)


@pytest.fixture(scope="session")
def native_wheel(wheel: Toolchain, build: Callable[[Toolchain], Native]) -> Native:
    return build(wheel)


class Driven:
    """Runs cases as `kiviat run` does, from a cases file."""

    def __init__(self, native: Native, folder: Path) -> None:
        self.native, self.folder = native, folder
        self.out = folder / "events.jsonl"

    def __call__(self, ranks: int, *cases: str, out: Path | None = None) -> subprocess.CompletedProcess[str]:
        file = self.folder / "cases.txt"
        file.write_text("# cases\n\n" + "\n".join(cases) + "\n")
        return self.native.run(ranks, self.native.program, "--cases", file, "--out", out or self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    @property
    def results(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == "result"]


@pytest.fixture
def driven(native: Native, tmp_path: Path) -> Driven:
    return Driven(native, tmp_path)
