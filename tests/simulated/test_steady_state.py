"""Skipped steps of a simulation count the same times, phases and messages as executed ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import SMALL, Simulation, number

CASES = [("bt", 9), ("sp", 16), ("lu", 8), ("lu", 6)]


def of(simulation: Simulation, words: str, ranks: int) -> dict[str, Any]:
    (result,) = simulation.cases(simulation.places(ranks), [f"{words} mode=once"])
    assert result["outcome"] == "ok", result["reason"]
    return result


def time_s(result: dict[str, Any]) -> float:
    (found,) = (metric for metric in result["metrics"] if metric["name"] == "time")
    return float(found["samples"][0])


def rate(result: dict[str, Any]) -> float:
    (found,) = (metric for metric in result["metrics"] if metric["name"] == "rate")
    return float(found["samples"][0])


def table(result: dict[str, Any], name: str) -> list[float]:
    (found,) = (table for table in result["tables"] if table["name"] == name)
    return list(found["values"])


@pytest.mark.parametrize(("name", "ranks"), CASES)
@pytest.mark.parametrize("size", ["S", pytest.param("W", marks=pytest.mark.full)])
def test_steps_that_are_left_out_are_as_those_that_are_made(
    wide: Simulation, name: str, ranks: int, size: str
) -> None:
    """Times with skipped steps equal those with all steps, which are executed if payload is moved."""
    some = of(wide, f"{name} class={size}", ranks)
    every = of(replace(wide, environment={"KIVIAT_VERIFY": "1"}), f"{name} class={size}", ranks)
    assert "simulated, the others extrapolated" in some["notes"]["iterations"]
    assert "iterations" not in every["notes"]
    assert time_s(some) == pytest.approx(time_s(every), rel=1e-3)
    assert table(some, "messages") == table(every, "messages")
    assert table(some, "message_bytes") == table(every, "message_bytes")
    within_s = 5e-3 * time_s(every)
    assert table(some, "under_way") == pytest.approx(table(every, "under_way"), abs=2 * within_s)
    assert table(some, "phase_time") == pytest.approx(table(every, "phase_time"), abs=within_s)


@pytest.mark.parametrize(
    ("words", "ranks"), [("hpl memory=2097152 nb=64", 12), ("hpl memory=1048576 nb=48", 6)]
)
def test_of_the_pivots_of_a_panel_eight_stand_for_all(wide: Simulation, words: str, ranks: int) -> None:
    """The pivot searches of a panel are extrapolated from eight of them, within 1 %.

    Their small messages take a considerable part of the time.
    """
    some = of(wide, words, ranks)
    every = of(replace(wide, environment={"KIVIAT_VERIFY": "1"}), words, ranks)
    assert "simulated, the others extrapolated from the last 4" in some["notes"]["pivots"]
    assert "pivots" not in every["notes"]
    assert rate(some) == pytest.approx(rate(every), rel=0.01)


def test_a_transform_in_steps_is_one(wide: Simulation) -> None:
    """A distributed FFT in synchronised steps is correct, and takes the same time with skipped steps.

    Such steps are used beyond 64 simulated ranks.
    """
    nodes = replace(wide, machine=load_machine(SMALL, {"node": {"count": number("24")}}))
    every = of(replace(nodes, environment={"KIVIAT_VERIFY": "1"}), "fft memory=262144", 66)
    assert every["check"] == "passed"
    some = of(nodes, "fft memory=262144", 66)
    assert rate(some) == pytest.approx(rate(every), rel=1e-9)
