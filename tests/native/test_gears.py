"""Gears finds the same contacts on any number of ranks, and detects faults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .studied import Studied, is_refused, value

if TYPE_CHECKING:
    from .conftest import Native

GEARS = Studied("gears")
FEW = "scaling=strong i=2 j=2 k=2 steps=5"
TWO = "scaling=strong i=3 j=1 k=1 steps=9"  # the middle gear is divided between two ranks


def found(result: Mapping[str, Any]) -> tuple[str, str]:
    assert (result["outcome"], result["check"]) == ("ok", "passed"), result["reason"]
    return result["notes"]["contacts"], result["notes"]["checksum"]


def test_contacts_do_not_depend_on_the_number_of_ranks(native_openmpi: Native, tmp_path: Path) -> None:
    """3 and 7 ranks, which divide gears, find the same contacts as one rank, with 8 gears and with both
    definitions of nearness (distance and share).
    """
    cases = [FEW, f"{FEW} reach=share"]
    alone = [found(result) for result in GEARS.results(native_openmpi, tmp_path, 1, cases)]
    distance, share = (int(contacts.split()[0]) for contacts, _ in alone)
    assert distance > share > 1000
    for ranks in (2, 3, 4, 7):
        assert [found(result) for result in GEARS.results(native_openmpi, tmp_path, ranks, cases)] == alone


def test_more_ranks_than_gears(native_openmpi: Native, tmp_path: Path) -> None:
    result = GEARS.result(native_openmpi, tmp_path, 7, "scaling=strong i=1 j=1 k=1 steps=4")
    assert found(result)[0] == "0 in 4 steps"
    assert result["notes"]["most elements"] == f"{284 * 7 / 1984:.4f} of the mean"


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_whole_turn(native: Native, tmp_path: Path, ranks: int) -> None:
    result = GEARS.result(native, tmp_path, ranks, "")
    assert result["check"] == "passed", result["reason"]
    notes: Mapping[str, str] = result["notes"]
    sizes = [int(notes[name]) for name in ("gears", "elements", "faces")]
    assert notes["train"] == f"2 x 1 x {ranks}"
    assert sizes == [2 * ranks, 2 * ranks * 1984, 2 * ranks * 496]
    assert value(result, "rate") * value(result, "time") == pytest.approx(2 * ranks * 496 * 121)
    times = ("search_time", "ghosting_time", "diffusion_time", "rebalance_time", "first_search_time")
    assert all(value(result, name) > 0 for name in times)
    assert value(result, "deviation") < 1e-14 * 20
    assert (int(notes["shared faces"]) > 0) == (ranks > 1)
    memory = re.fullmatch(r"(\d+) B for each face: .*; in the rebalance (\d+) .*", notes["memory"])
    assert memory is not None and 0 < int(memory[1]) < int(memory[2])


def test_the_program_that_can_be_broken_is_not_by_itself(native_openmpi: Native, tmp_path: Path) -> None:
    assert found(GEARS.with_broken_kernel(native_openmpi, tmp_path, 2, TWO))


@pytest.mark.parametrize(("ranks", "every"), [(1, 6), (2, 5), (2, 31)])
def test_kernels_that_are_lost_are_noticed(
    native_openmpi: Native, tmp_path: Path, ranks: int, every: int
) -> None:
    result = GEARS.with_broken_kernel(native_openmpi, tmp_path, ranks, TWO, every)
    assert is_refused(result)


@pytest.mark.parametrize(
    ("fault", "lost"), [*(("drop", lost) for lost in (1, 2, 4, 17, 36)), ("corrupt", 36), ("truncate", 36)]
)
def test_one_message_that_is_lost_is_noticed(
    native_openmpi: Native, tmp_path: Path, fault: str, lost: int
) -> None:
    """A single lost message is detected before the rebalance, during it, and in any step."""
    result = GEARS.with_fault(native_openmpi, tmp_path, TWO, fault, lost)
    assert is_refused(result), result["reason"]


@pytest.mark.parametrize(
    ("damaged", "by", "said"),
    [(36, "0", "for the search"), (37, "1", "to be shared"), (38, "0", "to be shared")],
)
def test_corrupted_faces_are_detected(
    native_openmpi: Native, tmp_path: Path, damaged: int, by: str, said: str
) -> None:
    """A corrupted face is detected, because its owner, box and nodes follow from its number.

    The three cases damage messages to rank 1 in the last step: candidate faces, requests for shared faces,
    and shared faces.
    """
    result = GEARS.with_fault(native_openmpi, tmp_path, TWO, "corrupt", damaged)
    assert is_refused(result)
    assert re.search(rf"face \d+ of gear \d+, sent by rank {by} {said}, differs", result["reason"])


def test_impossible_parameters_are_refused_in_one_line(native_openmpi: Native, tmp_path: Path) -> None:
    expected = {
        "i=0": ("failed", "i=0: give 1 to 32768"),
        "j=-2": ("failed", "j=-2: give 1 to 32768"),
        "k=x": ("failed", "k=x: give 1 to 32768, or auto"),
        "steps=2": ("failed", "steps=2: give 3 to 10000"),
        "within=0": ("failed", "within=0: give 1 to 1000"),
        "i=32768 j=32768 k=32768": ("failed", "gears: give at most 1539414"),
        "scaling=strong i=100 j=100 k=100": ("skipped", "B of elements exceed"),
    }
    results = GEARS.results(native_openmpi, tmp_path, 2, list(expected))
    for result, (outcome, said) in zip(results, expected.values(), strict=True):
        assert result["outcome"] == outcome
        assert said in result["reason"]
        assert "\n" not in result["reason"]
