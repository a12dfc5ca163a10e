"""The same programs with their ranks arranged differently on nodes: what sharing the network costs.

After Narayanaswamy, Balaji and Feng, "Impact of Network Sharing in Multi-core Architectures" (2008), figures
2, 4, 5, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kiviat.analysis.grids import Grid
from kiviat.analysis.nodes import Nodes
from kiviat.analysis.summary import Summary
from kiviat.record.published import Fact, Statement, System, papers
from kiviat.record.units import format_value
from kiviat.report.modelled import model_of
from kiviat.report.programs import DEFAULT_CLASS, PROGRAMS, communicating

_RELATIONS = {"<=": "≤ ", ">=": "≥ ", "<": "< ", ">": "> "}

NodesOf = Callable[[str, int], Nodes | None]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure; `heat` shades it by how much worse it is than in the first arrangement of as many ranks."""

    text: str
    below: str
    heat: int = 0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A block of lines, one for each program: a cell or None for each arrangement."""

    title: str
    lines: list[tuple[str, list[Cell | None]]]


@dataclass(frozen=True, slots=True)
class Sharing:
    """Runs of one machine that differ in their arrangement. `published` is what papers say of the same."""

    machine: str
    clock: str
    heads: list[tuple[str, str]]
    quantities: list[Quantity]
    published: list[tuple[str, list[tuple[str, str, str]]]]


@dataclass(frozen=True, slots=True)
class _Held:
    """What one run holds of one program."""

    rate: float
    in_messages: float | None
    between_nodes: float | None
    sent: float | None


def sharings(
    runs: Sequence[Mapping[str, Any]], table: Sequence[Summary], grids: Sequence[Grid], nodes_of: NodesOf
) -> list[Sharing]:
    """One for each machine, class and clock of which there are several arrangements."""
    held: dict[tuple[str, str, str], dict[str, dict[str, _Held]]] = {}
    found_grids = {(grid.run, grid.case, grid.name): grid for grid in grids}
    by_id = {run["id"]: run for run in runs}
    ranks: dict[str, int] = {}
    for rate in table:
        if rate.benchmark not in PROGRAMS or rate.metric != "rate" or rate.median is None:
            continue
        run = by_id[rate.run]
        group = run["machine"]["name"], rate.clock, str(rate.axes.get("class", DEFAULT_CLASS))
        if ranks.setdefault(rate.run, rate.ranks) == rate.ranks:
            held.setdefault(group, {}).setdefault(rate.run, {})[rate.benchmark] = _held(
                rate, found_grids, nodes_of(rate.run, rate.ranks)
            )
    return [
        _sharing(group, [by_id[run] for run in of_group], of_group, ranks, nodes_of)
        for group, of_group in held.items()
        if len({_arrangement(by_id[run], ranks[run], nodes_of) for run in of_group}) > 1
    ]


def _held(rate: Summary, grids: Mapping[tuple[str, str, str], Grid], nodes: Nodes | None) -> _Held:
    phases = grids.get((rate.run, rate.case, "phase_time"))
    sent = grids.get((rate.run, rate.case, "message_bytes"))
    share = None if phases is None else communicating(phases, rate.notes.get("communication", ""))
    if sent is None or nodes is None:
        return _Held(rate.median, share, None, None)
    of_pairs = sent.median.sum(axis=0)  # of all kernels
    far = [[not nodes.near(a, b) for b in range(rate.ranks)] for a in range(rate.ranks)]
    return _Held(rate.median, share, float(of_pairs[np.array(far)].sum()), float(of_pairs.sum()))


def _arrangement(run: Mapping[str, Any], ranks: int, nodes_of: NodesOf) -> tuple[str, str]:
    """ "8×2", and how ranks went to nodes and cores, as the command line asked."""
    where = run.get("where", {})
    nodes = nodes_of(run["id"], ranks)
    shape = f"{ranks} ranks" if nodes is None else f"{nodes.count(ranks)}×{ranks // nodes.count(ranks)}"
    return shape, ", ".join(filter(None, (where.get("place"), where.get("bind"))))


def _sharing(
    group: tuple[str, str, str],
    runs: Sequence[Mapping[str, Any]],
    held: Mapping[str, Mapping[str, _Held]],
    ranks: Mapping[str, int],
    nodes_of: NodesOf,
) -> Sharing:
    machine, clock, problem = group
    order = sorted(runs, key=lambda run: ranks[run["id"]])
    first = [next(run["id"] for run in order if ranks[run["id"]] == ranks[one["id"]]) for one in order]
    programs = [name for name in PROGRAMS if any(name in of_run for of_run in held.values())]

    def block(title: str, cell: Callable[[_Held, _Held], Cell | None]) -> Quantity:
        lines = []
        for name in programs:
            cells = [
                cell(held[run["id"]][name], held[reference][name])
                if name in held[run["id"]] and name in held[reference]
                else None
                for run, reference in zip(order, first, strict=True)
            ]
            lines.append((name.upper(), cells))
        return Quantity(title, lines)

    blocks = [
        block("Performance", _performance),
        block("Time in messages and waiting", _in_messages),
        block("Bytes between nodes", _between_nodes),
    ]
    return Sharing(
        machine=f"{machine.removeprefix('simulated:')}, class {problem}",
        clock=clock,
        heads=[_arrangement(run, ranks[run["id"]], nodes_of) for run in order],
        quantities=[one for one in blocks if any(any(cells) for _, cells in one.lines)],
        published=_published(order[0]),
    )


def _performance(one: _Held, first: _Held) -> Cell:
    ratio = one.rate / first.rate
    below = format_value(one.rate, "op/s")
    if one is first:
        return Cell("1", below)
    return Cell(f"{ratio:.2f}", below, max(0, round(100 * (1 - ratio))))


def _in_messages(one: _Held, first: _Held) -> Cell | None:
    if one.in_messages is None:
        return None
    more = 0.0 if first.in_messages is None else one.in_messages - first.in_messages
    return Cell(f"{100 * one.in_messages:.0f} %", "", max(0, round(100 * more)))


def _between_nodes(one: _Held, first: _Held) -> Cell | None:
    if one.between_nodes is None or not one.sent:
        return None
    words = [f"{100 * one.between_nodes / one.sent:.0f} % of all"]
    more = round(one.between_nodes / first.between_nodes - 1, 3) if first.between_nodes else 0.0
    if one is not first and first.between_nodes:
        words.append(f"{100 * more:+.1f} %" if more else "as many")
    return Cell(format_value(one.between_nodes, "B"), ", ".join(words), max(0, round(100 * more)))


def _published(run: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """For each paper on this machine: citation, and row, place and claim of what it says of NAS programs."""
    model = model_of(run)
    names = {(one["machine"], one["mode"]) for one in model["published"]} if model else set()
    found = []
    for paper in papers():
        systems = [system for system in paper.systems if (system.machine, system.mode) in names]
        said: list[tuple[System, Fact | Statement]] = [
            (system, fact) for system in systems for fact in system.facts
        ]
        said += [(system, statement) for system in systems for statement in system.statements]
        claims = [
            (fact.location, ", ".join(filter(None, (system.mode, fact.benchmark, fact.metric))), _value(fact))
            for system, fact in said
            if fact.benchmark.startswith("NPB") and fact.use == "validate"
        ]
        if claims:
            found.append((paper.citation, claims))
    return found


def _value(fact: Fact | Statement) -> str:
    if isinstance(fact, Statement):
        return "it is so"
    return f"{_RELATIONS.get(fact.relation, '')}{format_value(fact.value, fact.unit)}"
