"""Profiles programs on a modelled machine: a library preloaded into the simulator sees all ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.simulated import preloading
from kiviat.launch.tools.preload import finishing
from kiviat.launch.tools.profile import TOOL, Profiled, collected
from kiviat.machine.modelled.machine import Machine
from kiviat.profile import Simulated, add_simulated, read_profile

_ALL_CROSSING = "KIVIAT_CROSSING"


@dataclass(frozen=True)
class SimulatedProgram:
    """A program to profile on a modelled machine.

    `starting` returns the whole command, given a folder for its files. `compute`: factor of computation
    times, see kiviat.profile.Simulated. `crossing`: the simulator reports the bytes that it moved between
    each pair of ranks, for any number of ranks.
    """

    machine: Machine
    starting: Callable[[Path], LaunchSpec]
    compute: float | None
    crossing: bool = False


def profiling_simulated(program: SimulatedProgram, library: Path, folder: Path) -> LaunchSpec:
    """Return the command with the profiler."""
    start = program.starting(folder)
    words = preloading(start.launcher, library)
    told = {TOOL.variable: str(folder), **({_ALL_CROSSING: "1"} if program.crossing else {})}
    return replace(start, launcher=words, environment={**start.environment, **told})


def profiled_simulation(
    program: SimulatedProgram,
    library: Path,
    output: Path,
    state: Path | None = None,
    look: Callable[[Path], None] = lambda folder: None,
) -> Profiled:
    """Like kiviat.launch.tools.profile.profiled; `look` is called with the folder before it is removed."""
    ended = TOOL.run(lambda folder: profiling_simulated(program, library, folder), output, state)
    with finishing(output):
        try:
            look(ended.folder)
        finally:
            profiled = collected(ended, output)
    machine = program.machine
    for path in profiled.profiles:
        add_simulated(
            path,
            Simulated(
                f"simulated:{machine.name}", machine.title, machine.version, program.compute, machine.hash
            ),
        )
    unfinished = any(not read_profile(path).ended.all() for path in profiled.profiles)
    return replace(profiled, unfinished=unfinished)
