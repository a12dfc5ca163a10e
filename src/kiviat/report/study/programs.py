"""The NAS programs and the applications: their rates and the shares of their phases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.record.traits import Traits, TraitsByName
from kiviat.record.units import axis_text, counted, format_range, format_value
from kiviat.report.html.figure import RunLabel
from kiviat.report.html.table import run_cell
from kiviat.report.table import Cell, Column, Table, tabled

_POINTS = ("nx", "ny", "nz")


@dataclass(frozen=True, slots=True)
class Share:
    """Share of a phase in the mean time of all ranks; `hover` is its tooltip."""

    phase: str
    percent: float
    communicates: bool
    hover: str


@dataclass(frozen=True, slots=True)
class Program:
    """One case of a program. `communication`: fraction of the time spent in messages and waiting for them."""

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
    table: Sequence[Summary], grids: Sequence[Grid], runs: Sequence[str], traits: TraitsByName, section: str
) -> list[Program]:
    """Return a line for each case of each run of a program in `section`.

    `runs` are in the order of the page.
    """
    values: dict[tuple[str, str], dict[str, Summary]] = {}
    for summary in table:
        if traits[summary.benchmark].phases and traits[summary.benchmark].section == section:
            values.setdefault((summary.run, summary.case), {})[summary.metric] = summary
    phases = {(grid.run, grid.case): grid for grid in grids if grid.name == "phase_time"}
    cases = [key for key, found in values.items() if "rate" in found]
    cases.sort(key=lambda key: (values[key]["rate"].benchmark, runs.index(key[0])))
    return [
        _program(values[key], phases.get(key), runs.index(key[0]), traits[values[key]["rate"].benchmark])
        for key in cases
    ]


def programs_table(found: Sequence[Program], once: bool, labels: Sequence[RunLabel] = ()) -> Table:
    """Return the table of programs; `once`: without intervals, `labels` are those of several runs."""
    run: Column[Program] = Column("run", lambda one: run_cell(labels[one.run]))
    interval: Column[Program] = Column(
        "95 % interval", lambda one: one.interval or "too few launches", side=">"
    )
    columns: list[Column[Program]] = [
        Column("program", lambda one: one.name),
        Column("problem", lambda one: one.conditions),
        *([run] if len(labels) > 1 else []),
        Column("rate", lambda one: one.rate, side=">"),
        *([] if once else [interval]),
        Column("per rank", lambda one: one.per_rank, side=">"),
        Column("time", lambda one: one.time, side=">"),
        Column("in messages", lambda one: one.communication, side=">"),
        Column("where the time goes", _parts, kind="parts"),
    ]
    title = "Performance of the programs"
    return tabled(title, columns, found, kind="programs", kind_of=lambda one: one.clock)


_PART = Markup('<i class="{}" style="flex-grow: {:.3f}" title="{}"></i>')


def _parts(program: Program) -> Cell:
    bars = [
        _PART.format("message" if share.communicates else "work", share.percent, share.hover)
        for share in program.shares
    ]
    drawing = Markup('<div class="stack" aria-hidden="true">{}</div>').format(Markup().join(bars))
    words = ", ".join(
        f"{share.phase} {share.percent:.0f}\N{NO-BREAK SPACE}%"
        for share in program.shares
        if share.percent >= 1
    )
    return Cell(words or "–", drawing=drawing if bars else None)


def _program(values: Mapping[str, Summary], phases: Grid | None, run: int, traits: Traits) -> Program:
    rate, time = values["rate"], values.get("time")
    shares = [] if phases is None else _shares(phases, traits.communicating)
    words = [_problem(rate, traits), counted(rate.ranks, "rank")]
    told = {"class", "scaling", "cells", *_POINTS, *"ijk"}
    words += [axis_text(axis, value) for axis, value in sorted(rate.axes.items()) if axis not in told]
    communication = sum(share.percent for share in shares if share.communicates)
    return Program(
        run=run,
        name=rate.benchmark.upper(),
        conditions=", ".join(
            words
            + (["oversubscribed"] if rate.oversubscribed else [])
            + (["disturbed"] if rate.disturbed else [])
        ),
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


def _problem(rate: Summary, traits: Traits) -> str:
    """Return the problem size: a class, atoms, gears, or points in each direction."""
    if atoms := rate.notes.get("atoms"):
        return f"{int(atoms):,} atoms{' in all' if rate.axes.get('scaling') == 'strong' else ''}"
    axes = {**traits.defaults, **rate.axes}
    if "class" in axes:
        return f"class {axes['class']}"
    if gears := rate.notes.get("gears"):
        return f"{gears} gears"
    points = " × ".join(str(axes[axis]) for axis in _POINTS if axis in axes)
    return f"{points} {'in all' if axes.get('scaling') == 'strong' else 'on each rank'}" if points else ""


def _shares(phases: Grid, of_messages: frozenset[str]) -> list[Share]:
    """Return the shares of the phases in the mean over ranks, without phases that take no time."""
    statistics = phases.values_of("statistic")
    mean, least, most = (phases.median[:, statistics.index(name)] for name in ("mean", "min", "max"))
    whole = float(mean.sum())
    if not math.isfinite(whole) or whole <= 0:
        return []
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
