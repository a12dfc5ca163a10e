"""Improves a mapping by exchanging two ranks, or a rank and a free place, as long as that gains something.

Kernighan and Lin's exchanges ("An efficient heuristic procedure for partitioning graphs", Bell System
Technical Journal 49(2), 1970) for any number of nodes and any distances between them: for every rank and
node the cost of the rank there is kept, so that the gains of one rank's exchanges with all others are found
at once.
"""

from __future__ import annotations

import numpy as np

from kiviat.placement.graph import Floats, Graph, Integers


class Swaps:
    """`node[i]` is the node of rank i; those beyond the graph's ranks are free places.

    `fixed[i, node]` is what rank i pays there besides.
    """

    def __init__(
        self, graph: Graph, node: Integers, room: Integers, distance: Floats, fixed: Floats | None = None
    ) -> None:
        self.graph, self.room, self.distance = graph, room, distance
        self.ranks = graph.vertices
        used = np.bincount(node, minlength=len(room))
        self.node = np.concatenate([node, np.repeat(np.arange(len(room)), np.maximum(room - used, 0))])
        self.there = np.zeros((len(self.node), len(room)))
        for rank in range(self.ranks):
            neighbours, weights = graph.edges_of(rank)
            self.there[rank] = weights @ distance[node[neighbours]]
        self.fixed = fixed
        if fixed is not None:
            self.there[: self.ranks] += fixed
        self._see_all()

    def _see_all(self) -> None:
        self.here = self.there[np.arange(len(self.node)), self.node]
        # Whose exchanges may gain something since they were last looked at.
        self.stale = np.ones(len(self.node), dtype=bool)

    def cost(self) -> float:
        """Of all that ranks exchange, and of what they pay besides."""
        if self.fixed is None:
            return float(self.here.sum()) / 2
        besides = float(self.fixed[np.arange(self.ranks), self.node[: self.ranks]].sum())
        return (float(self.here.sum()) + besides) / 2

    def gains(self, one: int) -> Floats:
        """Of exchanging `one` with every other."""
        at = self.node[one]
        gains: Floats = self.here[one] - self.there[one, self.node] + self.here - self.there[:, at]
        neighbours, weights = self.graph.edges_of(one) if one < self.ranks else (_NONE, _NO_WEIGHT)
        gains[neighbours] -= 2 * weights * self.distance[at, self.node[neighbours]]
        return gains

    def exchange(self, one: int, other: int) -> None:
        here, there = int(self.node[one]), int(self.node[other])
        self.move(one, there)
        self.move(other, here)

    def move(self, who: int, to: int) -> None:
        """Whatever room there is."""
        change = self.distance[to] - self.distance[self.node[who]]
        self.node[who] = to
        if who < self.ranks:
            neighbours, weights = self.graph.edges_of(who)
            self.there[neighbours] += weights[:, None] * change[None, :]
            self.here[neighbours] = self.there[neighbours, self.node[neighbours]]
            self.stale[neighbours] = True
        self.here[who] = self.there[who, to]
        self.stale[who] = True

    def settle(self) -> None:
        """After moves: the free places are where ranks have left some."""
        used = np.bincount(self.node[: self.ranks], minlength=len(self.room))
        self.node[self.ranks :] = np.repeat(np.arange(len(self.room)), self.room - used)
        self.stale[self.ranks :] = True

    def sweep(self) -> bool:
        """Each rank's best exchange, if it gains; whether any did.

        A pair is looked at again when one of both has got another place, or another neighbour.
        """
        found = False
        least = 1e-9 * max(1.0, abs(self.cost()))
        for one in np.flatnonzero(self.stale).tolist():
            self.stale[one] = False
            gains = self.gains(one)
            other = int(gains.argmax())
            if gains[other] > least:
                self.exchange(one, other)
                found = True
        return found


_NONE, _NO_WEIGHT = np.zeros(0, dtype=np.int64), np.zeros(0)


def repaired(graph: Graph, node: Integers, room: Integers, distance: Floats) -> Integers:
    """Moves ranks from nodes that have too many to where there is room, those first that lose least."""
    used = np.bincount(node, minlength=len(room))
    if (used <= room).all():
        return node
    state = Swaps(graph, node, room, distance)
    while (used > room).any():
        moving = np.flatnonzero((used > room)[state.node[: graph.vertices]])
        free = np.flatnonzero(used < room)
        loss = state.there[np.ix_(moving, free)] - state.here[moving][:, None]
        which, where = np.unravel_index(int(loss.argmin()), loss.shape)
        who, to = int(moving[which]), int(free[where])
        used[state.node[who]] -= 1
        used[to] += 1
        state.move(who, to)
    return state.node[: graph.vertices]
