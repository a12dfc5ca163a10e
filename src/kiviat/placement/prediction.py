"""What a placement makes of a program's messages: bytes between nodes, between sockets, on the worst link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kiviat.placement.graph import Integers
from kiviat.placement.layout import Layout
from kiviat.placement.target import Target
from kiviat.profile import Traffic
from kiviat.record import InputError

OBJECTIVES = ("bytes", "max-link", "hop-bytes")


@dataclass(frozen=True)
class Prediction:
    """All in bytes. `sockets` are those between sockets of a node, None where ranks are bound to none.

    `worst_link` is what a cable of the worst link carries, which is called `link`; hop-bytes are bytes times
    the cables that they cross.
    """

    nodes: int
    sockets: int | None
    worst_link: float
    link: str | None
    hop_bytes: int

    def by(self, objective: str) -> float:
        """What is to be small."""
        return {"bytes": self.nodes, "max-link": self.worst_link, "hop-bytes": self.hop_bytes}[objective]


def predicted(
    traffic: Traffic, node: Integers, target: Target, sockets: Integers | None = None
) -> Prediction:
    """`node[i]` is the node of rank i, `sockets[i]` its socket there."""
    source, destination = node[traffic.source], node[traffic.target]
    across = source != destination
    loads = target.routes.loads(source[across], destination[across], traffic.bytes[across].astype(np.float64))
    worst = int(loads.argmax()) if len(loads) else -1
    between = None
    if sockets is not None:
        apart = ~across & (sockets[traffic.source] != sockets[traffic.target])
        between = int(traffic.bytes[apart].sum())
    return Prediction(
        nodes=int(traffic.bytes[across].sum()),
        sockets=between,
        worst_link=float(loads[worst]) if worst >= 0 else 0.0,
        link=target.name_of_link(worst) if worst >= 0 and loads[worst] > 0 else None,
        hop_bytes=int((traffic.bytes * target.routes.hops[source, destination]).sum()),
    )


def of_layout(traffic: Traffic, layout: Layout, target: Target) -> Prediction:
    """Of a layout on the target's nodes."""
    if len(layout.places) != traffic.ranks:
        raise InputError(
            f"a placement of {len(layout.places)} ranks, and a matrix of {traffic.ranks}; "
            "give those of one program"
        )
    node = np.array([place.node for place in layout.places], dtype=np.int64)
    sockets = [place.socket for place in layout.places]
    bound = None if None in sockets else np.array(sockets, dtype=np.int64)
    return predicted(traffic, node, target, bound)
