"""Maps ranks to nodes by dual recursive bipartitioning: ranks and nodes are halved together, recursively.

(Pellegrini, "Static mapping by dual recursive bipartitioning of process and architecture graphs", SHPCC
1994.) Nodes are divided where the distance between the halves is large. The division of ranks takes into
account where their communication partners already are.
"""

from __future__ import annotations

import numpy as np

from kiviat.placement.bisection import bisect
from kiviat.placement.graph import Floats, Graph, Integers, prefix_sums


def mapped(
    graph: Graph,
    room: Integers,
    distance: Floats,
    random: np.random.Generator,
    fixed: Floats | None = None,
    starts: int = 6,
) -> Integers:
    """Return the node of each vertex, shape (vertices,).

    `room[node]` is the number of ranks that a node takes, `distance` a symmetric matrix between nodes.
    `fixed[v, node]` is the additional cost of v on that node, for its traffic with ranks that do not move.
    A node may exceed its room by a few ranks if vertices stand for several ranks. `starts` is the number of
    initial bisections of each division.
    """
    vertices, nodes = graph.vertices, len(room)
    before = prefix_sums(room.astype(np.float64))
    # The range of candidate nodes of each vertex.
    begin, end = np.zeros(vertices, dtype=np.int64), np.full(vertices, nodes, dtype=np.int64)
    plain = fixed is None and uniform(distance)
    domains = [(0, nodes, np.arange(vertices))]
    while domains:
        divided = []
        for first, last, members in domains:
            if last - first == 1 or not len(members):
                continue
            middle = first + division(distance[first:last, first:last])
            part = graph.part(members)
            ranks = int(part.size.sum())
            high = min(int(before[middle] - before[first]), ranks)
            low = min(max(0, ranks - int(before[last] - before[middle])), high)
            if plain:
                pull = np.zeros(len(members))
            else:
                pull = _pull(graph, members, distance, (first, middle, last), begin, end)
                if fixed is not None:
                    second, other = fixed[members, middle:last], fixed[members, first:middle]
                    pull = pull + second.mean(axis=1) - other.mean(axis=1)
                # Expressed in units of the mean distance between the halves, which is the cost of an edge
                # between them.
                pull = pull / max(float(distance[first:middle, middle:last].mean()), 1e-9)
            sides = bisect(part, low, high, pull, random, starts)
            begin[members[sides]], end[members[~sides]] = middle, middle
            divided += [(first, middle, members[~sides]), (middle, last, members[sides])]
        domains = divided
    return begin


def uniform(distance: Floats) -> bool:
    """Return True if all pairs of nodes have the same distance, there and back."""
    nodes = len(distance)
    return nodes < 2 or bool((distance[~np.eye(nodes, dtype=bool)] == distance[0, 1]).all())


def division(distance: Floats) -> int:
    """Return the index near the middle that separates the nodes into the most distant halves."""
    nodes = len(distance)
    middle = nodes // 2
    if nodes < 4 or uniform(distance):
        return middle
    # Sums of squares [:k, k:] for all k, from two-dimensional prefix sums.
    table = np.zeros((nodes + 1, nodes + 1))
    table[1:, 1:] = distance.cumsum(axis=0).cumsum(axis=1)
    at = np.arange(-(-nodes // 3), 2 * nodes // 3 + 1)
    across = (table[at, nodes] - table[at, at]) / (at * (nodes - at))
    best = across >= across.max() * (1 - 1e-9)
    return int(min(at[best], key=lambda k: abs(k - middle)))


def _pull(
    graph: Graph,
    members: Integers,
    distance: Floats,
    parts: tuple[int, int, int],
    begin: Integers,
    end: Integers,
) -> Floats:
    """Return each member's extra cost on the second half, for traffic with ranks in other node ranges."""
    first, middle, last = parts
    further = prefix_sums(distance[middle:last].mean(axis=0) - distance[first:middle].mean(axis=0))
    each = (further[end] - further[begin]) / (end - begin)
    counts = (graph.first[1:] - graph.first[:-1])[members]
    edges = np.repeat(graph.first[members] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    row, other = np.repeat(np.arange(len(members)), counts), graph.neighbour[edges]
    outside = (begin[other] != first) | (end[other] != last)
    weights = graph.weight[edges[outside]] * each[other[outside]]
    return np.bincount(row[outside], weights=weights, minlength=len(members)).astype(np.float64)
