"""HPCCG computes the same solution on any number of ranks, with exact operation counts, and detects
faults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .studied import Studied, is_refused, value

if TYPE_CHECKING:
    from .conftest import Native

HPCCG = Studied("hpccg")
# Tolerance of residual norms, which depend on the order of summation and so on the number of ranks.
TOLERANCE = 1e-6
STEPS = 25
STRONG = f"scaling=strong nx=9 ny=7 nz=16 steps={STEPS}"
WEAK = "nx=8 ny=8 nz=8"
# Numbers of messages that rank 1 of 2 receives: a sum and a plane in the initial check, three planes in the
# warm-up, then a plane for the first residual and in each of 149 steps, then those of the final check, then
# all planes again.
FIRST_TIMED = 2 + 3 + 1
LAST_TIMED = FIRST_TIMED + 149


def residuals(result: Mapping[str, Any]) -> list[float]:
    (table,) = (table for table in result["tables"] if table["name"] == "residual")
    assert len(table["values"]) == len(table["axes"][0]["values"])
    return list(table["values"])


def test_results_do_not_depend_on_the_number_of_ranks(native_openmpi: Native, tmp_path: Path) -> None:
    """Solutions on 3 and 7 ranks, which divide the 16 planes unevenly, equal that of one rank."""
    alone = residuals(HPCCG.result(native_openmpi, tmp_path, 1, STRONG))
    assert len(alone) == STEPS + 1
    for ranks in (2, 3, 4, 7):
        result = HPCCG.result(native_openmpi, tmp_path, ranks, STRONG)
        assert (result["outcome"], result["check"]) == ("ok", "passed"), result["reason"]
        assert residuals(result) == pytest.approx(alone, rel=TOLERANCE)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_default_number_of_steps_finds_the_solution(native: Native, tmp_path: Path, ranks: int) -> None:
    result = HPCCG.result(native, tmp_path, ranks, WEAK)
    assert result["check"] == "passed", result["reason"]
    assert value(result, "error") < 1e-12
    assert value(result, "residual") < 1e-12
    names = {metric["name"] for metric in result["metrics"]}
    assert ("halo_time" in names) == (ranks > 1)
    rows, nonzeros = 8 * 8 * 8 * ranks, 22 * 22 * (24 * ranks - 2)
    notes: Mapping[str, str] = result["notes"]
    assert (int(notes["rows"]), int(notes["nonzeros"])) == (rows, nonzeros)
    assert notes["steps"] == "149"
    assert int(notes["flops"]) == 149 * (10 * rows + 2 * nonzeros)
    counted = value(result, "rate") * value(result, "time")
    assert counted == pytest.approx(149 * (10 * rows + 2 * nonzeros))
    assert value(result, "rate_27") * value(result, "time") == pytest.approx(149 * (10 + 54) * rows)
    assert sum(value(result, name) > 0 for name in ("waxpby", "ddot", "sparsemv")) == 3
    assert re.fullmatch(r"[\d.]+ B for each row: .*", notes["memory"])


def test_the_smallest_domains_are_solved_before_their_steps_are_over(
    native_openmpi: Native, tmp_path: Path
) -> None:
    """Very small domains are solved exactly before the last step, and the iteration ends there; another step
    would divide 0 by 0.
    """
    result = HPCCG.result(native_openmpi, tmp_path, 1, "nx=1 ny=1 nz=1")
    assert result["check"] == "passed", result["reason"]
    assert int(result["notes"]["steps"]) < 149
    assert value(result, "error") == 0


def test_the_program_that_can_be_broken_is_not_by_itself(native_openmpi: Native, tmp_path: Path) -> None:
    result = HPCCG.with_broken_kernel(native_openmpi, tmp_path, 2, WEAK)
    assert result["check"] == "passed", result["reason"]


@pytest.mark.parametrize(("ranks", "every"), [(1, 7), (2, 7), (2, 907)])
def test_kernels_that_are_lost_are_noticed(
    native_openmpi: Native, tmp_path: Path, ranks: int, every: int
) -> None:
    """A skipped kernel is detected, even a single late one, after the solution has converged: then the
    residual is not updated.
    """
    result = HPCCG.with_broken_kernel(native_openmpi, tmp_path, ranks, WEAK, every)
    assert is_refused(result)


@pytest.mark.parametrize(
    ("fault", "lost"),
    [
        *(("drop", lost) for lost in (2, FIRST_TIMED, FIRST_TIMED + 10, LAST_TIMED - 20, LAST_TIMED)),
        *(("corrupt", LAST_TIMED), ("truncate", LAST_TIMED)),
    ],
)
def test_one_message_that_is_lost_is_noticed(
    native_openmpi: Native, tmp_path: Path, fault: str, lost: int
) -> None:
    """A single lost message is detected, early or late, even if it does not affect the solution."""
    result = HPCCG.with_fault(native_openmpi, tmp_path, WEAK, fault, lost)
    assert is_refused(result), result["reason"]


@pytest.mark.parametrize(
    ("words", "outcome", "said"),
    [
        ("nx=0", "failed", "nx=0: give 1 to"),
        ("steps=20000", "failed", "steps=20000: give 1 to 10000"),
        ("nx=1048576 ny=1048576 nz=1", "failed", "columns"),
        ("scaling=strong nz=1", "skipped", "nz=1 planes are fewer than the 2 ranks"),
        ("nx=100000 ny=10 nz=2000", "skipped", "but only"),
    ],
)
def test_impossible_parameters_are_refused_in_one_line(
    native_openmpi: Native, tmp_path: Path, words: str, outcome: str, said: str
) -> None:
    result = HPCCG.result(native_openmpi, tmp_path, 2, words)
    assert result["outcome"] == outcome
    assert said in result["reason"]
