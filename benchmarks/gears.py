"""Gears: its search compared with an R-tree of Boost.Geometry on the same boxes, in turns."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.mpi import HUGE_PAGES, ROOT, Mpi, shell
from benchmarks.setting import Setting

ROW = "gears"
_GRID, _STEPS = (4, 8, 4), 13
_LEAST = 1.0
_TARGET = f"{_LEAST:g} times as fast at least"
_SOURCE = Path(__file__).parent / "rtree_gears.cpp"
_OPTIONS = ("-march=native", f"-I{ROOT / 'native'}")


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    try:
        tree = mpi.compile(_SOURCE, *_OPTIONS)
    except subprocess.CalledProcessError:
        reason = "rtree_gears.cpp does not compile: apt install libboost-dev"
        yield not_measured(ROW, f"search of a step, 1 rank, {mpi.name}", _TARGET, reason)
        return
    ours: list[float] = []
    theirs: list[float] = []
    on_two: list[float] = []
    for _ in setting.progress(range(setting.times(5, least=2)), f"{ROW}: {mpi.name}"):
        seconds, contacts, memory = _ours(mpi, 1)
        ours.append(seconds)
        tree_s, tree_contacts = _theirs(tree)
        theirs.append(tree_s)
        on_two.append(_ours(mpi, 2)[0])
        if tree_contacts != contacts:
            raise RuntimeError(f"the tree found {tree_contacts} contacts, gears {contacts}")
    ratio = median(theirs) / median(ours)
    yield Finding(
        ROW,
        f"search of a step, 128 gears, 1 rank, {mpi.name}",
        f"{ratio:.1f} times the R-tree ({1e3 * median(ours):.3g} and {1e3 * median(theirs):.3g} ms)",
        _TARGET,
        judged(ratio >= _LEAST),
        detail=[
            "the R-tree runs without mpiexec and unbound: between MPIs its figures differ by noise alone"
        ],
        data={"ours_s": ours, "tree_s": theirs},
        repeat=[
            mpi.compiled(_SOURCE, *_OPTIONS),
            f"{shell(_command(tree), HUGE_PAGES)}  # first number: seconds of a step, mean of {_STEPS}",
        ],
    )
    yield Finding(
        ROW,
        f"the same on 2 ranks, with exchange, {mpi.name}",
        f"{1e3 * median(on_two):.3g} ms, {median(theirs) / median(on_two):.1f} times the serial R-tree",
        "",
        Verdict.STATED,
        data={"ours_s": on_two},
    )
    yield Finding(ROW, f"Memory, 1 rank, {mpi.name}", memory, "", Verdict.STATED)


def _ours(mpi: Mpi, ranks: int) -> tuple[float, int, str]:
    """Return seconds per step of the slowest rank, contacts of all steps, and bytes per face."""
    i, j, k = _GRID
    events = mpi.measure([f"gears gears scaling=strong i={i} j={j} k={k} steps={_STEPS}"], ranks)
    seconds: float = events.metric("gears", "search_time")["p50"]
    notes = events.results["gears"]["notes"]
    return seconds, int(notes["contacts"].split()[0]), notes["memory"]


def _theirs(tree: Path) -> tuple[float, int]:
    environment = {**os.environ, **HUGE_PAGES}
    done = subprocess.run(_command(tree), check=True, capture_output=True, text=True, env=environment)
    seconds, contacts = done.stdout.split()
    return float(seconds), int(contacts)


def _command(tree: Path) -> list[str]:
    return [str(tree), *map(str, (*_GRID, _STEPS))]
