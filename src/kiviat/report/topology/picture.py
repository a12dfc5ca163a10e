"""A picture of a network: nodes, switches and their connections.

If there are too many to be distinguishable, a mark represents several, or some are left out, and the picture
says so.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kiviat.machine.modelled import networks
from kiviat.machine.modelled.networks import Network
from kiviat.report.html.svg import Drawing, Point
from kiviat.report.topology.levels import levels
from kiviat.report.topology.text import Pair, Shape, cables, joined, words
from kiviat.report.topology.torus import torus

_WIDTH = 720.0
_MOST_NAMED = 96
_MOST_WITH_ALL_ARCS = 40
_MOST_WITH_ALL_CABLES = 96
_MOST_IN_TITLE = 68


def picture(shape: Shape, title: str = "") -> str:
    """Return the picture as an SVG element; with a title it is a file of its own."""
    network = networks.build(shape.kind, shape.nodes, shape.parameters, "topology")
    draw = _KINDS.get(shape.kind, _levels)
    drawing = draw(shape, network)
    said = words(shape, network)
    if title:
        drawing = _titled(drawing, title, said)
    return drawing.svg(f"{title or shape.kind}: {'; '.join(said)}", alone=bool(title))


def _titled(drawing: Drawing, title: str, said: Sequence[str]) -> Drawing:
    lines = textwrap.wrap(title, _MOST_IN_TITLE)
    height = 20.0 * len(lines) + 38
    whole = Drawing(drawing.width, drawing.height + height)
    for number, line in enumerate(lines):
        whole.text((20, 28 + 20 * number), line, "title")
    whole.text((20, height - 10), said[0], "note")
    whole.parts += [f'<g transform="translate(0 {height:.0f})">', *drawing.parts, "</g>"]
    return whole


def _levels(shape: Shape, network: Network) -> Drawing:
    return levels(network, _WIDTH)


@dataclass(frozen=True)
class _Ring:
    """Positions on a circle, clockwise from the top."""

    middle: Point
    radius: float
    count: int

    def at(self, place: float, beyond: float = 0) -> Point:
        angle = 2 * math.pi * place / self.count - math.pi / 2
        reach = self.radius + beyond
        return self.middle[0] + reach * math.cos(angle), self.middle[1] + reach * math.sin(angle)

    @property
    def bottom(self) -> float:
        return self.middle[1] + self.radius + 35

    def name(self, drawing: Drawing, place: int, text: str, beyond: float) -> None:
        x, y = self.at(place, beyond)
        side = x - self.middle[0]
        anchor = "middle" if abs(side) < self.radius / 8 else "start" if side > 0 else "end"
        drawing.text((x, y + 4), text, "name", anchor)


def _ring(count: int) -> _Ring:
    """Return a circle for this number of nodes; small numbers get a small one."""
    radius = min(260.0, 120 + 12.0 * count)
    return _Ring((_WIDTH / 2, radius + 45), radius, count)


def _mark(count: int) -> float:
    """Return the radius of a node's mark, given the number of nodes on a circle."""
    return 13.0 if count <= 16 else 6.0 if count <= 64 else 4.0 if count <= 2 * _MOST_NAMED else 1.6


def _nodes(drawing: Drawing, ring: _Ring) -> None:
    """Draw all nodes, with their names if there is room."""
    radius = _mark(ring.count)
    for node in range(ring.count):
        drawing.dot(ring.at(node), radius, "node", f"n{node}")
        if ring.count <= _MOST_NAMED:
            ring.name(drawing, node, f"n{node}", radius + 8)


def _crossbar(shape: Shape, network: Network) -> Drawing:
    """Draw a switch in the middle, and nodes around it."""
    ring = _ring(network.nodes)
    drawing = Drawing(_WIDTH, ring.bottom)
    drawing.lines(((ring.middle, ring.at(node)) for node in range(network.nodes)), "cable")
    drawing.box(ring.middle, 92, 92, "switch")
    drawing.text((ring.middle[0], ring.middle[1] + 5), "switch", "on-switch", "middle")
    _nodes(drawing, ring)
    return drawing


