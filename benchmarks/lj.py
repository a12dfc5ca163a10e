"""The Lennard-Jones liquid compared with LAMMPS: same MPI, atoms, precision, lists and ranks, in turns.

LAMMPS is each `lmp` below LAMMPS_DIR= and the one on PATH, alone and with each of its packages OPT, INTEL and
KOKKOS; the fastest is compared.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import resident
from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.mpi import LaunchError, Mpi, linked_mpi
from benchmarks.setting import Setting
from kiviat.ingest.lammps_log import read_log
from kiviat.launch.programs.lammps import INPUTS

ROW = "lj"
RANKS = (1, 2)
STEPS = 100
_CELLS, _FEW_CELLS = 20, 10  # total cells along each side, with four atoms each
_LEAST = 1.0
# Options by which LAMMPS uses packages for processors, in double precision like Kiviat.
_FASTER = {
    "OPT": ("-sf", "opt"),
    "INTEL": ("-pk", "intel", "0", "mode", "double", "-sf", "intel"),
    "KOKKOS": ("-k", "on", "-sf", "kk"),
}
_TARGET = f"{_LEAST:g} times at least"
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Lammps:
    """A LAMMPS program with its arguments; `name` distinguishes it from others."""

    program: Path
    version: str
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return " ".join([str(self.program), *self.words])

    @property
    def options(self) -> str:
        return " ".join(self.words) or "without packages"


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    found = _found(mpi)
    if isinstance(found, str):
        yield not_measured(ROW, f"{_atoms(_CELLS):,} atoms, {mpi.name}", _TARGET, found)
        return
    found, failed = _working(mpi, found)
    if not found:
        yield not_measured(ROW, f"{_atoms(_CELLS):,} atoms, {mpi.name}", _TARGET, "; ".join(failed))
        return
    times = setting.times(7, least=2)
    ours: dict[int, list[float]] = {ranks: [] for ranks in RANKS}
    theirs: dict[int, dict[Lammps, list[float]]] = {
        ranks: {lammps: [] for lammps in found} for ranks in RANKS
    }
    for _ in setting.progress(range(times), f"{ROW}: {mpi.name}"):
        for ranks in RANKS:
            ours[ranks].append(_ours(mpi, ranks))
            for lammps, rates in theirs[ranks].items():
                rates.append(_theirs(mpi, ranks, lammps))
    for ranks in RANKS:
        yield _compared(mpi, ranks, ours[ranks], theirs[ranks], failed)
    yield _memory(mpi, _fastest(theirs[1]))


def _found(mpi: Mpi) -> list[Lammps] | str:
    """Return all LAMMPS programs built with `mpi`, alone and with each package for processors; or the reason
    why no such program is usable.
    """
    folder, on_path = os.environ.get("LAMMPS_DIR"), _on_path()
    if not folder and not on_path:
        return "LAMMPS_DIR= not given, and no lmp on PATH"
    if folder and not Path(folder).is_dir():
        return f"LAMMPS_DIR={folder} is not a folder"
    candidates = [*sorted(Path(folder).rglob("lmp"))] if folder else []
    candidates += [Path(on_path)] if on_path else []
    programs = dict.fromkeys(path.resolve() for path in candidates if path.is_file() and _is_program(path))
    found: list[Lammps] = []
    for program in programs:
        if linked_mpi(program) == mpi.key:
            said = mpi.launch([program, "-h"], 1)
            version = said.strip().partition("\n")[0].partition(" - ")[2]
            installed = said.partition("Installed packages:")[2].split()
            found.append(Lammps(program, version, ()))
            found += [
                Lammps(program, version, words) for package, words in _FASTER.items() if package in installed
            ]
    return found or f"no lmp built with {mpi.name}"


def _working(mpi: Mpi, found: Sequence[Lammps]) -> tuple[list[Lammps], list[str]]:
    """Return those that solve a small problem, and what the others say: packages may not suit a compiler."""
    working, failed = [], []
    for lammps in found:
        try:
            _theirs(mpi, 1, lammps, _FEW_CELLS)
            working.append(lammps)
        except LaunchError as error:
            ended = re.search(r"exited with -?\d+", str(error))
            failed.append(f"left out: LAMMPS {lammps.options}, which {ended[0] if ended else 'fails'}")
    return working, failed


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.read_bytes()[:4] == b"\x7fELF"


def _atoms(cells: int) -> int:
    return 4 * cells**3


def _case(cells: int) -> str:
    return f"lj lj scaling=strong nx={cells} ny={cells} nz={cells} steps={STEPS}"


def _ours(mpi: Mpi, ranks: int) -> float:
    """Return Kiviat's rate: atoms times steps per second, over all ranks."""
    rate: float = mpi.measure([_case(_CELLS)], ranks).metric("lj", "rate")["p50"]
    return rate


