"""The native program and its tests, built once for each MPI, and how to start them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.build import PROGRAM, _key, cache_folder
from kiviat.launch.native import Options, command, environment
from kiviat.launch.toolchain import Toolchain

CHECKOUT = Path(__file__).resolve().parents[2]
CORES = len(os.sched_getaffinity(0))
LIMIT_S = 120

# What makes a study short, whichever has such an axis.
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
    "phase_ms": 1,
    "phases": 2,
    "repetitions": 1,
    "time_ms": 20,
    "version": "quick",
}


# Studies that send no message whose payload could be wrong.
SILENT = {"dgemm", "noise", "stream"}


@dataclass(frozen=True)
class Native:
    """A build of native/ with its tests, for one MPI."""

    toolchain: Toolchain
    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "kiviat-bench"

    @property
    def tests(self) -> Path:
        return self.folder / "tests" / "kiviat-tests"

    @property
    def faults(self) -> Path:
        return self.folder / "tests" / "libkiviat-faults.so"

    def run(
        self,
        ranks: int,
        program: Path,
        *arguments: str | Path,
        preload: Mapping[str, str | Path] | None = None,
        limit_s: float = LIMIT_S,
    ) -> subprocess.CompletedProcess[str]:
        """Under the launcher. `preload` is the environment of the ranks alone, not of the launcher."""
        before = ["env", *(f"{name}={value}" for name, value in preload.items())] if preload else []
        options = Options(oversubscribed=ranks > CORES)
        return subprocess.run(
            command(self.toolchain, ranks, [*before, program, *arguments], options),
            env={**os.environ, **environment(self.toolchain, options, os.environ)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
        )

    def described(self) -> dict[str, dict[str, Any]]:
        """What the program says of each benchmark that every launch can run, by name.

        `brief` are the words of a short case; `silent` is one without payload,
        `unchecked` one without any check.
        """
        everything = json.loads(self.alone("--describe").stdout)
        benchmarks = [one for one in everything if not one["threads"]]  # the others: test_threads.py
        for one in benchmarks:
            axes = {axis["name"] for axis in one["axes"]} if one["sampling"] == "study" else set()
            one["brief"] = " ".join(f"{axis}={value}" for axis, value in BRIEF.items() if axis in axes)
            one["silent"] = one["name"] in SILENT
            one["unchecked"] = one["name"] == "noise"
        return {one["name"]: one for one in benchmarks}

    def alone(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """kiviat-bench as a person types it on a login node: no launcher."""
        return self._alone(self.program, *arguments)

    def alone_tests(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._alone(self.tests, *arguments)

    def _alone(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env={**os.environ, **environment(self.toolchain, Options(), os.environ)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )


def _build(toolchain: Toolchain) -> Native:
    name = "wheel" if toolchain.embedded else toolchain.family
    folder = CHECKOUT / "build" / f"tests-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    configure = [
        *("cmake", "-G", "Ninja", "-S", str(CHECKOUT / "native"), "-B", str(folder)),
        f"-DMPI_CXX_COMPILER={toolchain.mpicxx}",
        f"-DMPIEXEC_EXECUTABLE={toolchain.mpiexec}",
        "-DKIVIAT_TESTS=ON",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
        "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON",
    ]
    for step in (configure, ["cmake", "--build", str(folder)]):
        done = subprocess.run(step, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.fail(f"{' '.join(step)}\n{done.stdout[-6000:]}{done.stderr[-2000:]}", pytrace=False)
    native = Native(toolchain, folder)
    if name == "mpich":
        _take_for_built(native)
    return native


def _take_for_built(native: Native) -> None:
    """Kiviat then need not build for this MPI again. How it does is seen with Open MPI."""
    home = cache_folder() / "build" / _key(native.toolchain, CHECKOUT / "native")
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy2(native.program, home / f"{PROGRAM}.new")
    (home / f"{PROGRAM}.new").replace(home / PROGRAM)


@pytest.fixture(scope="session")
def build() -> Callable[[Toolchain], Native]:
    """Builds for a toolchain, the first time it is asked to."""
    built: dict[Path, Native] = {}

    def once(toolchain: Toolchain) -> Native:
        if toolchain.mpicxx not in built:
            built[toolchain.mpicxx] = _build(toolchain)
        return built[toolchain.mpicxx]

    return once


@pytest.fixture(scope="session")
def native(toolchain: Toolchain, build: Callable[[Toolchain], Native]) -> Native:
    """For each of the MPIs that we support, one after the other."""
    return build(toolchain)


@pytest.fixture(scope="session")
def native_openmpi(openmpi: Toolchain, build: Callable[[Toolchain], Native]) -> Native:
    return build(openmpi)


@pytest.fixture(scope="session")
def native_wheel(wheel: Toolchain, build: Callable[[Toolchain], Native]) -> Native:
    return build(wheel)
