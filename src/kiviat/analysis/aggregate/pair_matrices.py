"""Curves and matrices from the tables of studies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.aggregate.nodes import Nodes
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.statistics.intervals import Floats

# Maximum number of rows and columns of a displayed matrix; with more ranks, cells are medians of blocks.
MOST_CELLS = 192


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over numbers, such as sizes or phases, with their bounds, if any.

    `meaning` names the bounds, such as "95 %".
    """

    name: str
    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float] | None, ...]
    meaning: str


def curve_of(grid: Grid) -> Curve:
    """Return the curve of a table with one dimension of numbers. Points without value are left out."""
    ((_, names),) = grid.dimensions
    return _curve("", [float(name) for name in names], grid.median, grid.low, grid.high, "95 %")


def curves_of(grid: Grid) -> Iterator[Curve]:
    """Yield a curve for each value of a table's second dimension; the first has numbers."""
    (_, names), (_, columns) = grid.dimensions
    for column, name in enumerate(columns):
        low, high = (None if bound is None else bound[:, column] for bound in (grid.low, grid.high))
        yield _curve(name, [float(each) for each in names], grid.median[:, column], low, high, "95 %")


def b_eff_curves(grid: Grid) -> Iterator[Curve]:
    """Yield bandwidth per process over sizes, with the best method, for each kind of pattern.

    A kind with several patterns is represented by the median pattern, and its band is their range. The band
    of a single pattern is its interval over launches.
    """
    patterns, sizes = grid.values_of("pattern"), [float(size) for size in grid.values_of("bytes")]
    best = np.fmax.reduce(grid.median, axis=2) / grid.ranks  # patterns × sizes; fmax ignores nan
    places: dict[str, list[int]] = {}
    for place, pattern in enumerate(patterns):
        places.setdefault(_kind(pattern), []).append(place)
    for kind, rows in places.items():
        if len(rows) > 1:
            middle = np.median(best[rows], axis=0)
            band = f"all {len(rows)} patterns"
            yield _curve(kind, sizes, middle, best[rows].min(axis=0), best[rows].max(axis=0), band)
        else:
            (row,) = rows
            low, high = (
                None if bound is None else np.fmax.reduce(bound[row], axis=1) / grid.ranks
                for bound in (grid.low, grid.high)
            )
            yield _curve(kind, sizes, best[row], low, high, "95 %")


def _kind(pattern: str) -> str:
    """Return the kind of a pattern: all "random 17" are one kind, and so are all "rings of 4"."""
    return {"rings of": "rings", "random": "random order"}.get(re.sub(r" \d+$", "", pattern), pattern)


def _curve(
    name: str, x: Sequence[float], y: Floats, low: Floats | None, high: Floats | None, meaning: str
) -> Curve:
    known = [place for place in range(len(x)) if np.isfinite(y[place])]
    band: list[tuple[float, float] | None] = []
    if low is not None and high is not None:
        bounds = [(float(low[place]), float(high[place])) for place in known]
        band = [each if np.isfinite(each).all() else None for each in bounds]
    points = tuple((x[place], float(y[place])) for place in known)
    return Curve(name, points, tuple(band), meaning)


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Values between pairs.

    `labels` name rows and columns: ranks, or blocks of ranks. `boundaries` are the positions of cells at
    which another node begins; `nodes` are the nodes of the labels, if each has one.
    """

    labels: tuple[str, ...]
    values: Floats
    low: Floats | None
    high: Floats | None
    boundaries: tuple[float, ...]
    nodes: tuple[int, ...] | None


def matrix_of(grid: Grid, nodes: Nodes | None) -> Matrix:
    """Return the matrix of a table over pairs of ranks, with the boundaries between nodes of more ranks."""
    ranks = len(grid.median)
    per_block = -(-ranks // MOST_CELLS)
    starts = tuple(range(0, ranks, per_block))
    if nodes and len(nodes.of) != ranks:
        nodes = None  # somebody's file may have another number of rows than ranks
    between = nodes.boundaries(ranks) if nodes else []
    if len(between) == ranks - 1:  # lines around every rank would hide the values
        between = []
    boundaries = tuple(rank / per_block for rank in between)
    if per_block == 1:
        of = nodes.of if nodes else None
        labels = tuple(map(str, range(ranks)))
        return Matrix(labels, grid.median, grid.low, grid.high, boundaries, of)
    ends = (*starts[1:], ranks)
    values = np.array(
        [
            [_middle(grid.median[a:b, c:d]) for c, d in zip(starts, ends, strict=True)]
            for a, b in zip(starts, ends, strict=True)
        ]
    )
    labels = tuple(f"{start}–{end - 1}" for start, end in zip(starts, ends, strict=True))
    return Matrix(labels, values, None, None, boundaries, None)


def _middle(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else np.nan


@dataclass(frozen=True, slots=True)
class Sick:
    """A slow rank or link, the number of launches that found it slow, and its slowdown.

    `of` is the quantity in which it is slow. `factor` and `confidence` are medians over the launches that
    found it.
    """

    what: str
    of: str
    found: int
    launches: int
    factor: float
    confidence: float | None


def sick(grids: Sequence[Grid]) -> list[Sick]:
    """Return the slow ranks and links in the tables of a case of sick_links, slowest first."""
    links = [grid for grid in grids if grid.name == "slow_links"]
    launches = sum(grid.launches for grid in links)
    found: dict[tuple[str, str], list[tuple[int, float, float | None]]] = {}
    for grid in links:
        for place, link in enumerate(grid.values_of("link")):
            name, _, of = link.partition(" ")
            factor, confidence = map(float, grid.median[place])
            found.setdefault((f"link {name}", of), []).append((grid.launches, factor, confidence))
    confidences = _confidences(grids)
    for grid in (grid for grid in grids if grid.name == "slow_ranks"):
        for place, rank in enumerate(grid.values_of("rank")):
            for column, of in enumerate(grid.values_of("of")):
                if np.isfinite(factor := float(grid.median[place, column])):
                    launches_with = grid.launches if grid.known is None else int(grid.known[place, column])
                    entry = launches_with, factor, confidences.get((rank, of))
                    found.setdefault((f"rank {rank}", of), []).append(entry)
    named = [_sick(*key, launches, entries) for key, entries in found.items()]
    return sorted(named, key=lambda one: (-one.found, -one.factor))


def _confidences(grids: Sequence[Grid]) -> Mapping[tuple[str, str], float]:
    return {
        (rank, of): float(grid.median[row, column])
        for grid in grids
        if grid.name == "rank_confidence"
        for row, rank in enumerate(grid.values_of("rank"))
        for column, of in enumerate(grid.values_of("of"))
    }


def _sick(what: str, of: str, launches: int, entries: Sequence[tuple[int, float, float | None]]) -> Sick:
    factors = [factor for count, factor, _ in entries for _ in range(count)]
    known = [one for count, _, one in entries if one is not None for _ in range(count)]
    confidence = float(np.median(known)) if known else None
    return Sick(what, of, len(factors), launches, float(np.median(factors)), confidence)
