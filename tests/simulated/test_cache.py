"""The cache of simulations: what was simulated once is not simulated again, unless something differs."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.launch.run.simulated_runner import SimulatedCase
from kiviat.machine.modelled.machine import load_machine
from kiviat.model.changes import changed
from kiviat.record import Row
from kiviat.store.read import load
from tests.simulated.conftest import SMALL


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine of its own, so that no earlier result answers."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL.read_text().replace('"4 GB/s"', f'"4.{secrets.randbelow(10**12):012} GB/s"', 1))
    return path


def simulated(machine: Path, folder: str, *words: str, **variables: str) -> tuple[bool, Row]:
    """Return whether the first case was simulated, and its row."""
    command = [sys.executable, "-m", "kiviat.cli.main", "run", *words, "-n", "4"]
    done = subprocess.run(
        [*command, "--on", f"simulated:{machine}", "-o", str(machine.parent / folder)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (kept,) = (path for path in (machine.parent / folder).iterdir() if path.is_dir())
    run, rows, _ = load(kept)
    return not any("cached" in (launch.reason or "") for launch in run.launches), rows[0]


@pytest.mark.usefixtures("bench")
def test_variables_of_the_simulator_are_part_of_the_key(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result without payload does not answer for a verified one, nor that of one solver for another's."""
    for name in ("KIVIAT_VERIFY", "KIVIAT_SOLVER"):
        monkeypatch.delenv(name, raising=False)
    words = ("cg", "--class", "S")
    assert simulated(machine, "first", *words)[0]
    assert not simulated(machine, "again", *words)[0]
    fresh, row = simulated(machine, "verified", *words, KIVIAT_VERIFY="1")
    assert fresh and row.check != simulated(machine, "third", *words)[1].check
    assert simulated(machine, "solver", *words, KIVIAT_SOLVER="simgrid")[0]


@pytest.mark.usefixtures("bench")
def test_a_skipped_case_is_tried_again(machine: Path) -> None:
    """Too little memory once remained the answer for ever, also when there was enough."""
    for folder in ("first", "again"):
        fresh, row = simulated(machine, folder, "pingpong", "-m", "3000000000")
        assert (fresh, row.outcome) == (True, "skipped")


def test_cases_have_the_power_of_their_machine() -> None:
    """Changes of power.node once had no effect on predictions, which lacked the energy."""
    plain = load_machine(SMALL)
    hot = changed(plain, ["power.node=15 W"])
    assert "watts" not in SimulatedCase(plain, "stream", 2).case().controls
    assert SimulatedCase(hot, "stream", 2).case().controls["watts"] == "15/node"
