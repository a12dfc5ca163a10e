"""The cache of simulations: what was simulated once is not simulated again, unless something differs."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.store.read import load
from tests.simulated.conftest import SMALL


@pytest.mark.usefixtures("bench")
def test_variables_of_the_simulator_are_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result without payload does not answer for a verified one, nor that of one solver for another's."""
    # A machine of its own, so that no earlier result answers.
    machine = tmp_path / "small.toml"
    machine.write_text(SMALL.read_text().replace('"4 GB/s"', f'"4.{secrets.randbelow(10**12):012} GB/s"', 1))

    def simulated(folder: str, **variables: str) -> tuple[bool, str]:
        """Return whether the case was simulated, and its check."""
        command = [sys.executable, "-m", "kiviat.cli.main", "run", "cg", "--class", "S", "-n", "4"]
        done = subprocess.run(
            [*command, "--on", f"simulated:{machine}", "-o", str(tmp_path / folder)],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        (kept,) = (path for path in (tmp_path / folder).iterdir() if path.is_dir())
        run, rows, _ = load(kept)
        return not any("cached" in (launch.reason or "") for launch in run.launches), rows[0].check

    for name in ("KIVIAT_VERIFY", "KIVIAT_SOLVER"):
        monkeypatch.delenv(name, raising=False)
    assert simulated("first")[0]
    assert not simulated("again")[0]
    fresh, check = simulated("verified", KIVIAT_VERIFY="1")
    assert fresh and check != simulated("third")[1]
    assert simulated("solver", KIVIAT_SOLVER="simgrid")[0]
