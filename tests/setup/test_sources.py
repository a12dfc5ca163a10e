"""tools/check-sources detects violations: each rule is violated once, in a copy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in ("native", "src", "plans", "schema", "tools"):
        shutil.copytree(CHECKOUT / folder, tmp_path / folder)
    return tmp_path


def check(checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([checkout / "tools" / "check-sources"], capture_output=True, text=True)


def test_our_sources_pass(copy: Path) -> None:
    assert check(copy).returncode == 0


@pytest.mark.parametrize(
    ("path", "line", "rule"),
    [
        ("native/bench/pt2pt/stray.cpp", "#include <chrono>", "<chrono>"),
        ("native/measure/stray.hpp", "  #  include <chrono>", "<chrono>"),
        ("native/bench/pt2pt/stray.cpp", "double t = MPI_Wtime();", "clock"),
        ("native/measure/stray.hpp", '#include "bench/pt2pt/pingpong.hpp"', "bench"),
        ("src/kiviat/launch/probe.c", "#include <mpi.h>", "<mpi.h>"),
    ],
)
def test_a_broken_rule_is_named(copy: Path, path: str, line: str, rule: str) -> None:
    (copy / path).write_text(line + "\n")
    done = check(copy)
    assert done.returncode == 1
    assert rule in done.stderr.splitlines()[0]
    assert path in done.stderr