def _circle(shape: Shape, network: Network) -> Drawing:
    """Draw nodes that are connected without switches; highlights those that n0 reaches directly."""
    arcs = cables(network)
    mutual = len(arcs) == 2 * len(joined(network))
    if network.nodes > (_MOST_WITH_ALL_CABLES if mutual else _MOST_WITH_ALL_ARCS):
        return _reached(network.nodes, arcs)
    ring = _ring(network.nodes)
    drawing = Drawing(_WIDTH, ring.bottom + 30)
    if mutual:
        pairs = sorted(joined(network))
        kind = "cable" if network.nodes <= 16 else "faint"
        drawing.lines(((ring.at(a), ring.at(b)) for a, b in pairs if a), kind)
        drawing.lines(((ring.at(a), ring.at(b)) for a, b in pairs if not a), "hot", 1.8)
    else:
        for arc in sorted(arcs, key=lambda arc: (arc[0] == 0, arc)):
            _arrow(drawing, ring, arc, "cable" if arc[0] else "hot")
    _nodes(drawing, ring)
    drawing.text((20, drawing.height - 10), "In colour: what leaves n0.", "note")
    return drawing


def _reached(nodes: int, arcs: Iterable[Pair]) -> Drawing:
    """Draw rings around n0: the nodes reached over one arc, over two, and so on."""
    drawing = Drawing(_WIDTH, 660)
    middle = _WIDTH / 2, 315.0
    out: dict[int, list[int]] = {}
    for one, other in arcs:
        out.setdefault(one, []).append(other)
    place: dict[int, float] = {0: 0.0}
    fronts = [[0]]
    while len(place) < nodes:
        found = {end: at for at in reversed(fronts[-1]) for end in out.get(at, ()) if end not in place}
        if not found:
            break
        front = sorted(found, key=lambda end: (place[found[end]], end))
        place.update({end: (number + 0.5) / len(front) for number, end in enumerate(front)})
        fronts.append(front)
    step = 295 / max(1, len(fronts) - 1)
    at: dict[int, Point] = {}
    for number, front in enumerate(fronts):
        ring = _Ring(middle, step * number, 1)
        at.update({node: ring.at(place[node]) for node in front})
    for number, (before, front) in enumerate(pairwise(fronts)):
        here = set(front)
        ends = [(at[one], at[other]) for one in before for other in sorted(set(out.get(one, ())) & here)]
        drawing.lines(ends, "cable" if number else "hot", 1 if number else 2)
    for front in fronts:
        radius = 10.0 if len(front) == 1 else max(1.8, min(7.0, 500 / len(front)))
        for node in front:
            drawing.dot(at[node], radius, "node", f"n{node}")
    counts = ", ".join(f"{len(front):,}" for front in fronts[1:])
    drawing.text((20, 646), f"Rings around n0: reached over one arc, two, and so on: {counts} nodes.", "note")
    return drawing


def _arrow(drawing: Drawing, ring: _Ring, arc: tuple[int, int], kind: str) -> None:
    """Draw an arc bent to its right, so that the two directions between nodes are distinguishable."""
    radius = _mark(ring.count) + 1
    (x1, y1), (x2, y2) = ring.at(arc[0]), ring.at(arc[1])
    bend = (x1 + x2) / 2 - (y2 - y1) * 0.16, (y1 + y2) / 2 + (x2 - x1) * 0.16
    along = math.atan2(y2 - bend[1], x2 - bend[0])
    size = 9.0 if ring.count <= _MOST_WITH_ALL_ARCS else 6.0

    def back(length: float, aside: float = 0) -> Point:
        dx, dy = math.cos(along), math.sin(along)
        return x2 - length * dx - aside * dy, y2 - length * dy + aside * dx

    drawing.curve((x1, y1), bend, back(radius + size / 2), kind, 1 if kind == "cable" else 2)
    tips = [back(radius), back(radius + size, size * 0.4), back(radius + size, -size * 0.4)]
    drawing.polygon(tips, "head" if kind == "cable" else "hot-head")


