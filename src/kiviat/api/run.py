"""Runs started from Python, by the command `kiviat run` in a process of its own (ADR 12)."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import SupportsIndex

from kiviat.api.arguments import file_name, fraction, settings, whole_numbers, words
from kiviat.api.runs import Runs, named
from kiviat.record import InputError
from kiviat.record.types import Scalar

_PACKAGES = str(Path(__file__).resolve().parents[2])
# The package of this process, wherever it is; it comes after Python's own folders, so that it hides none of
# their modules.
_PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from kiviat.cli.main import main; sys.exit(main())"
_FAILED_CASES = 1


def run(
    plan: str | PathLike[str] | None = None,
    benchmarks: str | Iterable[str] = (),
    *,
    ranks: SupportsIndex | str | Iterable[SupportsIndex] | None = None,
    sizes: str | None = None,
    axes: Mapping[str, Scalar] | None = None,
    launches: int | None = None,
    interval: float | None = None,
    launches_max: int | None = None,
    on: str | None = None,
    mpi: str | None = None,
    per_node: int | None = None,
    place: str | None = None,
    bind: str | None = None,
    output: str | PathLike[str] | None = None,
    options: str | Iterable[str] = (),
    progress: bool = True,
) -> Runs:
    """Measure, as `kiviat run` does, and return the run, or the runs of a plan with several arrangements.

    `plan` is a name or a file, "quick" by default; `benchmarks` restrict it or are run without a plan.
    `ranks` is a number, several, or nodes x ranks ("8x2"); `sizes` are message sizes ("1:64K"); `axes`
    are those that `kiviat list BENCH` describes. With `interval`, a fraction, cases get further launches, at
    most `launches_max`, until their interval over launches is within ± `interval` of the median. `on` is the
    place to run, such as "slurm" or "simulated:altix-bx2". `options` are further options of the command.
    With `progress` standard error shows how far it is.

    Raise InputError with the command's message if it refuses, KeyboardInterrupt if a signal ends it: what is
    finished is kept, and `options=["--resume", …]` goes on. Failed cases do not raise; `Runs.records` has
    their outcome and reason.
    """
    further = words("options", options)
    if "--dry-run" in further:
        raise InputError("a dry run has no results to load; type `kiviat run --dry-run` in a terminal")
    command = ["run", *([] if plan is None else [file_name("plan", plan)]), *words("benchmarks", benchmarks)]
    given = {
        "-n": ranks if ranks is None or isinstance(ranks, str) else _listed(ranks),
        "-m": sizes,
        "--launches": launches,
        "--interval": None if interval is None else 100 * fraction("interval", interval),
        "--launches-max": launches_max,
        "--on": on,
        "--mpi": mpi,
        "--ppn": per_node,
        "--place": place,
        "--bind": bind,
        "-o": None if output is None else file_name("output", output),
    }
    for option, value in given.items():
        command += [] if value is None else [option, str(value)]
    for name, axis in settings("axes", axes or {}).items():
        command += ["--set", f"{name}={str(axis).lower() if isinstance(axis, bool) else axis}"]
    return _started([*command, *further, "--quiet", *(["--progress"] if progress else [])])


def _listed(ranks: SupportsIndex | Iterable[SupportsIndex]) -> str:
    return ",".join(map(str, whole_numbers("ranks", ranks)))


def _started(words: Sequence[str]) -> Runs:
    """Start the command and return the runs whose directories it prints."""
    command = [sys.executable, "-P", "-c", _PROGRAM, _PACKAGES, *words]
    held = ""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape") as printed:
        # In a session of its own, the command does not get Ctrl-C from the terminal; this process forwards it
        # once.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        assert process.stderr
        with process.stderr as lines:
            try:
                for line in lines:  # the last line may be the reason of an error, which is raised instead
                    print(held, end="", file=sys.stderr, flush=True)
                    held = line
                code = process.wait()
            except BaseException as error:
                process.send_signal(signal.SIGINT)
                for line in lines:  # until the end, because the last one says what is kept
                    held = line
                process.wait()
                if isinstance(error, KeyboardInterrupt):
                    raise KeyboardInterrupt(_message(held)) from None
                raise
        printed.seek(0)
        paths = [line for line in printed.read().splitlines() if line]
    if code > 128 or code < 0:
        raise KeyboardInterrupt(_message(held))
    if code > _FAILED_CASES:
        raise InputError(_message(held) or f"kiviat run ended with exit code {code}")
    print(held, end="", file=sys.stderr, flush=True)
    return named((Path(path) for path in paths), stacklevel=4)


def _message(line: str) -> str:
    return line.strip().removeprefix("kiviat: ")
