"""HPCCG on a modelled machine: its messages, and the duration of its kernels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.simulated.conftest import Simulation

STEPS, RANKS = 5, 4


def run(simulation: Simulation, ranks: int, words: str) -> dict[str, Any]:
    (result,) = simulation.cases(simulation.places(ranks), [f"hpccg mode=once steps={STEPS} {words}"])
    assert result["outcome"] == "ok", result["reason"]
    return result


@pytest.mark.parametrize("scaling", ["weak", "strong"])
def test_neighbours_get_planes_and_all_get_sums(small: Simulation, scaling: str) -> None:
    """Each step sends a plane to each neighbour and two sums by recursive doubling.

    The first residual needs one more plane.
    """
    simulation = small.with_options(smpi__allreduce="rdb")
    result = run(simulation, RANKS, f"nx=16 ny=8 nz=7 scaling={scaling}")
    messages: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for rank in range(RANKS):
        for other in (rank - 1, rank + 1):
            if 0 <= other < RANKS:
                messages[rank, other] += STEPS + 1
                sizes[rank, other] += (STEPS + 1) * 16 * 8 * 8
        for other in (rank ^ 1, rank ^ 2):
            messages[rank, other] += 2 * STEPS
            sizes[rank, other] += 2 * STEPS * 8
    tables = {table["name"]: table["values"] for table in result["tables"]}
    for name, expected in (("messages", messages), ("message_bytes", sizes)):
        assert {divmod(at, RANKS): value for at, value in enumerate(tables[name]) if value} == expected


def test_kernels_take_what_moves_their_bytes(small: Simulation) -> None:
    """HPCCG's kernels are memory-bound: bytes at 4 GB/s take longer than arithmetic at 1 Gflop/s."""
    points = 16
    rows, nonzeros = points**3, (3 * points - 2) ** 3
    filled_up = 3 * points * (3 * points - 2) ** 2  # along x
    product = 8.5 * filled_up + rows + 8 * (rows + 2 * points**2) + 16 * rows
    before = (24 + 32) * rows + product
    step = (8 + 16 + 3 * 24) * rows + product
    result = run(small, 1, f"nx={points} ny={points} nz={points}")
    metrics = {metric["name"]: metric["samples"][0] for metric in result["metrics"]}
    assert metrics["time"] == pytest.approx((before + STEPS * step) / 4e9, rel=1e-3)
    assert metrics["rate"] == pytest.approx(STEPS * (10 * rows + 2 * nonzeros) / metrics["time"])
    assert "residual" not in metrics and "error" not in metrics
    assert (result["check"], result["notes"]["nonzeros"]) == ("not run", str(nonzeros))


def test_uneven_domains_are_verified(small: Simulation) -> None:
    verifying = small.with_options(smpi__shared_malloc="off")
    verifying.environment = {"KIVIAT_VERIFY": "1"}
    result = run(verifying, 7, "nx=5 ny=6 nz=17 scaling=strong")
    assert result["check"] == "passed", result["reason"]
