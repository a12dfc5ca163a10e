"""Collectives as MPICH 3 and 4 decide: the same results, and the costs of the documented algorithms."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import SMALL, Place, Simulation, number

EXACT = 1e-5
CROSSING_S, CROSSING_S_PER_B = 30e-6, 5e-9


def on(simulation: Simulation, mpi: dict[str, Any]) -> Simulation:
    """Return the small machine with 16 nodes, delays of messages that cross, and these keys of [mpi]."""
    levels = tomllib.loads(SMALL.read_text())["mpi"]
    segments = {level: levels[level] for level in ("socket", "node", "network")}
    for segment in (segment for level in segments.values() for segment in level):
        segment["crossing"] = number(f"{CROSSING_S * 1e6} us")
        segment["crossing_per_byte"] = number(f"{CROSSING_S_PER_B * 1e9} ns/B")
    changes = {"node": {"count": number("16")}, "mpi": {**segments, **mpi}}
    return replace(simulation, machine=load_machine(SMALL, changes))


def mpich3(simulation: Simulation, **mpi: Any) -> Simulation:
    return on(simulation, {"collectives": "mpich3", **mpi})


def one_each(ranks: int) -> list[Place]:
    return [(node, 0) for node in range(ranks)]


def times(simulation: Simulation, places: list[Place], name: str, *sizes: int) -> list[float]:
    return simulation.times(places, [f"{name} bytes={size} mode=once" for size in sizes])


@pytest.mark.parametrize("ranks", [2, 5, 8, 12])
def test_payload_arrives(small: Simulation, ranks: int) -> None:
    checked = replace(
        mpich3(small, collective={"allgather_short": number("4 kB")}),
        options={"smpi/shared-malloc": "off"},
        environment={"KIVIAT_VERIFY": "1"},
    )
    lines = [
        f"{name} bytes={size} mode=once"
        for name in ("allgather", "alltoall", "bcast")
        for size in (8, 256, 257, 4096, 32768, 32769, 200000)
    ]
    for places in (one_each(ranks), checked.places(ranks)):
        for result in checked.cases(places, lines):
            assert result["check"] == "passed", (result["case"], result["check_reason"])


@pytest.mark.parametrize(("ranks", "longest_short"), [(8, 65535), (6, 13653)])
def test_long_allgather_passes_blocks_on_to_the_next_rank(
    small: Simulation, ranks: int, longest_short: int
) -> None:
    """A ring of P - 1 steps is used for 2^n ranks from 512 KiB in total, for others from 80 KiB."""
    machine, size = mpich3(small), longest_short + 1
    (step_s,) = times(machine, one_each(ranks), "sendrecv", size)
    ring_s, short_s = times(machine, one_each(ranks), "allgather", size, longest_short)
    assert ring_s == pytest.approx((ranks - 1) * step_s, rel=EXACT)
    algorithm = "rdb" if ranks == 8 else "bruck"
    named = on(small, {"algorithms": {"allgather": algorithm}})
    assert [short_s] == pytest.approx(times(named, one_each(ranks), "allgather", longest_short), rel=EXACT)


def test_a_block_crosses_the_adapter_once(small: Simulation) -> None:
    """On two nodes of four ranks, seven blocks leave each node in the ring; SMPI's `mpich` sends sixteen."""
    size = 1 << 20
    for machine, blocks in ((mpich3(small), 7), (on(small, {}), 16)):
        narrow = replace(machine, machine=_with_slow_adapter(machine))
        (time_s,) = times(narrow, narrow.places(8), "allgather", size)
        assert time_s == pytest.approx(blocks * size / 10e6, rel=0.05)


def _with_slow_adapter(machine: Simulation) -> Any:
    return load_machine(
        SMALL,
        {
            "nic": {"bandwidth": number("10 MB/s")},
            "mpi": {"collectives": machine.machine.words["mpi.collectives"]},
        },
    )


def test_the_machine_says_which_blocks_are_short(small: Simulation) -> None:
    ranks, sizes = 8, (1024, 1025)
    machine = mpich3(small, collective={"allgather_short": number("1 KiB")})
    doubled_s, ring_s = times(machine, one_each(ranks), "allgather", *sizes)
    named = on(small, {"algorithms": {"allgather": "rdb"}})
    assert [doubled_s] == pytest.approx(times(named, one_each(ranks), "allgather", 1024), rel=EXACT)
    (step_s,) = times(machine, one_each(ranks), "sendrecv", 1025)
    assert ring_s == pytest.approx((ranks - 1) * step_s, rel=EXACT)


