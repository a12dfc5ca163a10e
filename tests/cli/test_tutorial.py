"""The tutorial works as written: all its commands run in order in one folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain
from tests.cli.conftest import Kiviat

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "first-machine.md"


def test_every_command_of_the_tutorial_works(
    kiviat: Kiviat, openmpi: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(openmpi)
    monkeypatch.setenv("MPICXX", str(openmpi.mpicxx))
    blocks = re.findall(r"^```sh\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    assert lines[:2] == ["tools/setup run", ". .venv/bin/activate"]  # tools/setup has its own tests
    assert {line.split()[0] for line in lines[2:]} == {"kiviat"}
    for line in lines[2:]:
        done = kiviat(*shlex.split(line)[1:])
        # Other tests may disturb the measurements; if they disturb all cases, the exit code is 2.
        cases = [row for row in done.stdout.splitlines() if "compare" in line and "/ranks=" in row]
        disturbed = cases and all("no verdict: disturbed by other programs" in row for row in cases)
        assert done.returncode == (2 if disturbed else 0), f"{line}: {done.stdout}{done.stderr}"
    assert (tmp_path / "report.html").stat().st_size > 0
    assert (tmp_path / "run.csv").read_text(encoding="utf-8").startswith("run,case,")
