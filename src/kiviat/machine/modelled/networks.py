"""Topologies: nodes, switches and the arcs between them.

Vertices are numbered, all nodes first, then the switches. An arc is one direction of a cable; a message takes
the way of fewest arcs, and where there are several, divisors of the vertices choose: of c arcs that lead on,
a vertex with divisor d takes number (receiving node / d) mod c, or the first where d is 0
(native/simgrid/platform.cpp).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from math import prod

from kiviat.record import InputError


@dataclass(frozen=True)
class Arc:
    """From one vertex to another; `width` cables side by side."""

    start: int
    end: int
    width: int = 1


@dataclass
class Network:
    """`divisors` are those of the switches, `node_divisor` that of every node.

    `relays` are switches that are none: points of a long cable, which make a way over it longer, so that
    messages avoid it, and cost nothing.
    """

    nodes: int
    node_divisor: int = 1
    divisors: list[int] = field(default_factory=list)
    arcs: list[Arc] = field(default_factory=list)
    relays: set[int] = field(default_factory=set)

    @property
    def vertices(self) -> int:
        return self.nodes + len(self.divisors)

    @property
    def direct(self) -> bool:
        """Whether nodes are joined without switches, and forward messages themselves."""
        return not self.divisors

    def switch(self, divisor: int = 1) -> int:
        if len(self.divisors) == _MOST:
            raise _TooLarge
        self.divisors.append(divisor)
        return self.vertices - 1

    def hop_costs(self, arc: Arc) -> bool:
        """Whether what `arc` leaves forwards the message: a switch, or a node where there are no switches."""
        return self.direct or (arc.start >= self.nodes and arc.start not in self.relays)

    def both(self, one: int, other: int, width: int = 1) -> None:
        if len(self.arcs) >= _MOST_ARCS:
            raise _TooLarge
        self.arcs += [Arc(one, other, width), Arc(other, one, width)]

    def long_cable(self, one: int, other: int, width: int = 1) -> None:
        """Counts as three arcs, and costs as one."""
        ends = [one, self.switch(), self.switch(), other]
        self.relays |= {ends[1], ends[2]}
        for start, end in pairwise(ends):
            self.both(start, end, width)

    def hops(self, source: int) -> list[int]:
        """Arcs on the shortest way from a vertex to every other; -1 where there is none."""
        out: list[list[int]] = [[] for _ in range(self.vertices)]
        for arc in self.arcs:
            out[arc.start].append(arc.end)
        found = [-1] * self.vertices
        found[source] = 0
        front = deque([source])
        while front:
            at = front.popleft()
            for end in out[at]:
                if found[end] < 0:
                    found[end] = found[at] + 1
                    front.append(end)
        return found


Parameters = Mapping[str, Sequence[int]]

# Several times what the largest machines have: who writes more has made a slip, and would wait for hours.
_MOST, _MOST_ARCS = 1_000_000, 8_000_000  # of nodes, and of switches; of cables in each direction
# Parameters of which there is one for each level or axis.
_LISTED = {("fat-tree", "down"), ("fat-tree", "up"), ("fat-tree", "cables"), ("torus", "dimensions")}


class _TooLarge(Exception):
    pass


def build(kind: str, nodes: int, parameters: Parameters, where: str) -> Network:
    """The network of that kind for so many nodes; `parameters` are whole numbers, or lists of them."""
    if kind not in KINDS:
        raise InputError(f"{where} is {kind!r}; give one of {', '.join(KINDS)}")
    wanted, builder = KINDS[kind]
    for name in parameters:
        if name not in wanted:
            raise InputError(f"a {kind} has no {name!r} in {where}; it has {', '.join(wanted) or 'nothing'}")
    for name in wanted:
        if name not in parameters:
            raise InputError(f"{where} lacks {name!r}, which a {kind} needs")
        given = parameters[name]
        if not given or not all(1 <= number <= _MOST for number in given):
            raise InputError(f"{name} is {list(given)} in {where}; give whole numbers from 1 to {_MOST}")
        if len(given) > 1 and (kind, name) not in _LISTED:
            raise InputError(f"{name} is {list(given)} in {where}; a {kind} has one such number")
    too_large = InputError(
        f"{where}: this {kind} of {nodes} nodes has more than {_MOST} nodes or switches, or "
        f"{_MOST_ARCS // 2} cables; give a smaller one"
    )
    if nodes > _MOST:
        raise too_large
    try:
        network = builder(nodes, parameters, where)
    except _TooLarge:
        raise too_large from None
    for arc in network.arcs:
        if arc.start == arc.end:
            raise InputError(f"{where}: {kind} of {nodes} nodes has an arc from {arc.start} to itself")
    return network


def room(kind: str, parameters: Parameters) -> int | None:
    """How many nodes a network with these parameters has room for; None where it grows with them."""
    if kind == "fat-tree":
        return prod(parameters["down"])
    if kind == "torus":
        return prod(parameters["dimensions"])
    if kind == "kautz":
        return _kautz_nodes(parameters)
    if kind == "dragonfly":
        groups, routers, nodes, _ = (parameters[name][0] for name in KINDS[kind][0])
        return groups * routers * nodes
    if kind == "altix":
        per_brick, groups, boxes = (parameters[name][0] for name in KINDS[kind][0])
        return per_brick * 16 * groups * boxes
    return None


def _crossbar(nodes: int, parameters: Parameters, where: str) -> Network:
    network = Network(nodes)
    switch = network.switch()
    for node in range(nodes):
        network.both(node, switch)
    return network


def _full_mesh(nodes: int, parameters: Parameters, where: str) -> Network:
    if nodes * (nodes - 1) > _MOST_ARCS:
        raise _TooLarge
    network = Network(nodes, node_divisor=0)
    network.arcs = [Arc(one, other) for one in range(nodes) for other in range(nodes) if one != other]
    return network


def _kautz_nodes(parameters: Parameters) -> int:
    degree, diameter = parameters["degree"][0], min(parameters["diameter"][0], 64)  # as good as without end
    return int(degree**diameter + degree ** (diameter - 1))


def _kautz(nodes: int, parameters: Parameters, where: str) -> Network:
    """Imase and Itoh's numbering: x has arcs to (-degree * x - j) mod N for j = 1 to degree."""
    _same(nodes, _kautz_nodes(parameters), "kautz", where)
    degree = parameters["degree"][0]
    if nodes * degree > _MOST_ARCS:
        raise _TooLarge
    network = Network(nodes, node_divisor=0)
    network.arcs = [Arc(x, (-degree * x - j) % nodes) for x in range(nodes) for j in range(1, degree + 1)]
    return network


