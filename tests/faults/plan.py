"""Derives the fault, target, phase and moment of a trial from a seed.

planned(seed, mpi, index) -> Trial

Trials cycle through all phases, and in each phase through all its faults, in an order that depends on seed
and MPI. So any number of trials is spread evenly, and each trial can be repeated separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

# Phases of a run on this machine, and other commands; moments.py detects when they have begun.
PHASES = (
    *("start", "build", "probe", "launch", "between", "report", "export", "resume"),
    *("simulated", "emulated", "profile", "trace", "slurm"),
)
PROFILERS = ("profile", "trace")

SIGNALS = ("KILL", "INT", "TERM", "HUP", "STOP+CONT", "INT+INT", "TERM+INT", "HUP+TERM", "INT+KILL")
FILES = ("disk full", "read-only", "folder moved", "folder removed")
SURROUNDINGS = ("stdout closed", "TMPDIR removed", "cwd removed")
CLOCKS = ("clock forward", "clock back")
TO_OTHERS = ("KILL", "INT", "TERM", "STOP+CONT")
OF_SLURM = ("scancel", "controller killed", "controller silent")
OUTPUTS = ("csv", "json", "parquet")

# Approximate duration of each phase in seconds; a fault hits at a random moment of it.
OFFSET_S = {
    "start": 0.8,
    "build": 0.6,
    "probe": 0.3,
    "launch": 0.2,
    "between": 0.0,
    "report": 0.3,
    "export": 0.15,
    "resume": 0.2,
    "simulated": 0.5,
    "emulated": 2.0,
    "profile": 1.5,
    "trace": 1.5,
    "slurm": 1.0,
}


@dataclass(frozen=True)
class Trial:
    """A planned fault.

    `offset_s` is the delay after the phase was detected; `detail` selects a variant of the phase (number of
    the launch, format of an export, report at the end of a run); `pause_s` is the time between two signals.
    """

    mpi: str
    seed: int
    index: int
    phase: str
    kind: str
    target: str
    detail: str
    offset_s: float
    pause_s: float

    @property
    def fault(self) -> str:
        return self.kind if self.target == "-" else f"{self.kind} to {self.target}"


def planned(seed: int, mpi: str, index: int) -> Trial:
    phase = PHASES[index % len(PHASES)]
    turn = index // len(PHASES)
    faults = _faults(seed, mpi, phase)
    kind, target = faults[turn % len(faults)]
    chance = Random(f"{seed} {mpi} {index}")
    return Trial(
        mpi=mpi,
        seed=seed,
        index=index,
        phase=phase,
        kind=kind,
        target=target,
        detail=_detail(phase, chance),
        offset_s=round(chance.uniform(0, OFFSET_S[phase]), 4),
        pause_s=round(chance.uniform(0, 0.5), 4),
    )


@cache
def _faults(seed: int, mpi: str, phase: str) -> tuple[tuple[str, str], ...]:
    faults = list(_possible(phase))
    Random(f"{seed} {mpi} {phase}").shuffle(faults)
    return tuple(faults)


def _possible(phase: str) -> Iterator[tuple[str, str]]:
    for kind in SIGNALS:
        yield kind, "kiviat"
    for kind in ("INT", "HUP"):  # as a terminal sends them
        yield kind, "group"
    if phase == "build":
        yield from ((kind, "compiler") for kind in ("KILL", "TERM"))
    if phase in ("probe", "launch", "resume", "simulated", "emulated", "slurm", *PROFILERS):
        # All ranks of a simulation are one process, which kiviat starts itself.
        for target in ("rank",) if phase == "simulated" else ("launcher", "rank"):
            yield from ((kind, target) for kind in TO_OTHERS)
    if phase == "slurm":
        yield from ((kind, target) for target in ("job", "script") for kind in TO_OTHERS)
        yield from ((kind, "-") for kind in OF_SLURM)
    for kind in FILES:
        if phase == "slurm" and kind == "read-only":  # each node has mounts of its own
            continue
        if phase not in ("start", "build", *PROFILERS) or kind in ("disk full", "read-only"):
            yield kind, "-"
    for kind in SURROUNDINGS:
        yield kind, "-"
    if phase not in ("build", "slurm", *PROFILERS):
        yield from ((kind, "-") for kind in CLOCKS)
    if phase == "resume":
        yield from (("two resumes", "-"), ("two resumes", "-"))


def _detail(phase: str, chance: Random) -> str:
    if phase in ("launch", "between", "resume"):
        return str(chance.randrange({"launch": 3, "between": 2, "resume": 1}[phase]))
    if phase == "export":
        return chance.choice(OUTPUTS)
    return chance.choice(("run", "report")) if phase == "report" else ""
