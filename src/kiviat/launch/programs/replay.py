"""Replays a trace on a modelled machine.

SMPI makes the recorded calls, and computation is scaled to the machine's speed.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiviat.launch.mpi.build import REPLAYER, build
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.programs.simulated_program import ProgramFacts, record_of, run_single
from kiviat.launch.run.supervise import LaunchResult
from kiviat.launch.substrates.simulated import Simulated
from kiviat.machine.modelled.machine import Machine
from kiviat.record import InputError, Metric, Record
from kiviat.record.units import format_value
from kiviat.trace import Trace, check, unpack

BENCHMARK = "replay"
_REFUSES = "kiviat-replay: "  # native/trace/replay/main.cpp


@dataclass(frozen=True)
class Speed:
    """Speed of a modelled core divided by that of a core of the recording machine; `how` names the source.

    `ratio_min` and `ratio_max` follow from the readings of the recording machine; None without several.
    """

    ratio: float
    how: str
    ratio_min: float | None = None
    ratio_max: float | None = None

    @property
    def scale(self) -> float:
        """Seconds on the modelled machine per recorded second."""
        return 1 / self.ratio

    @property
    def text(self) -> str:
        """The ratio, and its range if it is known: "0.52 (0.49 to 0.55)"."""
        if self.ratio_min is None or self.ratio_max is None:
            return f"{self.ratio:.3g}"
        return f"{self.ratio:.3g} ({self.ratio_min:.3g} to {self.ratio_max:.3g})"


def speed_of(trace: Trace, machine: Machine, given: float | None) -> Speed:
    """Return the given speed, else the ratio of the cores' rates. Raise InputError if neither is known."""
    if given is not None:
        if not given > 0:
            raise InputError(
                f"--speed is {given:g}; give a number above 0: the speed of a core there divided by that of "
                "a recording one"
            )
        how = "computation takes no time" if given == float("inf") else "as given by --speed"
        return Speed(given, how)
    if trace.rate is None:
        raise InputError(
            f"{trace.path} lacks the speed of the recording machine's cores; give --speed, the speed of a "
            f"core of {machine.name} divided by theirs"
        )
    flops = machine.numbers["core.flops"].value
    how = (
        f"core.flops of {machine.name}, {format_value(flops, 'flop/s')}, over "
        f"{format_value(trace.rate.flops, 'flop/s')} of the recording machine: {trace.rate.how}"
    )
    ends = [flops / end if end else None for end in (trace.rate.flops_max, trace.rate.flops_min)]
    return Speed(flops / trace.rate.flops, how, *ends)


@dataclass(frozen=True)
class Replayed:
    """Result of a replay; `refused`: the trace is at fault, because its calls cannot be made."""

    record: Record
    ended: LaunchResult
    refused: bool = False


def replay(
    trace: Trace,
    machine: Machine,
    options: LauncherOptions,
    speed: Speed,
    folder: Path,
    *,
    run: str = "replay",
    on_launch: Callable[[Mapping[str, Any]], None] = lambda launch: None,
    timeout_s: float | None = None,
    called: str = "",
) -> Replayed:
    """Simulate the trace, with files in `folder`. Raise InputError if the trace is damaged.

    `called` is the name of the program in the record, by default that of the recorded one.
    """
    toolchain = find_toolchain(SIMULATOR)
    program = build(toolchain, product=REPLAYER, tell=_tell)
    start = Simulated(machine, REPLAYER).start(toolchain, trace.ranks, folder, options)
    streams, result = folder / "streams", folder / "result.json"
    sparse, apart = (any(getattr(one, name) for one in trace.each) for name in ("sparse", "apart"))
    settings = [str(int(setting)) for setting in (sparse, apart)]
    words: list[str | Path] = [program, streams, result, f"{speed.scale:.17g}", *settings]
    unpack(trace, streams)
    try:
        start.write(folder)
        spec = dataclasses.replace(start.of(words), run=run, timeout_s=timeout_s)
        with Interrupts() as interrupts:
            ended = run_single(spec, result, on_launch, interrupts)
    finally:
        shutil.rmtree(streams, ignore_errors=True)
    refusal = (ended.reason or "").partition(_REFUSES)[2]
    if refusal:
        ended = dataclasses.replace(ended, reason=f"the trace cannot be replayed: {refusal}")
    told = None if ended.reason else json.loads(result.read_text())
    found = ProgramFacts(
        BENCHMARK,
        trace.ranks,
        {"program": called or trace.program},
        "a trace has no payload",
        () if told is None else _metrics(told),
        _notes(trace, speed),
    )
    return Replayed(record_of(run, found, ended), ended, bool(refusal))


def refuse_unplaceable(trace: Trace, machine: Machine, options: LauncherOptions) -> None:
    """Raise InputError if the ranks do not fit on the machine, or the trace cannot be replayed at all."""
    if why := trace.refusal():
        raise InputError(f"{trace.path} cannot be replayed: {why}")
    check(trace)
    toolchain = find_toolchain(SIMULATOR)
    build(toolchain, product=REPLAYER, tell=_tell)
    Simulated(machine, REPLAYER).start(toolchain, trace.ranks, Path(), options)


def _tell(text: str) -> None:
    print(f"kiviat: {text}", file=sys.stderr)


def _metrics(told: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return the metrics in `told`, the output of the replayer (native/trace/replay/main.cpp)."""
    elapsed, computed = told["elapsed_s"], told["computed_s"]
    communicated = [whole - part for whole, part in zip(elapsed, computed, strict=True)]
    total = max(elapsed)
    shares = [100 * part / whole if whole else 0.0 for part, whole in zip(communicated, elapsed, strict=True)]
    return (
        Metric.once("total_time", "s", total),
        Metric.once("computation_median", "s", statistics.median(computed)),
        Metric.once("computation_max", "s", max(computed)),
        Metric.once("communication_median", "s", statistics.median(communicated)),
        Metric.once("communication_max", "s", max(communicated)),
        Metric.once("communication_share", "%", statistics.fmean(shares)),
        Metric.once("network_bytes", "B", told["network_bytes"]),
        Metric.once("network_messages", "1", told["network_messages"]),
        Metric.once("node_bytes", "B", told["node_bytes"]),
        Metric.once("node_messages", "1", told["node_messages"]),
    )


def _notes(trace: Trace, speed: Speed) -> dict[str, str]:
    """Return notes of the record.

    The recorded real time is a note, not a metric, because it is not a prediction.
    """
    hosts = list(dict.fromkeys(one.host for one in trace.each))
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
    took, computed = (
        format_value(trace.elapsed_s, "s"),
        format_value(statistics.median(trace.computed_s), "s"),
    )
    infinite = speed.ratio == float("inf")
    return {
        "recorded": f"{trace.program} with {trace.library} on {where}: {took} of real time, in which ranks "
        f"computed for {computed} (median)",
        "speed of a core": speed.how if infinite else f"{speed.text}: {speed.how}",
    }