@pytest.mark.parametrize("ranks", [4, 8, 14])
def test_posted_messages_of_a_rank_follow_each_other(small: Simulation, ranks: int) -> None:
    """A medium alltoall, whose messages are all posted at once, takes as long as P - 1 Sendrecvs.

    So does a long one, by pairs. SMPI's `mpich` adds a message of each rank to itself.
    """
    machine = mpich3(small)
    for size in (1000, 65536):
        (pair_s,) = times(machine, one_each(ranks), "sendrecv", size)
        (time_s,) = times(machine, one_each(ranks), "alltoall", size)
        assert time_s == pytest.approx((ranks - 1) * pair_s, rel=EXACT)
    (more_s,) = times(on(small, {}), one_each(ranks), "alltoall", 1000)
    assert more_s > times(machine, one_each(ranks), "alltoall", 1000)[0] + 0.9 * CROSSING_S


def test_alltoall_of_256_bytes_is_brucks(small: Simulation) -> None:
    bruck = on(small, {"algorithms": {"alltoall": "bruck"}})
    places = one_each(8)
    assert times(mpich3(small), places, "alltoall", 256) == pytest.approx(
        times(bruck, places, "alltoall", 256), rel=EXACT
    )
    assert times(mpich3(small), places, "alltoall", 257) != pytest.approx(
        times(bruck, places, "alltoall", 257), rel=0.01
    )


def test_a_named_algorithm_stays(small: Simulation) -> None:
    algorithms = {"allgather": "rdb", "alltoall": "bruck", "allreduce": "lr"}
    for name, size in (("allgather", 1 << 20), ("alltoall", 65536), ("allreduce", 65536)):
        ours, smpis = (
            times(one, one_each(8), name, size)
            for one in (mpich3(small, algorithms=algorithms), on(small, {"algorithms": algorithms}))
        )
        assert ours == smpis


def test_allreduce_is_that_of_mpich_3(small: Simulation) -> None:
    """It is node-aware, and uses Rabenseifner's algorithm above 2 KiB, while MPICH 4 does so above 8 B."""
    machine = mpich3(small)
    for size, algorithm in ((1024, "rdb"), (2048, "rdb"), (4096, "rab_rdb")):
        named = on(small, {"node_aware": True, "algorithms": {"allreduce": algorithm}})
        for places in (one_each(6), machine.places(8)):
            assert times(machine, places, "allreduce", size) == pytest.approx(
                times(named, places, "allreduce", size), rel=EXACT
            )


@pytest.mark.parametrize(
    ("ranks", "size", "algorithm"),
    [
        *((8, 12280, "binomial_tree"), (8, 12288, "scatter_rdb_allgather"), (6, 65536, "binomial_tree")),
        *((8, 524288, "scatter_LR_allgather"), (12, 65536, "scatter_LR_allgather")),
    ],
)
def test_broadcasts_are_those_of_mpich(small: Simulation, ranks: int, size: int, algorithm: str) -> None:
    """SMPI's `mpich` uses a binomial tree for 8 ranks, and recursive doubling for any even number."""
    named = on(small, {"node_aware": True, "algorithms": {"bcast": algorithm}})
    for version in ("mpich3", "mpich4"):
        machine = on(small, {"collectives": version})
        assert times(machine, one_each(ranks), "bcast", size) == pytest.approx(
            times(named, one_each(ranks), "bcast", size), rel=EXACT
        )


def test_versions_differ_in_allreduce(small: Simulation) -> None:
    """MPICH 4 halves vectors above 8 B, MPICH 3 above 2 KiB."""
    third, fourth = (on(small, {"collectives": version}) for version in ("mpich3", "mpich4"))
    rabenseifner = on(small, {"node_aware": True, "algorithms": {"allreduce": "rab_rdb"}})
    expected = times(rabenseifner, one_each(8), "allreduce", 1024)
    assert times(fourth, one_each(8), "allreduce", 1024) == pytest.approx(expected, rel=EXACT)
    assert times(third, one_each(8), "allreduce", 1024) != pytest.approx(expected, rel=0.01)
    for name in ("allgather", "alltoall"):
        sizes = (100, 1000, 1 << 20)
        assert times(third, one_each(8), name, *sizes) == times(fourth, one_each(8), name, *sizes)
