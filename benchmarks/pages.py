"""Effect of huge pages: Kiviat's kernels and peers with and without them, in turns.

Kiviat's kernels request huge pages (`pages=huge`) or forbid them (`pages=small`). Peers get them through
glibc's malloc, or run as their users run them, which means small pages on most systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median

from benchmarks import hpcc, hpccg, npb
from benchmarks.finding import Finding, Verdict, not_measured
from benchmarks.mpi import LaunchError, Mpi
from benchmarks.peers import find_program
from benchmarks.setting import Setting
from kiviat.ingest.formats.hpcc import parse

ROW = "pages"
RANKS = 2
_PROGRAMS = ("cg", "is", "mg")
# Rates by name, with huge pages ("huge") and without: "small" for Kiviat, "default" for peers.
Rates = Callable[[str], Mapping[str, float]]


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        for name, without, rates in (*_ours(mpi, setting), *_peers(mpi, setting)):
            yield from _compared(mpi, setting, name, without, rates)


def _compared(mpi: Mpi, setting: Setting, name: str, without: str, rates: Rates) -> Iterator[Finding]:
    found: dict[str, dict[str, list[float]]] = {}
    try:
        for _ in setting.progress(range(setting.times(5, least=1)), f"{ROW}: {name}, {mpi.name}"):
            for pages in ("huge", without):
                for kernel, rate in rates(pages).items():
                    found.setdefault(kernel, {"huge": [], without: []})[pages].append(rate)
    except LaunchError as error:
        yield not_measured(ROW, f"{name}, {RANKS} ranks, {mpi.name}", "", str(error))
        return
    for kernel, samples in found.items():
        with_pages, plain = median(samples["huge"]), median(samples[without])
        yield Finding(
            ROW,
            f"{kernel}, {name}, {RANKS} ranks, {mpi.name}: huge pages",
            f"{with_pages / plain:.2f} times {without} ({with_pages / 1e9:.4g} and {plain / 1e9:.4g} G/s)",
            "",
            Verdict.STATED,
            data=samples,
        )


def _ours(mpi: Mpi, setting: Setting) -> Iterator[tuple[str, str, Rates]]:
    """Yield Kiviat's kernels with the sizes used in the comparisons with peers."""
    order = 2000 if setting.brief else hpcc.order_of(hpcc.last_level_cache())
    memory = order * order * 8 // RANKS
    problem_class = "S" if setting.brief else "A"
    cases = {
        "STREAM triad": (f"stream stream memory={memory}", "triad"),
        "PTRANS": (f"ptrans ptrans n={order // 2}", "rate"),
        "FFT": (f"fft fft memory={memory // 4}", "rate"),
        "RandomAccess": (f"random_access random_access memory={memory // 2} time_s=2", "updates"),
        "HPCCG": (f"hpccg hpccg nx={hpccg.POINTS} ny={hpccg.POINTS} nz={hpccg.POINTS}", "rate_27"),
        **{name.upper(): (f"{name} {name} class={problem_class}", "rate") for name in _PROGRAMS},
    }

    def rates(pages: str) -> Mapping[str, float]:
        events = mpi.measure([f"{case} pages={pages}" for case, _ in cases.values()], RANKS)
        return {
            title: events.metric(case.split()[0], metric)["p50"] for title, (case, metric) in cases.items()
        }

    yield "Kiviat", "small", rates


def _peers(mpi: Mpi, setting: Setting) -> Iterator[tuple[str, str, Rates]]:
    """Yield the peers that are installed."""
    program = hpcc.peer(mpi)
    if not isinstance(program, str):
        order = 2000 if setting.brief else hpcc.order_of(hpcc.last_level_cache())

        def of_hpcc(pages: str) -> Mapping[str, float]:
            text = hpcc.output_of(mpi, program, order, [128], [(1, 2)], hpcc.blas_core(mpi), pages)
            records = parse(text, "hpccoutf.txt")
            return {figure.title: figure.theirs(records) for figure in hpcc.FIGURES}

        yield "hpcc", "default", of_hpcc
    reference = find_program("HPCCG_DIR", "test_HPCCG", mpi)
    if not isinstance(reference, str):
        yield "reference", "default", lambda pages: {"HPCCG": hpccg.theirs(mpi, RANKS, reference, pages)}
    problem_class = "S" if setting.brief else "A"
    pairs = [
        npb.Pair(name, RANKS, problem_class, found)
        for name in _PROGRAMS
        if not isinstance(found := find_program("NPB_DIR", f"{name}.{problem_class}.x", mpi), str)
    ]
    if pairs:
        yield (
            "NAS reference",
            "default",
            lambda pages: {pair.name.upper(): pair.theirs(mpi, pages) for pair in pairs},
        )
