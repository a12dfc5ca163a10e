"""The table of effective bandwidth: runs next to published machines, with the columns of their paper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.published import Fact, Paper, System, papers
from kiviat.record.run import Run
from kiviat.record.units import axis_text, format_range, format_value
from kiviat.report.html.figure import RunLabel
from kiviat.report.table import Cell, Column, Table, Value, tabled

# Headings of columns, with their metrics.
HEADS = (
    *(
        (group, (("all", metric), ("per process", f"{metric}_per_process")))
        for group, metric in (
            ("b_eff", "b_eff"),
            ("at Lmax, rings and random", "at_lmax"),
            ("at Lmax, rings only", "rings_at_lmax"),
        )
    ),
    ("ping-pong", (("bandwidth", "pingpong_bandwidth"), ("latency", "pingpong_latency"))),
)
COLUMNS = tuple(metric for _, metrics in HEADS for _, metric in metrics)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: `run` is the index of a run, or None for a published machine."""

    name: str
    setting: str
    run: int | None
    clock: str
    processes: int
    cells: tuple[Cell, ...]
    swatch: str = ""
    source: str = ""


def effective_table(
    runs: Sequence[Run], by_run: Mapping[str, Sequence[Summary]], labels: Sequence[RunLabel]
) -> Table | None:
    """Return the table: runs, then published machines with predictions for the same machines.

    None if no run has results.
    """
    mine = own(by_run, labels)
    if not mine:
        return None
    names = {
        place: [f"{one.machine} {one.mode}".strip() for one in model.published]
        for place, run in enumerate(runs)
        if (model := run.machine.model)
    }
    lines = [*mine]
    for paper in papers():
        if of_paper := published(paper):
            source = f"As published, not measured here: {paper.citation}; {', '.join(locations(paper))}"
            lines += [replace(one, source=source) for one in beside(of_paper, mine, names)]
    columns: list[Column[Line]] = [
        Column("machine", lambda line: Cell(line.name, below=line.setting, swatch=line.swatch)),
        Column("processes", lambda line: line.processes, "number"),
        *(
            Column(heading, _cell(COLUMNS.index(metric)), side=">", absent="–", group=group)
            for group, metrics in HEADS
            for heading, metric in metrics
        ),
    ]
    clocks = {label.clock for label in labels}
    notes = [
        "" if clocks == {"simulated"} else "Below a median its 95 % interval.",
        "In violet: predicted by a model, not measured." if "simulated" in clocks else "",
        "Ping-pong is between ranks 0 and 1. A dash marks a missing value.",
    ]
    return tabled(
        "Effective bandwidth of these runs and of published machines",
        columns,
        lines,
        kind="effective",
        kind_of=lambda line: line.clock if line.run is None else f"ours {line.clock}",
        part_of=lambda line: line.source,
        notes=[" ".join(filter(None, notes))],
    )


def _cell(place: int) -> Callable[[Line], Cell]:
    return lambda line: line.cells[place]


def own(by_run: Mapping[str, Sequence[Summary]], labels: Sequence[RunLabel]) -> list[Line]:
    """Return a line for each run, number of ranks and setting of b_eff."""
    lines = []
    for place, label in enumerate(labels):
        cases: dict[str, dict[str, Summary]] = {}
        for summary in by_run[label.run]:
            if summary.benchmark == "b_eff":
                cases.setdefault(summary.case, {})[summary.metric] = summary
        for found in cases.values():
            first = next(iter(found.values()))
            words = [axis_text(axis, value) for axis, value in sorted(first.axes.items())]
            words += ["oversubscribed"] if first.oversubscribed else []
            words += ["disturbed"] if first.disturbed else []
            words += ["predicted by a model"] if label.clock == "simulated" else []
            cells = tuple(_own(found.get(metric)) for metric in COLUMNS)
            setting = ", ".join(words)
            lines.append(Line(label.label, setting, place, label.clock, first.ranks, cells, label.swatch))
    return lines


def _own(summary: Summary | None) -> Cell:
    if summary is None:
        return Cell(None)
    value = Value(summary.median, summary.unit)
    if summary.clock == "simulated":
        return Cell(value, hover="predicted by a model, not measured")
    if summary.low is None or summary.high is None:
        return Cell(value, hover=f"{summary.launches} launches: no interval")
    bounds = format_range(summary.low, summary.high, summary.unit)
    unit = format_value(summary.median, summary.unit).partition(" ")[2]
    return Cell(value, bounds.removesuffix(f" {unit}"), f"{summary.launches} launches, 95 %: {bounds}")


def published(paper: Paper) -> list[Line]:
    """Return a line for each machine with at least one of the columns in the paper."""
    lines = []
    for system in paper.systems:
        cells = tuple(_published(paper, system.fact(f"b_eff.{metric}")) for metric in COLUMNS)
        if system.processes and any(cell.hover for cell in cells):
            lines.append(
                Line(
                    f"{system.machine} {system.mode}".strip(),
                    _where(system),
                    None,
                    "published",
                    system.processes,
                    cells,
                )
            )
    return lines


def beside(lines: Sequence[Line], own: Sequence[Line], names: Mapping[int, Collection[str]]) -> list[Line]:
    """Return published lines, each followed by predictions for the same machine and number of processes.

    `names` maps runs to the published names of their machines.
    """
    found = []
    for line in lines:
        found.append(line)
        for mine in own:
            known = names.get(mine.run, ()) if mine.run is not None else ()
            if line.name in known and mine.processes == line.processes:
                found.append(mine)
    return found


def locations(paper: Paper) -> list[str]:
    """Return the places in the paper of the values of the table."""
    return list(
        dict.fromkeys(
            fact.location
            for system in paper.systems
            for metric in COLUMNS
            if (fact := system.fact(f"b_eff.{metric}"))
        )
    )


def _where(system: System) -> str:
    return f"nodes: {system.nodes}" if system.nodes else ""


def _published(paper: Paper, fact: Fact | None) -> Cell:
    if fact is None:
        return Cell(None)
    said = [f"{paper.short}, {fact.location}: {fact.metric}", fact.exactness.replace("_", " "), fact.note]
    value = Value(fact.value, fact.unit)
    bound = f"{fact.relation} {format_value(fact.value, fact.unit)}"
    return Cell(value if fact.relation == "=" else bound, hover="; ".join(filter(None, said)))
