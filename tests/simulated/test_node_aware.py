"""Node-aware collectives: they yield the same results, and have the expected cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import SMALL, Place, Simulation, number, printed

AWARE = {"mpi": {"node_aware": True}}
# Messages within a node take almost no time.
FREE = {
    "from": number("0 B"),
    "latency": number("0 s"),
    "bandwidth": number("1000 GB/s"),
}
FREE_NODES: dict[str, Any] = {
    "core": {"memory_bandwidth": number("9000 GB/s")},
    "memory": {"bandwidth": number("9000 GB/s")},
    "interconnect": {"bandwidth": number("9000 GB/s")},
    "mpi": {"socket": [FREE], "node": [FREE]},
}


def on(simulation: Simulation, changes: dict[str, Any]) -> Simulation:
    nodes = {"node": {"count": number("16")}}
    return replace(simulation, machine=load_machine(SMALL, {**nodes, **changes}))


def cyclic(ranks: int) -> list[Place]:
    """Return a cyclic placement on five nodes, in which successive ranks are on different nodes."""
    return [(rank % 5, rank // 5) for rank in range(ranks)]


@pytest.mark.parametrize("selector", ["mpich", "ompi"])
@pytest.mark.parametrize("ranks", [5, 8, 12])
def test_node_aware_collectives_have_the_same_results(
    small: Simulation, rounds: Path, ranks: int, selector: str
) -> None:
    """Results are the same for any root, communicators in any order, and blocked or cyclic placement."""
    collectives = {"collectives": selector}
    flat, aware = on(small, {"mpi": collectives}), on(small, {"mpi": {**collectives, "node_aware": True}})
    for places in (flat.places(ranks), cyclic(ranks)):
        results, seconds = printed(flat, places, rounds)
        ours, others = printed(aware, places, rounds)
        assert ours == results and ours
        # Times are equal only if every rank has its own node. With selector mpich, SMPI's node-aware
        # algorithms of MVAPICH2 differ even then.
        one_each = len({node for node, _ in places}) == ranks
        assert (others == seconds) is (one_each and selector == "ompi")


def times_of_allreduce(simulation: Simulation, ranks: int, algorithm: str | None, *sizes: int) -> list[float]:
    """Return times of allreduce, with one rank per node."""
    algorithms = {"algorithms": {"allreduce": algorithm}} if algorithm else {}
    there = on(simulation, {"mpi": {**AWARE["mpi"], **algorithms}})
    places = [(node, 0) for node in range(ranks)]
    return there.times(places, [f"allreduce bytes={size} mode=once" for size in sizes])


@pytest.mark.parametrize("ranks", [4, 6])
def test_allreduce_is_that_of_mpich_4(small: Simulation, ranks: int) -> None:
    """As in MPICH 4, allreduce is Rabenseifner's above 8 B if every rank has an element.

    SMPI's rule is above 2048 B.
    """
    halves, doubles = [16, 1024, 4096, 65536], [4, 8, 12]
    own = times_of_allreduce(small, ranks, None, *halves, *doubles)
    assert own[: len(halves)] == pytest.approx(times_of_allreduce(small, ranks, "rab_rdb", *halves), rel=1e-6)
    assert own[len(halves) :] == pytest.approx(times_of_allreduce(small, ranks, "rdb", *doubles), rel=1e-6)
    assert own[1] != pytest.approx(times_of_allreduce(small, ranks, "rdb", 1024)[0], rel=0.1)


@pytest.mark.parametrize("one_each", [False, True])
@pytest.mark.parametrize("selector", ["mpich", "ompi"])
@pytest.mark.parametrize("ranks", [5, 8, 12])
def test_payload_arrives(small: Simulation, ranks: int, selector: str, one_each: bool) -> None:
    aware = replace(
        on(small, {"mpi": {"collectives": selector, "node_aware": True}}),
        options={"smpi/shared-malloc": "off"},
        environment={"KIVIAT_VERIFY": "1"},
    )
    names = [
        *("barrier", "allreduce bytes=8", "allreduce bytes=65536", "bcast bytes=8", "bcast bytes=20000"),
        *("bcast bytes=600000", "bcast bytes=8 root=3", "bcast bytes=20000 root=3", "reduce bytes=8"),
        *("reduce bytes=2048", "reduce bytes=65536", "reduce bytes=8 root=3", "reduce bytes=65536 root=3"),
    ]
    places = [(node, 0) for node in range(ranks)] if one_each else aware.places(ranks)
    for result in aware.cases(places, [f"{name} mode=once" for name in names]):
        assert result["check"] == "passed", (result["case"], result["check_reason"])


@pytest.mark.parametrize("case", ["barrier", "allreduce bytes=8", "reduce bytes=8", "bcast bytes=8192"])
def test_they_cost_what_one_rank_of_each_node_costs(small: Simulation, case: str) -> None:
    """If messages within nodes are free, node-aware collectives cost as much as those of one rank per node.

    Others send more messages over the network.
    """
    flat = on(small, FREE_NODES)
    aware = on(small, {**FREE_NODES, "mpi": {**FREE_NODES["mpi"], **AWARE["mpi"]}})
    (one_each,) = flat.times([(node, 0) for node in range(6)], [f"{case} mode=once"])
    (through_one,) = aware.times(cyclic_on_six(), [f"{case} mode=once"])
    (through_all,) = flat.times(cyclic_on_six(), [f"{case} mode=once"])
    assert through_one == pytest.approx(one_each, rel=0.01)
    assert through_all > 1.05 * one_each


def cyclic_on_six() -> list[Place]:
    return [(rank % 6, rank // 6) for rank in range(24)]
