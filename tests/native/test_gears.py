"""Gears: the same contacts on any number of ranks, and it refuses what went wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Native

FEW = "scaling=strong i=2 j=2 k=2 steps=5"
TWO = "scaling=strong i=3 j=1 k=1 steps=9"  # the one in the middle is on both of two ranks


def results_of(
    native: Native,
    folder: Path,
    ranks: int,
    cases: Sequence[str],
    program: Path | None = None,
    environment: Mapping[str, str | Path] | None = None,
) -> list[dict[str, Any]]:
    """Of all cases, in one launch."""
    asked, out = folder / "cases.txt", folder / "events.jsonl"
    asked.write_text("".join(f"gears/{at} gears {words}\n" for at, words in enumerate(cases)))
    out.unlink(missing_ok=True)
    done = native.run(ranks, program or native.program, "--cases", asked, "--out", out, preload=environment)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in out.read_text().splitlines()]
    results = [event for event in events if event["event"] == "result"]
    assert len(results) == len(cases)
    return results


def result_of(
    native: Native,
    folder: Path,
    ranks: int,
    words: str,
    program: Path | None = None,
    environment: Mapping[str, str | Path] | None = None,
) -> dict[str, Any]:
    return results_of(native, folder, ranks, [words], program, environment)[0]


def is_refused(result: Mapping[str, Any]) -> bool:
    return (result["outcome"], result["check"], result["phase"]) == ("failed", "failed", "check")


def value(result: Mapping[str, Any], name: str) -> float:
    return float(next(metric["p50"] for metric in result["metrics"] if metric["name"] == name))


def found(result: Mapping[str, Any]) -> tuple[str, str]:
    assert (result["outcome"], result["check"]) == ("ok", "passed"), result["reason"]
    return result["notes"]["contacts"], result["notes"]["checksum"]


def test_contacts_do_not_depend_on_the_number_of_ranks(native_openmpi: Native, tmp_path: Path) -> None:
    """8 gears, on 3 and 7 ranks in parts of gears; near by a length, and by a share of a side."""
    cases = [FEW, f"{FEW} reach=share"]
    alone = [found(result) for result in results_of(native_openmpi, tmp_path, 1, cases)]
    distance, share = (int(contacts.split()[0]) for contacts, _ in alone)
    assert distance > share > 1000
    for ranks in (2, 3, 4, 7):
        assert [found(result) for result in results_of(native_openmpi, tmp_path, ranks, cases)] == alone


def test_more_ranks_than_gears(native_openmpi: Native, tmp_path: Path) -> None:
    result = result_of(native_openmpi, tmp_path, 7, "scaling=strong i=1 j=1 k=1 steps=4")
    assert found(result)[0] == "0 in 4 steps"
    assert result["notes"]["most elements"] == f"{284 * 7 / 1984:.4f} of the mean"


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_whole_turn(native: Native, tmp_path: Path, ranks: int) -> None:
    result = result_of(native, tmp_path, ranks, "")
    assert result["check"] == "passed", result["reason"]
    notes: Mapping[str, str] = result["notes"]
    sizes = [int(notes[name]) for name in ("gears", "elements", "faces")]
    assert sizes == [2 * ranks, 2 * ranks * 1984, 2 * ranks * 496]
    assert value(result, "rate") * value(result, "time") == pytest.approx(2 * ranks * 496 * 121)
    times = ("search_time", "ghosting_time", "diffusion_time", "rebalance_time", "first_search_time")
    assert all(value(result, name) > 0 for name in times)
    assert value(result, "deviation") < 1e-14 * 20
    assert (int(notes["shared faces"]) > 0) == (ranks > 1)
    assert re.fullmatch(r"\d+ B for each face: .*", notes["memory"])


def test_the_program_that_can_be_broken_is_not_by_itself(native_openmpi: Native, tmp_path: Path) -> None:
    assert found(
        result_of(native_openmpi, tmp_path, 2, TWO, native_openmpi.folder / "tests" / "kiviat-broken")
    )


@pytest.mark.parametrize(("ranks", "every"), [(1, 6), (2, 5), (2, 31)])
def test_kernels_that_are_lost_are_noticed(
    native_openmpi: Native, tmp_path: Path, ranks: int, every: int
) -> None:
    program = native_openmpi.folder / "tests" / "kiviat-broken"
    result = result_of(native_openmpi, tmp_path, ranks, TWO, program, {"KIVIAT_BROKEN_KERNEL": str(every)})
    assert is_refused(result)


@pytest.mark.parametrize(
    ("fault", "lost"), [*(("drop", lost) for lost in (1, 2, 4, 17, 36)), ("corrupt", 36), ("truncate", 36)]
)
def test_one_message_that_is_lost_is_noticed(
    native_openmpi: Native, tmp_path: Path, fault: str, lost: int
) -> None:
    """Before the rebalance, in it, and in any step."""
    faults = {
        **{"KIVIAT_FAULT": fault, "KIVIAT_FAULT_RANK": "1", "KIVIAT_FAULT_ONLY": str(lost)},
        "LD_PRELOAD": native_openmpi.faults,
    }
    result = result_of(native_openmpi, tmp_path, 2, TWO, environment=faults)
    assert is_refused(result), result["reason"]


def test_what_cannot_be_is_said_in_a_line(native_openmpi: Native, tmp_path: Path) -> None:
    expected = {
        "i=0": ("failed", "i=0: give 1 to 32768"),
        "j=-2": ("failed", "j=-2: give 1 to 32768"),
        "k=x": ("failed", "k is 'x'"),
        "steps=2": ("failed", "steps=2: give 3 to 10000"),
        "within=0": ("failed", "within=0: give 1 to 1000"),
        "i=32768 j=32768 k=32768": ("failed", "gears: give 1539414 gears at most"),
        "scaling=strong i=100 j=100 k=100": ("skipped", "B of elements exceeds"),
    }
    results = results_of(native_openmpi, tmp_path, 2, list(expected))
    for result, (outcome, said) in zip(results, expected.values(), strict=True):
        assert result["outcome"] == outcome
        assert said in result["reason"]
        assert "\n" not in result["reason"]
