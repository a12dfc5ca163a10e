"""Broadcasts of Open MPI: linear, and by a binary tree or a chain without segments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import SMALL, Simulation, number

RATE = 10e6  # of the adapters, so that little but bytes counts


def ompi(simulation: Simulation, **mpi: object) -> Simulation:
    """Return the small machine with 16 nodes, slow adapters and Open MPI's collectives."""
    changes = {
        "node": {"count": number("16")},
        "nic": {"bandwidth": number("10 MB/s")},
        "mpi": {"collectives": "ompi", **mpi},
    }
    return replace(simulation, machine=load_machine(SMALL, changes))


def bcast_s(simulation: Simulation, ranks: int, size: int) -> float:
    places = [(node, 0) for node in range(ranks)]
    (time_s,) = simulation.times(places, [f"bcast bytes={size} mode=once"])
    return time_s


@pytest.mark.parametrize(("ranks", "size"), [(3, 300000), (4, 100000), (8, 65536), (8, 1 << 20)])
def test_the_root_sends_long_messages_to_each_rank(small: Simulation, ranks: int, size: int) -> None:
    assert bcast_s(ompi(small), ranks, size) == pytest.approx((ranks - 1) * size / RATE, rel=0.02)


@pytest.mark.parametrize(
    ("ranks", "size", "sent"), [(2, 100000, 1), (3, 100000, 2), (8, 16000, 5), (15, 16000, 6)]
)
def test_a_binary_tree_passes_whole_messages_on(small: Simulation, ranks: int, size: int, sent: int) -> None:
    """A rank sends to both children at once; the last of 8 ranks has its message after five message times."""
    assert bcast_s(ompi(small), ranks, size) == pytest.approx(sent * size / RATE, rel=0.03)


@pytest.mark.parametrize(("ranks", "size"), [(3, 200000), (4, 1 << 20), (6, 1 << 20)])
def test_a_chain_passes_whole_messages_on(small: Simulation, ranks: int, size: int) -> None:
    assert bcast_s(ompi(small), ranks, size) == pytest.approx((ranks - 1) * size / RATE, rel=0.02)


@pytest.mark.parametrize("root", [0, 3])
@pytest.mark.parametrize("ranks", [3, 5, 8, 13])
def test_payload_arrives(small: Simulation, ranks: int, root: int) -> None:
    checked = replace(ompi(small), options={"smpi/shared-malloc": "off"}, environment={"KIVIAT_VERIFY": "1"})
    lines = [
        f"bcast bytes={size} root={root % ranks} mode=once"
        for size in (8, 48, 8192, 16384, 65536, 200000, 1 << 20)
    ]
    for result in checked.cases([(node, 0) for node in range(ranks)], lines):
        assert result["check"] == "passed", (result["case"], result["check_reason"])


def test_a_named_algorithm_stays(small: Simulation) -> None:
    """SMPI's NTSL, a chain of segments, takes as long as with any other selector."""
    named = ompi(small, algorithms={"bcast": "NTSL"})
    others = ompi(small, collectives="mpich", algorithms={"bcast": "NTSL"})
    assert bcast_s(named, 8, 65536) == bcast_s(others, 8, 65536)


def test_a_machine_can_name_open_mpi_for_broadcasts_only(small: Simulation) -> None:
    named = ompi(small, collectives="mpich", algorithms={"bcast": "ompi"})
    assert bcast_s(named, 8, 65536) == bcast_s(ompi(small), 8, 65536)
