"""Routes through networks, computed as native/simgrid/platform.cpp does, and their properties."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from functools import cache
from itertools import chain, pairwise

from kiviat.machine.modelled.networks import Arc, Network


class Routes:
    def __init__(self, network: Network) -> None:
        self.network = network
        self._out: list[list[Arc]] = [[] for _ in range(network.vertices)]
        self._into: list[list[int]] = [[] for _ in range(network.vertices)]
        for arc in network.arcs:
            self._out[arc.start].append(arc)
            self._into[arc.end].append(arc.start)
        self.left = cache(self._left)

    def _left(self, target: int) -> list[int]:
        """Return for every vertex its distance to `target` in arcs."""
        found = [-1] * self.network.vertices
        found[target] = 0
        front = deque([target])
        while front:
            at = front.popleft()
            for start in self._into[at]:
                if found[start] < 0:
                    found[start] = found[at] + 1
                    front.append(start)
        return found

    def way(self, source: int, target: int) -> list[Arc]:
        left, at, arcs = self.left(target), source, []
        nodes = self.network.nodes
        while at != target:
            onward = [arc for arc in self._out[at] if 0 <= left[arc.end] < left[at]]
            divisor = self.network.divisors[at - nodes] if at >= nodes else self.network.node_divisor
            arcs.append(onward[target // divisor % len(onward) if divisor else 0])
            at = arcs[-1].end
        return arcs

    def hops(self, source: int, target: int) -> int:
        """Return how often a message is forwarded; each time costs the latency `topology.hop`."""
        return sum(self.network.hop_costs(arc) for arc in self.way(source, target))

    def shortest(self, source: int, target: int) -> int:
        """Return the number of shortest paths."""
        left = self.left(target)

        def count(at: int) -> int:
            return at == target or sum(
                count(arc.end) for arc in self._out[at] if left[arc.end] == left[at] - 1
            )

        return count(source)

    def load(self, pairs: Iterable[tuple[int, int]]) -> Counter[Arc]:
        """Return the number of messages that cross each arc, divided by the number of its cables."""
        return Counter(arc for source, target in pairs for arc in self.way(source, target))


def all_pairs(nodes: int) -> list[tuple[int, int]]:
    return [(one, other) for one in range(nodes) for other in range(nodes) if one != other]


def bisection(network: Network, half: Collection[int]) -> int:
    """Return the maximum flow from the given nodes to all others, in cables (Dinic's algorithm)."""
    source, sink = network.vertices, network.vertices + 1
    room = Counter[tuple[int, int]]()
    for arc in network.arcs:
        room[arc.start, arc.end] += arc.width
    endless = sum(room.values())
    for node in range(network.nodes):
        room[(source, node) if node in half else (node, sink)] = endless
    beside: dict[int, set[int]] = {}
    for start, end in list(room):
        beside.setdefault(start, set()).add(end)
        beside.setdefault(end, set()).add(start)
    flow = 0
    while True:
        level = {source: 0}
        front = deque([source])
        while front:
            at = front.popleft()
            for end in beside[at]:
                if end not in level and room[at, end]:
                    level[end] = level[at] + 1
                    front.append(end)
        if sink not in level:
            return flow
        untried = {vertex: iter(ends) for vertex, ends in beside.items()}
        path = [source]
        while path:
            at = path[-1]
            if at == sink:
                steps = list(pairwise(path))
                least = min(room[step] for step in steps)
                flow += least
                for one, other in steps:
                    room[one, other] -= least
                    room[other, one] += least
                path = [source]
                continue
            following = next((e for e in untried[at] if level.get(e) == level[at] + 1 and room[at, e]), None)
            if following is None:
                level[path.pop()] = -1
            else:
                untried[at] = chain((following,), untried[at])
                path.append(following)
