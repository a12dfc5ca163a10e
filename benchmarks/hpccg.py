"""HPCCG compared with the reference program: same MPI, points and ranks, in turns.

The reference is `test_HPCCG` below HPCCG_DIR=, built with MPI and the compiler's highest optimisation for
this processor. It counts 27 nonzeros in every row; the compared rate of Kiviat does so, too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks import resident
from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.mpi import LaunchError, Mpi
from benchmarks.peers import find_program
from benchmarks.setting import Setting

ROW = "hpccg"
RANKS = (1, 2)
POINTS, _FEW_POINTS = 64, 32  # along each side, on each rank
_LEAST = 1.5
_TARGET = f"{_LEAST:g} times at least"


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    reference = find_program("HPCCG_DIR", "test_HPCCG", mpi)
    if isinstance(reference, str):
        yield not_measured(ROW, f"{POINTS}³ points on a rank, {mpi.name}", _TARGET, reference)
        return
    times = setting.times(7, least=2)
    samples: dict[int, list[tuple[float, float]]] = {ranks: [] for ranks in RANKS}
    for _ in setting.progress(range(times), f"{ROW}: {mpi.name}"):
        for ranks, of_ranks in samples.items():
            of_ranks.append((ours(mpi, ranks), theirs(mpi, ranks, reference)))
    for ranks, of_ranks in samples.items():
        yield _compared(mpi, ranks, of_ranks, reference)
    yield _memory(mpi, reference)


def _case(points: int) -> str:
    return f"hpccg hpccg nx={points} ny={points} nz={points}"


def ours(mpi: Mpi, ranks: int, pages: str = "huge") -> float:
    """Return Kiviat's flop/s over all ranks."""
    rate: float = mpi.measure([f"{_case(POINTS)} pages={pages}"], ranks).metric("hpccg", "rate_27")["p50"]
    return rate


def theirs(mpi: Mpi, ranks: int, reference: Path, pages: str = "huge") -> float:
    # the reference writes its output to a file in the working directory
    with tempfile.TemporaryDirectory() as folder:
        said = mpi.launch_peer(_command(reference, POINTS), ranks, folder=Path(folder), pages=pages)
        return rate_of(said)


def repeat(mpi: Mpi, ranks: int, reference: Path, pages: str = "huge") -> str:
    """Return the command of `theirs` for a shell."""
    return mpi.shell(_command(reference, POINTS), ranks, pages=pages)


def _command(reference: Path, points: int) -> list[str | Path]:
    return [reference, *[str(points)] * 3]


def rate_of(text: str) -> float:
    """Return the reference's printed flop/s; raise LaunchError if it printed none."""
    rate = re.search(r"^MFLOPS Summary:.*?^ *Total *: *([\d.Ee+]+) *$", text, re.MULTILINE | re.DOTALL)
    if not rate:
        raise LaunchError("test_HPCCG printed no MFLOPS")
    return 1e6 * float(rate[1])


def _compared(
    mpi: Mpi, ranks: int, samples: Sequence[tuple[float, float]], reference_program: Path
) -> Finding:
    mine, reference = zip(*samples, strict=True)
    ratio = median(mine) / median(reference)
    return Finding(
        ROW,
        f"{POINTS}³ points on a rank, {ranks} rank{'s' * (ranks > 1)}, {mpi.name}",
        f"{ratio:.2f} times the reference "
        f"({median(mine) / 1e6:.4g} and {median(reference) / 1e6:.4g} MFLOPS)",
        _TARGET,
        judged(ratio >= _LEAST),
        data={"ours": mine, "reference": reference},
        repeat=(f"{repeat(mpi, ranks, reference_program)}  # Total of MFLOPS Summary",),
    )


def _memory(mpi: Mpi, reference: Path) -> Finding:
    """Return the memory per row: the largest peak of a rank, minus that of a small problem, divided by the
    difference in rows.
    """
    rows, sizes = POINTS**3 - _FEW_POINTS**3, (POINTS, _FEW_POINTS)
    mine = [resident.peak_of_cases(mpi, [_case(points)], 1) for points in sizes]
    with tempfile.TemporaryDirectory() as folder:
        peer = [resident.peak_bytes(mpi, _command(reference, points), 1, Path(folder)) for points in sizes]
    return Finding(
        ROW,
        f"Memory of a row, 1 rank, {mpi.name}",
        f"{(mine[0] - mine[1]) / rows:.0f} B, the reference {(peer[0] - peer[1]) / rows:.0f} B",
        "",
        Verdict.STATED,
        [f"{resident.HOW}; {POINTS}³ points minus {_FEW_POINTS}³, divided by the difference in rows"],
        {"ours_bytes": mine, "reference_bytes": peer},
        [mpi.shell(_command(reference, POINTS), 1)],
    )
