"""Kiviat's solver of flow rates and its list of messages, compared with those of SimGrid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulated.conftest import Simulation

CASES = [
    "ring latency_rings=2 bandwidth_rings=2 mode=once",
    "dense_random bytes=100000 mode=once",
    "alltoall bytes=4096 mode=once",
    "barrier mode=once",
]


def test_kiviat_simulates_as_simgrid_does(wide: Simulation) -> None:
    """Both yield the same simulated times, with eager messages and with long ones.

    KIVIAT_SOLVER=kiviat ends a simulation that would need SimGrid's code.
    """
    places = wide.places(24)
    ours, theirs = (
        replace(wide, environment={"KIVIAT_SOLVER": solver}).cases(places, CASES)
        for solver in ("kiviat", "simgrid")
    )
    for mine, original in zip(ours, theirs, strict=True):
        assert mine["outcome"] == original["outcome"] == "ok"
        for found, expected in zip(mine["metrics"], original["metrics"], strict=True):
            assert found["p50"] == pytest.approx(expected["p50"], rel=1e-4), (mine["case"], found["name"])
