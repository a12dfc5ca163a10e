"""The native program builds with CMake alone and runs without Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from kiviat.record import data_path


def test_plain_cmake_builds_a_program_that_knows_every_file(plain_build: Path) -> None:
    program = plain_build / "kiviat-bench"
    listed = subprocess.run(
        [program, "--list"], capture_output=True, text=True, check=True, timeout=30, env={}
    )
    bench = data_path("native") / "bench"
    files = {path.relative_to(bench).with_suffix("").as_posix() for path in bench.rglob("*.cpp")}
    assert {entry["file"] for entry in json.loads(listed.stdout)} == files


def test_presets_name_both_mpis() -> None:
    """`cmake --preset openmpi` must mean what the README says it means."""
    presets = json.loads((data_path("native").parent / "CMakePresets.json").read_text())
    variables = {
        preset["name"]: preset["cacheVariables"]
        for preset in presets["configurePresets"]
        if preset["name"] in ("openmpi", "mpich")
    }
    for name in ("openmpi", "mpich"):
        assert variables[name]["MPI_CXX_COMPILER"] == f"mpicxx.{name}"
        assert variables[name]["MPIEXEC_EXECUTABLE"] == f"mpiexec.{name}"
