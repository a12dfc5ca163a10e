"""The NAS programs and the applications: what they reach, and where their time goes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.record.units import counted, format_range, format_value

PROGRAMS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
DEFAULT_CLASS = "A"
APPLICATIONS = ("hpccg", "gears", "lj", "lammps-lj", "lammps-rhodo")
_POINTS = {"nx": "64", "ny": "64", "nz": "64"}


@dataclass(frozen=True, slots=True)
class Share:
    """A phase's part of the mean time of all ranks; `hover` is what is said when one points at it."""

    phase: str
    percent: float
    communicates: bool
    hover: str


@dataclass(frozen=True, slots=True)
class Program:
    """One case. `communication` is the part of the time that goes into messages and waiting for them."""

    run: int
    name: str
    conditions: str
    clock: str
    rate: str
    interval: str
    per_rank: str
    time: str
    communication: str
    shares: list[Share]


def programs(
    table: Sequence[Summary], grids: Sequence[Grid], runs: Sequence[str], names: Sequence[str] = PROGRAMS
) -> list[Program]:
    """A line for each case of each run, by program of `names`; `runs` are in the order of the page."""
    values: dict[tuple[str, str], dict[str, Summary]] = {}
    for summary in table:
        if summary.benchmark in names:
            values.setdefault((summary.run, summary.case), {})[summary.metric] = summary
    phases = {(grid.run, grid.case): grid for grid in grids if grid.name == "phase_time"}
    cases = [key for key, found in values.items() if "rate" in found]
    cases.sort(key=lambda key: (values[key]["rate"].benchmark, runs.index(key[0])))
    return [_program(values[key], phases.get(key), runs.index(key[0])) for key in cases]


def _program(values: Mapping[str, Summary], phases: Grid | None, run: int) -> Program:
    rate, time = values["rate"], values.get("time")
    shares = [] if phases is None else _shares(phases, rate.notes.get("communication", ""))
    words = [_problem(rate), counted(rate.ranks, "rank")]
    told = {"class", "scaling", "cells", *_POINTS, *"ijk"}
    words += [f"{axis} {value}" for axis, value in sorted(rate.axes.items()) if axis not in told]
    communication = sum(share.percent for share in shares if share.communicates)
    return Program(
        run=run,
        name=rate.benchmark.upper(),
        conditions=", ".join(words + (["oversubscribed"] if rate.oversubscribed else [])),
        clock=rate.clock,
        rate=format_value(rate.median, rate.unit),
        interval=""
        if rate.low is None or rate.high is None
        else format_range(rate.low, rate.high, rate.unit),
        per_rank=format_value(rate.median / rate.ranks, rate.unit),
        time="–" if time is None else format_value(time.median, time.unit),
        communication=f"{communication:.0f} %" if shares else "–",
        shares=shares,
    )


def _problem(rate: Summary) -> str:
    """How large it is: a class, atoms, gears, or points in each direction."""
    if atoms := rate.notes.get("atoms"):
        return f"{int(atoms):,} atoms{' in all' if rate.axes.get('scaling') == 'strong' else ''}"
    if rate.benchmark not in APPLICATIONS:
        return f"class {rate.axes.get('class', DEFAULT_CLASS)}"
    if rate.benchmark == "gears":
        return f"{rate.notes.get('gears', 'some')} gears"
    points = " × ".join(str(rate.axes.get(axis, usual)) for axis, usual in _POINTS.items())
    return f"{points} {'in all' if rate.axes.get('scaling') == 'strong' else 'on each rank'}"


def communicating(phases: Grid, communication: str) -> float | None:
    """The part of the time of an average rank that is in phases which communicate, 0 to 1."""
    shares = _shares(phases, communication)
    return sum(share.percent for share in shares if share.communicates) / 100 if shares else None


def _shares(phases: Grid, communication: str) -> list[Share]:
    """Of the means over ranks; phases that nobody spends time in are left out."""
    statistics = phases.values_of("statistic")
    mean, least, most = (phases.median[:, statistics.index(name)] for name in ("mean", "min", "max"))
    whole = float(mean.sum())
    if not math.isfinite(whole) or whole <= 0:
        return []
    of_messages = set(communication.split("; "))
    return [
        Share(
            phase,
            100 * float(mean[at]) / whole,
            phase in of_messages,
            f"{phase}: {format_value(float(mean[at]), phases.unit)} on average, from "
            f"{format_range(float(least[at]), float(most[at]), phases.unit)} on the ranks",
        )
        for at, phase in enumerate(phases.values_of("phase"))
        if mean[at] > 0
    ]
