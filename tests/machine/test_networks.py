"""Properties of networks: distances, numbers of paths, bisection, and distribution of messages over paths."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from kiviat.machine.modelled.networks import Network, build, capacity
from kiviat.record import InputError
from tests.machine.routes import Routes, all_pairs, bisection

ALTIX = {"nodes_per_brick": [4], "groups": [4], "boxes": [1]}
ALL: dict[str, tuple[str, int, dict[str, list[int]]]] = {
    "crossbar": ("crossbar", 9, {}),
    "full mesh": ("full-mesh", 5, {}),
    "Kautz": ("kautz", 12, {"degree": [3], "diameter": [2]}),
    "ring": ("torus", 6, {"dimensions": [6]}),
    "3-D torus": ("torus", 60, {"dimensions": [3, 4, 5]}),
    "hypercube": ("torus", 16, {"dimensions": [2, 2, 2, 2]}),
    "one axis is one": ("torus", 4, {"dimensions": [4, 1]}),
    "fat tree": ("fat-tree", 64, {"down": [8, 8], "up": [1, 8], "cables": [1, 1], "planes": [1]}),
    "thin tree": ("fat-tree", 60, {"down": [16, 4], "up": [1, 2], "cables": [1, 3], "planes": [1]}),
    "three levels": (
        "fat-tree",
        64,
        {"down": [4, 4, 4], "up": [1, 4, 4], "cables": [1, 1, 1], "planes": [1]},
    ),
    "two planes": ("fat-tree", 16, {"down": [4, 4], "up": [1, 4], "cables": [1, 1], "planes": [2]}),
    "dragonfly": ("dragonfly", 72, {"groups": [9], "routers": [4], "nodes": [2], "cables": [1]}),
    "wide dragonfly": ("dragonfly", 48, {"groups": [4], "routers": [6], "nodes": [2], "cables": [4]}),
    "Altix": ("altix", 256, ALTIX),
    "Altix of four boxes": ("altix", 1024, {**ALTIX, "boxes": [4]}),
}


def network(name: str) -> Network:
    kind, nodes, parameters = ALL[name]
    return build(kind, nodes, parameters, "the test")


@pytest.mark.parametrize("name", ALL)
def test_every_pair_is_reached_and_no_arc_leads_back(name: str) -> None:
    built = network(name)
    assert all(arc.start != arc.end for arc in built.arcs)
    assert len({(arc.start, arc.end) for arc in built.arcs}) == len(built.arcs), "side by side is a width"
    routes = Routes(built)
    sources = range(0, built.nodes, 1 + built.nodes // 16)
    for source in sources:
        hops = built.hops(source)
        for target in set(range(built.nodes)) - {source}:
            way = routes.way(source, target)
            assert len(way) == hops[target] > 0
            assert way[0].start == source and way[-1].end == target
            if not built.direct:
                assert all(arc.end >= built.nodes for arc in way[:-1]), "a node forwarded a message"


def test_crossbar_and_full_mesh() -> None:
    crossbar, mesh = Routes(network("crossbar")), Routes(network("full mesh"))
    assert {crossbar.hops(0, node) for node in range(1, 9)} == {1}
    assert {mesh.hops(0, node) for node in range(1, 5)} == {1}
    assert len(mesh.network.arcs) == 5 * 4 and bisection(mesh.network, {0, 1}) == 2 * 3
    assert bisection(crossbar.network, range(4)) == 4


def test_kautz_digraph_of_twelve() -> None:
    """The Kautz digraph of 12 vertices has degree 3 and diameter 2, as in the SC072."""
    kautz = network("Kautz")
    assert (kautz.nodes, len(kautz.arcs)) == (12, 36)
    assert set(Counter(arc.start for arc in kautz.arcs).values()) == {3}
    assert set(Counter(arc.end for arc in kautz.arcs).values()) == {3}
    routes = Routes(kautz)
    for source in range(12):
        assert Counter(kautz.hops(source)) == {0: 1, 1: 3, 2: 8}
        for target in set(range(12)) - {source}:
            assert routes.shortest(source, target) == 1
    assert isomorphic_to_strings(kautz)


def isomorphic_to_strings(kautz: Network) -> bool:
    """Return whether the graph is the Kautz digraph by definition.

    Its vertices are ab with a != b over four letters, its arcs ab -> bc: the line digraph of a complete
    digraph.
    """
    follow: dict[int, frozenset[int]] = {
        x: frozenset(arc.end for arc in kautz.arcs if arc.start == x) for x in range(12)
    }
    # All vertices that end in b have the same successors: four classes of three vertices.
    classes = Counter(follow.values())
    return len(classes) == 4 and set(classes.values()) == {3} and all(x not in follow[x] for x in follow)


def test_kautz_all_to_all_loads_arcs_evenly() -> None:
    """In an all-to-all, 24 arcs carry seven messages each, and the 12 arcs of two-cycles carry five."""
    kautz = network("Kautz")
    load = Routes(kautz).load(all_pairs(12))
    assert Counter(load.values()) == {7: 24, 5: 12}
    there = {(arc.start, arc.end) for arc in kautz.arcs}
    assert {load[arc] for arc in kautz.arcs if (arc.end, arc.start) in there} == {5}


def test_kautz_has_three_disjoint_ways() -> None:
    """Three disjoint paths exist between any two vertices.

    Their lengths are 2, 3, 3 between vertices at distance two, 1, 3, 4 between neighbours, and 1, 3, 3 in
    two-cycles.
    """
    kautz = network("Kautz")
    follow = {x: [arc.end for arc in kautz.arcs if arc.start == x] for x in range(12)}
    for source, target in all_pairs(12):
        near = target in follow[source]
        back = source in follow[target]
        wanted = [2, 3, 3] if not near else [1, 3, 3] if back else [1, 3, 4]
        assert shortest_disjoint(follow, source, target) == wanted


def shortest_disjoint(follow: dict[int, list[int]], source: int, target: int) -> list[int]:
    """Return the lengths of three paths without common inner vertices whose total length is minimal."""
    ways: list[list[int]] = []

    def walk(way: list[int]) -> None:
        for end in follow[way[-1]]:
            if end == target:
                ways.append([*way, end])
            elif end not in way and len(way) < 4:
                walk([*way, end])

    walk([source])
    found = [
        sorted(len(way) - 1 for way in three)
        for three in combinations(ways, 3)
        if not any(set(one[1:-1]) & set(other[1:-1]) for one, other in combinations(three, 2))
    ]
    return min(found, key=lambda lengths: (sum(lengths), lengths))


def test_kautz_bisection() -> None:
    """The narrowest bisection of the Kautz digraph has six cables in each direction."""
    kautz = network("Kautz")
    crossing = []
    for others in combinations(range(1, 12), 5):
        half = {0, *others}
        crossing.append(sum(arc.start in half and arc.end not in half for arc in kautz.arcs))
    assert min(crossing) == 6


@pytest.mark.parametrize(("name", "dimensions"), [("3-D torus", (3, 4, 5)), ("hypercube", (2, 2, 2, 2))])
def test_torus_distances_are_the_sum_over_axes(name: str, dimensions: tuple[int, ...]) -> None:
    torus = network(name)

    def at(node: int) -> list[int]:
        found = []
        for length in reversed(dimensions):
            node, coordinate = divmod(node, length)
            found.append(coordinate)
        return found[::-1]

    for source in (0, 7):
        for target in range(torus.nodes):
            apart = [abs(a - b) for a, b in zip(at(source), at(target), strict=True)]
            wanted = sum(min(d, n - d) for d, n in zip(apart, dimensions, strict=True))
            assert torus.hops(source)[target] == wanted


def test_hypercube_is_one() -> None:
    cube = network("hypercube")
    assert all(arc.start ^ arc.end in (1, 2, 4, 8) for arc in cube.arcs) and len(cube.arcs) == 16 * 4
    assert cube.hops(5)[10] == 4  # number of differing bits
    assert bisection(cube, range(8)) == 8


def test_torus_goes_in_dimension_order_and_has_two_cuts() -> None:
    torus = network("3-D torus")
    way = Routes(torus).way(0, 1 * 20 + 1 * 5 + 1)
    assert [arc.end - arc.start for arc in way] == [20, 5, 1]
    ring = network("ring")
    assert bisection(ring, range(3)) == 2


def test_fat_tree_hops_and_bisection() -> None:
    routes = Routes(network("fat tree"))
    assert (routes.hops(0, 7), routes.hops(0, 8), routes.hops(0, 63)) == (1, 3, 3)
    assert bisection(routes.network, range(32)) == 32, "as many as there are nodes on a side"
    thin = network("thin tree")
    # Each leaf switch is connected to two switches above it, by three cables each.
    assert bisection(thin, range(16)) == 6
    deep = Routes(network("three levels"))
    assert [deep.hops(0, node) for node in (3, 15, 63)] == [1, 3, 5]
    assert bisection(deep.network, range(32)) == 32


@pytest.mark.parametrize("name", ["fat tree", "three levels", "two planes"])
def test_shifts_meet_nowhere_in_a_full_fat_tree(name: str) -> None:
    """In a full fat tree, the messages of a cyclic shift never share a cable.

    This requires dividing the receiver's number by the right divisor at each level; otherwise all messages
    go through one parent.
    """
    routes = Routes(network(name))
    nodes = routes.network.nodes
    for shift in range(1, nodes):
        load = routes.load((node, (node + shift) % nodes) for node in range(nodes))
        assert set(load.values()) == {1}


def test_planes_share_the_nodes_evenly() -> None:
    routes = Routes(network("two planes"))
    first = Counter(routes.way(node, target)[0].end for node, target in all_pairs(16))
    assert len(first) == 2 * 4 and len(set(first.values())) == 1


def test_dragonfly_has_one_global_cable_on_a_way() -> None:
    """A route through a dragonfly crosses at most one global cable.

    A route over a third group has fewer arcs than local, global, local, and was once chosen.
    """
    dragonfly = network("dragonfly")
    routes = Routes(dragonfly)
    assert len(dragonfly.relays) == 2 * 9 * 8 // 2, "two points on each cable between two groups"
    for source, target in all_pairs(72):
        way = routes.way(source, target)
        crossed = sum(arc.start in dragonfly.relays and arc.end in dragonfly.relays for arc in way)
        assert crossed == (source // 8 != target // 8)
        assert routes.hops(source, target) <= 4, "routers: first, local, global, last"


@pytest.mark.parametrize(("name", "groups", "cables"), [("dragonfly", 9, 1), ("wide dragonfly", 4, 4)])
def test_dragonfly_global_cables_are_dealt_evenly(name: str, groups: int, cables: int) -> None:
    dragonfly = network(name)
    switches = set(range(dragonfly.nodes, dragonfly.vertices)) - dragonfly.relays
    per_router = Counter(
        arc.start for arc in dragonfly.arcs if arc.start in switches and arc.end in dragonfly.relays
    )
    routers = len(switches) // groups
    assert set(per_router.values()) == {(groups - 1) * cables // routers}
    a_group, another = range(dragonfly.nodes // groups), range(dragonfly.nodes // groups, dragonfly.nodes)
    assert bisection(dragonfly, a_group) == min(len(a_group), (groups - 1) * cables) <= len(another)


def test_altix_routers() -> None:
    """The Altix has 48 R-bricks of eight ports; each brick of processors has a router in each plane."""
    altix = network("Altix")
    ports = Counter(arc.start for arc in altix.arcs)
    assert len(altix.divisors) == 2 * 64 + 32 + 16
    assert {ports[node] for node in range(256)} == {2}, "a port in each plane"
    assert Counter(ports[switch] for switch in range(256, altix.vertices)) == {5: 128, 8: 48}


def test_altix_hops_by_distance() -> None:
    """In the Altix, ranks up to 4 apart share one brick, up to 16 a router.

    Up to 128 share a router of the next level, up to 256 one level more. Each node has two ranks.
    """
    routes = Routes(network("Altix"))
    assert [routes.hops(0, distance // 2) for distance in (2, 4, 8, 16, 32, 64, 128, 256)] == [
        *(1, 1, 3, 3, 5, 5, 5, 7)
    ]
    four = Routes(network("Altix of four boxes"))
    assert max(four.hops(0, node) for node in range(1, 1024)) == 8


def test_altix_bisection() -> None:
    """A brick of eight processors has two cables upwards; two ring edges connect the halves of a box."""
    altix = network("Altix")
    assert bisection(altix, range(4)) == 2
    assert bisection(altix, range(64)) == 2 * 16
    assert bisection(altix, range(128)) == 2 * 2 * 2 * 4
    assert bisection(network("Altix of four boxes"), range(256)) == 2 * 8 * 3


@pytest.mark.parametrize(
    ("group", "cables"),
    [
        # Cables used at each step of the route: one port per plane, one cable upwards per brick, four routers
        # to two above; a receiver has one plane.
        (1, [128, 32, 16, 16, 32, 64]),
        # Routes to the opposite group use both directions of the ring: all four routers above, and four of
        # each neighbour.
        (2, [128, 32, 32, 32, 32, 32, 32, 64]),
    ],
)
def test_altix_spreads_over_planes_and_routers(group: int, cables: list[int]) -> None:
    """Messages in the Altix use all planes and routers evenly.

    Plane and router are selected by different bits of the receiver's number.
    """
    routes = Routes(network("Altix"))
    crossed: list[Counter[tuple[int, int]]] = [Counter() for _ in cables]
    for source in range(64):
        for target in range(64 * group, 64 * (group + 1)):
            for step, arc in enumerate(routes.way(source, target)):
                crossed[step][arc.start, arc.end] += 1
    for load, number in zip(crossed, cables, strict=True):
        assert (len(load), max(load.values()) / min(load.values())) == (number, 1)


@pytest.mark.parametrize(
    ("kind", "nodes", "parameters", "says"),
    [
        ("ladder", 4, {}, "the test is 'ladder'; give one of crossbar, full-mesh"),
        ("torus", 4, {}, "lacks 'dimensions', which a torus needs"),
        ("torus", 5, {"dimensions": [2, 2]}, "this torus has 4 nodes, not 5"),
        ("torus", 0, {"dimensions": [0]}, "dimensions is \\[0\\]"),
        ("crossbar", 4, {"radix": [3]}, "unknown parameter 'radix' of a crossbar"),
        ("kautz", 13, {"degree": [3], "diameter": [2]}, "this kautz has 12 nodes, not 13"),
        ("altix", 100, ALTIX, "this altix has 256 nodes, not 100"),
        ("fat-tree", 99, ALL["fat tree"][2], "99 nodes do not fit into a fat-tree of 64"),
        ("fat-tree", 8, {**ALL["fat tree"][2], "up": [1]}, "one number for each level"),
        ("dragonfly", 99, ALL["dragonfly"][2], "99 nodes do not fit into a dragonfly of 72"),
        ("dragonfly", 72, {**ALL["dragonfly"][2], "groups": [9, 4]}, "a dragonfly takes a single number"),
        ("crossbar", 10**9, {}, "this crossbar of 1000000000 nodes has more than 1000000 nodes"),
        ("full-mesh", 10**5, {}, "this full-mesh of 100000 nodes has more than .* 4000000 cables"),
        ("kautz", 12, {"degree": [3], "diameter": [10**6]}, "this kautz has 4578245093723349979543798785708"),
        ("dragonfly", 9, {**ALL["dragonfly"][2], "groups": [10**6]}, "more than 1000000 nodes or switches"),
        ("fat-tree", 64, {**ALL["fat tree"][2], "up": [1, 10**9]}, "up is .*; give whole numbers from 1 to"),
    ],
)
def test_impossible_networks_are_refused(
    kind: str, nodes: int, parameters: dict[str, list[int]], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        build(kind, nodes, parameters, "the test")


def test_capacity() -> None:
    assert {name: capacity(kind, parameters) for name, (kind, _, parameters) in ALL.items()} == {
        **{"crossbar": None, "full mesh": None, "Kautz": 12, "ring": 6, "3-D torus": 60, "hypercube": 16},
        **{"one axis is one": 4, "fat tree": 64, "thin tree": 64, "three levels": 64, "two planes": 16},
        **{"dragonfly": 72, "wide dragonfly": 48, "Altix": 256, "Altix of four boxes": 1024},
    }
