"""HPC Challenge kernels compared with the reference, `hpcc`: same BLAS, MPI, sizes and ranks, in turns.

`hpcc` is the one below HPCC_DIR= that is built with the MPI, or else the one on PATH. It gets the block size
and grid that serve its HPL best, found before anything is measured, and for PTRANS the best of all block
sizes; Kiviat's kernels choose theirs automatically. Both get huge pages; the row `pages` measures their
effect.

`python -m benchmarks.hpcc ORDER BLOCK ROWSxCOLUMNS` prints hpcc's input with these parameters.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, judged, not_measured
from benchmarks.memory import PEAK
from benchmarks.mpi import Events, LaunchError, Mpi, linked_mpi
from benchmarks.peers import find_program
from benchmarks.setting import Setting
from kiviat.ingest.formats.hpcc import parse
from kiviat.machine.host.processor import caches
from kiviat.record import Record

ROW = "hpcc"
RANKS = 2
_BRIEF_ORDER, _ORDER, _MOST_ORDER, _LARGE_ORDER = 2000, 8000, 12_000, 20_000
_DGEMM_SHARE, _MEMORY_SHARE = 0.85, 0.05
_MEMORY_BYTES = 512 << 20
_BLOCKS = (64, 96, 128, 192, 256)
_GRIDS = ((1, 2), (2, 1))
_TIMEOUT_S = 1800.0
# One thread per rank, the default of Kiviat's kernels.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Figure:
    """One comparison: case, axis that gives both the same size, and target ratio.

    `scope` is None if it is the default of Kiviat's benchmark. `statistic` is what both programs report of
    one launch. `unit` is that of 10^9 in the metric's unit. `line`: hpcc's name for its figure in
    hpccoutf.txt.
    """

    title: str
    benchmark: str
    metric: str
    size: str
    target: float
    statistic: str
    unit: str
    line: str
    scope: str | None = None

    @property
    def case(self) -> str:
        return self.benchmark if self.scope is None else f"{self.benchmark}_{self.scope}"

    def of(self, records: Sequence[Record]) -> Record:
        """Return hpcc's record. Raise LaunchError if it did not run or its check failed."""
        for record in records:
            if (record.benchmark, record.axes.get("scope")) == (self.benchmark, self.scope):
                if record.outcome != "ok":
                    raise LaunchError(f"hpcc, {self.title}: {record.reason}")
                return record
        raise LaunchError(f"hpcc did not run {self.title}")

    def theirs(self, records: Sequence[Record]) -> float:
        found = self.of(records).metric(self.metric)
        assert found is not None and found.mean is not None
        return found.mean

    def ours(self, events: Events) -> float:
        """Return the same statistic of a launch of Kiviat: the first run if hpcc makes one."""
        samples: list[float] = events.metric(self.case, self.metric)["samples"]
        return samples[0] if self.statistic.startswith("one run") else median(samples)

    def words(self, records: Sequence[Record]) -> str:
        """Return Kiviat's case of the same size, in the form of cases.txt."""
        size = int(self.of(records).axes[self.size])
        if self.benchmark == "random_access":
            size *= 2  # for the whole table, which takes half of the memory
        scope = "" if self.scope is None else f" scope={self.scope}"
        return f"{self.benchmark}{scope} {self.size}={size}"


