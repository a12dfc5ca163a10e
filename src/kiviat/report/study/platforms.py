"""The table of platforms of a study: one row for each machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.published.sources import MachineResults
from kiviat.record.run import Model, Run
from kiviat.record.units import counted, format_bytes, format_value
from kiviat.report.facts.runs import interface_text
from kiviat.report.facts.simulated_machines import network
from kiviat.report.html.figure import RunLabel
from kiviat.report.html.table import run_cell
from kiviat.report.table import Cell, Column, Content, Table, tabled

# Headings of facts that the table has, which the descriptions of machines below it need not repeat.
COVERED = ("Machine", "Nodes", "Processor", "Cores", "Memory", "Network")


@dataclass(frozen=True, slots=True)
class _Platform:
    """A machine with its runs, of which the first describes it."""

    label: RunLabel
    runs: tuple[Run, ...]

    @property
    def run(self) -> Run:
        return self.runs[0]

    @property
    def model(self) -> Model | None:
        return self.run.machine.model


def platforms(machines: Sequence[MachineResults], labels: Sequence[RunLabel]) -> Table:
    """Return the table of the machines' facts, from run.json; columns without any fact are omitted."""
    items = [_Platform(label, tuple(machine.runs)) for machine, label in zip(machines, labels, strict=True)]
    columns = [column for column in _COLUMNS if any(column.of(item) is not None for item in items)]
    return tabled("Platforms", columns, items, kind="platforms")


def _machine(item: _Platform) -> Content:
    return replace(run_cell(item.label), below=item.model.title if item.model else "")


def _nodes(item: _Platform) -> Content:
    """Return the nodes of a modelled machine; of a real one the most nodes that a launch had."""
    if item.model:
        return item.model.nodes
    hosts = [{rank.node_or_host for rank in launch.ranks} for run in item.runs for launch in run.launches]
    return max(map(len, hosts), default=0) or None


def _cores(item: _Platform) -> Content:
    sockets, cores = item.run.machine.sockets, item.run.machine.cores
    if item.model:
        sockets, cores = item.model.sockets, item.model.sockets * item.model.cores
    if cores is None:
        return None
    return Cell(cores, f"in {counted(sockets, 'socket')}" if sockets else "")


def _processor(item: _Platform) -> Content:
    if item.model is None:
        return item.run.machine.cpu
    flops, summary = item.model.core_flops, item.model.summary
    return Cell(f"{format_value(flops, 'flop/s')} per core", summary) if flops else summary


def _memory(item: _Platform) -> Content:
    """Return the memory of a node; run.json has that of all nodes of a modelled machine together."""
    memory = item.run.machine.memory_bytes
    nodes = item.model.nodes if item.model else 1
    return format_bytes(memory // nodes) if memory else None


def _interconnect(item: _Platform) -> Content:
    if item.model is None:
        return ", ".join(map(interface_text, item.run.machine.interfaces)) or None
    rate = f"{format_value(item.model.link_bandwidth, 'B/s')} per link"
    return Cell(f"{network(item.model)}, {rate}", "uncalibrated" if item.model.uncalibrated else "")


def _power(item: _Platform) -> Content:
    watts = next((run.machine.declared_watts for run in item.runs if run.machine.declared_watts), None)
    if watts is None:
        return None
    return Cell(f"{format_value(watts.value, 'W')} per {watts.per}", f"declared: {watts.source}")


_COLUMNS: tuple[Column[_Platform], ...] = (
    Column("machine", _machine),
    Column("nodes", _nodes, "count"),
    Column("cores per node", _cores, "count"),
    Column("processor", _processor),
    Column("memory per node", _memory),
    Column("interconnect", _interconnect),
    Column("power", _power),
)
