"""The Lennard-Jones liquid on a modelled machine: its messages, and the duration of its kernels."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from tests.simulated.conftest import Simulation

DENSITY, REACH, CUTOFF = 0.8442, 2.8, 2.5
CELL = (4 / DENSITY) ** (1 / 3)
STEPS, POSITION = 5, 24


def run(simulation: Simulation, ranks: int, words: str) -> dict[str, Any]:
    (result,) = simulation.cases(simulation.places(ranks), [f"lj mode=once {words}"])
    assert result["outcome"] == "ok", result["reason"]
    return result


def test_ghosts_come_from_half_of_the_neighbours(small: Simulation) -> None:
    """Ghosts come from half of the neighbours, in a grid of two ranks along z by two along y.

    In each step positions are sent down along both sides, and ghosts from z also up along y; forces return
    the same way.
    """
    cells = 10
    result = run(small, 4, f"nx={cells} ny={cells} nz={cells} steps={STEPS}")
    assert result["notes"]["grid"] == "1 x 2 x 2 ranks"
    atoms, part = 4 * cells**3, REACH / (cells * CELL)
    along_z = round(atoms * part)
    down, up = round((atoms + along_z) * part), round(along_z * part)
    sizes: Counter[tuple[int, int]] = Counter()
    for rank in range(4):
        # With two ranks along a side, both neighbours are the same rank. Rank 1 is rank 0's neighbour along
        # y, rank 2 along z.
        sizes[rank, rank ^ 2] += 2 * POSITION * along_z * STEPS
        sizes[rank, rank ^ 1] += 2 * POSITION * (down + up) * STEPS
    tables = {table["name"]: table["values"] for table in result["tables"]}
    sent = {divmod(at, 4): value for at, value in enumerate(tables["message_bytes"]) if value}
    assert sent == sizes
    messages = {divmod(at, 4): value for at, value in enumerate(tables["messages"]) if value}
    assert messages == {(i, j): (2 if i ^ j == 2 else 4) * STEPS for i, j in sizes}


def test_atoms_move_on_where_lists_are_made_anew(small: Simulation) -> None:
    """Every 20 steps, the expected number of atoms migrates, and ghosts are determined again."""
    cells = 10
    bytes_of = []
    for steps in (19, 20):
        result = run(small, 2, f"nx={cells} ny={cells} nz={cells} steps={steps}")
        bytes_of.append({table["name"]: table["values"] for table in result["tables"]}["message_bytes"][1])
    atoms, edge = 4 * cells**3, cells * CELL
    leaving = round(atoms * 20 * 0.005 * math.sqrt(0.72 / (2 * math.pi)) / edge)
    ghosts = round(atoms * REACH / edge)
    assert bytes_of[1] - bytes_of[0] == 2 * 48 * leaving + 2 * POSITION * ghosts


def test_kernels_take_what_they_cost(small: Simulation) -> None:
    """At 1 Gflop/s and 4 GB/s per core, forces are bound by arithmetic and all other kernels by memory."""
    cells = 10
    atoms, part = 4 * cells**3, REACH / (cells * CELL)
    result = run(small, 1, f"nx={cells} ny={cells} nz={cells} steps={STEPS}")
    metrics = {metric["name"]: metric["samples"][0] for metric in result["metrics"]}
    sphere = 2 * math.pi / 3 * DENSITY
    flops = atoms * sphere * (8 * REACH**3 + 18 * CUTOFF**3)
    assert metrics["pair_time"] == pytest.approx(STEPS * flops / 1e9, rel=1e-3)
    assert metrics["other_time"] == pytest.approx((STEPS * 6 + 3) * 32 * atoms / 4e9, rel=1e-3)
    ghosts = atoms * ((1 + part) * (1 + 2 * part) ** 2 - 1)
    assert 0 < metrics["communication_time"] < STEPS * 4 * 88 * ghosts / 4e9 * 1.01
    assert metrics["rate"] == pytest.approx(STEPS * atoms / metrics["time"])
    assert "drift" not in metrics and "memory" not in metrics
    assert (result["check"], result["notes"]["atoms"]) == ("not run", str(atoms))


def test_thin_subdomains_are_verified(small: Simulation) -> None:
    """Payload checks pass with thin subdomains: seven ranks on four cells get ghosts from two ranks away."""
    verifying = small.with_options(smpi__shared_malloc="off")
    verifying.environment = {"KIVIAT_VERIFY": "1"}
    result = run(verifying, 7, "nx=4 ny=4 nz=8 scaling=strong steps=25")
    assert result["check"] == "passed", result["reason"]
