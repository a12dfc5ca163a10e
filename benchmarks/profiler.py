"""What the profiler costs a program: nanoseconds for each small call, memory of each rank, LU class A."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, judged
from benchmarks.mpi import Mpi
from benchmarks.setting import Setting
from kiviat.launch.profiling import TOOL, profiling
from kiviat.launch.substrate import Start
from kiviat.profile import read_profile

ROW = "profiler"
SOURCE = Path(__file__).with_name("small_calls.cpp")
_CALL_NS, _LU, _MEMORY = 60, 0.005, 64 << 10


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        library = TOOL.library(mpi.toolchain)
        yield from _calls(mpi, library, setting)
        yield _program(mpi, library, setting)


def _calls(mpi: Mpi, library: Path, setting: Setting) -> Iterator[Finding]:
    """A rank sends to itself, probes and tests: the cheapest calls there are."""
    program = mpi.compile(SOURCE)
    bare: dict[str, list[float]] = {}
    counted: dict[str, list[float]] = {}
    memory = 0
    for launch in setting.progress(range(setting.times(21, least=3)), f"{ROW}: calls, {mpi.name}"):
        for into in (bare, counted) if launch % 2 else (counted, bare):
            with tempfile.TemporaryDirectory() as folder:
                told = profiling(Start((), {}), library, Path(folder)).environment if into is counted else {}
                said = mpi.launch([program], ranks=1, variables=told)
                for path in Path(folder).glob("*.profile"):
                    memory = read_profile(path).memory_bytes
            for name, ns in re.findall(r"^(\w+) ([\d.]+)$", said, re.MULTILINE):
                into.setdefault(name, []).append(float(ns))
    costs = {name: min(counted[name]) - min(times) for name, times in bare.items()}
    worst = max(costs, key=lambda name: costs[name])
    each = ", ".join(f"{name} {cost:.0f} ns (bare {min(bare[name]):.0f})" for name, cost in costs.items())
    yield Finding(
        ROW,
        f"Added to a small call, {mpi.name}",
        f"{median(costs.values()):.0f} ns; at most {costs[worst]:.0f} ns ({worst})",
        f"at most {_CALL_NS} ns",
        judged(max(costs.values()) <= _CALL_NS),
        detail=[f"least of {len(next(iter(bare.values())))} launches: {each}"],
        data={"bare_ns": bare, "counted_ns": counted},
    )
    yield Finding(
        ROW,
        f"Memory of each rank, {mpi.name}",
        f"{memory / 1024:.1f} KiB, and 64 B for each rank of the world",
        f"at most {_MEMORY >> 10} KiB + rows",
        judged(0 < memory <= _MEMORY),
    )


def _program(mpi: Mpi, library: Path, setting: Setting) -> Finding:
    """LU class A on two ranks, interleaved; its own time of the solution."""
    times: tuple[list[float], list[float]] = ([], [])
    calls = 0
    for launch in setting.progress(range(setting.times(11, least=2)), f"{ROW}: LU, {mpi.name}"):
        for counted in (launch % 2, 1 - launch % 2):
            with tempfile.TemporaryDirectory() as folder:
                told = profiling(Start((), {}), library, Path(folder)).environment if counted else {}
                times[counted].append(_lu(mpi, told, setting.brief))
                for path in Path(folder).glob("*.profile"):
                    calls = int(read_profile(path).calls.calls.sum())
    bare, with_profiler = times
    change = median(b / a for a, b in zip(bare, with_profiler, strict=True)) - 1
    return Finding(
        ROW,
        f"Added to LU class {'S' if setting.brief else 'A'} on 2 ranks, {mpi.name}",
        f"{change:+.2%} (median of pairs; least {min(with_profiler) / min(bare) - 1:+.2%})",
        f"at most {_LU:.1%}",
        judged(change <= _LU),
        detail=[f"{len(bare)} pairs of launches; {calls:,} calls of both ranks; bare {_range(bare)}"],
        data={"bare_s": bare, "counted_s": with_profiler},
    )


def _lu(mpi: Mpi, variables: Mapping[str, str], brief: bool) -> float:
    """Seconds for what NPB counts as 10^9 operations."""
    case = f"lu lu class={'S' if brief else 'A'}"
    rate: float = mpi.measure([case], variables=variables).metric("lu", "rate")["p50"]
    return 1e9 / rate


def _range(times: Sequence[float]) -> str:
    return f"{min(times):.4f} to {max(times):.4f} s for 10^9 operations"
