"""Layouts: the node, socket and core of each rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kiviat.machine.topology import Node, Topology


@dataclass(frozen=True)
class Place:
    """Indices of a node and its socket, and the OS number of a core; without a core the rank is not bound."""

    node: int
    socket: int | None = None
    core: int | None = None


@dataclass(frozen=True)
class Layout:
    """The place of each rank. `binding` is the requested mode, or "file" if a file names the cores."""

    policy: str
    topology: Topology
    places: tuple[Place, ...]
    binding: str | None = None

    def node_of(self, rank: int) -> int:
        """Return the index of a rank's node."""
        return self.places[rank].node

    def ranks_of(self, node: int) -> tuple[int, ...]:
        """Return the ranks of a node in ascending order."""
        return self._ranks[node]

    def ranks_per_node(self) -> tuple[int, ...]:
        """Return the number of ranks of every node of the topology."""
        return tuple(len(ranks) for ranks in self._ranks)

    @property
    def used(self) -> tuple[Node, ...]:
        """The nodes that have ranks."""
        nodes = zip(self.topology.nodes, self._ranks, strict=True)
        return tuple(node for node, ranks in nodes if ranks)

    @property
    def crowded(self) -> bool:
        """True if a node has more ranks than slots."""
        nodes = zip(self.topology.nodes, self._ranks, strict=True)
        return any(len(ranks) > node.slots for node, ranks in nodes)

    def lines(self) -> list[str]:
        """Return the lines of a placement file (kiviat.placement.placefile)."""
        lines = []
        for place in self.places:
            node = self.topology.nodes[place.node]
            if place.socket is None or place.core is None:
                lines.append(node.name)
            else:
                lines.append(f"{node.name} {place.socket} {node.sockets[place.socket].index(place.core)}")
        return lines

    @cached_property
    def _ranks(self) -> tuple[tuple[int, ...], ...]:
        by_node: list[list[int]] = [[] for _ in self.topology.nodes]
        for rank, place in enumerate(self.places):
            by_node[place.node].append(rank)
        return tuple(map(tuple, by_node))