def _dragonfly(shape: Shape, network: Network) -> Drawing:
    """Draw all groups and the cables between them; beside these, one group with its routers and nodes."""
    groups, routers, per_router = (shape.parameters[name][0] for name in ("groups", "routers", "nodes"))
    drawing = Drawing(_WIDTH, 440)
    size = max(3.0, min(40.0, 110 * math.sin(math.pi / max(groups, 2))))
    outer = _Ring((210, 210), 195 - size, groups)
    inside = [_Ring(outer.at(group), size * 0.72, routers) for group in range(groups)]
    first_switch = network.nodes

    def group_of(vertex: int) -> int:
        return (vertex - first_switch) // routers

    last = first_switch + groups * routers
    between = sorted(
        (a, b)
        for a, b in joined(network)
        if first_switch <= a < last and first_switch <= b < last and group_of(a) != group_of(b)
    )
    fine = len(between) <= 400 and size > 12

    def end(vertex: int) -> Point:
        group = group_of(vertex)
        return inside[group].at((vertex - first_switch) % routers) if fine else outer.at(group)

    for group in range(groups):
        drawing.dot(outer.at(group), size, "group")
    hot = [(a, b) for a, b in between if 0 in (group_of(a), group_of(b))]
    cold = [pair for pair in between if pair not in set(hot)]
    drawing.lines(dict.fromkeys((end(a), end(b)) for a, b in cold), "faint", 0.8)
    drawing.lines(dict.fromkeys((end(a), end(b)) for a, b in hot), "hot", 1.2)
    for group in range(groups):
        if fine:
            for router in range(routers):
                drawing.dot(
                    inside[group].at(router), min(4.0, size / 7), "switch", f"group {group}, router {router}"
                )
        else:
            drawing.dot(outer.at(group), size * 0.7, "switch", f"group {group}")
    drawing.text((210, 432), f"{groups} groups; in colour: the cables of one", "note", "middle")
    _one_group(drawing, _Ring((570, 210), 86, routers), per_router)
    drawing.text((570, 432), f"one group: {routers} routers with {per_router} nodes each", "note", "middle")
    return drawing


def _one_group(drawing: Drawing, ring: _Ring, per_router: int) -> None:
    drawing.dot(ring.middle, 138, "group")
    pairs = ((a, b) for a in range(ring.count) for b in range(a + 1, ring.count))
    drawing.lines(((ring.at(a), ring.at(b)) for a, b in pairs), "faint" if ring.count > 12 else "cable")
    shown = min(per_router, 16)
    for router in range(ring.count):
        spread = 0.8 / shown
        places = [router + (node - (shown - 1) / 2) * spread for node in range(shown)]
        drawing.lines(((ring.at(router), ring.at(place, 36)) for place in places), "cable", 0.8)
        for place in places:
            drawing.dot(ring.at(place, 36), max(1.6, min(4.0, 300 / (ring.count * shown))), "node")
        drawing.dot(ring.at(router), 7 if ring.count <= 16 else 4, "switch", f"router {router}")


def _torus(shape: Shape, network: Network) -> Drawing:
    """Draw a torus; one of a single dimension is a ring."""
    dimensions = shape.parameters["dimensions"]
    return _circle(shape, network) if len(dimensions) == 1 else torus(dimensions, _WIDTH)


_KINDS: Mapping[str, Callable[[Shape, Network], Drawing]] = {
    "crossbar": _crossbar,
    "full-mesh": _circle,
    "kautz": _circle,
    "dragonfly": _dragonfly,
    "torus": _torus,
}
