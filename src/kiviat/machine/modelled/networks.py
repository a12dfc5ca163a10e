"""Network topologies: nodes, switches and the arcs between them.

Vertices are numbered, nodes first, then switches. An arc is one direction of a cable. Routes are shortest
paths; a vertex with divisor d that has c equally short arcs takes number (receiving node / d) mod c, or the
first if d is 0 (native/simgrid/platform.cpp).
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
    """A directed edge from vertex `start` to `end`, made of `width` parallel cables."""

    start: int
    end: int
    width: int = 1


@dataclass
class Network:
    """A graph of nodes and switches. `divisors` has one routing divisor for each switch; nodes share theirs.

    `relays` are dummy switches inside long cables: they lengthen a route, so that others are preferred, but
    add no latency.
    """

    nodes: int
    node_divisor: int = 1
    divisors: list[int] = field(default_factory=list)
    arcs: list[Arc] = field(default_factory=list)
    relays: set[int] = field(default_factory=set)

    @property
    def vertices(self) -> int:
        """Number of nodes and switches."""
        return self.nodes + len(self.divisors)

    @property
    def direct(self) -> bool:
        """True if the network has no switches, so that nodes forward messages themselves."""
        return not self.divisors

    def switch(self, divisor: int = 1) -> int:
        """Add a switch and return its vertex number."""
        if len(self.divisors) == _MOST:
            raise _TooLargeError
        self.divisors.append(divisor)
        return self.vertices - 1

    def hop_costs(self, arc: Arc) -> bool:
        """True if the start of `arc` adds the latency of a hop: a switch, or a node of a direct network."""
        return self.direct or (arc.start >= self.nodes and arc.start not in self.relays)

    def connect(self, a: int, b: int, width: int = 1) -> None:
        """Add a cable between two vertices: an arc in each direction."""
        if len(self.arcs) >= _MOST_ARCS:
            raise _TooLargeError
        self.arcs += [Arc(a, b, width), Arc(b, a, width)]

    def long_cable(self, a: int, b: int, width: int = 1) -> None:
        """Add a cable that counts as three arcs in routing and costs as much as one."""
        ends = [a, self.switch(), self.switch(), b]
        self.relays |= {ends[1], ends[2]}
        for start, end in pairwise(ends):
            self.connect(start, end, width)

    def hops(self, source: int) -> list[int]:
        """Return the number of arcs on the shortest path from `source` to each vertex, -1 without a path."""
        out: list[list[int]] = [[] for _ in range(self.vertices)]
        for arc in self.arcs:
            out[arc.start].append(arc.end)
        distance = [-1] * self.vertices
        distance[source] = 0
        front = deque([source])
        while front:
            at = front.popleft()
            for end in out[at]:
                if distance[end] < 0:
                    distance[end] = distance[at] + 1
                    front.append(end)
        return distance


Parameters = Mapping[str, Sequence[int]]

# Limits several times above the largest machines: larger numbers are typing errors that would cost hours.
_MOST, _MOST_ARCS = 1_000_000, 8_000_000  # nodes, and as many switches; arcs
# Parameters with one number for each level or dimension.
_LISTED = {("fat-tree", "down"), ("fat-tree", "up"), ("fat-tree", "cables"), ("torus", "dimensions")}


class _TooLargeError(Exception):
    pass


def build(kind: str, nodes: int, parameters: Parameters, where: str) -> Network:
    """Return a network of `nodes` nodes. `kind` is a key of KINDS; each parameter is a list of integers.

    Raise InputError, naming `where`, for unknown kinds, wrong parameters and networks that are too large.
    """
    if kind not in KINDS:
        raise InputError(f"{where} is {kind!r}; give one of {', '.join(KINDS)}")
    wanted, builder = KINDS[kind]
    for name in parameters:
        if name not in wanted:
            raise InputError(
                f"unknown parameter {name!r} of a {kind} in {where}; known: {', '.join(wanted) or 'none'}"
            )
    for name in wanted:
        if name not in parameters:
            raise InputError(f"{where} lacks {name!r}, which a {kind} needs")
        values = parameters[name]
        if not values or not all(1 <= number <= _MOST for number in values):
            raise InputError(f"{name} is {list(values)} in {where}; give whole numbers from 1 to {_MOST}")
        if len(values) > 1 and (kind, name) not in _LISTED:
            raise InputError(f"{name} is {list(values)} in {where}; a {kind} takes a single number")
    too_large = InputError(
        f"{where}: this {kind} of {nodes} nodes has more than {_MOST} nodes or switches, or "
        f"{_MOST_ARCS // 2} cables; give a smaller one"
    )
    if nodes > _MOST:
        raise too_large
    try:
        return builder(nodes, parameters, where)
    except _TooLargeError:
        raise too_large from None


def capacity(kind: str, parameters: Parameters) -> int | None:
    """Return the largest number of nodes of a network with these parameters, None if it is unlimited."""
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
        network.connect(node, switch)
    return network


def _full_mesh(nodes: int, parameters: Parameters, where: str) -> Network:
    if nodes * (nodes - 1) > _MOST_ARCS:
        raise _TooLargeError
    network = Network(nodes, node_divisor=0)
    network.arcs = [Arc(start, end) for start in range(nodes) for end in range(nodes) if start != end]
    return network


def _kautz_nodes(parameters: Parameters) -> int:
    degree, diameter = parameters["degree"][0], min(parameters["diameter"][0], 64)  # beyond any limit
    return int(degree**diameter + degree ** (diameter - 1))


def _kautz(nodes: int, parameters: Parameters, where: str) -> Network:
    """Build a Kautz graph (Imase and Itoh): vertex x has arcs to (-degree * x - j) mod N, j = 1 to degree."""
    _require_nodes(nodes, _kautz_nodes(parameters), "kautz", where)
    degree = parameters["degree"][0]
    if nodes * degree > _MOST_ARCS:
        raise _TooLargeError
    network = Network(nodes, node_divisor=0)
    network.arcs = [Arc(x, (-degree * x - j) % nodes) for x in range(nodes) for j in range(1, degree + 1)]
    return network


def _torus(nodes: int, parameters: Parameters, where: str) -> Network:
    """Build a torus; arcs of the first dimension come first, which makes routing dimension-ordered."""
    dimensions = parameters["dimensions"]
    _require_nodes(nodes, prod(dimensions), "torus", where)
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
    """Build an extended generalised fat tree (Öhring et al., IPPS 1995).

    For each level, the lowest first, a switch has `down` children, each child `up` parents, and `cables`
    parallel cables join them. `planes` parallel trees share the nodes.
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
    """Add one plane of a fat tree. Switches are keyed by their subtree and their copy among parallel ones.

    Upwards, (receiving node / parallel choices made below) mod parents is D-mod-k routing (Zahavi et al.,
    "Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns", Concurrency 22(2),
    2010): destinations below a switch spread over all paths to it.
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
                network.connect(vertex, here[key], side_by_side)
        below = here
        width *= parents


def _dragonfly(nodes: int, parameters: Parameters, where: str) -> Network:
    """Build a dragonfly: all-to-all groups of all-to-all routers (Kim et al., ISCA 2008).

    The routers of a group take turns in holding its global cables, in the order of the groups that follow:
    the "relative" arrangement (Hastings et al., "Comparing global link arrangements for dragonfly networks",
    CLUSTER 2015). Routes are minimal: local hops as needed and one global hop.
    """
    groups, routers, per_router, cables = (parameters[name][0] for name in KINDS["dragonfly"][0])
    if nodes > groups * routers * per_router:
        raise InputError(
            f"{where}: {nodes} nodes do not fit into a dragonfly of {groups * routers * per_router}"
        )
    network = Network(nodes)
    switches = [[network.switch() for _ in range(routers)] for _ in range(groups)]
    for node in range(nodes):
        network.connect(node, switches[node // (routers * per_router)][node // per_router % routers])
    for group in switches:
        for a, b in combinations(group, 2):
            network.connect(a, b)
    for cable in range(cables):
        for a, b in combinations(range(groups), 2):
            # Global port k leads to the group k places further on; from there, this group is groups - k
            # places further on.
            near, far = (
                switches[group][(cable * (groups - 1) + (peer - group) % groups - 1) % routers]
                for group, peer in ((a, b), (b, a))
            )
            # Long cables keep local-global-local routes shorter than two global hops, which no router takes.
            network.long_cable(near, far)
    return network


def _altix(nodes: int, parameters: Parameters, where: str) -> Network:
    """Build two planes of 8-port routers (SGI Altix 3700 BX2 User's Guide, 007-4377-002, ch. 3).

    Stated: a C-brick has a router of each plane; a box of 512 processors has 48 R-bricks, 32 joined to the 64
    C-bricks and 16 joined to those (Fatoohi et al.). Inferred from 8 ports: a first-level router has four
    bricks below and four cables up; a second-level router has eight cables, so it reaches two of the groups
    of four first-level routers. Assumed: groups form a ring, neighbours joined by two second-level routers
    a plane; cables between second-level routers of equal position join boxes, although no source states
    this and eight ports leave no room for them.
    """
    per_brick, groups, boxes = (parameters[name][0] for name in KINDS["altix"][0])
    bricks, routers, tops = 4, 4, 2
    _require_nodes(nodes, per_brick * bricks * routers * groups * boxes, "altix", where)
    network = Network(nodes)
    planes = 2
    for _ in range(planes):
        second: list[list[int]] = []
        node = 0
        for _box in range(boxes):
            # The lowest bit of the receiving node selects the plane, the next bits the second-level router.
            first = [[network.switch(planes) for _ in range(routers)] for _ in range(groups)]
            for router in (router for group in first for router in group):
                for _brick in range(bricks):
                    brick = network.switch()
                    for _ in range(per_brick):
                        network.connect(node, brick)
                        node += 1
                    network.connect(brick, router)
            second.append([])
            for group in range(groups):
                for _ in range(tops):
                    second[-1].append(network.switch(planes * 2 * tops))
                    for side in sorted({group, (group + 1) % groups}):
                        for router in first[side]:
                            network.connect(router, second[-1][-1])
        for box, other_box in combinations(second, 2):
            for router, peer in zip(box, other_box, strict=True):
                network.connect(router, peer)
    return network


def _require_nodes(nodes: int, wanted: int, kind: str, where: str) -> None:
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
