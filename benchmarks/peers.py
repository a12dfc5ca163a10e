"""OSU and IMB, where a user has built them: finding their programs, running them, reading their tables."""

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


@dataclass(frozen=True)
class Mean:
    """A mean, and how far it may be off because of the digits that were printed."""

    mean_s: float
    rounding_s: float


def find_program(variable: str, name: str, mpi: Mpi) -> Path | str:
    """The program of that name below the folder `variable`, built with `mpi`; or why there is none."""
    folder = os.environ.get(variable)
    if not folder:
        return f"{variable}= not given"
    if not Path(folder).is_dir():
        return f"{variable}={folder} is not a folder"
    for path in _programs(Path(folder), name):
        if linked_mpi(path) == mpi.key:
            return path
    return f"no {name} built with {mpi.name} below {variable}"


@cache
def _programs(folder: Path, name: str) -> tuple[Path, ...]:
    """ELF programs of that name: libtool leaves shell scripts beside the real ones."""
    candidates = (path for path in sorted(folder.rglob(name)) if path.is_file() and os.access(path, os.X_OK))
    return tuple(path.resolve() for path in candidates if path.read_bytes()[:4] == b"\x7fELF")


def osu_means(
    mpi: Mpi, program: Path, benchmark: str, largest: int, iterations: int, warmup: int
) -> dict[int, Mean]:
    """By size: half a round trip, or the time in a collective call averaged over ranks.

    Reductions add floats, as IMB's and ours do; OSU's default is characters.
    """
    words = ["-i", str(iterations), "-x", str(warmup), "-m", f"1:{largest}"]
    words += ["-T", "mpi_float"] if benchmark == "allreduce" else []
    text = mpi.launch([program, *words])
    rows = re.finditer(r"^(\d+)\s+(\d+\.(\d+))\s*$", text, re.MULTILINE)
    return {int(row[1]): Mean(float(row[2]) * 1e-6, 0.5e-6 * 10.0 ** -len(row[3])) for row in rows}


def imb_means(mpi: Mpi, program: Path, benchmark: str, largest: int, iterations: int) -> dict[int, Mean]:
    """By size: half a round trip, or the time in a collective call averaged over ranks.

    IMB warms up with a tenth of the iterations. It prints times to 0.01 µs; the bandwidth beside a
    ping-pong's time has more digits while messages are short.
    """
    sizes = f"0:{largest.bit_length() - 1}"
    words = ["-iter", f"{iterations},1000000", "-iter_policy", "off", "-time", "1000", "-msglog", sizes]
    text = mpi.launch([program, *words, IMB_NAMES[benchmark]])
    means = {}
    for row in map(str.split, text.splitlines()):
        if len(row) < 4 or not row[0].isdigit():
            continue
        size, made, time_us = int(row[0]), int(row[1]), float(row[2] if benchmark == "pingpong" else row[-1])
        if made != iterations:
            raise RuntimeError(f"IMB made {made} iterations of {size} B where {iterations} were asked for")
        means[size] = Mean(time_us * 1e-6, 0.005e-6)
        if benchmark == "pingpong" and size > 0:
            bytes_per_us = float(row[3])
            exact = Mean(size / bytes_per_us * 1e-6, size / bytes_per_us**2 * 0.005e-6)
            means[size] = min(means[size], exact, key=lambda mean: mean.rounding_s)
    return means