_MEAN = "one run; mean of ranks"
_BEST_MEAN = "best of ten; mean of ranks"
_WORST = "worst of five; of hpcc, that of its best block size"
FIGURES = (
    Figure("HPL", "hpl", "rate", "n", 1.05, "one run", "Gflop/s", "HPL_Tflops"),
    Figure("DGEMM, every rank", "dgemm", "rate", "n", 1.0, _MEAN, "Gflop/s of a rank", "StarDGEMM_Gflops"),
    Figure(
        "DGEMM, one rank", "dgemm", "rate", "n", 1.0, "one run", "Gflop/s", "SingleDGEMM_Gflops", "single"
    ),
    Figure(
        "STREAM triad, every rank",
        *("stream", "triad", "memory", 1.0, _BEST_MEAN, "GB/s of a rank", "StarSTREAM_Triad"),
    ),
    Figure(
        "STREAM triad, one rank",
        *("stream", "triad", "memory", 1.0, "best of ten", "GB/s", "SingleSTREAM_Triad", "single"),
    ),
    Figure("PTRANS", "ptrans", "rate", "n", 1.5, _WORST, "GB/s", "PTRANS_GBs"),
    Figure(
        "RandomAccess, all ranks",
        *("random_access", "updates", "memory", 1.5, "one run", "GUP/s", "MPIRandomAccess_GUPs"),
    ),
    Figure("FFT, all ranks", "fft", "rate", "n", 3.0, "one run", "Gflop/s", "MPIFFT_Gflops"),
)


@dataclass(frozen=True)
class Tuning:
    """Parameters with which hpcc's HPL is fastest here."""

    block: int
    rows: int
    columns: int
    core: str | None

    def output(self, mpi: Mpi, program: Path, order: int, pages: str = "huge") -> str:
        """Return hpcc's output with these parameters."""
        grid = (self.rows, self.columns)
        return output_of(mpi, program, order, [self.block], [grid], self.core, pages)

    def repeat(self, mpi: Mpi, program: Path, order: int, pages: str = "huge") -> tuple[str, ...]:
        """Return the commands that do the same by hand."""
        words = f".venv/bin/python -m benchmarks.hpcc {order} {self.block} {self.rows}x{self.columns}"
        return (
            f"{words} > hpccinf.txt && rm -f hpccoutf.txt",
            mpi.shell([program], RANKS, _variables(self.core), pages),
        )


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    program = peer(mpi)
    if isinstance(program, str):
        yield not_measured(ROW, f"beside hpcc, {mpi.name}", "", program)
    else:
        yield from _beside(mpi, program, setting)
    yield _large(mpi, setting)
    yield _memory(mpi, setting)


def peer(mpi: Mpi) -> Path | str:
    """Return the program built with this MPI, or the reason why it cannot be found."""
    built = find_program("HPCC_DIR", "hpcc", mpi)
    if isinstance(built, Path):
        return built
    installed = shutil.which("hpcc")
    if installed and linked_mpi(Path(installed)) == mpi.key:
        return Path(installed).resolve()
    return f"{built}, and none on PATH"


def _beside(mpi: Mpi, program: Path, setting: Setting) -> Iterator[Finding]:
    cache, order = last_level_cache(), order_in(setting)
    blas = blas_of(mpi)
    tuning = tuned(mpi, program, order, core_of(blas))
    ours: dict[Figure, list[float]] = {figure: [] for figure in FIGURES}
    theirs: dict[Figure, list[float]] = {figure: [] for figure in FIGURES}
    cases: dict[Figure, str] = {}
    records: Sequence[Record] = ()
    text = ""
    for _ in setting.progress(range(setting.times(5, least=1)), f"{ROW}: {mpi.name}"):
        text = tuning.output(mpi, program, order)
        records = parse(text, "hpccoutf.txt")
        cases = {figure: figure.words(records) for figure in FIGURES}
        events = mpi.measure([f"{figure.case} {case}" for figure, case in cases.items()], RANKS, _TIMEOUT_S)
        for figure in FIGURES:
            theirs[figure].append(figure.theirs(records))
            ours[figure].append(figure.ours(events))
    repeat = tuning.repeat(mpi, program, order)
    for figure in FIGURES:
        mine, peer = median(ours[figure]), median(theirs[figure])
        ratio = mine / peer
        yield Finding(
            ROW,
            f"{_title(figure, records, cache)}, {RANKS} ranks, {mpi.name}",
            f"{ratio:.2f} times hpcc ({mine / 1e9:.4g} and {peer / 1e9:.4g} {figure.unit})",
            f"{figure.target:g} times at least",
            judged(ratio >= figure.target),
            detail=(
                f"{cases[figure]}; huge pages for both; Kiviat's BLAS: {blas}",
                f"of each launch: {figure.statistic}; of the launches: the median",
            ),
            data={"ours": ours[figure], "hpcc": theirs[figure]},
            repeat=(*repeat, f"# {figure.line} in hpccoutf.txt of hpcc {version_of(text)}"),
        )
        repeat = ()  # one run has all figures


