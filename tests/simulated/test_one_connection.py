"""Rendezvous in both directions of one connection, which carries each rank's data and answers in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import SMALL, Place, Simulation, number
from tests.simulated.test_contention import seconds, times_and_in_flight

EAGER, LONG = 4000, 200000
PAIRS = {"alltoall": "pair"}


def on(simulation: Simulation, one_connection: bool, **mpi: Any) -> Simulation:
    changes = {
        "node": {"count": number("8")},
        "mpi": {"one_connection": one_connection, "algorithms": PAIRS, **mpi},
    }
    return replace(simulation, machine=load_machine(SMALL, changes))


def one_each(ranks: int) -> list[Place]:
    return [(node, 0) for node in range(ranks)]


@pytest.mark.parametrize("ranks", [4, 8])
def test_pairs_that_change_use_one_direction_after_the_other(small: Simulation, ranks: int) -> None:
    """All ranks start together, so the first pairs exchange at once; in later steps they take turns.

    MPICH over TCP took five message times instead of three for an alltoall on four nodes
    (docs/explanation/emulated-links.md).
    """
    separate, ordered = on(small, False), on(small, True)
    lines = [f"alltoall bytes={LONG} mode=once", f"alltoall bytes={EAGER} mode=once"]
    long_s, short_s = separate.times(one_each(ranks), lines)
    ordered_s, same_s = ordered.times(one_each(ranks), lines)
    flow_s = 9e-6 + 0.6e-6 + LONG * (0.1e-9 + 1e-9)  # latency, receiving and bytes; sending overlaps
    assert ordered_s - long_s == pytest.approx((ranks - 2) * flow_s, rel=0.01)
    assert same_s == short_s


@pytest.mark.parametrize("line", ["sendrecv", "alltoall", "exchange", "pingpong", "pingping", "biband"])
def test_two_ranks_stay_in_step(small: Simulation, line: str) -> None:
    lines = [f"{line} bytes={LONG} mode=once", f"{line} bytes={LONG} mode=pallas2 iterations=5"]
    assert on(small, True).times(one_each(2), lines) == pytest.approx(
        on(small, False).times(one_each(2), lines), rel=1e-9
    )


def test_ranks_of_a_node_do_not_wait(small: Simulation) -> None:
    line = f"alltoall bytes={LONG} mode=once"
    places = [(0, core) for core in range(4)]
    assert on(small, True).times(places, [line]) == on(small, False).times(places, [line])


def test_posted_messages_wait_for_those_of_the_other_direction(small: Simulation) -> None:
    """With all messages posted at once, a rank that sends first is served first, and receives last.

    MPICH's alltoall of 24,000 B, which posts all messages at once, took 12.8 message times on eight nodes,
    not seven.
    """
    linear = {"algorithms": {"alltoall": "basic_linear"}}
    line = f"alltoall bytes={LONG} mode=once"
    (separate_s,) = on(small, False, **linear).times(one_each(8), [line])
    (ordered_s,) = on(small, True, **linear).times(one_each(8), [line])
    assert 1.2 < ordered_s / separate_s < 2


def test_every_message_arrives(small: Simulation) -> None:
    """A flow that waits for one that never ends would end the simulation with a deadlock."""
    lines = [
        f"{name} bytes={size} mode=once"
        for name in ("alltoall", "allreduce", "allgather", "bcast", "exchange", "sendrecv", "biband")
        for size in (8, EAGER, 5000, LONG)
    ]
    checked = replace(
        on(small, True), options={"smpi/shared-malloc": "off"}, environment={"KIVIAT_VERIFY": "1"}
    )
    for places in (one_each(8), checked.places(8)):
        for result in checked.cases(places, lines):
            assert result["check"] == "passed", (result["case"], result["check_reason"])


def with_buckets(simulation: Simulation) -> Simulation:
    bucket = {f"bucket_{way}": number("20 kB") for way in ("out", "in")} | {"packet": number("1 kB")}
    return replace(simulation, machine=load_machine(SMALL, {**simulation.machine.changes, "nic": bucket}))


def test_both_messages_of_a_step_find_full_buckets(small: Simulation) -> None:
    """A link rests while the other direction is used, so each message saves a bucket and a packet."""
    line = f"alltoall bytes={LONG} mode=once"
    (plain_s,) = on(small, True).times(one_each(4), [line])
    (time_s,) = with_buckets(on(small, True)).times(one_each(4), [line])
    assert plain_s - time_s == pytest.approx((1 + 2 * 2) * 21e3 / 1e9, rel=0.01)


def test_a_message_takes_from_the_buckets_when_it_begins(small: Simulation, flows: Path) -> None:
    """When rank 1 sends to 0, its message to 3 has emptied the bucket, which is full when it may begin."""
    lines = f"send 0 2 8 send 1 3 {LONG} send 0 1 {LONG} send 1 0 {LONG}"
    plain_s, time_s = (
        seconds(one, flows, one_each(4), lines)[0][0]
        for one in (on(small, True), with_buckets(on(small, True)))
    )
    assert plain_s - time_s == pytest.approx(2 * 21e3 / 1e9, rel=0.05)


def test_all_messages_of_a_direction_count(small: Simulation, flows: Path) -> None:
    """If each rank has two messages for the other, both of the rank that begins come first.

    Its second one does follow a message for the same rank, but this does not put the two in step.
    """
    others, long = "send 0 2 8 send 1 3 8", f"send 0 1 {LONG} send 0 1 {LONG} send 1 0 {LONG} send 1 0 {LONG}"
    at_once = seconds(on(small, False), flows, one_each(4), f"{others} {long}")[0]
    in_turns = seconds(on(small, True), flows, one_each(4), f"{others} {long}")[0]
    assert max(in_turns) - max(at_once) == pytest.approx(2 * LONG / 1e9, rel=0.05)
    in_step = seconds(on(small, True), flows, one_each(4), long)[0]
    assert max(in_step) == pytest.approx(
        max(seconds(on(small, False), flows, one_each(4), long)[0]), rel=1e-9
    )


def test_a_message_that_waits_is_not_under_way_twice(small: Simulation, flows: Path) -> None:
    """Its rank's time with messages in flight ends with the last one."""
    lines = f"send 0 2 8 send 1 3 8 send 0 1 {LONG} send 1 0 {LONG}"
    (line,) = times_and_in_flight(on(small, True), flows, one_each(4), lines)
    for took_s, far_s, _ in line[:2]:
        assert far_s == pytest.approx(took_s, rel=0.1)


def test_messages_that_wait_share_links_as_others_do(small: Simulation, flows: Path) -> None:
    """Three ranks that answer rank 0 have their latencies, half of a message's time, at once."""
    size = 20000
    others = "send 0 4 8 send 1 5 8 send 2 6 8 send 3 7 8"
    out = " ".join(f"send 0 {rank} {size}" for rank in (1, 2, 3))
    back = " ".join(f"send {rank} 0 {size}" for rank in (1, 2, 3))
    times = seconds(on(small, True), flows, one_each(8), f"{others} {out} {back}")[0]
    (one_way,) = seconds(on(small, False), flows, one_each(8), f"{others} {out}")
    # The latency of the first answer passes while the last message arrives.
    assert max(times) - max(one_way) == pytest.approx(3 * size / 1e9, rel=0.05)
