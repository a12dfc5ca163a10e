"""Matrices of all pairs of ranks as heat maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kiviat.analysis.aggregate.nodes import Nodes
from kiviat.analysis.aggregate.pair_matrices import matrix_of
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.statistics.intervals import Floats
from kiviat.record.traits import TraitsByName
from kiviat.record.units import format_value
from kiviat.report.html.figure import Cells, HeatMap, RunLabel, numbered
from kiviat.report.html.panels import Key, common, word

# If a row has more ranks, values have no bounds, to keep the page below 8 MB.
_MOST_WITH_BOUNDS = 96

_SENT = "message_bytes"
NodesOf = Callable[[str, int], Nodes | None]  # of a run and a number of ranks: the nodes of the first ranks

_QUANTITIES = {"latency": "Latency", "bandwidth": "Bandwidth"}


def heat_maps(
    grids: Sequence[Grid], runs: Sequence[RunLabel], nodes_of: NodesOf, traits: TraitsByName
) -> list[HeatMap]:
    """Return maps of latency and bandwidth between all pairs, and of bytes sent from rank to rank.

    There is a panel for each run, number of ranks and setting.
    """
    maps = []

    def of_table(table: str) -> list[str]:
        """Return the benchmarks with this table, in the order of the page."""
        names = {grid.benchmark for grid in grids if grid.name == table and traits[grid.benchmark].section}
        return sorted(names, key=lambda name: (traits[name].section != "programs", traits[name].place, name))

    for table, title in _QUANTITIES.items():
        chosen = [grid for grid in grids if grid.benchmark == "all_pairs" and grid.name == table]
        if chosen:
            section = traits[chosen[0].benchmark].section
            maps.append(_heat_map(f"{title} between all pairs of ranks", section, chosen, runs, nodes_of))
    for name in of_table(_SENT):
        chosen = [_of_first_kernel(grid) for grid in grids if (grid.benchmark, grid.name) == (name, _SENT)]
        title = f"{name.upper()}: bytes that each rank (row) sends to each (column)"
        maps.append(_heat_map(title, traits[name].section, chosen, runs, nodes_of))
    return numbered(maps, "map")


def map_of_program(title: str, panels: Sequence[tuple[str, Grid, Nodes | None]]) -> HeatMap:
    """Return the bytes that ranks of a program send to each other; each panel has a label and nodes."""
    cells = tuple(_cells(label, _of_first_kernel(grid), nodes) for label, grid, nodes in panels)
    first = panels[0][1]
    words = _extremes(cells[-1], first.unit)
    return HeatMap(first.name, "study", title, "", first.unit, first.better, words, cells)


def _of_first_kernel(grid: Grid) -> Grid:
    """Return the matrix of a program's first kernel; pairs without messages are NaN."""
    return replace(
        grid,
        dimensions=grid.dimensions[1:],
        median=np.where(grid.median[0] == 0, np.nan, grid.median[0]),
        low=None,
        high=None,
    )


def _heat_map(
    title: str, section: str, grids: Sequence[Grid], runs: Sequence[RunLabel], nodes_of: NodesOf
) -> HeatMap:
    numbers = {label.run: number for number, label in enumerate(runs)}
    axes = sorted({axis for grid in grids for axis in grid.axes})
    by_key: dict[Key, Grid] = {
        (numbers[grid.run], grid.ranks, *map(grid.axes.get, axes)): grid for grid in grids
    }
    dimensions = ["run", "ranks", *axes]
    differ = [at for at in range(len(dimensions)) if len({key[at] for key in by_key}) > 1]
    cells = [
        _cells(
            ", ".join(word(dimensions[at], key[at], runs) for at in differ),
            grid,
            nodes_of(grid.run, grid.ranks),
        )
        for key, grid in by_key.items()
    ]
    first = grids[0]
    return HeatMap(
        id=f"{first.benchmark}-{first.name}",
        section=section,
        title=title,
        conditions=common(list(by_key), dimensions, runs),
        unit=first.unit,
        better=first.better,
        words=_extremes(cells[-1], first.unit),
        panels=tuple(cells),
    )


def _cells(label: str, grid: Grid, nodes: Nodes | None) -> Cells:
    matrix = matrix_of(grid, nodes)
    few = len(matrix.labels) <= _MOST_WITH_BOUNDS
    low, high = (_flat(each) if few and each is not None else None for each in (matrix.low, matrix.high))
    return Cells(label, matrix.labels, _flat(matrix.values), low, high, matrix.boundaries, matrix.nodes)


def _flat(values: Floats) -> tuple[float | None, ...]:
    """Return the values row by row with four digits, which is more than colours and tooltips show."""
    return tuple(float(f"{value:.3e}") if np.isfinite(value) else None for value in values.ravel())


def _extremes(cells: Cells, unit: str) -> str:
    known = [value for value in cells.values if value is not None]
    if not known:
        return "No values."
    return f"From {format_value(min(known), unit)} to {format_value(max(known), unit)}."