def order_in(setting: Setting) -> int:
    """Return the order of HPL, from which hpcc derives the arrays of STREAM: a third of its memory each.

    They should be four times the last-level cache; on processors with large caches HPL would take too long.
    """
    if setting.brief:
        return _BRIEF_ORDER
    needed = math.ceil(math.sqrt(4 * last_level_cache() * 3 * RANKS / 8) / 128) * 128
    return max(_ORDER, needed) if needed <= _MOST_ORDER else _ORDER


def last_level_cache() -> int:
    """Return the bytes of the largest cache, 0 if unknown."""
    return max((cache["bytes"] for cache in caches(Path("/"))), default=0)


def _title(figure: Figure, records: Sequence[Record], cache: int) -> str:
    """Return the title, with a remark if STREAM's arrays fit into the cache."""
    if figure.benchmark == "stream" and int(figure.of(records).axes["memory"]) / 3 < 4 * cache:
        return figure.title.replace("STREAM triad", "STREAM triad in cache, not memory")
    return figure.title


def blas_of(mpi: Mpi) -> str:
    """Return the BLAS that Kiviat uses, as it describes it."""
    notes = mpi.measure(["dgemm dgemm scope=single n=64"], RANKS).results["dgemm"]["notes"]
    return str(notes.get("blas", "an unknown BLAS"))


def core_of(blas: str) -> str | None:
    """Return the processor type that Kiviat requests of OpenBLAS, whose old releases lack new ones."""
    known = re.search(r"OpenBLAS [^,]*\((\w+)\)", blas)
    return known[1] if known else None


def version_of(text: str) -> str:
    """Return the version that hpcc's output names."""
    found = re.search(r"^VersionMajor=(\d+)\s+VersionMinor=(\d+)\s+VersionMicro=(\d+)", text, re.MULTILINE)
    return ".".join(found.groups()) if found else "of unknown version"


def _variables(core: str | None) -> dict[str, str]:
    return _ONE_THREAD | ({"OPENBLAS_CORETYPE": core} if core else {})


def tuned(mpi: Mpi, program: Path, order: int, core: str | None) -> Tuning:
    """Return the parameters with the best rate of HPL, after one run with each block size and grid."""
    text = output_of(mpi, program, order, _BLOCKS, _GRIDS, core)
    rates = {
        (int(row[1]), int(row[2]), int(row[3])): float(row[4])
        for row in re.finditer(
            r"^W[RC]\w+\s+\d+\s+(\d+)\s+(\d+)\s+(\d+)\s+\S+\s+(\S+)\s*$", text, re.MULTILINE
        )
    }
    if not rates:
        raise LaunchError("hpcc printed no rate of HPL")
    return Tuning(*max(rates, key=lambda key: rates[key]), core)


