"""Improves a mapping by exchanging two ranks, or a rank and a free slot, as long as the cost decreases.

Kernighan and Lin's exchanges ("An efficient heuristic procedure for partitioning graphs", Bell System
Technical Journal 49(2), 1970) for any number of nodes and any distances. A table holds the cost of every
rank on every node, from which the gains of a rank's exchanges with all others follow at once.
"""

from __future__ import annotations

import numpy as np

from kiviat.placement.graph import Floats, Graph, Integers


class Swaps:
    """A mapping under improvement. `node[i]` is the node of rank i; entries beyond the ranks are free slots.

    `there[i, node]` is the cost of rank i on a node, `fixed[i, node]` the part of it that is independent of
    the other ranks; free slots cost nothing and have no rows.
    """

    def __init__(
        self, graph: Graph, node: Integers, room: Integers, distance: Floats, fixed: Floats | None = None
    ) -> None:
        self.graph, self.room, self.distance = graph, room, distance
        self.ranks = graph.vertices
        used = np.bincount(node, minlength=len(room))
        self.node = np.concatenate([node, np.repeat(np.arange(len(room)), np.maximum(room - used, 0))])
        self.there = np.zeros((self.ranks, len(room)))
        for rank in range(self.ranks):
            neighbours, weights = graph.edges_of(rank)
            self.there[rank] = weights @ distance[node[neighbours]]
        self.fixed = fixed
        if fixed is not None:
            self.there += fixed
        self._see_all()

    def _see_all(self) -> None:
        self.here = np.zeros(len(self.node))
        self.here[: self.ranks] = self.there[np.arange(self.ranks), self.node[: self.ranks]]
        # Ranks whose gains may have changed since they were last evaluated.
        self.stale = np.ones(len(self.node), dtype=bool)

    def cost(self) -> float:
        """Return the cost of the mapping, fixed costs included."""
        if self.fixed is None:
            return float(self.here.sum()) / 2
        fixed = float(self.fixed[np.arange(self.ranks), self.node[: self.ranks]].sum())
        return (float(self.here.sum()) + fixed) / 2

    def gains(self, rank: int) -> Floats:
        """Return the cost saved by exchanging `rank` with each other rank and free slot."""
        at = self.node[rank]
        own = self.here[rank] - self.there[rank, self.node] if rank < self.ranks else 0.0
        gains: Floats = own + self.here
        gains[: self.ranks] -= self.there[:, at]
        neighbours, weights = self.graph.edges_of(rank) if rank < self.ranks else (_NONE, _NO_WEIGHT)
        gains[neighbours] -= 2 * weights * self.distance[at, self.node[neighbours]]
        return gains

    def exchange(self, rank: int, other: int) -> None:
        """Exchange the nodes of two ranks."""
        here, there = int(self.node[rank]), int(self.node[other])
        self.move(rank, there)
        self.move(other, here)

    def move(self, rank: int, to: int) -> None:
        """Move a rank to a node, without regard to its room."""
        change = self.distance[to] - self.distance[self.node[rank]]
        self.node[rank] = to
        if rank < self.ranks:
            neighbours, weights = self.graph.edges_of(rank)
            self.there[neighbours] += weights[:, None] * change[None, :]
            self.here[neighbours] = self.there[neighbours, self.node[neighbours]]
            self.stale[neighbours] = True
            self.here[rank] = self.there[rank, to]
        self.stale[rank] = True

    def settle(self) -> None:
        """Recompute the free slots after moves."""
        used = np.bincount(self.node[: self.ranks], minlength=len(self.room))
        self.node[self.ranks :] = np.repeat(np.arange(len(self.room)), self.room - used)
        self.stale[self.ranks :] = True

    def sweep(self) -> bool:
        """Make each rank's best exchange if it reduces the cost; return whether any did.

        Ranks are evaluated again after they or a neighbour have moved. A node's free slots are equal, so one
        of them is evaluated for all, until ranks move.
        """
        improved = False
        threshold = 1e-9 * max(1.0, abs(self.cost()))
        in_vain: set[int] = set()  # nodes whose free slots gain nothing
        for rank in np.flatnonzero(self.stale).tolist():
            self.stale[rank] = False
            if rank >= self.ranks and int(self.node[rank]) in in_vain:
                continue
            gains = self.gains(rank)
            other = int(gains.argmax())
            if gains[other] > threshold:
                self.exchange(rank, other)
                improved = True
                in_vain.clear()
            elif rank >= self.ranks:
                in_vain.add(int(self.node[rank]))
        return improved


_NONE, _NO_WEIGHT = np.zeros(0, dtype=np.int64), np.zeros(0)


def repaired(graph: Graph, node: Integers, room: Integers, distance: Floats) -> Integers:
    """Return `node` with ranks moved from overfull nodes to free slots, cheapest moves first."""
    used = np.bincount(node, minlength=len(room))
    if (used <= room).all():
        return node
    state = Swaps(graph, node, room, distance)
    while (used > room).any():
        moving = np.flatnonzero((used > room)[state.node[: graph.vertices]])
        free = np.flatnonzero(used < room)
        loss = state.there[np.ix_(moving, free)] - state.here[moving][:, None]
        which, where = np.unravel_index(int(loss.argmin()), loss.shape)
        rank, to = int(moving[which]), int(free[where])
        used[state.node[rank]] -= 1
        used[to] += 1
        state.move(rank, to)
    return state.node[: graph.vertices]
