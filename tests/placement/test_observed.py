"""Differences between requested and observed locations of ranks."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from kiviat.machine.topology import Node, Topology
from kiviat.placement import Layout, differences, place

# Two sockets of two cores with two threads; core 1 has threads 1 and 5.
NODES = Topology(tuple(Node(f"n{index}", ((0, 1), (2, 3))) for index in range(1, 5)))


def as_asked(layout: Layout) -> list[dict[str, Any]]:
    """Return a launch event in which all ranks run as requested, on both threads of their core."""
    said = []
    for rank, where in enumerate(layout.places):
        node = layout.topology.nodes[where.node]
        cpus = "0-7" if where.core is None else f"{where.core},{where.core + 4}"
        socket = [0, 1] if where.socket is None else [where.socket]
        said.append(
            {"rank": rank, "host": node.name, "pid": 7, "cpus": cpus, "node": where.node, "socket": socket}
        )
    return said


def without(said: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in rank.items() if key not in keys} for rank in said]


@pytest.mark.parametrize("binding", [None, "core", "co-processor", "virtual-processor"])
@pytest.mark.parametrize("policy", ["blocked", "cyclic", "plane:2"])
def test_no_difference_if_placement_is_as_requested(policy: str, binding: str | None) -> None:
    for ranks in (1, 3, 5, 16):
        layout = place(NODES, ranks, policy, binding=binding)
        said = as_asked(layout)
        assert differences(layout, said) == []
        assert differences(layout, without(said, "node", "socket")) == []
        assert (
            differences(layout, [{**rank, "node": None, "socket": None, "cpus": None} for rank in said]) == []
        )
        random.Random(23).shuffle(said)
        # Nodes have the numbers that kiviat-bench assigns, and host names may have a domain.
        renumbered = [{**rank, "node": 3 - rank["node"], "host": f"{rank['host']}.cluster"} for rank in said]
        assert differences(layout, renumbered) == []


def test_blocked_is_not_cyclic() -> None:
    cyclic = place(NODES, 16, "cyclic")
    for said in (
        as_asked(place(NODES, 16, "blocked")),
        without(as_asked(place(NODES, 16, "blocked")), "node"),
    ):
        assert differences(cyclic, said) == [
            "ranks share a node, although they were requested apart (16 of 16): 0 with 1, "
            "1 with 0, 2 with 0, …",
            "ranks are apart, although they were requested to share a node (16 of 16): "
            "0 without 4, 1 without 5, 2 without 6, …",
        ]


def test_one_rank_astray() -> None:
    layout = place(NODES, 4, "blocked", per_node=2)
    said = as_asked(layout)
    said[3] |= {"host": "n3", "node": 2}
    assert differences(layout, said) == [
        "ranks are apart, although they were requested to share a node (2 of 4): 2 without 3, 3 without 2"
    ]
    said[3] |= {"host": "n1", "node": 0}
    assert differences(layout, said) == [
        "ranks share a node, although they were requested apart (3 of 4): 0 with 3, 1 with 3, 3 with 0",
        "ranks are apart, although they were requested to share a node (2 of 4): 2 without 3, 3 without 2",
    ]


def test_nodes_with_equal_names_are_distinguished_by_number() -> None:
    layout = place(NODES, 2, "cyclic")
    said = [{**rank, "host": "vm"} for rank in as_asked(layout)]
    assert differences(layout, said) == []
    assert differences(layout, without(said, "node"))


def test_other_nodes_in_the_same_groups() -> None:
    layout = place(NODES, 4, "blocked", per_node=2)
    said = [{**rank, "host": {"n1": "n2", "n2": "n4"}[rank["host"]]} for rank in as_asked(layout)]
    assert differences(layout, said) == [
        "ranks run on other nodes than requested (4 of 4): 0 on n2 for n1, 1 on n2 for n1, 2 on n4 for n2, …"
    ]


def test_addresses_are_not_compared_with_names() -> None:
    addresses = Topology(tuple(replace(node, name=f"10.77.0.{i}") for i, node in enumerate(NODES.nodes)))
    said = as_asked(place(NODES, 6, "cyclic"))
    assert differences(place(addresses, 6, "cyclic"), said) == []
    assert differences(place(addresses, 6, "blocked"), said)


def test_bound_elsewhere() -> None:
    layout = place(NODES, 4, "blocked", binding="core")
    said = without(as_asked(layout), "socket")
    said[1]["cpus"] = "0-1,4-5"
    said[2]["cpus"] = "6"
    assert differences(layout, said) == [
        "ranks are bound to other cores than requested (2 of 4): 1 to 0-1,4-5 for 1, 2 to 6 for 2"
    ]
    said[1]["cpus"], said[2]["cpus"] = "1", "2"
    assert differences(layout, said) == []


def test_unrequested_binding_is_reported() -> None:
    layout = place(NODES, 2, "cyclic")
    said = as_asked(layout)
    said[1]["cpus"] = "0-1"
    assert differences(layout, said) == [
        "ranks are bound although no binding was requested (1 of 2): 1 to 0-1"
    ]


def test_sockets_that_are_not_as_assumed() -> None:
    """Sockets that differ from those requested are reported.

    Ranks have the requested cores, but on this node cores 0 and 2 belong to one socket.
    """
    layout = place(NODES, 2, "blocked", binding="co-processor")
    said = as_asked(layout)
    said[1]["socket"] = [0]
    assert differences(layout, said) == [
        "ranks share a socket, although they were requested apart (2 of 2): 0 with 1, 1 with 0"
    ]
    # Sockets may have arbitrary numbers.
    said[1]["socket"] = [7]
    assert differences(layout, said) == []


def test_many_ranks_make_one_line_of_each_kind() -> None:
    topology = Topology(tuple(Node(f"n{index}", (tuple(range(16)),)) for index in range(32)))
    said = as_asked(place(topology, 512, "blocked"))
    lines = differences(place(topology, 512, "cyclic", binding="core"), said)
    assert len(lines) == 3
    assert all("(512 of 512)" in line for line in lines)
    assert all(len(line) < 120 for line in lines)