def _torus(nodes: int, parameters: Parameters, where: str) -> Network:
    """Arcs of the first dimension come first, so that messages go in dimension order."""
    dimensions = parameters["dimensions"]
    _same(nodes, prod(dimensions), "torus", where)
    network = Network(nodes, node_divisor=0)
    for node, at in enumerate(product(*map(range, dimensions))):
        for axis, length in enumerate(dimensions):
            for step in (1, -1) if length > 2 else (1,) if length == 2 else ():
                moved = [*at]
                moved[axis] = (at[axis] + step) % length
                index = 0
                for coordinate, size in zip(moved, dimensions, strict=True):
                    index = index * size + coordinate
                network.arcs.append(Arc(node, index))
    return network


def _fat_tree(nodes: int, parameters: Parameters, where: str) -> Network:
    """An extended generalised fat tree (Öhring et al., IPPS 1995): `down` children of a switch of each level,
    `up` parents of what is below, `cables` side by side; the lowest level first.

    `planes` trees side by side share the nodes.
    """
    down, up, cables = parameters["down"], parameters["up"], parameters["cables"]
    levels = len(down)
    if len(up) != levels or len(cables) != levels:
        raise InputError(f"{where}: down, up and cables of a fat-tree have one number for each level")
    if nodes > prod(down):
        raise InputError(f"{where}: {nodes} nodes do not fit into a fat-tree of {prod(down)}")
    network = Network(nodes)
    planes = parameters["planes"][0]
    for _ in range(planes):
        _tree(network, nodes, planes, down, up, cables)
    return network


