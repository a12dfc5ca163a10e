"""`kiviat balance`: balance of machines, as ratios, in words, and as a Kiviat diagram."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import grids
from kiviat.analysis.hpcc.balance import AXES, Balance, balance
from kiviat.analysis.hpcc.quantities import System, chosen, measured_system, published_systems
from kiviat.cli.options.files import print_name
from kiviat.cli.options.request import BalanceRequest
from kiviat.cli.text.table import print_rows, print_table
from kiviat.record import InputError, write_whole
from kiviat.record.run import Run
from kiviat.report.balance.page import render_balance
from kiviat.report.balance.text import cell_text, largest_text, sentences
from kiviat.report.facts.runs import labels
from kiviat.store import find_run
from kiviat.store.read import load
from kiviat.store.tables import load_tables


def execute(request: BalanceRequest) -> int:
    """Write the report and print the ratios of runs and published systems."""
    runs, systems = _systems(request.runs)
    beside = _beside(request.with_systems, systems)
    result = balance([*systems, *beside], request.small, request.few_nodes)
    write_whole(render_balance(result, runs), Path(request.output), "report")
    if request.format == "table":
        _print(result)
        print_name(request.output)
    else:
        print_rows(_rows(result), request.format)
    return 0


def _systems(names: Sequence[str]) -> tuple[dict[str, Run], list[System]]:
    paths = list(dict.fromkeys(find_run(name) for name in names))
    loaded = [load(path) for path in paths]
    for warning in (warning for _, _, warnings in loaded for warning in warnings):
        print(f"kiviat: {warning}", file=sys.stderr)
    runs: dict[str, Run] = {run.id: run for run, _, _ in loaded}
    called = {label.run: label.label for label in labels(list(runs.values()))}
    systems = []
    for path, (run, rows, _) in zip(paths, loaded, strict=True):
        system = measured_system(run, called[run.id], summarise(rows), rows, grids(load_tables(path)))
        if not any(size.quantities for size in system.sizes):
            reasons = dict.fromkeys(why for size in system.sizes for why in size.missing.values())
            why = f" ({'; '.join(reasons)})" if reasons else ""
            raise InputError(
                f"run {run.id} has no result of a kernel of HPC Challenge{why}; "
                "`kiviat run hpcc` measures them"
            )
        systems.append(system)
    return runs, systems


def _beside(asked: Sequence[str] | None, systems: Sequence[System]) -> list[System]:
    """Return the published systems named in `asked`.

    By default, a single run is compared with the published systems that have HPL, because it would otherwise
    be compared with itself; several runs are compared with each other only.
    """
    published = published_systems()
    if asked is None:
        return (
            [system for system in published if "hpl" in system.whole.quantities] if len(systems) == 1 else []
        )
    found: list[System] = []
    for name in asked:
        if name == "none":
            continue
        matching = published if name == "all" else chosen(published, name)
        if not matching:
            known = ", ".join(system.id for system in published)
            raise InputError(
                f'--with {name!r}: there is no published system of that name; give "all", "none" or one of: '
                f"{known}"
            )
        found += [system for system in matching if system not in found]
    return found


def _rows(result: Balance) -> list[dict[str, Any]]:
    """Return one row for each system and axis."""
    return [
        {
            "system": system.name,
            "axis": axis.id,
            "title": axis.title,
            "unit": axis.unit,
            "value": cell.value,
            "low": cell.low,
            "high": cell.high,
            "reason": cell.reason,
        }
        for system, cells in zip(result.systems, result.cells, strict=True)
        for axis, cell in zip(AXES, cells, strict=True)
    ]


def _print(result: Balance) -> None:
    columns = zip(result.systems, result.cells, strict=True)
    cells = [
        [system.name, *(cell_text(axis, cell) for axis, cell in zip(AXES, line, strict=True))]
        for system, line in columns
    ]
    largest = [largest_text(axis, value) for axis, value in zip(AXES, result.largest, strict=True)]
    heads, *lines = zip(["", *(axis.title for axis in AXES)], *cells, ["largest", *largest], strict=True)
    print_table("<" + ">" * (len(heads) - 1), heads, lines)
    for rule in result.rules:
        print(f"\n{rule}")
    print()
    for sentence in sentences(result):
        print(sentence)
    print()
