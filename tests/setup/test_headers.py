"""Every header in native/, except those of benchmarks and libraries, compiles alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.record import data_path

NATIVE = data_path("native")
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", f"-I{NATIVE}"]
FOLDERS = ("driver", "benchmark", "measure", "results", "meters", "kernels", "platform", "support")
HEADERS = sorted(path for folder in FOLDERS for path in (NATIVE / folder).glob("*.hpp"))


def test_there_are_headers() -> None:
    assert HEADERS


@pytest.mark.full
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_header_compiles_alone(header: Path, openmpi: Toolchain) -> None:
    # Includes the header twice, to detect missing include guards.
    source = f'#include "{header.relative_to(NATIVE)}"\n' * 2
    done = subprocess.run(
        [str(openmpi.mpicxx), *FLAGS, "-x", "c++", "-"],
        input=source,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
