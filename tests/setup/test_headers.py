"""Every header of native/core stands alone: whoever includes it first needs to know nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kiviat.launch.toolchain import Toolchain
from kiviat.record import data_path

NATIVE = data_path("native")
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", f"-I{NATIVE}"]
HEADERS = sorted((NATIVE / "core").glob("*.hpp"))


def test_there_are_headers() -> None:
    assert HEADERS


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_header_compiles_alone(header: Path, openmpi: Toolchain) -> None:
    # Twice, so that a missing include guard is noticed too.
    source = f'#include "core/{header.name}"\n' * 2
    done = subprocess.run(
        [str(openmpi.mpicxx), *FLAGS, "-x", "c++", "-"],
        input=source,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
