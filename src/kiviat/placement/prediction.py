"""Predicts the traffic of a placement: bytes between nodes, between sockets and on the worst link."""

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
    """Predicted traffic in bytes: between nodes, and between sockets of a node, None if ranks are not bound.

    `worst_link` is the load of a cable of the busiest link, whose name is `link`; `hop_bytes` are bytes
    times the number of cables that they cross.
    """

    nodes: int
    sockets: int | None
    worst_link: float
    link: str | None
    hop_bytes: int

    def by(self, objective: str) -> float:
        """Return the value that `objective`, one of OBJECTIVES, minimises."""
        return {"bytes": self.nodes, "max-link": self.worst_link, "hop-bytes": self.hop_bytes}[objective]


def predicted(
    traffic: Traffic, node: Integers, target: Target, sockets: Integers | None = None
) -> Prediction:
    """Return the prediction of a mapping: `node[i]` is the node of rank i, `sockets[i]` its socket there."""
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
    """Return the prediction of a layout on the nodes of `target`; InputError for another number of ranks."""
    if len(layout.places) != traffic.ranks:
        raise InputError(
            f"the placement has {len(layout.places)} ranks, but the traffic matrix has {traffic.ranks}; "
            "give a placement and a matrix of the same program"
        )
    node = np.array([place.node for place in layout.places], dtype=np.int64)
    sockets = [place.socket for place in layout.places]
    bound = None if None in sockets else np.array(sockets, dtype=np.int64)
    return predicted(traffic, node, target, bound)
