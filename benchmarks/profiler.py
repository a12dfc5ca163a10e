"""Overhead of the profiler: nanoseconds per small call, memory per rank, LU class A."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, Verdict, judged, judged_at_most, not_measured
from benchmarks.mpi import Mpi
from benchmarks.setting import Setting
from kiviat.analysis.statistics.intervals import median_interval
from kiviat.launch.mpi.build import PROFILER
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.simulated import Simulated
from kiviat.launch.tools.profile import TOOL, profiling
from kiviat.launch.tools.profile_simulated import SimulatedProgram, profiling_simulated
from kiviat.machine.modelled.machine import find_machine, load_machine
from kiviat.profile import read_profile
from kiviat.record import InputError

ROW = "profiler"
SOURCE = Path(__file__).with_name("small_calls.cpp")
SIMULATED = Path(__file__).with_name("neighbours.c")
_PEAK = Path(__file__).with_name("peak.py")
_CALL_NS, _LU, _MEMORY, _MERGE_S = 60, 0.005, 64 << 10, 10
_COLD = "cold_"
_RANKS, _MACHINE = 4096, "vt-myri10g"


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        library = TOOL.library(mpi.toolchain)
        yield from _calls(mpi, library, setting)
        yield _program(mpi, library, setting)
    yield from _many(setting)


def _calls(mpi: Mpi, library: Path, setting: Setting) -> Iterator[Finding]:
    """Measure calls by which a rank sends to itself, probes and tests: the cheapest calls, with and without
    profiler.
    """
    program = mpi.compile(SOURCE)
    bare: dict[str, list[float]] = {}
    counted: dict[str, list[float]] = {}
    memory = 0
    for launch in setting.progress(range(setting.times(21, least=3)), f"{ROW}: calls, {mpi.name}"):
        for into in (bare, counted) if launch % 2 else (counted, bare):
            with tempfile.TemporaryDirectory() as folder:
                told = (
                    profiling(LaunchSpec((), {}), library, Path(folder)).environment
                    if into is counted
                    else {}
                )
                said = mpi.launch([program], ranks=1, variables=told)
                for path in Path(folder).glob("*.profile"):
                    memory = read_profile(path).memory_bytes
            for name, ns in re.findall(r"^(\w+) ([\d.]+)$", said, re.MULTILINE):
                into.setdefault(name, []).append(float(ns))
    cold = {name: median(counted[name]) - median(bare[name]) for name in bare if name.startswith(_COLD)}
    costs = {name: min(counted[name]) - min(times) for name, times in bare.items() if name not in cold}
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
        f"Added to a call with cold caches, {mpi.name}",
        ", ".join(
            f"{name.removeprefix(_COLD)} {cost:.0f} ns (bare {median(bare[name]):.0f})"
            for name, cost in cold.items()
        ),
        "",
        Verdict.STATED,
        detail=["send_recv_wait are three calls; medians of launches, of each the median of 301 calls"],
    )
    yield Finding(
        ROW,
        f"Memory of each rank, {mpi.name}",
        f"{memory / 1024:.1f} KiB, and 64 B for each rank of the world",
        f"at most {_MEMORY >> 10} KiB + rows",
        judged(0 < memory <= _MEMORY),
    )


def _program(mpi: Mpi, library: Path, setting: Setting) -> Finding:
    """Measure the solution time of LU class A on two ranks, with and without profiler in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    calls = 0
    for launch in setting.progress(range(setting.times(41, least=2)), f"{ROW}: LU, {mpi.name}"):
        for counted in (launch % 2, 1 - launch % 2):
            with tempfile.TemporaryDirectory() as folder:
                told = profiling(LaunchSpec((), {}), library, Path(folder)).environment if counted else {}
                times[counted].append(_lu(mpi, told, setting.brief))
                for path in Path(folder).glob("*.profile"):
                    calls = int(read_profile(path).calls.calls.sum())
    bare, with_profiler = times
    changes = [b / a - 1 for a, b in zip(bare, with_profiler, strict=True)]
    interval = median_interval(changes)
    within = f"{interval[0]:+.2%} … {interval[1]:+.2%}" if interval else "too few pairs for an interval"
    return Finding(
        ROW,
        f"Added to LU class {'S' if setting.brief else 'A'} on 2 ranks, {mpi.name}",
        f"{median(changes):+.2%} ({within}; median of pairs)",
        f"at most {_LU:.1%}",
        judged_at_most(_LU, interval),
        detail=[f"{len(bare)} pairs of launches; {calls:,} calls of both ranks; bare {_range(bare)}"],
        data={"bare_s": bare, "counted_s": with_profiler},
    )


