"""Steps that a simulation leaves out take as long as if they were made, with all phases and messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.simulated.conftest import Simulation

CASES = [("bt", 9), ("sp", 16), ("lu", 8), ("lu", 6)]


def of(simulation: Simulation, words: str, ranks: int) -> dict[str, Any]:
    (result,) = simulation.cases(simulation.places(ranks), [f"{words} mode=once"])
    assert result["outcome"] == "ok", result["reason"]
    return result


def time_s(result: dict[str, Any]) -> float:
    (found,) = (metric for metric in result["metrics"] if metric["name"] == "time")
    return float(found["samples"][0])


def table(result: dict[str, Any], name: str) -> list[float]:
    (found,) = (table for table in result["tables"] if table["name"] == name)
    return list(found["values"])


@pytest.mark.parametrize(("name", "ranks"), CASES)
@pytest.mark.parametrize("size", ["S", pytest.param("W", marks=pytest.mark.full)])
def test_steps_that_are_left_out_are_as_those_that_are_made(
    wide: Simulation, name: str, ranks: int, size: str
) -> None:
    """Where payload is moved every step is made."""
    some = of(wide, f"{name} class={size}", ranks)
    every = of(replace(wide, environment={"KIVIAT_VERIFY": "1"}), f"{name} class={size}", ranks)
    assert "are simulated, the others follow" in some["notes"]["iterations"]
    assert "iterations" not in every["notes"]
    assert time_s(some) == pytest.approx(time_s(every), rel=1e-3)
    assert table(some, "messages") == table(every, "messages")
    assert table(some, "message_bytes") == table(every, "message_bytes")
    within_s = 5e-3 * time_s(every)
    assert table(some, "phase_time") == pytest.approx(table(every, "phase_time"), abs=within_s)
