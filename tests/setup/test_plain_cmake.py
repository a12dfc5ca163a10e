"""The native program builds with CMake alone, by our presets, and runs without Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kiviat.launch.toolchain import Toolchain
from kiviat.record import data_path

CHECKOUT = data_path("native").parent


def cmake(*words: str | Path) -> str:
    done = subprocess.run(["cmake", *words], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_preset_builds_a_program_that_knows_every_file(openmpi: Toolchain) -> None:
    # Unoptimised, since it is about what is built; kept, so that a second `make test` compiles nothing.
    folder = CHECKOUT / "build" / "tests-preset"
    cmake("--preset", "openmpi", "-B", folder, "-DCMAKE_CXX_FLAGS_RELEASE=-O0")
    cmake("--build", folder)
    listed = subprocess.run(
        [folder / "kiviat-bench", "--list"], capture_output=True, text=True, check=True, timeout=30, env={}
    )
    bench = CHECKOUT / "native" / "bench"
    files = {path.relative_to(bench).with_suffix("").as_posix() for path in bench.rglob("*.cpp")}
    assert {entry["file"] for entry in json.loads(listed.stdout)} == files


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
