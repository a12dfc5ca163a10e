"""A `kiviat` process started by a trial, and its outcome."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import world

LOGS = world.HOME / "logs"
REPORT = world.OUT / "report.html"
POLL_S = 0.002
LIMIT_S = 120.0
_KEPT_CHARACTERS = 1500


# The substrate of the runs, by phase; in all other phases it is this machine.
WHERE = {"simulated": "simulated:cray-opteron", "emulated": "emulated:2x1", "slurm": "slurm"}


def measuring(mpi: str, phase: str = "launch") -> list[str]:
    """Return the arguments of a run of three launches with six cases of 0.1 s, on the machine that belongs to
    the phase. A time budget is used, because a fixed number of iterations could take minutes on busy cores.
    Simulated cases take no time: there are more of them, each once.
    """
    report = ["--report", str(REPORT)]
    if phase == "simulated":
        what = "pingpong allreduce bcast -n 2,4,8 -m 0:64K"
        return ["run", "--on", WHERE[phase], *what.split(), *report]
    what = "pingpong allreduce -n 2 -m 8,1K,64K --launches 3 --budget 0.1 --target 0.1"
    on = ["--on", WHERE[phase]] if phase in WHERE else []
    return ["run", "--mpi", mpi, *on, *what.split(), *report]


def resuming(mpi: str, folder: Path, phase: str = "launch") -> list[str]:
    family = [] if phase == "simulated" else ["--mpi", mpi]
    return ["run", *family, "--resume", str(folder), "--report", str(REPORT)]


def profiling(phase: str, mpiexec: str, program: str, target: Path) -> list[str]:
    """Return the arguments that profile or trace a program of about a second."""
    what = "-n 2 {} pingpong allreduce -m 8,1024,65536 --budget 0.2 --target 0.1"
    return [phase, "-o", str(target), "--", mpiexec, *what.format(program).split()]


@dataclass
class Command:
    """A running or finished `kiviat` process with its output."""

    words: list[str]
    piped: bool = False
    more: dict[str, str] = field(default_factory=dict)
    prefix: Sequence[str] = ()

    def __post_init__(self) -> None:
        log = LOGS / str(len(list(LOGS.iterdir())))
        log.mkdir()
        self._files = [log / "stdout", log / "stderr"]
        self.reader: int | None = None
        self.hung = False
        with self._files[0].open("wb") as stdout, self._files[1].open("wb") as stderr:
            if self.piped:
                self.reader, writer = os.pipe()
                self.process = world.kiviat(self.words, writer, stderr, self.prefix, **self.more)
                os.close(writer)
            else:
                self.process = world.kiviat(self.words, stdout, stderr, self.prefix, **self.more)

    def close_reader(self) -> None:
        if self.reader is not None:
            os.close(self.reader)
            self.reader = None

    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> None:
        """Wait for the process, and kill it if it exceeds the time limit."""
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.hung = True
            self.process.kill()
            self.process.wait()

    @property
    def code(self) -> int:
        """The exit code as a shell reports it (128 + N for signal N)."""
        code = self.process.returncode
        return 128 - code if code < 0 else code

    def output(self) -> str:
        return self._files[0].read_text(errors="replace")

    def errors(self) -> str:
        return self._files[1].read_text(errors="replace")

    def said(self) -> str:
        """Return the error messages that the user saw, without progress lines."""
        lines = [line for line in re.split(r"[\n\r]", self.errors()) if not line.startswith("launch ")]
        told = "\n".join(lines)
        return told + self.output() if self.code == 1 else told

    def evidence(self) -> dict[str, Any]:
        kept = {"stdout": self.output()[-_KEPT_CHARACTERS:], "stderr": self.errors()[-_KEPT_CHARACTERS:]}
        return {"words": " ".join(self.words), "code": self.code, **kept}


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return met
