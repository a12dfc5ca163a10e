"""Targets of a mapping: nodes, the number of ranks each takes, and the network between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kiviat.machine.modelled import networks
from kiviat.machine.modelled.machine import Machine
from kiviat.machine.topology import Node, Topology
from kiviat.placement.graph import Floats, Integers
from kiviat.placement.routes import Routes
from kiviat.record import InputError

_SHAPE = re.compile(r"([0-9]{1,9})x([0-9]{1,9})(?:x([0-9]{1,9}))?")
# The distance matrix of more nodes takes more than a gigabyte.
_MOST_NODES = 8192


@dataclass(frozen=True)
class Target:
    """Nodes and routes for a mapping. `known` is False if the network is unknown and taken for one switch.

    `assumed`: the numbers of cores are not read from the nodes, and may differ from the operating system's.
    """

    label: str
    topology: Topology
    routes: Routes
    known: bool
    assumed: bool = False

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.topology.nodes)

    @cached_property
    def room(self) -> Integers:
        """Number of ranks that each node takes, shape (nodes,)."""
        return np.array([node.slots for node in self.topology.nodes], dtype=np.int64)

    @cached_property
    def apart(self) -> Floats:
        """Matrix with 0 on the diagonal and 1 elsewhere, shape (nodes, nodes)."""
        return 1.0 - np.eye(self.nodes)

    @cached_property
    def hops(self) -> Floats:
        """Number of cables between nodes, [from, to]."""
        return self.routes.hops.astype(np.float64)

    def name_of_link(self, arc: int) -> str:
        """Return the name of an arc, such as "n1 → switch"."""
        here = self.routes.arcs[arc]
        return f"{self._vertex(here.start)} → {self._vertex(here.end)}"

    def _vertex(self, vertex: int) -> str:
        if vertex < self.nodes:
            return self.topology.nodes[vertex].name
        network = self.routes.network
        if vertex < network.nodes:
            return f"node {vertex + 1}"
        return "switch" if len(network.divisors) == 1 else f"switch {vertex - network.nodes + 1}"

    def refuse(self, ranks: int) -> None:
        """Raise InputError if `ranks` ranks do not fit."""
        room = int(self.room.sum())
        if ranks > room:
            raise InputError(
                f"{ranks} ranks do not fit into {self.label}, which has {room} slots on {self.nodes} nodes; "
                "give more nodes, or more slots on each"
            )


def parse_nodes(text: str) -> tuple[int, int, int | None]:
    """Return nodes, sockets of each (0 if not given) and slots of each of a text such as "4x8" or "4x2x4"."""
    match = _SHAPE.fullmatch(text.strip().lower())
    numbers = [int(number) for number in match.groups() if number] if match else []
    if not numbers or not all(numbers):
        raise InputError(
            f"--nodes {text} cannot be read; write NODESxSLOTS such as 4x8, or "
            "NODESxSOCKETSxSLOTS such as 4x2x4"
        )
    if numbers[0] > _MOST_NODES:
        raise InputError(f"--nodes {text}: {numbers[0]} nodes are too many; give at most {_MOST_NODES}")
    if len(numbers) == 2:
        return numbers[0], 0, numbers[1]
    return numbers[0], numbers[1], numbers[1] * numbers[2]


def of_shape(text: str, names: tuple[str, ...] | None = None) -> Target:
    """Return a target of equal nodes at one switch, called n1, n2, … unless `names` are given."""
    nodes, sockets, slots = parse_nodes(text)
    assert slots is not None
    topology = Topology(_equal(nodes, sockets, slots, names, "--nodes " + text))
    return replace(of_topology(f"{text}", topology), assumed=True)


def of_topology(label: str, topology: Topology) -> Target:
    """Return a target whose network is unknown: one switch joins its nodes."""
    count = len(topology.nodes)
    network = networks.build("crossbar", count, {}, label)
    return Target(label, topology, Routes(network, count), known=False)


def of_machine(
    machine: Machine, ranks: int, text: str | None = None, names: tuple[str, ...] | None = None
) -> Target:
    """Return the first nodes of a machine: the shape `text`, or as many as `ranks` ranks need."""
    per_node = machine.cores_per_node
    nodes, sockets, slots = parse_nodes(text) if text else (-(-ranks // per_node), 0, None)
    if nodes > machine.nodes:
        request = f"--nodes {text}" if text else f"{ranks} ranks"
        raise InputError(
            f"{request}: {machine.name} has {machine.nodes} nodes of {per_node} cores; "
            "give fewer, or another machine"
        )
    if slots is not None and slots > per_node:
        raise InputError(
            f"--nodes {text}: a node of {machine.name} has {per_node} cores, not {slots}; "
            f"give at most {per_node}"
        )
    topology = _named(machine.topology().nodes[:nodes], names, f"machine {machine.name}")
    if sockets:
        topology = _equal(nodes, sockets, slots or per_node, tuple(node.name for node in topology), "")
    elif slots is not None:
        topology = tuple(Node(node.name, node.sockets, slots) for node in topology)
    return Target(
        f"{nodes} nodes of {machine.name}",
        Topology(topology),
        Routes(machine.network, nodes),
        known=True,
        assumed=True,
    )


def _equal(
    nodes: int, sockets: int, slots: int, names: tuple[str, ...] | None, where: str
) -> tuple[Node, ...]:
    per_socket = slots // sockets if sockets else 0
    cores = tuple(tuple(range(at * per_socket, (at + 1) * per_socket)) for at in range(sockets))
    granted = None if sockets else slots
    return _named(tuple(Node(f"n{index}", cores, granted) for index in range(1, nodes + 1)), names, where)


def _named(nodes: tuple[Node, ...], names: tuple[str, ...] | None, where: str) -> tuple[Node, ...]:
    if names is None:
        return nodes
    if len(names) < len(nodes):
        raise InputError(f"--hosts names {len(names)} of the {len(nodes)} nodes of {where}; name all of them")
    return tuple(Node(name, node.sockets, node.granted) for name, node in zip(names, nodes, strict=False))
