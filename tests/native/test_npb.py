"""The NAS programs detect faults: skipped kernels, damaged messages, wrong random numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Native

PROGRAMS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
RANDOM = ("cg", "ep", "ft", "is", "mg")
# Number of ranks, and number of the message to rank 1 that is lost, in the middle of the timed part. For CG
# it is one of the last, because every iteration restarts from the current eigenvector and so corrects earlier
# errors.
MESSAGES = {
    "bt": (4, 300),
    "cg": (2, 1577),
    "ep": (2, 2),
    "ft": (2, 5),
    "is": (2, 6),
    "lu": (2, 500),
    "mg": (2, 100),
    "sp": (4, 500),
}


def results(
    native: Native,
    folder: Path,
    ranks: int,
    program: Path,
    names: Sequence[str],
    environment: Mapping[str, str | Path],
) -> dict[str, dict[str, Any]]:
    cases, out = folder / "cases.txt", folder / "events.jsonl"
    cases.write_text("".join(f"{name} {name} class=S\n" for name in names))
    out.unlink(missing_ok=True)
    done = native.run(ranks, program, "--cases", cases, "--out", out, preload=environment)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in out.read_text().splitlines()]
    return {event["case"]: event for event in events if event["event"] == "result"}


def is_refused(result: Mapping[str, Any]) -> bool:
    return (result["outcome"], result["check"], result["phase"]) == ("failed", "failed", "check")


def broken(native: Native) -> Path:
    return native.testing("kiviat-broken")


def test_the_program_that_can_be_broken_is_not_by_itself(native_openmpi: Native, tmp_path: Path) -> None:
    program = broken(native_openmpi)
    found = results(native_openmpi, tmp_path, 1, program, PROGRAMS, {"KIVIAT_BROKEN_SEED": "0"})
    assert {name: result["check"] for name, result in found.items()} == dict.fromkeys(PROGRAMS, "passed")


@pytest.mark.parametrize("ranks", [1, 4])
def test_kernels_that_are_lost_are_noticed(native_openmpi: Native, tmp_path: Path, ranks: int) -> None:
    """Skipped kernels are detected: every seventh, or in EP the only one."""
    program = broken(native_openmpi)
    found = results(native_openmpi, tmp_path, ranks, program, ("ep",), {"KIVIAT_BROKEN_KERNEL": "1"})
    several = [name for name in PROGRAMS if name != "ep"]
    found |= results(native_openmpi, tmp_path, ranks, program, several, {"KIVIAT_BROKEN_KERNEL": "7"})
    assert {name for name, result in found.items() if is_refused(result)} == set(PROGRAMS)


@pytest.mark.parametrize("ranks", [1, 2])
def test_wrong_seeds_are_noticed(native_openmpi: Native, tmp_path: Path, ranks: int) -> None:
    program = broken(native_openmpi)
    found = results(native_openmpi, tmp_path, ranks, program, RANDOM, {"KIVIAT_BROKEN_SEED": "1"})
    assert {name for name, result in found.items() if is_refused(result)} == set(RANDOM)


@pytest.mark.parametrize("name", MESSAGES)
def test_one_message_that_is_lost_is_noticed(native_openmpi: Native, tmp_path: Path, name: str) -> None:
    ranks, lost = MESSAGES[name]
    faults: dict[str, str | Path] = {
        **{"KIVIAT_FAULT": "drop", "KIVIAT_FAULT_RANK": "1", "KIVIAT_FAULT_ONLY": str(lost)},
        "LD_PRELOAD": native_openmpi.faults,
    }
    found = results(native_openmpi, tmp_path, ranks, native_openmpi.program, (name,), faults)
    assert is_refused(found[name])
