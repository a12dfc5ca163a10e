"""Default parameters of a network of a given kind and number of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isqrt, prod

from kiviat.machine.modelled.networks import Parameters, capacity
from kiviat.record import InputError

# Default number of ports of a switch: that of current InfiniBand and Slingshot switches.
_USUAL_RADIX = 64
WITH_RADIX = ("fat-tree", "dragonfly")


def fitting(
    kind: str, nodes: int, radix: int | None = None, present: Parameters | None = None
) -> Mapping[str, list[int]]:
    """Return the parameters of a network for `nodes` nodes with switches of `radix` ports.

    A tree or dragonfly with `present` parameters keeps them; if it is too small, it gets more branches at the
    top, or more groups. Raise InputError if no network fits.
    """
    if present is not None and kind in WITH_RADIX:
        return _grown(kind, nodes, present)
    ports = _USUAL_RADIX if radix is None else radix
    if ports < 4:
        raise InputError(f"a switch of {ports} ports is too small; give a radix of at least 4")
    if kind == "torus":
        return {"dimensions": _cuboid(nodes)}
    if kind == "fat-tree":
        return _full_fat_tree(nodes, ports)
    if kind == "dragonfly":
        return _balanced_dragonfly(nodes, ports)
    if kind == "kautz":
        for degree in range(2, 65):
            for diameter in range(2, 12):
                if degree**diameter + degree ** (diameter - 1) == nodes:
                    return {"degree": [degree], "diameter": [diameter]}
        raise InputError(
            f"no kautz network has {nodes} nodes: give d^k + d^(k-1) of them, such as 12, 36 or 972"
        )
    return {}


def _grown(kind: str, nodes: int, present: Parameters) -> dict[str, list[int]]:
    parameters = {name: list(values) for name, values in present.items()}
    most = capacity(kind, present)
    if most is not None and nodes > most:
        branches = parameters["down" if kind == "fat-tree" else "groups"]
        branches[-1] = ceil(nodes / (most // branches[-1]))
    return parameters


def _cuboid(nodes: int) -> list[int]:
    """Return the three most equal factors of `nodes`."""
    best = [nodes, 1, 1]
    for a in range(1, round(nodes ** (1 / 3)) + 2):
        for b in range(a, isqrt(nodes // a) + 1):
            if nodes % (a * b) == 0:
                best = min(best, sorted([a, b, nodes // (a * b)], reverse=True), key=max)
    return best


def _full_fat_tree(nodes: int, ports: int) -> dict[str, list[int]]:
    """Return the smallest fat tree of full bisection: half of the ports lead up, except at the top."""
    half = ports // 2
    down = [min(ports, nodes)]
    while prod(down) < nodes:
        down = [half] * len(down) + [ports]
        if len(down) > 4:
            raise InputError(f"{nodes} nodes are too many for a fat-tree of switches with {ports} ports")
    down[-1] = max(1, ceil(nodes / prod(down[:-1])))
    levels = len(down)
    return {"down": down, "up": [1] + [half] * (levels - 1), "cables": [1] * levels, "planes": [1]}


def _balanced_dragonfly(nodes: int, ports: int) -> dict[str, list[int]]:
    """Return a balanced dragonfly: a router has p nodes, 2p - 1 neighbours in its group and p global cables.

    (Kim et al., ISCA 2008.) Routers are as small as possible; two groups share a cable, more if ports remain.
    """
    for per_router in range(1, max(1, (ports + 1) // 4) + 1):
        routers = 2 * per_router
        global_cables = routers * per_router
        groups = max(2, ceil(nodes / (routers * per_router)))
        if groups <= global_cables + 1:
            cables = global_cables // (groups - 1)
            return {"groups": [groups], "routers": [routers], "nodes": [per_router], "cables": [cables]}
    raise InputError(f"{nodes} nodes are too many for a dragonfly of routers with {ports} ports")
