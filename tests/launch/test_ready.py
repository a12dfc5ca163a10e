"""A wheel with ready-made programs runs with an MPI that it was not built for, and compiles nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kiviat.launch.mpi import ready
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain

MAIN = """\
#include <mpi.h>
#include <cstdio>
int main(int argc, char** argv) {
  int size, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%d ranks\\n", size);
  MPI_Finalize();
}
"""


@pytest.fixture
def carried(wheel: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose program needs libmpi.so.12 and knows of no place where one is."""
    program = tmp_path / "ready/libmpi.so.12/kiviat-bench"
    program.parent.mkdir(parents=True)
    (tmp_path / "main.cpp").write_text(MAIN)
    prefix = wheel.mpicxx.parents[1]
    library = prefix / "lib/libmpi.so.12"
    options = [f"-I{prefix}/include", "-Wl,--allow-shlib-undefined", "-Wl,-rpath,$ORIGIN/mpi"]
    subprocess.run(["g++", tmp_path / "main.cpp", library, *options, "-o", program], check=True)
    for name in ("CXX", "CXXFLAGS", "LDFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(ready, "data_path", lambda name: tmp_path / name)
    return program


def test_a_ready_made_program_runs_with_the_launchers_mpi(
    wheel: Toolchain, carried: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)  # no CMake, no Ninja
    told: list[str] = []
    program = build(wheel, cache=tmp_path / "cache", tell=told.append)
    assert told == [
        f"taking the ready-made kiviat-bench for {wheel.name} (libmpi.so.12); nothing is compiled"
    ]
    assert build(wheel, cache=tmp_path / "cache", tell=told.append) == program and len(told) == 1
    done = subprocess.run(
        [wheel.mpiexec, "-n", "2", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "2 ranks\n"


def test_other_abis_and_own_flags_are_built(
    wheel: Toolchain, openmpi: Toolchain, carried: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ready.ready_made(wheel, "kiviat-bench") == (carried, wheel.mpicxx.parents[1] / "lib")
    assert ready.ready_made(openmpi, "kiviat-bench") is None
    assert ready.ready_made(wheel, "libkiviat-profile.so") is None
    monkeypatch.setenv("CXXFLAGS", "-march=native")
    assert ready.ready_made(wheel, "kiviat-bench") is None
