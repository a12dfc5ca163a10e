"""The transform over all ranks compared with FFTW's MPI transform: same length, ranks and order, in turns.

Both plan by measuring, outside the times, and use the serial FFTW of this machine within a rank. FFTW
transforms in place and into another array; the faster of these counts.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, judged, not_measured
from benchmarks.mpi import LaunchError, Mpi, linked_mpi
from benchmarks.setting import Setting

ROW = "fft"
RANKS = (1, 2)
_SOURCE = Path(__file__).with_name("fftw_mpi.cpp")
_LENGTH, _SHORT_LENGTH, _RUNS = 1 << 24, 1 << 18, 5
_WAYS = ("in place", "into another array")
_LEAST = 1.0
_TARGET = f"{_LEAST:g} times at least"
_MOST_ERROR = 1e-12
_OPTIONS = ("-march=native", "-lfftw3_mpi", "-lfftw3", "-lm")


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    length = _SHORT_LENGTH if setting.brief else _LENGTH
    program = _program(mpi)
    if isinstance(program, str):
        yield not_measured(ROW, f"{length} points, {mpi.name}", _TARGET, program)
        return
    ours: dict[int, list[float]] = {ranks: [] for ranks in RANKS}
    theirs = {ranks: {way: list[float]() for way in _WAYS} for ranks in RANKS}
    with tempfile.TemporaryDirectory() as folder:  # keeps the plans, which FFTW takes a minute to find
        for _ in setting.progress(range(setting.times(3, least=1)), f"{ROW}: {mpi.name}"):
            for ranks in RANKS:
                ours[ranks].append(_ours(mpi, ranks, length))
                for way, rates in theirs[ranks].items():
                    wisdom = Path(folder, f"{way} {ranks}")
                    rates.append(_theirs(mpi, _command(program, length, wisdom, way), ranks, length))
    for ranks in RANKS:
        yield _compared(mpi, program, ranks, length, ours[ranks], theirs[ranks])


def _compared(
    mpi: Mpi,
    program: Path,
    ranks: int,
    length: int,
    ours: Sequence[float],
    theirs: Mapping[str, Sequence[float]],
) -> Finding:
    way, fastest = max(theirs.items(), key=lambda of_way: median(of_way[1]))
    ratio = median(ours) / median(fastest)
    others = (f"{median(rates) / 1e9:.3g} {other}" for other, rates in theirs.items() if other != way)
    return Finding(
        ROW,
        f"{length} points, {ranks} rank{'s' * (ranks > 1)}, {mpi.name}",
        f"{ratio:.2f} times FFTW's MPI {way} "
        f"({median(ours) / 1e9:.3g} and {median(fastest) / 1e9:.3g} Gflop/s)",
        _TARGET,
        judged(ratio >= _LEAST),
        [
            f"medians of launches, of each the median of up to {_RUNS} transforms; huge pages for both",
            f"FFTW's MPI, Gflop/s: {', '.join(others)}",
        ],
        {"ours": ours, "fftw": fastest},
        [
            mpi.compiled(_SOURCE, *_OPTIONS),
            mpi.shell(_command(program, length, Path("/fftw.wisdom"), way), ranks, pages="huge"),
            f"# 5 n log2 n, divided by the median of the {_RUNS} lines of seconds; planning takes a minute",
            "# in place: with the last word in-place",
        ],
    )


def _command(program: Path, length: int, wisdom: Path, way: str) -> list[str | Path]:
    return [program, str(length), str(_RUNS), wisdom, *(["in-place"] if way == "in place" else [])]


def _program(mpi: Mpi) -> Path | str:
    """Return the program, or the reason why FFTW's library cannot be used with this MPI."""
    try:
        program = mpi.compile(_SOURCE, *_OPTIONS)
    except subprocess.CalledProcessError:
        return "fftw_mpi.cpp does not compile: apt install libfftw3-dev libfftw3-mpi-dev"
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    library = re.search(r"libfftw3_mpi\S* => (\S+)", said)
    if library and linked_mpi(Path(library[1])) not in (None, mpi.key):
        return f"{library[1]} is not linked with {mpi.name}"
    return program


def _ours(mpi: Mpi, ranks: int, length: int) -> float:
    rate: float = mpi.measure([f"fft fft n={length}"], ranks).metric("fft", "rate")["p50"]
    return rate


def _theirs(mpi: Mpi, command: list[str | Path], ranks: int, length: int) -> float:
    """Return the rate in flop/s, 5 n log2 n operations a transform, as HPC Challenge counts them."""
    *runs, error = mpi.launch_peer(command, ranks).split("\n")[: _RUNS + 1]
    if float(error.split()[1]) > _MOST_ERROR:
        raise LaunchError(f"FFTW's MPI transform of {length} points forth and back: {error}")
    return 5 * length * log2(length) / median(map(float, runs))
