"""Peak memory of rank 0: it is bounded for any number of cases in a launch and any duration of each."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.finding import Finding, judged
from benchmarks.mpi import Mpi
from benchmarks.setting import Setting

ROW = "memory"
PEAK = Path(__file__).with_name("peak.py")
# Growth that the allocator may cause between two launches with equal needs.
_GROWTH = 0.05


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        few = setting.times(300, least=30)
        # Long enough that more samples are taken than are stored.
        brief_s = 1.0 if setting.brief else 3.0
        for what, short, long in (
            (f"{few} cases and {10 * few}", _cases(few), _cases(10 * few)),
            (f"cases of {brief_s:g} s and of {4 * brief_s:g} s", _endless(brief_s), _endless(4 * brief_s)),
        ):
            title = f"{ROW}: {what}, {mpi.name}"
            peaks = [_peak_mb(mpi, cases) for cases in setting.progress([short, long], title)]
            growth = peaks[1] / peaks[0] - 1
            yield Finding(
                ROW,
                f"Peak of rank 0, {what}, {mpi.name}",
                f"{peaks[0]:.1f} and {peaks[1]:.1f} MB ({growth:+.1%})",
                f"no more than {_GROWTH:.0%} growth",
                judged(growth <= _GROWTH),
                data={"peaks_mb": peaks},
            )


def _cases(count: int) -> list[str]:
    """Return cases that take almost no time."""
    names = ("pingpong", "allreduce", "alltoall")
    words = "ranks=2 mode=fixed iterations=100 warmup=10"
    return [f"{i} {names[i % 3]} bytes={1 << i % 12 + 2} {words}" for i in range(count)]


def _endless(budget_s: float) -> list[str]:
    """Return cases that take as many samples as the budget allows, which are more than are stored."""
    words = f"ranks=2 bytes=8 target=1e-9 max_samples=1000000000 budget_s={budget_s}"
    return [f"a pingpong {words}", f"b allreduce {words}"]


def _peak_mb(mpi: Mpi, cases: Sequence[str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        asked, told, peaks = (Path(folder) / name for name in ("cases.txt", "events.jsonl", "peaks"))
        peaks.mkdir()
        asked.write_text("\n".join(cases) + "\n", encoding="utf-8")
        mpi.launch([sys.executable, PEAK, peaks, mpi.program, "--cases", asked, "--out", told])
        rank_0 = _rank_0(told)
        return float((peaks / str(rank_0)).read_text()) / 1e6


def _rank_0(told: Path) -> int:
    """Return the process number of rank 0, from the launch event."""
    with told.open(encoding="utf-8") as lines:
        launch = json.loads(next(lines))
    return int(next(rank["pid"] for rank in launch["ranks"] if rank["rank"] == 0))
