"""Routes between nodes: the arcs that each pair of nodes uses, and their loads.

Routing is the simulator's (native/simgrid/platform.cpp, machine.modelled.networks): shortest paths, and
(number of the receiving node / divisor) selects among several.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from kiviat.machine.modelled.networks import Arc, Network
from kiviat.record import InputError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Destinations processed together, so that their tables stay in the cache.
_TOGETHER = 64
_FAR = np.int32(2**30)


class Routes:
    """Routes between the first `nodes` nodes of a network."""

    def __init__(self, network: Network, nodes: int) -> None:
        self.network = network
        self.nodes = nodes
        self._arcs = sorted(
            network.arcs, key=lambda arc: arc.start
        )  # stable: routing depends on the order of arcs
        self._start = np.array([arc.start for arc in self._arcs], dtype=np.int64)
        self._end = np.array([arc.end for arc in self._arcs], dtype=np.int64)
        # Relays of long cables add no hop (kiviat.machine.modelled.networks).
        passed = np.isin(self._end, sorted(network.relays))
        self._costs = (~passed).astype(np.int64)
        self._width = np.array([arc.width for arc in self._arcs], dtype=np.float64)

    @property
    def arcs(self) -> list[Arc]:
        """The arcs, in the order of `loads`."""
        return self._arcs

    @cached_property
    def _tables(self) -> tuple[NDArray[np.int32], Integers]:
        """Return the next arc from a vertex towards a node, and the number of cables between nodes.

        The first is indexed [node, vertex], with -1 at the node itself, the second [from, to].
        """
        following = np.full((self.nodes, self.network.vertices), -1, dtype=np.int32)
        hops = np.zeros((self.nodes, self.nodes), dtype=np.int64)
        if not self._arcs:
            return following, hops
        if self.one_switch:
            out = self._start < self.network.nodes
            following[:, self._start[out]] = np.flatnonzero(out)
            following[np.arange(self.nodes), np.arange(self.nodes)] = -1
            into = np.flatnonzero(~out & (self._end < self.nodes))
            following[self._end[into], self.network.nodes] = into
            return following, 2 - 2 * np.eye(self.nodes, dtype=np.int64)
        leaving, first = np.unique(self._start, return_index=True)
        group = np.searchsorted(leaving, self._start)
        divisors = [self.network.node_divisor] * self.network.nodes + self.network.divisors
        divisor = np.array(divisors, dtype=np.int64)[leaving]
        for begin in range(0, self.nodes, _TOGETHER):
            to = np.arange(begin, min(begin + _TOGETHER, self.nodes))
            left = self._distances(to, leaving, first)
            onward = left[:, self._end] < left[:, self._start]
            # Select, among the arcs of a vertex that shorten the distance, the one that routing prescribes.
            counted = np.cumsum(onward, axis=1, dtype=np.int32)
            before = counted[:, first] - onward[:, first]
            choices = np.add.reduceat(onward, first, axis=1, dtype=np.int32)
            wanted = np.where(divisor > 0, to[:, None] // np.maximum(divisor, 1), 0) % np.maximum(choices, 1)
            row, arc = np.nonzero(onward & (counted - 1 == (before + wanted)[:, group]))
            following[to[row], self._start[arc]] = arc
            hops[:, to] = left[:, : self.nodes].T
            if self.network.relays:
                hops[:, to] -= self._passed_through(following[to], left)[:, : self.nodes].T
        return following, hops

    @property
    def one_switch(self) -> bool:
        """True if each node has one cable, to the only switch: routes are then unique."""
        network = self.network
        ends = Counter((arc.start, arc.end) for arc in self._arcs)
        switch = network.nodes
        both = {pair for node in range(switch) for pair in ((node, switch), (switch, node))}
        return len(network.divisors) == 1 and set(ends) == both and max(ends.values()) == 1

    def _passed_through(self, following: NDArray[np.int32], left: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the number of arcs without cost on the route from each vertex."""
        free = np.zeros_like(left)
        for distance in range(1, int(left[left < _FAR].max(initial=0)) + 1):
            row, vertex = np.nonzero(left == distance)
            arc = following[row, vertex]
            free[row, vertex] = free[row, self._end[arc]] + 1 - self._costs[arc]
        return free

    def _distances(self, to: Integers, leaving: Integers, first: Integers) -> NDArray[np.int32]:
        """Return the distances in arcs, [to, vertex]."""
        left = np.full((len(to), self.network.vertices), _FAR, dtype=np.int32)
        left[np.arange(len(to)), to] = 0
        while True:
            shorter = np.minimum.reduceat(left[:, self._end], first, axis=1) + 1
            current = left[:, leaving]
            if (shorter >= current).all():
                return left
            left[:, leaving] = np.minimum(current, shorter)

    @property
    def _next(self) -> NDArray[np.int32]:
        return self._tables[0]

    @property
    def hops(self) -> Integers:
        """Number of cables between nodes, [from, to]; InputError if there is no route."""
        hops = self._tables[1]
        if (hops >= _FAR).any():
            at, to = (int(index) for index in np.argwhere(hops >= _FAR)[0])
            self._refuse(at, to)
        return hops

    @property
    def symmetric(self) -> bool:
        """True if each pair of nodes is as far apart in both directions."""
        return bool((self.hops == self.hops.T).all())

    def crossings(self, source: Integers, target: Integers) -> tuple[Integers, Integers]:
        """Return index of the pair and arc, for each arc that a pair (source[i], target[i]) of nodes uses."""
        pair = np.flatnonzero(source != target)
        at, to = source[pair], target[pair]
        pairs, arcs = [], []
        while len(pair):
            arc = self._next[to, at].astype(np.int64)
            if (lost := np.flatnonzero(arc < 0)).size:
                self._refuse(int(at[lost[0]]), int(to[lost[0]]))
            pairs.append(pair)
            arcs.append(arc)
            at = self._end[arc]
            on = at != to
            pair, at, to = pair[on], at[on], to[on]
        empty = np.zeros(0, dtype=np.int64)
        return (np.concatenate(pairs), np.concatenate(arcs)) if pairs else (empty, empty)

    @property
    def width(self) -> Floats:
        """Parallel cables of each arc."""
        return self._width

    def loads(self, source: Integers, target: Integers, bytes: Floats) -> Floats:
        """Return the bytes on a cable of each arc, if node `source[i]` sends `bytes[i]` to `target[i]`."""
        pair, arc = self.crossings(source, target)
        return np.bincount(arc, weights=bytes[pair], minlength=len(self._arcs)) / self._width

    def _vertex(self, vertex: int) -> str:
        nodes = self.network.nodes
        return f"node {vertex + 1}" if vertex < nodes else f"switch {vertex - nodes + 1}"

    def _refuse(self, at: int, to: int) -> NoReturn:
        raise InputError(
            f"there is no route from {self._vertex(at)} to {self._vertex(to)} in this network; "
            "correct the topology of the machine file"
        )
