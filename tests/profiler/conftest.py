"""Fixtures: programs compiled once for each MPI, and `kiviat profile` as a user calls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kiviat.launch.emulated.yield_library import library
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.profile import Profile, read_profile

PROGRAMS = Path(__file__).with_name("programs")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
Compiled = Callable[..., Path]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Return a function that compiles a source with a wrapper (mpicc, mpif90, …) of an MPI.

    Options may be further sources.
    """
    folder = tmp_path_factory.mktemp("programs")

    def program(toolchain: Toolchain, source: str, *options: str) -> Path:
        compiler = "mpicc" if source.endswith(".c") else "mpif90"
        names = (Path(option).name for option in options)
        built = folder / "-".join([source, toolchain.family, *names])
        if not built.exists():
            wrapper = toolchain.mpicxx.with_name(toolchain.mpicxx.name.replace("mpicxx", compiler))
            words: list[str | Path] = [wrapper, "-w", PROGRAMS / source, *options, "-o", built]
            subprocess.run(words, check=True, cwd=folder)
        return built

    return program


@dataclass(frozen=True)
class Done:
    """Result of `kiviat profile`; reading `profile` fails if no file was written."""

    status: int
    out: str
    err: str
    path: Path

    @property
    def profile(self) -> Profile:
        return read_profile(self.path)

    def calls(self, name: str, rank: int | None = None, phase: int | None = None) -> int:
        """Return the number of calls of MPI_`name`, by all ranks or one."""
        lines = self.profile.calls
        chosen = lines.name == f"MPI_{name}"
        chosen &= (lines.rank == rank) | (rank is None)
        chosen &= (lines.phase == phase) | (phase is None)
        return int(lines.calls[chosen].sum())

    def bytes(self, name: str, rank: int | None = None) -> int:
        lines = self.profile.calls
        chosen = (lines.name == f"MPI_{name}") & ((lines.rank == rank) | (rank is None))
        return int(lines.bytes[chosen].sum())


def _yield_library(launcher: str) -> dict[str, str]:
    """Return variables that preload another library, so that MPICH's ranks yield; otherwise they spin when
    there are more ranks than cores.
    """
    if not launcher.endswith("mpich"):
        return {}
    return {"LD_PRELOAD": str(library(find_toolchain("mpich"))), "KIVIAT_UCX_YIELD": "1"}


Profiled = Callable[..., Done]


@pytest.fixture
def profiled(tmp_path: Path) -> Profiled:
    def run(toolchain: Toolchain, ranks: int, *words: str | Path, asks: Sequence[str] = ()) -> Done:
        many = ["--oversubscribe"] if toolchain.family == "openmpi" else []
        return kiviat_profile(tmp_path, toolchain.mpiexec, *many, "-n", str(ranks), *words, asks=asks)

    return run


def kiviat_profile(
    folder: Path, *words: str | Path, mpi: str | None = None, asks: Sequence[str] = ()
) -> Done:
    """Run `kiviat profile`. `mpi` names the MPI of programs that load theirs at run time; `asks` are options
    of the command.
    """
    output = folder / "out.profile"
    named = ["--mpi", mpi] if mpi else []
    command = [sys.executable, "-m", "kiviat.cli.main", "profile", *named, *asks, "-o", output, "--", *words]
    process = subprocess.Popen(
        command,
        env={**os.environ, **ROOT, **({} if mpi else _yield_library(str(words[0])))},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, error = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # kills launcher and ranks, which would spin for ever
        raise
    return Done(process.returncode, out, error, output)
