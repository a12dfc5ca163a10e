"""Collectives in the shared memory of a node: the same results, and the time of their closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import SMALL, Simulation, number

EXACT = 1e-5
LATENCY_S, FLAG_S, RATE = 0.7e-6, 0.05e-6, 2e9
LARGEST = 16384
MEMORY = {
    "latency": number(f"{LATENCY_S} s"),
    "flag": number(f"{FLAG_S} s"),
    "bandwidth": number(f"{RATE} B/s"),
    "largest": number(f"{LARGEST} B"),
}


def on(simulation: Simulation, **mpi: Any) -> Simulation:
    return replace(simulation, machine=load_machine(SMALL, {"mpi": {"node_aware": True, **mpi}}))


def sharing(simulation: Simulation, **mpi: Any) -> Simulation:
    return on(simulation, shared_memory=MEMORY, **mpi)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_the_time_on_a_node_is_that_of_the_closed_form(small: Simulation, ranks: int) -> None:
    """Every rank copies its vector into the segment, and the root reads them one after the other."""
    machine = sharing(small)
    for size in (8, 1000, LARGEST):
        copy_s, others = size / RATE, ranks - 1
        reduce_s = copy_s + LATENCY_S + others * (FLAG_S + copy_s)
        bcast_s = copy_s + LATENCY_S + copy_s
        lines = [f"{name} bytes={size} mode=once" for name in ("reduce", "bcast", "allreduce")]
        lines += [f"{name} bytes={size} root=1 mode=once" for name in ("reduce", "bcast")]
        wanted = [reduce_s, bcast_s, reduce_s + bcast_s, reduce_s, bcast_s]
        assert machine.times(machine.places(ranks), lines) == pytest.approx(wanted, rel=EXACT)
    (barrier_s,) = machine.times(machine.places(ranks), ["barrier mode=once"])
    assert barrier_s == pytest.approx(2 * LATENCY_S + (ranks - 1) * FLAG_S, rel=EXACT)


@pytest.mark.parametrize("case", ["allreduce bytes=8", "allreduce bytes=1000", "barrier"])
def test_between_nodes_the_leaders_take_as_long_as_alone(small: Simulation, case: str) -> None:
    machine, lines = sharing(small), [f"{case} mode=once"]
    (node_s,) = machine.times(machine.places(4), lines)
    (leaders_s,) = machine.times([(0, 0), (1, 0), (2, 0)], lines)
    (both_s,) = machine.times(machine.places(12), lines)
    assert both_s == pytest.approx(node_s + leaders_s, rel=EXACT)


def test_longer_vectors_travel_in_messages(small: Simulation) -> None:
    shared, messages = sharing(small), on(small)
    for name in ("allreduce", "bcast", "reduce"):
        lines = [f"{name} bytes={size} mode=once" for size in (LARGEST, LARGEST + 8)]
        (short_s, long_s), (other_s, same_s) = (one.times(one.places(8), lines) for one in (shared, messages))
        assert short_s != pytest.approx(other_s, rel=0.01)
        assert long_s == same_s


@pytest.mark.parametrize("ranks", [3, 4, 9, 12])
@pytest.mark.parametrize("cyclic", [False, True])
def test_payload_arrives(small: Simulation, ranks: int, cyclic: bool) -> None:
    checked = replace(
        sharing(small), options={"smpi/shared-malloc": "off"}, environment={"KIVIAT_VERIFY": "1"}
    )
    names = [
        *("barrier", "allreduce bytes=8", "allreduce bytes=16384", "bcast bytes=8", "bcast bytes=16000"),
        *("bcast bytes=8 root=2", "reduce bytes=8", "reduce bytes=16384", "reduce bytes=8 root=2"),
        *("reduce bytes=16384 root=2", "bcast bytes=16000 root=2", "allreduce bytes=65536"),
    ]
    places = [(rank % 3, rank // 3) for rank in range(ranks)] if cyclic else checked.places(ranks)
    for result in checked.cases(places, [f"{name} mode=once" for name in names]):
        assert result["check"] == "passed", (result["case"], result["check_reason"])
