"""The problems of LAMMPS' benchmarks that we know, and what their energy is before the first step.

Lennard-Jones: fcc lattice of density 0.8442, 4 atoms in a cell, 20 cells in each direction; the energy
follows from the lattice alone. Rhodopsin: 32,000 atoms; the energy is that of the logs that LAMMPS brings
with its benchmarks. PPPM's mesh depends on the number of copies: 2 of them were 2.7e-5 off, and what PPPM is
told to be exact to, 1e-4, is of forces. Ten times that is allowed.
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
    """What a log is of. `scaling` is "weak" or "strong" where the size says it."""

    benchmark: str
    axes: Mapping[str, Scalar]
    scaling: str | None

    @property
    def known(self) -> bool:
        """A benchmark of ours, whose energy is right: it is by that that it was known."""
        return self.benchmark in (LJ, RHODO)


def wrong_energy(benchmark: str, run: LoggedRun) -> str | None:
    """How the energy before the first step is off what it must be; None where it is right."""
    name, expected, within = (
        ("E_pair", LJ_ENERGY, LJ_WITHIN)
        if benchmark == LJ
        else ("TotEng", RHODO_ENERGY * run.atoms / RHODO_ATOMS, RHODO_WITHIN)
    )
    found = run.first.get(name) if 0 in run.thermo else None
    if found is None:
        return f"the log has no {name} of step 0"
    if abs(found - expected) <= within * abs(expected):
        return None
    return f"{name} at step 0 is {found:.10g}, and must be {expected:.10g} within {within:g} of it"


def identified(run: LoggedRun) -> Problem:
    """The benchmark that a log is of, by what it says of the first step; else "lammps", with its size."""
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
    """The axes that `kiviat run` has for it: as much on each rank is our default, the usual size in all is
    strong scaling; else as many cells on each rank, or in all. What may be both is the former.
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
    """Of a cube of the lattice, along its edge; None where so many atoms make none."""
    cells = round((atoms / ATOMS_IN_CELL) ** (1 / 3))
    return cells if atoms == ATOMS_IN_CELL * cells**3 else None
