"""The table of effective bandwidth: runs next to published machines, with the columns of their paper."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.published import Fact, Paper, System
from kiviat.record.units import format_range, format_value
from kiviat.report.html.figure import RunLabel

# Column headings, two for each quantity.
HEADS = (
    ("b_eff", ("b_eff", "b_eff_per_process")),
    ("at Lmax, rings and random", ("at_lmax", "at_lmax_per_process")),
    ("at Lmax, rings only", ("rings_at_lmax", "rings_at_lmax_per_process")),
)
PINGPONG = ("pingpong_bandwidth", "pingpong_latency")
COLUMNS = (*(metric for _, metrics in HEADS for metric in metrics), *PINGPONG)


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, the text below it, and its tooltip."""

    text: str
    below: str = ""
    hover: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: `run` is the index of a run, or None for a published machine."""

    name: str
    setting: str
    run: int | None
    clock: str
    processes: int
    cells: tuple[Cell, ...]


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
            words = [f"{axis} {value}" for axis, value in sorted(first.axes.items())]
            words += ["oversubscribed"] if first.oversubscribed else []
            words += ["disturbed"] if first.disturbed else []
            words += ["predicted by a model"] if label.clock == "simulated" else []
            cells = tuple(_own(found.get(metric)) for metric in COLUMNS)
            lines.append(Line(label.label, ", ".join(words), place, label.clock, first.ranks, cells))
    return lines


def _own(summary: Summary | None) -> Cell:
    if summary is None:
        return Cell("–")
    value = format_value(summary.median, summary.unit)
    if summary.clock == "simulated":
        return Cell(value, "", "predicted by a model, not measured")
    if summary.low is None or summary.high is None:
        return Cell(value, "", f"{summary.launches} launches: no interval")
    bounds = format_range(summary.low, summary.high, summary.unit)
    unit = value.partition(" ")[2]
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
        return Cell("–")
    said = [f"{paper.short}, {fact.location}: {fact.metric}", fact.exactness.replace("_", " "), fact.note]
    mark = "" if fact.relation == "=" else f"{fact.relation} "
    return Cell(mark + format_value(fact.value, fact.unit), "", "; ".join(filter(None, said)))
