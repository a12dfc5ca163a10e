"""Gears on a modelled machine: the search is executed, because its results determine the messages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulated.conftest import Simulation

WORDS = "gears mode=once scaling=strong i=2 j=2 k=1 steps=4"


def run(simulation: Simulation, ranks: int) -> dict[str, Any]:
    (result,) = simulation.cases(simulation.places(ranks), [WORDS])
    assert result["outcome"] == "ok", result["reason"]
    return result


def times(result: dict[str, Any]) -> dict[str, float]:
    """Return all times except the rebalance's, which contains a synchronisation if payload is checked."""
    metrics = (metric for metric in result["metrics"] if metric["unit"] == "s")
    return {one["name"]: one["samples"][0] for one in metrics if one["name"] != "rebalance_time"}


@pytest.mark.parametrize("ranks", [1, 5, 7])
def test_results_are_the_same_without_payload_checks(small: Simulation, ranks: int) -> None:
    """Contacts, shared faces, messages and times are the same with and without payload checks."""
    verifying = small.with_options(smpi__shared_malloc="off")
    verifying.environment = {"KIVIAT_VERIFY": "1"}
    verified, plain = run(verifying, ranks), run(small, ranks)
    assert verified["check"] == "passed", verified["reason"]
    assert plain["check"] == "not run"
    for note in ("gears", "contacts", "shared faces", "most elements"):
        assert plain["notes"][note] == verified["notes"][note]
    assert times(plain) == pytest.approx(times(verified), rel=1e-9)
    assert [table for table in plain["tables"] if "message" in table["name"]] == [
        table for table in verified["tables"] if "message" in table["name"]
    ]


def test_the_search_takes_what_its_tests_take(small: Simulation) -> None:
    """The search takes longer than testing only the contacts, but not as long as testing all pairs.

    It is simulated on one rank of 1 Gflop/s and 4 GB/s.
    """
    result = run(small, 1)
    contacts = int(result["notes"]["contacts"].split()[0]) / 4
    seconds = times(result)["search_time"]
    assert 6 * contacts / 1e9 < seconds < 6 * (4 * 496) ** 2 / 1e9


def test_weak_scaling_gives_each_rank_more_to_find(small: Simulation) -> None:
    """In P1's weak scaling, two gears per core, 8 ranks find twice as many contacts each as one rank alone.

    Gears inside a train mesh with more others than gears at its ends, so the search takes longer, too.
    """
    found, seconds = [], []
    for ranks in (1, 8):
        (result,) = small.cases(small.places(ranks), ["gears mode=once scaling=weak steps=4"])
        found.append(int(result["notes"]["contacts"].split()[0]) / ranks)
        seconds.append(times(result)["search_time"])
    assert 1.9 < found[1] / found[0] < 2.1
    assert seconds[1] > 1.2 * seconds[0]
