"""Algorithms of collectives, and Kiviat's replacements of SMPI functions."""

from __future__ import annotations

import pytest

from tests.simulated.conftest import Simulation, number

SPARSE = "b_eff version=quick mode=once"


@pytest.mark.parametrize("algorithm", ["rdb", "lr", "redbcast"])
def test_the_machine_chooses_the_algorithm(small: Simulation, algorithm: str) -> None:
    case = ["allreduce bytes=65536 mode=once"]
    places = small.places(8)
    chosen = small.with_machine({"mpi": {"algorithms": {"allreduce": algorithm}}})
    (time,) = chosen.times(places, case)
    assert [time] == small.with_options(smpi__allreduce=algorithm).times(places, case)
    others = [
        small.with_options(smpi__allreduce=other).times(places, case)[0]
        for other in ("rdb", "lr", "redbcast")
    ]
    assert len({*others}) == 3


def test_whose_collectives_they_are_matters(small: Simulation) -> None:
    cases = ["barrier mode=once", "allreduce bytes=1048576 mode=once", "bcast bytes=65536 mode=once"]
    by = {name: small.with_machine({"mpi": {"collectives": name}}) for name in ("mpich", "ompi")}
    times = {name: one.times(one.places(8), cases) for name, one in by.items()}
    assert times["mpich"] != times["ompi"]


def test_only_what_there_is_is_sent_where_some_get_nothing(small: Simulation) -> None:
    """A sparse alltoallv sends only non-empty messages, whichever algorithm SMPI has selected."""
    places = small.places(16)

    def alltoallv_bandwidths(simulation: Simulation) -> list[float]:
        (result,) = simulation.cases(places, [SPARSE])
        (table,) = result["tables"]
        values: list[float] = table["values"][1::3]
        return values

    own = alltoallv_bandwidths(small)
    assert own == alltoallv_bandwidths(small.with_options(smpi__alltoallv="pair"))
    nonblocking = small.cases(places, [SPARSE])[0]["tables"][0]["values"][2::3]
    # Both methods send to two neighbours at once; they differ in the order in which links are used.
    assert own == pytest.approx(nonblocking, rel=0.35)


def test_where_all_get_something_the_algorithm_is_the_machine_s(small: Simulation) -> None:
    places, case = small.places(8), ["alltoallv bytes=4096 mode=once"]
    pair, bruck = (small.with_options(smpi__alltoallv=name).times(places, case) for name in ("pair", "bruck"))
    assert pair != bruck


@pytest.mark.parametrize("ranks", [3, 5, 6, 7])
def test_long_alltoalls_of_any_number_of_ranks(small: Simulation, ranks: int) -> None:
    (time,) = small.times(small.places(ranks), ["alltoall bytes=1048576 mode=once"])
    # At least the time on a rank's own socket, at most the time of all messages in sequence.
    assert (ranks - 1) * (1 << 20) / 5e9 < time < ranks * ranks * (1 << 20) / 1e9


def test_bruck_packs_its_blocks(small: Simulation) -> None:
    """Bruck's alltoall is charged for packing: each of eight ranks packs four blocks in each of three rounds.

    Longer messages use another algorithm.
    """
    packs = small.with_machine(
        {"mpi": {"collective": {"block": number("0.1 us"), "per_byte": number("2 ns/B")}}}
    )
    lines = [f"alltoall bytes={size} mode=once" for size in (8, 100, 4096)]
    plain, packed = (one.times(one.places(8), lines) for one in (small, packs))
    more = [one - other for one, other in zip(packed, plain, strict=True)]
    assert more == pytest.approx(
        [12 * (0.1e-6 + 8 * 2e-9), 12 * (0.1e-6 + 100 * 2e-9), 0], rel=1e-4, abs=1e-12
    )


def test_buffers_of_collectives_leave_the_cache(small: Simulation) -> None:
    """A collective exceeds the cache if all of its blocks do, even if single messages of 16 KiB fit."""
    passes = 2.5
    cold, warm = (
        small.with_machine(
            {
                "memory": {"message_cache": number(text), "cold_passes": {**number(""), "value": passes}},
                "mpi": {"algorithms": {"alltoall": "ring"}},
            }
        )
        for text in ("64 KiB", "1 GB")
    )
    size, rate = 16384, 2.5e9
    for name, set_bytes in (("alltoall", 4 * size), ("allgather", 2.5 * size)):
        (late,), (early,) = (
            one.times(one.places(4), [f"{name} bytes={size} mode=once"]) for one in (cold, warm)
        )
        assert late - early == pytest.approx(3 * size * (1 - size / set_bytes) * passes / rate, rel=0.01)


@pytest.mark.parametrize("ranks", [6, 8])
def test_long_alltoalls_of_any_number_of_ranks_leave_the_cache(small: Simulation, ranks: int) -> None:
    """All blocks of a rank on one node exceed its share of 1 MiB, though a single message fits."""
    memory = {"cold_passes": {**number(""), "value": 2.5}}
    cold, warm = (
        small.with_machine(
            {"node": {"cores": number("4")}, "memory": {"message_cache": number(text), **memory}}
        )
        for text in ("1 MiB", "1 GB")
    )
    case = ["alltoall bytes=65536 mode=once"]
    (late,), (early,) = (one.times(one.places(ranks), case) for one in (cold, warm))
    copied = (ranks - 1) * 65536 * (1 - 16 / ranks**2) * 2.5
    assert late - early == pytest.approx(copied / (10e9 / ranks), rel=0.5)
