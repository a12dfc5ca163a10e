"""A wheel with ready-made programs runs with an MPI that it was not built for, and compiles nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kiviat.launch.mpi import ready
from kiviat.launch.mpi.build import build, program_path
from kiviat.launch.mpi.linkage import linked, toolchain_for
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.record import InputError

STANDARD = "libmpi_abi.so.1"
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


def compiled(mpi: Toolchain, folder: Path, library: str, rpath: str = "$ORIGIN/mpi") -> Path:
    """Return a program that needs a library of the MPI and, by default, knows of no place where one is."""
    program = folder / "ready" / library / "kiviat-bench"
    program.parent.mkdir(parents=True)
    (folder / "main.cpp").write_text(MAIN)
    prefix = mpi.mpicxx.parents[1]
    options = [f"-I{prefix}/include", "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{rpath}"]
    options += ["-DMPI_ABI"] if library == STANDARD else []
    words: list[str | Path] = ["g++", folder / "main.cpp", prefix / "lib" / library, *options, "-o", program]
    subprocess.run(words, check=True)
    return program


@pytest.fixture
def carried(wheel: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose program needs libmpi.so.12."""
    program = compiled(wheel, tmp_path, "libmpi.so.12")
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


def test_an_mpi_of_another_abi_runs_the_program_of_the_standard_one(
    wheel: Toolchain, carried: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard = compiled(wheel, tmp_path, STANDARD)
    libraries = wheel.mpicxx.parents[1] / "lib"
    assert ready.ready_made(wheel, "kiviat-bench") == (carried, libraries), "its own ABI comes first"
    by_name = find_toolchain(str(wheel.mpicxx.with_name("mpicxx_abi")))
    assert ready.ready_made(by_name, "kiviat-bench") == (standard, libraries)
    shutil.rmtree(carried.parent)
    assert ready.ready_made(wheel, "kiviat-bench", preloaded=True) is None, "programs have its own ABI"
    assert ready.ready_made(by_name, "kiviat-bench", preloaded=True) == (standard, libraries)
    monkeypatch.setattr(shutil, "which", lambda name: None)  # no CMake, no Ninja
    told: list[str] = []
    program = build(wheel, cache=tmp_path / "cache", tell=told.append)
    assert told == [f"taking the ready-made kiviat-bench for {wheel.name} ({STANDARD}); nothing is compiled"]
    assert ready.library_of(program) == STANDARD
    done = subprocess.run(
        [wheel.mpiexec, "-n", "2", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "2 ranks\n"


def test_tools_for_a_program_of_the_standard_abi_have_that_abi(wheel: Toolchain, tmp_path: Path) -> None:
    prefix = wheel.mpicxx.parents[1]
    program = compiled(wheel, tmp_path, STANDARD, rpath=f"{prefix}/lib")
    found = linked([str(wheel.mpiexec), "-n", "2", str(program)])
    assert (found.family, found.standard_abi) == ("mpich", True)
    assert toolchain_for(found, None).mpicxx == prefix / "bin" / "mpicxx_abi"
    # Intel MPI's has the library, but no wrapper of that name.
    by_flag = toolchain_for(found, str(wheel.mpicxx))
    assert by_flag.standard_abi and program_path(by_flag) != program_path(wheel)
    with pytest.raises(InputError, match=r"mpicxx compiles for another ABI than that of libmpi_abi.so"):
        build(by_flag, cache=tmp_path / "cache")