def _tree(
    network: Network, nodes: int, planes: int, down: Sequence[int], up: Sequence[int], cables: Sequence[int]
) -> None:
    """A switch of level l is known by which subtree it tops and by which of the parallel ones it is.

    Going up, (receiving node / parallel choices made below) mod parents is D-mod-k routing (Zahavi et al.,
    "Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns", Concurrency 22(2),
    2010): the nodes below a switch are spread over all ways down to it.
    """
    below: dict[tuple[int, int], int] = {(node, 0): node for node in range(nodes)}
    width = 1
    for children, parents, side_by_side in zip(down, up, cables, strict=True):
        here: dict[tuple[int, int], int] = {}
        for (subtree, copy), vertex in sorted(below.items()):
            for parent in range(parents):
                key = (subtree // children, copy + width * parent)
                if key not in here:
                    here[key] = network.switch(planes * width * parents)
                network.both(vertex, here[key], side_by_side)
        below = here
        width *= parents


def _dragonfly(nodes: int, parameters: Parameters, where: str) -> Network:
    """Groups of routers joined all to all, and groups joined all to all (Kim et al., ISCA 2008).

    The global cables of a group are dealt to its routers in turn, to the groups that follow it in order: the
    "relative" arrangement (Hastings et al., "Comparing global link arrangements for dragonfly networks",
    CLUSTER 2015). Routes are minimal: as many local hops as it takes, and one global one.
    """
    groups, routers, per_router, cables = (parameters[name][0] for name in KINDS["dragonfly"][0])
    if nodes > groups * routers * per_router:
        raise InputError(
            f"{where}: {nodes} nodes do not fit into a dragonfly of {groups * routers * per_router}"
        )
    network = Network(nodes)
    switches = [[network.switch() for _ in range(routers)] for _ in range(groups)]
    for node in range(nodes):
        network.both(node, switches[node // (routers * per_router)][node // per_router % routers])
    for group in switches:
        for i, one in enumerate(group):
            for other in group[i + 1 :]:
                network.both(one, other)
    for cable in range(cables):
        for one in range(groups):
            for other in range(one + 1, groups):
                # The group k places further on has the k-th global port; from there we are groups - k away.
                near, far = (
                    switches[group][(cable * (groups - 1) + (peer - group) % groups - 1) % routers]
                    for group, peer in ((one, other), (other, one))
                )
                # Long: two global hops would be fewer arcs than local, global, local, but nobody goes so.
                network.long_cable(near, far)
    return network


def _altix(nodes: int, parameters: Parameters, where: str) -> Network:
    """Two planes of 8-port routers (SGI Altix 3700 BX2 User's Guide, 007-4377-002, ch. 3).

    Stated: a C-brick has a router of each plane; a box of 512 processors has 48 R-bricks, 32 joined to the 64
    C-bricks and 16 joined to those (Fatoohi et al.). Inferred from 8 ports: a first-level router has four
    bricks below and four cables up; a second-level router has eight cables, so it reaches two of the groups
    of four first-level routers. Assumed: groups stand in a ring, neighbours joined by two second-level
    routers a plane; boxes by cables between second-level routers of equal place, which nobody has stated and
    for which their eight ports have no room.
    """
    per_brick, groups, boxes = (parameters[name][0] for name in KINDS["altix"][0])
    bricks, routers, tops = 4, 4, 2
    _same(nodes, per_brick * bricks * routers * groups * boxes, "altix", where)
    network = Network(nodes)
    planes = 2
    for _ in range(planes):
        second: list[list[int]] = []
        node = 0
        for _box in range(boxes):
            # The plane takes the lowest bit of the receiving node, the second-level router the next ones.
            first = [[network.switch(planes) for _ in range(routers)] for _ in range(groups)]
            for router in (router for group in first for router in group):
                for _brick in range(bricks):
                    brick = network.switch()
                    for _ in range(per_brick):
                        network.both(node, brick)
                        node += 1
                    network.both(brick, router)
            second.append([])
            for group in range(groups):
                for _ in range(tops):
                    second[-1].append(network.switch(planes * 2 * tops))
                    for side in sorted({group, (group + 1) % groups}):
                        for router in first[side]:
                            network.both(router, second[-1][-1])
        for one, other in combinations(second, 2):
            for here, there in zip(one, other, strict=True):
                network.both(here, there)
    return network


def _same(nodes: int, wanted: int, kind: str, where: str) -> None:
    if nodes != wanted:
        raise InputError(f"{where}: this {kind} has {wanted} nodes, not {nodes}; correct node.count")


KINDS: Mapping[str, tuple[tuple[str, ...], Callable[[int, Parameters, str], Network]]] = {
    "crossbar": ((), _crossbar),
    "full-mesh": ((), _full_mesh),
    "fat-tree": (("down", "up", "cables", "planes"), _fat_tree),
    "kautz": (("degree", "diameter"), _kautz),
    "torus": (("dimensions",), _torus),
    "altix": (("nodes_per_brick", "groups", "boxes"), _altix),
    "dragonfly": (("groups", "routers", "nodes", "cables"), _dragonfly),
}
