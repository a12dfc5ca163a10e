"""Divides a graph in two so that little is sent across.

Multilevel: the graph is made coarser, the coarsest is divided, and each finer one begins with that and is
improved by the moves of Fiduccia and Mattheyses ("A linear-time heuristic for improving network
partitions", DAC 1982), which accept worse states on the way to better ones. (Hendrickson and Leland, "A
multilevel algorithm for partitioning graphs", SC 1995.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kiviat.placement.graph import Floats, Graph

Sides = NDArray[np.bool_]

_COARSEST = 48
_PASSES = 8
# A pass that has found nothing better for so many moves will find nothing.
_PATIENCE = 60


def bisect(
    graph: Graph, low: int, high: int, pull: Floats, random: np.random.Generator, starts: int
) -> Sides:
    """Which vertices are on the second side; those of the first stand for `low` to `high` ranks.

    `pull[v]` is what v costs on the second side beyond what it costs on the first. `starts` is how many
    beginnings are tried.
    """
    levels: list[tuple[Graph, Floats, NDArray[np.int64]]] = []
    coarse, coarse_pull = graph, pull
    largest = max(1, int(graph.size.sum()) // 8)
    while coarse.vertices > _COARSEST:
        into = coarse.matched(largest, random)
        if into is None:
            break
        levels.append((coarse, coarse_pull, into))
        count = int(into.max()) + 1
        coarse_pull = np.bincount(into, weights=coarse_pull, minlength=count).astype(np.float64)
        coarse = coarse.merged(into, count)
    sides = _started(coarse, low, high, coarse_pull, random, starts)
    for finer, finer_pull, into in reversed(levels):
        sides = improved(finer, sides[into], low, high, finer_pull)
    return sides


def cost(graph: Graph, sides: Sides, pull: Floats) -> float:
    across = sides[graph.row] != sides[graph.neighbour]
    return float(graph.weight[across].sum()) / 2 + float(pull[sides].sum())


def _started(
    graph: Graph, low: int, high: int, pull: Floats, random: np.random.Generator, starts: int
) -> Sides:
    """The best of some: grown from a vertex each, and as the vertices are numbered."""
    in_order = np.cumsum(graph.size) > (low + high) // 2
    found = improved(graph, in_order, low, high, pull, patience=graph.vertices)
    best = _judged(graph, found, low, high, pull)
    for _ in range(starts if graph.vertices > 2 else 1):
        sides = np.ones(graph.vertices, dtype=bool)
        sides[random.integers(graph.vertices)] = False
        # From one vertex a pass moves whatever gains most, which grows the first side.
        sides = improved(graph, sides, low, high, pull, patience=graph.vertices)
        judged = _judged(graph, sides, low, high, pull)
        if judged < best:
            found, best = sides, judged
    return found


def _judged(graph: Graph, sides: Sides, low: int, high: int, pull: Floats) -> tuple[int, float]:
    first = int(graph.size[~sides].sum())
    return max(0, low - first, first - high), cost(graph, sides, pull)


def improved(
    graph: Graph, sides: Sides, low: int, high: int, pull: Floats, patience: int = _PATIENCE
) -> Sides:
    """Passes of moves until one finds nothing better."""
    sides = sides.copy()
    for _ in range(_PASSES):
        if not _pass(graph, sides, low, high, pull, patience):
            break
    return sides


def _pass(graph: Graph, sides: Sides, low: int, high: int, pull: Floats, patience: int) -> bool:
    """Each vertex moves once at most, the best first; what came after the best state is undone."""
    if not graph.vertices:
        return False
    signs = np.where(sides, -1.0, 1.0)
    tied = -graph.weight * signs[graph.row] * signs[graph.neighbour]
    gain = np.bincount(graph.row, weights=tied, minlength=graph.vertices) - pull * signs
    # Of those that may still move, by the side on which they are.
    gains = [np.where(sides, -np.inf, gain), np.where(sides, gain, -np.inf)]
    size = graph.size.tolist()
    slack = max(size)
    first = int(graph.size[~sides].sum())
    total = 0.0
    start = best = (max(0, low - first, first - high), 0.0)
    moved: list[int] = []
    kept = 0
    while len(moved) - kept <= patience:
        candidates = []
        if first >= low:
            candidates.append((gains[0], -1))
        if first <= high:
            candidates.append((gains[1], 1))
        chosen, chosen_gain, chosen_side = -1, -np.inf, 0
        for values, direction in candidates:
            vertex = int(values.argmax())
            value = float(values[vertex])
            after = first + direction * size[vertex]
            if value > chosen_gain and (low - slack <= after <= high + slack):
                chosen, chosen_gain, chosen_side = vertex, value, direction
        if chosen < 0:
            break
        sign = signs[chosen]
        gains[0][chosen] = gains[1][chosen] = -np.inf
        neighbours, weights = graph.edges_of(chosen)
        change = (2.0 * sign) * weights * signs[neighbours]
        gains[0][neighbours] += change
        gains[1][neighbours] += change
        signs[chosen] = -sign
        first += chosen_side * size[chosen]
        total -= chosen_gain
        moved.append(chosen)
        state = max(0, low - first, first - high), total
        if state[0] < best[0] or (state[0] == best[0] and state[1] < best[1] - 1e-9):
            best, kept = state, len(moved)
    for vertex in moved[:kept]:
        sides[vertex] = not sides[vertex]
    return best != start