def _lu(mpi: Mpi, variables: Mapping[str, str], brief: bool) -> float:
    """Return the seconds per 10^9 operations, as NPB counts them."""
    case = f"lu lu class={'S' if brief else 'A'}"
    rate: float = mpi.measure([case], variables=variables).metric("lu", "rate")["p50"]
    return 1e9 / rate


def _range(times: Sequence[float]) -> str:
    return f"{min(times):.4f} to {max(times):.4f} s for 10^9 operations"


def _many(setting: Setting) -> Iterator[Finding]:
    """Measure the profiler with thousands of simulated ranks, which one process counts for and merges."""
    ranks = 256 if setting.brief else _RANKS
    what = f"Merging {ranks:,} simulated ranks"
    try:
        toolchain = find_toolchain(SIMULATOR)
    except InputError as error:
        yield not_measured(ROW, what, f"at most {_MERGE_S} s", str(error))
        return
    library = TOOL.library(toolchain)  # built first: its folder has the platform that both simulations need
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "neighbours"
        subprocess.run([toolchain.mpicxx.with_name("smpicc"), "-O1", SIMULATED, "-o", program], check=True)
        asked = _neighbours(program, ranks, toolchain)
        start = asked.starting(folder)
        start.write(folder)
        bare_s, bare_bytes = _simulation(start, folder)
        counted_s, counted_bytes = _simulation(profiling_simulated(asked, library, folder), folder)
        (path,) = folder.glob("world-*.profile")
        merged_s = float(json.loads(path.read_bytes().split(b"\n", 2)[1])["merged_s"])
        profile = read_profile(path)
        size = path.stat().st_size
    yield Finding(
        ROW,
        what,
        f"{merged_s:.2f} s",
        f"at most {_MERGE_S} s",
        judged(bool(profile.ended.all()) and merged_s <= _MERGE_S),
        detail=[
            f"three halo exchanges, {int(profile.calls.calls.sum()):,} calls; the profile has "
            f"{size:,} B; simulated in {counted_s:.1f} s, without the profiler in {bare_s:.1f} s"
        ],
        data={"merged_s": merged_s, "bare_s": bare_s, "counted_s": counted_s},
    )
    each = (counted_bytes - bare_bytes) / ranks
    yield Finding(
        ROW,
        f"Memory of each of {ranks:,} simulated ranks",
        f"{profile.memory_bytes / 1024:.1f} KiB, and rows of the matrix",
        f"at most {_MEMORY >> 10} KiB + rows",
        judged(0 < profile.memory_bytes <= _MEMORY),
        detail=[f"the simulator's memory grew by {each / 1024:.1f} KiB a rank, rows included"],
        data={"bare_bytes": bare_bytes, "counted_bytes": counted_bytes},
    )


def _neighbours(program: Path, ranks: int, toolchain: Toolchain) -> SimulatedProgram:
    known = find_machine(_MACHINE)
    nodes = {"value": -(-ranks // known.cores_per_node), "source": "bench", "confidence": "low"}
    sources = {"bench": "as many nodes as the ranks need"}
    machine = load_machine(known.path, {"sources": sources, "node": {"count": nodes}})
    substrate = Simulated(machine, PROFILER)

    def starting(folder: Path) -> LaunchSpec:
        return substrate.start(toolchain, ranks, folder, LauncherOptions()).of([program])

    return SimulatedProgram(machine, starting, 0)


def _simulation(start: LaunchSpec, folder: Path) -> tuple[float, float]:
    """Return the duration of a simulation and the largest peak memory of its processes."""
    peaks = folder / "peak"
    peaks.mkdir(exist_ok=True)
    begun = time.monotonic()
    environment = {**os.environ, **start.environment}
    subprocess.run([sys.executable, _PEAK, peaks, *start.command], env=environment, check=True, cwd=folder)
    seconds = time.monotonic() - begun
    most = max(float(path.read_text()) for path in peaks.iterdir())
    for path in peaks.iterdir():
        path.unlink()
    return seconds, most
