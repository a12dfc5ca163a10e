"""What runs of one program on a simulated machine have in common, be it built for that or recorded."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from kiviat.launch.run.supervise import LaunchResult
from kiviat.record import InputError

_OF_BENCHMARKS = {
    **{name: name for name in ("plan", "sizes", "memory", "launches", "seed", "budget", "target")},
    **{name: name for name in ("iterations", "warmup", "watts", "resume", "lammps")},
    "multi": "groups",
    "problem_class": "class",
}


def refuse_benchmarks(arguments: Namespace, instead: str) -> None:
    """`instead` is what is run: "--replay", for example."""
    if arguments.benchmarks:
        raise InputError(f"benchmarks ({arguments.benchmarks[0]}, …) and {instead}; give one of both")
    for name, option in _OF_BENCHMARKS.items():
        if getattr(arguments, name) is not None:
            raise InputError(f"--{option} is for benchmarks; leave it out with {instead}")


def refuse_options_of_programs(arguments: Namespace) -> None:
    """Where benchmarks are what runs."""
    if getattr(arguments, "compute", None) is not None:
        raise InputError(
            "--compute is for programs after --: how long a benchmark computes the machine's model says"
        )
    if getattr(arguments, "speed", None) is not None:
        raise InputError("--speed is for --replay; leave it out with benchmarks")


def new_folder(path: Path) -> Path:
    """Where the only launch of the run in `path` leaves its files."""
    folder = path.absolute() / "launches" / "0"
    folder.mkdir(parents=True)
    return folder


def failed(what: str, path: Path, ended: LaunchResult) -> int:
    """Says why, and gives the exit code."""
    print(f"kiviat: {what}: {ended.reason}; output in {path / 'launches' / '0'}", file=sys.stderr)
    return 1 if ended.signal is None else 128 + ended.signal
