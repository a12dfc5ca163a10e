"""Networks of a kind that have room for so many nodes, for those who name only the kind."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isqrt, prod

from kiviat.record import InputError

# Ports of a switch where nobody says how many: those of today's InfiniBand and Slingshot switches.
_USUAL_RADIX = 64
WITH_RADIX = ("fat-tree", "dragonfly")


def fitting(kind: str, nodes: int, radix: int | None = None) -> Mapping[str, list[int]]:
    """The parameters of a network for `nodes` nodes, of switches with `radix` ports."""
    ports = _USUAL_RADIX if radix is None else radix
    if ports < 4:
        raise InputError(f"a switch of {ports} ports joins nothing; give a radix of at least 4")
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


def _cuboid(nodes: int) -> list[int]:
    """Three sides, as equal as the factors of the number allow."""
    best = [nodes, 1, 1]
    for a in range(1, round(nodes ** (1 / 3)) + 2):
        for b in range(a, isqrt(nodes // a) + 1):
            if nodes % (a * b) == 0:
                best = min(best, sorted([a, b, nodes // (a * b)], reverse=True), key=max)
    return best


def _full_fat_tree(nodes: int, ports: int) -> dict[str, list[int]]:
    """Full bisection: half of the ports of each switch but the topmost go up. As few levels as will do."""
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
    """A router has p nodes, 2p - 1 neighbours in its group and p global cables (Kim et al., ISCA 2008).

    As small routers as will do; one cable between any two groups, more where there are ports left.
    """
    for per_router in range(1, max(1, (ports + 1) // 4) + 1):
        routers = 2 * per_router
        global_cables = routers * per_router
        groups = max(2, ceil(nodes / (routers * per_router)))
        if groups <= global_cables + 1:
            cables = global_cables // (groups - 1)
            return {"groups": [groups], "routers": [routers], "nodes": [per_router], "cables": [cables]}
    raise InputError(f"{nodes} nodes are too many for a dragonfly of routers with {ports} ports")
