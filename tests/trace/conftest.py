"""Fixtures: test programs, recorded as a user would, and replayed on a small machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.emulated.yield_library import library
from kiviat.launch.mpi.build import REPLAYER, build
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.record import InputError
from kiviat.trace import Trace, unpack
from kiviat.trace.octets import numbers_of

PROGRAMS = Path(__file__).with_name("programs")
SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RANKS = 8


def kiviat(folder: Path, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **ROOT, "KIVIAT_RUNS": str(folder / "runs"), **variables}
    command = [sys.executable, "-m", "kiviat.cli.main", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session", autouse=True)
def replayer() -> Path:
    """Build the replayer beforehand, so that no test includes the build's output."""
    try:
        return build(find_toolchain(SIMULATOR), product=REPLAYER)
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("recorded")

    def program(toolchain: Toolchain, source: str, *options: str) -> Path:
        target = folder / "-".join([Path(source).stem, toolchain.family, *options]).replace("/", "_")
        if not target.exists():
            compiler = "mpicc" if source.endswith(".c") else "mpif90"
            wrapper = toolchain.mpicxx.with_name(toolchain.mpicxx.name.replace("mpicxx", compiler))
            subprocess.run([wrapper, "-w", PROGRAMS / source, *options, "-o", target], check=True, cwd=folder)
        return target

    return program


@dataclass(frozen=True)
class Recorded:
    """Result of recording a program; `path` is the trace, if one was written."""

    status: int
    out: str
    err: str
    path: Path


Record = Callable[..., Recorded]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    def recorded(toolchain: Toolchain, program: Path, *names: str, ranks: int = RANKS) -> Recorded:
        output = tmp_path / f"{'-'.join(names) or 'nothing'}.trace"
        many = ["--oversubscribe"] if toolchain.family == "openmpi" else []
        command: list[str | Path] = [toolchain.mpiexec, *many, "-n", str(ranks), program, *names]
        # Preload another library, so that MPICH's ranks yield; otherwise they spin when there are more ranks
        # than cores.
        library_path = library(toolchain)
        patient = {"LD_PRELOAD": str(library_path), "KIVIAT_UCX_YIELD": "1"} if library_path else {}
        words = "trace", "-o", output, "--", *command
        try:
            done = kiviat(tmp_path, *words, **patient)
        except subprocess.TimeoutExpired as hung:
            # Open MPI 4.1's mpiexec may never end if it has no room for the message of an MPI_Abort.
            if b"ORTE_ERROR_LOG: Out of resource" not in (hung.stderr or b""):
                raise
            done = kiviat(tmp_path, *words, **patient)
        return Recorded(done.returncode, done.stdout, done.stderr, output)

    return recorded


def replayed(folder: Path, trace: Path, *words: str) -> dict[str, float]:
    """Replay a trace on the small machine and return the metrics; fail if the replay fails."""
    done = kiviat(folder, "run", "--on", f"simulated:{SMALL}", "--replay", trace, *words)
    assert done.returncode == 0, done.stderr
    return metrics(folder)


def records(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the latest run."""
    kept = max((folder / "runs").glob("*/records.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(line) for line in kept.read_text().splitlines()]


def metrics(folder: Path) -> dict[str, float]:
    (one,) = records(folder)
    return {metric["name"]: metric["mean"] for metric in one["metrics"]}


def events(trace: Trace, rank: int, folder: Path) -> list[tuple[str, list[int]]]:
    """Return operation and parameters of each event of a rank that only sends, receives and completes."""
    unpack(trace, folder)
    numbers = [int(number) for number in numbers_of((folder / f"{rank}.stream").read_bytes())]
    names = json.loads(trace.path.open("rb").readline())["operations"]
    parameters = {"send": 5, "isend": 6, "recv": 5, "irecv": 6, "probe": 3, "free_request": 1, "thread": 2}
    found = []
    at = 0
    while at < len(numbers):
        name = names[numbers[at + 1]]
        count = 1 + numbers[at + 2] if name == "wait" else 0 if name == "end" else parameters[name]
        found.append((name, numbers[at + 2 : at + 2 + count]))
        at += 2 + count
    return found


def receipts(trace: Trace, rank: int, folder: Path) -> list[tuple[str, int, int]]:
    """Return operation, source and tag of each receive and probe of a rank; -2 for a wildcard."""
    found = []
    for name, numbers in events(trace, rank, folder):
        if name in ("recv", "irecv", "probe"):
            source, tag = ((value >> 1) ^ -(value & 1) for value in numbers[1:3])
            found.append((name, source, tag))
    return found
