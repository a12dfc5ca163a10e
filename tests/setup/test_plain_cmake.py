"""The native program builds with CMake alone, using the presets."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.record import data_path

CHECKOUT = data_path("native").parent


def cmake(*words: str | Path) -> str:
    done = subprocess.run(["cmake", *words], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_preset_builds_every_file(openmpi: Toolchain, tmp_path: Path) -> None:
    """A preset builds every source file; the native tests check the resulting program."""
    cmake("--preset", "openmpi", "-B", tmp_path)
    planned = cmake("--build", tmp_path, "--", "-t", "commands", "kiviat-bench")
    native = CHECKOUT / "native"
    together = "".join(path.read_text() for path in tmp_path.rglob("unity_*.cxx"))
    missing = [
        path
        for path in (native / "bench").rglob("*.cpp")
        if f" {path}\n" not in planned and f'#include "{path}"\n' not in together
    ]
    assert missing == []
    assert "-o kiviat-bench " in planned


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_preset_means_the_mpi_it_is_named_after(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    toolchain = request.getfixturevalue(name)
    cmake("--preset", name, "-B", tmp_path)
    lines = (tmp_path / "CMakeCache.txt").read_text().splitlines()
    cache = {line.partition(":")[0]: line.partition("=")[2] for line in lines}
    assert shutil.which(cache["MPI_CXX_COMPILER"]) == str(toolchain.mpicxx)
    assert shutil.which(cache["MPIEXEC_EXECUTABLE"]) == str(toolchain.mpiexec)
    assert name in cache["MPI_CXX_HEADER_DIR"]
