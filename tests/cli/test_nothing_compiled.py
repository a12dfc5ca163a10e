"""Listing and dry runs compile nothing.

`kiviat list` and dry runs once compiled for two minutes before they printed anything.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kiviat.cli.options.native_program import described
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.plan import shipped_benchmarks
from tests.cli.conftest import Kiviat


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "pingpong"),
        ("run", "pingpong", "-n", "2", "--dry-run"),
        ("run", "pingpong", "-n", "2", "--dry-run", "--on", "simulated:altix-bx2"),
        ("profile", "--on", "simulated:altix-bx2", "-n", "2", "-m", "8", "--dry-run", "pingpong"),
    ],
)
def test_what_measures_nothing_compiles_nothing(
    kiviat: Kiviat, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = kiviat(*words, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "pingpong" in done.stdout
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_benchmarks_are_listed_without_an_mpi(kiviat: Kiviat) -> None:
    done = kiviat("list", "--format", "json", PATH="/nowhere", MPICXX="")
    assert done.returncode == 0, done.stderr
    assert {"pingpong", "hpl", "lammps-lj"} <= {entry["name"] for entry in json.loads(done.stdout)}


def test_the_description_that_ships_is_the_programs(openmpi: Toolchain) -> None:
    """The shipped description of benchmarks equals the program's; tools/describe-benchmarks updates it."""
    assert shipped_benchmarks() == described(openmpi, build(openmpi))
