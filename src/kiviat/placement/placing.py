"""Places ranks on the nodes of a topology by a policy.

    blocked    fills a node, then the next
    cyclic     one rank to each node in turn
    plane:K    K ranks to each node in turn
    file:PATH  as listed in a file (kiviat.placement.placefile)

`per_node` ranks go to each node, on as many of the first nodes as needed. Without it a node takes as many
ranks as it has slots, and cyclic and plane use all nodes.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from kiviat.machine.topology import Topology
from kiviat.placement import policies
from kiviat.placement.binding import bound
from kiviat.placement.layout import Layout, Place
from kiviat.placement.placefile import read_places
from kiviat.record import InputError
from kiviat.record.plain import whole_number
from kiviat.record.units import counted

_POLICIES = "blocked, cyclic, plane:K or file:PATH"


def place(
    topology: Topology,
    ranks: int,
    policy: str,
    per_node: int | None = None,
    binding: str | None = None,
    oversubscribe: bool = False,
) -> Layout:
    """Return the layout of `ranks` ranks. Raise InputError if they do not fit or the options are wrong.

    `oversubscribe` allows more ranks on a node than it has slots.
    """
    if ranks < 1:
        raise InputError(f"{ranks} ranks cannot be placed; give at least 1")
    kind, _, argument = policy.partition(":")
    if kind == "file":
        if per_node is not None:
            raise InputError(f"--place {policy} determines the ranks per node; leave --ppn {per_node} out")
        if not argument:
            raise InputError("--place file: lacks the file; write file:PATH")
        places = read_places(topology, Path(argument), ranks, oversubscribe)
        if places[0].core is not None:
            if binding is not None:
                raise InputError(f"{argument} gives each rank a core; leave --bind {binding} out")
            return Layout(policy, topology, tuple(places), "file")
        nodes = [where.node for where in places]
    else:
        size = _plane_size(policy)
        room = _room(topology, ranks, per_node, oversubscribe)
        nodes = policies.blocked(room, ranks) if size is None else policies.plane(room, ranks, size)
    places = bound(topology, nodes, binding, oversubscribe) if binding else [Place(node) for node in nodes]
    return Layout(policy, topology, tuple(places), binding)


def _plane_size(policy: str) -> int | None:
    """Return the number of ranks that a node gets in each turn; None if it is filled at once."""
    kind, colon, argument = policy.partition(":")
    if policy in ("blocked", "cyclic"):
        return None if policy == "blocked" else 1
    if kind == "plane":
        size = whole_number(argument)
        if not size:
            raise InputError(f"--place {policy}: a plane has at least 1 rank; write plane:K such as plane:2")
        return size
    near = get_close_matches(kind, ("blocked", "cyclic", "plane", "file"), n=1)
    hint = f"; did you mean {near[0]!r}?" if near and not colon else f"; give {_POLICIES}"
    raise InputError(f"--place {policy!r} is not a placement{hint}")


def _room(topology: Topology, ranks: int, per_node: int | None, oversubscribe: bool) -> list[int]:
    """Return the number of ranks that each node takes, at least `ranks` in total."""
    room = [node.slots for node in topology.nodes]
    if per_node is not None:
        if per_node < 1:
            raise InputError(f"--ppn {per_node}: a node gets at least 1 rank; give 1 or more")
        wanted = -(-ranks // per_node)
        for node in topology.nodes[:wanted]:
            if per_node > node.slots and not oversubscribe:
                raise InputError(
                    f"--ppn {per_node}: {node.name} has {node.slots} slots; give at most {node.slots}"
                )
        if wanted > len(room) and not oversubscribe:
            raise InputError(
                f"{ranks} ranks, {per_node} on each node, need {wanted} nodes, not {len(room)}; "
                f"take at most {counted(per_node * len(room), 'rank')}"
            )
        room = [per_node] * min(wanted, len(room))
    if not sum(room):
        raise InputError(f"{ranks} ranks do not fit: the {len(room)} nodes have no slots; name others")
    if ranks > sum(room):
        if not oversubscribe:
            raise InputError(
                f"{ranks} ranks do not fit into {sum(room)} slots on {len(room)} nodes; take fewer ranks"
            )
        room = policies.crowded(room, ranks)
    return room
