"""Tables of studies, aggregated over launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kiviat.analysis.aggregate.summary import Summary, median_of_known
from kiviat.analysis.statistics.intervals import Floats, median_intervals
from kiviat.record import InputError
from kiviat.record.rows import Ints
from kiviat.record.types import Scalar, TableRow

Dimensions = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """One table of one case, over its launches. Values are in `unit`, missing ones nan.

    `median` has the shape of `dimensions`; `low` and `high` are its 95 % interval, None below five launches.
    They are nan where a launch lacks the value. `known` is the number of launches that have it; None: all.
    """

    run: str
    case: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    clock: str
    oversubscribed: bool
    name: str
    unit: str
    better: str
    dimensions: Dimensions
    launches: int
    median: Floats
    low: Floats | None
    high: Floats | None
    known: Ints | None = None

    def values_of(self, dimension: str) -> tuple[str, ...]:
        """Return the values of the dimension of that name; InputError if the table has none."""
        for name, values in self.dimensions:
            if name == dimension:
                return values
        raise InputError(
            f"table {self.name!r} of case {self.case} in run {self.run} has dimensions {_listed(self)}, "
            f"but not {dimension!r}: another program wrote it; leave the case out"
        )

    def has(self, *dimensions: str) -> bool:
        """Return whether the table has exactly these dimensions, in this order."""
        return tuple(name for name, _ in self.dimensions) == dimensions


def _listed(grid: Grid) -> str:
    return ", ".join(repr(name) for name, _ in grid.dimensions) or "none"


def grids(rows: Iterable[TableRow]) -> list[Grid]:
    """Return one grid per run, case and table, in order of first appearance.

    As in `summarise`, rows are used if they are ok and their check has not failed, and a case measured again
    in the same launch replaces the earlier one. Tables with different dimensions, such as another list of
    phases, give separate grids. Only the numbers of `rows` are kept.
    """
    groups: dict[tuple[str, str, str, Dimensions], tuple[TableRow, dict[int, Floats]]] = {}
    for row in rows:
        if row.outcome != "ok" or row.check == "failed":
            continue
        table = row.table
        key = row.run, row.case, table.name, table.axes
        if key not in groups:
            groups[key] = replace(row, table=replace(table, values=())), {}
        launches = groups[key][1]
        launches[len(launches) if row.launch is None else row.launch] = np.array(table.values, np.float64)
    return [_grid(row, launches) for row, launches in groups.values()]


def _grid(row: TableRow, launches: Mapping[int, Floats]) -> Grid:
    values = np.stack([launches[index] for index in sorted(launches)], axis=1)  # cells × launches
    shape = tuple(len(names) for _, names in row.table.axes)
    intervals = median_intervals(values)
    if intervals is not None:
        intervals[np.isnan(values).any(axis=1)] = np.nan
    return Grid(
        run=row.run,
        case=row.case,
        benchmark=row.benchmark,
        ranks=row.ranks,
        bytes=row.bytes,
        axes=row.axes,
        clock=row.clock,
        oversubscribed=row.oversubscribed,
        name=row.table.name,
        unit=row.table.unit,
        better=row.table.better,
        dimensions=row.table.axes,
        launches=len(launches),
        median=median_of_known(values).reshape(shape),
        low=None if intervals is None else intervals[:, 0].reshape(shape),
        high=None if intervals is None else intervals[:, 1].reshape(shape),
        known=np.isfinite(values).sum(axis=1).reshape(shape),
    )


def of_kernel(grid: Grid | None, summary: Summary) -> float | None:
    """Return the sum over nodes of a table of kernels and nodes, such as energy, for a quantity's kernel.

    None if a node has no value.
    """
    if grid is None or "kernel" not in dict(grid.dimensions):
        return None
    kernels = grid.values_of("kernel")
    named = next((name for name in (summary.metric, summary.benchmark) if name in kernels), None)
    kernel = kernels[0] if named is None and len(kernels) == 1 else named
    if kernel is None:
        return None
    total = float(grid.median[kernels.index(kernel)].sum())
    return total if math.isfinite(total) and total > 0 else None
