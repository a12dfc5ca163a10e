"""b_eff on two ranks: duration of the full and of the quick version, and the difference between their
results.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.finding import Finding, judged
from benchmarks.mpi import Mpi
from benchmarks.setting import Setting

ROW = "b-eff"
# 36 patterns, 21 sizes, 3 methods and 3 repetitions, with loops of at most 5 ms.
_NOMINAL_S = 36 * 21 * 3 * 3 * 5e-3
_QUICK_S = 30.0


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _of)


def _of(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    took: dict[str, list[float]] = {"full": [], "quick": []}
    found: dict[str, list[float]] = {"full": [], "quick": []}
    for _ in setting.progress(range(setting.times(5, least=1)), f"{ROW}: {mpi.name}"):
        for version, times in took.items():
            events = mpi.measure([f"{version} b_eff version={version}"], timeout_s=5 * _NOMINAL_S)
            times.append(events.results[version]["elapsed_s"])
            found[version].append(events.metric(version, "b_eff")["p50"])
    full_s, quick_s = median(took["full"]), median(took["quick"])
    difference = median(q / f - 1 for q, f in zip(found["quick"], found["full"], strict=True))
    data = {"took_s": took, "b_eff": found}
    yield Finding(
        ROW,
        f"b_eff, 2 ranks, Lmax 1 MiB, {mpi.name}",
        f"{full_s:.1f} s",
        f"nominal {_NOMINAL_S:.0f} s at most",
        judged(full_s <= _NOMINAL_S),
        data=data,
    )
    yield Finding(
        ROW,
        f"quick b_eff, {mpi.name}",
        f"{quick_s:.2f} s; {difference:+.1%} beside the full one",
        f"{_QUICK_S:.0f} s at most",
        judged(quick_s <= _QUICK_S),
    )