def _command(lammps: Lammps, cells: int) -> list[str | Path]:
    sizes = ("-var", "cells", str(cells), "-var", "steps", str(STEPS))
    return [lammps.program, "-in", INPUTS / "in.lj", *sizes, "-log", "none", *lammps.words]


def _theirs(mpi: Mpi, ranks: int, lammps: Lammps, cells: int = _CELLS) -> float:
    """Return LAMMPS' rate in atoms times steps per second, from its printed loop time; raise InputError
    without one.
    """
    with tempfile.TemporaryDirectory() as folder:
        said = mpi.launch_peer(_command(lammps, cells), ranks, folder=Path(folder), variables=_ONE_THREAD)
    (run,) = read_log(said, lammps.name)
    return run.steps * run.atoms / run.loop_s


def _fastest(rates: dict[Lammps, list[float]]) -> Lammps:
    return max(rates, key=lambda lammps: median(rates[lammps]))


def _compared(
    mpi: Mpi,
    ranks: int,
    ours: Sequence[float],
    theirs: dict[Lammps, list[float]],
    failed: Sequence[str],
) -> Finding:
    best = _fastest(theirs)
    ratio = median(ours) / median(theirs[best])
    return Finding(
        ROW,
        f"{_atoms(_CELLS):,} atoms, {ranks} rank{'s' * (ranks > 1)}, {mpi.name}",
        f"{ratio:.2f} times LAMMPS ({median(ours) / 1e6:.3g} and {median(theirs[best]) / 1e6:.3g} "
        "million atom-steps/s)",
        _TARGET,
        judged(ratio >= _LEAST),
        [*(_tried(lammps, rates) for lammps, rates in theirs.items()), *failed],
        {
            "ours": ours,
            "lammps": theirs[best],
            "each": {lammps.name: rates for lammps, rates in theirs.items()},
        },
        [
            mpi.shell(_command(best, _CELLS), ranks, _ONE_THREAD, "huge"),
            f"# LAMMPS {best.version}: {STEPS} steps times atoms, divided by its Loop time",
        ],
    )


def _tried(lammps: Lammps, rates: Sequence[float]) -> str:
    built = "on PATH" if str(lammps.program) == _on_path() else "below LAMMPS_DIR"
    return f"LAMMPS {lammps.version} {built}, {lammps.options}: {median(rates) / 1e6:.3g}"


def _on_path() -> str | None:
    found = shutil.which("lmp")
    return str(Path(found).resolve()) if found else None


def _memory(mpi: Mpi, lammps: Lammps) -> Finding:
    """Return the memory per atom: the largest peak of a rank, minus that of a small problem."""
    atoms, sizes = _atoms(_CELLS) - _atoms(_FEW_CELLS), (_CELLS, _FEW_CELLS)
    ours = [resident.peak_of_cases(mpi, [_case(cells)], 1) for cells in sizes]
    with tempfile.TemporaryDirectory() as folder:
        theirs = [resident.peak_bytes(mpi, _command(lammps, cells), 1, Path(folder)) for cells in sizes]
    return Finding(
        ROW,
        f"Memory of an atom at its peak, 1 rank, {mpi.name}",
        f"{(ours[0] - ours[1]) / atoms:.0f} B, LAMMPS {(theirs[0] - theirs[1]) / atoms:.0f} B",
        "",
        Verdict.STATED,
        [f"{resident.HOW}; {_atoms(_CELLS):,} atoms minus {_atoms(_FEW_CELLS):,}, divided by the difference"],
        {"ours_bytes": ours, "lammps_bytes": theirs, "lammps": lammps.name},
        [mpi.shell(_command(lammps, _CELLS), 1)],
    )
