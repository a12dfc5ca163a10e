"""The communication graph of a program, undirected and weighted, and its coarsening."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kiviat.profile import Traffic

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph in compressed rows: v has the neighbours `neighbour[first[v]:first[v + 1]]`.

    Each edge is in the rows of both ends. `size[v]` is the number of ranks that vertex v stands for.
    """

    first: Integers
    neighbour: Integers
    weight: Floats
    size: Integers

    @classmethod
    def of_traffic(cls, traffic: Traffic) -> Graph:
        """Return the graph of ranks, weighted by the bytes in both directions, without messages to self."""
        return cls.of_edges(
            np.ones(traffic.ranks, dtype=np.int64),
            np.concatenate([traffic.source, traffic.target]),
            np.concatenate([traffic.target, traffic.source]),
            np.concatenate([traffic.bytes, traffic.bytes]).astype(np.float64),
        )

    @classmethod
    def of_edges(cls, size: Integers, row: Integers, column: Integers, weight: Floats) -> Graph:
        """Return the graph of edges given in both directions; parallel edges are summed, loops dropped."""
        vertices = len(size)
        keep = (row != column) & (weight > 0)
        pairs, place = np.unique(row[keep] * vertices + column[keep], return_inverse=True)
        added = np.bincount(place, weights=weight[keep], minlength=len(pairs)).astype(np.float64)
        rows = pairs // max(vertices, 1)
        return cls(np.searchsorted(rows, np.arange(vertices + 1)), pairs % max(vertices, 1), added, size)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.size)

    @cached_property
    def row(self) -> Integers:
        """The vertex of each edge."""
        return np.repeat(np.arange(self.vertices), np.diff(self.first))

    def edges_of(self, vertex: int) -> tuple[Integers, Floats]:
        """Return the neighbours of a vertex and the weights of its edges."""
        here = slice(self.first[vertex], self.first[vertex + 1])
        return self.neighbour[here], self.weight[here]

    def part(self, vertices: Integers) -> Graph:
        """Return the subgraph of `vertices`, renumbered in their order."""
        number = np.full(self.vertices, -1, dtype=np.int64)
        number[vertices] = np.arange(len(vertices))
        counts = (self.first[1:] - self.first[:-1])[vertices]
        edges = np.repeat(self.first[vertices] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        row = np.repeat(np.arange(len(vertices)), counts)
        column = number[self.neighbour[edges]]
        keep = column >= 0
        first = np.searchsorted(row[keep], np.arange(len(vertices) + 1))
        return Graph(first, column[keep], self.weight[edges[keep]], self.size[vertices])

    def merged(self, into: Integers, count: int) -> Graph:
        """Return the graph of `count` vertices in which v is part of `into[v]`."""
        size = np.bincount(into, weights=self.size, minlength=count).astype(np.int64)
        return Graph.of_edges(size, into[self.row], into[self.neighbour], self.weight)

    def matched(self, largest: int, random: np.random.Generator) -> Integers | None:
        """Return a heavy-edge matching as an argument for `merged`; no pair exceeds `largest` ranks.

        Vertices that prefer each other are paired, in several rounds: the heavy-edge matching of Karypis and
        Kumar (SIAM J. Sci. Comput. 20(1), 1998) on whole arrays. None if hardly any pair fits.
        """
        mate = np.full(self.vertices, -1, dtype=np.int64)
        row, column = self.row, self.neighbour
        size = self.size.astype(np.float64)
        fits = self.size[row] + self.size[column] <= largest
        row, column = row[fits], column[fits]
        # Small vertices first, so that sizes stay balanced; ties in random order.
        rating = self.weight[fits] / (size[row] * size[column])
        chance = random.permutation(self.vertices).astype(np.float64)
        rating *= 1 + 1e-6 * (chance[row] + chance[column]) / max(self.vertices, 1)
        for _ in range(_ROUNDS):
            free = (mate[row] < 0) & (mate[column] < 0)
            row, column, rating = row[free], column[free], rating[free]
            if not len(row):
                break
            order = np.lexsort((column, rating, row))
            last = np.flatnonzero(np.append(np.diff(row[order]) > 0, True))
            choice = np.full(self.vertices, -1, dtype=np.int64)
            choice[row[order][last]] = column[order][last]
            mutual = np.flatnonzero(choice >= 0)
            mutual = mutual[choice[choice[mutual]] == mutual]
            mate[mutual] = choice[mutual]
        alone = mate < 0
        if alone.sum() > 0.9 * self.vertices:
            return None
        head = np.where(alone, np.arange(self.vertices), np.minimum(mate, np.arange(self.vertices)))
        return np.unique(head, return_inverse=True)[1].astype(np.int64)


def prefix_sums(values: Floats) -> Floats:
    """Return the cumulative sums, beginning with 0."""
    return np.concatenate([[0.0], np.cumsum(values)])
