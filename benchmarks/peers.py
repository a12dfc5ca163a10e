"""Finds programs that the user built; runs those of OSU and IMB, and parses their output."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.mpi import Mpi, linked_mpi

OSU_PROGRAMS = {"pingpong": "osu_latency", "allreduce": "osu_allreduce", "alltoall": "osu_alltoall"}
IMB_PROGRAM = "IMB-MPI1"
IMB_NAMES = {"pingpong": "PingPong", "allreduce": "Allreduce", "alltoall": "Alltoall"}
IMB_SET = (
    *("PingPong", "PingPing", "Sendrecv", "Exchange", "Bcast", "Allgather", "Allgatherv"),
    *("Alltoall", "Alltoallv", "Reduce", "Reduce_scatter", "Allreduce", "Barrier"),
)
_VERSIONS = rb"MPI Benchmarks (20\d\d[\w.]*)|OSU MPI[^\n]* v(\d[\w.]*)"


@dataclass(frozen=True)
class Mean:
    """A mean, and its uncertainty due to the number of printed digits."""

    mean_s: float
    rounding_s: float


def find_program(variable: str, name: str, mpi: Mpi | None = None) -> Path | str:
    """Return the program of that name below the folder in `variable`, built with `mpi` if one is given; or
    the reason why it cannot be used.
    """
    folder = os.environ.get(variable)
    if not folder:
        return f"{variable}= not given"
    if not Path(folder).is_dir():
        return f"{variable}={folder} is not a folder"
    for path in _programs(Path(folder), name):
        if mpi is None or linked_mpi(path) == mpi.key:
            return path
    return f"no {name}{f' built with {mpi.name}' if mpi else ''} below {variable}"


def version(program: Path) -> str:
    """Return the version that a program of OSU or IMB contains, "unknown" if it has none."""
    match = re.search(_VERSIONS, program.read_bytes())
    return next(filter(None, match.groups())).decode() if match else "unknown"


@cache
def _programs(folder: Path, name: str) -> tuple[Path, ...]:
    """Return ELF programs of that name, because libtool creates shell scripts with the names of programs."""
    candidates = (path for path in sorted(folder.rglob(name)) if path.is_file() and os.access(path, os.X_OK))
    return tuple(path.resolve() for path in candidates if path.read_bytes()[:4] == b"\x7fELF")


def osu_command(program: Path, benchmark: str, size: int, iterations: int, warmup: int) -> list[str | Path]:
    words = ["-i", str(iterations), "-x", str(warmup), "-m", f"{size}:{size}"]
    return [program, *words, *(["-T", "mpi_float"] if benchmark == "allreduce" else [])]


def imb_command(program: Path, benchmark: str, size: int, iterations: int) -> list[str | Path]:
    step = size.bit_length() - 1
    words = ["-iter", f"{iterations},1000000", "-iter_policy", "off", "-time", "1000"]
    return [program, *words, "-msglog", f"{step}:{step}", IMB_NAMES[benchmark]]


def osu_mean(mpi: Mpi, program: Path, benchmark: str, size: int, iterations: int, warmup: int) -> Mean:
    """Return half of the round-trip time, or the mean time of a rank in a collective call.

    Reductions add floats, as in IMB and Kiviat; OSU's default is characters.
    """
    text = mpi.launch(osu_command(program, benchmark, size, iterations, warmup))
    row = re.search(rf"^{size}\s+(\d+\.(\d+))\s*$", text, re.MULTILINE)
    if not row:
        raise RuntimeError(f"{program.name} printed no line for {size} B")
    return Mean(float(row[1]) * 1e-6, 0.5e-6 * 10.0 ** -len(row[2]))


def imb_mean(mpi: Mpi, program: Path, benchmark: str, size: int, iterations: int) -> Mean:
    """Return half of the round-trip time, or the mean time of a rank in a collective call.

    IMB's warm-up is a tenth of the iterations. It prints times to 0.01 µs; for short ping-pong messages, the
    time is computed from the bandwidth, which has more digits.
    """
    text = mpi.launch(imb_command(program, benchmark, size, iterations))
    row = next(
        (row for row in map(str.split, text.splitlines()) if len(row) >= 4 and row[0] == str(size)), None
    )
    if not row:
        raise RuntimeError(f"IMB printed no line for {size} B")
    if int(row[1]) != iterations:
        raise RuntimeError(f"IMB made {row[1]} iterations of {size} B where {iterations} were asked for")
    time_us = float(row[2] if benchmark == "pingpong" else row[-1])
    printed = Mean(time_us * 1e-6, 0.005e-6)
    if benchmark != "pingpong":
        return printed
    bytes_per_us = float(row[3])
    exact = Mean(size / bytes_per_us * 1e-6, size / bytes_per_us**2 * 0.005e-6)
    return min(printed, exact, key=lambda mean: mean.rounding_s)
