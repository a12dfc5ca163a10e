"""Changes of a machine: their translation, and one-line errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kiviat.machine.modelled.machine import Machine, find_machine, load_machine
from kiviat.machine.modelled.networks import build
from kiviat.model.changes import assumed_places, changes, scaled
from kiviat.model.changes import changed as changed_machine
from kiviat.model.sensitivity import variants
from kiviat.model.shapes import fitting
from kiviat.record import InputError

SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"


def changed(*settings: str) -> Machine:
    return load_machine(SMALL, changes(load_machine(SMALL), settings))


@pytest.mark.parametrize(
    ("setting", "place", "value"),
    [
        ("nic.bandwidth=2x", "nic.bandwidth", 2e9),
        ("nic.bandwidth=+10%", "nic.bandwidth", 1.1e9),
        ("topology.hop=-50 %", "topology.hop", 0.25e-6),
        ("core.flops=2x", "core.flops", 2e9),
        ("topology.hop=0.1 us", "topology.hop", 0.1e-6),
        ("nodes=8", "node.count", 8),
        ("node.cores=2x", "node.cores", 4),
    ],
)
def test_a_number_changes_and_all_else_stays(setting: str, place: str, value: float) -> None:
    before, after = load_machine(SMALL), changed(setting)
    assert after.number(place) == pytest.approx(value)
    assert {p: n.value for p, n in after.numbers.items() if p != place} == {
        p: n.value for p, n in before.numbers.items() if p != place
    }
    assert after.hash != before.hash


def test_the_cost_of_messages_changes_in_all_segments() -> None:
    latencies = [segment.latency.value for segment in changed("mpi.network.latency=2x").segments["network"]]
    assert latencies == pytest.approx([6e-6, 18e-6])


def test_several_costs_of_a_level_change_together() -> None:
    """Only the last of two changes to a level once took effect."""
    before = load_machine(SMALL).segments["network"]
    after = changed("mpi.network.latency=2x", "mpi.network.bandwidth=0.5x").segments["network"]
    assert [one.latency.value for one in after] == pytest.approx([2 * one.latency.value for one in before])
    assert [one.bandwidth.value for one in after] == pytest.approx(
        [0.5 * one.bandwidth.value for one in before]
    )


def test_costs_per_byte_change_too() -> None:
    costs = [one.receive_per_byte for one in changed("mpi.network.latency=2x").segments["network"]]
    assert [cost and cost.value for cost in costs] == [None, pytest.approx(1e-10)]


def test_collectives_go_through_one_rank_of_each_node_or_not() -> None:
    before, after = load_machine(SMALL), changed("mpi.node_aware=true")
    assert (before.node_aware, after.node_aware) == (False, True)
    assert changed("mpi.node_aware=false").hash == before.hash != after.hash


def test_a_named_version_of_mpich_is_node_aware_unless_told_otherwise() -> None:
    fourth, plain = changed("mpi.collectives=mpich4"), load_machine(SMALL)
    flat = changed("mpi.collectives=mpich4", "mpi.node_aware=false")
    assert (plain.node_aware, fourth.node_aware, flat.node_aware) == (False, True, False)


def test_long_messages_use_both_directions_of_a_connection_or_not() -> None:
    before, after = load_machine(SMALL), changed("mpi.one_connection=true")
    assert (before.one_connection, after.one_connection) == (False, True)
    assert changed("mpi.one_connection=false").hash == before.hash != after.hash


def test_another_topology_gets_parameters_that_fit() -> None:
    machine = changed("topology=torus", "nodes=12")
    assert (machine.topology_kind, machine.topology_parameters) == ("torus", {"dimensions": (3, 2, 2)})
    assert changed("topology=fat-tree", "nodes=100", "radix=16").nodes == 100
    assert changed("topology=dragonfly", "nodes=200", "radix=16").topology_kind == "dragonfly"
    assert changed("topology.kind=torus", "topology.dimensions=2,2").topology_parameters["dimensions"] == (
        2,
        2,
    )


@pytest.mark.parametrize(
    ("name", "nodes", "parameters"),
    [
        ("peta4", 768, {}),
        ("peta4", 100, {}),
        ("peta4", 800, {"down": (32, 25)}),
        ("slingshot-dragonfly", 2, {}),
        ("slingshot-dragonfly", 513, {"groups": (9,)}),
    ],
)
def test_another_number_of_nodes_keeps_the_shape_of_the_network(
    name: str, nodes: int, parameters: dict[str, tuple[int, ...]]
) -> None:
    """Any number of nodes, also the present one, once made a tree of full bisection."""
    before = find_machine(name)
    after = changed_machine(before, [f"nodes={nodes}"])
    assert after.nodes == nodes
    assert after.topology_parameters == {**before.topology_parameters, **parameters}
    assert (after.hash == before.hash) is (nodes == before.nodes)


def test_a_radix_or_a_kind_asks_for_the_full_tree() -> None:
    peta4 = find_machine("peta4")
    for setting in ("radix=64", "topology=fat-tree"):
        tree = changed_machine(peta4, [setting, "nodes=768"]).topology_parameters
        assert tree == {"down": (32, 24), "up": (1, 32), "cables": (1, 1), "planes": (1,)}


def test_a_parameter_of_the_topology_changes_and_those_of_a_variant_stay(tmp_path: Path) -> None:
    """All that a variant said about its topology was once lost with the first change of it."""
    path = tmp_path / "wider.toml"
    path.write_text(
        'schema = "kiviat.machine/1"\nname = "wider"\ntitle = "t"\nsummary = "s"\nversion = 1\n'
        'base = "peta4"\n[topology]\nup = [1, 32]\n'
    )
    variant = load_machine(path)
    after = load_machine(path, changes(variant, ["topology.cables=1,2"]))
    assert after.topology_parameters == {**variant.topology_parameters, "cables": (1, 2)}
    assert after.topology_parameters["up"] == (1, 32)


@pytest.mark.parametrize(
    ("settings", "place", "value"),
    [
        (("nic.host_bus=3 GB/s", "nic.host_bus_duplex=half"), "nic.host_bus", 3e9),
        (("mpi.collective.block=2 us",), "mpi.collective.block", 2e-6),
        (("power.node=100 W",), "power.node", 100.0),
        (("mpi.crossing_ranks=4",), "mpi.crossing_ranks", 4.0),
    ],
)
def test_a_number_that_the_file_omits_can_be_set(settings: Sequence[str], place: str, value: float) -> None:
    assert load_machine(SMALL).number(place) is None
    assert changed(*settings).number(place) == pytest.approx(value)


def test_costs_of_messages_that_the_file_omits_can_be_set() -> None:
    after = [one.after for one in changed("mpi.network.after=1 us").segments["network"]]
    assert [one and one.value for one in after] == [1e-6, 1e-6]
    assert changed("mpi.in_flight.network=64 KiB").in_flight["network"].value == 65536


@pytest.mark.parametrize("kind", ["crossbar", "full-mesh", "fat-tree", "torus", "dragonfly"])
@pytest.mark.parametrize("nodes", [2, 7, 64, 100, 513])
def test_every_pair_of_nodes_is_joined(kind: str, nodes: int) -> None:
    network = build(kind, nodes, fitting(kind, nodes, 16 if nodes < 500 else 64), "test")
    assert min(network.hops(0)[:nodes]) == 0
    assert all(hops > 0 for hops in network.hops(0)[1:nodes])


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("nic.bandwith=2x", "no such number"),
        ("mpi.node_aware=yes", "mpi.node_aware is 'yes'"),
        ("nic.bandwidth", "not of the form PLACE=VALUE"),
        ("nic.bandwidth=0x", "more than 0"),
        ("nic.bandwidth=-2x", "not in B/s"),
        ("nic.bandwidth=3 us", "not in B/s"),
        ("topology=hypercube", "give one of crossbar"),
        ("topology=kautz", "no kautz network has 4 nodes"),
        ("topology.dimensions=a", "give whole numbers"),
        ("nodes=0", "whole number from 1"),
        ("core.memory_bandwidth=10x", "one core cannot exceed all cores"),
        ("mpi.node.send=2x", "nothing to change; give a value in s"),
        ("nic.host_bus=2x", "the machine file omits nic.host_bus"),
        ("nic.host_bus=2 GB/s", "only one of nic.host_bus and nic.host_bus_duplex"),
        ("mpi.network.bandwith=1 GB/s", "no such number"),
        ("mpi.collective.blok=1 us", "no such number"),
        ("memory.buses=none", "socket, node"),
        ("radix=8", "a crossbar has no radix"),
        ("nodes=1.3x", "whole number"),
    ],
)
def test_what_cannot_be_is_refused(setting: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        changed(setting)
    assert "\n" not in str(refused.value)


def test_a_radix_makes_switches_or_is_refused() -> None:
    for radix in ("0", "3"):
        with pytest.raises(InputError, match="radix of at least 4"):
            changed("topology=fat-tree", f"radix={radix}")
    with pytest.raises(InputError, match="down, up determine the topology"):
        changed("topology=fat-tree", "topology.down=4", "topology.up=1", "radix=8")


def test_twice_the_same_is_refused() -> None:
    with pytest.raises(InputError, match="changed twice"):
        changed("nodes=8", "node.count=9")


def test_only_doubtful_numbers_are_varied(tmp_path: Path) -> None:
    text = SMALL.read_text()
    path = tmp_path / "small.toml"
    rate = 'bandwidth = { value = "5 GB/s", source = "test", confidence = "high" }'
    latency = 'latency = { value = "9 us", source = "test", confidence = "high" }'
    assert rate in text and latency in text
    for line in (rate, latency):
        text = text.replace(line, line.replace("high", "assumed"))
    path.write_text(text)
    machine = load_machine(path)
    assert assumed_places(load_machine(SMALL)) == []
    assert assumed_places(machine) == ["memory.bandwidth", "mpi.network.latency"]
    varied = load_machine(path, scaled(machine, "memory.bandwidth", 1.25))
    assert varied.number("memory.bandwidth") == pytest.approx(6.25e9)


def test_a_variant_keeps_the_changes_of_its_machine() -> None:
    """Each variant once lost what --set had changed, and was compared with the changed machine."""
    machine = changed("nic.bandwidth=2x", "mpi.network.latency=2x")
    found = {
        (one.place, one.factor): (
            one.machine.number("nic.bandwidth"),
            one.machine.segments["network"][0].latency.value,
        )
        for one in variants(machine)
    }
    assert found == {
        ("nic.bandwidth", 0.75): pytest.approx((1.5e9, 6e-6)),
        ("nic.bandwidth", 1.25): pytest.approx((2.5e9, 6e-6)),
        ("mpi.network.latency", 0.75): pytest.approx((2e9, 4.5e-6)),
        ("mpi.network.latency", 1.25): pytest.approx((2e9, 7.5e-6)),
    }
