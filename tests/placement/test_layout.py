"""Placements compared with rank-by-rank implementations of their definitions, on many uneven topologies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kiviat.machine.topology import Node, Topology
from kiviat.placement import Layout, Shape, parse_shape, place
from kiviat.record import InputError


def cluster(*slots: int) -> Topology:
    return Topology(tuple(Node(f"n{index}", granted=count) for index, count in enumerate(slots, 1)))


def uniform(nodes: int, *sockets: int) -> Topology:
    """Return `nodes` equal nodes with this number of cores per socket, numbered socket by socket."""
    cores = iter(range(sum(sockets)))
    numbers = tuple(tuple(next(cores) for _ in range(size)) for size in sockets)
    return Topology(tuple(Node(f"n{index}", numbers) for index in range(1, nodes + 1)))


def nodes_of(layout: Layout) -> list[int]:
    return [layout.node_of(rank) for rank in range(len(layout.places))]


def shapes() -> Iterator[tuple[list[int], int]]:
    """Return random numbers of slots per node, some 0, and a number of ranks that fits."""
    source = random.Random(20)
    for _ in range(300):
        slots = [source.randint(0, 5) for _ in range(source.randint(1, 6))]
        if sum(slots):
            yield slots, source.randint(1, sum(slots))


def by_hand(slots: list[int], ranks: int, block: int | None) -> list[int]:
    """Return the node of each rank, assigned rank by rank as the definition says, in blocks of `block`."""
    left, nodes, at, in_a_row = list(slots), [], 0, 0
    for _ in range(ranks):
        while not left[at] or in_a_row == block:
            at, in_a_row = (at + 1) % len(slots), 0
        nodes.append(at)
        left[at] -= 1
        in_a_row += 1
    return nodes


@pytest.mark.parametrize(
    ("policy", "block"), [("blocked", None), ("cyclic", 1), ("plane:2", 2), ("plane:3", 3)]
)
def test_policies_as_defined(policy: str, block: int | None) -> None:
    for slots, ranks in shapes():
        layout = place(cluster(*slots), ranks, policy)
        assert nodes_of(layout) == by_hand(slots, ranks, block), (slots, ranks)
        assert not layout.crowded


@pytest.mark.parametrize("policy", ["blocked", "cyclic", "plane:2"])
def test_ranks_per_node_decide_how_many_nodes_take_part(policy: str) -> None:
    for ranks in range(1, 25):
        for per_node in range(1, 5):
            counts = place(cluster(*[4] * 24), ranks, policy, per_node).ranks_per_node()
            used = -(-ranks // per_node)
            assert sum(counts) == ranks
            assert all(1 <= count <= per_node for count in counts[:used]), (ranks, per_node)
            assert not any(counts[used:])


def test_the_shapes_of_the_paper_on_sixteen_dual_processor_nodes() -> None:
    """Random peers are on another node with probability 14/15 in 8x2 and 12/15 in 4x4.

    This is section 4.3 of the paper on sixteen dual-processor nodes.
    """
    topology = uniform(16, 2, 2)
    for text, policy, expected, off_node in [
        ("16x1", "blocked", list(range(16)), 15),
        ("8x2", "cyclic", [rank % 8 for rank in range(16)], 14),
        ("8X2", "blocked", [rank // 2 for rank in range(16)], 14),
        ("4x4", "cyclic", [rank % 4 for rank in range(16)], 12),
        ("4x4", "blocked", [rank // 4 for rank in range(16)], 12),
        ("4x4", "plane:2", [rank // 2 % 4 for rank in range(16)], 12),
    ]:
        shape = parse_shape(text)
        assert shape.ranks == 16
        layout = place(topology, shape.ranks, policy, shape.per_node)
        assert nodes_of(layout) == expected
        for rank in range(16):
            assert 16 - len(layout.ranks_of(layout.node_of(rank))) == off_node


@pytest.mark.parametrize("policy", ["blocked", "cyclic", "plane:2"])
def test_more_ranks_than_slots_spread_in_proportion(policy: str) -> None:
    for slots, _ in shapes():
        for ranks in (sum(slots) + 1, 2 * sum(slots), 3 * sum(slots) + 2):
            layout = place(cluster(*slots), ranks, policy, oversubscribe=True)
            turns = ranks / sum(slots)
            for count, had in zip(layout.ranks_per_node(), slots, strict=True):
                assert int(turns) * had <= count <= -(-ranks // sum(slots)) * had
            assert layout.crowded
            assert policy != "blocked" or nodes_of(layout) == sorted(nodes_of(layout))
    assert place(cluster(2, 2), 5, "blocked", 2, oversubscribe=True).ranks_per_node() == (3, 2)
    assert place(cluster(2, 2), 5, "cyclic", 5, oversubscribe=True).ranks_per_node() == (5, 0)


def test_no_ranks_are_lost_between_the_helpers() -> None:
    layout = place(cluster(2, 0, 3), 5, "cyclic")
    assert [layout.ranks_of(node) for node in range(3)] == [(0, 2), (), (1, 3, 4)]
    assert [node.name for node in layout.used] == ["n1", "n3"]


def bound_cores(
    topology: Topology, ranks: int, binding: str, **more: bool
) -> list[tuple[int, int | None, int | None]]:
    places = place(topology, ranks, "cyclic", binding=binding, **more).places
    return [(place.node, place.socket, place.core) for place in places]


def test_binding_modes_on_a_dual_processor_node() -> None:
    """Binding modes on a node of two sockets with two cores each: 0 and 1, 2 and 3."""
    node = uniform(1, 2, 2)
    assert bound_cores(node, 3, "co-processor") == [(0, 0, 0), (0, 1, 2), (0, 0, 1)]
    assert bound_cores(node, 3, "virtual-processor") == [(0, 0, 0), (0, 0, 1), (0, 1, 2)]
    alternating = Topology((Node("n1", ((0, 2), (1, 3))),))
    assert bound_cores(alternating, 3, "core") == [(0, 0, 0), (0, 1, 1), (0, 0, 2)]
    assert bound_cores(alternating, 3, "virtual-processor") == [(0, 0, 0), (0, 0, 2), (0, 1, 1)]


def test_binding_over_uneven_sockets() -> None:
    """With uneven sockets, each rank gets its own core, and ranks spread over sockets as the mode says."""
    source = random.Random(21)
    for _ in range(100):
        sizes = [source.randint(1, 4) for _ in range(source.randint(2, 4))]
        topology = uniform(source.randint(1, 3), *sizes)
        ranks = source.randint(1, topology.slots)
        for binding in ("core", "co-processor", "virtual-processor"):
            layout = place(topology, ranks, "cyclic", binding=binding)
            assert len({(place.node, place.core) for place in layout.places}) == ranks
            for node, places in (
                (n, [layout.places[r] for r in layout.ranks_of(n)]) for n in range(len(topology.nodes))
            ):
                sockets = topology.nodes[node].sockets
                assert all(place.core in sockets[place.socket or 0] for place in places)
                load = [sum(place.socket == index for place in places) for index in range(len(sizes))]
                if binding == "co-processor":
                    assert all(
                        taken >= min(size, max(load) - 1) for taken, size in zip(load, sizes, strict=True)
                    )
                else:
                    full = [index for index, size in enumerate(sizes) if load[index] == size]
                    assert len([taken for taken in load if taken]) <= len(full) + 1


def test_crowded_ranks_begin_with_the_first_core_again() -> None:
    assert bound_cores(uniform(1, 2), 5, "core", oversubscribe=True) == [
        (0, 0, core) for core in (0, 1, 0, 1, 0)
    ]


def test_ranks_are_not_bound_by_default() -> None:
    assert all(place.core is None for place in place(uniform(2, 2, 2), 8, "cyclic").places)


def test_a_file_places_each_rank(tmp_path: Path) -> None:
    path = tmp_path / "places"
    path.write_text("# who runs where\n n2\n\nn1   # rank 1\nn2\nn1\nn9 is beyond the last rank\n")
    layout = place(uniform(2, 1, 1), 4, f"file:{path}")
    assert nodes_of(layout) == [1, 0, 1, 0]
    assert layout.binding is None
    assert nodes_of(place(uniform(2, 1, 1), 1, f"file:{path}")) == [1]
    bound = place(uniform(2, 1, 1), 3, f"file:{path}", binding="co-processor")
    assert [place.core for place in bound.places] == [0, 0, 1]


def test_a_file_counts_sockets_and_cores_from_0(tmp_path: Path) -> None:
    path = tmp_path / "places"
    path.write_text("n1 1 1\nn1 0 1\nn2 1 0\n")
    topology = Topology(tuple(Node(name, ((4, 6), (5, 7))) for name in ("n1", "n2")))
    layout = place(topology, 3, f"file:{path}")
    assert [(place.node, place.socket, place.core) for place in layout.places] == [
        (0, 1, 7),
        (0, 0, 6),
        (1, 1, 5),
    ]
    assert layout.binding == "file"


def test_shapes() -> None:
    assert parse_shape("16x1") == Shape(16, 1)
    assert parse_shape(" 4 X 4 ") == Shape(nodes=4, per_node=4)
    for text in ("", "8", "x2", "8x", "0x2", "8x0", "-1x2", "8x2x1", "2:16", "8.5x2"):
        with pytest.raises(InputError, match="write NODESxRANKS"):
            parse_shape(text)


FOUR = uniform(4, 2)  # four nodes with two cores on one socket


@pytest.mark.parametrize(
    ("topology", "ranks", "arguments", "message"),
    [
        (FOUR, 9, {"policy": "blocked"}, r"9 ranks do not fit into 8 slots on 4 nodes"),
        (FOUR, 0, {"policy": "blocked"}, r"0 ranks cannot be placed"),
        (cluster(0, 0), 1, {"policy": "cyclic", "oversubscribe": True}, r"have no slots"),
        (FOUR, 4, {"policy": "cyclic", "per_node": 3}, r"--ppn 3: n1 has 2 slots; give at most 2"),
        (cluster(4, 1), 4, {"policy": "cyclic", "per_node": 2}, r"--ppn 2: n2 has 1 slots"),
        (
            FOUR,
            5,
            {"policy": "cyclic", "per_node": 1},
            r"5 ranks, 1 on each node, need 5 nodes, not 4",
        ),
        (FOUR, 4, {"policy": "cyclic", "per_node": 0}, r"--ppn 0: a node gets at least 1 rank"),
        (FOUR, 4, {"policy": "plane:0"}, r"--place plane:0: a plane has at least 1 rank"),
        (FOUR, 4, {"policy": "plane"}, r"write plane:K such as plane:2"),
        (FOUR, 4, {"policy": "plane:-1"}, r"write plane:K"),
        (FOUR, 4, {"policy": "cylcic"}, r"did you mean 'cyclic'\?"),
        (FOUR, 4, {"policy": "block:2"}, r"give blocked, cyclic, plane:K or file:PATH"),
        (FOUR, 4, {"policy": "cyclic:2"}, r"'cyclic:2' is not a placement"),
        (FOUR, 4, {"policy": "file:"}, r"lacks the file"),
        (FOUR, 4, {"policy": "file:/nowhere"}, r"cannot read placement /nowhere: No such file"),
        (FOUR, 4, {"policy": "file:/nowhere", "per_node": 2}, r"leave --ppn 2 out"),
        (cluster(4), 2, {"policy": "blocked", "binding": "core"}, r"the cores of n1 are unknown"),
        (FOUR, 2, {"policy": "blocked", "binding": "co-processor"}, r"n1 has one"),
        (
            FOUR,
            2,
            {"policy": "blocked", "binding": "socket"},
            r"unknown --bind 'socket'; give one of core, co-",
        ),
        (
            Topology((Node("n1", ((0, 1),), granted=3),)),
            3,
            {"policy": "blocked", "binding": "core"},
            r"n1 has 2 cores, too few for its ranks",
        ),
    ],
)
def test_impossible_placements_are_refused_in_one_line(
    topology: Topology, ranks: int, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        place(topology, ranks, **arguments)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n1\nn2\n", r"places 2 of 3 ranks; add a line"),
        ("n1\n\nn22\nn3\n", r":3: no node is named 'n22'; did you mean 'n2'\?"),
        ("login\nn1\nn2\n", r":1: no node is named 'login'; known: n1, n2, n3, n4"),
        ("n1\nn2 1\nn3\n", r":2: 'n2 1' cannot be read; write NODE, or NODE SOCKET CORE"),
        ("n1\nn2 0 x\nn3\n", r":2: 'n2 0 x' cannot be read"),
        ("n1 0 0\nn2 1 0\nn3 0 0\n", r":2: no socket 1, n2 has 1"),
        ("n1 0 0\nn2 0 2\nn3 0 0\n", r":2: no core 2, socket 0 of n2 has 2"),
        ("n1 0 0\nn2\nn3 0 0\n", r"gives rank 0 a core and rank 1 none"),
        ("n1 0 1\nn2 0 1\nn1 0 1\n", r"gives ranks 0 and 2 the same core of n1"),
        ("n1\nn1\nn1\n", r"places 3 ranks on n1, which has 2 slots"),
    ],
)
def test_files_that_do_not_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "places"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as refusal:
        place(FOUR, 3, f"file:{path}")
    assert "\n" not in str(refusal.value)


def test_a_file_with_cores_leaves_nothing_to_bind(tmp_path: Path) -> None:
    path = tmp_path / "places"
    path.write_text("n1 0 0\n")
    with pytest.raises(InputError, match="leave --bind core out"):
        place(FOUR, 1, f"file:{path}", binding="core")
    with pytest.raises(InputError, match=":1: the cores of n1 are unknown"):
        place(cluster(1), 1, f"file:{path}")
