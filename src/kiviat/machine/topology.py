"""Nodes with their sockets and cores, on which ranks are placed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kiviat.machine.host.description import host_name
from kiviat.machine.host.files import integer, members, text
from kiviat.record import InputError


@dataclass(frozen=True)
class Node:
    """A node. `sockets` has the cores of each socket, by the OS number of their first hardware thread.

    `granted` is the number of slots that a scheduler or an emulated cluster grants, possibly on unknown
    cores. Without it every core is a slot.
    """

    name: str
    sockets: tuple[tuple[int, ...], ...] = ()
    granted: int | None = None

    @property
    def cores(self) -> tuple[int, ...]:
        """All cores, socket by socket; empty if unknown."""
        return tuple(core for socket in self.sockets for core in socket)

    @property
    def slots(self) -> int:
        """Most ranks that the node takes: those granted by a scheduler, else one per core."""
        return len(self.cores) if self.granted is None else self.granted


@dataclass(frozen=True)
class Topology:
    """The nodes on which ranks can be placed. Raise InputError for two nodes of one name."""

    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        for name, times in Counter(node.name for node in self.nodes).items():
            if times > 1:
                raise InputError(f"node {name!r} is listed {times} times; give it once, with all its slots")

    @property
    def slots(self) -> int:
        """Most ranks that all nodes take."""
        return sum(node.slots for node in self.nodes)

    def index(self, name: str) -> int | None:
        """Return the index in `nodes` of the node called `name`, None if there is none."""
        return next((index for index, node in enumerate(self.nodes) if node.name == name), None)


def local_topology(root: Path = Path("/"), allowed: Collection[int] | None = None) -> Topology:
    """Return this node with the cores that the process may use; `allowed` defaults to its CPU affinity."""
    sockets: dict[int, list[int]] = {}
    counted: set[int] = set()
    for cpu in sorted(os.sched_getaffinity(0) if allowed is None else allowed):
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        if cpu not in counted:
            # Arm's firmware may omit the package: -1 or missing on all CPUs.
            package = integer(text(folder / "physical_package_id"))
            sockets.setdefault(-1 if package is None else package, []).append(cpu)
        counted |= members(text(folder / "thread_siblings_list"))
    return Topology((Node(host_name(root), tuple(tuple(sockets[package]) for package in sorted(sockets))),))
