"""Overhead of the recorder, size of traces, speed of replay and of wait-state analysis."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, Verdict, not_measured
from benchmarks.mpi import Mpi
from benchmarks.profiler import SOURCE
from benchmarks.setting import Setting
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.programs.replay import Speed, replay
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.tools.profile import TOOL as PROFILER
from kiviat.launch.tools.profile import ProfileOptions, profiling, recorder_of
from kiviat.launch.tools.trace import TOOL as RECORDER
from kiviat.machine.modelled.machine import find_machine
from kiviat.profile.wait_states import waits_in
from kiviat.record import InputError
from kiviat.trace import Trace, pack, read_trace, unpack
from kiviat.trace.layout import DESCRIPTION_AT, header_of, layout_of

ROW = "trace"
_RANKS, _MACHINE = 4, "sicortex-sc072"


@dataclass(frozen=True)
class _Libraries:
    profiler: Path
    recorder: Path

    def recording(self, folder: Path) -> Mapping[str, str]:
        return RECORDER.preloading(LaunchSpec((), {}), self.recorder, folder).environment

    def waiting(self, folder: Path) -> Mapping[str, str]:
        """Return the recorder's variables, as `kiviat profile --wait-states` sets them."""
        return profiling(
            LaunchSpec((), {}), self.profiler, folder, ProfileOptions(recorder=self.recorder)
        ).environment


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        libraries = _Libraries(PROFILER.library(mpi.toolchain), recorder_of(mpi.toolchain))
        yield from _calls(mpi, libraries, setting)
        yield from _program(mpi, libraries, setting)


def _calls(mpi: Mpi, libraries: _Libraries, setting: Setting) -> Iterator[Finding]:
    """Measure calls by which a rank sends to itself, probes and tests: the cheapest calls there are."""
    program = mpi.compile(SOURCE)
    ways: Mapping[str, Callable[[Path], Mapping[str, str]]] = {
        "bare": lambda folder: {},
        "trace": libraries.recording,
        "waits": libraries.waiting,
    }
    took: dict[str, dict[str, list[float]]] = {way: {} for way in ways}
    for launch in setting.progress(range(setting.times(21, least=3)), f"{ROW}: calls, {mpi.name}"):
        for way in sorted(ways, reverse=bool(launch % 2)):
            with tempfile.TemporaryDirectory() as folder:
                said = mpi.launch([program], ranks=1, variables=ways[way](Path(folder)))
            for name, ns in re.findall(r"^(\w+) ([\d.]+)$", said, re.MULTILINE):
                took[way].setdefault(name, []).append(float(ns))
    for way, what in (("trace", "kiviat trace"), ("waits", "kiviat profile --wait-states")):
        costs = {
            name: min(took[way][name]) - min(bare)
            for name, bare in took["bare"].items()
            if not name.startswith("cold_")
        }
        each = ", ".join(f"{name} {cost:.0f} ns" for name, cost in costs.items())
        yield Finding(
            ROW,
            f"{what}: added to a small call, {mpi.name}",
            f"{median(costs.values()):.0f} ns; at most {max(costs.values()):.0f} ns",
            "",
            Verdict.STATED,
            detail=[f"least of {len(next(iter(took['bare'].values())))} launches: {each}"],
            data={"bare_ns": took["bare"], "recorded_ns": took[way]},
        )


def _program(mpi: Mpi, libraries: _Libraries, setting: Setting) -> Iterator[Finding]:
    """Record and replay LU, which sends many small messages."""
    size = "S" if setting.brief else "W"
    case = [f"lu lu class={size}"]
    of = f"LU class {size} on {_RANKS} ranks, {mpi.name}"
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        recorded = _recorded(mpi, folder, libraries, case)
        streams = folder / "streams"
        unpack(recorded, streams)
        raw = sum(path.stat().st_size for path in streams.iterdir())
        yield Finding(
            ROW,
            f"Size of an event, {of}",
            f"{raw / recorded.events:.1f} B, {recorded.path.stat().st_size / recorded.events:.1f} B packed",
            "",
            Verdict.STATED,
            detail=[f"{recorded.events:,} events, {raw:,} B"],
        )
        yield _replayed(recorded, folder, of)
        stamped = folder / "stamped"
        stamped.mkdir()
        mpi.measure(case, _RANKS, variables=libraries.waiting(stamped))
        began = time.perf_counter()
        waits, _ = waits_in(stamped)
        took_s = time.perf_counter() - began
        octets = sum(map(_length, stamped.glob("rank-*.stream")))
    yield Finding(
        ROW,
        f"Calls read for waiting in a second, {of}",
        f"{waits.recorded / took_s:,.0f} ({took_s:.2f} s for {waits.recorded:,})",
        "",
        Verdict.STATED,
        detail=[f"{octets / waits.recorded:.1f} B a call"],
    )


def _recorded(mpi: Mpi, folder: Path, libraries: _Libraries, case: list[str]) -> Trace:
    left = folder / "left"
    left.mkdir()
    mpi.measure(case, _RANKS, variables=libraries.recording(left))
    output = folder / "lu.trace"
    pack(left, output, None)
    return read_trace(output)


def _length(path: Path) -> int:
    """Return the length of a rank's stream; its file is longer, because it grows in blocks."""
    content = path.read_bytes()
    layout = layout_of(content[DESCRIPTION_AT:].partition(b"\n")[0], path)
    length: int = header_of(layout, content)["length"]
    return length


def _replayed(recorded: Trace, folder: Path, of: str) -> Finding:
    what = f"Events replayed in a second, {of}"
    at = folder / "replay"
    at.mkdir()
    try:
        speed = Speed(float("inf"), "computation takes no time")
        ended = replay(recorded, find_machine(_MACHINE), LauncherOptions(), speed, at).ended
    except InputError as error:
        return not_measured(ROW, what, "", str(error))
    if ended.reason:
        return not_measured(ROW, what, "", ended.reason)
    figure = f"{recorded.events / ended.elapsed_s:,.0f} ({ended.elapsed_s:.2f} s, with SimGrid's start)"
    return Finding(ROW, what, figure, "", Verdict.STATED)
