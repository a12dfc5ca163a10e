"""External programs among the benchmarks of a run (LAMMPS).

Whether the run needs one, and which is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kiviat.cli.options.plan import named_plan
from kiviat.cli.options.request import PlanOptions, RunRequest
from kiviat.launch.programs.lammps import PROGRAM, LammpsProgram, described, named
from kiviat.launch.programs.lammps_install import Lammps, find_lammps
from kiviat.launch.run.program import Program
from kiviat.plan import definition_benchmarks, names_plan, plan_benchmarks
from kiviat.record import InputError
from kiviat.store import read_run

_PLAN = "lammps"  # plan of commands that name LAMMPS benchmarks only


@dataclass(frozen=True)
class Foreign:
    """External programs of a run.

    `lammps`: the LAMMPS to run, None if none of its benchmarks is requested. `alone`: kiviat-bench is not
    needed.
    """

    lammps: Lammps | None = None
    alone: bool = False

    @property
    def described(self) -> list[dict[str, Any]]:
        """Return descriptions of the program's benchmarks, in the form of kiviat-bench's."""
        return described() if self.lammps else []

    @property
    def programs(self) -> Mapping[str, Program]:
        """Return the programs by the name that cases use."""
        return {PROGRAM: LammpsProgram(self.lammps)} if self.lammps else {}


def foreign(request: RunRequest, resumed: Path | None, mpi: str | None) -> Foreign:
    """Return the programs that the command line or the resumed run needs, or raise InputError."""
    names = benchmarks_of(resumed) if resumed else _asked(request.what)
    lammps = [name for name in names if named(name)]
    if not lammps:
        if request.lammps:
            raise InputError(f"--lammps {request.lammps}: no benchmark of LAMMPS is asked for; leave it out")
        return Foreign()
    on = request.where.on or ""
    if on.startswith("simulated"):
        raise InputError(
            f"{lammps[0]} runs the installed LAMMPS, which was not built for simulated machines: record it, "
            "`kiviat trace -- mpirun … lmp …` (--dry-run without --on shows the command), then replay it, "
            f"`kiviat run --on {on} --replay lmp.trace`"
        )
    return Foreign(find_lammps(request.lammps, mpi), len(lammps) == len(names))


def with_plan_of_lammps(options: PlanOptions) -> PlanOptions:
    """Return the options with the LAMMPS plan if they name LAMMPS benchmarks only and no plan.

    Otherwise the options are unchanged.
    """
    words = _benchmarks(options)
    if named_plan(options) is None and words and all(map(named, words)):
        return replace(options, plan=_PLAN)
    return options


def _asked(options: PlanOptions) -> list[str]:
    """Return the benchmarks named on the command line and in the plan."""
    plan = named_plan(with_plan_of_lammps(options))
    return _benchmarks(options) + (plan_benchmarks(plan) if plan else [])


def _benchmarks(options: PlanOptions) -> list[str]:
    return [word for word in options.benchmarks if not names_plan(word)]


def benchmarks_of(path: Path) -> list[str]:
    """Return the benchmarks named on the command line and in the plan with which a run began."""
    plan = read_run(path).plan
    definition = plan.definition if plan else {}
    return [*definition.get("command_line", {}).get("benchmarks", []), *definition_benchmarks(definition)]
