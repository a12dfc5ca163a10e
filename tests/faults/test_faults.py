"""Under any fault, Kiviat loses no finished result, leaves nothing behind, and reports what happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain

from . import world
from .expected import expected
from .ledger import Ledger
from .plan import PHASES, planned


@pytest.fixture
def namespaces() -> None:
    """Skip the tests unless this user may create namespaces."""
    tried = subprocess.run([*world.UNSHARE, "mount", "-t", "tmpfs", "none", "/dev/shm"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"faults need namespaces: {tried.stderr.decode().strip()}; run as root")


def inject(mpi: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "tests.faults", "--mpi", mpi, "--jobs", "3", *arguments]
    done = subprocess.run(
        command, cwd=world.CHECKOUT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_three_faults_in_each_phase(namespaces: None, openmpi: Toolchain) -> None:
    inject("openmpi", "--trials", "40")


@pytest.mark.full
def test_a_hundred_faults(namespaces: None, toolchain: Toolchain) -> None:
    inject(toolchain.family, "--trials", "100", "--seed", "2")


def test_each_fault_is_expected_to_end_somehow() -> None:
    trials = [planned(1, "openmpi", index) for index in range(40 * len(PHASES))]
    assert len({(trial.phase, trial.fault) for trial in trials}) > 150
    for trial in trials:
        assert expected(trial.kind, trial.target, trial.phase).codes


def test_shards_add_up() -> None:
    assert planned(1, "openmpi", 17) == planned(1, "openmpi", 17) != planned(2, "openmpi", 17)


@pytest.mark.parametrize("after", [b"", b"one\n", b"one\nTWO\n", b"two\none\n", b"one\ntwo"])
def test_the_ledger_remembers(tmp_path: Path, after: bytes) -> None:
    """The ledger detects lost records; otherwise a campaign without violations would prove nothing."""
    records = tmp_path / "run/records.jsonl"
    records.parent.mkdir()
    ledger = Ledger.of(records.parent)
    for before in (b"one\n", b"one\ntw", b"one\ntwo\n"):
        records.write_bytes(before)
        ledger.look()
    assert (ledger.seen, ledger.lost) == ([b"one\n", b"two\n"], [])
    records.parent.rename(tmp_path / "moved")
    ledger.look()
    assert (ledger.lost, ledger.path()) == ([], tmp_path / "moved")
    (tmp_path / "moved/records.jsonl").write_bytes(after)
    ledger.look()
    assert ledger.lost
