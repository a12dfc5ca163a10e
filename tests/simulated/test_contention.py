"""Sharing of links, host buses and memory buses in simulations, and the time with messages in flight."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import NATIVE, SMALL, Place, Simulation, number

MACHINES = NATIVE.parent / "machines"

# A message of ten milliseconds; all other costs are below a third of that, and equal for all messages.
MANY = 10_000_000
APART: list[Place] = [(0, 0), (1, 0), (2, 0), (3, 0)]
SOCKETS: list[Place] = [(0, 0), (0, 1), (0, 2), (0, 3)]


def times_and_in_flight(
    simulation: Simulation, flows: Path, places: list[Place], *rounds: str
) -> list[list[tuple[float, float, float]]]:
    """Return seconds by round and rank: of its acts, and with messages in flight off and on its node."""
    done = simulation.run(places, flows, *" then ".join(rounds).split())
    assert done.returncode == 0, done.stderr
    lines = ([word.split(",") for word in line.split()] for line in done.stdout.splitlines())
    return [[(float(took), float(far), float(near)) for took, far, near in line] for line in lines]


def seconds(simulation: Simulation, flows: Path, places: list[Place], *rounds: str) -> list[list[float]]:
    """Return, for each round and rank, the seconds that its acts took."""
    return [[took for took, _, _ in line] for line in times_and_in_flight(simulation, flows, places, *rounds)]


def test_two_flows_on_a_link_get_half_of_it_each(small: Simulation, flows: Path) -> None:
    alone, together = seconds(
        small, flows, APART, f"send 0 1 {MANY}", f"send 0 1 {MANY} send 2 1 {MANY} send 3 0 8"
    )
    # Twice the time of one message, except for the part that is not spent on the link.
    assert together[0] == pytest.approx(alone[0] + MANY / 1e9, rel=1e-5)
    assert together[2] == pytest.approx(together[0], rel=1e-9)


def test_flows_that_start_together_get_fair_shares(small: Simulation, flows: Path) -> None:
    """Flows get fair shares even if two start at the same time on a link with an existing one.

    Node 0's link leads to nodes 1 and 2, and node 2's link was used by node 3 alone before.
    """
    acts = "wait 1 0.008 wait 2 0.008"
    alone, late, shared = seconds(
        *(small, flows, APART, f"send 3 2 {MANY}", f"{acts} send 0 1 {MANY}"),
        f"send 3 2 {MANY} {acts} send 0 1 {MANY} send 0 2 {MANY}",
    )
    begun = late[1] - MANY / 1e9
    assert shared[3] == pytest.approx(alone[3] + (alone[3] - begun), rel=1e-6)
    assert shared[:3] == pytest.approx([begun + 2 * MANY / 1e9] * 3, rel=1e-6)


def test_opposite_directions_do_not_disturb_each_other(small: Simulation, flows: Path) -> None:
    alone, both = seconds(small, flows, APART, f"send 0 1 {MANY}", f"send 0 1 {MANY} send 1 0 {MANY}")
    assert both[0] == pytest.approx(alone[0], rel=1e-9)


def test_a_rank_that_is_busy_with_a_message_computes_later(small: Simulation, flows: Path) -> None:
    """If sending keeps the rank busy, its next computation starts later, even if the message has left."""
    network = tomllib.loads(SMALL.read_text())["mpi"]["network"]
    for segment in network:
        segment["after"] = number("6 us")
    busy = small.with_machine({"mpi": {"network": network}})
    rounds = ("wait 0 0.001", "send 0 1 1000 compute 0 1000")
    _, (free_s, *_) = seconds(small, flows, APART, *rounds)
    _, (busy_s, *_) = seconds(busy, flows, APART, *rounds)
    assert busy_s - free_s == pytest.approx(6e-6, rel=1e-6)


def test_a_half_duplex_host_bus_carries_one_direction_at_a_time(small: Simulation, flows: Path) -> None:
    rounds = (f"send 0 1 {MANY}", f"send 0 1 {MANY} send 1 0 {MANY}")
    bus = {"host_bus": number("1.2 GB/s"), "host_bus_duplex": "half"}
    half = small.with_machine({"nic": bus})
    alone, both = seconds(half, flows, APART, *rounds)
    assert both[0] == pytest.approx(alone[0] + 2 * MANY / 1.2e9 - MANY / 1e9, rel=1e-5)
    full = small.with_machine({"nic": {**bus, "host_bus_duplex": "full"}})
    alone, both = seconds(full, flows, APART, *rounds)
    assert both[0] == pytest.approx(alone[0], rel=1e-9)


def test_memory_bound_ranks_share_the_bus_of_their_socket(small: Simulation, flows: Path) -> None:
    """Memory-bound ranks share the bus of their socket: a single core gets 4 of its 5 GB/s."""
    billion = "memory {} 1e9"
    rounds = [
        billion.format(0),
        f"{billion.format(0)} {billion.format(1)}",
        f"{billion.format(0)} {billion.format(2)}",
    ]
    alone, one_socket, two_sockets = seconds(small, flows, SOCKETS, *rounds)
    assert alone[0] == pytest.approx(1 / 4, rel=1e-9)
    assert one_socket[:2] == pytest.approx([2 / 5, 2 / 5], rel=1e-9)
    assert two_sockets[0] == two_sockets[2] == pytest.approx(1 / 4, rel=1e-9)


def test_memory_contention_doubles_where_a_core_can_have_the_whole_bus(
    small: Simulation, flows: Path
) -> None:
    whole = small.with_machine({"core": {"memory_bandwidth": number("5 GB/s")}})
    alone, both = seconds(whole, flows, SOCKETS, "memory 0 1e9", "memory 0 1e9 memory 1 1e9")
    assert both[0] == pytest.approx(2 * alone[0], rel=1e-9)


def test_arithmetic_is_not_shared_and_the_slower_of_both_counts(small: Simulation, flows: Path) -> None:
    both, flops, bytes_ = seconds(
        *(small, flows, SOCKETS),
        *("compute 0 1e9 compute 1 1e9", "compute 0 2e9 memory 0 1e9", "compute 0 1e8 memory 0 1e9"),
    )
    assert both[:2] == pytest.approx([1, 1], rel=1e-9)
    assert flops[0] == pytest.approx(2, rel=1e-9)
    assert bytes_[0] == pytest.approx(1 / 4, rel=1e-9)


def test_messages_and_memory_share_a_bus_in_proportion_to_what_they_could_have(
    small: Simulation, flows: Path
) -> None:
    """Messages and memory traffic share a bus in proportion to their maximum rates; neither starves.

    Messages within a socket cross its bus twice.
    """
    alone, beside = seconds(
        small, flows, SOCKETS, "send 0 1 20000000", "send 0 1 20000000 memory 2 1e9 memory 3 1e9"
    )
    assert beside[0] == pytest.approx(alone[0], rel=1e-9)  # the memory traffic is on the other socket
    crowded, *_ = seconds(small, flows, SOCKETS, "send 0 1 20000000 memory 0 1e9 memory 1 1e9")
    slower = max(crowded[:2]) / (1e9 * 2 / 5e9)
    assert 1 < slower < 1.5


# Time in flight of a rendezvous message: latency, hop, bytes, and receive time, which SMPI does not charge to
# the receiver.
FAR_S = 9e-6 + 0.5e-6 + MANY / 1e9 + 0.6e-6 + MANY * 0.1e-9
RING = f"send 0 1 {MANY} send 1 2 {MANY} send 2 3 {MANY} send 3 0 {MANY}"
# Every rank sends to its successor, then to the one after it, so all are equally late.
ALL_TO_ALL = " ".join(f"send {a} {(a + k) % 4} {MANY}" for k in (1, 2, 3) for a in range(4))


def test_each_rank_of_a_ring_has_messages_under_way_to_and_from_its_neighbours(
    small: Simulation, flows: Path
) -> None:
    """In a ring, each rank has messages in flight from the first to the last; overlapping ones count once."""
    (alone,) = times_and_in_flight(small, flows, APART, RING)
    assert [under_way for _, *under_way in alone] == [pytest.approx([FAR_S, 0], rel=1e-6)] * 4
    paired: list[Place] = [(0, 0), (0, 2), (1, 0), (1, 2)]
    (sockets,) = times_and_in_flight(small, flows, paired, RING)
    near_s = 1e-6 + MANY / 1.5e9
    assert [under_way for _, *under_way in sockets] == [pytest.approx([FAR_S, near_s], rel=0.01)] * 4


def test_messages_one_after_the_other_are_under_way_for_their_sum(small: Simulation, flows: Path) -> None:
    """The times of messages in sequence add up; waiting for a message not sent yet does not count."""
    (late,) = times_and_in_flight(small, flows, APART, f"send 0 1 {MANY} wait 2 0.05 send 2 1 {MANY}")
    took_s, far_s, near_s = late[1]
    assert took_s > 0.05
    assert (far_s, near_s) == (pytest.approx(2 * FAR_S, rel=1e-6), 0)
    assert late[0][1] == late[2][1] == pytest.approx(FAR_S, rel=1e-6)
    assert late[3][1:] == (0, 0)


def test_ranks_that_share_a_link_have_messages_under_way_for_longer(small: Simulation, flows: Path) -> None:
    """In an all-to-all, messages are in flight for longer on a shared link, which carries four, not three."""
    shared: list[Place] = [(0, 0), (0, 2), (1, 0), (1, 2)]
    (alone,), (together,) = (
        times_and_in_flight(small, flows, places, ALL_TO_ALL) for places in (APART, shared)
    )
    beside_s = FAR_S - MANY / 1e9
    assert [far_s for _, far_s, _ in alone] == pytest.approx([3 * MANY / 1e9 + beside_s] * 4, rel=1e-3)
    assert [far_s for _, far_s, _ in together] == pytest.approx([4 * MANY / 1e9 + beside_s] * 4, rel=1e-3)
    assert all(near_s > MANY / 1.5e9 for _, _, near_s in together)
    assert all(near_s == 0 for _, _, near_s in alone)


def test_messages_whose_flows_end_without_a_word_end(simgrid: Toolchain, bench: Path, tmp_path: Path) -> None:
    """Messages are counted as delivered even if SimGrid ends their flows without a callback.

    SimGrid ends some short flows a few nanoseconds early. Messages of CG on this machine were once in flight
    for ever, so network time was the total time.
    """
    simulation = Simulation(simgrid, bench, tmp_path, load_machine(MACHINES / "vt-myri10g.toml"))
    (result,) = simulation.cases([(node, 0) for node in range(16)], ["cg class=S mode=once"])
    median = {metric["name"]: metric["p50"] for metric in result["metrics"]}
    assert 0.4 * median["time"] < median["network_time"] < 0.8 * median["time"]
    assert median["node_time"] == 0