def output_of(
    mpi: Mpi,
    program: Path,
    order: int,
    blocks: Sequence[int],
    grids: Sequence[tuple[int, int]],
    core: str | None,
    pages: str = "huge",
) -> str:
    """Return hpcc's output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hpccinf.txt").write_text(input_of(order, blocks, grids), encoding="ascii")
        mpi.launch_peer([program], RANKS, _TIMEOUT_S, folder, _variables(core), pages)
        return (folder / "hpccoutf.txt").read_text(encoding="utf-8")


def input_of(order: int, blocks: Sequence[int], grids: Sequence[tuple[int, int]]) -> str:
    """Return hpccinf.txt. hpcc reads the numbers by line; the words are comments."""
    lines = [
        "HPC Challenge",
        "beside kiviat",
        "HPL.out  unused",
        "8  to a file",
        "1  order:",
        f"{order}",
        f"{len(blocks)}  block sizes:",
        _listed(blocks),
        "0  ranks are row-major in the grid",
        f"{len(grids)}  grids, rows and columns:",
        _listed(rows for rows, _ in grids),
        _listed(columns for _, columns in grids),
        "16.0  threshold of the residual",
        *("1  panels:", "2  right-looking"),
        *("1  narrowest panel of the recursion:", "4"),
        *("1  parts in the recursion:", "2"),
        *("1  recursion:", "1  Crout"),
        *("1  broadcast:", "1  ring, modified"),
        *("1  look-ahead:", "1"),
        *("2  swaps: mixed, by width", "64"),
        "0  L transposed",
        "0  U transposed",
        "1  equilibration",
        "8  doubles of alignment",
        "line 32 separates",
        "0  further orders for PTRANS",
        "0",
        f"{len(_BLOCKS)}  further block sizes for PTRANS:",
        _listed(_BLOCKS),
    ]
    return "\n".join(lines) + "\n"


def _listed(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _large(mpi: Mpi, setting: Setting) -> Finding:
    """Compare HPL's share of DGEMM, which shows what panels and messages cost."""
    order = 4000 if setting.brief else _LARGE_ORDER
    cases = [f"hpl hpl n={order}", "dgemm dgemm scope=star n=4000"]
    rates: dict[str, list[float]] = {"hpl": [], "dgemm": []}
    events: Events
    for _ in setting.progress(range(setting.times(3, least=1)), f"{ROW}: order {order}, {mpi.name}"):
        events = mpi.measure(cases, RANKS, _TIMEOUT_S)
        for name, measured in rates.items():
            measured.append(events.metric(name, "rate")["p50"])
    share = median(rates["hpl"]) / (RANKS * median(rates["dgemm"]))
    return Finding(
        ROW,
        f"HPL of order {order}, {RANKS} ranks, {mpi.name}",
        f"{share:.1%} of DGEMM ({median(rates['hpl']) / 1e9:.4g} Gflop/s)",
        f"{_DGEMM_SHARE:.0%} at least",
        judged(share >= _DGEMM_SHARE),
        data=rates,
    )


def _memory(mpi: Mpi, setting: Setting) -> Finding:
    """Compare the peak memory of ranks in HPL with that of a tiny problem."""
    asked = _MEMORY_BYTES // 8 if setting.brief else _MEMORY_BYTES
    peaks = [_peak_bytes(mpi, f"hpl hpl memory={size}") for size in (1 << 20, asked)]
    used = (peaks[1] - peaks[0]) / asked
    return Finding(
        ROW,
        f"Memory of HPL with memory={asked}, {mpi.name}",
        f"{used:.1%} of what was asked for",
        f"within {_MEMORY_SHARE:.0%}",
        judged(abs(used - 1) <= _MEMORY_SHARE),
        data={"peaks_bytes": peaks},
    )


def _peak_bytes(mpi: Mpi, case: str) -> float:
    """Return the peak of the rank that uses most."""
    with tempfile.TemporaryDirectory() as folder:
        asked, told, peaks = (Path(folder) / name for name in ("cases.txt", "events.jsonl", "peaks"))
        peaks.mkdir()
        asked.write_text(f"{case}\n", encoding="utf-8")
        program: list[str | Path] = [
            sys.executable,
            PEAK,
            peaks,
            mpi.program,
            "--cases",
            asked,
            "--out",
            told,
        ]
        mpi.launch(program, RANKS, _TIMEOUT_S)
        return max(float(path.read_text()) for path in peaks.iterdir())


def _main(order: str, block: str, grid: str) -> None:
    rows, columns = map(int, grid.split("x"))
    print(input_of(int(order), [int(block)], [(rows, columns)]), end="")


if __name__ == "__main__":
    _main(*sys.argv[1:])
