"""Common parts of runs of a program on a simulated machine, whether compiled for it or recorded."""

from __future__ import annotations

import sys
from pathlib import Path

from kiviat.cli.options.request import RunRequest, is_given, option_of
from kiviat.launch.run.supervise import LaunchResult
from kiviat.record import InputError

_OF_BENCHMARKS = (
    *("plan", "sizes", "set", "memory", "launches", "interval", "launches_max", "seed"),
    *("budget", "target", "iterations", "warmup", "pallas2", "sync", "watts", "pages"),
    *("groups", "problem_class"),
)


def refuse_benchmarks(request: RunRequest, instead: str) -> None:
    """Raise InputError for options of benchmarks; `instead` names what is run, such as "--replay"."""
    what = request.what
    if what.benchmarks:
        raise InputError(
            f"benchmarks ({what.benchmarks[0]}, …) and {instead} exclude each other; give one of them"
        )
    if request.mpi is not None:
        raise InputError(f"--mpi {request.mpi}: on a simulated machine the MPI is SimGrid's; leave it out")
    given = {name: getattr(what, name) for name in _OF_BENCHMARKS}
    others = {
        "script": request.script,
        "resume": request.resume,
        "lammps": request.lammps,
    }
    for name, value in {**given, **others}.items():
        if is_given(value):
            raise InputError(f"{option_of(name)} is for benchmarks; leave it out with {instead}")


def refuse_options_of_programs(compute: float | None, speed: float | None) -> None:
    """Raise InputError for options that benchmarks do not have."""
    if compute is not None:
        raise InputError(
            "--compute is for programs after --; the machine model determines the compute time of benchmarks"
        )
    if speed is not None:
        raise InputError("--speed is for --replay; leave it out with benchmarks")


def new_folder(path: Path) -> Path:
    """Create and return the folder for the files of the run's only launch."""
    folder = path.absolute() / "launches" / "0"
    folder.mkdir(parents=True)
    return folder


def failed(what: str, path: Path, ended: LaunchResult) -> int:
    """Print why the run failed, and return the exit code."""
    print(f"kiviat: {what}: {ended.reason}; output in {path / 'launches' / '0'}", file=sys.stderr)
    return 1 if ended.signal is None else 128 + ended.signal
