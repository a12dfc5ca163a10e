"""Routes through networks, compared with an arc-by-arc walk like the simulator's."""

from __future__ import annotations

import numpy as np
import pytest

from kiviat.machine.modelled import networks
from kiviat.machine.modelled.machine import find_machine
from kiviat.machine.modelled.networks import Network
from kiviat.placement.routes import Routes
from kiviat.record import InputError


def walked(network: Network, start: int, to: int) -> list[tuple[int, int]]:
    """Return the route by the rule of native/simgrid/platform.cpp.

    It takes the possible next arc with number (to / divisor) modulo the count of these.
    """
    backwards = Network(network.nodes, divisors=network.divisors)
    backwards.arcs = [networks.Arc(arc.end, arc.start) for arc in network.arcs]
    left = backwards.hops(to)
    at, way = start, []
    while at != to:
        onward = [arc for arc in network.arcs if arc.start == at and left[arc.end] == left[at] - 1]
        divisor = network.node_divisor if at < network.nodes else network.divisors[at - network.nodes]
        chosen = onward[to // divisor % len(onward) if divisor else 0]
        way.append((at, chosen.end))
        at = chosen.end
    return way


@pytest.mark.parametrize(
    "name",
    [
        "vt-myri10g",
        "sicortex-sc072",
        "cray-opteron",
        "cray-x1-ssp",
        "torus-3d",
        "altix-bx2",
        "slingshot-dragonfly",
    ],
)
def test_ways_are_those_of_the_simulator(name: str) -> None:
    network = find_machine(name).network
    routes = Routes(network, min(network.nodes, 24))
    source = np.random.default_rng(3)
    for _ in range(40):
        start, to = (int(node) for node in source.integers(routes.nodes, size=2))
        way = walked(network, start, to)
        _, arcs = routes.crossings(np.array([start]), np.array([to]))
        assert [(routes.arcs[arc].start, routes.arcs[arc].end) for arc in arcs] == way
        cables = [end for _, end in way if end not in network.relays]
        assert routes.hops[start, to] == len(cables)


def test_one_switch_is_as_any_network() -> None:
    """A network of one switch, which has a faster implementation, gives the same routes as any other."""
    for nodes in (1, 2, 5):
        network = networks.build("crossbar", nodes, {}, "here")
        routes = Routes(network, nodes)
        for start in range(nodes):
            for to in range(nodes):
                _, arcs = routes.crossings(np.array([start]), np.array([to]))
                assert [(routes.arcs[arc].start, routes.arcs[arc].end) for arc in arcs] == walked(
                    network, start, to
                )
                assert routes.hops[start, to] == len(walked(network, start, to))


def test_cables_side_by_side_share_what_they_carry() -> None:
    network = networks.build(
        "fat-tree", 4, {"down": [2, 2], "up": [1, 1], "cables": [1, 4], "planes": [1]}, "here"
    )
    loads = Routes(network, 4).loads(np.array([0, 1]), np.array([2, 2]), np.array([100.0, 60.0]))
    assert sorted(loads[loads > 0].tolist()) == [40.0, 40.0, 60.0, 100.0, 160.0]


def test_a_network_in_pieces_is_refused() -> None:
    network = Network(3)
    switch = network.switch()
    network.connect(0, switch)
    network.connect(1, switch)
    with pytest.raises(InputError, match="no route from node 3 to node 1"):
        Routes(network, 3).loads(np.array([2]), np.array([0]), np.array([1.0]))
    with pytest.raises(InputError, match="there is no route from node"):
        _ = Routes(network, 3).hops
