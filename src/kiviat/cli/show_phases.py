"""What machines counted phase by phase, as a table in the terminal."""

from __future__ import annotations

from kiviat.analysis.phase_use import PhasesUse
from kiviat.cli.table import dim, print_table
from kiviat.cli.words import counted
from kiviat.record.units import UNAVAILABLE, format_value


def print_phases(use: PhasesUse) -> None:
    print("\nwhat the machine counted in each phase, counters of each rank on average:")
    names = list(dict.fromkeys(name for one in use.phases for name in one.counters))
    headings = ["phase", "time", *(name.replace("_", " ") for name in names), "energy", "power"]
    if per_cycle := any(one.instructions_per_cycle for one in use.phases):
        headings.insert(2 + len(names), "per cycle")
    lines = []
    for one in use.phases:
        line = [str(one.number), format_value(one.seconds.mean, "s")]
        for name in names:
            line.append(f"{one.counters[name].mean:.3g}" if name in one.counters else UNAVAILABLE)
        if per_cycle:
            line.append(_value(one.instructions_per_cycle, "1"))
        lines.append([*line, _value(one.joules, "J"), _value(one.watts, "W")])
    print_table(">" * len(headings), headings, lines)
    for what, words in (("counters", use.counters), ("energy", use.energy)):
        for said in words:
            print(dim(f"{what}: {said}"))
    if use.missing:
        print(dim(f"{counted(use.missing, 'rank')} left no counters: without MPI_Finalize there are none"))


def _value(value: float | None, unit: str) -> str:
    return UNAVAILABLE if value is None else format_value(value, unit)
