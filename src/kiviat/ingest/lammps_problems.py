"""The problems of LAMMPS' benchmarks and their energies before the first step.

Lennard-Jones: fcc lattice of density 0.8442, 4 atoms in a cell, 20 cells in each direction; the energy
follows from the lattice. Rhodopsin: 32,000 atoms; the energy is from the logs in LAMMPS' benchmark folder. It
depends on PPPM's mesh, and thereby on the number of replicas: with 2 it differed by 2.7e-5. The tolerance is
ten times PPPM's accuracy of forces, 1e-4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kiviat.ingest.lammps_log import LoggedRun
from kiviat.record.types import Scalar

LJ, RHODO = "lammps-lj", "lammps-rhodo"
STEPS, CELLS, ATOMS_IN_CELL, RHODO_ATOMS = 100, 20, 4, 32_000
# Sum over the lattice of 2 (r^-12 - r^-6) for 0 < r < 2.5, for an atom (the tests add it up).
LJ_ENERGY, LJ_WITHIN = -6.7733681, 1e-6
RHODO_ENERGY, RHODO_WITHIN = -25_356.2057, 1e-3  # kcal/mol, of 32,000 atoms


@dataclass(frozen=True)
class Problem:
    """The problem of a run. `scaling` is "weak" or "strong" if its size shows it."""

    benchmark: str
    axes: Mapping[str, Scalar]
    scaling: str | None

    @property
    def known(self) -> bool:
        """True for Kiviat's benchmarks, which are recognised by their correct energy."""
        return self.benchmark in (LJ, RHODO)


def wrong_energy(benchmark: str, run: LoggedRun) -> str | None:
    """Return how the energy before the first step differs from the expected one, None if it is correct."""
    name, expected, within = (
        ("E_pair", LJ_ENERGY, LJ_WITHIN)
        if benchmark == LJ
        else ("TotEng", RHODO_ENERGY * run.atoms / RHODO_ATOMS, RHODO_WITHIN)
    )
    energy = run.first.get(name) if 0 in run.thermo else None
    if energy is None:
        return f"the log has no {name} of step 0"
    if abs(energy - expected) <= within * abs(expected):
        return None
    return f"{name} at step 0 is {energy:.10g}, expected {expected:.10g} within {within:g} of it"


def identified(run: LoggedRun) -> Problem:
    """Return the benchmark that a run's first step identifies, otherwise "lammps" with the size."""
    steps: dict[str, Scalar] = {} if run.steps == STEPS else {"steps": run.steps}
    for benchmark in (LJ, RHODO):
        if _looks_like(benchmark, run):
            axes, scaling = _size(benchmark, run)
            return Problem(benchmark, steps | axes, scaling)
    return Problem("lammps", {"n": run.atoms, "steps": run.steps}, None)


def _looks_like(benchmark: str, run: LoggedRun) -> bool:
    if benchmark == LJ:
        cold = run.first.get("Temp") == 1.44 and run.first.get("E_mol") == 0
        return cold and wrong_energy(LJ, run) is None
    return run.atoms % RHODO_ATOMS == 0 and "E_long" in run.first and wrong_energy(RHODO, run) is None


def _size(benchmark: str, run: LoggedRun) -> tuple[dict[str, Scalar], str | None]:
    """Return the axes of `kiviat run` for the size, and the kind of scaling.

    The standard size per rank is weak scaling, the default; in total it is strong scaling. Other sizes are
    numbers of cells per rank or in total; the former if both fit.
    """
    each = run.atoms / run.ranks
    usual = ATOMS_IN_CELL * CELLS**3 if benchmark == LJ else RHODO_ATOMS
    if each == usual:
        return {}, "weak"
    if run.atoms == usual:
        return {"scaling": "strong"}, "strong"
    if benchmark == LJ and (cells := _cells(each)):
        return {"cells": cells}, "weak"
    if benchmark == LJ and (cells := _cells(run.atoms)):
        return {"cells": cells, "scaling": "strong"}, "strong"
    return {"n": run.atoms}, None


def _cells(atoms: float) -> int | None:
    """Return the cells along the edge of a cube of `atoms` atoms, None if they do not form a cube."""
    cells = round((atoms / ATOMS_IN_CELL) ** (1 / 3))
    return cells if atoms == ATOMS_IN_CELL * cells**3 else None
