"""Binding of ranks to cores of their nodes.

In "co-processor" mode two ranks of a node use different sockets, in "virtual-processor" mode the same one:
Narayanaswamy, Balaji and Feng, "Impact of Network Sharing in Multi-core Architectures" (2008), section 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from kiviat.machine.topology import Node, Topology
from kiviat.placement.layout import Place
from kiviat.record import InputError

BINDINGS = ("core", "co-processor", "virtual-processor")


def bound(topology: Topology, nodes: Sequence[int], binding: str, oversubscribe: bool) -> list[Place]:
    """Return the place of each rank; the ranks of a node take its cores in the order of `binding`.

    `nodes[i]` is the node of rank i. Raise InputError if a node has more ranks than cores, unless
    `oversubscribe`, which assigns cores again from the first.
    """
    orders = {index: cores_in_order(topology.nodes[index], binding) for index in sorted(set(nodes))}
    taken = dict.fromkeys(orders, 0)
    places = []
    for index in nodes:
        order = orders[index]
        if taken[index] >= len(order) and not oversubscribe:
            raise InputError(
                f"--bind {binding}: {topology.nodes[index].name} has {len(order)} cores, "
                "too few for its ranks; place fewer ranks on it, or leave --bind out"
            )
        socket, core = order[taken[index] % len(order)]
        taken[index] += 1
        places.append(Place(index, socket, core))
    return places


def cores_in_order(node: Node, binding: str) -> list[tuple[int, int]]:
    """Return (socket, core) as `binding` orders them: by number, alternating sockets, or socket by socket."""
    if not node.cores:
        raise InputError(f"--bind {binding}: the cores of {node.name} are unknown; leave --bind out")
    by_socket = [[(index, core) for core in cores] for index, cores in enumerate(node.sockets) if cores]
    in_order = [place for socket in by_socket for place in socket]
    if binding == "virtual-processor":
        return in_order
    if binding == "core":
        return sorted(in_order, key=lambda place: place[1])
    if binding != "co-processor":
        raise InputError(f"unknown --bind {binding!r}; give one of {', '.join(BINDINGS)}")
    if len(by_socket) == 1:
        raise InputError(
            f"--bind co-processor needs several sockets on a node, and {node.name} has one; "
            "give core or virtual-processor"
        )
    return [place for turn in zip_longest(*by_socket) for place in turn if place is not None]
