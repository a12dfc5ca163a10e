"""The plan hpcc-modelled: small problems on a simulated machine, and results extrapolated from them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.hpcc.extrapolation import LAWS, SHARE, extrapolated
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.machine.modelled.machine import load_machine
from kiviat.store.read import load
from tests.simulated.conftest import SMALL, Simulation


def test_small_problems_tell_what_full_memory_gives(simgrid: Toolchain, bench: Path, tmp_path: Path) -> None:
    """The plan runs on four ranks as started by a user; every law predicts the size held out of its fit."""
    words: list[str | Path] = [
        "run",
        "hpcc-modelled",
        "--on",
        f"simulated:{SMALL}",
        "-n",
        "4",
        "-o",
        tmp_path,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    run, rows, _ = load(folder)
    found = {one.benchmark: one for one in extrapolated(summarise(rows), run)}
    assert set(found) == set(LAWS)
    assert {name: one.held_out for name, one in found.items() if abs(one.held_out) > 0.15} == {}

    machine = load_machine(SMALL)
    hpl, memory, flops = found["hpl"], machine.number("node.memory"), machine.number("core.flops")
    assert memory is not None and flops is not None
    nodes = -(-4 // machine.cores_per_node)
    assert hpl.memory_bytes == pytest.approx(SHARE * memory * nodes / 4)
    assert hpl.points[-1][1] < hpl.value < 4 * flops


def test_rows_that_change_places_in_several_parts_arrive(wide: Simulation) -> None:
    """The row exchange of HPL on 12 ranks does not deadlock.

    Ranks beyond the power of two, 8, send their rows in several parts. These need different tags, because
    SMPI lets a short message overtake a long one with the same tag.
    """
    (result,) = wide.cases(wide.places(12), ["hpl n=400 nb=16 p=12 q=1 swap=exchange mode=once seed=1"])
    assert result["outcome"] == "ok", result["reason"]
