"""Gears: its search compared with an R-tree of Boost.Geometry on the same boxes, in turns."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.mpi import HUGE_PAGES, LaunchError, Mpi
from benchmarks.setting import Setting

ROW = "gears"
_GRID, _STEPS = (4, 8, 4), 13
_LEAST = 1.0
_TARGET = f"{_LEAST:g} times as fast at least"
_SOURCE = Path(__file__).parent / "rtree_gears.cpp"
_NATIVE = Path(__file__).resolve().parents[1] / "native"


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        try:
            tree = mpi.compile(_SOURCE, "-march=native", f"-I{_NATIVE}")
        except subprocess.CalledProcessError:
            reason = "rtree_gears.cpp does not compile: apt install libboost-dev"
            yield not_measured(ROW, f"search of a step, 1 rank, {mpi.name}", _TARGET, reason)
            continue
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
                raise LaunchError(f"the tree found {tree_contacts} contacts, gears {contacts}")
        ratio = median(theirs) / median(ours)
        yield Finding(
            ROW,
            f"search of a step, 128 gears, 1 rank, {mpi.name}",
            f"{ratio:.1f} times the R-tree ({1e3 * median(ours):.3g} and {1e3 * median(theirs):.3g} ms)",
            _TARGET,
            judged(ratio >= _LEAST),
            data={"ours_s": ours, "tree_s": theirs},
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
    words = [str(tree), *map(str, (*_GRID, _STEPS))]
    environment = {**os.environ, **HUGE_PAGES}
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    seconds, contacts = done.stdout.split()
    return float(seconds), int(contacts)
