"""Nodes, their sockets and cores: where ranks can be placed."""

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
    """`sockets` has the cores of each socket; a core goes by the OS number of its first hardware thread.

    `granted` is the number of slots where somebody else decides it: a scheduler, which need not say on
    which cores, or the cluster that is emulated. Without it every core is a slot.
    """

    name: str
    sockets: tuple[tuple[int, ...], ...] = ()
    granted: int | None = None

    @property
    def cores(self) -> tuple[int, ...]:
        """Socket by socket; empty where they are unknown."""
        return tuple(core for socket in self.sockets for core in socket)

    @property
    def slots(self) -> int:
        return len(self.cores) if self.granted is None else self.granted


@dataclass(frozen=True)
class Topology:
    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        for name, times in Counter(node.name for node in self.nodes).items():
            if times > 1:
                raise InputError(f"node {name!r} is listed {times} times; give it once, with all its slots")

    @property
    def slots(self) -> int:
        return sum(node.slots for node in self.nodes)

    def index(self, name: str) -> int | None:
        """Where in `nodes` the node of that name is; None where there is none."""
        return next((index for index, node in enumerate(self.nodes) if node.name == name), None)


def local_topology(root: Path = Path("/"), allowed: Collection[int] | None = None) -> Topology:
    """This node, as far as this process may use it; `allowed` CPUs are those of its affinity."""
    sockets: dict[int, list[int]] = {}
    counted: set[int] = set()
    for cpu in sorted(os.sched_getaffinity(0) if allowed is None else allowed):
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        if cpu not in counted:
            # Arm's firmware may leave the package out, which makes it -1 or missing on all CPUs.
            package = integer(text(folder / "physical_package_id"))
            sockets.setdefault(-1 if package is None else package, []).append(cpu)
        counted |= members(text(folder / "thread_siblings_list"))
    return Topology((Node(host_name(root), tuple(tuple(sockets[package]) for package in sorted(sockets))),))
