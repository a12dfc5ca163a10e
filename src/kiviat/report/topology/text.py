"""A network in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kiviat.machine.modelled.networks import Arc, Network, build
from kiviat.record.units import format_value

_MOST_SOURCES = 64
_MOST_SKETCHED = 16


@dataclass(frozen=True)
class Shape:
    """A topology of a machine file, with the cost of a cable and a hop."""

    kind: str
    nodes: int
    parameters: Mapping[str, Sequence[int]]
    link_bandwidth: float | None = None
    hop_s: float | None = None


_NAMES = {
    "crossbar": "one crossbar",
    "full-mesh": "full mesh",
    "kautz": "Kautz digraph",
    "fat-tree": "fat tree",
    "altix": "dual-plane fat tree of the Altix",
}


def name(kind: str) -> str:
    """Return the name of a kind of topology, as sentences use it."""
    return _NAMES.get(kind, kind)


def described(shape: Shape) -> list[str]:
    """Return a network in words: a summary line, then counts, distances and rates."""
    return words(shape, build(shape.kind, shape.nodes, shape.parameters, "topology"))


def in_short(shape: Shape) -> str:
    """Return kind, number of nodes and parameters of a network."""
    given = ", ".join(
        f"{key} {' × '.join(map(str, values))}" for key, values in shape.parameters.items() if values
    )
    return f"{name(shape.kind)} of {shape.nodes:,} nodes" + (f" ({given})" if given else "")


def words(shape: Shape, network: Network) -> list[str]:
    """Return a summary line, then counts, distances and rates."""
    switches = len(network.divisors) - len(network.relays)
    lines = [in_short(shape)]
    if switches:
        lines.append(count_of(switches, nodes=False))
    arcs, pairs = cables(network), joined(network)
    if len(arcs) == 2 * len(pairs):
        lines.append(f"{len(pairs):,} connections, each of two directions")
    else:
        lines.append(f"{len(arcs):,} arcs of one direction")
    near, far = distances(network.nodes, arcs)
    what = ("arc" if network.direct else "cable") + ("" if far == 1 else "s")
    reach = str(near) if near == far else f"{near} to {far}"
    lines.append(f"from node to node {reach} {what}")
    if shape.link_bandwidth is not None:
        lines.append(f"a cable carries {format_value(shape.link_bandwidth, 'B/s')} each way")
    if shape.hop_s is not None:
        through = "a node that forwards" if network.direct else "a switch"
        lines.append(f"{through} costs {format_value(shape.hop_s, 's')}")
    return lines


Pair = tuple[int, int]


def sketch(shape: Shape) -> list[str]:
    """Return the network as lines: level above level, or the neighbours of each node; empty if not useful."""
    network = build(shape.kind, shape.nodes, shape.parameters, "topology")
    if network.direct:
        arcs = sorted(cables(network))
        if shape.nodes > _MOST_SKETCHED or len(arcs) == shape.nodes * (shape.nodes - 1):
            return []
        leads = {node: [f"n{end}" for start, end in arcs if start == node] for node in range(shape.nodes)}
        return [f"n{node} → {', '.join(ends)}" for node, ends in leads.items()]
    pairs = joined(network)
    rows = levels_of(network, pairs)
    lines = []
    for level, row in reversed(list(enumerate(rows))):
        here, beside = set(row), []
        for where, other in (("above", level + 1), ("below", level - 1), ("beside", level)):
            there = set(rows[other]) if 0 <= other < len(rows) else set()
            ends = [
                (one in here and other in there) + (other in here and one in there) for one, other in pairs
            ]
            if per := sum(ends) / len(row):
                beside.append(f"{per:g} {where}" if per.is_integer() else f"{per:.1f} {where} on average")
        lines.append(f"{count_of(len(row), nodes=level == 0):16}each joined to {' and '.join(beside)}")
    return lines


def count_of(count: int, nodes: bool) -> str:
    """Return a number of nodes or switches with its noun."""
    word = ("node" if count == 1 else "nodes") if nodes else ("switch" if count == 1 else "switches")
    return f"{count:,} {word}"


def cables(network: Network) -> dict[Pair, int]:
    """Return the number of cables from one vertex to another; relay points are skipped."""
    out: dict[int, list[Arc]] = {}
    for arc in network.arcs:
        out.setdefault(arc.start, []).append(arc)
    found: dict[Pair, int] = {}
    for first in network.arcs:
        if first.start in network.relays:
            continue
        before, at = first.start, first.end
        while at in network.relays:
            before, at = at, next(arc.end for arc in out[at] if arc.end != before)
        found[first.start, at] = found.get((first.start, at), 0) + first.width
    return found


def joined(network: Network) -> dict[Pair, int]:
    """Return cables() without regard to direction, each pair of vertices once."""
    found: dict[Pair, int] = {}
    for (one, other), width in cables(network).items():
        pair = (min(one, other), max(one, other))
        found[pair] = max(found.get(pair, 0), width)
    return found


def levels_of(network: Network, pairs: Mapping[Pair, int]) -> list[list[int]]:
    """Return the nodes, then the switches of each level, ordered by the positions of their children."""
    beside: dict[int, list[int]] = {}
    for one, other in pairs:
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    level = dict.fromkeys(range(network.nodes), 0)
    rows = [list(range(network.nodes))]
    while front := sorted({end for at in rows[-1] for end in beside.get(at, ()) if end not in level}):
        level.update(dict.fromkeys(front, len(rows)))
        where = {vertex: (at + 0.5) / len(rows[-1]) for at, vertex in enumerate(rows[-1])}

        def middle(vertex: int, where: Mapping[int, float] = where) -> tuple[float, int]:
            below = [where[end] for end in beside[vertex] if end in where]
            return round(sum(below) / len(below), 6), vertex

        rows.append(sorted(front, key=middle))
    return rows


def distances(nodes: int, arcs: Iterable[Pair]) -> tuple[int, int]:
    """Return the minimum and maximum number of cables between two nodes; of many nodes, a sample is used."""
    out: dict[int, list[int]] = {}
    for one, other in arcs:
        out.setdefault(one, []).append(other)
    found = [
        count
        for source in range(0, nodes, max(1, nodes // _MOST_SOURCES))
        for node, count in _hops(out, source).items()
        if node < nodes and node != source
    ]
    return min(found, default=0), max(found, default=0)


def _hops(out: Mapping[int, Sequence[int]], source: int) -> dict[int, int]:
    found = {source: 0}
    front = [source]
    while front:
        behind = []
        for at in front:
            for end in out.get(at, ()):
                if end not in found:
                    found[end] = found[at] + 1
                    behind.append(end)
        front = behind
    return found
