"""Graph bisection with a small cut.

Multilevel (Hendrickson and Leland, "A multilevel algorithm for partitioning graphs", SC 1995): the graph is
coarsened, the coarsest graph is bisected, and the result is projected back level by level and improved by
the moves of Fiduccia and Mattheyses ("A linear-time heuristic for improving network partitions", DAC 1982),
which pass through worse states.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kiviat.placement.graph import Floats, Graph

Sides = NDArray[np.bool_]

_COARSEST = 48
_PASSES = 8
# Number of moves without improvement after which a pass ends.
_PATIENCE = 60


def bisect(
    graph: Graph, low: int, high: int, pull: Floats, random: np.random.Generator, starts: int
) -> Sides:
    """Return a mask, shape (vertices,), of the second side; the first side holds `low` to `high` ranks.

    `pull[v]` is the cost of v on the second side minus that on the first. `starts` is the number of initial
    bisections of the coarsest graph.
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


def _cost(graph: Graph, sides: Sides, pull: Floats) -> float:
    across = sides[graph.row] != sides[graph.neighbour]
    return float(graph.weight[across].sum()) / 2 + float(pull[sides].sum())


def _started(
    graph: Graph, low: int, high: int, pull: Floats, random: np.random.Generator, starts: int
) -> Sides:
    """Return the best of several bisections: one by vertex number, `starts` grown from random vertices."""
    in_order = np.cumsum(graph.size) > (low + high) // 2
    best = improved(graph, in_order, low, high, pull, patience=graph.vertices)
    best_score = _score(graph, best, low, high, pull)
    for _ in range(starts if graph.vertices > 2 else 1):
        sides = np.ones(graph.vertices, dtype=bool)
        sides[random.integers(graph.vertices)] = False
        # From one vertex, a pass moves the vertices with the largest gain, which grows the first side.
        sides = improved(graph, sides, low, high, pull, patience=graph.vertices)
        score = _score(graph, sides, low, high, pull)
        if score < best_score:
            best, best_score = sides, score
    return best


def _score(graph: Graph, sides: Sides, low: int, high: int, pull: Floats) -> tuple[int, float]:
    """Return the violation of the size limits, in ranks, and the cost."""
    first = int(graph.size[~sides].sum())
    return max(0, low - first, first - high), _cost(graph, sides, pull)


def improved(
    graph: Graph, sides: Sides, low: int, high: int, pull: Floats, patience: int = _PATIENCE
) -> Sides:
    """Return `sides` after passes of moves, until a pass brings no improvement."""
    sides = sides.copy()
    for _ in range(_PASSES):
        if not _pass(graph, sides, low, high, pull, patience):
            break
    return sides


def _pass(graph: Graph, sides: Sides, low: int, high: int, pull: Floats, patience: int) -> bool:
    """Move each vertex at most once, best gain first, and keep the best state; return whether it improved."""
    if not graph.vertices:
        return False
    signs = np.where(sides, -1.0, 1.0)
    tied = -graph.weight * signs[graph.row] * signs[graph.neighbour]
    gain = np.bincount(graph.row, weights=tied, minlength=graph.vertices) - pull * signs
    # Gains of the vertices that may still move, by side.
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
